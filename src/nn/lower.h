/* nn/lower.h: the state that lowering and fusion share. Must not be seen outside lower.c, window.c and
 * fuse.c. Next: lower.c. */
#ifndef GW_NN_LOWER_H
#define GW_NN_LOWER_H

#include "nn/plan.h"

struct gw__lower {
	const struct gw__graph *g;
	struct gw__plan *plan;
	struct gw_diag *diag;
	int *value;     /* graph value -> plan value, -1 = none yet */
	int *alias;     /* graph value -> the graph value it is a copy of (Identity, Cast) */
	uint32_t *uses; /* of a graph value, aliases counted at the root */
	int *producer;  /* plan value -> op number */
	size_t n_spread; /* numbers made by spreading constants over channels */
};

/* One numbered refusal for a node. */
#define GW__REFUSE(l, err, node, fmt, ...)                                                                             \
	gw__fail((l)->diag, (err), "node %s (%s): " fmt, GW__CLEAN((node)->name),                                      \
		 GW__CLEAN((node)->op), ##__VA_ARGS__)

/* Attributes: NULL = not there. */
const struct gw__attr *gw__node_attr(const struct gw__node *node, const char *name);
int gw__node_int(struct gw__lower *l, const struct gw__node *node, const char *name, int64_t fallback,
		 int64_t *out);
/* Every attribute must be in the NULL-ended list, else -ENOTSUP by name. */
int gw__node_attrs_known(struct gw__lower *l, const struct gw__node *node, const char *const *names);
/* kernel_shape, strides, dilations, pads, auto_pad of a two-dimensional window, and the output's size. */
int gw__node_window(struct gw__lower *l, const struct gw__node *node, const struct gw__shape *in,
		    const int64_t *kernel, struct gw__window *win, struct gw__shape *out);

/* A new value of that shape; negative errno. */
int gw__lower_value(struct gw__lower *l, const struct gw__node *node, const struct gw__shape *shape);
/* A new op at the end; NULL never (room is made for one op a node and the input). */
struct gw__plan_op *gw__lower_op(struct gw__lower *l, enum gw__plan_kind kind, const struct gw__node *node, int in,
				 const struct gw__shape *shape, int *err);

/* Room for n more per-channel numbers; a small file must not ask for all memory. */
int gw__lower_charge(struct gw__lower *l, const struct gw__node *node, size_t n);
/* The op that may absorb what comes after it: the only reader of the node's input i is this node. */
struct gw__plan_op *gw__fuse_into(struct gw__lower *l, const struct gw__node *node, uint32_t i);
/* x * scale[c] + shift[c] (either may be NULL): folded into what makes x, else an op of its own. */
int gw__fuse_affine(struct gw__lower *l, const struct gw__node *node, uint32_t i, const float *scale,
		    const float *shift);
int gw__fuse_relu(struct gw__lower *l, const struct gw__node *node);
/* x + y or x * y of two computed values. */
int gw__fuse_pair(struct gw__lower *l, const struct gw__node *node, enum gw__plan_kind kind);

#endif
