/* data/exact.c: integer square root and fixed point to IEEE 754 bits, rounded to nearest even.
 * Must not use floating point anywhere. Next: exact.h for the contract. */
#include "data/exact.h"

uint32_t gw__exact_isqrt(uint64_t v)
{
	uint64_t r = 0;

	for (uint64_t bit = UINT64_C(1) << 31; bit; bit >>= 1)
		if ((r | bit) * (r | bit) <= v)
			r |= bit;
	return (uint32_t)r;
}

/* v / 2^n rounded to nearest even; n may exceed the width. */
static uint64_t shift_round(uint64_t v, int n)
{
	uint64_t low, half;

	if (n <= 0)
		return v << -n;
	if (n > 64)
		return 0;
	if (n == 64) /* 0 or 1: above one half only */
		return v > UINT64_C(1) << 63;
	low = v & ((UINT64_C(1) << n) - 1);
	half = UINT64_C(1) << (n - 1);
	v >>= n;
	return v + (low > half || (low == half && (v & 1)));
}

/* man_bits: stored mantissa bits; exp_bits: exponent bits. The carry out of a rounded mantissa walks into the
 * exponent by itself, which is what the format is made for. */
static uint64_t encode(int64_t value, int frac, int man_bits, int exp_bits)
{
	int bias = (1 << (exp_bits - 1)) - 1;
	uint64_t infinity = (uint64_t)((1 << exp_bits) - 1) << man_bits;
	uint64_t sign = value < 0 ? UINT64_C(1) << (man_bits + exp_bits) : 0;
	uint64_t mag = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
	uint64_t bits;
	int top, exponent;

	if (!mag)
		return sign;
	top = 63 - __builtin_clzll(mag);
	exponent = top - frac;
	if (exponent < 1 - bias) /* subnormal: a fixed grid of 2^(1 - bias - man_bits) */
		return sign | shift_round(mag, frac - (bias - 1 + man_bits));
	if (exponent > bias)
		return sign | infinity;
	bits = shift_round(mag, top - man_bits) + ((uint64_t)(exponent + bias - 1) << man_bits);
	return sign | (bits < infinity ? bits : infinity);
}

uint32_t gw__exact_f32(int64_t v, int frac)
{
	return (uint32_t)encode(v, frac, 23, 8);
}

uint16_t gw__exact_f16(int64_t v, int frac)
{
	return (uint16_t)encode(v, frac, 10, 5);
}
