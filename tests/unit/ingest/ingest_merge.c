/* Queues merged by number: however unevenly a hash spread the packets, and however many waited when the receiver
 * first looked, windows are whole and in order; numbers wrap, or begin again in each batch. Packets of another flow pass
 * between them, and when they take the last slot of one queue nothing stands still. */
#include "rig_step.h"

#define PPB 16u
#define N 640u /* more than two windows wait in the busy queue */

/* gw_open() with one line of the configuration replaced from `find` on; with no line's end there, all that follows. */
static int open_edited(struct hand *h, const char *engine, const char *find, const char *with, struct gw_diag *d)
{
	struct gw__open_opts o = { .clock = &h->clock.base, .no_threads = true };
	static struct rig_text t;
	static char text[sizeof(t.buf)];
	const char *rest = "";
	char *p;

	h->r.engine = engine;
	h->r.address = "cable:7";
	rig_defaults(&h->r);
	rig_yaml(&h->r, &t);
	p = strstr(t.buf, find);
	T_NEED(p);
	if (!strchr(find, '\n'))
		rest = strchr(p, '\n');
	T_NEED((size_t)snprintf(text, sizeof(text), "%.*s%s%s", (int)(p - t.buf), t.buf, with, rest) < sizeof(text));
	T_RC(gw_config_load(text, NULL, &h->cfg, d), 0);
	gw__clock_manual_init(&h->clock, 1000000000u);
	return gw__open(h->cfg, &o, &h->gw, d);
}

static uint16_t port_of(uint64_t i)
{
	return (uint16_t)(RIG_PORT + (i % 20 ? 0 : i / 20 % 31));
}

static void all_whole(struct hand *h)
{
	struct gw_reorder_stats st;
	struct gw_queue_stats q;
	struct gw_diag d = { "" };

	T_EQ(gw_tx_drain(h->gw, 0, 0, 0), 0);
	hand_settle(h);
	T_RC(gw_reorder_stats(h->gw, "plan", &st), 0);
	T_EQ(h->full, N / PPB);
	T_EQ(h->bad, 0);
	T_EQ(st.late_packets + st.stale_packets + st.duplicate_packets + st.windows_incomplete, 0);
	T_EQ(st.placed_packets, N);
	T_RC(gw_rxq_stats(h->gw, 1, 0, &q), 0);
	T_EQ(q.rx_packets, N);
	T_RC(gw_stats_check(h->gw, &d), 0);
	hand_close(h);
}

/* Everything sent before the receiver looks once. */
static void uneven(const char *engine, uint32_t seq_bits, uint64_t from)
{
	struct hand h = { .r = { .ppb = PPB, .payload = 32, .n_rxq = 3, .rss = true, .rx_bufs = 3 * 1024, .tx_bufs = 1024,
				 .out_bufs = N / PPB, .seq_bits = seq_bits, .rx_hdr = from ? RIG_HDR : 0 } };

	hand_open(&h, engine);
	for (uint64_t i = from; i < from + N; i++)
		T_EQ(rig_send(h.gw, &h.r, i, port_of(i)), 1);
	all_whole(&h);
}

/* The running number begins again in each batch; the batch's own number tells them apart. */
static void batches(const char *engine)
{
	struct hand h = { .r = { .ppb = PPB, .payload = 32, .n_rxq = 3, .rss = true, .rx_bufs = 3 * 1024, .tx_bufs = 1024,
				 .out_bufs = N / PPB } };
	uint8_t frame[RIG_HDR + 32];
	struct gw_diag d = { "" };

	T_RC(open_edited(&h, engine, "          seq_packets_per_batch:\n",
			 "          seq_batch_number:\n            sequence_number: {bit_offset: 384, bit_width: 16}\n"
			 "            batch_number: {bit_offset: 400, bit_width: 12}\n", &d), 0);
	T_RC(gw_start(h.gw, &d), 0);
	for (uint32_t i = 0; i < N; i++) {
		rig_frame(frame, i, 16, port_of(i), 32);
		rig_put16(frame + 48, i % PPB);
		rig_put16(frame + 50, i / PPB << 4);
		T_EQ(rig_send_raw(h.gw, frame, sizeof(frame)), 1);
	}
	all_whole(&h);
}

/* A flow of no plan to one of the queues, in bursts larger than its slots, the sender held back: all of it comes. */
static void others(const char *engine)
{
	struct hand h = { .r = { .ppb = PPB, .payload = 64, .n_rxq = 2, .rss = true, .rx_bufs = 2 * 64, .batch = 128,
				 .timeout_us = 3000 } };
	struct gw_port_stats s;
	struct gw_diag d = { "" };
	uint32_t sent = 0;

	T_RC(open_edited(&h, engine, "match: {}", "match: {udp_dst: 4096}}\n      - {name: raw, id: 300, action: "
			 "{type: queue, id: 1}, match: {udp_dst: 5000}}", &d), 0);
	T_RC(gw_start(h.gw, &d), 0);
	T_RC(gw_port_set_pause(h.gw, 1, true), 0);
	for (uint32_t turn = 0; turn < 400 && h.raw_pkts < 1000; turn++) {
		while (sent < 1000 && rig_send(h.gw, &h.r, sent, 5000) == 1)
			sent++;
		hand_settle(&h);
		hand_advance(&h, 1000000000);
	}
	T_EQ(sent, 1000);
	T_EQ(h.raw_pkts, 1000);
	T_RC(gw_port_stats(h.gw, 1, &s), 0);
	T_EQ(s.rx_missed, 0);
	hand_close(&h);
}

/* While one queue has no slot left and the sender is held back, no deadline is judged: the rest of the window waits
 * behind what fills that queue. */
static void held_back(const char *engine)
{
	struct hand h = { .r = { .ppb = PPB, .payload = 64, .n_rxq = 2, .rss = true, .rx_bufs = 2 * 64, .batch = 64,
				 .timeout_us = 3000 } };
	struct gw_burst held[64];
	struct gw_diag d = { "" };
	uint32_t n_held = 0, n_raw = 0;
	int r = 1;

	T_RC(open_edited(&h, engine, "match: {}", "match: {udp_dst: 4096}}\n      - {name: raw, id: 300, action: "
			 "{type: queue, id: 0}, match: {udp_dst: 5000}}", &d), 0);
	T_RC(gw_start(h.gw, &d), 0);
	T_RC(gw_port_set_pause(h.gw, 1, true), 0);
	for (uint32_t i = 0; i < 2; i++)
		T_EQ(rig_send(h.gw, &h.r, i, RIG_PORT), 1);
	for (uint32_t i = 0; i < 200; i++)
		(void)!rig_send(h.gw, &h.r, i, 5000);
	for (uint32_t i = 2; i < PPB; i++)
		T_EQ(rig_send(h.gw, &h.r, i, RIG_PORT), 1);
	for (uint32_t turn = 0; turn < 20; turn++) {
		gw__step(h.gw, 256);
		while (n_held < 64 && (r = gw_rx_burst(h.gw, 1, 0, &held[n_held])) == 1) {
			T_OK(!(held[n_held].flags & GW_BURST_REORDERED));
			n_raw += held[n_held++].n_pkts;
		}
		hand_advance(&h, 1000000000);
	}
	T_OK(n_raw > 0 && n_raw <= 64);
	while (n_held)
		gw_burst_release(&held[--n_held]);
	for (uint32_t turn = 0; turn < 20; turn++) {
		hand_settle(&h);
		hand_advance(&h, 1000000000);
	}
	T_EQ(h.full, 1);
	T_EQ(h.partial, 0);
	T_EQ(h.bad, 0);
	hand_close(&h);
}

/* A third queue has its share of the region too: what the file promises each of the merged ones is not there. */
static void too_small(const char *engine)
{
	struct hand h = { .r = { .ppb = 32, .payload = 32, .n_rxq = 3, .rss = true, .rx_bufs = 3 * 63 } };
	struct gw_diag d = { "" };

	T_RC(open_edited(&h, engine, "{name: all, id: 200, action:",
			 "{name: all, id: 200, action: {type: queue, ids: [0, 1]}, match: {}}", &d), -EINVAL);
	T_OK(strstr(d.text, "63 slots") && strstr(d.text, "num_bufs 192"));
	gw_config_free(h.cfg);
}

int main(void)
{
	for (int e = 0; hand_engines[e]; e++) {
		if (!hand_has(hand_engines[e]))
			continue;
		uneven(hand_engines[e], 32, 0);
		uneven(hand_engines[e], 16, 65536 - N / 2); /* numbers wrap half-way; header and payload apart */
		batches(hand_engines[e]);
		others(hand_engines[e]);
		held_back(hand_engines[e]);
		too_small(hand_engines[e]);
	}
	T_EQ(gw__alloc_live(), 0);
	T_DONE();
}
