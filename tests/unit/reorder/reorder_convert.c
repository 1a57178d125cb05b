/* Every pair of types: exact values by hand, and each vector twin against the scalar one, byte for byte, for
 * every length up to a few vectors, odd addresses, all 8- and 16-bit inputs, and no byte written outside. */
#include "reorder/convert.h"
#include "t.h"

#define MAX_IN 300u
#define GUARD 64u

static const enum gw__elem ins[] = { GW_INT4, GW_INT8, GW_INT16, GW_INT32 };
static const enum gw__elem outs[] = { GW_INT8, GW_INT32, GW_FP16, GW_BF16, GW_FP32, GW_FP64 };

static uint32_t element_of(enum gw__elem in)
{
	return in == GW_INT32 ? 4 : in == GW_INT16 ? 2 : 1;
}

static uint64_t rnd(uint64_t *x)
{
	*x ^= *x << 13, *x ^= *x >> 7, *x ^= *x << 17;
	return *x;
}

/* one value through the scalar twin, as raw bits */
static uint64_t bits(enum gw__elem in, enum gw__elem out, bool swap, int32_t v)
{
	uint8_t src[4];
	uint64_t got = 0;
	int16_t h = (int16_t)v;
	int8_t b = (int8_t)v;

	if (in == GW_INT32)
		memcpy(src, &v, 4);
	else if (in == GW_INT16)
		memcpy(src, &h, 2);
	else
		memcpy(src, &b, 1);
	gw__convert_find(GW__SIMD_SCALAR, in, out, swap)((uint8_t *)&got, src, element_of(in));
	return got;
}

static void by_hand(void)
{
	const uint8_t nibbles[] = { 0x7f, 0x80 };
	int32_t wide[4];

	gw__convert_find(GW__SIMD_SCALAR, GW_INT4, GW_INT32, false)((uint8_t *)wide, nibbles, 2);
	T_EQ(wide[0], 7);
	T_EQ(wide[1], -1);
	T_EQ(wide[2], -8);
	T_EQ(wide[3], 0);
	T_EQ(bits(GW_INT8, GW_FP16, false, 1), 0x3c00);
	T_EQ(bits(GW_INT8, GW_FP16, false, -128), 0xd800);
	T_EQ(bits(GW_INT8, GW_FP16, false, 0), 0);
	T_EQ(bits(GW_INT8, GW_BF16, false, -1), 0xbf80);
	T_EQ(bits(GW_INT16, GW_FP16, false, 2049), 0x6800);  /* tie: to the even 2048 */
	T_EQ(bits(GW_INT16, GW_FP16, false, 2051), 0x6802);  /* tie: to the even 2052 */
	T_EQ(bits(GW_INT16, GW_FP16, true, 0x0100), 0x3c00); /* big-endian 1 */
	T_EQ(bits(GW_INT32, GW_FP16, false, 65504), 0x7bff);
	T_EQ(bits(GW_INT32, GW_FP16, false, 65519), 0x7bff);
	T_EQ(bits(GW_INT32, GW_FP16, false, 65520), 0x7c00); /* rounds to infinity */
	T_EQ(bits(GW_INT32, GW_FP16, false, INT32_MIN), 0xfc00);
	/* 2^24 + 2^16 + 1: above the tie of bf16, on it if rounded to fp32 first */
	T_EQ(bits(GW_INT32, GW_BF16, false, 0x1010001), 0x4b81);
	T_EQ(bits(GW_INT32, GW_BF16, false, 0x1010000), 0x4b80);
	T_EQ(bits(GW_INT32, GW_BF16, false, -0x1010001), 0xcb81);
	T_EQ(bits(GW_INT32, GW_BF16, false, INT32_MAX), 0x4f00);
	T_EQ(bits(GW_INT32, GW_FP32, false, 16777217), 0x4b800000);
	T_EQ(bits(GW_INT32, GW_FP64, false, 16777217), 0x4170000010000000ll);
	T_EQ(bits(GW_INT32, GW_INT32, true, 0x01020304), 0x04030201);
	T_EQ(bits(GW_INT16, GW_INT8, false, 300), 127);
	T_EQ(bits(GW_INT32, GW_INT8, false, -300), 0x80);
	T_EQ(gw__converted_bytes(GW_INT4, GW_FP16, 10), 40);
	T_EQ(gw__converted_bytes(GW_INT32, GW_FP64, 12), 24);
	T_EQ(gw__converted_bytes(GW_ELEM_NONE, GW_ELEM_NONE, 12), 12);
	T_EQ(gw__converted_bytes(GW_INT8, GW_INT16, 12), 0);
	T_EQ(gw__converted_bytes(GW_INT8, GW_ELEM_NONE, 12), 0);
	T_OK(!gw__convert_find(GW__SIMD_SCALAR, GW_FP16, GW_FP32, false));
}

static void compare(gw__convert_fn fn, gw__convert_fn scalar, enum gw__elem in, enum gw__elem out,
		    const uint8_t *src, uint32_t n_in, uint32_t off)
{
	static uint8_t got[MAX_IN * 16 + 3 * GUARD], want[MAX_IN * 16 + 3 * GUARD];
	size_t n_out = gw__converted_bytes(in, out, n_in);

	memset(got, 0xa5, n_out + off + 2 * GUARD);
	memset(want, 0xa5, n_out + off + 2 * GUARD);
	scalar(want + GUARD + off, src, n_in);
	fn(got + GUARD + off, src, n_in);
	if (memcmp(got, want, n_out + off + 2 * GUARD))
		T_MEM(got, want, n_out + off + 2 * GUARD);
	t__checks++;
}

static void twins(enum gw__simd simd)
{
	/* the input ends where the allocation ends, so that asan sees a read past it */
	uint64_t x = 0x9e3779b97f4a7c15ull;

	for (size_t a = 0; a < sizeof(ins) / sizeof(*ins); a++)
		for (size_t b = 0; b < sizeof(outs) / sizeof(*outs); b++)
			for (int swap = 0; swap < 2; swap++)
				for (uint32_t n = 0; n <= MAX_IN; n += element_of(ins[a])) {
					gw__convert_fn fn = gw__convert_find(simd, ins[a], outs[b], swap);
					gw__convert_fn ref = gw__convert_find(GW__SIMD_SCALAR, ins[a], outs[b], swap);
					uint32_t off = (uint32_t)(rnd(&x) % 64);
					uint8_t *src = malloc(n + 1 + off);

					T_NEED(fn && ref && src);
					for (uint32_t k = 0; k < n + 1 + off; k++)
						src[k] = (uint8_t)(rnd(&x) >> 40);
					compare(fn, ref, ins[a], outs[b], src + 1 + off, n, off);
					free(src);
				}
}

/* all 16-bit inputs; 32-bit ones at every width, where rounding happens */
static void values(enum gw__simd simd)
{
	uint8_t src[256];
	uint64_t x = 7;

	for (size_t b = 0; b < sizeof(outs) / sizeof(*outs); b++) {
		gw__convert_fn f16 = gw__convert_find(simd, GW_INT16, outs[b], false);
		gw__convert_fn f32 = gw__convert_find(simd, GW_INT32, outs[b], false);
		gw__convert_fn f8 = gw__convert_find(simd, GW_INT8, outs[b], false);

		for (uint32_t k = 0; k < 256; k++)
			src[k] = (uint8_t)k;
		compare(f8, gw__convert_find(GW__SIMD_SCALAR, GW_INT8, outs[b], false), GW_INT8, outs[b], src,
			256, 0);
		for (uint32_t v = 0; v < 65536; v += 128) {
			for (uint32_t k = 0; k < 128; k++) {
				uint16_t h = (uint16_t)(v + k);

				memcpy(src + 2 * k, &h, 2);
			}
			compare(f16, gw__convert_find(GW__SIMD_SCALAR, GW_INT16, outs[b], false), GW_INT16,
				outs[b], src, 256, 0);
		}
		for (int round = 0; round < 2000; round++) {
			for (uint32_t k = 0; k < 64; k++) {
				int32_t v = (int32_t)(rnd(&x) >> 32) >> (k % 32);

				/* near a tie: a few bits, then zeros, then perhaps one more */
				if (k & 1)
					v = (int32_t)(((uint32_t)v & ~0u << (rnd(&x) % 28)) +
						      (uint32_t)(rnd(&x) % 3) - 1);
				memcpy(src + 4 * k, &v, 4);
			}
			compare(f32, gw__convert_find(GW__SIMD_SCALAR, GW_INT32, outs[b], false), GW_INT32,
				outs[b], src, 256, 0);
		}
	}
}

int main(void)
{
	by_hand();
	for (enum gw__simd s = GW__SIMD_SCALAR + 1; s <= gw__simd_best(); s++) {
		printf("%s\n", gw__simd_name(s));
		twins(s);
		values(s);
	}
	T_DONE();
}
