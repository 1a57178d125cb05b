/* bench/pool/slots.c: gpuwire's way: one slot index a packet, one ring back, addresses by arithmetic.
 * The traffic of a receive queue and nothing else: pop a spare slot, note its length, compute its addresses; give
 * the whole burst back through the ring. Next: src/ingest/engines/nic/rxq.c, which does this around a NIC. */
#include <errno.h>
#include <stdlib.h>

#include "base/ring.h"
#include "pool.h"

#define REFILL 256u

struct slots {
	struct gw__ring back;
	uint32_t spare[POOL_OBJECTS], n_spare;
	uint8_t *base[2];
	uint32_t stride[2];
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

	if (!s || gw__ring_init(&s->back, POOL_OBJECTS + 1, sizeof(uint32_t))) {
		free(s);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < POOL_OBJECTS; i++)
		s->spare[s->n_spare++] = i;
	/* addresses are computed and never read: the pools' objects are not touched either */
	s->base[0] = (uint8_t *)(uintptr_t)0x100000000;
	s->base[1] = (uint8_t *)(uintptr_t)0x200000000;
	s->stride[0] = 128;
	s->stride[1] = 1152;
	s->split = scheme->split;
	*state = s;
	return 0;
}

static void slots_take(void *state, struct pool_burst *b)
{
	struct slots *s = state;
	uint32_t n;

	if (s->n_spare < POOL_BURST)
		for (n = REFILL; n == REFILL && s->n_spare + REFILL <= POOL_OBJECTS; s->n_spare += n)
			n = gw__ring_pop_n(&s->back, s->spare + s->n_spare, REFILL);
	n = s->n_spare < POOL_BURST ? s->n_spare : POOL_BURST;
	s->n_spare -= n;
	for (uint32_t i = 0; i < n; i++) {
		b->slot[i] = s->spare[s->n_spare + i];
		b->len[i] = 1064;
	}
	for (uint32_t g = 0; g <= s->split; g++)
		for (uint32_t i = 0; i < n; i++)
			b->seg[g][i] = s->base[g] + (size_t)b->slot[i] * s->stride[g];
	b->n = n;
}

static void slots_give(void *state, struct pool_burst *b)
{
	struct slots *s = state;

	gw__ring_push_n(&s->back, b->slot, b->n);
}

const struct pool_scheme slot_schemes[] = {
	{ .name = "slots, one segment", .cache = "-", .open = slots_open, .close = slots_close, .take = slots_take,
	  .give = slots_give },
	{ .name = "slots, header and payload apart", .cache = "-", .split = true, .open = slots_open,
	  .close = slots_close, .take = slots_take, .give = slots_give },
};
const int n_slot_schemes = sizeof(slot_schemes) / sizeof(slot_schemes[0]);
