/* wire/tunnel.h: outer headers of VXLAN, GRE and NVGRE, and 802.1Q tags, as bytes.
 * Must not know gather lists. Next: nic/soft/edit.c, which puts them in front of frames.
 * Sources: RFC 7348 (VXLAN), RFC 2784 and 2890 (GRE), RFC 7637 (NVGRE), IEEE 802.1Q. */
#ifndef GW_WIRE_TUNNEL_H
#define GW_WIRE_TUNNEL_H

#include <gpuwire/flow.h>
#include <stdbool.h>

#include "wire/parse.h"

#define GW_TUNNEL_MAX 50u     /* longest outer header: VXLAN */
#define GW_ETH_TEB 0x6558u    /* GRE protocol: an Ethernet frame */

/* Does this tunnel carry the whole inner frame? (GRE with another protocol carries what follows its Ethernet
 * header.) */
bool gw__tunnel_carries_ethernet(const struct gw_action *a);
/* Write the outer headers in front of inner_len bytes. Returns their length (VXLAN 50, GRE 38, NVGRE 42), or
 * -EMSGSIZE if the outer IPv4 length would not fit. */
int gw__tunnel_build(uint8_t out[GW_TUNNEL_MAX], const struct gw_action *a, uint32_t inner_len);

/* Where the inner packet of a received frame starts. */
struct gw__tunnel_in {
	uint16_t inner_off;
	uint16_t ethertype; /* of an inner packet without an Ethernet header; 0 = it has one */
	uint32_t vni;       /* or tni; 0 without one */
};
/* True if the frame is of this tunnel type; with a nonzero vni (tni) in the action, of that one only.
 * hdr, n and p as given to and by gw__parse(). */
bool gw__tunnel_parse(const struct gw_action *a, const uint8_t *hdr, uint32_t n, const struct gw__pkt *p,
		      struct gw__tunnel_in *out);

/* The four bytes of a tag: type, then priority, drop eligibility and id. */
void gw__vlan_build(uint8_t out[4], const struct gw_action *a);

#endif
