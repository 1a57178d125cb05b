/* Any bytes as what a hostile producer writes into queue memory: the NIC stays inside registered memory, writes
 * nothing but receive buffers and completions, and never makes more completions than a ring has room for.
 * Steps of four bytes: what, where, value, length of a run; after each the NIC takes a turn. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "unit/nic/queues.h"

static struct pair p;
static uint8_t sent[sizeof(p.smem)];
static struct gw__nic_obj *port;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(bool ok)
{
	if (!ok)
		abort();
}

/* Rules that take frames apart, spread them, and put something in front of them. */
static void rules(uint8_t conf)
{
	struct gw_flow_rule pop = { .id = 3, .n_actions = 2 }, push = { .id = 4, .n_actions = 2 };
	struct gw__nic_obj *rqs[2] = { p.rq, p.rq };

	pop.action[0].type = conf & 4 ? GW_ACTION_VLAN_POP : GW_ACTION_DECAP;
	pop.action[0].tunnel.type = conf & 8 ? GW_TUNNEL_VXLAN : GW_TUNNEL_NVGRE;
	pop.action[1].type = conf & 16 ? GW_ACTION_QUEUE : GW_ACTION_DROP;
	pop.action[1].n_queues = 2;
	push.action[0].type = conf & 4 ? GW_ACTION_VLAN_PUSH : GW_ACTION_ENCAP;
	push.action[0].tunnel = pop.action[0].tunnel;
	push.action[0].vlan.ethertype = 0x8100;
	push.action[1].type = GW_ACTION_VLAN_PUSH;
	push.n_actions = conf & 32 ? 1 : 2;
	need(!gw__nic_soft.flow(p.rx, &(struct gw_flow_rule){ .id = 9 }, NULL, false, NULL));
	need(!gw__nic_soft.flow(p.rx, &pop, rqs, true, NULL));
	pop.id = 5;
	pop.action[0] = pop.action[1];
	pop.action[0].type = GW_ACTION_QUEUE;
	pop.n_actions = 1;
	need(!gw__nic_soft.flow(p.rx, &pop, rqs, true, NULL));
	need(!gw__nic_soft.flow(p.tx, &push, NULL, true, NULL));
}

/* Two data segments, a run of packets, or a wait that is over or never will be. */
static void other_request(const uint8_t *op)
{
	uint32_t ds = op[1] % 4 == 0 ? 3 : 4;
	uint8_t *at = begin(&p, op[1] % 4 == 0 ? MLX5_OP_WAIT : op[1] % 4 == 1 ? MLX5_OP_SEND : MLX5_OP_EMPW, ds, op[3] & 1);

	if (op[1] % 4 == 0) {
		at[0] = MLX5_OPMOD_WAIT_TIME;
		at[32] = op[2] & 0x80;
	} else {
		put_data(at + 32, 20 + op[2], p.skey, p.smem[op[3] % N]);
		put_data(at + 48, 20 + op[3], p.skey, p.smem[op[2] % N]);
	}
	ring_record(&p);
}

static void set_up(uint8_t conf)
{
	bool compressed = conf & 1;
	struct gw__nic_attr a = { .type = GW__NIC_PORT };

	pair_open(&p, compressed);
	need(!gw__nic_soft.obj_create(p.rx, &a, &port, NULL));
	/* only the middle of the receive memory may be written */
	gw__nic_soft.mem_unreg(p.rx, p.rkey);
	need(!gw__nic_soft.mem_reg(p.rx, p.rmem[N / 4], p.rmem[N / 4], sizeof(p.rmem) / 2, &p.rkey));
	memset(p.smem, 0x5a, sizeof(p.smem));
	memcpy(sent, p.smem, sizeof(sent));
	for (uint32_t i = 0; i < N; i++) {
		put_data(p.rring + i * 32, 64, p.rkey, p.rmem[N / 4 + i / 2]);
		put_data(p.rring + i * 32 + 16, BUF - 64, p.rkey, p.rmem[N / 4 + i / 2] + 64);
	}
	if (conf & 2)
		rules(conf);
}

static void write_at(uint8_t *base, size_t n, uint8_t where, uint8_t value, uint8_t run)
{
	size_t at = (size_t)where * n / 256;

	for (size_t i = 0; i < 1u + run % 16 && at + i < n; i++)
		base[at + i] = (uint8_t)(value + (run & 16 ? i : 0));
}

static void step(const uint8_t *op)
{
	switch (op[0] % 11) {
	case 0:
		write_at(p.sring, sizeof(p.sring), op[1], op[2], op[3]);
		break;
	case 1:
		write_at(p.rring, sizeof(p.rring), op[1], op[2], op[3]);
		break;
	case 2:
		write_at((uint8_t *)p.rec, sizeof(p.rec), op[1], op[2], op[3]);
		break;
	case 3:
		p.db = mlx5_doorbell(p.sqn, (uint32_t)op[1] << 8 | op[2]);
		break;
	case 4: /* a request that is good but for what steps before and after do to it */
		send_one(&p, 60 + op[1], op[2], op[3] & 1);
		break;
	case 5:
		p.rpi += op[1] % N;
		p.rec[6] = __builtin_bswap32(p.rpi & 0xffff);
		break;
	case 6:
		write_at(p.rcqe, sizeof(p.rcqe), op[1], op[2], op[3]);
		write_at(p.scqe, sizeof(p.scqe), op[3], op[2], op[1]);
		break;
	case 7:
		gw__nic_soft.obj_modify(op[1] & 1 ? p.sq : p.rq, GW__NIC_STATE,
					op[2] % 3 ? GW__NIC_RTS : op[2] % 2 ? GW__NIC_ERR : GW__NIC_RST);
		break;
	case 8:
		gw__nic_soft.obj_modify(port, op[1] & 1 ? GW__NIC_PAUSE : GW__NIC_DROP_ALL, op[2] & 1);
		break;
	case 10:
		other_request(op);
		break;
	default:
		p.rec[0] = __builtin_bswap32(p.sci += op[1] % 4);
		p.rec[4] = __builtin_bswap32(p.rci += op[2] % 4);
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gw_port_stats s;

	if (size < 5)
		return 0;
	set_up(data[0]);
	for (size_t i = 1; i + 4 <= size && i < 4096; i += 4) {
		step(data + i);
		if (data[i] % 11 != 4)
			memcpy(sent, p.smem, sizeof(sent));
		gw__nic_soft.progress(p.tx, 256, GW__NIC_TX);
		gw__nic_soft.progress(p.rx, 256, GW__NIC_RX);
		if (data[i] % 11 != 4)
			need(!memcmp(sent, p.smem, sizeof(sent)));
	}
	for (uint32_t i = 0; i < N / 4; i++)
		for (uint32_t b = 0; b < BUF; b++)
			need(!p.rmem[i][b] && !p.rmem[N - 1 - i][b]);
	need(!gw__nic_soft.query(p.rx, &s));
	need(s.rx_wire_packets == s.rx_packets + s.rx_missed + s.rx_steer_miss + s.rx_steer_drop + s.rx_errors);
	pair_close(&p);
	return 0;
}
