/* nn/fuse.c: what can be done in the same pass as the operation before it, is: batch normalisation and
 * per-channel factors into weights, additions and ReLU into the convolution. A scale or shift in FRONT of a
 * convolution is never folded into it: padding zeros come after the shift. Next: onednn/build.c. */
#include "base/diag.h"
#include "nn/lower.h"

#include <errno.h>
#include <string.h>

static int root(const struct gw__lower *l, int v)
{
	return l->alias[v] >= 0 ? l->alias[v] : v;
}

struct gw__plan_op *gw__fuse_into(struct gw__lower *l, const struct gw__node *node, uint32_t i)
{
	int v = root(l, node->in[i]);

	if (l->value[v] < 0 || l->uses[v] != 1)
		return NULL;
	return &l->plan->ops[l->producer[l->value[v]]];
}

/* y = (conv(x) * scale + shift), all in double, rounded once. */
static void fold(struct gw__plan_op *op, int64_t n_out, size_t per_out, const float *scale, const float *shift)
{
	for (int64_t o = 0; o < n_out; o++) {
		double s = scale ? (double)scale[o] : 1.0;
		double b = (double)op->bias[o] * s + (shift ? (double)shift[o] : 0.0);
		float *w = op->weights + (size_t)o * per_out;

		op->bias[o] = (float)b;
		if (scale)
			for (size_t k = 0; k < per_out; k++)
				w[k] = (float)((double)w[k] * s);
	}
}

static void compose(struct gw__plan_op *op, int64_t c, const float *scale, const float *shift)
{
	for (int64_t i = 0; i < c; i++) {
		double s = scale ? (double)scale[i] : 1.0;

		op->shift[i] = (float)((double)op->shift[i] * s + (shift ? (double)shift[i] : 0.0));
		op->scale[i] = (float)((double)op->scale[i] * s);
	}
}

static size_t weights_per_out(const struct gw__lower *l, const struct gw__plan_op *op)
{
	const struct gw__shape *in = &l->plan->shapes[op->in];

	if (op->kind == GW__PLAN_DENSE)
		return (size_t)in->c;
	return (size_t)(in->c / op->groups * op->win.kernel[0] * op->win.kernel[1]);
}

int gw__fuse_affine(struct gw__lower *l, const struct gw__node *node, uint32_t i, const float *scale,
		    const float *shift)
{
	struct gw__plan_op *op = gw__fuse_into(l, node, i);
	int x = l->value[root(l, node->in[i])];
	struct gw__shape shape = l->plan->shapes[x];
	size_t bytes = (size_t)shape.c * sizeof(float);
	int err;

	if (op && !op->relu && op->in2 < 0) {
		if (op->kind == GW__PLAN_CONV || op->kind == GW__PLAN_DENSE) {
			fold(op, shape.c, weights_per_out(l, op), scale, shift);
			l->value[node->out] = x;
			return 0;
		}
		if (op->kind == GW__PLAN_INPUT || op->kind == GW__PLAN_AFFINE) {
			compose(op, shape.c, scale, shift);
			l->value[node->out] = x;
			return 0;
		}
	}
	err = gw__lower_charge(l, node, 2 * (size_t)shape.c);
	if (err)
		return err;
	op = gw__lower_op(l, GW__PLAN_AFFINE, node, x, &shape, &err);
	if (!op)
		return err;
	op->scale = gw__pool_alloc(&l->plan->pool, (size_t)shape.c, sizeof(float));
	op->shift = gw__pool_alloc(&l->plan->pool, (size_t)shape.c, sizeof(float));
	if (!op->scale || !op->shift)
		return GW__REFUSE(l, -ENOMEM, node, "out of memory");
	for (int64_t c = 0; c < shape.c; c++)
		op->scale[c] = scale ? scale[c] : 1.0f;
	if (shift)
		memcpy(op->shift, shift, bytes);
	return 0;
}

int gw__fuse_relu(struct gw__lower *l, const struct gw__node *node)
{
	struct gw__plan_op *op = gw__fuse_into(l, node, 0);
	int x = l->value[root(l, node->in[0])];
	struct gw__shape shape = l->plan->shapes[x];
	int err;

	if (op && (op->kind == GW__PLAN_CONV || op->kind == GW__PLAN_DENSE || op->kind == GW__PLAN_AFFINE ||
		   op->kind == GW__PLAN_ADD || op->kind == GW__PLAN_MUL)) {
		op->relu = true;
		l->value[node->out] = x;
		return 0;
	}
	return gw__lower_op(l, GW__PLAN_RELU, node, x, &shape, &err) ? 0 : err;
}

int gw__fuse_pair(struct gw__lower *l, const struct gw__node *node, enum gw__plan_kind kind)
{
	int x = l->value[root(l, node->in[0])], y = l->value[root(l, node->in[1])];
	struct gw__shape a = l->plan->shapes[x], b = l->plan->shapes[y];
	struct gw__plan_op *op;
	int err;

	if (a.c != b.c || a.h != b.h || a.w != b.w || a.flat != b.flat)
		return GW__REFUSE(l, -ENOTSUP, node, "shapes (%lld,%lld,%lld) and (%lld,%lld,%lld) differ",
				  (long long)a.c, (long long)a.h, (long long)a.w, (long long)b.c, (long long)b.h,
				  (long long)b.w);
	for (uint32_t i = 0; kind == GW__PLAN_ADD && x != y && i < 2; i++) {
		int other = i ? x : y;

		op = gw__fuse_into(l, node, i);
		/* The other operand must be there before the convolution runs. */
		if (op && op->kind == GW__PLAN_CONV && !op->relu && op->in2 < 0 &&
		    l->producer[other] < (int)(op - l->plan->ops)) {
			op->in2 = other;
			l->value[node->out] = op->out;
			return 0;
		}
	}
	op = gw__lower_op(l, kind, node, x, &a, &err);
	if (!op)
		return err;
	op->in2 = y;
	return 0;
}
