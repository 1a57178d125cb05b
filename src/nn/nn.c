/* nn/nn.c: the public calls: open a file into a running network; one batch late by parity; drain.
 * Must not know ONNX's bytes (onnx/) nor a backend's (onednn/). Next: onnx/load.c, lower.c, onednn/run.c. */
#include <gpuwire/nn.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/diag.h"
#include "base/log.h"
#include "nn/backend.h"
#include "nn/cache.h"
#include "nn/nn_internal.h"
#include "nn/onnx/onnx.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_BATCH 4096u
#define MAX_THREADS 1024u
#define DEFAULT_BATCH 32u

struct gw_nn {
	const struct gw__nn_backend *backend;
	struct gw__exec *exec;
	struct gw_nn_info info;
	char *input_name, *output_name;
	uint32_t max_batch;
	uint32_t next_slot; /* where the next batch's features go */
	uint32_t pending;   /* samples of the batch queued last; 0 = none */
};

struct file {
	void *bytes;
	size_t n_bytes;
};

static int file_open(const char *path, struct file *f, struct gw_diag *diag)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	int err = 0;

	f->bytes = NULL;
	if (fd < 0) {
		err = -errno;
		return gw__fail(diag, err, "%s: %s", path, strerror(-err));
	}
	if (fstat(fd, &st) < 0)
		err = gw__fail(diag, -errno, "%s: %s", path, strerror(errno));
	else if (!S_ISREG(st.st_mode) || st.st_size <= 0)
		err = gw__fail(diag, -EPROTO, "%s: not a file with anything in it", path);
	else if (st.st_size > INT32_MAX)
		err = gw__fail(diag, -EMSGSIZE, "%s: above 2 GiB, the format's own limit", path);
	if (!err) {
		f->n_bytes = (size_t)st.st_size;
		f->bytes = mmap(NULL, f->n_bytes, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
		if (f->bytes == MAP_FAILED) {
			f->bytes = NULL;
			err = gw__fail(diag, -ENOMEM, "%s: %s", path, strerror(errno));
		}
	}
	close(fd);
	return err;
}

static int check_opts(const struct gw_nn_opts *in, struct gw_nn_opts *o, struct gw_diag *diag)
{
	memset(o, 0, sizeof(*o));
	if (in) {
		if (in->sz < sizeof(*o))
			return gw__fail(diag, -EINVAL, "nn: opts.sz is %zu; set it to sizeof(struct gw_nn_opts) = %zu",
					in->sz, sizeof(*o));
		*o = *in;
	}
	if (!o->max_batch)
		o->max_batch = DEFAULT_BATCH;
	if (o->max_batch > MAX_BATCH || o->n_threads > MAX_THREADS)
		return gw__fail(diag, -EINVAL, "nn: max_batch %u, n_threads %u; at most %u and %u", o->max_batch,
				o->n_threads, MAX_BATCH, MAX_THREADS);
	if ((unsigned)o->precision > GW_NN_FP16)
		return gw__fail(diag, -EINVAL, "nn: precision %d is none of enum gw_nn_precision", (int)o->precision);
	if (o->precision == GW_NN_INT8 && (!o->calibration || !o->calib_n))
		return gw__fail(diag, -EINVAL, "nn: GW_NN_INT8 needs calibration inputs (calibration, calib_n)");
	return 0;
}

static int plan_from_bytes(const struct file *f, struct gw__plan *plan, struct gw_diag *diag)
{
	struct gw__graph g;
	int err = gw__onnx_parse(f->bytes, f->n_bytes, &g, diag);

	if (err)
		return err;
	err = gw__plan_make(&g, plan, diag);
	gw__graph_fini(&g);
	return err;
}

static int keep_names(struct gw_nn *nn, const struct gw__plan *plan)
{
	const struct gw__shape *in = &plan->shapes[plan->ops[0].out];
	const struct gw__shape *out = &plan->shapes[plan->output];

	nn->input_name = gw__strdup(plan->input_name);
	nn->output_name = gw__strdup(plan->output_name);
	nn->info.input_name = nn->input_name;
	nn->info.output_name = nn->output_name;
	nn->info.input_type = "kHALF";
	nn->info.output_type = "FLOAT32";
	nn->info.chan = (uint32_t)in->c;
	nn->info.height = (uint32_t)in->h;
	nn->info.width = (uint32_t)in->w;
	nn->info.n_features = (uint32_t)gw__shape_elems(out);
	return nn->input_name && nn->output_name ? 0 : -ENOMEM;
}

/* The backend for the memory that inputs lie in. */
static const struct gw__nn_backend *pick_backend(struct gw_nn_opts *o, struct gw_diag *diag)
{
	static const char *const names[] = {
		[GW_NN_FP32] = "fp32", [GW_NN_BF16] = "bf16", [GW_NN_INT8] = "int8", [GW_NN_FP16] = "fp16",
	};
	const struct gw__nn_backend *b = NULL;
	const char *gpu = gw_gpu_backend();

#ifdef GW_WITH_CUDNN
	if (!strcmp(gpu, "cuda"))
		b = &gw__nn_cudnn;
#endif
#ifdef GW_WITH_ONEDNN
	if (!strcmp(gpu, "emu"))
		b = &gw__nn_onednn;
#endif
	if (!b) {
		gw__fail(diag, -ENOTSUP, "nn: this build has no inference for memory of '%s'; %s", gpu,
			 strcmp(gpu, "cuda") ? "rebuild with libdnnl-dev" : "rebuild with cuDNN's headers, or set GPUWIRE_GPU=emu");
		return NULL;
	}
	if (o->precision == GW_NN_DEFAULT)
		o->precision = b->best;
	if (!(b->precisions >> o->precision & 1)) {
		gw__fail(diag, -ENOTSUP, "nn: %s is not offered on '%s'; use %s or int8", names[o->precision], gpu,
			 names[b->best]);
		return NULL;
	}
	return b;
}

/* ---- whole numbers -------------------------------------------------------------------------------- */

/* The least cosine of a calibration input's features to FLOAT's that is let pass; strangers do a little worse. */
#define LEAST_COSINE 0.9994
#define N_SHARES 16u /* of the operations: none stay wide, a sixteenth, an eighth, ..., all */

/* What calibration found. */
struct calib {
	float *peaks;                      /* [n_values] */
	struct gw__chan_stats stats, work; /* as measured; and after equalisation. Unused: NULL */
	float *features;                   /* FLOAT's, [calib_n][n_features] */
	size_t n_chans, n_features;
};

static void calib_fini(struct calib *c)
{
	gw__free(c->peaks);
	gw__free(c->stats.peak);
	gw__free(c->stats.mean);
	gw__free(c->work.peak);
	gw__free(c->work.mean);
	gw__free(c->features);
}

static int calib_init(struct calib *c, const struct gw__plan *plan, uint32_t calib_n, struct gw_diag *diag)
{
	c->n_chans = gw__chan_at(plan, plan->n_values);
	c->n_features = gw__shape_elems(&plan->shapes[plan->output]);
	c->peaks = gw__calloc(plan->n_values, sizeof(float));
	c->stats.peak = gw__calloc(c->n_chans, sizeof(float));
	c->stats.mean = gw__calloc(c->n_chans, sizeof(float));
	c->work.peak = gw__calloc(c->n_chans, sizeof(float));
	c->work.mean = gw__calloc(c->n_chans, sizeof(float));
	c->features = gw__calloc(calib_n, c->n_features * sizeof(float));
	if (!c->peaks || !c->stats.peak || !c->stats.mean || !c->work.peak || !c->work.mean || !c->features)
		return gw__fail(diag, -ENOMEM, "nn: out of memory");
	return 0;
}

/* Run without calibration over the calibration inputs and note what each value holds. Takes *plan. */
static int calibrate(const struct gw__nn_backend *backend, struct gw__plan *plan, const struct gw_nn_opts *o,
		     struct calib *c, struct gw_diag *diag)
{
	struct gw__exec_cfg cfg = {.max_batch = o->calib_n < 8 ? o->calib_n : 8, .n_threads = o->n_threads,
				   .precision = backend->best, .plan_cache = o->plan_cache};
	size_t sample = gw__shape_elems(&plan->shapes[plan->ops[0].out]) * 2;
	const unsigned char *at = o->calibration;
	struct gw__exec *x = NULL;
	const float *f;
	int err = backend->create(plan, &cfg, &x, diag);

	if (err)
		return err;
	for (uint32_t done = 0; !err && done < o->calib_n; done += cfg.max_batch) {
		uint32_t n = o->calib_n - done < cfg.max_batch ? o->calib_n - done : cfg.max_batch;

		if (!backend->measure_channels) {
			err = backend->measure(x, at + done * sample, n, c->peaks);
			continue;
		}
		err = backend->measure_channels(x, at + done * sample, n, &c->stats);
		if (!err)
			err = backend->wait(x, 0, &f);
		if (!err)
			memcpy(c->features + done * c->n_features, f, n * c->n_features * sizeof(float));
	}
	backend->destroy(x);
	for (size_t i = 0; i < c->n_chans; i++)
		c->stats.mean[i] /= (float)o->calib_n;
	return err ? gw__fail(diag, err, "nn: calibration failed") : 0;
}

static double cosine(const float *a, const float *b, size_t n)
{
	double ab = 0, aa = 0, bb = 0;

	for (size_t i = 0; i < n; i++) {
		ab += (double)a[i] * (double)b[i];
		aa += (double)a[i] * (double)a[i];
		bb += (double)b[i] * (double)b[i];
	}
	return aa > 0 && bb > 0 ? ab / sqrt(aa * bb) : aa == bb ? 1.0 : 0.0;
}

/* The smallest cosine of x's features to FLOAT's over the calibration inputs. */
static int worst_cosine(const struct gw__nn_backend *backend, struct gw__exec *x, const struct gw_nn_opts *o,
			const struct calib *c, size_t sample, double *out)
{
	uint32_t step = o->max_batch < o->calib_n ? o->max_batch : o->calib_n;
	const float *f;
	int err = 0;

	*out = 1.0;
	for (uint32_t done = 0; !err && done < o->calib_n; done += step) {
		uint32_t n = o->calib_n - done < step ? o->calib_n - done : step;

		err = backend->submit(x, (const unsigned char *)o->calibration + done * sample, n, NULL, 0);
		if (!err)
			err = backend->wait(x, 0, &f);
		for (uint32_t i = 0; !err && i < n; i++)
			*out = fmin(*out, cosine(f + i * c->n_features, c->features + (done + i) * c->n_features,
						 c->n_features));
	}
	return err;
}

/* One attempt: a fresh plan, its channels brought to one range, the first operations left wide. cos_min NULL: it is
 * known to do. */
static int try_int8(struct gw_nn *nn, const struct file *f, const struct gw_nn_opts *o, struct calib *c,
		    uint32_t share, double *cos_min, struct gw_diag *diag)
{
	struct gw__exec_cfg cfg = {.max_batch = o->max_batch, .n_threads = o->n_threads, .precision = GW_NN_INT8,
				   .plan_cache = o->plan_cache, .peaks = c->peaks, .means = c->work.mean};
	struct gw__plan plan;
	size_t sample;
	int err = plan_from_bytes(f, &plan, diag);

	if (err)
		return err;
	memcpy(c->work.peak, c->stats.peak, c->n_chans * sizeof(float));
	memcpy(c->work.mean, c->stats.mean, c->n_chans * sizeof(float));
	if (gw__plan_add_tail(&plan) < 0 || gw__plan_equalise(&plan, &c->work, c->peaks) < 0) {
		gw__plan_fini(&plan);
		return gw__fail(diag, -ENOMEM, "nn: out of memory");
	}
	cfg.n_wide_ops = (uint32_t)((uint64_t)plan.n_ops * share / N_SHARES);
	sample = gw__shape_elems(&plan.shapes[plan.ops[0].out]) * 2;
	err = nn->backend->create(&plan, &cfg, &nn->exec, diag);
	if (err)
		return err;
	if (!cos_min) {
		gw__info("nn: int8, %u first operations wide", cfg.n_wide_ops);
		return 0;
	}
	err = worst_cosine(nn->backend, nn->exec, o, c, sample, cos_min);
	if (err)
		return gw__fail(diag, err, "nn: calibration failed");
	gw__info("nn: int8, %u first operations wide: smallest cosine to FLOAT %.6f", cfg.n_wide_ops, *cos_min);
	return 0;
}

/* As few wide operations as the calibration inputs allow: none, or found by halving. All wide is taken unmeasured. */
static int search_int8(struct gw_nn *nn, const struct file *f, const struct gw_nn_opts *o, struct calib *c,
		       uint32_t *share, struct gw_diag *diag)
{
	uint32_t fails = 0, does = N_SHARES, at = 0; /* at: what nn->exec is */
	double cos_min = 0.0;
	int err = try_int8(nn, f, o, c, at, &cos_min, diag);

	if (!err && cos_min >= LEAST_COSINE)
		does = 0;
	while (!err && does > fails + 1) {
		nn->backend->destroy(nn->exec);
		nn->exec = NULL;
		at = (fails + does) / 2;
		err = try_int8(nn, f, o, c, at, &cos_min, diag);
		if (cos_min >= LEAST_COSINE)
			does = at;
		else
			fails = at;
	}
	*share = does;
	if (err || at == does)
		return err;
	nn->backend->destroy(nn->exec);
	nn->exec = NULL;
	return try_int8(nn, f, o, c, does, NULL, diag);
}

/* What a calibration comes to: the only part of a plan that takes longer to make than to read back. (Folded
 * weights: hashing the model and reading them takes two thirds of the time of parsing and folding.) */
struct kept {
	size_t n_bytes;
	float *bytes; /* share, then peak and mean of each channel */
	struct gw__cache_key key;
};

static int kept_init(struct kept *k, const struct gw_nn *nn, const struct file *f, const struct gw_nn_opts *o,
		     const struct gw__plan *plan, const struct calib *c)
{
	size_t sample = gw__shape_elems(&plan->shapes[plan->ops[0].out]) * 2;
	const uint32_t n_shares = N_SHARES; /* what the kept share counts */
	char text[128] = "";

	k->n_bytes = (2 * c->n_chans + 1) * sizeof(float);
	k->bytes = gw__calloc(1, k->n_bytes);
	if (!k->bytes)
		return -ENOMEM;
	nn->backend->identity(text, sizeof(text));
	gw__cache_mix(&k->key, text, sizeof(text));
	gw__cache_mix(&k->key, &n_shares, sizeof(n_shares));
	gw__cache_mix(&k->key, f->bytes, f->n_bytes);
	gw__cache_mix(&k->key, o->calibration, o->calib_n * sample);
	return 0;
}

static bool kept_load(struct kept *k, const char *folder, struct calib *c, uint32_t *share)
{
	if (gw__cache_load(folder, &k->key, k->bytes, k->n_bytes) < 0 || !(k->bytes[0] >= 0.0f) ||
	    !(k->bytes[0] <= (float)N_SHARES))
		return false;
	for (size_t i = 1; i < k->n_bytes / sizeof(float); i++)
		if (!isfinite(k->bytes[i]))
			return false;
	*share = (uint32_t)k->bytes[0];
	memcpy(c->stats.peak, k->bytes + 1, c->n_chans * sizeof(float));
	memcpy(c->stats.mean, k->bytes + 1 + c->n_chans, c->n_chans * sizeof(float));
	return true;
}

static void kept_store(struct kept *k, const char *folder, const struct calib *c, uint32_t share)
{
	int err;

	k->bytes[0] = (float)share;
	memcpy(k->bytes + 1, c->stats.peak, c->n_chans * sizeof(float));
	memcpy(k->bytes + 1 + c->n_chans, c->stats.mean, c->n_chans * sizeof(float));
	err = gw__cache_store(folder, &k->key, k->bytes, k->n_bytes);
	if (err)
		gw__warn("nn: the plan is not kept in %s: %s", folder, strerror(-err));
}

/* Calibrated before with the same inputs: take that; else calibrate, search and keep it. Takes *plan. */
static int cached_int8(struct gw_nn *nn, const struct file *f, const struct gw_nn_opts *o, struct gw__plan *plan,
		       struct calib *c, struct gw_diag *diag)
{
	bool cache = o->plan_cache && nn->backend->identity;
	struct kept k = {0};
	uint32_t share;
	int err = cache && kept_init(&k, nn, f, o, plan, c) < 0 ? gw__fail(diag, -ENOMEM, "nn: out of memory") : 0;

	if (!err && cache && kept_load(&k, o->plan_cache, c, &share)) {
		gw__plan_fini(plan);
		nn->info.from_cache = 1;
		err = try_int8(nn, f, o, c, share, NULL, diag);
	} else if (!err) {
		err = calibrate(nn->backend, plan, o, c, diag);
		if (!err)
			err = search_int8(nn, f, o, c, &share, diag);
		if (!err && cache)
			kept_store(&k, o->plan_cache, c, share);
	} else {
		gw__plan_fini(plan);
	}
	gw__free(k.bytes);
	return err;
}

static int build_int8(struct gw_nn *nn, const struct file *f, const struct gw_nn_opts *o, struct gw__plan *plan,
		      struct gw_diag *diag)
{
	struct gw__exec_cfg cfg = {.max_batch = o->max_batch, .n_threads = o->n_threads, .precision = GW_NN_INT8,
				   .plan_cache = o->plan_cache};
	struct calib c = {0};
	int err = 0;

	if (nn->backend->measure_channels && gw__plan_add_tail(plan) < 0)
		err = gw__fail(diag, -ENOMEM, "nn: out of memory");
	if (!err)
		err = calib_init(&c, plan, o->calib_n, diag);
	if (err) {
		gw__plan_fini(plan);
	} else if (nn->backend->measure_channels) {
		err = cached_int8(nn, f, o, plan, &c, diag);
	} else {
		err = calibrate(nn->backend, plan, o, &c, diag);
		cfg.peaks = c.peaks;
		if (!err)
			err = plan_from_bytes(f, plan, diag);
		if (!err)
			err = nn->backend->create(plan, &cfg, &nn->exec, diag);
	}
	calib_fini(&c);
	return err;
}

static int build(struct gw_nn *nn, const struct file *f, const struct gw_nn_opts *o, struct gw_diag *diag)
{
	struct gw__exec_cfg cfg = {.max_batch = o->max_batch, .n_threads = o->n_threads, .precision = o->precision,
				   .plan_cache = o->plan_cache};
	struct gw__plan plan;
	int err = plan_from_bytes(f, &plan, diag);

	if (err)
		return err;
	if (keep_names(nn, &plan) < 0) {
		gw__plan_fini(&plan);
		return gw__fail(diag, -ENOMEM, "nn: out of memory");
	}
	if (o->precision == GW_NN_INT8)
		return build_int8(nn, f, o, &plan, diag);
	return nn->backend->create(&plan, &cfg, &nn->exec, diag);
}

int gw_nn_open(const char *onnx_path, const struct gw_nn_opts *opts, struct gw_nn **out, struct gw_diag *diag)
{
	uint64_t t0 = gw__now_ns(gw__clock_monotonic());
	struct gw_nn_opts o;
	struct gw_nn *nn;
	struct file f = {0};
	int err;

	if (!onnx_path || !out)
		return gw__fail(diag, -EINVAL, "nn: a path and a place for the network are needed");
	err = check_opts(opts, &o, diag);
	if (!err)
		err = file_open(onnx_path, &f, diag);
	if (err)
		return err;
	nn = gw__calloc(1, sizeof(*nn));
	if (nn) {
		nn->backend = pick_backend(&o, diag);
		nn->max_batch = o.max_batch;
		err = nn->backend ? build(nn, &f, &o, diag) : -ENOTSUP;
	} else {
		err = gw__fail(diag, -ENOMEM, "nn: out of memory");
	}
	munmap(f.bytes, f.n_bytes);
	if (err) {
		gw_nn_close(nn);
		return err;
	}
	nn->info.backend = nn->backend->name(nn->exec);
	nn->info.model_bytes = f.n_bytes;
	nn->info.open_seconds = (double)(gw__now_ns(gw__clock_monotonic()) - t0) * 1e-9;
	*out = nn;
	return 0;
}

void gw_nn_close(struct gw_nn *nn)
{
	if (!nn)
		return;
	if (nn->backend)
		nn->backend->destroy(nn->exec);
	gw__free(nn->input_name);
	gw__free(nn->output_name);
	gw__free(nn);
}

void gw_nn_info(const struct gw_nn *nn, struct gw_nn_info *info)
{
	*info = nn->info;
}

/* The batch queued last, if any: wait and hand it out. */
static int collect(struct gw_nn *nn, const float **features, uint32_t *n)
{
	int err;

	*features = NULL;
	*n = 0;
	if (!nn->pending)
		return 0;
	err = nn->backend->wait(nn->exec, (nn->next_slot + GW__NN_SLOTS - 1) % GW__NN_SLOTS, features);
	if (!err)
		*n = nn->pending;
	nn->pending = 0;
	return err;
}

int gw_nn_infer(struct gw_nn *nn, const void *input, uint32_t n, struct gw_event *ready, const float **prev,
		uint32_t *prev_n)
{
	const float *features;
	uint32_t n_features;
	int err;

	if (!nn || !input || !prev || !prev_n || n < 1 || n > nn->max_batch || (uintptr_t)input % 2)
		return -EINVAL;
	err = nn->backend->submit(nn->exec, input, n, ready, nn->next_slot);
	if (err)
		return err;
	err = collect(nn, &features, &n_features);
	if (err)
		return err;
	nn->next_slot = (nn->next_slot + 1) % GW__NN_SLOTS;
	nn->pending = n;
	*prev = features;
	*prev_n = n_features;
	return 0;
}

int gw_nn_drain(struct gw_nn *nn, const float **last, uint32_t *last_n)
{
	if (!nn || !last || !last_n)
		return -EINVAL;
	return collect(nn, last, last_n);
}

int gw__nn_profile(struct gw_nn *nn, uint32_t n, void (*row)(void *ctx, const char *text, double us), void *ctx)
{
	return nn->backend->profile ? nn->backend->profile(nn->exec, n, row, ctx) : -ENOTSUP;
}
