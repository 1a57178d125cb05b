/* A small generator: one seed, one run, the same on every machine (splitmix64). */
#ifndef GW_TESTS_SIM_RNG_H
#define GW_TESTS_SIM_RNG_H

#include <stdbool.h>
#include <stdint.h>

struct rng {
	uint64_t s;
};

static inline uint64_t rng_next(struct rng *r)
{
	uint64_t z = r->s += 0x9E3779B97F4A7C15u;

	z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
	z = (z ^ z >> 27) * 0x94D049BB133111EBu;
	return z ^ z >> 31;
}

/* 0 .. n - 1 */
static inline uint32_t rng_below(struct rng *r, uint32_t n)
{
	return (uint32_t)(rng_next(r) % n);
}

/* true in `per` of 10,000 */
static inline bool rng_hit(struct rng *r, uint32_t per)
{
	return rng_below(r, 10000) < per;
}

static inline uint32_t rng_pick(struct rng *r, const uint32_t *from, uint32_t n)
{
	return from[rng_below(r, n)];
}

#endif
