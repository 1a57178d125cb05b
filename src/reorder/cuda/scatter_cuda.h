/* reorder/cuda/scatter_cuda.h: carry out a window's moves in one launch on its stream. */
#ifndef GW_REORDER_CUDA_SCATTER_CUDA_H
#define GW_REORDER_CUDA_SCATTER_CUDA_H

#include "gpu/gpu.h"
#include "reorder/scatter.h"

/* Load the kernel of a pair and see where s->src lies (it must be GPU-visible). */
int gw__scatter_cuda_prepare(const struct gw__gpu_ops *gpu, struct gw__scatter *s, bool swap,
			     const struct gw__kernel **out, struct gw_diag *diag);

/* Queue one launch: moves and valid are GPU-visible and stay untouched until it has run. Neither waits nor
 * allocates. 0 or the driver's refusal. */
int gw__scatter_cuda(const struct gw__gpu_ops *gpu, struct gw_stream *stream, const struct gw__kernel *kernel,
		     const struct gw__scatter *s, uint8_t *out, const struct gw__move *moves, uint32_t n_moves,
		     const uint64_t *valid, uint32_t n_places);

#endif
