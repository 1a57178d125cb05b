/* nn/lower.c: each ONNX node to zero or one operation of the plan, with its shape; refusals name the node.
 * Must not know how operations are computed. Next: fuse.c, then onednn/build.c. */
#include "nn/lower.h"

#include "base/alloc.h"
#include "base/diag.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define MAX_SAMPLE ((size_t)1 << 25) /* elements of one value of one sample: 128 MiB of FLOAT */
#define MAX_SPREAD ((size_t)1 << 24) /* numbers of all per-channel vectors together */

static const char *const no_attrs[] = {NULL};

int gw__lower_value(struct gw__lower *l, const struct gw__node *node, const struct gw__shape *shape)
{
	const int64_t dims[3] = {shape->c, shape->h, shape->w};
	struct gw__plan *p = l->plan;
	size_t n;

	if (gw__nn_product(dims, 3, MAX_SAMPLE, &n) < 0 || n == 0)
		return node ? GW__REFUSE(l, -EMSGSIZE, node, "makes a value of (%lld,%lld,%lld); at most %zu elements",
					 (long long)dims[0], (long long)dims[1], (long long)dims[2], MAX_SAMPLE)
			    : gw__fail(l->diag, -EMSGSIZE, "input: more than %zu elements", MAX_SAMPLE);
	p->shapes[p->n_values] = *shape;
	return (int)p->n_values++;
}

struct gw__plan_op *gw__lower_op(struct gw__lower *l, enum gw__plan_kind kind, const struct gw__node *node, int in,
				 const struct gw__shape *shape, int *err)
{
	struct gw__plan_op *op = &l->plan->ops[l->plan->n_ops];
	int out = gw__lower_value(l, node, shape);

	*err = out < 0 ? out : 0;
	if (out < 0)
		return NULL;
	op->kind = kind;
	op->name = gw__pool_strdup(&l->plan->pool, node ? node->name : "input");
	if (!op->name) {
		*err = gw__fail(l->diag, -ENOMEM, "plan: out of memory");
		return NULL;
	}
	op->in = in;
	op->in2 = -1;
	op->out = out;
	op->groups = 1;
	l->producer[out] = (int)l->plan->n_ops++;
	if (node)
		l->value[node->out] = out;
	return op;
}

int gw__lower_charge(struct gw__lower *l, const struct gw__node *node, size_t n)
{
	l->n_spread += n;
	if (l->n_spread > MAX_SPREAD)
		return GW__REFUSE(l, -EMSGSIZE, node, "per-channel numbers exceed %zu in all", MAX_SPREAD);
	return 0;
}

static int root(const struct gw__lower *l, int v)
{
	return l->alias[v] >= 0 ? l->alias[v] : v;
}

/* The constant behind input i, or NULL. */
static const struct gw__tensor *constant(const struct gw__lower *l, const struct gw__node *node, uint32_t i)
{
	if (i >= node->n_in || node->in[i] < 0)
		return NULL;
	return l->g->values[root(l, node->in[i])].constant;
}

/* The computed value behind input i. */
static int computed(struct gw__lower *l, const struct gw__node *node, uint32_t i, struct gw__shape *shape)
{
	int v = i < node->n_in && node->in[i] >= 0 ? l->value[root(l, node->in[i])] : -1;

	if (v < 0)
		return GW__REFUSE(l, -ENOTSUP, node, "input %u must be computed, not constant or absent", i);
	*shape = l->plan->shapes[v];
	return v;
}

static int floats(struct gw__lower *l, const struct gw__node *node, uint32_t i, int64_t n, const float **out)
{
	const struct gw__tensor *t = constant(l, node, i);

	if (!t || t->elem != GW__ELEM_F32)
		return GW__REFUSE(l, -ENOTSUP, node, "input %u must be a constant of FLOAT or FLOAT16", i);
	if (n >= 0 && t->n_elems != (size_t)n)
		return GW__REFUSE(l, -EPROTO, node, "input %u holds %zu values, %lld are needed", i, t->n_elems,
				  (long long)n);
	*out = t->f;
	return 0;
}

static float *copy_floats(struct gw__pool *pool, const float *src, size_t n)
{
	float *p = gw__pool_alloc(pool, n, sizeof(float));

	if (p && src)
		memcpy(p, src, n * sizeof(float));
	return p;
}

static int lower_conv(struct gw__lower *l, const struct gw__node *node)
{
	static const char *const known[] = {"kernel_shape", "strides", "dilations", "pads", "auto_pad", "group", NULL};
	const struct gw__tensor *w = constant(l, node, 1);
	struct gw__shape in, out = {0};
	const float *weights, *bias = NULL;
	struct gw__window win;
	struct gw__plan_op *op;
	int64_t groups;
	int x = computed(l, node, 0, &in);
	int err = x < 0 ? x : gw__node_attrs_known(l, node, known);

	if (!err)
		err = floats(l, node, 1, -1, &weights);
	if (!err)
		err = gw__node_int(l, node, "group", 1, &groups);
	if (err)
		return err;
	if (in.flat || w->n_dims != 4)
		return GW__REFUSE(l, -ENOTSUP, node, "only two-dimensional convolution is run");
	if (groups < 1 || in.c % groups || w->dims[0] < 1 || w->dims[0] % groups || w->dims[1] != in.c / groups)
		return GW__REFUSE(l, -EPROTO, node, "weights (%lld,%lld,..) with %lld groups do not fit %lld channels",
				  (long long)w->dims[0], (long long)w->dims[1], (long long)groups, (long long)in.c);
	out.c = w->dims[0];
	if (node->n_in > 2 && node->in[2] >= 0)
		err = floats(l, node, 2, out.c, &bias);
	if (!err)
		err = gw__node_window(l, node, &in, w->dims + 2, &win, &out);
	if (err)
		return err;
	op = gw__lower_op(l, GW__PLAN_CONV, node, x, &out, &err);
	if (!op)
		return err;
	op->win = win;
	op->groups = groups;
	op->weights = copy_floats(&l->plan->pool, weights, w->n_elems);
	op->bias = copy_floats(&l->plan->pool, bias, (size_t)out.c);
	return op->weights && op->bias ? 0 : GW__REFUSE(l, -ENOMEM, node, "out of memory");
}

static int lower_gemm(struct gw__lower *l, const struct gw__node *node)
{
	static const char *const known[] = {"alpha", "beta", "transA", "transB", NULL};
	const struct gw__attr *alpha = gw__node_attr(node, "alpha"), *beta = gw__node_attr(node, "beta");
	const struct gw__tensor *w = constant(l, node, 1), *c = constant(l, node, 2);
	float a = alpha && alpha->kind == GW__ATTR_FLOAT ? alpha->f : 1.0f;
	float b = beta && beta->kind == GW__ATTR_FLOAT ? beta->f : 1.0f;
	struct gw__shape in, out = {0, 1, 1, true};
	const float *weights, *bias = NULL;
	struct gw__plan_op *op;
	int64_t ta, tb;
	int x = computed(l, node, 0, &in);
	int err = x < 0 ? x : gw__node_attrs_known(l, node, known);

	if (!err)
		err = floats(l, node, 1, -1, &weights);
	if (!err)
		err = gw__node_int(l, node, "transA", 0, &ta);
	if (!err)
		err = gw__node_int(l, node, "transB", 0, &tb);
	if (err)
		return err;
	if (!in.flat || w->n_dims != 2 || ta || w->dims[tb ? 1 : 0] != in.c || w->dims[tb ? 0 : 1] < 1)
		return GW__REFUSE(l, -ENOTSUP, node, "needs (n,%lld) times a constant matrix that fits it, transA = 0",
				  (long long)in.c);
	out.c = w->dims[tb ? 0 : 1];
	if (node->n_in > 2 && node->in[2] >= 0)
		err = floats(l, node, 2, c && c->n_elems == 1 ? 1 : out.c, &bias);
	if (err)
		return err;
	op = gw__lower_op(l, GW__PLAN_DENSE, node, x, &out, &err);
	if (!op)
		return err;
	op->weights = copy_floats(&l->plan->pool, NULL, w->n_elems);
	op->bias = copy_floats(&l->plan->pool, NULL, (size_t)out.c);
	if (!op->weights || !op->bias)
		return GW__REFUSE(l, -ENOMEM, node, "out of memory");
	for (int64_t o = 0; o < out.c; o++) {
		op->bias[o] = bias ? b * bias[c->n_elems == 1 ? 0 : o] : 0.0f;
		for (int64_t k = 0; k < in.c; k++)
			op->weights[o * in.c + k] = a * weights[tb ? o * in.c + k : k * out.c + o];
	}
	return 0;
}

static int lower_batch_norm(struct gw__lower *l, const struct gw__node *node)
{
	static const char *const known[] = {"epsilon", "momentum", "training_mode", NULL};
	const struct gw__attr *eps = gw__node_attr(node, "epsilon");
	double e = eps && eps->kind == GW__ATTR_FLOAT ? (double)eps->f : 1e-5;
	const float *gamma, *beta, *mean, *var;
	float *scale, *shift;
	struct gw__shape in;
	int64_t training;
	int x = computed(l, node, 0, &in);
	int err = x < 0 ? x : gw__node_attrs_known(l, node, known);

	if (!err)
		err = gw__node_int(l, node, "training_mode", 0, &training);
	if (!err && training)
		err = GW__REFUSE(l, -ENOTSUP, node, "training_mode must be 0");
	if (err || (err = floats(l, node, 1, in.c, &gamma)) || (err = floats(l, node, 2, in.c, &beta)) ||
	    (err = floats(l, node, 3, in.c, &mean)) || (err = floats(l, node, 4, in.c, &var)))
		return err;
	scale = copy_floats(&l->plan->pool, NULL, (size_t)in.c);
	shift = copy_floats(&l->plan->pool, NULL, (size_t)in.c);
	if (!scale || !shift)
		return GW__REFUSE(l, -ENOMEM, node, "out of memory");
	for (int64_t c = 0; c < in.c; c++) {
		double s = (double)gamma[c] / sqrt((double)var[c] + e);

		if (!((double)var[c] + e > 0))
			return GW__REFUSE(l, -EPROTO, node, "variance %lld is not above zero", (long long)c);
		scale[c] = (float)s;
		shift[c] = (float)((double)beta[c] - (double)mean[c] * s);
	}
	return gw__fuse_affine(l, node, 0, scale, shift);
}

static int lower_pool(struct gw__lower *l, const struct gw__node *node, enum gw__pool_kind kind)
{
	static const char *const known[] = {"kernel_shape", "strides",       "dilations", "pads",
					    "auto_pad",     "storage_order", "ceil_mode", "count_include_pad",
					    NULL};
	struct gw__shape in, out;
	struct gw__window win;
	struct gw__plan_op *op;
	int64_t ceil_mode, padded, order;
	int x = computed(l, node, 0, &in);
	int err = x < 0 ? x : gw__node_attrs_known(l, node, known);

	if (err || (err = gw__node_int(l, node, "ceil_mode", 0, &ceil_mode)) ||
	    (err = gw__node_int(l, node, "count_include_pad", 0, &padded)) ||
	    (err = gw__node_int(l, node, "storage_order", 0, &order)))
		return err;
	if (in.flat)
		return GW__REFUSE(l, -ENOTSUP, node, "only two-dimensional windows are run");
	if (ceil_mode || order)
		return GW__REFUSE(l, -ENOTSUP, node, "%s must be 0", ceil_mode ? "ceil_mode" : "storage_order");
	out = in;
	err = gw__node_window(l, node, &in, NULL, &win, &out);
	if (err)
		return err;
	if (win.dilation[0] != 1 || win.dilation[1] != 1)
		return GW__REFUSE(l, -ENOTSUP, node, "dilations must be 1");
	op = gw__lower_op(l, GW__PLAN_POOL, node, x, &out, &err);
	if (!op)
		return err;
	op->win = win;
	op->pool = kind == GW__POOL_MEAN && padded ? GW__POOL_MEAN_PADDED : kind;
	return 0;
}

static int lower_global_mean(struct gw__lower *l, const struct gw__node *node)
{
	struct gw__shape in, out;
	struct gw__plan_op *op;
	int x = computed(l, node, 0, &in);
	int err = x < 0 ? x : gw__node_attrs_known(l, node, no_attrs);

	if (err)
		return err;
	if (in.flat)
		return GW__REFUSE(l, -ENOTSUP, node, "needs (n, chan, height, width)");
	out = (struct gw__shape){in.c, 1, 1, false};
	op = gw__lower_op(l, GW__PLAN_POOL, node, x, &out, &err);
	if (!op)
		return err;
	op->win = (struct gw__window){{in.h, in.w}, {1, 1}, {1, 1}, {0, 0}, {0, 0}};
	op->pool = GW__POOL_MEAN;
	return 0;
}

/* Flatten, and Reshape to (n, everything). */
static int lower_flatten(struct gw__lower *l, const struct gw__node *node, bool reshape)
{
	static const char *const known_flatten[] = {"axis", NULL}, *const known_reshape[] = {"allowzero", NULL};
	struct gw__shape in, out = {0, 1, 1, true};
	int x = computed(l, node, 0, &in);
	int err = x < 0 ? x : gw__node_attrs_known(l, node, reshape ? known_reshape : known_flatten);
	int64_t axis = 1, zero = 0;

	if (err)
		return err;
	out.c = (int64_t)gw__shape_elems(&in);
	if (reshape) {
		const struct gw__tensor *t = constant(l, node, 1);

		err = gw__node_int(l, node, "allowzero", 0, &zero);
		if (err)
			return err;
		if (!t || t->elem != GW__ELEM_I64 || t->n_elems != 2 || zero || t->i[0] > 0 ||
		    !(t->i[1] == out.c || (t->i[1] == -1 && t->i[0] == 0)) || t->i[0] < -1)
			return GW__REFUSE(l, -ENOTSUP, node, "only a constant shape (0 or -1, %lld or -1) is run",
					  (long long)out.c);
	} else {
		err = gw__node_int(l, node, "axis", 1, &axis);
		if (err)
			return err;
		if (axis != 1)
			return GW__REFUSE(l, -ENOTSUP, node, "axis is %lld; only 1 is run", (long long)axis);
	}
	return gw__lower_op(l, GW__PLAN_FLATTEN, node, x, &out, &err) ? 0 : err;
}

/* A constant second operand spread over the channels; -ENOTSUP if it varies within one. */
static int per_channel(struct gw__lower *l, const struct gw__node *node, const struct gw__tensor *t,
		       const struct gw__shape *x, float **out)
{
	uint32_t rank = x->flat ? 2 : 4;
	int64_t dims[4] = {1, 1, 1, 1};
	float *p;

	if (t->elem != GW__ELEM_F32 || t->n_dims > rank)
		return GW__REFUSE(l, -ENOTSUP, node, "constant operand must be FLOAT or FLOAT16 of at most %u dimensions",
				  rank);
	for (uint32_t i = 0; i < t->n_dims; i++)
		dims[i + rank - t->n_dims] = t->dims[i];
	if (dims[0] != 1 || (dims[1] != 1 && dims[1] != x->c) || dims[2] != 1 || dims[3] != 1)
		return GW__REFUSE(l, -ENOTSUP, node, "constant operand must be one number, or one a channel (%lld)",
				  (long long)x->c);
	if (gw__lower_charge(l, node, (size_t)x->c) < 0)
		return -EMSGSIZE;
	p = copy_floats(&l->plan->pool, NULL, (size_t)x->c);
	if (!p)
		return GW__REFUSE(l, -ENOMEM, node, "out of memory");
	for (int64_t c = 0; c < x->c; c++)
		p[c] = t->f[dims[1] == 1 ? 0 : c];
	*out = p;
	return 0;
}

static int lower_arith(struct gw__lower *l, const struct gw__node *node, bool mul)
{
	const struct gw__tensor *c0 = constant(l, node, 0), *c1 = constant(l, node, 1);
	struct gw__shape in;
	float *k = NULL;
	int err = gw__node_attrs_known(l, node, no_attrs);
	int x;

	if (err)
		return err;
	x = computed(l, node, c0 ? 1 : 0, &in);
	if (x < 0)
		return x;
	if (!c0 && !c1) {
		x = computed(l, node, 1, &in);
		return x < 0 ? x : gw__fuse_pair(l, node, mul ? GW__PLAN_MUL : GW__PLAN_ADD);
	}
	err = per_channel(l, node, c0 ? c0 : c1, &in, &k);
	if (err)
		return err;
	return gw__fuse_affine(l, node, c0 ? 1 : 0, mul ? k : NULL, mul ? NULL : k);
}

static int lower_relu(struct gw__lower *l, const struct gw__node *node)
{
	struct gw__shape in;
	int x = computed(l, node, 0, &in);
	int err = x < 0 ? x : gw__node_attrs_known(l, node, no_attrs);

	return err ? err : gw__fuse_relu(l, node);
}

static int lower_node(struct gw__lower *l, const struct gw__node *node)
{
	if (l->alias[node->out] >= 0)
		return 0;
	if (strcmp(node->op, "Conv") == 0)
		return lower_conv(l, node);
	if (strcmp(node->op, "Relu") == 0)
		return lower_relu(l, node);
	if (strcmp(node->op, "Add") == 0)
		return lower_arith(l, node, false);
	if (strcmp(node->op, "Mul") == 0)
		return lower_arith(l, node, true);
	if (strcmp(node->op, "BatchNormalization") == 0)
		return lower_batch_norm(l, node);
	if (strcmp(node->op, "MaxPool") == 0)
		return lower_pool(l, node, GW__POOL_MAX);
	if (strcmp(node->op, "AveragePool") == 0)
		return lower_pool(l, node, GW__POOL_MEAN);
	if (strcmp(node->op, "GlobalAveragePool") == 0)
		return lower_global_mean(l, node);
	if (strcmp(node->op, "Flatten") == 0)
		return lower_flatten(l, node, false);
	if (strcmp(node->op, "Reshape") == 0)
		return lower_flatten(l, node, true);
	if (strcmp(node->op, "Gemm") == 0)
		return lower_gemm(l, node);
	return GW__REFUSE(l, -ENOTSUP, node,
			  "this operator is not run; Conv BatchNormalization Relu Add Mul MaxPool AveragePool "
			  "GlobalAveragePool Flatten Reshape Gemm Identity Constant Cast are");
}

/* Identity and Cast are names for the same value: FLOAT16 was widened, and arithmetic is FLOAT throughout. */
static int find_aliases(struct gw__lower *l)
{
	for (uint32_t i = 0; i < l->g->n_nodes; i++) {
		const struct gw__node *node = &l->g->nodes[i];
		bool cast = strcmp(node->op, "Cast") == 0;
		int64_t to = 1;
		int err;

		if (!cast && strcmp(node->op, "Identity") != 0) {
			for (uint32_t k = 0; k < node->n_in; k++)
				if (node->in[k] >= 0)
					l->uses[root(l, node->in[k])]++;
			continue;
		}
		if (node->n_in < 1 || node->in[0] < 0)
			return GW__REFUSE(l, -EPROTO, node, "has no input");
		err = cast ? gw__node_int(l, node, "to", -1, &to) : 0;
		if (err)
			return err;
		if (to != 1 && to != 10)
			return GW__REFUSE(l, -ENOTSUP, node, "to = %lld; only FLOAT (1) and FLOAT16 (10) are run",
					  (long long)to);
		l->alias[node->out] = root(l, node->in[0]);
	}
	l->uses[root(l, l->g->output)]++; /* the caller reads it */
	return 0;
}

static int lower_input(struct gw__lower *l)
{
	const struct gw__shape shape = {l->g->in_dims[0], l->g->in_dims[1], l->g->in_dims[2], false};
	struct gw__plan_op *op;
	int err;

	op = gw__lower_op(l, GW__PLAN_INPUT, NULL, -1, &shape, &err);
	if (!op)
		return err;
	op->scale = copy_floats(&l->plan->pool, NULL, (size_t)shape.c);
	op->shift = copy_floats(&l->plan->pool, NULL, (size_t)shape.c);
	if (!op->scale || !op->shift)
		return gw__fail(l->diag, -ENOMEM, "plan: out of memory");
	for (int64_t c = 0; c < shape.c; c++)
		op->scale[c] = 1.0f;
	l->value[l->g->input] = op->out;
	return 0;
}

static int lower_all(struct gw__lower *l)
{
	int err = find_aliases(l);

	if (!err)
		err = lower_input(l);
	for (uint32_t i = 0; !err && i < l->g->n_nodes; i++)
		err = lower_node(l, &l->g->nodes[i]);
	if (err)
		return err;
	l->plan->output = l->value[root(l, l->g->output)];
	if (l->plan->output < 0)
		return gw__fail(l->diag, -EPROTO, "output %s is a constant",
				GW__CLEAN(l->g->values[l->g->output].name));
	l->plan->input_name = gw__pool_strdup(&l->plan->pool, l->g->values[l->g->input].name);
	l->plan->output_name = gw__pool_strdup(&l->plan->pool, l->g->values[l->g->output].name);
	return l->plan->input_name && l->plan->output_name ? 0 : gw__fail(l->diag, -ENOMEM, "plan: out of memory");
}

int gw__plan_make(const struct gw__graph *g, struct gw__plan *plan, struct gw_diag *diag)
{
	struct gw__pool work = {0};
	struct gw__lower l = {.g = g, .plan = plan, .diag = diag};
	size_t n_ops = (size_t)g->n_nodes + 2; /* the input, and a tail that may be added */
	int err;

	memset(plan, 0, sizeof(*plan));
	l.value = gw__pool_alloc(&work, g->n_values, sizeof(int));
	l.alias = gw__pool_alloc(&work, g->n_values, sizeof(int));
	l.uses = gw__pool_alloc(&work, g->n_values, sizeof(uint32_t));
	l.producer = gw__pool_alloc(&work, n_ops, sizeof(int));
	plan->shapes = gw__pool_alloc(&plan->pool, n_ops, sizeof(*plan->shapes));
	plan->ops = gw__pool_alloc(&plan->pool, n_ops, sizeof(*plan->ops));
	if (l.value && l.alias && l.uses && l.producer && plan->shapes && plan->ops) {
		for (uint32_t i = 0; i < g->n_values; i++)
			l.value[i] = l.alias[i] = -1;
		err = lower_all(&l);
	} else {
		err = gw__fail(diag, -ENOMEM, "plan: out of memory");
	}
	gw__pool_fini(&work);
	if (err)
		gw__plan_fini(plan);
	return err;
}

void gw__plan_fini(struct gw__plan *plan)
{
	gw__pool_fini(&plan->pool);
	memset(plan, 0, sizeof(*plan));
}

int gw__plan_add_tail(struct gw__plan *plan)
{
	const struct gw__plan_op *end = &plan->ops[plan->output];
	struct gw__plan_op *op = &plan->ops[plan->n_ops];
	size_t n_chan = (size_t)plan->shapes[plan->output].c;

	if (end->kind == GW__PLAN_DENSE || end->kind == GW__PLAN_AFFINE)
		return 0;
	op->scale = copy_floats(&plan->pool, NULL, n_chan);
	op->shift = copy_floats(&plan->pool, NULL, n_chan);
	op->name = gw__pool_strdup(&plan->pool, "tail");
	if (!op->scale || !op->shift || !op->name)
		return -ENOMEM;
	for (size_t c = 0; c < n_chan; c++)
		op->scale[c] = 1.0f;
	op->kind = GW__PLAN_AFFINE;
	op->in = plan->output;
	op->in2 = -1;
	op->out = (int)plan->n_values;
	op->groups = 1;
	plan->shapes[plan->n_values++] = plan->shapes[plan->output];
	plan->output = op->out;
	plan->n_ops++;
	return 0;
}
