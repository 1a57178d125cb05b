/* base/ring.c: making and freeing an SPSC ring; the hot calls are inline in ring.h. */
#include "base/ring.h"

#include <errno.h>

#include "base/alloc.h"

int gw__ring_init(struct gw__ring *r, uint32_t capacity, uint32_t item_size)
{
	uint32_t cap = 1;

	if (!capacity || capacity > 1u << 30 || !item_size)
		return -EINVAL;
	while (cap < capacity)
		cap <<= 1;
	memset(r, 0, sizeof(*r));
	r->items = gw__calloc(cap, item_size);
	if (!r->items)
		return -ENOMEM;
	r->mask = cap - 1;
	r->item_size = item_size;
	atomic_init(&r->head, 0);
	atomic_init(&r->tail, 0);
	return 0;
}

void gw__ring_fini(struct gw__ring *r)
{
	gw__free(r->items);
	r->items = NULL;
}
