/* ingest/config_reorder.c: reorder plans, from `reorder_configs` and from a program's `reorder:` block.
 * Rules that hold for every plan stand here; those of a declared tensor in config_geometry.c, which is next. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ingest/config_load.h"
#include "ingest/config_value.h"

static enum gw__elem elem_of(const char *s)
{
	static const struct {
		const char *name;
		enum gw__elem e;
	} all[] = { { "int4", GW_INT4 },   { "int8", GW_INT8 }, { "int16", GW_INT16 },
		    { "int32", GW_INT32 }, { "fp16", GW_FP16 }, { "bf16", GW_BF16 },
		    { "fp32", GW_FP32 },   { "fp64", GW_FP64 } };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (!strcmp(all[i].name, s))
			return all[i].e;
	return GW_ELEM_NONE;
}

static const struct gw_flow_rule *flow_of(const struct gw_cfg_port *p, uint32_t id)
{
	for (uint32_t i = 0; i < p->n_rx_flow; i++)
		if (p->rx_flow[i].id == id)
			return &p->rx_flow[i];
	return NULL;
}

static const struct gw_action *last_action(const struct gw_flow_rule *f)
{
	return &f->action[f->n_actions - 1];
}

static const struct gw_cfg_queue *queue_of(const struct gw_cfg_port *p, uint32_t id)
{
	for (uint32_t i = 0; i < p->n_rxq; i++)
		if (p->rxq[i].id == (int)id)
			return &p->rxq[i];
	return NULL;
}

const struct gw_cfg_queue *gw__cfg_reorder_queue(const struct gw_cfg_port *p,
						 const struct gw_cfg_reorder *r)
{
	return r->n_queues ? queue_of(p, r->queue[0]) : NULL;
}

static bool same_queues(const struct gw_cfg_reorder *r, const struct gw_action *a)
{
	if (r->n_queues != a->n_queues)
		return false;
	for (uint32_t i = 0; i < a->n_queues; i++)
		if (r->queue[i] != a->queue[i])
			return false;
	return true;
}

/* Where a flow ends: in the plan's queues, which its first flow decides. */
static int take_queues(struct gw__loader *l, const struct gw__ynode *at, struct gw_cfg_reorder *r, uint32_t id,
		       const struct gw_action *a)
{
	if (a->type != GW_ACTION_QUEUE || !a->n_queues)
		return gw__cfg_bad(l, at, -EINVAL, "flow %u goes to no queue; a plan needs {type: queue, id: N}", id);
	if (!r->n_queues) {
		memcpy(r->queue, a->queue, a->n_queues * sizeof(a->queue[0]));
		r->n_queues = a->n_queues;
	}
	if (!same_queues(r, a))
		return gw__cfg_bad(l, at, -EINVAL,
				   "flow %u goes to queue %u%s, the others to %u%s; use the same queues, in the same "
				   "order, for all flows of a plan", id, a->queue[0], a->n_queues > 1 ? " and more" : "",
				   r->queue[0], r->n_queues > 1 ? " and more" : "");
	return 0;
}

/* One flow more that feeds the plan: it must exist, end in the plan's queues, and feed no other plan. */
static int add_flow(struct gw__loader *l, const struct gw__ynode *at, struct gw_cfg_port *p,
		    struct gw_cfg_reorder *r, uint32_t id)
{
	const struct gw_flow_rule *f = flow_of(p, id);

	if (!f)
		return gw__cfg_bad(l, at, -EINVAL,
				   "flow %u does not exist on %s; use %u, or add the flow", id,
				   p->name, p->n_rx_flow ? p->rx_flow[0].id : 0);
	for (const struct gw_cfg_reorder *o = p->reorder; o < r; o++)
		for (uint32_t k = 0; k < o->n_flow_ids; k++)
			if (o->flow_ids[k] == id)
				return gw__cfg_bad(l, at, -EINVAL,
						   "flow %u feeds plan %s already; use one plan a "
						   "flow",
						   id, o->name);
	if (r->n_flow_ids == GW_MAX_QUEUES)
		return gw__cfg_bad(l, at, -EINVAL, "more than %u flows; use at most %u",
				   GW_MAX_QUEUES, GW_MAX_QUEUES);
	r->flow_ids[r->n_flow_ids++] = id;
	return take_queues(l, at, r, id, last_action(f));
}

static int take_flows(struct gw__loader *l, const struct gw__ynode *list, struct gw_cfg_port *p,
		      struct gw_cfg_reorder *r)
{
	int err = 0;

	if (!list->n)
		return gw__cfg_bad(l, list, -EINVAL, "is empty; name at least one flow");
	for (const struct gw__ynode *n = list->first; n && !err; n = n->next) {
		uint64_t id = 0;

		if (!gw__parse_u64(n->text, &id))
			err = add_flow(l, n, p, r, (uint32_t)id);
	}
	return err;
}

static int take_types(struct gw__loader *l, const struct gw__ynode *at, struct gw_cfg_reorder *r,
		      const char *in, const char *out, const char *endian)
{
	r->in_type = elem_of(in);
	r->out_type = elem_of(out);
	r->network_endian = !strcmp(endian, "network");
	if ((r->in_type == GW_ELEM_NONE) != (r->out_type == GW_ELEM_NONE))
		return gw__cfg_missing(l, at, *in ? "output_type" : "input_type",
				       "required with its twin");
	if (r->in_type != GW_ELEM_NONE && !gw__converted_bytes(r->in_type, r->out_type, 8))
		return gw__cfg_bad(l, at, -EINVAL,
				   "no conversion from %s to %s; use %s to fp16, bf16, fp32 or "
				   "fp64",
				   in, out, in);
	return 0;
}

static const char *either(const struct gw__ynode *map, const char *a, const char *b)
{
	return gw__cfg_node(map, b) && !gw__cfg_node(map, a) ? gw__cfg_str(map, b)
							     : gw__cfg_str(map, a);
}

static int take_method(struct gw__loader *l, const struct gw__ynode *m, struct gw_cfg_reorder *r)
{
	const struct gw__ynode *run = gw__cfg_node(m, "seq_packets_per_batch"),
			       *two = gw__cfg_node(m, "seq_batch_number");
	const struct gw__ynode *seq, *batch;

	if (!run == !two)
		return gw__cfg_bad(l, m, -EINVAL,
				   "%s; write seq_packets_per_batch or seq_batch_number",
				   run ? "has two methods" : "has no method");
	seq = gw__cfg_node(run ? run : two, "sequence_number");
	r->seq_bit_offset = (uint16_t)gw__cfg_u64(seq, "bit_offset");
	r->seq_bit_width = (uint8_t)gw__cfg_u64(seq, "bit_width");
	if (run) {
		r->packets_per_batch = (uint32_t)gw__cfg_u64(run, "packets_per_batch");
		return 0;
	}
	batch = gw__cfg_node(two, "batch_number");
	r->batch_bit_offset = (uint16_t)gw__cfg_u64(batch, "bit_offset");
	r->batch_bit_width = (uint8_t)gw__cfg_u64(batch, "bit_width");
	if (r->batch_bit_width > r->seq_bit_width)
		return gw__cfg_bad(l, gw__y_get(batch, "bit_width"), -EINVAL,
				   "value %u is above the sequence number's %u bits; use at most "
				   "%u",
				   r->batch_bit_width, r->seq_bit_width, r->seq_bit_width);
	r->packets_per_batch = 1u << (r->seq_bit_width - r->batch_bit_width);
	if (r->seq_bit_width == 32 && !r->batch_bit_width)
		r->packets_per_batch = 0;
	return 0;
}

/* The largest power of two that is not above v (v >= 1). */
static uint64_t power_below(uint64_t v)
{
	uint64_t p = 1;

	while (p * 2 <= v)
		p *= 2;
	return p;
}

/* Several queues, merged by number: alike in their memory, no other plan's, and numbers wide enough to say of two
 * packets that wait in different queues which came first. */
static int check_merge(struct gw__loader *l, const struct gw__ynode *at, const struct gw_cfg_port *p,
		       const struct gw_cfg_reorder *r, const struct gw_cfg_queue *q)
{
	uint64_t slots = gw__cfg_slots(&l->c->cfg, q);
	uint32_t bits = 1;

	while (bits < 63 && 1ull << (bits - 1) <= slots)
		bits++;
	for (uint32_t i = 1; i < r->n_queues; i++) {
		const struct gw_cfg_queue *o = queue_of(p, r->queue[i]);

		if (!o || o->n_regions != q->n_regions ||
		    memcmp(o->region, q->region, q->n_regions * sizeof(q->region[0])))
			return gw__cfg_bad(l, at, -EINVAL,
					   "queues %d and %u feed one plan from different memory_regions; use the same "
					   "for both", q->id, r->queue[i]);
	}
	for (uint32_t s = 1; s < q->n_regions; s++) /* shares of one region would lie between one another */
		for (uint32_t t = 0; t < s; t++)
			if (q->region[s] == q->region[t])
				return gw__cfg_bad(l, at, -EINVAL,
						   "queue %d of several that feed one plan has region %s for two segments; use a "
						   "region for each", q->id, l->c->cfg.region[q->region[s]].name);
	if (slots / r->n_queues / 2 < r->packets_per_batch)
		return gw__cfg_bad(l, at, -EINVAL,
				   "%" PRIu64 " buffers for %u queues do not hold two windows of %u packets in each; use "
				   "num_bufs %" PRIu64, slots, r->n_queues, r->packets_per_batch,
				   (uint64_t)2 * r->n_queues * r->packets_per_batch);
	if (r->seq_bit_width < bits)
		return gw__cfg_bad(l, at, -EINVAL,
				   "a number of %u bits cannot order the packets of %u queues with %" PRIu64 " buffers; "
				   "use bit_width %u, fewer buffers, or one queue", r->seq_bit_width, r->n_queues, slots,
				   bits);
	return 0;
}

static int check_queues(struct gw__loader *l, const struct gw__ynode *at, const struct gw_cfg_port *p,
			const struct gw_cfg_reorder *r, const struct gw_cfg_queue *q)
{
	for (uint32_t i = 0; i < r->n_queues; i++) {
		const struct gw_cfg_queue *o = queue_of(p, r->queue[i]);

		if (o && o->poll == GW_POLL_DIRECT)
			return gw__cfg_bad(l, at, -EINVAL,
					   "queue %d is polled directly; a plan needs poll_mode indirect", o->id);
		for (const struct gw_cfg_reorder *e = p->reorder; e < r; e++)
			if (gw__cfg_feeds(e, r->queue[i]) && (e->n_queues > 1 || r->n_queues > 1))
				return gw__cfg_bad(l, at, -EINVAL,
						   "queue %u feeds plan %s too, and one of them merges several queues; "
						   "use queues of its own for each", r->queue[i], e->name);
	}
	return r->n_queues > 1 ? check_merge(l, at, p, r, q) : 0;
}

/* Rules of every plan, whoever wrote it. */
static int check_plan(struct gw__loader *l, const struct gw__ynode *at, struct gw_cfg_port *p,
		      struct gw_cfg_reorder *r)
{
	const struct gw_cfg_queue *q = gw__cfg_reorder_queue(p, r);
	uint64_t space = 1ull << r->seq_bit_width;
	const struct gw_cfg_region *out = &l->c->cfg.region[r->region];

	if (!q)
		return 0; /* a placeholder stands in the way; it is named later */
	if (!r->packets_per_batch || space % r->packets_per_batch)
		return gw__cfg_bad(
			l, at, -EINVAL,
			"packets_per_batch %u does not divide 2^%u (bit_width); use %" PRIu64,
			r->packets_per_batch, r->seq_bit_width,
			power_below(r->packets_per_batch < space ? r->packets_per_batch : space));
	if (r->packets_per_batch > q->batch_size)
		return gw__cfg_bad(l, at, -EINVAL,
				   "packets_per_batch %u is above batch_size %u of queue %d; use "
				   "batch_size "
				   "%u or more",
				   r->packets_per_batch, q->batch_size, q->id,
				   r->packets_per_batch);
	if (!r->gpu && out->kind == GW_MEM_DEVICE)
		return gw__cfg_bad(l, at, -EINVAL,
				   "memory_region %s is of kind device, which reorder_type cpu "
				   "cannot write; "
				   "use host, host_pinned or huge",
				   out->name);
	if (r->gpu && (out->kind == GW_MEM_HOST || out->kind == GW_MEM_HUGE))
		return gw__cfg_bad(l, at, -EINVAL,
				   "memory_region %s is of kind %s, which reorder_type gpu cannot "
				   "write; "
				   "use device or host_pinned",
				   out->name, gw_mem_kind_name(out->kind));
	return check_queues(l, at, p, r, q);
}

static int fill_plan(struct gw__loader *l, const struct gw__ynode *n, struct gw_cfg_port *p,
		     struct gw_cfg_reorder *r)
{
	const struct gw__ynode *types = gw__cfg_node(n, "data_types"),
			       *reg = gw__y_get(n, "memory_region");
	int k = gw__cfg_region(&l->c->cfg, reg->text), err;

	if (!gw__cfg_copy(r->name, sizeof(r->name), gw__cfg_str(n, "name")))
		return gw__cfg_bad(l, gw__y_get(n, "name"), -EINVAL,
				   "longer than %u bytes; use a shorter name", GW_CFG_NAME - 1);
	for (const struct gw_cfg_reorder *o = p->reorder; o < r; o++)
		if (!strcmp(o->name, r->name))
			return gw__cfg_bad(l, gw__y_get(n, "name"), -EINVAL,
					   "value %s is a duplicate of line %d; use another name",
					   r->name, o->line);
	if (k < 0)
		return gw__cfg_bad(
			l, reg, -EINVAL, "region %.40s is not defined in memory_regions; use %s",
			reg->text,
			l->c->cfg.n_regions ? l->c->cfg.region[l->c->cfg.n_regions - 1].name
					    : "a defined one");
	r->region = (uint32_t)k;
	r->line = n->line;
	r->gpu = gw__cfg_enum(n, "reorder_type") == 0;
	r->payload_byte_offset = (uint32_t)gw__cfg_u64(n, "payload_byte_offset");
	r->drop_missing = gw__cfg_enum(n, "missing_action") == 1;
	r->fill = (enum gw__fill)gw__cfg_enum(n, "fill");
	r->consecutive_windows = (uint32_t)gw__cfg_u64(n, "consecutive_windows");
	r->packet_size = (uint32_t)gw__cfg_u64(n, "packet_size");
	if (gw__cfg_enum(n, "reorder_engine") == 1)
		return gw__cfg_bad(l, gw__y_get(n, "reorder_engine"), -ENOTSUP,
				   "value hw needs a NIC with a flex parser, which no engine here "
				   "has; use sw");
	err = types ? take_types(l, types, r, either(types, "input_type", "input"),
				 either(types, "output_type", "output"),
				 either(types, "endianness", "input_endianness"))
		    : 0;
	if (!err)
		err = take_method(l, gw__y_get(n, "method"), r);
	if (!err)
		err = take_flows(l, gw__y_get(n, "flow_ids"), p, r);
	return err ? err : check_plan(l, n, p, r);
}

int gw__cfg_fill_reorder(struct gw__loader *l, const struct gw__ynode *rx, struct gw_cfg_port *p)
{
	const struct gw__ynode *list = gw__cfg_node(rx, "reorder_configs");
	int r = 0;

	if (list && list->n > GW_CFG_MAX_REORDER)
		return gw__cfg_bad(l, list, -EINVAL, "%u plans is above %u; use at most %u",
				   list->n, GW_CFG_MAX_REORDER, GW_CFG_MAX_REORDER);
	for (const struct gw__ynode *n = list ? list->first : NULL; n && !r; n = n->next) {
		r = fill_plan(l, n, p, &p->reorder[p->n_reorder]);
		p->n_reorder += !r;
	}
	return r;
}

/* ---- the program's `reorder:` block --------------------------------------------------------- */

/* The receiving port: the one that bench_rx names, else the only one that receives. */
static struct gw_cfg_port *receiving_port(struct gw__loader *l)
{
	struct gw_cfg *cfg = &l->c->cfg;
	struct gw_cfg_port *only = NULL;
	const struct gw__ynode *b = gw__cfg_find(l->c, "bench_rx.interface_name");

	for (uint32_t i = 0; i < cfg->n_ports; i++) {
		if (!cfg->port[i].n_rxq)
			continue;
		if (b && b->kind == GW__Y_SCALAR && !strcmp(b->text, cfg->port[i].name))
			return &cfg->port[i];
		only = only ? only : &cfg->port[i];
	}
	return only;
}

/* Bit i: a queue of this direction names region i. From the tree, so that a direction left out counts too. */
static uint64_t regions_of(const struct gw_cfg *cfg, const struct gw__ynode *dir)
{
	const struct gw__ynode *queues = gw__cfg_node(dir, "queues"), *list;
	uint64_t used = 0;

	for (const struct gw__ynode *q = queues ? queues->first : NULL; q; q = q->next) {
		list = gw__cfg_node(q, "memory_regions");
		for (const struct gw__ynode *s = list ? list->first : NULL; s; s = s->next) {
			int k = gw__cfg_region(cfg, s->text);

			used |= k >= 0 ? 1ull << k : 0;
		}
	}
	return used;
}

/* Named, or the last region that no queue uses. */
static int tensor_region(struct gw__loader *l, const struct gw__ynode *b)
{
	const struct gw__ynode *n = gw__cfg_node(b, "memory_region");
	struct gw_cfg *cfg = &l->c->cfg;
	int found = -1;
	uint64_t used = 0;

	if (n) {
		found = gw__cfg_region(cfg, n->text);
		return found >= 0 ? found
				  : gw__cfg_bad(l, n, -EINVAL,
						"region %.40s is not defined in memory_regions; "
						"use %s",
						n->text, cfg->region[cfg->n_regions - 1].name);
	}
	for (const struct gw__ynode *i = gw__y_get(l->c->cfg_node, "interfaces")->first; i;
	     i = i->next)
		used |= regions_of(cfg, gw__cfg_node(i, "rx")) |
			regions_of(cfg, gw__cfg_node(i, "tx"));
	for (uint32_t i = 0; i < cfg->n_regions; i++)
		if (!(used >> i & 1))
			found = (int)i;
	return found >= 0 ? found
			  : gw__cfg_missing(l, b, "memory_region",
					    "every region feeds a queue: add one for tensors");
}

static int fill_declared(struct gw__loader *l, const struct gw__ynode *b, struct gw_cfg_port *p,
			 struct gw_cfg_reorder *r)
{
	const struct gw__ynode *flows = gw__cfg_node(b, "flow_ids"),
			       *ppb = gw__cfg_node(b, "packets_per_batch");
	uint64_t per_image = gw__cfg_u64(b, "packets_per_image"),
		 images = gw__cfg_u64(b, "images_per_batch");
	int k = tensor_region(l, b), err;

	if (k < 0)
		return k;
	if (!gw__cfg_copy(r->name, sizeof(r->name), gw__cfg_str(b, "reorder_name")))
		return gw__cfg_bad(l, gw__y_get(b, "reorder_name"), -EINVAL,
				   "longer than %u bytes; use a shorter name", GW_CFG_NAME - 1);
	r->region = (uint32_t)k;
	r->line = b->line;
	r->tensor_declared = true;
	r->gpu = gw__cfg_enum(b, "reorder_type") == 0;
	r->payload_byte_offset = (uint32_t)gw__cfg_u64(b, "payload_byte_offset");
	r->seq_bit_offset = (uint16_t)gw__cfg_u64(b, "seq_bit_offset");
	r->seq_bit_width = (uint8_t)gw__cfg_u64(b, "seq_bit_width");
	r->packets_per_group = (uint32_t)per_image;
	r->packets_per_batch = (uint32_t)(per_image * images);
	r->packet_size = r->payload_byte_offset + (uint32_t)gw__cfg_u64(b, "out_payload_len");
	r->drop_missing = gw__cfg_enum(b, "missing_action") == 1;
	r->fill = (enum gw__fill)gw__cfg_enum(b, "fill");
	r->consecutive_windows = (uint32_t)gw__cfg_u64(b, "consecutive_windows");
	if (per_image & (per_image - 1))
		return gw__cfg_bad(l, gw__y_get(b, "packets_per_image"), -EINVAL,
				   "value %" PRIu64 " is no power of two; use %" PRIu64 " or "
											"%" PRIu64,
				   per_image, power_below(per_image), power_below(per_image) * 2);
	if (images & (images - 1))
		return gw__cfg_bad(l, gw__y_get(b, "images_per_batch"), -EINVAL,
				   "value %" PRIu64 " is no power of two; use %" PRIu64 " or "
											"%" PRIu64,
				   images, power_below(images), power_below(images) * 2);
	if (per_image * images > UINT32_MAX)
		return gw__cfg_bad(l, b, -EINVAL,
				   "packets_per_image x images_per_batch is above 2^32; use fewer "
				   "images");
	if (ppb && gw__cfg_u64(b, "packets_per_batch") != per_image * images)
		return gw__cfg_bad(l, ppb, -EINVAL,
				   "value %s is not packets_per_image %" PRIu64
				   " x images_per_batch %" PRIu64 "; use %" PRIu64,
				   ppb->text, per_image, images, per_image * images);
	err = take_types(l, b, r, gw__cfg_str(b, "input_type"), gw__cfg_str(b, "output_type"),
			 gw__cfg_str(b, "endianness"));
	for (uint32_t i = 0; i < p->n_rx_flow && !flows && !err; i++)
		err = add_flow(l, b, p, r, p->rx_flow[i].id);
	if (!err && flows)
		err = take_flows(l, flows, p, r);
	if (!err && !r->n_flow_ids)
		err = gw__cfg_bad(l, b, -EINVAL,
				  "flow_ids: interface %s has no flow; add one that steers to its "
				  "queue",
				  p->name);
	return err ? err : check_plan(l, b, p, r);
}

int gw__cfg_declare_tensor(struct gw__loader *l)
{
	const struct gw__ynode *b = gw__cfg_node(l->c->tree.root, "reorder");
	struct gw_cfg_port *p;
	int r;

	if (!b || l->opts->tx_only)
		return 0;
	p = receiving_port(l);
	if (!p)
		return 0; /* a sender's file: its program reads the numbers, nothing is placed here */
	if (p->n_reorder)
		return gw__cfg_bad(l, b, -EINVAL,
				   "stands beside reorder_configs in line %d; remove "
				   "reorder_configs: the plan "
				   "is made from this block",
				   p->reorder[0].line);
	r = fill_declared(l, b, p, &p->reorder[0]);
	p->n_reorder += !r;
	return r;
}
