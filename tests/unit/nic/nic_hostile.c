/* tests/unit/nic/nic_hostile.c: a producer that scribbles over every ring and record while the NIC reads them: nothing
 * outside registered memory is written, sums close, the port works on afterwards.
 * Must not know engines. Next: tests/fuzz/queue.c, one thread and chosen bytes. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "queues.h"

static struct pair p;
static _Atomic int stop;

static uint32_t next(uint32_t *r)
{
	*r ^= *r << 13;
	*r ^= *r >> 17;
	return *r ^= *r << 5;
}

/* Words that often look right: that is where checks are passed and then changed under the reader's hands. */
static uint32_t word(uint32_t *r)
{
	uint32_t w = next(r);

	switch (w >> 28) {
	case 0:
		return __builtin_bswap32(p.skey);
	case 1:
		return __builtin_bswap32(p.rkey);
	case 2:
		return __builtin_bswap32(p.sqn << 8 | (w & 7));
	case 3:
		return __builtin_bswap32((w & 0xff) << 8 | MLX5_OP_SEND);
	case 4:
		return __builtin_bswap32((w & 0xff) << 8 | MLX5_OP_EMPW);
	case 5:
		return __builtin_bswap32(w & 0x7ff);
	case 6:
		return __builtin_bswap32((uint32_t)((uintptr_t)p.rmem >> (w & 1 ? 32 : 0)));
	case 7:
		return __builtin_bswap32((uint32_t)((uintptr_t)p.smem >> (w & 1 ? 32 : 0)));
	default:
		return w;
	}
}

static void put(void *base, size_t n_bytes, uint32_t *r)
{
	uint32_t *w = (uint32_t *)base + next(r) % (n_bytes / 4);

	__atomic_store_n(w, word(r), __ATOMIC_RELAXED);
}

/* A record a little further than it was: near enough to be believed. */
static void nudge(uint32_t i, uint32_t *r)
{
	uint32_t v = __builtin_bswap32(__atomic_load_n(&p.rec[i], __ATOMIC_RELAXED)) + (next(r) & 15);

	__atomic_store_n(&p.rec[i], __builtin_bswap32(v & 0xffff), __ATOMIC_RELAXED);
}

static void *scribble(void *arg)
{
	uint32_t r = (uint32_t)(uintptr_t)arg;

	while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
		put(p.sring, sizeof(p.sring), &r);
		put(p.rring, sizeof(p.rring), &r);
		nudge(next(&r) & 1 ? 3 : 6, &r);
		if (!(next(&r) & 63))
			put(p.rec, sizeof(p.rec), &r);
		if (!(next(&r) & 7))
			__atomic_store_n(&p.db, mlx5_doorbell(p.sqn, next(&r) & 63), __ATOMIC_RELAXED);
	}
	return NULL;
}

static void revive(void)
{
	T_RC(gw__nic_soft.obj_modify(p.sq, GW__NIC_STATE, GW__NIC_RST), 0);
	T_RC(gw__nic_soft.obj_modify(p.sq, GW__NIC_STATE, GW__NIC_RTS), 0);
	T_RC(gw__nic_soft.obj_modify(p.rq, GW__NIC_STATE, GW__NIC_RST), 0);
	T_RC(gw__nic_soft.obj_modify(p.rq, GW__NIC_STATE, GW__NIC_RTS), 0);
}

/* The consumer is honest, so that rings do not stay full. */
static void consume(void)
{
	const struct mlx5_cqe *c;

	while (scqe(&p))
		;
	while ((c = rcqe(&p)))
		eat(&p, (c->op_own >> 2 & 3) == MLX5_CQE_FORMAT_COMPRESSED ? __builtin_bswap32(c->byte_cnt) : 1);
	/* scribblers write these too now and then */
	__atomic_store_n(&p.rec[0], __builtin_bswap32(p.sci & 0xffffff), __ATOMIC_RELEASE);
	__atomic_store_n(&p.rec[4], __builtin_bswap32(p.rci & 0xffffff), __ATOMIC_RELEASE);
}

int main(void)
{
	static uint8_t before[sizeof(p.smem)];
	struct gw_port_stats s;
	time_t end = time(NULL) + 60;
	pthread_t t[2];

	pair_open(&p, true);
	/* the outer quarters of the receive memory are not registered */
	gw__nic_soft.mem_unreg(p.rx, p.rkey);
	T_NEED(!gw__nic_soft.mem_reg(p.rx, p.rmem[N / 4], p.rmem[N / 4], sizeof(p.rmem) / 2, &p.rkey));
	memset(p.smem, 0x5a, sizeof(p.smem));
	memcpy(before, p.smem, sizeof(before));
	for (uintptr_t i = 0; i < 2; i++)
		T_NEED(!pthread_create(&t[i], NULL, scribble, (void *)(i * 77 + 5)));
	/* until it was hit often enough; bounded, so that a check that never fires fails the test, and generously, for a
	 * busy machine that gives the scribblers no core at first */
	for (uint32_t i = 0; i % 1024 || time(NULL) < end; i++) {
		if (!(i & 1023))
			sched_yield();
		(void)gw__nic_soft.query(p.tx, &s);
		if (s.tx_errors > 500)
			break;
		gw__nic_soft.progress(p.tx, 64, GW__NIC_TX);
		gw__nic_soft.progress(p.rx, 64, GW__NIC_RX);
		consume();
		if (!(i & 15))
			revive();
	}
	stop = 1;
	pthread_join(t[0], NULL);
	pthread_join(t[1], NULL);
	T_MEM(p.smem, before, sizeof(before));
	for (uint32_t i = 0; i < N / 4; i++)
		for (uint32_t b = 0; b < BUF; b++)
			T_NEED(!p.rmem[i][b] && !p.rmem[N - 1 - i][b]);
	T_RC(gw__nic_soft.query(p.rx, &s), 0);
	T_EQ(s.rx_wire_packets, s.rx_packets + s.rx_missed + s.rx_steer_miss + s.rx_steer_drop + s.rx_errors);
	T_RC(gw__nic_soft.query(p.tx, &s), 0);
	T_OK(s.tx_errors > 500);
	pair_close(&p);
	T_DONE();
}
