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

static void set_up(bool compressed)
{
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
}

static void write_at(uint8_t *base, size_t n, uint8_t where, uint8_t value, uint8_t run)
{
	size_t at = (size_t)where * n / 256;

	for (size_t i = 0; i < 1u + run % 16 && at + i < n; i++)
		base[at + i] = (uint8_t)(value + (run & 16 ? i : 0));
}

static void step(const uint8_t *op)
{
	switch (op[0] % 10) {
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
	set_up(data[0] & 1);
	for (size_t i = 1; i + 4 <= size && i < 4096; i += 4) {
		step(data + i);
		if (data[i] % 10 != 4)
			memcpy(sent, p.smem, sizeof(sent));
		gw__nic_soft.progress(p.tx, 256, GW__NIC_TX);
		gw__nic_soft.progress(p.rx, 256, GW__NIC_RX);
		if (data[i] % 10 != 4)
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
