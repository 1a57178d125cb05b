/* reorder/convert_avx2.c: 8 elements at a time (AVX2, F16C); the scalar twin does the tail. Compiled for
 * x86-64 alone, with its own flags; chosen at run time. Must not define a result. Next: convert.c. */
#include "reorder/convert.h"

#if defined(__AVX2__) && defined(__F16C__)
#include <immintrin.h>
#include <string.h>

typedef __m256i v8;

static inline __m128i load32bits(const uint8_t *p)
{
	int v;

	memcpy(&v, p, sizeof(v));
	return _mm_cvtsi32_si128(v);
}

static inline v8 load_i4(const uint8_t *p)
{
	const v8 up = _mm256_set1_epi64x((28ll << 32) | 24); /* even lane: high nibble, odd: low */
	__m128i b = load32bits(p);

	return _mm256_srai_epi32(_mm256_sllv_epi32(_mm256_cvtepi8_epi32(_mm_unpacklo_epi8(b, b)), up), 28);
}

static inline v8 load_i8(const uint8_t *p)
{
	return _mm256_cvtepi8_epi32(_mm_loadl_epi64((const void *)p));
}

static inline v8 load_i16(const uint8_t *p)
{
	return _mm256_cvtepi16_epi32(_mm_loadu_si128((const void *)p));
}

static inline v8 load_i16s(const uint8_t *p)
{
	const __m128i order = _mm_set_epi8(14, 15, 12, 13, 10, 11, 8, 9, 6, 7, 4, 5, 2, 3, 0, 1);

	return _mm256_cvtepi16_epi32(_mm_shuffle_epi8(_mm_loadu_si128((const void *)p), order));
}

static inline v8 load_i32(const uint8_t *p)
{
	return _mm256_loadu_si256((const void *)p);
}

static inline v8 load_i32s(const uint8_t *p)
{
	const __m128i order = _mm_set_epi8(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3);

	return _mm256_shuffle_epi8(load_i32(p), _mm256_broadcastsi128_si256(order));
}

/* the low 16 bits of each lane, in order */
static inline __m128i narrow16(v8 x)
{
	const __m128i pick = _mm_set_epi8(-1, -1, -1, -1, -1, -1, -1, -1, 13, 12, 9, 8, 5, 4, 1, 0);
	v8 y = _mm256_shuffle_epi8(x, _mm256_broadcastsi128_si256(pick));

	return _mm_unpacklo_epi64(_mm256_castsi256_si128(y), _mm256_extracti128_si256(y, 1));
}

static inline void put_8(uint8_t *d, v8 x)
{
	__m128i w = _mm_packs_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));

	_mm_storel_epi64((void *)d, _mm_packs_epi16(w, w));
}

static inline void put_32(uint8_t *d, v8 x)
{
	_mm256_storeu_si256((void *)d, x);
}

static inline void put_fp16(uint8_t *d, v8 x)
{
	_mm_storeu_si128((void *)d, _mm256_cvtps_ph(_mm256_cvtepi32_ps(x),
						    _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

static inline void put_bf16(uint8_t *d, v8 x)
{
	const v8 low = _mm256_set1_epi32(0xff), zero = _mm256_setzero_si256();
	v8 thin = _mm256_cmpeq_epi32(_mm256_srai_epi32(x, 24), _mm256_srai_epi32(x, 31));
	v8 exact = _mm256_cmpeq_epi32(_mm256_and_si256(x, low), zero);
	v8 odd = _mm256_or_si256(_mm256_andnot_si256(low, x),
				 _mm256_andnot_si256(exact, _mm256_set1_epi32(0x100)));
	v8 b = _mm256_castps_si256(_mm256_cvtepi32_ps(_mm256_blendv_epi8(odd, x, thin)));
	v8 even = _mm256_and_si256(_mm256_srli_epi32(b, 16), _mm256_set1_epi32(1));

	b = _mm256_add_epi32(b, _mm256_add_epi32(even, _mm256_set1_epi32(0x7fff)));
	_mm_storeu_si128((void *)d, narrow16(_mm256_srli_epi32(b, 16)));
}

static inline void put_fp32(uint8_t *d, v8 x)
{
	_mm256_storeu_ps((float *)(void *)d, _mm256_cvtepi32_ps(x));
}

static inline void put_fp64(uint8_t *d, v8 x)
{
	_mm256_storeu_pd((double *)(void *)d, _mm256_cvtepi32_pd(_mm256_castsi256_si128(x)));
	_mm256_storeu_pd((double *)(void *)(d + 32), _mm256_cvtepi32_pd(_mm256_extracti128_si256(x, 1)));
}

/* step: input bytes of 8 elements; width: output bytes of one element */
#define PAIR(row, in, col, out, step, width)                                                       \
	static void in##_##out(uint8_t *restrict d, const uint8_t *restrict s, size_t n)           \
	{                                                                                          \
		for (; n >= 4 * (step); n -= 4 * (step), s += 4 * (step), d += 32 * (width)) {     \
			put_##out(d, load_##in(s));                                                \
			put_##out(d + 8 * (width), load_##in(s + (step)));                         \
			put_##out(d + 16 * (width), load_##in(s + 2 * (step)));                    \
			put_##out(d + 24 * (width), load_##in(s + 3 * (step)));                    \
		}                                                                                  \
		for (; n >= (step); n -= (step), s += (step), d += 8 * (width))                    \
			put_##out(d, load_##in(s));                                                \
		if (n)                                                                             \
			gw__convert_scalar[row][col](d, s, n);                                     \
	}
#define ROW(row, in, step)                                                                         \
	PAIR(row, in, GW__OUT_8, 8, step, 1)                                                       \
	PAIR(row, in, GW__OUT_32, 32, step, 4)                                                     \
	PAIR(row, in, GW__OUT_FP16, fp16, step, 2)                                                 \
	PAIR(row, in, GW__OUT_BF16, bf16, step, 2)                                                 \
	PAIR(row, in, GW__OUT_FP32, fp32, step, 4)                                                 \
	PAIR(row, in, GW__OUT_FP64, fp64, step, 8)
ROW(GW__IN_4, i4, 4u)
ROW(GW__IN_8, i8, 8u)
ROW(GW__IN_16, i16, 16u)
ROW(GW__IN_16S, i16s, 16u)
ROW(GW__IN_32, i32, 32u)
ROW(GW__IN_32S, i32s, 32u)

#define ENTRIES(in) { in##_8, in##_32, in##_fp16, in##_bf16, in##_fp32, in##_fp64 }
const gw__convert_fn gw__convert_avx2[GW__IN_N][GW__OUT_N] = {
	ENTRIES(i4), ENTRIES(i8), ENTRIES(i16), ENTRIES(i16s), ENTRIES(i32), ENTRIES(i32s),
};
#endif
