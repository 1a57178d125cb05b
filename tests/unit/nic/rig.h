/* tests/unit/nic/rig.h: engine nic without ingest: a configuration by hand, queues with plain memory.
 * Must not know YAML. Next: ingest/engine.h. */
#ifndef GW_TESTS_NIC_RIG_H
#define GW_TESTS_NIC_RIG_H

#include "ingest/engines/nic/nic_engine.h"
#include "wire/build.h"

#include "t.h"

struct rig_q {
	struct gw__slots slots;
	struct gw__event event;
	struct gw__rxq rx;
	struct gw__txq tx;
};

struct rig {
	struct gw_cfg cfg;
	struct gw_cfg_port port[2];
	struct gw__engine *e;
};

/* The engine reads its configuration through this; here the handle is the struct itself. */
const struct gw_cfg *gw__config(const struct gw_config *cfg)
{
	return (const struct gw_cfg *)(const void *)cfg;
}

static inline void rig_cfg(struct rig *r, const char *a0, const char *a1)
{
	memset(r, 0, sizeof(*r));
	r->cfg.port = r->port;
	r->cfg.n_ports = a1 ? 2 : 1;
	r->cfg.loopback = GW_LOOPBACK_SW;
	snprintf(r->port[0].name, sizeof(r->port[0].name), "p0");
	snprintf(r->port[1].name, sizeof(r->port[1].name), "p1");
	snprintf(r->port[0].address, sizeof(r->port[0].address), "%s", a0);
	snprintf(r->port[1].address, sizeof(r->port[1].address), "%s", a1 ? a1 : "");
}

static inline void rig_open(struct rig *r, struct gw__clock *clock)
{
	struct gw_diag d = { "" };
	const struct gw_config *cfg = (const struct gw_config *)(const void *)&r->cfg;
	int err = gw__engine_nic.check(cfg, &d);

	if (!err)
		err = gw__engine_nic.open(cfg, clock, &r->e, &d);
	if (err)
		fprintf(stderr, "%s\n", d.text);
	T_NEED(!err);
}

static inline void rig_slots(struct gw__slots *s, uint32_t n_slots, uint32_t n_segs, const uint32_t *size)
{
	memset(s, 0, sizeof(*s));
	s->n_slots = n_slots;
	s->n_segs = n_segs;
	for (uint32_t i = 0; i < n_segs; i++) {
		s->seg[i].size = size[i];
		s->seg[i].stride = (size[i] + 127) & ~127u;
		s->seg[i].base = aligned_alloc(4096, ((size_t)s->seg[i].stride * n_slots + 4095) & ~4095ul);
		memset(s->seg[i].base, 0, (size_t)s->seg[i].stride * n_slots);
		s->seg[i].host = s->seg[i].base;
	}
}

static inline void rig_slots_free(struct gw__slots *s)
{
	for (uint32_t i = 0; i < s->n_segs; i++)
		free(s->seg[i].base);
}

static inline void rig_rxq(struct rig *r, struct rig_q *q, uint16_t port, uint16_t id, uint32_t n_slots,
			   uint32_t n_segs, const uint32_t *size, uint32_t depth, bool ts)
{
	struct gw__queue_params p = { .port = port, .id = id, .ring_depth = depth, .timestamps = ts };

	rig_slots(&q->slots, n_slots, n_segs, size);
	p.slots = q->slots;
	T_NEED(!gw__event_init(&q->event));
	T_NEED(!r->e->ops->rxq_open(r->e, &p, &q->event, &q->rx, NULL));
}

static inline void rig_txq(struct rig *r, struct rig_q *q, uint16_t port, uint16_t id, uint32_t n_slots,
			   uint32_t n_segs, const uint32_t *size)
{
	struct gw__queue_params p = { .port = port, .id = id };

	rig_slots(&q->slots, n_slots, n_segs, size);
	p.slots = q->slots;
	T_NEED(!gw__event_init(&q->event));
	T_NEED(!r->e->ops->txq_open(r->e, &p, &q->event, &q->tx, NULL));
}

static inline void rig_q_free(struct rig_q *q)
{
	gw__event_fini(&q->event);
	rig_slots_free(&q->slots);
}

/* Catch-all (udp_dst 0) or one UDP port to one queue. */
static inline void rig_flow(struct rig *r, uint16_t port, uint32_t id, uint16_t udp_dst, uint16_t queue)
{
	struct gw_flow_rule f = { .id = id, .n_actions = 1 };

	f.action[0].type = GW_ACTION_QUEUE;
	f.action[0].queue[0] = queue;
	f.action[0].n_queues = 1;
	if (udp_dst) {
		f.match.fields = GW_MATCH_UDP_DST;
		f.match.udp_dst_lo = f.match.udp_dst_hi = udp_dst;
	}
	T_NEED(!r->e->ops->flow_add(r->e, port, &f, NULL));
}

/* A UDP frame of len bytes whose payload starts with seq; spread over the slot's segments. */
static inline void rig_fill(const struct gw__slots *s, uint32_t slot, uint32_t len, uint16_t udp_dst, uint32_t seq,
			    uint32_t seg_len[GW_MAX_SEGS])
{
	uint8_t f[16384];
	struct gw__udp_hdr h = { .eth_dst = { 2, 0, 0, 0, 0, 1 }, .eth_src = { 2, 0, 0, 0, 0, 2 },
				 .ip_src = { 10, 0, 0, 1 }, .ip_dst = { 10, 0, 0, 2 }, .udp_src = 4096,
				 .udp_dst = udp_dst };
	uint32_t at = 0;

	gw__build_udp4(f, &h, NULL, len - GW_UDP4_HDR);
	for (uint32_t i = GW_UDP4_HDR; i < len; i++)
		f[i] = (uint8_t)(seq * 31 + i);
	memcpy(f + GW_UDP4_HDR, &seq, len - GW_UDP4_HDR < 4 ? len - GW_UDP4_HDR : 4);
	for (uint32_t i = 0; i < s->n_segs; i++) {
		uint32_t k = len - at < s->seg[i].size ? len - at : s->seg[i].size;

		memcpy(s->seg[i].base + (size_t)slot * s->seg[i].stride, f + at, k);
		seg_len[i] = k;
		at += k;
	}
}

/* The received frame in one piece. */
static inline void rig_gather(const struct gw__slots *s, uint32_t slot, uint32_t len, uint8_t *out)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < s->n_segs && at < len; i++) {
		uint32_t k = len - at < s->seg[i].size ? len - at : s->seg[i].size;

		memcpy(out + at, s->seg[i].base + (size_t)slot * s->seg[i].stride, k);
		at += k;
	}
}

static inline bool rig_right(const struct gw__slots *s, uint32_t slot, uint32_t len, uint32_t seq)
{
	uint8_t f[16384];
	uint32_t got;

	rig_gather(s, slot, len, f);
	memcpy(&got, f + GW_UDP4_HDR, 4);
	if (got != seq)
		return false;
	for (uint32_t i = GW_UDP4_HDR + 4; i < len; i++)
		if (f[i] != (uint8_t)(seq * 31 + i))
			return false;
	return true;
}

/* Send n frames of one length with sequence numbers from seq; returns how many the ring took. */
static inline uint32_t rig_send(struct rig_q *t, uint32_t n, uint32_t len, uint16_t udp_dst, uint32_t seq)
{
	uint32_t slot[256], lens[GW_MAX_SEGS][256], one[GW_MAX_SEGS];
	const uint32_t *seg_len[GW_MAX_SEGS] = { lens[0], lens[1], lens[2], lens[3] };
	struct gw__tx_in in = { .slot = slot, .seg_len = seg_len };
	int got = t->tx.reserve(t->tx.q, slot, n), k;

	for (int i = 0; i < got; i++) {
		rig_fill(&t->slots, slot[i], len, udp_dst, seq + (uint32_t)i, one);
		for (uint32_t s = 0; s < t->slots.n_segs; s++)
			lens[s][i] = one[s];
	}
	k = t->tx.submit(t->tx.q, &in, 0, (uint32_t)got);
	if (k < 0)
		k = 0; /* the caller misses them */
	if (k < got)
		t->tx.cancel(t->tx.q, slot + k, (uint32_t)(got - k));
	return (uint32_t)k;
}

struct rig_rx {
	uint32_t slot[512], len[512], flow[512], flags[512], lost[512];
	uint64_t ts[512];
};

static inline int rig_recv(struct rig_q *q, struct rig_rx *o, uint32_t n)
{
	struct gw__rx_out out = { .slot = o->slot, .len = o->len, .flow = o->flow, .pkt_flags = o->flags,
				  .ts_ns = o->ts, .lost = o->lost };

	return q->rx.rx(q->rx.q, &out, n);
}

static inline void rig_sums(struct rig *r, uint16_t port)
{
	struct gw_port_stats s;

	T_RC(r->e->ops->port_stats(r->e, port, &s), 0);
	T_EQ(s.rx_wire_packets, s.rx_packets + s.rx_missed + s.rx_steer_miss + s.rx_steer_drop + s.rx_errors);
}

#endif
