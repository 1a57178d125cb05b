/* link/link.h: what a soft port is plugged into: frames in, frames out, bursts, no thread of its own.
 * A link is a step(budget) on an injected clock. It must not know queues, rules or slots.
 * Next: cable.c (in process), shm.c (two processes), pcap.c (files), impair.c (faults on any of them). */
#ifndef GW_LINK_LINK_H
#define GW_LINK_LINK_H

#include <gpuwire/common.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/wait.h"

/* A port may put a header of its own in front (tag, tunnel) and split the first segment for it. */
#define GW_FRAME_SEGS (GW_MAX_SEGS + 2u)

/* Bursts under way between two ports; more threads than that wait for one another. */
#define GW_LINK_FLIGHTS 8u

/* One frame as a gather list: borrowed for the length of the call. */
struct gw__frame {
	struct {
		const uint8_t *ptr; /* CPU-reachable */
		uint32_t len;
	} seg[GW_FRAME_SEGS];
	uint32_t n_segs;
	uint32_t len;   /* sum */
	uint64_t ts_ns; /* arrival on the link's clock; 0 = now */
};

/* The port that plugs in, as its link (and, over a cable, its peer) sees it. */
struct gw__link_sink {
	/* Frames for the port; for a cable called from the sender's thread, so that one copy carries a frame
	 * from the sender's slot to the receiver's. Returns how many were taken, in order; the rest stay with
	 * the link (pause). A port without pause takes all and counts what it drops. */
	int (*deliver)(void *ctx, const struct gw__frame *frames, int n);
	/* The same in three parts, so that several threads may be in the middle one; all three or none. take
	 * says what it took and, unless that is 0, names the burst; the frames stay put until finish. copy moves
	 * the bytes, finish makes them known: one after the other, in the order of taking. No delivery between
	 * the two, and at most GW_LINK_FLIGHTS bursts under way. */
	int (*take)(void *ctx, const struct gw__frame *frames, int n, void **burst);
	void (*copy)(void *ctx, void *burst);
	void (*finish)(void *ctx, void *burst);
	/* Run the port's send side on behalf of the peer. As progress: frames moved, 0 = nothing to send,
	 * -EAGAIN = somebody else is inside, or frames are held back. */
	int (*pull)(void *ctx, int budget);
	/* The peer takes frames again: wake whoever waits to send. */
	void (*wake_tx)(void *ctx);
	/* When the port's send side has something to do without a signal; UINT64_MAX = never. */
	uint64_t (*due_ns)(void *ctx);
	void *ctx;
};

struct gw__link;

struct gw__link_ops {
	/* Frames out. Returns how many were accepted; fewer = held back, try again when the peer has room.
	 * -EPIPE the peer is gone, -EMSGSIZE the first frame is beyond the link's MTU, -EOPNOTSUPP the link
	 * only receives: in all three the first frame is lost. */
	int (*send)(struct gw__link *link, const struct gw__frame *frames, int n);
	/* As send, in three parts (see the sink); NULL for links that have none. *burst stays NULL where all is
	 * done already; else copy, from any thread, then finish. */
	int (*take)(struct gw__link *link, const struct gw__frame *frames, int n, void **burst);
	void (*copy)(struct gw__link *link, void *burst);
	void (*finish)(struct gw__link *link, void *burst);
	/* Move what has arrived to the sink, at most budget frames. Returns how many; 0 = drained;
	 * -EAGAIN = somebody else moves them, or the sink does not take them. One thread at a time. */
	int (*step)(struct gw__link *link, int budget);
	/* About to block: true if frames wait already (do not block). */
	bool (*arm)(struct gw__link *link);
	/* This side has room again: wake a sender that was held back. */
	void (*resume)(struct gw__link *link);
	/* When step or send may do something without a signal (paced replay, delay), UINT64_MAX = never. */
	uint64_t (*due_ns)(struct gw__link *link);
	/* A consumer blocks on this event: links whose frames come from another process signal it. 0, -ENOSPC. */
	int (*watch)(struct gw__link *link, struct gw__event *event);
	/* The sink is set. */
	void (*plugged)(struct gw__link *link);
	void (*close)(struct gw__link *link);
};

struct gw__link {
	const struct gw__link_ops *ops;
	struct gw__link_sink sink; /* set by gw__link_plug() */
	struct gw__clock *clock;
	uint32_t mtu;   /* largest frame, bytes */
	bool can_pause; /* the link can hold a sender back */
};

#define GW_LINK_MTU 9216u

/* Open by address, closed with gw__link_close():
 *   cable:N       in process; the second opener of N is the first one's peer; a third is refused (-EBUSY)
 *   loopback      a cable whose other end is the same port
 *   shm:NAME      two processes of one user; NAME with a '/' is a socket path
 *   pcap:FILE     replay, receive only; FILE?speed=wire|max&loop=0|1
 *   pcap-out:FILE send only
 *   impair:KEY=VALUE,...:ADDRESS   faults on any of them, see impair.c
 * 0; -EINVAL no such kind or option; -ENOMEM; -EBUSY; the system's error. *out only on success. */
int gw__link_open(const char *address, struct gw__clock *clock, struct gw__link **out, struct gw_diag *diag);
/* Set the sink: frames flow from now on. Call once. */
void gw__link_plug(struct gw__link *link, const struct gw__link_sink *sink);
/* NULL is fine. Waits for a peer that is inside the sink. */
void gw__link_close(struct gw__link *link);

/* Kinds; each named by the word before the colon. */
int gw__cable_open(const char *rest, struct gw__clock *clock, struct gw__link **out, struct gw_diag *diag);
int gw__loopback_open(const char *rest, struct gw__clock *clock, struct gw__link **out, struct gw_diag *diag);
int gw__shm_open(const char *name, struct gw__clock *clock, struct gw__link **out, struct gw_diag *diag);
int gw__pcap_open(const char *rest, struct gw__clock *clock, struct gw__link **out, struct gw_diag *diag);
int gw__impair_open(const char *rest, struct gw__clock *clock, struct gw__link **out, struct gw_diag *diag);
int gw__pcap_out_open(const char *rest, struct gw__clock *clock, struct gw__link **out, struct gw_diag *diag);

/* Defaults for ops that a kind does not need. */
bool gw__link_no_arm(struct gw__link *link);
void gw__link_no_resume(struct gw__link *link);
uint64_t gw__link_no_due(struct gw__link *link);
int gw__link_no_watch(struct gw__link *link, struct gw__event *event);
void gw__link_no_plugged(struct gw__link *link);

/* "libpcap version 1.10.3 (...)"; static. */
const char *gw__link_pcap_version(void);

#endif
