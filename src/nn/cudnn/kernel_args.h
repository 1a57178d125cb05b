/* nn/cudnn/kernel_args.h: what the kernels between convolutions are told. Plain C and CUDA C++. */
#ifndef GW_NN_CUDNN_KERNEL_ARGS_H
#define GW_NN_CUDNN_KERNEL_ARGS_H

#include <stdint.h>

/* how an element is stored; real = stored * scale for int8 */
enum gw__k_type { GW_K_HALF, GW_K_FLOAT, GW_K_CHAR };

/* FLOAT16 (n, c, h, w) -> FLOAT16 (n, h, w, c_out): x * scale[c] + shift[c]; channels above c are zero */
struct gw__input_args {
	const uint16_t *x;
	uint16_t *y;
	const float *scale, *shift; /* [c] */
	uint32_t n_pixels;          /* n * h * w */
	uint32_t plane;             /* h * w */
	uint32_t c, c_out;          /* c_out: 4 or 8 */
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
