/* reorder/cuda/scatter_args.h: what one launch is told. Plain C and CUDA C++. Next: scatter.cu. */
#ifndef GW_REORDER_CUDA_SCATTER_ARGS_H
#define GW_REORDER_CUDA_SCATTER_ARGS_H

#include <stdint.h>

/* the two that lanes fold on; the numbers are this file's own */
enum gw__k_in { GW_K_COPY, GW_K_INT4, GW_K_INT8, GW_K_INT16, GW_K_INT16S, GW_K_INT32, GW_K_INT32S, GW_K_N_IN };
enum gw__k_out { GW_K_BYTES, GW_K_OUT8, GW_K_OUT32, GW_K_FP16, GW_K_BF16, GW_K_FP32, GW_K_FP64 };

struct gw__scatter_args {
	const uint32_t *move;  /* [n_moves][3]: source slot, place, payload bytes; GPU-visible */
	const uint64_t *valid; /* bit i: place i is filled by a move; read only when n_moves < n_places */
	const uint8_t *src;    /* payload of slot 0 */
	uint8_t *out;
	uint64_t src_stride;
	uint32_t n_moves, n_places;
	uint32_t payload_len;  /* bytes of a full payload; longer ones are cut */
	uint32_t out_len;      /* bytes of a full payload, converted: the stride of places */
	uint32_t n_units;      /* units of 8 elements (16 bytes for a copy) in a full payload; 0 = alignment forbids */
	uint32_t pairs;        /* int8: sources also allow 16-byte reads */
	uint32_t out_type;     /* enum gw__k_out */
	uint32_t fill;         /* byte of a hole */
	uint32_t keep;         /* holes stay as they are */
};

#define GW_SCATTER_WARPS 16u /* packets a block: one a warp */

#endif
