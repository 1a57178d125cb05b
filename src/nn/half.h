/* nn/half.h: FLOAT16 to FLOAT, exactly; and the network's input with its per-channel scale and shift.
 * Must not know layouts beyond "channels apart" and "channels together". Next: half.c. */
#ifndef GW_NN_HALF_H
#define GW_NN_HALF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

float gw__half_to_float(uint16_t h);
/* n values; src need not be aligned. */
void gw__half_widen(const void *src, float *dst, size_t n);
/* dst[i] = src[i] * scale + shift, product rounded before the sum as two ONNX nodes would round it. */
void gw__half_affine(const uint16_t *src, float *dst, size_t n, float scale, float shift);
/* The same into every stride-th value of dst. */
void gw__half_affine_strided(const uint16_t *src, float *dst, size_t n, size_t stride, float scale, float shift);

#endif
