/* ingest/gw.h: the insides of struct gw, shared by this room's files only.
 * Must not know frames' contents beyond the sequence field, nor any engine's insides.
 * Next: open.c (makes it), rxq.c (one receive queue's step), poller.c (loops around steps). */
#ifndef GW_INGEST_GW_H
#define GW_INGEST_GW_H

#include <gpuwire/gpuwire.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/ring.h"
#include "base/wait.h"
#include "gpu/gpu.h"
#include "ingest/config.h"
#include "ingest/engine.h"
#include "ingest/field.h"
#include "ingest/ingest.h"
#include "reorder/reorder.h"

#define GW__STAGE 256u        /* packets taken at once on their way into a plan */
#define GW__DIRECT_BATCH 1024u /* burst size of a direct queue that names none */

struct gw__rx_queue;
struct gw__rx_plan;

/* A region's memory, cut into slots; queues that share it take consecutive shares. */
struct gw__region {
	bool in_queue; /* packets lie in it: whoever moves them must reach it */
	enum gw_mem_kind kind; /* as allocated */
	void *ptr;
	uint8_t *host; /* CPU alias, NULL if the CPU cannot reach it */
	size_t bytes;
	uint32_t stride;   /* buf_size rounded up */
	uint32_t n_users;  /* queues and plans that share it */
	uint32_t n_shared; /* shares handed out so far */
	uint32_t share;    /* slots of one share */
	bool ours, registered;
};

/* One burst: arrays of the metadata pool (raw), or a window's wrapping (plan set). */
struct gw__burst {
	struct gw__rx_queue *q;
	struct gw__rx_plan *plan;
	uint32_t n, n_gone;
	uint64_t first_ns; /* arrival of the first packet */
	uint32_t *slot, *len, *flow, *pkt_flags, *seg_len[GW_MAX_SEGS];
	uint64_t *ts_ns;
	void **seg_ptr[GW_MAX_SEGS];
	uint64_t *gone; /* released early, bit by packet; written by the releasing thread */
	void *block;    /* the one allocation behind the arrays */
	struct gw__window win;
	void *tensor;
	uint32_t tensor_len, zero;
};

/* What the consumer gives back: a raw burst (i = UINT32_MAX) or one packet of it. */
struct gw__back {
	struct gw__burst *burst;
	uint32_t i;
	uint32_t pad;
};

struct gw__rx_plan {
	const struct gw_cfg_reorder *cfg;
	struct gw__rx_queue *q;
	struct gw__reorder *r;
	struct gw__field seq, batch; /* batch.n_bits 0: none */
	uint32_t payload_seg, payload_off, payload_len; /* in segment payload_seg */
	uint32_t payload_start;      /* from the first byte of the frame */
	uint64_t n_in;               /* slots given to the plan and not yet freed by it */
	struct gw__burst *win;       /* [n_out], by output buffer */
	uint32_t n_out;
	struct gw_stream *own_stream;
	bool bound;
};

/* Packets between the engine and the plans; [pos, n) are still to be placed. */
struct gw__stage {
	uint32_t pos, n;
	uint64_t now_ns;
	uint32_t slot[GW__STAGE], len[GW__STAGE], flow[GW__STAGE], pkt_flags[GW__STAGE];
	uint32_t seq[GW__STAGE], batch[GW__STAGE], payload_len[GW__STAGE], lost[GW__STAGE];
	uint64_t ts_ns[GW__STAGE];
	uint8_t plan[GW__STAGE]; /* index into plans; n_plans = raw */
};

struct gw__rx_queue {
	struct gw__rxq eng; /* the fast ops, by value */
	struct gw__merge *merge; /* several of the engine's queues behind eng; NULL = one */
	struct gw *gw;
	const struct gw_cfg_queue *cfg;
	uint16_t port, id;
	bool timestamps;
	uint32_t batch;
	uint64_t timeout_ns;
	struct gw__slots slots;
	pthread_mutex_t lock; /* whoever steps the queue: poller, direct caller, flush, snapshot */
	struct gw__event own_event, *event; /* wakes the owner: packets, releases, requests */
	struct gw__event app_event;         /* wakes the consumer */
	struct gw__ring to_app, back;

	/* the owner's, under lock */
	struct gw__burst *pool, **free_stack, *cur;
	uint32_t n_pool, n_free;
	struct gw__rx_plan *plan;
	uint32_t n_plans;
	struct gw__stage *stage;
	uint32_t ring_depth;      /* what the engine was asked for */
	uint32_t n_held;          /* slots taken and not given back to the engine */
	uint32_t drained_free;    /* slots the engine had when it was last found drained */
	uint64_t taken_since;     /* packets taken since then */
	uint64_t open_ns;         /* the queue could receive without a break since */
	uint64_t last_ns;         /* when packets last came */
	uint64_t silence_ns;      /* longest silence at which a deadline struck */
	bool holding;             /* counted in the port's n_holding */
	int last_rx;              /* the engine's last answer: 0 = it was drained */
	uint32_t *scratch;        /* [n_slots] */
	uint64_t rx_packets, rx_bytes, handed_packets, no_free_bursts;
	int windows_flushed;      /* by the last flush request; read after flush_done */

	_Atomic uint32_t flush_want, flush_done; /* requests, served by the owner */
	_Atomic bool starved;                    /* no burst or output buffer is free */
	_Atomic int gone;                        /* -EIO, -ENODEV from the engine; 0 */
	/* the consumer's, read by snapshots */
	_Atomic uint64_t delivered_bursts, delivered_packets, app_packets;
};

struct gw__tx_queue {
	struct gw__txq eng;
	struct gw *gw;
	const struct gw_cfg_queue *cfg;
	uint16_t port, id;
	bool scheduled, src_mac;
	uint8_t mac[6];
	struct gw__slots slots;
	pthread_mutex_t lock; /* the sender, or the tender when the sender is away */
	struct gw__event event;
	uint32_t *slot, *seg_len[GW_MAX_SEGS];
	uint64_t *time_ns;
	void **seg_ptr[GW_MAX_SEGS];
	struct gw__lend {
		const uint8_t *ptr;
		size_t bytes;
	} lend[GW__LENDS];
	uint32_t n_lends;
	const uint8_t **from[GW_MAX_SEGS]; /* once memory was lent: as in gw__tx_in */
	uint32_t at, n; /* the open reservation: [at, n) is still the caller's */
	uint64_t tx_packets, tx_bytes;
	uint32_t pending;
	_Atomic uint32_t busy; /* pending as the tender may read it */
	_Atomic uint64_t ops;  /* the sender's calls: the tender stays away while they go on */
	uint64_t ops_seen;     /* the tender's */
};

struct gw__port {
	const struct gw_cfg_port *cfg;
	struct gw__rx_queue *rxq;
	struct gw__tx_queue *txq;
	_Atomic bool pause;
	_Atomic uint32_t n_holding; /* queues that cannot take a frame: with pause, they hold the peer back */
	_Atomic uint64_t open_ns;   /* latest end of such a hold */
	uint64_t drop_seen, drop_at_ns; /* the drop line; under gw->drop_lock */
};

struct gw__poller {
	struct gw *gw;
	int core; /* -1: not pinned */
	pthread_t thread;
	bool running;
	struct gw__event *event; /* its first queue's */
	struct gw__rx_queue **q;
	uint32_t n_q;
};

#define GW__FLOW_DONE 64u

struct gw {
	const struct gw_config *config;
	const struct gw_cfg *cfg;
	struct gw__clock *clock;
	const struct gw__gpu_ops *gpu;
	struct gw__engine_ops ops; /* absent ops filled with refusals */
	struct gw__engine *engine;
	bool no_threads;
	_Atomic bool started;
	_Atomic bool stopping; /* pollers leave; set by gw_stop() */
	_Atomic bool closing;  /* consumers leave */
	struct gw__region *region;
	struct gw__port *port;
	uint32_t n_ports;
	struct gw__poller *poller;
	uint32_t n_pollers;
	pthread_t tender;
	bool tender_running;
	struct gw__event tend_event, flush_event;
	pthread_mutex_t flush_lock, drop_lock;
	_Atomic uint64_t drop_look_ns; /* next time somebody asks the ports for drops */
	uint32_t any_next; /* gw_rx_any(): where to look first; its caller's */
	struct { /* rules at run time */
		pthread_mutex_t lock;
		struct gw_flow_done done[GW__FLOW_DONE]; /* ring */
		uint32_t head, n, ticket, next_id;
	} flow;
	struct { /* asynchronous file writes */
		pthread_mutex_t lock;
		pthread_t thread;
		struct gw__event event;
		struct gw_write *first, *last;
		bool running, stop;
	} writer;
};

#define GW__BUDGET 1024 /* packets of one step */

/* region.c */
int gw__regions_open(struct gw *gw, const struct gw__open_opts *opts, struct gw_diag *diag);
void gw__regions_close(struct gw *gw);
/* The next share of each of n regions as paired slots. */
int gw__slots_take(struct gw *gw, const uint32_t *region, uint32_t n, struct gw__slots *out,
		   const char *who, struct gw_diag *diag);

/* burst.c */
int gw__bursts_open(struct gw__rx_queue *q);
void gw__bursts_close(struct gw__rx_queue *q);
void gw__burst_lend(struct gw__burst *b, struct gw_burst *out); /* fill the caller's struct */
uint32_t gw__bursts_take_back(struct gw__rx_queue *q);          /* what the consumer released */

/* plan.c */
int gw__plans_open(struct gw *gw, struct gw__rx_queue *q, struct gw_diag *diag);
/* The plan that merges this queue with others; NULL = none does. */
const struct gw_cfg_reorder *gw__plan_merging(const struct gw_cfg_port *port, int queue);
void gw__plans_close(struct gw__rx_queue *q);

/* The number that a packet of len bytes in this slot bears; *batch, where the plan has one, may be NULL. false: the
 * packet is too short to hold it. */
static inline bool gw__plan_number(const struct gw__rx_plan *p, uint32_t slot, uint32_t len, uint32_t *seq,
				   uint32_t *batch)
{
	const struct gw__slots *slots = &p->q->slots;

	if (len < p->seq.end || len < p->batch.end)
		return false;
	*seq = gw__field_read(&p->seq, slots->seg[p->seq.seg].host + (size_t)slot * slots->seg[p->seq.seg].stride);
	if (batch && p->batch.n_bits)
		*batch = gw__field_read(&p->batch, slots->seg[p->batch.seg].host +
					(size_t)slot * slots->seg[p->batch.seg].stride);
	return true;
}

/* merge.c */
struct gw__merge;
/* n queues of the engine, by id, each with params' slots, one behind the other. *out for their common owner q, whose
 * first plan says where the number lies. What was opened is closed with the engine; then gw__merge_close(). */
int gw__merge_open(struct gw__rx_queue *q, const uint16_t *ids, uint32_t n, const struct gw__queue_params *params,
		   struct gw__rxq *out, struct gw_diag *diag);
void gw__merge_close(struct gw__rx_queue *q);
/* Slots that the member with the fewest still has. */
uint32_t gw__merge_free(const struct gw__merge *g);

/* rxq.c */
int gw__rxq_open(struct gw *gw, uint16_t port, uint16_t idx, struct gw_diag *diag);
void gw__rxq_close(struct gw__rx_queue *q);
/* One turn of the queue's owner, flush requests included; takes the lock. Returns what it moved. */
int gw__rxq_serve(struct gw__rx_queue *q, int budget);
/* How long the owner may sleep if nothing else happens. */
uint64_t gw__rxq_sleep_ns(struct gw__rx_queue *q);
/* Place what has arrived, then hand over every open window and burst. Takes the lock. Returns windows. */
int gw__rxq_flush(struct gw__rx_queue *q);
/* About to block: true if the engine has something for this queue already. */
bool gw__rxq_arm(struct gw__rx_queue *q);

/* txq.c */
int gw__txq_open(struct gw *gw, uint16_t port, uint16_t idx, struct gw_diag *diag);
void gw__txq_close(struct gw__tx_queue *q);
/* With lock held: progress and reclaim; returns what is pending, or negative errno. */
int gw__txq_progress(struct gw__tx_queue *q);

/* How long nobody need look at the queue, by the engine; and that of an engine that only signals. */
uint64_t gw__txq_due_ns(struct gw__tx_queue *q);
uint64_t gw__never_due(void *q);
/* Which of the queue's plans a flow feeds; n_plans: none. */
uint32_t gw__rxq_route(const struct gw__rx_queue *q, uint32_t flow);

/* poller.c */
/* Which event wakes this queue's owner: queues on one core share a poller. */
void gw__poller_choose(struct gw *gw, struct gw__rx_queue *q);
int gw__pollers_open(struct gw *gw);
void gw__pollers_close(struct gw *gw);
int gw__pollers_start(struct gw *gw, struct gw_diag *diag);
void gw__pollers_stop(struct gw *gw);

/* file.c */
void gw__writer_stop(struct gw *gw); /* after what is queued */

/* stats.c */
void gw__stats_drops(struct gw *gw); /* the drop line, at most each 500 ms */
/* Are there drops that no line has told yet? */
bool gw__stats_untold(struct gw *gw);
void gw__stats_totals(struct gw *gw);

struct gw__rx_queue *gw__rxq_find(struct gw *gw, uint16_t port, uint16_t queue);
struct gw__tx_queue *gw__txq_find(struct gw *gw, uint16_t port, uint16_t queue);

/* A plain load and store of a counter with one writer and any readers. */
static inline void gw__count(_Atomic uint64_t *c, uint64_t n)
{
	atomic_store_explicit(c, atomic_load_explicit(c, memory_order_relaxed) + n, memory_order_relaxed);
}

#endif
