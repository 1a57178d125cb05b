/* nn/cudnn/exec.h: a plan laid out for the card: values channels last in one arena, steps over them.
 * Must not know ONNX. Next: layout.c (memory, weights), steps.c (what runs), exec.c (the backend). */
#ifndef GW_NN_CUDNN_EXEC_H
#define GW_NN_CUDNN_EXEC_H

#include "nn/backend.h"
#include "nn/cudnn/conv.h"
#include "nn/cudnn/kernels.h"

#define GW_NN_CHUNK 256u /* samples that go through together; more are consecutive windows */

/* One value of the plan as it is stored. real = stored * scale. */
struct gw__val {
	enum gw__k_type type;
	float scale;
	int64_t c;         /* stored channels: the input's are padded */
	size_t elems;      /* of one sample, stored */
	size_t offset;     /* into the arena */
	int first, last;   /* ops between which it is needed */
};

struct gw__wts {
	bool int8;
	void *w, *bias, *scale, *z_scale; /* device */
	void *half_w, *half_bias;        /* int8 without an engine: the fp16 ones */
	float *shift_dev, *scale_dev;    /* INPUT, AFFINE */
};

enum gw__step_kind { GW__STEP_INPUT, GW__STEP_CONV, GW__STEP_POOL, GW__STEP_MEAN, GW__STEP_POINT };

/* How the picture is stored for the first convolution. */
struct gw__stem {
	uint32_t fold;          /* 1: pixels; 2: blocks of 2 x 2, the first filter then has stride 1 */
	int64_t c, h, w;        /* stored channels and blocks */
	int64_t r, s, lo[2];    /* fold 2: the filter over blocks; blocks before the picture */
};

struct gw__step {
	enum gw__step_kind kind;
	const char *name; /* the op's */
	struct gw__conv *conv;
	union {
		struct gw__input_args input;
		struct gw__pool_args pool;
		struct gw__mean_args mean;
		struct gw__point_args point;
	};
};

/* The steps for one batch size. */
struct gw__batch {
	uint32_t n, n_steps, cap_steps;
	struct gw__step *steps;
	struct gw__graph *graph; /* all but the input */
	void **tmp;              /* casts around a layer without an int8 engine */
	uint32_t n_tmp;
};

struct gw__exec {
	struct gw__plan plan;
	struct gw__exec_cfg cfg;
	const struct gw__gpu_ops *gpu;
	struct gw_stream *stream;
	struct gw__conv_env env;
	uint32_t chunk;
	struct gw__stem stem;
	int last_flat; /* the value that a closing flatten only renames, or -1 */
	struct gw__val *val;  /* [n_values] */
	struct gw__wts *wts;  /* [n_ops] */
	float *peaks;         /* int8 */
	uint8_t *arena;
	size_t arena_bytes;
	struct gw__batch **batch; /* [chunk + 1]: the whole one; others once asked for again and again */
	uint32_t n_last, n_in_a_row;
	uint32_t n_features;
	float *features;          /* device, (chunk, n_features) */
	float *slot[GW__NN_SLOTS]; /* pinned, (max_batch, n_features) */
	struct gw_event *event[GW__NN_SLOTS];
	uint32_t *peak_dev;
	char name[96];
};

/* layout.c */
int gw__cudnn_layout(struct gw__exec *x, struct gw_diag *diag);
int gw__cudnn_weights(struct gw__exec *x, struct gw_diag *diag);
int gw__cudnn_half_weights(struct gw__exec *x, int op); /* for a layer without an int8 engine */
void gw__cudnn_weights_free(struct gw__exec *x);
void *gw__cudnn_ptr(const struct gw__exec *x, int value);
int gw__cudnn_upload(struct gw__exec *x, const void *host, size_t n_bytes, void **out);

/* steps.c */
int gw__cudnn_batch(struct gw__exec *x, uint32_t n, struct gw__batch **out, struct gw_diag *diag);
void gw__cudnn_batch_destroy(struct gw__exec *x, struct gw__batch *b);
int gw__cudnn_step(struct gw__exec *x, struct gw__step *s);
void gw__cudnn_conv_spec(const struct gw__exec *x, const struct gw__plan_op *op, uint32_t n,
			 struct gw__conv_spec *out);

#endif
