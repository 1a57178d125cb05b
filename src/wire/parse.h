/* wire/parse.h: where the headers of a frame are, and whether they tell the truth.
 * Bounded by the frame's own length; a false IPv4 length or checksum is reported, never believed and never a
 * reason to stop. Must not know ports, rules or slots. Next: flow_table.h. */
#ifndef GW_WIRE_PARSE_H
#define GW_WIRE_PARSE_H

#include <stdbool.h>
#include <stdint.h>

#define GW_ETH_HDR 14u
#define GW_ETH_IPV4 0x0800u
#define GW_ETH_IPV6 0x86DDu
#define GW_ETH_VLAN 0x8100u
#define GW_ETH_QINQ 0x88A8u
#define GW_ETH_ECPRI 0xAEFEu
#define GW_IP_UDP 17u
#define GW_IP_GRE 47u
#define GW_VXLAN_PORT 4789u

/* Bytes of a frame's start that gw__parse() may look at: Ethernet, two tags, IPv6 with one extension
 * header or IPv4 with options, UDP, and 64 more for flex items. */
#define GW_PARSE_MAX 192u

enum gw__pkt_flag {
	GW__PKT_VLAN = 1u << 0,
	GW__PKT_IPV4 = 1u << 1,
	GW__PKT_IPV6 = 1u << 2,
	GW__PKT_UDP = 1u << 3,
	GW__PKT_FRAGMENT = 1u << 4, /* not the first one, or more to come */
	GW__PKT_L3_BAD = 1u << 5,   /* IPv4: version, header length, total length or checksum is false */
	GW__PKT_L4_BAD = 1u << 6,   /* UDP: length is false (the checksum is gw__udp_checksum_ok()'s job) */
	GW__PKT_ECPRI = 1u << 7,    /* eCPRI common header at ecpri_off */
	GW__PKT_ETHER = 1u << 8,    /* 14 bytes were there */
};

struct gw__pkt {
	uint32_t flags;     /* gw__pkt_flag */
	uint32_t frame_len; /* the frame's own length: payload ends here, whatever the headers say */
	uint16_t ethertype; /* after the tags */
	uint16_t vlan_tci;  /* outermost tag */
	uint8_t n_vlan;
	uint8_t ip_proto;
	uint16_t l3_off, l4_off, payload_off; /* 0 = none; payload_off is after UDP, else after the last header */
	uint16_t ecpri_off;
	uint16_t ipv4_len;
	uint16_t src_port, dst_port;
};

/* hdr: the frame's first hdr_len bytes (min(frame_len, GW_PARSE_MAX) is enough). Never fails: what cannot be
 * read is simply not flagged. */
void gw__parse(const uint8_t *hdr, uint32_t hdr_len, uint32_t frame_len, struct gw__pkt *out);

#endif
