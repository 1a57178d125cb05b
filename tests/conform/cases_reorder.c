/* Reordering through the whole receive path: order, holes, duplicates, late, types, flush, exhaustion. */
#include "bed.h"

#define PPB 16u

/* Take one window, check its bytes; returns its info. The burst is released. */
static struct gw_reorder_info window(struct bed *b)
{
	struct gw_reorder_info info = { 0 };
	struct gw_burst burst;

	T_RC(bed_take(b, 0, SOON, &burst), 1);
	T_EQ(burst.n_pkts, 1);
	T_NEED(burst.flags & GW_BURST_REORDERED);
	T_OK(burst.event == NULL || gw_event_sync(burst.event) == 0);
	T_RC(gw_burst_reorder_info(&burst, &info), 0);
	if (!b->r.out_type)
		T_EQ(rig_tensor_bad(&b->r, &burst, &info), 0);
	T_EQ(info.source_packet_count + info.n_missing, b->r.ppb);
	T_EQ(info.aggregate_len, burst.seg_len[0][0]);
	T_RC(gw_burst_release_pkt(&burst, 0), -EINVAL);
	gw_burst_release(&burst);
	return info;
}

static void send_order(struct bed *b, const uint32_t *numbers, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		T_EQ(bed_send(b, numbers[i], 1, RIG_PORT), 1);
}

static void shuffled(const char *engine)
{
	struct bed b = { .r = { .ppb = PPB } };

	bed_open(&b, engine);
	for (uint32_t w = 0; w < 20; w++) {
		struct gw_reorder_info info;

		for (uint32_t i = 0; i < PPB; i++)
			T_EQ(bed_send(&b, w * PPB + (i * 7 + 3) % PPB, 1, RIG_PORT), 1);
		info = window(&b);
		T_EQ(info.batch_id, w);
		T_EQ(info.n_missing, 0);
		T_EQ(info.burst_flags & (GW_BURST_INCOMPLETE | GW_BURST_REORDER_TIMEOUT), 0);
	}
	T_EQ(bed_plan(&b).windows, 20);
	bed_close(&b);
}

static void wraps(const char *engine)
{
	struct bed b = { .r = { .ppb = PPB, .seq_bits = 6 } };

	bed_open(&b, engine);
	for (uint32_t w = 0; w < 40; w++) {
		T_EQ(bed_send(&b, w * PPB, PPB, RIG_PORT), PPB);
		T_EQ(window(&b).batch_id, w);
	}
	bed_close(&b);
}

static void hole(const char *engine)
{
	struct bed b = { .r = { .ppb = PPB } };
	struct gw_reorder_info info;

	bed_open(&b, engine);
	for (uint32_t i = 0; i < 3 * PPB; i++)
		if (i != 5)
			T_EQ(bed_send(&b, i, 1, RIG_PORT), 1);
	info = window(&b);
	T_EQ(info.n_missing, 1);
	T_EQ(info.burst_flags & GW_BURST_INCOMPLETE, GW_BURST_INCOMPLETE);
	T_EQ(window(&b).n_missing, 0);
	T_EQ(window(&b).n_missing, 0);
	T_EQ(bed_plan(&b).missing_packets, 1);
	bed_close(&b);
}

static void duplicates_and_late(const char *engine)
{
	static const uint32_t first[] = { 0, 1, 1, 2, 3, 0, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
	static const uint32_t late[] = { 3, 16, 4 };
	struct bed b = { .r = { .ppb = PPB } };
	struct gw_reorder_stats s;

	bed_open(&b, engine);
	send_order(&b, first, 18);
	T_EQ(window(&b).n_missing, 0);
	send_order(&b, late, 3);
	T_RC(gw_tx_drain(b.gw, 0, 0, SOON), 0);
	T_RC(gw_flush(b.gw), 1);
	T_EQ(window(&b).source_packet_count, 1);
	s = bed_plan(&b);
	T_EQ(s.duplicate_packets, 2);
	T_EQ(s.late_packets, 2);
	T_EQ(s.placed_packets, 17);
	bed_close(&b);
}

static void flushed(const char *engine)
{
	struct bed b = { .r = { .ppb = PPB } };
	struct gw_reorder_info info;

	bed_open(&b, engine);
	T_RC(gw_flush(b.gw), 0);
	T_EQ(bed_send(&b, 0, PPB - 1, RIG_PORT), PPB - 1);
	T_RC(gw_tx_drain(b.gw, 0, 0, SOON), 0);
	T_RC(gw_flush(b.gw), 1);
	info = window(&b);
	T_EQ(info.n_missing, 1);
	T_EQ(info.burst_flags & GW_BURST_REORDER_TIMEOUT, GW_BURST_REORDER_TIMEOUT);
	T_RC(gw_flush(b.gw), 0);
	bed_close(&b);
}

static void deadline(const char *engine)
{
	struct bed b = { .r = { .ppb = PPB, .batch = PPB, .timeout_us = 50000 } };

	bed_open(&b, engine);
	T_EQ(bed_send(&b, 0, 3, RIG_PORT), 3);
	T_EQ(window(&b).source_packet_count, 3);
	bed_close(&b);
}

/* Shorter payload: the slot's tail is defined. A frame that ends before the number is bad. */
static void short_packets(const char *engine)
{
	struct bed b = { .r = { .ppb = 2, .payload = 100 } };
	struct gw_burst burst;
	uint8_t frame[RIG_HDR + 100];
	const uint8_t *t;
	uint32_t wrong = 0;

	bed_open(&b, engine);
	T_EQ(bed_send(&b, 0, 1, RIG_PORT), 1);
	rig_frame(frame, 1, 16, RIG_PORT, 40);
	T_RC(rig_send_raw(b.gw, frame, 43), 1);
	T_RC(rig_send_raw(b.gw, frame, RIG_HDR + 40), 1);
	T_RC(bed_take(&b, 0, SOON, &burst), 1);
	t = burst.seg_ptr[0][0];
	for (uint32_t j = 0; j < 100; j++)
		wrong += t[100 + j] != (j < 40 ? rig_byte(1, j) : 0);
	T_EQ(wrong, 0);
	gw_burst_release(&burst);
	T_EQ(bed_plan(&b).bad_packets, 1);
	bed_close(&b);
}

/* int8 to fp16: every element is a small whole number, exact in both. */
static void converts(const char *engine)
{
	struct bed b = { .r = { .ppb = 4, .payload = 96, .out_type = "fp16" } };
	struct gw_burst burst;
	uint16_t half[4 * 96];
	uint32_t wrong = 0;

	bed_open(&b, engine);
	T_EQ(bed_send(&b, 0, 4, RIG_PORT), 4);
	T_RC(bed_take(&b, 0, SOON, &burst), 1);
	T_OK(burst.event == NULL || gw_event_sync(burst.event) == 0);
	T_EQ(burst.seg_len[0][0], sizeof(half));
	T_RC(gw_mem_copy(half, burst.seg_ptr[0][0], sizeof(half)), 0);
	for (uint32_t i = 0; i < 4 * 96; i++) {
		int want = (int8_t)rig_byte(i / 96, i % 96), e = (half[i] >> 10 & 31) - 15;
		double v = e < -14 ? 0 : (1.0 + (half[i] & 1023) / 1024.0) * (e >= 0 ? 1 << e : 0);

		wrong += (half[i] & 0x8000 ? -v : v) != want;
	}
	T_EQ(wrong, 0);
	gw_burst_release(&burst);
	bed_close(&b);
}

static void split_and_reorder(const char *engine)
{
	struct bed b = { .r = { .ppb = PPB, .rx_hdr = RIG_HDR, .payload = 200 } };

	bed_open(&b, engine);
	for (uint32_t w = 0; w < 5; w++) {
		for (uint32_t i = PPB; i-- > 0;)
			T_EQ(bed_send(&b, w * PPB + i, 1, RIG_PORT), 1);
		T_EQ(window(&b).n_missing, 0);
	}
	bed_close(&b);
}

/* The payload in memory of the device, the header where the CPU reads the number. */
static void split_to_device(const char *engine)
{
	struct bed b = { .r = { .ppb = PPB, .rx_hdr = RIG_HDR, .payload = 200, .payload_kind = "device",
				.out_type = "fp16" } };

	bed_open(&b, engine);
	T_EQ(bed_send(&b, 0, PPB, RIG_PORT), PPB);
	T_EQ(window(&b).n_missing, 0);
	bed_close(&b);
}

static void other_flows_pass(const char *engine)
{
	struct bed b = { .r = { .ppb = PPB, .batch = PPB } };
	struct gw_reorder_info none;
	struct gw_burst burst;

	bed_open(&b, engine);
	for (uint32_t i = 0; i < PPB - 1; i++) {
		T_EQ(bed_send(&b, i, 1, RIG_PORT), 1);
		T_EQ(bed_send(&b, 77 + i, 1, RIG_PORT + 50), 1);
	}
	T_EQ(bed_send(&b, 99, 1, RIG_PORT + 50), 1);
	T_RC(bed_take(&b, 0, SOON, &burst), 1);
	T_EQ(burst.flags, 0);
	T_EQ(burst.n_pkts, PPB);
	T_EQ(burst.flow[0], 0);
	T_EQ(rig_seq(&burst, 0, 16), 77);
	T_EQ(rig_seq(&burst, PPB - 1, 16), 99);
	T_RC(gw_burst_reorder_info(&burst, &none), -EINVAL);
	gw_burst_release(&burst);
	T_EQ(bed_send(&b, PPB - 1, 1, RIG_PORT), 1);
	T_EQ(window(&b).n_missing, 0);
	bed_close(&b);
}

/* A consumer that keeps its tensors: -ENOBUFS, drops counted at the port, recovery on release. */
static void leak(const char *engine)
{
	struct bed b = { .r = { .ppb = PPB, .rx_bufs = 64, .out_bufs = 3 } };
	struct gw_burst held[3], one;
	uint64_t missed;
	int r;

	bed_open(&b, engine);
	for (uint32_t i = 0; i < 3; i++) {
		T_EQ(bed_send(&b, i * PPB, PPB, RIG_PORT), PPB);
		T_RC(bed_take(&b, 0, SOON, &held[i]), 1);
	}
	T_EQ(bed_send(&b, 3 * PPB, 20 * PPB, RIG_PORT), 20 * PPB);
	T_RC(gw_tx_drain(b.gw, 0, 0, SOON), 0);
	do
		r = bed_take(&b, 0, NEVER, &one);
	while (r == 0);
	T_RC(r, -ENOBUFS);
	T_OK(bed_plan(&b).no_free_buffers >= 1);
	missed = bed_port(&b, 1).rx_missed;
	T_OK(missed >= 20 * PPB - 64 - 64);
	for (uint32_t i = 0; i < 3; i++)
		gw_burst_release(&held[i]);
	for (uint32_t w = 23; w < 200 && bed_plan(&b).windows < 10; w++) {
		T_EQ(bed_send(&b, w * PPB, PPB, RIG_PORT), PPB);
		if (bed_take(&b, 0, NEVER, &one) == 1) {
			struct gw_reorder_info info;

			T_RC(gw_burst_reorder_info(&one, &info), 0);
			T_EQ(rig_tensor_bad(&b.r, &one, &info), 0);
			gw_burst_release(&one);
		}
	}
	T_OK(bed_plan(&b).windows >= 10);
	bed_close(&b);
}

static void drop_incomplete(const char *engine)
{
	struct bed b = { .r = { .ppb = PPB, .missing = "drop" } };

	bed_open(&b, engine);
	for (uint32_t i = 0; i < 3 * PPB; i++)
		if (i != 5)
			T_EQ(bed_send(&b, i, 1, RIG_PORT), 1);
	T_EQ(window(&b).batch_id, 1);
	T_EQ(window(&b).batch_id, 2);
	T_EQ(bed_plan(&b).dropped_windows, 1);
	bed_close(&b);
}

static void streams(const char *engine)
{
	struct bed b = { .r = { .ppb = PPB } };
	struct gw_stream *s = NULL;

	T_NEED(!gw_stream_create(&s, NULL));
	bed_open_only(&b, engine);
	T_RC(gw_reorder_set_stream(b.gw, "rx_port", "nobody", s), -ENOENT);
	T_RC(gw_reorder_set_stream(b.gw, "nobody", "plan", s), -ENOENT);
	T_RC(gw_reorder_set_stream(b.gw, "rx_port", "plan", s), 0);
	T_RC(gw_reorder_set_stream(b.gw, "rx_port", "plan", s), -EBUSY);
	T_RC(gw_start(b.gw, NULL), 0);
	T_RC(gw_reorder_set_stream(b.gw, "rx_port", "plan", s), -EBUSY);
	T_EQ(bed_send(&b, 0, PPB, RIG_PORT), PPB);
	T_EQ(window(&b).n_missing, 0);
	bed_close(&b);
	gw_stream_destroy(s);
}

static void many_windows(const char *engine)
{
	struct bed b = { .r = { .ppb = 32, .payload = 32, .rx_bufs = 256, .out_bufs = 6 } };
	uint32_t sent = 0, w = 0;

	bed_open(&b, engine);
	T_RC(gw_port_set_pause(b.gw, 1, true), 0);
	while (w < 300) {
		while (sent < 300 * 32 && rig_send(b.gw, &b.r, sent, RIG_PORT) == 1)
			sent++;
		T_NEED(window(&b).batch_id == w);
		w++;
	}
	T_EQ(bed_plan(&b).windows_incomplete, 0);
	T_EQ(bed_port(&b, 1).rx_missed, 0);
	bed_close(&b);
}

/* Three windows held at once, for one inference: one piece of memory. */
static void side_by_side(const char *engine)
{
	struct bed b = { .r = { .ppb = PPB, .payload = 64, .out_bufs = 6, .run = 3 } };
	struct gw_burst w[3];

	bed_open(&b, engine);
	for (uint32_t k = 0; k < 20; k++) {
		for (uint32_t i = 0; i < 3; i++) {
			T_EQ(bed_send(&b, (3 * k + i) * PPB, PPB, RIG_PORT), PPB);
			T_RC(bed_take(&b, 0, SOON, &w[i]), 1);
			T_OK((const uint8_t *)w[i].seg_ptr[0][0] ==
			     (const uint8_t *)w[0].seg_ptr[0][0] + (size_t)i * w[0].seg_len[0][0]);
		}
		for (uint32_t i = 0; i < 3; i++)
			gw_burst_release(&w[i]);
	}
	bed_close(&b);
}

/* One number over flows that a hash spreads over three queues, most of it over one of them: whole windows in order,
 * out of the first queue, although no queue has room for what waits at the sender. */
static void merged(const char *engine)
{
	struct bed b = { .r = { .ppb = 32, .payload = 32, .n_rxq = 3, .rss = true, .rx_bufs = 3 * 70, .out_bufs = 6,
				.tx_bufs = 2048 } };
	struct gw_queue_stats q;
	struct gw_reorder_stats st;
	uint32_t sent = 0, w = 0;

	bed_open(&b, engine);
	T_RC(gw_port_set_pause(b.gw, 1, true), 0);
	while (w < 300) {
		while (sent < 300 * 32 &&
		       rig_send(b.gw, &b.r, sent, (uint16_t)(RIG_PORT + (sent % 10 ? 0 : sent / 10 % 17))) == 1)
			sent++;
		T_NEED(window(&b).batch_id == w);
		w++;
	}
	st = bed_plan(&b);
	T_EQ(st.windows_incomplete + st.late_packets + st.stale_packets + st.duplicate_packets, 0);
	T_EQ(bed_port(&b, 1).rx_missed, 0);
	for (uint16_t i = 1; i < 3; i++) {
		bed_nothing(&b, i);
		T_RC(gw_rxq_stats(b.gw, 1, i, &q), 0);
		T_EQ(q.rx_packets, 0);
	}
	T_RC(gw_rxq_stats(b.gw, 1, 0, &q), 0);
	T_EQ(q.rx_packets, 300 * 32);
	bed_close(&b);
}

/* The deadline of a window sees all queues, and so does a flush. */
static void merged_with_a_hole(const char *engine)
{
	struct bed b = { .r = { .ppb = PPB, .payload = 32, .n_rxq = 2, .rss = true, .rx_bufs = 256, .timeout_us = 3000 } };
	struct gw_reorder_info info;

	bed_open(&b, engine);
	for (uint32_t i = 0; i < PPB; i++)
		if (i != 5)
			T_EQ(bed_send(&b, i, 1, (uint16_t)(RIG_PORT + i)), 1);
	info = window(&b); /* its deadline */
	T_EQ(info.n_missing, 1);
	T_OK(!rig_bit(info.valid, 5));
	for (uint32_t i = PPB; i < 2 * PPB; i++)
		T_EQ(bed_send(&b, i, 1, (uint16_t)(RIG_PORT + i)), 1);
	T_EQ(window(&b).n_missing, 0);
	for (uint32_t i = 2 * PPB; i < 2 * PPB + 3; i++)
		T_EQ(bed_send(&b, i, 1, (uint16_t)(RIG_PORT + i)), 1);
	T_RC(gw_tx_drain(b.gw, 0, 0, SOON), 0);
	T_OK(gw_flush(b.gw) >= 0);
	T_EQ(window(&b).source_packet_count, 3);
	bed_close(&b);
}

static const struct conform_case cases[] = {
	{ "windows in any order", shuffled },
	{ "numbers wrap", wraps },
	{ "a hole", hole },
	{ "duplicates and late packets", duplicates_and_late },
	{ "flush", flushed },
	{ "deadline", deadline },
	{ "short packets", short_packets },
	{ "int8 to fp16", converts },
	{ "header-data split with a plan", split_and_reorder },
	{ "payload in device memory", split_to_device },
	{ "other flows pass raw", other_flows_pass },
	{ "tensors leaked", leak },
	{ "missing_action: drop", drop_incomplete },
	{ "stream bound once", streams },
	{ "many windows, pausing", many_windows },
	{ "consecutive windows", side_by_side },
	{ "queues merged by number", merged },
	{ "queues merged, a hole", merged_with_a_hole },
	{ NULL, NULL },
};

const struct conform_list reorder_list = { cases, &t__checks, &t__failed };
