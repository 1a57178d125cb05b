/* nn/onednn/build.c: one batch size laid out: instances, steps, conversions between layouts, and one arena
 * whose bytes are used again as soon as nobody reads them. Must not know how one operation is set up
 * (conv.c, ops.c). Next: conv.c, then run.c. */
#include "base/alloc.h"
#include "base/diag.h"
#include "nn/onednn/exec.h"

#include <errno.h>
#include <string.h>

int gw__dnnl_error(const struct builder *b, dnnl_status_t s)
{
	int err = s == dnnl_out_of_memory ? -ENOMEM :
		  s == dnnl_unimplemented || s == dnnl_invalid_arguments ? -ENOTSUP : -EIO;

	return gw__fail(b->diag, err, "node %s: oneDNN says %d (%s)", GW__CLEAN(b->op ? b->op->name : "output"),
			(int)s, err == -ENOTSUP ? "not possible on this CPU" : err == -ENOMEM ? "memory" : "failure");
}

int gw__md_dims(const struct builder *b, int value, dnnl_dims_t dims)
{
	const struct gw__shape *s = &b->x->plan.shapes[value];

	dims[0] = b->y->n;
	dims[1] = s->c;
	dims[2] = s->h;
	dims[3] = s->w;
	return s->flat ? 2 : 4;
}

static int md_make(const struct builder *b, int value, dnnl_data_type_t dt, bool any, dnnl_memory_desc_t *md)
{
	dnnl_dims_t dims;
	int rank = gw__md_dims(b, value, dims);
	dnnl_format_tag_t tag = any ? dnnl_format_tag_any : rank == 2 ? dnnl_ab : dnnl_abcd;
	dnnl_status_t s = dnnl_memory_desc_init_by_tag(md, rank, dims, dt, tag);

	return s ? gw__dnnl_error(b, s) : 0;
}

int gw__md_plain(const struct builder *b, int value, dnnl_data_type_t dt, dnnl_memory_desc_t *md)
{
	return md_make(b, value, dt, false, md);
}

int gw__md_any(const struct builder *b, int value, dnnl_data_type_t dt, dnnl_memory_desc_t *md)
{
	return md_make(b, value, dt, true, md);
}

/* Make room for one more; entries are zeroed. */
static int grow(void **items, uint32_t n, uint32_t *cap, size_t size)
{
	uint32_t want = *cap ? *cap * 2 : 64;
	void *p;

	if (n < *cap)
		return 0;
	p = gw__realloc(*items, want * size);
	if (!p)
		return -ENOMEM;
	memset((char *)p + (size_t)*cap * size, 0, (want - *cap) * size);
	*items = p;
	*cap = want;
	return 0;
}

int gw__inst_add(struct builder *b, const dnnl_memory_desc_t *md, float scale)
{
	struct layout *y = b->y;
	void *items = y->insts;
	const dnnl_memory_desc_t copy = *md; /* md may lie in the array that moves */
	struct inst *i;
	dnnl_status_t s;

	if (grow(&items, y->n_insts, &y->cap_insts, sizeof(*i)) < 0)
		return gw__dnnl_error(b, dnnl_out_of_memory);
	y->insts = items;
	i = &y->insts[y->n_insts];
	i->md = copy;
	i->scale = scale;
	i->same_as = -1;
	i->first = -1;
	s = dnnl_memory_create(&i->mem, &copy, b->x->engine, DNNL_MEMORY_NONE);
	if (s)
		return gw__dnnl_error(b, s);
	return (int)y->n_insts++;
}

static int root(const struct layout *y, int i)
{
	while (y->insts[i].same_as >= 0)
		i = y->insts[i].same_as;
	return i;
}

static void touch(struct layout *y, int i, int step)
{
	struct inst *r = &y->insts[root(y, i)];

	if (r->first < 0)
		r->first = step;
	r->last = step;
}

int gw__attr_make(struct builder *b, const float *sum_scale, dnnl_data_type_t sum_type, bool relu,
		  dnnl_primitive_attr_t *out)
{
	dnnl_primitive_attr_t attr = NULL;
	dnnl_post_ops_t po = NULL;
	dnnl_status_t s = dnnl_primitive_attr_create(&attr);

	if (!s)
		s = dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user);
	if (!s)
		s = dnnl_post_ops_create(&po);
	if (!s && sum_scale)
		s = dnnl_post_ops_append_sum_v2(po, *sum_scale, sum_type);
	if (!s && relu)
		s = dnnl_post_ops_append_eltwise(po, 1.0f, dnnl_eltwise_relu, 0.0f, 0.0f);
	if (!s)
		s = dnnl_primitive_attr_set_post_ops(attr, po);
	if (po)
		dnnl_post_ops_destroy(po);
	if (s) {
		if (attr)
			dnnl_primitive_attr_destroy(attr);
		return gw__dnnl_error(b, s);
	}
	*out = attr;
	return 0;
}

static int step_scratch(struct builder *b, const_dnnl_primitive_desc_t pd)
{
	const dnnl_memory_desc_t *md = dnnl_primitive_desc_query_md(pd, dnnl_query_scratchpad_md, 0);
	size_t n = md ? dnnl_memory_desc_get_size(md) : 0;
	int i;

	if (!n)
		return -1;
	i = gw__inst_add(b, md, 1.0f);
	if (i < 0)
		return -2;
	b->y->insts[i].scratch = true;
	if (n > b->y->scratch_bytes)
		b->y->scratch_bytes = n;
	return i;
}

static struct step *step_new(struct builder *b)
{
	void *items = b->y->steps;

	if (grow(&items, b->y->n_steps, &b->y->cap_steps, sizeof(struct step)) < 0)
		return NULL;
	b->y->steps = items;
	return &b->y->steps[b->y->n_steps];
}

int gw__step_add(struct builder *b, dnnl_primitive_desc_t pd, int value, int value_inst, const int *args)
{
	struct layout *y = b->y;
	struct step *st = step_new(b);
	int scratch = st ? step_scratch(b, pd) : -2;
	dnnl_status_t s = scratch == -2 ? dnnl_out_of_memory : dnnl_primitive_create(&st->prim, pd);

	dnnl_primitive_desc_destroy(pd);
	if (s)
		return gw__dnnl_error(b, s);
	for (; *args >= 0; args += 2) {
		st->inst[st->n_args] = args[1];
		st->args[st->n_args++].arg = args[0];
		touch(y, args[1], (int)y->n_steps);
	}
	if (scratch >= 0) {
		st->inst[st->n_args] = scratch;
		st->args[st->n_args++].arg = DNNL_ARG_SCRATCHPAD;
	}
	st->value = value;
	st->value_inst = value_inst;
	if (value >= 0)
		y->of_value[value] = value_inst;
	y->n_steps++;
	return 0;
}

static int convert(struct builder *b, int from, int to)
{
	const struct inst *f = &b->y->insts[from], *t = &b->y->insts[to];
	const int args[] = {DNNL_ARG_FROM, from, DNNL_ARG_TO, to, -1};
	float scale = f->scale / t->scale;
	dnnl_primitive_attr_t attr;
	dnnl_primitive_desc_t pd;
	dnnl_status_t s = dnnl_success;
	int err = gw__attr_make(b, NULL, dnnl_data_type_undef, false, &attr);

	if (err)
		return err;
	if (scale != 1.0f)
		s = dnnl_primitive_attr_set_output_scales(attr, 1, 0, &scale);
	if (!s)
		s = dnnl_reorder_primitive_desc_create(&pd, &f->md, b->x->engine, &t->md, b->x->engine, attr);
	dnnl_primitive_attr_destroy(attr);
	if (s)
		return gw__dnnl_error(b, s);
	return gw__step_add(b, pd, -1, -1, args);
}

/* The input is made when its first reader says what it wants: either plain order, straight from FLOAT16. */
static int input_make(struct builder *b, int value, const dnnl_memory_desc_t *want)
{
	dnnl_memory_desc_t plain, last;
	dnnl_dims_t dims;
	struct step *st;
	int rank = gw__md_dims(b, value, dims), i;

	if (dnnl_memory_desc_init_by_tag(&plain, rank, dims, dnnl_f32, dnnl_abcd) ||
	    dnnl_memory_desc_init_by_tag(&last, rank, dims, dnnl_f32, dnnl_acdb))
		return gw__dnnl_error(b, dnnl_runtime_error);
	b->y->channels_last = dnnl_memory_desc_equal(want, &last) == 1;
	i = gw__inst_add(b, b->y->channels_last ? &last : &plain, 1.0f);
	st = i < 0 ? NULL : step_new(b);
	if (!st)
		return gw__dnnl_error(b, dnnl_out_of_memory);
	st->value = value;
	st->value_inst = i;
	touch(b->y, i, (int)b->y->n_steps++);
	b->y->of_value[value] = i;
	b->y->input = i;
	return 0;
}

static bool is_as(const struct inst *i, const dnnl_memory_desc_t *md, float scale)
{
	return dnnl_memory_desc_equal(&i->md, md) && i->scale == scale;
}

int gw__inst_as(struct builder *b, int value, const dnnl_memory_desc_t *md, float scale)
{
	int have = b->y->of_value[value], other = b->y->other_of[value], made, err;

	if (have < 0) {
		err = input_make(b, value, md);
		if (err)
			return err;
		have = b->y->of_value[value];
	}
	if (is_as(&b->y->insts[have], md, scale))
		return have;
	if (other >= 0 && is_as(&b->y->insts[other], md, scale))
		return other;
	made = gw__inst_add(b, md, scale);
	if (made < 0)
		return made;
	err = convert(b, have, made);
	if (err)
		return err;
	b->y->other_of[value] = made;
	return made;
}

int gw__inst_copy(struct builder *b, int inst)
{
	const dnnl_memory_desc_t md = b->y->insts[inst].md;
	int made = gw__inst_add(b, &md, b->y->insts[inst].scale);
	int err = made < 0 ? made : convert(b, inst, made);

	return err ? err : made;
}

int gw__inst_take(struct builder *b, int value, const dnnl_memory_desc_t *md, float scale)
{
	int have = gw__inst_as(b, value, md, scale);

	if (have < 0 || (b->y->last_use[value] == b->op_no && value != b->op->in))
		return have;
	return gw__inst_copy(b, have);
}

static int build_output(struct builder *b)
{
	int value = b->x->plan.output;
	dnnl_memory_desc_t md;
	int have, out, err = gw__md_plain(b, value, dnnl_f32, &md);

	if (err)
		return err;
	b->op = NULL;
	have = b->y->of_value[value];
	if (have < 0)
		have = gw__inst_as(b, value, &md, 1.0f);
	out = have < 0 ? have : gw__inst_add(b, &md, 1.0f);
	if (out < 0)
		return out;
	b->y->insts[out].output = true;
	b->y->output = out;
	return convert(b, have, out);
}

/* ---- arena ---------------------------------------------------------------------------------- */

static bool in_arena(const struct inst *i)
{
	return i->same_as < 0 && !i->fixed && !i->output && !i->scratch && i->first >= 0;
}

/* The lowest place where i overlaps nothing placed before it that is needed at the same time. */
static size_t place(const struct layout *y, const int *order, uint32_t n_placed, const struct inst *i, size_t size)
{
	size_t at = 0;
	bool moved = true;

	while (moved) {
		moved = false;
		for (uint32_t k = 0; k < n_placed; k++) {
			const struct inst *o = &y->insts[order[k]];
			size_t end = o->offset + ((dnnl_memory_desc_get_size(&o->md) + 4095) & ~(size_t)4095);

			if (o->last < i->first || i->last < o->first || at >= end || o->offset >= at + size)
				continue;
			at = end;
			moved = true;
		}
	}
	return at;
}

/* Larger first, each at its lowest free place. Few instances: the simple way is fast enough. */
static int arena_plan(struct builder *b)
{
	struct layout *y = b->y;
	int *order = gw__calloc(y->n_insts, sizeof(*order));
	uint32_t n = 0;

	if (!order)
		return gw__dnnl_error(b, dnnl_out_of_memory);
	for (uint32_t i = 0; i < y->n_insts; i++) {
		size_t size = dnnl_memory_desc_get_size(&y->insts[i].md);
		uint32_t k = n;

		if (!in_arena(&y->insts[i]))
			continue;
		for (; k > 0 && dnnl_memory_desc_get_size(&y->insts[order[k - 1]].md) < size; k--)
			order[k] = order[k - 1];
		order[k] = (int)i;
		n++;
	}
	for (uint32_t k = 0; k < n; k++) {
		struct inst *i = &y->insts[order[k]];
		size_t size = (dnnl_memory_desc_get_size(&i->md) + 4095) & ~(size_t)4095;

		i->offset = place(y, order, k, i, size);
		if (i->offset + size > y->arena_bytes)
			y->arena_bytes = i->offset + size;
	}
	gw__free(order);
	return 0;
}

int gw__layout_bind(struct gw__exec *x, struct layout *y)
{
	for (uint32_t k = 0; k < y->n_insts; k++) {
		struct inst *i = &y->insts[k];
		void *at = i->fixed ? i->fixed : i->scratch ? x->scratch : x->arena + y->insts[root(y, (int)k)].offset;

		if (!i->output && dnnl_memory_set_data_handle(i->mem, at) != dnnl_success)
			return -EIO;
	}
	for (uint32_t k = 0; k < y->n_steps; k++)
		for (uint32_t a = 0; a < y->steps[k].n_args; a++)
			y->steps[k].args[a].memory = y->insts[y->steps[k].inst[a]].mem;
	return 0;
}

/* ---- one batch size ------------------------------------------------------------------------- */

static void find_last_uses(struct builder *b)
{
	const struct gw__plan *p = &b->x->plan;

	for (uint32_t i = 0; i < p->n_values; i++)
		b->y->of_value[i] = b->y->other_of[i] = b->y->last_use[i] = -1;
	for (uint32_t i = 0; i < p->n_ops; i++) {
		if (p->ops[i].in >= 0)
			b->y->last_use[p->ops[i].in] = (int)i;
		if (p->ops[i].in2 >= 0)
			b->y->last_use[p->ops[i].in2] = (int)i;
	}
	b->y->last_use[p->output] = (int)p->n_ops;
}

static int build_op(struct builder *b)
{
	switch (b->op->kind) {
	case GW__PLAN_INPUT:
		return 0; /* made by its first reader */
	case GW__PLAN_CONV:
	case GW__PLAN_DENSE:
		return gw__build_conv(b);
	case GW__PLAN_POOL:
		return gw__build_pool(b);
	case GW__PLAN_FLATTEN:
		return gw__build_flatten(b);
	case GW__PLAN_AFFINE:
	case GW__PLAN_ADD:
	case GW__PLAN_MUL:
	case GW__PLAN_RELU:
		break;
	}
	return gw__build_pointwise(b);
}

int gw__layout_make(struct gw__exec *x, uint32_t n, struct gw_diag *diag)
{
	struct layout *y = gw__calloc(1, sizeof(*y));
	struct builder b = {.x = x, .y = y, .diag = diag};
	int err = 0;

	if (!y)
		return gw__dnnl_error(&b, dnnl_out_of_memory);
	y->n = n;
	y->of_value = gw__calloc(x->plan.n_values, sizeof(int));
	y->other_of = gw__calloc(x->plan.n_values, sizeof(int));
	y->last_use = gw__calloc(x->plan.n_values, sizeof(int));
	if (!y->of_value || !y->other_of || !y->last_use) {
		gw__layout_destroy(y);
		return gw__dnnl_error(&b, dnnl_out_of_memory);
	}
	find_last_uses(&b);
	for (uint32_t i = 0; !err && i < x->plan.n_ops; i++) {
		b.op = &x->plan.ops[i];
		b.op_no = (int)i;
		err = build_op(&b);
	}
	if (!err)
		err = build_output(&b);
	if (!err)
		err = arena_plan(&b);
	if (err)
		gw__layout_destroy(y);
	else
		x->layouts[n] = y;
	return err;
}

void gw__layout_destroy(struct layout *y)
{
	if (!y)
		return;
	for (uint32_t i = 0; i < y->n_steps; i++)
		if (y->steps[i].prim)
			dnnl_primitive_destroy(y->steps[i].prim);
	for (uint32_t i = 0; i < y->n_insts; i++)
		if (y->insts[i].mem)
			dnnl_memory_destroy(y->insts[i].mem);
	gw__free(y->steps);
	gw__free(y->insts);
	gw__free(y->of_value);
	gw__free(y->other_of);
	gw__free(y->last_use);
	gw__free(y);
}
