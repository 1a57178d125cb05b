/* ingest/merge.c: several receive queues of an engine seen as one, for a plan whose flows are spread by hash.
 * Packets come out in the order of their numbers, so that a busy queue cannot run ahead of a quiet one and close its
 * windows. Slots are numbered through: those of queue k follow those of queue k - 1. A packet without a number (of
 * another flow) passes as soon as it is the first of its queue.
 * Must not know windows. Next: rxq.c (the queue above), plan.c (where the number lies). */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/diag.h"
#include "ingest/gw.h"
#include "reorder/plan.h"

struct member {
	struct gw__rxq eng;
	uint32_t first;  /* its slot 0 in the common numbering */
	uint32_t held;   /* slots handed on and not given back */
	uint32_t pos, n; /* taken from the engine, not yet handed on */
	uint32_t slot[GW__STAGE], len[GW__STAGE], flow[GW__STAGE], pkt_flags[GW__STAGE], lost[GW__STAGE];
	uint64_t ts_ns[GW__STAGE];
	uint32_t seq[GW__STAGE];
	bool numbered[GW__STAGE];
};

struct gw__merge {
	struct gw__rx_queue *q;
	uint32_t n, per; /* members; slots of each */
	int gone;        /* the error of a member; what the others had taken is handed on before it is told */
	uint32_t *back;  /* [per] */
	struct member m[];
};

/* Up to GW__STAGE packets of one member. The engine's answer. */
static int fill(struct gw__merge *g, struct member *m)
{
	const struct gw__rx_queue *q = g->q;
	const struct gw__rx_plan *p = &q->plan[0];
	struct gw__rx_out out = { .slot = m->slot, .len = m->len, .flow = m->flow, .pkt_flags = m->pkt_flags,
				  .ts_ns = q->timestamps ? m->ts_ns : NULL, .lost = m->lost };
	int r;

	memset(m->lost, 0, sizeof(m->lost));
	r = m->eng.rx(m->eng.q, &out, GW__STAGE);
	m->pos = 0;
	m->n = r > 0 ? (uint32_t)r : 0;
	for (uint32_t i = 0; i < m->n; i++) {
		uint32_t batch;

		m->slot[i] += m->first;
		m->numbered[i] = gw__rxq_route(q, m->flow[i]) == 0 &&
				 gw__plan_number(p, m->slot[i], m->len[i], &m->seq[i], &batch);
		if (m->numbered[i] && p->batch.n_bits)
			m->seq[i] = gw__plan_join(batch, m->seq[i], p->seq.n_bits - p->batch.n_bits);
	}
	return r;
}

/* Every member that has nothing is asked again after any other was filled: a queue found empty then holds no packet
 * that came before those already taken, even while somebody else moves packets, since an engine completes a port's
 * packets in the order of their coming. Sets *busy where one said -EAGAIN. */
static void fill_all(struct gw__merge *g, bool *busy)
{
	bool any, empty;

	do {
		any = empty = false;
		for (uint32_t k = 0; k < g->n; k++) {
			struct member *m = &g->m[k];
			int r;

			if (m->pos < m->n)
				continue;
			r = fill(g, m);
			any |= r > 0;
			empty |= r <= 0;
			*busy |= r == -EAGAIN;
			g->gone = r < 0 && r != -EAGAIN ? r : g->gone;
		}
	} while (any && empty && !g->gone);
}

/* Does a's first packet go before b's? Numbers wrap; config_reorder.c sees that they are wide enough. */
static bool before(const struct gw__merge *g, const struct member *a, const struct member *b)
{
	uint32_t up = 32 - g->q->plan[0].seq.n_bits;

	if (!a->numbered[a->pos] || !b->numbered[b->pos])
		return !a->numbered[a->pos];
	return (int32_t)((b->seq[b->pos] - a->seq[a->pos]) << up) > 0;
}

static struct member *first_of(struct gw__merge *g)
{
	struct member *best = NULL;

	for (uint32_t k = 0; k < g->n; k++) {
		struct member *m = &g->m[k];

		if (m->pos < m->n && (!best || before(g, m, best)))
			best = m;
	}
	return best;
}

static void hand_on(struct member *m, const struct gw__rx_out *out, uint32_t at)
{
	uint32_t i = m->pos++;

	m->held++;
	out->slot[at] = m->slot[i];
	out->len[at] = m->len[i];
	out->flow[at] = m->flow[i];
	out->pkt_flags[at] = m->pkt_flags[i];
	if (out->lost)
		out->lost[at] = m->lost[i];
	if (out->ts_ns)
		out->ts_ns[at] = m->ts_ns[i];
}

/* The owner is starved: the port goes on counting what it drops. */
static int progress(struct gw__merge *g)
{
	int r = 0;

	for (uint32_t k = 0; k < g->n; k++) {
		const struct gw__rx_out none = { 0 };
		int one = g->m[k].eng.rx(g->m[k].eng.q, &none, 0);

		r = one ? one : r;
	}
	return r;
}

uint32_t gw__merge_free(const struct gw__merge *g)
{
	uint32_t n = UINT32_MAX;

	for (uint32_t k = 0; k < g->n; k++)
		n = g->per - g->m[k].held < n ? g->per - g->m[k].held : n;
	return n;
}

static int merge_rx(void *qp, const struct gw__rx_out *out, uint32_t n)
{
	struct gw__merge *g = qp;
	bool busy = false;
	uint32_t got = 0;

	if (!n)
		return progress(g);
	while (got < n) {
		struct member *m;

		if (!g->gone)
			fill_all(g, &busy);
		m = first_of(g);
		if (!m)
			break;
		do {
			hand_on(m, out, got++);
			if (m->pos == m->n)
				break; /* what comes next may be in the queue just emptied */
			m = first_of(g);
		} while (got < n);
	}
	if (got || g->gone)
		return got ? (int)got : g->gone;
	/* a member without slots: nothing can come to it, whatever the others do */
	return busy && gw__merge_free(g) ? -EAGAIN : 0;
}

static void merge_release(void *qp, const uint32_t *slots, uint32_t n)
{
	struct gw__merge *g = qp;

	for (uint32_t k = 0; k < g->n; k++) {
		uint32_t first = g->m[k].first, c = 0;

		for (uint32_t i = 0; i < n; i++)
			if (slots[i] - first < g->per)
				g->back[c++] = slots[i] - first;
		g->m[k].held -= c;
		if (c)
			g->m[k].eng.release(g->m[k].eng.q, g->back, c);
	}
}

static bool merge_arm(void *qp)
{
	struct gw__merge *g = qp;
	bool work = false;

	for (uint32_t k = 0; k < g->n; k++)
		work |= g->m[k].pos < g->m[k].n || g->m[k].eng.arm(g->m[k].eng.q);
	return work;
}

static uint64_t merge_due(void *qp)
{
	struct gw__merge *g = qp;
	uint64_t ns = UINT64_MAX;

	for (uint32_t k = 0; k < g->n; k++) {
		uint64_t one = g->m[k].eng.due_ns(g->m[k].eng.q);

		ns = one < ns ? one : ns;
	}
	return ns;
}

/* Queues that the most used of the regions is shared out to. */
static uint32_t n_users(const struct gw__rx_queue *q)
{
	uint32_t n = 0;

	for (uint32_t s = 0; s < q->cfg->n_regions; s++)
		n = q->gw->region[q->cfg->region[s]].n_users > n ? q->gw->region[q->cfg->region[s]].n_users : n;
	return n;
}

int gw__merge_open(struct gw__rx_queue *q, const uint16_t *ids, uint32_t n, const struct gw__queue_params *params,
		   struct gw__rxq *out, struct gw_diag *diag)
{
	struct gw__merge *g = gw__calloc(1, sizeof(*g) + n * sizeof(g->m[0]));
	uint32_t paused = 0;

	if (g)
		g->back = gw__calloc(params->slots.n_slots, sizeof(*g->back));
	q->merge = g;
	if (!g || !g->back)
		return gw__fail(diag, -ENOMEM, "rx queue '%s': no memory to merge %u queues", q->cfg->name, n);
	if (params->slots.n_slots / 2 < q->plan[0].cfg->packets_per_batch)
		return gw__fail(diag, -EINVAL,
				"rx queue '%s': %u slots for each of %u merged queues do not hold two windows of %u packets; "
				"use num_bufs %llu", q->cfg->name, params->slots.n_slots, n,
				q->plan[0].cfg->packets_per_batch,
				2ull * n_users(q) * q->plan[0].cfg->packets_per_batch);
	g->q = q;
	g->n = n;
	g->per = params->slots.n_slots;
	for (uint32_t k = 0; k < n; k++) {
		struct gw__queue_params p = *params;
		struct member *m = &g->m[k];
		int err;

		p.id = ids[k];
		m->first = k * g->per;
		for (uint32_t s = 0; s < p.slots.n_segs; s++) {
			size_t at = (size_t)m->first * p.slots.seg[s].stride;

			p.slots.seg[s].base += at;
			p.slots.seg[s].host += p.slots.seg[s].host ? at : 0;
		}
		err = q->gw->ops.rxq_open(q->gw->engine, &p, q->event, &m->eng, diag);
		if (err)
			return err;
		m->eng.due_ns = m->eng.due_ns ? m->eng.due_ns : gw__never_due;
		paused = k && paused < m->eng.paused_depth ? paused : m->eng.paused_depth;
	}
	*out = (struct gw__rxq){ .q = g, .rx = merge_rx, .release = merge_release, .arm = merge_arm,
				 .due_ns = merge_due, .event = q->event, .paused_depth = paused };
	return 0;
}

void gw__merge_close(struct gw__rx_queue *q)
{
	if (q->merge)
		gw__free(q->merge->back);
	gw__free(q->merge);
	q->merge = NULL;
}
