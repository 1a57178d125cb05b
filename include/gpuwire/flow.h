/* gpuwire/flow.h: which packets go where. One rule = match + actions; first rule in order wins.
 * Matching uses the frame's own bytes and length: a false IPv4 length or checksum never hides a packet. */
#ifndef GPUWIRE_FLOW_H
#define GPUWIRE_FLOW_H

#include <gpuwire/common.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Which fields of struct gw_match count. None = catch-all. */
enum gw_match_field {
	GW_MATCH_ETH_SRC = 1u << 0,
	GW_MATCH_ETH_DST = 1u << 1,
	GW_MATCH_ETHERTYPE = 1u << 2,
	GW_MATCH_VLAN = 1u << 3,
	GW_MATCH_IPV4_SRC = 1u << 4,
	GW_MATCH_IPV4_DST = 1u << 5,
	GW_MATCH_IPV4_LEN = 1u << 6,
	GW_MATCH_IPV6_SRC = 1u << 7,
	GW_MATCH_IPV6_DST = 1u << 8,
	GW_MATCH_UDP_SRC = 1u << 9,
	GW_MATCH_UDP_DST = 1u << 10,
	GW_MATCH_FLEX = 1u << 11,
	GW_MATCH_ECPRI = 1u << 12,     /* any eCPRI message */
	GW_MATCH_ECPRI_ID = 1u << 13,  /* with GW_MATCH_ECPRI_TYPE */
	GW_MATCH_ECPRI_TYPE = 1u << 14 /* with GW_MATCH_ECPRI */
};

struct gw_match {
	uint32_t fields; /* gw_match_field bits */
	uint8_t eth_src[6], eth_dst[6];
	uint16_t ethertype;                  /* host order, after VLAN tags */
	uint16_t vlan_id;                    /* of the outermost tag */
	uint8_t ipv4_src[4], ipv4_dst[4];    /* as written, network order */
	uint16_t ipv4_len;                   /* value of the total-length field */
	uint8_t ipv6_src[16], ipv6_dst[16];
	uint16_t udp_src_lo, udp_src_hi;     /* inclusive range, host order */
	uint16_t udp_dst_lo, udp_dst_hi;
	uint16_t flex_udp_dst, flex_offset;  /* item: bytes after the UDP header, multiple of 4 */
	uint32_t flex_val, flex_mask;
	uint8_t ecpri_msg_type;
	uint16_t ecpri_id;                   /* pc_id or rtc_id */
};

enum gw_action_type {
	GW_ACTION_QUEUE,     /* to one queue, or hashed (Toeplitz) over several */
	GW_ACTION_DROP,
	GW_ACTION_VLAN_POP,
	GW_ACTION_VLAN_PUSH,
	GW_ACTION_DECAP,
	GW_ACTION_ENCAP,
};

enum gw_tunnel { GW_TUNNEL_VXLAN, GW_TUNNEL_GRE, GW_TUNNEL_NVGRE };

struct gw_action {
	enum gw_action_type type;
	uint16_t queue[GW_MAX_QUEUES];
	uint16_t n_queues;
	struct {
		uint16_t id, ethertype;
		uint8_t pcp, dei;
	} vlan;
	struct {
		enum gw_tunnel type;
		uint8_t eth_src[6], eth_dst[6], ipv4_src[4], ipv4_dst[4];
		uint8_t ttl, tos, flow_id;
		uint16_t udp_src, udp_dst, gre_protocol;
		uint32_t vni; /* or tni */
	} tunnel;
};

#define GW_MAX_ACTIONS 7u

struct gw_flow_rule {
	uint32_t id; /* reported in burst.flow; 0 = none */
	struct gw_match match;
	struct gw_action action[GW_MAX_ACTIONS];
	uint32_t n_actions;
};

/* ---- rules at run time ------------------------------------------------------------------------ */

struct gw;

/* How one request ended. */
struct gw_flow_done {
	uint32_t ticket; /* what gw_flow_add() or gw_flow_del() gave */
	int status;      /* 0, or a negative errno: then nothing of the request is in force */
	uint32_t n_rules;
};

/* Ask for n more receive rules: after the configured ones, before the catch-all of a port that is not isolated.
 *   rules   [n]; an id of 0 is replaced by a free one
 *   ticket  names the request's completion, see gw_flow_poll()
 * All of them or none. Returns 0 asked; -EINVAL (port, match, queue), -EEXIST (id), -ENOTSUP (engine, action),
 * -ENOBUFS (64 completions not collected), -ENOMEM, with a sentence; then there is no completion.
 * Thread: any. Ownership: rules stay the caller's. Blocks: no. */
GW_API GW_MUST_CHECK int gw_flow_add(struct gw *gw, uint16_t port, struct gw_flow_rule *rules, uint32_t n,
				     uint32_t *ticket, struct gw_diag *diag);
/* Ask for the end of one rule that gw_flow_add() made. Packets in flight keep its id. Returns 0 asked; -ENOENT;
 * -EPERM (a configured rule); -EINVAL, -ENOBUFS. Thread: any. Ownership: nothing changes hands. Blocks: no. */
GW_API GW_MUST_CHECK int gw_flow_del(struct gw *gw, uint16_t port, uint32_t id, uint32_t *ticket);
/* Collect one completion, in the order of the requests. Returns 1, or 0 none. Any thread. Ownership: *out is the
 * caller's. Blocks: no. */
GW_API int gw_flow_poll(struct gw *gw, struct gw_flow_done *out);

#ifdef __cplusplus
}
#endif
#endif
