/* data/exact.h: random numbers and floating-point bit patterns made with integers alone, so that a model file
 * has the same bytes on every machine (no libm, no rounding mode, no fused multiply-add in the way).
 * Must not know what the numbers mean. Next: resnet.c, which draws weights with it. */
#ifndef GW_DATA_EXACT_H
#define GW_DATA_EXACT_H

#include <stdint.h>

/* The i-th 64-bit value of stream `key`: a counter through a mixing function (splitmix64), no state. */
static inline uint64_t gw__exact_hash(uint64_t key, uint64_t i)
{
	uint64_t z = key + (i + 1) * UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/* Largest r with r * r <= v. */
uint32_t gw__exact_isqrt(uint64_t v);

/* Bits of the IEEE 754 number nearest to v * 2^-frac (ties to even). frac 0..100. Too small a value becomes
 * subnormal or zero; too large a value becomes infinity. */
uint32_t gw__exact_f32(int64_t v, int frac);
uint16_t gw__exact_f16(int64_t v, int frac);

#endif
