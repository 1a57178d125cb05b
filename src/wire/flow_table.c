/* wire/flow_table.c: matching a parsed frame, and the ordered list of rules.
 * Must not know queues as objects. Next: parse.c. */
#include "wire/flow_table.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/diag.h"
#include "wire/bytes.h"

#define CLASS_FLEX GW_MATCH_FLEX
#define CLASS_ECPRI (GW_MATCH_ECPRI | GW_MATCH_ECPRI_ID | GW_MATCH_ECPRI_TYPE)
#define ALL_FIELDS (GW_MATCH_ECPRI_TYPE * 2u - 1u) /* the last of gw_match_field */

static bool match_ports(const struct gw_match *m, const struct gw__pkt *p)
{
	if (!(p->flags & GW__PKT_UDP))
		return false;
	if ((m->fields & GW_MATCH_UDP_SRC) && (p->src_port < m->udp_src_lo || p->src_port > m->udp_src_hi))
		return false;
	return !(m->fields & GW_MATCH_UDP_DST) || (p->dst_port >= m->udp_dst_lo && p->dst_port <= m->udp_dst_hi);
}

static bool match_l2(const struct gw_match *m, const uint8_t *h, const struct gw__pkt *p)
{
	uint32_t f = m->fields;

	if (!(p->flags & GW__PKT_ETHER))
		return false;
	if ((f & GW_MATCH_ETH_DST) && memcmp(h, m->eth_dst, 6))
		return false;
	if ((f & GW_MATCH_ETH_SRC) && memcmp(h + 6, m->eth_src, 6))
		return false;
	if ((f & GW_MATCH_ETHERTYPE) && p->ethertype != m->ethertype)
		return false;
	/* a priority tag (id 0) is a tag: vlan_id 0 matches it, an untagged frame never matches */
	return !(f & GW_MATCH_VLAN) || ((p->flags & GW__PKT_VLAN) && (p->vlan_tci & 0xfff) == m->vlan_id);
}

static bool match_l3(const struct gw_match *m, const uint8_t *h, const struct gw__pkt *p)
{
	uint32_t f = m->fields;
	const uint8_t *ip = h + p->l3_off;

	if (f & (GW_MATCH_IPV4_SRC | GW_MATCH_IPV4_DST | GW_MATCH_IPV4_LEN)) {
		if (!(p->flags & GW__PKT_IPV4))
			return false;
		if ((f & GW_MATCH_IPV4_LEN) && p->ipv4_len != m->ipv4_len)
			return false;
		if ((f & GW_MATCH_IPV4_SRC) && memcmp(ip + 12, m->ipv4_src, 4))
			return false;
		if ((f & GW_MATCH_IPV4_DST) && memcmp(ip + 16, m->ipv4_dst, 4))
			return false;
	}
	if (f & (GW_MATCH_IPV6_SRC | GW_MATCH_IPV6_DST)) {
		if (!(p->flags & GW__PKT_IPV6))
			return false;
		if ((f & GW_MATCH_IPV6_SRC) && memcmp(ip + 8, m->ipv6_src, 16))
			return false;
		if ((f & GW_MATCH_IPV6_DST) && memcmp(ip + 24, m->ipv6_dst, 16))
			return false;
	}
	return true;
}

static bool match_flex(const struct gw_match *m, const uint8_t *h, uint32_t n, const struct gw__pkt *p)
{
	uint32_t at = (uint32_t)p->payload_off + m->flex_offset;

	if (!(p->flags & GW__PKT_UDP) || p->dst_port != m->flex_udp_dst || at + 4 > n || at + 4 > p->frame_len)
		return false;
	return (gw__be32(h + at) & m->flex_mask) == (m->flex_val & m->flex_mask);
}

/* Common header: revision and C bit, message type, payload size; then the PC or RTC id in messages 0..2. */
static bool match_ecpri(const struct gw_match *m, const uint8_t *h, uint32_t n, const struct gw__pkt *p)
{
	uint32_t at = p->ecpri_off;

	if (!(p->flags & GW__PKT_ECPRI))
		return false;
	if ((m->fields & GW_MATCH_ECPRI_TYPE) && h[at + 1] != m->ecpri_msg_type)
		return false;
	if (!(m->fields & GW_MATCH_ECPRI_ID))
		return true;
	return at + 6 <= n && at + 6 <= p->frame_len && gw__be16(h + at + 4) == m->ecpri_id;
}

bool gw__match(const struct gw_match *m, const uint8_t *h, uint32_t n, const struct gw__pkt *p)
{
	uint32_t f = m->fields;

	if ((f & (GW_MATCH_UDP_SRC | GW_MATCH_UDP_DST)) && !match_ports(m, p))
		return false;
	if ((f & (GW_MATCH_ETH_SRC | GW_MATCH_ETH_DST | GW_MATCH_ETHERTYPE | GW_MATCH_VLAN)) &&
	    !match_l2(m, h, p))
		return false;
	if ((f & (GW_MATCH_IPV4_SRC | GW_MATCH_IPV4_DST | GW_MATCH_IPV4_LEN | GW_MATCH_IPV6_SRC |
		  GW_MATCH_IPV6_DST)) &&
	    !match_l3(m, h, p))
		return false;
	if ((f & GW_MATCH_FLEX) && !match_flex(m, h, n, p))
		return false;
	return !(f & CLASS_ECPRI) || match_ecpri(m, h, n, p);
}

int gw__match_check(const struct gw_match *m, struct gw_diag *diag)
{
	uint32_t f = m->fields;

	if (f & ~ALL_FIELDS)
		return gw__fail(diag, -EINVAL, "flow match: unknown field bits 0x%x", f & ~ALL_FIELDS);
	if ((f & GW_MATCH_UDP_SRC) && m->udp_src_lo > m->udp_src_hi)
		return gw__fail(diag, -EINVAL, "flow match: udp_src %u-%u runs backwards; write %u-%u",
				m->udp_src_lo, m->udp_src_hi, m->udp_src_hi, m->udp_src_lo);
	if ((f & GW_MATCH_UDP_DST) && m->udp_dst_lo > m->udp_dst_hi)
		return gw__fail(diag, -EINVAL, "flow match: udp_dst %u-%u runs backwards; write %u-%u",
				m->udp_dst_lo, m->udp_dst_hi, m->udp_dst_hi, m->udp_dst_lo);
	if ((f & CLASS_FLEX) && (f & ~CLASS_FLEX))
		return gw__fail(diag, -EINVAL, "flow match: flex_item_id stands alone; drop the other fields");
	if ((f & CLASS_ECPRI) && (f & ~CLASS_ECPRI))
		return gw__fail(diag, -EINVAL, "flow match: ecpri stands alone; drop the other fields");
	if ((f & CLASS_FLEX) && (m->flex_offset % 4 || m->flex_offset > 60))
		return gw__fail(diag, -EINVAL, "flow match: flex offset %u must be a multiple of 4 up to 60",
				m->flex_offset);
	if (((f & GW_MATCH_ECPRI_ID) && !(f & GW_MATCH_ECPRI_TYPE)) ||
	    ((f & GW_MATCH_ECPRI_TYPE) && !(f & GW_MATCH_ECPRI)))
		return gw__fail(diag, -EINVAL, "flow match: an eCPRI id needs msg_type");
	if ((f & GW_MATCH_VLAN) && m->vlan_id > 4095)
		return gw__fail(diag, -EINVAL, "flow match: vlan_id %u is above 4095", m->vlan_id);
	return 0;
}

void gw__flow_table_fini(struct gw__flow_table *t)
{
	gw__free(t->rule);
	memset(t, 0, sizeof(*t));
}

int gw__flow_table_add(struct gw__flow_table *t, const struct gw_flow_rule *rule, struct gw_diag *diag)
{
	int err = gw__match_check(&rule->match, diag);

	if (err)
		return err;
	for (uint32_t i = 0; rule->id && i < t->n; i++)
		if (t->rule[i].id == rule->id)
			return gw__fail(diag, -EEXIST, "flow id %u is in use already", rule->id);
	if (t->n == t->cap) {
		uint32_t cap = t->cap ? t->cap * 2 : 8;
		struct gw_flow_rule *r = gw__realloc(t->rule, cap * sizeof(*r));

		if (!r)
			return gw__fail(diag, -ENOMEM, "no memory for %u flow rules", cap);
		t->rule = r;
		t->cap = cap;
	}
	t->rule[t->n++] = *rule;
	return 0;
}

int gw__flow_table_del(struct gw__flow_table *t, uint32_t id)
{
	uint32_t keep = 0;

	for (uint32_t i = 0; i < t->n; i++) {
		if (t->rule[i].id == id)
			continue;
		if (keep != i)
			t->rule[keep] = t->rule[i];
		keep++;
	}
	if (keep == t->n)
		return -ENOENT;
	t->n = keep;
	return 0;
}
