/* wire/toeplitz.c: the hash's definition and the table made from it.
 * Must not know queues. Next: flow_table.c. */
#include "wire/toeplitz.h"

#include <string.h>

const uint8_t gw__toeplitz_default_key[GW_TOEPLITZ_KEY] = {
	0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3,
	0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3,
	0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
};

uint32_t gw__toeplitz_slow(const uint8_t key[GW_TOEPLITZ_KEY], const uint8_t *in, uint32_t n)
{
	uint32_t h = 0;
	uint32_t window = (uint32_t)key[0] << 24 | (uint32_t)key[1] << 16 | (uint32_t)key[2] << 8 | key[3];

	for (uint32_t i = 0; i < n && i + 4 < GW_TOEPLITZ_KEY; i++) {
		for (int b = 7; b >= 0; b--) {
			if (in[i] >> b & 1)
				h ^= window;
			window = window << 1 | (key[i + 4] >> b & 1);
		}
	}
	return h;
}

void gw__toeplitz_init(struct gw__toeplitz *t, const uint8_t key[GW_TOEPLITZ_KEY])
{
	memcpy(t->key, key, GW_TOEPLITZ_KEY);
	for (uint32_t i = 0; i < GW_TOEPLITZ_V4; i++) {
		t->table[i][0] = 0;
		for (uint32_t v = 1; v < 256; v++) {
			uint8_t in[GW_TOEPLITZ_V4] = { 0 };

			in[i] = (uint8_t)v;
			/* a value of several bits is the sum of its lowest bit and the rest, both known */
			t->table[i][v] = v & (v - 1) ? t->table[i][v & (v - 1)] ^ t->table[i][v & -v] :
						       gw__toeplitz_slow(key, in, i + 1);
		}
	}
}
