/* wire/toeplitz.h: the receive-side-scaling hash: which queue a flow goes to.
 * A table per key turns the bitwise definition into one look-up a byte. Must not know queues.
 * Source: Microsoft "RSS hashing types" verification suite. */
#ifndef GW_WIRE_TOEPLITZ_H
#define GW_WIRE_TOEPLITZ_H

#include <stdint.h>

#define GW_TOEPLITZ_KEY 40u
#define GW_TOEPLITZ_V4 12u

struct gw__toeplitz {
	uint8_t key[GW_TOEPLITZ_KEY];
	uint32_t table[GW_TOEPLITZ_V4][256]; /* IPv4 tuple: 12 KiB */
};

extern const uint8_t gw__toeplitz_default_key[GW_TOEPLITZ_KEY];

void gw__toeplitz_init(struct gw__toeplitz *t, const uint8_t key[GW_TOEPLITZ_KEY]);
/* Bit by bit, any input up to 36 bytes: IPv6 and the tests' reference. */
uint32_t gw__toeplitz_slow(const uint8_t key[GW_TOEPLITZ_KEY], const uint8_t *in, uint32_t n_bytes);

/* n_bytes <= 12: source and destination address, then the two ports as on the wire. */
static inline uint32_t gw__toeplitz(const struct gw__toeplitz *t, const uint8_t *in, uint32_t n_bytes)
{
	uint32_t h = 0;

	for (uint32_t i = 0; i < n_bytes; i++)
		h ^= t->table[i][in[i]];
	return h;
}

#endif
