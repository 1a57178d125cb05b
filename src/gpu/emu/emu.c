/* gpu/emu/emu.c: the emulator's table and its host memory. Next: ../gpu.c chooses the backend. */
#include "gpu/emu/emu.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "base/diag.h"
#include "base/log.h"

#define HUGE_PAGE ((size_t)2 << 20)

/* Host allocations, so that mem_free() knows how long each is. */
struct host_block {
	void *ptr;
	size_t n_bytes;
	struct host_block *next;
};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct host_block *host_blocks;
static bool huge_warned;

static void *map_pages(size_t n_bytes, int flags)
{
	void *p = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static void *map_huge(size_t *n_bytes)
{
	size_t rounded = (*n_bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
	bool warn;
	void *p = map_pages(rounded, MAP_HUGETLB | MAP_POPULATE);

	if (p) {
		*n_bytes = rounded;
		return p;
	}
	pthread_mutex_lock(&lock);
	warn = !huge_warned;
	huge_warned = true;
	pthread_mutex_unlock(&lock);
	if (warn)
		gw__warn("no huge pages for %zu bytes: using ordinary ones; reserve some with "
			 "`sysctl vm.nr_hugepages=%zu`", *n_bytes, rounded / HUGE_PAGE);
	p = map_pages(*n_bytes, 0);
	if (p)
		madvise(p, *n_bytes, MADV_HUGEPAGE); /* a wish only: its failure changes nothing */
	return p;
}

static int mem_alloc(enum gw_mem_kind kind, size_t n_bytes, int affinity, void **out, struct gw_diag *diag)
{
	struct host_block *b;
	void *p;

	(void)affinity; /* one node, one emulated device */
	if (!n_bytes || n_bytes > SIZE_MAX / 2)
		return gw__fail(diag, -EINVAL, "memory of %zu bytes cannot be allocated", n_bytes);
	if (kind == GW_MEM_DEVICE)
		return gw__emu_device_alloc(n_bytes, out, diag);
	b = gw__calloc(1, sizeof(*b));
	if (!b)
		return gw__fail(diag, -ENOMEM, "no memory to describe %zu bytes", n_bytes);
	p = kind == GW_MEM_HUGE ? map_huge(&n_bytes) : map_pages(n_bytes, 0);
	if (!p) {
		gw__free(b);
		return gw__fail(diag, -ENOMEM,
				"no memory for %zu bytes of kind %s; use fewer or smaller buffers", n_bytes,
				gw_mem_kind_name(kind));
	}
	b->ptr = p;
	b->n_bytes = n_bytes;
	pthread_mutex_lock(&lock);
	b->next = host_blocks;
	host_blocks = b;
	pthread_mutex_unlock(&lock);
	*out = p;
	return 0;
}

static void mem_free(void *ptr)
{
	struct host_block **at, *b;

	if (!ptr || gw__emu_device_free(ptr))
		return;
	pthread_mutex_lock(&lock);
	for (at = &host_blocks; (b = *at); at = &b->next)
		if (b->ptr == ptr) {
			*at = b->next;
			break;
		}
	pthread_mutex_unlock(&lock);
	if (!b)
		return;
	munmap(b->ptr, b->n_bytes);
	gw__free(b);
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

const struct gw__gpu_ops gw__gpu_emu = {
	.name = "emu",
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
	.host_register = host_register,
	.host_unregister = host_unregister,
};
