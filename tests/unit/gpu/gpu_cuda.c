/* On a card: memory kinds, streams, events, batched copies, graphs; and no hang behind a kernel that does not
 * end: it spins in one stream while copies and another launch go on in others. Skips without a card. */
#include "base/clock.h"
#include "gpu/gpu.h"
#include "t.h"

#ifdef GW_WITH_CUDA
extern const unsigned char gw__test_fatbin[];
#define IMAGE gw__test_fatbin
#else
#define IMAGE NULL
#endif

struct spin_args {
	uint32_t *stop, *beat;
};
struct add_args {
	uint32_t *word;
	uint32_t by;
};
void gw_test_spin_lane(const void *arg);
void gw_test_add_lane(const void *arg);
static const struct gw__kernel k_spin = { "gw_test_spin", IMAGE, gw_test_spin_lane, sizeof(struct spin_args) };
static const struct gw__kernel k_add = { "gw_test_add", IMAGE, gw_test_add_lane, sizeof(struct add_args) };

static void *get(enum gw_mem_kind kind, size_t n)
{
	void *p = NULL;

	T_NEED(!gw_mem_alloc(kind, n, 0, &p, NULL));
	return p;
}

static void copies(const struct gw__gpu_ops *g)
{
	enum { N = 1000, LEN = 1176 };
	uint8_t *host = get(GW_MEM_HOST_PINNED, N * LEN), *dev = get(GW_MEM_DEVICE, N * LEN), back[LEN];
	struct gw__copy c[N];
	struct gw_stream *s;
	struct gw_event *e;

	for (int i = 0; i < N * LEN; i++)
		host[i] = (uint8_t)(i * 7 + i / LEN);
	for (int i = 0; i < N; i++)
		c[i] = (struct gw__copy){ .dst = dev + (N - 1 - i) * LEN, .src = host + i * LEN, .n_bytes = LEN };
	T_RC(gw_stream_create(&s, NULL), 0);
	T_RC(g->event_create(&e), 0);
	T_RC(g->copy_batch(s, c, N), 0);
	T_RC(g->event_record(e, s), 0);
	T_RC(gw_event_sync(e), 0);
	T_EQ(gw_event_query(e), 1);
	for (int i = 0; i < N; i += 111) {
		T_RC(gw_mem_copy(back, dev + (N - 1 - i) * LEN, LEN), 0);
		T_MEM(back, host + i * LEN, LEN);
	}
	T_OK(g->host_alias(dev, LEN) == NULL);
	T_OK(g->host_alias(host, LEN) == host);
	g->event_destroy(e);
	gw_stream_destroy(s);
	gw_mem_free(host);
	gw_mem_free(dev);
}

static void graphs(const struct gw__gpu_ops *g)
{
	struct add_args a = { .word = get(GW_MEM_DEVICE, 64), .by = 3 };
	struct gw__graph *graph = NULL;
	struct gw_stream *s;
	uint32_t got = 0;

	T_RC(gw_stream_create(&s, NULL), 0);
	T_RC(g->capture_begin(s), 0);
	for (int i = 0; i < 5; i++)
		T_RC(g->launch(s, &k_add, (struct gw__grid){ 1, 32, 0 }, &a), 0);
	T_RC(g->capture_end(s, &graph), 0);
	for (int i = 0; i < 4; i++)
		T_RC(g->graph_launch(graph, s), 0);
	T_RC(gw_stream_sync(s), 0);
	T_RC(gw_mem_copy(&got, a.word, 4), 0);
	T_EQ(got, 4 * 5 * 3 * 32);
	g->graph_destroy(graph);
	gw_stream_destroy(s);
	gw_mem_free(a.word);
}

/* A persistent kernel for `seconds`, with copies and launches beside it, all made before it started. */
static void persistent(const struct gw__gpu_ops *g, double seconds)
{
	uint32_t *words = get(GW_MEM_HOST_PINNED, 4096);
	struct spin_args spin = { .stop = words, .beat = words + 64 };
	struct add_args add = { .word = get(GW_MEM_DEVICE, 64), .by = 1 };
	uint8_t *host = get(GW_MEM_HOST_PINNED, 1 << 20), *dev = get(GW_MEM_DEVICE, 1 << 20);
	const struct gw__copy c = { .dst = dev, .src = host, .n_bytes = 1 << 20 };
	struct gw_stream *s[3];
	struct gw_event *e;
	uint64_t t0 = gw__now_ns(gw__clock_monotonic()), worst = 0;
	uint32_t laps = 0, got = 0, beat;

	for (int i = 0; i < 3; i++)
		T_RC(gw_stream_create(&s[i], NULL), 0);
	T_RC(g->event_create(&e), 0);
	T_RC(g->launch(s[0], &k_spin, (struct gw__grid){ 1, 32, 0 }, &spin), 0);
	while ((double)(gw__now_ns(gw__clock_monotonic()) - t0) * 1e-9 < seconds) {
		uint64_t t = gw__now_ns(gw__clock_monotonic());

		T_RC(g->copy_batch(s[1], &c, 1), 0);
		T_RC(g->launch(s[2], &k_add, (struct gw__grid){ 1, 1, 0 }, &add), 0);
		T_RC(g->event_record(e, s[1]), 0);
		T_RC(gw_event_sync(e), 0);
		T_RC(gw_stream_sync(s[2]), 0);
		t = gw__now_ns(gw__clock_monotonic()) - t;
		worst = t > worst ? t : worst;
		laps++;
	}
	beat = __atomic_load_n(spin.beat, __ATOMIC_ACQUIRE);
	__atomic_store_n(spin.stop, 1, __ATOMIC_RELEASE);
	T_RC(gw_stream_sync(s[0]), 0);
	T_OK(beat > 0);
	T_RC(gw_mem_copy(&got, add.word, 4), 0);
	T_EQ(got, laps);
	T_OK(worst < 2000000000u);
	printf("persistent kernel: %.0f s, %u copies and launches beside it, the slowest %.1f ms\n", seconds, laps,
	       (double)worst * 1e-6);
	for (int i = 0; i < 3; i++)
		gw_stream_destroy(s[i]);
	g->event_destroy(e);
	gw_mem_free(words);
	gw_mem_free(add.word);
	gw_mem_free(host);
	gw_mem_free(dev);
}

int main(int argc, char **argv)
{
	const struct gw__gpu_ops *g = gw__gpu();
	struct gw_diag d;

	if (strcmp(g->name, "cuda"))
		T_SKIP("no CUDA device answers here: %s", g->describe());
	T_RC(g->kernel_prepare(&k_spin, &d), 0);
	T_RC(g->kernel_prepare(&k_add, &d), 0);
	copies(g);
	graphs(g);
	persistent(g, argc > 1 ? atof(argv[1]) : 3);
	printf("%s\n", g->describe());
	T_DONE();
}
