/* tests/unit/nic/queues.h: one send queue cabled to one receive queue, rings written by hand.
 * Must not know engines. Next: nic/mlx5_format.h. */
#ifndef GW_TESTS_NIC_QUEUES_H
#define GW_TESTS_NIC_QUEUES_H

#include "nic/mlx5_format.h"
#include "nic/nic.h"
#include "wire/build.h"

#include "t.h"

#define LOG_N 4u
#define N (1u << LOG_N)
#define BUF 2048u

struct pair {
	struct gw__nic *tx, *rx;
	struct gw__nic_obj *sq, *scq, *rq, *rcq;
	_Alignas(64) uint8_t sring[N * 64], scqe[N * 64], rring[N * 32], rcqe[N * 64];
	_Alignas(64) uint32_t rec[8]; /* send cq, sq, receive cq, rq */
	_Alignas(64) uint64_t db;
	uint8_t smem[N][BUF], rmem[N][BUF];
	uint32_t skey, rkey, sqn;
	uint32_t spi, sci, rpi, rci;
};

static inline void empty(uint8_t *cqe)
{
	memset(cqe, 0, N * 64);
	for (uint32_t i = 0; i < N; i++)
		cqe[i * 64 + 63] = MLX5_OP_OWN_EMPTY;
}

static inline void pair_open(struct pair *p, bool compressed)
{
	struct gw__nic_attr a = { .type = GW__NIC_CQ };
	struct gw_flow_rule rule = { .id = 9, .n_actions = 1 };

	memset(p, 0, sizeof(*p));
	empty(p->scqe);
	empty(p->rcqe);
	T_NEED(!gw__nic_soft.open("cable:77", gw__clock_monotonic(), &p->tx, NULL));
	T_NEED(!gw__nic_soft.open("cable:77", gw__clock_monotonic(), &p->rx, NULL));
	a.cq.buf = p->scqe;
	a.cq.log_n = LOG_N;
	a.cq.dbrec = p->rec;
	T_NEED(!gw__nic_soft.obj_create(p->tx, &a, &p->scq, NULL));
	a.cq.buf = p->rcqe;
	a.cq.dbrec = p->rec + 4;
	a.cq.compressed = compressed;
	T_NEED(!gw__nic_soft.obj_create(p->rx, &a, &p->rcq, NULL));
	a = (struct gw__nic_attr){ .type = GW__NIC_SQ };
	a.sq.buf = p->sring;
	a.sq.log_n = LOG_N;
	a.sq.dbrec = p->rec + 2;
	a.sq.db = &p->db;
	a.sq.cq = p->scq;
	T_NEED(!gw__nic_soft.obj_create(p->tx, &a, &p->sq, NULL));
	a = (struct gw__nic_attr){ .type = GW__NIC_RQ };
	a.rq.buf = p->rring;
	a.rq.log_n = LOG_N;
	a.rq.log_stride = 5;
	a.rq.dbrec = p->rec + 6;
	a.rq.cq = p->rcq;
	T_NEED(!gw__nic_soft.obj_create(p->rx, &a, &p->rq, NULL));
	T_NEED(!gw__nic_soft.mem_reg(p->tx, p->smem, p->smem, sizeof(p->smem), &p->skey));
	T_NEED(!gw__nic_soft.mem_reg(p->rx, p->rmem, p->rmem, sizeof(p->rmem), &p->rkey));
	p->sqn = gw__nic_soft.obj_query(p->sq, GW__NIC_NUMBER);
	rule.action[0].type = GW_ACTION_QUEUE;
	rule.action[0].n_queues = 1;
	T_NEED(!gw__nic_soft.flow(p->rx, &rule, &p->rq, true, NULL));
}

static inline void pair_close(struct pair *p)
{
	gw__nic_soft.obj_destroy(p->sq);
	gw__nic_soft.obj_destroy(p->scq);
	gw__nic_soft.obj_destroy(p->rq);
	gw__nic_soft.obj_destroy(p->rcq);
	gw__nic_soft.close(p->tx);
	gw__nic_soft.close(p->rx);
}

static inline void put_data(uint8_t *at, uint32_t len, uint32_t key, const void *addr)
{
	struct mlx5_data d = { .byte_count = __builtin_bswap32(len), .lkey = __builtin_bswap32(key),
			       .addr = __builtin_bswap64((uint64_t)(uintptr_t)addr) };

	memcpy(at, &d, sizeof(d));
}

/* Receive entries of 64 + (BUF - 64) bytes in buffer i. */
static inline void post_recv(struct pair *p, uint32_t n)
{
	for (; n; n--, p->rpi++) {
		uint8_t *at = p->rring + (p->rpi & (N - 1)) * 32, *buf = p->rmem[p->rpi & (N - 1)];

		put_data(at, 64, p->rkey, buf);
		put_data(at + 16, BUF - 64, p->rkey, buf + 64);
	}
	__atomic_store_n(&p->rec[6], __builtin_bswap32(p->rpi & 0xffff), __ATOMIC_SEQ_CST);
	gw__nic_soft.obj_modify(p->rq, GW__NIC_POSTED, 0);
}

/* Control and Ethernet segment of the next request; the caller adds data and rings. */
static inline uint8_t *begin(struct pair *p, uint8_t opcode, uint32_t ds, bool signal)
{
	uint8_t *at = p->sring + (p->spi & (N - 1)) * 64;
	struct mlx5_ctrl c = { .opmod_idx_opcode = __builtin_bswap32((p->spi & 0xffff) << 8 | opcode),
			       .qpn_ds = __builtin_bswap32(p->sqn << 8 | ds),
			       .fm_ce_se = signal ? MLX5_CE_ALWAYS << MLX5_CE_SHIFT : 0 };

	memset(at, 0, 64);
	memcpy(at, &c, sizeof(c));
	p->spi += (ds + 3) / 4;
	return at;
}

static inline void ring_record(struct pair *p)
{
	__atomic_store_n(&p->rec[3], __builtin_bswap32(p->spi & 0xffff), __ATOMIC_RELEASE);
}

/* A good one-segment request for a frame of len bytes with UDP port dst. */
static inline void send_one(struct pair *p, uint32_t len, uint16_t dst, bool signal)
{
	struct gw__udp_hdr h = { .ip_src = { 10, 0, 0, 1 }, .ip_dst = { 10, 0, 0, 2 }, .udp_dst = dst };
	uint8_t *buf = p->smem[p->spi & (N - 1)], *at;

	gw__build_udp4(buf, &h, NULL, len - GW_UDP4_HDR);
	for (uint32_t i = GW_UDP4_HDR; i < len; i++)
		buf[i] = (uint8_t)(p->spi + i);
	at = begin(p, MLX5_OP_SEND, 3, signal);
	put_data(at + 32, len, p->skey, buf);
	ring_record(p);
}

static inline int go(struct pair *p)
{
	return gw__nic_soft.progress(p->tx, 1000, GW__NIC_TX);
}

/* The next send completion, or NULL. */
static inline const struct mlx5_err_cqe *scqe(struct pair *p)
{
	const uint8_t *c = p->scqe + (p->sci & (N - 1)) * 64;

	if (c[63] >> 4 == MLX5_CQE_INVALID || (c[63] & 1) != mlx5_owner(p->sci, LOG_N))
		return NULL;
	p->sci++;
	__atomic_store_n(&p->rec[0], __builtin_bswap32(p->sci & 0xffffff), __ATOMIC_RELEASE);
	return (const void *)c;
}

static inline const struct mlx5_cqe *rcqe(struct pair *p)
{
	const uint8_t *c = p->rcqe + (p->rci & (N - 1)) * 64;

	return c[63] >> 4 == MLX5_CQE_INVALID || (c[63] & 1) != mlx5_owner(p->rci, LOG_N) ? NULL : (const void *)c;
}

/* n packets of the completion at rci are dealt with: invalid again, as a consumer must leave them. */
static inline void eat(struct pair *p, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		p->rcqe[((p->rci + i) & (N - 1)) * 64 + 63] = MLX5_CQE_INVALID << 4;
	p->rci += n;
	__atomic_store_n(&p->rec[4], __builtin_bswap32(p->rci & 0xffffff), __ATOMIC_RELEASE);
}

#endif
