/* ingest/engine.h: the contract between ingest and what brings packets.
 * One folder an engine (engines/null, engines/nic, ...). An engine knows slots and frames; it must not know
 * bursts, windows or tensors. Fast ops are copied by value into the queue at open: one load, one call. */
#ifndef GW_INGEST_ENGINE_H
#define GW_INGEST_ENGINE_H

#include <gpuwire/config.h>
#include <gpuwire/flow.h>
#include <gpuwire/mem.h>
#include <gpuwire/stats.h>

#include "base/clock.h"
#include "base/wait.h"

/* A queue's paired slots: segment s of slot i is base[s] + i * stride[s]. */
struct gw__slots {
	uint32_t n_segs;
	uint32_t n_slots;
	struct {
		uint8_t *base;      /* in the region's own kind of memory */
		uint8_t *host;      /* the CPU's alias of the same bytes, NULL if it has none */
		uint32_t stride;    /* buf_size rounded up to 128 */
		uint32_t size;      /* buf_size: bytes that may be used */
		enum gw_mem_kind kind;
	} seg[GW_MAX_SEGS];
};

#define GW__LENDS 8u
/* Does the piece hold [from, from + len)? */
static inline bool gw__lent(const void *piece, size_t bytes, const void *from, size_t len)
{
	size_t at = (size_t)((uintptr_t)from - (uintptr_t)piece);

	return at <= bytes && len <= bytes - at;
}

struct gw__queue_params {
	uint16_t port, id;
	struct gw__slots slots;
	uint32_t ring_depth; /* entries of the work queue, <= slots; 0 = the engine's choice */
	bool timestamps;     /* receive: stamp each packet */
	bool scheduled;      /* transmit: honour tx_time_ns */
	uint64_t pacing_bps; /* transmit: 0 = off */
};

/* Arrays that rx() fills side by side; ts_ns and lost may be NULL (not wanted). */
struct gw__rx_out {
	uint32_t *slot, *len, *flow, *pkt_flags;
	uint64_t *ts_ns;
	/* lost[i]: frames steered to this queue that found no slot between packet i - 1 and packet i, in stream
	 * order, so that a wide gap of the port's own making never aliases. 0 where the engine cannot say. */
	uint32_t *lost;
};

struct gw__tx_in {
	const uint32_t *slot;
	const uint32_t *const *seg_len; /* [s][i] */
	const uint64_t *tx_time_ns;     /* NULL = now */
	const uint8_t *const *const *from; /* [s][i]: lent memory instead of the slot's, NULL = the slot's; NULL = all */
};

/* Receive queue; all calls from the queue's one owner thread, except event/arm's signal side. */
struct gw__rxq {
	void *q;
	/* Up to n packets. 0 = link and ring are drained, or nothing can come until slots are released (a
	 * deadline may be judged now). -EAGAIN = nothing, but somebody else is moving packets, or moved some to
	 * another queue (do not judge deadlines). -EIO/-ENODEV = gone. Runs NIC progress
	 * inline; n = 0 only does that (a starved owner keeps the port counting what it drops). */
	int (*rx)(void *q, const struct gw__rx_out *out, uint32_t n);
	/* Give slots back, any order, O(n). They may be filled again at once. */
	void (*release)(void *q, const uint32_t *slots, uint32_t n);
	/* About to block on *event: true if there is work already. */
	bool (*arm)(void *q);
	/* After arm() said false: when to look again without a signal (paced replay, a peer process that may
	 * appear or die), on the engine's clock; UINT64_MAX = never. Do not block longer. */
	uint64_t (*due_ns)(void *q);
	struct gw__event *event; /* the caller's, given at open; the engine signals it when packets come */
	uint32_t paused_depth;   /* slots on offer at once while the port holds its sender back; 0 = all */
};

/* Transmit queue; one owner thread. */
struct gw__txq {
	void *q;
	/* Up to n free slots. Reclaims completions first. */
	int (*reserve)(void *q, uint32_t *slots, uint32_t n);
	/* Post slots [first, first + n) of the arrays in order; returns how many the ring took. Lengths are
	 * checked against the segments by the caller. Runs NIC progress inline. */
	int (*submit)(void *q, const struct gw__tx_in *in, uint32_t first, uint32_t n);
	void (*cancel)(void *q, const uint32_t *slots, uint32_t n);
	/* Memory of the sender's that packets may name until close; at most GW__LENDS pieces, checked by the
	 * caller. 0 or negative errno. NULL: this engine cannot. */
	int (*lend)(void *q, const void *ptr, size_t bytes);
	/* Progress and reclaim; returns requests not completed yet, or -ENODEV. */
	int (*pending)(void *q);
	bool (*arm)(void *q);         /* true: a slot came free already */
	uint64_t (*due_ns)(void *q);  /* as in gw__rxq (paced or scheduled packets wait in the queue) */
	struct gw__event *event;
};

struct gw__engine;

/* Control: absent ops get typed refusals at registration, never NULL tests. Order of calls: open, every
 * rxq_open and txq_open, flow_add for each configured rule in order (and, without flow_isolation, a last
 * catch-all rule with id 0 to the port's first queue), start, stop, close. close frees the queues too. */
struct gw__engine_ops {
	const char *name;
	/* Can this engine do what cfg asks of it? Refuses at parse time, with file:line. */
	int (*check)(const struct gw_config *cfg, struct gw_diag *diag);
	int (*open)(const struct gw_config *cfg, struct gw__clock *clock, struct gw__engine **out,
		    struct gw_diag *diag);
	void (*close)(struct gw__engine *e);
	int (*rxq_open)(struct gw__engine *e, const struct gw__queue_params *p, struct gw__event *event,
			struct gw__rxq *out, struct gw_diag *diag);
	int (*txq_open)(struct gw__engine *e, const struct gw__queue_params *p, struct gw__event *event,
			struct gw__txq *out, struct gw_diag *diag);
	int (*start)(struct gw__engine *e, struct gw_diag *diag);
	void (*stop)(struct gw__engine *e); /* no frame is delivered afterwards; queued ones can be taken */
	int (*flow_add)(struct gw__engine *e, uint16_t port, const struct gw_flow_rule *rule,
			struct gw_diag *diag);
	int (*flow_del)(struct gw__engine *e, uint16_t port, uint32_t flow_id);
	int (*port_stats)(struct gw__engine *e, uint16_t port, struct gw_port_stats *out);
	/* GW__PORT_PAUSE, GW__PORT_DROP_ALL: small port settings */
	int (*port_set)(struct gw__engine *e, uint16_t port, int what, uint64_t value);
	int (*port_mac)(struct gw__engine *e, uint16_t port, uint8_t mac[6]);
};

enum { GW__PORT_PAUSE, GW__PORT_DROP_ALL };

struct gw__engine {
	const struct gw__engine_ops *ops;
};

/* Engines compiled in, and those that are not with the reason; ends with name NULL. */
struct gw__engine_row {
	const char *name;
	const struct gw__engine_ops *ops; /* NULL: not compiled in */
	const char *reason;
};
extern const struct gw__engine_row gw__engines[];
/* "0.2.5": the YAML library's own word (config_tree.c). */
const char *gw__yaml_version(void);

#endif
