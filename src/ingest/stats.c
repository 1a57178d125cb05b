/* ingest/stats.c: snapshots, the table of counters, the sums that must close, and the two kinds of log line.
 * A queue is read under its lock, so its own sum closes at any moment with the in-flight term stated.
 * Must not change what it reads. Next: include/gpuwire/stats.h (what each counter means). */
#include <errno.h>
#include <stdio.h>

#include "base/diag.h"
#include "base/log.h"
#include "ingest/counters.h"
#include "ingest/gw.h"

#define DROP_LINE_NS 500000000u

typedef unsigned long long ull;

/* ---- snapshots ------------------------------------------------------------------------------- */

int gw_port_stats(struct gw *gw, uint16_t port, struct gw_port_stats *out)
{
	if (!gw || !out || port >= gw->n_ports)
		return -EINVAL;
	memset(out, 0, sizeof(*out));
	return gw->ops.port_stats(gw->engine, port, out);
}

/* The queue's numbers and the sum of its plans', of one moment. */
static void read_rxq(struct gw__rx_queue *q, struct gw_queue_stats *out, struct gw_reorder_stats *plans)
{
	uint64_t delivered;

	memset(out, 0, sizeof(*out));
	memset(plans, 0, sizeof(*plans));
	pthread_mutex_lock(&q->lock);
	delivered = atomic_load_explicit(&q->delivered_packets, memory_order_relaxed);
	out->rx_packets = q->rx_packets;
	out->rx_bytes = q->rx_bytes;
	out->delivered_packets = delivered;
	out->delivered_bursts = atomic_load_explicit(&q->delivered_bursts, memory_order_relaxed);
	out->no_free_bursts = q->no_free_bursts;
	out->silence_ns = q->silence_ns;
	out->in_flight = q->handed_packets - delivered + (q->cur ? q->cur->n : 0) +
			 (q->stage ? q->stage->n - q->stage->pos : 0);
	for (uint32_t i = 0; i < q->n_plans; i++) {
		struct gw_reorder_stats st;

		gw__reorder_stats(q->plan[i].r, &st);
		plans->placed_packets += st.placed_packets;
		plans->duplicate_packets += st.duplicate_packets;
		plans->late_packets += st.late_packets;
		plans->stale_packets += st.stale_packets;
		plans->bad_packets += st.bad_packets;
		plans->dropped_packets += st.dropped_packets;
	}
	pthread_mutex_unlock(&q->lock);
}

int gw_rxq_stats(struct gw *gw, uint16_t port, uint16_t queue, struct gw_queue_stats *out)
{
	struct gw__rx_queue *q = gw__rxq_find(gw, port, queue);
	struct gw_reorder_stats plans;

	if (!q || !out)
		return -EINVAL;
	read_rxq(q, out, &plans);
	return 0;
}

int gw_txq_stats(struct gw *gw, uint16_t port, uint16_t queue, struct gw_queue_stats *out)
{
	struct gw__tx_queue *q = gw__txq_find(gw, port, queue);

	if (!q || !out)
		return -EINVAL;
	memset(out, 0, sizeof(*out));
	pthread_mutex_lock(&q->lock);
	(void)gw__txq_progress(q);
	out->tx_packets = q->tx_packets;
	out->tx_bytes = q->tx_bytes;
	out->tx_completions = q->tx_packets - q->pending;
	out->in_flight = q->pending;
	pthread_mutex_unlock(&q->lock);
	return 0;
}

static struct gw__rx_plan *find_plan(struct gw *gw, const char *name)
{
	for (uint32_t p = 0; p < gw->n_ports; p++)
		for (uint32_t i = 0; i < gw->port[p].cfg->n_rxq; i++) {
			struct gw__rx_queue *q = &gw->port[p].rxq[i];

			for (uint32_t k = 0; k < q->n_plans; k++)
				if (!strcmp(q->plan[k].cfg->name, name))
					return &q->plan[k];
		}
	return NULL;
}

int gw_reorder_stats(struct gw *gw, const char *reorder_name, struct gw_reorder_stats *out)
{
	struct gw__rx_plan *p = gw && reorder_name ? find_plan(gw, reorder_name) : NULL;

	if (!p || !out)
		return -EINVAL;
	pthread_mutex_lock(&p->q->lock);
	gw__reorder_stats(p->r, out);
	pthread_mutex_unlock(&p->q->lock);
	return 0;
}

/* ---- every counter by name ------------------------------------------------------------------- */

struct sheet {
	struct gw_counter *out;
	int n, at;
};

static void put_rows(struct sheet *s, const char *scope, const struct gw__counter_row *rows, const void *from)
{
	for (size_t i = 0; rows[i].name; i++, s->at++) {
		struct gw_counter *c;

		if (s->at >= s->n)
			continue;
		c = &s->out[s->at];
		snprintf(c->scope, sizeof(c->scope), "%s", scope);
		c->name = rows[i].name;
		c->help = rows[i].help;
		memcpy(&c->value, (const char *)from + rows[i].at, sizeof(c->value));
	}
}

static void put_rxq(struct sheet *s, struct gw__rx_queue *q, const char *port)
{
	struct gw_queue_stats qs;
	struct gw_reorder_stats rs;
	char scope[2 * GW_CFG_NAME + 2];

	read_rxq(q, &qs, &rs);
	snprintf(scope, sizeof(scope), "%s/rx%u", port, q->id);
	put_rows(s, scope, gw__rxq_rows, &qs);
	for (uint32_t k = 0; k < q->n_plans; k++) {
		pthread_mutex_lock(&q->lock);
		gw__reorder_stats(q->plan[k].r, &rs);
		pthread_mutex_unlock(&q->lock);
		snprintf(scope, sizeof(scope), "%s/%s", port, q->plan[k].cfg->name);
		put_rows(s, scope, gw__plan_rows, &rs);
	}
}

int gw_counters(struct gw *gw, struct gw_counter *out, int n)
{
	struct sheet s = { .out = out, .n = out ? n : 0 };

	if (!gw)
		return -EINVAL;
	for (uint16_t p = 0; p < gw->n_ports; p++) {
		const struct gw_cfg_port *c = gw->port[p].cfg;
		struct gw_port_stats ps;
		struct gw_queue_stats qs;
		char scope[GW_CFG_NAME + 16];

		if (!gw_port_stats(gw, p, &ps))
			put_rows(&s, c->name, gw__port_rows, &ps);
		for (uint32_t i = 0; i < c->n_rxq; i++)
			put_rxq(&s, &gw->port[p].rxq[i], c->name);
		for (uint32_t i = 0; i < c->n_txq; i++) {
			if (gw_txq_stats(gw, p, gw->port[p].txq[i].id, &qs))
				continue;
			snprintf(scope, sizeof(scope), "%s/tx%u", c->name, gw->port[p].txq[i].id);
			put_rows(&s, scope, gw__txq_rows, &qs);
		}
	}
	return s.at;
}

/* ---- sums ------------------------------------------------------------------------------------ */

static int check_rxq(struct gw__rx_queue *q, const char *port, struct gw_queue_stats *qs,
		     struct gw_diag *diag)
{
	struct gw_reorder_stats r;
	uint64_t sum;

	read_rxq(q, qs, &r);
	sum = qs->in_flight + qs->delivered_packets + r.placed_packets + r.duplicate_packets +
	      r.late_packets + r.stale_packets + r.bad_packets + r.dropped_packets;
	if (sum == qs->rx_packets)
		return 0;
	return gw__fail(diag, -EPROTO,
			"%s/rx%u: rx_packets %llu is not in_flight %llu + delivered %llu + placed %llu + duplicate "
			"%llu + late %llu + stale %llu + bad %llu + dropped %llu = %llu", port, q->id, (ull)qs->rx_packets,
			(ull)qs->in_flight, (ull)qs->delivered_packets, (ull)r.placed_packets,
			(ull)r.duplicate_packets, (ull)r.late_packets, (ull)r.stale_packets,
			(ull)r.bad_packets, (ull)r.dropped_packets, (ull)sum);
}

static int check_port(const char *name, const struct gw_port_stats *s, uint64_t taken, uint64_t sent,
		      struct gw_diag *diag)
{
	uint64_t sum = s->rx_packets + s->rx_missed + s->rx_steer_miss + s->rx_steer_drop + s->rx_errors;

	if (sum != s->rx_wire_packets)
		return gw__fail(diag, -EPROTO,
				"%s: rx_wire_packets %llu is not rx_packets %llu + missed %llu + steer_miss %llu "
				"+ steer_drop %llu + errors %llu = %llu", name, (ull)s->rx_wire_packets,
				(ull)s->rx_packets, (ull)s->rx_missed, (ull)s->rx_steer_miss,
				(ull)s->rx_steer_drop, (ull)s->rx_errors, (ull)sum);
	if (taken != s->rx_packets)
		return gw__fail(diag, -EPROTO, "%s: rx_packets %llu, but its queues took %llu", name,
				(ull)s->rx_packets, (ull)taken);
	sum = s->tx_packets + s->tx_errors + s->tx_dropped;
	if (sum != sent)
		return gw__fail(diag, -EPROTO,
				"%s: its queues completed %llu, but the port sent %llu + refused %llu + dropped "
				"%llu = %llu", name, (ull)sent, (ull)s->tx_packets, (ull)s->tx_errors,
				(ull)s->tx_dropped, (ull)sum);
	return 0;
}

int gw_stats_check(struct gw *gw, struct gw_diag *diag)
{
	int err = 0;

	if (!gw)
		return -EINVAL;
	for (uint16_t p = 0; p < gw->n_ports && !err; p++) {
		const struct gw_cfg_port *c = gw->port[p].cfg;
		struct gw_port_stats ps;
		struct gw_queue_stats qs;
		uint64_t taken = 0, sent = 0;

		for (uint32_t i = 0; i < c->n_rxq && !err; i++) {
			err = check_rxq(&gw->port[p].rxq[i], c->name, &qs, diag);
			taken += qs.rx_packets;
		}
		for (uint32_t i = 0; i < c->n_txq && !err; i++) {
			err = gw_txq_stats(gw, p, gw->port[p].txq[i].id, &qs);
			sent += qs.tx_completions;
		}
		if (!err && !gw_port_stats(gw, p, &ps))
			err = check_port(c->name, &ps, taken, sent, diag);
	}
	return err;
}

/* ---- log lines ------------------------------------------------------------------------------- */

/* 5632830 -> "5,632,830" */
static const char *grouped(uint64_t v, char buf[32])
{
	char *p = buf + 31;
	int n = 0;

	*p = '\0';
	do {
		if (n && n % 3 == 0)
			*--p = ',';
		*--p = (char)('0' + v % 10);
		v /= 10;
		n++;
	} while (v);
	return p;
}

static uint64_t dropped(struct gw *gw, uint16_t port)
{
	struct gw_port_stats s;

	return gw_port_stats(gw, port, &s) ? 0 : s.rx_missed + s.rx_errors;
}

static void drop_line(struct gw *gw, uint16_t port, uint64_t now)
{
	struct gw__port *p = &gw->port[port];
	uint64_t total = dropped(gw, port);
	char a[32], b[32];

	if (total > p->drop_seen)
		gw__error("'%s' interface (%u), Rx: Dropped %s packets since last poll %llums ago (total: %s)",
			  p->cfg->name, port, grouped(total - p->drop_seen, a),
			  (ull)((now - p->drop_at_ns) / 1000000), grouped(total, b));
	p->drop_seen = total;
	p->drop_at_ns = now;
}

void gw__stats_drops(struct gw *gw)
{
	uint64_t now, due = atomic_load_explicit(&gw->drop_look_ns, memory_order_relaxed);

	if (!gw__log_on(GW_LOG_ERROR))
		return;
	now = gw__now_ns(gw->clock);
	if (now < due || pthread_mutex_trylock(&gw->drop_lock))
		return;
	if (now >= atomic_load_explicit(&gw->drop_look_ns, memory_order_relaxed)) {
		for (uint16_t p = 0; p < gw->n_ports; p++)
			drop_line(gw, p, now);
		atomic_store_explicit(&gw->drop_look_ns, now + DROP_LINE_NS, memory_order_relaxed);
	}
	pthread_mutex_unlock(&gw->drop_lock);
}

bool gw__stats_untold(struct gw *gw)
{
	bool untold = false;

	if (!gw__log_on(GW_LOG_ERROR))
		return false;
	pthread_mutex_lock(&gw->drop_lock);
	for (uint16_t p = 0; p < gw->n_ports; p++)
		untold |= dropped(gw, p) > gw->port[p].drop_seen;
	pthread_mutex_unlock(&gw->drop_lock);
	return untold;
}

void gw__stats_totals(struct gw *gw)
{
	/* whatever no line has told yet */
	atomic_store_explicit(&gw->drop_look_ns, 0, memory_order_relaxed);
	gw__stats_drops(gw);
	for (uint16_t p = 0; p < gw->n_ports; p++) {
		const struct gw_cfg_port *c = gw->port[p].cfg;

		for (uint32_t i = 0; i < c->n_rxq; i++)
			gw__info("Total packets received by application (port/queue %u/%u): %llu", p,
				 gw->port[p].rxq[i].id,
				 (ull)atomic_load_explicit(&gw->port[p].rxq[i].app_packets, memory_order_relaxed));
		for (uint32_t i = 0; i < c->n_txq; i++) {
			struct gw__tx_queue *q = &gw->port[p].txq[i];
			uint64_t n;

			pthread_mutex_lock(&q->lock);
			n = q->tx_packets;
			pthread_mutex_unlock(&q->lock);
			gw__info("Total packets transmitted by application (port/queue %u/%u): %llu", p, q->id, (ull)n);
		}
	}
}
