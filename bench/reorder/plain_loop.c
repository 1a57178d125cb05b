/* The peer: the loop somebody would write who knows each packet's place beforehand and checks nothing, in the widest
 * instructions that the CPU has. Shares no code with the library. Next: bench_reorder.c. */
#include "plain_loop.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>

#define WIDE __attribute__((target("avx512f,avx512bw,avx512vl")))
#define HALF __attribute__((target("avx2,f16c")))

WIDE static void row_512(uint8_t *d, const uint8_t *s, size_t len)
{
	size_t k = 0;

	for (; k + 16 <= len; k += 16)
		_mm256_storeu_si256((__m256i *)(void *)(d + 2 * k),
			_mm512_cvtps_ph(_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(
				_mm_loadu_si128((const __m128i *)(const void *)(s + k)))), 0));
	if (k < len) {
		__mmask16 m = (__mmask16)((1u << (len - k)) - 1);

		_mm256_mask_storeu_epi16(d + 2 * k, m,
			_mm512_cvtps_ph(_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(
				_mm_maskz_loadu_epi8(m, s + k))), 0));
	}
}

HALF static __m128i eight(const uint8_t *s)
{
	return _mm256_cvtps_ph(_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(
		_mm_loadl_epi64((const __m128i *)(const void *)s))), 0);
}

HALF static void row_256(uint8_t *d, const uint8_t *s, size_t len)
{
	size_t k = 0;

	for (; k + 8 <= len; k += 8)
		_mm_storeu_si128((__m128i *)(void *)(d + 2 * k), eight(s + k));
	if (k < len) {
		uint8_t rest[8] = { 0 }, half[16];

		memcpy(rest, s + k, len - k);
		_mm_storeu_si128((__m128i *)(void *)half, eight(rest));
		memcpy(d + 2 * k, half, 2 * (len - k));
	}
}

WIDE static void loop_512(uint8_t *out, const uint8_t *src, size_t stride, const uint32_t *slot, size_t n, size_t len)
{
	for (size_t i = 0; i < n; i++)
		row_512(out + i * len * 2, src + slot[i] * stride, len);
}

HALF static void loop_256(uint8_t *out, const uint8_t *src, size_t stride, const uint32_t *slot, size_t n, size_t len)
{
	for (size_t i = 0; i < n; i++)
		row_256(out + i * len * 2, src + slot[i] * stride, len);
}

const char *plain_simd(void)
{
	if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
		return "AVX-512";
	return __builtin_cpu_supports("avx2") ? "AVX2" : NULL; /* every CPU that has it converts halves too */
}

void plain_int8_to_fp16(uint8_t *out, const uint8_t *src, size_t stride, const uint32_t *slot, size_t n, size_t len)
{
	if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
		loop_512(out, src, stride, slot, n, len);
	else
		loop_256(out, src, stride, slot, n, len);
}
#else
void plain_int8_to_fp16(uint8_t *out, const uint8_t *src, size_t stride, const uint32_t *slot, size_t n, size_t len)
{
	(void)out, (void)src, (void)stride, (void)slot, (void)n, (void)len;
}

const char *plain_simd(void)
{
	return NULL;
}
#endif

void plain_copy(uint8_t *out, const uint8_t *src, size_t stride, const uint32_t *slot, size_t n, size_t len)
{
	for (size_t i = 0; i < n; i++)
		memcpy(out + i * len, src + slot[i] * stride, len);
}
