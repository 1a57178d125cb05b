/* base/bitmap.h: bits in 64-bit words, least significant first. */
#ifndef GW_BASE_BITMAP_H
#define GW_BASE_BITMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline size_t gw__bitmap_words(uint32_t n_bits)
{
	return ((size_t)n_bits + 63) / 64;
}

static inline bool gw__bit_test(const uint64_t *map, uint32_t i)
{
	return map[i >> 6] >> (i & 63) & 1;
}

static inline void gw__bit_set(uint64_t *map, uint32_t i)
{
	map[i >> 6] |= (uint64_t)1 << (i & 63);
}

static inline void gw__bit_clear(uint64_t *map, uint32_t i)
{
	map[i >> 6] &= ~((uint64_t)1 << (i & 63));
}

/* Bits set in [from, from + n). */
uint32_t gw__bitmap_count(const uint64_t *map, uint32_t from, uint32_t n);

#endif
