/* gpu/cuda/cuda.c: memory, streams, events, launches and graphs on an NVIDIA GPU through the driver API.
 * Every error names the call that failed. Must not know what kernels compute. Next: driver.h. */
#include "gpu/cuda/cuda.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/diag.h"
#include "base/log.h"
#include "gpu/cuda/driver.h"
#include "gpu/host.h"

#define MAX_KERNELS 128u
#define COPY_BATCH 512u

struct gw_stream {
	CUstream s;
};

struct gw_event {
	CUevent e;
};

struct gw__graph {
	CUgraph graph;
	CUgraphExec exec;
};

struct block {
	void *ptr;
	size_t n_bytes;
	bool device;
	struct block *next;
};

static struct {
	struct gw__cuda_driver d;
	CUdevice device;
	CUcontext ctx;
	uint32_t n_sm;
	char text[192];
	CUstream setup; /* zeroing and other set-up work */
	pthread_mutex_t lock;
	struct block *blocks;
	/* kernels loaded, in the order asked for; an image is loaded once */
	struct {
		const struct gw__kernel *kernel;
		CUmodule module;
		CUfunction fn;
	} loaded[MAX_KERNELS];
	uint32_t n_loaded;
} cu = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* ---- errors ---------------------------------------------------------------------------------- */

static int to_errno(CUresult r)
{
	switch (r) {
	case CUDA_SUCCESS:
		return 0;
	case CUDA_ERROR_NOT_READY:
		return -EAGAIN;
	case CUDA_ERROR_OUT_OF_MEMORY:
		return -ENOMEM;
	case CUDA_ERROR_INVALID_VALUE:
		return -EINVAL;
	case CUDA_ERROR_NOT_SUPPORTED:
		return -ENOTSUP;
	case CUDA_ERROR_NO_DEVICE:
	case CUDA_ERROR_STUB_LIBRARY:
	case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
		return -ENODEV;
	default:
		return -EIO;
	}
}

/* Log once, where the error is decided: the call, the driver's name for it and its sentence. */
static int failed(CUresult r, const char *call, struct gw_diag *diag)
{
	const char *name = "?", *text = "?";

	if (r == CUDA_SUCCESS)
		return 0;
	cu.d.p_cuGetErrorName(r, &name);
	cu.d.p_cuGetErrorString(r, &text);
	if (!diag)
		gw__error("%s failed: %s (%d): %s", call, name, (int)r, text);
	return gw__fail(diag, to_errno(r), "%s failed: %s (%d): %s", call, name, (int)r, text);
}

#define CALL(diag, fn, ...) failed(cu.d.p_##fn(__VA_ARGS__), #fn, diag)

/* The primary context is current on each thread that calls in. */
static int enter(struct gw_diag *diag)
{
	static _Thread_local bool current;

	if (current)
		return 0;
	if (CALL(diag, cuCtxSetCurrent, cu.ctx))
		return -EIO;
	current = true;
	return 0;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static int zero(void *ptr, size_t n_bytes, struct gw_diag *diag)
{
	int err = CALL(diag, cuMemsetD8Async, (CUdeviceptr)(uintptr_t)ptr, 0, n_bytes, cu.setup);

	return err ? err : CALL(diag, cuStreamSynchronize, cu.setup);
}

static void release(void *ptr, bool device)
{
	if (device)
		cu.d.p_cuMemFree((CUdeviceptr)(uintptr_t)ptr);
	else
		cu.d.p_cuMemFreeHost(ptr);
}

static int mem_alloc(enum gw_mem_kind kind, size_t n_bytes, int affinity, void **out, struct gw_diag *diag)
{
	bool device = kind == GW_MEM_DEVICE;
	CUdeviceptr dptr = 0;
	struct block *b;
	int err;

	if (kind == GW_MEM_HOST || kind == GW_MEM_HUGE || !n_bytes || n_bytes > SIZE_MAX / 2)
		return gw__host_alloc(kind, n_bytes, out, diag);
	if (device && affinity > 0)
		return gw__fail(diag, -ENODEV, "GPU %d was asked for, GPU 0 is in use; set affinity: 0", affinity);
	err = enter(diag);
	if (err)
		return err;
	b = gw__calloc(1, sizeof(*b));
	if (!b)
		return gw__fail(diag, -ENOMEM, "no memory to describe %zu bytes", n_bytes);
	b->n_bytes = n_bytes;
	b->device = device;
	if (device) {
		err = CALL(diag, cuMemAlloc, &dptr, n_bytes);
		b->ptr = (void *)(uintptr_t)dptr;
	} else {
		err = CALL(diag, cuMemHostAlloc, &b->ptr, n_bytes,
			   CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
	}
	if (err)
		goto err_free;
	if (device)
		err = zero(b->ptr, n_bytes, diag);
	else
		memset(b->ptr, 0, n_bytes);
	if (err) {
		release(b->ptr, device);
		goto err_free;
	}
	pthread_mutex_lock(&cu.lock);
	b->next = cu.blocks;
	cu.blocks = b;
	pthread_mutex_unlock(&cu.lock);
	*out = b->ptr;
	return 0;
err_free:
	gw__free(b);
	return err;
}

static void mem_free(void *ptr)
{
	struct block **at, *b;

	pthread_mutex_lock(&cu.lock);
	for (at = &cu.blocks; (b = *at); at = &b->next)
		if (b->ptr == ptr) {
			*at = b->next;
			break;
		}
	pthread_mutex_unlock(&cu.lock);
	if (!b) {
		gw__host_free(ptr);
		return;
	}
	if (!enter(NULL))
		release(b->ptr, b->device);
	gw__free(b);
}

static void *host_alias(const void *ptr, size_t n_bytes)
{
	const uint8_t *p = ptr;
	bool device = false;

	(void)n_bytes;
	pthread_mutex_lock(&cu.lock);
	for (struct block *b = cu.blocks; b; b = b->next)
		if (p >= (uint8_t *)b->ptr && p < (uint8_t *)b->ptr + b->n_bytes)
			device = b->device;
	pthread_mutex_unlock(&cu.lock);
	return device ? NULL : (void *)(uintptr_t)ptr; /* unified addresses: pinned memory is its own alias */
}

static int host_register(void *ptr, size_t n_bytes)
{
	int err = enter(NULL);

	return err ? err : CALL(NULL, cuMemHostRegister, ptr, n_bytes,
				CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
}

static void host_unregister(void *ptr)
{
	if (!enter(NULL))
		cu.d.p_cuMemHostUnregister(ptr);
}

/* ---- streams and events ---------------------------------------------------------------------- */

static int stream_create(struct gw_stream **out, struct gw_diag *diag)
{
	struct gw_stream *s;
	int err = enter(diag);

	if (err)
		return err;
	s = gw__calloc(1, sizeof(*s));
	if (!s)
		return gw__fail(diag, -ENOMEM, "no memory for a stream");
	err = CALL(diag, cuStreamCreate, &s->s, CU_STREAM_NON_BLOCKING);
	if (err) {
		gw__free(s);
		return err;
	}
	*out = s;
	return 0;
}

static int stream_sync(struct gw_stream *stream)
{
	int err = enter(NULL);

	return err ? err : CALL(NULL, cuStreamSynchronize, stream->s);
}

static void stream_destroy(struct gw_stream *stream)
{
	int err = stream_sync(stream);

	(void)err; /* whoever cares has asked before */
	cu.d.p_cuStreamDestroy(stream->s);
	gw__free(stream);
}

static int event_create(struct gw_event **out)
{
	struct gw_event *e;
	int err = enter(NULL);

	if (err)
		return err;
	e = gw__calloc(1, sizeof(*e));
	if (!e)
		return -ENOMEM;
	err = CALL(NULL, cuEventCreate, &e->e, CU_EVENT_DISABLE_TIMING | CU_EVENT_BLOCKING_SYNC);
	if (err) {
		gw__free(e);
		return err;
	}
	*out = e;
	return 0;
}

static void event_destroy(struct gw_event *event)
{
	if (!event)
		return;
	if (!enter(NULL))
		cu.d.p_cuEventDestroy(event->e);
	gw__free(event);
}

static int event_record(struct gw_event *event, struct gw_stream *stream)
{
	int err = enter(NULL);

	return err ? err : CALL(NULL, cuEventRecord, event->e, stream->s);
}

static int event_query(const struct gw_event *event)
{
	CUresult r;

	if (enter(NULL))
		return -EIO;
	r = cu.d.p_cuEventQuery(event->e);
	if (r == CUDA_ERROR_NOT_READY)
		return 0;
	return r == CUDA_SUCCESS ? 1 : failed(r, "cuEventQuery", NULL);
}

static int event_sync(const struct gw_event *event)
{
	int err = enter(NULL);

	return err ? err : CALL(NULL, cuEventSynchronize, event->e);
}

static int stream_wait(struct gw_stream *stream, struct gw_event *event)
{
	int err = enter(NULL);

	return err ? err : CALL(NULL, cuStreamWaitEvent, stream->s, event->e, 0);
}

static void *native_stream(struct gw_stream *stream)
{
	return stream->s;
}

/* ---- copies ---------------------------------------------------------------------------------- */

#if CUDA_VERSION >= 13000
static int copy_one_call(struct gw_stream *stream, const struct gw__copy *copies, uint32_t n)
{
	CUdeviceptr dst[COPY_BATCH], src[COPY_BATCH];
	size_t len[COPY_BATCH], first = 0;
	/* sources are read in stream order: pinned slots are rewritten only after the event that follows */
	CUmemcpyAttributes attr = { .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM };

	for (uint32_t i = 0; i < n; i++) {
		dst[i] = (CUdeviceptr)(uintptr_t)copies[i].dst;
		src[i] = (CUdeviceptr)(uintptr_t)copies[i].src;
		len[i] = copies[i].n_bytes;
	}
	return CALL(NULL, cuMemcpyBatchAsync, dst, src, len, n, &attr, &first, 1, stream->s);
}
#endif

static int copy_batch(struct gw_stream *stream, const struct gw__copy *copies, uint32_t n)
{
	int err = enter(NULL);
	uint32_t i = 0;

#if CUDA_VERSION >= 13000
	if (cu.d.p_cuMemcpyBatchAsync && n > 1)
		for (; i < n && !err; i += COPY_BATCH)
			err = copy_one_call(stream, copies + i, n - i < COPY_BATCH ? n - i : COPY_BATCH);
#endif
	for (; i < n && !err; i++)
		err = CALL(NULL, cuMemcpyAsync, (CUdeviceptr)(uintptr_t)copies[i].dst,
			   (CUdeviceptr)(uintptr_t)copies[i].src, copies[i].n_bytes, stream->s);
	return err;
}

static int host_call(struct gw_stream *stream, gw__host_fn fn, void *arg)
{
	(void)stream;
	(void)fn;
	(void)arg;
	return -ENOTSUP; /* payload is never touched by the CPU on this backend */
}

/* ---- kernels --------------------------------------------------------------------------------- */

static CUfunction loaded_fn(const struct gw__kernel *kernel)
{
	uint32_t n = __atomic_load_n(&cu.n_loaded, __ATOMIC_ACQUIRE); /* pairs with kernel_prepare's release */

	for (uint32_t i = 0; i < n; i++)
		if (cu.loaded[i].kernel == kernel)
			return cu.loaded[i].fn;
	return NULL;
}

static int load(const struct gw__kernel *kernel, struct gw_diag *diag)
{
	CUmodule module = NULL;
	CUfunction fn;
	uint32_t n = cu.n_loaded;
	int err = 0;

	if (n == MAX_KERNELS)
		return gw__fail(diag, -ENOBUFS, "more than %u kernels; raise MAX_KERNELS", MAX_KERNELS);
	for (uint32_t i = 0; i < n && !module; i++)
		if (cu.loaded[i].kernel->image == kernel->image)
			module = cu.loaded[i].module;
	if (!module)
		err = CALL(diag, cuModuleLoadData, &module, kernel->image);
	if (!err)
		err = CALL(diag, cuModuleGetFunction, &fn, module, kernel->name);
	if (err)
		return err;
	cu.loaded[n].kernel = kernel;
	cu.loaded[n].module = module;
	cu.loaded[n].fn = fn;
	__atomic_store_n(&cu.n_loaded, n + 1, __ATOMIC_RELEASE); /* pairs with loaded_fn() */
	return 0;
}

static int kernel_prepare(const struct gw__kernel *kernel, struct gw_diag *diag)
{
	int err = enter(diag);

	if (err)
		return err;
	if (!kernel->image)
		return gw__fail(diag, -ENOTSUP, "kernel %s was built without nvcc; rebuild with WITH_CUDA=ON",
				kernel->name);
	pthread_mutex_lock(&cu.lock);
	if (!loaded_fn(kernel))
		err = load(kernel, diag);
	pthread_mutex_unlock(&cu.lock);
	return err;
}

static int launch(struct gw_stream *stream, const struct gw__kernel *kernel, struct gw__grid grid,
		  const void *arg)
{
	CUfunction fn = loaded_fn(kernel);
	void *args[1] = { (void *)(uintptr_t)arg };
	int err = enter(NULL);

	if (err)
		return err;
	if (!fn || !grid.n_blocks || !grid.n_threads || grid.n_threads > 1024)
		return -EINVAL;
	return CALL(NULL, cuLaunchKernel, fn, grid.n_blocks, 1, 1, grid.n_threads, 1, 1, grid.shared_bytes,
		    stream->s, args, NULL);
}

static int capture_begin(struct gw_stream *stream)
{
	int err = enter(NULL);

	return err ? err : CALL(NULL, cuStreamBeginCapture, stream->s, CU_STREAM_CAPTURE_MODE_RELAXED);
}

static int capture_end(struct gw_stream *stream, struct gw__graph **out)
{
	struct gw__graph *g = gw__calloc(1, sizeof(*g));
	CUgraph graph = NULL;
	int err = CALL(NULL, cuStreamEndCapture, stream->s, &graph);

	if (!g || err) {
		if (graph)
			cu.d.p_cuGraphDestroy(graph);
		gw__free(g);
		return err ? err : -ENOMEM;
	}
	g->graph = graph;
	err = CALL(NULL, cuGraphInstantiateWithFlags, &g->exec, graph, 0);
	if (err) {
		cu.d.p_cuGraphDestroy(graph);
		gw__free(g);
		return err;
	}
	*out = g;
	return 0;
}

static int graph_launch(struct gw__graph *graph, struct gw_stream *stream)
{
	int err = enter(NULL);

	return err ? err : CALL(NULL, cuGraphLaunch, graph->exec, stream->s);
}

static void graph_destroy(struct gw__graph *graph)
{
	if (!graph)
		return;
	cu.d.p_cuGraphExecDestroy(graph->exec);
	cu.d.p_cuGraphDestroy(graph->graph);
	gw__free(graph);
}

static uint32_t n_sm(void)
{
	return cu.n_sm;
}

static const char *describe(void)
{
	return cu.text;
}

static const struct gw__gpu_ops ops = {
	.name = "cuda",
	.mem_alloc = mem_alloc,
	.mem_free = mem_free,
	.host_alias = host_alias,
	.stream_create = stream_create,
	.stream_destroy = stream_destroy,
	.stream_sync = stream_sync,
	.event_create = event_create,
	.event_destroy = event_destroy,
	.event_record = event_record,
	.event_query = event_query,
	.event_sync = event_sync,
	.stream_wait = stream_wait,
	.copy_batch = copy_batch,
	.host_call = host_call,
	.kernel_prepare = kernel_prepare,
	.launch = launch,
	.capture_begin = capture_begin,
	.capture_end = capture_end,
	.graph_launch = graph_launch,
	.graph_destroy = graph_destroy,
	.native_stream = native_stream,
	.n_sm = n_sm,
	.describe = describe,
	.host_register = host_register,
	.host_unregister = host_unregister,
};

/* ---- open ------------------------------------------------------------------------------------ */

static int open_device(struct gw_diag *diag)
{
	char name[96] = "?";
	int n = 0, major = 0, minor = 0, sm = 0, version = 0;
	CUresult r = cu.d.p_cuInit(0);
	int err;

	/* 34 stub library, 35 insufficient driver, 100 no device: all mean "no GPU here" */
	if (r != CUDA_SUCCESS)
		return gw__fail(diag, -ENODEV, "the CUDA driver found no usable GPU (cuInit: %d)", (int)r);
	if (cu.d.p_cuDeviceGetCount(&n) != CUDA_SUCCESS || !n)
		return gw__fail(diag, -ENODEV, "the CUDA driver lists no GPU");
	err = CALL(diag, cuDeviceGet, &cu.device, 0);
	if (!err)
		err = CALL(diag, cuDevicePrimaryCtxRetain, &cu.ctx, cu.device);
	if (err)
		return err;
	err = enter(diag);
	if (!err)
		err = CALL(diag, cuStreamCreate, &cu.setup, CU_STREAM_NON_BLOCKING);
	if (err) {
		cu.d.p_cuDevicePrimaryCtxRelease(cu.device);
		return err;
	}
	cu.d.p_cuDeviceGetName(name, sizeof(name), cu.device);
	cu.d.p_cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, cu.device);
	cu.d.p_cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, cu.device);
	cu.d.p_cuDeviceGetAttribute(&sm, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, cu.device);
	cu.d.p_cuDriverGetVersion(&version);
	cu.n_sm = (uint32_t)sm;
	snprintf(cu.text, sizeof(cu.text), "cuda: %s, sm_%d%d, %d multiprocessors, driver API %d.%d", name, major,
		 minor, sm, version / 1000, version % 1000 / 10);
	return 0;
}

const struct gw__gpu_ops *gw__gpu_cuda(struct gw_diag *diag)
{
	if (gw__cuda_driver_open(&cu.d, diag))
		return NULL;
	if (open_device(diag)) {
		gw__cuda_driver_close(&cu.d);
		return NULL;
	}
	return &ops;
}
