/* bench/peers/onednn_chain.c: ResNet-50's layers as a bare chain of oneDNN primitives: the ceiling that
 * src/nn is measured against. Shares no code with it, checks nothing it need not, starts from an input that is
 * already in the first layer's layout and type. Prints one JSON line.
 *   onednn_chain [--precision fp32|bf16|int8] [--batch 32] [--threads 2] [--rounds 5] [--seconds 2]  [--lockstep]
 *                [--wide N]
 * --wide N: with int8, the first N convolutions in bf16, or in fp32 where the CPU has no bf16. --lockstep: one round for
 * each line on stdin, one number (images/s) a line on stdout. Next: ../nn/compare.py. */
#include <oneapi/dnnl/dnnl.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_LAYERS 80
#define CHECK(call)                                                                                                    \
	do {                                                                                                           \
		dnnl_status_t s_ = (call);                                                                             \
		if (s_) {                                                                                              \
			fprintf(stderr, "%s:%d: %s: %d\n", __FILE__, __LINE__, #call, (int)s_);                        \
			exit(1);                                                                                       \
		}                                                                                                      \
	} while (0)

extern void omp_set_num_threads(int n);

static dnnl_engine_t engine;
static dnnl_stream_t stream;
static dnnl_data_type_t act_type, act_signed_type, weight_type, wide_type;
static long batch = 32, n_convs, n_wide;

struct tensor {
	dnnl_memory_desc_t md;
	dnnl_memory_t mem;
	long c, side;
};

static struct {
	dnnl_primitive_t prim;
	dnnl_exec_arg_t args[5];
	int n_args;
} layers[MAX_LAYERS];
static int n_layers;
static size_t scratch_bytes;
static dnnl_memory_t scratch_mem[MAX_LAYERS];

/* Filled with small numbers, so that nothing denormal or infinite slows anybody down. */
static dnnl_memory_t memory(const dnnl_memory_desc_t *md)
{
	size_t n = dnnl_memory_desc_get_size(md);
	void *p = aligned_alloc(4096, (n + 4095) / 4096 * 4096);
	dnnl_memory_t m;

	if (!p)
		exit(1);
	memset(p, 0, n);
	if (md->data_type == dnnl_f32)
		for (size_t i = 0; i < n / 4; i++)
			((float *)p)[i] = (float)((int)(i * 2654435761u >> 24) - 128) / 4096.0f;
	else if (md->data_type == dnnl_bf16)
		for (size_t i = 0; i < n / 2; i++)
			((unsigned short *)p)[i] = (unsigned short)(0x3c00 + (i * 2654435761u >> 26));
	else
		for (size_t i = 0; i < n; i++)
			((unsigned char *)p)[i] = (unsigned char)(i * 2654435761u >> 30);
	CHECK(dnnl_memory_create(&m, md, engine, p));
	return m;
}

static dnnl_primitive_attr_t attributes(const struct tensor *sum, int relu, long out_c, int whole)
{
	static float scales[4096];
	dnnl_primitive_attr_t attr;
	dnnl_post_ops_t po;

	CHECK(dnnl_primitive_attr_create(&attr));
	CHECK(dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user));
	CHECK(dnnl_post_ops_create(&po));
	if (sum)
		CHECK(dnnl_post_ops_append_sum_v2(po, whole ? 0.5f : 1.0f, sum->md.data_type));
	if (relu)
		CHECK(dnnl_post_ops_append_eltwise(po, 1.0f, dnnl_eltwise_relu, 0.0f, 0.0f));
	CHECK(dnnl_primitive_attr_set_post_ops(attr, po));
	if (whole) {
		for (long i = 0; i < out_c; i++)
			scales[i] = 0.01f;
		CHECK(dnnl_primitive_attr_set_output_scales(attr, out_c, 2, scales));
	}
	CHECK(dnnl_post_ops_destroy(po));
	return attr;
}

static void layer(dnnl_primitive_desc_t pd, const dnnl_exec_arg_t *args, int n)
{
	const dnnl_memory_desc_t *md = dnnl_primitive_desc_query_md(pd, dnnl_query_scratchpad_md, 0);
	size_t bytes = dnnl_memory_desc_get_size(md);

	CHECK(dnnl_primitive_create(&layers[n_layers].prim, pd));
	memcpy(layers[n_layers].args, args, (size_t)n * sizeof(*args));
	if (bytes) {
		CHECK(dnnl_memory_create(&scratch_mem[n_layers], md, engine, DNNL_MEMORY_NONE));
		layers[n_layers].args[n].arg = DNNL_ARG_SCRATCHPAD;
		layers[n_layers].args[n++].memory = scratch_mem[n_layers];
		scratch_bytes = bytes > scratch_bytes ? bytes : scratch_bytes;
	}
	layers[n_layers++].n_args = n;
	CHECK(dnnl_primitive_desc_destroy(pd));
}

/* The tensor in whole numbers, in the order that their convolutions read: channels last. */
static void convert(struct tensor *t)
{
	dnnl_memory_desc_t md;
	dnnl_primitive_attr_t attr;
	dnnl_primitive_desc_t pd;
	dnnl_memory_t to;

	CHECK(dnnl_memory_desc_init_by_tag(&md, 4, t->md.dims, dnnl_u8, dnnl_nhwc));
	CHECK(dnnl_primitive_attr_create(&attr));
	CHECK(dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user));
	CHECK(dnnl_reorder_primitive_desc_create(&pd, &t->md, engine, &md, engine, attr));
	CHECK(dnnl_primitive_attr_destroy(attr));
	to = memory(&md);
	layer(pd, (dnnl_exec_arg_t[]){{DNNL_ARG_FROM, t->mem}, {DNNL_ARG_TO, to}}, 2);
	t->md = md;
	t->mem = to;
}

static struct tensor conv(struct tensor *in, struct tensor *sum, long out_c, long k, long s, int relu)
{
	struct tensor out = {.c = out_c, .side = in->side / s};
	const dnnl_dims_t sd = {batch, in->c, in->side, in->side}, dd = {batch, out_c, out.side, out.side};
	const dnnl_dims_t wd = {out_c, in->c, k, k}, bd = {out_c}, stride = {s, s}, dil = {0, 0};
	const dnnl_dims_t pad = {k / 2, k / 2};
	dnnl_dims_t pad_hi;
	dnnl_memory_desc_t src, wei, bias, dst;
	dnnl_convolution_desc_t d;
	dnnl_primitive_desc_t pd;
	int whole = act_type == dnnl_u8 && n_convs++ >= n_wide, wide = act_type == dnnl_u8 && !whole;
	dnnl_data_type_t dst_type = wide ? wide_type : relu ? act_type : act_signed_type;
	dnnl_primitive_attr_t attr;

	if (!in->mem && wide)
		in->md.data_type = wide_type;
	if (in->mem && whole && in->md.data_type == wide_type)
		convert(in);
	if (sum && whole && sum->md.data_type == wide_type)
		convert(sum);
	attr = attributes(sum, relu, out_c, whole);
	pad_hi[0] = pad_hi[1] = (out.side - 1) * s + k - in->side - k / 2;
	CHECK(dnnl_memory_desc_init_by_tag(&src, 4, sd, in->md.data_type, dnnl_format_tag_any));
	CHECK(dnnl_memory_desc_init_by_tag(&dst, 4, dd, dst_type, dnnl_format_tag_any));
	CHECK(dnnl_memory_desc_init_by_tag(&wei, 4, wd, wide ? wide_type : weight_type, dnnl_format_tag_any));
	CHECK(dnnl_memory_desc_init_by_tag(&bias, 1, bd, dnnl_f32, dnnl_a));
	CHECK(dnnl_dilated_convolution_forward_desc_init(&d, dnnl_forward_inference, dnnl_convolution_direct, &src,
							 &wei, &bias, &dst, stride, dil, pad, pad_hi));
	CHECK(dnnl_primitive_desc_create(&pd, &d, attr, engine, NULL));
	CHECK(dnnl_primitive_attr_destroy(attr));
	if (!in->mem) { /* the first layer: its input is made to its liking */
		in->md = *dnnl_primitive_desc_query_md(pd, dnnl_query_src_md, 0);
		in->mem = memory(&in->md);
	}
	if (!dnnl_memory_desc_equal(&in->md, dnnl_primitive_desc_query_md(pd, dnnl_query_src_md, 0))) {
		fprintf(stderr, "layer %d wants another layout: the chain would need a reorder\n", n_layers);
		exit(1);
	}
	out.md = *dnnl_primitive_desc_query_md(pd, dnnl_query_dst_md, 0);
	if (sum) { /* added in place */
		void *p;

		CHECK(dnnl_memory_get_data_handle(sum->mem, &p));
		CHECK(dnnl_memory_create(&out.mem, &out.md, engine, p));
	} else {
		out.mem = memory(&out.md);
	}
	layer(pd,
	      (dnnl_exec_arg_t[]){{DNNL_ARG_SRC, in->mem},
				  {DNNL_ARG_WEIGHTS, memory(dnnl_primitive_desc_query_md(pd, dnnl_query_weights_md, 0))},
				  {DNNL_ARG_BIAS, memory(&bias)},
				  {DNNL_ARG_DST, out.mem}},
	      4);
	return out;
}

static struct tensor pool(const struct tensor *in, dnnl_alg_kind_t alg, long k, long s, long pad)
{
	struct tensor out = {.c = in->c, .side = (in->side + 2 * pad - k) / s + 1};
	const dnnl_dims_t dd = {batch, in->c, out.side, out.side}, kernel = {k, k}, stride = {s, s}, lo = {pad, pad};
	dnnl_memory_desc_t dst;
	dnnl_pooling_desc_t d;
	dnnl_primitive_desc_t pd;
	dnnl_primitive_attr_t attr;

	CHECK(dnnl_primitive_attr_create(&attr));
	CHECK(dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user));
	CHECK(dnnl_memory_desc_init_by_tag(&dst, 4, dd, in->md.data_type, dnnl_format_tag_any));
	CHECK(dnnl_pooling_forward_desc_init(&d, dnnl_forward_inference, alg, &in->md, &dst, stride, kernel, lo, lo));
	CHECK(dnnl_primitive_desc_create(&pd, &d, attr, engine, NULL));
	CHECK(dnnl_primitive_attr_destroy(attr));
	out.md = *dnnl_primitive_desc_query_md(pd, dnnl_query_dst_md, 0);
	out.mem = memory(&out.md);
	layer(pd, (dnnl_exec_arg_t[]){{DNNL_ARG_SRC, in->mem}, {DNNL_ARG_DST, out.mem}}, 2);
	return out;
}

static void resnet50(void)
{
	static const struct {
		long mid;
		int n;
	} stages[] = {{64, 3}, {128, 4}, {256, 6}, {512, 3}};
	struct tensor x = {.c = 3, .side = 224};

	x.md.data_type = act_type == dnnl_u8 ? dnnl_s8 : act_type;
	x = conv(&x, NULL, 64, 7, 2, 1);
	x = pool(&x, dnnl_pooling_max, 3, 2, 1);
	for (int st = 0; st < 4; st++)
		for (int b = 0; b < stages[st].n; b++) {
			long s = st && !b ? 2 : 1;
			struct tensor y = conv(&x, NULL, stages[st].mid, 1, 1, 1);

			y = conv(&y, NULL, stages[st].mid, 3, s, 1);
			if (b) { /* the block's input is added in the last convolution */
				x = conv(&y, &x, stages[st].mid * 4, 1, 1, 1);
			} else { /* the projection adds what the last convolution made */
				y = conv(&y, NULL, stages[st].mid * 4, 1, 1, 0);
				x = conv(&x, &y, stages[st].mid * 4, 1, s, 1);
			}
		}
	pool(&x, dnnl_pooling_avg_include_padding, 7, 1, 0);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void run_once(void)
{
	for (int i = 0; i < n_layers; i++)
		CHECK(dnnl_primitive_execute(layers[i].prim, stream, layers[i].n_args, layers[i].args));
	CHECK(dnnl_stream_wait(stream));
}

static double round_of(double seconds)
{
	double t0 = now(), t;
	long n = 0;

	do {
		run_once();
		n += batch;
		t = now() - t0;
	} while (t < seconds);
	return (double)n / t;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	const char *precision = "fp32";
	double seconds = 2, rates[64];
	int threads = 2, rounds = 5, lockstep = 0;
	char line[64];
	void *scratch;

	for (int i = 1; i < argc; i++) {
		const char *v = i + 1 < argc ? argv[i + 1] : "";

		if (!strcmp(argv[i], "--lockstep"))
			lockstep = 1;
		else if (!strcmp(argv[i], "--precision"))
			precision = v;
		else if (!strcmp(argv[i], "--wide"))
			n_wide = atol(v);
		else if (!strcmp(argv[i], "--batch"))
			batch = atol(v);
		else if (!strcmp(argv[i], "--threads"))
			threads = atoi(v);
		else if (!strcmp(argv[i], "--rounds"))
			rounds = atoi(v) < 64 ? atoi(v) : 64;
		else if (!strcmp(argv[i], "--seconds"))
			seconds = atof(v);
	}
	act_type = !strcmp(precision, "bf16") ? dnnl_bf16 : !strcmp(precision, "int8") ? dnnl_u8 : dnnl_f32;
	act_signed_type = act_type == dnnl_u8 ? dnnl_s8 : act_type;
	weight_type = act_signed_type;
	wide_type = dnnl_get_effective_cpu_isa() >= dnnl_cpu_isa_avx512_core ? dnnl_bf16 : dnnl_f32;
	omp_set_num_threads(threads);
	CHECK(dnnl_engine_create(&engine, dnnl_cpu, 0));
	CHECK(dnnl_stream_create(&stream, engine, dnnl_stream_in_order));
	resnet50();
	scratch = aligned_alloc(4096, (scratch_bytes + 4096) / 4096 * 4096);
	for (int i = 0; i < n_layers; i++)
		if (scratch_mem[i])
			CHECK(dnnl_memory_set_data_handle(scratch_mem[i], scratch));
	run_once();
	while (lockstep && fgets(line, sizeof(line), stdin)) {
		printf("%.4f\n", round_of(seconds));
		fflush(stdout);
	}
	if (lockstep)
		return 0;
	for (int i = 0; i < rounds; i++)
		rates[i] = round_of(seconds);
	qsort(rates, (size_t)rounds, sizeof(rates[0]), ascending);
	printf("{\"peer\": \"onednn_chain\", \"library\": \"oneDNN %d.%d.%d\", \"precision\": \"%s\", \"batch\": %ld, "
	       "\"threads\": %d, \"layers\": %d, \"images_per_s\": %.3f, \"least\": %.3f, \"most\": %.3f}\n",
	       dnnl_version()->major, dnnl_version()->minor, dnnl_version()->patch, precision, batch, threads, n_layers,
	       rates[rounds / 2], rates[0], rates[rounds - 1]);
	return 0;
}
