/* reorder/cuda/scatter_cuda.c: from a scatter's description to a launch: which kernel, which alignment, how
 * many blocks. Must not know what a place means. Next: scatter.cu. */
#include "reorder/cuda/scatter_cuda.h"

#include <errno.h>

#include "base/diag.h"
#include "reorder/cuda/scatter_args.h"

#ifdef GW_WITH_CUDA
extern const unsigned char gw__scatter_fatbin[];
#define IMAGE gw__scatter_fatbin
#else
#define IMAGE NULL
#endif

#define KERNELS(X)                                                                                 \
	X(GW_K_COPY, gw_scatter_copy)                                                              \
	X(GW_K_INT4, gw_scatter_int4)                                                              \
	X(GW_K_INT8, gw_scatter_int8)                                                              \
	X(GW_K_INT16, gw_scatter_int16)                                                            \
	X(GW_K_INT16S, gw_scatter_int16s)                                                          \
	X(GW_K_INT32, gw_scatter_int32)                                                            \
	X(GW_K_INT32S, gw_scatter_int32s)

#define X(in, name) void name##_lane(const void *arg);
KERNELS(X)
#undef X

static const struct gw__kernel kernels[GW_K_N_IN] = {
#define X(in, k) [in] = { .name = #k, .image = IMAGE, .lane = k##_lane, .arg_bytes = sizeof(struct gw__scatter_args) },
	KERNELS(X)
#undef X
};

_Static_assert(sizeof(struct gw__move) == 12 && offsetof(struct gw__move, slot) == 0 &&
		       offsetof(struct gw__move, idx) == 4 && offsetof(struct gw__move, len) == 8,
	       "scatter.cu reads moves as triples of words");

static enum gw__k_in kernel_in(const struct gw__scatter *s, bool swap)
{
	switch (s->in) {
	case GW_INT4:
		return GW_K_INT4;
	case GW_INT8:
		return GW_K_INT8;
	case GW_INT16:
		return swap ? GW_K_INT16S : GW_K_INT16;
	case GW_INT32:
		return swap ? GW_K_INT32S : GW_K_INT32;
	default:
		return GW_K_COPY;
	}
}

static enum gw__k_out kernel_out(enum gw__elem out)
{
	switch (out) {
	case GW_INT8:
		return GW_K_OUT8;
	case GW_INT32:
		return GW_K_OUT32;
	case GW_FP16:
		return GW_K_FP16;
	case GW_BF16:
		return GW_K_BF16;
	case GW_FP32:
		return GW_K_FP32;
	case GW_FP64:
		return GW_K_FP64;
	default:
		return GW_K_BYTES;
	}
}

int gw__scatter_cuda_prepare(const struct gw__gpu_ops *gpu, struct gw__scatter *s, bool swap,
			     const struct gw__kernel **out, struct gw_diag *diag)
{
	const struct gw__kernel *k = &kernels[kernel_in(s, swap)];
	int err = gpu->kernel_prepare(k, diag);

	s->src_in_host = s->src && gpu->host_alias(s->src, 1);
	if (!err)
		*out = k;
	return err;
}

/* Units of a full payload if every address of it allows whole-unit accesses, else 0. */
static uint32_t units(const struct gw__scatter *s, const uint8_t *out)
{
	const bool copy = s->in == GW_ELEM_NONE;
	/* bytes of one unit, in and out; an access is at most 16 of them */
	const uint32_t n_in = s->in == GW_INT4 ? 4 : s->in == GW_INT8 ? 8 : s->in == GW_INT32 ? 32 : 16;
	const uint32_t n_out = copy ? 16 : (uint32_t)gw__converted_bytes(s->in, s->out, n_in);
	const uint32_t a_in = n_in < 16 ? n_in : 16, a_out = n_out < 16 ? n_out : 16;

	if (s->payload_len % n_in || (uintptr_t)s->src % a_in || s->src_stride % a_in ||
	    (uintptr_t)out % a_out || s->out_len % a_out)
		return 0;
	return s->payload_len / n_in;
}

int gw__scatter_cuda(const struct gw__gpu_ops *gpu, struct gw_stream *stream, const struct gw__kernel *kernel,
		     const struct gw__scatter *s, uint8_t *out, const struct gw__move *moves, uint32_t n_moves,
		     const uint64_t *valid, uint32_t n_places)
{
	const bool is_float = s->out == GW_FP16 || s->out == GW_BF16 || s->out == GW_FP32 || s->out == GW_FP64;
	const struct gw__scatter_args a = {
		.move = (const uint32_t *)moves,
		.valid = valid,
		.src = s->src,
		.out = out,
		.src_stride = s->src_stride,
		.n_moves = n_moves,
		.n_places = n_places,
		.payload_len = s->payload_len,
		.out_len = s->out_len,
		.n_units = units(s, out),
		/* over PCIe larger reads win (48 against 46 GB/s); from GPU memory smaller stores do (3.9 to 3.1 TB/s) */
		.pairs = s->src_in_host && units(s, out) && (uintptr_t)s->src % 16 == 0 && s->src_stride % 16 == 0,
		.out_type = kernel_out(s->out),
		.fill = s->fill == GW_FILL_ZERO ? 0 : is_float ? 0xff : 0x7f,
		.keep = s->fill == GW_FILL_KEEP,
	};
	uint32_t n = n_moves ? n_moves : 1;
	struct gw__grid grid = {
		.n_blocks = (n + GW_SCATTER_WARPS - 1) / GW_SCATTER_WARPS,
		.n_threads = 32 * GW_SCATTER_WARPS,
	};

	if (n_moves > n_places)
		return -EINVAL;
	return gpu->launch(stream, kernel, grid, &a);
}
