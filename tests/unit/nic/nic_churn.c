/* tests/unit/nic/nic_churn.c: rules, pause, gate, counters and further queues changed by one thread while two others
 * send and receive, or, with the port's own threads, many carry. Nothing is lost uncounted, nobody hangs. For the
 * thread sanitizer above all. nic_churn [SENDER'S ADDRESS RECEIVER'S]
 * Must not know queue formats. Next: nic_wait.c. */
#include "rig.h"
#include "wire/bytes.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

static struct rig r;
static struct rig_q rx, tx, more[8];
static _Atomic int stop;
static _Atomic uint32_t n_sent, n_got, n_bad;

static void *sender(void *arg)
{
	uint32_t seq = 0;

	while (!stop) {
		seq += rig_send(&tx, 1 + seq % 80, 100 + seq % 500, (uint16_t)(4096 + seq % 3), seq);
		n_sent = seq;
	}
	return NULL;
}

static void *receiver(void *arg)
{
	static struct rig_rx o;

	while (stop < 2) {
		int n = rig_recv(&rx, &o, 100);

		for (int i = 0; i < n; i++) {
			uint32_t seq;
			uint8_t f[2048];

			rig_gather(&rx.slots, o.slot[i], o.len[i], f);
			memcpy(&seq, f + GW_UDP4_HDR, 4);
			n_bad += !rig_right(&rx.slots, o.slot[i], o.len[i], seq);
			n_bad += gw__be16(f + 16) + 14u != o.len[i];
		}
		if (n > 0)
			rx.rx.release(rx.rx.q, o.slot, (uint32_t)n);
		n_got += n > 0 ? (uint32_t)n : 0;
	}
	return NULL;
}

static struct gw_flow_rule rule(uint32_t id, uint16_t port, enum gw_action_type type)
{
	struct gw_flow_rule f = { .id = id, .n_actions = 2 };

	f.match.fields = port ? GW_MATCH_UDP_DST : 0;
	f.match.udp_dst_lo = f.match.udp_dst_hi = port;
	f.action[0].type = GW_ACTION_VLAN_POP;
	f.action[1].type = type;
	f.action[1].n_queues = 1;
	return f;
}

static void churn(uint32_t i)
{
	struct gw_flow_rule q = rule(100 + i % 7, (uint16_t)(4096 + i % 4), i % 3 ? GW_ACTION_QUEUE : GW_ACTION_DROP);
	struct gw_port_stats s;

	(void)r.e->ops->flow_del(r.e, 1, 100 + (i + 3) % 7);
	(void)r.e->ops->flow_add(r.e, 1, &q, NULL);
	T_RC(r.e->ops->port_set(r.e, 1, GW__PORT_PAUSE, i % 2), 0);
	T_RC(r.e->ops->port_set(r.e, 1, GW__PORT_DROP_ALL, i % 16 == 5), 0);
	T_RC(r.e->ops->port_stats(r.e, 1, &s), 0);
	if (i % 32 == 0 && i / 32 < 8) { /* a queue that joins late */
		static const uint32_t size[1] = { 256 };
		struct gw__queue_params p = { .port = 1, .id = (uint16_t)(1 + i / 32) };

		rig_slots(&more[i / 32].slots, 16, 1, size);
		p.slots = more[i / 32].slots;
		T_RC(r.e->ops->rxq_open(r.e, &p, NULL, &more[i / 32].rx, NULL), 0);
	}
	usleep(200);
}

int main(int argc, char **argv)
{
	static const uint32_t size[1] = { 2048 };
	struct gw_flow_rule all = rule(1, 0, GW_ACTION_QUEUE);
	struct gw_port_stats s;
	pthread_t t[2];

	rig_cfg(&r, argc > 2 ? argv[1] : "cable:0", argc > 2 ? argv[2] : "impair:loss=1%,dup=1%,swap=1%,seed=3:cable:0");
	rig_open(&r, gw__clock_monotonic());
	rig_rxq(&r, &rx, 1, 0, 256, 1, size, 0, false);
	rig_txq(&r, &tx, 0, 0, 128, 1, size);
	T_RC(r.e->ops->flow_add(r.e, 1, &all, NULL), 0);
	T_RC(r.e->ops->start(r.e, NULL), 0);
	T_NEED(!pthread_create(&t[0], NULL, sender, NULL) && !pthread_create(&t[1], NULL, receiver, NULL));
	for (uint32_t i = 0; i < 1000 || (n_got < 1000 && i < 20000); i++)
		churn(i);
	T_RC(r.e->ops->port_set(r.e, 1, GW__PORT_DROP_ALL, 0), 0);
	T_RC(r.e->ops->port_set(r.e, 1, GW__PORT_PAUSE, 0), 0);
	stop = 1;
	pthread_join(t[0], NULL);
	for (int i = 0; i < 10000 && tx.tx.pending(tx.tx.q) > 0; i++)
		usleep(100);
	T_RC(tx.tx.pending(tx.tx.q), 0);
	usleep(5000); /* the last frame may wait for one to swap with */
	do {
		T_RC(r.e->ops->port_stats(r.e, 1, &s), 0);
		usleep(1000);
	} while (n_got < s.rx_packets);
	stop = 2;
	pthread_join(t[1], NULL);
	rig_sums(&r, 1);
	T_EQ(s.rx_packets, n_got);
	T_EQ(n_bad, 0);
	T_RC(r.e->ops->port_stats(r.e, 0, &s), 0);
	T_EQ(s.tx_packets, n_sent);
	r.e->ops->close(r.e);
	rig_q_free(&rx);
	rig_q_free(&tx);
	for (int i = 0; i < 8; i++)
		rig_slots_free(&more[i].slots);
	T_DONE();
}
