/* The bare loops that bench_reorder measures the stage against: packet i goes from slot[i] to place i. */
#ifndef BENCH_REORDER_PLAIN_LOOP_H
#define BENCH_REORDER_PLAIN_LOOP_H

#include <stddef.h>
#include <stdint.h>

const char *plain_simd(void); /* "AVX-512", "AVX2"; NULL: neither, so no int8 peer */
void plain_int8_to_fp16(uint8_t *out, const uint8_t *src, size_t stride, const uint32_t *slot, size_t n,
			size_t len);
void plain_copy(uint8_t *out, const uint8_t *src, size_t stride, const uint32_t *slot, size_t n, size_t len);

#endif
