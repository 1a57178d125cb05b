/* base/bitmap.c: counting bits in a range. */
#include "base/bitmap.h"

uint32_t gw__bitmap_count(const uint64_t *map, uint32_t from, uint32_t n)
{
	uint32_t total = 0;

	while (n) {
		uint32_t at = from & 63;
		uint32_t take = 64 - at < n ? 64 - at : n;
		uint64_t w = map[from >> 6] >> at;

		if (take < 64)
			w &= ((uint64_t)1 << take) - 1;
		total += (uint32_t)__builtin_popcountll(w);
		from += take;
		n -= take;
	}
	return total;
}
