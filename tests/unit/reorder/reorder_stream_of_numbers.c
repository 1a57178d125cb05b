/* The stream of numbers: gaps the port made, both methods, restarts of the sender, half-range limits. */
#include "rig.h"

static uint64_t drain(struct rig *g, uint64_t *last_id)
{
	struct gw__window w;
	uint64_t n = 0;

	while (gw__reorder_pop(g->r, &w)) {
		*last_id = w.info.batch_id;
		gw__reorder_done(g->r, w.buf);
		n++;
	}
	return n;
}

/* A link's gap below half the range is seen as what it is. */
static void widest_gap(void)
{
	struct rig g;
	uint64_t id = 0;

	rig_config(&g, 4, 8);
	g.c.n_out = 128;
	T_RC(rig_create(&g), 0);
	for (uint64_t n = 0; n < 8; n++)
		rig_push(&g, n);
	for (uint64_t n = 8 + 127; n < 8 + 127 + 9; n++) /* 127 lost */
		rig_push(&g, n);
	T_EQ(drain(&g, &id), 5); /* 0, 1, the rest of 33, 34, 35 */
	T_EQ(id, 35);
	T_EQ(rig_stats(&g).missing_packets, 3);
	rig_destroy(&g);
}

/* The port's own loss may be of any width: it is told. */
static void told_gap(void)
{
	struct rig g;
	uint64_t id = 0;

	rig_config(&g, 4, 8);
	g.c.n_out = 128;
	T_RC(rig_create(&g), 0);
	for (uint64_t n = 0; n < 8; n++)
		rig_push(&g, n);
	g.lost = 1000;
	for (uint64_t n = 1008; n < 1016; n++)
		rig_push(&g, n);
	T_EQ(drain(&g, &id), 4);
	T_EQ(id, 253);
	/* told too much (another flow's packets): the next packet sets it right, again and again */
	for (uint64_t n = 1016; n < 1016 + 400; n++) {
		g.lost = 60;
		rig_push(&g, n);
	}
	T_EQ(drain(&g, &id), 100);
	T_EQ(id, 353);
	/* a late packet first: the loss still counts for the next new one */
	g.lost = 100;
	rig_push(&g, 1415);
	T_EQ(rig_stats(&g).late_packets, 1);
	for (uint64_t n = 1416 + 200; n < 1624; n++) /* 100 by the port, 100 more by the link: 200 > 128 */
		rig_push(&g, n);
	T_EQ(drain(&g, &id), 2);
	T_EQ(id, 405);
	rig_destroy(&g);
}

/* The same loss offered twice, because no buffer was free, counts once. */
static void told_gap_blocked(void)
{
	struct rig g;
	struct gw__window w[4];

	rig_config(&g, 4, 8);
	g.c.n_out = 2;
	T_RC(rig_create(&g), 0);
	for (uint64_t n = 0; n < 8; n++)
		rig_push(&g, n);
	T_OK(gw__reorder_pop(g.r, &w[0]) && gw__reorder_pop(g.r, &w[1]));
	g.lost = 600;
	for (int k = 0; k < 5; k++)
		T_EQ(rig_push(&g, 608), 0);
	T_EQ(rig_stats(&g).no_free_buffers, 5);
	gw__reorder_done(g.r, w[0].buf);
	T_EQ(rig_push(&g, 608), 1);
	for (uint64_t n = 609; n < 612; n++)
		T_EQ(rig_push(&g, n), 1);
	T_NEED(gw__reorder_pop(g.r, &w[2]));
	T_EQ(w[2].info.batch_id, 152);
	T_EQ(w[2].info.n_missing, 0);
	rig_destroy(&g);
}

/* seq_batch_number: the window comes from its own field; the number may count within it or through. */
static void batch_field(bool through)
{
	struct rig g;
	struct gw__window w;
	uint64_t id = 0;

	rig_config(&g, 16, 8);
	g.c.batch_bits = 4;
	T_RC(rig_create(&g), 0);
	for (uint64_t n = 0; n < 16 * 40 + 1; n++) {
		uint32_t slot = 0, len = 24, batch = (uint32_t)(n / 16) & 15;
		uint32_t seq = (uint32_t)(through ? n & 255 : n % 16);
		const struct gw__reorder_in in = { .slot = &slot, .seq = &seq, .batch = &batch,
						   .payload_len = &len };

		for (uint32_t k = 0; k < 24; k++)
			g.src[k] = rig_byte(n, k);
		if (n == 16 * 40) {
			gw__reorder_flush(g.r);
		} else if (n % 100 != 37) {
			T_EQ(gw__reorder_push(g.r, &in, 0, 1), 1);
			T_EQ(gw__reorder_freed(g.r, &slot, 1), 1);
			g.n_pushed++;
		}
		while (gw__reorder_pop(g.r, &w)) {
			T_EQ(w.info.batch_id, id);
			for (uint32_t i = 0; i < 16; i++)
				if (gw__bit_test(w.info.valid, i))
					rig_check_copy(&g, &w, i, 16 * id + i);
			id++;
			gw__reorder_done(g.r, w.buf);
		}
	}
	T_EQ(id, 40);
	T_EQ(rig_stats(&g).windows_incomplete, 7);
	rig_destroy(&g);
}

/* A sender that begins again is taken up after three windows of late packets and 64 more; its windows get new numbers. */
static void restart(void)
{
	struct rig g;
	struct gw__window w;
	uint64_t id = 0, n_windows;
	struct gw_reorder_stats s;

	rig_config(&g, 128, 32);
	g.c.n_out = 128;
	T_RC(rig_create(&g), 0);
	for (uint64_t n = 0; n < 128 * 10 + 5; n++)
		rig_push(&g, n);
	T_EQ(drain(&g, &id), 10);
	T_EQ(id, 9);
	for (uint64_t n = 0; n < 128 * 8; n++) {
		rig_push(&g, n);
		while (gw__reorder_pop(g.r, &w)) {
			T_OK(w.info.batch_id > id);
			id = w.info.batch_id;
			if (w.flags == GW_BURST_REORDERED)
				rig_check_copy(&g, &w, 77, id % (1u << 25) * 128 + 77);
			gw__reorder_done(g.r, w.buf);
		}
	}
	s = rig_stats(&g);
	n_windows = s.windows;
	T_EQ(s.late_packets, 3 * 128 + 63);
	T_EQ(n_windows, 10 + 1 + 5); /* the one left open, one joined in its middle, four whole ones */
	T_EQ(s.windows_incomplete, 2);
	rig_destroy(&g);

	/* duplicates, however many, are no restart; nor is a late run with good packets between */
	rig_config(&g, 64, 32);
	g.c.n_out = 128;
	T_RC(rig_create(&g), 0);
	for (uint64_t n = 0; n < 64 * 3 - 1; n++)
		rig_push(&g, n);
	for (int lap = 0; lap < 5; lap++)
		for (uint64_t n = 128; n < 191; n++)
			rig_push(&g, n);
	for (uint64_t n = 0; n < 60; n++)
		rig_push(&g, n); /* late */
	rig_push(&g, 191);
	for (uint64_t n = 0; n < 60; n++)
		rig_push(&g, n);
	s = rig_stats(&g);
	T_EQ(s.duplicate_packets, 5 * 63);
	T_EQ(s.late_packets, 120);
	T_EQ(s.windows, 3);
	rig_destroy(&g);
}

/* One stream spread over four queues, drained in bursts, the queues up to one window apart: nothing is lost. */
static void spread_over_queues(void)
{
	enum { N = 64 * 200 };
	uint64_t at[4] = { 0 }, x = 5, id = 0, n_windows = 0;
	struct rig g;

	rig_config(&g, 64, 16);
	T_RC(rig_create(&g), 0);
	for (uint64_t low = 0; low < N / 4;) {
		uint64_t *q, burst;

		x = x * 6364136223846793005ull + 1442695040888963407ull;
		q = &at[x >> 62];
		low = at[0];
		for (int i = 1; i < 4; i++)
			low = at[i] < low ? at[i] : low;
		for (burst = 1 + (x >> 40) % 24; burst && *q < N / 4 && *q < low + 16; burst--)
			T_EQ(rig_push(&g, 4 * (*q)++ + (uint64_t)(q - at)), 1);
		n_windows += drain(&g, &id);
	}
	T_EQ(n_windows, N / 64);
	T_EQ(id, N / 64 - 1);
	T_EQ(rig_stats(&g).missing_packets, 0);
	T_EQ(rig_stats(&g).placed_packets, N);
	rig_destroy(&g);
}

/* Bits above the number's width do not matter. */
static void high_bits(void)
{
	struct rig g;
	uint64_t id = 0;

	rig_config(&g, 4, 12);
	g.c.n_out = 128;
	T_RC(rig_create(&g), 0);
	for (uint64_t n = 0; n < 40; n++)
		T_EQ(rig_push(&g, n | (n & 1 ? 0xfffff000u : 0x5000u)), 1);
	T_EQ(drain(&g, &id), 10);
	T_EQ(id, 0x5000 % 4096 / 4 + 9);
	rig_destroy(&g);
}

int main(void)
{
	widest_gap();
	told_gap();
	told_gap_blocked();
	batch_field(false);
	batch_field(true);
	restart();
	spread_over_queues();
	high_bits();
	T_DONE();
}
