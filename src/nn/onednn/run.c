/* nn/onednn/run.c: the CPU backend: opens oneDNN, keeps one arena, runs the laid-out steps.
 * Must not know how a step was built. Next: nn/nn.c calls it through nn/backend.h. */
#include "base/alloc.h"
#include "base/diag.h"
#include "gpu/gpu.h"
#include "nn/half.h"
#include "nn/onednn/exec.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

/* oneDNN runs on OpenMP's threads; these two calls of libgomp set how many this thread may start. Declared
 * here because clang has no omp.h of its own on every machine. */
extern void omp_set_num_threads(int n);
extern int omp_get_max_threads(void);

/* Samples that go through together. Winograd's sums are grouped by the number of tiles, so there the chunk is always
 * full (a short tail repeats its last sample): a sample's features are then the same bits in any batch. Eight
 * keep that waste small and cost nothing measurable. Direct convolutions give the same bits for any number. */
#define PADDED_CHUNK 8u
#define EXACT_CHUNK 32u

static uint32_t allowed_cores(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) < 0)
		return 1;
	return (uint32_t)CPU_COUNT(&set);
}

static void destroy(struct gw__exec *x)
{
	if (!x)
		return;
	for (uint32_t i = 0; x->layouts && i <= x->chunk; i++)
		gw__layout_destroy(x->layouts[i]);
	for (uint32_t i = 0; x->weights && i < x->plan.n_ops; i++)
		gw__weights_fini(&x->weights[i]);
	gw__quiet_fini(&x->quiet);
	if (x->stream)
		dnnl_stream_destroy(x->stream);
	if (x->engine)
		dnnl_engine_destroy(x->engine);
	gw__free(x->layouts);
	gw__free(x->weights);
	gw__free(x->arena);
	gw__free(x->scratch);
	gw__free(x->slots);
	gw__free(x->peaks);
	gw__free(x->means);
	gw__plan_fini(&x->plan);
	gw__free(x);
}

/* The bytes behind a layout; larger ones replace smaller ones and everything is pointed there again. */
static int make_room(struct gw__exec *x, const struct layout *y)
{
	void *p;

	if (y->arena_bytes > x->arena_bytes) {
		p = gw__aligned_alloc(4096, y->arena_bytes);
		if (!p)
			return -ENOMEM;
		gw__free(x->arena);
		x->arena = p;
		x->arena_bytes = y->arena_bytes;
	}
	if (y->scratch_bytes > x->scratch_bytes) {
		p = gw__aligned_alloc(4096, y->scratch_bytes);
		if (!p)
			return -ENOMEM;
		gw__free(x->scratch);
		x->scratch = p;
		x->scratch_bytes = y->scratch_bytes;
	}
	return 0;
}

static int layout_for(struct gw__exec *x, uint32_t n, struct gw_diag *diag)
{
	int err;

	if (x->layouts[n])
		return 0;
	err = gw__layout_make(x, n, diag);
	if (err)
		return err;
	err = make_room(x, x->layouts[n]);
	for (uint32_t i = 1; !err && i <= x->chunk; i++)
		if (x->layouts[i])
			err = gw__layout_bind(x, x->layouts[i]);
	if (!err)
		return 0;
	/* Others may point at freed bytes now; they are made again when next asked for. */
	for (uint32_t i = 1; i <= x->chunk; i++) {
		gw__layout_destroy(x->layouts[i]);
		x->layouts[i] = NULL;
	}
	return gw__fail(diag, err, "plan: no memory for the activations of %u samples", n);
}

static int prepare(struct gw__exec *x, struct gw_diag *diag)
{
	const struct gw__shape *out = &x->plan.shapes[x->plan.output];
	size_t n_floats;
	uint32_t most;

	if (dnnl_engine_create(&x->engine, dnnl_cpu, 0) || dnnl_stream_create(&x->stream, x->engine, dnnl_stream_in_order))
		return gw__fail(diag, -EIO, "oneDNN: cannot open its CPU engine");
	x->blocked = x->cfg.precision == GW_NN_FP32 && gw__winograd_here(x->engine);
	x->pad = x->blocked;
	x->wide = gw__bf16_here(x->engine) ? dnnl_bf16 : dnnl_f32;
	most = x->pad ? PADDED_CHUNK : EXACT_CHUNK;
	x->chunk = x->cfg.max_batch < most ? x->cfg.max_batch : most;
	x->slot_batch = (x->cfg.max_batch + x->chunk - 1) / x->chunk * x->chunk;
	x->n_features = (uint32_t)gw__shape_elems(out);
	x->layouts = gw__calloc(x->chunk + 1, sizeof(struct layout *));
	x->weights = gw__calloc(x->plan.n_ops, sizeof(*x->weights));
	if (__builtin_mul_overflow((size_t)x->n_features * GW__NN_SLOTS, x->slot_batch, &n_floats) ||
	    n_floats > SIZE_MAX / 8)
		return gw__fail(diag, -EMSGSIZE, "plan: %u features times %u samples", x->n_features,
				x->cfg.max_batch);
	x->slots = gw__aligned_alloc(64, n_floats * sizeof(float));
	x->peaks = gw__calloc(x->plan.n_values, sizeof(float));
	if (!x->layouts || !x->weights || !x->slots || !x->peaks)
		return gw__fail(diag, -ENOMEM, "plan: out of memory");
	if (x->cfg.peaks)
		memcpy(x->peaks, x->cfg.peaks, x->plan.n_values * sizeof(float));
	if (x->cfg.means) {
		size_t n_chans = gw__chan_at(&x->plan, x->plan.n_values);

		x->means = gw__calloc(n_chans, sizeof(float));
		if (!x->means)
			return gw__fail(diag, -ENOMEM, "plan: out of memory");
		memcpy(x->means, x->cfg.means, n_chans * sizeof(float));
	}
	x->cfg.peaks = x->cfg.means = NULL; /* the caller's; ours are kept */
	snprintf(x->name, sizeof(x->name), "oneDNN %d.%d.%d", dnnl_version()->major, dnnl_version()->minor,
		 dnnl_version()->patch);
	return layout_for(x, x->chunk, diag);
}

static int create(struct gw__plan *plan, const struct gw__exec_cfg *cfg, struct gw__exec **out, struct gw_diag *diag)
{
	struct gw__exec *x = gw__calloc(1, sizeof(*x));
	int before = omp_get_max_threads();
	int err;

	if (!x) {
		gw__plan_fini(plan);
		return gw__fail(diag, -ENOMEM, "plan: out of memory");
	}
	x->plan = *plan;
	memset(plan, 0, sizeof(*plan));
	x->cfg = *cfg;
	if (!x->cfg.n_threads)
		x->cfg.n_threads = allowed_cores();
	gw__quiet_init(&x->quiet, x->cfg.n_threads, allowed_cores());
	omp_set_num_threads((int)x->cfg.n_threads);
	err = prepare(x, diag);
	omp_set_num_threads(before);
	if (err) {
		destroy(x);
		return err;
	}
	*out = x;
	return 0;
}

/* (chan, height, width) FLOAT16 to FLOAT with the network's first scale and shift. */
static void convert_input(const struct gw__exec *x, const struct layout *y, const uint16_t *src, uint32_t n_valid)
{
	const struct gw__plan_op *op = &x->plan.ops[0];
	const struct gw__shape *s = &x->plan.shapes[op->out];
	size_t plane = (size_t)s->h * (size_t)s->w, chans = (size_t)s->c;
	void *bytes = NULL;
	float *dst;

	(void)dnnl_memory_get_data_handle(y->insts[y->input].mem, &bytes);
	dst = bytes;
	for (uint32_t n = 0; n < y->n; n++) {
		for (size_t c = 0; c < chans; c++) {
			size_t have = n < n_valid ? n : n_valid - 1;
			const uint16_t *from = src + (have * chans + c) * plane;

			if (y->channels_last)
				gw__half_affine_strided(from, dst + n * chans * plane + c, plane, chans, op->scale[c],
							op->shift[c]);
			else
				gw__half_affine(from, dst + (n * chans + c) * plane, plane, op->scale[c], op->shift[c]);
		}
	}
}

/* All steps over n <= y->n samples; features of y->n go to out. stats may be NULL. */
static int run_layout(struct gw__exec *x, struct layout *y, const uint16_t *input, uint32_t n, float *out,
		      struct gw__chan_stats *stats)
{
	if (dnnl_memory_set_data_handle(y->insts[y->output].mem, out))
		return -EIO;
	for (uint32_t k = 0; k < y->n_steps; k++) {
		const struct step *st = &y->steps[k];

		if (!st->prim)
			convert_input(x, y, input, n);
		else if (dnnl_primitive_execute(st->prim, x->stream, (int)st->n_args, st->args))
			return -EIO;
		if (stats && st->value >= 0) {
			size_t at = gw__chan_at(&x->plan, (uint32_t)st->value);

			gw__measure_value(&y->insts[st->value_inst], &x->plan.shapes[st->value], n, stats->peak + at,
					  stats->mean + at);
		}
	}
	return dnnl_stream_wait(x->stream) ? -EIO : 0;
}

static int run(struct gw__exec *x, const void *input, uint32_t n, float *out, struct gw__chan_stats *stats)
{
	const struct gw__shape *in = &x->plan.shapes[x->plan.ops[0].out];
	int before = omp_get_max_threads();
	const uint16_t *src = input;
	int err = 0;

	omp_set_num_threads((int)x->cfg.n_threads);
	while (n && !err) {
		uint32_t m = n < x->chunk ? n : x->chunk;
		uint32_t full = x->pad ? x->chunk : m;

		err = layout_for(x, full, NULL);
		if (!err)
			err = run_layout(x, x->layouts[full], src, m, out, stats);
		src += m * gw__shape_elems(in);
		out += (size_t)m * x->n_features;
		n -= m;
	}
	omp_set_num_threads(before);
	return err;
}

static int submit(struct gw__exec *x, const void *input, uint32_t n, struct gw_event *ready, uint32_t slot)
{
	int err = ready ? gw_event_sync(ready) : 0;

	if (err < 0)
		return err;
	/* a device address is the emulated device's: the CPU reads the same bytes through its alias */
	input = gw__gpu()->host_alias(input, 2 * n * gw__shape_elems(&x->plan.shapes[x->plan.ops[0].out]));
	return run(x, input, n, x->slots + (size_t)slot * x->slot_batch * x->n_features, NULL);
}

static int wait_slot(struct gw__exec *x, uint32_t slot, const float **features)
{
	*features = x->slots + (size_t)slot * x->slot_batch * x->n_features;
	return 0;
}

static int measure_channels(struct gw__exec *x, const void *input, uint32_t n, struct gw__chan_stats *stats)
{
	if (x->cfg.precision != GW_NN_FP32 || n > x->cfg.max_batch)
		return -EINVAL;
	return run(x, input, n, x->slots, stats);
}

static void identity(char *text, size_t n)
{
	snprintf(text, n, "oneDNN %d.%d.%d isa %d", dnnl_version()->major, dnnl_version()->minor, dnnl_version()->patch,
		 (int)dnnl_get_effective_cpu_isa());
}

void gw__onednn_about(char *text, size_t n)
{
	static const struct {
		dnnl_cpu_isa_t isa;
		const char *name;
	} isas[] = {
		{ dnnl_cpu_isa_avx512_core_amx, "AVX-512 with AMX" },
		{ dnnl_cpu_isa_avx512_core_bf16, "AVX-512 with BF16" },
		{ dnnl_cpu_isa_avx512_core_vnni, "AVX-512 with VNNI" },
		{ dnnl_cpu_isa_avx512_core, "AVX-512" },
		{ dnnl_cpu_isa_avx2_vnni, "AVX2 with VNNI" },
		{ dnnl_cpu_isa_avx2, "AVX2" },
		{ dnnl_cpu_isa_avx, "AVX" },
		{ dnnl_cpu_isa_sse41, "SSE4.1" },
	};
	const dnnl_version_t *v = dnnl_version();
	dnnl_cpu_isa_t isa = dnnl_get_effective_cpu_isa();
	const char *words = "plain instructions";

	for (size_t i = 0; i < sizeof(isas) / sizeof(isas[0]); i++)
		if (isas[i].isa == isa)
			words = isas[i].name;
	snprintf(text, n, "oneDNN %d.%d.%d, %s", v->major, v->minor, v->patch, words);
}

static const char *name(const struct gw__exec *x)
{
	return x->name;
}

const struct gw__nn_backend gw__nn_onednn = {
	.create = create,
	.destroy = destroy,
	.submit = submit,
	.wait = wait_slot,
	.name = name,
	.measure_channels = measure_channels,
	.identity = identity,
	.best = GW_NN_FP32,
	.precisions = 1u << GW_NN_FP32 | 1u << GW_NN_BF16 | 1u << GW_NN_INT8,
};
