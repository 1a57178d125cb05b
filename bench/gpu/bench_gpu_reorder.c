/* bench/gpu/bench_gpu_reorder.c: one launch puts packets in order and converts int8 to fp16; beside it, in the
 * same run, what the memory itself can do. bench_gpu_reorder [--small]
 *   device   payload slots in GPU memory: >= 1 GiB of distinct source + output in one launch / device copy
 *   window   one window of 4,096 packets (batch 32): time of a launch inside a graph, and its floor
 *   pinned   payload slots in pinned host memory / a plain 16-byte read of the same pages */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "plain_read.h"
#include "reorder/cuda/scatter_cuda.h"

#define PAYLOAD 1176u
#define STRIDE 1280u
#define LAPS 9

#ifdef GW_WITH_CUDA
extern const unsigned char gw__plain_read_fatbin[];
#define IMAGE gw__plain_read_fatbin
#else
#define IMAGE NULL
#endif
void gw_plain_read_lane(const void *arg);
static const struct gw__kernel k_read = { "gw_plain_read", IMAGE, gw_plain_read_lane, sizeof(struct plain_read_args) };

static const struct gw__gpu_ops *gpu;
static struct gw_stream *stream;
static const struct gw__kernel *kernel;
static struct gw__scatter scatter;
static uint32_t offset = 64; /* of the payload in its slot; 72: only 8-byte reads are allowed */

static void *get(enum gw_mem_kind kind, size_t n)
{
	struct gw_diag d;
	void *p = NULL;

	if (gpu->mem_alloc(kind, n, 0, &p, &d)) {
		fprintf(stderr, "%s\n", d.text);
		exit(1);
	}
	return p;
}

static void must(int err, const char *what)
{
	if (err) {
		fprintf(stderr, "%s: %s\n", what, strerror(-err));
		exit(1);
	}
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Median seconds of one of `inner` launches queued together. */
static double time_of(void (*queue)(void *), void *arg, int inner)
{
	double t[LAPS];

	for (int i = -2; i < LAPS; i++) {
		uint64_t t0 = gw__now_ns(gw__clock_monotonic());

		for (int k = 0; k < inner; k++)
			queue(arg);
		must(gpu->stream_sync(stream), "sync");
		if (i >= 0)
			t[i] = (double)(gw__now_ns(gw__clock_monotonic()) - t0) * 1e-9 / inner;
	}
	qsort(t, LAPS, sizeof(*t), ascending);
	return t[LAPS / 2];
}

struct job {
	struct gw__move *moves;
	uint64_t *valid;
	uint8_t *src, *out;
	uint32_t n;
	size_t n_bytes;
	uint32_t *sum;
	struct gw__graph *graph;
};

static void queue_scatter(void *arg)
{
	struct job *j = arg;

	scatter.src = j->src + offset;
	must(gw__scatter_cuda(gpu, stream, kernel, &scatter, j->out, j->moves, j->n, j->valid, j->n), "launch");
}

static void queue_copy(void *arg)
{
	struct job *j = arg;
	const struct gw__copy c = { .dst = j->out, .src = j->src, .n_bytes = j->n_bytes };

	must(gpu->copy_batch(stream, &c, 1), "copy");
}

static void queue_read(void *arg)
{
	struct job *j = arg;
	const struct plain_read_args a = { .src = (uint32_t *)j->src, .n_bytes = j->n_bytes, .sum = j->sum };

	must(gpu->launch(stream, &k_read, (struct gw__grid){ 2 * gpu->n_sm(), 512, 0 }, &a), "launch");
}

static void queue_graph(void *arg)
{
	struct job *j = arg;

	must(gpu->graph_launch(j->graph, stream), "graph");
}

/* Arrival order: neighbours swapped here and there, as on a wire. */
static void make_moves(struct job *j, uint32_t n, enum gw_mem_kind kind)
{
	struct gw__move *m = calloc(n, sizeof(*m));
	uint64_t *valid = calloc((n + 63) / 64, 8);

	for (uint32_t i = 0; i < n; i++) {
		m[i] = (struct gw__move){ .slot = i, .idx = i % 37 == 5 && i + 1 < n ? i + 1 : i % 37 == 6 ? i - 1 : i,
					  .len = PAYLOAD };
		valid[i / 64] |= 1ull << i % 64;
	}
	j->n = n;
	j->moves = get(kind, n * sizeof(*m));
	j->valid = get(kind, (n + 63) / 64 * 8);
	must(gw_mem_copy(j->moves, m, n * sizeof(*m)), "moves");
	must(gw_mem_copy(j->valid, valid, (n + 63) / 64 * 8), "valid");
	free(m);
	free(valid);
}

static void random_bytes(uint8_t *dst, size_t n)
{
	const size_t piece = (size_t)16 << 20;
	uint8_t *p = malloc(piece);
	uint64_t s = 88172645463325252u;

	for (size_t i = 0; i < piece; i += 8) {
		s ^= s << 13;
		s ^= s >> 7;
		s ^= s << 17;
		memcpy(p + i, &s, 8);
	}
	for (size_t at = 0; at < n; at += piece)
		must(gw_mem_copy(dst + at, p, n - at < piece ? n - at : piece), "fill");
	free(p);
}

static void prepare(uint8_t *src)
{
	struct gw_diag d;

	scatter.src = src;
	must(gw__scatter_cuda_prepare(gpu, &scatter, false, &kernel, &d), "kernel");
}

static void device_rate(uint32_t n)
{
	struct job s = { .out = get(GW_MEM_DEVICE, (size_t)n * PAYLOAD * 2) }, c;
	const double bytes = (double)n * PAYLOAD * 3;
	double t, tp, tc;

	s.src = get(GW_MEM_DEVICE, (size_t)n * STRIDE);
	prepare(s.src);
	random_bytes(s.src, (size_t)n * STRIDE);
	make_moves(&s, n, GW_MEM_DEVICE);
	t = time_of(queue_scatter, &s, 4);
	gpu->mem_free(s.moves);
	gpu->mem_free(s.valid);
	make_moves(&s, n, GW_MEM_HOST_PINNED);
	tp = time_of(queue_scatter, &s, 4);
	c = s;
	c.n_bytes = (size_t)n * STRIDE;
	tc = time_of(queue_copy, &c, 4);
	printf("{\"bench\":\"gpu_reorder\",\"case\":\"device\",\"offset\":%u,\"packets\":%u,\"bytes\":%.0f,\"seconds\":%.6f,"
	       "\"GBps\":%.1f,\"moves_in_host_GBps\":%.1f,\"copy_GBps\":%.1f,\"ratio\":%.3f,\"ratio_moves_in_host\":%.3f}\n",
	       offset, n, bytes, t, bytes / t * 1e-9, bytes / tp * 1e-9, (double)n * STRIDE * 2 / tc * 1e-9,
	       bytes / t / ((double)n * STRIDE * 2 / tc), bytes / tp / ((double)n * STRIDE * 2 / tc));
	gpu->mem_free(s.src);
	gpu->mem_free(s.out);
	gpu->mem_free(s.moves);
	gpu->mem_free(s.valid);
}

/* One window, its moves in pinned memory as in production; alone, and twenty of them in a graph. */
static void window_time(uint32_t n)
{
	struct job s = { .src = get(GW_MEM_DEVICE, (size_t)n * STRIDE), .out = get(GW_MEM_DEVICE, (size_t)n * PAYLOAD * 2) };
	double alone, inside;

	prepare(s.src);
	random_bytes(s.src, (size_t)n * STRIDE);
	for (int pinned = 0; pinned < 2; pinned++) {
		make_moves(&s, n, pinned ? GW_MEM_HOST_PINNED : GW_MEM_DEVICE);
		alone = time_of(queue_scatter, &s, 1);
		s.graph = NULL;
		inside = 0;
		if (!gpu->capture_begin(stream)) {
			for (int i = 0; i < 20; i++)
				queue_scatter(&s);
			must(gpu->capture_end(stream, &s.graph), "capture");
			inside = time_of(queue_graph, &s, 1) / 20;
			gpu->graph_destroy(s.graph);
		}
		printf("{\"bench\":\"gpu_reorder\",\"case\":\"window\",\"offset\":%u,\"moves\":\"%s\",\"packets\":%u,\"us_launch_and_sync\":%.2f,"
		       "\"us_in_graph\":%.2f,\"floor_us\":%.2f}\n", offset, pinned ? "pinned" : "device", n, alone * 1e6,
		       inside * 1e6, (double)n * PAYLOAD * 3 / 4.2e12 * 1e6);
		gpu->mem_free(s.moves);
		gpu->mem_free(s.valid);
	}
	gpu->mem_free(s.src);
	gpu->mem_free(s.out);
}

static void pinned_rate(uint32_t n)
{
	struct job s = { .src = get(GW_MEM_HOST_PINNED, (size_t)n * STRIDE),
			 .out = get(GW_MEM_DEVICE, (size_t)n * PAYLOAD * 2), .sum = get(GW_MEM_DEVICE, 64) }, r;
	double t, tr;

	prepare(s.src);
	random_bytes(s.src, (size_t)n * STRIDE);
	make_moves(&s, n, GW_MEM_HOST_PINNED);
	r = s;
	r.n_bytes = (size_t)n * STRIDE;
	t = time_of(queue_scatter, &s, 2);
	tr = time_of(queue_read, &r, 2);
	printf("{\"bench\":\"gpu_reorder\",\"case\":\"pinned\",\"offset\":%u,\"packets\":%u,\"payload_GBps\":%.2f,\"plain_read_GBps\":%.2f,"
	       "\"ratio\":%.3f}\n", offset, n, (double)n * PAYLOAD / t * 1e-9, (double)r.n_bytes / tr * 1e-9,
	       (double)n * PAYLOAD / t / ((double)r.n_bytes / tr));
	gpu->mem_free(s.src);
	gpu->mem_free(s.out);
	gpu->mem_free(s.sum);
	gpu->mem_free(s.moves);
	gpu->mem_free(s.valid);
}

int main(int argc, char **argv)
{
	bool small = argc > 1 && !strcmp(argv[1], "--small");
	struct gw_diag d;

	gpu = gw__gpu();
	printf("{\"bench\":\"gpu_reorder\",\"on\":\"%s\"}\n", gpu->describe());
	must(gw_stream_create(&stream, &d), "stream");
	must(gw__scatter_init(&scatter, GW__SIMD_SCALAR, GW_INT8, GW_FP16, false, PAYLOAD, GW_FILL_ZERO), "scatter");
	scatter.src_stride = STRIDE;
	must(gpu->kernel_prepare(&k_read, &d), "kernel");
	for (offset = 64; offset <= 72; offset += 8) {
		device_rate(small ? 64 : 458752); /* 1.6 GB */
		window_time(small ? 64 : 4096);
		pinned_rate(small ? 64 : 262144);
	}
	gw_stream_destroy(stream);
	return 0;
}
