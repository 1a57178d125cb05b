/* What lies where no packet came: zero, keep, poison; short payloads; windows dropped for a hole; the converted
 * bytes beside a hole stay whole. */
#include "rig.h"

static int all(const uint8_t *p, size_t n, uint8_t v)
{
	for (size_t i = 0; i < n; i++)
		if (p[i] != v)
			return 0;
	return 1;
}

/* One window of 8 with places 2 and 7 missing and place 5 short. Returns the tensor's bytes copied to out. */
static void window_of(struct rig *g, uint8_t *out, size_t out_len)
{
	struct gw__window w;

	for (uint64_t n = 0; n < 8; n++)
		if (n != 2 && n != 7)
			T_EQ(rig_push_len(g, n, n == 5 ? 11 : 24), 1);
	T_EQ(gw__reorder_flush(g->r), 1);
	rig_collect(g);
	T_NEED(gw__reorder_pop(g->r, &w));
	T_EQ(w.flags, GW_BURST_REORDERED | GW_BURST_REORDER_TIMEOUT | GW_BURST_INCOMPLETE);
	T_EQ(w.info.valid[0], 0x7b);
	T_NEED(w.len == 8 * out_len);
	memcpy(out, w.tensor, w.len);
	gw__reorder_done(g->r, w.buf);
	T_EQ(g->n_free, RIG_SLOTS);
}

static void fills(enum gw__elem in, enum gw__elem out_type, enum gw__fill fill, uint8_t want)
{
	uint8_t got[8 * 24 * 16], full[24 * 16], src[24];
	size_t len = gw__converted_bytes(in, out_type, 24), short_len;
	uint32_t element = in == GW_INT16 ? 2 : in == GW_INT32 ? 4 : 1;
	struct rig g;

	rig_config(&g, 8, 12);
	g.c.in_type = in;
	g.c.out_type = out_type;
	g.c.fill = fill;
	T_RC(rig_create(&g), 0);
	window_of(&g, got, len);
	T_OK(all(got + 2 * len, len, want));
	T_OK(all(got + 7 * len, len, want));
	/* 11 bytes: whole elements converted, the rest is a hole */
	short_len = gw__converted_bytes(in, out_type, 11 / element * element);
	T_OK(all(got + 5 * len + short_len, len - short_len, want));
	for (uint32_t i = 0; i < 7; i++) {
		if (i == 2)
			continue;
		for (uint32_t k = 0; k < 24; k++)
			src[k] = rig_byte(i, k);
		if (in == GW_ELEM_NONE) {
			memcpy(full, src, 24);
		} else { /* int8 -> int8, int8 -> fp32 and int32 -> fp64 by C's own rules */
			for (uint32_t k = 0; k < 24 / element; k++) {
				int32_t wide;
				double d;
				float f = (float)(int8_t)src[k];

				memcpy(&wide, src + (in == GW_INT32 ? 4 * k : 0), 4);
				d = wide;
				if (out_type == GW_FP32)
					memcpy(full + 4 * k, &f, 4);
				else if (out_type == GW_FP64)
					memcpy(full + 8 * k, &d, 8);
				else
					full[k] = src[k];
			}
		}
		T_MEM(got + i * len, full, i == 5 ? short_len : len);
	}
	rig_destroy(&g);
}

/* keep: what the buffer held before, window after window */
static void keep_holds_the_last_window(void)
{
	struct rig g;
	struct gw__window w;

	rig_config(&g, 8, 12);
	g.c.fill = GW_FILL_KEEP;
	g.c.n_out = 2;
	T_RC(rig_create(&g), 0);
	for (uint64_t n = 0; n < 24; n++) { /* windows 0, 1, 2 share a buffer */
		if (n != 18)
			rig_push(&g, n);
		if (gw__reorder_pop(g.r, &w))
			gw__reorder_done(g.r, w.buf);
	}
	T_EQ(gw__reorder_flush(g.r), 1);
	T_NEED(gw__reorder_pop(g.r, &w));
	T_EQ(w.info.batch_id, 2);
	rig_check_copy(&g, &w, 1, 17);
	rig_check_copy(&g, &w, 2, 10); /* the hole */
	rig_destroy(&g);
}

static void drop(void)
{
	struct rig g;
	struct gw__window w;
	struct gw_reorder_stats s;

	rig_config(&g, 8, 12);
	g.c.drop_missing = true;
	g.c.n_out = 2; /* dropped windows give their buffers back */
	T_RC(rig_create(&g), 0);
	for (uint64_t n = 0; n < 8 * 20; n++) {
		if (n % 16 != 3)
			T_EQ(rig_push(&g, n), 1);
		if (gw__reorder_pop(g.r, &w)) {
			T_EQ(w.flags, GW_BURST_REORDERED);
			T_EQ(w.info.batch_id % 2, 1);
			for (uint32_t i = 0; i < 8; i++)
				rig_check_copy(&g, &w, i, w.info.batch_id * 8 + i);
			gw__reorder_done(g.r, w.buf);
		}
	}
	T_EQ(gw__reorder_flush(g.r), 0);
	s = rig_stats(&g);
	T_EQ(s.windows, 10);
	T_EQ(s.dropped_windows, 10);
	T_EQ(s.dropped_packets, 70);
	T_EQ(s.placed_packets, 80);
	T_EQ(s.missing_packets, 0);
	rig_collect(&g);
	T_EQ(g.n_free, RIG_SLOTS);
	rig_destroy(&g);
}

int main(void)
{
	fills(GW_ELEM_NONE, GW_ELEM_NONE, GW_FILL_ZERO, 0);
	fills(GW_ELEM_NONE, GW_ELEM_NONE, GW_FILL_POISON, 0x7f);
	fills(GW_ELEM_NONE, GW_ELEM_NONE, GW_FILL_KEEP, 0xee); /* what rig_create() wrote */
	fills(GW_INT8, GW_INT8, GW_FILL_POISON, 0x7f);
	fills(GW_INT8, GW_FP32, GW_FILL_ZERO, 0);
	fills(GW_INT8, GW_FP32, GW_FILL_POISON, 0xff);
	fills(GW_INT32, GW_FP64, GW_FILL_POISON, 0xff);
	fills(GW_INT32, GW_FP64, GW_FILL_KEEP, 0xee);
	keep_holds_the_last_window();
	drop();
	T_DONE();
}
