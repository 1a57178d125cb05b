/* reorder/convert.c: which conversion function for which pair on which CPU.
 * Must not know packets. Next: convert_scalar.c. */
#include "reorder/convert.h"

#include <string.h>

#if defined(__x86_64__)
#define X86 1
#else
#define X86 0
#endif

static int row_of(enum gw__elem in, bool swap)
{
	switch (in) {
	case GW_INT4: return GW__IN_4;
	case GW_INT8: return GW__IN_8;
	case GW_INT16: return swap ? GW__IN_16S : GW__IN_16;
	case GW_INT32: return swap ? GW__IN_32S : GW__IN_32;
	default: return -1;
	}
}

static int column_of(enum gw__elem out)
{
	switch (out) {
	case GW_INT8: return GW__OUT_8;
	case GW_INT32: return GW__OUT_32;
	case GW_FP16: return GW__OUT_FP16;
	case GW_BF16: return GW__OUT_BF16;
	case GW_FP32: return GW__OUT_FP32;
	case GW_FP64: return GW__OUT_FP64;
	default: return -1;
	}
}

size_t gw__converted_bytes(enum gw__elem in, enum gw__elem out, size_t n_in)
{
	static const uint8_t in_bits[GW__IN_N] = { 4, 8, 16, 16, 32, 32 };
	static const uint8_t out_bytes[GW__OUT_N] = { 1, 4, 2, 2, 4, 8 };
	int r = row_of(in, false), c = column_of(out);

	if (in == GW_ELEM_NONE && out == GW_ELEM_NONE)
		return n_in;
	if (r < 0 || c < 0)
		return 0;
	return n_in * 8 / in_bits[r] * out_bytes[c];
}

enum gw__simd gw__simd_best(void)
{
#if X86
	__builtin_cpu_init();
	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
	    __builtin_cpu_supports("avx512vl"))
		return __builtin_cpu_supports("avx512vbmi") ? GW__SIMD_VBMI : GW__SIMD_AVX512;
	/* Every CPU with AVX2 has F16C. */
	if (__builtin_cpu_supports("avx2"))
		return GW__SIMD_AVX2;
#endif
	return GW__SIMD_SCALAR;
}

const char *gw__simd_name(enum gw__simd simd)
{
	static const char *const name[GW__SIMD_N] = { "scalar", "avx2", "avx512", "vbmi" };

	return (unsigned)simd < GW__SIMD_N ? name[simd] : "unknown";
}

static void copy(uint8_t *dst, const uint8_t *src, size_t n_in)
{
	memcpy(dst, src, n_in);
}

gw__convert_fn gw__convert_find(enum gw__simd simd, enum gw__elem in, enum gw__elem out, bool swap)
{
	int r = row_of(in, swap), c = column_of(out);

	if (in == GW_ELEM_NONE && out == GW_ELEM_NONE)
		return copy;
	if (r < 0 || c < 0)
		return NULL;
	if ((r == GW__IN_8 && c == GW__OUT_8) || (r == GW__IN_32 && c == GW__OUT_32))
		return copy;
	switch (simd) {
	case GW__SIMD_SCALAR: return gw__convert_scalar[r][c];
#if X86
	case GW__SIMD_AVX2: return gw__convert_avx2[r][c];
	case GW__SIMD_AVX512: return gw__convert_avx512[r][c];
	case GW__SIMD_VBMI: return gw__convert_vbmi[r][c] ? gw__convert_vbmi[r][c] : gw__convert_avx512[r][c];
#endif
	default: return NULL;
	}
}
