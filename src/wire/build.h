/* wire/build.h: write Ethernet/IPv4/UDP headers.
 * Must not know payloads. Next: build.c. */
#ifndef GW_WIRE_BUILD_H
#define GW_WIRE_BUILD_H

#include <stdbool.h>
#include <stdint.h>

#define GW_UDP4_HDR 42u /* Ethernet 14, IPv4 20, UDP 8 */
#define GW_UDP6_HDR 62u

struct gw__udp_hdr {
	uint8_t eth_dst[6], eth_src[6];
	uint8_t ip_src[4], ip_dst[4];     /* network order */
	uint8_t ip6_src[16], ip6_dst[16]; /* gw__build_udp6() only */
	uint16_t udp_src, udp_dst;        /* host order */
	uint8_t ttl, tos;                 /* ttl 0 = 64 */
	uint16_t ip_id;
};

/* Write the 42 bytes in front of payload_len bytes that follow them. IPv4 checksum is set; the UDP checksum is
 * over payload (payload_len bytes) or, with payload NULL, zero, which is legal over IPv4.
 * Returns 42, or -EMSGSIZE if the lengths do not fit 16 bits. */
int gw__build_udp4(uint8_t *frame, const struct gw__udp_hdr *h, const void *payload, uint32_t payload_len);
/* The same over IPv6: 62 bytes; payload must be given (a zero checksum is not legal there). */
int gw__build_udp6(uint8_t *frame, const struct gw__udp_hdr *h, const void *payload, uint32_t payload_len);
/* Recompute an IPv4 header's checksum in place; hl bytes. */
void gw__ipv4_set_checksum(uint8_t *ip, uint32_t hl);

/* "aa:bb:cc:dd:ee:ff" -> 6 bytes; "10.0.0.1" -> 4. 0 or -EINVAL. */
int gw__mac_from_text(const char *text, uint8_t mac[6]);
int gw__ipv4_from_text(const char *text, uint8_t ip[4]);

#endif
