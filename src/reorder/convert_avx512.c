/* reorder/convert_avx512.c: 16 elements at a time, masked tails (F, BW, VL). Compiled for x86-64 alone, with
 * its own flags; chosen at run time. Must not define a result: convert_scalar.c does. Next: convert.c. */
#include "reorder/convert.h"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__)
#include <immintrin.h>

typedef __m512i v16;

/* ---- n elements (16 or fewer) as 32-bit integers; p points at input bytes ------------------- */

static inline v16 nibbles(__m128i bytes)
{
	const v16 up = _mm512_set1_epi64((28ll << 32) | 24); /* even lane: high nibble, odd: low */

	return _mm512_srai_epi32(
		_mm512_sllv_epi32(_mm512_cvtepi8_epi32(_mm_unpacklo_epi8(bytes, bytes)), up), 28);
}

static inline __m256i swap16(__m256i v)
{
	const __m256i order = _mm256_set_epi8(14, 15, 12, 13, 10, 11, 8, 9, 6, 7, 4, 5, 2, 3, 0, 1, 14, 15,
					      12, 13, 10, 11, 8, 9, 6, 7, 4, 5, 2, 3, 0, 1);

	return _mm256_shuffle_epi8(v, order);
}

static inline v16 swap32(v16 v)
{
	return _mm512_shuffle_epi8(v, _mm512_broadcast_i32x4(_mm_set_epi8(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6,
									  7, 0, 1, 2, 3)));
}

static inline v16 load_i4(const uint8_t *p)
{
	return nibbles(_mm_loadl_epi64((const void *)p));
}

static inline v16 load_i8(const uint8_t *p)
{
	return _mm512_cvtepi8_epi32(_mm_loadu_si128((const void *)p));
}

static inline v16 load_i16(const uint8_t *p)
{
	return _mm512_cvtepi16_epi32(_mm256_loadu_si256((const void *)p));
}

static inline v16 load_i16s(const uint8_t *p)
{
	return _mm512_cvtepi16_epi32(swap16(_mm256_loadu_si256((const void *)p)));
}

static inline v16 load_i32(const uint8_t *p)
{
	return _mm512_loadu_si512(p);
}

static inline v16 load_i32s(const uint8_t *p)
{
	return swap32(_mm512_loadu_si512(p));
}

static inline v16 tail_i4(const uint8_t *p, __mmask16 k)
{
	/* two elements a byte: half as many mask bits */
	return nibbles(_mm_maskz_loadu_epi8((__mmask16)((1u << (__builtin_popcount(k) / 2)) - 1), p));
}

static inline v16 tail_i8(const uint8_t *p, __mmask16 k)
{
	return _mm512_cvtepi8_epi32(_mm_maskz_loadu_epi8(k, p));
}

static inline v16 tail_i16(const uint8_t *p, __mmask16 k)
{
	return _mm512_cvtepi16_epi32(_mm256_maskz_loadu_epi16(k, p));
}

static inline v16 tail_i16s(const uint8_t *p, __mmask16 k)
{
	return _mm512_cvtepi16_epi32(swap16(_mm256_maskz_loadu_epi16(k, p)));
}

static inline v16 tail_i32(const uint8_t *p, __mmask16 k)
{
	return _mm512_maskz_loadu_epi32(k, p);
}

static inline v16 tail_i32s(const uint8_t *p, __mmask16 k)
{
	return swap32(_mm512_maskz_loadu_epi32(k, p));
}

/* ---- 16 integers to the output type --------------------------------------------------------- */

static inline __m256i fp16_of(v16 x)
{
	return _mm512_cvtps_ph(_mm512_cvtepi32_ps(x), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

static inline __m256i bf16_of(v16 x)
{
	const v16 low = _mm512_set1_epi32(0xff);
	__mmask16 wide = _mm512_cmpneq_epi32_mask(_mm512_srai_epi32(x, 24), _mm512_srai_epi32(x, 31));
	v16 odd = _mm512_mask_or_epi32(_mm512_andnot_si512(low, x), _mm512_test_epi32_mask(x, low),
				       _mm512_andnot_si512(low, x), _mm512_set1_epi32(0x100));
	v16 b = _mm512_castps_si512(_mm512_cvtepi32_ps(_mm512_mask_mov_epi32(x, wide, odd)));
	v16 even = _mm512_and_si512(_mm512_srli_epi32(b, 16), _mm512_set1_epi32(1));

	b = _mm512_add_epi32(b, _mm512_add_epi32(even, _mm512_set1_epi32(0x7fff)));
	return _mm512_cvtepi32_epi16(_mm512_srli_epi32(b, 16));
}

static inline void put_8(uint8_t *d, v16 x)
{
	_mm_storeu_si128((void *)d, _mm512_cvtsepi32_epi8(x));
}

static inline void put_32(uint8_t *d, v16 x)
{
	_mm512_storeu_si512(d, x);
}

static inline void put_fp16(uint8_t *d, v16 x)
{
	_mm256_storeu_si256((void *)d, fp16_of(x));
}

static inline void put_bf16(uint8_t *d, v16 x)
{
	_mm256_storeu_si256((void *)d, bf16_of(x));
}

static inline void put_fp32(uint8_t *d, v16 x)
{
	_mm512_storeu_ps(d, _mm512_cvtepi32_ps(x));
}

static inline void put_fp64(uint8_t *d, v16 x)
{
	_mm512_storeu_pd(d, _mm512_cvtepi32_pd(_mm512_castsi512_si256(x)));
	_mm512_storeu_pd(d + 64, _mm512_cvtepi32_pd(_mm512_extracti64x4_epi64(x, 1)));
}

static inline void end_8(uint8_t *d, v16 x, __mmask16 k)
{
	_mm_mask_storeu_epi8(d, k, _mm512_cvtsepi32_epi8(x));
}

static inline void end_32(uint8_t *d, v16 x, __mmask16 k)
{
	_mm512_mask_storeu_epi32(d, k, x);
}

static inline void end_fp16(uint8_t *d, v16 x, __mmask16 k)
{
	_mm256_mask_storeu_epi16(d, k, fp16_of(x));
}

static inline void end_bf16(uint8_t *d, v16 x, __mmask16 k)
{
	_mm256_mask_storeu_epi16(d, k, bf16_of(x));
}

static inline void end_fp32(uint8_t *d, v16 x, __mmask16 k)
{
	_mm512_mask_storeu_ps(d, k, _mm512_cvtepi32_ps(x));
}

static inline void end_fp64(uint8_t *d, v16 x, __mmask16 k)
{
	_mm512_mask_storeu_pd(d, (__mmask8)k, _mm512_cvtepi32_pd(_mm512_castsi512_si256(x)));
	_mm512_mask_storeu_pd(d + 64, (__mmask8)(k >> 8), _mm512_cvtepi32_pd(_mm512_extracti64x4_epi64(x, 1)));
}

/* step: input bytes of 16 elements; width: output bytes of one element */
#define PAIR(in, out, step, width)                                                                 \
	static void in##_##out(uint8_t *restrict d, const uint8_t *restrict s, size_t n)           \
	{                                                                                          \
		for (; n >= 4 * (step); n -= 4 * (step), s += 4 * (step), d += 64 * (width)) {     \
			put_##out(d, load_##in(s));                                                \
			put_##out(d + 16 * (width), load_##in(s + (step)));                        \
			put_##out(d + 32 * (width), load_##in(s + 2 * (step)));                    \
			put_##out(d + 48 * (width), load_##in(s + 3 * (step)));                    \
		}                                                                                  \
		for (; n >= (step); n -= (step), s += (step), d += 16 * (width))                   \
			put_##out(d, load_##in(s));                                                \
		if (n) {                                                                           \
			__mmask16 k = (__mmask16)((1u << (n * 16 / (step))) - 1);                  \
                                                                                                   \
			end_##out(d, tail_##in(s, k), k);                                          \
		}                                                                                  \
	}
#define ROW(in, step)                                                                              \
	PAIR(in, 8, step, 1)                                                                       \
	PAIR(in, 32, step, 4)                                                                      \
	PAIR(in, fp16, step, 2)                                                                    \
	PAIR(in, bf16, step, 2)                                                                    \
	PAIR(in, fp32, step, 4)                                                                    \
	PAIR(in, fp64, step, 8)
ROW(i4, 8u)
ROW(i8, 16u)
ROW(i16, 32u)
ROW(i16s, 32u)
ROW(i32, 64u)
ROW(i32s, 64u)

#define ENTRIES(in) { in##_8, in##_32, in##_fp16, in##_bf16, in##_fp32, in##_fp64 }
const gw__convert_fn gw__convert_avx512[GW__IN_N][GW__OUT_N] = {
	ENTRIES(i4), ENTRIES(i8), ENTRIES(i16), ENTRIES(i16s), ENTRIES(i32), ENTRIES(i32s),
};
#endif
