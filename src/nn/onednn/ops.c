/* nn/onednn/ops.c: everything that is not a convolution: windows, element-wise work, changes of shape.
 * Must not know weights. Next: run.c. */
#include "base/diag.h"
#include "nn/onednn/exec.h"

/* The op's input where it is, or in plain order if the network's input has not been made yet; FLOAT on request. */
static int source(struct builder *b, int value, bool as_float, dnnl_memory_desc_t *md)
{
	int have = b->y->of_value[value], err;

	if (have < 0) {
		err = gw__md_plain(b, value, dnnl_f32, md);
		have = err ? err : gw__inst_as(b, value, md, 1.0f);
	}
	if (have < 0)
		return have;
	*md = b->y->insts[have].md;
	if (!as_float || md->data_type == dnnl_f32)
		return have;
	md->data_type = dnnl_f32; /* same order of elements, wider */
	return gw__inst_as(b, value, md, 1.0f);
}

int gw__build_pool(struct builder *b)
{
	static const dnnl_alg_kind_t algs[] = {dnnl_pooling_max, dnnl_pooling_avg_exclude_padding,
					       dnnl_pooling_avg_include_padding};
	const struct gw__plan_op *op = b->op;
	const struct gw__window *win = &op->win;
	const dnnl_dims_t kernel = {win->kernel[0], win->kernel[1]}, stride = {win->stride[0], win->stride[1]};
	const dnnl_dims_t lo = {win->pad_lo[0], win->pad_lo[1]}, hi = {win->pad_hi[0], win->pad_hi[1]};
	int args[5] = {DNNL_ARG_SRC, -1, DNNL_ARG_DST, -1, -1};
	dnnl_memory_desc_t src, dst;
	dnnl_primitive_attr_t attr;
	dnnl_primitive_desc_t pd;
	dnnl_pooling_desc_t d;
	dnnl_status_t s;
	int err;

	args[1] = source(b, op->in, op->pool != GW__POOL_MAX, &src);
	err = args[1] < 0 ? args[1] : gw__md_any(b, op->out, src.data_type, &dst);
	if (!err)
		err = gw__attr_make(b, NULL, dnnl_data_type_undef, false, &attr);
	if (err)
		return err;
	s = dnnl_pooling_forward_desc_init(&d, dnnl_forward_inference, algs[op->pool], &src, &dst, stride, kernel, lo,
					   hi);
	if (!s)
		s = dnnl_primitive_desc_create(&pd, &d, attr, b->x->engine, NULL);
	dnnl_primitive_attr_destroy(attr);
	if (s)
		return gw__dnnl_error(b, s);
	args[3] = gw__inst_add(b, dnnl_primitive_desc_query_md(pd, dnnl_query_dst_md, 0),
			       b->y->insts[args[1]].scale);
	if (args[3] < 0) {
		dnnl_primitive_desc_destroy(pd);
		return args[3];
	}
	return gw__step_add(b, pd, op->out, args[3], args);
}

/* A vector of one number a channel, spread over the picture. */
static int channel_vector(struct builder *b, float *bytes)
{
	const struct gw__shape *s = &b->x->plan.shapes[b->op->out];
	const dnnl_dims_t dims = {1, s->c, 1, 1};
	dnnl_memory_desc_t md;
	int i;

	if (dnnl_memory_desc_init_by_tag(&md, s->flat ? 2 : 4, dims, dnnl_f32, s->flat ? dnnl_ab : dnnl_abcd))
		return gw__dnnl_error(b, dnnl_out_of_memory);
	i = gw__inst_add(b, &md, 1.0f);
	if (i >= 0)
		b->y->insts[i].fixed = bytes;
	return i;
}

/* dst = a op b, relu at the end if asked. */
static int binary(struct builder *b, dnnl_alg_kind_t alg, int i0, int i1, int dst, bool relu, int value)
{
	const int args[] = {DNNL_ARG_SRC_0, i0, DNNL_ARG_SRC_1, i1, DNNL_ARG_DST, dst, -1};
	dnnl_primitive_attr_t attr;
	dnnl_primitive_desc_t pd;
	dnnl_binary_desc_t d;
	dnnl_status_t s;
	int err = gw__attr_make(b, NULL, dnnl_data_type_undef, relu, &attr);

	if (err)
		return err;
	s = dnnl_binary_desc_init(&d, alg, &b->y->insts[i0].md, &b->y->insts[i1].md, &b->y->insts[dst].md);
	if (!s)
		s = dnnl_primitive_desc_create(&pd, &d, attr, b->x->engine, NULL);
	dnnl_primitive_attr_destroy(attr);
	return s ? gw__dnnl_error(b, s) : gw__step_add(b, pd, value, value < 0 ? -1 : dst, args);
}

static int relu(struct builder *b, int src, int dst)
{
	const int args[] = {DNNL_ARG_SRC, src, DNNL_ARG_DST, dst, -1};
	dnnl_primitive_attr_t attr;
	dnnl_primitive_desc_t pd;
	dnnl_eltwise_desc_t d;
	dnnl_status_t s;
	int err = gw__attr_make(b, NULL, dnnl_data_type_undef, false, &attr);

	if (err)
		return err;
	s = dnnl_eltwise_forward_desc_init(&d, dnnl_forward_inference, dnnl_eltwise_relu, &b->y->insts[src].md, 0.0f,
					   0.0f);
	if (!s)
		s = dnnl_primitive_desc_create(&pd, &d, attr, b->x->engine, NULL);
	dnnl_primitive_attr_destroy(attr);
	return s ? gw__dnnl_error(b, s) : gw__step_add(b, pd, b->op->out, dst, args);
}

int gw__build_pointwise(struct builder *b)
{
	const struct gw__plan_op *op = b->op;
	dnnl_memory_desc_t md;
	int src = source(b, op->in, true, &md), dst, i1, i2;
	int err;

	dst = src < 0 ? src : gw__inst_add(b, &md, 1.0f);
	if (dst < 0)
		return dst;
	if (op->kind == GW__PLAN_RELU)
		return relu(b, src, dst);
	if (op->kind != GW__PLAN_AFFINE) {
		i1 = gw__inst_as(b, op->in2, &md, 1.0f);
		if (i1 < 0)
			return i1;
		return binary(b, op->kind == GW__PLAN_ADD ? dnnl_binary_add : dnnl_binary_mul, src, i1, dst, op->relu,
			      op->out);
	}
	i1 = channel_vector(b, op->scale);
	i2 = i1 < 0 ? i1 : channel_vector(b, op->shift);
	if (i2 < 0)
		return i2;
	err = binary(b, dnnl_binary_mul, src, i1, dst, false, -1);
	return err ? err : binary(b, dnnl_binary_add, dst, i2, dst, op->relu, op->out);
}

int gw__build_flatten(struct builder *b)
{
	const struct gw__plan_op *op = b->op;
	dnnl_memory_desc_t plain, flat;
	int in, out, err;

	/* Plain order of (n, c, h, w) is the order of (n, c*h*w): the same bytes under another shape. */
	err = gw__md_plain(b, op->in, dnnl_f32, &plain);
	if (!err)
		err = gw__md_plain(b, op->out, dnnl_f32, &flat);
	if (err)
		return err;
	in = gw__inst_as(b, op->in, &plain, 1.0f);
	if (in >= 0 && b->y->last_use[op->in] != b->op_no)
		in = gw__inst_copy(b, in); /* the source may be overwritten while this one is still read */
	out = in < 0 ? in : gw__inst_add(b, &flat, 1.0f);
	if (out < 0)
		return out;
	b->y->insts[out].same_as = in;
	b->y->of_value[op->out] = out;
	return 0;
}
