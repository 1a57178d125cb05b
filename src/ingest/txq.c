/* ingest/txq.c: reserve, fill, submit; a short count leaves the rest with the caller.
 * The engine is called under the queue's lock, so that the tender can reclaim while the sender is away.
 * Must not know receive queues. Next: engines/ (submit), poller.c (the tender). */
#include <errno.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/diag.h"
#include "ingest/gw.h"

#define ETH_BYTES 14u
#define ETH_SRC 6u

int gw__txq_open(struct gw *gw, uint16_t port, uint16_t idx, struct gw_diag *diag)
{
	struct gw__tx_queue *q = &gw->port[port].txq[idx];
	const struct gw_cfg_port *pc = gw->port[port].cfg;
	const struct gw_cfg_queue *c = &pc->txq[idx];
	struct gw__queue_params p;
	char who[2 * GW_CFG_NAME + 32];
	int err;

	snprintf(who, sizeof(who), "interface '%s', tx queue '%s'", pc->name, c->name);
	q->scheduled = pc->accurate_send;
	q->src_mac = c->tx_eth_src;
	err = gw__slots_take(gw, c->region, c->n_regions, &q->slots, who, diag);
	if (err)
		return err;
	if (q->src_mac && (!q->slots.seg[0].host || q->slots.seg[0].size < ETH_BYTES))
		return gw__fail(diag, -EINVAL,
				"%s: offload tx_eth_src writes the source address, so its first region must be "
				"readable by the CPU and hold %u bytes; use kind huge", who, ETH_BYTES);
	q->slot = gw__calloc(q->slots.n_slots, sizeof(*q->slot));
	q->time_ns = q->scheduled ? gw__calloc(q->slots.n_slots, sizeof(*q->time_ns)) : NULL;
	err = !q->slot || (q->scheduled && !q->time_ns) ? -ENOMEM : 0;
	for (uint32_t s = 0; s < q->slots.n_segs; s++) {
		q->seg_len[s] = gw__calloc(q->slots.n_slots, sizeof(*q->seg_len[s]));
		q->seg_ptr[s] = gw__calloc(q->slots.n_slots, sizeof(*q->seg_ptr[s]));
		if (!q->seg_len[s] || !q->seg_ptr[s])
			err = -ENOMEM;
	}
	if (err)
		return gw__fail(diag, err, "%s: no memory for %u slots", who, q->slots.n_slots);
	err = gw__event_init(&q->event);
	if (err)
		return gw__fail(diag, err, "%s: no event", who);
	p = (struct gw__queue_params){ .port = port, .id = q->id, .slots = q->slots,
				       .scheduled = q->scheduled, .pacing_bps = c->pacing_mbps * 1000000u };
	err = gw->ops.txq_open(gw->engine, &p, &q->event, &q->eng, diag);
	q->eng.due_ns = q->eng.due_ns ? q->eng.due_ns : gw__never_due;
	if (!err && q->src_mac)
		err = gw->ops.port_mac(gw->engine, port, q->mac);
	return err;
}

void gw__txq_close(struct gw__tx_queue *q)
{
	for (uint32_t s = 0; s < GW_MAX_SEGS; s++) {
		gw__free(q->seg_len[s]);
		gw__free(q->seg_ptr[s]);
		gw__free(q->from[s]);
	}
	gw__free(q->slot);
	gw__free(q->time_ns);
	gw__event_fini(&q->event);
	pthread_mutex_destroy(&q->lock);
}

struct gw__tx_queue *gw__txq_find(struct gw *gw, uint16_t port, uint16_t queue)
{
	const struct gw_cfg_port *c;

	if (!gw || port >= gw->n_ports)
		return NULL;
	c = gw->port[port].cfg;
	for (uint32_t i = 0; i < c->n_txq; i++)
		if (gw->port[port].txq[i].id == queue)
			return &gw->port[port].txq[i];
	return NULL;
}

int gw__txq_progress(struct gw__tx_queue *q)
{
	int r = q->eng.pending(q->eng.q);

	q->pending = r < 0 ? 0 : (uint32_t)r;
	atomic_store_explicit(&q->busy, q->pending, memory_order_relaxed);
	return r;
}

uint64_t gw__txq_due_ns(struct gw__tx_queue *q)
{
	uint64_t due = UINT64_MAX, now;

	pthread_mutex_lock(&q->lock);
	if (!q->eng.arm(q->eng.q))
		due = q->eng.due_ns(q->eng.q);
	pthread_mutex_unlock(&q->lock);
	if (due == UINT64_MAX)
		return due;
	now = gw__now_ns(q->gw->clock);
	return due > now ? due - now : 0;
}

static void describe(struct gw__tx_queue *q, struct gw_tx *tx)
{
	memset(tx, 0, sizeof(*tx));
	tx->n_pkts = q->n - q->at;
	tx->n_segs = q->slots.n_segs;
	tx->port = q->port;
	tx->queue = q->id;
	for (uint32_t s = 0; s < q->slots.n_segs; s++) {
		tx->seg_ptr[s] = q->seg_ptr[s] + q->at;
		tx->seg_len[s] = q->seg_len[s] + q->at;
		tx->seg_size[s] = q->slots.seg[s].size;
	}
	tx->tx_time_ns = q->scheduled ? q->time_ns + q->at : NULL;
	tx->priv = q;
}

int gw_tx_reserve(struct gw *gw, uint16_t port, uint16_t queue, uint32_t n, struct gw_tx *tx)
{
	struct gw__tx_queue *q = gw__txq_find(gw, port, queue);
	int r;

	if (!q || !tx || !n)
		return -EINVAL;
	if (q->at < q->n)
		return -EBUSY;
	if (n > q->slots.n_slots)
		n = q->slots.n_slots;
	gw__count(&q->ops, 1);
	pthread_mutex_lock(&q->lock);
	r = q->eng.reserve(q->eng.q, q->slot, n);
	pthread_mutex_unlock(&q->lock);
	if (r < 0)
		return r;
	q->at = 0;
	q->n = (uint32_t)r;
	for (uint32_t s = 0; s < q->slots.n_segs; s++) {
		uint8_t *base = q->slots.seg[s].base;
		size_t stride = q->slots.seg[s].stride;

		for (uint32_t i = 0; i < q->n; i++)
			q->seg_ptr[s][i] = base + q->slot[i] * stride;
		memset(q->seg_len[s], 0, q->n * sizeof(*q->seg_len[s]));
		if (q->from[s])
			memset(q->from[s], 0, q->n * sizeof(*q->from[s]));
	}
	if (q->scheduled)
		memset(q->time_ns, 0, q->n * sizeof(*q->time_ns));
	describe(q, tx);
	return r;
}

static bool is_lent(const struct gw__tx_queue *q, const void *ptr, uint32_t bytes)
{
	for (uint32_t k = 0; k < q->n_lends; k++)
		if (gw__lent(q->lend[k].ptr, q->lend[k].bytes, ptr, bytes))
			return true;
	return false;
}

/* Every length fits its segment, or the memory lent for it, and no frame is shorter than an Ethernet header. */
static bool lengths_fit(const struct gw__tx_queue *q, uint32_t n)
{
	for (uint32_t i = q->at; i < q->at + n; i++) {
		uint64_t sum = 0;

		for (uint32_t s = 0; s < q->slots.n_segs; s++) {
			const void *from = q->from[s] ? q->from[s][i] : NULL;

			if (from ? !is_lent(q, from, q->seg_len[s][i]) : q->seg_len[s][i] > q->slots.seg[s].size)
				return false;
			sum += q->seg_len[s][i];
		}
		if (sum < ETH_BYTES)
			return false;
	}
	return true;
}

static uint64_t bytes_of(const struct gw__tx_queue *q, uint32_t from, uint32_t n)
{
	uint64_t sum = 0;

	for (uint32_t s = 0; s < q->slots.n_segs; s++)
		for (uint32_t i = from; i < from + n; i++)
			sum += q->seg_len[s][i];
	return sum;
}

int gw_tx_submit(struct gw *gw, struct gw_tx *tx, uint32_t n)
{
	struct gw__tx_queue *q = tx ? tx->priv : NULL;
	struct gw__tx_in in;
	int r;

	if (!gw || !q || n > q->n - q->at || !lengths_fit(q, n))
		return -EINVAL;
	if (!n)
		return 0;
	for (uint32_t i = q->at; q->src_mac && i < q->at + n; i++)
		memcpy(q->slots.seg[0].host + (size_t)q->slot[i] * q->slots.seg[0].stride + ETH_SRC, q->mac, 6);
	in = (struct gw__tx_in){ .slot = q->slot, .seg_len = (const uint32_t *const *)q->seg_len,
				 .tx_time_ns = q->scheduled ? q->time_ns : NULL,
				 .from = q->n_lends ? (const uint8_t *const *const *)q->from : NULL };
	gw__count(&q->ops, 1);
	pthread_mutex_lock(&q->lock);
	r = q->eng.submit(q->eng.q, &in, q->at, n);
	if (r > 0) {
		q->tx_packets += (uint32_t)r;
		q->tx_bytes += bytes_of(q, q->at, (uint32_t)r);
		q->at += (uint32_t)r;
		atomic_store_explicit(&q->busy, 1, memory_order_relaxed);
	}
	pthread_mutex_unlock(&q->lock);
	if (r > 0)
		gw__event_signal(&gw->tend_event);
	describe(q, tx);
	return r;
}

static int room_for_lends(struct gw__tx_queue *q)
{
	for (uint32_t s = 0; s < q->slots.n_segs; s++) {
		if (!q->from[s])
			q->from[s] = gw__calloc(q->slots.n_slots, sizeof(*q->from[s]));
		if (!q->from[s])
			return -ENOMEM;
	}
	return 0;
}

int gw_tx_lend(struct gw *gw, uint16_t port, uint16_t queue, const void *ptr, size_t bytes)
{
	struct gw__tx_queue *q = gw__txq_find(gw, port, queue);
	int err;

	if (!q || !ptr || !bytes)
		return -EINVAL;
	if (!q->eng.lend || q->src_mac)
		return -ENOTSUP;
	if (q->n_lends == GW__LENDS)
		return -ENOSPC;
	pthread_mutex_lock(&q->lock);
	err = room_for_lends(q);
	if (!err)
		err = q->eng.lend(q->eng.q, ptr, bytes);
	if (!err)
		q->lend[q->n_lends++] = (struct gw__lend){ ptr, bytes };
	pthread_mutex_unlock(&q->lock);
	return err;
}

int gw_tx_use(struct gw_tx *tx, uint32_t i, uint32_t seg, const void *ptr, uint32_t bytes)
{
	struct gw__tx_queue *q = tx ? tx->priv : NULL;

	if (!q || i >= q->n - q->at || seg >= q->slots.n_segs || !is_lent(q, ptr, bytes))
		return -EINVAL;
	q->from[seg][q->at + i] = ptr;
	q->seg_len[seg][q->at + i] = bytes;
	return 0;
}

void gw_tx_cancel(struct gw *gw, struct gw_tx *tx)
{
	struct gw__tx_queue *q = tx ? tx->priv : NULL;

	if (!gw || !q)
		return;
	pthread_mutex_lock(&q->lock);
	if (q->at < q->n)
		q->eng.cancel(q->eng.q, q->slot + q->at, q->n - q->at);
	pthread_mutex_unlock(&q->lock);
	q->at = q->n = 0;
	memset(tx, 0, sizeof(*tx));
}

/* A slot to spare? 1, 0 or negative errno. */
static int can_reserve(struct gw__tx_queue *q)
{
	uint32_t slot;
	int r;

	pthread_mutex_lock(&q->lock);
	r = q->eng.reserve(q->eng.q, &slot, 1);
	if (r == 1)
		q->eng.cancel(q->eng.q, &slot, 1);
	pthread_mutex_unlock(&q->lock);
	return r;
}

/* Everything gone? 1, 0 or negative errno. */
static int is_drained(struct gw__tx_queue *q)
{
	int r;

	pthread_mutex_lock(&q->lock);
	r = gw__txq_progress(q);
	pthread_mutex_unlock(&q->lock);
	return r < 0 ? r : r == 0;
}

static int wait_for(struct gw *gw, struct gw__tx_queue *q, int (*test)(struct gw__tx_queue *q),
		    uint64_t timeout_ns)
{
	struct gw__ladder ladder;
	uint64_t now = gw__now_ns(gw->clock);
	uint64_t end = timeout_ns > UINT64_MAX - now ? UINT64_MAX : now + timeout_ns;

	gw__ladder_init(&ladder);
	for (;;) {
		uint64_t due, left;
		bool ready;
		int r;

		gw__count(&q->ops, 1);
		r = test(q);
		now = gw__now_ns(gw->clock);
		if (r || now >= end || gw->no_threads)
			return r;
		if (atomic_load_explicit(&gw->closing, memory_order_acquire))
			return -ESHUTDOWN;
		if (gw->cfg->wait == GW_WAIT_BUSY || !gw__ladder_step(&ladder))
			continue;
		gw__event_arm(&q->event);
		pthread_mutex_lock(&q->lock);
		ready = q->eng.arm(q->eng.q);
		due = ready ? 0 : q->eng.due_ns(q->eng.q);
		pthread_mutex_unlock(&q->lock);
		left = end == UINT64_MAX ? UINT64_MAX : end - now;
		if (due != UINT64_MAX && (due > now ? due - now : 0) < left)
			left = due > now ? due - now : 0;
		if (ready || !left)
			gw__event_disarm(&q->event);
		else
			(void)gw__event_block(&q->event, left);
	}
}

int gw_tx_wait(struct gw *gw, uint16_t port, uint16_t queue, uint64_t timeout_ns)
{
	struct gw__tx_queue *q = gw__txq_find(gw, port, queue);

	return q ? wait_for(gw, q, can_reserve, timeout_ns) : -EINVAL;
}

int gw_tx_drain(struct gw *gw, uint16_t port, uint16_t queue, uint64_t timeout_ns)
{
	struct gw__tx_queue *q = gw__txq_find(gw, port, queue);
	int r;

	if (!q)
		return -EINVAL;
	r = wait_for(gw, q, is_drained, timeout_ns);
	return r > 0 ? 0 : r ? r : -ETIMEDOUT;
}
