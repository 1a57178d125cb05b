/* tests/unit/nn/nn_batch.c: one batch late, results that live until the second-next call, any n up to the
 * largest, the same bits however the samples are cut into batches, nothing allocated once warm.
 * Must not know oneDNN. Next: nn_refuse.c. */
#include <gpuwire/nn.h>

#include "base/alloc.h"
#include "gpu/gpu.h"

#include "make_onnx.h"

#include <math.h>

#define C 3
#define SIDE 16
#define MID 24
#define N 40
#define SAMPLE (C * SIDE * SIDE)

static float w1[MID * C * 9], w2[MID * MID * 9], b1[MID];
static uint16_t in[N * SAMPLE];
static float all[N * MID];

static const char *model(void)
{
	mk_begin(C, SIDE, SIDE, "out", MID);
	mk_floats("w1", 4, (int64_t[]){MID, C, 3, 3}, w1);
	mk_floats("w2", 4, (int64_t[]){MID, MID, 3, 3}, w2);
	mk_floats("b1", 1, (int64_t[]){MID}, b1);
	mk_int(mk_node("Cast", "x", "x32"), "to", 1);
	mk_window(mk_node("Conv", "x32 w1 b1", "c1"), 3, 1, 1);
	mk_node("Relu", "c1", "r1");
	mk_window(mk_node("Conv", "r1 w2 b1", "c2"), 3, 1, 1);
	mk_node("Add", "r1 c2", "s");
	mk_node("Relu", "s", "r2");
	mk_node("GlobalAveragePool", "r2", "g");
	mk_node("Flatten", "g", "out");
	return mk_write();
}

static struct gw_nn *open_for(uint32_t max_batch, uint32_t n_threads)
{
	struct gw_nn_opts o = {.sz = sizeof(o), .max_batch = max_batch, .n_threads = n_threads};
	struct gw_diag diag = {""};
	struct gw_nn *nn = NULL;

	T_RC(gw_nn_open(model(), &o, &nn, &diag), 0);
	if (!nn)
		fprintf(stderr, "%s\n", diag.text);
	T_NEED(nn);
	return nn;
}

/* All samples in batches of n; every feature must equal `all` bit for bit (or fill it the first time). */
static void in_batches(struct gw_nn *nn, uint32_t n, bool first)
{
	uint32_t done = 0, got_n;
	const float *got;

	for (uint32_t at = 0; at <= N; at += n) {
		uint32_t m = N - at < n ? N - at : n;

		if (at < N)
			T_RC(gw_nn_infer(nn, in + at * SAMPLE, m, NULL, &got, &got_n), 0);
		if (at + n >= N) { /* also hand in what infer gave before the tail overwrites it */
			const float *last;
			uint32_t last_n;

			if (at < N && got) {
				T_MEM(got, all + done * MID, first ? 0 : got_n * MID * sizeof(float));
				memcpy(all + done * MID, got, got_n * MID * sizeof(float));
				done += got_n;
			}
			T_RC(gw_nn_drain(nn, &last, &last_n), 0);
			T_MEM(last, all + done * MID, first ? 0 : last_n * MID * sizeof(float));
			memcpy(all + done * MID, last, last_n * MID * sizeof(float));
			done += last_n;
			break;
		}
		T_EQ(got_n, at ? n : 0);
		T_MEM(got, all + done * MID, first || !got ? 0 : got_n * MID * sizeof(float));
		if (got)
			memcpy(all + done * MID, got, got_n * MID * sizeof(float));
		done += got_n;
	}
	T_EQ(done, N);
}

static void late_by_one(void)
{
	struct gw_nn *nn = open_for(8, 2);
	const float *a, *b, *c, *d;
	float copy[MID];
	uint32_t n;

	T_RC(gw_nn_drain(nn, &a, &n), 0);
	T_OK(!a && n == 0);
	T_RC(gw_nn_infer(nn, in, 8, NULL, &a, &n), 0);
	T_OK(!a && n == 0);
	T_RC(gw_nn_infer(nn, in + 8 * SAMPLE, 3, NULL, &a, &n), 0);
	T_EQ(n, 8);
	T_MEM(a, all, sizeof(copy));
	memcpy(copy, a, sizeof(copy));
	T_RC(gw_nn_infer(nn, in + 16 * SAMPLE, 1, NULL, &b, &n), 0);
	T_EQ(n, 3);
	T_MEM(b, all + 8 * MID, sizeof(copy));
	T_MEM(a, copy, sizeof(copy)); /* still there one call later */
	T_RC(gw_nn_drain(nn, &c, &n), 0);
	T_EQ(n, 1);
	T_MEM(c, all + 16 * MID, sizeof(copy));
	T_MEM(b, all + 8 * MID, sizeof(copy));
	T_RC(gw_nn_drain(nn, &d, &n), 0);
	T_OK(!d && n == 0);
	gw_nn_close(nn);
}

static void refusals_leave_it_whole(void)
{
	struct gw_nn *nn = open_for(8, 1);
	const float *a = all;
	uint32_t n = 77;

	T_RC(gw_nn_infer(nn, in, 8, NULL, &a, &n), 0);
	T_RC(gw_nn_infer(nn, in, 9, NULL, &a, &n), -EINVAL);
	T_RC(gw_nn_infer(nn, in, 0, NULL, &a, &n), -EINVAL);
	T_RC(gw_nn_infer(nn, (char *)in + 1, 1, NULL, &a, &n), -EINVAL);
	T_RC(gw_nn_infer(nn, NULL, 1, NULL, &a, &n), -EINVAL);
	T_RC(gw_nn_drain(nn, &a, &n), 0);
	T_EQ(n, 8); /* the batch queued before the refusals */
	T_MEM(a, all, MID * sizeof(float));
	gw_nn_close(nn);
}

static int fail_in_stream(void *arg)
{
	return -EIO;
}

static void ready_events(void)
{
	struct gw_nn *nn = open_for(8, 2);
	struct gw_stream *s = NULL;
	struct gw_event *e = NULL;
	const float *a;
	uint32_t n;

	T_NEED(gw_stream_create(&s, NULL) == 0 && gw__gpu()->event_create(&e) == 0);
	T_RC(gw__gpu()->event_record(e, s), 0);
	T_RC(gw_nn_infer(nn, in, 2, e, &a, &n), 0);
	T_RC(gw__gpu()->host_call(s, fail_in_stream, NULL) > 0, 0);
	T_RC(gw__gpu()->event_record(e, s), 0);
	T_RC(gw_nn_infer(nn, in + SAMPLE, 2, e, &a, &n), -EIO); /* the event's own error; nothing pending */
	T_RC(gw_nn_drain(nn, &a, &n), 0);
	T_EQ(n, 2);
	T_MEM(a, all, 2 * MID * sizeof(float));
	gw__gpu()->event_destroy(e);
	gw_stream_destroy(s);
	gw_nn_close(nn);
}

static void nothing_allocated_once_warm(void)
{
	struct gw_nn *nn = open_for(32, 2);
	const float *a;
	uint32_t n;

	T_RC(gw_nn_infer(nn, in, 32, NULL, &a, &n), 0);
	T_RC(gw_nn_infer(nn, in, 5, NULL, &a, &n), 0);
	gw__alloc_fail_at(0);
	for (int i = 0; i < 4; i++) {
		T_RC(gw_nn_infer(nn, in, 32, NULL, &a, &n), 0);
		T_RC(gw_nn_infer(nn, in, 5, NULL, &a, &n), 0);
	}
	T_EQ(gw__alloc_count(), 0);
	/* A new size that cannot be laid out leaves the network usable. */
	gw__alloc_fail_at(1);
	T_OK(gw_nn_infer(nn, in, 7, NULL, &a, &n) != 0 || gw__alloc_count() == 0);
	gw__alloc_fail_at(0);
	T_RC(gw_nn_infer(nn, in, 7, NULL, &a, &n), 0);
	T_RC(gw_nn_drain(nn, &a, &n), 0);
	T_MEM(a, all, 7 * MID * sizeof(float));
	gw_nn_close(nn);
}

int main(void)
{
	static const uint32_t cuts[] = {40, 32, 31, 8, 7, 1};
	uint32_t state = 7;
	struct gw_nn *nn;

	for (int i = 0; i < MID * MID * 9; i++) {
		state = state * 1664525u + 1013904223u;
		w2[i] = (float)((int)(state >> 16) - 32768) / 400000.0f;
		if (i < MID * C * 9)
			w1[i] = w2[i] * 3;
		if (i < MID)
			b1[i] = w2[i] * 9;
	}
	for (int i = 0; i < N * SAMPLE; i++) {
		state = state * 1664525u + 1013904223u;
		in[i] = (uint16_t)((state >> 16 & 0x83ff) | (12 + (state >> 28 & 3)) << 10); /* +-1/8 .. 2 */
	}
	nn = open_for(N, 2);
	in_batches(nn, N, true);
	for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++)
		in_batches(nn, cuts[i], false);
	gw_nn_close(nn);
	nn = open_for(8, 1); /* one thread, another largest batch: the same bits */
	in_batches(nn, 8, false);
	gw_nn_close(nn);
	late_by_one();
	refusals_leave_it_whole();
	ready_events();
	nothing_allocated_once_warm();
	remove(mk_save("", 0));
	T_EQ(gw__alloc_live(), 0);
	T_DONE();
}
