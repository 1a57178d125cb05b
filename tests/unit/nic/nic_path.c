/* tests/unit/nic/nic_path.c: frames through engine nic over a cable: every byte, every counter.
 * Must not know queue formats. Next: nic_queue.c, which does. */
#include <unistd.h>

#include "rig.h"

static void run(const char *a0, const char *a1, uint32_t n_rx_segs, uint32_t n_tx_segs, uint32_t len, bool ts)
{
	static const uint32_t one[1] = { 9216 }, two[2] = { 64, 9152 }, three[3] = { 42, 22, 9152 };
	const uint32_t *rx_size = n_rx_segs == 1 ? one : n_rx_segs == 2 ? two : three;
	const uint32_t *tx_size = n_tx_segs == 1 ? one : n_tx_segs == 2 ? two : three;
	struct gw__clock_manual clock;
	struct rig r;
	struct rig_q rx, tx;
	struct rig_rx o;
	uint32_t sent = 0, got = 0;
	struct gw_port_stats s;
	int n;

	gw__clock_manual_init(&clock, 1000);
	rig_cfg(&r, a0, a1);
	rig_open(&r, &clock.base);
	rig_rxq(&r, &rx, a1 ? 1 : 0, 0, 100, n_rx_segs, rx_size, 0, ts);
	rig_txq(&r, &tx, 0, 0, 200, n_tx_segs, tx_size);
	rig_flow(&r, a1 ? 1 : 0, 7, 4096, 0);
	T_RC(r.e->ops->start(r.e, NULL), 0);
	T_RC(r.e->ops->port_set(r.e, a1 ? 1 : 0, GW__PORT_PAUSE, 1), 0);
	while (got < 3000) {
		gw__clock_manual_advance(&clock, 10);
		if (sent < 3000)
			sent += rig_send(&tx, 1 + sent % 150 < 3000 - sent ? 1 + sent % 150 : 3000 - sent, len, 4096,
					 sent);
		n = rig_recv(&rx, &o, 1 + got % 70);
		T_NEED(n >= 0 || n == -EAGAIN);
		for (int i = 0; i < n; i++) {
			T_EQ(o.len[i], len);
			T_EQ(o.flow[i], 7);
			T_EQ(o.flags[i], 0);
			T_EQ(o.lost[i], 0);
			T_OK(!ts || (o.ts[i] > 1000 && o.ts[i] <= gw__now_ns(&clock.base)));
			T_NEED(rig_right(&rx.slots, o.slot[i], len, got + (uint32_t)i));
		}
		for (int i = n - 1; i >= 0; i--) /* backwards: any order is fine */
			rx.rx.release(rx.rx.q, &o.slot[i], 1);
		got += n > 0 ? (uint32_t)n : 0;
	}
	T_RC(tx.tx.pending(tx.tx.q), 0);
	do /* a thread of the port's own may be inside for a moment */
		n = rig_recv(&rx, &o, 64);
	while (n == -EAGAIN);
	T_EQ(n, 0);
	rig_sums(&r, a1 ? 1 : 0);
	T_RC(r.e->ops->port_stats(r.e, a1 ? 1 : 0, &s), 0);
	T_EQ(s.rx_packets, 3000);
	T_EQ(s.rx_missed, 0);
	r.e->ops->stop(r.e);
	r.e->ops->close(r.e);
	rig_q_free(&rx);
	rig_q_free(&tx);
}

/* What one port writes to a capture, another plays back: held back while it has no slot, or counted as missed. */
static void over_a_file(bool hold)
{
	static const uint32_t size[1] = { 2048 };
	char path[64], in[96], out[96];
	struct rig w, r;
	struct rig_q tx, rx;
	struct rig_rx o;
	struct gw_port_stats s;
	uint32_t got = 0;
	int n;

	snprintf(path, sizeof(path), "/tmp/gpuwire-path-%d.pcap", getpid());
	snprintf(out, sizeof(out), "pcap-out:%s", path);
	snprintf(in, sizeof(in), "pcap:%s", path);
	rig_cfg(&w, out, NULL);
	rig_open(&w, gw__clock_monotonic());
	rig_txq(&w, &tx, 0, 0, 64, 1, size);
	T_RC(w.e->ops->start(w.e, NULL), 0);
	for (uint32_t i = 0; i < 500; i++)
		T_EQ(rig_send(&tx, 1, 60 + i, 4096, i), 1);
	T_RC(tx.tx.pending(tx.tx.q), 0);
	w.e->ops->close(w.e);
	rig_q_free(&tx);
	rig_cfg(&r, in, NULL);
	rig_open(&r, gw__clock_monotonic());
	rig_rxq(&r, &rx, 0, 0, 50, 1, size, 0, false);
	rig_txq(&r, &tx, 0, 0, 64, 1, size);
	rig_flow(&r, 0, 1, 0, 0);
	T_RC(r.e->ops->start(r.e, NULL), 0);
	T_RC(r.e->ops->port_set(r.e, 0, GW__PORT_PAUSE, hold), 0);
	while ((n = rig_recv(&rx, &o, 30)) > 0) {
		uint32_t last = got;

		for (int i = 0; i < n; i++, got++) {
			uint32_t seq = o.len[i] - 60;

			T_OK(rig_right(&rx.slots, o.slot[i], o.len[i], seq) && (seq == last || !hold));
			T_EQ(o.lost[i], hold ? 0 : seq - last); /* in stream order */
			last = seq + 1;
		}
		rx.rx.release(rx.rx.q, o.slot, (uint32_t)n);
		if (!hold)
			break;
	}
	T_RC(r.e->ops->port_stats(r.e, 0, &s), 0);
	T_EQ(s.rx_wire_packets, hold ? 500 : 256); /* one turn of the NIC takes 256 frames */
	T_EQ(s.rx_missed, hold ? 0 : 256 - 32);    /* 50 slots make a ring of 32 */
	T_EQ(got, hold ? 500 : 30);
	T_EQ(rig_send(&tx, 1, 100, 1, 0), 1); /* a replay takes nothing: dropped and counted */
	T_RC(tx.tx.pending(tx.tx.q), 0);
	T_RC(r.e->ops->port_stats(r.e, 0, &s), 0);
	T_EQ(s.tx_dropped, 1);
	rig_sums(&r, 0);
	r.e->ops->close(r.e);
	rig_q_free(&rx);
	rig_q_free(&tx);
	unlink(path);
}

int main(void)
{
	static const uint32_t lens[] = { 60, 64, 65, 128, 1064, 1240, 9000 };

	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		run("cable:0", "cable:0", 1, 1, lens[i], false);
		run("cable:0", "cable:0", 2, 1, lens[i], false);
		run("cable:0?by=receiver", "cable:0", 2, 2, lens[i], false);
		run("cable:0?by=thread", "cable:0", 2, 2, lens[i], false);
		run("cable:0?by=threads:3", "cable:0", 1, 2, lens[i], false);
		run("cable:0?by=threads:7", "cable:0", 2, 2, lens[i], false);
		run("loopback", NULL, 2, 2, lens[i], false);
		run("loopback", "loopback", 3, 3, lens[i], true);
		run("loopback", NULL, 1, 3, lens[i], true);
	}
	over_a_file(true);
	over_a_file(false);
	T_DONE();
}
