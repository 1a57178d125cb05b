/* wire/checksum.h: the Internet checksum, whole and in parts.
 * Must not know frames as lists of segments. Next: checksum.c. */
#ifndef GW_WIRE_CHECKSUM_H
#define GW_WIRE_CHECKSUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/parse.h"

/* Running one's-complement sum in host byte order of the words as they lie in memory. Parts must have even
 * lengths except the last one. fold gives the value to store as it is (memory order). */
uint64_t gw__checksum_add(uint64_t sum, const void *data, size_t n_bytes);
uint16_t gw__checksum_fold(uint64_t sum);

/* Header checksum of hl bytes (multiple of 4, >= 20). Inlined: once a packet. */
static inline bool gw__ipv4_checksum_ok(const uint8_t *ip, uint32_t hl)
{
	uint64_t sum = 0;
	uint32_t w;

	for (uint32_t i = 0; i < hl; i += 4) {
		__builtin_memcpy(&w, ip + i, 4);
		sum += w;
	}
	sum = (sum & 0xffffffffu) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return sum == 0xffff;
}

/* Sum of the pseudo header for a UDP datagram of udp_len bytes; ip points at the IPv4 or IPv6 header. */
uint64_t gw__udp_pseudo(const uint8_t *ip, bool v6, uint32_t udp_len);

/* Is the UDP checksum right? frame = whole frame in one piece. A zero checksum is legal over IPv4 (true) and
 * not over IPv6 (false); fragments and datagrams with a false length cannot be judged: *known = false. */
bool gw__udp_checksum_ok(const uint8_t *frame, const struct gw__pkt *p, bool *known);

#endif
