/* The sequence field: every offset and width against a bit-by-bit reading, and where it may lie in a slot. */
#include "ingest/field.h"

#include "rig_step.h"

static uint32_t by_bit(const uint8_t *p, uint32_t at, uint32_t n)
{
	uint32_t v = 0;

	for (uint32_t i = at; i < at + n; i++)
		v = v << 1 | (p[i / 8] >> (7 - i % 8) & 1);
	return v;
}

static void all_fields(void)
{
	uint8_t p[16];
	uint32_t wrong = 0;

	for (uint32_t i = 0; i < 16; i++)
		p[i] = rig_byte(99, i);
	for (uint32_t at = 0; at < 64; at++)
		for (uint32_t n = 1; n <= 32; n++) {
			uint32_t end = (at + n + 7) / 8;
			struct gw__field f = { .byte_off = at / 8, .n_bytes = end - at / 8, .n_bits = n,
					       .shift = end * 8 - at - n };

			wrong += gw__field_read(&f, p) != by_bit(p, at, n);
		}
	T_EQ(wrong, 0);
}

static char text[8192];

/* A GPU whose memory the CPU cannot touch, unlike the emulator's: host and pinned memory can be reached. */
static struct gw__gpu_ops far;
static void *far_ptr[8];
static int n_far;

static int far_alloc(enum gw_mem_kind kind, size_t n_bytes, int affinity, void **out, struct gw_diag *diag)
{
	int err = gw__gpu()->mem_alloc(kind, n_bytes, affinity, out, diag);

	if (!err && kind == GW_MEM_DEVICE)
		far_ptr[n_far++ % 8] = *out;
	return err;
}

static void *far_alias(const void *ptr, size_t n_bytes)
{
	for (int i = 0; i < 8; i++)
		if (ptr == far_ptr[i])
			return NULL;
	return gw__gpu()->host_alias(ptr, n_bytes);
}

/* A reorder file with given regions, field and offset; the outcome of loading and opening it. */
static int outcome(const char *regions, const char *queue, uint32_t bit, uint32_t offset, struct gw_diag *d)
{
	struct gw__open_opts o = { .no_threads = true, .gpu = far.mem_alloc ? &far : NULL };
	struct gw_config *cfg = NULL;
	struct gw *gw = NULL;
	int err;

	snprintf(text, sizeof(text),
		 "version: 1\nmaster_core: 0\nstream_type: raw\nengine: \"null\"\nmemory_regions:\n%s"
		 "  - {name: out, kind: host_pinned, affinity: 0, num_bufs: 4, buf_size: 65536}\n"
		 "interfaces:\n  - name: p\n    address: cable:0\n    rx:\n      queues:\n"
		 "      - {name: q, id: 0, cpu_core: -1, batch_size: 8, memory_regions: [%s]}\n"
		 "      flows:\n      - {name: f, id: 1, action: {type: queue, id: 0}, match: {}}\n"
		 "      reorder_configs:\n      - name: plan\n        reorder_type: gpu\n        memory_region: out\n"
		 "        payload_byte_offset: %u\n        flow_ids: [1]\n        method:\n"
		 "          seq_packets_per_batch:\n            packets_per_batch: 8\n"
		 "            sequence_number: {bit_offset: %u, bit_width: 16}\n",
		 regions, queue, offset, bit);
	d->text[0] = '\0';
	err = gw_config_load(text, NULL, &cfg, d);
	if (!err)
		err = gw__open(cfg, &o, &gw, d);
	gw_close(gw);
	gw_config_free(cfg);
	return err;
}

#define R(name, kind, size) "  - {name: " name ", kind: " kind ", affinity: 0, num_bufs: 64, buf_size: " size "}\n"

static void places(void)
{
	struct gw_diag d;

	/* one segment, and in the header of a split, and in the payload's memory that the CPU can read */
	T_RC(outcome(R("a", "host_pinned", "1240"), "a", 128, 64, &d), 0);
	T_RC(outcome(R("h", "huge", "64") R("a", "device", "1176"), "h, a", 128, 64, &d), 0);
	T_RC(outcome(R("h", "huge", "64") R("a", "host_pinned", "1176"), "h, a", 512, 64, &d), 0);
	/* across the border of two segments */
	T_RC(outcome(R("h", "huge", "64") R("a", "host_pinned", "1176"), "h, a", 504, 64, &d), -EINVAL);
	T_HAS(d.text, "65");
	/* beyond the slot */
	T_RC(outcome(R("a", "host_pinned", "128"), "a", 128 * 8, 64, &d), -EINVAL);
	T_OK(d.text[0] != '\0');
	/* the payload would not lie in one piece: the fix is named */
	T_RC(outcome(R("h", "huge", "64") R("a", "host_pinned", "1176"), "h, a", 128, 60, &d), -EINVAL);
	T_HAS(d.text, "64");
}

/* The header in memory the CPU cannot read: refused, and the way out is named. Split off, it is fine. */
static void unreadable(void)
{
	struct gw_diag d;

	far = *gw__gpu();
	far.mem_alloc = far_alloc;
	far.host_alias = far_alias;
	T_RC(outcome(R("a", "device", "1240"), "a", 128, 64, &d), -EINVAL);
	T_HAS(d.text, "device");
	T_HAS(d.text, "split the header off");
	T_HAS(d.text, "buf_size 18");
	/* the number in the payload's memory is as far away */
	T_RC(outcome(R("h", "huge", "64") R("a", "device", "1176"), "h, a", 512, 64, &d), -EINVAL);
	T_HAS(d.text, "split the header off");
	/* the number is readable now; what moves the payload with the CPU says that it cannot */
	T_RC(outcome(R("h", "huge", "64") R("a", "device", "1176"), "h, a", 128, 64, &d), -ENOTSUP);
	T_HAS(d.text, "cannot reach");
}

int main(void)
{
	all_fields();
	places();
	unreadable();
	T_EQ(gw__alloc_live(), 0);
	T_DONE();
}
