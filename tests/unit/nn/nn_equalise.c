/* tests/unit/nn/nn_equalise.c: moving a factor a channel through the weights changes the ranges, not the result, with
 * residuals, a largest-of-window, groups and a mean at the end. Next: src/nn/equalise.c. */
#include "base/alloc.h"
#include "nn/backend.h"
#include "nn/onnx/onnx.h"

#include "make_onnx.h"

#include <math.h>

#define MID 16

static float w1[MID * 3 * 9], w2[MID * MID * 9], w3[MID * MID / 2], b1[MID];
static uint16_t in[2 * 3 * 12 * 12];

static void make_plan(struct gw__plan *plan)
{
	struct gw__graph g;
	Onnx__NodeProto *n;

	mk_begin(3, 12, 12, "out", MID);
	mk_floats("w1", 4, (int64_t[]){MID, 3, 3, 3}, w1);
	mk_floats("w2", 4, (int64_t[]){MID, MID, 3, 3}, w2);
	mk_floats("w3", 4, (int64_t[]){MID, MID / 2, 1, 1}, w3);
	mk_floats("b1", 1, (int64_t[]){MID}, b1);
	mk_int(mk_node("Cast", "x", "x32"), "to", 1);
	mk_window(mk_node("Conv", "x32 w1 b1", "c1"), 3, 1, 1);
	mk_node("Relu", "c1", "r1");
	mk_window(mk_node("MaxPool", "r1", "p1"), 2, 2, 0);
	mk_window(mk_node("Conv", "p1 w2 b1", "c2"), 3, 1, 1);
	mk_node("Relu", "c2", "r2");
	n = mk_node("Conv", "r2 w3", "c3");
	mk_int(n, "group", 2);
	mk_node("Add", "c3 p1", "s");
	mk_node("Relu", "s", "r3");
	mk_node("GlobalAveragePool", "r3", "g");
	mk_node("Flatten", "g", "out");
	mk_pack();
	T_NEED(gw__onnx_parse(mk_bytes, mk_n_bytes, &g, NULL) == 0);
	T_NEED(gw__plan_make(&g, plan, NULL) == 0);
	gw__graph_fini(&g);
}

/* Takes the plan; stats, if any, are added up. */
static void run(struct gw__plan *plan, float *out, struct gw__chan_stats *stats)
{
	struct gw__exec_cfg cfg = {.max_batch = 2, .n_threads = 1, .precision = GW_NN_FP32};
	struct gw__exec *x = NULL;
	const float *f;

	T_NEED(gw__nn_onednn.create(plan, &cfg, &x, NULL) == 0);
	if (stats)
		T_RC(gw__nn_onednn.measure_channels(x, in, 2, stats), 0);
	else
		T_RC(gw__nn_onednn.submit(x, in, 2, NULL, 0), 0);
	T_RC(gw__nn_onednn.wait(x, 0, &f), 0);
	memcpy(out, f, 2 * MID * sizeof(float));
	gw__nn_onednn.destroy(x);
}

/* Largest over smallest channel peak of the value that op makes. */
static double spread(const struct gw__plan *plan, const struct gw__chan_stats *s, uint32_t value)
{
	const float *p = s->peak + gw__chan_at(plan, value);
	float most = 0, least = INFINITY;

	for (int64_t c = 0; c < plan->shapes[value].c; c++) {
		most = fmaxf(most, p[c]);
		least = fminf(least, p[c]);
	}
	return (double)(most / least);
}

int main(void)
{
	static float first[2 * MID], again[2 * MID], peak[1024], mean[1024], peak2[1024], mean2[1024], peaks[64];
	struct gw__chan_stats before = {peak, mean}, after = {peak2, mean2};
	struct gw__plan plan;
	uint32_t state = 3, first_conv = 1;

	for (int i = 0; i < MID * MID * 9; i++) {
		state = state * 1664525u + 1013904223u;
		w2[i] = (float)((int)(state >> 16) - 32768) / 300000.0f;
		if (i < MID * 3 * 9)
			w1[i] = w2[i] * (float)(1 + i / 27); /* channels of very different size */
		if (i < MID * MID / 2)
			w3[i] = w2[i] * 2;
		if (i < MID)
			b1[i] = 0.1f * (float)(i + 1);
	}
	for (size_t i = 0; i < sizeof(in) / 2; i++) {
		state = state * 1664525u + 1013904223u;
		in[i] = (uint16_t)((state >> 16 & 0x83ff) | (13 + (state >> 28 & 3)) << 10);
	}
	make_plan(&plan);
	T_EQ(gw__plan_add_tail(&plan), 0);
	T_EQ(plan.ops[first_conv].kind, GW__PLAN_CONV);
	run(&plan, first, &before);

	make_plan(&plan);
	T_EQ(gw__plan_add_tail(&plan), 0);
	T_OK(spread(&plan, &before, first_conv) > 3);
	T_EQ(gw__plan_equalise(&plan, &before, peaks), 0);
	T_OK(peaks[first_conv] > 0);
	run(&plan, again, &after);
	for (int i = 0; i < 2 * MID; i++)
		T_OK(fabsf(again[i] - first[i]) <= 1e-5f * fmaxf(1.0f, fabsf(first[i])));

	make_plan(&plan); /* for its shapes only */
	T_EQ(gw__plan_add_tail(&plan), 0);
	T_OK(spread(&plan, &after, first_conv) < spread(&plan, &before, first_conv) + 0.01);
	T_OK(fabsf(after.peak[gw__chan_at(&plan, first_conv)] - before.peak[gw__chan_at(&plan, first_conv)]) < 1e-3f);
	gw__plan_fini(&plan);
	T_EQ(gw__alloc_live(), 0);
	T_DONE();
}
