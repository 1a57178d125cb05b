/* gpu/gpu.h: memory kinds, streams, events, copies and launches behind one small table.
 * Backends: emu/ (the CPU, always there), cuda/ (the driver API opened at run time).
 * Must not know packets, tensors or networks. Next: emu/emu.c. */
#ifndef GW_GPU_GPU_H
#define GW_GPU_GPU_H

#include <gpuwire/mem.h>
#include <stdbool.h>

/* A CPU twin run in stream order by emu: returns 0 or a negative errno that the stream then carries. */
typedef int (*gw__host_fn)(void *arg);

struct gw__copy {
	void *dst;
	const void *src;
	size_t n_bytes;
};

/* One kernel, one source: a fatbin for the card, a lane program for the SIMT emulator. Takes one struct by
 * value. See emu/simt.h for how such a source is written. */
struct gw__kernel {
	const char *name;           /* its symbol in the image */
	const unsigned char *image; /* fatbin; NULL in a build without nvcc */
	void (*lane)(const void *arg); /* what one lane runs, emulated; NULL = the card only */
	size_t arg_bytes;
};

struct gw__grid {
	uint32_t n_blocks, n_threads; /* threads a block: a multiple of 32, at most 1,024 */
	uint32_t shared_bytes;        /* dynamic shared memory a block */
};

struct gw__graph; /* work recorded once and launched again */

/* Control and data ops of one backend; all filled in, typed refusals where absent. */
struct gw__gpu_ops {
	const char *name;
	bool cpu_twins; /* the library's own work runs on the CPU, by host_call; else it is launched */
	int (*mem_alloc)(enum gw_mem_kind kind, size_t n_bytes, int affinity, void **out, struct gw_diag *diag);
	void (*mem_free)(void *ptr);
	/* The address through which the CPU (and the soft NIC) may touch ptr, or NULL: device memory of a
	 * real GPU. For emu's device kind this is the private alias of the same bytes. */
	void *(*host_alias)(const void *ptr, size_t n_bytes);
	int (*stream_create)(struct gw_stream **out, struct gw_diag *diag);
	void (*stream_destroy)(struct gw_stream *stream);
	int (*stream_sync)(struct gw_stream *stream);
	int (*event_create)(struct gw_event **out);
	void (*event_destroy)(struct gw_event *event);
	int (*event_record)(struct gw_event *event, struct gw_stream *stream);
	int (*event_query)(const struct gw_event *event); /* 1, 0, -errno */
	int (*event_sync)(const struct gw_event *event);
	int (*stream_wait)(struct gw_stream *stream, struct gw_event *event);
	int (*copy_batch)(struct gw_stream *stream, const struct gw__copy *copies, uint32_t n);
	/* Run fn(arg) on the CPU in stream order. arg must live until it ran. emu only: cuda says -ENOTSUP. */
	int (*host_call)(struct gw_stream *stream, gw__host_fn fn, void *arg);
	/* Load a kernel before anything runs (nothing may be loaded behind a kernel that does not end). */
	int (*kernel_prepare)(const struct gw__kernel *kernel, struct gw_diag *diag);
	/* Queue a launch; arg is copied. Neither waits nor allocates. -EINVAL a grid that cannot be. */
	int (*launch)(struct gw_stream *stream, const struct gw__kernel *kernel, struct gw__grid grid,
		      const void *arg);
	/* Record what is queued between the two calls instead of running it; -ENOTSUP on emu. */
	int (*capture_begin)(struct gw_stream *stream);
	int (*capture_end)(struct gw_stream *stream, struct gw__graph **out);
	int (*graph_launch)(struct gw__graph *graph, struct gw_stream *stream);
	void (*graph_destroy)(struct gw__graph *graph);
	/* The driver's own handle (CUstream) for libraries above it; NULL on emu. */
	void *(*native_stream)(struct gw_stream *stream);
	/* Multiprocessors; 1 on emu. */
	uint32_t (*n_sm)(void);
	/* "NVIDIA H200, sm_90, driver 13.0", or the CPU that stands in. Static. */
	const char *(*describe)(void);
	/* Make host memory GPU-visible in place; -ENOTSUP where it cannot be. */
	int (*host_register)(void *ptr, size_t n_bytes);
	void (*host_unregister)(void *ptr);
};

/* The backend chosen at first use (GPUWIRE_GPU=emu|cuda forces). Never NULL: emu is always there. */
const struct gw__gpu_ops *gw__gpu(void);
/* Why the choice is not cuda; "" where it is. Static. */
const char *gw__gpu_why_emu(void);

/* emu, for tests: streams made afterwards queue their work until stepped (false: work runs when queued). */
void gw__emu_set_manual(bool manual);
/* emu: run up to budget queued items of a manual stream; returns how many ran. */
int gw__emu_stream_step(struct gw_stream *stream, int budget);
/* emu, strict tests: the device view becomes PROT_NONE while nothing of ours runs on it. Whoever may touch
 * it (kernels, host_call functions) runs with access. Not while sanitizers map the arena once. */
int gw__emu_set_strict(bool strict);

#endif
