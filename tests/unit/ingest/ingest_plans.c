/* Several plans: two on one queue told apart by flow, one on another queue, and a flow that belongs to none. Packets
 * of all of them arrive mixed; each plan sees its own, the rest passes raw. Both numbering methods. */
#include "rig_step.h"

#define PPB 8u
#define PAYLOAD 24u

static const char text[] =
	"version: 1\nmaster_core: 0\nstream_type: raw\nengine: \"%s\"\nmemory_regions:\n"
	"  - {name: tx, kind: host, affinity: 0, num_bufs: 256, buf_size: 256}\n"
	"  - {name: rx, kind: host, affinity: 0, num_bufs: 256, buf_size: 88}\n"
	"  - {name: out_a, kind: host, affinity: 0, num_bufs: 4, buf_size: 192}\n"
	"  - {name: out_bc, kind: host, affinity: 0, num_bufs: 8, buf_size: 192}\n"
	"interfaces:\n"
	"  - name: tx_port\n    address: cable:0\n    tx:\n      queues:\n"
	"      - {name: t, id: 0, cpu_core: -1, batch_size: 8, memory_regions: [tx]}\n"
	"  - name: rx_port\n    address: cable:0\n    rx:\n      queues:\n"
	"      - {name: r0, id: 0, cpu_core: -1, batch_size: 8, memory_regions: [rx]}\n"
	"      - {name: r1, id: 1, cpu_core: -1, batch_size: 8, memory_regions: [rx]}\n"
	"      flows:\n"
	"      - {name: a, id: 1, action: {type: queue, id: 0}, match: {udp_dst: 4096}}\n"
	"      - {name: b, id: 2, action: {type: queue, id: 0}, match: {udp_dst: 4097}}\n"
	"      - {name: raw, id: 3, action: {type: queue, id: 0}, match: {udp_dst: 4098}}\n"
	"      - {name: c, id: 4, action: {type: queue, id: 1}, match: {udp_dst: 4099}}\n"
	"      reorder_configs:\n"
	"      - {name: plan_a, reorder_type: cpu, memory_region: out_a, payload_byte_offset: 64, flow_ids: [1],\n"
	"         method: {seq_packets_per_batch: {sequence_number: {bit_offset: 336, bit_width: 16},\n"
	"                                          packets_per_batch: 8}}}\n"
	"      - {name: plan_b, reorder_type: cpu, memory_region: out_bc, payload_byte_offset: 64, flow_ids: [2],\n"
	"         method: {seq_batch_number: {sequence_number: {bit_offset: 336, bit_width: 16},\n"
	"                                     batch_number: {bit_offset: 336, bit_width: 13}}}}\n"
	"      - {name: plan_c, reorder_type: cpu, memory_region: out_bc, payload_byte_offset: 64, flow_ids: [4],\n"
	"         method: {seq_packets_per_batch: {sequence_number: {bit_offset: 336, bit_width: 16},\n"
	"                                          packets_per_batch: 8}}}\n";

static struct {
	uint32_t windows[5], raw, wrong;
} got;

/* Each flow's numbers start elsewhere, so that a packet in the wrong plan shows. */
static uint64_t number_of(uint32_t flow, uint32_t i)
{
	return flow * 800 + i;
}

static void take(struct gw *gw, uint16_t queue)
{
	struct gw_reorder_info info;
	struct gw_burst b;

	while (gw_rx_burst(gw, 1, queue, &b) == 1) {
		if (!(b.flags & GW_BURST_REORDERED)) {
			for (uint32_t i = 0; i < b.n_pkts; i++, got.raw++)
				got.wrong += b.flow[i] != 3 || rig_seq(&b, i, 16) != number_of(3, got.raw);
			gw_burst_release(&b);
			continue;
		}
		T_EQ(gw_burst_reorder_info(&b, &info), 0);
		T_EQ(info.n_missing, 0);
		T_NEED(b.flow[0] < 5);
		got.wrong += queue != (b.flow[0] == 4);
		for (uint32_t i = 0; i < PPB; i++) {
			uint64_t n = number_of(b.flow[0], got.windows[b.flow[0]] * PPB + i);

			got.wrong += info.batch_id * PPB + i != n;
			for (uint32_t j = 0; j < PAYLOAD; j++)
				got.wrong += ((uint8_t *)b.seg_ptr[0][0])[i * PAYLOAD + j] != rig_byte(n, j);
		}
		got.windows[b.flow[0]]++;
		gw_burst_release(&b);
	}
}

static void mixed(const char *engine)
{
	struct gw__clock_manual clock;
	struct gw__open_opts o = { .no_threads = true, .clock = &clock.base };
	struct rig r = { .payload = PAYLOAD, .seq_bits = 16 };
	struct gw_config *cfg = NULL;
	struct gw_diag d = { "" };
	struct gw_reorder_stats st;
	struct gw *gw = NULL;
	char yaml[sizeof(text) + 16];

	memset(&got, 0, sizeof(got));
	gw__clock_manual_init(&clock, 1);
	snprintf(yaml, sizeof(yaml), text, engine);
	if (gw_config_load(yaml, NULL, &cfg, &d) || gw__open(cfg, &o, &gw, &d) || gw_start(gw, &d))
		fprintf(stderr, "%s: %s\n", engine, d.text);
	T_NEED(gw);
	for (uint32_t i = 0; i < 10 * PPB; i++) {
		for (uint32_t f = 1; f <= 4; f++) /* within a window backwards, flows in turn */
			T_EQ(rig_send(gw, &r, number_of(f, f == 3 ? i : i / PPB * PPB + PPB - 1 - i % PPB),
				      (uint16_t)(4095 + f)), 1);
		if (i % 5 == 4) {
			gw__step(gw, 256);
			take(gw, 0);
			take(gw, 1);
		}
	}
	(void)gw_flush(gw);
	take(gw, 0);
	take(gw, 1);
	T_EQ(got.wrong, 0);
	T_EQ(got.raw, 10 * PPB);
	T_OK(got.windows[1] == 10 && got.windows[2] == 10 && got.windows[4] == 10);
	T_EQ(gw_reorder_stats(gw, "plan_b", &st), 0);
	T_EQ(st.placed_packets, 10 * PPB);
	T_EQ(gw_reorder_stats(gw, "nobody", &st), -EINVAL);
	T_EQ(gw_stats_check(gw, &d), 0);
	gw_close(gw);
	gw_config_free(cfg);
}

int main(void)
{
	for (const char *const *e = hand_engines; *e; e++)
		if (hand_has(*e))
			mixed(*e);
	T_EQ(gw__alloc_live(), 0);
	T_DONE();
}
