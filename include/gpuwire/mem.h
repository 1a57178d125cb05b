/* gpuwire/mem.h: where bytes live, and the streams and events that order work on them.
 *
 * Backend: `cuda` if a device answers, else `emu` (the CPU stands in); GPUWIRE_GPU=emu|cuda forces one.
 * A stream is in-order. An event is recorded once per use and fires when everything queued before it
 * on its stream is done. */
#ifndef GPUWIRE_MEM_H
#define GPUWIRE_MEM_H

#include <gpuwire/common.h>

#ifdef __cplusplus
extern "C" {
#endif

enum gw_mem_kind {
	GW_MEM_HOST,        /* ordinary pages */
	GW_MEM_HUGE,        /* huge pages; falls back to ordinary ones with one warning */
	GW_MEM_HOST_PINNED, /* GPU-visible host memory */
	GW_MEM_DEVICE,      /* GPU memory: never touch it from the CPU, even where the emulator would let you */
	GW_MEM_N_KINDS,
};

struct gw_stream;
struct gw_event;

/* "host", "huge", "host_pinned", "device"; a static string, never NULL. Any thread. */
GW_API const char *gw_mem_kind_name(enum gw_mem_kind kind);

/* The backend in use: "emu" or "cuda" (static string). Picks it on first use. Any thread. Blocks: the
 * first call may open the driver. */
GW_API const char *gw_gpu_backend(void);

/* Make a stream (non-blocking against the default one). *out only on success.
 * Returns 0, -ENOMEM, -ENODEV. Any thread. The caller owns it: gw_stream_destroy(). Blocks: no. */
GW_API GW_MUST_CHECK int gw_stream_create(struct gw_stream **out, struct gw_diag *diag);
/* NULL is fine. Waits for what is queued. The library must no longer use it (close first). */
GW_API void gw_stream_destroy(struct gw_stream *stream);
/* Wait until everything queued on it is done. Returns 0 or the error of the work that failed. */
GW_API GW_MUST_CHECK int gw_stream_sync(struct gw_stream *stream);

/* 1 fired, 0 not yet, negative errno if the work before it failed. Any thread. Blocks: no. */
GW_API int gw_event_query(const struct gw_event *event);
/* Wait for it. 0 or the error of the work before it. Any thread. Blocks: yes. */
GW_API GW_MUST_CHECK int gw_event_sync(const struct gw_event *event);

/* Allocate `bytes` of a kind, zeroed, 4096-aligned. *out only on success.
 *   affinity  NUMA node for host kinds, GPU ordinal for device; ignored by emu
 * Returns 0, -ENOMEM, -ENODEV, -EINVAL (zero bytes). Any thread. Caller owns: gw_mem_free(). */
GW_API GW_MUST_CHECK int gw_mem_alloc(enum gw_mem_kind kind, size_t bytes, int affinity, void **out,
				      struct gw_diag *diag);
/* NULL is fine. */
GW_API void gw_mem_free(void *ptr);

/* Copy between any two kinds and wait for it. 0 or negative errno. For set-up and tests, not for the data path. */
GW_API GW_MUST_CHECK int gw_mem_copy(void *dst, const void *src, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
