/* The kernels between convolutions against plain loops: input layout and normalisation, pooling, elementwise,
 * peaks, for each way an element is stored. On the card where one answers, else in the emulator. */
#include <math.h>
#include <unistd.h>

#include "gpu/emu/simt.h"
#include "nn/cudnn/choice.h"
#include "nn/cudnn/kernels.h"
#include "t.h"

static struct gw_stream *stream;
static const struct gw__gpu_ops *g;

static void *put(const void *host, size_t n)
{
	void *p = NULL;

	T_NEED(!gw_mem_alloc(GW_MEM_DEVICE, n, 0, &p, NULL));
	T_RC(gw_mem_copy(p, host, n), 0);
	return p;
}

static void take(void *host, void *dev, size_t n)
{
	T_RC(gw_stream_sync(stream), 0);
	T_RC(gw_mem_copy(host, dev, n), 0);
}

static float half(uint16_t h)
{
	int e = h >> 10 & 31, m = h & 1023;
	float v = e == 31 ? INFINITY : e ? ldexpf((float)(1024 + m), e - 25) : ldexpf((float)m, -24);

	return h & 0x8000 ? -v : v;
}

/* nearest, ties to even: the largest half not above, or the one after it */
static uint16_t to_half(float f)
{
	uint16_t sign = signbit(f) ? 0x8000 : 0;
	uint32_t lo = 0, hi = 0x7c00; /* half(lo) <= a < half(hi) */
	float a = fabsf(f), below, above;

	while (hi - lo > 1) {
		uint32_t mid = (lo + hi) / 2;

		if (half((uint16_t)mid) <= a)
			lo = mid;
		else
			hi = mid;
	}
	below = a - half((uint16_t)lo);
	above = half((uint16_t)hi) - a;
	if (above < below || (above == below && lo & 1))
		lo = hi;
	return (uint16_t)(sign | lo);
}

static float rnd(uint32_t *s)
{
	*s = *s * 1664525u + 1013904223u;
	return (float)(int32_t)*s / 1e9f;
}

static void input(uint32_t c_out)
{
	enum { N = 2, C = 3, H = 5, W = 7, P = H * W };
	uint16_t x[N * C * P], got[N * P * 8];
	float scale[C] = { 0.5f, -2.0f, 1.0f }, shift[C] = { 1.0f, 0.25f, -3.0f };
	uint32_t s = 1;
	struct gw__input_args a = { .n = N, .c = C, .h = H, .w = W, .c_out = c_out, .fold = 1, .bh = H, .bw = W };
	void *dx, *dy, *ds, *db;

	for (int i = 0; i < N * C * P; i++)
		x[i] = to_half(rnd(&s));
	memset(got, 0xee, sizeof(got));
	a.x = dx = put(x, sizeof(x));
	a.y = dy = put(got, sizeof(got));
	a.scale = ds = put(scale, sizeof(scale));
	a.shift = db = put(shift, sizeof(shift));
	T_RC(gw__nn_input(g, stream, &a), 0);
	take(got, dy, sizeof(got));
	for (uint32_t n = 0; n < N; n++)
		for (uint32_t p = 0; p < P; p++)
			for (uint32_t c = 0; c < c_out; c++) {
				float want = c < C ? fmaf(half(x[(n * C + c) * P + p]), scale[c], shift[c]) : 0;

				T_OK(fabsf(half(got[(n * P + p) * c_out + c]) - want) <= fabsf(want) * 1e-3f);
			}
	a.c_out = 5;
	T_RC(gw__nn_input(g, stream, &a), -ENOTSUP);
	gw_mem_free(dx);
	gw_mem_free(dy);
	gw_mem_free(ds);
	gw_mem_free(db);
}

/* blocks of 2 x 2 pixels with a border of lo blocks before and one after */
static void input_blocks(uint32_t lo)
{
	enum { N = 2, C = 3, H = 6, W = 8, P = H * W };
	const uint32_t bh = H / 2 + lo + 1, bw = W / 2 + lo + 1;
	uint16_t x[N * C * P], got[N * 6 * 7 * 16];
	float scale[C] = { 0.5f, -2.0f, 1.0f }, shift[C] = { 1.0f, 0.25f, -3.0f };
	struct gw__input_args a = { .n = N, .c = C, .h = H, .w = W, .c_out = 16, .fold = 2, .bh = bh, .bw = bw,
				    .lo = { lo, lo } };
	uint32_t s = 3;
	void *dx, *dy, *ds, *db;

	T_NEED(bh * bw <= 42);
	for (int i = 0; i < N * C * P; i++)
		x[i] = to_half(rnd(&s));
	memset(got, 0xee, sizeof(got));
	a.x = dx = put(x, sizeof(x));
	a.y = dy = put(got, sizeof(got));
	a.scale = ds = put(scale, sizeof(scale));
	a.shift = db = put(shift, sizeof(shift));
	T_RC(gw__nn_input(g, stream, &a), 0);
	take(got, dy, sizeof(got));
	for (uint32_t i = 0; i < N * bh * bw * 16; i++) {
		uint32_t k = i % 16, bx = i / 16 % bw, by = i / 16 / bw % bh, n = i / 16 / bw / bh, c = k % C;
		int y = 2 * ((int)by - (int)lo) + (int)(k / C / 2), xx = 2 * ((int)bx - (int)lo) + (int)(k / C % 2);
		float want = 0;

		if (k < 4 * C && y >= 0 && y < H && xx >= 0 && xx < W)
			want = fmaf(half(x[(n * C + c) * P + (uint32_t)(y * W + xx)]), scale[c], shift[c]);
		T_OK(fabsf(half(got[i]) - want) <= fabsf(want) * 1e-3f);
	}
	a.h = 7;
	T_RC(gw__nn_input(g, stream, &a), -ENOTSUP);
	gw_mem_free(dx);
	gw_mem_free(dy);
	gw_mem_free(ds);
	gw_mem_free(db);
}

static float stored(const void *p, size_t i, int type, float scale)
{
	return type == GW_K_HALF ? half(((const uint16_t *)p)[i])
				 : type == GW_K_FLOAT ? ((const float *)p)[i] : (float)((const int8_t *)p)[i] * scale;
}

static void store(void *p, size_t i, int type, float scale, float v)
{
	if (type == GW_K_HALF)
		((uint16_t *)p)[i] = to_half(v);
	else if (type == GW_K_FLOAT)
		((float *)p)[i] = v;
	else
		((int8_t *)p)[i] = (int8_t)fmaxf(-127, fminf(127, nearbyintf(v / scale)));
}

static float pooled(const struct gw__pool_args *a, const void *x, uint32_t n, uint32_t p, uint32_t q, uint32_t c)
{
	float acc = a->mean ? 0 : -INFINITY;
	int count = 0;

	for (int i = 0; i < a->kernel[0]; i++)
		for (int j = 0; j < a->kernel[1]; j++) {
			int y = (int)p * a->stride[0] - a->pad[0] + i, xx = (int)q * a->stride[1] - a->pad[1] + j;
			float v;

			if (y < 0 || xx < 0 || y >= (int)a->h || xx >= (int)a->w)
				continue;
			v = stored(x, ((n * a->h + (uint32_t)y) * a->w + (uint32_t)xx) * a->c + c, (int)a->x_type, a->x_scale);
			acc = a->mean ? acc + v : fmaxf(acc, v);
			count++;
		}
	return a->mean ? acc / (float)(a->padded ? a->kernel[0] * a->kernel[1] : count) : acc;
}

static void pool(int x_type, int y_type, bool mean, bool padded)
{
	struct gw__pool_args a = { .n = 2, .h = 9, .w = 7, .c = 16, .p = 5, .q = 4, .kernel = { 3, 3 }, .stride = { 2, 2 },
				   .dilation = { 1, 1 }, .pad = { 1, 1 }, .mean = mean, .padded = padded,
				   .x_type = (uint32_t)x_type, .y_type = (uint32_t)y_type, .x_scale = 0.03f,
				   .y_scale = 0.05f };
	static float x[2 * 9 * 7 * 16], y[2 * 5 * 4 * 16];
	uint32_t s = 9;
	void *dx, *dy;

	for (size_t i = 0; i < 2 * 9 * 7 * 16; i++)
		store(x, i, x_type, a.x_scale, rnd(&s));
	a.x = dx = put(x, sizeof(x));
	a.y = dy = put(y, sizeof(y));
	T_RC(gw__nn_pool(g, stream, &a), 0);
	take(y, dy, sizeof(y));
	for (uint32_t n = 0, i = 0; n < a.n; n++)
		for (uint32_t p = 0; p < a.p; p++)
			for (uint32_t q = 0; q < a.q; q++)
				for (uint32_t c = 0; c < a.c; c++, i++) {
					float want = pooled(&a, x, n, p, q, c), got = stored(y, i, y_type, a.y_scale);
					float tol = y_type == GW_K_CHAR ? a.y_scale * 0.51f : fabsf(want) * 1e-3f + 1e-6f;

					T_OK(fabsf(got - want) <= tol);
				}
	a.c = 12;
	T_RC(gw__nn_pool(g, stream, &a), -ENOTSUP);
	gw_mem_free(dx);
	gw_mem_free(dy);
}

static void mean(int x_type, int y_type)
{
	enum { N = 2, P = 49, C = 512 };
	static float x[N * P * C], y[N * C];
	struct gw__mean_args a = { .n = N, .plane = P, .c = C, .x_type = (uint32_t)x_type, .y_type = (uint32_t)y_type,
				   .x_scale = 0.03f, .y_scale = 0.01f };
	uint32_t s = 4;
	void *dx, *dy;

	for (size_t i = 0; i < N * P * C; i++)
		store(x, i, x_type, a.x_scale, x_type == GW_K_HALF ? ldexpf((float)(i * 7 % 63), -3) : rnd(&s));
	a.x = dx = put(x, sizeof(x));
	a.y = dy = put(y, sizeof(y));
	T_RC(gw__nn_mean(g, stream, &a), 0);
	take(y, dy, sizeof(y));
	for (uint32_t n = 0; n < N; n++)
		for (uint32_t c = 0; c < C; c++) {
			double want = 0;

			for (uint32_t p = 0; p < P; p++)
				want += (double)stored(x, (n * P + p) * C + c, x_type, a.x_scale) / P;
			T_OK(fabs((double)stored(y, n * C + c, y_type, a.y_scale) - want) <=
			     fabs(want) * 1e-3 + (y_type == GW_K_CHAR ? 0.0051 : 1e-6));
		}
	a.c = 200;
	T_RC(gw__nn_mean(g, stream, &a), -ENOTSUP);
	gw_mem_free(dx);
	gw_mem_free(dy);
}

static void point(uint32_t op, bool relu)
{
	enum { N = 2, C = 6, P = 5, ALL = N * C * P };
	static float x[ALL], x2[ALL], y[ALL], scale[C] = { 1, -1, 2, 0.5f, 0, 3 }, shift[C] = { 0, 1, -1, 2, -2, 0.5f };
	struct gw__point_args a = { .n_elems = ALL, .c = C, .plane = P, .op = op, .relu = relu, .x_type = GW_K_HALF,
				    .x2_type = GW_K_CHAR, .y_type = GW_K_FLOAT, .x_scale = 1, .x2_scale = 0.02f,
				    .y_scale = 1 };
	uint32_t s = 5;
	void *dx, *dx2, *dy, *ds, *db;

	for (size_t i = 0; i < ALL; i++) {
		store(x, i, GW_K_HALF, 1, rnd(&s));
		store(x2, i, GW_K_CHAR, a.x2_scale, rnd(&s));
	}
	a.x = dx = put(x, sizeof(x));
	a.x2 = dx2 = put(x2, sizeof(x2));
	a.y = dy = put(y, sizeof(y));
	a.scale = ds = put(scale, sizeof(scale));
	a.shift = db = put(shift, sizeof(shift));
	T_RC(gw__nn_point(g, stream, &a), 0);
	take(y, dy, sizeof(y));
	for (size_t i = 0; i < ALL; i++) {
		size_t c = i % C, pixel = i / C % P, n = i / C / P;
		float u = stored(x, i, GW_K_HALF, 1), v = stored(x2, i, GW_K_CHAR, a.x2_scale);
		float want = op == GW_K_ADD ? u + v : op == GW_K_MUL ? u * v : op == GW_K_AFFINE ? fmaf(u, scale[c], shift[c]) : u;
		size_t at = op == GW_K_FLATTEN ? (n * C + c) * P + pixel : i;

		want = relu && want < 0 ? 0 : want;
		T_OK(fabsf(y[at] - want) <= fabsf(want) * 1e-5f + 1e-6f);
	}
	gw_mem_free(dx);
	gw_mem_free(dx2);
	gw_mem_free(dy);
	gw_mem_free(ds);
	gw_mem_free(db);
}

static void peak(void)
{
	float x[300] = { 0 }, got;
	uint32_t zero = 0;
	struct gw__peak_args a = { .n_elems = 300, .x_type = GW_K_FLOAT };
	void *dx, *dp;

	x[17] = -7.5f;
	x[250] = 3.0f;
	a.x = dx = put(x, sizeof(x));
	a.peak = dp = put(&zero, 4);
	T_RC(gw__nn_peak(g, stream, &a), 0);
	take(&got, dp, 4);
	T_OK(got == 7.5f);
	gw_mem_free(dx);
	gw_mem_free(dp);
}

static void choices(void)
{
	char path[] = "/tmp/gw-choice-XXXXXX";
	int fd = mkstemp(path);
	FILE *f = fdopen(fd, "w");

	T_NEED(f);
	fputs("garbage\n99\t1\tkey\n-1\t0\tkey\n3x\t0\tkey\n", f);
	fclose(f);
	T_EQ(gw__choice_get(path, "key", 10), -1);
	gw__choice_put(path, "key", 4, 1.5);
	gw__choice_put(path, "other key", 2, 1.5);
	T_EQ(gw__choice_get(path, "key", 10), 4);
	T_EQ(gw__choice_get(path, "key", 4), -1); /* the list is shorter now */
	gw__choice_put(path, "key", 1, 1.5);
	T_EQ(gw__choice_get(path, "key", 10), 1);
	T_EQ(gw__choice_get(path, "other key", 10), 2);
	T_EQ(gw__choice_get(NULL, "key", 10), -1);
	unlink(path);
	T_EQ(gw__choice_get(path, "key", 10), -1);
}

int main(void)
{
	static const int ways[][4] = { { GW_K_HALF, GW_K_HALF, 0, 0 }, { GW_K_HALF, GW_K_CHAR, 0, 0 },
				       { GW_K_CHAR, GW_K_FLOAT, 1, 0 }, { GW_K_HALF, GW_K_FLOAT, 1, 1 },
				       { GW_K_FLOAT, GW_K_HALF, 1, 1 }, { GW_K_CHAR, GW_K_CHAR, 0, 0 } };

	g = gw__gpu();
	T_NEED(!gw_stream_create(&stream, NULL));
	T_RC(gw__nn_kernels_prepare(g, NULL), 0);
	input(4);
	input(8);
	input_blocks(2);
	input_blocks(0);
	mean(GW_K_HALF, GW_K_FLOAT);
	mean(GW_K_CHAR, GW_K_FLOAT);
	mean(GW_K_HALF, GW_K_HALF);
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		pool(ways[i][0], ways[i][1], ways[i][2], ways[i][3]);
	for (uint32_t op = GW_K_CAST; op <= GW_K_FLATTEN; op++) {
		point(op, false);
		point(op, true);
	}
	peak();
	choices();
	gw_stream_destroy(stream);
	printf("%s\n", g->describe());
	T_DONE();
}
