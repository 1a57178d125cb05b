/* reorder/convert_scalar.c: the definition of every conversion, in portable C that a compiler can vectorise
 * (NEON included). The vector twins must give these bytes. Must not know packets. Next: convert_avx512.c. */
#include <string.h>

#include "reorder/convert.h"

/* Integers only reach these: no NaN, no subnormal, zero is +0. */

/* Round an integer of more than 24 significant bits to odd at bit 8: exact as a float, and what rounds it
 * further below 24 bits then rounds once, not twice. */
static inline int32_t odd_at_bit_8(int32_t x)
{
	int32_t odd = (int32_t)(((uint32_t)x & ~0xffu) | ((uint32_t)((x & 0xff) != 0) << 8));

	return x >> 24 == x >> 31 ? x : odd;
}

static inline uint32_t float_bits(int32_t x)
{
	float f = (float)x;
	uint32_t b;

	memcpy(&b, &f, sizeof(b));
	return b;
}

static inline uint16_t to_fp16(int32_t x)
{
	uint32_t b = float_bits(x), sign = b >> 16 & 0x8000, a = b & 0x7fffffff;
	uint32_t h = (a + 0xfff + (a >> 13 & 1)) >> 13;

	h = a ? h - (112u << 10) : 0;          /* exponent bias 127 to 15 */
	return (uint16_t)(sign | (h > 0x7c00 ? 0x7c00 : h));
}

static inline uint16_t to_bf16(int32_t x)
{
	uint32_t b = float_bits(odd_at_bit_8(x));

	return (uint16_t)((b + 0x7fff + (b >> 16 & 1)) >> 16);
}

static inline int8_t to_int8(int32_t x)
{
	return (int8_t)(x < -128 ? -128 : x > 127 ? 127 : x);
}

static inline float to_fp32(int32_t x)
{
	return (float)x;
}

static inline double to_fp64(int32_t x)
{
	return (double)x;
}

static inline int32_t to_int32(int32_t x)
{
	return x;
}

static inline int32_t in_4(const uint8_t *p, size_t i)
{
	uint32_t nibble = i & 1 ? p[i / 2] & 15u : (uint32_t)p[i / 2] >> 4;

	return (int32_t)(nibble ^ 8) - 8;
}

static inline int32_t in_8(const uint8_t *p, size_t i)
{
	return (int8_t)p[i];
}

static inline int32_t in_16(const uint8_t *p, size_t i)
{
	int16_t v;

	memcpy(&v, p + 2 * i, sizeof(v));
	return v;
}

static inline int32_t in_16s(const uint8_t *p, size_t i)
{
	return (int16_t)__builtin_bswap16((uint16_t)in_16(p, i));
}

static inline int32_t in_32(const uint8_t *p, size_t i)
{
	int32_t v;

	memcpy(&v, p + 4 * i, sizeof(v));
	return v;
}

static inline int32_t in_32s(const uint8_t *p, size_t i)
{
	return (int32_t)__builtin_bswap32((uint32_t)in_32(p, i));
}

#define PAIR(name, load, n_elem, type, store)                                                      \
	static void name(uint8_t *restrict dst, const uint8_t *restrict src, size_t n_in)          \
	{                                                                                          \
		for (size_t i = 0, n = (n_elem); i < n; i++) {                                     \
			type v = store(load(src, i));                                              \
			memcpy(dst + i * sizeof(v), &v, sizeof(v));                                \
		}                                                                                  \
	}
#define ROW(in, load, n_elem)                                                                      \
	PAIR(in##_8, load, n_elem, int8_t, to_int8)                                                \
	PAIR(in##_32, load, n_elem, int32_t, to_int32)                                             \
	PAIR(in##_fp16, load, n_elem, uint16_t, to_fp16)                                           \
	PAIR(in##_bf16, load, n_elem, uint16_t, to_bf16)                                           \
	PAIR(in##_fp32, load, n_elem, float, to_fp32)                                              \
	PAIR(in##_fp64, load, n_elem, double, to_fp64)
ROW(i4, in_4, n_in * 2)
ROW(i8, in_8, n_in)
ROW(i16, in_16, n_in / 2)
ROW(i16s, in_16s, n_in / 2)
ROW(i32, in_32, n_in / 4)
ROW(i32s, in_32s, n_in / 4)

#define ENTRIES(in) { in##_8, in##_32, in##_fp16, in##_bf16, in##_fp32, in##_fp64 }
const gw__convert_fn gw__convert_scalar[GW__IN_N][GW__OUT_N] = {
	ENTRIES(i4), ENTRIES(i8), ENTRIES(i16), ENTRIES(i16s), ENTRIES(i32), ENTRIES(i32s),
};
