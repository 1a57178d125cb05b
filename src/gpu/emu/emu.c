/* gpu/emu/emu.c: the emulator's table. Next: ../gpu.c chooses the backend. */
#include "gpu/emu/emu.h"

#include <errno.h>
#include "gpu/host.h"

static int mem_alloc(enum gw_mem_kind kind, size_t n_bytes, int affinity, void **out, struct gw_diag *diag)
{
	(void)affinity; /* one node, one emulated device */
	if (kind == GW_MEM_DEVICE && n_bytes && n_bytes <= SIZE_MAX / 2)
		return gw__emu_device_alloc(n_bytes, out, diag);
	return gw__host_alloc(kind, n_bytes, out, diag);
}

static void mem_free(void *ptr)
{
	if (ptr && !gw__emu_device_free(ptr))
		gw__host_free(ptr);
}

static void *host_alias(const void *ptr, size_t n_bytes)
{
	void *alias = gw__emu_device_alias(ptr, n_bytes);

	return alias ? alias : (void *)(uintptr_t)ptr; /* host memory is its own alias */
}

static int host_register(void *ptr, size_t n_bytes)
{
	return ptr && n_bytes ? 0 : -EINVAL; /* the emulator sees all of the process */
}

static void host_unregister(void *ptr)
{
	(void)ptr;
}

static int no_capture(struct gw_stream *stream)
{
	(void)stream;
	return -ENOTSUP;
}

static int no_capture_end(struct gw_stream *stream, struct gw__graph **out)
{
	(void)stream;
	(void)out;
	return -ENOTSUP;
}

static int no_graph_launch(struct gw__graph *graph, struct gw_stream *stream)
{
	(void)graph;
	(void)stream;
	return -ENOTSUP;
}

static void no_graph_destroy(struct gw__graph *graph)
{
	(void)graph;
}

static void *no_native(struct gw_stream *stream)
{
	(void)stream;
	return NULL;
}

static uint32_t one_sm(void)
{
	return 1;
}

static const char *describe(void)
{
	return "emu: the CPU stands in for a GPU";
}

const struct gw__gpu_ops gw__gpu_emu = {
	.name = "emu",
	.cpu_twins = true,
	.mem_alloc = mem_alloc,
	.mem_free = mem_free,
	.host_alias = host_alias,
	.stream_create = gw__emu_stream_create,
	.stream_destroy = gw__emu_stream_destroy,
	.stream_sync = gw__emu_stream_sync,
	.event_create = gw__emu_event_create,
	.event_destroy = gw__emu_event_destroy,
	.event_record = gw__emu_event_record,
	.event_query = gw__emu_event_query,
	.event_sync = gw__emu_event_sync,
	.stream_wait = gw__emu_stream_wait,
	.copy_batch = gw__emu_copy_batch,
	.host_call = gw__emu_host_call,
	.kernel_prepare = gw__emu_kernel_prepare,
	.launch = gw__emu_launch,
	.capture_begin = no_capture,
	.capture_end = no_capture_end,
	.graph_launch = no_graph_launch,
	.graph_destroy = no_graph_destroy,
	.native_stream = no_native,
	.n_sm = one_sm,
	.describe = describe,
	.host_register = host_register,
	.host_unregister = host_unregister,
};
