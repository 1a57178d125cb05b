/* nn/cudnn/layout.c: how each value is stored, where it lies, and the weights in the card's own order.
 * Must not know batches' steps. Next: steps.c. */
#include "nn/cudnn/exec.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/diag.h"
#include "base/log.h"

#define ALIGN 1024u

void *gw__cudnn_ptr(const struct gw__exec *x, int value)
{
	if (value == x->plan.output || value == x->last_flat)
		return x->features;
	return x->arena + x->val[value].offset;
}

static size_t type_bytes(enum gw__k_type t)
{
	return t == GW_K_FLOAT ? 4 : t == GW_K_HALF ? 2 : 1;
}

static bool int8_conv(const struct gw__exec *x, const struct gw__plan_op *op)
{
	const struct gw__shape *in = &x->plan.shapes[op->in], *out = &x->plan.shapes[op->out];

	return x->cfg.precision == GW_NN_INT8 && (op->kind == GW__PLAN_CONV || op->kind == GW__PLAN_DENSE) &&
	       op->groups <= 1 && in->c % 16 == 0 && out->c % 16 == 0;
}

/* The picture's layout. A stride-2 filter over few channels leaves a tensor core idle; over 2 x 2 blocks of
 * pixels it is a stride-1 filter over four times the channels (ResNet's first layer: 164 us at batch 32 as
 * pixels padded to 8 channels). */
static void choose_stem(struct gw__exec *x)
{
	const int picture = x->plan.ops[0].out;
	const struct gw__shape *in = &x->plan.shapes[picture];
	const struct gw__plan_op *conv = NULL;
	uint32_t readers = 0;

	x->stem = (struct gw__stem){ .fold = 1, .c = in->c <= 4 ? 4 : 8, .h = in->h, .w = in->w };
	for (uint32_t i = 1; i < x->plan.n_ops; i++)
		if (x->plan.ops[i].in == picture || x->plan.ops[i].in2 == picture) {
			conv = &x->plan.ops[i];
			readers++;
		}
	if (readers != 1 || conv->kind != GW__PLAN_CONV || conv->in2 >= 0 || in->c > 4 || in->h % 2 || in->w % 2 ||
	    conv->groups != 1 || conv->win.stride[0] != 2 || conv->win.stride[1] != 2 || conv->win.dilation[0] != 1 ||
	    conv->win.dilation[1] != 1)
		return;
	x->stem.fold = 2;
	x->stem.c = 16;
	for (int k = 0; k < 2; k++) {
		const int64_t pad = conv->win.pad_lo[k], lo = (pad + 1) / 2;
		const int64_t r = (2 * lo - pad + conv->win.kernel[k] - 1) / 2 + 1;

		x->stem.lo[k] = lo;
		*(k ? &x->stem.s : &x->stem.r) = r;
		*(k ? &x->stem.w : &x->stem.h) = (k ? x->plan.shapes[conv->out].w : x->plan.shapes[conv->out].h) + r - 1;
	}
}

/* A flatten of one pixel at the end changes nothing in memory: its input is the output. */
static void choose_last(struct gw__exec *x)
{
	const struct gw__plan_op *last = &x->plan.ops[x->plan.n_ops - 1];
	const struct gw__shape *s = &x->plan.shapes[last->in >= 0 ? last->in : 0];

	x->last_flat = -1;
	if (last->kind == GW__PLAN_FLATTEN && last->out == x->plan.output && s->h * s->w == 1 && last->in > 0)
		x->last_flat = last->in;
}

/* int8 between convolutions, FLOAT16 elsewhere, FLOAT at the end. */
static void choose_types(struct gw__exec *x)
{
	for (uint32_t i = 0; i < x->plan.n_ops; i++) {
		const struct gw__plan_op *op = &x->plan.ops[i];
		struct gw__val *v = &x->val[op->out];
		bool int8 = int8_conv(x, op) || (x->cfg.precision == GW_NN_INT8 && op->kind == GW__PLAN_POOL);

		v->type = op->out == x->plan.output || op->out == x->last_flat ? GW_K_FLOAT : GW_K_HALF;
		v->scale = 1.0f;
		if (int8 && v->type == GW_K_HALF && x->peaks[op->out] > 0) {
			v->type = GW_K_CHAR;
			v->scale = x->peaks[op->out] / 127.0f;
		}
	}
}

static void lifetimes(struct gw__exec *x)
{
	for (uint32_t v = 0; v < x->plan.n_values; v++)
		x->val[v].first = -1;
	for (uint32_t i = 0; i < x->plan.n_ops; i++) {
		const struct gw__plan_op *op = &x->plan.ops[i];

		x->val[op->out].first = x->val[op->out].last = (int)i;
		if (op->in >= 0 && op->kind != GW__PLAN_INPUT)
			x->val[op->in].last = (int)i;
		if (op->in2 >= 0)
			x->val[op->in2].last = (int)i;
	}
}

/* The lowest place where v's bytes meet nobody that is needed at the same time. */
static void place(struct gw__exec *x, uint32_t v, size_t n_bytes, const size_t *bytes)
{
	size_t at = 0;
	bool moved = true;

	while (moved) {
		moved = false;
		for (uint32_t u = 0; u < v; u++) {
			const struct gw__val *o = &x->val[u], *me = &x->val[v];

			if (o->first < 0 || !bytes[u] || o->last < me->first || me->last < o->first)
				continue;
			if (at < o->offset + bytes[u] && o->offset < at + n_bytes) {
				at = o->offset + bytes[u];
				moved = true;
			}
		}
	}
	x->val[v].offset = at;
	if (at + n_bytes > x->arena_bytes)
		x->arena_bytes = at + n_bytes;
}

int gw__cudnn_layout(struct gw__exec *x, struct gw_diag *diag)
{
	size_t *bytes = gw__calloc(x->plan.n_values, sizeof(*bytes));
	void *p;
	int err;

	if (!bytes)
		return gw__fail(diag, -ENOMEM, "plan: no memory");
	choose_stem(x);
	choose_last(x);
	choose_types(x);
	lifetimes(x);
	x->arena_bytes = 0;
	for (uint32_t v = 0; v < x->plan.n_values; v++) {
		const struct gw__shape *s = &x->plan.shapes[v];
		struct gw__val *val = &x->val[v];

		val->c = s->c;
		val->elems = gw__shape_elems(s);
		if (v == (uint32_t)x->plan.ops[0].out) {
			val->c = x->stem.c;
			val->elems = (size_t)(x->stem.c * x->stem.h * x->stem.w);
		}
		if (val->first < 0 || (int)v == x->plan.output || (int)v == x->last_flat)
			continue;
		bytes[v] = (val->elems * type_bytes(val->type) * x->chunk + ALIGN - 1) / ALIGN * ALIGN;
		place(x, v, bytes[v], bytes);
	}
	gw__free(bytes);
	err = x->gpu->mem_alloc(GW_MEM_DEVICE, x->arena_bytes ? x->arena_bytes : ALIGN, 0, &p, diag);
	if (err)
		return err;
	x->arena = p;
	return 0;
}

/* ---- weights ---------------------------------------------------------------------------------------- */

int gw__cudnn_upload(struct gw__exec *x, const void *host, size_t n_bytes, void **out)
{
	const struct gw__copy c = { .dst = NULL, .src = host, .n_bytes = n_bytes };
	struct gw__copy copy = c;
	void *p;
	int err = x->gpu->mem_alloc(GW_MEM_DEVICE, n_bytes, 0, &p, NULL);

	if (err)
		return err;
	copy.dst = p;
	err = x->gpu->copy_batch(x->stream, &copy, 1);
	if (!err)
		err = x->gpu->stream_sync(x->stream);
	if (err) {
		x->gpu->mem_free(p);
		return err;
	}
	*out = p;
	return 0;
}

static uint16_t to_half(float f)
{
	/* through the input kernel's twin would need a launch; this rounds the same way */
	_Float16 h = (_Float16)f;
	uint16_t bits;

	memcpy(&bits, &h, sizeof(bits));
	return bits;
}

struct filter {
	int64_t k, c, r, s, c_stored, r_stored, s_stored;
	const float *w; /* (k, c, r, s) */
	bool folded;    /* over 2 x 2 blocks */
	int64_t shift[2]; /* folded: tap i is row (i + shift) of the blocks' rows */
};

static struct filter filter_of(const struct gw__exec *x, const struct gw__plan_op *op)
{
	const struct gw__shape *in = &x->plan.shapes[op->in], *out = &x->plan.shapes[op->out];
	const bool dense = op->kind == GW__PLAN_DENSE;
	struct filter f = { .k = out->c, .w = op->weights };

	f.c = dense ? in->c * in->h * in->w : in->c / op->groups;
	f.r = dense ? 1 : op->win.kernel[0];
	f.s = dense ? 1 : op->win.kernel[1];
	f.c_stored = op->in == x->plan.ops[0].out ? x->stem.c : f.c;
	f.r_stored = f.r;
	f.s_stored = f.s;
	f.folded = op->in == x->plan.ops[0].out && x->stem.fold == 2;
	if (f.folded) {
		f.r_stored = x->stem.r;
		f.s_stored = x->stem.s;
		for (int k = 0; k < 2; k++)
			f.shift[k] = 2 * x->stem.lo[k] - op->win.pad_lo[k];
	}
	return f;
}

/* channels last inside the filter: (k, r, s, c), stored channels above c are zero */
static size_t filter_at(const struct filter *f, int64_t k, int64_t c, int64_t r, int64_t s)
{
	if (f->folded) {
		int64_t y = r + f->shift[0], x = s + f->shift[1];

		c += (y % 2 * 2 + x % 2) * f->c;
		r = y / 2;
		s = x / 2;
	}
	return (size_t)(((k * f->r_stored + r) * f->s_stored + s) * f->c_stored + c);
}

#define FOR_FILTER(f)                                                                              \
	for (int64_t k = 0; k < (f)->k; k++)                                                       \
		for (int64_t c = 0; c < (f)->c; c++)                                               \
			for (int64_t r = 0; r < (f)->r; r++)                                       \
				for (int64_t s = 0; s < (f)->s; s++)

static float weight(const struct filter *f, int64_t k, int64_t c, int64_t r, int64_t s)
{
	return f->w[((k * f->c + c) * f->r + r) * f->s + s];
}

static int make_half(struct gw__exec *x, const struct gw__plan_op *op, void **w_out, void **bias_out)
{
	const struct filter f = filter_of(x, op);
	size_t n = (size_t)(f.k * f.r_stored * f.s_stored * f.c_stored);
	uint16_t *w = gw__calloc(n, 2), *bias = gw__calloc((size_t)f.k, 2);
	int err = w && bias ? 0 : -ENOMEM;

	if (!err) {
		FOR_FILTER(&f)
			w[filter_at(&f, k, c, r, s)] = to_half(weight(&f, k, c, r, s));
		for (int64_t k = 0; k < f.k; k++)
			bias[k] = op->bias ? to_half(op->bias[k]) : 0;
		err = gw__cudnn_upload(x, w, n * 2, w_out);
	}
	if (!err)
		err = gw__cudnn_upload(x, bias, (size_t)f.k * 2, bias_out);
	gw__free(w);
	gw__free(bias);
	return err;
}

/* y/ys = relu(sum(xq * wq) * xs * ws[k] / ys + bias[k] / ys + ...) */
static int make_int8(struct gw__exec *x, const struct gw__plan_op *op, struct gw__wts *out)
{
	const struct filter f = filter_of(x, op);
	const float xs = x->val[op->in].scale, ys = x->val[op->out].scale;
	size_t n = (size_t)(f.k * f.r_stored * f.s_stored * f.c_stored), n_k = (size_t)f.k;
	int8_t *w = gw__calloc(n, 1);
	float *scale = gw__calloc(n_k, sizeof(float)), *bias = gw__calloc(n_k, sizeof(float));
	int err = w && scale && bias ? 0 : -ENOMEM;

	if (!err) {
		FOR_FILTER(&f)
			scale[k] = fmaxf(scale[k], fabsf(weight(&f, k, c, r, s)));
		for (int64_t k = 0; k < f.k; k++)
			scale[k] = scale[k] > 0 ? scale[k] / 127.0f : 1.0f;
		FOR_FILTER(&f)
			w[filter_at(&f, k, c, r, s)] = (int8_t)lrintf(weight(&f, k, c, r, s) / scale[k]);
		for (int64_t k = 0; k < f.k; k++) {
			scale[k] *= xs / ys;
			bias[k] = op->bias ? op->bias[k] / ys : 0;
		}
		err = gw__cudnn_upload(x, w, n, &out->w);
	}
	if (!err)
		err = gw__cudnn_upload(x, scale, n_k * sizeof(float), &out->scale);
	if (!err)
		err = gw__cudnn_upload(x, bias, n_k * sizeof(float), &out->bias);
	if (!err && op->in2 >= 0) {
		for (size_t k = 0; k < n_k; k++)
			scale[k] = x->val[op->in2].scale / ys;
		err = gw__cudnn_upload(x, scale, n_k * sizeof(float), &out->z_scale);
	}
	gw__free(w);
	gw__free(scale);
	gw__free(bias);
	return err;
}

int gw__cudnn_half_weights(struct gw__exec *x, int op)
{
	struct gw__wts *w = &x->wts[op];

	if (!w->int8)
		return 0;
	return w->half_w ? 0 : make_half(x, &x->plan.ops[op], &w->half_w, &w->half_bias);
}

static int op_weights(struct gw__exec *x, uint32_t i)
{
	const struct gw__plan_op *op = &x->plan.ops[i];
	const struct gw__shape *s = &x->plan.shapes[op->out];
	struct gw__wts *w = &x->wts[i];
	void *p = NULL;
	int err = 0;

	if (op->kind == GW__PLAN_CONV || op->kind == GW__PLAN_DENSE) {
		w->int8 = int8_conv(x, op) && x->val[op->in].type == GW_K_CHAR &&
			  (op->in2 < 0 || x->val[op->in2].type == GW_K_CHAR);
		return w->int8 ? make_int8(x, op, w) : make_half(x, op, &w->w, &w->bias);
	}
	if (op->kind != GW__PLAN_INPUT && op->kind != GW__PLAN_AFFINE)
		return 0;
	err = gw__cudnn_upload(x, op->scale, (size_t)s->c * sizeof(float), &p);
	w->scale_dev = p;
	if (!err)
		err = gw__cudnn_upload(x, op->shift, (size_t)s->c * sizeof(float), &p);
	if (!err)
		w->shift_dev = p;
	return err;
}

int gw__cudnn_weights(struct gw__exec *x, struct gw_diag *diag)
{
	for (uint32_t i = 0; i < x->plan.n_ops; i++) {
		int err = op_weights(x, i);

		if (err)
			return gw__fail(diag, err, "node %s: its weights could not be put on the card", x->plan.ops[i].name);
	}
	return 0;
}

void gw__cudnn_weights_free(struct gw__exec *x)
{
	for (uint32_t i = 0; x->wts && i < x->plan.n_ops; i++) {
		struct gw__wts *w = &x->wts[i];
		void *const all[] = { w->w, w->bias, w->scale, w->z_scale, w->half_w, w->half_bias, w->shift_dev, w->scale_dev };

		for (size_t k = 0; k < sizeof(all) / sizeof(all[0]); k++)
			if (all[k])
				x->gpu->mem_free(all[k]);
		memset(w, 0, sizeof(*w));
	}
}
