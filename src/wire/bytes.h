/* wire/bytes.h: big-endian loads and stores at any alignment.
 * Must not know what the bytes mean. Next: parse.h. */
#ifndef GW_WIRE_BYTES_H
#define GW_WIRE_BYTES_H

#include <stdint.h>
#include <string.h>

static inline uint16_t gw__be16(const void *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return __builtin_bswap16(v);
}

static inline uint32_t gw__be32(const void *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return __builtin_bswap32(v);
}

static inline uint64_t gw__be64(const void *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return __builtin_bswap64(v);
}

static inline void gw__put16(void *p, uint16_t v)
{
	v = __builtin_bswap16(v);
	memcpy(p, &v, sizeof(v));
}

static inline void gw__put32(void *p, uint32_t v)
{
	v = __builtin_bswap32(v);
	memcpy(p, &v, sizeof(v));
}

static inline void gw__put64(void *p, uint64_t v)
{
	v = __builtin_bswap64(v);
	memcpy(p, &v, sizeof(v));
}

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "little-endian hosts only: x86-64 and aarch64"
#endif

#endif
