/* Any bytes as a frame: the headers found lie inside it, every match and tunnel can be tried on it, a tag put on
 * comes off again. First 16 bytes: what to match and where the frame is cut in two; the rest is the frame. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "nic/soft/edit.h"
#include "wire/bytes.h"
#include "wire/checksum.h"
#include "wire/flow_table.h"
#include "wire/tunnel.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(bool ok)
{
	if (!ok)
		abort();
}

static void match_all(const uint8_t *conf, const uint8_t *head, uint32_t n, const struct gw__pkt *p)
{
	struct gw_match m = { .fields = gw__be16(conf) & 0x3fffu };

	memcpy(m.eth_src, head, n < 6 ? n : 6);
	m.ethertype = p->ethertype;
	m.vlan_id = p->vlan_tci & 0xfff;
	m.ipv4_len = p->ipv4_len;
	m.udp_src_lo = m.udp_dst_lo = gw__be16(conf + 2);
	m.udp_src_hi = m.udp_dst_hi = gw__be16(conf + 4);
	m.flex_udp_dst = p->dst_port;
	m.flex_offset = conf[6] & 60;
	m.flex_mask = gw__be32(conf + 4);
	m.ecpri_msg_type = conf[7];
	(void)gw__match(&m, head, n, p);
}

static void check_offsets(const struct gw__pkt *p, uint32_t n)
{
	need(p->l3_off <= n && p->l4_off <= n && p->payload_off <= n && p->ecpri_off <= n);
	need(!(p->flags & GW__PKT_UDP) || p->l4_off + 8u <= n);
	need(!(p->flags & GW__PKT_IPV4) || p->l3_off + 20u <= n);
	need(!(p->flags & GW__PKT_IPV6) || p->l3_off + 40u <= n);
}

static uint32_t flatten(const struct gw__frame *f, uint8_t *out)
{
	uint32_t at = 0;

	for (uint32_t s = 0; s < f->n_segs; at += f->seg[s].len, s++)
		memcpy(out + at, f->seg[s].ptr, f->seg[s].len);
	need(at == f->len);
	return at;
}

static void edits(const uint8_t *conf, const struct gw__frame *f, const uint8_t *frame)
{
	static struct soft_edit e, e2;
	static uint8_t flat[70000];
	struct gw_action a = { .type = GW_ACTION_ENCAP };
	struct gw__frame g, h;
	uint16_t tci;

	a.vlan.ethertype = conf[8] & 1 ? 0x8100 : 0x88a8;
	a.vlan.id = gw__be16(conf + 8) & 0xfff;
	a.tunnel.type = (enum gw_tunnel)(conf[9] % 3);
	a.tunnel.udp_dst = conf[9] & 4 ? 4789 : 0;
	a.tunnel.gre_protocol = conf[9] & 8 ? GW_ETH_TEB : 0x0800;
	a.tunnel.vni = conf[10];
	soft_edit_begin(&e, f);
	if (!soft_edit_push_vlan(&e, &a) && !soft_edit_end(&e, &g)) {
		need(g.len == f->len + 4);
		soft_edit_begin(&e2, &g);
		need(soft_edit_pop_vlan(&e2, &tci) == 1 && tci == (a.vlan.id & 0xfff));
		need(!soft_edit_end(&e2, &h) && flatten(&h, flat) == f->len && !memcmp(flat, frame, f->len));
	}
	soft_edit_begin(&e, f);
	if (!soft_edit_encap(&e, &a) && !soft_edit_end(&e, &g)) {
		soft_edit_begin(&e2, &g);
		if (!soft_edit_decap(&e2, &a) && !soft_edit_end(&e2, &h) && gw__tunnel_carries_ethernet(&a))
			need(flatten(&h, flat) == f->len && !memcmp(flat, frame, f->len));
	}
	soft_edit_begin(&e, f);
	for (int i = 0; i < 7; i++)
		if (conf[11] >> i & 1 ? soft_edit_decap(&e, &a) < 0 : soft_edit_pop_vlan(&e, &tci) < 0)
			return;
	if (!soft_edit_end(&e, &g))
		flatten(&g, flat);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint32_t len = (uint32_t)(size - 16), n, cut;
	uint8_t *frame, *head;
	struct gw__pkt p;
	struct gw__tunnel_in in;
	bool known;

	if (size < 17 || size > 9216 + 16)
		return 0;
	frame = malloc(len); /* exactly the frame, so that the first byte past it is seen */
	memcpy(frame, data + 16, len);
	n = len < GW_PARSE_MAX ? len : GW_PARSE_MAX;
	head = malloc(n);
	memcpy(head, frame, n);
	gw__parse(head, n, len, &p);
	check_offsets(&p, n);
	match_all(data, head, n, &p);
	for (int t = 0; t < 3; t++) {
		struct gw_action a = { .type = GW_ACTION_DECAP };

		a.tunnel.type = (enum gw_tunnel)t;
		a.tunnel.gre_protocol = gw__be16(data + 12);
		if (gw__tunnel_parse(&a, head, n, &p, &in))
			need(in.inner_off < n);
	}
	gw__parse(frame, len, len, &p);
	(void)gw__udp_checksum_ok(frame, &p, &known);
	cut = data[14] * 256u + data[15];
	if (cut > 0 && cut < len) {
		struct gw__frame f = { .n_segs = 2, .len = len };

		f.seg[0].ptr = frame;
		f.seg[0].len = cut;
		f.seg[1].ptr = frame + cut;
		f.seg[1].len = len - cut;
		edits(data, &f, frame);
	}
	free(frame);
	free(head);
	return 0;
}
