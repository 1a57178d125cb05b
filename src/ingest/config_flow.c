/* ingest/config_flow.c: flows, their matches and actions, from checked values to struct gw_flow_rule.
 * It must not know plans or engines; what one engine cannot do, that engine's check refuses.
 * Next: gpuwire/flow.h for the rule, config_reorder.c for the plans that flows feed. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "ingest/config_load.h"
#include "ingest/config_value.h"

#define MAX_FRAME 9100u /* with every header an action adds */

/* ---- match ---------------------------------------------------------------------------------- */

static bool take_ports(const struct gw__ynode *m, const char *key, uint16_t *lo, uint16_t *hi)
{
	const struct gw__ynode *n = gw__cfg_node(m, key);

	return n && !gw__parse_ports(n->text, lo, hi);
}

static bool take_ip4(const struct gw__ynode *m, const char *key, uint8_t out[4])
{
	const struct gw__ynode *n = gw__cfg_node(m, key);

	return n && !gw__parse_ipv4(n->text, out);
}

static bool take_ip6(const struct gw__ynode *m, const char *key, uint8_t out[16])
{
	const struct gw__ynode *n = gw__cfg_node(m, key);

	return n && !gw__parse_ipv6(n->text, out);
}

static bool take_mac(const struct gw__ynode *m, const char *key, uint8_t out[6])
{
	const struct gw__ynode *n = gw__cfg_node(m, key);

	return n && !gw__parse_mac(n->text, out);
}

static bool take_u16(const struct gw__ynode *m, const char *key, uint16_t *out)
{
	if (!gw__cfg_node(m, key))
		return false;
	*out = (uint16_t)gw__cfg_u64(m, key);
	return true;
}

static int match_flex(struct gw__loader *l, const struct gw__ynode *m, struct gw_match *out)
{
	const struct gw__ynode *id = gw__cfg_node(m, "flex_item_id");
	uint32_t want = (uint32_t)gw__cfg_u64(m, "flex_item_id"), i;

	if (!gw__cfg_node(m, "val") || !gw__cfg_node(m, "mask"))
		return gw__cfg_missing(l, m, gw__cfg_node(m, "val") ? "mask" : "val",
				       "required with flex_item_id");
	for (i = 0; i < l->n_flex && l->flex_id[i] != want; i++)
		;
	if (i == l->n_flex)
		return gw__cfg_bad(l, id, -EINVAL,
				   "value %u is no flex item of this interface; define it in "
				   "flex_items",
				   want);
	out->fields = GW_MATCH_FLEX;
	out->flex_udp_dst = l->flex_port[i];
	out->flex_offset = l->flex_offset[i];
	out->flex_val = (uint32_t)gw__cfg_u64(m, "val");
	out->flex_mask = (uint32_t)gw__cfg_u64(m, "mask");
	if (out->flex_val & ~out->flex_mask)
		return gw__cfg_bad(l, gw__y_get(m, "val"), -EINVAL,
				   "value 0x%x has bits outside mask 0x%x and can never match; use "
				   "0x%x",
				   out->flex_val, out->flex_mask, out->flex_val & out->flex_mask);
	return 0;
}

static int match_ecpri(struct gw__loader *l, const struct gw__ynode *e, struct gw_match *out)
{
	const struct gw__ynode *pc = gw__cfg_node(e, "pc_id"), *rtc = gw__cfg_node(e, "rtc_id");

	out->fields |= GW_MATCH_ECPRI;
	if (pc && rtc)
		return gw__cfg_bad(l, rtc, -EINVAL, "value %s together with pc_id; use one of them",
				   rtc->text);
	if (!gw__cfg_node(e, "msg_type")) {
		if (pc || rtc)
			return gw__cfg_missing(l, e, "msg_type", "required with pc_id or rtc_id");
		return 0; /* any message */
	}
	out->fields |= GW_MATCH_ECPRI_TYPE;
	out->ecpri_msg_type = (uint8_t)gw__cfg_u64(e, "msg_type");
	if (pc || rtc) {
		out->fields |= GW_MATCH_ECPRI_ID;
		out->ecpri_id = (uint16_t)gw__cfg_u64(e, pc ? "pc_id" : "rtc_id");
	}
	return 0;
}

static int fill_match(struct gw__loader *l, const struct gw__ynode *m, struct gw_match *out)
{
	const struct gw__ynode *eth = gw__cfg_node(m, "ethernet"), *ecpri = gw__y_get(m, "ecpri");
	uint32_t f = 0;

	if (!m)
		return 0; /* everything */
	f |= take_ports(m, "udp_src", &out->udp_src_lo, &out->udp_src_hi) ? GW_MATCH_UDP_SRC : 0u;
	f |= take_ports(m, "udp_dst", &out->udp_dst_lo, &out->udp_dst_hi) ? GW_MATCH_UDP_DST : 0u;
	f |= take_u16(m, "ipv4_len", &out->ipv4_len) ? GW_MATCH_IPV4_LEN : 0u;
	f |= take_ip4(m, "ipv4_src", out->ipv4_src) ? GW_MATCH_IPV4_SRC : 0u;
	f |= take_ip4(m, "ipv4_dst", out->ipv4_dst) ? GW_MATCH_IPV4_DST : 0u;
	f |= take_ip6(m, "ipv6_src", out->ipv6_src) ? GW_MATCH_IPV6_SRC : 0u;
	f |= take_ip6(m, "ipv6_dst", out->ipv6_dst) ? GW_MATCH_IPV6_DST : 0u;
	f |= take_u16(m, "vlan_id", &out->vlan_id) ? GW_MATCH_VLAN : 0u;
	f |= take_u16(m, "ethertype", &out->ethertype) ? GW_MATCH_ETHERTYPE : 0u;
	f |= take_u16(eth, "ethertype", &out->ethertype) ? GW_MATCH_ETHERTYPE : 0u;
	f |= take_mac(eth, "src", out->eth_src) ? GW_MATCH_ETH_SRC : 0u;
	f |= take_mac(eth, "dst", out->eth_dst) ? GW_MATCH_ETH_DST : 0u;
	if (gw__cfg_node(m, "flex_item_id")) {
		if (f || ecpri)
			return gw__cfg_bad(l, gw__y_get(m, "flex_item_id"), -EINVAL,
					   "stands beside other fields; a flex match has only val "
					   "and mask beside it");
		return match_flex(l, m, out);
	}
	if (gw__cfg_node(m, "val") || gw__cfg_node(m, "mask"))
		return gw__cfg_missing(l, m, "flex_item_id", "required with val and mask");
	out->fields = f;
	if (!ecpri)
		return 0;
	if (f & ~(GW_MATCH_ETH_SRC | GW_MATCH_ETH_DST))
		return gw__cfg_bad(l, ecpri, -EINVAL,
				   "stands beside other fields; use ecpri alone");
	return match_ecpri(l, ecpri, out);
}

/* ---- actions -------------------------------------------------------------------------------- */

static bool has_queue(const struct gw_cfg_port *p, int id)
{
	for (uint32_t i = 0; i < p->n_rxq; i++)
		if (p->rxq[i].id == id)
			return true;
	return false;
}

static int add_queue(struct gw__loader *l, const struct gw__ynode *at, const struct gw_cfg_port *p,
		     struct gw_action *out)
{
	int64_t id = 0;

	if (gw__parse_i64(at->text, &id))
		return 0; /* a placeholder: named later */
	if (!has_queue(p, (int)id))
		return gw__cfg_bad(l, at, -EINVAL,
				   "queue %d does not exist on %s; use %d, or add the queue",
				   (int)id, p->name, p->rxq[0].id);
	for (uint16_t i = 0; i < out->n_queues; i++)
		if (out->queue[i] == id)
			return gw__cfg_bad(l, at, -EINVAL,
					   "queue %d is a duplicate; name each queue once",
					   (int)id);
	out->queue[out->n_queues++] = (uint16_t)id;
	return 0;
}

static int action_queue(struct gw__loader *l, const struct gw__ynode *n,
			const struct gw_cfg_port *p, struct gw_action *out)
{
	const struct gw__ynode *id = gw__cfg_node(n, "id"), *ids = gw__cfg_node(n, "ids");
	int r = 0;

	if (!id == !ids)
		return id ? gw__cfg_bad(l, id, -EINVAL,
					"value %s together with ids; use one of them", id->text)
			  : gw__cfg_missing(l, n, "id", "required for type queue (or ids)");
	if (id)
		return add_queue(l, id, p, out);
	if (!ids->n || ids->n > GW_MAX_QUEUES)
		return gw__cfg_bad(l, ids, -EINVAL, "%u queues; name 1 to %u", ids->n,
				   GW_MAX_QUEUES);
	for (const struct gw__ynode *q = ids->first; q && !r; q = q->next)
		r = add_queue(l, q, p, out);
	return r;
}

/* The keys stand in the action, or below vlan: or tunnel:. */
static const struct gw__ynode *nested(const struct gw__ynode *n, const char *key)
{
	const struct gw__ynode *c = gw__cfg_node(n, key);

	return c && c->kind == GW__Y_MAP ? c : n;
}

static int action_vlan(struct gw__loader *l, const struct gw__ynode *n, struct gw_action *out)
{
	const struct gw__ynode *v = nested(n, "vlan");

	if (!gw__cfg_node(v, "vlan_id"))
		return gw__cfg_missing(l, v, "vlan_id", "required for type vlan_push");
	out->vlan.id = (uint16_t)gw__cfg_u64(v, "vlan_id");
	out->vlan.pcp = (uint8_t)gw__cfg_u64(v, "pcp");
	out->vlan.dei = (uint8_t)gw__cfg_u64(v, "dei");
	out->vlan.ethertype = (uint16_t)gw__cfg_u64(v, "ethertype");
	return 0;
}

static int action_tunnel(struct gw__loader *l, const struct gw__ynode *n, struct gw_action *out,
			 bool encap)
{
	static const char *const need[] = { "outer_eth_src", "outer_eth_dst", "outer_ipv4_src",
					    "outer_ipv4_dst" };
	const struct gw__ynode *t = nested(n, "tunnel");
	/* directly in the action, `type` says tunnel_encap: the tunnel is then tunnel_type */
	const char *type = gw__cfg_node(t, "tunnel_type") || t == n ? "tunnel_type" : "type";

	if (!gw__cfg_node(t, type))
		return gw__cfg_missing(l, t, type, "required: vxlan, gre or nvgre");
	out->tunnel.type = (enum gw_tunnel)gw__cfg_enum(t, type);
	for (size_t i = 0; i < 4 && encap; i++)
		if (!gw__cfg_node(t, need[i]))
			return gw__cfg_missing(l, t, need[i], "required for type tunnel_encap");
	take_mac(t, "outer_eth_src", out->tunnel.eth_src);
	take_mac(t, "outer_eth_dst", out->tunnel.eth_dst);
	take_ip4(t, "outer_ipv4_src", out->tunnel.ipv4_src);
	take_ip4(t, "outer_ipv4_dst", out->tunnel.ipv4_dst);
	out->tunnel.ttl = (uint8_t)gw__cfg_u64(t, "outer_ipv4_ttl");
	out->tunnel.tos = (uint8_t)gw__cfg_u64(t, "outer_ipv4_tos");
	out->tunnel.udp_src = (uint16_t)gw__cfg_u64(t, "outer_udp_src");
	out->tunnel.udp_dst = (uint16_t)gw__cfg_u64(t, "outer_udp_dst");
	out->tunnel.gre_protocol = (uint16_t)gw__cfg_u64(t, "gre_protocol");
	out->tunnel.vni =
		(uint32_t)gw__cfg_u64(t, out->tunnel.type == GW_TUNNEL_NVGRE ? "tni" : "vni");
	out->tunnel.flow_id = (uint8_t)gw__cfg_u64(t, "flow_id");
	return 0;
}

static int fill_action(struct gw__loader *l, const struct gw__ynode *n, const struct gw_cfg_port *p,
		       bool tx, struct gw_action *out)
{
	static const enum gw_action_type types[] = { GW_ACTION_QUEUE,    GW_ACTION_DROP,
						     GW_ACTION_VLAN_POP, GW_ACTION_VLAN_PUSH,
						     GW_ACTION_DECAP,    GW_ACTION_ENCAP };
	static const char *const only[] = { "rx", "rx", "rx", "tx", "rx", "tx" };
	const struct gw__ynode *type = gw__y_get(n, "type");
	int k = gw__cfg_enum(n, "type");

	out->type = types[k];
	if ((only[k][0] == 't') != tx)
		return gw__cfg_bad(
			l, type, -EINVAL, "value %s is for %s flows; use %s", type->text, only[k],
			tx ? "vlan_push or tunnel_encap" : "queue, drop, vlan_pop or tunnel_decap");
	switch (out->type) {
	case GW_ACTION_QUEUE:
		return action_queue(l, n, p, out);
	case GW_ACTION_VLAN_PUSH:
		return action_vlan(l, n, out);
	case GW_ACTION_DECAP:
	case GW_ACTION_ENCAP:
		return action_tunnel(l, n, out, out->type == GW_ACTION_ENCAP);
	default:
		return 0;
	}
}

static bool ends_flow(const struct gw_action *a)
{
	return a->type == GW_ACTION_QUEUE || a->type == GW_ACTION_DROP;
}

static int fill_actions(struct gw__loader *l, const struct gw__ynode *n,
			const struct gw_cfg_port *p, bool tx, struct gw_flow_rule *f)
{
	const struct gw__ynode *one = gw__cfg_node(n, "action"), *list = gw__cfg_node(n, "actions");
	const struct gw__ynode *a = one ? one : list ? list->first : NULL;
	int r;

	if (one && list)
		return gw__cfg_bad(l, list, -EINVAL, "stands beside action; use one of them");
	if (!one && !list)
		return gw__cfg_missing(l, n, "action", "required (or actions)");
	if (!a)
		return gw__cfg_bad(l, list, -EINVAL, "is empty; write at least one action");
	if (list && list->n > GW_MAX_ACTIONS)
		return gw__cfg_bad(l, list, -EINVAL, "%u actions is above %u; use at most %u",
				   list->n, GW_MAX_ACTIONS, GW_MAX_ACTIONS);
	for (; a; a = one ? NULL : a->next) {
		if (f->n_actions && ends_flow(&f->action[f->n_actions - 1]))
			return gw__cfg_bad(l, a, -EINVAL,
					   "follows a queue or drop, which ends a flow; put that "
					   "last");
		r = fill_action(l, a, p, tx, &f->action[f->n_actions]);
		if (r)
			return r;
		f->n_actions++;
	}
	if (!tx && !ends_flow(&f->action[f->n_actions - 1]))
		return gw__cfg_bad(l, one ? one : list, -EINVAL,
				   "does not end in a queue; add {type: queue, id: %d}",
				   p->rxq[0].id);
	if (f->match.fields & GW_MATCH_FLEX && f->n_actions > 1)
		return gw__cfg_bad(l, list, -EINVAL,
				   "changes headers together with a flex match; use one of them");
	if (f->match.fields & GW_MATCH_ECPRI && f->action[f->n_actions - 1].n_queues > 1)
		return gw__cfg_bad(l, one ? one : list, -EINVAL,
				   "spreads eCPRI over %u queues; use one queue",
				   f->action[f->n_actions - 1].n_queues);
	return 0;
}

/* Headers added must still fit the largest frame. */
static int check_overhead(struct gw__loader *l, const struct gw__ynode *n,
			  const struct gw_cfg_port *p, const struct gw_flow_rule *f)
{
	static const uint32_t tunnel[] = { 50, 38, 42 };
	uint64_t frame = 0, add = 0;

	for (uint32_t i = 0; i < f->n_actions; i++) {
		add += f->action[i].type == GW_ACTION_VLAN_PUSH ? 4 : 0;
		add += f->action[i].type == GW_ACTION_ENCAP ? tunnel[f->action[i].tunnel.type] : 0;
	}
	for (uint32_t q = 0; q < p->n_txq; q++) {
		uint64_t sum = 0;

		for (uint32_t s = 0; s < p->txq[q].n_regions; s++)
			sum += l->c->cfg.region[p->txq[q].region[s]].buf_size;
		frame = sum > frame ? sum : frame;
	}
	if (frame + add > MAX_FRAME)
		return gw__cfg_bad(l, n, -EINVAL,
				   "buf_size %" PRIu64 " + %" PRIu64 " bytes of headers is above "
								     "%u; use buf_size at most "
								     "%" PRIu64,
				   frame, add, MAX_FRAME, MAX_FRAME - add);
	return 0;
}

/* ---- lists ---------------------------------------------------------------------------------- */

static int fill_flex_items(struct gw__loader *l, const struct gw__ynode *rx)
{
	const struct gw__ynode *list = gw__cfg_node(rx, "flex_items");

	l->n_flex = 0;
	if (list && list->n > GW_CFG_MAX_FLEX)
		return gw__cfg_bad(l, list, -EINVAL, "%u flex items is above %u; use at most %u",
				   list->n, GW_CFG_MAX_FLEX, GW_CFG_MAX_FLEX);
	for (const struct gw__ynode *n = list ? list->first : NULL; n; n = n->next) {
		uint32_t id = (uint32_t)gw__cfg_u64(n, "id"),
			 offset = (uint32_t)gw__cfg_u64(n, "offset");

		if (offset % 4)
			return gw__cfg_bad(l, gw__y_get(n, "offset"), -EINVAL,
					   "value %u is no multiple of 4; use %u or %u", offset,
					   offset / 4 * 4, offset / 4 * 4 + 4);
		for (uint32_t i = 0; i < l->n_flex; i++)
			if (l->flex_id[i] == id)
				return gw__cfg_bad(l, gw__y_get(n, "id"), -EINVAL,
						   "value %u is a duplicate; use another id", id);
		l->flex_id[l->n_flex] = id;
		l->flex_port[l->n_flex] = (uint16_t)gw__cfg_u64(n, "udp_dst_port");
		l->flex_offset[l->n_flex++] = (uint16_t)offset;
	}
	return 0;
}

/* 1 plain fields, 2 flex, 4 eCPRI; catch-all belongs to any */
static unsigned match_class(const struct gw_match *m)
{
	return m->fields & GW_MATCH_FLEX    ? 2u
	       : m->fields & GW_MATCH_ECPRI ? 4u
	       : m->fields                  ? 1u
					    : 0u;
}

static int fill_list(struct gw__loader *l, const struct gw__ynode *list, struct gw_cfg_port *p,
		     bool tx, struct gw_flow_rule *out, uint32_t *count, uint32_t max)
{
	unsigned classes = 0;
	int r;

	if (list && list->n > max)
		return gw__cfg_bad(l, list, -EINVAL, "%u flows is above %u; use at most %u",
				   list->n, max, max);
	for (const struct gw__ynode *n = list ? list->first : NULL; n; n = n->next) {
		struct gw_flow_rule *f = &out[*count];

		f->id = (uint32_t)gw__cfg_u64(n, "id");
		for (uint32_t i = 0; i < *count && f->id; i++)
			if (out[i].id == f->id)
				return gw__cfg_bad(l, gw__y_get(n, "id"), -EINVAL,
						   "value %u is a duplicate flow id; use another "
						   "id",
						   f->id);
		r = fill_match(l, gw__cfg_node(n, "match"), &f->match);
		if (!r)
			r = fill_actions(l, n, p, tx, f);
		if (!r && tx)
			r = check_overhead(l, n, p, f);
		if (r)
			return r;
		classes |= match_class(&f->match);
		if (classes & (classes - 1))
			return gw__cfg_bad(l, n, -EINVAL,
					   "mixes plain, flex and eCPRI matches on one interface; "
					   "use one kind");
		(*count)++;
	}
	return 0;
}

int gw__cfg_fill_flows(struct gw__loader *l, const struct gw__ynode *rx, const struct gw__ynode *tx,
		       struct gw_cfg_port *p)
{
	const struct gw__ynode *flows = gw__cfg_node(rx, "flows");
	int r = rx ? fill_flex_items(l, rx) : 0;

	if (!r && rx)
		r = fill_list(l, flows, p, false, p->rx_flow, &p->n_rx_flow, GW_CFG_MAX_FLOWS);
	if (!r && tx)
		r = fill_list(l, gw__cfg_node(tx, "flows"), p, true, p->tx_flow, &p->n_tx_flow,
			      GW_MAX_QUEUES);
	if (!r && rx && p->flow_isolation && !p->n_rx_flow && !p->dynamic_flow_capacity)
		gw__cfg_warn(l, rx,
			     "flow_isolation without a flow: nothing can be received until one is "
			     "added");
	return r;
}
