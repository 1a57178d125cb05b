/* tests/unit/nic/nic_send.c: send requests by hand: each gets one completion: success, error or flush.
 * Must not know engines. Next: nic_recv.c. */
#include "queues.h"

static struct pair p;

static void expect(uint8_t opcode, uint8_t syndrome, uint16_t idx)
{
	const struct mlx5_err_cqe *c = scqe(&p);

	T_OK(c);
	if (!c)
		return;
	T_EQ(c->op_own >> 4, opcode);
	T_EQ(__builtin_bswap16(c->wqe_counter), idx);
	if (opcode == MLX5_CQE_REQ_ERR) {
		T_EQ(c->syndrome, syndrome);
		T_EQ(__builtin_bswap32(c->s_wqe_opcode_qpn) & 0xffffff, p.sqn);
	}
}

/* What makes a request bad. */
enum bad { OPCODE, DS_ZERO, DS_TOO_FAR, DS_TOO_BIG, NUMBER, INDEX, KEY, STALE_KEY, OUTSIDE, WRAPS, IS_INLINE, EMPTY, RUNT,
	   TOO_LONG, OPMOD, INLINE_HEADER, TOO_MANY, N_BAD };

static void spoil(uint8_t *at, enum bad what)
{
	switch (what) {
	case OPCODE:
		at[3] = MLX5_OP_RDMA_WRITE;
		break;
	case DS_ZERO:
		at[7] = 0;
		break;
	case DS_TOO_FAR:
		at[7] = 63;
		break;
	case DS_TOO_BIG:
		at[7] = 64;
		break;
	case NUMBER:
		at[5] ^= 1;
		break;
	case INDEX:
		at[2] ^= 1;
		break;
	case KEY:
		put_data(at + 32, 60, p.skey + 0x100, p.smem);
		break;
	case STALE_KEY:
		put_data(at + 32, 60, p.skey ^ 1, p.smem);
		break;
	case OUTSIDE:
		put_data(at + 32, 60, p.skey, (uint8_t *)p.smem + sizeof(p.smem) - 59);
		break;
	case WRAPS:
		put_data(at + 32, 60, p.skey, (void *)~(uintptr_t)7);
		break;
	case IS_INLINE:
		put_data(at + 32, 60 | MLX5_INLINE, p.skey, p.smem);
		break;
	case EMPTY:
		put_data(at + 32, 0, p.skey, p.smem);
		break;
	case RUNT:
		put_data(at + 32, 13, p.skey, p.smem);
		break;
	case TOO_LONG:
		put_data(at + 32, 9217, p.skey, p.smem);
		break;
	case OPMOD:
		at[0] = 1;
		break;
	case INLINE_HEADER:
		at[29] = 18;
		break;
	default:
		at[7] = 7; /* five data segments */
		break;
	}
}

static uint8_t want(enum bad what)
{
	if (what == KEY || what == STALE_KEY || what == OUTSIDE || what == WRAPS)
		return MLX5_SYND_LOCAL_PROT;
	return what == EMPTY || what == RUNT || what == TOO_LONG ? MLX5_SYND_LOCAL_LENGTH : MLX5_SYND_LOCAL_QP_OP;
}

/* Two good ones, a bad one, two more: ok, ok, error, flush, flush; then the queue can start again. */
static void bad_request(enum bad what)
{
	struct gw_port_stats s;
	uint32_t at, first;

	pair_open(&p, false);
	post_recv(&p, N);
	send_one(&p, 100, 1, true);
	send_one(&p, 100, 1, true);
	at = p.spi;
	send_one(&p, 100, 1, true);
	spoil(p.sring + at * 64, what);
	if (what == TOO_MANY)
		p.spi++, ring_record(&p);
	first = p.spi;
	send_one(&p, 100, 1, false); /* errors complete whether asked to or not */
	send_one(&p, 100, 1, true);
	T_RC(go(&p), 2);
	expect(MLX5_CQE_REQ, 0, 0);
	expect(MLX5_CQE_REQ, 0, 1);
	expect(MLX5_CQE_REQ_ERR, want(what), 2);
	expect(MLX5_CQE_REQ_ERR, MLX5_SYND_WR_FLUSH, (uint16_t)first);
	expect(MLX5_CQE_REQ_ERR, MLX5_SYND_WR_FLUSH, (uint16_t)(first + 1));
	T_OK(!scqe(&p));
	T_EQ(gw__nic_soft.obj_query(p.sq, GW__NIC_STATE), GW__NIC_ERR);
	send_one(&p, 100, 1, true);
	T_RC(go(&p), 0);
	expect(MLX5_CQE_REQ_ERR, MLX5_SYND_WR_FLUSH, (uint16_t)(first + 2));
	T_RC(gw__nic_soft.obj_modify(p.sq, GW__NIC_STATE, GW__NIC_RST), 0);
	T_RC(gw__nic_soft.obj_modify(p.sq, GW__NIC_STATE, GW__NIC_RTS), 0);
	send_one(&p, 100, 1, true);
	T_RC(go(&p), 1);
	expect(MLX5_CQE_REQ, 0, (uint16_t)(first + 3));
	T_RC(gw__nic_soft.query(p.tx, &s), 0);
	T_EQ(s.tx_packets, 3);
	T_EQ(s.tx_errors, 4);
	pair_close(&p);
}

static void doorbells(void)
{
	pair_open(&p, false);
	post_recv(&p, N);
	send_one(&p, 100, 1, true);
	p.rec[3] = __builtin_bswap32(N + 1); /* beyond the ring: ignored */
	T_RC(go(&p), 0);
	T_EQ(gw__nic_soft.obj_query(p.sq, GW__NIC_STALE), 1);
	p.rec[3] = 0;
	p.db = mlx5_doorbell(p.sqn, 1); /* the doorbell may come before the record */
	T_RC(go(&p), 1);
	p.db = mlx5_doorbell(p.sqn, 1); /* and twice */
	T_RC(go(&p), 0);
	p.db = mlx5_doorbell(p.sqn + 1, 2); /* another queue's */
	T_RC(go(&p), 0);
	ring_record(&p);
	send_one(&p, 100, 1, true);
	send_one(&p, 100, 1, true);
	p.db = mlx5_doorbell(p.sqn, 2); /* behind the record: the further one counts */
	T_RC(go(&p), 2);
	pair_close(&p);
}

static void many_packets(void)
{
	uint8_t *at;
	struct gw_port_stats s;

	pair_open(&p, false);
	post_recv(&p, N);
	for (int lap = 0; lap < 5; lap++) { /* 5 blocks of 16: every place in the ring, and across its end */
		at = begin(&p, MLX5_OP_EMPW, 17, lap != 1);
		for (uint32_t i = 0; i < 15; i++) {
			uint32_t seg = ((p.spi - 5) * 4 + 2 + i) % (N * 4);

			memset(p.smem[i], (int)(lap * 16 + i), 60);
			put_data(p.sring + seg * 16, 60, p.skey, p.smem[i]);
		}
		ring_record(&p);
		T_RC(go(&p), 15);
		for (int i = 0; i < 15; i++) {
			const struct mlx5_cqe *c = rcqe(&p);

			T_NEED(c);
			T_EQ(p.rmem[__builtin_bswap16(c->wqe_counter) & (N - 1)][20], lap * 16 + i);
			eat(&p, 1);
			post_recv(&p, 1);
		}
		if (lap == 1)
			T_OK(!scqe(&p));
		else
			expect(MLX5_CQE_REQ, 0, (uint16_t)(lap * 5));
	}
	(void)at;
	T_RC(gw__nic_soft.query(p.tx, &s), 0);
	T_EQ(s.tx_packets, 75);
	T_EQ(s.tx_bytes, 75 * 60);
	pair_close(&p);
}

/* Held back in the middle of a request, memory taken away meanwhile: an error, no read of what is gone. */
static void memory_gone(void)
{
	pair_open(&p, false);
	T_RC(gw__nic_soft.obj_modify(p.rq, GW__NIC_PAUSE, 1), -ENOTSUP); /* a port's setting */
	struct gw__nic_attr a = { .type = GW__NIC_PORT };
	struct gw__nic_obj *port;

	T_RC(gw__nic_soft.obj_create(p.rx, &a, &port, NULL), 0);
	T_RC(gw__nic_soft.obj_modify(port, GW__NIC_PAUSE, 1), 0);
	post_recv(&p, 1);
	for (int i = 0; i < 3; i++)
		send_one(&p, 100, 1, true);
	T_RC(go(&p), 1);
	T_RC(go(&p), -EAGAIN);
	gw__nic_soft.mem_unreg(p.tx, p.skey);
	T_RC(go(&p), 0);
	expect(MLX5_CQE_REQ, 0, 0);
	expect(MLX5_CQE_REQ_ERR, MLX5_SYND_LOCAL_PROT, 1);
	expect(MLX5_CQE_REQ_ERR, MLX5_SYND_WR_FLUSH, 2);
	T_OK(!scqe(&p));
	pair_close(&p);
}

static void full_completion_queue(void)
{
	uint32_t got = 0;

	pair_open(&p, false);
	post_recv(&p, N);
	for (uint32_t i = 0; i < 3 * N; i++) {
		begin(&p, MLX5_OP_NOP, 1, true);
		ring_record(&p);
		T_OK(go(&p) >= 0); /* nobody reads completions: none is overwritten */
		if (i % N == N - 1)
			while (scqe(&p))
				got++;
	}
	go(&p);
	while (scqe(&p)) {
		got++;
		go(&p);
	}
	T_EQ(got, 3 * N);
	pair_close(&p);
}

int main(void)
{
	for (enum bad b = OPCODE; b < N_BAD; b++)
		bad_request(b);
	doorbells();
	many_packets();
	memory_gone();
	full_completion_queue();
	T_DONE();
}
