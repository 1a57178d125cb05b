/* nn/cudnn/steps.c: the plan's operations as convolutions and kernels over stored values, for one batch
 * size; recorded as one graph. Must not know files or who waits. Next: exec.c. */
#include "nn/cudnn/exec.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/diag.h"
#include "base/log.h"

static struct gw__step *add_step(struct gw__batch *b, enum gw__step_kind kind, const char *name)
{
	struct gw__step *s = &b->steps[b->n_steps++];

	memset(s, 0, sizeof(*s));
	s->kind = kind;
	s->name = name;
	return s;
}

void gw__cudnn_conv_spec(const struct gw__exec *x, const struct gw__plan_op *op, uint32_t n,
			 struct gw__conv_spec *out)
{
	const struct gw__shape *in = &x->plan.shapes[op->in], *o = &x->plan.shapes[op->out];
	const bool dense = op->kind == GW__PLAN_DENSE;

	*out = (struct gw__conv_spec){
		.n = n, .c = x->val[op->in].c, .h = in->h, .w = in->w, .k = o->c, .r = 1, .s = 1, .p = o->h, .q = o->w,
		.stride = { 1, 1 }, .dilation = { 1, 1 }, .groups = 1, .add = op->in2 >= 0, .relu = op->relu,
	};
	if (dense) {
		out->c = in->c * in->h * in->w;
		out->h = out->w = out->p = out->q = 1;
		return;
	}
	out->r = op->win.kernel[0];
	out->s = op->win.kernel[1];
	out->groups = op->groups;
	memcpy(out->stride, op->win.stride, sizeof(out->stride));
	memcpy(out->dilation, op->win.dilation, sizeof(out->dilation));
	memcpy(out->pad_lo, op->win.pad_lo, sizeof(out->pad_lo));
	memcpy(out->pad_hi, op->win.pad_hi, sizeof(out->pad_hi));
	if (op->in == x->plan.ops[0].out && x->stem.fold == 2) { /* the padding is stored */
		out->h = x->stem.h;
		out->w = x->stem.w;
		out->r = x->stem.r;
		out->s = x->stem.s;
		out->stride[0] = out->stride[1] = 1;
		memset(out->pad_lo, 0, sizeof(out->pad_lo));
		memset(out->pad_hi, 0, sizeof(out->pad_hi));
	}
}

static void add_cast(const struct gw__exec *x, struct gw__batch *b, const char *name, const void *from,
		     enum gw__k_type from_type, float from_scale, void *to, enum gw__k_type to_type, float to_scale,
		     uint64_t n_elems)
{
	struct gw__step *s = add_step(b, GW__STEP_POINT, name);

	(void)x;
	s->point = (struct gw__point_args){ .x = from, .y = to, .n_elems = n_elems, .c = 1, .plane = 1,
					    .op = GW_K_CAST, .x_type = from_type, .x_scale = from_scale,
					    .y_type = to_type, .y_scale = to_scale };
}

static int tmp(struct gw__exec *x, struct gw__batch *b, size_t n_bytes, void **out)
{
	int err = x->gpu->mem_alloc(GW_MEM_DEVICE, n_bytes, 0, out, NULL);

	if (!err)
		b->tmp[b->n_tmp++] = *out;
	return err;
}

/* A value as FLOAT16, cast into memory of its own where it is stored otherwise. */
static int as_half(struct gw__exec *x, struct gw__batch *b, int value, const char *name, const void **out)
{
	const struct gw__val *v = &x->val[value];
	void *p;
	int err;

	*out = gw__cudnn_ptr(x, value);
	if (v->type == GW_K_HALF)
		return 0;
	err = tmp(x, b, v->elems * 2 * b->n, &p);
	if (err)
		return err;
	add_cast(x, b, name, *out, v->type, v->scale, p, GW_K_HALF, 1.0f, v->elems * b->n);
	*out = p;
	return 0;
}

static int add_half_conv(struct gw__exec *x, struct gw__batch *b, int i, struct gw_diag *diag)
{
	const struct gw__plan_op *op = &x->plan.ops[i];
	const struct gw__val *v = &x->val[op->out];
	const struct gw__wts *w = &x->wts[i];
	struct gw__conv_args a = { .w = w->int8 ? w->half_w : w->w, .bias = w->int8 ? w->half_bias : w->bias };
	struct gw__conv_spec spec;
	struct gw__step *s;
	int err = as_half(x, b, op->in, op->name, &a.x);

	if (!err && op->in2 >= 0)
		err = as_half(x, b, op->in2, op->name, &a.z);
	a.y = gw__cudnn_ptr(x, op->out);
	if (!err && v->type != GW_K_HALF)
		err = tmp(x, b, v->elems * 2 * b->n, &a.y);
	if (err)
		return gw__fail(diag, err, "node %s: no memory on the card", op->name);
	gw__cudnn_conv_spec(x, op, b->n, &spec);
	s = add_step(b, GW__STEP_CONV, op->name);
	err = gw__conv_create(&x->env, &spec, &a, &s->conv, diag);
	if (err)
		return err;
	if (v->type != GW_K_HALF)
		add_cast(x, b, op->name, a.y, GW_K_HALF, 1.0f, gw__cudnn_ptr(x, op->out), v->type, v->scale,
			 v->elems * b->n);
	return 0;
}

static int add_conv(struct gw__exec *x, struct gw__batch *b, int i, struct gw_diag *diag)
{
	const struct gw__plan_op *op = &x->plan.ops[i];
	const struct gw__val *v = &x->val[op->out];
	const struct gw__wts *w = &x->wts[i];
	struct gw__conv_args a = { .x = gw__cudnn_ptr(x, op->in), .w = w->w, .bias = w->bias, 
				   .scale = w->scale, .z_scale = w->z_scale, .y = gw__cudnn_ptr(x, op->out) };
	struct gw__conv_spec spec;
	struct gw_diag why = { "" };
	struct gw__step *s;
	char text[128];
	int err;

	if (!w->int8 || v->type == GW_K_FLOAT)
		return w->int8 && gw__cudnn_half_weights(x, i) ? -ENOMEM : add_half_conv(x, b, i, diag);
	gw__cudnn_conv_spec(x, op, b->n, &spec);
	spec.int8 = true;
	spec.y_half = v->type == GW_K_HALF;
	if (op->in2 >= 0)
		a.z = gw__cudnn_ptr(x, op->in2);
	s = add_step(b, GW__STEP_CONV, op->name);
	err = gw__conv_create(&x->env, &spec, &a, &s->conv, &why);
	if (err != -ENOTSUP)
		return err ? gw__fail(diag, err, "node %s: %s", op->name, why.text) : 0;
	b->n_steps--;
	gw__warn("node %s: no int8 engine for %s; it runs in fp16 (%s)", op->name, gw__conv_text(&spec, text),
		 why.text);
	err = gw__cudnn_half_weights(x, i);
	return err ? gw__fail(diag, err, "node %s: no memory on the card", op->name) : add_half_conv(x, b, i, diag);
}

static void add_input(struct gw__exec *x, struct gw__batch *b)
{
	const struct gw__plan_op *op = &x->plan.ops[0];
	const struct gw__shape *s = &x->plan.shapes[op->out];
	struct gw__step *st = add_step(b, GW__STEP_INPUT, op->name);

	st->input = (struct gw__input_args){
		.y = gw__cudnn_ptr(x, op->out), .scale = x->wts[0].scale_dev, .shift = x->wts[0].shift_dev, .n = b->n,
		.c = (uint32_t)s->c, .h = (uint32_t)s->h, .w = (uint32_t)s->w, .c_out = (uint32_t)x->stem.c,
		.fold = x->stem.fold, .bh = (uint32_t)x->stem.h, .bw = (uint32_t)x->stem.w,
		.lo = { (uint32_t)x->stem.lo[0], (uint32_t)x->stem.lo[1] },
	};
}

/* the mean of everything, where the quick kernel takes it */
static bool add_mean(struct gw__exec *x, struct gw__batch *b, const struct gw__plan_op *op)
{
	const struct gw__shape *in = &x->plan.shapes[op->in], *out = &x->plan.shapes[op->out];
	const struct gw__val *vi = &x->val[op->in], *vo = &x->val[op->out];
	struct gw__step *s;

	if (op->pool == GW__POOL_MAX || out->h != 1 || out->w != 1 || in->c % 256 || op->win.kernel[0] != in->h ||
	    op->win.kernel[1] != in->w || op->win.pad_lo[0] || op->win.pad_lo[1])
		return false;
	s = add_step(b, GW__STEP_MEAN, op->name);
	s->mean = (struct gw__mean_args){
		.x = gw__cudnn_ptr(x, op->in), .y = gw__cudnn_ptr(x, op->out), .n = b->n,
		.plane = (uint32_t)(in->h * in->w), .c = (uint32_t)in->c, .x_type = vi->type, .y_type = vo->type,
		.x_scale = vi->scale, .y_scale = vo->scale,
	};
	return true;
}

static int add_pool(struct gw__exec *x, struct gw__batch *b, const struct gw__plan_op *op, struct gw_diag *diag)
{
	const struct gw__shape *in = &x->plan.shapes[op->in], *out = &x->plan.shapes[op->out];
	const struct gw__val *vi = &x->val[op->in], *vo = &x->val[op->out];
	struct gw__step *s;

	if (add_mean(x, b, op))
		return 0;
	if (in->c % 8)
		return gw__fail(diag, -ENOTSUP, "node %s: pooling over %lld channels; the card's kernel takes multiples of 8",
				op->name, (long long)in->c);
	s = add_step(b, GW__STEP_POOL, op->name);
	s->pool = (struct gw__pool_args){
		.x = gw__cudnn_ptr(x, op->in), .y = gw__cudnn_ptr(x, op->out), .n = b->n, .h = (uint32_t)in->h,
		.w = (uint32_t)in->w, .c = (uint32_t)in->c, .p = (uint32_t)out->h, .q = (uint32_t)out->w,
		.mean = op->pool != GW__POOL_MAX, .padded = op->pool == GW__POOL_MEAN_PADDED,
		.x_type = vi->type, .y_type = vo->type, .x_scale = vi->scale, .y_scale = vo->scale,
	};
	for (int k = 0; k < 2; k++) {
		s->pool.kernel[k] = (int32_t)op->win.kernel[k];
		s->pool.stride[k] = (int32_t)op->win.stride[k];
		s->pool.dilation[k] = (int32_t)op->win.dilation[k];
		s->pool.pad[k] = (int32_t)op->win.pad_lo[k];
	}
	return 0;
}

static void add_point(struct gw__exec *x, struct gw__batch *b, int i)
{
	const struct gw__plan_op *op = &x->plan.ops[i];
	const struct gw__shape *in = &x->plan.shapes[op->in];
	const struct gw__val *vi = &x->val[op->in], *vo = &x->val[op->out];
	struct gw__step *s = add_step(b, GW__STEP_POINT, op->name);

	s->point = (struct gw__point_args){
		.x = gw__cudnn_ptr(x, op->in), .y = gw__cudnn_ptr(x, op->out), .n_elems = (uint64_t)vi->elems * b->n,
		.c = (uint32_t)vi->c, .plane = (uint32_t)(in->h * in->w), .relu = op->relu, .x_type = vi->type,
		.y_type = vo->type, .x_scale = vi->scale, .y_scale = vo->scale, .op = GW_K_CAST,
		.scale = x->wts[i].scale_dev, .shift = x->wts[i].shift_dev,
	};
	if (op->kind == GW__PLAN_ADD || op->kind == GW__PLAN_MUL) {
		s->point.op = op->kind == GW__PLAN_ADD ? GW_K_ADD : GW_K_MUL;
		s->point.x2 = gw__cudnn_ptr(x, op->in2);
		s->point.x2_type = x->val[op->in2].type;
		s->point.x2_scale = x->val[op->in2].scale;
	} else if (op->kind == GW__PLAN_AFFINE) {
		s->point.op = GW_K_AFFINE;
	} else if (op->kind == GW__PLAN_RELU) {
		s->point.relu = 1;
	} else if (op->kind == GW__PLAN_FLATTEN) {
		s->point.op = GW_K_FLATTEN;
	}
}

static int build(struct gw__exec *x, struct gw__batch *b, struct gw_diag *diag)
{
	int err = 0;

	add_input(x, b);
	for (uint32_t i = 1; i < x->plan.n_ops && !err; i++) {
		const struct gw__plan_op *op = &x->plan.ops[i];

		if (op->kind == GW__PLAN_CONV || op->kind == GW__PLAN_DENSE)
			err = add_conv(x, b, (int)i, diag);
		else if (op->kind == GW__PLAN_POOL)
			err = add_pool(x, b, op, diag);
		else if (op->in != x->last_flat || op->kind != GW__PLAN_FLATTEN)
			add_point(x, b, (int)i);
	}
	return err;
}

int gw__cudnn_step(struct gw__exec *x, struct gw__step *s)
{
	switch (s->kind) {
	case GW__STEP_INPUT:
		return gw__nn_input(x->gpu, x->stream, &s->input);
	case GW__STEP_CONV:
		return gw__conv_run(&x->env, s->conv);
	case GW__STEP_POOL:
		return gw__nn_pool(x->gpu, x->stream, &s->pool);
	case GW__STEP_MEAN:
		return gw__nn_mean(x->gpu, x->stream, &s->mean);
	case GW__STEP_POINT:
		break;
	}
	return gw__nn_point(x->gpu, x->stream, &s->point);
}

/* All steps but the input as one graph. */
static int record(struct gw__exec *x, struct gw__batch *b, struct gw_diag *diag)
{
	int err = x->gpu->capture_begin(x->stream), ended;

	for (uint32_t i = 1; i < b->n_steps && !err; i++)
		err = gw__cudnn_step(x, &b->steps[i]);
	ended = x->gpu->capture_end(x->stream, &b->graph);
	if (!err)
		err = ended;
	return err ? gw__fail(diag, err, "plan: the network could not be recorded as a graph") : 0;
}

/* A larger workspace moved it: every plan names the new one, every graph is recorded again. */
static int rebind_all(struct gw__exec *x, struct gw_diag *diag)
{
	for (uint32_t n = 0; n <= x->chunk; n++) {
		struct gw__batch *b = x->batch[n];
		int err = 0;

		for (uint32_t i = 0; b && i < b->n_steps && !err; i++)
			if (b->steps[i].conv)
				err = gw__conv_rebind(&x->env, b->steps[i].conv);
		if (b && !err) {
			x->gpu->graph_destroy(b->graph);
			b->graph = NULL;
			err = record(x, b, diag);
		}
		if (err)
			return gw__fail(diag, err, "plan: no workspace");
	}
	return 0;
}

int gw__cudnn_batch(struct gw__exec *x, uint32_t n, struct gw__batch **out, struct gw_diag *diag)
{
	const void *workspace = x->env.workspace;
	struct gw__batch *b = x->batch[n];
	int err;

	if (b) {
		*out = b;
		return 0;
	}
	b = gw__calloc(1, sizeof(*b));
	if (!b)
		return gw__fail(diag, -ENOMEM, "plan: no memory");
	b->n = n;
	b->cap_steps = 5 * x->plan.n_ops; /* a convolution with casts around it is four */
	b->steps = gw__calloc(b->cap_steps, sizeof(*b->steps));
	b->tmp = gw__calloc(3 * x->plan.n_ops, sizeof(void *));
	err = b->steps && b->tmp ? build(x, b, diag) : gw__fail(diag, -ENOMEM, "plan: no memory");
	if (!err) {
		x->batch[n] = b;
		err = workspace != x->env.workspace ? rebind_all(x, diag) : record(x, b, diag);
	}
	if (err) {
		x->batch[n] = NULL;
		gw__cudnn_batch_destroy(x, b);
		return err;
	}
	*out = b;
	return 0;
}

void gw__cudnn_batch_destroy(struct gw__exec *x, struct gw__batch *b)
{
	if (!b)
		return;
	x->gpu->graph_destroy(b->graph);
	for (uint32_t i = 0; b->steps && i < b->n_steps; i++)
		gw__conv_destroy(&x->env, b->steps[i].conv);
	for (uint32_t i = 0; i < b->n_tmp; i++)
		x->gpu->mem_free(b->tmp[i]);
	gw__free(b->steps);
	gw__free(b->tmp);
	gw__free(b);
}
