/* base/alloc.c: allocation with a switch for tests. Must not log: the log may allocate. */
#include "base/alloc.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Relaxed throughout: counters only, nothing is published through them. */
static _Atomic long fail_at;
static _Atomic long n_made;
static _Atomic long n_live;

static int refuse(void)
{
	long k = atomic_fetch_add_explicit(&n_made, 1, memory_order_relaxed) + 1;
	long at = atomic_load_explicit(&fail_at, memory_order_relaxed);

	return at != 0 && k == at;
}

static void *counted(void *p)
{
	if (p)
		atomic_fetch_add_explicit(&n_live, 1, memory_order_relaxed);
	return p;
}

void *gw__malloc(size_t n)
{
	return refuse() ? NULL : counted(malloc(n ? n : 1));
}

void *gw__calloc(size_t n, size_t size)
{
	return refuse() ? NULL : counted(calloc(n ? n : 1, size ? size : 1));
}

void *gw__realloc(void *p, size_t n)
{
	void *q;

	if (!p)
		return gw__malloc(n);
	if (refuse())
		return NULL;
	q = realloc(p, n ? n : 1);
	return q;
}

void *gw__aligned_alloc(size_t align, size_t n)
{
	void *p;
	size_t rounded;

	if (refuse() || n > SIZE_MAX - align)
		return NULL;
	rounded = (n + align - 1) / align * align;
	if (!rounded)
		rounded = align;
	p = aligned_alloc(align, rounded);
	if (p)
		memset(p, 0, rounded);
	return counted(p);
}

char *gw__strndup(const char *s, size_t n)
{
	size_t len = strnlen(s, n);
	char *p = gw__malloc(len + 1);

	if (p) {
		memcpy(p, s, len);
		p[len] = '\0';
	}
	return p;
}

char *gw__strdup(const char *s)
{
	return gw__strndup(s, strlen(s));
}

void gw__free(void *p)
{
	if (!p)
		return;
	atomic_fetch_sub_explicit(&n_live, 1, memory_order_relaxed);
	free(p);
}

void gw__alloc_fail_at(long n)
{
	atomic_store_explicit(&n_made, 0, memory_order_relaxed);
	atomic_store_explicit(&fail_at, n, memory_order_relaxed);
}

long gw__alloc_count(void)
{
	return atomic_load_explicit(&n_made, memory_order_relaxed);
}

long gw__alloc_live(void)
{
	return atomic_load_explicit(&n_live, memory_order_relaxed);
}
