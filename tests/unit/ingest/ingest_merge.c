/* Queues merged by number: however unevenly a hash spread the packets, and however many waited when the receiver
 * first looked, windows are whole and in order. Packets of another flow pass between them; numbers wrap. */
#include "rig_step.h"

#define PPB 16u
#define N 640u /* more than two windows wait in the busy queue */

/* Everything sent before the receiver looks once. */
static void uneven(const char *engine, uint32_t seq_bits, uint64_t from)
{
	struct hand h = { .r = { .ppb = PPB, .payload = 32, .n_rxq = 3, .rss = true, .rx_bufs = 3 * 1024, .tx_bufs = 1024,
				 .out_bufs = N / PPB, .seq_bits = seq_bits, .rx_hdr = from ? RIG_HDR : 0 } };
	struct gw_reorder_stats st;
	struct gw_queue_stats q;
	struct gw_diag d = { "" };

	hand_open(&h, engine);
	for (uint64_t i = from; i < from + N; i++)
		T_EQ(rig_send(h.gw, &h.r, i, (uint16_t)(RIG_PORT + (i % 20 ? 0 : i / 20 % 31))), 1);
	T_EQ(gw_tx_drain(h.gw, 0, 0, 0), 0);
	hand_settle(&h);
	T_RC(gw_reorder_stats(h.gw, "plan", &st), 0);
	T_EQ(h.full, N / PPB);
	T_EQ(h.bad, 0);
	T_EQ(st.late_packets + st.stale_packets + st.duplicate_packets + st.windows_incomplete, 0);
	T_EQ(st.placed_packets, N);
	T_RC(gw_rxq_stats(h.gw, 1, 0, &q), 0);
	T_EQ(q.rx_packets, N);
	T_RC(gw_stats_check(h.gw, &d), 0);
	hand_close(&h);
}

int main(void)
{
	for (int e = 0; hand_engines[e]; e++) {
		if (!hand_has(hand_engines[e]))
			continue;
		uneven(hand_engines[e], 32, 0);
		uneven(hand_engines[e], 16, 65536 - N / 2); /* numbers wrap half-way; header and payload apart */
	}
	T_EQ(gw__alloc_live(), 0);
	T_DONE();
}
