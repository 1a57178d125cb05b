/* ingest/engines/nic/rxq.c: a receive queue: slots into receive entries, completions into plain arrays.
 * slot_of[entry] says which slot an entry names, so depth and slot count are separate and slots come back in
 * any order. Must not know bursts. Next: nic/mlx5_format.h (titles and mini completions). */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/diag.h"
#include "base/log.h"
#include "ingest/engines/nic/nic_engine.h"

#define RUN_MAX 256u /* packets of one title; providers use 64 */
#define PATIENCE 6u  /* pauses: 0.1 to 0.4 us */
/* While senders are held back nothing is lost for want of entries, so few are posted: the slots used last are used
 * next, and are still in cache (measured: 1.1 times the packet rate, 1.2 behind a reorder plan). */
#define PAUSED_BYTES (2u << 20)
#define PAUSED_ENTRIES 1024u

struct ne_rxq {
	const struct gw__nic_ops *ops;
	struct gw__nic *nic;
	struct gw__nic_obj *cq, *rq;
	uint8_t *cqe;
	uint32_t cq_log, ci;
	uint8_t *wqe;
	uint32_t depth, log_stride;
	uint32_t paused_depth;
	_Atomic uint32_t limit; /* entries posted at most */
	uint32_t *dbrec; /* [0], [1]: completion queue; [2], [3]: receive queue */
	uint32_t posted, taken, rung; /* entries, free-running */
	uint32_t *slot_of;
	uint32_t *spare, n_spare, n_slots;
	uint32_t n_segs;
	struct ne_seg seg[GW_MAX_SEGS];
	struct gw__event *event;
	bool timestamps;
	bool busy; /* the last turn moved frames */
	int dead; /* negative errno once the queue failed */
	uint64_t due_ns;
	/* the title being handed out */
	struct {
		uint32_t n, at;
		uint32_t flow, pkt_flags, lost;
		uint16_t first;
		struct mlx5_mini_cqe mini[RUN_MAX];
	} run;
};

/* ---- posting ---------------------------------------------------------------------------------------- */

static void ring(struct ne_rxq *q)
{
	if (q->rung == q->posted)
		return;
	q->rung = q->posted;
	/* seq_cst: entries before the record, the record before the look at whether a sender is held back */
	__atomic_store_n(&q->dbrec[2 + MLX5_DBREC_RCV], __builtin_bswap32(q->posted & 0xffff), __ATOMIC_SEQ_CST);
	q->ops->obj_modify(q->rq, GW__NIC_POSTED, 0);
}

static inline void post(struct ne_rxq *q, uint32_t slot)
{
	uint32_t e = q->posted++ & (q->depth - 1);
	struct mlx5_data *d = (struct mlx5_data *)(void *)(q->wqe + ((size_t)e << q->log_stride));

	q->slot_of[e] = slot;
	for (uint32_t s = 0; s < q->n_segs; s++)
		d[s].addr = __builtin_bswap64(q->seg[s].base + (uint64_t)slot * q->seg[s].stride);
}

static uint32_t room(const struct ne_rxq *q)
{
	uint32_t limit = atomic_load_explicit(&q->limit, memory_order_relaxed), n = q->posted - q->taken;

	return n < limit ? limit - n : 0;
}

static void refill(struct ne_rxq *q)
{
	uint32_t n = room(q);

	n = q->n_spare < n ? q->n_spare : n;
	while (n--)
		post(q, q->spare[--q->n_spare]);
	ring(q);
}

static void rxq_release(void *qp, const uint32_t *slots, uint32_t n)
{
	struct ne_rxq *q = qp;
	uint32_t k = room(q);

	k = n < k ? n : k;
	for (uint32_t i = 0; i < k; i++)
		post(q, slots[i]);
	memcpy(q->spare + q->n_spare, slots + k, (n - k) * sizeof(*slots));
	q->n_spare += n - k;
	ring(q);
}

/* ---- taking ------------------------------------------------------------------------------------------- */

static uint32_t flags_of(const struct mlx5_cqe *c)
{
	uint32_t f = 0;

	if (!MLX5_L3_TYPE(c->l4_l3_type))
		f |= GW_PKT_L3_UNKNOWN;
	else if (!(c->hds_ip_ext & MLX5_L3_OK))
		f |= GW_PKT_L3_BAD;
	if (!MLX5_L4_TYPE(c->l4_l3_type))
		f |= GW_PKT_L4_UNKNOWN;
	else if (!(c->hds_ip_ext & MLX5_L4_OK))
		f |= GW_PKT_L4_BAD;
	return f;
}

static void invalidate(struct ne_rxq *q, uint32_t i)
{
	q->cqe[(size_t)(i & ((1u << q->cq_log) - 1)) * sizeof(struct mlx5_cqe) + 63] = MLX5_CQE_INVALID << 4;
}

/* Copy a title's sizes and free its ring slots. Every slot that was written becomes invalid again, so slots
 * that a later title skips are never taken for completions. */
static bool open_run(struct ne_rxq *q, const struct mlx5_cqe *title)
{
	uint32_t n = __builtin_bswap32(title->byte_cnt), mask = (1u << q->cq_log) - 1;

	if (!n || n > RUN_MAX || n > mask + 1)
		return false;
	for (uint32_t i = 0; i < n; i += MLX5_MINI_PER_SLOT) {
		uint32_t slot = q->ci + mlx5_mini_slot(i), k = n - i;

		memcpy(&q->run.mini[i], q->cqe + (size_t)(slot & mask) * sizeof(*title),
		       (k < MLX5_MINI_PER_SLOT ? k : MLX5_MINI_PER_SLOT) * sizeof(struct mlx5_mini_cqe));
		invalidate(q, slot);
	}
	q->run.n = n;
	q->run.at = 0;
	q->run.first = __builtin_bswap16(title->wqe_counter);
	q->run.flow = __builtin_bswap32(title->sop_drop_qpn) & 0xffffff;
	q->run.pkt_flags = flags_of(title);
	q->run.lost = __builtin_bswap32(title->app);
	invalidate(q, q->ci);
	q->ci += n;
	return true;
}

static uint32_t take_run(struct ne_rxq *q, const struct gw__rx_out *out, uint32_t got, uint32_t n)
{
	uint32_t k = q->run.n - q->run.at, e = (uint32_t)q->run.first + q->run.at, mask = q->depth - 1;
	const struct mlx5_mini_cqe *m = q->run.mini + q->run.at;

	if (k > n - got)
		k = n - got;
	for (uint32_t i = 0; i < k; i++)
		out->slot[got + i] = q->slot_of[(e + i) & mask];
	for (uint32_t i = 0; i < k; i++)
		out->len[got + i] = __builtin_bswap32(m[i].byte_cnt);
	for (uint32_t i = 0; i < k; i++)
		out->flow[got + i] = q->run.flow;
	for (uint32_t i = 0; i < k; i++)
		out->pkt_flags[got + i] = q->run.pkt_flags;
	if (out->lost) {
		memset(out->lost + got, 0, k * sizeof(*out->lost));
		out->lost[got] = q->run.at ? 0 : q->run.lost;
	}
	if (out->ts_ns)
		memset(out->ts_ns + got, 0, k * sizeof(*out->ts_ns));
	q->run.at += k;
	q->taken += k;
	return k;
}

static void take_one(struct ne_rxq *q, const struct mlx5_cqe *c, const struct gw__rx_out *out, uint32_t got)
{
	out->slot[got] = q->slot_of[__builtin_bswap16(c->wqe_counter) & (q->depth - 1)];
	out->len[got] = __builtin_bswap32(c->byte_cnt);
	out->flow[got] = __builtin_bswap32(c->sop_drop_qpn) & 0xffffff;
	out->pkt_flags[got] = flags_of(c);
	if (out->lost)
		out->lost[got] = __builtin_bswap32(c->app);
	if (out->ts_ns)
		out->ts_ns[got] = __builtin_bswap64(c->timestamp);
	invalidate(q, q->ci++);
	q->taken++;
}

static uint32_t drain(struct ne_rxq *q, const struct gw__rx_out *out, uint32_t n)
{
	uint32_t got = 0, ci = q->ci;

	while (got < n) {
		const struct mlx5_cqe *c;

		if (q->run.at < q->run.n) {
			got += take_run(q, out, got, n);
			continue;
		}
		c = ne_cqe(q->cqe, q->ci, q->cq_log);
		if (!c)
			break;
		if (c->op_own >> 4 != MLX5_CQE_RESP_SEND) {
			q->dead = -EIO;
			break;
		}
		if ((c->op_own >> 2 & 3) != MLX5_CQE_FORMAT_COMPRESSED)
			take_one(q, c, out, got++);
		else if (!open_run(q, c)) {
			q->dead = -EIO;
			break;
		}
	}
	if (ci != q->ci) /* release: slots are marked invalid before the NIC may write them again */
		__atomic_store_n(&q->dbrec[MLX5_CQ_DBREC_CI], __builtin_bswap32(q->ci & 0xffffff),
				 __ATOMIC_RELEASE);
	if (got && q->n_spare)
		refill(q);
	return got;
}

static bool has_completion(struct ne_rxq *q)
{
	return q->run.at < q->run.n || ne_cqe(q->cqe, q->ci, q->cq_log);
}

/* While traffic flows, a moment's patience before running the sender's side from here: bursts grow, and the
 * two cores do not fight over its lines (measured: 1.5 times the rate of small frames). */
static void be_patient(struct ne_rxq *q)
{
	for (uint32_t i = 0; q->busy && i < PATIENCE && !has_completion(q); i++) {
#if defined(__x86_64__)
		__builtin_ia32_pause();
#elif defined(__aarch64__)
		__asm__ volatile("yield");
#endif
	}
}

static int rxq_rx(void *qp, const struct gw__rx_out *out, uint32_t n)
{
	struct ne_rxq *q = qp;
	uint32_t got = drain(q, out, n);
	int r;

	if (got)
		return (int)got;
	if (q->dead)
		return q->dead;
	if (q->n_spare) /* more may be posted than when they came back */
		refill(q);
	be_patient(q);
	r = has_completion(q) ? 1 : q->ops->progress(q->nic, NE_BURST * 4, GW__NIC_RX);
	q->busy = r > 0;
	got = drain(q, out, n);
	if (got)
		return (int)got;
	if (q->dead)
		return q->dead;
	if (r < 0 && r != -EAGAIN)
		return r;
	/* nothing posted: nothing can come, whatever the others do */
	return !r || q->posted == q->taken ? 0 : -EAGAIN;
}

static bool rxq_arm(void *qp)
{
	struct ne_rxq *q = qp;

	q->due_ns = UINT64_MAX;
	if (has_completion(q))
		return true;
	return q->ops->arm(q->nic, GW__NIC_RX, &q->due_ns) || has_completion(q);
}

static uint64_t rxq_due(void *qp)
{
	return ((struct ne_rxq *)qp)->due_ns;
}

/* ---- open ---------------------------------------------------------------------------------------------- */

static uint32_t pow2_below(uint32_t n)
{
	return n ? 1u << (31 - __builtin_clz(n)) : 0;
}

static uint32_t paused_depth(const struct gw__queue_params *p)
{
	uint64_t bytes = 1; /* 64 bits: four segments of nearly 4 GiB are allowed */

	for (uint32_t s = 0; s < p->slots.n_segs; s++)
		bytes += p->slots.seg[s].size;
	return PAUSED_BYTES / bytes > PAUSED_ENTRIES ? (uint32_t)(PAUSED_BYTES / bytes) : PAUSED_ENTRIES;
}

static int alloc_queue(struct ne_rxq *q, const struct gw__queue_params *p)
{
	uint32_t want = p->ring_depth ? p->ring_depth : NE_MAX_DEPTH;

	if (want > p->slots.n_slots)
		want = p->slots.n_slots;
	if (want > NE_MAX_DEPTH)
		want = NE_MAX_DEPTH;
	q->depth = pow2_below(want);
	q->paused_depth = paused_depth(p);
	q->paused_depth = q->paused_depth < q->depth ? q->paused_depth : q->depth;
	atomic_init(&q->limit, q->depth);
	q->n_slots = p->slots.n_slots;
	q->n_segs = p->slots.n_segs;
	q->log_stride = q->n_segs == 1 ? 4 : q->n_segs == 2 ? 5 : 6;
	q->cq_log = (uint32_t)__builtin_ctz(q->depth);
	q->timestamps = p->timestamps;
	q->cqe = gw__aligned_alloc(4096, (size_t)q->depth * sizeof(struct mlx5_cqe));
	q->wqe = gw__aligned_alloc(4096, (size_t)q->depth << q->log_stride);
	q->dbrec = gw__aligned_alloc(64, 64);
	q->slot_of = gw__calloc(q->depth, sizeof(*q->slot_of));
	q->spare = gw__calloc(q->n_slots, sizeof(*q->spare));
	if (!q->cqe || !q->wqe || !q->dbrec || !q->slot_of || !q->spare)
		return -ENOMEM;
	for (uint32_t i = 0; i < q->depth; i++)
		q->cqe[(size_t)i * sizeof(struct mlx5_cqe) + 63] = MLX5_OP_OWN_EMPTY;
	return 0;
}

/* All but the addresses is the same for ever. */
static void prefill(struct ne_rxq *q)
{
	uint32_t n = 1u << (q->log_stride - 4);

	for (uint32_t e = 0; e < q->depth; e++) {
		struct mlx5_data *d = (struct mlx5_data *)(void *)(q->wqe + ((size_t)e << q->log_stride));

		for (uint32_t s = 0; s < n; s++) {
			d[s].byte_count = s < q->n_segs ? q->seg[s].size_be : 0;
			d[s].lkey = s < q->n_segs ? q->seg[s].key_be : __builtin_bswap32(MLX5_INVALID_LKEY);
		}
	}
	for (uint32_t i = q->n_slots; i > 0; i--)
		q->spare[q->n_spare++] = i - 1;
}

static int make_objects(struct ne_rxq *q, struct gw__event *event, struct gw_diag *diag)
{
	struct gw__nic_attr cq = { .type = GW__NIC_CQ };
	struct gw__nic_attr rq = { .type = GW__NIC_RQ };
	int err;

	cq.cq.buf = q->cqe;
	cq.cq.log_n = q->cq_log;
	cq.cq.dbrec = q->dbrec;
	cq.cq.event = event;
	cq.cq.compressed = !q->timestamps;
	err = q->ops->obj_create(q->nic, &cq, &q->cq, diag);
	if (err)
		return err;
	rq.rq.buf = q->wqe;
	rq.rq.log_n = q->cq_log;
	rq.rq.log_stride = q->log_stride;
	rq.rq.dbrec = q->dbrec + 2;
	rq.rq.cq = q->cq;
	rq.rq.timestamps = q->timestamps;
	return q->ops->obj_create(q->nic, &rq, &q->rq, diag);
}

static void log_line(const struct ne_rxq *q, uint32_t id)
{
	char seg[GW_MAX_SEGS * 48] = "";
	size_t at = 0;

	for (uint32_t s = 0; s < q->n_segs && at < sizeof(seg); s++)
		at += (size_t)snprintf(seg + at, sizeof(seg) - at, " [seg_len=%u slot=%u]", q->seg[s].size,
				       q->seg[s].stride);
	gw__info("Regular RQ q%u: num_segs=%u num_wqe=%u wqe_stride=%uB split=%s%s", id, q->n_segs, q->depth,
		 1u << q->log_stride, q->n_segs > 1 ? "true" : "false", seg);
}

void ne_rxq_close(struct ne_rxq *q)
{
	if (!q)
		return;
	if (q->rq)
		q->ops->obj_destroy(q->rq);
	if (q->cq)
		q->ops->obj_destroy(q->cq);
	ne_segs_unregister(q->nic, q->n_segs, q->seg);
	gw__free(q->cqe);
	gw__free(q->wqe);
	gw__free(q->dbrec);
	gw__free(q->slot_of);
	gw__free(q->spare);
	gw__free(q);
}

int ne_rxq_open(struct ne_port *port, const struct gw__queue_params *p, struct gw__event *event,
		struct gw__rxq *out, struct gw_diag *diag)
{
	struct ne_rxq *q;
	int err;

	if (p->id >= GW_MAX_QUEUES || !p->slots.n_slots || !p->slots.n_segs || p->slots.n_segs > GW_MAX_SEGS)
		return gw__fail(diag, -EINVAL, "receive queue %u: needs 1 to %u regions with at least one buffer",
				p->id, GW_MAX_SEGS);
	q = gw__calloc(1, sizeof(*q));
	if (!q)
		return gw__fail(diag, -ENOMEM, "receive queue %u: no memory", p->id);
	q->nic = port->nic;
	q->ops = port->nic->ops;
	err = ne_segs_register(q->nic, &p->slots, q->seg, diag);
	if (!err) {
		err = alloc_queue(q, p);
		if (err)
			gw__fail(diag, err, "receive queue %u: no memory for %u entries", p->id, p->slots.n_slots);
		else
			err = make_objects(q, event, diag);
	}
	if (err) {
		ne_rxq_close(q);
		return err;
	}
	prefill(q);
	refill(q);
	log_line(q, p->id);
	port->rq[p->id] = q->rq;
	port->rxq[port->n_rxq++] = q;
	*out = (struct gw__rxq){ .q = q, .rx = rxq_rx, .release = rxq_release, .arm = rxq_arm, .due_ns = rxq_due,
				 .event = event, .paused_depth = q->paused_depth };
	q->event = event;
	return 0;
}

void ne_rxq_pause(struct ne_rxq *q, bool on)
{
	atomic_store_explicit(&q->limit, on ? q->paused_depth : q->depth, memory_order_relaxed);
	if (!on && q->event)
		gw__event_signal(q->event); /* its owner posts the rest */
}
