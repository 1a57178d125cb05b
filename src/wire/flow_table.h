/* wire/flow_table.h: ordered rules over struct gw_match; the first that matches wins.
 * Must not know queues as objects: a rule carries an opaque index. Next: flow_table.c. */
#ifndef GW_WIRE_FLOW_TABLE_H
#define GW_WIRE_FLOW_TABLE_H

#include <gpuwire/flow.h>
#include <stdbool.h>

#include "wire/parse.h"

/* Does one frame match? hdr as given to gw__parse(), hdr_len bytes of it readable. */
bool gw__match(const struct gw_match *m, const uint8_t *hdr, uint32_t hdr_len, const struct gw__pkt *p);

/* Can this match ever be evaluated as written? 0, or -EINVAL with the reason (reversed range, flex offset
 * not a multiple of 4 or out of reach, id without a message type, classes mixed). */
int gw__match_check(const struct gw_match *m, struct gw_diag *diag);

struct gw__flow_table {
	struct gw_flow_rule *rule;
	uint32_t n, cap;
};

void gw__flow_table_fini(struct gw__flow_table *t);
/* Append. 0, -ENOMEM, -EEXIST (a nonzero id is there already), -EINVAL. */
int gw__flow_table_add(struct gw__flow_table *t, const struct gw_flow_rule *rule, struct gw_diag *diag);
/* Remove every rule of an id; the others keep their order. 0 or -ENOENT. */
int gw__flow_table_del(struct gw__flow_table *t, uint32_t id);

/* Index of the first rule from `from` on that matches, or -1. A catch-all with id 0 is the default: it comes
 * last wherever it stands, so that rules can be added behind it. */
static inline int gw__flow_table_find_from(const struct gw__flow_table *t, uint32_t from, const uint8_t *hdr,
					   uint32_t hdr_len, const struct gw__pkt *p)
{
	int rest = -1;

	for (uint32_t i = from; i < t->n; i++) {
		const struct gw_match *m = &t->rule[i].match;

		if (!m->fields && t->rule[i].id)
			return (int)i;
		if (!m->fields) {
			rest = rest < 0 ? (int)i : rest;
			continue;
		}
		/* by far the most common rule: one look instead of a call */
		if (m->fields == GW_MATCH_UDP_DST) {
			if ((p->flags & GW__PKT_UDP) && p->dst_port >= m->udp_dst_lo &&
			    p->dst_port <= m->udp_dst_hi)
				return (int)i;
		} else if (gw__match(m, hdr, hdr_len, p))
			return (int)i;
	}
	return rest;
}

static inline int gw__flow_table_find(const struct gw__flow_table *t, const uint8_t *hdr, uint32_t hdr_len,
				      const struct gw__pkt *p)
{
	return gw__flow_table_find_from(t, 0, hdr, hdr_len, p);
}

#endif
