/* nn/cudnn/conv.c: a fused convolution as cuDNN operation graph, its candidates timed, the fastest kept.
 * Must not know what comes before or after it. Next: exec.c. */
#include "nn/cudnn/conv.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/diag.h"
#include "base/log.h"
#include "nn/cudnn/choice.h"

#define MAX_DESC 40u
#define MAX_CONFIGS 12u
#define TIMED_RUNS 10

enum uid { UID_X = 1, UID_W, UID_BIAS, UID_SCALE, UID_Z, UID_ZSCALE, UID_Y, UID_VIRTUAL };

struct gw__conv {
	cudnnBackendDescriptor_t plan, pack;
	struct gw__conv_spec spec;
	struct gw__conv_args args;
	double us;
};

/* Everything made while building, destroyed together. */
struct build {
	const struct gw__cudnn *lib;
	const struct gw__conv_spec *spec;
	cudnnBackendDescriptor_t made[MAX_DESC];
	uint32_t n_made;
	int64_t next_virtual;
	cudnnBackendDescriptor_t ops[7];
	int64_t n_ops;
	cudnnStatus_t status; /* the first failure; later calls are skipped */
	const char *failed;
};

static void note(struct build *b, cudnnStatus_t st, const char *what)
{
	if (b->status == CUDNN_STATUS_SUCCESS && st != CUDNN_STATUS_SUCCESS) {
		b->status = st;
		b->failed = what;
	}
}

static cudnnBackendDescriptor_t make(struct build *b, cudnnBackendDescriptorType_t type)
{
	cudnnBackendDescriptor_t d = NULL;

	if (b->status != CUDNN_STATUS_SUCCESS)
		return NULL;
	if (b->n_made == MAX_DESC) {
		note(b, CUDNN_STATUS_ALLOC_FAILED, "too many descriptors");
		return NULL;
	}
	note(b, b->lib->cudnnBackendCreateDescriptor(type, &d), "cudnnBackendCreateDescriptor");
	if (d)
		b->made[b->n_made++] = d;
	return d;
}

static void set(struct build *b, cudnnBackendDescriptor_t d, cudnnBackendAttributeName_t name,
		cudnnBackendAttributeType_t type, int64_t n, const void *value)
{
	if (b->status == CUDNN_STATUS_SUCCESS)
		note(b, b->lib->cudnnBackendSetAttribute(d, name, type, n, value), "cudnnBackendSetAttribute");
}

static void finalize(struct build *b, cudnnBackendDescriptor_t d, const char *what)
{
	if (b->status == CUDNN_STATUS_SUCCESS)
		note(b, b->lib->cudnnBackendFinalize(d), what);
}

static void build_fini(struct build *b)
{
	while (b->n_made)
		b->lib->cudnnBackendDestroyDescriptor(b->made[--b->n_made]);
}

/* ---- the graph ------------------------------------------------------------------------------------ */

/* dims (n, c, h, w) with channels last in memory */
static cudnnBackendDescriptor_t tensor(struct build *b, int64_t uid, cudnnDataType_t type, int64_t n, int64_t c,
				       int64_t h, int64_t w)
{
	const int64_t dims[4] = { n, c, h, w }, strides[4] = { h * w * c, 1, w * c, c }, align = 16;
	const bool is_virtual = uid >= UID_VIRTUAL;
	cudnnBackendDescriptor_t d = make(b, CUDNN_BACKEND_TENSOR_DESCRIPTOR);

	set(b, d, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &uid);
	set(b, d, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
	set(b, d, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, dims);
	set(b, d, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, strides);
	set(b, d, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &align);
	if (is_virtual)
		set(b, d, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &is_virtual);
	finalize(b, d, "tensor");
	return d;
}

/* the output of one step inside the fusion */
static cudnnBackendDescriptor_t inner(struct build *b, cudnnDataType_t type)
{
	const struct gw__conv_spec *s = b->spec;

	return tensor(b, b->next_virtual++, type, s->n, s->k, s->p, s->q);
}

static void convolution(struct build *b, cudnnBackendDescriptor_t x, cudnnBackendDescriptor_t w,
			cudnnBackendDescriptor_t y)
{
	const struct gw__conv_spec *s = b->spec;
	const cudnnDataType_t compute = s->int8 ? CUDNN_DATA_INT32 : CUDNN_DATA_FLOAT;
	const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
	const int64_t two = 2;
	const float one = 1.0f, zero = 0.0f;
	cudnnBackendDescriptor_t c = make(b, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR), op;

	set(b, c, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &compute);
	set(b, c, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode);
	set(b, c, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, 1, &two);
	set(b, c, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, 2, s->pad_lo);
	set(b, c, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, 2, s->pad_hi);
	set(b, c, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, 2, s->dilation);
	set(b, c, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, 2, s->stride);
	finalize(b, c, "convolution");
	op = make(b, CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
	set(b, op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &x);
	set(b, op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &w);
	set(b, op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &y);
	set(b, op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &c);
	set(b, op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_FLOAT, 1, &one);
	set(b, op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_FLOAT, 1, &zero);
	finalize(b, op, "convolution operation");
	b->ops[b->n_ops++] = op;
}

/* y = x (mode) other; other NULL for relu */
static void pointwise(struct build *b, cudnnPointwiseMode_t mode, cudnnBackendDescriptor_t x,
		      cudnnBackendDescriptor_t other, cudnnBackendDescriptor_t y)
{
	const cudnnDataType_t prec = CUDNN_DATA_FLOAT;
	cudnnBackendDescriptor_t p = make(b, CUDNN_BACKEND_POINTWISE_DESCRIPTOR), op;

	set(b, p, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode);
	set(b, p, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, &prec);
	finalize(b, p, "pointwise");
	op = make(b, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
	set(b, op, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &p);
	set(b, op, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &x);
	if (other)
		set(b, op, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &other);
	set(b, op, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &y);
	finalize(b, op, "pointwise operation");
	b->ops[b->n_ops++] = op;
}

/* conv [* scale] [+ z [* z_scale]] + bias [relu]; the order of the fusions that cuDNN knows by heart */
static cudnnBackendDescriptor_t graph(struct build *b, cudnnHandle_t handle)
{
	const struct gw__conv_spec *s = b->spec;
	const cudnnDataType_t in = s->int8 ? CUDNN_DATA_INT8 : CUDNN_DATA_HALF;
	const cudnnDataType_t side = s->int8 ? CUDNN_DATA_FLOAT : CUDNN_DATA_HALF;
	const cudnnDataType_t out = s->int8 && !s->y_half ? CUDNN_DATA_INT8 : CUDNN_DATA_HALF;
	cudnnBackendDescriptor_t x = tensor(b, UID_X, in, s->n, s->c, s->h, s->w);
	cudnnBackendDescriptor_t w = tensor(b, UID_W, in, s->k, s->c / s->groups, s->r, s->s);
	cudnnBackendDescriptor_t y = tensor(b, UID_Y, out, s->n, s->k, s->p, s->q);
	cudnnBackendDescriptor_t at = inner(b, s->int8 ? CUDNN_DATA_INT32 : CUDNN_DATA_FLOAT), next, g;

	convolution(b, x, w, at);
	if (s->int8) {
		next = inner(b, CUDNN_DATA_FLOAT);
		pointwise(b, CUDNN_POINTWISE_MUL, at, tensor(b, UID_SCALE, CUDNN_DATA_FLOAT, 1, s->k, 1, 1), next);
		at = next;
	}
	if (s->add) {
		cudnnBackendDescriptor_t z = tensor(b, UID_Z, in, s->n, s->k, s->p, s->q);

		if (s->int8) { /* without the identity in front cuDNN 9.14 crashes while it compiles the product */
			next = inner(b, CUDNN_DATA_FLOAT);
			pointwise(b, CUDNN_POINTWISE_IDENTITY, z, NULL, next);
			z = next;
			next = inner(b, CUDNN_DATA_FLOAT);
			pointwise(b, CUDNN_POINTWISE_MUL, z, tensor(b, UID_ZSCALE, CUDNN_DATA_FLOAT, 1, s->k, 1, 1),
				  next);
			z = next;
		}
		next = inner(b, CUDNN_DATA_FLOAT);
		pointwise(b, CUDNN_POINTWISE_ADD, at, z, next);
		at = next;
	}
	next = s->relu ? inner(b, CUDNN_DATA_FLOAT) : y;
	pointwise(b, CUDNN_POINTWISE_ADD, at, tensor(b, UID_BIAS, side, 1, s->k, 1, 1), next);
	if (s->relu)
		pointwise(b, CUDNN_POINTWISE_RELU_FWD, next, NULL, y);
	g = make(b, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
	set(b, g, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, b->n_ops, b->ops);
	set(b, g, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle);
	finalize(b, g, "operation graph");
	return g;
}

/* ---- engines -------------------------------------------------------------------------------------- */

struct candidates {
	cudnnBackendDescriptor_t config[MAX_CONFIGS];
	int64_t n;
};

static void ask(struct build *b, cudnnBackendDescriptor_t g, cudnnBackendHeurMode_t mode, struct candidates *c)
{
	cudnnBackendDescriptor_t h = make(b, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
	int64_t got = 0, room = MAX_CONFIGS - c->n;

	set(b, h, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &g);
	set(b, h, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
	finalize(b, h, "heuristics");
	for (int64_t i = 0; i < room; i++)
		if (b->lib->cudnnBackendCreateDescriptor(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, &c->config[c->n + i]) !=
		    CUDNN_STATUS_SUCCESS)
			note(b, CUDNN_STATUS_ALLOC_FAILED, "engine configuration");
	if (b->status == CUDNN_STATUS_SUCCESS)
		note(b, b->lib->cudnnBackendGetAttribute(h, CUDNN_ATTR_ENGINEHEUR_RESULTS,
							 CUDNN_TYPE_BACKEND_DESCRIPTOR, room, &got,
							 &c->config[c->n]), "heuristics' results");
	if (b->status != CUDNN_STATUS_SUCCESS)
		got = 0;
	got = got < room ? got : room;
	for (int64_t i = got; i < room; i++) {
		if (c->config[c->n + i])
			b->lib->cudnnBackendDestroyDescriptor(c->config[c->n + i]);
		c->config[c->n + i] = NULL;
	}
	c->n += got;
}

/* The engine's number, and whether it may be used: the same bytes each time. */
static bool deterministic(struct build *b, cudnnBackendDescriptor_t config, int64_t *engine_no)
{
	cudnnBackendDescriptor_t engine = NULL;
	cudnnBackendNumericalNote_t notes[CUDNN_NUMERICAL_NOTE_TYPE_COUNT];
	int64_t n = 0;
	bool good = true;

	*engine_no = -1;
	if (b->lib->cudnnBackendCreateDescriptor(CUDNN_BACKEND_ENGINE_DESCRIPTOR, &engine) != CUDNN_STATUS_SUCCESS)
		return false;
	if (b->lib->cudnnBackendGetAttribute(config, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
					     &n, &engine) != CUDNN_STATUS_SUCCESS)
		good = false;
	if (good)
		b->lib->cudnnBackendGetAttribute(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &n,
						 engine_no);
	n = 0;
	if (good && b->lib->cudnnBackendGetAttribute(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
						     CUDNN_TYPE_NUMERICAL_NOTE, CUDNN_NUMERICAL_NOTE_TYPE_COUNT, &n,
						     notes) != CUDNN_STATUS_SUCCESS)
		good = false;
	for (int64_t i = 0; i < n; i++)
		good = good && notes[i] != CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC;
	b->lib->cudnnBackendDestroyDescriptor(engine);
	return good;
}

static cudnnBackendDescriptor_t plan_of(const struct gw__cudnn *lib, cudnnHandle_t handle,
					cudnnBackendDescriptor_t config)
{
	cudnnBackendDescriptor_t p = NULL;

	if (lib->cudnnBackendCreateDescriptor(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, &p) != CUDNN_STATUS_SUCCESS)
		return NULL;
	if (lib->cudnnBackendSetAttribute(p, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle) ||
	    lib->cudnnBackendSetAttribute(p, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
					  &config) ||
	    lib->cudnnBackendFinalize(p)) {
		lib->cudnnBackendDestroyDescriptor(p);
		return NULL;
	}
	return p;
}

static int grow_workspace(struct gw__conv_env *env, size_t n_bytes)
{
	void *p;
	int err;

	if (n_bytes <= env->workspace_bytes)
		return 0;
	err = env->gpu->stream_sync(env->stream);
	if (!err)
		err = env->gpu->mem_alloc(GW_MEM_DEVICE, n_bytes, 0, &p, NULL);
	if (err)
		return err;
	if (env->workspace)
		env->gpu->mem_free(env->workspace);
	env->workspace = p;
	env->workspace_bytes = n_bytes;
	return 0;
}

int gw__conv_rebind(struct gw__conv_env *env, struct gw__conv *c)
{
	const struct gw__cudnn *lib = env->lib;
	const struct gw__conv_spec *spec = &c->spec;
	const struct gw__conv_args *a = &c->args;
	int64_t uid[8];
	void *ptr[8];
	int64_t n = 0;

#define ADD(id, p) (uid[n] = (id), ptr[n++] = (void *)(uintptr_t)(p))
	ADD(UID_X, a->x);
	ADD(UID_W, a->w);
	ADD(UID_BIAS, a->bias);
	ADD(UID_Y, a->y);
	if (spec->int8)
		ADD(UID_SCALE, a->scale);
	if (spec->add)
		ADD(UID_Z, a->z);
	if (spec->add && spec->int8)
		ADD(UID_ZSCALE, a->z_scale);
#undef ADD
	if (c->pack)
		lib->cudnnBackendDestroyDescriptor(c->pack);
	c->pack = NULL;
	if (lib->cudnnBackendCreateDescriptor(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, &c->pack) ||
	    lib->cudnnBackendSetAttribute(c->pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, n, uid) ||
	    lib->cudnnBackendSetAttribute(c->pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, n, ptr) ||
	    lib->cudnnBackendSetAttribute(c->pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1,
					  &env->workspace) ||
	    lib->cudnnBackendFinalize(c->pack))
		return -EIO;
	return 0;
}

int gw__conv_run(struct gw__conv_env *env, struct gw__conv *conv)
{
	cudnnStatus_t st = env->lib->cudnnBackendExecute(env->handle, conv->plan, conv->pack);

	if (st == CUDNN_STATUS_SUCCESS)
		return 0;
	gw__error("cudnnBackendExecute failed: %s", env->lib->cudnnGetErrorString(st));
	return -EIO;
}

/* Microseconds of one run, from a graph of several (launches then cost nothing); 0 = it does not run. */
static double time_plan(struct gw__conv_env *env, struct gw__conv *c)
{
	struct gw__clock *clock = gw__clock_monotonic();
	struct gw__graph *g = NULL;
	double best = 0;
	int err = env->gpu->capture_begin(env->stream);

	for (int i = 0; !err && i < TIMED_RUNS; i++)
		err = gw__conv_run(env, c);
	if (env->gpu->capture_end(env->stream, &g) || err) {
		env->gpu->graph_destroy(g);
		return 0;
	}
	for (int lap = 0; lap < 4 && !err; lap++) {
		uint64_t t0 = gw__now_ns(clock);
		double us;

		err = env->gpu->graph_launch(g, env->stream);
		if (!err)
			err = env->gpu->stream_sync(env->stream);
		us = (double)(gw__now_ns(clock) - t0) * 1e-3 / TIMED_RUNS;
		if (lap && (best == 0 || us < best)) /* the first lap warms up */
			best = us;
	}
	env->gpu->graph_destroy(g);
	return err ? 0 : best;
}

static int try_config(struct gw__conv_env *env, const struct gw__conv_spec *spec, const struct gw__conv_args *args,
		      cudnnBackendDescriptor_t config, struct gw__conv *c)
{
	int64_t workspace = 0, n = 0;

	memset(c, 0, sizeof(*c));
	c->spec = *spec;
	c->args = *args;
	c->plan = plan_of(env->lib, env->handle, config);
	if (!c->plan)
		return -ENOTSUP;
	if (env->lib->cudnnBackendGetAttribute(c->plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1,
					       &n, &workspace) ||
	    grow_workspace(env, (size_t)workspace))
		return -ENOMEM;
	return gw__conv_rebind(env, c);
}

static void conv_fini(struct gw__conv_env *env, struct gw__conv *c)
{
	if (c->pack)
		env->lib->cudnnBackendDestroyDescriptor(c->pack);
	if (c->plan)
		env->lib->cudnnBackendDestroyDescriptor(c->plan);
	c->pack = c->plan = NULL;
}

/* Time what was offered; keep the fastest. Its index, or -ENOTSUP. */
static int fastest(struct gw__conv_env *env, struct build *b, const struct gw__conv_args *args,
		   const struct candidates *cand, struct gw__conv *keep)
{
	char text[128], line[512];
	int best = -ENOTSUP, at = 0;

	at += snprintf(line, sizeof(line), "engines for %s:", gw__conv_text(b->spec, text));
	for (int64_t i = 0; i < cand->n; i++) {
		struct gw__conv c = { 0 };
		int64_t engine;
		bool good = deterministic(b, cand->config[i], &engine);

		if (good && !try_config(env, b->spec, args, cand->config[i], &c))
			c.us = time_plan(env, &c);
		env->n_timed++;
		if (at < (int)sizeof(line) - 40)
			at += snprintf(line + at, sizeof(line) - (size_t)at, good ? " %lld=%.1fus" : " %lld=nondet",
				       (long long)engine, c.us);
		if (c.us > 0 && (best < 0 || c.us < keep->us)) {
			struct gw__conv worse = *keep;

			*keep = c;
			c = worse;
			best = (int)i;
		}
		conv_fini(env, &c);
	}
	gw__info("%s", line);
	return best;
}

int gw__conv_create(struct gw__conv_env *env, const struct gw__conv_spec *spec, const struct gw__conv_args *args,
		    struct gw__conv **out, struct gw_diag *diag)
{
	struct build b = { .lib = env->lib, .spec = spec, .next_virtual = UID_VIRTUAL };
	struct candidates cand = { .n = 0 };
	char text[128];
	struct gw__conv *c = gw__calloc(1, sizeof(*c));
	int pick = -ENOTSUP, err;
	cudnnBackendDescriptor_t g;

	if (!c)
		return gw__fail(diag, -ENOMEM, "convolution: no memory");
	gw__conv_text(spec, text);
	g = graph(&b, env->handle);
	if (b.status == CUDNN_STATUS_SUCCESS)
		ask(&b, g, CUDNN_HEUR_MODE_A, &cand);
	if (!cand.n && g) {
		b.status = CUDNN_STATUS_SUCCESS;
		ask(&b, g, CUDNN_HEUR_MODE_FALLBACK, &cand);
	}
	if (cand.n)
		pick = gw__choice_get(env->cache_path, text, (int)cand.n);
	if (pick >= 0) {
		err = try_config(env, spec, args, cand.config[pick], c);
	} else {
		pick = cand.n ? fastest(env, &b, args, &cand, c) : -ENOTSUP;
		if (pick >= 0)
			gw__choice_put(env->cache_path, text, pick, c->us);
		err = pick < 0 ? -ENOTSUP : gw__conv_rebind(env, c); /* the workspace may have moved since */
	}
	if (err)
		gw__fail(diag, err, "no cuDNN engine takes %s (%s: %s)", text, b.failed ? b.failed : "none offered",
			 env->lib->cudnnGetErrorString(b.status));
	for (int64_t i = 0; i < cand.n; i++)
		env->lib->cudnnBackendDestroyDescriptor(cand.config[i]);
	build_fini(&b);
	if (err) {
		conv_fini(env, c);
		gw__free(c);
		return err;
	}
	*out = c;
	return 0;
}

void gw__conv_destroy(struct gw__conv_env *env, struct gw__conv *conv)
{
	if (!conv)
		return;
	conv_fini(env, conv);
	gw__free(conv);
}

void gw__conv_describe(const struct gw__conv *conv, char *buf)
{
	gw__conv_text(&conv->spec, buf);
}

double gw__conv_us(const struct gw__conv *conv)
{
	return conv->us;
}

const char *gw__conv_text(const struct gw__conv_spec *s, char *buf)
{
	snprintf(buf, 128, "%lldx%lldx%lld k%lld %lldx%lld s%lld p%lld g%lld%s%s %s n%lld", (long long)s->c,
		 (long long)s->h, (long long)s->w, (long long)s->k, (long long)s->r, (long long)s->s,
		 (long long)s->stride[0], (long long)s->pad_lo[0], (long long)s->groups, s->add ? " +z" : "",
		 s->relu ? " relu" : "", s->int8 ? s->y_half ? "int8/fp16" : "int8" : "fp16", (long long)s->n);
	return buf;
}
