/* nn/onednn/conv.c: convolution and matrix product: types and scales by precision, weights laid out once.
 * Must not know the order of operations. Next: ops.c, run.c. */
#include "base/alloc.h"
#include "base/diag.h"
#include "nn/onednn/exec.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* Value k is made by op k (lower.c appends both together). */
static bool never_negative(const struct gw__plan *p, int value)
{
	const struct gw__plan_op *op = &p->ops[value];

	if (op->kind == GW__PLAN_POOL || op->kind == GW__PLAN_FLATTEN)
		return never_negative(p, op->in);
	return op->relu || op->kind == GW__PLAN_RELU;
}

/* GW_NN_INT8: the first operations may stay wide, where 8 bits would lose too much (nn.c decides by measuring). */
static bool is_wide(const struct gw__exec *x, int op)
{
	return x->cfg.precision == GW_NN_INT8 && (uint32_t)op < x->cfg.n_wide_ops;
}

dnnl_data_type_t gw__read_type(const struct gw__exec *x, int value)
{
	if (x->cfg.precision == GW_NN_FP32)
		return dnnl_f32;
	if (x->cfg.precision == GW_NN_BF16)
		return dnnl_bf16;
	return never_negative(&x->plan, value) ? dnnl_u8 : dnnl_s8;
}

float gw__read_scale(const struct gw__exec *x, int value)
{
	const struct gw__plan_op *op = &x->plan.ops[value];
	float peak;

	if (x->cfg.precision != GW_NN_INT8)
		return 1.0f;
	if (op->kind == GW__PLAN_POOL && op->pool == GW__POOL_MAX)
		return gw__read_scale(x, op->in); /* stored numbers pass unchanged */
	peak = x->peaks[value];
	if (!(peak > 0.0f) || !isfinite(peak))
		return 1.0f;
	return peak / (never_negative(&x->plan, value) ? 255.0f : 127.0f);
}

dnnl_data_type_t gw__value_type(const struct gw__exec *x, int value)
{
	if (is_wide(x, value))
		return x->wide;
	return gw__read_type(x, value);
}

float gw__value_scale(const struct gw__exec *x, int value)
{
	if (is_wide(x, value))
		return 1.0f;
	return gw__read_scale(x, value);
}

struct conv {
	dnnl_data_type_t src_type, w_type, dst_type;
	int w_rank;
	dnnl_dims_t w_dims, bias_dims;
	size_t n_out, per_out;
	float src_scale, dst_scale;
};

static void describe(const struct builder *b, struct conv *c)
{
	const struct gw__plan_op *op = b->op;
	const struct gw__shape *in = &b->x->plan.shapes[op->in], *out = &b->x->plan.shapes[op->out];
	bool dense = op->kind == GW__PLAN_DENSE;
	int d = 0;

	memset(c, 0, sizeof(*c));
	c->src_type = dense ? dnnl_f32 : gw__read_type(b->x, op->in);
	c->dst_type = dense ? dnnl_f32 : gw__value_type(b->x, op->out);
	c->src_scale = dense ? 1.0f : gw__read_scale(b->x, op->in);
	if (!dense && is_wide(b->x, b->op_no)) {
		c->src_type = b->x->wide;
		c->src_scale = 1.0f;
	}
	c->dst_scale = dense ? 1.0f : gw__value_scale(b->x, op->out);
	c->w_type = c->src_type == dnnl_u8 ? dnnl_s8 : c->src_type;
	if (op->groups > 1)
		c->w_dims[d++] = op->groups;
	c->w_dims[d++] = out->c / op->groups;
	c->w_dims[d++] = in->c / op->groups;
	if (!dense) {
		c->w_dims[d++] = op->win.kernel[0];
		c->w_dims[d++] = op->win.kernel[1];
	}
	c->w_rank = d;
	c->bias_dims[0] = out->c;
	c->n_out = (size_t)out->c;
	c->per_out = (size_t)(in->c / op->groups) * (dense ? 1 : (size_t)(op->win.kernel[0] * op->win.kernel[1]));
}

/* Round the taps of one kernel so that their sum is kept to half a step: neighbouring positions hold similar values,
 * so the error of the sum is what the picture feels. The taps nearest to the other side are turned over. */
static void round_kernel(float *w, size_t n, float scale)
{
	float left = 0.0f; /* sum of what rounding took away, in steps */

	for (size_t k = 0; k < n; k++)
		left += w[k] / scale - rintf(w[k] / scale);
	for (int turns = (int)rintf(left); turns; turns += turns > 0 ? -1 : 1) {
		float sign = turns > 0 ? 1.0f : -1.0f, most = 0.0f;
		size_t at = n;

		for (size_t k = 0; k < n; k++) {
			float gap = (w[k] / scale - rintf(w[k] / scale)) * sign;

			if (gap > most && fabsf(rintf(w[k] / scale) + sign) <= 127.0f) {
				most = gap;
				at = k;
			}
		}
		if (at == n)
			break;
		w[at] = (rintf(w[at] / scale) + sign) * scale;
	}
	for (size_t k = 0; k < n; k++)
		w[k] = rintf(w[k] / scale) * scale;
}

/* Round one output channel's weights, and give back to the bias what that takes from an average input. */
static void quantise_channel(const struct builder *b, const struct conv *c, size_t o, float scale, float *bias)
{
	const float *means = b->x->means;
	float *w = b->op->weights + o * c->per_out;
	size_t n_in = (size_t)b->x->plan.shapes[b->op->in].c / (size_t)b->op->groups, area = c->per_out / n_in;
	double lost = 0.0;

	if (means)
		means += gw__chan_at(&b->x->plan, (uint32_t)b->op->in) +
			 o / (c->n_out / (size_t)b->op->groups) * n_in;
	for (size_t i = 0; i < n_in; i++) {
		double sum = 0.0;

		for (size_t k = 0; k < area; k++)
			sum += (double)w[i * area + k];
		round_kernel(w + i * area, area, scale);
		for (size_t k = 0; k < area; k++)
			sum -= (double)w[i * area + k];
		lost += means ? sum * (double)means[i] : 0.0;
	}
	*bias += (float)lost;
}

/* One scale an output channel, and the bias in units of what the integer sum counts. */
static int quantise_weights(struct builder *b, const struct conv *c, struct weights *w)
{
	float *bias = w->bias;

	if (c->w_type != dnnl_s8)
		return 0;
	w->scales = gw__calloc(c->n_out, sizeof(float));
	if (!w->scales)
		return gw__dnnl_error(b, dnnl_out_of_memory);
	for (size_t o = 0; o < c->n_out; o++) {
		const float *v = b->op->weights + o * c->per_out;
		float peak = 0.0f;

		for (size_t k = 0; k < c->per_out; k++)
			peak = fmaxf(peak, fabsf(v[k]));
		w->scales[o] = peak > 0.0f && isfinite(peak) ? peak / 127.0f : 1.0f;
		quantise_channel(b, c, o, w->scales[o], &bias[o]);
		bias[o] /= w->scales[o] * c->src_scale;
	}
	return 0;
}

/* Lay the plan's weights out as the primitive wants them. */
static int reorder_weights(struct builder *b, const struct conv *c, const struct weights *w,
			   const struct laid_out *v)
{
	static const dnnl_format_tag_t plain[] = {dnnl_ab, dnnl_ab, dnnl_ab, dnnl_abc, dnnl_abcd, dnnl_abcde};
	dnnl_engine_t e = b->x->engine;
	dnnl_primitive_attr_t attr = NULL;
	dnnl_primitive_desc_t pd = NULL;
	dnnl_primitive_t prim = NULL;
	dnnl_memory_t from = NULL, to = NULL;
	dnnl_memory_desc_t md;
	float *inverse = NULL;
	dnnl_status_t s = dnnl_memory_desc_init_by_tag(&md, c->w_rank, c->w_dims, dnnl_f32, plain[c->w_rank]);

	if (!s)
		s = dnnl_primitive_attr_create(&attr);
	if (!s && w->scales) {
		inverse = gw__calloc(c->n_out, sizeof(float));
		for (size_t o = 0; inverse && o < c->n_out; o++)
			inverse[o] = 1.0f / w->scales[o];
		s = inverse ? dnnl_primitive_attr_set_output_scales(attr, (dnnl_dim_t)c->n_out,
								   b->op->groups > 1 ? 3 : 1, inverse)
			    : dnnl_out_of_memory;
	}
	if (!s)
		s = dnnl_reorder_primitive_desc_create(&pd, &md, e, &v->md, e, attr);
	if (!s)
		s = dnnl_primitive_create(&prim, pd);
	if (!s)
		s = dnnl_memory_create(&from, &md, e, b->op->weights);
	if (!s)
		s = dnnl_memory_create(&to, &v->md, e, v->bytes);
	if (!s) {
		const dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};

		s = dnnl_primitive_execute(prim, b->x->stream, 2, args);
	}
	if (!s)
		s = dnnl_stream_wait(b->x->stream);
	if (to)
		dnnl_memory_destroy(to);
	if (from)
		dnnl_memory_destroy(from);
	if (prim)
		dnnl_primitive_destroy(prim);
	if (pd)
		dnnl_primitive_desc_destroy(pd);
	if (attr)
		dnnl_primitive_attr_destroy(attr);
	gw__free(inverse);
	return s ? gw__dnnl_error(b, s) : 0;
}

/* The op's weights in that layout: found, or made now. */
static const struct laid_out *weights_as(struct builder *b, const struct conv *c, struct weights *w,
					 const dnnl_memory_desc_t *md)
{
	struct laid_out *v = w->layouts;

	while (v && !dnnl_memory_desc_equal(&v->md, md))
		v = v->next;
	if (v)
		return v;
	v = gw__calloc(1, sizeof(*v));
	if (!v)
		return NULL;
	v->md = *md;
	v->bytes = gw__aligned_alloc(64, dnnl_memory_desc_get_size(md));
	if (!v->bytes || reorder_weights(b, c, w, v) < 0) {
		gw__free(v->bytes);
		gw__free(v);
		return NULL;
	}
	v->next = w->layouts;
	w->layouts = v;
	return v;
}

void gw__weights_fini(struct weights *w)
{
	while (w->layouts) {
		struct laid_out *v = w->layouts;

		w->layouts = v->next;
		gw__free(v->bytes);
		gw__free(v);
	}
	gw__free(w->bias);
	gw__free(w->scales);
}

/* Bias and scales do not depend on the layout, and the scales are needed before it is known. */
static int make_bias(struct builder *b, const struct conv *c, struct weights *w)
{
	if (w->bias)
		return 0;
	w->bias = gw__calloc(c->n_out, sizeof(float));
	if (!w->bias || dnnl_memory_desc_init_by_tag(&w->bias_md, 1, c->bias_dims, dnnl_f32, dnnl_a))
		return gw__dnnl_error(b, dnnl_out_of_memory);
	memcpy(w->bias, b->op->bias, c->n_out * sizeof(float));
	return quantise_weights(b, c, w);
}

static int conv_attr(struct builder *b, const struct conv *c, const struct weights *w, dnnl_primitive_attr_t *out)
{
	const struct gw__plan_op *op = b->op;
	bool narrow = c->dst_type == dnnl_u8 || c->dst_type == dnnl_s8;
	float sum = op->in2 >= 0 && narrow ? gw__read_scale(b->x, op->in2) / c->dst_scale : 1.0f;
	dnnl_data_type_t sum_type = narrow && op->in2 >= 0 ? gw__read_type(b->x, op->in2) : c->dst_type;
	float *scales;
	dnnl_status_t s;
	int err = gw__attr_make(b, op->in2 >= 0 ? &sum : NULL, sum_type, op->relu, out);

	if (err || !w->scales)
		return err;
	scales = gw__calloc(c->n_out, sizeof(float));
	s = scales ? dnnl_success : dnnl_out_of_memory;
	for (size_t o = 0; scales && o < c->n_out; o++)
		scales[o] = w->scales[o] * c->src_scale / c->dst_scale;
	if (!s)
		s = dnnl_primitive_attr_set_output_scales(*out, (dnnl_dim_t)c->n_out, 2, scales);
	gw__free(scales);
	if (!s)
		return 0;
	dnnl_primitive_attr_destroy(*out);
	return gw__dnnl_error(b, s);
}

/* Ways to compute a convolution, best first. */
static const struct way {
	dnnl_alg_kind_t alg;
	bool blocked;
} ways[] = {
	{dnnl_convolution_winograd, true}, /* 3x3: a quarter of the products (F(4x4,3x3)) */
	{dnnl_convolution_direct, true},
	{dnnl_convolution_direct, false},
};
#define N_WAYS (sizeof(ways) / sizeof(ways[0]))

static bool way_fits(const struct builder *b, const struct conv *c, const struct way *way)
{
	const struct gw__window *win = &b->op->win;

	if (way->blocked && (!b->x->blocked || c->src_type != dnnl_f32))
		return false;
	return way->alg == dnnl_convolution_direct ||
	       (b->op->groups == 1 && win->kernel[0] == 3 && win->kernel[1] == 3 && win->stride[0] == 1 &&
		win->stride[1] == 1 && win->dilation[0] == 1 && win->dilation[1] == 1);
}

/* Blocks of 16 channels where there are 16, else whatever oneDNN likes. */
static int conv_md(const struct builder *b, int value, dnnl_data_type_t dt, bool blocked, dnnl_memory_desc_t *md)
{
	dnnl_dims_t dims;
	int rank = gw__md_dims(b, value, dims);
	bool blocks = blocked && rank == 4 && dims[1] >= 16;

	return dnnl_memory_desc_init_by_tag(md, rank, dims, dt, blocks ? dnnl_aBcd16b : dnnl_format_tag_any);
}

static dnnl_status_t try_way(struct builder *b, const struct conv *c, const struct weights *w, const struct way *way,
			     dnnl_primitive_attr_t attr, dnnl_primitive_desc_t *pd)
{
	const struct gw__window *win = &b->op->win;
	const dnnl_dims_t stride = {win->stride[0], win->stride[1]};
	const dnnl_dims_t dilate = {win->dilation[0] - 1, win->dilation[1] - 1};
	const dnnl_dims_t lo = {win->pad_lo[0], win->pad_lo[1]}, hi = {win->pad_hi[0], win->pad_hi[1]};
	dnnl_memory_desc_t src, wei, dst;
	dnnl_convolution_desc_t d;
	const char *how = NULL;

	if (conv_md(b, b->op->in, c->src_type, way->blocked, &src) ||
	    conv_md(b, b->op->out, c->dst_type, way->blocked, &dst) ||
	    dnnl_memory_desc_init_by_tag(&wei, c->w_rank, c->w_dims, c->w_type, dnnl_format_tag_any) ||
	    dnnl_dilated_convolution_forward_desc_init(&d, dnnl_forward_inference, way->alg, &src, &wei, &w->bias_md,
						       &dst, stride, dilate, lo, hi) ||
	    dnnl_primitive_desc_create(pd, &d, attr, b->x->engine, NULL))
		return dnnl_unimplemented;
	/* A layout of ours must not push the library onto its slow general code. */
	if (way->blocked && !dnnl_primitive_desc_query(*pd, dnnl_query_impl_info_str, 0, &how) && how &&
	    strncmp(how, "jit", 3) != 0) {
		dnnl_primitive_desc_destroy(*pd);
		return dnnl_unimplemented;
	}
	return dnnl_success;
}

static int conv_pd(struct builder *b, const struct conv *c, const struct weights *w, dnnl_primitive_desc_t *pd)
{
	dnnl_status_t s = dnnl_unimplemented;
	dnnl_primitive_attr_t attr;
	int err = conv_attr(b, c, w, &attr);

	if (err)
		return err;
	for (size_t i = 0; s && i < N_WAYS; i++)
		if (way_fits(b, c, &ways[i]))
			s = try_way(b, c, w, &ways[i], attr, pd);
	dnnl_primitive_attr_destroy(attr);
	return s ? gw__dnnl_error(b, s) : 0;
}

static int dense_pd(struct builder *b, const struct conv *c, const struct weights *w, dnnl_primitive_desc_t *pd)
{
	dnnl_memory_desc_t src, wei, dst;
	dnnl_inner_product_desc_t d;
	dnnl_primitive_attr_t attr;
	dnnl_status_t s;
	int err = conv_attr(b, c, w, &attr);

	if (err)
		return err;
	s = conv_md(b, b->op->in, c->src_type, false, &src);
	if (!s)
		s = conv_md(b, b->op->out, c->dst_type, false, &dst);
	if (!s)
		s = dnnl_memory_desc_init_by_tag(&wei, c->w_rank, c->w_dims, c->w_type, dnnl_format_tag_any);
	if (!s)
		s = dnnl_inner_product_forward_desc_init(&d, dnnl_forward_inference, &src, &wei, &w->bias_md, &dst);
	if (!s)
		s = dnnl_primitive_desc_create(pd, &d, attr, b->x->engine, NULL);
	dnnl_primitive_attr_destroy(attr);
	return s ? gw__dnnl_error(b, s) : 0;
}

bool gw__bf16_here(dnnl_engine_t engine)
{
	const dnnl_dims_t dims = {1, 64, 28, 28}, w_dims = {64, 64, 3, 3}, one = {1, 1}, none = {0, 0};
	dnnl_memory_desc_t md, wei;
	dnnl_convolution_desc_t d;
	dnnl_primitive_desc_t pd;

	if (dnnl_memory_desc_init_by_tag(&md, 4, dims, dnnl_bf16, dnnl_format_tag_any) ||
	    dnnl_memory_desc_init_by_tag(&wei, 4, w_dims, dnnl_bf16, dnnl_format_tag_any) ||
	    dnnl_dilated_convolution_forward_desc_init(&d, dnnl_forward_inference, dnnl_convolution_direct, &md, &wei,
						       NULL, &md, one, none, one, one) ||
	    dnnl_primitive_desc_create(&pd, &d, NULL, engine, NULL))
		return false;
	dnnl_primitive_desc_destroy(pd);
	return true;
}

bool gw__winograd_here(dnnl_engine_t engine)
{
	const dnnl_dims_t dims = {1, 64, 28, 28}, w_dims = {64, 64, 3, 3}, one = {1, 1}, none = {0, 0};
	dnnl_memory_desc_t md, wei;
	dnnl_convolution_desc_t d;
	dnnl_primitive_desc_t pd;

	if (dnnl_memory_desc_init_by_tag(&md, 4, dims, dnnl_f32, dnnl_aBcd16b) ||
	    dnnl_memory_desc_init_by_tag(&wei, 4, w_dims, dnnl_f32, dnnl_format_tag_any) ||
	    dnnl_dilated_convolution_forward_desc_init(&d, dnnl_forward_inference, dnnl_convolution_winograd, &md, &wei,
						       NULL, &md, one, none, one, one) ||
	    dnnl_primitive_desc_create(&pd, &d, NULL, engine, NULL))
		return false;
	dnnl_primitive_desc_destroy(pd);
	return true;
}

static int fixed_inst(struct builder *b, const dnnl_memory_desc_t *md, void *bytes)
{
	int i = gw__inst_add(b, md, 1.0f);

	if (i >= 0)
		b->y->insts[i].fixed = bytes;
	return i;
}

static int conv_step(struct builder *b, const struct conv *c, const struct weights *w, const struct laid_out *v,
		     dnnl_primitive_desc_t pd)
{
	const dnnl_memory_desc_t *dst_md = dnnl_primitive_desc_query_md(pd, dnnl_query_dst_md, 0);
	const struct gw__plan_op *op = b->op;
	dnnl_memory_desc_t other_md = *dst_md;
	int args[9] = {DNNL_ARG_SRC, -1, DNNL_ARG_WEIGHTS, -1, DNNL_ARG_BIAS, -1, DNNL_ARG_DST, -1, -1};
	int other = -1;

	args[1] = gw__inst_as(b, op->in, dnnl_primitive_desc_query_md(pd, dnnl_query_src_md, 0), c->src_scale);
	args[3] = fixed_inst(b, &v->md, v->bytes);
	args[5] = fixed_inst(b, &w->bias_md, w->bias);
	if (op->in2 >= 0) {
		bool narrow = c->dst_type == dnnl_u8 || c->dst_type == dnnl_s8;

		if (narrow)
			other_md.data_type = gw__read_type(b->x, op->in2);
		other = gw__inst_take(b, op->in2, &other_md, narrow ? gw__read_scale(b->x, op->in2) : 1.0f);
	}
	args[7] = gw__inst_add(b, dst_md, c->dst_scale);
	if (args[1] < 0 || args[3] < 0 || args[5] < 0 || args[7] < 0 || (op->in2 >= 0 && other < 0)) {
		dnnl_primitive_desc_destroy(pd);
		return gw__dnnl_error(b, dnnl_out_of_memory);
	}
	b->y->insts[args[7]].same_as = other;
	return gw__step_add(b, pd, op->out, args[7], args);
}

int gw__build_conv(struct builder *b)
{
	struct weights *w = &b->x->weights[b->op_no];
	const struct laid_out *v;
	dnnl_primitive_desc_t pd;
	struct conv c;
	int err;

	describe(b, &c);
	err = make_bias(b, &c, w);
	if (!err)
		err = b->op->kind == GW__PLAN_DENSE ? dense_pd(b, &c, w, &pd) : conv_pd(b, &c, w, &pd);
	if (err)
		return err;
	v = weights_as(b, &c, w, dnnl_primitive_desc_query_md(pd, dnnl_query_weights_md, 0));
	if (!v) {
		dnnl_primitive_desc_destroy(pd);
		return gw__dnnl_error(b, dnnl_out_of_memory);
	}
	return conv_step(b, &c, w, v, pd);
}
