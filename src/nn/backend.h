/* nn/backend.h: who runs a plan. One row a backend: onednn/ on the CPU, cudnn/ on a GPU.
 * Must not know files or graphs. Next: nn.c uses it, onednn/run.c fills it. */
#ifndef GW_NN_BACKEND_H
#define GW_NN_BACKEND_H

#include "nn/equalise.h"
#include "nn/plan.h"

#include <gpuwire/nn.h>

/* Results in flight or in the caller's hands: the one being made, the one just returned, and the one before
 * that, which the caller may still read. */
#define GW__NN_SLOTS 3u

struct gw__exec;

struct gw__exec_cfg {
	uint32_t max_batch, n_threads;
	enum gw_nn_precision precision;
	const char *plan_cache; /* folder for what a backend wants to keep; NULL = none */
	const float *peaks; /* GW_NN_INT8: [n_values] largest magnitude of each value, from calibration */
	const float *means; /* GW_NN_INT8: mean of each channel of each value (nn/equalise.h), or NULL */
	uint32_t n_wide_ops; /* GW_NN_INT8: that many first operations keep more than 8 bits */
};

struct gw__nn_backend {
	/* Takes over *plan (moved out of), also on failure. */
	int (*create)(struct gw__plan *plan, const struct gw__exec_cfg *cfg, struct gw__exec **out,
		      struct gw_diag *diag);
	void (*destroy)(struct gw__exec *x);
	/* Start n samples once `ready` fired; the features will lie in slot. Nothing is pending after failure. */
	int (*submit)(struct gw__exec *x, const void *input, uint32_t n, struct gw_event *ready, uint32_t slot);
	/* Wait for that slot and say where its (n, n_features) lie. */
	int (*wait)(struct gw__exec *x, uint32_t slot, const float **features);
	const char *(*name)(const struct gw__exec *x);
	/* Largest magnitude of each value of the plan over n samples, added to peaks[n_values]; FLOAT plans only. */
	int (*measure)(struct gw__exec *x, const void *input, uint32_t n, float *peaks);
	/* The same a channel, for backends that take an equalised plan; means are added up over samples. NULL = the
	 * backend has no use for it, and `measure` is called instead. */
	int (*measure_channels)(struct gw__exec *x, const void *input, uint32_t n, struct gw__chan_stats *stats);
	/* Where the time of n samples goes: one row a step. NULL = not offered. */
	int (*profile)(struct gw__exec *x, uint32_t n, void (*row)(void *ctx, const char *text, double us),
		       void *ctx);
	/* Library, version and instruction set: what calibrated plans depend on. NULL = nothing is cached. */
	void (*identity)(char *text, size_t n);
	enum gw_nn_precision best; /* what GW_NN_DEFAULT means here */
	uint32_t precisions;       /* bit (1 << p) for each precision it has */
};

#ifdef GW_WITH_ONEDNN
extern const struct gw__nn_backend gw__nn_onednn;
/* Version and instruction set in words. */
void gw__onednn_about(char *text, size_t n);
#endif
#ifdef GW_WITH_CUDNN
extern const struct gw__nn_backend gw__nn_cudnn;
/* Version in words and 0; a negative errno and the reason. Opens the library. */
int gw__cudnn_about(char *text, size_t n);
#endif

#endif
