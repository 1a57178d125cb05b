/* ingest/plan.c: reorder plans of a queue: where the number and the payload lie in its slots.
 * Refuses what the CPU could not read or the scatter could not reach in one piece. Must not know windows'
 * rules (reorder/). Next: rxq.c pushes packets into plans. */
#include <errno.h>

#include "base/alloc.h"
#include "base/diag.h"
#include "ingest/gw.h"

/* Segment that holds frame byte `at`, and where it starts; n_segs when the slot ends before. */
static uint32_t segment_of(const struct gw__slots *slots, uint32_t at, uint32_t *start)
{
	uint32_t s = 0, from = 0;

	while (s < slots->n_segs && at - from >= slots->seg[s].size)
		from += slots->seg[s++].size;
	*start = from;
	return s;
}

static int locate_field(const struct gw__rx_plan *p, const char *what, uint32_t bit_offset, uint32_t n_bits,
			struct gw__field *out, struct gw_diag *diag)
{
	const struct gw__slots *slots = &p->q->slots;
	uint32_t first = bit_offset / 8, end, start, s;

	if (n_bits < 1 || n_bits > 32)
		return gw__fail(diag, -EINVAL, "reorder '%s': %s bit_width %u; use 1 to 32", p->cfg->name, what,
				n_bits);
	end = (bit_offset + n_bits + 7) / 8;
	s = segment_of(slots, first, &start);
	if (s == slots->n_segs || end - start > slots->seg[s].size)
		return gw__fail(diag, -EINVAL,
				"reorder '%s': %s at bytes %u..%u does not lie in one segment of queue '%s'; move "
				"it, or make the first region's buf_size at least %u", p->cfg->name, what, first,
				end - 1, p->q->cfg->name, end);
	if (!slots->seg[s].host)
		return gw__fail(diag, -EINVAL,
				"reorder '%s': %s at bytes %u..%u lies in memory of kind %s, which the CPU cannot "
				"read; split the header off: put a region of kind huge and buf_size %u before it in "
				"queue '%s' memory_regions", p->cfg->name, what, first, end - 1,
				gw_mem_kind_name(slots->seg[s].kind), end, p->q->cfg->name);
	*out = (struct gw__field){ .seg = s, .byte_off = first - start, .n_bytes = end - first,
				   .n_bits = n_bits, .shift = end * 8 - bit_offset - n_bits, .end = end };
	return 0;
}

static int locate_payload(struct gw__rx_plan *p, struct gw_diag *diag)
{
	const struct gw__slots *slots = &p->q->slots;
	uint32_t start, s = segment_of(slots, p->cfg->payload_byte_offset, &start);

	if (s == slots->n_segs)
		return gw__fail(diag, -EINVAL,
				"reorder '%s': payload_byte_offset %u is beyond the slot's %u bytes",
				p->cfg->name, p->cfg->payload_byte_offset, start);
	if (s + 1 != slots->n_segs)
		return gw__fail(diag, -EINVAL,
				"reorder '%s': the payload from byte %u would start in segment %u and go on in "
				"segment %u of queue '%s'; set payload_byte_offset to %u, where the next segment "
				"starts", p->cfg->name, p->cfg->payload_byte_offset, s, s + 1, p->q->cfg->name,
				start + slots->seg[s].size);
	p->payload_seg = s;
	p->payload_off = p->cfg->payload_byte_offset - start;
	p->payload_start = p->cfg->payload_byte_offset;
	p->payload_len = slots->seg[s].size - p->payload_off;
	return 0;
}

static int make_windows(struct gw__rx_plan *p)
{
	p->win = gw__calloc(p->n_out, sizeof(*p->win));
	if (!p->win)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->n_out; i++) {
		p->win[i].q = p->q;
		p->win[i].plan = p;
	}
	return 0;
}

static int plan_open(struct gw__rx_plan *p, struct gw_diag *diag)
{
	const struct gw_cfg_reorder *c = p->cfg;
	struct gw *gw = p->q->gw;
	const struct gw__slots *src = &p->q->slots;
	struct gw__reorder_config rc;
	struct gw__slots out;
	int err;

	err = locate_field(p, "sequence_number", c->seq_bit_offset, c->seq_bit_width, &p->seq, diag);
	if (!err && c->batch_bit_width)
		err = locate_field(p, "batch_number", c->batch_bit_offset, c->batch_bit_width, &p->batch, diag);
	if (!err)
		err = locate_payload(p, diag);
	if (!err)
		err = gw__slots_take(gw, &c->region, 1, &out, c->name, diag);
	if (!err)
		err = gw->gpu->stream_create(&p->own_stream, diag);
	if (err)
		return err;
	p->n_out = out.n_slots;
	rc = (struct gw__reorder_config){
		.name = c->name,
		.packets_per_batch = c->packets_per_batch,
		.seq_bits = c->seq_bit_width,
		.batch_bits = c->batch_bit_width,
		.in_type = c->in_type,
		.out_type = c->out_type,
		.swap = c->network_endian,
		.payload_len = p->payload_len,
		.timeout_ns = p->q->timeout_ns,
		.packets_per_group = c->packets_per_group,
		.fill = c->fill,
		.drop_missing = c->drop_missing,
		.on_cpu = !c->gpu,
		.src_base = src->seg[p->payload_seg].base + p->payload_off,
		.src_host = src->seg[p->payload_seg].host ? src->seg[p->payload_seg].host + p->payload_off : NULL,
		.src_stride = src->seg[p->payload_seg].stride,
		.out_base = out.seg[0].base,
		.out_stride = out.seg[0].stride,
		.out_size = out.seg[0].size,
		.n_out = p->n_out,
		.run = c->consecutive_windows,
		.gpu = gw->gpu,
		.stream = p->own_stream,
	};
	err = make_windows(p);
	if (err)
		return gw__fail(diag, err, "reorder '%s': no memory for %u windows", c->name, p->n_out);
	return gw__reorder_create(&rc, &p->r, diag);
}

/* The queue that a plan's packets come out of. */
static int plan_queue(const struct gw_cfg_port *port, const struct gw_cfg_reorder *c)
{
	return c->n_queues ? c->queue[0] : port->rxq[0].id;
}

const struct gw_cfg_reorder *gw__plan_merging(const struct gw_cfg_port *port, int queue)
{
	for (uint32_t i = 0; i < port->n_reorder; i++)
		if (port->reorder[i].n_queues > 1 && gw__cfg_feeds(&port->reorder[i], queue))
			return &port->reorder[i];
	return NULL;
}

int gw__plans_open(struct gw *gw, struct gw__rx_queue *q, struct gw_diag *diag)
{
	const struct gw_cfg_port *port = gw->port[q->port].cfg;
	int err = 0;

	q->plan = gw__calloc(port->n_reorder, sizeof(*q->plan));
	if (!q->plan)
		return -ENOMEM;
	for (uint32_t i = 0; i < port->n_reorder && !err; i++) {
		if (plan_queue(port, &port->reorder[i]) != q->cfg->id)
			continue;
		q->plan[q->n_plans].cfg = &port->reorder[i];
		q->plan[q->n_plans].q = q;
		err = plan_open(&q->plan[q->n_plans++], diag);
	}
	return err;
}

void gw__plans_close(struct gw__rx_queue *q)
{
	for (uint32_t i = 0; q->plan && i < q->n_plans; i++) {
		struct gw__rx_plan *p = &q->plan[i];

		gw__reorder_destroy(p->r);
		if (p->own_stream)
			q->gw->gpu->stream_destroy(p->own_stream);
		gw__free(p->win);
	}
	gw__free(q->plan);
	q->plan = NULL;
	q->n_plans = 0;
}

int gw_reorder_set_stream(struct gw *gw, const char *interface_name, const char *reorder_name,
			  struct gw_stream *stream)
{
	int port;

	if (!gw || !reorder_name || !stream)
		return -EINVAL;
	port = gw_port_id(gw, interface_name);
	if (port < 0)
		return port;
	for (uint32_t i = 0; i < gw->port[port].cfg->n_rxq; i++) {
		struct gw__rx_queue *q = &gw->port[port].rxq[i];

		for (uint32_t k = 0; k < q->n_plans; k++) {
			struct gw__rx_plan *p = &q->plan[k];
			int err;

			if (strcmp(p->cfg->name, reorder_name))
				continue;
			if (gw->started || p->bound)
				return -EBUSY;
			err = gw__reorder_bind(p->r, stream);
			p->bound = !err;
			return err;
		}
	}
	return -ENOENT;
}
