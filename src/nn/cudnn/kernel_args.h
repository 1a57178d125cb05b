/* nn/cudnn/kernel_args.h: what the kernels between convolutions are told. Plain C and CUDA C++. */
#ifndef GW_NN_CUDNN_KERNEL_ARGS_H
#define GW_NN_CUDNN_KERNEL_ARGS_H

#include <stdint.h>

/* how an element is stored; real = stored * scale for int8 */
enum gw__k_type { GW_K_HALF, GW_K_FLOAT, GW_K_CHAR };

/* FLOAT16 (n, c, h, w) -> FLOAT16 channels last, x * scale[c] + shift[c], channels above the last are zero.
 * fold 1: (n, h, w, c_out). fold 2: (n, bh, bw, c_out) of 2 x 2 blocks of pixels, channel (dy * 2 + dx) * c + ch,
 * block (0, 0) being lo[] blocks before the picture: what a stride-2 filter sees as a stride-1 one. */
struct gw__input_args {
	const uint16_t *x;
	uint16_t *y;
	const float *scale, *shift; /* [c] */
	uint32_t n, c, h, w;
	uint32_t c_out;    /* fold 1: 4 or 8; fold 2: 16 */
	uint32_t fold;
	uint32_t bh, bw;   /* blocks stored; fold 1: h, w */
	uint32_t lo[2];
};

/* channels last: y (n, p, q, c) = max or mean over a window of x (n, h, w, c); 8 channels a lane */
struct gw__pool_args {
	const void *x;
	void *y;
	uint32_t n, h, w, c, p, q;
	int32_t kernel[2], stride[2], dilation[2], pad[2];
	uint32_t mean;     /* 0 = max */
	uint32_t padded;   /* mean counts the padding */
	uint32_t x_type, y_type;
	float x_scale, y_scale;
};

/* channels last: y (n, c) = mean over all pixels; c a multiple of 256 */
struct gw__mean_args {
	const void *x;
	void *y;
	uint32_t n, plane, c;
	uint32_t x_type, y_type;
	float x_scale, y_scale;
};

enum gw__k_point { GW_K_CAST, GW_K_ADD, GW_K_MUL, GW_K_AFFINE, GW_K_FLATTEN };

/* element by element, channels last, then relu; FLATTEN: (n, h, w, c) -> (n, c * h * w) in that order */
struct gw__point_args {
	const void *x, *x2; /* x2: ADD, MUL */
	void *y;
	const float *scale, *shift; /* AFFINE: [c] */
	uint64_t n_elems;
	uint32_t c, plane;
	uint32_t op, relu;
	uint32_t x_type, x2_type, y_type;
	float x_scale, x2_scale, y_scale;
};

/* *peak = max(*peak, |x|), as the bits of a float that is not negative */
struct gw__peak_args {
	const void *x;
	uint32_t *peak;
	uint64_t n_elems;
	uint32_t x_type;
	float x_scale;
};

#endif
