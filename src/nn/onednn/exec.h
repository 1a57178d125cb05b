/* nn/onednn/exec.h: a plan laid out for oneDNN: instances of values in memory, and steps over them.
 * The only folder that sees dnnl.h. Must not know ONNX. Next: build.c lays out, run.c runs. */
#ifndef GW_NN_ONEDNN_EXEC_H
#define GW_NN_ONEDNN_EXEC_H

#include "nn/backend.h"
#include "nn/equalise.h"
#include "nn/onednn/quiet.h"

#include <oneapi/dnnl/dnnl.h>

#define GW__STEP_ARGS 8

/* One value in one layout and type. real = stored * scale. */
struct inst {
	dnnl_memory_desc_t md;
	dnnl_memory_t mem;
	float scale;
	int same_as;     /* shares the bytes of that instance; -1 = its own */
	int first, last; /* steps between which the bytes are needed */
	size_t offset;   /* into the arena */
	void *fixed;     /* bytes of its own (weights, constants); NULL = in the arena */
	bool output;     /* bytes are the caller's slot, bound before each run */
	bool scratch;    /* bytes are the shared scratchpad */
};

struct step {
	dnnl_primitive_t prim; /* NULL: the input conversion, into args[0] */
	uint32_t n_args;
	int inst[GW__STEP_ARGS];
	dnnl_exec_arg_t args[GW__STEP_ARGS];
	int value; /* plan value finished by this step, or -1 */
	int value_inst;
};

/* The plan for one batch size. */
struct layout {
	uint32_t n;
	uint32_t n_insts, cap_insts;
	struct inst *insts;
	uint32_t n_steps, cap_steps;
	struct step *steps;
	size_t arena_bytes, scratch_bytes;
	int output;
	int input; /* the instance that the input conversion fills */
	bool channels_last;
	int *of_value; /* [n_values] the instance as it was made, -1 = none */
	int *other_of; /* [n_values] the same in another layout or type, made last; -1 = none */
	int *last_use; /* [n_values] last op that reads it; n_ops = the output */
};

/* Weights of one op in one layout. Batch sizes that ask for the same layout share them. */
struct laid_out {
	struct laid_out *next;
	dnnl_memory_desc_t md;
	void *bytes;
};

struct weights {
	struct laid_out *layouts;
	dnnl_memory_desc_t bias_md;
	void *bias;
	float *scales; /* whole-number weights: one an output channel */
};

struct gw__exec {
	struct gw__plan plan;
	struct gw__exec_cfg cfg;
	dnnl_engine_t engine;
	dnnl_stream_t stream;
	struct gw__quiet quiet;
	uint32_t chunk;           /* samples that go through the network together */
	struct layout **layouts;  /* [chunk + 1], made when first asked for */
	struct weights *weights;  /* [n_ops] */
	unsigned char *arena, *scratch;
	size_t arena_bytes, scratch_bytes;
	float *slots;             /* [GW__NN_SLOTS][max_batch][n_features] */
	float *peaks;             /* copy of cfg.peaks */
	float *means;             /* copy of cfg.means; NULL = not known */
	uint32_t n_features;
	uint32_t slot_batch; /* max_batch rounded up to whole chunks */
	dnnl_data_type_t wide; /* GW_NN_INT8: the type of operations that stay wide: bf16 where the CPU has it */
	bool pad;     /* a short tail runs as a full chunk: see run.c */
	bool blocked; /* FLOAT values lie in blocks of 16 channels: Winograd's layout, where the CPU has it */
	char name[32];
};

/* Lay out the plan for n samples; weights are made as they are asked for. */
int gw__layout_make(struct gw__exec *x, uint32_t n, struct gw_diag *diag);
void gw__layout_destroy(struct layout *y);
/* Point every instance into arena and scratch as they are now. */
int gw__layout_bind(struct gw__exec *x, struct layout *y);

/* ---- for the builders of single operations (build.c, conv.c, ops.c) ---- */
struct builder {
	struct gw__exec *x;
	struct layout *y;
	struct gw_diag *diag;
	const struct gw__plan_op *op;
	int op_no;
};

int gw__dnnl_error(const struct builder *b, dnnl_status_t s);
/* dims of a value with the batch in front; how many. */
int gw__md_dims(const struct builder *b, int value, dnnl_dims_t dims);
/* A plain (nchw or nc) or layout-free descriptor of a value. */
int gw__md_plain(const struct builder *b, int value, dnnl_data_type_t dt, dnnl_memory_desc_t *md);
int gw__md_any(const struct builder *b, int value, dnnl_data_type_t dt, dnnl_memory_desc_t *md);
/* A new instance; negative errno. */
int gw__inst_add(struct builder *b, const dnnl_memory_desc_t *md, float scale);
/* An instance of a plan value in exactly this layout, type and scale, converted if need be. */
int gw__inst_as(struct builder *b, int value, const dnnl_memory_desc_t *md, float scale);
/* The same, but with bytes that may be overwritten by this op. */
int gw__inst_take(struct builder *b, int value, const dnnl_memory_desc_t *md, float scale);
/* A copy in the same layout. */
int gw__inst_copy(struct builder *b, int inst);
/* Append: takes pd (destroyed also on failure). args are pairs (DNNL_ARG_*, instance), -1 ends. */
int gw__step_add(struct builder *b, dnnl_primitive_desc_t pd, int value, int value_inst, const int *args);
/* Attributes with the library's scratchpad mode, and optional + (sum) and relu. */
int gw__attr_make(struct builder *b, const float *sum_scale, dnnl_data_type_t sum_type, bool relu,
		  dnnl_primitive_attr_t *out);

/* Raise peak[c] to the channel's largest magnitude in n samples; add each sample's mean to mean[c]. FLOAT only. */
void gw__measure_value(const struct inst *inst, const struct gw__shape *shape, uint32_t n, float *peak, float *mean);
/* How a value is stored between operations, and how a convolution reads it, by precision. */
dnnl_data_type_t gw__read_type(const struct gw__exec *x, int value);
float gw__read_scale(const struct gw__exec *x, int value);
dnnl_data_type_t gw__value_type(const struct gw__exec *x, int value);
float gw__value_scale(const struct gw__exec *x, int value);

/* Does this CPU run Winograd convolutions (and so prefer blocks of 16 channels)? */
bool gw__winograd_here(dnnl_engine_t engine);
/* Does it run bf16 convolutions? */
bool gw__bf16_here(dnnl_engine_t engine);
void gw__weights_fini(struct weights *w);

int gw__build_conv(struct builder *b);
int gw__build_pool(struct builder *b);
int gw__build_pointwise(struct builder *b); /* AFFINE, ADD, MUL, RELU */
int gw__build_flatten(struct builder *b);

#endif
