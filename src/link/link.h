/* link/link.h: what a soft port is plugged into: frames in, frames out, bursts, no thread of its own.
 * A link is a step(budget) on an injected clock. It must not know queues, rules or slots.
 * Next: cable.c (in process), shm.c (two processes), pcap.c (files). */
#ifndef GW_LINK_LINK_H
#define GW_LINK_LINK_H

#include <gpuwire/common.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/wait.h"

/* One frame as a gather list: borrowed for the length of the call. */
struct gw__frame {
	struct {
		const uint8_t *ptr; /* CPU-reachable */
		uint32_t len;
	} seg[GW_MAX_SEGS];
	uint32_t n_segs;
	uint32_t len;   /* sum */
	uint64_t ts_ns; /* arrival on the link's clock; 0 = now */
};

/* The port's receiving side, called by its link (for a cable: from the sender's thread, so one copy carries
 * a frame from the sender's slot to the receiver's). Returns how many frames were taken, in order; the rest
 * stay with the link (pause). A port without pause takes all and counts what it drops. */
struct gw__link_sink {
	int (*deliver)(void *ctx, const struct gw__frame *frames, int n);
	void *ctx;
	struct gw__event *event; /* signalled by the link when frames wait for step(); NULL = none */
};

struct gw__link;

struct gw__link_ops {
	/* Frames out. Returns how many were accepted; fewer = held back, try again when the peer has room.
	 * -EPIPE the peer is gone, -EMSGSIZE the first frame is beyond the link's MTU. */
	int (*send)(struct gw__link *link, const struct gw__frame *frames, int n);
	/* Move what has arrived to the sink, at most budget frames. Returns how many; 0 = drained. */
	int (*step)(struct gw__link *link, int budget);
	/* About to block: true if frames wait already (do not block). */
	bool (*arm)(struct gw__link *link);
	/* The receiver posted slots again: wake a sender that was held back. */
	void (*resume)(struct gw__link *link);
	/* Can the link hold a sender back? */
	bool can_pause;
	void (*close)(struct gw__link *link);
};

struct gw__link {
	const struct gw__link_ops *ops;
	struct gw__link_sink sink;    /* set by the port that plugs in */
	struct gw__event *tx_event;   /* signalled by resume on the sending side; set by the port */
	struct gw__clock *clock;
	uint32_t mtu;                 /* largest frame, bytes */
};

/* Open by address: "cable:N" (the second opener of N is the first one's peer), "shm:NAME", "pcap:FILE"
 * (replay; "pcap:FILE?speed=wire|max", "?loop=1"), "pcap-out:FILE". */
int gw__link_open(const char *address, struct gw__clock *clock, struct gw__link **out, struct gw_diag *diag);
void gw__link_close(struct gw__link *link);

#endif
