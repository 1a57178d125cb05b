/* The SIMT emulator: barriers, collectives, atomics, residency, traps, hangs; a planted race is found by
 * random lane order. Run with --threads under the thread sanitizer: lanes are pthreads. */
#include "base/alloc.h"
#include "gpu/emu/simt.h"
#include "gpu/gpu.h"
#include "gpu_simt_kernels.h"
#include "t.h"

#define X(n) static const struct gw__kernel k_##n = { .name = #n, .lane = n##_lane, .arg_bytes = sizeof(struct sum_args) };
KERNELS(X)
#undef X

static struct gw__simt_opts how;
static struct gw_diag d;
static uint32_t in[1024], out[4096];

static int run(const struct gw__kernel *k, uint32_t n_blocks, uint32_t n_threads)
{
	struct sum_args a = { in, out };

	memset(out, 0, sizeof(out));
	gw__simt_set(&how);
	return gw__simt_run(k, (struct gw__grid){ n_blocks, n_threads, 0 }, &a, &d);
}

static uint32_t sum(uint32_t from, uint32_t n)
{
	uint32_t s = 0;

	for (uint32_t i = from; i < from + n; i++)
		s += in[i];
	return s;
}

static void barriers_and_words(void)
{
	for (uint64_t seed = 0; seed < 20; seed++) {
		how.seed = seed;
		T_RC(run(&k_block_sum, 8, 64), 0);
		for (uint32_t b = 0; b < 8; b++)
			T_EQ(out[b], sum(b * 64, 64));
		T_RC(run(&k_warp_words, 1, 64), 0);
		for (uint32_t t = 0; t < 64; t++) {
			uint32_t w = t / 32 * 32, odd = 0, max = 0;

			for (uint32_t i = 0; i < 32; i++) {
				odd |= (in[w + i] & 1) << i;
				max = in[w + i] > max ? in[w + i] : max;
			}
			T_EQ(out[t * 4], odd);
			T_EQ(out[t * 4 + 1], in[w + (t + 1) % 32]);
			T_EQ(out[t * 4 + 2], max);
			T_EQ(out[t * 4 + 3], t % 32 < 16 ? sum(w, 16) : 0);
		}
		T_RC(run(&k_counts, 7, 32), 0);
		T_EQ(out[0], 7 * 32);
		T_EQ(out[1], 7 * 32 - 1);
		if (how.mode == GW_SIMT_THREADS && seed == 3)
			break;
	}
	how.seed = 0;
}

/* In order the race hides; some random order shows it. */
static void race(void)
{
	int found = 0;

	T_RC(run(&k_racy_sum, 1, 64), 0);
	T_EQ(out[0], sum(0, 64));
	for (how.seed = 1; how.seed <= 20; how.seed++) {
		T_RC(run(&k_racy_sum, 1, 64), 0);
		found += out[0] != sum(0, 64);
	}
	how.seed = 0;
	T_OK(found > 0);
}

static void printed(void *ctx, const char *text)
{
	snprintf(ctx, 64, "%s", text);
}

static _Atomic int hints;

static void progress(void *ctx)
{
	hints++;
}

static void residency_and_faults(void)
{
	char text[64] = "";

	how.resident = true;
	how.max_lanes = 256;
	how.progress = progress;
	T_RC(run(&k_chain, 8, 32), 0);
	T_EQ(out[0], 1);
	T_OK(hints > 0);
	T_RC(run(&k_chain, 9, 32), -EINVAL);
	T_HAS(d.text, "at most 8 blocks");
	how.resident = false; /* in waves of 8, block 7 waits for one that is not there: named, not hung */
	if (how.mode == GW_SIMT_FIBERS) {
		T_RC(run(&k_chain, 9, 32), -EDEADLK);
		T_HAS(d.text, "block");
		T_RC(run(&k_lost_barrier, 1, 32), -EDEADLK);
	}
	how.print = printed;
	how.print_ctx = text;
	T_RC(run(&k_traps, 2, 32), -EFAULT);
	T_HAS(d.text, "block 1 thread 5: trap");
	T_STR(text, "lane 5 of block 1 gives up");
	T_RC(run(&k_bad_mask, 1, 32), -EFAULT);
	T_HAS(d.text, "does not name the calling lane");
	T_RC(run(&k_block_sum, 1, 2048), -EINVAL);
	T_RC(run(&k_block_sum, 0, 32), -EINVAL);
	memset(&how, 0, sizeof(how));
}

static void on_a_stream(void)
{
	struct sum_args a = { in, out };
	struct gw_stream *s;

	memset(out, 0, sizeof(out));
	gw__simt_set(NULL);
	T_RC(gw_stream_create(&s, NULL), 0);
	T_RC(gw__gpu()->kernel_prepare(&k_block_sum, &d), 0);
	T_RC(gw__gpu()->launch(s, &k_block_sum, (struct gw__grid){ 4, 128, 0 }, &a), 0);
	T_RC(gw_stream_sync(s), 0);
	T_EQ(out[3], sum(3 * 128, 128));
	T_RC(gw__gpu()->launch(s, &k_block_sum, (struct gw__grid){ 0, 128, 0 }, &a), -EINVAL);
	gw_stream_destroy(s);
}

static void allocations(void)
{
	for (long n = 1; n < 12; n++) {
		int err;

		gw__alloc_fail_at(n);
		err = run(&k_block_sum, 2, 32);
		gw__alloc_fail_at(0);
		T_OK(err == 0 || err == -ENOMEM || err == -EFAULT);
		T_EQ(gw__alloc_live(), 0);
		if (!err)
			break;
	}
}

int main(int argc, char **argv)
{
	setenv("GPUWIRE_GPU", "emu", 1);
	for (uint32_t i = 0; i < 1024; i++)
		in[i] = (i * 2654435761u) >> 20;
#ifdef GW_TSAN
	how.mode = GW_SIMT_THREADS;
#endif
	if (argc > 1 && !strcmp(argv[1], "--threads"))
		how.mode = GW_SIMT_THREADS;
	if (argc > 1 && !strcmp(argv[1], "--race")) { /* must be reported by the thread sanitizer */
		how.mode = GW_SIMT_THREADS;
		return run(&k_racy_sum, 1, 64) ? 1 : 0;
	}
	barriers_and_words();
	if (how.mode == GW_SIMT_FIBERS)
		race();
	residency_and_faults();
	on_a_stream();
	if (how.mode == GW_SIMT_FIBERS)
		allocations();
	T_EQ(gw__alloc_live(), 0);
	T_DONE();
}
