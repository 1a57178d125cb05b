/* Any bytes as rules added and removed while frames pass: what is refused says why, what is accepted steers every
 * frame to one place that is counted, and what one rule puts on a frame can be looked at by any other.
 * Records: a kind byte, then a rule's fields or a frame. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "unit/nic/queues.h"
#include "wire/bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct pair p;

static void need(bool ok)
{
	if (!ok)
		abort();
}

/* Takes up to n bytes of what is left; the rest of the target stays zero. */
static void take(const uint8_t **data, size_t *size, void *to, size_t n)
{
	size_t k = *size < n ? *size : n;

	memset(to, 0, n);
	memcpy(to, *data, k);
	*data += k;
	*size -= k;
}

static void make_action(struct gw_action *a, const uint8_t b[8])
{
	a->type = (enum gw_action_type)(b[0] % 6);
	a->n_queues = b[1] % 4;
	a->vlan.id = gw__be16(b + 2) & 0xfff;
	a->vlan.ethertype = b[1] & 128 ? 0x88a8 : 0x8100;
	a->tunnel.type = (enum gw_tunnel)(b[4] % 3);
	a->tunnel.gre_protocol = b[4] & 128 ? 0x6558 : 0x0800;
	a->tunnel.vni = b[5];
	a->tunnel.udp_dst = b[6] & 1 ? 4789 : gw__be16(b + 6);
	a->tunnel.ttl = b[7];
}

static void add_or_remove(const uint8_t **data, size_t *size)
{
	struct gw__nic_obj *rqs[GW_MAX_QUEUES] = { p.rq, p.rq, p.rq, NULL };
	struct gw_flow_rule rule;
	struct gw_diag diag = { "" };
	uint8_t head[4], act[8];
	int err;

	memset(&rule, 0, sizeof(rule));
	take(data, size, head, sizeof(head));
	rule.id = head[0] & 0x80 ? (uint32_t)head[0] << 20 : head[0] % 16;
	rule.n_actions = head[1] % (GW_MAX_ACTIONS + 2);
	take(data, size, &rule.match, head[2] & 1 ? sizeof(rule.match) : 4);
	rule.match.fields &= head[2] & 2 ? ~0u : GW_MATCH_UDP_DST | GW_MATCH_ETHERTYPE | GW_MATCH_VLAN;
	for (uint32_t i = 0; i < rule.n_actions && i < GW_MAX_ACTIONS; i++) {
		take(data, size, act, sizeof(act));
		make_action(&rule.action[i], act);
	}
	err = gw__nic_soft.flow(head[3] & 1 ? p.tx : p.rx, &rule, head[3] & 1 ? NULL : rqs, !(head[3] & 2), &diag);
	need(err <= 0 && (!err || err == -ENOENT || diag.text[0]));
}

static void frame(const uint8_t **data, size_t *size)
{
	uint8_t n;
	uint8_t *buf = p.smem[p.spi & (N - 1)], *at;

	take(data, size, &n, 1);
	take(data, size, buf, 14u + n);
	at = begin(&p, MLX5_OP_SEND, 3, true);
	put_data(at + 32, 14u + n, p.skey, buf);
	ring_record(&p);
	need(gw__nic_soft.progress(p.tx, 64, GW__NIC_TX) >= 0);
	while (scqe(&p))
		;
	if (gw__nic_soft.obj_query(p.sq, GW__NIC_STATE) == GW__NIC_ERR) {
		need(!gw__nic_soft.obj_modify(p.sq, GW__NIC_STATE, GW__NIC_RST));
		need(!gw__nic_soft.obj_modify(p.sq, GW__NIC_STATE, GW__NIC_RTS));
	}
	if (rcqe(&p)) {
		eat(&p, 1);
		post_recv(&p, 1);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gw_port_stats s;

	if (size > 8192)
		return 0;
	pair_open(&p, false);
	post_recv(&p, N);
	while (size) {
		uint8_t kind;

		take(&data, &size, &kind, 1);
		if (kind & 1)
			frame(&data, &size);
		else
			add_or_remove(&data, &size);
	}
	need(!gw__nic_soft.query(p.rx, &s));
	need(s.rx_wire_packets == s.rx_packets + s.rx_missed + s.rx_steer_miss + s.rx_steer_drop + s.rx_errors);
	need(!s.rx_missed);
	pair_close(&p);
	return 0;
}
