/* ingest/engines/null: no NIC at all: frames go from a transmit slot to a receive slot by one memcpy, or are
 * conjured up (address null:gen=BYTES) to measure what everything above an engine costs.
 * Ports with the same address are each other's peer; a lone one is its own. One lock for the whole engine.
 * Must not know bursts or windows. Next: ingest/engine.h. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/diag.h"
#include "ingest/config.h"
#include "ingest/engine.h"
#include "ingest/engines/null/null.h"
#include "wire/checksum.h"
#include "wire/flow_table.h"
#include "wire/toeplitz.h"

#define ETH_BYTES 14u

struct done {
	uint32_t slot, len, flow, flags, lost;
	uint64_t ts_ns;
};

struct null_port;

struct null_rxq {
	struct null_port *port;
	struct gw__queue_params p;
	struct gw__event *event;
	uint32_t *free; /* stack */
	uint32_t n_free, lost;
	struct done *done; /* ring of n_slots: head..tail */
	uint32_t head, n_done;
};

struct null_txq {
	struct null_port *port;
	struct gw__queue_params p;
	struct gw__event *event;
	uint32_t *free;
	uint32_t n_free;
	const uint8_t **from[GW_MAX_SEGS]; /* of those posted: lent memory instead of the slot's, or NULL */
	uint32_t *fifo, *len[GW_MAX_SEGS]; /* posted, not yet delivered: ring of n_slots */
	uint32_t head, n_fifo;
	bool held; /* the peer has no slot: wake us when it has */
};

struct null_port {
	struct null_engine *e;
	const struct gw_cfg_port *cfg;
	struct null_port *peer;
	uint32_t gen; /* bytes of a conjured frame; 0 = a wire */
	bool pause, drop_all;
	struct gw__flow_table rules;
	struct gw_port_stats st;
	struct null_rxq *rxq[GW_MAX_QUEUES];
	struct null_txq *txq[GW_MAX_QUEUES];
	uint32_t n_rxq, n_txq;
};

struct null_engine {
	struct gw__engine base; /* first */
	const struct gw_cfg *cfg;
	struct gw__clock *clock;
	pthread_mutex_t lock;
	bool running;
	struct gw__toeplitz rss;
	struct null_port *port;
};
_Static_assert(offsetof(struct null_engine, base) == 0, "base first");

/* ---- a frame arrives (lock held) ------------------------------------------------------------- */

struct frame {
	const uint8_t *seg[GW_MAX_SEGS];
	uint32_t len[GW_MAX_SEGS], n_segs, total;
};

/* The frame's start in one piece. */
static uint32_t gather_head(const struct frame *f, uint8_t *head, uint32_t size)
{
	uint32_t n = 0;

	for (uint32_t s = 0; s < f->n_segs && n < size; s++) {
		uint32_t take = f->len[s] < size - n ? f->len[s] : size - n;

		memcpy(head + n, f->seg[s], take);
		n += take;
	}
	return n;
}

static uint32_t flags_of(struct null_port *port, const struct gw__pkt *pkt)
{
	uint32_t flags = 0;

	if (port->cfg->verify == GW_VERIFY_OFF)
		return GW_PKT_L3_UNKNOWN | GW_PKT_L4_UNKNOWN;
	if (!(pkt->flags & GW__PKT_IPV4))
		flags |= GW_PKT_L3_UNKNOWN;
	if (pkt->flags & GW__PKT_L3_BAD)
		flags |= GW_PKT_L3_BAD;
	if (pkt->flags & GW__PKT_L4_BAD)
		flags |= GW_PKT_L4_BAD;
	else
		flags |= GW_PKT_L4_UNKNOWN; /* this engine sums no payload */
	port->st.rx_l3_bad += (flags & GW_PKT_L3_BAD) != 0;
	port->st.rx_l4_bad += (flags & GW_PKT_L4_BAD) != 0;
	return flags;
}

static uint16_t pick_queue(struct null_engine *e, const struct gw_action *a, const uint8_t *head,
			   const struct gw__pkt *pkt)
{
	uint8_t tuple[GW_TOEPLITZ_V4];

	if (a->n_queues == 1 || !(pkt->flags & GW__PKT_IPV4))
		return a->queue[0];
	memcpy(tuple, head + pkt->l3_off + 12, 8);
	memset(tuple + 8, 0, 4);
	if (pkt->flags & GW__PKT_UDP)
		memcpy(tuple + 8, head + pkt->l4_off, 4);
	return a->queue[gw__toeplitz(&e->rss, tuple, sizeof(tuple)) % a->n_queues];
}

static struct null_rxq *find_rxq(struct null_port *port, uint16_t id)
{
	for (uint32_t i = 0; i < port->n_rxq; i++)
		if (port->rxq[i]->p.id == id)
			return port->rxq[i];
	return NULL;
}

static struct null_rxq *steer(struct null_port *port, const struct frame *f, uint32_t *flow, uint32_t *flags)
{
	uint8_t head[GW_PARSE_MAX];
	uint32_t n = gather_head(f, head, sizeof(head));
	struct gw__pkt pkt;
	int i;

	gw__parse(head, n, f->total, &pkt);
	i = port->drop_all ? -1 : gw__flow_table_find(&port->rules, head, n, &pkt);
	if (i < 0)
		return NULL;
	for (uint32_t a = 0; a < port->rules.rule[i].n_actions; a++) {
		const struct gw_action *act = &port->rules.rule[i].action[a];

		*flow = port->rules.rule[i].id;
		if (act->type != GW_ACTION_QUEUE)
			break;
		*flags = flags_of(port, &pkt);
		return find_rxq(port, pick_queue(port->e, act, head, &pkt));
	}
	*flags = UINT32_MAX; /* a drop rule */
	return NULL;
}

static void scatter(const struct gw__slots *to, uint32_t slot, const struct frame *f)
{
	uint32_t s = 0, at = 0, from = 0, used = 0;

	while (s < f->n_segs && from < to->n_segs) {
		uint32_t room = to->seg[from].size - at, left = f->len[s] - used;
		uint32_t n = room < left ? room : left;

		memcpy(to->seg[from].host + (size_t)slot * to->seg[from].stride + at, f->seg[s] + used, n);
		at += n;
		used += n;
		if (used == f->len[s]) {
			s++;
			used = 0;
		}
		if (at == to->seg[from].size) {
			from++;
			at = 0;
		}
	}
}

static uint32_t slot_bytes(const struct gw__slots *s)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->n_segs; i++)
		n += s->seg[i].size;
	return n;
}

static void complete(struct null_rxq *q, uint32_t slot, uint32_t len, uint32_t flow, uint32_t flags,
		     uint64_t now)
{
	uint32_t at = q->head + q->n_done++;
	struct done *d = &q->done[at < q->p.slots.n_slots ? at : at - q->p.slots.n_slots];

	*d = (struct done){ .slot = slot, .len = len, .flow = flow, .flags = flags, .lost = q->lost,
			    .ts_ns = now };
	q->lost = 0;
	q->port->st.rx_packets++;
	q->port->st.rx_bytes += len;
}

/* false: held back, the frame stays with its sender. */
static bool deliver(struct null_port *port, const struct frame *f)
{
	uint32_t flow = 0, flags = 0, slot;
	struct null_rxq *q = steer(port, f, &flow, &flags);

	if (q && !q->n_free && port->pause)
		return false;
	port->st.rx_wire_packets++;
	if (f->total < ETH_BYTES || (q && f->total > slot_bytes(&q->p.slots))) {
		port->st.rx_errors++;
	} else if (!q && (port->drop_all || flags == UINT32_MAX)) {
		port->st.rx_steer_drop++;
	} else if (!q) {
		port->st.rx_steer_miss++;
	} else if (!q->n_free) {
		port->st.rx_missed++;
		q->lost++;
	} else {
		slot = q->free[--q->n_free];
		scatter(&q->p.slots, slot, f);
		complete(q, slot, f->total, flow, flags, gw__now_ns(port->e->clock));
		gw__event_signal(q->event);
	}
	return true;
}

static void count_sent(struct null_port *port, uint32_t bytes, bool running)
{
	if (!running) {
		port->st.tx_dropped++;
		return;
	}
	port->st.tx_packets++;
	port->st.tx_bytes += bytes;
}

/* Move what this queue has posted; completions are immediate. */
static void push_out(struct null_txq *q)
{
	struct null_port *peer = q->port->peer;
	bool any = false;

	while (q->n_fifo) {
		uint32_t at = q->head, slot = q->fifo[at];
		struct frame f = { .n_segs = q->p.slots.n_segs };

		for (uint32_t s = 0; s < f.n_segs; s++) {
			f.seg[s] = q->from[s][at] ? q->from[s][at] :
				   q->p.slots.seg[s].host + (size_t)slot * q->p.slots.seg[s].stride;
			f.len[s] = q->len[s][at];
			f.total += f.len[s];
		}
		if (q->port->e->running && peer && !deliver(peer, &f)) {
			q->port->st.tx_paused += !q->held;
			q->held = true;
			break;
		}
		count_sent(q->port, f.total, q->port->e->running);
		q->held = false;
		q->head = at + 1 == q->p.slots.n_slots ? 0 : at + 1;
		q->n_fifo--;
		q->free[q->n_free++] = slot;
		any = true;
	}
	if (any)
		gw__event_signal(q->event);
}

/* Senders that this port held back. */
static void pull_in(struct null_port *port)
{
	struct null_port *from = port->peer;

	for (uint32_t i = 0; from && i < from->n_txq; i++)
		if (from->txq[i]->held)
			push_out(from->txq[i]);
}

/* ---- receive ops ----------------------------------------------------------------------------- */

/* Frames out of nothing, straight into the caller's arrays: what is left to measure is not ours. Lock held. */
static uint32_t conjure(struct null_rxq *q, const struct gw__rx_out *out, uint32_t n)
{
	struct null_port *port = q->port;
	uint64_t now = out->ts_ns ? gw__now_ns(port->e->clock) : 0;

	n = !port->e->running ? 0 : n < q->n_free ? n : q->n_free;
	q->n_free -= n;
	for (uint32_t i = 0; i < n; i++) {
		out->slot[i] = q->free[q->n_free + i];
		out->len[i] = port->gen;
		out->flow[i] = 0;
		out->pkt_flags[i] = GW_PKT_L3_UNKNOWN | GW_PKT_L4_UNKNOWN;
	}
	for (uint32_t i = 0; out->ts_ns && i < n; i++)
		out->ts_ns[i] = now;
	if (out->lost)
		memset(out->lost, 0, n * sizeof(*out->lost));
	port->st.rx_wire_packets += n;
	port->st.rx_packets += n;
	port->st.rx_bytes += (uint64_t)n * port->gen;
	return n;
}

static int null_rx(void *arg, const struct gw__rx_out *out, uint32_t n)
{
	struct null_rxq *q = arg;
	uint32_t i;

	pthread_mutex_lock(&q->port->e->lock);
	if (q->port->gen) {
		i = conjure(q, out, n);
		pthread_mutex_unlock(&q->port->e->lock);
		return (int)i;
	}
	pull_in(q->port);
	for (i = 0; i < n && q->n_done; i++) {
		const struct done *d = &q->done[q->head];

		out->slot[i] = d->slot;
		out->len[i] = d->len;
		out->flow[i] = d->flow;
		out->pkt_flags[i] = d->flags;
		if (out->ts_ns)
			out->ts_ns[i] = d->ts_ns;
		if (out->lost)
			out->lost[i] = d->lost;
		q->head = q->head + 1 == q->p.slots.n_slots ? 0 : q->head + 1;
		q->n_done--;
	}
	pthread_mutex_unlock(&q->port->e->lock);
	return (int)i;
}

static void null_release(void *arg, const uint32_t *slots, uint32_t n)
{
	struct null_rxq *q = arg;

	pthread_mutex_lock(&q->port->e->lock);
	memcpy(q->free + q->n_free, slots, n * sizeof(*slots));
	q->n_free += n;
	pull_in(q->port);
	pthread_mutex_unlock(&q->port->e->lock);
}

static bool null_rx_arm(void *arg)
{
	struct null_rxq *q = arg;
	bool work;

	pthread_mutex_lock(&q->port->e->lock);
	work = q->n_done || (q->port->gen && q->n_free && q->port->e->running);
	pthread_mutex_unlock(&q->port->e->lock);
	return work;
}

/* ---- transmit ops ---------------------------------------------------------------------------- */

static int null_reserve(void *arg, uint32_t *slots, uint32_t n)
{
	struct null_txq *q = arg;

	pthread_mutex_lock(&q->port->e->lock);
	push_out(q);
	if (n > q->n_free)
		n = q->n_free;
	q->n_free -= n;
	memcpy(slots, q->free + q->n_free, n * sizeof(*slots));
	pthread_mutex_unlock(&q->port->e->lock);
	return (int)n;
}

static int null_submit(void *arg, const struct gw__tx_in *in, uint32_t first, uint32_t n)
{
	struct null_txq *q = arg;

	pthread_mutex_lock(&q->port->e->lock);
	for (uint32_t i = first; i < first + n; i++) {
		uint32_t at = (q->head + q->n_fifo++) % q->p.slots.n_slots;

		q->fifo[at] = in->slot[i];
		for (uint32_t s = 0; s < q->p.slots.n_segs; s++) {
			q->len[s][at] = in->seg_len[s][i];
			q->from[s][at] = in->from ? in->from[s][i] : NULL;
		}
	}
	push_out(q);
	pthread_mutex_unlock(&q->port->e->lock);
	return (int)n;
}

static int null_lend(void *q, const void *ptr, size_t bytes)
{
	return 0; /* the CPU reaches everything */
}

static void null_cancel(void *arg, const uint32_t *slots, uint32_t n)
{
	struct null_txq *q = arg;

	pthread_mutex_lock(&q->port->e->lock);
	memcpy(q->free + q->n_free, slots, n * sizeof(*slots));
	q->n_free += n;
	pthread_mutex_unlock(&q->port->e->lock);
}

static int null_pending(void *arg)
{
	struct null_txq *q = arg;
	uint32_t n;

	pthread_mutex_lock(&q->port->e->lock);
	push_out(q);
	n = q->n_fifo;
	pthread_mutex_unlock(&q->port->e->lock);
	return (int)n;
}

/* The sender looked a moment ago; whatever changed since has signalled. */
static bool null_tx_arm(void *arg)
{
	struct null_txq *q = arg;
	bool moved;
	uint32_t before;

	pthread_mutex_lock(&q->port->e->lock);
	before = q->n_fifo;
	push_out(q);
	moved = q->n_fifo != before;
	pthread_mutex_unlock(&q->port->e->lock);
	return moved;
}

/* ---- control --------------------------------------------------------------------------------- */

static int parse_address(const struct gw_cfg_port *p, uint32_t *gen, struct gw_diag *diag)
{
	static const char prefix[] = "null:gen=";
	unsigned long v;
	char *end;

	*gen = 0;
	if (strncmp(p->address, prefix, sizeof(prefix) - 1))
		return 0;
	v = strtoul(p->address + sizeof(prefix) - 1, &end, 10);
	if (*end || v < ETH_BYTES || v > 65535)
		return gw__fail(diag, -EINVAL, "interface '%s': address '%s'; use null:gen=BYTES with 14 to 65535",
				p->name, p->address);
	*gen = (uint32_t)v;
	return 0;
}

static int null_check(const struct gw_config *config, struct gw_diag *diag)
{
	const struct gw_cfg *cfg = gw__config(config);

	for (uint32_t i = 0; i < cfg->n_ports; i++) {
		const struct gw_cfg_port *p = &cfg->port[i];
		uint32_t gen, peers = 0;
		int err = parse_address(p, &gen, diag);

		if (err)
			return err;
		if (p->accurate_send)
			return gw__fail(diag, -ENOTSUP,
					"interface '%s': engine null keeps no time; set accurate_send: false", p->name);
		for (uint32_t k = 0; k < cfg->n_ports; k++)
			peers += !gen && !strcmp(cfg->port[k].address, p->address);
		if (peers > 2)
			return gw__fail(diag, -EINVAL,
					"interface '%s': %u interfaces share the address '%s'; two can be peers",
					p->name, peers, p->address);
	}
	return 0;
}

static void null_close(struct gw__engine *base);

static int null_open(const struct gw_config *config, struct gw__clock *clock, struct gw__engine **out,
		     struct gw_diag *diag)
{
	const struct gw_cfg *cfg = gw__config(config);
	struct null_engine *e = gw__calloc(1, sizeof(*e));
	int err = 0;

	if (!e)
		return gw__fail(diag, -ENOMEM, "engine null: no memory");
	e->base.ops = &gw__engine_null;
	e->cfg = cfg;
	e->clock = clock;
	pthread_mutex_init(&e->lock, NULL);
	gw__toeplitz_init(&e->rss, gw__toeplitz_default_key);
	e->port = gw__calloc(cfg->n_ports, sizeof(*e->port));
	if (!e->port) {
		null_close(&e->base);
		return gw__fail(diag, -ENOMEM, "engine null: no memory");
	}
	for (uint32_t i = 0; i < cfg->n_ports && !err; i++) {
		struct null_port *p = &e->port[i];

		p->e = e;
		p->cfg = &cfg->port[i];
		err = parse_address(p->cfg, &p->gen, diag);
		p->peer = p->gen ? NULL : p;
		for (uint32_t k = 0; k < cfg->n_ports && !p->gen; k++)
			if (k != i && !strcmp(cfg->port[k].address, p->cfg->address))
				p->peer = &e->port[k];
	}
	if (err) {
		null_close(&e->base);
		return err;
	}
	*out = &e->base;
	return 0;
}

static void free_rxq(struct null_rxq *q)
{
	if (!q)
		return;
	gw__free(q->free);
	gw__free(q->done);
	gw__free(q);
}

static void free_txq(struct null_txq *q)
{
	if (!q)
		return;
	for (uint32_t s = 0; s < GW_MAX_SEGS; s++) {
		gw__free(q->len[s]);
		gw__free(q->from[s]);
	}
	gw__free(q->free);
	gw__free(q->fifo);
	gw__free(q);
}

static void null_close(struct gw__engine *base)
{
	struct null_engine *e = (struct null_engine *)base;

	for (uint32_t i = 0; e->port && i < e->cfg->n_ports; i++) {
		struct null_port *p = &e->port[i];

		for (uint32_t k = 0; k < p->n_rxq; k++)
			free_rxq(p->rxq[k]);
		for (uint32_t k = 0; k < p->n_txq; k++)
			free_txq(p->txq[k]);
		gw__flow_table_fini(&p->rules);
	}
	pthread_mutex_destroy(&e->lock);
	gw__free(e->port);
	gw__free(e);
}

static int reachable(const struct gw__queue_params *p, struct gw_diag *diag)
{
	for (uint32_t s = 0; s < p->slots.n_segs; s++)
		if (!p->slots.seg[s].host)
			return gw__fail(diag, -ENOTSUP,
					"engine null copies on the CPU and cannot reach memory of kind %s; use host",
					gw_mem_kind_name(p->slots.seg[s].kind));
	return 0;
}

/* All slots are free; the stack gives slot 0 first. */
static uint32_t *all_free(uint32_t n)
{
	uint32_t *f = gw__calloc(n, sizeof(*f));

	for (uint32_t i = 0; f && i < n; i++)
		f[i] = n - 1 - i;
	return f;
}

static int null_rxq_open(struct gw__engine *base, const struct gw__queue_params *p, struct gw__event *event,
			 struct gw__rxq *out, struct gw_diag *diag)
{
	struct null_port *port = &((struct null_engine *)base)->port[p->port];
	struct null_rxq *q;
	int err = reachable(p, diag);

	if (err)
		return err;
	if (port->gen > slot_bytes(&p->slots))
		return gw__fail(diag, -EINVAL, "interface '%s': frames of %u bytes do not fit slots of %u",
				port->cfg->name, port->gen, slot_bytes(&p->slots));
	q = gw__calloc(1, sizeof(*q));
	if (q) {
		q->free = all_free(p->slots.n_slots);
		q->done = gw__calloc(p->slots.n_slots, sizeof(*q->done));
	}
	if (!q || !q->free || !q->done) {
		free_rxq(q);
		return gw__fail(diag, -ENOMEM, "engine null: no memory for a queue of %u slots", p->slots.n_slots);
	}
	q->port = port;
	q->p = *p;
	q->n_free = p->slots.n_slots;
	q->event = event;
	port->rxq[port->n_rxq++] = q;
	*out = (struct gw__rxq){ .q = q, .rx = null_rx, .release = null_release, .arm = null_rx_arm,
				 .event = event };
	return 0;
}

static int null_txq_open(struct gw__engine *base, const struct gw__queue_params *p, struct gw__event *event,
			 struct gw__txq *out, struct gw_diag *diag)
{
	struct null_port *port = &((struct null_engine *)base)->port[p->port];
	struct null_txq *q;
	bool ok;
	int err = reachable(p, diag);

	if (err)
		return err;
	q = gw__calloc(1, sizeof(*q));
	if (!q)
		return gw__fail(diag, -ENOMEM, "engine null: no memory");
	q->free = all_free(p->slots.n_slots);
	q->fifo = gw__calloc(p->slots.n_slots, sizeof(*q->fifo));
	ok = q->free && q->fifo;
	for (uint32_t s = 0; s < p->slots.n_segs; s++) {
		q->len[s] = gw__calloc(p->slots.n_slots, sizeof(*q->len[s]));
		q->from[s] = gw__calloc(p->slots.n_slots, sizeof(*q->from[s]));
		ok &= q->len[s] && q->from[s];
	}
	if (!ok) {
		free_txq(q);
		return gw__fail(diag, -ENOMEM, "engine null: no memory for a queue of %u slots", p->slots.n_slots);
	}
	q->port = port;
	q->p = *p;
	q->n_free = p->slots.n_slots;
	q->event = event;
	port->txq[port->n_txq++] = q;
	*out = (struct gw__txq){ .q = q, .reserve = null_reserve, .submit = null_submit, .cancel = null_cancel,
				 .lend = null_lend, .pending = null_pending, .arm = null_tx_arm, .event = event };
	return 0;
}

static int null_start(struct gw__engine *base, struct gw_diag *diag)
{
	struct null_engine *e = (struct null_engine *)base;

	pthread_mutex_lock(&e->lock);
	e->running = true;
	pthread_mutex_unlock(&e->lock);
	return 0;
}

/* What is still posted was never on the wire: it completes as dropped. */
static void null_stop(struct gw__engine *base)
{
	struct null_engine *e = (struct null_engine *)base;

	pthread_mutex_lock(&e->lock);
	e->running = false;
	for (uint32_t i = 0; i < e->cfg->n_ports; i++)
		for (uint32_t k = 0; k < e->port[i].n_txq; k++)
			push_out(e->port[i].txq[k]);
	pthread_mutex_unlock(&e->lock);
}

static int null_flow_add(struct gw__engine *base, uint16_t port, const struct gw_flow_rule *rule,
			 struct gw_diag *diag)
{
	struct null_engine *e = (struct null_engine *)base;
	int err;

	for (uint32_t a = 0; a < rule->n_actions; a++) {
		const struct gw_action *act = &rule->action[a];

		if (act->type != GW_ACTION_QUEUE && act->type != GW_ACTION_DROP)
			return gw__fail(diag, -ENOTSUP,
					"flow %u: engine null changes no frames; leave out tags and tunnels, or use "
					"engine nic", rule->id);
		if (act->type == GW_ACTION_QUEUE && (!act->n_queues || act->n_queues > GW_MAX_QUEUES))
			return gw__fail(diag, -EINVAL, "flow %u: a queue action names 1 to %u queues", rule->id,
					GW_MAX_QUEUES);
		for (uint32_t k = 0; act->type == GW_ACTION_QUEUE && k < act->n_queues; k++)
			if (!find_rxq(&e->port[port], act->queue[k]))
				return gw__fail(diag, -EINVAL, "flow %u: queue %u does not exist on this port",
						rule->id, act->queue[k]);
	}
	pthread_mutex_lock(&e->lock);
	err = gw__flow_table_add(&e->port[port].rules, rule, diag);
	pthread_mutex_unlock(&e->lock);
	return err;
}

static int null_flow_del(struct gw__engine *base, uint16_t port, uint32_t flow_id)
{
	struct null_engine *e = (struct null_engine *)base;
	int err;

	pthread_mutex_lock(&e->lock);
	err = gw__flow_table_del(&e->port[port].rules, flow_id);
	pthread_mutex_unlock(&e->lock);
	return err;
}

static int null_port_stats(struct gw__engine *base, uint16_t port, struct gw_port_stats *out)
{
	struct null_engine *e = (struct null_engine *)base;

	pthread_mutex_lock(&e->lock);
	*out = e->port[port].st;
	pthread_mutex_unlock(&e->lock);
	return 0;
}

static int null_port_set(struct gw__engine *base, uint16_t port, int what, uint64_t value)
{
	struct null_engine *e = (struct null_engine *)base;
	int err = 0;

	pthread_mutex_lock(&e->lock);
	if (what == GW__PORT_PAUSE)
		e->port[port].pause = value != 0;
	else if (what == GW__PORT_DROP_ALL)
		e->port[port].drop_all = value != 0;
	else
		err = -ENOTSUP;
	pull_in(&e->port[port]);
	pthread_mutex_unlock(&e->lock);
	return err;
}

static int null_port_mac(struct gw__engine *base, uint16_t port, uint8_t mac[6])
{
	const uint8_t local[6] = { 0x02, 'n', 'u', 'l', 'l', (uint8_t)port };

	memcpy(mac, local, sizeof(local));
	return 0;
}

const struct gw__engine_ops gw__engine_null = {
	.name = "null",
	.check = null_check,
	.open = null_open,
	.close = null_close,
	.rxq_open = null_rxq_open,
	.txq_open = null_txq_open,
	.start = null_start,
	.stop = null_stop,
	.flow_add = null_flow_add,
	.flow_del = null_flow_del,
	.port_stats = null_port_stats,
	.port_set = null_port_set,
	.port_mac = null_port_mac,
};
