/* Transmit: reservations, short submits, refusals, gather, counters. */
#include "bed.h"

static void fill(struct bed *b, struct gw_tx *tx, uint64_t from)
{
	uint8_t frame[RIG_HDR + 9000];

	for (uint32_t i = 0; i < tx->n_pkts; i++) {
		uint32_t len = RIG_HDR + b->r.payload;

		rig_frame(frame, from + i, 16, RIG_PORT, b->r.payload);
		for (uint32_t s = 0, at = 0; s < tx->n_segs; s++) {
			uint32_t n = len - at < tx->seg_size[s] ? len - at : tx->seg_size[s];

			memcpy(tx->seg_ptr[s][i], frame + at, n);
			tx->seg_len[s][i] = n;
			at += n;
		}
	}
}

static void one_reservation(const char *engine)
{
	struct bed b = { .r = { .batch = 10 } };
	struct gw_tx tx, other;

	bed_open(&b, engine);
	T_RC(gw_tx_reserve(b.gw, 0, 0, 10, &tx), 10);
	T_EQ(tx.n_pkts, 10);
	T_EQ(tx.seg_size[0], 2048);
	T_OK(tx.tx_time_ns == NULL);
	T_RC(gw_tx_reserve(b.gw, 0, 0, 1, &other), -EBUSY);
	fill(&b, &tx, 0);
	T_RC(gw_tx_submit(b.gw, &tx, 10), 10);
	T_EQ(tx.n_pkts, 0);
	T_EQ(bed_expect(&b, 0, 0, 10), 10);
	bed_close(&b);
}

/* Submit part, then the rest: what *tx describes is always the rest. */
static void in_parts(const char *engine)
{
	struct bed b = { .r = { .batch = 10 } };
	struct gw_tx tx;

	bed_open(&b, engine);
	T_RC(gw_tx_reserve(b.gw, 0, 0, 10, &tx), 10);
	fill(&b, &tx, 0);
	T_RC(gw_tx_submit(b.gw, &tx, 3), 3);
	T_EQ(tx.n_pkts, 7);
	fill(&b, &tx, 3);
	T_RC(gw_tx_submit(b.gw, &tx, 8), -EINVAL);
	T_RC(gw_tx_submit(b.gw, &tx, 0), 0);
	T_RC(gw_tx_submit(b.gw, &tx, 7), 7);
	T_EQ(bed_expect(&b, 0, 0, 10), 10);
	bed_close(&b);
}

static void cancel(const char *engine)
{
	struct bed b = { .r = { .batch = 1, .tx_bufs = 8 } };
	struct gw_tx tx;

	bed_open(&b, engine);
	for (uint32_t i = 0; i < 40; i++) {
		T_RC(gw_tx_reserve(b.gw, 0, 0, 100, &tx), 8);
		fill(&b, &tx, i);
		T_RC(gw_tx_submit(b.gw, &tx, 1), 1);
		gw_tx_cancel(b.gw, &tx);
		T_RC(gw_tx_drain(b.gw, 0, 0, SOON), 0);
		T_EQ(bed_expect(&b, 0, i, 1), 1);
	}
	T_EQ(bed_port(&b, 0).tx_packets, 40);
	bed_close(&b);
}

static void refused_lengths(const char *engine)
{
	struct bed b = { .r = { .batch = 2 } };
	struct gw_tx tx;

	bed_open(&b, engine);
	T_RC(gw_tx_reserve(b.gw, 0, 0, 2, &tx), 2);
	fill(&b, &tx, 0);
	tx.seg_len[0][1] = 2049;
	T_RC(gw_tx_submit(b.gw, &tx, 2), -EINVAL);
	tx.seg_len[0][1] = 13;
	T_RC(gw_tx_submit(b.gw, &tx, 2), -EINVAL);
	T_EQ(tx.n_pkts, 2);
	tx.seg_len[0][1] = tx.seg_len[0][0];
	T_RC(gw_tx_submit(b.gw, &tx, 2), 2);
	T_EQ(bed_expect(&b, 0, 0, 2), 2);
	T_EQ(bed_port(&b, 0).tx_packets, 2);
	bed_close(&b);
}

static void gather(const char *engine)
{
	struct bed b = { .r = { .batch = 10, .tx_hdr = 64, .payload = 700 } };

	bed_open(&b, engine);
	T_EQ(bed_send(&b, 0, 40, RIG_PORT), 40);
	T_EQ(bed_expect(&b, 0, 0, 40), 40);
	bed_close(&b);
}

/* Split differently on each side: 50 bytes there, 90 here. */
static void gather_and_split(const char *engine)
{
	struct bed b = { .r = { .batch = 10, .tx_hdr = 50, .rx_hdr = 90, .rx_size = 1000, .payload = 500 } };

	bed_open(&b, engine);
	T_EQ(bed_send(&b, 0, 40, RIG_PORT), 40);
	T_EQ(bed_expect(&b, 0, 0, 40), 40);
	bed_close(&b);
}

/* Whole frames from the sender's own memory; then headers from slots and payload from there. */
static void lent_memory(const char *engine)
{
	static uint8_t mem[20][2048], other[64], frame[2048];
	struct bed b = { .r = { .batch = 10, .payload = 700 } };
	uint32_t len = RIG_HDR + b.r.payload;
	struct gw_tx tx;

	for (uint32_t i = 0; i < 20; i++)
		rig_frame(mem[i], i, 16, RIG_PORT, b.r.payload);
	bed_open(&b, engine);
	T_RC(gw_tx_reserve(b.gw, 0, 0, 10, &tx), 10);
	T_RC(gw_tx_use(&tx, 0, 0, mem, len), -EINVAL);
	T_RC(gw_tx_lend(b.gw, 0, 0, NULL, 1), -EINVAL);
	T_RC(gw_tx_lend(b.gw, 0, 9, mem, 1), -EINVAL);
	T_RC(gw_tx_lend(b.gw, 0, 0, mem, sizeof(mem)), 0);
	T_RC(gw_tx_use(&tx, 0, 0, other, 60), -EINVAL);
	T_RC(gw_tx_use(&tx, 0, 0, mem[19] + 2000, 49), -EINVAL);
	T_RC(gw_tx_use(&tx, 0, 0, (const void *)((uintptr_t)mem - 1), len), -EINVAL);
	T_RC(gw_tx_use(&tx, 10, 0, mem, len), -EINVAL);
	T_RC(gw_tx_use(&tx, 0, 1, mem, len), -EINVAL);
	for (uint32_t i = 0; i < 10; i++)
		T_RC(gw_tx_use(&tx, i, 0, mem[i], len), 0);
	tx.seg_len[0][0] = sizeof(mem) + 1;
	T_RC(gw_tx_submit(b.gw, &tx, 10), -EINVAL);
	tx.seg_len[0][0] = len;
	T_RC(gw_tx_submit(b.gw, &tx, 3), 3); /* the rest keeps what it was told */
	T_RC(gw_tx_submit(b.gw, &tx, 7), 7);
	T_EQ(bed_expect(&b, 0, 0, 10), 10);
	T_RC(gw_tx_drain(b.gw, 0, 0, SOON), 0);
	T_RC(gw_tx_reserve(b.gw, 0, 0, 10, &tx), 10); /* and the next ones know nothing of it */
	fill(&b, &tx, 10);
	T_RC(gw_tx_submit(b.gw, &tx, 10), 10);
	T_EQ(bed_expect(&b, 0, 10, 10), 10);
	for (uint32_t i = 1; i < 8; i++)
		T_RC(gw_tx_lend(b.gw, 0, 0, mem[i], 2048), 0);
	T_RC(gw_tx_lend(b.gw, 0, 0, mem[8], 2048), -ENOSPC);
	bed_close(&b);
	for (uint32_t i = 0; i < 20; i++) {
		rig_frame(frame, i, 16, RIG_PORT, b.r.payload);
		T_MEM(mem[i], frame, len); /* only read from */
	}
}

static void lent_payload(const char *engine)
{
	static uint8_t mem[20][2048];
	struct bed b = { .r = { .batch = 10, .tx_hdr = 64, .tx_size = 64, .rx_size = 2048, .payload = 700 } };
	uint32_t len = RIG_HDR + b.r.payload;
	struct gw_tx tx;

	for (uint32_t i = 0; i < 20; i++)
		rig_frame(mem[i], i, 16, RIG_PORT, b.r.payload);
	bed_open(&b, engine);
	T_RC(gw_tx_lend(b.gw, 0, 0, mem[0], 100), 0); /* three pieces; this one begins alike and is too short */
	T_RC(gw_tx_lend(b.gw, 0, 0, mem[0], sizeof(mem) / 2), 0);
	T_RC(gw_tx_lend(b.gw, 0, 0, mem[10], sizeof(mem) / 2), 0);
	T_RC(gw_tx_reserve(b.gw, 0, 0, 20, &tx), 20);
	for (uint32_t i = 0; i < 20; i++) {
		memcpy(tx.seg_ptr[0][i], mem[i], 64);
		tx.seg_len[0][i] = 64;
		T_RC(gw_tx_use(&tx, i, 1, mem[i] + 64, len - 64), 0); /* longer than the slot's own */
	}
	T_RC(gw_tx_submit(b.gw, &tx, 20), 20);
	T_EQ(bed_expect(&b, 0, 0, 20), 20);
	bed_close(&b);
}

/* More slots than requests fit: a short count, and nothing of it stays out although no more is sent. */
static void more_slots_than_requests(const char *engine)
{
	struct bed b = { .r = { .batch = 10, .tx_bufs = 32900, .tx_hdr = 64, .tx_size = 256, .payload = 64 } };
	struct gw_tx tx;
	int n;

	bed_open(&b, engine);
	T_RC(gw_tx_reserve(b.gw, 0, 0, 32900, &tx), 32900);
	fill(&b, &tx, 0);
	n = gw_tx_submit(b.gw, &tx, tx.n_pkts);
	T_OK(n > 0);
	gw_tx_cancel(b.gw, &tx);
	T_RC(gw_tx_drain(b.gw, 0, 0, SOON), 0);
	T_EQ(bed_port(&b, 0).tx_packets, (uint64_t)n);
	bed_close(&b);
}

static void smallest_frame(const char *engine)
{
	struct bed b = { .r = { .batch = 1 } };
	uint8_t frame[14] = { 2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5 };
	struct gw_burst burst;

	bed_open(&b, engine);
	T_RC(rig_send_raw(b.gw, frame, sizeof(frame)), 1);
	T_RC(bed_take(&b, 0, SOON, &burst), 1);
	T_EQ(rig_diff(&burst, 0, frame, sizeof(frame)), 0);
	gw_burst_release(&burst);
	bed_close(&b);
}

/* Slots come back though the sender never calls again. */
static void idle_reclaim(const char *engine)
{
	struct bed b = { .r = { .batch = 64, .tx_bufs = 64, .rx_bufs = 64 } };
	struct gw_queue_stats s = { 0 };

	bed_open(&b, engine);
	T_RC(gw_port_set_pause(b.gw, 1, true), 0);
	T_EQ(bed_send(&b, 0, 64, RIG_PORT), 64);
	T_EQ(bed_expect(&b, 0, 0, 64), 64);
	for (uint64_t end = bed_now() + SOON; s.tx_completions < 64 && bed_now() < end;)
		T_RC(gw_txq_stats(b.gw, 0, 0, &s), 0);
	T_EQ(s.tx_completions, 64);
	T_EQ(s.in_flight, 0);
	T_EQ(s.tx_bytes, 64 * (RIG_HDR + 64));
	bed_close(&b);
}

static void drain_times_out(const char *engine)
{
	struct bed b = { .r = { .batch = 1, .tx_bufs = 8, .rx_bufs = 4 } };
	struct gw_burst held[4];

	bed_open(&b, engine);
	T_RC(gw_port_set_pause(b.gw, 1, true), 0);
	T_EQ(bed_send(&b, 0, 6, RIG_PORT), 6);
	for (int i = 0; i < 4; i++)
		T_RC(bed_take(&b, 0, SOON, &held[i]), 1);
	T_RC(gw_tx_drain(b.gw, 0, 0, NEVER), -ETIMEDOUT);
	for (int i = 0; i < 4; i++)
		gw_burst_release(&held[i]);
	T_EQ(bed_expect(&b, 0, 4, 2), 2);
	T_RC(gw_tx_drain(b.gw, 0, 0, SOON), 0);
	bed_close(&b);
}

static void source_address(const char *engine)
{
	struct bed b = { .r = { .batch = 1, .src_mac = true } };
	uint8_t mac[6] = { 0 }, other[6] = { 0 };
	struct gw_burst burst;

	bed_open(&b, engine);
	T_RC(gw_port_mac(b.gw, 0, mac), 0);
	T_RC(gw_port_mac(b.gw, 1, other), 0);
	T_OK(memcmp(mac, other, 6) != 0);
	T_OK(!(mac[0] & 1));
	T_EQ(bed_send(&b, 0, 1, RIG_PORT), 1);
	T_RC(bed_take(&b, 0, SOON, &burst), 1);
	T_MEM((const uint8_t *)burst.seg_ptr[0][0] + 6, mac, 6);
	gw_burst_release(&burst);
	bed_close(&b);
}

static const struct conform_case cases[] = {
	{ "one reservation at a time", one_reservation },
	{ "submit in parts", in_parts },
	{ "cancel", cancel },
	{ "lengths refused", refused_lengths },
	{ "gather of two", gather },
	{ "gather and split at different bytes", gather_and_split },
	{ "lent memory", lent_memory },
	{ "header here, payload lent", lent_payload },
	{ "more slots than requests", more_slots_than_requests },
	{ "smallest frame", smallest_frame },
	{ "idle reclaim", idle_reclaim },
	{ "drain times out, then ends", drain_times_out },
	{ "source address offload", source_address },
	{ NULL, NULL },
};

const struct conform_list tx_list = { cases, &t__checks, &t__failed };
