/* One seed, one run: sender, faulty wire, NIC, reorder and consumer under one scheduler on a virtual clock.
 * Whatever the mix of loss, duplicates, swaps, late packets, stalls and empty pools: every byte of every tensor
 * is right or reported missing, every packet is counted once, and everything goes on after it was stuck.
 * usage: sim_reorder [first seed] [seeds]; a failing run prints its seed. */
#include "rig_step.h"
#include "rng.h"

#define MAX_PKTS 6000u
#define LATE_MAX 64u
#define HOLD_MAX 4u

struct sim {
	struct hand h;
	struct rng rng;
	uint64_t seed;
	/* the mix, in ten-thousandths */
	uint32_t loss, dup, swap, late;
	uint32_t limit;        /* numbers further apart than this alias */
	bool pause, lossy;     /* lossy: the port may drop */
	uint32_t stall_consumer, stall_poller, step_ns, stop_at, hold;
	/* the wire */
	uint64_t start, n, next, highest; /* numbers start .. start + n - 1; highest: the furthest one sent */
	struct {
		uint64_t number;
		uint64_t when; /* goes out when `next` has reached this */
	} waiting[LATE_MAX];
	uint32_t n_waiting;
	uint64_t sent_frames;
	uint8_t out[MAX_PKTS];   /* copies sent, by number - start */
	uint8_t valid[MAX_PKTS]; /* reported valid, by number - start */
	/* the consumer */
	struct gw_burst held[HOLD_MAX];
	uint32_t n_held;
	uint64_t last_id;
	bool any_window;
	uint32_t wrong, backwards, strange;
	uint32_t consumer_away, poller_away;
	uint32_t last_len; /* payload of the run's last packet: shorter than the others */
};

/* What the seeds met together: a mix that never happens proves nothing. */
static struct {
	uint64_t missed, late, dup, stale, incomplete, starved, paused, merged, wide_drops, windows, packets, gaps, aliased;
} met;

/* ---- the wire -------------------------------------------------------------------------------- */

static uint32_t len_of(const struct sim *s, uint64_t number)
{
	return number == s->start + s->n - 1 ? s->last_len : s->h.r.payload;
}

static bool put(struct sim *s, uint64_t number)
{
	uint32_t len = len_of(s, number);
	uint8_t frame[RIG_HDR + 256];

	rig_frame(frame, number, s->h.r.seq_bits, (uint16_t)(RIG_PORT + (s->h.r.rss ? number % 13 : 0)), len);
	if (rig_send_raw(s->h.gw, frame, RIG_HDR + len) != 1)
		return false;
	s->sent_frames++;
	s->out[number - s->start]++;
	if (number > s->highest)
		s->highest = number;
	return true;
}

/* Copies and held-back packets whose time has come. */
static bool send_waiting(struct sim *s)
{
	for (uint32_t i = 0; i < s->n_waiting;) {
		if (s->waiting[i].when > s->next) {
			i++;
			continue;
		}
		/* further back than the number can say: a real network would not do that either */
		if (s->highest >= s->waiting[i].number + s->limit - 1) {
			s->waiting[i] = s->waiting[--s->n_waiting];
			continue;
		}
		if (!put(s, s->waiting[i].number))
			return false;
		s->waiting[i] = s->waiting[--s->n_waiting];
	}
	return true;
}

static void keep(struct sim *s, uint64_t number, uint32_t delay)
{
	if (s->n_waiting == LATE_MAX)
		return;
	s->waiting[s->n_waiting].number = number;
	s->waiting[s->n_waiting++].when = s->next + 1 + delay;
}

/* The sender's turn: up to n new numbers. */
static void send_some(struct sim *s, uint32_t n)
{
	for (; n && send_waiting(s) && s->next < s->start + s->n; n--) {
		uint64_t number = s->next;
		bool near = number + 1 - s->highest < s->limit / 2; /* leaves room for what is swapped */

		if (near && number != s->start && rng_hit(&s->rng, s->loss)) {
			s->next++;
			continue;
		}
		if (near && number != s->start && rng_hit(&s->rng, s->swap)) {
			keep(s, number, 1 + rng_below(&s->rng, s->limit / 4 < 40 ? s->limit / 4 : 40));
			s->next++;
			continue;
		}
		if (!put(s, number))
			return;
		if (rng_hit(&s->rng, s->dup))
			keep(s, number, rng_below(&s->rng, 3));
		if (rng_hit(&s->rng, s->late))
			keep(s, number, rng_below(&s->rng, s->limit / 2 < 500 ? s->limit / 2 : 500));
		s->next++;
	}
}

/* ---- the consumer ---------------------------------------------------------------------------- */

static uint32_t wrong_slots(const struct sim *s, const struct gw_burst *b, const struct gw_reorder_info *info)
{
	const uint32_t payload = s->h.r.payload;
	const uint8_t *t = b->seg_ptr[0][0];
	uint32_t bad = b->seg_len[0][0] != s->h.r.ppb * payload;

	for (uint32_t i = 0; i < s->h.r.ppb; i++) {
		uint64_t number = info->batch_id * s->h.r.ppb + i;
		uint32_t len = rig_bit(info->valid, i) ? len_of(s, number) : 0;
		bool wrong = false;

		for (uint32_t j = 0; j < payload; j++)
			wrong |= t[i * payload + j] != (j < len ? rig_byte(number, j) : 0);
		bad += wrong;
	}
	return bad;
}

static void look(struct sim *s, struct gw_burst *b)
{
	struct gw_reorder_info info;
	uint32_t holes = 0;

	if (!(b->flags & GW_BURST_REORDERED) || gw_burst_reorder_info(b, &info)) {
		s->strange++;
		return;
	}
	s->wrong += wrong_slots(s, b, &info);
	s->backwards += s->any_window && info.batch_id <= s->last_id;
	s->last_id = info.batch_id;
	s->any_window = true;
	s->h.windows++;
	for (uint32_t i = 0; i < s->h.r.ppb; i++) {
		uint64_t number = info.batch_id * s->h.r.ppb + i;

		holes += !rig_bit(info.valid, i);
		if (!rig_bit(info.valid, i))
			continue;
		if (number < s->start || number >= s->start + s->n || !s->out[number - s->start])
			s->strange++; /* never sent */
		else
			s->strange += s->valid[number - s->start]++; /* delivered twice */
	}
	s->strange += holes != info.n_missing;
	s->strange += (holes != 0) != ((b->flags & GW_BURST_INCOMPLETE) != 0);
}

static void take_some(struct sim *s)
{
	struct gw_burst b;

	while (s->n_held > rng_below(&s->rng, s->hold + 1)) {
		uint32_t i = rng_below(&s->rng, s->n_held);

		gw_burst_release(&s->held[i]);
		s->held[i] = s->held[--s->n_held];
	}
	while (s->n_held < s->hold && gw_rx_burst(s->h.gw, 1, 0, &b) == 1) {
		look(s, &b);
		s->held[s->n_held++] = b;
	}
}

static void release_all(struct sim *s)
{
	while (s->n_held)
		gw_burst_release(&s->held[--s->n_held]);
}

/* ---- one run --------------------------------------------------------------------------------- */

static void draw(struct sim *s, uint64_t seed)
{
	static const uint32_t widths[] = { 4, 12, 16, 32 }, ppbs[] = { 8, 16, 32, 64 }, small[] = { 2, 4, 8 };
	static const uint32_t slots[] = { 70, 128, 200, 512 }, timeouts[] = { 0, 0, 50, 1000 };
	struct rig *r = &s->h.r;

	memset(s, 0, sizeof(*s));
	s->seed = seed;
	s->rng.s = seed * 7919;
	r->seq_bits = widths[seed % 4];
	r->ppb = r->seq_bits == 4 ? rng_pick(&s->rng, small, 3) : rng_pick(&s->rng, ppbs, 4);
	r->payload = 1 + rng_below(&s->rng, 48);
	r->rx_bufs = rng_pick(&s->rng, slots, 4);
	r->tx_bufs = 16 + rng_below(&s->rng, 100);
	r->out_bufs = 3 + rng_below(&s->rng, 4);
	r->rx_hdr = rng_hit(&s->rng, 3000) ? RIG_HDR : 0;
	r->timestamps = rng_hit(&s->rng, 5000);
	r->timeout_us = rng_pick(&s->rng, timeouts, 4);
	r->batch = r->ppb;
	s->limit = r->seq_bits == 32 ? 1u << 20 : 1u << (r->seq_bits - 1);
	s->pause = rng_hit(&s->rng, 6000);
	s->lossy = !s->pause;
	s->n = 400 + rng_below(&s->rng, 1600);
	if (rng_hit(&s->rng, 5000)) /* the number wraps in mid-run */
		s->start = ((uint64_t)1 << r->seq_bits) - (r->seq_bits == 4 ? r->ppb : s->n / 2);
	s->start = s->start / r->ppb * r->ppb;
	/* at 4 bits what the port drops must not be mixed with faults that it cannot count */
	if (!(s->lossy && r->seq_bits == 4)) {
		s->loss = rng_below(&s->rng, 300);
		s->dup = rng_below(&s->rng, 200);
		s->late = rng_below(&s->rng, 100);
		s->swap = rng_below(&s->rng, 400);
	}
	s->stall_consumer = rng_below(&s->rng, 200);
	s->stall_poller = rng_below(&s->rng, 200);
	s->step_ns = 100 + rng_below(&s->rng, 20000);
	s->hold = 1 + rng_below(&s->rng, HOLD_MAX);
	s->last_len = 1 + rng_below(&s->rng, r->payload);
	s->highest = s->start;
	s->next = s->start;
	if (r->seq_bits > 4 && rng_hit(&s->rng, 3000)) { /* spread over queues by hash, merged by number */
		r->rss = true;
		r->n_rxq = 2 + rng_below(&s->rng, 3);
		r->rx_bufs = r->n_rxq * (2 * r->ppb + rng_below(&s->rng, 100));
	}
}

static void turn(struct sim *s)
{
	hand_advance(&s->h, 1 + rng_below(&s->rng, s->step_ns));
	switch (rng_below(&s->rng, 3)) {
	case 0:
		send_some(s, 1 + rng_below(&s->rng, 40));
		break;
	case 1:
		if (s->poller_away && s->poller_away--)
			break;
		if (rng_hit(&s->rng, s->stall_poller))
			s->poller_away = rng_below(&s->rng, 200);
		gw__step(s->h.gw, 1 + (int)rng_below(&s->rng, 300));
		break;
	default:
		if (s->consumer_away && s->consumer_away--)
			break;
		if (rng_hit(&s->rng, s->stall_consumer))
			s->consumer_away = rng_below(&s->rng, 400);
		take_some(s);
	}
}

/* Nobody is away any more: what was stuck must move again. */
static void finish(struct sim *s)
{
	struct gw_burst b;

	s->consumer_away = s->poller_away = 0;
	for (int idle = 0; idle < 4;) {
		int n = gw__step(s->h.gw, 256);

		release_all(s);
		while (gw_rx_burst(s->h.gw, 1, 0, &b) == 1) {
			look(s, &b);
			gw_burst_release(&b);
			n++;
		}
		idle = n > 0 ? 0 : idle + 1;
	}
}

static bool right(struct sim *s)
{
	struct gw_reorder_stats st;
	struct gw_port_stats rx, tx;
	struct gw_diag d = { "" };
	uint64_t lost_places = 0, dropped;
	int bad = t__failed;

	T_EQ(gw_stats_check(s->h.gw, &d), 0);
	T_STR(d.text, "");
	T_EQ(gw_reorder_stats(s->h.gw, "plan", &st), 0);
	T_EQ(gw_port_stats(s->h.gw, 1, &rx), 0);
	T_EQ(gw_port_stats(s->h.gw, 0, &tx), 0);
	dropped = rx.rx_missed;
	T_EQ(tx.tx_packets, s->sent_frames);
	T_EQ(rx.rx_wire_packets, s->sent_frames);
	T_EQ(st.windows, s->h.windows);
	T_EQ(st.open_packets, 0);
	T_EQ(st.bad_packets, 0);
	T_EQ(s->wrong, 0);
	T_EQ(s->backwards, 0);
	T_EQ(s->strange, 0);
	T_OK(!s->pause || dropped == 0);
	/* a number that was sent and is not in a tensor was late, stale or dropped by the port: never just gone */
	for (uint64_t i = 0; i < s->n; i++)
		lost_places += s->out[i] && !s->valid[i];
	T_OK(lost_places <= st.late_packets + st.stale_packets + dropped);
	if (s->pause && !s->late && !s->h.r.timeout_us && !st.late_packets && !st.stale_packets)
		T_EQ(lost_places, 0);
	met.missed += dropped;
	met.wide_drops += dropped > s->limit;
	met.late += st.late_packets;
	met.stale += st.stale_packets;
	met.dup += st.duplicate_packets;
	met.incomplete += st.windows_incomplete;
	met.starved += st.no_free_buffers > 0;
	met.paused += tx.tx_paused > 0;
	met.merged += s->h.r.rss;
	met.windows += st.windows;
	met.packets += s->sent_frames;
	return t__failed == bad;
}

static bool run(uint64_t seed)
{
	static struct sim s;
	bool ok;

	draw(&s, seed);
	hand_open(&s.h, seed % 5 && hand_has("nic") ? "nic" : "null");
	if (s.pause)
		T_EQ(gw_port_set_pause(s.h.gw, 1, true), 0);
	for (uint32_t turns = 0; turns < 200000 && s.next < s.start + s.n; turns++)
		turn(&s);
	T_EQ(s.next, s.start + s.n);
	finish(&s);
	while (s.n_waiting) { /* what the wire still holds */
		s.next++;
		send_waiting(&s);
		finish(&s);
	}
	(void)gw_flush(s.h.gw);
	finish(&s);
	(void)gw_flush(s.h.gw); /* what had no buffer before */
	finish(&s);
	ok = right(&s);
	hand_close(&s.h);
	return ok;
}

/* ---- one gap in a clean stream ------------------------------------------------------------------ */

/* Where the number alone says packet `number` is, if `next` was expected. */
static bool predicted(uint64_t next, uint64_t number, uint32_t bits, uint64_t *seen)
{
	uint64_t space = (uint64_t)1 << bits, step = (number - next) & (space - 1);

	if (step >= space / 2)
		return false; /* seems to come from behind */
	*seen = next + step;
	return true;
}

/* `gap` packets lost by the wire: placed right below the limit, shifted by whole turns of the number above. */
static bool gap_run(uint64_t seed)
{
	static const uint32_t widths[] = { 4, 12, 16 };
	static struct sim s;
	uint64_t gap, seen = 0, at, moved = 0;
	struct gw_reorder_stats st;
	struct gw_burst b;
	struct gw_diag d = { "" };
	bool ahead;
	int bad = t__failed;

	memset(&s, 0, sizeof(s));
	s.rng.s = seed * 104729;
	s.h.r = (struct rig){ .seq_bits = widths[seed % 3], .ppb = 8, .payload = 16, .out_bufs = 4 };
	hand_open(&s.h, seed % 2 && hand_has("nic") ? "nic" : "null");
	T_EQ(gw_port_set_pause(s.h.gw, 1, true), 0);
	s.limit = 1u << (s.h.r.seq_bits - 1);
	at = 64 + rng_below(&s.rng, 64);
	gap = rng_below(&s.rng, s.limit) + (rng_hit(&s.rng, 5000) ? 0 : s.limit * (1 + rng_below(&s.rng, 4)));
	ahead = predicted(at, at + gap, s.h.r.seq_bits, &seen);
	moved = ahead ? at + gap - seen : 0;
	for (uint64_t n = 0; n < at + 64; n++) {
		uint64_t number = n < at ? n : n + gap;
		uint8_t frame[RIG_HDR + 16];

		rig_frame(frame, number, s.h.r.seq_bits, RIG_PORT, 16);
		T_EQ(rig_send_raw(s.h.gw, frame, sizeof(frame)), 1);
		/* the receiver's view of it decides where its bytes must lie */
		gw__step(s.h.gw, 64);
		while (gw_rx_burst(s.h.gw, 1, 0, &b) == 1) {
			struct gw_reorder_info info;

			T_EQ(gw_burst_reorder_info(&b, &info), 0);
			for (uint32_t i = 0; ahead && i < 8; i++) {
				uint64_t slot = info.batch_id * 8 + i, real = slot < at ? slot : slot + moved;

				if (rig_bit(info.valid, i))
					T_EQ(((uint8_t *)b.seg_ptr[0][0])[i * 16], rig_byte(real, 0));
			}
			gw_burst_release(&b);
		}
	}
	T_EQ(gw_reorder_stats(s.h.gw, "plan", &st), 0);
	/* below the limit nothing aliases; at or above it the shift is what was predicted */
	T_EQ(moved == 0 || gap >= s.limit, true);
	if (ahead)
		T_EQ(st.late_packets + st.stale_packets + st.duplicate_packets, 0);
	else
		T_OK(gap >= s.limit && st.late_packets + st.stale_packets + st.duplicate_packets > 0);
	met.gaps++;
	met.aliased += moved != 0 || !ahead;
	(void)gw_flush(s.h.gw);
	hand_settle(&s.h);
	T_EQ(gw_stats_check(s.h.gw, &d), 0);
	hand_close(&s.h);
	return t__failed == bad;
}

int main(int argc, char **argv)
{
	uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 0) : 1, n = argc > 2 ? strtoull(argv[2], NULL, 0) : 2400;
	uint32_t failed = 0;

	for (uint64_t seed = first; seed < first + n && failed < 5; seed++)
		if (!run(seed) || (seed % 4 == 0 && !gap_run(seed / 4))) {
			fprintf(stderr, "seed %" PRIu64 " failed: run sim_reorder %" PRIu64 " 1\n", seed, seed);
			failed++;
		}
	T_EQ(gw__alloc_live(), 0);
	printf("%" PRIu64 " seeds from %" PRIu64 ": packets=%" PRIu64 " windows=%" PRIu64 " incomplete=%" PRIu64
	       " duplicate=%" PRIu64 " late=%" PRIu64 " stale=%" PRIu64 " missed=%" PRIu64 "; runs that ran out of "
	       "buffers=%" PRIu64 ", were held back=%" PRIu64 ", dropped more than the number can say=%" PRIu64
	       ", had a wide gap=%" PRIu64 ", aliased as predicted=%" PRIu64 "\n", n, first, met.packets,
	       met.windows, met.incomplete, met.dup, met.late, met.stale, met.missed, met.starved, met.paused,
	       met.wide_drops, met.gaps, met.aliased);
	if (n >= 2000)
		T_OK(met.incomplete && met.dup && met.late && met.missed && met.starved && met.paused && met.merged &&
		     met.wide_drops && met.gaps && met.aliased);
	T_DONE();
}
