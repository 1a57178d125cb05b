/* wire/build.c: write Ethernet/IPv4/UDP headers with true lengths and checksums.
 * Must not know payloads. Next: checksum.c. */
#include "wire/build.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "wire/bytes.h"
#include "wire/checksum.h"
#include "wire/parse.h"

void gw__ipv4_set_checksum(uint8_t *ip, uint32_t hl)
{
	uint16_t c;

	memset(ip + 10, 0, 2);
	c = gw__checksum_fold(gw__checksum_add(0, ip, hl));
	memcpy(ip + 10, &c, 2);
}

static void put_eth(uint8_t *f, const struct gw__udp_hdr *h, uint16_t ethertype)
{
	memcpy(f, h->eth_dst, 6);
	memcpy(f + 6, h->eth_src, 6);
	gw__put16(f + 12, ethertype);
}

static void put_udp(uint8_t *udp, const struct gw__udp_hdr *h, uint32_t payload_len)
{
	gw__put16(udp, h->udp_src);
	gw__put16(udp + 2, h->udp_dst);
	gw__put16(udp + 4, (uint16_t)(payload_len + 8));
	gw__put16(udp + 6, 0);
}

static void put_udp_checksum(uint8_t *udp, const uint8_t *ip, bool v6, const void *payload, uint32_t n)
{
	uint64_t sum = gw__udp_pseudo(ip, v6, n + 8);
	uint16_t c;

	sum = gw__checksum_add(sum, udp, 8);
	c = gw__checksum_fold(gw__checksum_add(sum, payload, n));
	if (!c)
		c = 0xffff; /* zero means "none" */
	memcpy(udp + 6, &c, 2);
}

int gw__build_udp4(uint8_t *f, const struct gw__udp_hdr *h, const void *payload, uint32_t n)
{
	uint8_t *ip = f + GW_ETH_HDR, *udp = ip + 20;

	if (n > 0xffffu - 28)
		return -EMSGSIZE;
	put_eth(f, h, GW_ETH_IPV4);
	ip[0] = 0x45;
	ip[1] = h->tos;
	gw__put16(ip + 2, (uint16_t)(n + 28));
	gw__put16(ip + 4, h->ip_id);
	gw__put16(ip + 6, 0x4000); /* do not fragment */
	ip[8] = h->ttl ? h->ttl : 64;
	ip[9] = GW_IP_UDP;
	memcpy(ip + 12, h->ip_src, 4);
	memcpy(ip + 16, h->ip_dst, 4);
	gw__ipv4_set_checksum(ip, 20);
	put_udp(udp, h, n);
	if (payload)
		put_udp_checksum(udp, ip, false, payload, n);
	return (int)GW_UDP4_HDR;
}

int gw__build_udp6(uint8_t *f, const struct gw__udp_hdr *h, const void *payload, uint32_t n)
{
	uint8_t *ip = f + GW_ETH_HDR, *udp = ip + 40;

	if (n > 0xffffu - 8)
		return -EMSGSIZE;
	put_eth(f, h, GW_ETH_IPV6);
	gw__put32(ip, 0x60000000u | (uint32_t)h->tos << 20);
	gw__put16(ip + 4, (uint16_t)(n + 8));
	ip[6] = GW_IP_UDP;
	ip[7] = h->ttl ? h->ttl : 64;
	memcpy(ip + 8, h->ip6_src, 16);
	memcpy(ip + 24, h->ip6_dst, 16);
	put_udp(udp, h, n);
	put_udp_checksum(udp, ip, true, payload, n);
	return (int)GW_UDP6_HDR;
}

int gw__mac_from_text(const char *text, uint8_t mac[6])
{
	unsigned int b[6];
	char end;

	if (sscanf(text, "%2x:%2x:%2x:%2x:%2x:%2x%c", &b[0], &b[1], &b[2], &b[3], &b[4], &b[5], &end) != 6)
		return -EINVAL;
	for (int i = 0; i < 6; i++)
		mac[i] = (uint8_t)b[i];
	return 0;
}

int gw__ipv4_from_text(const char *text, uint8_t ip[4])
{
	return inet_pton(AF_INET, text, ip) == 1 ? 0 : -EINVAL;
}
