/* One seed = one stream: loss, duplicates, swaps, stragglers, gaps made by the link below and above half the
 * number's range, gaps made and told by the port, restarts, short and bad packets, stalls, too few buffers,
 * deadlines, on a virtual clock. The plan must agree with the slow model (model.c) about every packet and
 * every window; below the limit no place may hold another packet than its own; above it, exactly the one that
 * the model predicts. sim_reorder_plan [FIRST_SEED [N_SEEDS]] */
#include "base/bitmap.h"
#include "model.h"
#include "reorder/plan.h"
#include "t.h"

#define MAX_BUFS 12u
#define BURST 64u
#define HELD 32u
#define IDS (1u << 17)
#ifdef GW_TSAN
#define N_SEEDS 150u /* one thread: nothing for tsan to find, and it takes eighty times as long */
#else
#define N_SEEDS 3000u
#endif

struct sim {
	uint64_t x; /* the seed's generator */
	uint32_t per_batch, seq_bits, n_bufs, n_packets;
	uint32_t loss, dup, swap, bad; /* per 10,000 */
	uint32_t delay;                /* packets a straggler is held back */
	bool above, restarts;
	bool sure; /* the packet after a gap arrives: two gaps in a row would be a wider one */
	uint64_t timeout_ns, now_ns;
	/* the sender and the link */
	int64_t truth;
	struct {
		int64_t truth;
		uint32_t in; /* leaves after so many sends */
	} held[HELD];
	uint32_t n_held;
	/* the receiver */
	struct gw__plan plan;
	struct model model;
	struct gw__plan_window buf[MAX_BUFS];
	struct gw__plan_window *lent[MAX_BUFS]; /* with the consumer, oldest first */
	bool taken[MAX_BUFS];
	uint32_t n_lent;
	struct packet pkt[BURST];
	uint32_t n_pkt, done;
	uint64_t told;
	uint32_t n_ids, n_windows, n_blocked, last_restarts;
	uint64_t last_id;
	uint8_t *back; /* times each packet's slot was let go */
};

static struct model_window want; /* too large for the stack of a sanitised build */

static uint64_t rnd(struct sim *s)
{
	uint64_t z = s->x += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static bool chance(struct sim *s, uint32_t per_10000)
{
	return rnd(s) % 10000 < per_10000;
}

static void compare_window(struct sim *s, const struct gw__plan_window *w)
{
	uint64_t id = gw__plan_id(&s->plan, w);
	uint32_t n_bits = gw__bitmap_count(w->valid, 0, s->per_batch);

	T_EQ(id, want.number);
	T_EQ(w->why, want.why);
	T_EQ(w->n_placed, want.n);
	T_EQ(w->first_ts_ns, want.first_ts_ns);
	T_EQ(n_bits, w->n_placed);
	T_OK(!s->n_windows || id > s->last_id);
	s->last_id = id;
	s->n_windows++;
	for (uint32_t i = 0; i < w->n_placed; i++) {
		const struct gw__move *m = &w->move[i];

		if (want.at[m->idx] != m->slot || !gw__bit_test(w->valid, m->idx))
			T_EQ(want.at[m->idx], m->slot);
		s->back[m->slot]++;
	}
	/* the promise: below the limit each filled place holds its own packet */
	for (uint32_t i = 0; i < s->per_batch && !s->model.aliased && !s->restarts; i++)
		if (want.at[i] != EMPTY &&
		    want.truth[i] + s->model.offset != want.number * s->per_batch + (int64_t)i)
			T_EQ(want.truth[i], want.number * s->per_batch + (int64_t)i - s->model.offset);
}

static void collect(struct sim *s, uint32_t *n_seen)
{
	struct gw__plan_window *w;

	while ((w = gw__plan_closed(&s->plan))) {
		T_NEED(*n_seen < s->model.n_closed);
		want = s->model.closed[(*n_seen)++ % MODEL_FIFO];
		compare_window(s, w);
		s->lent[s->n_lent++] = w;
	}
}

static void give_back(struct sim *s, uint32_t n)
{
	for (; n && s->n_lent; n--) {
		s->taken[s->lent[0] - s->buf] = false;
		memmove(s->lent, s->lent + 1, --s->n_lent * sizeof(*s->lent));
	}
}

static struct gw__plan_window *take_buf(struct sim *s)
{
	for (uint32_t i = 0; i < s->n_bufs; i++)
		if (!s->taken[i]) {
			s->taken[i] = true;
			return &s->buf[i];
		}
	return NULL;
}

/* Offer what the burst still holds; stops short when no buffer is free. */
static void offer(struct sim *s, uint32_t *n_seen)
{
	uint32_t slot[BURST], seq[BURST], len[BURST], reject[BURST], n_reject = 0, n_checked = 0;
	uint64_t ts[BURST];
	const struct gw__plan_in in = { .slot = slot, .seq = seq, .payload_len = len, .ts_ns = ts,
					.lost_before = s->told };
	uint32_t i = s->done, model_at = s->done;
	enum gw__plan_step step;

	for (uint32_t k = 0; k < s->n_pkt; k++) {
		slot[k] = s->pkt[k].id;
		seq[k] = (uint32_t)s->pkt[k].truth;
		len[k] = s->pkt[k].len;
		ts[k] = s->pkt[k].ts_ns;
	}
	do {
		struct gw__plan_window *b;

		step = gw__plan_place(&s->plan, &in, &i, s->n_pkt, reject, &n_reject);
		for (; model_at < i; model_at++) {
			if (!model_at)
				model_told(&s->model, s->told);
			if (!model_take(&s->model, &s->pkt[model_at])) {
				T_NEED(n_checked < n_reject);
				T_EQ(reject[n_checked++], s->pkt[model_at].id);
			}
		}
		T_EQ(n_checked, n_reject);
		if (step == GW__PLAN_END)
			break;
		if (step == GW__PLAN_CLOSED) {
			/* closed for the packet to come: the model does so when it looks at that one */
			if (i < s->n_pkt && s->model.n_closed == *n_seen) {
				int64_t told = s->model.told;

				if (!i && s->told)
					model_told(&s->model, s->told);
				(void)model_needs(&s->model, &s->pkt[i]);
				s->model.told = told; /* counts when the packet is taken */
			}
			collect(s, n_seen);
			continue;
		}
		b = take_buf(s);
		if (!b) {
			s->n_blocked++;
			break;
		}
		gw__plan_open(&s->plan, b);
	} while (1);
	for (uint32_t k = 0; k < n_reject; k++)
		s->back[reject[k]]++;
	s->done = i;
	T_EQ(s->plan.counts.placed, s->model.placed);
	T_EQ(s->plan.counts.duplicate, s->model.duplicate);
	T_EQ(s->plan.counts.late, s->model.late);
	T_EQ(s->plan.counts.stale, s->model.stale);
	T_EQ(s->plan.counts.bad, s->model.bad);
	if (s->done == s->n_pkt) /* else the plan may have joined anew and wait for a buffer */
		T_EQ(s->plan.counts.restarts, s->model.restarts);
}

static void deliver(struct sim *s, int64_t truth, uint32_t *n_seen)
{
	struct packet *p = &s->pkt[s->n_pkt++];
	uint32_t size = 1 + (uint32_t)(rnd(s) % BURST);

	s->now_ns += rnd(s) % 200;
	*p = (struct packet){ .truth = truth, .ts_ns = s->now_ns, .id = s->n_ids++,
			      .len = !s->sure && chance(s, s->bad) ? 0 : 1 + (uint32_t)(rnd(s) % 1000) };
	T_NEED(s->n_ids < IDS);
	if (s->n_pkt < size)
		return;
	for (;;) {
		offer(s, n_seen);
		if (s->done == s->n_pkt)
			break;
		give_back(s, 1 + (uint32_t)(rnd(s) % 2)); /* the consumer comes at last */
	}
	s->n_pkt = s->done = 0;
	s->told = 0;
	if (chance(s, 3000))
		give_back(s, (uint32_t)(rnd(s) % 4));
	if (chance(s, 100))
		s->now_ns += rnd(s) % 200000; /* a stall */
	if (chance(s, 2000)) {
		T_OK(s->timeout_ns || gw__plan_deadline(&s->plan) == UINT64_MAX);
		gw__plan_expire(&s->plan, s->now_ns);
		model_expire(&s->model, s->now_ns);
		collect(s, n_seen);
		T_EQ(*n_seen, s->model.n_closed);
	}
	if (chance(s, 20)) {
		gw__plan_flush(&s->plan);
		model_flush(&s->model);
		collect(s, n_seen);
	}
}

static void drain_burst(struct sim *s, uint32_t *n_seen)
{
	while (s->done < s->n_pkt) {
		offer(s, n_seen);
		give_back(s, 2);
	}
	s->n_pkt = s->done = 0;
	s->told = 0;
}

/* Stragglers before a gap, so that none is late by the gap and its own delay. */
static void release_held(struct sim *s, uint32_t *n_seen)
{
	while (s->n_held)
		deliver(s, s->held[--s->n_held].truth, n_seen);
}

/* The wire between: what leaves now, what is held back, what is lost. */
static void send(struct sim *s, uint32_t *n_seen)
{
	const int64_t half = (int64_t)1 << (s->seq_bits - 1);
	int64_t t = s->truth++;

	for (uint32_t i = 0; i < s->n_held;)
		if (!--s->held[i].in) {
			deliver(s, s->held[i].truth, n_seen);
			s->held[i] = s->held[--s->n_held];
		} else {
			i++;
		}
	if (s->restarts && chance(s, 3))
		s->truth = (int64_t)(rnd(s) % 1000);
	if (s->sure) {
		deliver(s, t, n_seen);
		s->sure = false;
		return;
	}
	if (chance(s, s->loss))
		return;
	if (s->n_held < HELD && chance(s, s->swap)) {
		s->held[s->n_held].truth = t;
		s->held[s->n_held++].in = 1 + (uint32_t)(rnd(s) % s->delay);
		return;
	}
	if (s->n_held < HELD && chance(s, s->dup)) {
		s->held[s->n_held].truth = t;
		s->held[s->n_held++].in = 1 + (uint32_t)(rnd(s) % s->delay);
	}
	deliver(s, t, n_seen);
	if (chance(s, 10) && s->seq_bits > 4) { /* the port: no slot was posted for a while, and it says so */
		uint64_t gap = rnd(s) % ((uint64_t)1 << (s->seq_bits > 16 ? 20 : s->seq_bits + 2));

		release_held(s, n_seen);
		drain_burst(s, n_seen);
		s->truth += (int64_t)gap;
		s->told = gap;
		s->sure = true;
		return;
	}
	if (chance(s, s->above ? 10 : 5)) { /* the link: nobody says so */
		int64_t room = s->above ? 3 * half : half - (int64_t)s->delay - 2;

		if (!s->above)
			release_held(s, n_seen);
		s->truth += room > 0 ? (int64_t)(rnd(s) % (uint64_t)room) : 0;
		s->sure = true;
	}
}

static void set_up(struct sim *s, uint64_t seed)
{
	static const uint32_t widths[] = { 4, 12, 16, 32 };
	uint32_t log2, most;

	s->x = seed * 0x2545f4914f6cdd1dull + 1;
	s->seq_bits = widths[rnd(s) % 4];
	most = s->seq_bits < 12 ? s->seq_bits : 12;
	log2 = (uint32_t)(rnd(s) % (most + 1));
	if (chance(s, 3000))
		log2 = most; /* w = 4, 12: one window is the whole range */
	s->per_batch = 1u << log2;
	s->n_packets = 1000 + (uint32_t)(rnd(s) % 3000) + (s->per_batch > 512 ? 5 * s->per_batch : 0);
	s->loss = chance(s, 5000) ? (uint32_t)(rnd(s) % 500) : 0;
	s->dup = chance(s, 5000) ? (uint32_t)(rnd(s) % 500) : 0;
	s->swap = chance(s, 5000) ? (uint32_t)(rnd(s) % 1000) : 0;
	s->bad = chance(s, 2000) ? (uint32_t)(rnd(s) % 100) : 0;
	s->delay = s->seq_bits == 4 ? 3 : chance(s, 5000) ? 8 : 500;
	s->delay = 1 + (uint32_t)(rnd(s) % s->delay);
	if (s->seq_bits == 4) /* the range is 16: keep stragglers and losses in a row under 8 */
		s->loss = s->loss < 20 ? s->loss : 20;
	s->above = chance(s, 2500) && s->seq_bits < 32;
	s->restarts = chance(s, 1000);
	s->timeout_ns = chance(s, 5000) ? 0 : 1000 + rnd(s) % 200000;
	s->n_bufs = 2 + (uint32_t)(rnd(s) % 4);
	s->truth = (int64_t)(rnd(s) % ((uint64_t)1 << 34));
	model_init(&s->model, s->per_batch, s->seq_bits, 2 + (uint32_t)(rnd(s) % (s->n_bufs - 1)),
		   s->timeout_ns);
	T_RC(gw__plan_init(&s->plan, s->per_batch, s->seq_bits, s->model.max_open, s->timeout_ns), 0);
}

static void run(uint64_t seed, uint64_t *totals)
{
	static struct sim sim;
	static uint64_t valid[MAX_BUFS][MODEL_MAX_BATCH / 64];
	static struct gw__move move[MAX_BUFS][MODEL_MAX_BATCH];
	static uint8_t back[IDS];
	struct sim *s = &sim;
	uint32_t n_seen = 0, wrong = 0;

	memset(s, 0, sizeof(*s));
	memset(back, 0, sizeof(back));
	s->back = back;
	for (uint32_t i = 0; i < MAX_BUFS; i++) {
		s->buf[i].valid = valid[i];
		s->buf[i].move = move[i];
	}
	set_up(s, seed);
	while (s->n_ids < s->n_packets)
		send(s, &n_seen);
	drain_burst(s, &n_seen);
	gw__plan_flush(&s->plan);
	model_flush(&s->model);
	collect(s, &n_seen);
	T_EQ(n_seen, s->model.n_closed);
	T_EQ(gw__plan_n_open_packets(&s->plan), 0);
	T_EQ(s->plan.counts.placed + s->plan.counts.duplicate + s->plan.counts.late + s->plan.counts.stale +
		     s->plan.counts.bad, s->n_ids);
	for (uint32_t i = 0; i < s->n_ids; i++)
		wrong += back[i] != 1; /* every slot came back, once */
	T_EQ(wrong, 0);
	if (!s->above && !s->restarts)
		T_OK(!s->model.aliased); /* below the limit nothing is taken for another */
	totals[0] += s->n_ids;
	totals[1] += s->n_windows;
	totals[2] += s->model.aliased;
	totals[3] += s->model.restarts;
	totals[4] += s->n_blocked;
	totals[5] += s->model.late;
	totals[6] += s->model.duplicate;
	totals[7] += s->model.stale;
	totals[8] += s->per_batch == (uint64_t)1 << s->seq_bits;
}

int main(int argc, char **argv)
{
	uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 0) : 1, totals[9] = { 0 };
	uint64_t n = argc > 2 ? strtoull(argv[2], NULL, 0) : N_SEEDS;

	for (uint64_t seed = first; seed < first + n; seed++) {
		run(seed, totals);
		if (t__failed) {
			fprintf(stderr, "seed %" PRIu64 "\n", seed);
			return 1;
		}
	}
	printf("%" PRIu64 " seeds: %" PRIu64 " packets, %" PRIu64 " windows; runs with numbers taken for others (all "
	       "above the limit) %" PRIu64 ", restarts %" PRIu64 ", times without a buffer %" PRIu64 ", late %" PRIu64
	       ", duplicates %" PRIu64 ", stale %" PRIu64 ", runs with one window to the range %" PRIu64 "\n", n,
	       totals[0], totals[1], totals[2], totals[3], totals[4], totals[5], totals[6], totals[7], totals[8]);
	/* a simulation that never met them has shown nothing about them */
	for (size_t i = 0; i < 9 && n >= 2000; i++)
		T_OK(totals[i] > 0);
	T_DONE();
}
