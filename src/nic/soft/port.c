/* nic/soft/port.c: the software NIC's control side: open, objects, rules, counters, progress.
 * Must not know formats beyond sizes. Next: sq.c and rq.c, the data side. */
#include <errno.h>
#include <sched.h>
#include <string.h>

#include "base/alloc.h"
#include "base/diag.h"
#include "nic/soft/soft.h"

void soft_lock(_Atomic uint32_t *lock)
{
	while (!soft_try(lock))
		sched_yield();
}

/* The gates: set before waiting, so that no new burst begins, and down again under the lock. */
void soft_lock_tx(struct soft_nic *nic)
{
	atomic_fetch_add_explicit(&nic->tx_gate, 1, memory_order_relaxed);
	for (;;) {
		soft_lock(&nic->tx_lock);
		soft_tx_retire(nic); /* whoever copied may have found the lock taken by us */
		if (nic->tx_head == nic->tx_tail)
			break;
		soft_unlock(&nic->tx_lock);
		sched_yield();
	}
	atomic_fetch_sub_explicit(&nic->tx_gate, 1, memory_order_relaxed);
}

void soft_lock_rx(struct soft_nic *nic)
{
	atomic_fetch_add_explicit(&nic->rx_gate, 1, memory_order_relaxed);
	for (;;) {
		soft_lock(&nic->rx_lock);
		if (!nic->rx_used)
			break;
		soft_unlock(&nic->rx_lock);
		sched_yield();
	}
	atomic_fetch_sub_explicit(&nic->rx_gate, 1, memory_order_relaxed);
}

void soft_lock_both(struct soft_nic *nic)
{
	atomic_fetch_add_explicit(&nic->rx_gate, 1, memory_order_relaxed);
	for (;;) {
		soft_lock_tx(nic);
		soft_lock(&nic->rx_lock);
		if (!nic->rx_used)
			break;
		/* over a cable to itself, a port's own bursts end only under its tx lock */
		soft_unlock(&nic->rx_lock);
		soft_unlock(&nic->tx_lock);
		sched_yield();
	}
	atomic_fetch_sub_explicit(&nic->rx_gate, 1, memory_order_relaxed);
}

static int run_tx(struct soft_nic *nic, int budget, bool own);

void soft_unlock_tx(struct soft_nic *nic)
{
	soft_unlock(&nic->tx_lock);
	if (atomic_load_explicit(&nic->tx_kick, memory_order_seq_cst))
		(void)run_tx(nic, SOFT_BURST, true);
}

static void tell_held(struct soft_nic *nic)
{
	if (atomic_load_explicit(&nic->rx_held, memory_order_seq_cst) &&
	    atomic_exchange_explicit(&nic->rx_held, 0, memory_order_seq_cst))
		nic->link->ops->resume(nic->link);
}

void soft_unlock_rx(struct soft_nic *nic)
{
	soft_unlock(&nic->rx_lock);
	tell_held(nic);
}

void soft_unlock_both(struct soft_nic *nic)
{
	soft_unlock_rx(nic);
	soft_unlock_tx(nic);
}

/* ---- progress -------------------------------------------------------------------------------------- */

/* own: the caller has just posted. A poster who finds the lock taken leaves a kick and tries once more; the
 * holder looks for the kick after unlocking (all sequentially consistent), so that no post is left lying. */
static int run_tx(struct soft_nic *nic, int budget, bool own)
{
	int moved = 0;
	bool waits = false;

	if (own && atomic_load_explicit(&nic->tx_lock, memory_order_relaxed))
		atomic_store_explicit(&nic->tx_kick, 1, memory_order_seq_cst);
	do {
		struct soft_flight *fl;

		if (!soft_try(&nic->tx_lock)) {
			waits = true; /* somebody is inside */
			if (own && !atomic_exchange_explicit(&nic->tx_kick, 1, memory_order_seq_cst))
				continue;
			return moved ? moved : -EAGAIN;
		}
		for (bool held = false;;) {
			soft_tx_retire(nic);
			if (moved >= budget || held) {
				atomic_store_explicit(&nic->tx_due_ns, 0, memory_order_relaxed); /* not looked at */
				break;
			}
			/* an exchange: whoever set it posted before, and that post is seen now */
			atomic_exchange_explicit(&nic->tx_kick, 0, memory_order_seq_cst);
			fl = soft_tx_take(nic);
			if (!fl)
				break;
			moved += (int)fl->n_frames;
			held = nic->tx_held; /* it took a part: asking again at once is in vain */
			if (atomic_load_explicit(&fl->copied, memory_order_relaxed))
				continue;
			soft_unlock(&nic->tx_lock);
			soft_tx_copy(nic, fl);
			soft_lock(&nic->tx_lock); /* not a try: the completion is owed */
		}
		waits = nic->tx_held || nic->tx_head != nic->tx_tail ||
			atomic_load_explicit(&nic->tx_gate, memory_order_relaxed);
		soft_unlock(&nic->tx_lock);
	} while (moved < budget && atomic_load_explicit(&nic->tx_kick, memory_order_seq_cst) &&
		 !atomic_load_explicit(&nic->tx_gate, memory_order_seq_cst));
	return moved ? moved : waits ? -EAGAIN : 0;
}

static uint64_t soft_tx_due(void *ctx)
{
	return atomic_load_explicit(&((struct soft_nic *)ctx)->tx_due_ns, memory_order_relaxed);
}

static int soft_pull(void *ctx, int budget)
{
	return run_tx(ctx, budget, false);
}

static int run_rx(struct soft_nic *nic, int budget)
{
	int n;

	if (!soft_try(&nic->step_lock))
		return -EAGAIN;
	n = nic->link->ops->step(nic->link, budget);
	soft_unlock(&nic->step_lock);
	return n;
}

static int soft_progress(struct gw__nic *base, int budget, unsigned int dirs)
{
	struct soft_nic *nic = soft(base);
	int t = dirs & GW__NIC_TX ? run_tx(nic, budget, true) : 0;
	int r = dirs & GW__NIC_RX ? run_rx(nic, budget) : 0;

	if (t > 0 || r > 0)
		return (t > 0 ? t : 0) + (r > 0 ? r : 0);
	return t < 0 ? t : r;
}

static bool soft_arm(struct gw__nic *base, unsigned int dirs, uint64_t *due_ns)
{
	struct soft_nic *nic = soft(base);
	bool waits = nic->link->ops->arm(nic->link);

	waits = soft_progress(base, SOFT_BURST, dirs) > 0 || waits;
	*due_ns = nic->link->ops->due_ns(nic->link);
	if (dirs & GW__NIC_TX) {
		uint64_t t = atomic_load_explicit(&nic->tx_due_ns, memory_order_relaxed);

		*due_ns = t < *due_ns ? t : *due_ns;
	}
	return waits;
}

/* Over a cable, from the receiver's thread: wake every send queue's owner. Whoever is inside already is told
 * to go round once more instead. */
static void soft_wake_tx(void *ctx)
{
	struct soft_nic *nic = ctx;

	atomic_exchange_explicit(&nic->tx_kick, 1, memory_order_seq_cst);
	if (!soft_try(&nic->tx_lock))
		return;
	for (uint32_t i = 0; i < nic->n_sq; i++)
		if (nic->sq[i] && nic->sq[i]->cq->event)
			gw__event_signal(nic->sq[i]->cq->event);
	soft_unlock(&nic->tx_lock);
}

/* ---- open and close -------------------------------------------------------------------------------- */

static void free_sq(struct soft_sq *sq)
{
	if (!sq)
		return;
	gw__free(sq->edited);
	gw__free(sq->list);
	gw__free(sq);
}

/* Objects still there are freed with the port: their memory stays the caller's. */
static void free_port(struct soft_nic *nic)
{
	if (!nic)
		return;
	for (uint32_t i = 0; i < SOFT_MAX_QUEUES; i++) {
		free_sq(nic->sq[i]);
		gw__free(nic->rq[i]);
		gw__free(nic->cq[i]);
	}
	for (uint32_t i = 0; i < GW_LINK_FLIGHTS; i++)
		gw__free(nic->flight[i].list);
	gw__flow_table_fini(&nic->flows);
	gw__flow_table_fini(&nic->tx_flows);
	gw__free(nic->rx_burst);
	gw__free(nic->rx_edited);
	gw__free(nic->target);
	gw__free(nic->mr);
	gw__free(nic);
}

static int soft_open(const char *address, struct gw__clock *clock, struct gw__nic **out, struct gw_diag *diag)
{
	struct soft_nic *nic = gw__aligned_alloc(64, sizeof(*nic));
	struct gw__link_sink sink = {
		.deliver = soft_deliver, .take = soft_take, .copy = soft_copy, .finish = soft_finish,
		.pull = soft_pull, .wake_tx = soft_wake_tx, .due_ns = soft_tx_due, .ctx = nic
	};
	bool room = nic != NULL;
	int err;

	for (uint32_t i = 0; room && i < GW_LINK_FLIGHTS; i++)
		room = (nic->flight[i].list = gw__calloc(1, sizeof(struct soft_list))) != NULL;
	if (room)
		room = (nic->rx_burst = gw__calloc(GW_LINK_FLIGHTS, sizeof(*nic->rx_burst))) != NULL;
	if (!room) {
		free_port(nic);
		return gw__fail(diag, -ENOMEM, "no memory for a port");
	}
	nic->base.ops = &gw__nic_soft;
	nic->clock = clock;
	nic->verify = true;
	atomic_init(&nic->tx_due_ns, UINT64_MAX);
	nic->port.obj = (struct gw__nic_obj){ .nic = &nic->base, .type = GW__NIC_PORT };
	gw__toeplitz_init(&nic->rss, gw__toeplitz_default_key);
	err = gw__link_open(address, clock, &nic->link, diag);
	if (err) {
		free_port(nic);
		return err;
	}
	gw__link_plug(nic->link, &sink);
	*out = &nic->base;
	return 0;
}

static void soft_close(struct gw__nic *base)
{
	if (!base)
		return;
	gw__link_close(soft(base)->link); /* no peer is inside afterwards */
	free_port(soft(base));
}

static int soft_query(struct gw__nic *base, struct gw_port_stats *out)
{
	struct soft_nic *nic = soft(base);
	const struct {
		_Atomic uint64_t *from;
		uint64_t *to;
	} rows[] = {
		{ &nic->rx_wire, &out->rx_wire_packets }, { &nic->rx_packets, &out->rx_packets },
		{ &nic->rx_bytes, &out->rx_bytes },       { &nic->rx_missed, &out->rx_missed },
		{ &nic->rx_steer_miss, &out->rx_steer_miss }, { &nic->rx_steer_drop, &out->rx_steer_drop },
		{ &nic->rx_errors, &out->rx_errors },     { &nic->rx_l3_bad, &out->rx_l3_bad },
		{ &nic->rx_l4_bad, &out->rx_l4_bad },     { &nic->tx_packets, &out->tx_packets },
		{ &nic->tx_bytes, &out->tx_bytes },       { &nic->tx_errors, &out->tx_errors },
		{ &nic->tx_dropped, &out->tx_dropped },   { &nic->tx_paused, &out->tx_paused },
	};

	memset(out, 0, sizeof(*out));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		*rows[i].to = atomic_load_explicit(rows[i].from, memory_order_relaxed);
	return 0;
}

/* ---- objects ----------------------------------------------------------------------------------------- */

static bool misaligned(const void *p, size_t to)
{
	return !p || (uintptr_t)p % to;
}

static int cq_create(struct soft_nic *nic, const struct gw__nic_attr *a, struct gw__nic_obj **out,
		     struct gw_diag *diag)
{
	struct soft_cq *cq;
	uint32_t i = 0;

	if (misaligned(a->cq.buf, 64) || misaligned(a->cq.dbrec, 8) || a->cq.log_n > SOFT_MAX_CQ_LOG_N)
		return gw__fail(diag, -EINVAL, "completion queue: buffer 64-byte, record 8-byte aligned, log_n <= %u",
				SOFT_MAX_CQ_LOG_N);
	while (i < SOFT_MAX_QUEUES && nic->cq[i])
		i++;
	if (i == SOFT_MAX_QUEUES)
		return gw__fail(diag, -ENOSPC, "a port has at most %u completion queues", SOFT_MAX_QUEUES);
	cq = gw__calloc(1, sizeof(*cq));
	if (!cq)
		return gw__fail(diag, -ENOMEM, "no memory for a completion queue");
	cq->buf = a->cq.buf;
	cq->dbrec = a->cq.dbrec;
	cq->event = a->cq.event;
	cq->compressed = a->cq.compressed;
	cq->log_n = a->cq.log_n;
	cq->n = 1u << a->cq.log_n;
	cq->idx = i;
	cq->obj = (struct gw__nic_obj){ .nic = &nic->base, .type = GW__NIC_CQ };
	nic->cq[i] = cq;
	*out = &cq->obj;
	return 0;
}

/* A completion queue serves one direction: each has its own lock. */
static int cq_attach(struct gw__nic_obj *obj, struct soft_nic *nic, bool rx, struct soft_cq **out,
		     struct gw_diag *diag)
{
	struct soft_cq *cq = (struct soft_cq *)obj;

	if (!obj || obj->type != GW__NIC_CQ || obj->nic != &nic->base)
		return gw__fail(diag, -EINVAL, "a queue needs a completion queue of its own port");
	if (rx ? cq->for_tx : cq->for_rx)
		return gw__fail(diag, -EINVAL, "a completion queue serves send queues or receive queues, not both");
	*(rx ? &cq->for_rx : &cq->for_tx) = true;
	cq->n_users++;
	*out = cq;
	return 0;
}

static int rq_create(struct soft_nic *nic, const struct gw__nic_attr *a, struct gw__nic_obj **out,
		     struct gw_diag *diag)
{
	struct soft_rq *rq;
	uint32_t i = 0;
	int err;

	if (misaligned(a->rq.buf, 16) || misaligned(a->rq.dbrec, 8) || a->rq.log_n > SOFT_MAX_LOG_N ||
	    a->rq.log_stride < 4 || a->rq.log_stride > 8)
		return gw__fail(diag, -EINVAL, "receive queue: at most %u entries of 16 to 256 bytes", 1u << SOFT_MAX_LOG_N);
	while (i < SOFT_MAX_QUEUES && nic->rq[i])
		i++;
	if (i == SOFT_MAX_QUEUES)
		return gw__fail(diag, -ENOSPC, "a port has at most %u receive queues", SOFT_MAX_QUEUES);
	rq = gw__calloc(1, sizeof(*rq));
	if (!rq)
		return gw__fail(diag, -ENOMEM, "no memory for a receive queue");
	err = cq_attach(a->rq.cq, nic, true, &rq->cq, diag);
	if (err) {
		gw__free(rq);
		return err;
	}
	rq->buf = a->rq.buf;
	rq->dbrec = a->rq.dbrec;
	rq->n = 1u << a->rq.log_n;
	rq->log_stride = a->rq.log_stride;
	rq->max_segs = 1u << (a->rq.log_stride - 4);
	if (rq->max_segs > GW_MAX_SEGS)
		rq->max_segs = GW_MAX_SEGS;
	rq->number = i + 1;
	rq->timestamps = a->rq.timestamps;
	rq->state = GW__NIC_RTS;
	rq->obj = (struct gw__nic_obj){ .nic = &nic->base, .type = GW__NIC_RQ };
	nic->rq[i] = rq;
	if (i >= nic->n_rq)
		nic->n_rq = i + 1;
	*out = &rq->obj;
	return 0;
}

/* Room for a burst of changed frames, once. */
static int edits_alloc(struct soft_edited **e, struct gw_diag *diag)
{
	if (!*e)
		*e = gw__calloc(SOFT_BURST, sizeof(**e));
	return *e ? 0 : gw__fail(diag, -ENOMEM, "no memory for tags and tunnels");
}

static int sq_create(struct soft_nic *nic, const struct gw__nic_attr *a, struct gw__nic_obj **out,
		     struct gw_diag *diag)
{
	struct soft_sq *sq;
	uint32_t i = 0;
	int err;

	if (misaligned(a->sq.buf, 64) || misaligned(a->sq.dbrec, 8) || a->sq.log_n > SOFT_MAX_LOG_N ||
	    (a->sq.db && misaligned(a->sq.db, 8)))
		return gw__fail(diag, -EINVAL, "send queue: at most %u blocks of 64 bytes, aligned", 1u << SOFT_MAX_LOG_N);
	while (i < SOFT_MAX_QUEUES && nic->sq[i])
		i++;
	if (i == SOFT_MAX_QUEUES)
		return gw__fail(diag, -ENOSPC, "a port has at most %u send queues", SOFT_MAX_QUEUES);
	sq = gw__aligned_alloc(64, sizeof(*sq));
	if (!sq)
		return gw__fail(diag, -ENOMEM, "no memory for a send queue");
	sq->list = gw__calloc(1, sizeof(*sq->list));
	err = sq->list ? 0 : gw__fail(diag, -ENOMEM, "no memory for a send queue");
	if (!err && nic->tx_flows.n)
		err = edits_alloc(&sq->edited, diag);
	if (!err)
		err = cq_attach(a->sq.cq, nic, false, &sq->cq, diag);
	if (err) {
		free_sq(sq);
		return err;
	}
	sq->pacing_bps = a->sq.pacing_bps;
	sq->timed = sq->pacing_bps != 0;
	sq->buf = a->sq.buf;
	sq->dbrec = a->sq.dbrec;
	sq->db = a->sq.db;
	sq->n = 1u << a->sq.log_n;
	sq->number = 0x100 + i;
	sq->state = GW__NIC_RTS;
	sq->obj = (struct gw__nic_obj){ .nic = &nic->base, .type = GW__NIC_SQ };
	nic->sq[i] = sq;
	if (i >= nic->n_sq)
		nic->n_sq = i + 1;
	*out = &sq->obj;
	return 0;
}

static int soft_obj_create(struct gw__nic *base, const struct gw__nic_attr *attr, struct gw__nic_obj **out,
			   struct gw_diag *diag)
{
	struct soft_nic *nic = soft(base);
	int err;

	soft_lock_both(nic);
	switch (attr->type) {
	case GW__NIC_CQ:
		err = cq_create(nic, attr, out, diag);
		break;
	case GW__NIC_RQ:
		err = rq_create(nic, attr, out, diag);
		break;
	case GW__NIC_SQ:
		err = sq_create(nic, attr, out, diag);
		break;
	case GW__NIC_PORT:
		*out = &nic->port.obj;
		err = 0;
		break;
	default:
		err = gw__fail(diag, -ENOTSUP, "the software NIC's Ethernet half has no such object");
		break;
	}
	soft_unlock_both(nic);
	return err;
}

static void forget_rq(struct soft_nic *nic, struct soft_rq *rq)
{
	for (uint32_t i = 0; i < nic->n_rq; i++)
		if (nic->rq[i] == rq)
			nic->rq[i] = NULL;
	for (uint32_t r = 0; r < nic->flows.n; r++) {
		struct soft_target *t = &nic->target[r];
		uint32_t keep = 0;

		for (uint32_t i = 0; i < t->n; i++)
			if (t->rq[i] != rq)
				t->rq[keep++] = t->rq[i];
		t->n = keep;
		t->drop = t->drop || !keep;
	}
	rq->cq->n_users--;
}

static void forget_sq(struct soft_nic *nic, struct soft_sq *sq)
{
	for (uint32_t i = 0; i < nic->n_sq; i++)
		if (nic->sq[i] == sq)
			nic->sq[i] = NULL;
	sq->cq->n_users--;
}

static void soft_obj_destroy(struct gw__nic_obj *obj)
{
	struct soft_nic *nic;

	if (!obj || obj->type == GW__NIC_PORT)
		return;
	nic = soft(obj->nic);
	soft_lock_both(nic);
	if (obj->type == GW__NIC_RQ)
		forget_rq(nic, (struct soft_rq *)obj);
	else if (obj->type == GW__NIC_SQ)
		forget_sq(nic, (struct soft_sq *)obj);
	else if (((struct soft_cq *)obj)->n_users)
		obj = NULL; /* still written to: it stays until the port closes */
	else
		nic->cq[((struct soft_cq *)obj)->idx] = NULL;
	soft_unlock_both(nic);
	if (obj && obj->type == GW__NIC_SQ)
		free_sq((struct soft_sq *)obj);
	else
		gw__free(obj);
}

static int rq_modify(struct soft_nic *nic, struct soft_rq *rq, int what, uint64_t value)
{
	if (what != GW__NIC_STATE || (value != GW__NIC_RTS && value != GW__NIC_RST && value != GW__NIC_ERR))
		return -ENOTSUP;
	soft_lock_rx(nic);
	rq->state = (uint8_t)value;
	if (value == GW__NIC_RST)
		rq->pi = rq->ci = (uint16_t)__builtin_bswap32(soft_read32(&rq->dbrec[MLX5_DBREC_RCV]));
	if (value == GW__NIC_ERR) {
		soft_rq_flush(rq);
		soft_cq_flush(nic, &nic->rx_dirty);
	}
	soft_unlock_rx(nic);
	return 0;
}

static int sq_modify(struct soft_nic *nic, struct soft_sq *sq, int what, uint64_t value)
{
	if (what != GW__NIC_STATE || (value != GW__NIC_RTS && value != GW__NIC_RST && value != GW__NIC_ERR))
		return -ENOTSUP;
	soft_lock_tx(nic);
	if (value == GW__NIC_RST) {
		sq->pi = sq->ci = (uint16_t)__builtin_bswap32(soft_read32(&sq->dbrec[MLX5_DBREC_SND]));
		sq->n_pend = 0;
		sq->syndrome = 0;
		sq->wqe_seg = sq->wqe_n_segs;
	}
	if (value == GW__NIC_ERR && sq->n_pend) { /* taken in, not sent: flush them too */
		sq->ci = sq->list->pend[sq->pend_at].next_ci;
		sq->syndrome = MLX5_SYND_WR_FLUSH;
		sq->err_idx = sq->list->pend[sq->pend_at].wqe_idx;
		sq->err_opcode = sq->list->pend[sq->pend_at].opcode;
		sq->n_pend = 0;
		sq->wqe_seg = sq->wqe_n_segs;
		value = GW__NIC_RTS; /* until that one is reported */
	}
	sq->state = (uint8_t)value;
	soft_unlock_tx(nic);
	return 0;
}

static int port_modify(struct soft_nic *nic, int what, uint64_t value)
{
	int err = 0;

	if (what == GW__NIC_LINK_EVENT)
		return nic->link->ops->watch(nic->link, (struct gw__event *)(uintptr_t)value);
	soft_lock_rx(nic);
	if (what == GW__NIC_PAUSE)
		err = value && !nic->link->can_pause ? -ENOTSUP : (nic->pause = value != 0, 0);
	else if (what == GW__NIC_DROP_ALL)
		nic->drop_all = value != 0;
	else if (what == GW__NIC_VERIFY)
		nic->verify = value != 0;
	else
		err = -ENOTSUP;
	soft_unlock_rx(nic);
	return err;
}

static int soft_obj_modify(struct gw__nic_obj *obj, int what, uint64_t value)
{
	struct soft_nic *nic = soft(obj->nic);

	if (what == GW__NIC_POSTED) {
		/* after the record was written, sequentially consistent on both sides: see hold_or_miss() */
		tell_held(nic);
		return 0;
	}
	if (obj->type == GW__NIC_PORT)
		return port_modify(nic, what, value);
	if (obj->type == GW__NIC_RQ)
		return rq_modify(nic, (struct soft_rq *)obj, what, value);
	return obj->type == GW__NIC_SQ ? sq_modify(nic, (struct soft_sq *)obj, what, value) : -ENOTSUP;
}

static uint32_t soft_obj_query(const struct gw__nic_obj *obj, int what)
{
	const struct soft_rq *rq = (const struct soft_rq *)obj;
	const struct soft_sq *sq = (const struct soft_sq *)obj;

	if (obj->type == GW__NIC_PORT)
		return what == GW__NIC_MTU ? soft(obj->nic)->link->mtu : 0;
	if (obj->type == GW__NIC_RQ) {
		if (what == GW__NIC_MISSED)
			return (uint32_t)atomic_load_explicit(&rq->missed, memory_order_relaxed);
		if (what == GW__NIC_STALE)
			return (uint32_t)atomic_load_explicit(&rq->stale, memory_order_relaxed);
		return what == GW__NIC_STATE ? rq->state : rq->number;
	}
	if (obj->type == GW__NIC_SQ) {
		if (what == GW__NIC_STALE)
			return (uint32_t)atomic_load_explicit(&sq->stale, memory_order_relaxed);
		return what == GW__NIC_STATE ? sq->state : sq->number;
	}
	return ((const struct soft_cq *)obj)->idx;
}

/* ---- rules --------------------------------------------------------------------------------------------- */

static int target_of(struct soft_nic *nic, const struct gw_flow_rule *rule, struct gw__nic_obj *const *rqs,
		     struct soft_target *t, struct gw_diag *diag)
{
	memset(t, 0, sizeof(*t));
	t->drop = true;
	for (uint32_t i = 0; i < rule->n_actions && i < GW_MAX_ACTIONS; i++) {
		const struct gw_action *a = &rule->action[i];

		if (a->type == GW_ACTION_DROP)
			continue;
		if (a->type == GW_ACTION_VLAN_POP || a->type == GW_ACTION_DECAP) {
			t->edits = true;
			continue;
		}
		if (a->type != GW_ACTION_QUEUE)
			return gw__fail(diag, -EINVAL, "flow %u: tags and tunnels are put on by tx flows, not rx flows",
					rule->id);
		if (!a->n_queues || a->n_queues > GW_MAX_QUEUES)
			return gw__fail(diag, -EINVAL, "flow %u: a queue action names 1 to %u queues", rule->id,
					GW_MAX_QUEUES);
		for (uint32_t q = 0; q < a->n_queues; q++) {
			if (!rqs || !rqs[q] || rqs[q]->type != GW__NIC_RQ || rqs[q]->nic != &nic->base)
				return gw__fail(diag, -EINVAL, "flow %u: queue %u does not exist on this port",
						rule->id, a->queue[q]);
			t->rq[q] = (struct soft_rq *)rqs[q];
		}
		t->n = a->n_queues;
		t->drop = false;
	}
	return 0;
}

static int flow_add(struct soft_nic *nic, const struct gw_flow_rule *rule, struct gw__nic_obj *const *rqs,
		    struct gw_diag *diag)
{
	struct soft_target t;
	int err = target_of(nic, rule, rqs, &t, diag);

	if (err)
		return err;
	if (t.edits && (rule->match.fields & GW_MATCH_FLEX))
		return gw__fail(diag, -EINVAL, "flow %u: flex matching does not go with vlan_pop or tunnel_decap",
				rule->id);
	err = t.edits ? edits_alloc(&nic->rx_edited, diag) : 0;
	if (err)
		return err;
	if (rule->id > 0xffffff)
		return gw__fail(diag, -EINVAL, "flow id %u is above 16777215, which completions can carry", rule->id);
	if (nic->flows.n == nic->n_target_cap) {
		uint32_t cap = nic->n_target_cap ? nic->n_target_cap * 2 : 8;
		struct soft_target *p = gw__realloc(nic->target, cap * sizeof(*p));

		if (!p)
			return gw__fail(diag, -ENOMEM, "no memory for %u flow rules", cap);
		nic->target = p;
		nic->n_target_cap = cap;
	}
	err = gw__flow_table_add(&nic->flows, rule, diag);
	if (!err)
		nic->target[nic->flows.n - 1] = t;
	return err;
}

static int flow_del(struct soft_nic *nic, uint32_t id)
{
	uint32_t keep = 0;
	int err = -ENOENT;

	for (uint32_t i = 0; i < nic->flows.n; i++) {
		if (nic->flows.rule[i].id == id)
			continue;
		nic->target[keep++] = nic->target[i];
	}
	if (keep != nic->flows.n)
		err = gw__flow_table_del(&nic->flows, id);
	return err;
}

/* Does the rule put something in front of frames that are sent? */
static bool is_tx(const struct gw_flow_rule *rule)
{
	for (uint32_t i = 0; i < rule->n_actions && i < GW_MAX_ACTIONS; i++)
		if (rule->action[i].type == GW_ACTION_VLAN_PUSH || rule->action[i].type == GW_ACTION_ENCAP)
			return true;
	return false;
}

static int tx_flow_add(struct soft_nic *nic, const struct gw_flow_rule *rule, struct gw_diag *diag)
{
	int err = 0;

	for (uint32_t i = 0; i < rule->n_actions; i++)
		if (rule->action[i].type != GW_ACTION_VLAN_PUSH && rule->action[i].type != GW_ACTION_ENCAP)
			return gw__fail(diag, -EINVAL, "flow %u: a tx flow only pushes tags and wraps in tunnels",
					rule->id);
	if (rule->match.fields & GW_MATCH_FLEX)
		return gw__fail(diag, -EINVAL, "flow %u: flex matching does not go with vlan_push or tunnel_encap",
				rule->id);
	for (uint32_t i = 0; i < nic->n_sq && !err; i++)
		if (nic->sq[i])
			err = edits_alloc(&nic->sq[i]->edited, diag);
	return err ? err : gw__flow_table_add(&nic->tx_flows, rule, diag);
}

static int soft_flow(struct gw__nic *base, const struct gw_flow_rule *rule, struct gw__nic_obj *const *rqs, bool add,
		     struct gw_diag *diag)
{
	struct soft_nic *nic = soft(base);
	int err;

	if (rule->n_actions > GW_MAX_ACTIONS)
		return gw__fail(diag, -EINVAL, "flow %u: at most %u actions", rule->id, GW_MAX_ACTIONS);
	soft_lock_both(nic);
	if (!add) {
		int tx = gw__flow_table_del(&nic->tx_flows, rule->id);

		err = flow_del(nic, rule->id);
		err = tx ? err : 0;
	} else if (is_tx(rule)) {
		err = tx_flow_add(nic, rule, diag);
	} else {
		err = flow_add(nic, rule, rqs, diag);
	}
	soft_unlock_both(nic);
	return err;
}

const struct gw__nic_ops gw__nic_soft = {
	.name = "soft",
	.open = soft_open,
	.close = soft_close,
	.query = soft_query,
	.obj_create = soft_obj_create,
	.obj_modify = soft_obj_modify,
	.obj_query = soft_obj_query,
	.obj_destroy = soft_obj_destroy,
	.mem_reg = soft_mem_reg,
	.mem_unreg = soft_mem_unreg,
	.flow = soft_flow,
	.progress = soft_progress,
	.arm = soft_arm,
};
