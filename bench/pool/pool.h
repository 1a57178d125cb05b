/* bench/pool/pool.h: what the two sides of the pool bench share: a burst's arrays, the hand-over, the schemes.
 * Next: bench_pool.c. */
#ifndef BENCH_POOL_H
#define BENCH_POOL_H

#include <stdbool.h>
#include <stdint.h>

#define POOL_BURST 1024u
#define POOL_OBJECTS 24575u /* of one pool */
#define POOL_N_BURSTS 16u   /* between the two threads */

struct pool_burst {
	void *seg[2][POOL_BURST];    /* addresses, as the application reads them */
	uint32_t seg_len[2][POOL_BURST]; /* slots only: DPDK has them in its mbufs */
	uint32_t slot[POOL_BURST];   /* slots: what is given back */
	uint32_t len[POOL_BURST];
	uint32_t n;
};

/* One way of getting and giving back buffers. take() runs on the receiving core, give() on the application's. */
struct pool_scheme {
	const char *name;
	const char *cache; /* "0", "512", or "-" */
	bool split;
	bool dpdk;
	bool shipped;
	int how, cache_size;
	int (*open)(const struct pool_scheme *s, void **state);
	void (*close)(void *state);
	void (*enter)(void *state); /* each thread, first; may be NULL */
	void (*leave)(void *state);
	void (*take)(void *state, struct pool_burst *b); /* up to POOL_BURST; b->n */
	void (*give)(void *state, struct pool_burst *b);
};

extern const struct pool_scheme slot_schemes[];
extern const int n_slot_schemes;
extern const struct pool_scheme dpdk_schemes[];
extern const int n_dpdk_schemes;
int dpdk_start(void); /* 0, or -1: not here */

#endif
