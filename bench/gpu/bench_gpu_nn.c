/* bench/gpu/bench_gpu_nn.c: a network on the card: batches, where the time goes per layer, int8 beside fp16.
 *   bench_gpu_nn MODEL.onnx [--plan-cache DIR] [--batches 1,32,256] [--precision fp16|int8] [--layers N] [-v]
 * Inputs lie in GPU memory, as reordered tensors do. One JSON line a batch; --layers N adds a row a step. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "gpu/gpu.h"
#include "nn/backend.h"
#include "nn/nn_internal.h"

#define ROUNDS 7

static void must(int err, const struct gw_diag *d, const char *what)
{
	if (err) {
		fprintf(stderr, "%s: %s%s%s\n", what, strerror(-err), d ? ": " : "", d ? d->text : "");
		exit(1);
	}
}

static void sink(void *ctx, enum gw_log_level level, const char *line)
{
	fprintf(stderr, "%s\n", line);
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Whole numbers -128..127 in FLOAT16: what a picture of bytes becomes. */
static uint16_t half_of(int v)
{
	int mag = v < 0 ? -v : v, e = 0;

	if (!mag)
		return 0;
	while (mag >> (e + 1))
		e++;
	return (uint16_t)((v < 0 ? 0x8000 : 0) | (e + 15) << 10 | (mag << (10 - e) & 0x3ff));
}

static void *pictures(size_t n, enum gw_mem_kind kind)
{
	uint16_t *p = malloc(n * 2);
	uint32_t state = 1;
	struct gw_diag d;
	void *out = NULL;

	for (size_t i = 0; i < n; i++) {
		state = state * 1664525u + 1013904223u;
		p[i] = half_of((int)(state >> 24) - 128);
	}
	must(gw_mem_alloc(kind, n * 2, 0, &out, &d), &d, "memory");
	must(gw_mem_copy(out, p, n * 2), NULL, "copy");
	free(p);
	return out;
}

/* Milliseconds of one batch, results taken one batch late. */
static double ms_of(struct gw_nn *nn, const void *in, uint32_t n)
{
	const int inner = n >= 128 ? 20 : 60;
	const float *prev;
	uint32_t prev_n;
	double t[ROUNDS];

	for (int r = -1; r < ROUNDS; r++) {
		uint64_t t0;

		must(gw_nn_infer(nn, in, n, NULL, &prev, &prev_n), NULL, "infer");
		must(gw_nn_drain(nn, &prev, &prev_n), NULL, "drain");
		t0 = gw__now_ns(gw__clock_monotonic());
		for (int i = 0; i < inner; i++)
			must(gw_nn_infer(nn, in, n, NULL, &prev, &prev_n), NULL, "infer");
		must(gw_nn_drain(nn, &prev, &prev_n), NULL, "drain");
		if (r >= 0)
			t[r] = (double)(gw__now_ns(gw__clock_monotonic()) - t0) * 1e-6 / inner;
	}
	qsort(t, ROUNDS, sizeof(*t), ascending);
	return t[ROUNDS / 2];
}

/* What is left of a batch has the bits that the whole one gives it. */
static void check_partial(struct gw_nn *nn, const void *in, uint32_t most, uint32_t dim)
{
	const uint32_t sizes[] = { 1, most / 2 + 1, most - 1 };
	float *whole = malloc((size_t)most * dim * sizeof(*whole));
	const float *rows;
	uint32_t n, n_bad = 0, n_rows = 0;

	must(gw_nn_infer(nn, in, most, NULL, &rows, &n), NULL, "infer");
	must(gw_nn_drain(nn, &rows, &n), NULL, "drain");
	memcpy(whole, rows, (size_t)most * dim * sizeof(*whole));
	for (int i = 0; most > 2 && i < 3; i++) {
		must(gw_nn_infer(nn, in, sizes[i], NULL, &rows, &n), NULL, "infer");
		must(gw_nn_drain(nn, &rows, &n), NULL, "drain");
		n_bad += n != sizes[i];
		for (uint32_t k = 0; k < n; k++, n_rows++)
			n_bad += memcmp(rows + (size_t)k * dim, whole + (size_t)k * dim, dim * sizeof(*rows)) != 0;
	}
	free(whole);
	printf("{\"bench\":\"gpu_nn\",\"partial_rows\":%u,\"differ\":%u}\n", n_rows, n_bad);
	must(n_bad ? -EIO : 0, NULL, "partial batches differ from the whole");
}

static void row(void *ctx, const char *text, double us)
{
	double *sum = ctx;

	*sum += us;
	printf("  %8.2f us  %s\n", us, text);
}

int main(int argc, char **argv)
{
	const char *batches = "1,32,256", *precision = "fp16";
	struct gw_nn_opts o = { .sz = sizeof(o), .max_batch = 1 };
	uint32_t layers = 0;
	struct gw_nn_info info;
	struct gw_nn *nn = NULL;
	struct gw_diag d = { "" };
	void *in;

	for (int i = 2; i < argc; i++) {
		if (!strcmp(argv[i], "-v"))
			gw_log_set(sink, NULL, GW_LOG_INFO);
		else if (i + 1 < argc && !strcmp(argv[i], "--plan-cache"))
			o.plan_cache = argv[++i];
		else if (i + 1 < argc && !strcmp(argv[i], "--batches"))
			batches = argv[++i];
		else if (i + 1 < argc && !strcmp(argv[i], "--precision"))
			precision = argv[++i];
		else if (i + 1 < argc && !strcmp(argv[i], "--layers"))
			layers = (uint32_t)atoi(argv[++i]);
	}
	for (const char *p = batches; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
		if ((uint32_t)atoi(p) > o.max_batch)
			o.max_batch = (uint32_t)atoi(p);
	in = pictures((size_t)o.max_batch * 3 * 224 * 224, GW_MEM_DEVICE);
	if (!strcmp(precision, "int8")) {
		o.precision = GW_NN_INT8;
		o.calibration = in;
		o.calib_n = 32;
	}
	must(argc < 2 ? -EINVAL : gw_nn_open(argv[1], &o, &nn, &d), &d, "open");
	gw_nn_info(nn, &info);
	printf("{\"bench\":\"gpu_nn\",\"on\":\"%s\",\"backend\":\"%s\",\"open_seconds\":%.2f}\n", gw__gpu()->describe(),
	       info.backend, info.open_seconds);
	check_partial(nn, in, o.max_batch, info.n_features);
	for (const char *p = batches; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL) {
		uint32_t n = (uint32_t)atoi(p);
		double ms = ms_of(nn, in, n);

		printf("{\"bench\":\"gpu_nn\",\"precision\":\"%s\",\"batch\":%u,\"ms\":%.4f,\"img_s\":%.0f}\n", precision, n, ms,
		       n / ms * 1e3);
		fflush(stdout);
	}
	if (layers) {
		double sum = 0;

		printf("layers, batch %u:\n", layers);
		must(gw__nn_profile(nn, layers, row, &sum), NULL, "profile");
		printf("  %8.2f us  sum\n", sum);
	}
	gw_nn_close(nn);
	gw_mem_free(in);
	return 0;
}
