/* gpu/gpu.c: choose the backend once; the public calls of mem.h. Must not know a backend's insides.
 * Next: emu/emu.c. */
#include "gpu/gpu.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "base/log.h"
#include "gpu/emu/emu.h"
#ifdef GW_WITH_CUDA
#include "gpu/cuda/cuda.h"
#endif

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const struct gw__gpu_ops *chosen;
static struct gw_diag why_emu;

static void choose(void)
{
	const char *want = getenv("GPUWIRE_GPU");
	struct gw_diag why = { "this build has no CUDA backend" };
	const struct gw__gpu_ops *cuda = NULL;

	if (want && strcmp(want, "emu") && strcmp(want, "cuda")) {
		gw__error("GPUWIRE_GPU=%s is not known; use emu or cuda (choosing by what answers)", want);
		want = NULL;
	}
#ifdef GW_WITH_CUDA
	if (!want || !strcmp(want, "cuda"))
		cuda = gw__gpu_cuda(&why);
#endif
	if (!cuda && want && !strcmp(want, "cuda"))
		gw__error("GPUWIRE_GPU=cuda, but %s; going on with emu", why.text);
	else if (!cuda)
		gw__debug("GPU backend emu: %s", want ? "GPUWIRE_GPU=emu" : why.text);
	if (!cuda)
		gw__fail(&why_emu, -ENODEV, "%s", want && !strcmp(want, "emu") ? "GPUWIRE_GPU=emu" : why.text);
	chosen = cuda ? cuda : &gw__gpu_emu;
	gw__info("GPU backend: %s", chosen->describe());
}

const struct gw__gpu_ops *gw__gpu(void)
{
	pthread_once(&once, choose);
	return chosen;
}

const char *gw__gpu_why_emu(void)
{
	gw__gpu();
	return why_emu.text;
}

const char *gw_gpu_backend(void)
{
	return gw__gpu()->name;
}

const char *gw_mem_kind_name(enum gw_mem_kind kind)
{
	static const char *const names[GW_MEM_N_KINDS] = {
		[GW_MEM_HOST] = "host",
		[GW_MEM_HUGE] = "huge",
		[GW_MEM_HOST_PINNED] = "host_pinned",
		[GW_MEM_DEVICE] = "device",
	};

	return (unsigned)kind < GW_MEM_N_KINDS ? names[kind] : "unknown";
}

int gw_stream_create(struct gw_stream **out, struct gw_diag *diag)
{
	return gw__gpu()->stream_create(out, diag);
}

void gw_stream_destroy(struct gw_stream *stream)
{
	if (stream)
		gw__gpu()->stream_destroy(stream);
}

int gw_stream_sync(struct gw_stream *stream)
{
	return gw__gpu()->stream_sync(stream);
}

int gw_event_query(const struct gw_event *event)
{
	return gw__gpu()->event_query(event);
}

int gw_event_sync(const struct gw_event *event)
{
	return gw__gpu()->event_sync(event);
}

int gw_mem_alloc(enum gw_mem_kind kind, size_t bytes, int affinity, void **out, struct gw_diag *diag)
{
	if ((unsigned)kind >= GW_MEM_N_KINDS)
		return gw__fail(diag, -EINVAL, "memory kind %d is not one of host, huge, host_pinned, device",
				(int)kind);
	return gw__gpu()->mem_alloc(kind, bytes, affinity, out, diag);
}

void gw_mem_free(void *ptr)
{
	if (ptr)
		gw__gpu()->mem_free(ptr);
}

int gw_mem_copy(void *dst, const void *src, size_t bytes)
{
	const struct gw__copy c = { .dst = dst, .src = src, .n_bytes = bytes };
	struct gw_stream *s;
	int err = gw__gpu()->stream_create(&s, NULL);

	if (err)
		return err;
	err = gw__gpu()->copy_batch(s, &c, 1);
	if (!err)
		err = gw__gpu()->stream_sync(s);
	gw__gpu()->stream_destroy(s);
	return err;
}
