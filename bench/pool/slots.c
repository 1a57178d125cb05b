/* bench/pool/slots.c: gpuwire's way: one slot index a packet, one ring back, addresses by arithmetic.
 * The traffic of a receive queue and nothing else: the queue's core pops spare slots and notes lengths; the
 * application's core lays out addresses and lengths of the segments, as gw_rx_burst() does, and gives the burst back as
 * one item; its slots are put aside by the core that took them.
 * Next: src/ingest/burst.c and src/ingest/engines/nic/rxq.c, which do this around a NIC. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/ring.h"
#include "pool.h"

struct slots {
	struct gw__ring back;
	uint32_t spare[POOL_OBJECTS], n_spare;
	uint8_t *base[2];
	uint32_t stride[2], size[2];
	bool split;
};

static void slots_close(void *state)
{
	struct slots *s = state;

	gw__ring_fini(&s->back);
	free(s);
}

static int slots_open(const struct pool_scheme *scheme, void **state)
{
	struct slots *s = calloc(1, sizeof(*s));

	if (!s || gw__ring_init(&s->back, POOL_N_BURSTS, sizeof(struct pool_burst *))) {
		free(s);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < POOL_OBJECTS; i++)
		s->spare[s->n_spare++] = i;
	/* addresses are computed and never read: the pools' objects are not touched either */
	s->base[0] = (uint8_t *)(uintptr_t)0x100000000;
	s->base[1] = (uint8_t *)(uintptr_t)0x200000000;
	s->split = scheme->split;
	s->size[0] = s->split ? 64 : 1064;
	s->size[1] = 1000;
	s->stride[0] = s->split ? 128 : 1152;
	s->stride[1] = 1024;
	*state = s;
	return 0;
}

static void lay_segments(const struct slots *s, struct pool_burst *b)
{
	uint32_t n_segs = s->split ? 2 : 1;

	for (uint32_t g = 0, from = 0; g < n_segs; from += s->size[g++]) {
		uint8_t *base = s->base[g];
		size_t stride = s->stride[g];
		uint32_t size = s->size[g];

		for (uint32_t i = 0; i < b->n; i++) {
			uint32_t left = b->len[i] > from ? b->len[i] - from : 0;

			b->seg[g][i] = base + b->slot[i] * stride;
			b->seg_len[g][i] = left < size ? left : size;
		}
	}
}

static void slots_take(void *state, struct pool_burst *b)
{
	struct slots *s = state;
	struct pool_burst *done;
	uint32_t n;

	while (gw__ring_pop(&s->back, &done)) {
		memcpy(s->spare + s->n_spare, done->slot, done->n * sizeof(*done->slot));
		s->n_spare += done->n;
	}
	n = s->n_spare < POOL_BURST ? s->n_spare : POOL_BURST;
	s->n_spare -= n;
	memcpy(b->slot, s->spare + s->n_spare, n * sizeof(*b->slot));
	for (uint32_t i = 0; i < n; i++)
		b->len[i] = 1064;
	b->n = n;
}

static void slots_give(void *state, struct pool_burst *b)
{
	struct slots *s = state;

	lay_segments(s, b);
	gw__ring_push(&s->back, &b);
}

const struct pool_scheme slot_schemes[] = {
	{ .name = "slots, one segment", .cache = "-", .open = slots_open, .close = slots_close, .take = slots_take,
	  .give = slots_give },
	{ .name = "slots, header and payload apart", .cache = "-", .split = true, .open = slots_open,
	  .close = slots_close, .take = slots_take, .give = slots_give },
};
const int n_slot_schemes = sizeof(slot_schemes) / sizeof(slot_schemes[0]);
