/* tests/unit/nic/nic_steer.c: rules at work: queues, spreading, tags and tunnels on and off, flags, times.
 * Must not know queue formats. Next: tests/oracle/frames.py, which judges the bytes by scapy. */
#include "rig.h"

#include "wire/bytes.h"
#include "wire/checksum.h"

static struct gw__clock_manual clk;
static struct rig r;
static struct rig_q rx[4], tx;
static struct rig_rx o;
static const uint32_t size[1] = { 9216 }, two[2] = { 64, 9152 };

static void open_all(uint32_t n_rxq, uint32_t n_tx_segs, bool ts)
{
	rig_open(&r, &clk.base);
	for (uint32_t i = 0; i < n_rxq; i++)
		rig_rxq(&r, &rx[i], 0, (uint16_t)i, 256, 1, size, 0, ts);
	rig_txq(&r, &tx, 0, 0, 256, n_tx_segs, n_tx_segs == 1 ? size : two);
	T_RC(r.e->ops->start(r.e, NULL), 0);
}

static void close_all(uint32_t n_rxq)
{
	T_RC(tx.tx.pending(tx.tx.q), 0);
	rig_sums(&r, 0);
	r.e->ops->close(r.e);
	for (uint32_t i = 0; i < n_rxq; i++)
		rig_q_free(&rx[i]);
	rig_q_free(&tx);
}

static struct gw_flow_rule rule(uint32_t id, enum gw_action_type type, uint16_t queue)
{
	struct gw_flow_rule f = { .id = id, .n_actions = 1 };

	f.action[0].type = type;
	f.action[0].queue[0] = queue;
	f.action[0].n_queues = 1;
	return f;
}

static void add(const struct gw_flow_rule *f, int want)
{
	struct gw_diag d = { "" };

	T_RC(r.e->ops->flow_add(r.e, 0, f, &d), want);
	if (want)
		T_OK(d.text[0]);
}

/* Send bytes as they are. */
static void send_raw(const uint8_t *f, uint32_t len)
{
	uint32_t slot, l0 = len < 64 ? len : 64, l1 = len - l0;
	const uint32_t *sl[GW_MAX_SEGS] = { tx.slots.n_segs == 1 ? &len : &l0, &l1 };
	struct gw__tx_in in = { .slot = &slot, .seg_len = sl };

	T_NEED(tx.tx.reserve(tx.tx.q, &slot, 1) == 1);
	memcpy(tx.slots.seg[0].base + (size_t)slot * tx.slots.seg[0].stride, f, *sl[0]);
	if (tx.slots.n_segs == 2)
		memcpy(tx.slots.seg[1].base + (size_t)slot * tx.slots.seg[1].stride, f + l0, l1);
	T_RC(tx.tx.submit(tx.tx.q, &in, 0, 1), 1);
}

/* One frame of queue q into out; its length, or 0. */
static uint32_t get(uint32_t q, uint8_t *out)
{
	if (rig_recv(&rx[q], &o, 1) <= 0)
		return 0;
	rig_gather(&rx[q].slots, o.slot[0], o.len[0], out);
	rx[q].rx.release(rx[q].rx.q, o.slot, 1);
	return o.len[0];
}

static void order_and_run_time(void)
{
	struct gw_flow_rule drop = rule(3, GW_ACTION_DROP, 0), port = rule(2, GW_ACTION_QUEUE, 1);
	struct gw_flow_rule all = rule(1, GW_ACTION_QUEUE, 0), none = rule(4, GW_ACTION_QUEUE, 3);
	struct gw_port_stats s;

	rig_cfg(&r, "loopback", NULL);
	open_all(2, 1, false);
	rig_send(&tx, 1, 100, 1, 0); /* no rule at all */
	port.match.fields = drop.match.fields = GW_MATCH_UDP_DST;
	port.match.udp_dst_lo = 1000;
	port.match.udp_dst_hi = 1010;
	drop.match.udp_dst_lo = drop.match.udp_dst_hi = 7;
	add(&drop, 0);
	add(&port, 0);
	add(&all, 0);
	add(&port, -EEXIST);
	add(&none, -EINVAL);
	none.id = 1u << 24;
	none.action[0].queue[0] = 0;
	add(&none, -EINVAL);
	rig_send(&tx, 1, 100, 7, 1);
	for (uint16_t p = 999; p <= 1011; p++)
		rig_send(&tx, 1, 100, p, p);
	T_EQ(rig_recv(&rx[1], &o, 64), 11);
	T_EQ(o.flow[0], 2);
	T_EQ(rig_recv(&rx[0], &o, 64), 2);
	T_EQ(o.flow[0], 1);
	T_RC(r.e->ops->flow_del(r.e, 0, 2), 0);
	T_RC(r.e->ops->flow_del(r.e, 0, 2), -ENOENT);
	rig_send(&tx, 1, 100, 1005, 0);
	T_EQ(rig_recv(&rx[1], &o, 64), 0);
	T_EQ(rig_recv(&rx[0], &o, 64), 1);
	T_RC(r.e->ops->port_set(r.e, 0, GW__PORT_DROP_ALL, 1), 0);
	T_RC(r.e->ops->start(r.e, NULL), 0); /* a start does not open a gate that was shut by hand */
	rig_send(&tx, 1, 100, 1005, 0);
	T_RC(r.e->ops->port_stats(r.e, 0, &s), 0);
	T_EQ(s.rx_steer_miss, 1);
	T_EQ(s.rx_steer_drop, 2);
	close_all(2);
}

static void spread(void)
{
	struct gw_flow_rule f = rule(1, GW_ACTION_QUEUE, 0);
	uint32_t seen[4] = { 0 }, again[4] = { 0 };

	rig_cfg(&r, "loopback", NULL);
	open_all(4, 1, false);
	f.action[0].n_queues = 4;
	for (uint16_t q = 0; q < 4; q++)
		f.action[0].queue[q] = q;
	add(&f, 0);
	for (int pass = 0; pass < 2; pass++)
		for (uint32_t p = 0; p < 200; p++) {
			T_EQ(rig_send(&tx, 1, 100, (uint16_t)(p + 1), p), 1);
			for (uint32_t q = 0; q < 4; q++) {
				uint8_t buf[9216];

				if (get(q, buf))
					(pass ? again : seen)[q] += p * p; /* which ports went there */
			}
		}
	for (uint32_t q = 0; q < 4; q++) {
		T_OK(seen[q] > 0);
		T_EQ(seen[q], again[q]); /* a flow stays where it is */
	}
	close_all(4);
}

static void false_lengths(void)
{
	uint8_t f[2000] = { 0 };
	struct gw__udp_hdr h = { .ip_src = { 10, 0, 0, 1 }, .ip_dst = { 10, 0, 0, 2 }, .udp_dst = 4096 };
	struct gw_flow_rule all = rule(1, GW_ACTION_QUEUE, 0);
	struct gw_port_stats s;
	uint8_t got[9216];

	rig_cfg(&r, "loopback", NULL);
	open_all(1, 2, false);
	all.match.fields = GW_MATCH_UDP_DST;
	all.match.udp_dst_lo = all.match.udp_dst_hi = 4096;
	add(&all, 0);
	memset(f + 42, 0x5a, 1000);
	gw__build_udp4(f, &h, f + 42, 1000);
	send_raw(f, 1042); /* a true checksum, over two segments */
	T_EQ(get(0, got), 1042);
	T_EQ(o.flags[0], 0);
	f[500] ^= 1;
	send_raw(f, 1042);
	T_EQ(get(0, got), 1042);
	T_EQ(o.flags[0], GW_PKT_L4_BAD);
	f[500] ^= 1;
	f[16] = 0xff; /* the IPv4 length now counts packets: still steered by port, length is the frame's */
	send_raw(f, 1042);
	T_EQ(get(0, got), 1042);
	T_EQ(o.flags[0], GW_PKT_L3_BAD);
	T_MEM(got, f, 1042);
	f[14] = 0x4f; /* a header longer than the frame has */
	send_raw(f, 60);
	T_EQ(get(0, got), 0);
	f[14] = 0x45;
	f[12] = 0x12; /* not IP */
	all.match.fields = 0;
	all.id = 2;
	add(&all, 0);
	send_raw(f, 100);
	T_EQ(get(0, got), 100);
	T_EQ(o.flags[0], GW_PKT_L3_UNKNOWN | GW_PKT_L4_UNKNOWN);
	T_RC(r.e->ops->port_stats(r.e, 0, &s), 0);
	T_EQ(s.rx_l3_bad, 1);
	T_EQ(s.rx_l4_bad, 1);
	T_EQ(s.rx_steer_miss, 1);
	close_all(1);
}

static void too_long_or_short(void)
{
	static const uint32_t small[1] = { 256 };
	struct gw_flow_rule all = rule(1, GW_ACTION_QUEUE, 0);
	struct gw_port_stats s;
	uint32_t slot[1] = { 0 }, len[1] = { 13 };
	const uint32_t *sl[GW_MAX_SEGS] = { len };
	struct gw__tx_in in = { .slot = slot, .seg_len = sl };

	rig_cfg(&r, "loopback", NULL);
	rig_open(&r, &clk.base);
	rig_rxq(&r, &rx[0], 0, 0, 8, 1, small, 0, false);
	rig_txq(&r, &tx, 0, 0, 64, 1, size);
	T_RC(r.e->ops->start(r.e, NULL), 0);
	add(&all, 0);
	rig_send(&tx, 1, 257, 1, 0);
	rig_send(&tx, 1, 256, 1, 0);
	T_EQ(rig_recv(&rx[0], &o, 8), 1);
	T_NEED(tx.tx.reserve(tx.tx.q, slot, 1) == 1);
	T_RC(tx.tx.submit(tx.tx.q, &in, 0, 1), -EMSGSIZE);
	len[0] = 9217;
	T_RC(tx.tx.submit(tx.tx.q, &in, 0, 1), -EMSGSIZE);
	tx.tx.cancel(tx.tx.q, slot, 1);
	T_RC(r.e->ops->port_stats(r.e, 0, &s), 0);
	T_EQ(s.rx_errors, 1);
	T_EQ(s.rx_packets, 1);
	close_all(1);
}

/* What a tx flow puts on, an rx flow takes off: the same frame, and the wire's form is checked by the oracle. */
static void round_trip(struct gw_action put, struct gw_action off, uint32_t grows)
{
	static const uint32_t lens[3] = { 60, 1000, 9000 };
	struct gw_flow_rule in = rule(5, GW_ACTION_QUEUE, 0), plain = rule(6, GW_ACTION_QUEUE, 1);
	uint8_t got[9216];

	for (uint32_t segs = 1; segs <= 2; segs++) {
		rig_cfg(&r, "loopback", NULL);
		r.port[0].n_tx_flow = 1;
		r.port[0].tx_flow[0] = (struct gw_flow_rule){ .id = 77, .n_actions = 1 };
		r.port[0].tx_flow[0].action[0] = put;
		open_all(2, segs, false);
		in.action[1] = in.action[0];
		in.action[0] = off;
		in.n_actions = 2;
		for (uint32_t pass = 0; pass < 2; pass++) {
			for (uint32_t i = 0; i < 3; i++) {
				uint32_t q = pass ? 0 : 1;

				if (!pass && !i)
					add(&plain, 0);
				rig_send(&tx, 1, lens[i], 4096, i);
				T_EQ(get(q, got), lens[i] + (pass ? 0 : grows));
				T_EQ(o.flags[0] & (GW_PKT_L3_BAD | GW_PKT_L4_BAD), 0);
				if (pass)
					T_OK(rig_right(&rx[0].slots, o.slot[0], lens[i], i));
			}
			T_RC(r.e->ops->flow_del(r.e, 0, 6), pass ? -ENOENT : 0);
			if (!pass)
				add(&in, 0);
		}
		close_all(2);
		in.action[0] = in.action[1];
	}
}

static struct gw_action tunnel(enum gw_action_type type, enum gw_tunnel t)
{
	struct gw_action a = { .type = type };

	a.tunnel.type = t;
	a.tunnel.ttl = 64;
	a.tunnel.udp_dst = 4789;
	a.tunnel.vni = 0xabcdef;
	a.tunnel.gre_protocol = 0x0800;
	a.tunnel.eth_src[0] = 2;
	a.tunnel.eth_dst[5] = 9;
	a.tunnel.ipv4_src[0] = 192;
	a.tunnel.ipv4_dst[0] = 193;
	return a;
}

static void tags_and_tunnels(void)
{
	struct gw_action push = { .type = GW_ACTION_VLAN_PUSH }, pop = { .type = GW_ACTION_VLAN_POP };
	struct gw_flow_rule all = rule(1, GW_ACTION_QUEUE, 0), bad = rule(9, GW_ACTION_VLAN_PUSH, 0);
	struct gw_action teb = tunnel(GW_ACTION_ENCAP, GW_TUNNEL_GRE), unteb = tunnel(GW_ACTION_DECAP, GW_TUNNEL_GRE);
	uint8_t f[200] = { 0 }, got[9216];

	push.vlan.id = 0; /* a priority tag */
	push.vlan.pcp = 5;
	push.vlan.ethertype = 0x88a8;
	round_trip(push, pop, 4);
	push.vlan.id = 4095;
	push.vlan.ethertype = 0x8100;
	round_trip(push, pop, 4);
	round_trip(tunnel(GW_ACTION_ENCAP, GW_TUNNEL_VXLAN), tunnel(GW_ACTION_DECAP, GW_TUNNEL_VXLAN), 50);
	round_trip(tunnel(GW_ACTION_ENCAP, GW_TUNNEL_NVGRE), tunnel(GW_ACTION_DECAP, GW_TUNNEL_NVGRE), 42);
	teb.tunnel.gre_protocol = unteb.tunnel.gre_protocol = 0x6558;
	round_trip(teb, unteb, 38);
	/* a frame that is no such tunnel passes the rule by; an untagged one keeps its bytes */
	rig_cfg(&r, "loopback", NULL);
	open_all(2, 1, false);
	all.action[1] = all.action[0];
	all.action[0] = tunnel(GW_ACTION_DECAP, GW_TUNNEL_VXLAN);
	all.n_actions = 2;
	add(&all, 0);
	all.id = 2;
	all.action[0] = pop;
	all.action[1].queue[0] = 1;
	add(&all, 0);
	bad.n_actions = 2;
	bad.action[1] = all.action[1];
	add(&bad, -EINVAL);
	rig_send(&tx, 1, 100, 4789, 0);
	T_EQ(get(0, got), 0);
	T_EQ(get(1, got), 100);
	T_EQ(o.flow[0], 2);
	f[12] = 0x81; /* an empty tagged frame: 18 bytes, 14 after the pop */
	send_raw(f, 18);
	T_EQ(get(1, got), 14);
	send_raw(f, 17); /* 13 would be left: a runt */
	T_EQ(get(1, got), 0);
	close_all(2);
}

static void gre_over_ip(void)
{
	struct gw_action put = tunnel(GW_ACTION_ENCAP, GW_TUNNEL_GRE);
	struct gw_flow_rule plain = rule(1, GW_ACTION_QUEUE, 0);
	struct gw_flow_rule off = rule(2, GW_ACTION_QUEUE, 0);
	uint8_t got[9216];

	rig_cfg(&r, "loopback", NULL);
	r.port[0].n_tx_flow = 1;
	r.port[0].tx_flow[0] = (struct gw_flow_rule){ .id = 77, .n_actions = 1 };
	r.port[0].tx_flow[0].action[0] = put;
	open_all(1, 2, false);
	add(&plain, 0);
	rig_send(&tx, 1, 500, 4096, 3);
	T_EQ(get(0, got), 500 - 14 + 38);
	T_EQ(gw__be16(got + 36), 0x0800);
	T_EQ(got[38], 0x45);
	T_RC(r.e->ops->flow_del(r.e, 0, 1), 0);
	off.action[1] = off.action[0];
	off.action[0] = tunnel(GW_ACTION_DECAP, GW_TUNNEL_GRE);
	off.n_actions = 2;
	add(&off, 0);
	rig_send(&tx, 1, 500, 4096, 3);
	T_EQ(get(0, got), 500);
	T_EQ(got[5], 9); /* the outer addresses */
	T_OK(rig_right(&rx[0].slots, o.slot[0], 500, 3));
	close_all(1);
}

static void pacing(void)
{
	struct gw__queue_params p = { .pacing_bps = 8000000 }; /* 1 byte a microsecond */
	struct gw_flow_rule all = rule(1, GW_ACTION_QUEUE, 0);

	rig_cfg(&r, "loopback", NULL);
	rig_open(&r, &clk.base);
	rig_rxq(&r, &rx[0], 0, 0, 64, 1, size, 0, false);
	rig_slots(&tx.slots, 64, 1, size);
	p.slots = tx.slots;
	T_NEED(!gw__event_init(&tx.event));
	T_NEED(!r.e->ops->txq_open(r.e, &p, &tx.event, &tx.tx, NULL));
	T_RC(r.e->ops->start(r.e, NULL), 0);
	add(&all, 0);
	T_EQ(rig_send(&tx, 10, 1000, 1, 0), 10);
	T_EQ(rig_recv(&rx[0], &o, 64), 1); /* the slack is less than one frame */
	T_OK(!tx.tx.arm(tx.tx.q));
	for (int i = 0; i < 9; i++) {
		uint64_t due = tx.tx.due_ns(tx.tx.q), now = gw__now_ns(&clk.base);

		T_OK(due > now && due <= now + 1000000);
		T_OK(!rx[0].rx.arm(rx[0].rx.q));
		T_EQ(rx[0].rx.due_ns(rx[0].rx.q), due); /* a receiver over a cable may move them too */
		gw__clock_manual_advance(&clk, due - now - 1);
		T_EQ(rig_recv(&rx[0], &o, 64), 0);
		gw__clock_manual_advance(&clk, 1);
		T_EQ(rig_recv(&rx[0], &o, 64), 1);
		tx.tx.arm(tx.tx.q);
	}
	T_OK(tx.tx.due_ns(tx.tx.q) == UINT64_MAX);
	close_all(1);
}

static void scheduled(void)
{
	struct gw__queue_params p = { .scheduled = true };
	struct gw_flow_rule all = rule(1, GW_ACTION_QUEUE, 0);
	uint64_t t0 = gw__now_ns(&clk.base), when[4] = { 0, t0 + 2000000000u, t0 + 1000, 0 };
	uint32_t slot[4], len[4] = { 100, 100, 100, 100 }, seg[GW_MAX_SEGS];
	const uint32_t *sl[GW_MAX_SEGS] = { len };
	struct gw__tx_in in = { .slot = slot, .seg_len = sl, .tx_time_ns = when };

	rig_cfg(&r, "loopback", NULL);
	rig_open(&r, &clk.base);
	rig_rxq(&r, &rx[0], 0, 0, 64, 1, size, 0, true);
	rig_slots(&tx.slots, 4, 1, size);
	p.slots = tx.slots;
	T_NEED(!gw__event_init(&tx.event));
	T_NEED(!r.e->ops->txq_open(r.e, &p, &tx.event, &tx.tx, NULL));
	T_RC(r.e->ops->start(r.e, NULL), 0);
	add(&all, 0);
	T_NEED(tx.tx.reserve(tx.tx.q, slot, 4) == 4);
	for (uint32_t i = 0; i < 4; i++)
		rig_fill(&tx.slots, slot[i], 100, 1, i, seg);
	T_RC(tx.tx.submit(tx.tx.q, &in, 0, 4), 4);
	T_EQ(rig_recv(&rx[0], &o, 64), 1);
	T_EQ(o.ts[0], t0);
	T_RC(tx.tx.pending(tx.tx.q), 4); /* the last one asks for the completion */
	tx.tx.arm(tx.tx.q);
	T_EQ(tx.tx.due_ns(tx.tx.q), when[1]);
	gw__clock_manual_advance(&clk, 1999999999);
	T_EQ(rig_recv(&rx[0], &o, 64), 0);
	gw__clock_manual_advance(&clk, 1);
	T_EQ(rig_recv(&rx[0], &o, 64), 3);
	T_EQ(o.ts[0], when[1]);
	for (uint32_t i = 0; i < 3; i++)
		T_OK(rig_right(&rx[0].slots, o.slot[i], 100, i + 1));
	close_all(1);
}

int main(void)
{
	gw__clock_manual_init(&clk, 1700000000123456789ull);
	order_and_run_time();
	spread();
	false_lengths();
	too_long_or_short();
	tags_and_tunnels();
	gre_over_ip();
	pacing();
	scheduled();
	T_DONE();
}
