/* gpu/emu/arena.c: "device" memory of the emulator: each allocation is a memfd mapped twice.
 * The public address is the device view; the table and the soft NIC use the alias, so a program that
 * touches device memory from the CPU can be caught: poisoned under asan, PROT_NONE in strict mode.
 * Under tsan there is one mapping (two views of one word give false races). Next: stream.c. */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/diag.h"
#include "gpu/emu/emu.h"

#ifdef GW_ASAN
#include <sanitizer/asan_interface.h>
#define POISON(p, n) __asan_poison_memory_region(p, n)
#define UNPOISON(p, n) __asan_unpoison_memory_region(p, n)
#else
#define POISON(p, n) ((void)(p), (void)(n))
#define UNPOISON(p, n) ((void)(p), (void)(n))
#endif

struct block {
	uint8_t *view, *alias;
	size_t n_bytes;
	struct block *next;
};

/* The lock guards the list and the protection state; never held while work runs. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct block *blocks;
static bool strict;
static int n_open;

static void protect(struct block *b)
{
#ifndef GW_TSAN
	if (strict)
		mprotect(b->view, b->n_bytes, n_open ? PROT_READ | PROT_WRITE : PROT_NONE);
#endif
	if (n_open)
		UNPOISON(b->view, b->n_bytes);
	else
		POISON(b->view, b->n_bytes);
}

static int map_twice(struct block *b)
{
	int fd = memfd_create("gpuwire-device", MFD_CLOEXEC);
	int err = 0;

	if (fd < 0)
		return -errno;
	if (ftruncate(fd, (off_t)b->n_bytes) < 0) {
		err = -errno;
		goto out_close;
	}
	b->alias = mmap(NULL, b->n_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (b->alias == MAP_FAILED) {
		err = -errno;
		goto out_close;
	}
#ifdef GW_TSAN
	b->view = b->alias;
#else
	b->view = mmap(NULL, b->n_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (b->view == MAP_FAILED) {
		err = -errno;
		munmap(b->alias, b->n_bytes);
	}
#endif
out_close:
	close(fd);
	return err;
}

int gw__emu_device_alloc(size_t n_bytes, void **out, struct gw_diag *diag)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct block *b = gw__calloc(1, sizeof(*b));
	int err;

	if (!b)
		return gw__fail(diag, -ENOMEM, "no memory to describe %zu bytes of device memory", n_bytes);
	if (n_bytes / page > (size_t)sysconf(_SC_PHYS_PAGES)) { /* a memfd would take it, and then all memory */
		gw__free(b);
		return gw__fail(diag, -ENOMEM, "no memory for %zu bytes of emulated device memory: this machine has %zu; "
				"use fewer or smaller buffers", n_bytes, (size_t)sysconf(_SC_PHYS_PAGES) * page);
	}
	b->n_bytes = (n_bytes + page - 1) / page * page;
	err = map_twice(b);
	if (err) {
		gw__free(b);
		return gw__fail(diag, err,
				"emulated device memory: cannot map %zu bytes: %s; use a smaller region",
				n_bytes, strerror(-err));
	}
	pthread_mutex_lock(&lock);
	b->next = blocks;
	blocks = b;
	protect(b);
	pthread_mutex_unlock(&lock);
	*out = b->view;
	return 0;
}

bool gw__emu_device_free(void *ptr)
{
	struct block **at, *b;

	pthread_mutex_lock(&lock);
	for (at = &blocks; (b = *at); at = &b->next)
		if (b->view == ptr) {
			*at = b->next;
			break;
		}
	pthread_mutex_unlock(&lock);
	if (!b)
		return false;
	UNPOISON(b->view, b->n_bytes);
	if (b->view != b->alias)
		munmap(b->view, b->n_bytes);
	munmap(b->alias, b->n_bytes);
	gw__free(b);
	return true;
}

void *gw__emu_device_alias(const void *ptr, size_t n_bytes)
{
	const uint8_t *p = ptr;
	void *alias = NULL;

	pthread_mutex_lock(&lock);
	for (struct block *b = blocks; b; b = b->next)
		if (p >= b->view && p < b->view + b->n_bytes &&
		    n_bytes <= b->n_bytes - (size_t)(p - b->view)) {
			alias = b->alias + (p - b->view);
			break;
		}
	pthread_mutex_unlock(&lock);
	return alias;
}

static void view_count(int by)
{
	bool edge;

	pthread_mutex_lock(&lock);
	edge = by > 0 ? n_open == 0 : n_open == 1;
	n_open += by;
	if (edge)
		for (struct block *b = blocks; b; b = b->next)
			protect(b);
	pthread_mutex_unlock(&lock);
}

/* Without asan and strict mode the view is always open, and opening it costs nothing. */
static bool guarded(void)
{
#ifdef GW_ASAN
	return true;
#else
	return __atomic_load_n(&strict, __ATOMIC_RELAXED);
#endif
}

void gw__emu_view_open(void)
{
	if (guarded())
		view_count(1);
}

void gw__emu_view_shut(void)
{
	if (guarded())
		view_count(-1);
}

int gw__emu_set_strict(bool on)
{
#ifdef GW_TSAN
	(void)on;
	return -ENOTSUP; /* one mapping only: nothing to shut */
#else
	pthread_mutex_lock(&lock);
	if (n_open) {
		pthread_mutex_unlock(&lock);
		return -EBUSY;
	}
	__atomic_store_n(&strict, on, __ATOMIC_RELAXED);
	for (struct block *b = blocks; b; b = b->next) {
		if (!on)
			mprotect(b->view, b->n_bytes, PROT_READ | PROT_WRITE);
		protect(b);
	}
	pthread_mutex_unlock(&lock);
	return 0;
#endif
}
