/* bench/nn/nn_rate.c: images/s of gw_nn_infer on a model file, through the public calls only. One JSON line.
 *   nn_rate MODEL.onnx [--precision fp32|bf16|int8] [--batch 32] [--threads 2] [--rounds 5] [--seconds 2]
 *           [--lockstep] [--input FILE.f16]
 * --input: a batch of samples, raw FLOAT16, run and (int8) calibrated from; without it noise, calibrated from 8.
 * Options mean what they mean in bench/peers/onednn_chain.c. Next: compare.py. */
#include <gpuwire/nn.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "timing.h"

static double round_of(struct gw_nn *nn, const void *in, uint32_t batch, double seconds)
{
	const float *prev;
	uint32_t prev_n;
	double t0 = clock_s(CLOCK_MONOTONIC), t;
	long n = 0;

	do {
		if (gw_nn_infer(nn, in, batch, NULL, &prev, &prev_n) < 0)
			exit(1);
		n += batch;
		t = clock_s(CLOCK_MONOTONIC) - t0;
	} while (t < seconds);
	return (double)n / t;
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

static void *pictures(size_t n)
{
	uint16_t *p = aligned_alloc(64, (n * 2 + 63) / 64 * 64);
	uint32_t state = 1;

	for (size_t i = 0; p && i < n; i++) {
		state = state * 1664525u + 1013904223u;
		p[i] = half_of((int)(state >> 24) - 128);
	}
	return p;
}

/* The file's first n halves; NULL: not that many. */
static void *read_pictures(const char *path, size_t n)
{
	void *p = aligned_alloc(64, (n * 2 + 63) / 64 * 64);
	FILE *f = fopen(path, "rb");

	if (p && (!f || fread(p, 2, n, f) != n)) {
		free(p);
		p = NULL;
	}
	if (f)
		fclose(f);
	return p;
}

struct args {
	const char *model, *precision, *input;
	uint32_t batch, threads;
	int rounds, lockstep;
	double seconds;
};

static void parse(int argc, char **argv, struct args *a)
{
	*a = (struct args){.model = argv[1], .precision = "fp32", .batch = 32, .threads = 2, .rounds = 5, .seconds = 2};
	for (int i = 2; i < argc; i++) {
		const char *v = i + 1 < argc ? argv[i + 1] : "";

		if (!strcmp(argv[i], "--lockstep"))
			a->lockstep = 1;
		else if (!strcmp(argv[i], "--precision"))
			a->precision = v;
		else if (!strcmp(argv[i], "--input"))
			a->input = v;
		else if (!strcmp(argv[i], "--batch"))
			a->batch = (uint32_t)atol(v);
		else if (!strcmp(argv[i], "--threads"))
			a->threads = (uint32_t)atol(v);
		else if (!strcmp(argv[i], "--rounds"))
			a->rounds = atoi(v) < 64 ? atoi(v) : 64;
		else if (!strcmp(argv[i], "--seconds"))
			a->seconds = atof(v);
	}
}

static void to_stderr(void *ctx, enum gw_log_level level, const char *line)
{
	fprintf(stderr, "%s\n", line);
}

int main(int argc, char **argv)
{
	struct gw_nn_opts o = {.sz = sizeof(o)};
	struct gw_diag diag = {""};
	struct gw_nn_info info;
	struct gw_nn *nn;
	struct args a;
	double rates[64];
	char line[64];
	void *in;

	if (argc < 2) {
		fprintf(stderr, "usage: nn_rate MODEL.onnx [options]\n");
		return 2;
	}
	parse(argc, argv, &a);
	gw_log_set(to_stderr, NULL, GW_LOG_INFO); /* int8: how many operations stay wide */
	o.max_batch = a.batch;
	o.n_threads = a.threads;
	o.precision = !strcmp(a.precision, "bf16") ? GW_NN_BF16 : !strcmp(a.precision, "int8") ? GW_NN_INT8 : GW_NN_FP32;
	in = a.input ? read_pictures(a.input, (size_t)a.batch * 3 * 224 * 224) : pictures((size_t)a.batch * 3 * 224 * 224);
	o.calibration = in;
	o.calib_n = a.input || a.batch < 8 ? a.batch : 8;
	if (!in || gw_nn_open(a.model, &o, &nn, &diag) < 0) {
		fprintf(stderr, "nn_rate: %s\n", diag.text);
		return 1;
	}
	gw_nn_info(nn, &info);
	round_of(nn, in, a.batch, 0);
	while (a.lockstep && fgets(line, sizeof(line), stdin)) {
		printf("%.4f\n", round_of(nn, in, a.batch, a.seconds));
		fflush(stdout);
	}
	if (!a.lockstep) {
		for (int i = 0; i < a.rounds; i++)
			rates[i] = round_of(nn, in, a.batch, a.seconds);
		qsort(rates, (size_t)a.rounds, sizeof(rates[0]), by_value);
		printf("{\"program\": \"gpuwire nn\", \"library\": \"%s\", \"precision\": \"%s\", \"batch\": %u, "
		       "\"threads\": %u, \"images_per_s\": %.3f, \"least\": %.3f, \"most\": %.3f, \"open_s\": %.3f}\n",
		       info.backend, a.precision, a.batch, a.threads, rates[a.rounds / 2], rates[0],
		       rates[a.rounds - 1], info.open_seconds);
	}
	gw_nn_close(nn);
	free(in);
	return 0;
}
