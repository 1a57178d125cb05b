/* ingest/rxq.c: one receive queue's step: take from the engine, place into plans or bursts, hand over.
 * Deadlines are judged only when link and ring were found drained and the queue could receive all the time.
 * Must not know threads (poller.c) nor windows' rules (reorder/). Next: reorder/plan.c. */
#include <errno.h>
#include <sched.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/diag.h"
#include "base/log.h"
#include "ingest/gw.h"

#define MAX_RING 32768u
#define MIN_SLEEP_NS 20000u
#define DROP_MODE_SLEEP_NS 1000000u  /* starved without pause: the port must go on counting */
#define PAUSE_SLEEP_NS 500000000u    /* starved with pause: nothing can arrive, only the log line is due */
#define STREAM_SLEEP_NS 1000000u     /* launches in flight that wake nobody */
#define FLUSH_YIELDS 1000u

/* Of merged queues the one that has the fewest decides: its packets stand before the others'. */
static uint32_t slots_free(const struct gw__rx_queue *q)
{
	return q->merge ? gw__merge_free(q->merge) : q->slots.n_slots - q->n_held;
}

static uint32_t engine_free(const struct gw__rx_queue *q)
{
	uint32_t n = slots_free(q), depth = q->ring_depth;

	if (q->eng.paused_depth && atomic_load_explicit(&q->gw->port[q->port].pause, memory_order_relaxed))
		depth = q->eng.paused_depth;
	return n < depth ? n : depth;
}

/* No buffer for what came: the consumer is told, and the sleep is short. */
static void set_starved(struct gw__rx_queue *q, bool on)
{
	/* relaxed: the owner is the only writer, readers take it as a hint */
	if (atomic_load_explicit(&q->starved, memory_order_relaxed) == on)
		return;
	atomic_store_explicit(&q->starved, on, memory_order_relaxed);
	if (on)
		gw__event_signal(&q->app_event);
}

/* Whether frames for this queue would stand in the way of the port's other queues. */
static void set_holding(struct gw__rx_queue *q)
{
	struct gw__port *port = &q->gw->port[q->port];
	bool on = atomic_load_explicit(&q->starved, memory_order_relaxed) || !engine_free(q);

	if (on == q->holding)
		return;
	q->holding = on;
	if (on) {
		atomic_fetch_add_explicit(&port->n_holding, 1, memory_order_relaxed);
		return;
	}
	atomic_store_explicit(&port->open_ns, gw__now_ns(q->gw->clock), memory_order_relaxed);
	atomic_fetch_sub_explicit(&port->n_holding, 1, memory_order_relaxed);
}

/* Since when the wire has been free for this queue; UINT64_MAX: another queue blocks it now. */
static uint64_t open_since(struct gw__rx_queue *q)
{
	struct gw__port *port = &q->gw->port[q->port];
	uint64_t other;

	if (!atomic_load_explicit(&port->pause, memory_order_relaxed))
		return q->open_ns;
	if (atomic_load_explicit(&port->n_holding, memory_order_relaxed) > q->holding)
		return UINT64_MAX;
	other = atomic_load_explicit(&port->open_ns, memory_order_relaxed);
	return other > q->open_ns ? other : q->open_ns;
}

/* ---- bursts ---------------------------------------------------------------------------------- */

static bool have_burst(struct gw__rx_queue *q)
{
	if (q->cur)
		return true;
	if (!q->n_free) {
		if (!atomic_load_explicit(&q->starved, memory_order_relaxed))
			q->no_free_bursts++;
		return false;
	}
	q->cur = q->free_stack[--q->n_free];
	return true;
}

static void push_to_app(struct gw__rx_queue *q, struct gw__burst *b)
{
	bool took = gw__ring_push(&q->to_app, &b); /* as large as all bursts and windows */

	(void)took;
	gw__event_signal(&q->app_event);
}

static void hand_burst(struct gw__rx_queue *q)
{
	struct gw__burst *b = q->cur;

	q->handed_packets += b->n;
	q->cur = NULL;
	push_to_app(q, b);
}

static uint32_t hand_windows(struct gw__rx_queue *q)
{
	struct gw__window w;
	uint32_t n = 0;

	for (uint32_t i = 0; i < q->n_plans; i++)
		while (gw__reorder_pop(q->plan[i].r, &w)) {
			struct gw__burst *b = &q->plan[i].win[w.buf];

			b->win = w;
			push_to_app(q, b);
			n++;
		}
	return n;
}

/* Slots whose launches are done go back to the engine. */
static void reclaim(struct gw__rx_queue *q)
{
	for (uint32_t i = 0; i < q->n_plans; i++) {
		uint32_t n;

		while ((n = gw__reorder_freed(q->plan[i].r, q->scratch, q->slots.n_slots)) > 0) {
			q->eng.release(q->eng.q, q->scratch, n);
			q->n_held -= n;
			q->plan[i].n_in -= n;
		}
	}
}

/* ---- from the engine ------------------------------------------------------------------------- */

static void account(struct gw__rx_queue *q, const uint32_t *len, uint32_t n, uint64_t now)
{
	uint64_t bytes = 0;

	q->last_ns = now;
	for (uint32_t i = 0; i < n; i++)
		bytes += len[i];
	q->rx_packets += n;
	q->rx_bytes += bytes;
	q->taken_since += n;
	q->n_held += n;
}

/* Straight into the arrays of the burst being filled. */
static int fill_burst(struct gw__rx_queue *q, uint64_t now, uint32_t budget)
{
	struct gw__burst *b = q->cur;
	uint32_t room = q->batch - b->n;
	struct gw__rx_out out = { .slot = b->slot + b->n, .len = b->len + b->n, .flow = b->flow + b->n,
				  .pkt_flags = b->pkt_flags + b->n,
				  .ts_ns = q->timestamps ? b->ts_ns + b->n : NULL };
	int r = q->eng.rx(q->eng.q, &out, room < budget ? room : budget);

	if (r <= 0)
		return r;
	account(q, out.len, (uint32_t)r, q->timestamps ? out.ts_ns[r - 1] : now);
	if (!b->n)
		b->first_ns = q->timestamps ? out.ts_ns[0] : now;
	b->n += (uint32_t)r;
	if (b->n == q->batch)
		hand_burst(q);
	return r;
}

uint32_t gw__rxq_route(const struct gw__rx_queue *q, uint32_t flow)
{
	for (uint32_t p = 0; p < q->n_plans; p++) {
		const struct gw_cfg_reorder *c = q->plan[p].cfg;

		if (!c->n_flow_ids)
			return p;
		for (uint32_t k = 0; k < c->n_flow_ids; k++)
			if (c->flow_ids[k] == flow)
				return p;
	}
	return q->n_plans;
}

/* The number of one packet; a packet too short to hold it gets no payload and is counted bad. */
static void read_seq(const struct gw__rx_queue *q, struct gw__stage *s, uint32_t i)
{
	const struct gw__rx_plan *p = &q->plan[s->plan[i]];
	uint32_t left = s->len[i] > p->payload_start ? s->len[i] - p->payload_start : 0;

	if (!gw__plan_number(p, s->slot[i], s->len[i], &s->seq[i], &s->batch[i])) {
		s->seq[i] = 0;
		left = 0;
	}
	s->payload_len[i] = left < p->payload_len ? left : p->payload_len;
}

static int fill_stage(struct gw__rx_queue *q, uint64_t now)
{
	struct gw__stage *s = q->stage;
	struct gw__rx_out out = { .slot = s->slot, .len = s->len, .flow = s->flow, .pkt_flags = s->pkt_flags,
				  .ts_ns = q->timestamps ? s->ts_ns : NULL, .lost = s->lost };
	int r;

	memset(s->lost, 0, sizeof(s->lost));
	r = q->eng.rx(q->eng.q, &out, GW__STAGE);
	if (r <= 0)
		return r;
	account(q, s->len, (uint32_t)r, q->timestamps ? s->ts_ns[r - 1] : now);
	s->pos = 0;
	s->n = (uint32_t)r;
	s->now_ns = now;
	for (uint32_t i = 0; i < s->n; i++) {
		s->plan[i] = (uint8_t)gw__rxq_route(q, s->flow[i]);
		if (s->plan[i] < q->n_plans)
			read_seq(q, s, i);
	}
	return r;
}

/* ---- into plans and bursts ------------------------------------------------------------------- */

/* Packets [pos, end) of one plan. false: no output buffer is free; nothing is lost. */
static bool place_run(struct gw__rx_queue *q, uint32_t end)
{
	struct gw__stage *s = q->stage;
	struct gw__rx_plan *p = &q->plan[s->plan[s->pos]];
	struct gw__reorder_in in = { .slot = s->slot + s->pos, .seq = s->seq + s->pos,
				     .batch = p->batch.n_bits ? s->batch + s->pos : NULL,
				     .payload_len = s->payload_len + s->pos,
				     .ts_ns = q->timestamps ? s->ts_ns + s->pos : NULL,
				     .now_ns = s->now_ns, .lost_before = s->lost[s->pos] };
	uint32_t n = end - s->pos, k = gw__reorder_push(p->r, &in, 0, n);

	p->n_in += k;
	s->pos += k;
	return k == n;
}

/* One packet that belongs to no plan goes on raw. */
static bool place_raw(struct gw__rx_queue *q)
{
	struct gw__stage *s = q->stage;
	struct gw__burst *b;
	uint32_t i = s->pos;

	if (!have_burst(q))
		return false;
	b = q->cur;
	if (!b->n)
		b->first_ns = q->timestamps ? s->ts_ns[i] : s->now_ns;
	b->slot[b->n] = s->slot[i];
	b->len[b->n] = s->len[i];
	b->flow[b->n] = s->flow[i];
	b->pkt_flags[b->n] = s->pkt_flags[i];
	b->ts_ns[b->n] = q->timestamps ? s->ts_ns[i] : s->now_ns;
	s->pos++;
	if (++b->n == q->batch)
		hand_burst(q);
	return true;
}

/* Everything staged; false when the pool it needs is empty. */
static bool place(struct gw__rx_queue *q)
{
	struct gw__stage *s = q->stage;
	bool ok = true;

	while (ok && s->pos < s->n) {
		uint32_t end = s->pos + 1;

		if (s->plan[s->pos] == q->n_plans) {
			ok = place_raw(q);
			continue;
		}
		while (end < s->n && s->plan[end] == s->plan[s->pos] && !s->lost[end])
			end++;
		ok = place_run(q, end);
	}
	return ok;
}

/* ---- the step -------------------------------------------------------------------------------- */

/* Time counts against a window only while its packets could have come in: not while the peer was held
 * back by us, nor, if the engine ran out of slots meanwhile, before this moment. */
static bool may_judge(struct gw__rx_queue *q, uint64_t now)
{
	uint64_t since;

	if (q->taken_since >= q->drained_free)
		q->open_ns = now;
	q->taken_since = 0;
	q->drained_free = engine_free(q);
	since = open_since(q);
	return q->timeout_ns && since != UINT64_MAX && (!since || now >= since + q->timeout_ns);
}

/* Every slot taken lies in windows still open and there is none left: no packet can come, so no window can fill. */
static bool stuck_in_windows(struct gw__rx_queue *q)
{
	uint64_t open = 0;

	for (uint32_t i = 0; i < q->n_plans; i++) {
		struct gw_reorder_stats st;

		gw__reorder_stats(q->plan[i].r, &st);
		open += st.open_packets;
	}
	return open == q->n_held;
}

/* A partial window must be explained: name the sender's silence. */
static void given_up(struct gw__rx_queue *q, uint64_t now)
{
	uint64_t silence = now - q->last_ns;

	if (silence > q->silence_ns)
		q->silence_ns = silence;
	gw__info("rx queue '%s': a window was handed over at its deadline of %llu us; the last packet came %llu us ago",
		 q->cfg->name, (unsigned long long)q->cfg->timeout_us, (unsigned long long)(silence / 1000));
}

static void drained(struct gw__rx_queue *q, uint64_t now)
{
	struct gw__burst *b = q->cur;
	bool judge = may_judge(q, now);

	for (uint32_t i = 0; judge && i < q->n_plans; i++)
		if (gw__reorder_tick(q->plan[i].r, now))
			given_up(q, now);
	if (!slots_free(q) && stuck_in_windows(q))
		for (uint32_t i = 0; i < q->n_plans; i++)
			gw__reorder_flush(q->plan[i].r);
	if (!b || !b->n)
		return;
	/* the last slots are in this very burst: nothing more can come before it goes */
	if ((judge && now >= b->first_ns + q->timeout_ns) || !slots_free(q))
		hand_burst(q);
}

static int step(struct gw__rx_queue *q, int budget)
{
	const struct gw__rx_out none = { 0 };
	uint64_t now = 0;
	int moved, r = -EAGAIN;
	bool ok = true;

	moved = (int)gw__bursts_take_back(q);
	reclaim(q);
	if (atomic_load_explicit(&q->gone, memory_order_relaxed))
		return moved;
	for (int n = 0; n < budget; n += r) {
		ok = q->stage ? place(q) : have_burst(q);
		if (q->stage)
			reclaim(q); /* slots turn round while their lines are still in cache */
		if (!ok)
			break;
		now = gw__now_ns(q->gw->clock);
		r = q->stage ? fill_stage(q, now) : fill_burst(q, now, (uint32_t)(budget - n));
		if (r <= 0)
			break;
		moved += r;
	}
	if (ok && q->stage)
		ok = place(q);
	set_starved(q, !ok);
	if (!ok)
		r = q->eng.rx(q->eng.q, &none, 0) ? 1 : 2; /* progress alone; not drained */
	q->last_rx = r;
	if (r == 0)
		drained(q, now);
	else if (r < 0 && r != -EAGAIN) {
		atomic_store_explicit(&q->gone, r, memory_order_relaxed);
		gw__event_signal(&q->app_event);
	}
	set_holding(q);
	moved += (int)hand_windows(q);
	if (q->cfg->poll == GW_POLL_DIRECT && q->cur && q->cur->n && !q->timeout_ns)
		hand_burst(q);
	reclaim(q);
	return moved;
}

/* With the lock held. */
static int flush(struct gw__rx_queue *q)
{
	uint64_t limit = 2 * (uint64_t)q->slots.n_slots + GW__STAGE, seen = 0;
	uint32_t yields = 0;
	int windows = 0;

	while (seen < limit && yields < FLUSH_YIELDS) {
		int n = step(q, (int)GW__STAGE);

		seen += (uint32_t)n;
		if (n)
			continue;
		if (q->last_rx != -EAGAIN)
			break;
		yields++; /* somebody else moves packets: they may be ours */
		sched_yield();
	}
	for (uint32_t i = 0; i < q->n_plans; i++)
		windows += (int)gw__reorder_flush(q->plan[i].r);
	hand_windows(q);
	if (q->cur && q->cur->n)
		hand_burst(q);
	reclaim(q);
	return windows;
}

int gw__rxq_flush(struct gw__rx_queue *q)
{
	int n;

	pthread_mutex_lock(&q->lock);
	n = flush(q);
	pthread_mutex_unlock(&q->lock);
	return n;
}

int gw__rxq_serve(struct gw__rx_queue *q, int budget)
{
	uint32_t want = atomic_load_explicit(&q->flush_want, memory_order_acquire);
	int moved;

	pthread_mutex_lock(&q->lock);
	moved = step(q, budget);
	if (want != atomic_load_explicit(&q->flush_done, memory_order_relaxed)) {
		q->windows_flushed = flush(q);
		/* release: pairs with gw_flush() reading windows_flushed after it */
		atomic_store_explicit(&q->flush_done, want, memory_order_release);
		gw__event_signal(&q->gw->flush_event);
		moved++;
	}
	pthread_mutex_unlock(&q->lock);
	gw__stats_drops(q->gw);
	return moved;
}

bool gw__rxq_arm(struct gw__rx_queue *q)
{
	bool ready;

	/* starved: packets may wait, but only a release helps */
	if (atomic_load_explicit(&q->starved, memory_order_relaxed) ||
	    atomic_load_explicit(&q->gone, memory_order_relaxed))
		return false;
	pthread_mutex_lock(&q->lock);
	ready = q->eng.arm(q->eng.q);
	pthread_mutex_unlock(&q->lock);
	return ready;
}

/* With the lock held. */
static uint64_t deadline(struct gw__rx_queue *q)
{
	uint64_t d = UINT64_MAX, since = open_since(q);

	for (uint32_t i = 0; i < q->n_plans; i++) {
		uint64_t one = gw__reorder_deadline(q->plan[i].r);

		if (one < d)
			d = one;
	}
	if (q->cur && q->cur->n && q->timeout_ns && q->cur->first_ns + q->timeout_ns < d)
		d = q->cur->first_ns + q->timeout_ns;
	if (d == UINT64_MAX)
		return d;
	if (since == UINT64_MAX) /* nobody tells us when the other queue lets go */
		return gw__now_ns(q->gw->clock) + PAUSE_SLEEP_NS;
	return since && d < since + q->timeout_ns ? since + q->timeout_ns : d;
}

uint64_t gw__rxq_sleep_ns(struct gw__rx_queue *q)
{
	uint64_t ns = UINT64_MAX, d, now = gw__now_ns(q->gw->clock);

	pthread_mutex_lock(&q->lock);
	if (atomic_load_explicit(&q->starved, memory_order_relaxed))
		ns = atomic_load_explicit(&q->gw->port[q->port].pause, memory_order_relaxed) ?
		     PAUSE_SLEEP_NS : DROP_MODE_SLEEP_NS;
	else if (q->holding) /* frames are missed without waking us, and the log line about them is due */
		ns = PAUSE_SLEEP_NS;
	d = deadline(q);
	/* what the engine itself waits for; it was armed a moment ago unless starved */
	if (!atomic_load_explicit(&q->starved, memory_order_relaxed) && q->eng.due_ns(q->eng.q) < d)
		d = q->eng.due_ns(q->eng.q);
	if (d != UINT64_MAX) {
		d = d > now ? d - now : 0;
		ns = d < ns ? d : ns;
	}
	for (uint32_t i = 0; i < q->n_plans; i++) {
		struct gw_reorder_stats st;

		gw__reorder_stats(q->plan[i].r, &st);
		if (q->plan[i].n_in > st.open_packets && ns > STREAM_SLEEP_NS)
			ns = STREAM_SLEEP_NS;
	}
	pthread_mutex_unlock(&q->lock);
	return ns < MIN_SLEEP_NS ? MIN_SLEEP_NS : ns;
}

uint64_t gw__never_due(void *q)
{
	return UINT64_MAX;
}

/* ---- open and close -------------------------------------------------------------------------- */

static int idle_rx(void *q, const struct gw__rx_out *out, uint32_t n)
{
	return 0;
}

static void idle_release(void *q, const uint32_t *slots, uint32_t n)
{
}

static bool idle_arm(void *q)
{
	return false;
}

/* A queue whose packets come out of another one (merge.c): nothing ever comes here. The one slot is in no memory;
 * without any the queue would count as one that holds the port's sender back. */
static int open_idle(struct gw__rx_queue *q)
{
	q->slots.n_slots = q->batch = q->ring_depth = q->drained_free = 1;
	q->eng = (struct gw__rxq){ .rx = idle_rx, .release = idle_release, .arm = idle_arm, .due_ns = gw__never_due,
				   .event = q->event };
	q->scratch = gw__calloc(1, sizeof(*q->scratch));
	return !q->scratch || gw__bursts_open(q) ? -ENOMEM : 0;
}

/* Slots for n queues of the same regions, numbered through. */
static int take_slots(struct gw__rx_queue *q, uint32_t n, const char *who, struct gw_diag *diag)
{
	const struct gw_cfg_queue *c = q->cfg;
	struct gw__slots next;
	int err = gw__slots_take(q->gw, c->region, c->n_regions, &q->slots, who, diag);

	for (uint32_t k = 1; k < n && !err; k++) /* shares lie one behind the other */
		err = gw__slots_take(q->gw, c->region, c->n_regions, &next, who, diag);
	q->slots.n_slots *= n;
	return err;
}

/* The engine's queue, or the several that a plan merges. */
static int open_engine(struct gw__rx_queue *q, const struct gw_cfg_reorder *merged, struct gw_diag *diag)
{
	uint32_t n = merged ? merged->n_queues : 1;
	struct gw__queue_params p = { .port = q->port, .id = q->id, .slots = q->slots, .ring_depth = q->ring_depth / n,
				      .timestamps = q->timestamps };
	int err;

	p.slots.n_slots /= n;
	if (merged)
		return gw__merge_open(q, merged->queue, n, &p, &q->eng, diag);
	err = q->gw->ops.rxq_open(q->gw->engine, &p, q->event, &q->eng, diag);
	q->eng.due_ns = q->eng.due_ns ? q->eng.due_ns : gw__never_due;
	return err;
}

int gw__rxq_open(struct gw *gw, uint16_t port, uint16_t idx, struct gw_diag *diag)
{
	struct gw__rx_queue *q = &gw->port[port].rxq[idx];
	const struct gw_cfg_port *pc = gw->port[port].cfg;
	const struct gw_cfg_queue *c = &pc->rxq[idx];
	const struct gw_cfg_reorder *merged = gw__plan_merging(pc, c->id);
	uint32_t n = merged ? merged->n_queues : 1;
	char who[2 * GW_CFG_NAME + 32];
	int err;

	snprintf(who, sizeof(who), "interface '%s', rx queue '%s'", pc->name, c->name);
	if (merged && merged->queue[0] != c->id)
		return open_idle(q) ? gw__fail(diag, -ENOMEM, "%s: no memory", who) : 0;
	q->timestamps = pc->hardware_timestamps;
	q->timeout_ns = c->timeout_us > UINT64_MAX / 4000 ? UINT64_MAX / 4 : c->timeout_us * 1000;
	err = take_slots(q, n, who, diag);
	if (err)
		return err;
	q->batch = c->batch_size ? c->batch_size : GW__DIRECT_BATCH;
	if (q->batch > q->slots.n_slots)
		q->batch = q->slots.n_slots;
	for (q->ring_depth = 1; q->ring_depth * 2 <= q->slots.n_slots / n && q->ring_depth < MAX_RING;)
		q->ring_depth *= 2;
	q->ring_depth *= n;
	q->drained_free = q->ring_depth;
	err = gw__plans_open(gw, q, diag);
	if (err)
		return err;
	q->scratch = gw__calloc(q->slots.n_slots, sizeof(*q->scratch));
	q->stage = q->n_plans ? gw__calloc(1, sizeof(*q->stage)) : NULL;
	if (!q->scratch || (q->n_plans && !q->stage) || gw__bursts_open(q))
		return gw__fail(diag, -ENOMEM, "%s: no memory for %u bursts of %u packets", who,
				gw->cfg->rx_meta_buffers, q->batch);
	return open_engine(q, merged, diag);
}

void gw__rxq_close(struct gw__rx_queue *q)
{
	gw__merge_close(q);
	gw__plans_close(q);
	gw__bursts_close(q);
	gw__free(q->scratch);
	gw__free(q->stage);
	gw__event_fini(&q->own_event);
	gw__event_fini(&q->app_event);
	pthread_mutex_destroy(&q->lock);
}
