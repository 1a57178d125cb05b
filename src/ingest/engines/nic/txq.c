/* ingest/engines/nic/txq.c: a transmit queue: slots into send requests, completions into free slots.
 * One-segment packets travel as multi-packet requests, 16 bytes each; others as plain sends with a gather
 * list. Must not know bursts. Next: nic/mlx5_format.h. */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/diag.h"
#include "base/log.h"
#include "ingest/engines/nic/nic_engine.h"

#define EMPW_MAX (MLX5_MAX_DS - 2u)

struct ne_txq {
	const struct gw__nic_ops *ops;
	struct gw__nic *nic;
	struct gw__nic_obj *cq, *sq;
	uint8_t *ring, *cqe;
	uint32_t n_bb, cq_log;
	uint32_t number_be;  /* queue number << 8, big-endian */
	uint32_t number, mtu;
	uint32_t pi, ci;     /* blocks posted, blocks given back; free-running */
	uint32_t cq_ci;
	uint32_t *dbrec;     /* [0], [1]: completion queue; [2], [3]: send queue */
	uint64_t *db;
	/* slots in the order they were posted; ends[b]: how far blocks and packets were when the request that
	 * starts in block b was posted */
	uint32_t *order, order_mask, head, tail;
	struct ends {
		uint32_t blocks, packets;
	} *ends;
	uint32_t *free, n_free;
	uint32_t unsignalled; /* packets since the last request that asked for a completion */
	uint32_t last_bb;     /* where the last request starts */
	uint32_t n_segs;
	struct ne_seg seg[GW_MAX_SEGS];
	struct {
		const uint8_t *ptr;
		size_t bytes;
		uint32_t key;
	} lend[GW__LENDS];
	uint32_t n_lends;
	const uint8_t *src_mac; /* NULL: frames go as they are */
	bool lazy, failed;
	uint64_t due_ns;
};

/* ---- completions ---------------------------------------------------------------------------------------- */

static void give_back(struct ne_txq *q, uint16_t idx)
{
	const struct ends *e = &q->ends[idx & (q->n_bb - 1)];

	q->ci = e->blocks;
	while (q->head != e->packets)
		q->free[q->n_free++] = q->order[q->head++ & q->order_mask];
}

/* After an error everything posted comes back as flushed; then the queue starts anew. */
static void restart(struct ne_txq *q)
{
	if (q->ci != q->pi || q->ops->obj_modify(q->sq, GW__NIC_STATE, GW__NIC_RST) ||
	    q->ops->obj_modify(q->sq, GW__NIC_STATE, GW__NIC_RTS))
		return;
	q->failed = false;
	q->unsignalled = 0;
	gw__warn("transmit queue: restarted after a refused request");
}

static uint32_t reap(struct ne_txq *q)
{
	uint32_t before = q->n_free, ci = q->cq_ci;
	const struct mlx5_cqe *c;

	while ((c = ne_cqe(q->cqe, q->cq_ci, q->cq_log))) {
		if (c->op_own >> 4 != MLX5_CQE_REQ)
			q->failed = true;
		give_back(q, __builtin_bswap16(c->wqe_counter));
		q->cq_ci++;
	}
	if (ci != q->cq_ci)
		__atomic_store_n(&q->dbrec[MLX5_CQ_DBREC_CI], __builtin_bswap32(q->cq_ci & 0xffffff),
				 __ATOMIC_RELEASE);
	if (q->failed)
		restart(q);
	return q->n_free - before;
}

/* ---- posting ---------------------------------------------------------------------------------------------- */

static uint8_t *segment(struct ne_txq *q, uint32_t bb, uint32_t i)
{
	size_t at = ((size_t)(bb & (q->n_bb - 1)) * 4 + i) & ((size_t)q->n_bb * 4 - 1);

	return q->ring + at * MLX5_SEG;
}

static void put_head(struct ne_txq *q, uint8_t opcode, uint32_t ds, uint32_t n_pkts, bool signal)
{
	struct mlx5_ctrl *c = (struct mlx5_ctrl *)(void *)segment(q, q->pi, 0);
	struct ends *e = &q->ends[q->pi & (q->n_bb - 1)];

	c->opmod_idx_opcode = __builtin_bswap32((q->pi & 0xffff) << 8 | opcode);
	c->qpn_ds = q->number_be | __builtin_bswap32(ds);
	c->signature = 0;
	c->fm_ce_se = (uint8_t)((signal ? MLX5_CE_ALWAYS : MLX5_CE_ERROR) << MLX5_CE_SHIFT);
	c->imm = 0;
	memset(segment(q, q->pi, 1), 0, MLX5_SEG);
	q->last_bb = q->pi;
	q->pi += (ds + 3) / 4;
	q->tail += n_pkts;
	q->unsignalled = signal ? 0 : q->unsignalled + n_pkts;
	e->blocks = q->pi;
	e->packets = q->tail;
}

/* The caller has checked that one piece holds all of it. */
static void put_lent(const struct ne_txq *q, struct mlx5_data *d, const uint8_t *from, uint32_t len)
{
	uint32_t k = 0;

	while (k + 1 < q->n_lends && !gw__lent(q->lend[k].ptr, q->lend[k].bytes, from, len))
		k++;
	d->lkey = __builtin_bswap32(q->lend[k].key); /* the NIC checks */
	d->addr = __builtin_bswap64((uint64_t)(uintptr_t)from);
}

/* Segment s of packet i. */
static void put_data(struct ne_txq *q, uint8_t *at, const struct gw__tx_in *in, uint32_t s, uint32_t i)
{
	struct mlx5_data *d = (struct mlx5_data *)(void *)at;
	uint32_t slot = in->slot[i];

	d->byte_count = __builtin_bswap32(in->seg_len[s][i]);
	if (in->from && in->from[s][i]) {
		put_lent(q, d, in->from[s][i], in->seg_len[s][i]);
		return;
	}
	d->lkey = q->seg[s].key_be;
	d->addr = __builtin_bswap64(q->seg[s].base + (uint64_t)slot * q->seg[s].stride);
}

/* Packet i's length, 0 if the wire cannot carry it. */
static uint32_t frame_len(const struct ne_txq *q, const struct gw__tx_in *in, uint32_t i)
{
	uint64_t len = 0;

	for (uint32_t s = 0; s < q->n_segs; s++)
		len += in->seg_len[s][i];
	return len >= NE_MIN_FRAME && len <= q->mtu ? (uint32_t)len : 0;
}

static void set_src_mac(const struct ne_txq *q, uint32_t slot)
{
	memcpy(q->seg[0].host + (size_t)slot * q->seg[0].stride + 6, q->src_mac, 6);
}

/* One multi-packet request of up to 61 packets. Returns how many, 0 = ring full. */
static uint32_t post_many(struct ne_txq *q, const struct gw__tx_in *in, uint32_t first, uint32_t n)
{
	uint32_t room = (q->n_bb - (q->pi - q->ci)) * 4, k;

	if (room < 3)
		return 0;
	n = n < EMPW_MAX ? n : EMPW_MAX;
	n = n < room - 2 ? n : room - 2;
	for (k = 0; k < n; k++) {
		uint32_t slot = in->slot[first + k];

		if (!frame_len(q, in, first + k))
			break;
		put_data(q, segment(q, q->pi, 2 + k), in, 0, first + k);
		q->order[(q->tail + k) & q->order_mask] = slot;
		if (q->src_mac)
			set_src_mac(q, slot);
	}
	if (k)
		put_head(q, MLX5_OP_EMPW, 2 + k, k, true);
	return k;
}

/* Hold what follows until the clock has passed t_ns. */
static void post_wait(struct ne_txq *q, uint64_t t_ns)
{
	struct mlx5_wait_time *w = (struct mlx5_wait_time *)(void *)segment(q, q->pi, 1);
	uint32_t bb = q->pi;

	put_head(q, MLX5_OP_WAIT, 3, 0, false);
	memset(w, 0, sizeof(*w));
	w->value = __builtin_bswap64(t_ns / 1000000000u << 32 | t_ns % 1000000000u);
	w->mask = UINT64_MAX;
	*segment(q, bb, 0) = MLX5_OPMOD_WAIT_TIME;
}

/* One plain send with a gather list, after its time if it has one. */
static uint32_t post_one(struct ne_txq *q, const struct gw__tx_in *in, uint32_t i)
{
	uint32_t slot = in->slot[i], ds = 2;

	if (q->n_bb - (q->pi - q->ci) < 3 || !frame_len(q, in, i))
		return 0;
	if (in->tx_time_ns && in->tx_time_ns[i])
		post_wait(q, in->tx_time_ns[i]);
	for (uint32_t s = 0; s < q->n_segs; s++)
		if (in->seg_len[s][i])
			put_data(q, segment(q, q->pi, ds++), in, s, i);
	q->order[q->tail & q->order_mask] = slot;
	if (q->src_mac)
		set_src_mac(q, slot);
	put_head(q, MLX5_OP_SEND, ds, 1, q->unsignalled >= NE_BURST - 1);
	return 1;
}

/* Not told of yet: the last request of a submit asks for a completion, however short the ring cut it. Without
 * one, what lies before it would stay out until more is sent. */
static void signal_last(struct ne_txq *q)
{
	struct mlx5_ctrl *c = (struct mlx5_ctrl *)(void *)segment(q, q->last_bb, 0);

	c->fm_ce_se = MLX5_CE_ALWAYS << MLX5_CE_SHIFT;
	q->unsignalled = 0;
}

static void ring_doorbell(struct ne_txq *q)
{
	/* release: requests before both hints */
	__atomic_store_n(&q->dbrec[2 + MLX5_DBREC_SND], __builtin_bswap32(q->pi & 0xffff), __ATOMIC_RELEASE);
	__atomic_store_n(q->db, mlx5_doorbell(q->number, q->pi), __ATOMIC_RELEASE);
}

static int txq_submit(void *qp, const struct gw__tx_in *in, uint32_t first, uint32_t n)
{
	struct ne_txq *q = qp;
	uint32_t done = 0;

	if (q->failed)
		reap(q);
	while (done < n && !q->failed) {
		uint32_t k = q->n_segs == 1 && !in->tx_time_ns ? post_many(q, in, first + done, n - done) :
					      post_one(q, in, first + done);

		if (!k)
			break;
		done += k;
	}
	if (done < n && !done && !frame_len(q, in, first))
		return -EMSGSIZE;
	if (done && q->unsignalled)
		signal_last(q);
	if (!done)
		reap(q);
	else
		ring_doorbell(q);
	if (!q->lazy)
		q->ops->progress(q->nic, NE_BURST * 4, GW__NIC_TX);
	return (int)done;
}

static int txq_reserve(void *qp, uint32_t *slots, uint32_t n)
{
	struct ne_txq *q = qp;

	if (q->n_free < n) {
		reap(q);
		if (q->n_free < n && !q->lazy) {
			q->ops->progress(q->nic, NE_BURST * 4, GW__NIC_TX);
			reap(q);
		}
	}
	if (n > q->n_free)
		n = q->n_free;
	q->n_free -= n;
	memcpy(slots, q->free + q->n_free, n * sizeof(*slots));
	return (int)n;
}

static void txq_cancel(void *qp, const uint32_t *slots, uint32_t n)
{
	struct ne_txq *q = qp;

	memcpy(q->free + q->n_free, slots, n * sizeof(*slots));
	q->n_free += n;
}

static int txq_lend(void *qp, const void *ptr, size_t bytes)
{
	struct ne_txq *q = qp;
	uint32_t key;
	/* only read from: send requests are all that names it */
	int err = q->ops->mem_reg(q->nic, ptr, (void *)(uintptr_t)ptr, bytes, &key);

	if (err)
		return err;
	q->lend[q->n_lends].ptr = ptr;
	q->lend[q->n_lends].bytes = bytes;
	q->lend[q->n_lends++].key = key;
	return 0;
}

static int txq_pending(void *qp)
{
	struct ne_txq *q = qp;

	q->ops->progress(q->nic, NE_BURST * 4, GW__NIC_TX);
	reap(q);
	return (int)(q->tail - q->head);
}

static bool txq_arm(void *qp)
{
	struct ne_txq *q = qp;

	q->due_ns = UINT64_MAX;
	if (reap(q))
		return true;
	q->ops->arm(q->nic, GW__NIC_TX, &q->due_ns);
	return reap(q) > 0;
}

static uint64_t txq_due(void *qp)
{
	return ((struct ne_txq *)qp)->due_ns;
}

/* ---- open --------------------------------------------------------------------------------------------------- */

static uint32_t pow2_above(uint32_t n)
{
	return n <= 1 ? 1 : 1u << (32 - __builtin_clz(n - 1));
}

static int alloc_queue(struct ne_txq *q, const struct gw__queue_params *p)
{
	uint32_t n_slots = p->slots.n_slots, bb = (p->slots.n_segs > 2 ? 2 : 1) + (p->scheduled ? 1 : 0);
	uint32_t want = n_slots > NE_MAX_DEPTH / bb ? NE_MAX_DEPTH : n_slots * bb;

	q->n_bb = pow2_above(want < 16 ? 16 : want);
	q->cq_log = (uint32_t)__builtin_ctz(q->n_bb);
	q->n_segs = p->slots.n_segs;
	q->order_mask = pow2_above(n_slots) - 1;
	q->ring = gw__aligned_alloc(4096, (size_t)q->n_bb * MLX5_BB);
	q->cqe = gw__aligned_alloc(4096, (size_t)q->n_bb * sizeof(struct mlx5_cqe));
	q->dbrec = gw__aligned_alloc(64, 64);
	q->db = gw__aligned_alloc(64, 64);
	q->order = gw__calloc(q->order_mask + 1, sizeof(*q->order));
	q->ends = gw__calloc(q->n_bb, sizeof(*q->ends));
	q->free = gw__calloc(n_slots, sizeof(*q->free));
	if (!q->ring || !q->cqe || !q->dbrec || !q->db || !q->order || !q->ends || !q->free)
		return -ENOMEM;
	for (uint32_t i = 0; i < q->n_bb; i++)
		q->cqe[(size_t)i * sizeof(struct mlx5_cqe) + 63] = MLX5_OP_OWN_EMPTY;
	for (uint32_t i = n_slots; i > 0; i--)
		q->free[q->n_free++] = i - 1;
	return 0;
}

static int make_objects(struct ne_txq *q, const struct gw__queue_params *p, struct gw__event *event,
			struct gw_diag *diag)
{
	struct gw__nic_attr cq = { .type = GW__NIC_CQ };
	struct gw__nic_attr sq = { .type = GW__NIC_SQ };
	int err;

	cq.cq.buf = q->cqe;
	cq.cq.log_n = q->cq_log;
	cq.cq.dbrec = q->dbrec;
	cq.cq.event = event;
	err = q->ops->obj_create(q->nic, &cq, &q->cq, diag);
	if (err)
		return err;
	sq.sq.buf = q->ring;
	sq.sq.log_n = q->cq_log;
	sq.sq.dbrec = q->dbrec + 2;
	sq.sq.db = q->db;
	sq.sq.cq = q->cq;
	sq.sq.pacing_bps = p->pacing_bps;
	err = q->ops->obj_create(q->nic, &sq, &q->sq, diag);
	if (err)
		return err;
	q->number = q->ops->obj_query(q->sq, GW__NIC_NUMBER);
	q->number_be = __builtin_bswap32(q->number << 8);
	return 0;
}

void ne_txq_close(struct ne_txq *q)
{
	if (!q)
		return;
	if (q->sq)
		q->ops->obj_destroy(q->sq);
	if (q->cq)
		q->ops->obj_destroy(q->cq);
	ne_segs_unregister(q->nic, q->n_segs, q->seg);
	for (uint32_t k = 0; k < q->n_lends; k++)
		q->ops->mem_unreg(q->nic, q->lend[k].key);
	gw__free(q->ring);
	gw__free(q->cqe);
	gw__free(q->dbrec);
	gw__free(q->db);
	gw__free(q->order);
	gw__free(q->ends);
	gw__free(q->free);
	gw__free(q);
}

int ne_txq_open(struct ne_port *port, const struct gw__queue_params *p, struct gw__event *event, bool src_mac,
		struct gw__txq *out, struct gw_diag *diag)
{
	struct ne_txq *q;
	int err;

	if (p->id >= GW_MAX_QUEUES || !p->slots.n_slots || !p->slots.n_segs || p->slots.n_segs > GW_MAX_SEGS)
		return gw__fail(diag, -EINVAL, "transmit queue %u: needs 1 to %u regions with at least one buffer",
				p->id, GW_MAX_SEGS);
	q = gw__calloc(1, sizeof(*q));
	if (!q)
		return gw__fail(diag, -ENOMEM, "transmit queue %u: no memory", p->id);
	q->nic = port->nic;
	q->ops = port->nic->ops;
	q->mtu = q->ops->obj_query(port->obj, GW__NIC_MTU) - port->tx_overhead;
	q->lazy = port->lazy_tx;
	q->src_mac = src_mac ? port->mac : NULL;
	err = ne_segs_register(q->nic, &p->slots, q->seg, diag);
	if (!err) {
		err = alloc_queue(q, p);
		if (err)
			gw__fail(diag, err, "transmit queue %u: no memory for %u slots", p->id, p->slots.n_slots);
		else
			err = make_objects(q, p, event, diag);
	}
	if (err) {
		ne_txq_close(q);
		return err;
	}
	port->txq[port->n_txq++] = q;
	*out = (struct gw__txq){ .q = q, .reserve = txq_reserve, .submit = txq_submit, .cancel = txq_cancel,
				 .lend = txq_lend,
				 .pending = txq_pending, .arm = txq_arm, .due_ns = txq_due, .event = event };
	return 0;
}
