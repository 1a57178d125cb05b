/* The reorder stage (numbers, windows, buffers, events and all) ÷ the plain SIMD loop over the same scattered
 * packets: in L2, L3 and DRAM, pushed in bursts as an engine does. Median of the runs, taken in turn.
 * "own" = the stage ÷ its own conversion in a bare loop: what placing, windows and events cost.
 * bench_reorder [--runs N] [--json FILE]. Next: plain_loop.c (the peer). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "timing.h"
#include "plain_loop.h"
#include "reorder/convert.h"
#include "reorder/reorder.h"

#define LEN 1176u    /* payload bytes */
#define STRIDE 2048u /* slot */
#define BURST 64u
#define MAX_RUNS 101
#define MAX_OUT 16u

struct shape {
	const char *name;
	uint32_t n_packets, per_batch;
};

struct load {
	struct shape shape;
	bool convert;
	uint8_t *src, *out, *want;
	uint32_t *slot, *seq, *len, *freed;
	gw__convert_fn kernel;
	struct gw__reorder *r;
	uint64_t number; /* next sequence number */
	size_t out_bytes; /* of all packets once */
	/* the stage alternates between two buffers where all packets are one window: so do the peers */
	uint32_t n_turns, turn;
	uint32_t n_out, held[MAX_OUT], n_held; /* buffers; those with the consumer, a ring */
};

static void *need(size_t n)
{
	void *p = aligned_alloc(4096, (n + 4095) / 4096 * 4096);

	if (!p) {
		fprintf(stderr, "no memory for %zu bytes\n", n);
		exit(1);
	}
	memset(p, 1, n);
	return p;
}

static uint8_t *next_out(struct load *l)
{
	return l->want + l->out_bytes * (l->turn++ % l->n_turns);
}

static void run_plain(struct load *l)
{
	if (l->convert)
		plain_int8_to_fp16(next_out(l), l->src, STRIDE, l->slot, l->shape.n_packets, LEN);
	else
		plain_copy(next_out(l), l->src, STRIDE, l->slot, l->shape.n_packets, LEN);
}

/* The library's own conversion in a bare loop: what the stage itself costs. */
static void run_kernel(struct load *l)
{
	size_t out_len = LEN * (l->convert ? 2u : 1u);
	uint8_t *out = next_out(l);

	for (uint32_t i = 0; i < l->shape.n_packets; i++)
		l->kernel(out + i * out_len, l->src + (size_t)l->slot[i] * STRIDE, LEN);
}

/* A consumer that holds all windows but one, so that the stage goes round all of its memory as the peer does. */
static void keep(struct load *l, uint32_t buf)
{
	l->held[l->n_held++ % MAX_OUT] = buf;
	if (l->n_held >= l->n_out)
		gw__reorder_done(l->r, l->held[(l->n_held - l->n_out) % MAX_OUT]);
}

static void run_stage(struct load *l)
{
	struct gw__reorder_in in = { .now_ns = 1 };
	struct gw__window w;

	for (uint32_t i = 0; i < l->shape.n_packets; i += BURST) {
		in.slot = l->slot + i;
		in.seq = l->seq + i;
		in.payload_len = l->len + i;
		for (uint32_t k = 0; k < BURST; k++)
			l->seq[i + k] = (uint32_t)l->number++;
		if (gw__reorder_push(l->r, &in, 0, BURST) != BURST) {
			fprintf(stderr, "push fell short\n");
			exit(1);
		}
		gw__reorder_freed(l->r, l->freed, BURST);
		while (gw__reorder_pop(l->r, &w))
			keep(l, w.buf);
	}
}

static void set_up(struct load *l, struct shape shape, bool convert)
{
	struct gw__reorder_config c = {
		.name = "bench", .packets_per_batch = shape.per_batch, .seq_bits = 32, .payload_len = LEN,
		.in_type = convert ? GW_INT8 : GW_ELEM_NONE, .out_type = convert ? GW_FP16 : GW_ELEM_NONE,
		.src_stride = STRIDE, .gpu = gw__gpu(), .n_out = shape.n_packets / shape.per_batch,
	};
	struct gw_diag diag;
	uint64_t x = 88172645463325252ull;

	memset(l, 0, sizeof(*l));
	l->shape = shape;
	l->convert = convert;
	l->kernel = gw__convert_find(gw__simd_best(), c.in_type, c.out_type, false);
	l->out_bytes = (size_t)shape.n_packets * LEN * (convert ? 2 : 1);
	l->src = need((size_t)shape.n_packets * STRIDE);
	l->n_turns = c.n_out < 2 ? 2 : 1;
	c.n_out = c.n_out < 2 ? 2 : c.n_out; /* two open windows need two buffers */
	l->n_out = c.n_out;
	l->out = need(l->out_bytes * l->n_turns);
	l->want = need(l->out_bytes * l->n_turns);
	l->slot = need(shape.n_packets * 4);
	l->seq = need(shape.n_packets * 4);
	l->len = need(shape.n_packets * 4);
	l->freed = need(BURST * 4);
	for (uint32_t i = 0; i < shape.n_packets; i++) {
		l->slot[i] = i;
		l->len[i] = LEN;
		for (uint32_t k = 0; k < STRIDE; k++)
			l->src[(size_t)i * STRIDE + k] = (uint8_t)(i * 31 + k * 17);
	}
	for (uint32_t i = shape.n_packets - 1; i; i--) {
		uint32_t j, t = l->slot[i];

		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		j = (uint32_t)(x % (i + 1));
		l->slot[i] = l->slot[j];
		l->slot[j] = t;
	}
	c.out_size = c.out_stride = (size_t)shape.per_batch * LEN * (convert ? 2 : 1);
	c.src_base = c.src_host = l->src + 64;
	l->src += 64;
	c.out_base = l->out;
	if (gw__reorder_create(&c, &l->r, &diag)) {
		fprintf(stderr, "%s\n", diag.text);
		exit(1);
	}
}

static void tear_down(struct load *l)
{
	gw__reorder_destroy(l->r);
	free(l->src - 64);
	free(l->out);
	free(l->want);
	free(l->slot);
	free(l->seq);
	free(l->len);
	free(l->freed);
}

/* What an engine does in front: a frame is copied into a free slot, then the burst is pushed; slots come back as
 * their piece ran. burst = a whole window shows what one launch a window would cost on the CPU. */
#define FRAME 1240u
#define WINDOW 4096u

struct flow {
	struct load l;
	uint8_t *frames;
	uint32_t *free_slot, n_free, burst;
};

static void run_flow(struct flow *f)
{
	struct gw__reorder_in in = { .now_ns = 1, .payload_len = f->l.len, .slot = f->l.slot, .seq = f->l.seq };
	struct gw__window w;

	for (uint32_t i = 0; i < WINDOW; i += f->burst) {
		for (uint32_t k = 0; k < f->burst; k++) {
			f->l.slot[k] = f->free_slot[--f->n_free];
			f->l.seq[k] = (uint32_t)f->l.number++;
			memcpy(f->l.src - 64 + (size_t)f->l.slot[k] * STRIDE, f->frames + (size_t)(i + k) * FRAME,
			       FRAME);
		}
		if (gw__reorder_push(f->l.r, &in, 0, f->burst) != f->burst) {
			fprintf(stderr, "push fell short\n");
			exit(1);
		}
		f->n_free += gw__reorder_freed(f->l.r, f->free_slot + f->n_free, WINDOW);
		while (gw__reorder_pop(f->l.r, &w))
			keep(&f->l, w.buf);
	}
}

/* the bare copy and convert loop of the same frames */
static void run_bare(struct flow *f)
{
	uint8_t *out = f->l.want + f->l.out_bytes / 2 * (f->l.turn++ % 2);

	for (uint32_t i = 0; i < WINDOW; i += BURST) {
		for (uint32_t k = 0; k < BURST; k++)
			memcpy(f->l.src - 64 + (size_t)k * STRIDE, f->frames + (size_t)(i + k) * FRAME, FRAME);
		plain_int8_to_fp16(out + (size_t)i * LEN * 2, f->l.src, STRIDE, f->l.slot, BURST, LEN);
	}
}

static double timed(struct load *l, void (*fn)(struct load *), int reps)
{
	/* one thread that never blocks: neighbours count less in its own time */
	double t = clock_s(CLOCK_THREAD_CPUTIME_ID);

	for (int i = 0; i < reps; i++)
		fn(l);
	return (clock_s(CLOCK_THREAD_CPUTIME_ID) - t) / reps / l->shape.n_packets * 1e9;
}

/* Both in turn, so that a slow moment hits both. */
static double measure(struct load *l, int runs, FILE *json, const char *comma)
{
	double plain[MAX_RUNS], stage[MAX_RUNS], kernel[MAX_RUNS], ratio[MAX_RUNS], own[MAX_RUNS];
	int reps = (int)(200000 / l->shape.n_packets) + 1;

	run_plain(l);
	run_stage(l);
	if (memcmp(l->out, l->want, l->out_bytes)) {
		fprintf(stderr, "%s: the stage's bytes differ from the plain loop's\n", l->shape.name);
		exit(1);
	}
	for (int i = 0; i < runs; i++) {
		plain[i] = timed(l, run_plain, reps);
		stage[i] = timed(l, run_stage, reps);
		kernel[i] = timed(l, run_kernel, reps);
		ratio[i] = plain[i] / stage[i];
		own[i] = kernel[i] / stage[i];
	}
	qsort(plain, (size_t)runs, sizeof(*plain), by_value);
	qsort(stage, (size_t)runs, sizeof(*stage), by_value);
	qsort(kernel, (size_t)runs, sizeof(*kernel), by_value);
	qsort(ratio, (size_t)runs, sizeof(*ratio), by_value);
	qsort(own, (size_t)runs, sizeof(*own), by_value);
	printf("%-5s %-12s %9.1f %9.1f %9.1f %8.1f %6.2f [%.2f..%.2f] %6.2f\n", l->shape.name,
	       l->convert ? "int8->fp16" : "copy", plain[runs / 2], kernel[runs / 2], stage[runs / 2],
	       LEN / stage[runs / 2], ratio[runs / 2], ratio[0], ratio[runs - 1], own[runs / 2]);
	if (json)
		fprintf(json,
			"%s\n  {\"size\": \"%s\", \"what\": \"%s\", \"packets\": %u, \"plain_ns\": %.2f, "
			"\"kernel_ns\": %.2f, \"stage_ns\": %.2f, \"ratio\": %.3f, \"ratio_min\": %.3f, "
			"\"ratio_max\": %.3f, \"own\": %.3f}",
			comma, l->shape.name, l->convert ? "int8_fp16" : "copy", l->shape.n_packets,
			plain[runs / 2], kernel[runs / 2], stage[runs / 2], ratio[runs / 2], ratio[0],
			ratio[runs - 1], own[runs / 2]);
	return ratio[runs / 2];
}

static void pieces(int runs, FILE *json)
{
	static const struct shape shape = { "flow", 2 * WINDOW, WINDOW };
	double small[MAX_RUNS], whole[MAX_RUNS], bare[MAX_RUNS], t;
	struct flow f = { .burst = BURST };

	set_up(&f.l, shape, true);
	f.frames = need(WINDOW * FRAME);
	f.free_slot = need(shape.n_packets * 4);
	for (; f.n_free < shape.n_packets; f.n_free++)
		f.free_slot[f.n_free] = f.n_free;
	for (int i = -1; i < runs; i++) { /* one unmeasured */
		for (int part = 0; part < 3; part++) {
			f.burst = part ? WINDOW : BURST;
			for (uint32_t k = 0; part == 2 && k < BURST; k++)
				f.l.slot[k] = k;
			t = clock_s(CLOCK_THREAD_CPUTIME_ID);
			for (int k = 0; k < 20; k++)
				part == 2 ? run_bare(&f) : run_flow(&f);
			if (i >= 0)
				(part == 2 ? bare : part ? whole : small)[i] = (clock_s(CLOCK_THREAD_CPUTIME_ID) - t) / 20 / WINDOW * 1e9;
		}
	}
	qsort(small, (size_t)runs, sizeof(*small), by_value);
	qsort(whole, (size_t)runs, sizeof(*whole), by_value);
	qsort(bare, (size_t)runs, sizeof(*bare), by_value);
	printf("copy into slots, then the stage, windows of %u: bare loop %.1f ns a packet, in pieces of %u %.1f "
	       "(ratio %.2f), one launch a window %.1f (ratio %.2f)\n", WINDOW, bare[runs / 2], BURST,
	       small[runs / 2], bare[runs / 2] / small[runs / 2], whole[runs / 2], bare[runs / 2] / whole[runs / 2]);
	if (json)
		fprintf(json, ",\n  {\"size\": \"flow\", \"what\": \"copy_int8_fp16\", \"bare_ns\": %.2f, "
			"\"pieces_ns\": %.2f, \"window_ns\": %.2f}", bare[runs / 2], small[runs / 2],
			whole[runs / 2]);
	free(f.frames);
	free(f.free_slot);
	tear_down(&f.l);
}

int main(int argc, char **argv)
{
	static const struct shape shapes[] = { { "L2", 128, 128 }, { "L3", 2048, 2048 }, { "DRAM", 65536, 4096 } };
	int runs = 9;
	FILE *json = NULL;
	const char *comma = "";

	for (int i = 1; i + 1 < argc; i += 2) {
		if (!strcmp(argv[i], "--runs"))
			runs = atoi(argv[i + 1]);
		else if (!strcmp(argv[i], "--json"))
			json = fopen(argv[i + 1], "w");
	}
	runs = runs < 5 ? 5 : runs > MAX_RUNS ? MAX_RUNS : runs;
	if (!plain_simd()) {
		fprintf(stderr, "SKIP: the peer loop needs AVX2, which this CPU or build lacks\n");
		return 77;
	}
	printf("reorder stage ÷ plain loop, %u-byte payloads in random slots of %u, bursts of %u, %s, %d runs\n",
	       LEN, STRIDE, BURST, gw__simd_name(gw__simd_best()), runs);
	printf("%-5s %-12s %9s %9s %9s %8s %6s %12s %6s\n", "size", "what", "plain ns", "kernel ns", "stage ns",
	       "GB/s in", "ratio", "[runs]", "own");
	if (json)
		fprintf(json, "{\"bench\": \"reorder\", \"bar\": 0.9, \"rows\": [");
	for (int convert = 1; convert >= 0; convert--)
		for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
			struct load l;

			set_up(&l, shapes[i], convert);
			measure(&l, runs, json, comma);
			comma = ",";
			tear_down(&l);
		}
	pieces(runs, json);
	if (json) {
		fprintf(json, "\n]}\n");
		fclose(json);
	}
	return 0;
}
