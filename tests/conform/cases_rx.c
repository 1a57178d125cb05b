/* Receive: order, bursts, pools, sizes, steering, segments, release. */
#include "bed.h"

static void order(const char *engine)
{
	struct bed b = { .r = { .batch = 50 } };

	bed_open(&b, engine);
	for (uint32_t at = 0; at < 1000; at += 100) {
		T_EQ(bed_send(&b, at, 100, RIG_PORT), 100);
		T_EQ(bed_expect(&b, 0, at, 100), 100);
	}
	T_EQ(bed_port(&b, 1).rx_packets, 1000);
	T_EQ(bed_port(&b, 0).tx_packets, 1000);
	bed_close(&b);
}

static void short_burst(const char *engine)
{
	struct bed b = { .r = { .batch = 32, .timeout_us = 50000 } };
	struct gw_burst burst;

	bed_open(&b, engine);
	T_EQ(bed_send(&b, 0, 5, RIG_PORT), 5);
	T_RC(bed_take(&b, 0, SOON, &burst), 1);
	T_EQ(burst.n_pkts, 5);
	T_EQ(burst.flags, 0);
	T_OK(burst.event == NULL && burst.seq == NULL);
	gw_burst_release(&burst);
	bed_close(&b);
}

static void no_timeout_keeps(const char *engine)
{
	struct bed b = { .r = { .batch = 32 } };

	bed_open(&b, engine);
	T_EQ(bed_send(&b, 0, 5, RIG_PORT), 5);
	bed_nothing(&b, 0);
	T_RC(gw_flush(b.gw), 0); /* no window; the raw burst goes all the same */
	T_EQ(bed_expect(&b, 0, 0, 5), 5);
	bed_close(&b);
}

static void exact_batches(const char *engine)
{
	struct bed b = { .r = { .batch = 32 } };
	struct gw_burst burst;

	bed_open(&b, engine);
	T_EQ(bed_send(&b, 0, 64, RIG_PORT), 64);
	for (int i = 0; i < 2; i++) {
		T_RC(bed_take(&b, 0, SOON, &burst), 1);
		T_EQ(burst.n_pkts, 32);
		gw_burst_release(&burst);
	}
	bed_nothing(&b, 0);
	bed_close(&b);
}

static void batch_of_one(const char *engine)
{
	struct bed b = { .r = { .batch = 1 } };

	bed_open(&b, engine);
	T_EQ(bed_send(&b, 0, 7, RIG_PORT), 7);
	T_EQ(bed_expect(&b, 0, 0, 7), 7);
	T_EQ(bed_rxq(&b, 0).delivered_bursts, 7);
	bed_close(&b);
}

/* A consumer that keeps its bursts: -ENOBUFS, counted, and all is well again after a release. */
static void empty_burst_pool(const char *engine)
{
	struct bed b = { .r = { .batch = 8, .meta = 3 } };
	struct gw_burst held[3], one;
	int r;

	bed_open(&b, engine);
	T_EQ(bed_send(&b, 0, 40, RIG_PORT), 40);
	for (int i = 0; i < 3; i++)
		T_RC(bed_take(&b, 0, SOON, &held[i]), 1);
	do
		r = bed_take(&b, 0, NEVER, &one);
	while (r == 0);
	T_RC(r, -ENOBUFS);
	T_EQ(bed_rxq(&b, 0).no_free_bursts, 1);
	for (int i = 0; i < 3; i++) {
		T_EQ(rig_seq(&held[i], 0, 16), 8 * i);
		gw_burst_release(&held[i]);
	}
	T_EQ(bed_expect(&b, 0, 24, 16), 16);
	bed_close(&b);
}

/* All slots with the consumer, no pause: the port counts what it drops, and receives again afterwards. */
static void empty_slots_drop(const char *engine)
{
	struct bed b = { .r = { .batch = 16, .rx_bufs = 64 } };
	struct gw_burst held[4];
	uint64_t missed;

	bed_open(&b, engine);
	T_EQ(bed_send(&b, 0, 64, RIG_PORT), 64);
	for (int i = 0; i < 4; i++)
		T_RC(bed_take(&b, 0, SOON, &held[i]), 1);
	T_EQ(bed_send(&b, 64, 100, RIG_PORT), 100);
	T_RC(gw_tx_drain(b.gw, 0, 0, SOON), 0);
	missed = bed_port(&b, 1).rx_missed;
	T_EQ(missed, 100);
	for (int i = 0; i < 4; i++)
		gw_burst_release(&held[i]);
	for (uint64_t end = bed_now() + SOON; bed_now() < end && bed_port(&b, 1).rx_packets < 64 + 16;) {
		struct gw_burst burst;

		bed_send(&b, 200, 1, RIG_PORT);
		if (bed_take(&b, 0, MS, &burst) == 1)
			gw_burst_release(&burst);
	}
	T_OK(bed_port(&b, 1).rx_packets >= 64 + 16);
	bed_close(&b);
}

/* The same with pause: nothing is lost, the sender waits. */
static void empty_slots_pause(const char *engine)
{
	struct bed b = { .r = { .batch = 16, .rx_bufs = 64, .tx_bufs = 32 } };
	uint32_t sent = 0, got = 0;
	int r;

	bed_open(&b, engine);
	T_RC(gw_port_set_pause(b.gw, 1, true), 0);
	while ((r = rig_send(b.gw, &b.r, sent, RIG_PORT)) == 1 ||
	       (r == 0 && gw_tx_wait(b.gw, 0, 0, NEVER) == 1))
		sent += r == 1;
	T_OK(sent >= 64 && sent <= 64 + 32);
	T_OK(bed_port(&b, 0).tx_paused >= 1);
	while (got < 512) {
		uint32_t n;

		while (sent < 512 && rig_send(b.gw, &b.r, sent, RIG_PORT) == 1)
			sent++;
		n = bed_expect(&b, 0, got, 16);
		got += n;
		if (!n)
			break;
	}
	T_EQ(got, 512);
	T_EQ(bed_port(&b, 1).rx_missed, 0);
	bed_close(&b);
}

static void too_large(const char *engine)
{
	struct bed b = { .r = { .batch = 1, .rx_size = 128, .payload = 64 } };
	uint8_t frame[512];

	bed_open(&b, engine);
	rig_frame(frame, 0, 16, RIG_PORT, 400);
	T_RC(rig_send_raw(b.gw, frame, RIG_HDR + 400), 1);
	T_EQ(bed_send(&b, 1, 1, RIG_PORT), 1);
	T_EQ(bed_expect(&b, 0, 1, 1), 1);
	T_EQ(bed_port(&b, 1).rx_errors, 1);
	T_EQ(bed_port(&b, 1).rx_packets, 1);
	bed_close(&b);
}

static void exact_fit(const char *engine)
{
	struct bed b = { .r = { .batch = 1, .rx_size = 128, .payload = 64 } };

	bed_open(&b, engine);
	T_EQ(bed_send(&b, 0, 3, RIG_PORT), 3);
	T_EQ(bed_expect(&b, 0, 0, 3), 3);
	bed_close(&b);
}

static void jumbo(const char *engine)
{
	struct bed b = { .r = { .batch = 4, .rx_size = 9216, .tx_size = 9216, .payload = 8936 } };

	bed_open(&b, engine);
	T_EQ(bed_send(&b, 0, 8, RIG_PORT), 8);
	T_EQ(bed_expect(&b, 0, 0, 8), 8);
	bed_close(&b);
}

/* A tag in front of IPv4: matched by the UDP port behind it, delivered as it came. */
static void vlan(const char *engine)
{
	struct bed b = { .r = { .batch = 1 } };
	uint8_t plain[RIG_HDR + 64], tagged[RIG_HDR + 68];
	struct gw_burst burst;

	bed_open(&b, engine);
	rig_frame(plain, 3, 16, RIG_PORT, 64);
	memcpy(tagged, plain, 12);
	memcpy(tagged + 12, "\x81\x00\x20\x64", 4);
	memcpy(tagged + 16, plain + 12, sizeof(plain) - 12);
	T_RC(rig_send_raw(b.gw, tagged, sizeof(tagged)), 1);
	T_RC(bed_take(&b, 0, SOON, &burst), 1);
	T_EQ(rig_diff(&burst, 0, tagged, sizeof(tagged)), 0);
	T_EQ(burst.flow[0], 200);
	gw_burst_release(&burst);
	bed_close(&b);
}

/* What no rule matches goes to the first queue with flow 0, unless the port is isolated. */
static void unmatched(const char *engine)
{
	struct bed b = { .r = { .batch = 1, .n_rxq = 2 } };
	uint8_t frame[60] = { 2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5 };
	struct gw_burst burst;

	bed_open(&b, engine);
	T_RC(rig_send_raw(b.gw, frame, sizeof(frame)), 1);
	T_RC(bed_take(&b, 0, SOON, &burst), 1);
	T_EQ(burst.flow[0], 0);
	T_EQ(rig_diff(&burst, 0, frame, sizeof(frame)), 0);
	gw_burst_release(&burst);
	bed_nothing(&b, 1);
	bed_close(&b);
}

static void isolated(const char *engine)
{
	struct bed b = { .r = { .batch = 1, .isolate = true } };
	uint8_t frame[60] = { 2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5 };

	bed_open(&b, engine);
	T_RC(rig_send_raw(b.gw, frame, sizeof(frame)), 1);
	T_EQ(bed_send(&b, 0, 1, RIG_PORT + 9), 1);
	T_EQ(bed_send(&b, 7, 1, RIG_PORT), 1);
	T_EQ(bed_expect(&b, 0, 7, 1), 1);
	T_EQ(bed_port(&b, 1).rx_steer_miss, 2);
	bed_close(&b);
}

static void gate(const char *engine)
{
	struct bed b = { .r = { .batch = 1 } };

	bed_open(&b, engine);
	T_RC(gw_port_drop_all(b.gw, 1, true), 0);
	T_EQ(bed_send(&b, 0, 9, RIG_PORT), 9);
	T_RC(gw_tx_drain(b.gw, 0, 0, SOON), 0);
	bed_nothing(&b, 0);
	T_EQ(bed_port(&b, 1).rx_steer_drop, 9);
	T_RC(gw_port_drop_all(b.gw, 1, false), 0);
	T_EQ(bed_send(&b, 9, 2, RIG_PORT), 2);
	T_EQ(bed_expect(&b, 0, 9, 2), 2);
	bed_close(&b);
}

static void queues_by_port(const char *engine)
{
	struct bed b = { .r = { .batch = 4, .n_rxq = 4, .cpu_core = -1 } };

	bed_open(&b, engine);
	for (uint16_t q = 0; q < 4; q++)
		T_EQ(bed_send(&b, 100 * q, 8, (uint16_t)(RIG_PORT + q)), 8);
	for (uint16_t q = 4; q-- > 0;)
		T_EQ(bed_expect(&b, q, 100 * q, 8), 8);
	bed_close(&b);
}

static void queues_on_one_core(const char *engine)
{
	struct bed b = { .r = { .batch = 4, .n_rxq = 3, .cpu_core = 0 } };

	bed_open(&b, engine);
	for (uint16_t q = 0; q < 3; q++)
		T_EQ(bed_send(&b, 100 * q, 8, (uint16_t)(RIG_PORT + q)), 8);
	for (uint16_t q = 3; q-- > 0;)
		T_EQ(bed_expect(&b, q, 100 * q, 8), 8);
	bed_close(&b);
}

/* Whichever queue has something, in turn; and what is thrown away. */
static void any_queue(const char *engine)
{
	struct bed b = { .r = { .batch = 1, .n_rxq = 3 } };
	struct gw_burst burst;
	uint32_t got[3] = { 0 };

	bed_open(&b, engine);
	T_RC(gw_rx_any(b.gw, 1, &burst), 0);
	T_RC(gw_rx_any(b.gw, 0, &burst), -EINVAL); /* it has no receive queue */
	T_RC(gw_rx_any(b.gw, 2, &burst), -EINVAL);
	for (uint32_t i = 0; i < 12; i++)
		T_EQ(bed_send(&b, i, 1, (uint16_t)(RIG_PORT + i % 3)), 1);
	for (uint16_t q = 0; q < 3; q++)
		T_RC(gw_rx_wait(b.gw, 1, q, SOON), 1);
	for (uint64_t end = bed_now() + SOON; got[0] + got[1] + got[2] < 9 && bed_now() < end;)
		if (gw_rx_any(b.gw, got[0] & 1 ? 1 : -1, &burst) == 1) {
			got[burst.queue]++;
			gw_burst_release(&burst);
		}
	T_OK(got[0] && got[1] && got[2]);
	for (uint64_t end = bed_now() + SOON; got[0] + got[1] + got[2] < 12 && bed_now() < end;)
		for (uint16_t q = 0; q < 3; q++)
			got[q] += (uint32_t)gw_rx_discard(b.gw, 1, q);
	T_OK(got[0] == 4 && got[1] == 4 && got[2] == 4);
	T_RC(gw_rx_discard(b.gw, 1, 9), -EINVAL);
	gw_stop(b.gw);
	T_RC(gw_rx_any(b.gw, -1, &burst), -ESHUTDOWN);
	T_RC(gw_start(b.gw, NULL), 0);
	bed_close(&b);
}

/* Hashed over queues: one flow stays on one queue, all arrive, more than one queue is used. */
static void spread(const char *engine)
{
	struct bed b = { .r = { .batch = 1, .n_rxq = 4, .rss = true, .rx_bufs = 1024 } };
	uint32_t home[64], total = 0, used = 0;
	bool stray = false;

	bed_open(&b, engine);
	for (uint32_t i = 0; i < 64; i++)
		home[i] = UINT32_MAX;
	for (uint32_t i = 0; i < 128; i++)
		T_EQ(bed_send(&b, i, 1, (uint16_t)(6000 + i % 64)), 1);
	T_RC(gw_tx_drain(b.gw, 0, 0, SOON), 0);
	for (uint16_t q = 0; q < 4; q++) {
		struct gw_burst burst;
		uint32_t n = 0;

		for (; bed_take(&b, q, NEVER, &burst) == 1; n++) {
			uint32_t f = rig_seq(&burst, 0, 16) % 64;

			stray |= home[f] != UINT32_MAX && home[f] != q;
			home[f] = q;
			gw_burst_release(&burst);
		}
		total += n;
		used += n > 0;
	}
	T_EQ(total, 128);
	T_OK(used > 1 && !stray);
	bed_close(&b);
}

static void split(const char *engine)
{
	struct bed b = { .r = { .batch = 1, .rx_hdr = 64, .rx_size = 1000, .payload = 300 } };
	uint8_t frame[RIG_HDR + 300];
	struct gw_burst burst;

	bed_open(&b, engine);
	for (uint32_t i = 0; i < 10; i++)
		T_EQ(bed_send(&b, i, 1, RIG_PORT), 1);
	for (uint32_t i = 0; i < 10; i++) {
		T_RC(bed_take(&b, 0, SOON, &burst), 1);
		rig_frame(frame, i, 16, RIG_PORT, 300);
		T_EQ(burst.n_segs, 2);
		T_EQ(burst.len[0], RIG_HDR + 300);
		T_EQ(burst.seg_len[0][0], 64);
		T_EQ(burst.seg_len[1][0], 300);
		T_EQ(rig_diff(&burst, 0, frame, sizeof(frame)), 0);
		gw_burst_release(&burst);
	}
	bed_close(&b);
}

/* A frame that ends in the header segment leaves the other one empty. */
static void split_short(const char *engine)
{
	struct bed b = { .r = { .batch = 1, .rx_hdr = 128, .rx_size = 1000, .payload = 10 } };
	struct gw_burst burst;

	bed_open(&b, engine);
	T_EQ(bed_send(&b, 5, 1, RIG_PORT), 1);
	T_RC(bed_take(&b, 0, SOON, &burst), 1);
	T_EQ(burst.seg_len[0][0], RIG_HDR + 10);
	T_EQ(burst.seg_len[1][0], 0);
	gw_burst_release(&burst);
	bed_close(&b);
}

/* Bursts come back in reverse; then many times the slot count goes through. */
static void release_reversed(const char *engine)
{
	struct bed b = { .r = { .batch = 16, .rx_bufs = 128 } };
	struct gw_burst held[8];

	bed_open(&b, engine);
	T_RC(gw_port_set_pause(b.gw, 1, true), 0);
	for (uint32_t round = 0; round < 20; round++) {
		T_EQ(bed_send(&b, round * 128, 128, RIG_PORT), 128);
		for (int i = 0; i < 8; i++) {
			T_RC(bed_take(&b, 0, SOON, &held[i]), 1);
			T_EQ(rig_seq(&held[i], 0, 16), round * 128 + 16 * (uint32_t)i);
		}
		for (int i = 7; i >= 0; i--)
			gw_burst_release(&held[i]);
	}
	T_EQ(bed_port(&b, 1).rx_missed, 0);
	bed_close(&b);
}

static void release_single(const char *engine)
{
	struct bed b = { .r = { .batch = 16, .rx_bufs = 32 } };
	struct gw_burst burst;

	bed_open(&b, engine);
	T_RC(gw_port_set_pause(b.gw, 1, true), 0);
	for (uint32_t round = 0; round < 30; round++) {
		T_EQ(bed_send(&b, round * 16, 16, RIG_PORT), 16);
		T_RC(bed_take(&b, 0, SOON, &burst), 1);
		for (uint32_t i = 1; i < 16; i += 2)
			T_RC(gw_burst_release_pkt(&burst, i), 0);
		T_RC(gw_burst_release_pkt(&burst, 3), -EALREADY);
		T_RC(gw_burst_release_pkt(&burst, 16), -EINVAL);
		T_EQ(rig_seq(&burst, 2, 16), round * 16 + 2);
		gw_burst_release(&burst);
	}
	T_EQ(bed_port(&b, 1).rx_missed, 0);
	T_EQ(bed_rxq(&b, 0).rx_packets, 480);
	bed_close(&b);
}

static void release_twice(const char *engine)
{
	struct bed b = { .r = { .batch = 1 } };
	struct gw_burst burst, zero = { 0 };

	bed_open(&b, engine);
	T_EQ(bed_send(&b, 0, 1, RIG_PORT), 1);
	T_RC(bed_take(&b, 0, SOON, &burst), 1);
	gw_burst_release(&burst);
	T_MEM(&burst, &zero, sizeof(zero));
	gw_burst_release(&burst);
	gw_burst_release(NULL);
	T_RC(gw_burst_release_pkt(&burst, 0), -EINVAL);
	bed_close(&b);
}

/* A queue whose burst is as large as its slots, and one with a single slot. */
static void depth_equals_slots(const char *engine)
{
	struct bed b = { .r = { .batch = 64, .rx_bufs = 64 } }, one = { .r = { .batch = 1, .rx_bufs = 1, .meta = 1 } };

	bed_open(&b, engine);
	T_RC(gw_port_set_pause(b.gw, 1, true), 0);
	for (uint32_t i = 0; i < 10; i++) {
		T_EQ(bed_send(&b, 64 * i, 64, RIG_PORT), 64);
		T_EQ(bed_expect(&b, 0, 64 * i, 64), 64);
	}
	bed_close(&b);
	bed_open(&one, engine);
	T_RC(gw_port_set_pause(one.gw, 1, true), 0);
	for (uint32_t i = 0; i < 20; i++) {
		T_EQ(bed_send(&one, i, 1, RIG_PORT), 1);
		T_EQ(bed_expect(&one, 0, i, 1), 1);
	}
	bed_close(&one);
}

/* Not a power of two, and a burst that the slots cannot fill: the last slots force it out. */
static void odd_slots(const char *engine)
{
	struct bed b = { .r = { .batch = 1000, .rx_bufs = 100, .tx_bufs = 77 } };

	bed_open(&b, engine);
	T_RC(gw_port_set_pause(b.gw, 1, true), 0);
	for (uint32_t i = 0; i < 10; i++) {
		T_EQ(bed_send(&b, 100 * i, 100, RIG_PORT), 100);
		T_EQ(bed_expect(&b, 0, 100 * i, 100), 100);
	}
	bed_close(&b);
}

static void stamps(const char *engine)
{
	struct bed on = { .r = { .batch = 8, .timestamps = true } }, off = { .r = { .batch = 8 } };
	struct gw_burst burst;

	bed_open(&on, engine);
	T_EQ(bed_send(&on, 0, 8, RIG_PORT), 8);
	T_RC(bed_take(&on, 0, SOON, &burst), 1);
	T_NEED(burst.ts_ns);
	T_OK(burst.ts_ns[0] > 0);
	for (uint32_t i = 1; i < 8; i++)
		T_OK(burst.ts_ns[i] >= burst.ts_ns[i - 1]);
	gw_burst_release(&burst);
	bed_close(&on);
	bed_open(&off, engine);
	T_EQ(bed_send(&off, 0, 8, RIG_PORT), 8);
	T_RC(bed_take(&off, 0, SOON, &burst), 1);
	T_OK(burst.ts_ns == NULL);
	gw_burst_release(&burst);
	bed_close(&off);
}

/* A false IPv4 length is flagged, steered by port and delivered whole. */
static void false_length(const char *engine)
{
	struct bed b = { .r = { .batch = 1 } };
	uint8_t frame[RIG_HDR + 64];
	struct gw_burst burst;

	bed_open(&b, engine);
	rig_frame(frame, 0, 16, RIG_PORT, 64);
	T_RC(rig_send_raw(b.gw, frame, sizeof(frame)), 1);
	frame[16] = 0x7f;
	T_RC(rig_send_raw(b.gw, frame, sizeof(frame)), 1);
	T_RC(bed_take(&b, 0, SOON, &burst), 1);
	T_EQ(burst.pkt_flags[0] & (GW_PKT_L3_BAD | GW_PKT_L3_UNKNOWN), 0);
	gw_burst_release(&burst);
	T_RC(bed_take(&b, 0, SOON, &burst), 1);
	T_EQ(burst.pkt_flags[0] & GW_PKT_L3_BAD, GW_PKT_L3_BAD);
	T_EQ(burst.flow[0], 200);
	T_EQ(rig_diff(&burst, 0, frame, sizeof(frame)), 0);
	gw_burst_release(&burst);
	T_EQ(bed_port(&b, 1).rx_l3_bad, 1);
	bed_close(&b);
}

static void direct(const char *engine)
{
	struct bed b = { .r = { .direct = true } };

	bed_open(&b, engine);
	for (uint32_t i = 0; i < 500; i += 50) {
		T_EQ(bed_send(&b, i, 50, RIG_PORT), 50);
		T_EQ(bed_expect(&b, 0, i, 50), 50);
	}
	bed_nothing(&b, 0);
	bed_close(&b);
}

static void busy(const char *engine)
{
	struct bed b = { .r = { .batch = 10, .busy = true } };

	bed_open(&b, engine);
	for (uint32_t i = 0; i < 500; i += 50) {
		T_EQ(bed_send(&b, i, 50, RIG_PORT), 50);
		T_EQ(bed_expect(&b, 0, i, 50), 50);
	}
	bed_close(&b);
}

static const struct conform_case cases[] = {
	{ "order", order },
	{ "short burst at the timeout", short_burst },
	{ "timeout 0 keeps a partial burst until a flush", no_timeout_keeps },
	{ "full bursts go at once", exact_batches },
	{ "bursts of one", batch_of_one },
	{ "burst pool empty", empty_burst_pool },
	{ "slots empty, dropping", empty_slots_drop },
	{ "slots empty, pausing", empty_slots_pause },
	{ "frame too large", too_large },
	{ "frame that just fits", exact_fit },
	{ "jumbo", jumbo },
	{ "VLAN tag", vlan },
	{ "unmatched frame", unmatched },
	{ "unmatched frame, isolated", isolated },
	{ "gate shut and open", gate },
	{ "queues by port", queues_by_port },
	{ "queues on one core", queues_on_one_core },
	{ "any queue", any_queue },
	{ "hashed over queues", spread },
	{ "header-data split", split },
	{ "header-data split, short frame", split_short },
	{ "release reversed", release_reversed },
	{ "release packet by packet", release_single },
	{ "release twice", release_twice },
	{ "depth equal to slots", depth_equals_slots },
	{ "odd slot counts, oversized burst", odd_slots },
	{ "timestamps on and off", stamps },
	{ "false IPv4 length", false_length },
	{ "direct polling", direct },
	{ "busy polling", busy },
	{ NULL, NULL },
};

const struct conform_list rx_list = { cases, &t__checks, &t__failed };
