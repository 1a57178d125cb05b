/* tests/unit/nn/nn_int8.c: whole numbers on inputs that calibration has not seen: a channel that was weak there and
 * goes twice as far later is not cut off at what it was. Next: src/nn/equalise.c. */
#include <gpuwire/nn.h>

#include "base/alloc.h"

#include "make_onnx.h"

#include <errno.h>
#include <math.h>

#define N 8
#define MID 16
#define SIDE 12
#define AREA (SIDE * SIDE)

static float w1[MID * 3], w2[MID * MID];
static uint16_t seen[N * 3 * AREA], strange[N * 3 * AREA];
static uint32_t state = 5;

static uint32_t draw(void)
{
	state = state * 1664525u + 1013904223u;
	return state >> 8;
}

/* FLOAT16 of k / 1024, k in 1..1024: exact. */
static uint16_t half_of(uint32_t k)
{
	uint32_t e = 0;

	while (k >> (e + 1))
		e++;
	return (uint16_t)((e + 5) << 10 | (k << (10 - e) & 0x3ff));
}

/* Every picture: two strong channels, and the weak one up to `most`. */
static void pictures(uint16_t *to, uint32_t most)
{
	for (int i = 0; i < N * 3 * AREA; i++)
		to[i] = half_of(1 + draw() % (i / AREA % 3 == 2 ? most : 1024));
}

/* Each hidden channel sees one of the picture; what comes of the weak one weighs as much in the features. */
static const char *model(void)
{
	for (int o = 0; o < MID; o++)
		w1[o * 3 + o % 3] = 1.0f;
	for (int i = 0; i < MID * MID; i++)
		w2[i] = (float)(draw() % 1024) / 1024.0f * (i % MID % 3 == 2 ? 10.0f : i / MID % 2 ? 1.0f : 0.25f);
	mk_begin(3, SIDE, SIDE, "out", MID);
	mk_floats("w1", 4, (int64_t[]){MID, 3, 1, 1}, w1);
	mk_floats("w2", 4, (int64_t[]){MID, MID, 1, 1}, w2);
	mk_int(mk_node("Cast", "x", "x32"), "to", 1);
	mk_node("Conv", "x32 w1", "c1");
	mk_node("Relu", "c1", "r1");
	mk_node("Conv", "r1 w2", "c2");
	mk_node("Relu", "c2", "r2");
	mk_node("GlobalAveragePool", "r2", "g");
	mk_node("Flatten", "g", "out");
	return mk_write();
}

static void run(const char *path, enum gw_nn_precision precision, const uint16_t *in, float *out)
{
	struct gw_nn_opts o = {.sz = sizeof(o), .max_batch = N, .n_threads = 1, .precision = precision,
			       .calibration = seen, .calib_n = N};
	const float *got = NULL;
	struct gw_nn *nn = NULL;
	uint32_t n;
	int err = gw_nn_open(path, &o, &nn, NULL);

	if (err == -ENOTSUP && precision == GW_NN_INT8)
		T_SKIP("no int8 on this CPU");
	T_NEED(err == 0);
	T_RC(gw_nn_infer(nn, in, N, NULL, &got, &n), 0);
	T_RC(gw_nn_drain(nn, &got, &n), 0);
	T_EQ(n, N);
	memcpy(out, got, N * MID * sizeof(float));
	gw_nn_close(nn);
}

/* Smallest over the pictures. */
static double cosine(const float *a, const float *b)
{
	double least = 1.0;

	for (int i = 0; i < N; i++) {
		double ab = 0, aa = 0, bb = 0;

		for (int k = i * MID; k < (i + 1) * MID; k++) {
			ab += (double)a[k] * (double)b[k];
			aa += (double)a[k] * (double)a[k];
			bb += (double)b[k] * (double)b[k];
		}
		least = fmin(least, ab / sqrt(aa * bb));
	}
	return least;
}

int main(void)
{
	static float want[N * MID], got[N * MID];
	const char *path = model();
	double size = 0, err = 0;

	pictures(seen, 100);
	pictures(strange, 200);
	run(path, GW_NN_FP32, seen, want);
	run(path, GW_NN_INT8, seen, got);
	printf("seen: smallest cosine %.6f\n", cosine(want, got));
	T_OK(cosine(want, got) >= 0.9994);
	run(path, GW_NN_FP32, strange, want);
	run(path, GW_NN_INT8, strange, got);
	for (int i = 0; i < N * MID; i++) {
		err += pow((double)got[i] - (double)want[i], 2);
		size += pow((double)want[i], 2);
	}
	printf("strange: smallest cosine %.6f, ||a-b||/||b|| %.2e\n", cosine(want, got), sqrt(err / size));
	T_OK(cosine(want, got) >= 0.999);
	T_OK(sqrt(err / size) < 2e-2);
	remove(mk_save("", 0));
	T_EQ(gw__alloc_live(), 0);
	T_DONE();
}
