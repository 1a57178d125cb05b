/* base/ring.h: single-producer single-consumer ring of fixed-size items, cached indices.
 * One thread pushes, one thread pops; capacity is a power of two and all of it is usable.
 * Release on push pairs with acquire on pop (tail), and the other way round for head. */
#ifndef GW_BASE_RING_H
#define GW_BASE_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct gw__ring {
	_Alignas(64) _Atomic uint64_t tail; /* next to write; producer's line */
	uint64_t head_seen;                 /* producer's copy of head */
	_Alignas(64) _Atomic uint64_t head; /* next to read; consumer's line */
	uint64_t tail_seen;                 /* consumer's copy of tail */
	_Alignas(64) unsigned char *items;
	uint32_t mask;
	uint32_t item_size;
};

/* capacity is rounded up to a power of two. 0 or -ENOMEM, -EINVAL. */
int gw__ring_init(struct gw__ring *r, uint32_t capacity, uint32_t item_size);
void gw__ring_fini(struct gw__ring *r);

/* Producer. Returns how many of n were taken. */
static inline uint32_t gw__ring_push_n(struct gw__ring *r, const void *items, uint32_t n)
{
	uint64_t t = atomic_load_explicit(&r->tail, memory_order_relaxed);
	uint64_t room = (uint64_t)r->mask + 1 - (t - r->head_seen);
	const unsigned char *src = (const unsigned char *)items;

	if (room < n) {
		r->head_seen = atomic_load_explicit(&r->head, memory_order_acquire);
		room = (uint64_t)r->mask + 1 - (t - r->head_seen);
	}
	if (n > room)
		n = (uint32_t)room;
	if (n) {
		uint32_t at = (uint32_t)t & r->mask, k = r->mask + 1 - at;

		k = k < n ? k : n; /* up to the ring's end, and from its beginning */
		memcpy(r->items + (size_t)at * r->item_size, src, (size_t)k * r->item_size);
		if (k < n)
			memcpy(r->items, src + (size_t)k * r->item_size, (size_t)(n - k) * r->item_size);
		atomic_store_explicit(&r->tail, t + n, memory_order_release);
	}
	return n;
}

/* Consumer. Returns how many of at most n were given. */
static inline uint32_t gw__ring_pop_n(struct gw__ring *r, void *items, uint32_t n)
{
	uint64_t h = atomic_load_explicit(&r->head, memory_order_relaxed);
	uint64_t have = r->tail_seen - h;
	unsigned char *dst = (unsigned char *)items;

	if (have < n) {
		r->tail_seen = atomic_load_explicit(&r->tail, memory_order_acquire);
		have = r->tail_seen - h;
	}
	if (n > have)
		n = (uint32_t)have;
	if (n) {
		uint32_t at = (uint32_t)h & r->mask, k = r->mask + 1 - at;

		k = k < n ? k : n;
		memcpy(dst, r->items + (size_t)at * r->item_size, (size_t)k * r->item_size);
		if (k < n)
			memcpy(dst + (size_t)k * r->item_size, r->items, (size_t)(n - k) * r->item_size);
		atomic_store_explicit(&r->head, h + n, memory_order_release);
	}
	return n;
}

static inline bool gw__ring_push(struct gw__ring *r, const void *item)
{
	return gw__ring_push_n(r, item, 1) == 1;
}

static inline bool gw__ring_pop(struct gw__ring *r, void *item)
{
	return gw__ring_pop_n(r, item, 1) == 1;
}

/* Any thread; a snapshot. */
static inline uint32_t gw__ring_count(struct gw__ring *r)
{
	return (uint32_t)(atomic_load_explicit(&r->tail, memory_order_acquire) -
			  atomic_load_explicit(&r->head, memory_order_acquire));
}

#endif
