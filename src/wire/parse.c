/* wire/parse.c: one pass over the headers, each field read once, each offset checked before use.
 * Must not know ports, rules or slots. Next: flow_table.c, which matches on the result. */
#include "wire/parse.h"

#include <string.h>

#include "wire/bytes.h"
#include "wire/checksum.h"

#define MAX_TAGS 2u

static void parse_udp(const uint8_t *h, uint32_t n, uint32_t off, uint32_t l3_payload, struct gw__pkt *p)
{
	uint16_t len;

	if (off + 8 > n)
		return;
	p->flags |= GW__PKT_UDP;
	p->src_port = gw__be16(h + off);
	p->dst_port = gw__be16(h + off + 2);
	p->payload_off = (uint16_t)(off + 8);
	len = gw__be16(h + off + 4);
	/* short frames are padded to the Ethernet minimum, so more bytes than claimed are no lie there */
	if (len < 8 || len > l3_payload || (len < l3_payload && p->frame_len > 60))
		p->flags |= GW__PKT_L4_BAD;
}

static void parse_ipv4(const uint8_t *h, uint32_t n, uint32_t off, struct gw__pkt *p)
{
	uint32_t room = p->frame_len - off;
	uint32_t hl;
	uint16_t frag;

	if (off + 20 > n)
		return;
	hl = (h[off] & 15u) * 4u;
	p->flags |= GW__PKT_IPV4;
	p->l3_off = (uint16_t)off;
	p->ip_proto = h[off + 9];
	p->ipv4_len = gw__be16(h + off + 2);
	frag = gw__be16(h + off + 6);
	if (h[off] >> 4 != 4 || hl < 20 || off + hl > n) {
		p->flags |= GW__PKT_L3_BAD;
		return;
	}
	if (p->ipv4_len > room || p->ipv4_len < hl || (p->ipv4_len < room && p->frame_len > 60) ||
	    !gw__ipv4_checksum_ok(h + off, hl))
		p->flags |= GW__PKT_L3_BAD;
	p->l4_off = (uint16_t)(off + hl);
	p->payload_off = p->l4_off;
	if (frag & 0x3fff)
		p->flags |= GW__PKT_FRAGMENT;
	if (p->ip_proto == GW_IP_UDP && !(frag & 0x1fff))
		parse_udp(h, n, off + hl, room - hl, p);
}

static void parse_ipv6(const uint8_t *h, uint32_t n, uint32_t off, struct gw__pkt *p)
{
	uint32_t at = off + 40;
	uint8_t next;

	if (at > n)
		return;
	p->flags |= GW__PKT_IPV6;
	p->l3_off = (uint16_t)off;
	if (h[off] >> 4 != 6)
		p->flags |= GW__PKT_L3_BAD;
	next = h[off + 6];
	/* hop-by-hop, routing, destination options: one after the other, each states its length */
	while ((next == 0 || next == 43 || next == 60) && at + 8 <= n) {
		uint32_t len = (h[at + 1] + 1u) * 8u;

		if (at + len > n)
			break;
		next = h[at];
		at += len;
	}
	if (next == 44 && at + 8 <= n) {
		p->flags |= GW__PKT_FRAGMENT;
		next = (gw__be16(h + at + 2) & 0xfff8) ? 255 : h[at];
		at += 8;
	}
	p->ip_proto = next;
	p->l4_off = (uint16_t)at;
	p->payload_off = p->l4_off;
	if (next == GW_IP_UDP && at <= p->frame_len)
		parse_udp(h, n, at, p->frame_len - at, p);
}

void gw__parse(const uint8_t *h, uint32_t n, uint32_t frame_len, struct gw__pkt *p)
{
	uint32_t off = GW_ETH_HDR;

	memset(p, 0, sizeof(*p));
	p->frame_len = frame_len;
	if (n > frame_len)
		n = frame_len;
	if (n < GW_ETH_HDR)
		return;
	p->flags = GW__PKT_ETHER;
	p->ethertype = gw__be16(h + 12);
	while ((p->ethertype == GW_ETH_VLAN || p->ethertype == GW_ETH_QINQ) && p->n_vlan < MAX_TAGS &&
	       off + 4 <= n) {
		if (!p->n_vlan++) {
			p->flags |= GW__PKT_VLAN;
			p->vlan_tci = gw__be16(h + off);
		}
		p->ethertype = gw__be16(h + off + 2);
		off += 4;
	}
	p->payload_off = (uint16_t)off;
	if (p->ethertype == GW_ETH_IPV4) {
		parse_ipv4(h, n, off, p);
	} else if (p->ethertype == GW_ETH_IPV6) {
		parse_ipv6(h, n, off, p);
	} else if (p->ethertype == GW_ETH_ECPRI && off + 4 <= n) {
		p->flags |= GW__PKT_ECPRI;
		p->ecpri_off = (uint16_t)off;
	}
}
