/* A reorder stage over plain memory for tests: slots, a push of made-up packets, a check of one window. */
#ifndef GW_TESTS_REORDER_RIG_H
#define GW_TESTS_REORDER_RIG_H

#include "base/alloc.h"
#include "base/bitmap.h"
#include "reorder/reorder.h"
#include "t.h"

#define RIG_SLOTS 4096u

struct rig {
	struct gw__reorder_config c;
	struct gw__reorder *r;
	uint8_t *src, *out;
	uint32_t free_slot[RIG_SLOTS], n_free, n_rejected;
	uint64_t now_ns, lost;
	uint64_t n_pushed;
	struct gw_diag diag;
};

/* The byte k of the packet numbered n. */
static inline uint8_t rig_byte(uint64_t n, uint32_t k)
{
	return (uint8_t)(n * 131 + k * 7 + (n >> 8) * 3);
}

static inline void rig_config(struct rig *g, uint32_t per_batch, uint8_t seq_bits)
{
	memset(g, 0, sizeof(*g));
	g->c = (struct gw__reorder_config){
		.name = "plan", .packets_per_batch = per_batch, .seq_bits = seq_bits, .payload_len = 24,
		.src_stride = 64, .n_out = 4, .gpu = gw__gpu(),
	};
}

static inline int rig_create(struct rig *g)
{
	size_t len = gw__converted_bytes(g->c.in_type, g->c.out_type, g->c.payload_len);

	g->c.out_size = len * g->c.packets_per_batch;
	g->c.out_stride = g->c.out_size;
	g->src = malloc((size_t)RIG_SLOTS * g->c.src_stride);
	g->out = malloc(g->c.out_stride * g->c.n_out);
	T_NEED(g->src && g->out);
	memset(g->out, 0xee, g->c.out_stride * g->c.n_out);
	g->c.src_base = g->c.src_host = g->src;
	g->c.out_base = g->out;
	g->n_free = 0;
	while (g->n_free < RIG_SLOTS) {
		g->free_slot[g->n_free] = g->n_free;
		g->n_free++;
	}
	memset(&g->diag, 0, sizeof(g->diag));
	return gw__reorder_create(&g->c, &g->r, &g->diag);
}

static inline void rig_destroy(struct rig *g)
{
	gw__reorder_destroy(g->r);
	free(g->src);
	free(g->out);
	T_EQ(gw__alloc_live(), 0);
}

static inline void rig_collect(struct rig *g)
{
	uint32_t n;

	do {
		n = gw__reorder_freed(g->r, g->free_slot + g->n_free, RIG_SLOTS - g->n_free);
		g->n_free += n;
	} while (n);
	T_OK(g->n_free <= RIG_SLOTS);
}

/* Push one packet of len payload bytes whose content is that of number n. Returns 1, or 0: no buffer. */
static inline uint32_t rig_push_len(struct rig *g, uint64_t n, uint32_t len)
{
	uint32_t slot, seq = (uint32_t)n, took;
	const struct gw__reorder_in in = { .slot = &slot, .seq = &seq, .payload_len = &len,
					   .now_ns = g->now_ns, .lost_before = g->lost };

	T_NEED(g->n_free);
	slot = g->free_slot[--g->n_free];
	for (uint32_t k = 0; k < g->c.payload_len; k++)
		g->src[(size_t)slot * g->c.src_stride + k] = rig_byte(n, k);
	took = gw__reorder_push(g->r, &in, 0, 1);
	if (took)
		g->lost = 0;
	else
		g->n_free++;
	g->n_pushed += took;
	rig_collect(g);
	return took;
}

static inline uint32_t rig_push(struct rig *g, uint64_t n)
{
	return rig_push_len(g, n, g->c.payload_len);
}

/* Place i of the window holds the plain copy of packet number n. */
static inline void rig_check_copy(const struct rig *g, const struct gw__window *w, uint32_t i, uint64_t n)
{
	const uint8_t *at = (const uint8_t *)w->tensor + (size_t)i * g->c.payload_len;
	uint32_t bad = 0;

	for (uint32_t k = 0; k < g->c.payload_len; k++)
		bad += at[k] != rig_byte(n, k);
	T_EQ(bad, 0);
}

static inline struct gw_reorder_stats rig_stats(const struct rig *g)
{
	struct gw_reorder_stats s;

	gw__reorder_stats(g->r, &s);
	T_EQ(s.placed_packets + s.duplicate_packets + s.late_packets + s.stale_packets + s.bad_packets +
		     s.dropped_packets, g->n_pushed);
	return s;
}

#endif
