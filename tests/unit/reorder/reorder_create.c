/* Making a stage: what is refused and in which words; the n-th allocation fails; GPU memory as source and
 * output; no allocation once it runs. */
#include "rig.h"

static void refused(int line, void (*spoil)(struct gw__reorder_config *c), const char *word)
{
	struct gw_diag diag = { "" };
	struct rig g;
	struct gw__reorder *r = NULL;
	uint8_t mem[8 * 24 * 4];

	rig_config(&g, 8, 12);
	g.c.src_base = g.c.out_base = mem;
	g.c.out_size = g.c.out_stride = 8 * 24;
	spoil(&g.c);
	T_OK(gw__reorder_create(&g.c, &r, &diag) < 0);
	T_OK(!r);
	T_HAS(diag.text, word);
	T_HAS(diag.text, "'plan'");
	if (t__failed)
		fprintf(stderr, "from line %d\n", line);
	T_EQ(gw__alloc_live(), 0);
}

static void not_power(struct gw__reorder_config *c) { c->packets_per_batch = 12; }
static void no_packets(struct gw__reorder_config *c) { c->packets_per_batch = 0; }
static void too_many(struct gw__reorder_config *c) { c->seq_bits = 2; }
static void no_bits(struct gw__reorder_config *c) { c->seq_bits = 0; }
static void wide(struct gw__reorder_config *c) { c->seq_bits = 33; }
static void open_65(struct gw__reorder_config *c) { c->max_open = 65; }
static void few_buffers(struct gw__reorder_config *c) { c->n_out = 1; }
static void small_out(struct gw__reorder_config *c) { c->out_size--; }
static void small_stride(struct gw__reorder_config *c) { c->out_stride--; }
static void no_pair(struct gw__reorder_config *c) { c->in_type = GW_INT8; }
static void float_in(struct gw__reorder_config *c) { c->in_type = GW_FP16, c->out_type = GW_FP32; }
static void split_element(struct gw__reorder_config *c)
{
	c->in_type = GW_INT32, c->out_type = GW_INT8, c->payload_len = 23;
}
static void no_payload(struct gw__reorder_config *c) { c->payload_len = 0; }
static void big_group(struct gw__reorder_config *c) { c->packets_per_group = 9; }
static void bad_method(struct gw__reorder_config *c) { c->batch_bits = 4; }

static void *no_alias(const void *ptr, size_t n)
{
	(void)ptr, (void)n;
	return NULL;
}

static const struct gw__reorder_config *bounds;

static void *alias_within(const void *ptr, size_t n)
{
	const uint8_t *p = ptr, *end = bounds->out_base + 3 * bounds->out_stride;

	if (p >= bounds->out_base && p + n > end)
		return NULL;
	return (void *)(uintptr_t)ptr;
}

/* three of the four output buffers lie in the region */
static void region_too_short(struct gw__reorder_config *c)
{
	static struct gw__gpu_ops ops;

	ops = *gw__gpu();
	ops.host_alias = alias_within;
	bounds = c;
	c->src_host = c->out_base;
	c->gpu = &ops;
}

static void out_of_reach(struct gw__reorder_config *c)
{
	static struct gw__gpu_ops ops;

	ops = *gw__gpu();
	ops.host_alias = no_alias;
	c->gpu = &ops;
}

static void nth_allocation(void)
{
	struct rig g;
	long n = 0, at;

	rig_config(&g, 8, 12);
	T_RC(rig_create(&g), 0);
	rig_destroy(&g);
	for (at = 1; at < 100; at++) {
		rig_config(&g, 8, 12);
		gw__alloc_fail_at(at);
		n = rig_create(&g);
		gw__alloc_fail_at(0);
		if (!n)
			break;
		T_EQ(n, -ENOMEM);
		T_OK(!g.r);
		T_HAS(g.diag.text, "plan");
		rig_destroy(&g);
	}
	T_OK(at > 10 && at < 100);
	rig_destroy(&g);
}

/* Windows come out, whole, even when the stream has no memory for its queue; once it runs none is asked for. */
static void no_memory_at_work(uint32_t per_batch)
{
	struct rig g;
	struct gw__window w;

	rig_config(&g, per_batch, 12);
	T_RC(rig_create(&g), 0);
	gw__alloc_fail_at(1); /* with windows of one packet this is the closing piece */
	for (uint64_t n = 0; n < 320; n++) {
		T_EQ(rig_push(&g, n), 1);
		if (!n) {
			T_EQ(gw__alloc_count() > 0, 1);
			T_EQ(g.n_free, per_batch == 1 ? RIG_SLOTS : RIG_SLOTS - 1);
		}
		if (n == 16)
			gw__alloc_fail_at(0);
		if (gw__reorder_pop(g.r, &w)) {
			T_EQ(gw_event_query(w.event), 1);
			for (uint32_t i = 0; i < per_batch; i++)
				rig_check_copy(&g, &w, i, w.info.batch_id * per_batch + i);
			gw__reorder_done(g.r, w.buf);
		}
	}
	T_EQ(gw__alloc_count(), 0); /* since packet 16 */
	T_EQ(rig_stats(&g).windows, 320 / per_batch);
	T_EQ(g.n_free, RIG_SLOTS);
	rig_destroy(&g);
}

static void device_memory(void)
{
	struct rig g;
	struct gw__window w;
	void *src, *out;
	uint8_t *alias;
	uint16_t got[8 * 24];
	bool strict;

	rig_config(&g, 8, 12);
	g.c.in_type = GW_INT8;
	g.c.out_type = GW_FP16;
	T_RC(gw_mem_alloc(GW_MEM_DEVICE, 8 * 64, 0, &src, NULL), 0);
	T_RC(gw_mem_alloc(GW_MEM_DEVICE, 4 * 8 * 48, 0, &out, NULL), 0);
	alias = gw__gpu()->host_alias(src, 8 * 64);
	T_NEED(alias);
	/* the device view is shut, where it can be: the stage must go by the alias */
	strict = !gw__emu_set_strict(true);
	g.c.src_base = src;
	g.c.out_base = out;
	g.c.out_size = g.c.out_stride = 8 * 48;
	T_RC(gw__reorder_create(&g.c, &g.r, NULL), 0);
	for (uint32_t n = 0; n < 8; n++) {
		const uint32_t slot = 7 - n, len = 24;
		const struct gw__reorder_in in = { .slot = &slot, .seq = &n, .payload_len = &len };

		memset(alias + slot * 64, (int)n + 1, 24);
		T_EQ(gw__reorder_push(g.r, &in, 0, 1), 1);
	}
	T_NEED(gw__reorder_pop(g.r, &w));
	if (strict)
		T_RC(gw__emu_set_strict(false), 0);
	T_OK(w.tensor == out);
	T_RC(gw_event_sync(w.event), 0);
	T_RC(gw_mem_copy(got, w.tensor, sizeof(got)), 0);
	T_EQ(got[0], 0x3c00);
	T_EQ(got[24], 0x4000);
	T_EQ(got[7 * 24 + 23], 0x4800);
	gw__reorder_destroy(g.r);
	gw_mem_free(src);
	gw_mem_free(out);
	T_EQ(gw__alloc_live(), 0);
}

int main(void)
{
	refused(__LINE__, not_power, "packets_per_batch 12 must divide 2^12");
	refused(__LINE__, no_packets, "packets_per_batch 0");
	refused(__LINE__, too_many, "packets_per_batch 8 must divide 2^2");
	refused(__LINE__, no_bits, "1 to 32 bits");
	refused(__LINE__, wide, "1 to 32 bits");
	refused(__LINE__, open_65, "65 asked");
	refused(__LINE__, few_buffers, "use at least 2");
	refused(__LINE__, small_out, "need 192");
	refused(__LINE__, small_stride, "need 192");
	refused(__LINE__, no_pair, "cannot be converted");
	refused(__LINE__, float_in, "cannot be converted");
	refused(__LINE__, split_element, "23 bytes");
	refused(__LINE__, no_payload, "0 bytes");
	refused(__LINE__, big_group, "group of 9");
	refused(__LINE__, bad_method, "2^(12 - 4)");
	refused(__LINE__, out_of_reach, "host_pinned");
	refused(__LINE__, region_too_short, "buffer 3");
	nth_allocation();
	no_memory_at_work(8);
	no_memory_at_work(1);
	device_memory();
	T_DONE();
}
