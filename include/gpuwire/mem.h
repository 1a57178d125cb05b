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

/* Returns "host", "huge", "host_pinned", "device" or "unknown", never NULL. Any thread. Ownership: static. Blocks: no. */
GW_API const char *gw_mem_kind_name(enum gw_mem_kind kind);

/* The backend in use, picked on first use. Returns "emu" or "cuda". Any thread. Ownership: static. Blocks: the
 * first call may open the driver. */
GW_API const char *gw_gpu_backend(void);

/* Make a stream (non-blocking against the default one). *out only on success.
 * Returns 0, -ENOMEM, -ENODEV. Any thread. The caller owns it: gw_stream_destroy(). Blocks: no. */
GW_API GW_MUST_CHECK int gw_stream_create(struct gw_stream **out, struct gw_diag *diag);
/* NULL is fine. The library must no longer use it (close first). Returns nothing. Any thread, the last to use it.
 * Ownership: ends here. Blocks: until what is queued is done. */
GW_API void gw_stream_destroy(struct gw_stream *stream);
/* Wait until everything queued on it is done. Returns 0 or the error of the work that failed. Any thread.
 * Ownership: nothing changes hands. Blocks: yes. */
GW_API GW_MUST_CHECK int gw_stream_sync(struct gw_stream *stream);

/* Returns 1 fired, 0 not yet, negative errno if the work before it failed. Any thread. Ownership: the event is
 * borrowed from a burst, until its release. Blocks: no. */
GW_API int gw_event_query(const struct gw_event *event);
/* Wait for it. Returns 0 or the error of the work before it. Any thread. Ownership: as gw_event_query(). Blocks: yes. */
GW_API GW_MUST_CHECK int gw_event_sync(const struct gw_event *event);

/* Allocate `bytes` of a kind, zeroed, 4096-aligned. *out only on success.
 *   affinity  NUMA node for host kinds, GPU ordinal for device; ignored by emu
 * Returns 0, -ENOMEM, -ENODEV, -EINVAL (zero bytes). Any thread. Caller owns: gw_mem_free(). Blocks: while pages
 * are made. */
GW_API GW_MUST_CHECK int gw_mem_alloc(enum gw_mem_kind kind, size_t bytes, int affinity, void **out,
				      struct gw_diag *diag);
/* Free it; NULL is fine. Returns nothing. Any thread. Ownership: ends here; nothing queued may still use it. Blocks:
 * device memory, until the device is idle. */
GW_API void gw_mem_free(void *ptr);

/* Copy between any two kinds and wait for it. For set-up and tests, not for the data path.
 * Returns 0 or negative errno. Any thread. Ownership: nothing changes hands. Blocks: until it is done. */
GW_API GW_MUST_CHECK int gw_mem_copy(void *dst, const void *src, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
