/* ingest/config_geometry.c: sizes that must fit each other. Where a program declares a tensor (its `reorder:`
 * block) a misfit is refused before start, with the exact value; elsewhere it is a warning, since slack and
 * odd offsets are normal in plain captures. It must not change anything. Next: docs/config.md. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ingest/config_load.h"

#define MIN_TENSORS 9u /* 7 queued + 1 running + 1 held by the consumer */

/* What is being judged: a plan, its queue and where both stand in the file. */
struct plan {
	struct gw__loader *l;
	const struct gw_cfg_port *port;
	const struct gw_cfg_reorder *r;
	const struct gw_cfg_queue *q;
	const struct gw__ynode *at;    /* the plan's own block */
	const struct gw__ynode *qnode; /* the queue */
	uint64_t slots;                /* of the queue */
	uint64_t packet;               /* bytes of a frame that the slot can hold */
	uint64_t payload;              /* bytes of a packet that go into the tensor */
	int err;
};

/* Refuse if a tensor is declared, else warn. Returns true when judging may stop. */
static bool misfit(struct plan *p, const struct gw__ynode *at, const char *fmt, ...)
	GW_PRINTF(3, 4);
static bool misfit(struct plan *p, const struct gw__ynode *at, const char *fmt, ...)
{
	char text[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (!p->r->tensor_declared) {
		gw__cfg_warn(p->l, at, "%s", text);
		return false;
	}
	p->err = gw__cfg_bad(p->l, at, -EINVAL, "%s", text);
	return true;
}

static const struct gw__ynode *region_node(struct gw__loader *l, uint32_t i)
{
	return gw__y_at(gw__y_get(l->c->cfg_node, "memory_regions"), i);
}

/* A key's node, or its map where the default holds: errors need a line. */
static const struct gw__ynode *key_or_map(const struct gw__ynode *map, const char *key)
{
	const struct gw__ynode *n = gw__cfg_node(map, key);

	return n ? n : map;
}

static const struct gw__ynode *queue_node(struct gw__loader *l, const struct gw_cfg_port *port,
					  const struct gw_cfg_queue *q, const char *dir)
{
	const struct gw__ynode *list = gw__y_get(l->c->cfg_node, "interfaces"), *n;

	for (n = list->first; n && strcmp(gw__cfg_str(n, "name"), port->name); n = n->next)
		;
	n = n ? gw__cfg_node(gw__cfg_node(n, dir), "queues") : NULL;
	for (n = n ? n->first : NULL; n && gw__cfg_i64(n, "id") != q->id; n = n->next)
		;
	return n ? n : list;
}

uint64_t gw__cfg_slots(const struct gw_cfg *cfg, const struct gw_cfg_queue *q)
{
	uint64_t n = UINT64_MAX;

	for (uint32_t s = 0; s < q->n_regions; s++)
		n = cfg->region[q->region[s]].num_bufs < n ? cfg->region[q->region[s]].num_bufs : n;
	return n;
}

static uint64_t packet_of(const struct gw_cfg *cfg, const struct gw_cfg_queue *q)
{
	uint64_t n = 0;

	for (uint32_t s = 0; s < q->n_regions; s++)
		n += cfg->region[q->region[s]].buf_size;
	return n;
}

/* ---- one plan ------------------------------------------------------------------------------- */

/* The region whose num_bufs limits the queue. */
static const struct gw__ynode *tightest(struct plan *p)
{
	const struct gw_cfg *cfg = &p->l->c->cfg;

	for (uint32_t s = 0; s < p->q->n_regions; s++)
		if (cfg->region[p->q->region[s]].num_bufs == p->slots)
			return region_node(p->l, p->q->region[s]);
	return p->qnode;
}

/* buf_size against the packet that the block declares. Slack would pad the tensor: each slot's stride comes
 * from buf_size - payload_byte_offset. */
static void judge_slack(struct plan *p)
{
	const struct gw_cfg *cfg = &p->l->c->cfg;
	uint64_t want = p->r->packet_size, off = p->r->payload_byte_offset;
	uint32_t last = p->q->region[p->q->n_regions - 1];
	const struct gw_cfg_region *src = &cfg->region[last];
	const struct gw__ynode *size = gw__y_get(region_node(p->l, last), "buf_size");

	if (!p->r->tensor_declared)
		return;
	if (p->q->n_regions > 1 && cfg->region[p->q->region[0]].buf_size != off) {
		const struct gw__ynode *head = region_node(p->l, p->q->region[0]);

		misfit(p, gw__y_get(head, "buf_size"),
		       "value %" PRIu64 " is not payload_byte_offset %" PRIu64
		       ": with header-data split the first region holds the header alone; use "
		       "%" PRIu64,
		       cfg->region[p->q->region[0]].buf_size, off, off);
		return;
	}
	if (p->packet != want)
		misfit(p, size,
		       "value %" PRIu64 " is %s payload_byte_offset %" PRIu64
		       " + out_payload_len %" PRIu64 " = %" PRIu64 "%s; use %" PRIu64,
		       src->buf_size, p->packet > want ? "above" : "below", off, want - off, want,
		       p->packet > want ? " and the slack would pad the tensor" : "",
		       src->buf_size + want - p->packet);
}

static void judge_field(struct plan *p)
{
	uint32_t end = (uint32_t)p->r->seq_bit_offset + p->r->seq_bit_width;
	uint32_t batch_end = p->r->batch_bit_width
				     ? (uint32_t)p->r->batch_bit_offset + p->r->batch_bit_width
				     : 0;
	const struct gw__ynode *at = key_or_map(p->at, "seq_bit_offset");
	uint64_t limit = 8ull * p->r->payload_byte_offset;

	end = batch_end > end ? batch_end : end;
	if (end > 8 * p->packet) {
		misfit(p, at,
		       "the number ends at bit %u, above the packet's %" PRIu64 " bits (%" PRIu64
		       " bytes); use an offset of at most %" PRIu64,
		       end, 8 * p->packet, p->packet,
		       8 * p->packet > p->r->seq_bit_width ? 8 * p->packet - p->r->seq_bit_width
							   : 0);
		return;
	}
	if (end > limit)
		misfit(p, at,
		       "the number ends at bit %u, above bit %" PRIu64 " where the payload starts; "
		       "use an offset of "
		       "at most %" PRIu64,
		       end, limit, limit > p->r->seq_bit_width ? limit - p->r->seq_bit_width : 0);
}

/* Fewer slots than the floor: a window can never fill. Fewer than the target: the NIC starves while the
 * application holds one burst and one more is on its way. */
static void judge_slots(struct plan *p)
{
	uint64_t ppb = p->r->packets_per_batch, batch = p->q->batch_size;
	uint64_t floor = batch > 2 * ppb ? batch : 2 * ppb;
	uint64_t target = 2 * batch > 3 * ppb ? 2 * batch : 3 * ppb;
	const struct gw__ynode *at = key_or_map(tightest(p), "num_bufs");

	if (batch % ppb) {
		misfit(p, key_or_map(p->qnode, "batch_size"),
		       "value %" PRIu64 " is no multiple of packets_per_batch %" PRIu64
		       "; use %" PRIu64 " or %" PRIu64,
		       batch, ppb, batch / ppb * ppb, batch / ppb * ppb + ppb);
		return;
	}
	if (batch > p->slots) {
		misfit(p, key_or_map(p->qnode, "batch_size"),
		       "value %" PRIu64 " is above the queue's %" PRIu64 " slots (num_bufs): a "
		       "burst could never fill; "
		       "use at most %" PRIu64 ", or num_bufs %" PRIu64 " (the floor is %" PRIu64
		       ", %" PRIu64 " never "
		       "starves)",
		       batch, p->slots, p->slots >= ppb ? p->slots / ppb * ppb : p->slots, target,
		       floor, target);
		return;
	}
	if (p->slots < floor)
		misfit(p, at,
		       "value %" PRIu64 " is below the deadlock floor %" PRIu64 " (a full burst, "
		       "and two open "
		       "windows); "
		       "use %" PRIu64 ", which never starves",
		       p->slots, floor, target);
	else if (p->slots < target)
		gw__cfg_warn(p->l, at,
			     "value %" PRIu64 " is above the deadlock floor %" PRIu64
			     " but below the starvation-free target; use %" PRIu64,
			     p->slots, floor, target);
}

/* Windows that lie side by side: two runs of them, and no gap between one window and the next. */
static void judge_run(struct plan *p, const struct gw_cfg_region *out, const struct gw__ynode *at, uint64_t need)
{
	uint32_t run = p->r->consecutive_windows;

	if (p->r->drop_missing)
		p->err = gw__cfg_bad(p->l, key_or_map(p->at, "missing_action"), -EINVAL,
				     "value drop leaves gaps among consecutive_windows %u; use passthrough, or "
				     "consecutive_windows 1", run);
	else if (out->num_bufs / 2 < run)
		p->err = gw__cfg_bad(p->l, gw__y_get(at, "num_bufs"), -EINVAL,
				     "value %" PRIu64 " is below two runs of consecutive_windows %u; use at least %u",
				     out->num_bufs, run, 2 * run);
	else if (need % GW__STRIDE)
		p->err = gw__cfg_bad(p->l, gw__y_get(at, "buf_size"), -EINVAL,
				     "value %" PRIu64 ": windows of %" PRIu64 " bytes cannot lie side by side, buffers "
				     "begin at multiples of %u; use consecutive_windows 1", out->buf_size, need, GW__STRIDE);
	else if (out->buf_size != need)
		p->err = gw__cfg_bad(p->l, gw__y_get(at, "buf_size"), -EINVAL,
				     "value %" PRIu64 " leaves a gap between consecutive windows of %" PRIu64 " bytes; "
				     "use %" PRIu64, out->buf_size, need, need);
}

/* The tensor's region: holes in these rules lose memory, so the size is refused even without a declaration. */
static void judge_output(struct plan *p)
{
	const struct gw_cfg_region *out = &p->l->c->cfg.region[p->r->region];
	const struct gw__ynode *at = region_node(p->l, p->r->region);
	uint64_t slot = p->r->in_type
				? gw__converted_bytes(p->r->in_type, p->r->out_type, p->payload)
				: p->payload;
	uint64_t need = slot * p->r->packets_per_batch;

	if (out->buf_size < need) {
		p->err = gw__cfg_bad(p->l, gw__y_get(at, "buf_size"), -EINVAL,
				     "value %" PRIu64 " is below packets_per_batch %u x %" PRIu64
				     " converted payload bytes; use %" PRIu64,
				     out->buf_size, p->r->packets_per_batch, slot, need);
		return;
	}
	if (p->r->consecutive_windows > 1)
		judge_run(p, out, at, need);
	if (p->r->tensor_declared && out->num_bufs < MIN_TENSORS)
		misfit(p, gw__y_get(at, "num_bufs"),
		       "value %" PRIu64 " is below %u (7 queued, 1 running, 1 held); use %u or "
		       "more, 16 is usual",
		       out->num_bufs, MIN_TENSORS, MIN_TENSORS);
}

/* Where the payload lies, who moves it, and where to: a real GPU reads pinned and its own memory only. */
static void judge_kinds(struct plan *p)
{
	const struct gw_cfg *cfg = &p->l->c->cfg;
	uint32_t last = p->q->region[p->q->n_regions - 1];
	const struct gw_cfg_region *src = &cfg->region[last], *out = &cfg->region[p->r->region];
	bool pageable = src->kind == GW_MEM_HOST || src->kind == GW_MEM_HUGE;

	if (src->kind == GW_MEM_DEVICE && out->kind == GW_MEM_DEVICE &&
	    src->affinity != out->affinity)
		p->err = gw__cfg_bad(p->l, key_or_map(region_node(p->l, p->r->region), "affinity"),
				     -EINVAL,
				     "value %d is another GPU than the payload's (region %s); use "
				     "%d",
				     out->affinity, src->name, src->affinity);
	else if (p->r->gpu ? pageable : src->kind == GW_MEM_DEVICE)
		gw__cfg_warn(p->l, key_or_map(region_node(p->l, last), "kind"),
			     "value %s: reorder_type %s reads this region, which works on the "
			     "emulated GPU alone; use %s",
			     gw_mem_kind_name(src->kind), p->r->gpu ? "gpu" : "cpu",
			     p->r->gpu ? "device or host_pinned" : "host, host_pinned or huge");
}

/* Warnings that hold for any plan: numbers that wrap at the window, windows that a deadline cuts. */
static void judge_habits(struct plan *p)
{
	uint64_t space = 1ull << p->r->seq_bit_width;

	if (space == p->r->packets_per_batch && !p->r->batch_bit_width)
		gw__cfg_warn(p->l, key_or_map(p->at, "seq_bit_width"),
			     "2^%u = packets_per_batch: the number says nothing of the window, so "
			     "a gap of %" PRIu64 " packets or more is taken for another one; the "
			     "largest safe gap is %" PRIu64,
			     p->r->seq_bit_width, space / 2, space / 2 - 1);
	if (p->r->tensor_declared && p->q->timeout_us)
		gw__cfg_warn(p->l, key_or_map(p->qnode, "timeout_us"),
			     "value %" PRIu64 " can cut a window whose sender pauses, and a data "
			     "set padded to whole windows "
			     "gains nothing by it; use 0",
			     p->q->timeout_us);
}

/* The block's own numbers against each other and against the network's input. */
static void judge_tensor(struct plan *p)
{
	const struct gw__ynode *b = p->at, *inf = gw__cfg_node(p->l->c->tree.root, "inference");
	uint64_t len = gw__cfg_u64(b, "out_payload_len"), stride = gw__cfg_u64(b, "output_slot_"
										  "stride");
	uint64_t want = gw__converted_bytes(p->r->in_type, p->r->out_type, len);
	uint64_t image = p->r->packets_per_group * want, pixels, bytes;

	if (gw__cfg_node(b, "output_slot_stride") && stride != want) {
		misfit(p, gw__y_get(b, "output_slot_stride"),
		       "value %" PRIu64 " is not out_payload_len %" PRIu64 " after conversion; use "
		       "%" PRIu64,
		       stride, len, want);
		return;
	}
	if (gw__cfg_node(b, "image_out_bytes") && gw__cfg_u64(b, "image_out_bytes") != image) {
		misfit(p, gw__y_get(b, "image_out_bytes"),
		       "value %" PRIu64 " is not packets_per_image %u x %" PRIu64 "; use %" PRIu64,
		       gw__cfg_u64(b, "image_out_bytes"), p->r->packets_per_group, want, image);
		return;
	}
	if (!inf)
		return;
	pixels = gw__cfg_u64(inf, "channels") * gw__cfg_u64(inf, "height") *
		 gw__cfg_u64(inf, "width");
	bytes = gw__converted_bytes(p->r->in_type, p->r->out_type, 8) * pixels / 8;
	if (p->r->in_type == GW_INT4)
		bytes /= 2;
	else if (p->r->in_type == GW_INT16 || p->r->in_type == GW_INT32)
		bytes *= p->r->in_type == GW_INT16 ? 2 : 4;
	if (bytes != image)
		misfit(p, key_or_map(b, "packets_per_image"),
		       "an image is %u packets x %" PRIu64 " = %" PRIu64 " bytes, but the network "
		       "reads %" PRIu64 " x %" PRIu64 " x %" PRIu64 " = %" PRIu64 " bytes; use "
										  "out_payload_len "
		       "%" PRIu64,
		       p->r->packets_per_group, want, image, gw__cfg_u64(inf, "channels"),
		       gw__cfg_u64(inf, "height"), gw__cfg_u64(inf, "width"), bytes,
		       want ? len * bytes / image : 0);
}

static int judge_plan(struct gw__loader *l, const struct gw_cfg_port *port,
		      const struct gw_cfg_reorder *r, const struct gw__ynode *at)
{
	static void (*const steps[])(struct plan *) = { judge_slack, judge_field,  judge_slots,
							judge_kinds, judge_output, judge_habits };
	struct plan p = { .l = l, .port = port, .r = r, .at = at };

	p.q = gw__cfg_reorder_queue(port, r);
	if (!p.q || !p.q->n_regions)
		return 0;
	p.qnode = queue_node(l, port, p.q, "rx");
	p.slots = gw__cfg_slots(&l->c->cfg, p.q);
	p.packet = packet_of(&l->c->cfg, p.q);
	if (r->payload_byte_offset >= p.packet)
		return gw__cfg_bad(l, key_or_map(at, "payload_byte_offset"), -EINVAL,
				   "value %u is not below the packet's %" PRIu64 " bytes "
				   "(buf_size); use "
				   "at most %" PRIu64,
				   r->payload_byte_offset, p.packet, p.packet - 1);
	p.payload = p.packet - r->payload_byte_offset;
	if (r->tensor_declared)
		judge_tensor(&p);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]) && !p.err; i++)
		steps[i](&p);
	return p.err;
}

/* ---- queues without a plan, benchmark blocks ------------------------------------------------- */

static bool has_plan(const struct gw_cfg_port *port, const struct gw_cfg_queue *q)
{
	for (uint32_t i = 0; i < port->n_reorder; i++)
		if (gw__cfg_feeds(&port->reorder[i], q->id))
			return true;
	return false;
}

static void judge_queue(struct gw__loader *l, const struct gw_cfg_port *port,
			const struct gw_cfg_queue *q, bool tx)
{
	const struct gw__ynode *n = queue_node(l, port, q, tx ? "tx" : "rx");
	uint64_t slots = gw__cfg_slots(&l->c->cfg, q), batch = q->batch_size;

	if (!q->n_regions || q->poll == GW_POLL_DIRECT || l->c->cfg.stream == GW_STREAM_SOCKET)
		return;
	if (batch > slots)
		gw__cfg_warn(l, key_or_map(n, "batch_size"),
			     "value %" PRIu64 " is above the queue's %" PRIu64
			     " slots (num_bufs), the deadlock floor: bursts will be shorter; use "
			     "at most %" PRIu64 ", or num_bufs %" PRIu64 ", which never starves",
			     batch, slots, slots, 2 * batch);
	else if (2 * batch > slots)
		gw__cfg_warn(l, key_or_map(n, "batch_size"),
			     "value %" PRIu64 ": the queue's %" PRIu64 " slots (num_bufs) are "
			     "above the deadlock floor "
			     "%" PRIu64 " but below the "
			     "starvation-free "
			     "target %" PRIu64,
			     batch, slots, batch, 2 * batch);
	for (uint32_t s = 1; s < q->n_regions; s++)
		if (l->c->cfg.region[q->region[s]].num_bufs !=
		    l->c->cfg.region[q->region[0]].num_bufs) {
			gw__cfg_warn(l, n,
				     "its regions have %" PRIu64 " and %" PRIu64
				     " buffers; %" PRIu64 " are used of each",
				     l->c->cfg.region[q->region[0]].num_bufs,
				     l->c->cfg.region[q->region[s]].num_bufs, slots);
			break;
		}
}

/* Does one queue hold what the benchmark sends, and does its split fall where the header ends? */
static void judge_fit(struct gw__loader *l, const struct gw__ynode *b, const struct gw_cfg_queue *q,
		      const char *port, const char *dir)
{
	uint64_t header = gw__cfg_u64(b, "header_size");
	uint64_t frame = header + gw__cfg_u64(b, "payload_size"), fits = packet_of(&l->c->cfg, q);
	uint64_t head = q->n_regions > 1 ? l->c->cfg.region[q->region[0]].buf_size : header;

	if (fits < frame)
		gw__cfg_warn(l, b,
			     "header_size + payload_size = %" PRIu64 " is above the %s queue's "
								     "buf_size %" PRIu64
			     " on %s; use buf_size %" PRIu64,
			     frame, dir, fits, port, frame);
	if (head != header)
		gw__cfg_warn(l, key_or_map(b, "header_size"),
			     "header_size %" PRIu64 " is not the buf_size %" PRIu64
			     " of the %s queue's first region on %s, where the split falls; use "
			     "%" PRIu64,
			     header, head, dir, port, head);
}

/* One entry of bench_tx against the ports: what it sends must fit, and be what a flow waits for. */
static void judge_bench(struct gw__loader *l, const struct gw__ynode *b)
{
	uint64_t frame = gw__cfg_u64(b, "header_size") + gw__cfg_u64(b, "payload_size");
	const char *port_name = gw__cfg_str(b, "interface_name");
	const struct gw_cfg *cfg = &l->c->cfg;

	for (uint32_t i = 0; i < cfg->n_ports; i++) {
		const struct gw_cfg_port *p = &cfg->port[i];

		for (uint32_t k = 0; k < p->n_txq && !strcmp(p->name, port_name); k++)
			if (p->txq[k].id == gw__cfg_i64(b, "queue_id"))
				judge_fit(l, b, &p->txq[k], p->name, "transmit");
		for (uint32_t k = 0; k < p->n_rxq; k++)
			judge_fit(l, b, &p->rxq[k], p->name, "receive");
		for (uint32_t k = 0; k < p->n_rx_flow; k++) {
			const struct gw_match *m = &p->rx_flow[k].match;

			if (m->fields & GW_MATCH_IPV4_LEN && frame >= 14 &&
			    m->ipv4_len != frame - 14)
				gw__cfg_warn(l, b,
					     "header_size + payload_size - 14 = %" PRIu64
					     " is not ipv4_len %u of flow %u on %s, which will not "
					     "match; "
					     "use ipv4_len %" PRIu64,
					     frame - 14, m->ipv4_len, p->rx_flow[k].id, p->name,
					     frame - 14);
		}
	}
}

static int check_bench_rx(struct gw__loader *l)
{
	const struct gw__ynode *b = gw__cfg_node(l->c->tree.root, "bench_rx");

	if (!b || b->kind != GW__Y_SEQ)
		return 0;
	for (const struct gw__ynode *n = b->first; n; n = n->next)
		for (const struct gw__ynode *o = b->first; o != n; o = o->next)
			if (gw__cfg_i64(o, "queue_id") == gw__cfg_i64(n, "queue_id") &&
			    !strcmp(gw__cfg_str(o, "interface_name"), gw__cfg_str(n, "interface_"
										     "name")))
				return gw__cfg_bad(l, key_or_map(n, "queue_id"), -EINVAL,
						   "value %" PRId64 " is a duplicate of line %d; "
						   "use another queue",
						   gw__cfg_i64(n, "queue_id"), o->line);
	return 0;
}

/* The node that a plan came from. */
static const struct gw__ynode *plan_node(struct gw__loader *l, const struct gw_cfg_port *port,
					 const struct gw_cfg_reorder *r)
{
	const struct gw__ynode *n = gw__y_get(l->c->cfg_node, "interfaces")->first;

	if (r->tensor_declared)
		return gw__y_get(l->c->tree.root, "reorder");
	for (; n && strcmp(gw__cfg_str(n, "name"), port->name); n = n->next)
		;
	return gw__y_at(gw__cfg_node(gw__cfg_node(n, "rx"), "reorder_configs"),
			(uint32_t)(r - port->reorder));
}

int gw__cfg_geometry(struct gw__loader *l)
{
	const struct gw__ynode *b = gw__cfg_node(l->c->tree.root, "bench_tx");
	const struct gw_cfg *cfg = &l->c->cfg;
	int r = check_bench_rx(l);

	for (uint32_t i = 0; i < cfg->n_ports; i++) {
		const struct gw_cfg_port *p = &cfg->port[i];

		for (uint32_t k = 0; k < p->n_reorder && !r; k++)
			r = judge_plan(l, p, &p->reorder[k], plan_node(l, p, &p->reorder[k]));
		for (uint32_t k = 0; k < p->n_rxq && !r; k++)
			if (!has_plan(p, &p->rxq[k]))
				judge_queue(l, p, &p->rxq[k], false);
		for (uint32_t k = 0; k < p->n_txq && !r; k++)
			judge_queue(l, p, &p->txq[k], true);
	}
	if (r || !b || l->opts->rx_only)
		return r;
	if (b->kind == GW__Y_MAP)
		judge_bench(l, b);
	for (const struct gw__ynode *n = b->kind == GW__Y_SEQ ? b->first : NULL; n; n = n->next)
		judge_bench(l, n);
	return 0;
}
