/* reorder/convert.h: runs of small integers become the tensor's element type. One scalar twin and the vector
 * ones, which give the same bytes for every offset and length.
 * Must not know packets. Next: convert.c (choice), convert_scalar.c (the definition of every pair). */
#ifndef GW_REORDER_CONVERT_H
#define GW_REORDER_CONVERT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reorder/reorder.h"

/* n_in: input bytes, whole elements. No alignment is asked for; dst and src do not overlap. */
typedef void (*gw__convert_fn)(uint8_t *dst, const uint8_t *src, size_t n_in);

enum gw__simd { GW__SIMD_SCALAR, GW__SIMD_AVX2, GW__SIMD_AVX512, GW__SIMD_VBMI, GW__SIMD_N };

/* What this CPU can do. */
enum gw__simd gw__simd_best(void);
const char *gw__simd_name(enum gw__simd simd);

/* The function for a pair at exactly this level; NULL if the pair is not known or the level not built in.
 *   both types GW_ELEM_NONE  plain copy
 *   swap                     16- and 32-bit input is big-endian
 * int4: high nibble first. Rounding is to nearest even, once, whatever the width of the input; fp16
 * overflows to infinity; int8 output saturates. */
gw__convert_fn gw__convert_find(enum gw__simd simd, enum gw__elem in, enum gw__elem out, bool swap);

/* Rows and columns of the tables the three twins fill in. */
enum gw__conv_in { GW__IN_4, GW__IN_8, GW__IN_16, GW__IN_16S, GW__IN_32, GW__IN_32S, GW__IN_N };
enum gw__conv_out { GW__OUT_8, GW__OUT_32, GW__OUT_FP16, GW__OUT_BF16, GW__OUT_FP32, GW__OUT_FP64, GW__OUT_N };

extern const gw__convert_fn gw__convert_scalar[GW__IN_N][GW__OUT_N];
extern const gw__convert_fn gw__convert_avx2[GW__IN_N][GW__OUT_N];   /* x86-64 only */
extern const gw__convert_fn gw__convert_avx512[GW__IN_N][GW__OUT_N]; /* x86-64 only */
extern const gw__convert_fn gw__convert_vbmi[GW__IN_N][GW__OUT_N];   /* x86-64 only; NULL = as AVX-512 */

#endif
