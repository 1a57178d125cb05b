/* nn/cache.h: small results that took long, kept in the folder of the user's choice, by content.
 * Must not know what it keeps. Next: nn.c, which keeps calibrations. */
#ifndef GW_NN_CACHE_H
#define GW_NN_CACHE_H

#include <stddef.h>
#include <stdint.h>

/* 128 bits of everything that the result depends on. Not a signature: the folder is the user's own. */
struct gw__cache_key {
	uint64_t h[2];
};

void gw__cache_mix(struct gw__cache_key *key, const void *bytes, size_t n);
/* Fill bytes[n]. 0; -ENOENT not there; -EPROTO there but not ours, cut short or damaged. */
int gw__cache_load(const char *folder, const struct gw__cache_key *key, void *bytes, size_t n);
/* Whole or not at all, even if two processes store at once. 0 or negative errno. */
int gw__cache_store(const char *folder, const struct gw__cache_key *key, const void *bytes, size_t n);

#endif
