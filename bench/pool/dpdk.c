/* bench/pool/dpdk.c: the same traffic over real librte_mempool and mbufs, in the shapes that receive paths have.
 * Must not time anything. Next: bench_pool.c. */
#include <stdlib.h>
#include <stdio.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_log.h>
#include <rte_mbuf.h>

#include "pool.h"

#define BULK 64u

/* how: single or bulk gets; release in chain order, or each segment's array in bulk */
enum { SINGLE_CHAIN, SINGLE_ARRAYS, BULK_ARRAYS };

struct dpdk {
	struct rte_mempool *pool[2];
	int how;
	bool split;
};

int dpdk_start(void)
{
	char *argv[] = { (char[]){ "bench_pool" }, (char[]){ "--no-huge" }, (char[]){ "-m" }, (char[]){ "256" },
			 (char[]){ "--no-pci" }, (char[]){ "--no-telemetry" }, (char[]){ "--lcores=0@0" },
			 (char[]){ "--log-level=critical" } };

	return rte_eal_init(sizeof(argv) / sizeof(argv[0]), argv) < 0 ? -1 : 0;
}

static void dpdk_close(void *state)
{
	struct dpdk *d = state;

	rte_mempool_free(d->pool[0]);
	rte_mempool_free(d->pool[1]);
	free(d);
}

static int dpdk_open(const struct pool_scheme *scheme, void **state)
{
	struct dpdk *d = calloc(1, sizeof(*d));
	static int serial;

	if (!d)
		return -1;
	d->how = scheme->how;
	d->split = scheme->split;
	for (int i = 0; i <= (int)scheme->split; i++) {
		char name[32];

		snprintf(name, sizeof(name), "bench_pool_%d", serial++);
		d->pool[i] = rte_pktmbuf_pool_create(name, POOL_OBJECTS, (unsigned)scheme->cache_size, 0,
						     RTE_PKTMBUF_HEADROOM + 64, SOCKET_ID_ANY);
		if (!d->pool[i]) {
			dpdk_close(d);
			return -1;
		}
	}
	*state = d;
	return 0;
}

/* Only registered threads have a cache. */
static void dpdk_enter(void *state)
{
	(void)state;
	(void)rte_thread_register();
}

static void dpdk_leave(void *state)
{
	(void)state;
	rte_thread_unregister();
}

static uint32_t take_single(struct dpdk *d, struct pool_burst *b)
{
	uint32_t n;

	for (n = 0; n < POOL_BURST; n++) {
		struct rte_mbuf *h = rte_pktmbuf_alloc(d->pool[0]), *p = NULL;

		if (h && d->split) {
			p = rte_pktmbuf_alloc(d->pool[1]);
			if (!p) {
				rte_pktmbuf_free(h);
				h = NULL;
			}
		}
		if (!h)
			break;
		b->seg[0][n] = h;
		b->seg[1][n] = p;
	}
	return n;
}

static uint32_t take_bulk(struct dpdk *d, struct pool_burst *b)
{
	uint32_t n;

	for (n = 0; n < POOL_BURST; n += BULK) {
		struct rte_mbuf **h = (struct rte_mbuf **)&b->seg[0][n], **p = (struct rte_mbuf **)&b->seg[1][n];

		if (rte_pktmbuf_alloc_bulk(d->pool[0], h, BULK))
			break;
		if (d->split && rte_pktmbuf_alloc_bulk(d->pool[1], p, BULK)) {
			rte_pktmbuf_free_bulk(h, BULK);
			break;
		}
	}
	return n;
}

/* Chains as a receive function makes them, and the walk that fills the burst's arrays. */
static void dpdk_take(void *state, struct pool_burst *b)
{
	struct dpdk *d = state;

	b->n = d->how == BULK_ARRAYS ? take_bulk(d, b) : take_single(d, b);
	for (uint32_t i = 0; i < b->n; i++) {
		struct rte_mbuf *h = b->seg[0][i];

		h->data_len = d->split ? 64 : 1064;
		h->pkt_len = 1064;
		if (d->split) {
			struct rte_mbuf *p = b->seg[1][i];

			h->next = p;
			h->nb_segs = 2;
			p->data_len = 1000;
		}
		b->len[i] = h->pkt_len;
	}
}

static void dpdk_give(void *state, struct pool_burst *b)
{
	struct dpdk *d = state;

	if (d->how != SINGLE_CHAIN && d->split) {
		for (uint32_t i = 0; i < b->n; i++) {
			struct rte_mbuf *h = b->seg[0][i];

			h->next = NULL;
			h->nb_segs = 1;
		}
		rte_pktmbuf_free_bulk((struct rte_mbuf **)b->seg[1], b->n);
	}
	rte_pktmbuf_free_bulk((struct rte_mbuf **)b->seg[0], b->n);
}

#define ROW(n, s, h, c, cs, ...)                                                                          \
	{ .name = n, .split = s, .dpdk = true, .how = h, .cache = c, .cache_size = cs, .open = dpdk_open, \
	  .close = dpdk_close, .enter = dpdk_enter, .leave = dpdk_leave, .take = dpdk_take, .give = dpdk_give, __VA_ARGS__ }

const struct pool_scheme dpdk_schemes[] = {
	ROW("split, single gets, chain order (as shipped)", true, SINGLE_CHAIN, "0", 0, .shipped = true),
	ROW("split, single gets, chain order", true, SINGLE_CHAIN, "512", 512, .shipped = false),
	ROW("split, single gets, array by array", true, SINGLE_ARRAYS, "0", 0, .shipped = false),
	ROW("split, single gets, array by array", true, SINGLE_ARRAYS, "512", 512, .shipped = false),
	ROW("split, bulk gets, array by array", true, BULK_ARRAYS, "0", 0, .shipped = false),
	ROW("split, bulk gets, array by array", true, BULK_ARRAYS, "512", 512, .shipped = false),
	ROW("one segment, single gets, bulk release", false, SINGLE_CHAIN, "0", 0, .shipped = false),
	ROW("one segment, bulk gets, bulk release", false, BULK_ARRAYS, "0", 0, .shipped = false),
	ROW("one segment, bulk gets, bulk release", false, BULK_ARRAYS, "512", 512, .shipped = false),
};
const int n_dpdk_schemes = sizeof(dpdk_schemes) / sizeof(dpdk_schemes[0]);
