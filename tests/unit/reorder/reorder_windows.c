/* Windows by number: order, swaps, holes, duplicates, late and stale ones, when each window is handed over
 * and with which flags; the bytes of each place. */
#include "rig.h"

#define TIMEOUT (GW_BURST_REORDER_TIMEOUT | GW_BURST_INCOMPLETE)

static void in_order(void)
{
	struct rig g;
	struct gw__window w;

	rig_config(&g, 8, 12);
	T_RC(rig_create(&g), 0);
	for (uint64_t n = 0; n < 8 * 600; n++) { /* wraps at 4,096 */
		T_EQ(rig_push(&g, n), 1);
		if (n % 8 < 7) {
			T_OK(!gw__reorder_pop(g.r, &w));
			continue;
		}
		T_NEED(gw__reorder_pop(g.r, &w));
		T_OK(!gw__reorder_pop(g.r, &w));
		T_EQ(w.info.batch_id, n / 8);
		T_EQ(w.flags, GW_BURST_REORDERED);
		T_EQ(w.info.burst_flags, w.flags);
		T_EQ(w.info.source_packet_count, 8);
		T_EQ(w.info.n_missing, 0);
		T_EQ(w.info.payload_len, 24);
		T_EQ(w.info.aggregate_len, 8 * 24);
		T_EQ(w.len, 8 * 24);
		T_EQ(w.info.n_groups, 1);
		T_EQ(w.info.n_groups_valid, 1);
		T_EQ(w.info.valid[0], 0xff);
		T_EQ(gw_event_query(w.event), 1);
		for (uint32_t i = 0; i < 8; i++)
			rig_check_copy(&g, &w, i, n - 7 + i);
		gw__reorder_done(g.r, w.buf);
	}
	T_EQ(g.n_free, RIG_SLOTS);
	T_EQ(rig_stats(&g).windows, 600);
	rig_destroy(&g);
}

/* Arrival order decides nothing; a second copy never overwrites the first. */
static void any_order(void)
{
	static const uint32_t order[] = { 3, 1, 0, 2, 9, 8, 7, 6, 3, 4, 5, 9, 15, 10, 11, 12, 13, 14 };
	struct rig g;
	struct gw__window w;

	rig_config(&g, 8, 16);
	T_RC(rig_create(&g), 0);
	for (size_t k = 0; k < sizeof(order) / sizeof(*order); k++)
		T_EQ(rig_push(&g, order[k] + 8 * 5), 1);
	for (uint32_t b = 0; b < 2; b++) {
		T_NEED(gw__reorder_pop(g.r, &w));
		T_EQ(w.info.batch_id, 5 + b);
		T_EQ(w.flags, GW_BURST_REORDERED);
		for (uint32_t i = 0; i < 8; i++)
			rig_check_copy(&g, &w, i, 40 + 8 * b + i);
	}
	T_EQ(rig_stats(&g).duplicate_packets, 2);
	rig_destroy(&g);
}

/* 2^w = packets_per_batch, the tightest number there is: consecutive windows all the same. */
static void tight(void)
{
	struct rig g;
	struct gw__window w;

	rig_config(&g, 16, 4);
	g.c.packets_per_group = 4;
	T_RC(rig_create(&g), 0);
	for (uint64_t n = 0; n < 16 * 50; n++) {
		bool lost = n % 16 == 5 && n / 16 == 7; /* one packet of window 7 */

		if (!lost)
			T_EQ(rig_push(&g, n), 1);
		while (gw__reorder_pop(g.r, &w)) {
			bool hit = w.info.batch_id == 7;

			T_EQ(w.flags, GW_BURST_REORDERED | (hit ? TIMEOUT : 0));
			T_EQ(w.info.n_missing, hit);
			T_EQ(w.info.valid[0], hit ? 0xffdf : 0xffff);
			T_EQ(w.info.n_groups, 4);
			T_EQ(w.info.n_groups_valid, hit ? 3 : 4);
			T_EQ(w.info.group_valid[0], hit ? 0xd : 0xf);
			for (uint32_t i = 0; i < 16; i++)
				if (gw__bit_test(w.info.valid, i))
					rig_check_copy(&g, &w, i, 16 * w.info.batch_id + i);
			gw__reorder_done(g.r, w.buf);
		}
	}
	T_EQ(rig_stats(&g).windows, 50);
	T_EQ(rig_stats(&g).windows_incomplete, 1);
	T_EQ(rig_stats(&g).missing_packets, 1);
	rig_destroy(&g);
}

/* Late: its window is gone. Stale: from before the stream began, or exactly half the range away. */
static void late_and_stale(void)
{
	struct rig g;
	struct gw__window w;

	rig_config(&g, 4, 8);
	T_RC(rig_create(&g), 0);
	for (uint64_t n = 100; n < 108; n++)
		rig_push(&g, n);
	T_OK(gw__reorder_pop(g.r, &w) && gw__reorder_pop(g.r, &w));
	rig_push(&g, 104); /* late */
	rig_push(&g, 99);  /* before the first */
	rig_push(&g, 108 + 128);
	T_EQ(rig_stats(&g).late_packets, 1);
	T_EQ(rig_stats(&g).stale_packets, 2);
	rig_push_len(&g, 109, 0);
	T_EQ(rig_stats(&g).bad_packets, 1);
	T_EQ(g.n_free, RIG_SLOTS); /* all of them came back at once */
	rig_destroy(&g);
}

/* Superseded by the packet that needs its place; by a later window that is full; flushed. */
static void closing(void)
{
	struct rig g;
	struct gw__window w;

	rig_config(&g, 4, 12);
	g.c.max_open = 3;
	T_RC(rig_create(&g), 0);
	rig_push(&g, 0);
	rig_push(&g, 4);
	rig_push(&g, 8);
	T_OK(!gw__reorder_pop(g.r, &w));
	rig_push(&g, 12); /* a fourth window */
	T_NEED(gw__reorder_pop(g.r, &w));
	T_EQ(w.info.batch_id, 0);
	T_EQ(w.flags, GW_BURST_REORDERED | TIMEOUT);
	T_EQ(w.info.n_missing, 3);
	T_OK(!gw__reorder_pop(g.r, &w));
	rig_push(&g, 9);
	rig_push(&g, 10);
	rig_push(&g, 11); /* window 2 is full: window 1 goes first */
	T_NEED(gw__reorder_pop(g.r, &w));
	T_EQ(w.info.batch_id, 1);
	T_EQ(w.flags, GW_BURST_REORDERED | TIMEOUT);
	T_NEED(gw__reorder_pop(g.r, &w));
	T_EQ(w.info.batch_id, 2);
	T_EQ(w.flags, GW_BURST_REORDERED);
	T_EQ(rig_stats(&g).open_packets, 1);
	T_EQ(gw__reorder_flush(g.r), 1);
	T_EQ(gw__reorder_flush(g.r), 0);
	T_NEED(gw__reorder_pop(g.r, &w));
	T_EQ(w.info.batch_id, 3);
	T_EQ(w.flags, GW_BURST_REORDERED | TIMEOUT);
	T_EQ(rig_stats(&g).open_packets, 0);
	rig_collect(&g);
	T_EQ(g.n_free, RIG_SLOTS);
	rig_destroy(&g);
}

/* The deadline runs from the arrival of a window's first packet, and only tick() judges it. */
static void deadline(void)
{
	struct rig g;
	struct gw__window w;

	rig_config(&g, 4, 12);
	g.c.timeout_ns = 1000;
	T_RC(rig_create(&g), 0);
	T_EQ(gw__reorder_deadline(g.r), UINT64_MAX);
	g.now_ns = 5000;
	rig_push(&g, 1);
	g.now_ns = 5900;
	rig_push(&g, 2);
	rig_push(&g, 5);
	T_EQ(gw__reorder_deadline(g.r), 6000);
	T_EQ(gw__reorder_tick(g.r, 5999), 0);
	T_EQ(gw__reorder_tick(g.r, 6000), 1);
	T_NEED(gw__reorder_pop(g.r, &w));
	T_EQ(w.info.first_ts_ns, 5000);
	T_EQ(w.info.valid[0], 6);
	T_EQ(w.flags, GW_BURST_REORDERED | TIMEOUT);
	T_EQ(gw__reorder_deadline(g.r), 6900);
	rig_push(&g, 3);
	T_EQ(rig_stats(&g).late_packets, 1);
	rig_destroy(&g);

	/* 0 = none: a window with a hole waits for ever */
	rig_config(&g, 4, 12);
	T_RC(rig_create(&g), 0);
	rig_push(&g, 1);
	T_EQ(gw__reorder_deadline(g.r), UINT64_MAX);
	T_EQ(gw__reorder_tick(g.r, UINT64_MAX), 0);
	rig_destroy(&g);
}

int main(void)
{
	in_order();
	any_order();
	tight();
	late_and_stale();
	closing();
	deadline();
	T_DONE();
}
