/* nn/plan.h: the network as a short list of fused operations over values of known shape.
 * Must not know ONNX, nor any backend's layouts. Made by lower.c and fuse.c. Next: onednn/build.c. */
#ifndef GW_NN_PLAN_H
#define GW_NN_PLAN_H

#include "nn/graph.h"

/* Shape of one sample: (c, h, w), or (c) with h = w = 1 and flat set. The batch comes before it. */
struct gw__shape {
	int64_t c, h, w;
	bool flat;
};

enum gw__plan_kind {
	GW__PLAN_INPUT,   /* FLOAT16 to FLOAT, then * scale[c] + shift[c]; always first */
	GW__PLAN_CONV,    /* weights (out, in/groups, kh, kw), bias (out); then + in2; then relu */
	GW__PLAN_DENSE,   /* weights (out, in), bias (out); then relu */
	GW__PLAN_POOL,    /* largest or mean of a window */
	GW__PLAN_AFFINE,  /* * scale[c] + shift[c]; then relu */
	GW__PLAN_ADD,     /* in + in2; then relu */
	GW__PLAN_MUL,     /* in * in2; then relu */
	GW__PLAN_RELU,
	GW__PLAN_FLATTEN, /* (c, h, w) to (c*h*w) */
};

enum gw__pool_kind {
	GW__POOL_MAX,
	GW__POOL_MEAN,        /* of the samples inside the picture */
	GW__POOL_MEAN_PADDED, /* of the window, padding counted as zeros */
};

struct gw__window {
	int64_t kernel[2], stride[2], dilation[2], pad_lo[2], pad_hi[2]; /* height, width */
};

struct gw__plan_op {
	enum gw__plan_kind kind;
	const char *name;
	int in, in2, out; /* value numbers; in2 = -1: none */
	bool relu;
	struct gw__window win;
	int64_t groups;
	enum gw__pool_kind pool;
	float *weights;
	float *bias;         /* CONV, DENSE: [out] */
	float *scale, *shift; /* INPUT, AFFINE: [c] */
};

struct gw__plan {
	struct gw__pool pool;
	uint32_t n_values;
	struct gw__shape *shapes;
	uint32_t n_ops;
	struct gw__plan_op *ops;
	int output;
	char *input_name, *output_name;
};

/* Elements of one sample. */
static inline size_t gw__shape_elems(const struct gw__shape *s)
{
	return (size_t)s->c * (size_t)s->h * (size_t)s->w;
}

/* Shapes, checks, fusion. *plan points at nothing of the graph afterwards.
 * 0; -EPROTO inconsistent; -ENOTSUP operator or attribute, named with its node; -EMSGSIZE; -ENOMEM.
 * After failure *plan needs no fini. */
int gw__plan_make(const struct gw__graph *g, struct gw__plan *plan, struct gw_diag *diag);
/* A last op that multiplies by one, where there is none that could take a factor a channel. 0 or -ENOMEM. */
int gw__plan_add_tail(struct gw__plan *plan);
void gw__plan_fini(struct gw__plan *plan);

#endif
