/* One seed, one run of raw bursts: several queues, splits, odd pools, a consumer that keeps, releases in any order
 * and packet by packet. What a burst shows stays as it is until its release; nothing is lost but what the port
 * counts; nothing gets stuck. usage: sim_raw [first seed] [seeds] */
#include "rig_step.h"
#include "rng.h"

#define HOLD 12u
#define MAX_Q 3u

struct sim {
	struct hand h;
	struct rng rng;
	bool pause;
	uint32_t n, next[MAX_Q];      /* numbers sent, by queue */
	uint32_t seen[MAX_Q];         /* next number that may come, by queue */
	uint32_t got[MAX_Q];
	struct {
		struct gw_burst b;
		uint32_t first[64]; /* number of packet i when it was taken */
		bool gone[64];
	} held[HOLD];
	uint32_t n_held, max_hold, wrong, refused;
	uint32_t away;
};

static struct {
	uint64_t packets, missed, held_back, no_burst, early, bursts, partial;
} met;

/* Packet i of a held burst must still be what it was. */
static uint32_t differs(struct sim *s, uint32_t k, uint32_t i)
{
	struct gw_burst *b = &s->held[k].b;
	uint8_t frame[RIG_HDR + 256];

	rig_frame(frame, s->held[k].first[i], 16, (uint16_t)(RIG_PORT + b->queue), s->h.r.payload);
	return rig_diff(b, i, frame, RIG_HDR + s->h.r.payload) != 0;
}

static void take(struct sim *s, uint16_t q)
{
	while (s->n_held < s->max_hold && gw_rx_burst(s->h.gw, 1, q, &s->held[s->n_held].b) == 1) {
		const struct gw_burst *b = &s->held[s->n_held].b;

		met.bursts++;
		met.partial += b->n_pkts < s->h.r.batch;
		for (uint32_t i = 0; i < b->n_pkts; i++) {
			uint32_t number = rig_seq(b, i, 16);

			s->wrong += number < s->seen[q] || b->flow[i] != 200u + q;
			s->seen[q] = number + 1;
			s->held[s->n_held].first[i] = number;
			s->held[s->n_held].gone[i] = false;
		}
		s->got[q] += b->n_pkts;
		s->n_held++;
	}
}

static void release(struct sim *s, uint32_t k)
{
	struct gw_burst *b = &s->held[k].b;

	for (uint32_t i = 0; i < b->n_pkts; i++)
		s->wrong += !s->held[k].gone[i] && differs(s, k, i);
	gw_burst_release(b);
	s->held[k] = s->held[--s->n_held];
}

/* Give single packets of a held burst back early. */
static void release_some(struct sim *s, uint32_t k)
{
	struct gw_burst *b = &s->held[k].b;

	for (uint32_t i = 0; i < b->n_pkts; i++) {
		int want = s->held[k].gone[i] ? -EALREADY : 0;

		if (!rng_hit(&s->rng, 4000))
			continue;
		s->wrong += !want && differs(s, k, i);
		s->refused += gw_burst_release_pkt(b, i) != want;
		s->held[k].gone[i] = true;
		met.early++;
	}
}

static void send_some(struct sim *s)
{
	for (uint32_t n = 1 + rng_below(&s->rng, 60); n; n--) {
		uint32_t q = rng_below(&s->rng, s->h.r.n_rxq);

		if (s->next[q] == s->n)
			continue;
		if (rig_send(s->h.gw, &s->h.r, s->next[q], (uint16_t)(RIG_PORT + q)) != 1)
			return;
		s->next[q]++;
	}
}

static void draw(struct sim *s, uint64_t seed)
{
	static const uint32_t slots[] = { 3, 16, 64, 100, 257 }, timeouts[] = { 0, 20, 500 };
	struct rig *r = &s->h.r;

	memset(s, 0, sizeof(*s));
	s->rng.s = seed * 15485863;
	r->n_rxq = 1 + rng_below(&s->rng, MAX_Q);
	r->rx_bufs = r->n_rxq * rng_pick(&s->rng, slots, 5);
	r->tx_bufs = 1 + rng_below(&s->rng, 80);
	r->rx_hdr = rng_hit(&s->rng, 4000) ? 50 + rng_below(&s->rng, 40) : 0;
	r->tx_hdr = rng_hit(&s->rng, 4000) ? 14 + rng_below(&s->rng, 100) : 0;
	r->rx_size = 256;
	r->payload = 1 + rng_below(&s->rng, 100);
	r->batch = 1 + rng_below(&s->rng, 40);
	r->meta = 1 + rng_below(&s->rng, 10);
	r->timeout_us = rng_pick(&s->rng, timeouts, 3);
	r->timestamps = rng_hit(&s->rng, 5000);
	r->cpu_core = rng_hit(&s->rng, 5000) ? -1 : 0;
	s->pause = rng_hit(&s->rng, 5000);
	s->n = 100 + rng_below(&s->rng, 500);
	s->max_hold = 1 + rng_below(&s->rng, HOLD);
}

static void turn(struct sim *s)
{
	hand_advance(&s->h, 1 + rng_below(&s->rng, 5000));
	switch (rng_below(&s->rng, 4)) {
	case 0:
		send_some(s);
		break;
	case 1:
		if (rng_hit(&s->rng, 9500))
			gw__step(s->h.gw, 1 + (int)rng_below(&s->rng, 100));
		break;
	case 2:
		if (s->away && s->away--)
			break;
		if (rng_hit(&s->rng, 200))
			s->away = rng_below(&s->rng, 100);
		take(s, (uint16_t)rng_below(&s->rng, s->h.r.n_rxq));
		break;
	default:
		if (s->n_held && rng_hit(&s->rng, 3000))
			release_some(s, rng_below(&s->rng, s->n_held));
		if (s->n_held && rng_hit(&s->rng, 8000))
			release(s, rng_below(&s->rng, s->n_held));
	}
}

static bool all_sent(const struct sim *s)
{
	for (uint32_t q = 0; q < s->h.r.n_rxq; q++)
		if (s->next[q] < s->n)
			return false;
	return true;
}

/* Everybody works until nothing moves; flush what waits for company. */
static void finish(struct sim *s)
{
	for (int idle = 0; idle < 4;) {
		int n = gw__step(s->h.gw, 64);

		while (s->n_held)
			release(s, s->n_held - 1);
		for (uint16_t q = 0; q < s->h.r.n_rxq; q++)
			take(s, q);
		n += (int)s->n_held;
		if (!n)
			(void)gw_flush(s->h.gw);
		idle = n ? 0 : idle + 1;
	}
}

static bool run(uint64_t seed)
{
	static struct sim s;
	struct gw_port_stats rx;
	struct gw_queue_stats qs;
	struct gw_diag d = { "" };
	uint64_t got = 0, sent = 0;
	int bad = t__failed;

	draw(&s, seed);
	hand_open(&s.h, seed % 4 && hand_has("nic") ? "nic" : "null");
	if (s.pause)
		T_EQ(gw_port_set_pause(s.h.gw, 1, true), 0);
	for (uint32_t i = 0; i < 100000 && !all_sent(&s); i++)
		turn(&s);
	T_OK(all_sent(&s));
	finish(&s);
	for (uint16_t q = 0; q < s.h.r.n_rxq; q++) {
		got += s.got[q];
		sent += s.next[q];
		T_EQ(gw_rxq_stats(s.h.gw, 1, q, &qs), 0);
		T_EQ(qs.in_flight, 0);
		T_EQ(qs.delivered_packets, s.got[q]);
		met.no_burst += qs.no_free_bursts > 0;
	}
	T_EQ(gw_port_stats(s.h.gw, 1, &rx), 0);
	T_EQ(got + rx.rx_missed, sent);
	T_OK(!s.pause || !rx.rx_missed);
	T_EQ(s.wrong, 0);
	T_EQ(s.refused, 0);
	T_EQ(gw_stats_check(s.h.gw, &d), 0);
	met.packets += got;
	met.missed += rx.rx_missed;
	T_EQ(gw_port_stats(s.h.gw, 0, &rx), 0);
	met.held_back += rx.tx_paused > 0;
	hand_close(&s.h);
	return t__failed == bad;
}

int main(int argc, char **argv)
{
	uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 0) : 1, n = argc > 2 ? strtoull(argv[2], NULL, 0) : 1000;
	uint32_t failed = 0;

	for (uint64_t seed = first; seed < first + n && failed < 5; seed++)
		if (!run(seed)) {
			fprintf(stderr, "seed %" PRIu64 " failed: run sim_raw %" PRIu64 " 1\n", seed, seed);
			failed++;
		}
	T_EQ(gw__alloc_live(), 0);
	printf("%" PRIu64 " seeds from %" PRIu64 ": packets=%" PRIu64 " bursts=%" PRIu64 " partial=%" PRIu64 " missed=%" PRIu64
	       " released early=%" PRIu64 "; runs held back=%" PRIu64 ", queues that ran out of bursts=%" PRIu64 "\n", n,
	       first, met.packets, met.bursts, met.partial, met.missed, met.early, met.held_back, met.no_burst);
	if (n >= 1000)
		T_OK(met.missed && met.early && met.held_back && met.no_burst && met.partial);
	T_DONE();
}
