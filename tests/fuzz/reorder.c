/* Any stream of numbers, lengths, losses and calls: each slot comes back exactly once, each window's map agrees
 * with its counts, sums close, nothing is written outside the output (its buffers are exactly as long as they
 * must be, so that asan sees it). The first bytes choose the configuration, then one record a call. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/bitmap.h"
#include "reorder/reorder.h"

#define N_SLOTS 64u
#define LEN 12u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct run {
	struct gw__reorder_config c;
	struct gw__reorder *r;
	struct gw_stream *manual;
	uint8_t free_slot[N_SLOTS], held[N_SLOTS];
	uint32_t n_free;
	uint32_t lent[8], n_lent;
	uint64_t now_ns, n_pushed;
	uint64_t last_id, n_windows;
};

static void must(int ok)
{
	if (!ok)
		abort();
}

static void collect(struct run *t)
{
	uint32_t got[5], n;

	while ((n = gw__reorder_freed(t->r, got, 5)))
		for (uint32_t i = 0; i < n; i++) {
			must(got[i] < N_SLOTS && t->held[got[i]]);
			t->held[got[i]] = 0;
			t->free_slot[t->n_free++] = (uint8_t)got[i];
		}
}

static void look(struct run *t)
{
	struct gw__window w;

	while (gw__reorder_pop(t->r, &w)) {
		const struct gw_reorder_info *i = &w.info;
		uint32_t n_groups = 0;

		must(w.buf < t->c.n_out && w.len == i->aggregate_len && w.len <= t->c.out_size);
		must(gw__bitmap_count(i->valid, 0, i->packets_per_batch) == i->source_packet_count);
		must(i->source_packet_count + i->n_missing == i->packets_per_batch);
		must(!(w.flags & GW_BURST_INCOMPLETE) == !i->n_missing);
		must(gw__bitmap_count(i->group_valid, 0, i->n_groups) == i->n_groups_valid);
		for (uint32_t g = 0; g < i->n_groups; g++) {
			uint32_t from = g * i->packets_per_group, left = i->packets_per_batch - from;
			uint32_t n = left < i->packets_per_group ? left : i->packets_per_group;

			n_groups += gw__bitmap_count(i->valid, from, n) == n;
		}
		must(n_groups == i->n_groups_valid);
		must(!t->n_windows++ || i->batch_id > t->last_id);
		must(!t->c.drop_missing || !i->n_missing);
		t->last_id = i->batch_id;
		t->lent[t->n_lent++] = w.buf;
	}
}

static void give_back(struct run *t)
{
	if (t->n_lent)
		gw__reorder_done(t->r, t->lent[--t->n_lent]);
}

/* A burst of 1..8 packets from 8 bytes of record. Returns bytes used. */
static size_t push(struct run *t, const uint8_t *d, size_t n)
{
	uint32_t slot[8], seq[8], batch[8], len[8], k = 0, took;
	struct gw__reorder_in in = { .slot = slot, .seq = seq, .payload_len = len, .now_ns = t->now_ns };
	uint32_t first, count;

	if (n < 8)
		return n;
	memcpy(&first, d, 4);
	count = 1 + (d[4] & 7);
	in.batch = d[4] & 8 ? batch : NULL;
	in.lost_before = d[4] & 16 ? (uint64_t)d[7] << (d[7] & 31) : 0;
	for (; k < count && t->n_free; k++) {
		slot[k] = t->free_slot[--t->n_free];
		t->held[slot[k]] = 1;
		seq[k] = first + k * (int8_t)d[5];
		batch[k] = seq[k] >> 3;
		len[k] = d[6] & 0x80 ? (d[6] + k) % (2 * LEN) : LEN;
	}
	took = gw__reorder_push(t->r, &in, 0, k);
	must(took <= k);
	t->n_pushed += took;
	while (k > took) {
		t->held[slot[--k]] = 0;
		t->free_slot[t->n_free++] = (uint8_t)slot[k];
	}
	return 8;
}

static void drive(struct run *t, const uint8_t *d, size_t n)
{
	struct gw_reorder_stats s;
	size_t at = 0;

	while (at < n) {
		uint8_t op = d[at++];

		switch (op & 7) {
		case 0: collect(t); break;
		case 1: look(t); break;
		case 2: give_back(t); break;
		case 3:
			t->now_ns += (uint64_t)op << (op & 31);
			gw__reorder_tick(t->r, t->now_ns);
			break;
		case 4:
			if (op & 8)
				gw__reorder_flush(t->r);
			else if (t->manual)
				gw__emu_stream_step(t->manual, 1 + (op >> 4));
			break;
		default: at += push(t, d + at, n - at);
		}
		if (t->n_lent == 8)
			give_back(t);
		look(t);
	}
	gw__reorder_flush(t->r);
	must(gw_stream_sync(t->c.stream) == 0);
	look(t);
	collect(t);
	must(t->n_free == N_SLOTS);
	gw__reorder_stats(t->r, &s);
	must(s.placed_packets + s.dropped_packets + s.duplicate_packets + s.late_packets + s.stale_packets +
		     s.bad_packets == t->n_pushed);
	must(s.windows == t->n_windows && !s.open_packets);
}

int LLVMFuzzerTestOneInput(const uint8_t *d, size_t n)
{
	static const enum gw__elem out[] = { GW_INT8, GW_INT32, GW_FP16, GW_BF16, GW_FP32, GW_FP64 };
	struct run t = { .c = { .name = "fuzz", .payload_len = LEN, .src_stride = 16, .gpu = gw__gpu() } };
	uint8_t *src, *mem;
	size_t len;

	if (n < 6)
		return 0;
	t.c.packets_per_batch = 1u << d[0] % 8;
	t.c.seq_bits = (uint8_t)(d[0] % 8 + d[1] % 26);
	t.c.seq_bits = t.c.seq_bits ? t.c.seq_bits : 1;
	t.c.max_open = 1 + d[2] % 4;
	t.c.run = d[2] >> 4 & 3;
	t.c.n_out = (t.c.max_open > 2 * t.c.run ? t.c.max_open : 2 * t.c.run) + d[2] / 64;
	t.c.in_type = (enum gw__elem)(d[3] % 5);
	t.c.out_type = t.c.in_type ? out[d[3] / 8 % 6] : GW_ELEM_NONE;
	t.c.swap = d[3] & 0x80;
	t.c.fill = (enum gw__fill)(d[4] % 3);
	t.c.drop_missing = d[4] & 8;
	t.c.timeout_ns = d[4] & 16 ? 1000 : 0;
	t.c.packets_per_group = d[5] % (t.c.packets_per_batch + 1);
	len = gw__converted_bytes(t.c.in_type, t.c.out_type, LEN) * t.c.packets_per_batch;
	t.c.out_size = t.c.out_stride = len;
	src = calloc(N_SLOTS, t.c.src_stride);
	mem = malloc(len * t.c.n_out);
	must(src && mem);
	t.c.src_base = t.c.src_host = src;
	t.c.out_base = mem;
	gw__emu_set_manual(d[5] & 0x80);
	must(gw_stream_create(&t.c.stream, NULL) == 0);
	gw__emu_set_manual(false);
	t.manual = d[5] & 0x80 ? t.c.stream : NULL;
	for (; t.n_free < N_SLOTS; t.n_free++)
		t.free_slot[t.n_free] = (uint8_t)t.n_free;
	must(gw__reorder_create(&t.c, &t.r, NULL) == 0);
	drive(&t, d + 6, n - 6);
	gw__reorder_destroy(t.r);
	gw_stream_destroy(t.c.stream);
	free(src);
	free(mem);
	return 0;
}
