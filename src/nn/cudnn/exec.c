/* nn/cudnn/exec.c: the GPU backend: opens cuDNN, lays the plan out, runs one graph a batch, hands features
 * back through pinned slots. Nothing blocks but wait(). Must not know ONNX. Next: layout.c, steps.c. */
#include "nn/cudnn/exec.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/diag.h"
#include "base/log.h"

#define PATIENCE 3u /* times that a new batch size runs as part of a whole chunk */

static void destroy(struct gw__exec *x)
{
	int err;

	if (!x)
		return;
	if (x->stream) {
		err = x->gpu->stream_sync(x->stream);
		(void)err; /* the slots' events told whoever waited */
	}
	for (uint32_t n = 0; x->batch && n <= x->chunk; n++)
		gw__cudnn_batch_destroy(x, x->batch[n]);
	gw__cudnn_weights_free(x);
	for (uint32_t i = 0; i < GW__NN_SLOTS; i++) {
		if (x->event[i])
			x->gpu->event_destroy(x->event[i]);
		if (x->slot[i])
			x->gpu->mem_free(x->slot[i]);
	}
	if (x->features)
		x->gpu->mem_free(x->features);
	if (x->peak_dev)
		x->gpu->mem_free(x->peak_dev);
	if (x->arena)
		x->gpu->mem_free(x->arena);
	if (x->env.workspace)
		x->gpu->mem_free(x->env.workspace);
	if (x->env.handle)
		x->env.lib->cudnnDestroy(x->env.handle);
	if (x->stream)
		x->gpu->stream_destroy(x->stream);
	gw__free(x->env.cache_path);
	gw__free(x->batch);
	gw__free(x->val);
	gw__free(x->wts);
	gw__free(x->peaks);
	gw__plan_fini(&x->plan);
	gw__free(x);
}

static int open_library(struct gw__exec *x, struct gw_diag *diag)
{
	cudnnStatus_t st;
	int err;

	x->env.lib = gw__cudnn_lib(diag);
	if (!x->env.lib)
		return -ENOTSUP;
	err = x->gpu->stream_create(&x->stream, diag);
	if (err)
		return err;
	st = x->env.lib->cudnnCreate(&x->env.handle);
	if (st == CUDNN_STATUS_SUCCESS)
		st = x->env.lib->cudnnSetStream(x->env.handle, x->gpu->native_stream(x->stream));
	if (st != CUDNN_STATUS_SUCCESS)
		return gw__fail(diag, -EIO, "cuDNN could not be opened: %s", x->env.lib->cudnnGetErrorString(st));
	x->env.gpu = x->gpu;
	x->env.stream = x->stream;
	snprintf(x->name, sizeof(x->name), "cuDNN %zu.%zu.%zu, %s", x->env.lib->version / 10000,
		 x->env.lib->version / 100 % 100, x->env.lib->version % 100,
		 x->cfg.precision == GW_NN_INT8 ? "int8" : "fp16");
	return gw__nn_kernels_prepare(x->gpu, diag);
}

/* choices-cudnn-9.14.0-<card>.txt in the plan cache's folder */
static int name_cache(struct gw__exec *x)
{
	char path[4096], card[96];

	if (!x->cfg.plan_cache)
		return 0;
	snprintf(card, sizeof(card), "%s", x->gpu->describe());
	for (char *c = card; *c; c++)
		if (!((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9')))
			*c = '-';
	snprintf(path, sizeof(path), "%s/choices-cudnn-%zu-%s.txt", x->cfg.plan_cache, x->env.lib->version, card);
	x->env.cache_path = gw__strdup(path);
	x->cfg.plan_cache = NULL; /* the caller's */
	return x->env.cache_path ? 0 : -ENOMEM;
}

static int alloc_results(struct gw__exec *x, struct gw_diag *diag)
{
	const size_t row = x->n_features * sizeof(float);
	void *p;
	int err = x->gpu->mem_alloc(GW_MEM_DEVICE, row * x->chunk, 0, &p, diag);

	if (err)
		return err;
	x->features = p;
	for (uint32_t i = 0; i < GW__NN_SLOTS && !err; i++) {
		err = x->gpu->mem_alloc(GW_MEM_HOST_PINNED, row * x->cfg.max_batch, 0, &p, diag);
		if (err)
			break;
		x->slot[i] = p;
		err = x->gpu->event_create(&x->event[i]);
	}
	return err;
}

static int prepare(struct gw__exec *x, struct gw_diag *diag)
{
	struct gw__batch *b;
	int err;

	x->chunk = x->cfg.max_batch < GW_NN_CHUNK ? x->cfg.max_batch : GW_NN_CHUNK;
	x->n_features = (uint32_t)gw__shape_elems(&x->plan.shapes[x->plan.output]);
	x->val = gw__calloc(x->plan.n_values, sizeof(*x->val));
	x->wts = gw__calloc(x->plan.n_ops, sizeof(*x->wts));
	x->batch = gw__calloc(x->chunk + 1, sizeof(struct gw__batch *));
	x->peaks = gw__calloc(x->plan.n_values, sizeof(float));
	if (!x->val || !x->wts || !x->batch || !x->peaks)
		return gw__fail(diag, -ENOMEM, "plan: no memory");
	if (x->cfg.peaks)
		memcpy(x->peaks, x->cfg.peaks, x->plan.n_values * sizeof(float));
	x->cfg.peaks = NULL; /* the caller's; ours is kept */
	if (x->plan.shapes[x->plan.ops[0].out].c > 8)
		return gw__fail(diag, -ENOTSUP, "the input has %lld channels; the card's first layer takes at most 8",
				(long long)x->plan.shapes[x->plan.ops[0].out].c);
	err = open_library(x, diag);
	if (!err)
		err = name_cache(x) ? gw__fail(diag, -ENOMEM, "plan: no memory") : 0;
	if (!err)
		err = alloc_results(x, diag);
	if (!err)
		err = gw__cudnn_layout(x, diag);
	if (!err)
		err = gw__cudnn_weights(x, diag);
	return err ? err : gw__cudnn_batch(x, x->chunk, &b, diag);
}

static int create(struct gw__plan *plan, const struct gw__exec_cfg *cfg, struct gw__exec **out, struct gw_diag *diag)
{
	struct gw__exec *x = gw__calloc(1, sizeof(*x));
	int err;

	if (!x) {
		gw__plan_fini(plan);
		return gw__fail(diag, -ENOMEM, "plan: no memory");
	}
	x->plan = *plan;
	memset(plan, 0, sizeof(*plan));
	x->cfg = *cfg;
	x->gpu = gw__gpu();
	err = prepare(x, diag);
	if (err) {
		destroy(x);
		return err;
	}
	*out = x; /* the weights stay on the host too: a layer without an int8 engine is known only per batch */
	return 0;
}

/* The steps for n samples. Those of a whole chunk do, the rest of it ignored, until n comes several times in a row:
 * making steps takes from half a second to a minute, and what is left of a window that lost a picture cannot wait. */
static int steps_for(struct gw__exec *x, uint32_t n, struct gw__batch **out)
{
	x->n_in_a_row = n == x->n_last ? x->n_in_a_row + 1 : 1;
	x->n_last = n;
	return gw__cudnn_batch(x, x->n_in_a_row > PATIENCE || x->batch[n] ? n : x->chunk, out, NULL);
}

static int run_chunk(struct gw__exec *x, const uint8_t *input, uint32_t n, float *to)
{
	const struct gw__copy back = { .dst = to, .src = x->features,
				       .n_bytes = (size_t)n * x->n_features * sizeof(float) };
	struct gw__batch *b;
	int err = steps_for(x, n, &b);

	if (err)
		return err;
	b->steps[0].input.x = (const uint16_t *)input;
	b->steps[0].input.n = n;
	err = gw__cudnn_step(x, &b->steps[0]);
	if (!err)
		err = x->gpu->graph_launch(b->graph, x->stream);
	return err ? err : x->gpu->copy_batch(x->stream, &back, 1);
}

static size_t input_bytes(const struct gw__exec *x)
{
	return gw__shape_elems(&x->plan.shapes[x->plan.ops[0].out]) * 2;
}

static int submit(struct gw__exec *x, const void *input, uint32_t n, struct gw_event *ready, uint32_t slot)
{
	const uint8_t *in = input;
	float *to = x->slot[slot];
	int err = ready ? x->gpu->stream_wait(x->stream, ready) : 0;

	while (n && !err) {
		uint32_t m = n < x->chunk ? n : x->chunk;

		err = run_chunk(x, in, m, to);
		in += m * input_bytes(x);
		to += (size_t)m * x->n_features;
		n -= m;
	}
	return err ? err : x->gpu->event_record(x->event[slot], x->stream);
}

static int wait_slot(struct gw__exec *x, uint32_t slot, const float **features)
{
	*features = x->slot[slot];
	return x->gpu->event_sync(x->event[slot]);
}

static const char *name(const struct gw__exec *x)
{
	return x->name;
}

/* Step by step, reading each finished value's peak. */
static int measure(struct gw__exec *x, const void *input, uint32_t n, float *peaks)
{
	struct gw__batch *b;
	uint32_t step = 1;
	void *p;
	int err = n > x->chunk || x->cfg.precision == GW_NN_INT8 ? -EINVAL : gw__cudnn_batch(x, n, &b, NULL);

	if (err)
		return err;
	if (!x->peak_dev) {
		err = x->gpu->mem_alloc(GW_MEM_HOST_PINNED, sizeof(*x->peak_dev), 0, &p, NULL);
		x->peak_dev = err ? NULL : p;
	}
	if (err)
		return err;
	b->steps[0].input.x = input;
	b->steps[0].input.n = n;
	err = gw__cudnn_step(x, &b->steps[0]);
	for (uint32_t i = 1; i < x->plan.n_ops && step < b->n_steps && !err; i++) { /* fp16: one step an op */
		const struct gw__val *v = &x->val[x->plan.ops[i].out];
		struct gw__peak_args a = { .x = gw__cudnn_ptr(x, x->plan.ops[i].out), .peak = x->peak_dev,
					   .n_elems = (uint64_t)v->elems * n, .x_type = v->type, .x_scale = v->scale };
		float peak;

		*x->peak_dev = 0;
		err = gw__cudnn_step(x, &b->steps[step++]);
		if (!err)
			err = gw__nn_peak(x->gpu, x->stream, &a);
		if (!err)
			err = x->gpu->stream_sync(x->stream);
		memcpy(&peak, x->peak_dev, sizeof(peak));
		if (peak > peaks[x->plan.ops[i].out])
			peaks[x->plan.ops[i].out] = peak;
	}
	return err;
}

/* Each step alone, many times in one graph: where a batch's time goes. */
static int profile(struct gw__exec *x, uint32_t n, void (*row)(void *ctx, const char *text, double us), void *ctx)
{
	struct gw__clock *clock = gw__clock_monotonic();
	struct gw__batch *b;
	int err = n > x->chunk ? -EINVAL : gw__cudnn_batch(x, n, &b, NULL);

	for (uint32_t i = 1; !err && i < b->n_steps; i++) {
		struct gw__graph *g = NULL;
		char text[192], spec[128] = "";
		double best = 0;

		err = x->gpu->capture_begin(x->stream);
		for (int k = 0; k < 10 && !err; k++)
			err = gw__cudnn_step(x, &b->steps[i]);
		if (x->gpu->capture_end(x->stream, &g))
			return -EIO;
		for (int lap = 0; lap < 4 && !err; lap++) {
			uint64_t t0 = gw__now_ns(clock);
			double us;

			err = x->gpu->graph_launch(g, x->stream);
			if (!err)
				err = x->gpu->stream_sync(x->stream);
			us = (double)(gw__now_ns(clock) - t0) * 1e-4;
			if (lap && (best == 0 || us < best))
				best = us;
		}
		x->gpu->graph_destroy(g);
		if (b->steps[i].conv)
			gw__conv_describe(b->steps[i].conv, spec);
		snprintf(text, sizeof(text), "%.60s %s", b->steps[i].name, spec);
		row(ctx, text, best);
	}
	return err;
}

const struct gw__nn_backend gw__nn_cudnn = {
	.create = create,
	.destroy = destroy,
	.submit = submit,
	.wait = wait_slot,
	.name = name,
	.measure = measure,
	.profile = profile,
	.best = GW_NN_FP16,
	.precisions = 1u << GW_NN_FP16 | 1u << GW_NN_INT8,
};
