/* tests/unit/nn/nn_net.c: a small network with every operator that is run, against plain loops in double;
 * once with FLOAT inside, once FLOAT16 throughout. Must not know how src/nn fuses. Next: nn_batch.c. */
#include <gpuwire/nn.h>

#include "base/alloc.h"
#include "nn/half.h"

#include "make_onnx.h"

#include <math.h>
#include <stdbool.h>

#define N 5
#define C 3
#define SIDE 11
#define MID 20 /* not a multiple of any vector: padded layouts are exercised */
#define FEATS 7

/* Values that FLOAT16 holds exactly, so that both files mean the same network. */
static uint32_t state = 1;
static float draw(void)
{
	state = state * 1664525u + 1013904223u;
	return (float)((int)(state >> 24) - 128) / 128.0f;
}

static uint16_t to_half(float f)
{
	uint32_t b;
	int e;

	memcpy(&b, &f, 4);
	e = (int)(b >> 23 & 0xff) - 112;
	return (uint16_t)(f == 0.0f ? 0 : (b >> 16 & 0x8000) | (uint32_t)e << 10 | (b >> 13 & 0x3ff));
}

static float w1[MID * C * 9], b1[MID], w2[MID * (MID / 2) * 9], w3[MID * MID], k_mul[C], k_add[C];
static float bn[4][MID], wg[MID * 4 * FEATS], bg[FEATS], half_of[1] = {0.5f};
static uint16_t halves[32][MID * MID * 9];
static int n_halves;

static void constant(bool fp16, const char *name, int n_dims, const int64_t *dims, const float *v)
{
	size_t n = 1;

	for (int i = 0; i < n_dims; i++)
		n *= (size_t)dims[i];
	if (!fp16) {
		mk_floats(name, n_dims, dims, v);
		return;
	}
	for (size_t i = 0; i < n; i++)
		halves[n_halves][i] = to_half(v[i]);
	mk_const(name, ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT16, n_dims, dims, halves[n_halves], n * 2);
	n_halves++;
}

static void constants(bool fp16)
{
	static const int64_t two[2] = {-1, MID * 4};

	n_halves = 0;
	constant(fp16, "k_mul", 3, (int64_t[]){C, 1, 1}, k_mul);
	constant(fp16, "k_add", 4, (int64_t[]){1, C, 1, 1}, k_add);
	constant(fp16, "w1", 4, (int64_t[]){MID, C, 3, 3}, w1);
	constant(fp16, "b1", 1, (int64_t[]){MID}, b1);
	constant(fp16, "w2", 4, (int64_t[]){MID, MID / 2, 3, 3}, w2);
	constant(fp16, "w3", 4, (int64_t[]){MID, MID, 1, 1}, w3);
	constant(fp16, "gamma", 1, (int64_t[]){MID}, bn[0]);
	constant(fp16, "beta", 1, (int64_t[]){MID}, bn[1]);
	constant(fp16, "mean", 1, (int64_t[]){MID}, bn[2]);
	constant(fp16, "var", 1, (int64_t[]){MID}, bn[3]);
	constant(fp16, "wg", 2, (int64_t[]){MID * 4, FEATS}, wg);
	constant(fp16, "bg", 1, (int64_t[]){FEATS}, bg);
	constant(fp16, "half_value", 0, NULL, half_of);
	mk_const("two", ONNX__TENSOR_PROTO__DATA_TYPE__INT64, 1, (int64_t[]){2}, two, sizeof(two));
}

/* x * mul + add -> conv 3x3 pad 1 + bn -> relu -> a; grouped conv of a + 1x1 of a -> relu -> b; max pool of b + mean
 * pool of b -> c (3x3); bn(c) * c (no convolution before it) -> 2x2 mean -> (n, MID*4) -> gemm -> relu. */
static const char *model(bool fp16)
{
	Onnx__NodeProto *n;

	mk_begin(C, SIDE, SIDE, "out", FEATS);
	constants(fp16);
	mk_int(mk_node("Cast", "x", "x32"), "to", fp16 ? 10 : 1);
	mk_node("Mul", "k_mul x32", "scaled");
	mk_node("Add", "scaled k_add", "shifted");
	mk_window(mk_node("Conv", "shifted w1 b1", "c1"), 3, 1, 1);
	n = mk_node("BatchNormalization", "c1 gamma beta mean var", "n1");
	mk_float(n, "epsilon", 0.5f);
	mk_node("Relu", "n1", "a");
	n = mk_node("Conv", "a w2", "c2");
	mk_window(n, 3, 2, 1);
	mk_int(n, "group", 2);
	n = mk_node("Conv", "a w3 -", "c3");
	mk_ints(n, "strides", 2, (int64_t[]){2, 2});
	mk_node("Add", "c2 c3", "sum");
	mk_node("Relu", "sum", "b");
	mk_window(mk_node("MaxPool", "b", "p1"), 3, 2, 1);
	n = mk_node("AveragePool", "b", "p2");
	mk_window(n, 3, 2, 1);
	mk_int(n, "count_include_pad", 1);
	mk_node("Add", "p1 p2", "c");
	n = mk_node("BatchNormalization", "c gamma beta mean var", "n2");
	mk_float(n, "epsilon", 0.5f);
	mk_node("Mul", "n2 c", "sq");
	mk_node("Identity", "sq", "sq2");
	mk_window(mk_node("AveragePool", "sq2", "p3"), 2, 1, 0);
	mk_node("Reshape", "p3 two", "flat");
	n = mk_node("Constant", "", "half");
	mk_attr(n, "value")->t = mk_take_const("half_value");
	mk_node("Mul", "flat half", "flat2");
	n = mk_node("Gemm", "flat2 wg bg", "g");
	mk_float(n, "alpha", 0.25f);
	mk_node("Relu", "g", "r");
	mk_int(mk_node("Cast", "r", "out"), "to", 1);
	return mk_write();
}

/* ---- the same in double --------------------------------------------------------------------- */

struct shape_of_conv {
	int c, side, k, s, p, groups;
};

static void conv(struct shape_of_conv d, const double *x, const float *w, const float *bias, double *y)
{
	int made = (d.side + 2 * d.p - d.k) / d.s + 1, ci = d.c / d.groups, co = MID / d.groups;

	for (int o = 0; o < MID; o++)
		for (int i = 0; i < made * made; i++) {
			double sum = bias ? (double)bias[o] : 0;

			for (int j = 0; j < ci * d.k * d.k; j++) {
				int r = i / made * d.s - d.p + j / d.k % d.k, q = i % made * d.s - d.p + j % d.k;

				if (r >= 0 && r < d.side && q >= 0 && q < d.side)
					sum += (double)w[o * ci * d.k * d.k + j] *
					       x[(o / co * ci + j / d.k / d.k) * d.side * d.side + r * d.side + q];
			}
			y[o * made * made + i] = sum;
		}
}

static void pool(const double *x, int side, int k, int s, int p, bool largest, double *y)
{
	int made = (side + 2 * p - k) / s + 1;

	for (int i = 0; i < MID * made * made; i++) {
		double best = -1e300, sum = 0;

		for (int j = 0; j < k * k; j++) {
			int r = i / made % made * s - p + j / k, q = i % made * s - p + j % k;

			if (r < 0 || r >= side || q < 0 || q >= side)
				continue;
			best = fmax(best, x[i / made / made * side * side + r * side + q]);
			sum += x[i / made / made * side * side + r * side + q];
		}
		y[i] = largest ? best : sum / (k * k);
	}
}

static void norm(double *x, int area)
{
	for (int i = 0; i < MID * area; i++)
		x[i] = (x[i] - (double)bn[2][i / area]) / sqrt((double)bn[3][i / area] + 0.5) * (double)bn[0][i / area] +
		       (double)bn[1][i / area];
}

static void relu(double *x, int n)
{
	for (int i = 0; i < n; i++)
		x[i] = fmax(x[i], 0);
}

static void reference(const float *x, double *out)
{
	static double in[C * SIDE * SIDE], a[MID * SIDE * SIDE], b[MID * 36], c[MID * 36], p[MID * 9], q[MID * 9];

	for (int i = 0; i < C * SIDE * SIDE; i++)
		in[i] = (double)x[i] * (double)k_mul[i / SIDE / SIDE] + (double)k_add[i / SIDE / SIDE];
	conv((struct shape_of_conv){C, SIDE, 3, 1, 1, 1}, in, w1, b1, a);
	norm(a, SIDE * SIDE);
	relu(a, MID * SIDE * SIDE);
	conv((struct shape_of_conv){MID, SIDE, 3, 2, 1, 2}, a, w2, NULL, b);
	conv((struct shape_of_conv){MID, SIDE, 1, 2, 0, 1}, a, w3, NULL, c);
	for (int i = 0; i < MID * 36; i++)
		b[i] += c[i];
	relu(b, MID * 36);
	pool(b, 6, 3, 2, 1, true, p);
	pool(b, 6, 3, 2, 1, false, q);
	for (int i = 0; i < MID * 9; i++)
		q[i] = p[i] = p[i] + q[i];
	norm(p, 9);
	for (int i = 0; i < MID * 9; i++)
		p[i] *= q[i];
	pool(p, 3, 2, 1, 0, false, q);
	for (int f = 0; f < FEATS; f++) {
		out[f] = (double)bg[f];
		for (int i = 0; i < MID * 4; i++)
			out[f] += 0.25 * (double)wg[i * FEATS + f] * q[i] * 0.5;
	}
	relu(out, FEATS);
}

static void draw_all(void)
{
	for (int i = 0; i < MID * C * 9; i++)
		w1[i] = draw() / 4;
	for (int i = 0; i < MID * MID / 2 * 9; i++)
		w2[i] = draw() / 8;
	for (int i = 0; i < MID * MID; i++)
		w3[i] = draw() / 4;
	for (int i = 0; i < MID * 4 * FEATS; i++)
		wg[i] = draw() / 8;
	for (int i = 0; i < MID; i++) {
		b1[i] = draw();
		bn[0][i] = draw() + 2;
		bn[1][i] = draw();
		bn[2][i] = draw();
		bn[3][i] = draw() + 2;
	}
	for (int i = 0; i < C; i++) {
		k_mul[i] = draw();
		k_add[i] = draw();
	}
	for (int i = 0; i < FEATS; i++)
		bg[i] = draw() * 8;
}

static void run(bool fp16, enum gw_nn_precision precision, const uint16_t *in, double want[N][FEATS], double bound)
{
	struct gw_nn_opts o = {.sz = sizeof(o), .max_batch = N, .n_threads = 2, .precision = precision,
			       .calibration = in, .calib_n = N};
	struct gw_diag diag = {""};
	const float *got = NULL;
	double err = 0, size = 0;
	struct gw_nn *nn = NULL;
	uint32_t n = 9;
	int rc = gw_nn_open(model(fp16), &o, &nn, &diag);

	if (rc == -ENOTSUP && precision != GW_NN_FP32) {
		printf("precision %d: %s\n", (int)precision, diag.text);
		return;
	}
	if (rc)
		fprintf(stderr, "%s\n", diag.text);
	T_NEED(rc == 0);
	T_RC(gw_nn_infer(nn, in, N, NULL, &got, &n), 0);
	T_OK(!got && n == 0);
	T_RC(gw_nn_drain(nn, &got, &n), 0);
	T_EQ(n, N);
	for (int i = 0; got && i < N * FEATS; i++) {
		err += pow((double)got[i] - want[i / FEATS][i % FEATS], 2);
		size += pow(want[i / FEATS][i % FEATS], 2);
	}
	printf("FLOAT16 file %d, precision %d: ||a-b||/||b|| %.2e\n", fp16, (int)precision, sqrt(err / size));
	T_OK(size > 1 && sqrt(err / size) < bound);
	gw_nn_close(nn);
}

int main(void)
{
	static uint16_t in[N * C * SIDE * SIDE];
	static double want[N][FEATS];
	float x[C * SIDE * SIDE];

	draw_all();
	for (int n = 0; n < N; n++) {
		for (int i = 0; i < C * SIDE * SIDE; i++) {
			x[i] = draw() * 2;
			in[n * C * SIDE * SIDE + i] = to_half(x[i]);
			T_NEED(gw__half_to_float(to_half(x[i])) == x[i]);
		}
		reference(x, want[n]);
	}
	run(false, GW_NN_FP32, in, want, 2e-6);
	run(true, GW_NN_FP32, in, want, 2e-6);
	run(false, GW_NN_BF16, in, want, 3e-3);
	run(false, GW_NN_INT8, in, want, 1e-2);
	remove(mk_save("", 0));
	T_EQ(gw__alloc_live(), 0);
	T_DONE();
}
