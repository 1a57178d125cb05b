/* nn/cudnn/conv.h: one fused convolution: conv (+ residual) + bias (+ relu), NHWC, as a cuDNN graph.
 * Must not know networks. Next: conv.c (graph, engines), choice.c (what was fastest). */
#ifndef GW_NN_CUDNN_CONV_H
#define GW_NN_CUDNN_CONV_H

#include "gpu/gpu.h"
#include "nn/cudnn/lib.h"

/* y = relu(conv(x, w) * scale[k] + bias[k] + z * z_scale[k]), sizes in elements, batch n in front.
 * fp16: no scales, bias is FLOAT16. int8: x, w, z int8, int32 sums, scales and bias FLOAT [k], y int8 (rounded, saturated) or fp16. */
struct gw__conv_spec {
	int64_t n, c, h, w, k, r, s, p, q; /* x (n,c,h,w), filter (k,c/groups,r,s), y (n,k,p,q) */
	int64_t stride[2], dilation[2], pad_lo[2], pad_hi[2];
	int64_t groups;
	bool add, relu, int8, y_half;
};

struct gw__conv_args {
	const void *x, *w, *bias, *scale, *z, *z_scale;
	void *y;
};

struct gw__conv; /* a chosen plan */

struct gw__conv_env {
	const struct gw__cudnn *lib;
	cudnnHandle_t handle;
	const struct gw__gpu_ops *gpu;
	struct gw_stream *stream;
	void *workspace; /* grown as plans ask for it; shared: one stream */
	size_t workspace_bytes;
	char *cache_path; /* choices kept between runs; NULL = none */
	int64_t n_timed;  /* engines timed because the cache did not know */
};

/* Build the graph, time every deterministic engine offered on args' memory, keep the fastest; or take the
 * cache's. 0; -ENOTSUP no engine takes this fusion; -ENOMEM; -EIO. Blocks. */
int gw__conv_create(struct gw__conv_env *env, const struct gw__conv_spec *spec, const struct gw__conv_args *args,
		    struct gw__conv **out, struct gw_diag *diag);
void gw__conv_destroy(struct gw__conv_env *env, struct gw__conv *conv);
/* After the workspace grew: point at where it is now. Every plan made before needs it. 0 or -EIO. */
int gw__conv_rebind(struct gw__conv_env *env, struct gw__conv *conv);
/* Queue it on the environment's stream. 0 or -EIO. */
int gw__conv_run(struct gw__conv_env *env, struct gw__conv *conv);
/* "64x56x56 k64 3x3 s1 +z relu fp16 n32": the key of the cache and of tables. buf[128]. */
const char *gw__conv_text(const struct gw__conv_spec *spec, char *buf);
/* Its spec in words. buf[128]. */
void gw__conv_describe(const struct gw__conv *conv, char *buf);
/* Microseconds measured when it was chosen, 0 if from the cache. */
double gw__conv_us(const struct gw__conv *conv);

#endif
