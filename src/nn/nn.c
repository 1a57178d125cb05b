/* nn/nn.c: the public calls: open a file into a running network; one batch late by parity; drain.
 * Must not know ONNX's bytes (onnx/) nor a backend's (onednn/). Next: onnx/load.c, lower.c, onednn/run.c. */
#include <gpuwire/nn.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/diag.h"
#include "nn/backend.h"
#include "nn/nn_internal.h"
#include "nn/onnx/onnx.h"

#include <errno.h>
#include <fcntl.h>
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

/* Run without calibration over the calibration inputs and note each value's largest magnitude. */
static int calibrate(const struct gw__nn_backend *backend, const struct file *f, const struct gw_nn_opts *o,
		     float *peaks, struct gw_diag *diag)
{
	struct gw__exec_cfg cfg = {.max_batch = o->calib_n < 8 ? o->calib_n : 8, .n_threads = o->n_threads,
				   .precision = backend->best, .plan_cache = o->plan_cache};
	const unsigned char *at = o->calibration;
	struct gw__exec *x = NULL;
	struct gw__plan plan;
	size_t sample;
	int err = plan_from_bytes(f, &plan, diag);

	if (err)
		return err;
	sample = gw__shape_elems(&plan.shapes[plan.ops[0].out]) * 2;
	err = backend->create(&plan, &cfg, &x, diag);
	for (uint32_t done = 0; !err && done < o->calib_n; done += cfg.max_batch) {
		uint32_t n = o->calib_n - done < cfg.max_batch ? o->calib_n - done : cfg.max_batch;

		err = backend->measure(x, at + done * sample, n, peaks);
		if (err)
			gw__fail(diag, err, "nn: calibration failed");
	}
	backend->destroy(x);
	return err;
}

static int build(struct gw_nn *nn, const struct file *f, const struct gw_nn_opts *o, struct gw_diag *diag)
{
	struct gw__exec_cfg cfg = {.max_batch = o->max_batch, .n_threads = o->n_threads, .precision = o->precision,
				   .plan_cache = o->plan_cache};
	struct gw__plan plan;
	float *peaks = NULL;
	int err = plan_from_bytes(f, &plan, diag);

	if (err)
		return err;
	if (keep_names(nn, &plan) < 0) {
		gw__plan_fini(&plan);
		return gw__fail(diag, -ENOMEM, "nn: out of memory");
	}
	if (o->precision == GW_NN_INT8) {
		peaks = gw__calloc(plan.n_values, sizeof(*peaks));
		err = peaks ? calibrate(nn->backend, f, o, peaks, diag) : gw__fail(diag, -ENOMEM, "nn: out of memory");
		cfg.peaks = peaks;
	}
	if (err)
		gw__plan_fini(&plan);
	else
		err = nn->backend->create(&plan, &cfg, &nn->exec, diag);
	gw__free(peaks);
	return err;
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
