/* tests/unit/nic/nic_paused.c: while senders are held back few slots are on offer, and the ones given back last come
 * first; no frame is lost for it, and afterwards every slot is on offer again.
 * Must not know queue formats. Next: ingest/engines/nic/rxq.c. */
#include "rig.h"

#define SLOTS 4096u
#define LEN 64u
#define PORT 4096u

static struct rig r;
static struct rig_q rx, tx;

static uint64_t missed(void)
{
	struct gw_port_stats s;

	T_RC(r.e->ops->port_stats(r.e, 1, &s), 0);
	return s.rx_missed;
}

/* Everything that waits; returns how many, their slots marked. */
static uint32_t receive(bool *used, uint32_t *seq)
{
	static struct rig_rx o;
	uint32_t got = 0;
	int n;

	while ((n = rig_recv(&rx, &o, 256)) > 0 || n == -EAGAIN) {
		for (int i = 0; i < n; i++) {
			T_OK(rig_right(&rx.slots, o.slot[i], o.len[i], (*seq)++));
			used[o.slot[i]] = true;
		}
		if (n > 0)
			rx.rx.release(rx.rx.q, o.slot, (uint32_t)n);
		got += n > 0 ? (uint32_t)n : 0;
	}
	T_RC(n, 0);
	return got;
}

static void paused(uint32_t *sent, uint32_t *seq)
{
	static bool used[SLOTS];
	uint32_t n = 0, first = *sent;

	T_RC(r.e->ops->port_set(r.e, 1, GW__PORT_PAUSE, 1), 0);
	for (uint32_t i = 0; i < 2 * SLOTS / 128; i++) { /* what was posted before goes first */
		*sent += rig_send(&tx, 128, LEN, PORT, *sent);
		receive(used, seq);
	}
	T_EQ(*sent - first, 2 * SLOTS);
	memset(used, 0, sizeof(used));
	for (uint32_t i = 0; i < 2 * SLOTS / 128; i++) {
		*sent += rig_send(&tx, 128, LEN, PORT, *sent);
		receive(used, seq);
	}
	for (uint32_t i = 0; i < SLOTS; i++)
		n += used[i];
	T_OK(n >= rx.rx.paused_depth && n <= rx.rx.paused_depth + 128);
}

/* Nobody takes: what is on offer is filled, the rest waits at the sender. */
static void held(uint32_t *sent, uint32_t *seq)
{
	static bool used[SLOTS];
	uint32_t n = 0, k;

	while ((k = rig_send(&tx, 128, LEN, PORT, *sent)) > 0) {
		*sent += k;
		n += k;
	}
	T_EQ(n, rx.rx.paused_depth + 512); /* and the sender's own slots */
	T_EQ(receive(used, seq), n);
	T_EQ(missed(), 0);
}

/* No longer held back: every slot takes a frame once the owner looked, and not one more. */
static void released(uint32_t *sent, uint32_t *seq)
{
	static bool used[SLOTS];

	T_RC(r.e->ops->port_set(r.e, 1, GW__PORT_PAUSE, 0), 0);
	T_EQ(receive(used, seq), 0);
	for (uint32_t i = 0; i < SLOTS / 128; i++)
		*sent += rig_send(&tx, 128, LEN, PORT, *sent);
	T_EQ(missed(), 0);
	T_EQ(rig_send(&tx, 1, LEN, PORT, *sent), 1);
	T_EQ(missed(), 1);
	T_EQ(receive(used, seq), SLOTS);
	T_EQ(*seq, *sent);
}

int main(void)
{
	static const uint32_t size[1] = { 2048 };
	uint32_t sent = 0, seq = 0;

	rig_cfg(&r, "cable:0", "cable:0");
	rig_open(&r, gw__clock_monotonic());
	rig_rxq(&r, &rx, 1, 0, SLOTS, 1, size, 0, false);
	rig_txq(&r, &tx, 0, 0, 512, 1, size);
	rig_flow(&r, 1, 1, 0, 0);
	T_RC(r.e->ops->start(r.e, NULL), 0);
	T_OK(rx.rx.paused_depth < SLOTS / 2);
	paused(&sent, &seq);
	held(&sent, &seq);
	released(&sent, &seq);
	rig_sums(&r, 1);
	r.e->ops->close(r.e);
	rig_q_free(&rx);
	rig_q_free(&tx);
	T_DONE();
}
