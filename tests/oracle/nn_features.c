/* tests/oracle/nn_features.c: MODEL INPUT.f16 BATCH OUTPUT.f32 [fp32|bf16|int8 [CALIB_N]]: features of every
 * sample of a raw FLOAT16 file, in batches, through the public calls only. Prints rate and open time.
 * Must not know how they are computed. Next: nn_torch.py compares them. */
#include <gpuwire/nn.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void *read_file(const char *path, size_t *n)
{
	FILE *f = fopen(path, "rb");
	void *p = NULL;
	long size;

	if (!f || fseek(f, 0, SEEK_END) || (size = ftell(f)) < 0)
		return NULL;
	rewind(f);
	*n = (size_t)size;
	p = aligned_alloc(64, (*n + 64) / 64 * 64);
	if (p && fread(p, 1, *n, f) != *n)
		p = NULL;
	fclose(f);
	return p;
}

static int run(struct gw_nn *nn, const unsigned char *in, size_t sample, size_t n, uint32_t batch, FILE *out)
{
	struct gw_nn_info info;
	const float *prev;
	uint32_t prev_n;
	int err = 0;

	gw_nn_info(nn, &info);
	for (size_t at = 0; !err && at < n; at += batch) {
		uint32_t m = n - at < batch ? (uint32_t)(n - at) : batch;

		err = gw_nn_infer(nn, in + at * sample, m, NULL, &prev, &prev_n);
		if (!err && prev)
			fwrite(prev, sizeof(float), (size_t)prev_n * info.n_features, out);
	}
	if (!err)
		err = gw_nn_drain(nn, &prev, &prev_n);
	if (!err && prev)
		fwrite(prev, sizeof(float), (size_t)prev_n * info.n_features, out);
	return err;
}

int main(int argc, char **argv)
{
	struct gw_nn_opts o = {.sz = sizeof(o), .n_threads = 2};
	size_t n_bytes = 0, sample, n;
	struct gw_nn_info info;
	struct gw_diag diag = {""};
	struct gw_nn *nn;
	void *in;
	FILE *out;
	double t0;
	int err;

	if (argc < 5)
		return 2;
	in = read_file(argv[2], &n_bytes);
	out = fopen(argv[4], "wb");
	if (!in || !out) {
		perror(argv[2]);
		return 2;
	}
	o.max_batch = (uint32_t)atoi(argv[3]);
	if (argc > 5)
		o.precision = !strcmp(argv[5], "bf16") ? GW_NN_BF16 :
			      !strcmp(argv[5], "int8") ? GW_NN_INT8 : GW_NN_FP32;
	o.calibration = in;
	o.calib_n = argc > 6 ? (uint32_t)atoi(argv[6]) : 4; /* samples at the front of the file */
	o.plan_cache = getenv("NN_PLAN_CACHE");
	err = gw_nn_open(argv[1], &o, &nn, &diag);
	if (err) {
		fprintf(stderr, "open: %s (%d)\n", diag.text, err);
		return 1;
	}
	gw_nn_info(nn, &info);
	sample = (size_t)info.chan * info.height * info.width * 2;
	n = n_bytes / sample;
	t0 = now();
	err = run(nn, in, sample, n, o.max_batch, out);
	printf("%s: %zu samples in batches of %u, %.2f/s, open %.3f s%s, %u features\n", info.backend, n, o.max_batch,
	       (double)n / (now() - t0), info.open_seconds, info.from_cache ? " (cached plan)" : "", info.n_features);
	gw_nn_close(nn);
	free(in);
	return err || fclose(out) ? 1 : 0;
}
