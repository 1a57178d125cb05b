/* nic/soft/soft.h: the inside of the software NIC: one port, its queues, its memory keys.
 * Two locks, each held by one thread for one burst: tx (send queues and their completions), rx (receive
 * queues, theirs, and the rules). Over a cable neither is held while payload is copied: a burst is taken under
 * the locks, copied without, and completed under them again, in the order of taking; so several threads carry
 * the frames of one queue. Control calls take both locks, tx first, and find no burst under way.
 * Must not know YAML, bursts of the API or windows.
 * Next: port.c (objects, progress), sq.c (requests to frames), rq.c (frames to entries), cq.c. */
#ifndef GW_NIC_SOFT_SOFT_H
#define GW_NIC_SOFT_SOFT_H

#include <stdatomic.h>

#include "link/link.h"
#include "nic/mlx5_format.h"
#include "nic/nic.h"
#include "nic/soft/edit.h"
#include "wire/bytes.h"
#include "wire/flow_table.h"
#include "wire/toeplitz.h"

#define SOFT_BURST 64
#define SOFT_MAX_QUEUES 64u
#define SOFT_MAX_LOG_N 15u     /* 32768: a 16-bit index can still tell full from empty */
#define SOFT_MAX_CQ_LOG_N 22u
#define SOFT_MIN_FRAME 14u

struct soft_nic;

struct soft_mr {
	uint64_t base, len;
	uint8_t *host;
	uint32_t key; /* index << 8 | variant; 0 = free */
	uint8_t variant;
};

struct soft_cq {
	struct gw__nic_obj obj; /* first */
	uint8_t *buf;
	uint32_t *dbrec;
	struct gw__event *event;
	uint32_t n, log_n;
	uint32_t pi, ci;   /* free-running; ci as last read from the record */
	uint32_t promised; /* entries taken by frames of the burst under way */
	uint32_t idx;      /* bit in the dirty masks */
	uint32_t n_users;  /* queues that complete here */
	bool compressed, for_rx, for_tx;
	/* A run of equal receive completions, not visible yet. */
	struct {
		uint32_t n;
		uint32_t rqn, meta, flow, lost;
		uint16_t first;
		struct mlx5_mini_cqe mini[SOFT_BURST];
	} run;
};

struct soft_rq {
	struct gw__nic_obj obj; /* first */
	uint8_t *buf;
	uint32_t *dbrec;
	struct soft_cq *cq;
	uint32_t n, log_stride, max_segs;
	uint32_t number;
	uint16_t pi, ci; /* entries posted (as last read) and used */
	bool timestamps;
	uint8_t state;
	uint32_t lost;   /* frames that found no entry since the last one that did */
	_Atomic uint64_t missed, stale;
};

/* Sender's gather list of one frame, private to the NIC, until the link took it. */
struct soft_pend {
	uint16_t wqe_idx, next_ci; /* its request, and the first block behind that */
	bool last;                 /* frame of its request */
	bool signal;
	uint8_t opcode;
	uint64_t at_ns; /* MLX5_OP_WAIT: not before this */
};

/* A frame as the application wrote it, and what a rule made of it. */
struct soft_edited {
	struct soft_edit edit;
	struct gw__frame frame;
};

/* Frames of a send queue and what will be said of them. */
struct soft_list {
	struct gw__frame frame[SOFT_BURST];
	struct soft_pend pend[SOFT_BURST];
};

/* A burst under way: taken by the link, not complete yet. The list goes with it. */
struct soft_flight {
	struct soft_list *list;
	struct soft_sq *sq;
	uint32_t at, n, n_frames; /* of the list: [at, at + n), and how many of these are frames */
	bool lost;                /* the link will never take its frame */
	void *burst;              /* the link's, NULL: copied already */
	_Atomic bool copied;
};

struct soft_sq {
	struct gw__nic_obj obj; /* first */
	uint8_t *buf;
	uint32_t *dbrec;
	uint64_t *db;
	struct soft_cq *cq;
	uint32_t n; /* basic blocks */
	uint32_t number;
	uint16_t pi, ci; /* blocks posted (as last accepted), blocks taken in */
	uint8_t state;
	uint8_t syndrome; /* of the request at err_idx; 0 = none */
	uint16_t err_idx;
	uint8_t err_opcode;
	_Atomic uint64_t stale;
	/* the request being expanded: a private copy, checked once */
	uint32_t wqe_seg, wqe_n_segs; /* next and end, in segments; equal = none */
	uint16_t wqe_idx;
	uint8_t wqe_opcode;
	bool wqe_signal;
	struct soft_list *list;       /* [pend_at, pend_at + n_pend) is still to be taken */
	uint32_t n_pend, pend_at;
	uint32_t n_flights;
	uint64_t pacing_bps, next_ns; /* 0 = off; when the next frame may start */
	bool timed;                   /* paced, or a wait was seen: the clock is read */
	struct soft_edited *edited;   /* [SOFT_BURST], once a rule changes what is sent */
	_Alignas(16) uint8_t wqe[(MLX5_MAX_DS + 1) * MLX5_SEG];
};

struct soft_port_obj {
	struct gw__nic_obj obj;
};

/* What a rule of the flow table leads to. */
struct soft_target {
	struct soft_rq *rq[GW_MAX_QUEUES];
	uint32_t n;
	bool drop;
	bool edits; /* tags or tunnels come off first */
};

enum soft_verdict_kind { SOFT_TO_QUEUE, SOFT_STEER_MISS, SOFT_STEER_DROP, SOFT_BAD_FRAME };

/* What the rules say of a frame. */
struct soft_verdict {
	struct soft_rq *rq;
	uint32_t flow, meta, hash;
	enum soft_verdict_kind kind;
	bool l3_bad, l4_bad;
	bool broke; /* its entry was bad: rq is to be reported after this burst */
};

/* Where one frame goes. */
struct soft_place {
	uint8_t *ptr[GW_MAX_SEGS];
	uint32_t len[GW_MAX_SEGS];
	uint32_t n, room;
	uint32_t lost; /* frames of this queue that found no entry just before this one */
	uint32_t bytes; /* of the frame */
	uint64_t ts_ns;
	uint16_t idx;
};

/* Frames taken, in the order they came: entries are theirs, bytes and completions follow. */
struct soft_burst {
	struct soft_verdict v[SOFT_BURST];
	struct soft_place place[SOFT_BURST];
	const struct gw__frame *f[SOFT_BURST]; /* as delivered */
	uint32_t wire, packets, missed, steer_miss, steer_drop, errors, l3_bad, l4_bad;
	uint64_t bytes;
};

struct soft_nic {
	struct gw__nic base; /* first */
	struct gw__link *link;
	struct gw__clock *clock;
	struct soft_port_obj port;

	_Alignas(64) _Atomic uint32_t tx_lock;
	_Atomic uint32_t tx_kick; /* somebody posted while the lock was held: look once more */
	_Atomic uint32_t tx_gate; /* control calls that wait for the bursts under way: no new ones meanwhile */
	struct soft_sq *sq[SOFT_MAX_QUEUES];
	uint32_t n_sq;
	bool tx_held; /* frames wait because the link does not take them */
	_Atomic uint64_t tx_due_ns; /* paced or scheduled frames wait until then; UINT64_MAX = none do */
	struct gw__flow_table tx_flows; /* what is put in front of frames sent */
	uint64_t tx_dirty; /* completion queues written since their last signal */
	uint32_t tx_next;  /* whose turn it is */
	struct soft_flight flight[GW_LINK_FLIGHTS];
	uint8_t tx_order[GW_LINK_FLIGHTS]; /* ring of indices into flight, in the order of taking */
	uint32_t tx_head, tx_tail, tx_used; /* free-running; tx_used: bit by index */
	_Atomic uint64_t tx_packets, tx_bytes, tx_errors, tx_dropped, tx_paused;

	_Alignas(64) _Atomic uint32_t rx_lock;
	_Atomic uint32_t rx_held; /* a sender was refused: tell it when entries are posted */
	_Atomic uint32_t rx_gate; /* as tx_gate */
	struct soft_rq *rq[SOFT_MAX_QUEUES];
	uint32_t n_rq;
	uint64_t rx_dirty;
	bool pause, drop_all, verify;
	struct gw__flow_table flows;
	struct soft_target *target; /* one a rule */
	uint32_t n_target_cap;
	struct soft_edited *rx_edited; /* [SOFT_BURST], once a rule takes something off */
	struct soft_burst *rx_burst;   /* [GW_LINK_FLIGHTS] */
	uint32_t rx_used;              /* those under way, bit by index */
	struct gw__toeplitz rss;
	_Atomic uint64_t rx_wire, rx_packets, rx_bytes, rx_missed, rx_steer_miss, rx_steer_drop, rx_errors,
		rx_l3_bad, rx_l4_bad;

	_Alignas(64) _Atomic uint32_t step_lock;
	struct soft_mr *mr;
	uint32_t n_mr;
	struct soft_cq *cq[SOFT_MAX_QUEUES];
};

static inline struct soft_nic *soft(struct gw__nic *nic)
{
	return (struct soft_nic *)nic;
}

/* Counters have one writer (the lock's holder) and any reader. */
static inline void soft_add(_Atomic uint64_t *c, uint64_t n)
{
	atomic_store_explicit(c, atomic_load_explicit(c, memory_order_relaxed) + n, memory_order_relaxed);
}

static inline bool soft_try(_Atomic uint32_t *lock)
{
	return !atomic_load_explicit(lock, memory_order_seq_cst) &&
	       !atomic_exchange_explicit(lock, 1, memory_order_seq_cst);
}

static inline void soft_unlock(_Atomic uint32_t *lock)
{
	atomic_store_explicit(lock, 0, memory_order_seq_cst);
}

void soft_lock(_Atomic uint32_t *lock); /* spins: holders stay for one burst */
/* Take a lock once no burst is under way on its side: for whoever changes queues, rules or memory. */
void soft_lock_tx(struct soft_nic *nic);
void soft_lock_rx(struct soft_nic *nic);
void soft_lock_both(struct soft_nic *nic);
/* The other way: whoever was turned away meanwhile is told, or served. */
void soft_unlock_tx(struct soft_nic *nic);
void soft_unlock_rx(struct soft_nic *nic);
void soft_unlock_both(struct soft_nic *nic);

/* Queue memory has other writers at any time: each word is read once, here. */
static inline uint32_t soft_read32(const uint32_t *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

/* Distance from ci to a posted index, 0 if there is none or it lies outside the ring (*stale). */
static inline uint32_t soft_posted(uint16_t pi, uint16_t ci, uint32_t n, bool *stale)
{
	uint16_t d = (uint16_t)(pi - ci);

	*stale = d > n;
	return *stale ? 0 : d;
}

/* host address of [addr, addr + len) under key, or NULL: unknown key, or outside. */
static inline uint8_t *soft_translate(const struct soft_nic *nic, uint32_t key, uint64_t addr, uint32_t len)
{
	uint32_t i = key >> 8;
	const struct soft_mr *mr;

	if (i >= nic->n_mr)
		return NULL;
	mr = &nic->mr[i];
	if (mr->key != key || len > mr->len || addr - mr->base > mr->len - len)
		return NULL;
	return mr->host + (addr - mr->base);
}

/* ---- cq.c ---- */
uint32_t soft_cq_reload(struct soft_cq *cq);
/* Entries that may still be written; re-reads the consumer index when fewer than want are known. */
static inline uint32_t soft_cq_room(struct soft_cq *cq, uint32_t want)
{
	uint32_t used = cq->pi + cq->run.n + cq->promised - cq->ci;

	return used <= cq->n && cq->n - used >= want ? cq->n - used : soft_cq_reload(cq);
}
struct soft_rx_done {
	uint32_t len, meta, flow, hash, lost;
	uint16_t idx;
	uint64_t ts_ns;
};
void soft_cq_rx(struct soft_cq *cq, const struct soft_rq *rq, const struct soft_rx_done *d);
/* The common case of it, without a call: one more of the run that is open. */
static inline bool soft_cq_more(struct soft_cq *cq, const struct soft_rq *rq, const struct soft_rx_done *d)
{
	uint32_t n = cq->run.n;

	if (!n || n % MLX5_MINI_PER_SLOT == 0 || d->lost || cq->run.meta != d->meta || cq->run.flow != d->flow ||
	    cq->run.rqn != rq->number || (uint16_t)(cq->run.first + n) != d->idx)
		return false;
	cq->run.mini[n].rx_hash = __builtin_bswap32(d->hash);
	cq->run.mini[n].byte_cnt = __builtin_bswap32(d->len);
	cq->run.n = n + 1;
	return true;
}
void soft_cq_close_run(struct soft_cq *cq);
void soft_cq_tx(struct soft_cq *cq, uint32_t number, uint16_t idx, uint8_t opcode);
void soft_cq_error(struct soft_cq *cq, uint32_t number, uint16_t idx, uint8_t wqe_opcode, uint8_t syndrome,
		   bool requester);
/* Make everything visible and wake consumers of the queues in the mask. */
void soft_cq_flush(struct soft_nic *nic, uint64_t *dirty);

/* The frame's first bytes in one piece: its first segment if that is enough, else gathered into buf. */
static inline const uint8_t *soft_head(const struct gw__frame *f, uint8_t buf[GW_PARSE_MAX], uint32_t *n)
{
	uint32_t want = f->len < GW_PARSE_MAX ? f->len : GW_PARSE_MAX, at = 0;

	*n = want;
	if (f->seg[0].len >= want)
		return f->seg[0].ptr;
	for (uint32_t s = 0; s < f->n_segs && at < want; s++) {
		uint32_t k = f->seg[s].len < want - at ? f->seg[s].len : want - at;

		memcpy(buf + at, f->seg[s].ptr, k);
		at += k;
	}
	return buf;
}

/* ---- rq.c ---- */
int soft_deliver(void *ctx, const struct gw__frame *frames, int n);
int soft_take(void *ctx, const struct gw__frame *frames, int n, void **burst);
void soft_copy(void *ctx, void *burst);
void soft_finish(void *ctx, void *burst);
void soft_rq_flush(struct soft_rq *rq); /* state ERR: complete what is posted */

/* ---- sq.c ---- */
/* Under the tx lock: complete the bursts that were copied, as far as their order allows. */
void soft_tx_retire(struct soft_nic *nic);
/* Under the tx lock: the next burst, taken by the link; the caller copies it unless it is copied already. NULL:
 * nothing to send now, or the link does not take it (tx_held), or too many are under way. */
struct soft_flight *soft_tx_take(struct soft_nic *nic);
/* Without the lock; the flight may be gone on return. */
void soft_tx_copy(struct soft_nic *nic, struct soft_flight *fl);

/* ---- mem.c ---- */
int soft_mem_reg(struct gw__nic *nic, const void *ptr, void *host, size_t n_bytes, uint32_t *key);
void soft_mem_unreg(struct gw__nic *nic, uint32_t key);

#endif
