/* wire/checksum.c: the Internet checksum by 64-bit words.
 * Must not know frames as lists of segments. Next: build.c, which writes them. */
#include "wire/checksum.h"

#include <string.h>

#include "wire/bytes.h"

uint64_t gw__checksum_add(uint64_t sum, const void *data, size_t n)
{
	const uint8_t *p = data;
	uint64_t lo = 0, hi = 0, w;

	for (; n >= 8; n -= 8, p += 8) {
		memcpy(&w, p, 8);
		lo += w & 0xffffffffu;
		hi += w >> 32;
	}
	w = 0;
	memcpy(&w, p, n); /* zero padded: the odd last byte is the first of its word */
	lo += w & 0xffffffffu;
	hi += w >> 32;
	sum = (sum & 0xffffffffu) + (sum >> 32);
	lo = (lo & 0xffffffffu) + (lo >> 32);
	hi = (hi & 0xffffffffu) + (hi >> 32);
	return sum + lo + hi;
}

uint16_t gw__checksum_fold(uint64_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

uint64_t gw__udp_pseudo(const uint8_t *ip, bool v6, uint32_t udp_len)
{
	uint8_t tail[8];

	gw__put32(tail, udp_len);
	gw__put32(tail + 4, GW_IP_UDP);
	if (v6)
		return gw__checksum_add(gw__checksum_add(0, ip + 8, 32), tail, 8);
	return gw__checksum_add(gw__checksum_add(0, ip + 12, 8), tail, 8);
}

bool gw__udp_checksum_ok(const uint8_t *frame, const struct gw__pkt *p, bool *known)
{
	bool v6 = p->flags & GW__PKT_IPV6;
	uint32_t len;

	*known = false;
	if (!(p->flags & GW__PKT_UDP) || (p->flags & (GW__PKT_FRAGMENT | GW__PKT_L4_BAD)))
		return true;
	len = gw__be16(frame + p->l4_off + 4);
	if (len < 8 || p->l4_off + len > p->frame_len)
		return true;
	*known = true;
	if (!gw__be16(frame + p->l4_off + 6))
		return !v6;
	return !gw__checksum_fold(
		gw__checksum_add(gw__udp_pseudo(frame + p->l3_off, v6, len), frame + p->l4_off, len));
}
