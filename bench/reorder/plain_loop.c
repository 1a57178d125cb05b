/* The peer: the loop somebody would write who knows each packet's place beforehand and checks nothing.
 * Shares no code with the library. Next: bench_reorder.c. */
#include "plain_loop.h"

#include <string.h>

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__)
#include <immintrin.h>

void plain_int8_to_fp16(uint8_t *out, const uint8_t *src, size_t stride, const uint32_t *slot, size_t n, size_t len)
{
	for (size_t i = 0; i < n; i++) {
		const uint8_t *s = src + slot[i] * stride;
		uint8_t *d = out + i * len * 2;
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
}

int plain_runs(void)
{
	return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
}
#else
void plain_int8_to_fp16(uint8_t *out, const uint8_t *src, size_t stride, const uint32_t *slot, size_t n, size_t len)
{
	(void)out, (void)src, (void)stride, (void)slot, (void)n, (void)len;
}

int plain_runs(void)
{
	return 0;
}
#endif

void plain_copy(uint8_t *out, const uint8_t *src, size_t stride, const uint32_t *slot, size_t n, size_t len)
{
	for (size_t i = 0; i < n; i++)
		memcpy(out + i * len, src + slot[i] * stride, len);
}
