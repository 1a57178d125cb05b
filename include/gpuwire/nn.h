/* gpuwire/nn.h: an ONNX network, fused and planned, fed from a tensor in place, one batch late.
 *
 * Input: FLOAT16, (n, chan, height, width), n dynamic. Output: FLOAT, (n, features). Arithmetic: FLOAT.
 * Operators: Conv BatchNormalization Relu Add Mul MaxPool AveragePool GlobalAveragePool Flatten Reshape Gemm
 * Identity Constant Cast; FLOAT16 constants are widened. Opsets 9..20.
 * CPU: a sample's features are the same bits in every run, in any batch, at any place in it, for one max_batch
 * (and for all of 8 and more). OpenMP's threads are kept from spinning at barriers; OMP_WAIT_POLICY or
 * GOMP_SPINCOUNT, where set, decide instead. An idle network uses no CPU time.
 * Source: DAQIRI's ResNet tutorial, step 5 (TrtRunner); `infer` returns the results of the batch before. */
#ifndef GPUWIRE_NN_H
#define GPUWIRE_NN_H

#include <gpuwire/common.h>
#include <gpuwire/mem.h>
#include <gpuwire/version.h>

#ifdef __cplusplus
extern "C" {
#endif

struct gw_nn;

enum gw_nn_precision {
	GW_NN_DEFAULT, /* what the backend does best without calibration: CPU FP32, GPU FP16 */
	GW_NN_FP32,    /* CPU */
	GW_NN_BF16,
	GW_NN_INT8, /* CPU: as many first operations stay BF16 as the calibration inputs need (logged) */
	GW_NN_FP16, /* GPU: FLOAT16 operands, FLOAT sums */
};

struct gw_nn_opts {
	size_t sz;              /* sizeof(struct gw_nn_opts) */
	uint32_t max_batch;     /* largest n of infer; 0 = 32 */
	uint32_t n_threads;     /* CPU threads; 0 = as many as this process may use */
	const char *plan_cache; /* folder, must exist; NULL = none. CPU: keeps int8 calibrations (FLOAT and BF16
				 * plans build as fast as they would load); GPU: the engines that were chosen */
	enum gw_nn_precision precision;
	const void *calibration; /* GW_NN_INT8: calib_n inputs, FLOAT16 (calib_n, chan, height, width), host */
	uint32_t calib_n;
};

struct gw_nn_info {
	uint32_t chan, height, width; /* of one input sample */
	uint32_t n_features;          /* of one output sample */
	const char *input_name;       /* live as long as the network */
	const char *output_name;
	const char *input_type;  /* "kHALF" */
	const char *output_type; /* "FLOAT32" */
	const char *backend;     /* "oneDNN 2.6.3", ... */
	uint64_t model_bytes;
	double open_seconds; /* load + fuse + plan */
	int from_cache;      /* 1: the plan came from plan_cache */
};

/* Load, check, fuse and plan. The file is hostile input: every size is checked, external data refused.
 *   onnx_path  file; opts may be NULL (all defaults)
 * Returns 0; -ENOENT, -EACCES file; -EPROTO not ONNX or inconsistent; -ENOTSUP an operator or attribute,
 * named with its node; -EMSGSIZE; -ENOMEM. *out only on success. Any thread. Caller owns: gw_nn_close().
 * Blocks: yes, up to seconds. */
GW_API GW_MUST_CHECK int gw_nn_open(const char *onnx_path, const struct gw_nn_opts *opts, struct gw_nn **out,
				    struct gw_diag *diag);
/* NULL is fine. Returns nothing. Thread: one, the last to use it. Ownership: the features end with it, inputs
 * are the caller's alone again. Blocks: until the batch in flight is done. */
GW_API void gw_nn_close(struct gw_nn *nn);
/* Fill *info. Returns nothing. Any thread. Ownership: strings are borrowed and live as long as nn. Blocks: no. */
GW_API void gw_nn_info(const struct gw_nn *nn, struct gw_nn_info *info);

/* Queue one batch; give back the results of the one before.
 *   input      FLOAT16 (n, chan, height, width), read in place; must stay valid until the next infer or
 *              drain has returned successfully
 *   n          1..max_batch samples. GPU: an n that has not come several times in a row runs as part of a
 *              whole max_batch, the same bits at that cost; then it gets a plan of its own (seconds, once)
 *   ready      the input may be read after this event; NULL = now
 *   prev       out: FLOAT (*prev_n, n_features) of the batch before, NULL if none; lives until the
 *              second-next infer or drain
 *   prev_n     out: its samples, 0 if none
 * Returns 0; -EINVAL (n, misaligned input); the ready event's own error; -EIO. After a failure the caller
 * still owns `input`, nothing of this batch is pending, and the batch before still is. Thread: one caller per
 * network. Blocks: until the batch before is done (and `ready` fired, on the CPU). */
GW_API GW_MUST_CHECK int gw_nn_infer(struct gw_nn *nn, const void *input, uint32_t n, struct gw_event *ready,
				     const float **prev, uint32_t *prev_n);
/* The tail: results of the last batch, or NULL and 0. Returns 0, -EIO. Thread: as gw_nn_infer(). Ownership: *last is
 * borrowed, until the second-next infer or drain. Blocks: until done. */
GW_API GW_MUST_CHECK int gw_nn_drain(struct gw_nn *nn, const float **last, uint32_t *last_n);

/* Row i of who can compute networks here, as gw_about() says the rest.
 *   out  written only on success
 * Returns 0; -ENOENT past the last row. Threads: any. Ownership: *out is the caller's, name is static. Blocks:
 * the first call may open the GPU driver and cuDNN. */
GW_API GW_MUST_CHECK int gw_nn_about(uint32_t i, struct gw_about *out);

#ifdef __cplusplus
}
#endif
#endif
