/* base/alloc.h: our own allocations, so that tests can make the n-th one fail.
 * Must not know who allocates. Next: every constructor's test uses gw__alloc_fail_at(). */
#ifndef GW_BASE_ALLOC_H
#define GW_BASE_ALLOC_H

#include <stddef.h>

void *gw__malloc(size_t n) __attribute__((malloc, warn_unused_result));
void *gw__calloc(size_t n, size_t size) __attribute__((malloc, warn_unused_result));
void *gw__realloc(void *p, size_t n) __attribute__((warn_unused_result));
void *gw__aligned_alloc(size_t align, size_t n) __attribute__((warn_unused_result)); /* zeroed */
char *gw__strdup(const char *s) __attribute__((malloc, warn_unused_result));
char *gw__strndup(const char *s, size_t n) __attribute__((malloc, warn_unused_result));
void gw__free(void *p);

/* Tests: the n-th allocation from now (1 = the next) returns NULL, once; 0 = none. */
void gw__alloc_fail_at(long n);
/* Tests: allocations made since the last gw__alloc_fail_at(); and those not yet freed. */
long gw__alloc_count(void);
long gw__alloc_live(void);

#endif
