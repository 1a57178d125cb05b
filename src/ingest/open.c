/* ingest/open.c: make, start, stop and free a struct gw; find ports; flush.
 * Opens in one order and frees whatever stands, so that a failure at any point leaves nothing behind.
 * Must not know frames. Next: region.c, rxq.c, txq.c, poller.c. */
#include <errno.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/diag.h"
#include "base/log.h"
#include "ingest/gw.h"

/* ---- what an engine may leave out ------------------------------------------------------------ */

static int no_check(const struct gw_config *cfg, struct gw_diag *diag)
{
	return 0;
}

static int no_queue_rx(struct gw__engine *e, const struct gw__queue_params *p, struct gw__event *event,
		       struct gw__rxq *out, struct gw_diag *diag)
{
	return gw__fail(diag, -ENOTSUP, "engine '%s' cannot receive", e->ops->name);
}

static int no_queue_tx(struct gw__engine *e, const struct gw__queue_params *p, struct gw__event *event,
		       struct gw__txq *out, struct gw_diag *diag)
{
	return gw__fail(diag, -ENOTSUP, "engine '%s' cannot send", e->ops->name);
}

static int no_start(struct gw__engine *e, struct gw_diag *diag)
{
	return 0;
}

static void no_stop(struct gw__engine *e)
{
}

static int no_flow_add(struct gw__engine *e, uint16_t port, const struct gw_flow_rule *rule,
		       struct gw_diag *diag)
{
	return gw__fail(diag, -ENOTSUP, "engine '%s' cannot steer; leave out rx.flows", e->ops->name);
}

static int no_flow_del(struct gw__engine *e, uint16_t port, uint32_t flow_id)
{
	return -ENOTSUP;
}

static int no_stats(struct gw__engine *e, uint16_t port, struct gw_port_stats *out)
{
	return -ENOTSUP;
}

static int no_set(struct gw__engine *e, uint16_t port, int what, uint64_t value)
{
	return -ENOTSUP;
}

static int no_mac(struct gw__engine *e, uint16_t port, uint8_t mac[6])
{
	return -ENOTSUP;
}

static void fill_ops(struct gw__engine_ops *o)
{
	o->check = o->check ? o->check : no_check;
	o->rxq_open = o->rxq_open ? o->rxq_open : no_queue_rx;
	o->txq_open = o->txq_open ? o->txq_open : no_queue_tx;
	o->start = o->start ? o->start : no_start;
	o->stop = o->stop ? o->stop : no_stop;
	o->flow_add = o->flow_add ? o->flow_add : no_flow_add;
	o->flow_del = o->flow_del ? o->flow_del : no_flow_del;
	o->port_stats = o->port_stats ? o->port_stats : no_stats;
	o->port_set = o->port_set ? o->port_set : no_set;
	o->port_mac = o->port_mac ? o->port_mac : no_mac;
}

/* ---- open ------------------------------------------------------------------------------------ */

static int choose_engine(struct gw *gw, struct gw_diag *diag)
{
	char have[160] = "";
	size_t at = 0;

	for (const struct gw__engine_row *r = gw__engines; r->name; r++) {
		if (r->ops && at < sizeof(have))
			at += (size_t)snprintf(have + at, sizeof(have) - at, "%s%s", at ? ", " : "", r->name);
		if (strcmp(r->name, gw->cfg->engine))
			continue;
		if (!r->ops)
			return gw__fail(diag, -ENOTSUP, "engine '%s' is not compiled in: %s", r->name, r->reason);
		gw->ops = *r->ops;
		fill_ops(&gw->ops);
		return gw->ops.check(gw->config, diag);
	}
	return gw__fail(diag, -ENOTSUP, "there is no engine '%s'; compiled in: %s", gw->cfg->engine, have);
}

static int rx_queues_prepare(struct gw *gw, uint16_t port)
{
	struct gw__port *p = &gw->port[port];

	p->rxq = gw__calloc(p->cfg->n_rxq, sizeof(*p->rxq));
	if (!p->rxq)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->cfg->n_rxq; i++) {
		struct gw__rx_queue *q = &p->rxq[i];

		q->own_event.fd = q->app_event.fd = -1;
		pthread_mutex_init(&q->lock, NULL);
		q->gw = gw;
		q->cfg = &p->cfg->rxq[i];
		q->port = port;
		q->id = (uint16_t)q->cfg->id;
	}
	return 0;
}

static int tx_queues_prepare(struct gw *gw, uint16_t port)
{
	struct gw__port *p = &gw->port[port];

	p->txq = gw__calloc(p->cfg->n_txq, sizeof(*p->txq));
	if (!p->txq)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->cfg->n_txq; i++) {
		struct gw__tx_queue *q = &p->txq[i];

		q->event.fd = -1;
		pthread_mutex_init(&q->lock, NULL);
		q->gw = gw;
		q->cfg = &p->cfg->txq[i];
		q->port = port;
		q->id = (uint16_t)q->cfg->id;
	}
	return 0;
}

/* Arrays, locks and sentinels: from here on gw_close() may meet any half-made state. */
static int ports_prepare(struct gw *gw)
{
	int err = 0;

	gw->port = gw__calloc(gw->cfg->n_ports, sizeof(*gw->port));
	if (!gw->port)
		return -ENOMEM;
	for (uint32_t p = 0; p < gw->cfg->n_ports; p++)
		gw->port[p].cfg = &gw->cfg->port[p];
	gw->n_ports = gw->cfg->n_ports;
	for (uint16_t p = 0; p < gw->n_ports && !err; p++) {
		err = rx_queues_prepare(gw, p);
		err = err ? err : tx_queues_prepare(gw, p);
	}
	for (uint32_t p = 0; p < gw->n_ports && !err; p++)
		for (uint32_t i = 0; i < gw->port[p].cfg->n_rxq && !err; i++) {
			struct gw__rx_queue *q = &gw->port[p].rxq[i];

			gw__poller_choose(gw, q);
			err = gw__event_init(&q->own_event);
			err = err ? err : gw__event_init(&q->app_event);
		}
	return err;
}

static int flows_open(struct gw *gw, uint16_t port, struct gw_diag *diag)
{
	const struct gw_cfg_port *c = gw->port[port].cfg;
	struct gw_flow_rule rest = { .n_actions = 1, .action = { { .type = GW_ACTION_QUEUE, .n_queues = 1 } } };
	int err = 0;

	if (!c->n_rxq)
		return 0;
	for (uint32_t i = 0; i < c->n_rx_flow && !err; i++)
		err = gw->ops.flow_add(gw->engine, port, &c->rx_flow[i], diag);
	rest.action[0].queue[0] = (uint16_t)c->rxq[0].id;
	if (!err && !c->flow_isolation)
		err = gw->ops.flow_add(gw->engine, port, &rest, diag);
	return err;
}

static int queues_open(struct gw *gw, struct gw_diag *diag)
{
	int err = 0;

	for (uint16_t p = 0; p < gw->n_ports && !err; p++) {
		for (uint16_t i = 0; i < gw->port[p].cfg->n_rxq && !err; i++)
			err = gw__rxq_open(gw, p, i, diag);
		for (uint16_t i = 0; i < gw->port[p].cfg->n_txq && !err; i++)
			err = gw__txq_open(gw, p, i, diag);
	}
	for (uint16_t p = 0; p < gw->n_ports && !err; p++)
		err = flows_open(gw, p, diag);
	return err;
}

static int open_all(struct gw *gw, const struct gw__open_opts *opts, struct gw_diag *diag)
{
	int err = gw__event_init(&gw->tend_event);

	if (!err)
		err = gw__event_init(&gw->flush_event);
	if (!err)
		err = choose_engine(gw, diag);
	if (!err)
		err = gw__regions_open(gw, opts, diag);
	if (!err)
		err = ports_prepare(gw);
	if (!err)
		err = gw->ops.open(gw->config, gw->clock, &gw->engine, diag);
	if (!err)
		err = queues_open(gw, diag);
	if (!err)
		err = gw__pollers_open(gw);
	return err;
}

int gw__open(const struct gw_config *config, const struct gw__open_opts *opts, struct gw **out,
	     struct gw_diag *diag)
{
	struct gw_diag local = { "" };
	struct gw *gw;
	int err;

	if (!config || !out)
		return gw__fail(diag, -EINVAL, "gw_open: no configuration");
	gw = gw__calloc(1, sizeof(*gw));
	if (!gw)
		return gw__fail(diag, -ENOMEM, "gw_open: no memory");
	gw->tend_event.fd = gw->flush_event.fd = -1;
	pthread_mutex_init(&gw->flush_lock, NULL);
	pthread_mutex_init(&gw->drop_lock, NULL);
	pthread_mutex_init(&gw->flow.lock, NULL);
	pthread_mutex_init(&gw->writer.lock, NULL);
	gw->config = config;
	gw->cfg = gw__config(config);
	gw->clock = opts && opts->clock ? opts->clock : gw__clock_monotonic();
	gw->no_threads = opts && opts->no_threads;
	gw->gpu = opts && opts->gpu ? opts->gpu : gw__gpu();
	err = open_all(gw, opts, &local);
	if (err) {
		gw_close(gw);
		return gw__fail(diag, err, "%s", local.text[0] ? local.text : "gw_open: no memory or descriptor");
	}
	*out = gw;
	return 0;
}

int gw_open(const struct gw_config *cfg, struct gw **out, struct gw_diag *diag)
{
	return gw__open(cfg, NULL, out, diag);
}

int gw_open_with(const struct gw_config *cfg, const struct gw_region_mem *mem, uint32_t n, struct gw **out,
		 struct gw_diag *diag)
{
	const struct gw__open_opts opts = { .mem = mem, .n_mem = n };

	if (n && !mem)
		return gw__fail(diag, -EINVAL, "gw_open_with: %u regions, but no array", n);
	return gw__open(cfg, &opts, out, diag);
}

/* ---- start, stop, close ---------------------------------------------------------------------- */

int gw_start(struct gw *gw, struct gw_diag *diag)
{
	int err;

	if (!gw)
		return gw__fail(diag, -EINVAL, "gw_start: no gw");
	if (gw->started)
		return gw__fail(diag, -EBUSY, "gw_start: started already");
	err = gw->ops.start(gw->engine, diag);
	if (err)
		return err;
	gw->stopping = gw->closing = false;
	for (uint32_t p = 0; p < gw->n_ports; p++)
		gw->port[p].drop_at_ns = gw__now_ns(gw->clock);
	if (!gw->no_threads)
		err = gw__pollers_start(gw, diag);
	if (err) {
		gw__pollers_stop(gw);
		gw->ops.stop(gw->engine);
		return err;
	}
	gw->started = true;
	return 0;
}

void gw_stop(struct gw *gw)
{
	if (!gw || !gw->started)
		return;
	gw->ops.stop(gw->engine);
	(void)gw_flush(gw);
	gw__pollers_stop(gw);
	gw->started = false;
	gw__stats_totals(gw);
	/* release: pairs with the consumers' look; what was handed over before can still be taken */
	atomic_store_explicit(&gw->closing, true, memory_order_release);
	for (uint32_t p = 0; p < gw->n_ports; p++) {
		for (uint32_t i = 0; i < gw->port[p].cfg->n_rxq; i++) {
			gw__event_kick(&gw->port[p].rxq[i].app_event);
			gw__event_kick(gw->port[p].rxq[i].event);
		}
		for (uint32_t i = 0; i < gw->port[p].cfg->n_txq; i++)
			gw__event_kick(&gw->port[p].txq[i].event);
	}
}

void gw_close(struct gw *gw)
{
	if (!gw)
		return;
	gw_stop(gw);
	gw__writer_stop(gw);
	if (gw->engine)
		gw->ops.close(gw->engine);
	gw__pollers_close(gw);
	for (uint32_t p = 0; p < gw->n_ports; p++) {
		struct gw__port *port = &gw->port[p];

		for (uint32_t i = 0; port->rxq && i < port->cfg->n_rxq; i++)
			gw__rxq_close(&port->rxq[i]);
		for (uint32_t i = 0; port->txq && i < port->cfg->n_txq; i++)
			gw__txq_close(&port->txq[i]);
		gw__free(port->rxq);
		gw__free(port->txq);
	}
	gw__free(gw->port);
	gw__regions_close(gw);
	gw__event_fini(&gw->tend_event);
	gw__event_fini(&gw->flush_event);
	pthread_mutex_destroy(&gw->flush_lock);
	pthread_mutex_destroy(&gw->drop_lock);
	pthread_mutex_destroy(&gw->flow.lock);
	pthread_mutex_destroy(&gw->writer.lock);
	gw__free(gw);
}

/* ---- flush ----------------------------------------------------------------------------------- */

/* The queue's poller does it; we wait. A poller serves requests in every turn, so this ends. */
static int flush_by_poller(struct gw *gw, struct gw__rx_queue *q)
{
	uint32_t want = atomic_load_explicit(&q->flush_want, memory_order_relaxed) + 1;

	atomic_store_explicit(&q->flush_want, want, memory_order_release);
	gw__event_signal(q->event);
	for (;;) {
		gw__event_arm(&gw->flush_event);
		if (atomic_load_explicit(&q->flush_done, memory_order_acquire) == want)
			break;
		(void)gw__event_block(&gw->flush_event, 100000000u);
	}
	gw__event_disarm(&gw->flush_event);
	return q->windows_flushed;
}

int gw_flush(struct gw *gw)
{
	int n = 0;

	if (!gw)
		return -EINVAL;
	pthread_mutex_lock(&gw->flush_lock);
	for (uint32_t p = 0; p < gw->n_ports; p++)
		for (uint32_t i = 0; i < gw->port[p].cfg->n_rxq; i++) {
			struct gw__rx_queue *q = &gw->port[p].rxq[i];

			n += gw->started && !gw->no_threads && q->cfg->poll == GW_POLL_INDIRECT ?
				     flush_by_poller(gw, q) : gw__rxq_flush(q);
		}
	pthread_mutex_unlock(&gw->flush_lock);
	return n;
}

/* ---- ports ----------------------------------------------------------------------------------- */

int gw_port_id(struct gw *gw, const char *interface_name)
{
	if (!gw || !interface_name)
		return -EINVAL;
	for (uint32_t p = 0; p < gw->n_ports; p++)
		if (!strcmp(gw->port[p].cfg->name, interface_name))
			return (int)p;
	return -ENOENT;
}

int gw_port_n_rxq(struct gw *gw, uint16_t port)
{
	return gw && port < gw->n_ports ? (int)gw->port[port].cfg->n_rxq : -EINVAL;
}

int gw_port_n_txq(struct gw *gw, uint16_t port)
{
	return gw && port < gw->n_ports ? (int)gw->port[port].cfg->n_txq : -EINVAL;
}

int gw_port_mac(struct gw *gw, uint16_t port, uint8_t mac[6])
{
	return gw && mac && port < gw->n_ports ? gw->ops.port_mac(gw->engine, port, mac) : -EINVAL;
}

int gw_port_set_pause(struct gw *gw, uint16_t port, bool on)
{
	int err;

	if (!gw || port >= gw->n_ports)
		return -EINVAL;
	err = gw->ops.port_set(gw->engine, port, GW__PORT_PAUSE, on);
	if (!err)
		atomic_store_explicit(&gw->port[port].pause, on, memory_order_relaxed);
	return err;
}

int gw_port_drop_all(struct gw *gw, uint16_t port, bool drop)
{
	if (!gw || port >= gw->n_ports)
		return -EINVAL;
	return gw->ops.port_set(gw->engine, port, GW__PORT_DROP_ALL, drop);
}

/* ---- stepping by hand ------------------------------------------------------------------------ */

int gw__step_rxq(struct gw *gw, uint16_t port, uint16_t queue, int budget)
{
	struct gw__rx_queue *q = gw__rxq_find(gw, port, queue);

	return q ? gw__rxq_serve(q, budget) : -EINVAL;
}

int gw__step(struct gw *gw, int budget)
{
	int moved = 0;

	for (uint32_t p = 0; p < gw->n_ports; p++) {
		for (uint32_t i = 0; i < gw->port[p].cfg->n_txq; i++) {
			struct gw__tx_queue *q = &gw->port[p].txq[i];
			uint32_t before = q->pending;
			int r;

			pthread_mutex_lock(&q->lock);
			r = gw__txq_progress(q);
			pthread_mutex_unlock(&q->lock);
			moved += r >= 0 && (uint32_t)r < before;
		}
		for (uint32_t i = 0; i < gw->port[p].cfg->n_rxq; i++)
			moved += gw__rxq_serve(&gw->port[p].rxq[i], budget);
	}
	return moved;
}
