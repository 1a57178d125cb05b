/* gpu/emu/emu.h: the pieces of the CPU stand-in: an arena of "device" memory, in-order streams.
 * Must not know a real GPU. Next: arena.c (memory), stream.c (order), emu.c (the table). */
#ifndef GW_GPU_EMU_EMU_H
#define GW_GPU_EMU_EMU_H

#include "gpu/gpu.h"

extern const struct gw__gpu_ops gw__gpu_emu;

/* ---- arena: each allocation is one memfd mapped twice: a device view, and an alias for us -------- */
int gw__emu_device_alloc(size_t n_bytes, void **out, struct gw_diag *diag);
/* false: not a device allocation of ours */
bool gw__emu_device_free(void *ptr);
/* The alias of n bytes at ptr, or NULL when the range does not lie in one live allocation. */
void *gw__emu_device_alias(const void *ptr, size_t n_bytes);
/* Strict mode: open the device view around work that may touch it; nests. */
void gw__emu_view_open(void);
void gw__emu_view_shut(void);

/* ---- streams and events ---------------------------------------------------------------------- */
int gw__emu_stream_create(struct gw_stream **out, struct gw_diag *diag);
void gw__emu_stream_destroy(struct gw_stream *s);
int gw__emu_stream_sync(struct gw_stream *s);
int gw__emu_event_create(struct gw_event **out);
void gw__emu_event_destroy(struct gw_event *e);
int gw__emu_event_record(struct gw_event *e, struct gw_stream *s);
int gw__emu_event_query(const struct gw_event *e);
int gw__emu_event_sync(const struct gw_event *e);
int gw__emu_stream_wait(struct gw_stream *s, struct gw_event *e);
int gw__emu_copy_batch(struct gw_stream *s, const struct gw__copy *copies, uint32_t n);
int gw__emu_kernel_prepare(const struct gw__kernel *kernel, struct gw_diag *diag);
int gw__emu_launch(struct gw_stream *s, const struct gw__kernel *kernel, struct gw__grid grid, const void *arg);
int gw__emu_host_call(struct gw_stream *s, gw__host_fn fn, void *arg);

#endif
