/* ingest/rx.c: the consumer's side of receive: take a burst, wait for one, take from any queue, throw away.
 * What it takes was handed over by the queue's owner (rxq.c) through a ring; only a direct queue's consumer is its
 * owner too. Must not know engines. Next: burst.c (what a burst shows), rxq.c. */
#include <errno.h>

#include "ingest/gw.h"

struct gw__rx_queue *gw__rxq_find(struct gw *gw, uint16_t port, uint16_t queue)
{
	const struct gw_cfg_port *c;

	if (!gw || port >= gw->n_ports)
		return NULL;
	c = gw->port[port].cfg;
	if (queue < c->n_rxq && gw->port[port].rxq[queue].id == queue)
		return &gw->port[port].rxq[queue];
	for (uint32_t i = 0; i < c->n_rxq; i++)
		if (gw->port[port].rxq[i].id == queue)
			return &gw->port[port].rxq[i];
	return NULL;
}

/* Why there is nothing now. */
static int nothing(struct gw__rx_queue *q)
{
	int gone = atomic_load_explicit(&q->gone, memory_order_relaxed);

	if (gone)
		return gone;
	if (gw__ring_count(&q->to_app))
		return 0;
	if (atomic_load_explicit(&q->starved, memory_order_relaxed))
		return -ENOBUFS;
	return atomic_load_explicit(&q->gw->closing, memory_order_acquire) ? -ESHUTDOWN : 0;
}

/* After gw_stop() nobody polls: the consumer itself fetches what had no room before it released something. */
static void take_over(struct gw__rx_queue *q)
{
	if (atomic_load_explicit(&q->gw->closing, memory_order_acquire) && !gw__ring_count(&q->to_app))
		(void)gw__rxq_flush(q);
}

int gw_rx_burst(struct gw *gw, uint16_t port, uint16_t queue, struct gw_burst *burst)
{
	struct gw__rx_queue *q = gw__rxq_find(gw, port, queue);
	struct gw__burst *b;

	if (!q || !burst)
		return -EINVAL;
	if (q->cfg->poll == GW_POLL_DIRECT && !gw->no_threads && gw->started)
		(void)gw__rxq_serve(q, (int)q->batch);
	else
		take_over(q);
	if (!gw__ring_pop(&q->to_app, &b))
		return nothing(q);
	gw__burst_lend(b, burst);
	gw__count(&q->delivered_bursts, b->plan == NULL);
	if (!b->plan)
		gw__count(&q->delivered_packets, b->n);
	gw__count(&q->app_packets, b->plan ? b->win.info.source_packet_count : b->n);
	return 1;
}

int gw_rx_any(struct gw *gw, int port, struct gw_burst *burst)
{
	uint32_t n = 0, first = 0, end, none = 0;
	int all = 0;

	if (!gw || !burst || port < -1 || port >= (int)gw->n_ports)
		return -EINVAL;
	first = port < 0 ? 0 : (uint32_t)port;
	end = port < 0 ? gw->n_ports : first + 1;
	for (uint32_t p = first; p < end; p++)
		n += gw->port[p].cfg->n_rxq;
	if (!n)
		return -EINVAL;
	for (uint32_t k = 0; k < n; k++) {
		uint32_t i = (gw->any_next + k) % n, p = first;
		int r;

		while (i >= gw->port[p].cfg->n_rxq)
			i -= gw->port[p++].cfg->n_rxq;
		r = gw_rx_burst(gw, (uint16_t)p, gw->port[p].rxq[i].id, burst);
		if (r == 1) {
			gw->any_next = (gw->any_next + k + 1) % n;
			return 1;
		}
		if (r < 0 && r != -ENOBUFS && r != -ESHUTDOWN)
			return r; /* a port is gone */
		none += r == 0;
		all = r;
	}
	return none ? 0 : all;
}

int gw_rx_discard(struct gw *gw, uint16_t port, uint16_t queue)
{
	struct gw_burst burst;
	int n = 0, r;

	while ((r = gw_rx_burst(gw, port, queue, &burst)) == 1) {
		gw_burst_release(&burst);
		n++;
	}
	return r == -EINVAL ? r : n;
}

int gw_rx_wait(struct gw *gw, uint16_t port, uint16_t queue, uint64_t timeout_ns)
{
	struct gw__rx_queue *q = gw__rxq_find(gw, port, queue);
	bool direct = q && q->cfg->poll == GW_POLL_DIRECT;
	struct gw__event *e;
	struct gw__ladder ladder;
	uint64_t end, now, sleep;

	if (!q)
		return -EINVAL;
	e = direct ? q->event : &q->app_event;
	now = gw__now_ns(gw->clock);
	end = timeout_ns > UINT64_MAX - now ? UINT64_MAX : now + timeout_ns;
	gw__ladder_init(&ladder);
	for (;;) {
		bool live = !gw->no_threads && gw->started;
		int why;

		if (direct && live)
			(void)gw__rxq_serve(q, (int)q->batch);
		else
			take_over(q);
		if (gw__ring_count(&q->to_app))
			return 1;
		why = nothing(q);
		if (why && why != -ENOBUFS)
			return why;
		now = gw__now_ns(gw->clock);
		if (now >= end || !live)
			return why;
		if (gw->cfg->wait == GW_WAIT_BUSY || !gw__ladder_step(&ladder))
			continue;
		gw__event_arm(e);
		if (gw__ring_count(&q->to_app) || nothing(q) != why ||
		    (direct && (gw__ring_count(&q->back) || gw__rxq_arm(q)))) { /* a release counts as work */
			gw__event_disarm(e);
			continue;
		}
		sleep = direct ? gw__rxq_sleep_ns(q) : UINT64_MAX;
		if (end != UINT64_MAX && end - now < sleep)
			sleep = end - now;
		(void)gw__event_block(e, sleep);
	}
}
