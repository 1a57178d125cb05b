/* wire/tunnel.c: build and recognise outer headers.
 * Must not know gather lists. Next: parse.c. */
#include "wire/tunnel.h"

#include <errno.h>
#include <string.h>

#include "wire/build.h"
#include "wire/bytes.h"

#define VXLAN_HDR 8u
#define VXLAN_I 0x08u     /* the VNI is valid */
#define GRE_HAS_SUM 0x8000u
#define GRE_HAS_KEY 0x2000u
#define GRE_HAS_SEQ 0x1000u
#define GRE_ROUTING 0x4000u
#define GRE_VERSION 0x0007u

bool gw__tunnel_carries_ethernet(const struct gw_action *a)
{
	return a->tunnel.type != GW_TUNNEL_GRE || a->tunnel.gre_protocol == GW_ETH_TEB;
}

int gw__tunnel_build(uint8_t out[GW_TUNNEL_MAX], const struct gw_action *a, uint32_t inner_len)
{
	uint8_t *ip = out + GW_ETH_HDR, *l4 = ip + 20;
	uint32_t l4_len = a->tunnel.type == GW_TUNNEL_VXLAN ? 8 + VXLAN_HDR : a->tunnel.type == GW_TUNNEL_GRE ? 4 : 8;

	if (inner_len > 0xffffu - 20 - l4_len)
		return -EMSGSIZE;
	memset(out, 0, GW_ETH_HDR + 20 + l4_len);
	memcpy(out, a->tunnel.eth_dst, 6);
	memcpy(out + 6, a->tunnel.eth_src, 6);
	gw__put16(out + 12, GW_ETH_IPV4);
	ip[0] = 0x45;
	ip[1] = a->tunnel.tos;
	gw__put16(ip + 2, (uint16_t)(20 + l4_len + inner_len));
	gw__put16(ip + 6, 0x4000); /* do not fragment */
	ip[8] = a->tunnel.ttl;
	ip[9] = a->tunnel.type == GW_TUNNEL_VXLAN ? GW_IP_UDP : GW_IP_GRE;
	memcpy(ip + 12, a->tunnel.ipv4_src, 4);
	memcpy(ip + 16, a->tunnel.ipv4_dst, 4);
	gw__ipv4_set_checksum(ip, 20);
	if (a->tunnel.type == GW_TUNNEL_VXLAN) {
		gw__put16(l4, a->tunnel.udp_src);
		gw__put16(l4 + 2, a->tunnel.udp_dst);
		gw__put16(l4 + 4, (uint16_t)(8 + VXLAN_HDR + inner_len)); /* checksum zero, as RFC 7348 asks */
		l4[8] = VXLAN_I;
		gw__put32(l4 + 12, a->tunnel.vni << 8);
	} else if (a->tunnel.type == GW_TUNNEL_GRE) {
		gw__put16(l4 + 2, a->tunnel.gre_protocol);
	} else {
		gw__put16(l4, GRE_HAS_KEY);
		gw__put16(l4 + 2, GW_ETH_TEB);
		gw__put32(l4 + 4, a->tunnel.vni << 8 | a->tunnel.flow_id);
	}
	return (int)(GW_ETH_HDR + 20 + l4_len);
}

static bool parse_vxlan(const struct gw_action *a, const uint8_t *h, uint32_t n, const struct gw__pkt *p,
			struct gw__tunnel_in *out)
{
	uint32_t at = p->payload_off;
	uint16_t port = a->tunnel.udp_dst ? a->tunnel.udp_dst : GW_VXLAN_PORT;

	if (!(p->flags & GW__PKT_UDP) || p->dst_port != port || at + VXLAN_HDR + GW_ETH_HDR > n ||
	    !(h[at] & VXLAN_I))
		return false;
	out->inner_off = (uint16_t)(at + VXLAN_HDR);
	out->ethertype = 0;
	out->vni = gw__be32(h + at + 4) >> 8;
	return true;
}

static bool parse_gre(const struct gw_action *a, const uint8_t *h, uint32_t n, const struct gw__pkt *p,
		      struct gw__tunnel_in *out)
{
	uint32_t at = p->l4_off, len = 4;
	uint16_t flags, proto;

	if (!at || p->ip_proto != GW_IP_GRE || (p->flags & GW__PKT_FRAGMENT) || at + 8 > n)
		return false;
	flags = gw__be16(h + at);
	proto = gw__be16(h + at + 2);
	if (flags & (GRE_ROUTING | GRE_VERSION))
		return false;
	if (a->tunnel.type == GW_TUNNEL_NVGRE ? proto != GW_ETH_TEB || !(flags & GRE_HAS_KEY) :
						proto != a->tunnel.gre_protocol)
		return false;
	len += flags & GRE_HAS_SUM ? 4u : 0;
	out->vni = 0;
	if (flags & GRE_HAS_KEY) {
		if (at + len + 4 > n)
			return false;
		if (a->tunnel.type == GW_TUNNEL_NVGRE)
			out->vni = gw__be32(h + at + len) >> 8;
		len += 4;
	}
	len += flags & GRE_HAS_SEQ ? 4u : 0;
	out->inner_off = (uint16_t)(at + len);
	out->ethertype = proto == GW_ETH_TEB ? 0 : proto;
	return at + len + (out->ethertype ? 1 : GW_ETH_HDR) <= n;
}

bool gw__tunnel_parse(const struct gw_action *a, const uint8_t *h, uint32_t n, const struct gw__pkt *p,
		      struct gw__tunnel_in *out)
{
	if (!(a->tunnel.type == GW_TUNNEL_VXLAN ? parse_vxlan(a, h, n, p, out) : parse_gre(a, h, n, p, out)))
		return false;
	return a->tunnel.type == GW_TUNNEL_GRE || !a->tunnel.vni || a->tunnel.vni == out->vni;
}

void gw__vlan_build(uint8_t out[4], const struct gw_action *a)
{
	gw__put16(out, a->vlan.ethertype);
	gw__put16(out + 2, (uint16_t)(a->vlan.pcp << 13 | (a->vlan.dei & 1) << 12 | (a->vlan.id & 0xfff)));
}
