/* gpu/host.c: ordinary and huge pages. Must not know a device. Next: emu/emu.c, cuda/cuda.c. */
#include "gpu/host.h"

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

int gw__host_alloc(enum gw_mem_kind kind, size_t n_bytes, void **out, struct gw_diag *diag)
{
	struct host_block *b;
	void *p;

	if (!n_bytes || n_bytes > SIZE_MAX / 2)
		return gw__fail(diag, -EINVAL, "memory of %zu bytes cannot be allocated", n_bytes);
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

bool gw__host_free(void *ptr)
{
	struct host_block **at, *b;

	pthread_mutex_lock(&lock);
	for (at = &host_blocks; (b = *at); at = &b->next)
		if (b->ptr == ptr) {
			*at = b->next;
			break;
		}
	pthread_mutex_unlock(&lock);
	if (!b)
		return false;
	munmap(b->ptr, b->n_bytes);
	gw__free(b);
	return true;
}
