/* nn/half.c: FLOAT16 to FLOAT: a scalar body, and F16C where this CPU has it; same bits from all
 * (compiled without fused multiply-add, so that all round alike).
 * Must not know who asks. Next: onednn/run.c. */
#include "nn/half.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

float gw__half_to_float(uint16_t h)
{
	uint32_t sign = (uint32_t)(h & 0x8000u) << 16;
	uint32_t exp = h >> 10 & 0x1fu;
	uint32_t man = h & 0x3ffu;
	uint32_t bits;
	float f;

	if (exp == 0x1f) {
		bits = sign | 0x7f800000u | man << 13 | (man ? 0x400000u : 0);
	} else if (exp) {
		bits = sign | (exp + 112) << 23 | man << 13;
	} else { /* zero, or man * 2^-24: exact in FLOAT */
		f = (float)man * 0x1p-24f;
		memcpy(&bits, &f, 4);
		bits |= sign;
	}
	memcpy(&f, &bits, 4);
	return f;
}

static void affine_scalar(const uint16_t *src, float *dst, size_t n, float scale, float shift)
{
	for (size_t i = 0; i < n; i++) {
		float p = gw__half_to_float(src[i]) * scale;

		dst[i] = p + shift;
	}
}

#if defined(__x86_64__)
__attribute__((target("avx,f16c"))) static void affine_f16c(const uint16_t *src, float *dst, size_t n,
							     float scale, float shift)
{
	size_t i;

	for (i = 0; i + 8 <= n; i += 8) {
		__m128i h = _mm_loadu_si128((const __m128i *)(const void *)(src + i));
		__m256 p = _mm256_mul_ps(_mm256_cvtph_ps(h), _mm256_set1_ps(scale));

		_mm256_storeu_ps(dst + i, _mm256_add_ps(p, _mm256_set1_ps(shift)));
	}
	affine_scalar(src + i, dst + i, n - i, scale, shift);
}

/* Every CPU with AVX2 has F16C, and compilers know the name of the former. */
static bool have_f16c(void)
{
	return __builtin_cpu_supports("avx2");
}
#endif

void gw__half_affine(const uint16_t *src, float *dst, size_t n, float scale, float shift)
{
#if defined(__x86_64__)
	if (have_f16c()) {
		affine_f16c(src, dst, n, scale, shift);
		return;
	}
#endif
	affine_scalar(src, dst, n, scale, shift);
}

void gw__half_widen(const void *src, float *dst, size_t n)
{
	const unsigned char *p = src;

	for (size_t i = 0; i < n; i++) {
		uint16_t h;

		memcpy(&h, p + 2 * i, 2);
		dst[i] = gw__half_to_float(h);
	}
}

void gw__half_affine_strided(const uint16_t *src, float *dst, size_t n, size_t stride, float scale, float shift)
{
	float part[256];

	while (n) {
		size_t m = n < 256 ? n : 256;

		gw__half_affine(src, part, m, scale, shift);
		for (size_t i = 0; i < m; i++)
			dst[i * stride] = part[i];
		src += m;
		dst += m * stride;
		n -= m;
	}
}
