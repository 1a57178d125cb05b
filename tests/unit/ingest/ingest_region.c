/* A region that several queues share is cut into shares that never overlap; slots start at multiples of 128; a
 * region too small for its users is refused. */
#include "rig_step.h"

static char text[4096];

static struct gw *open_shared(uint32_t num_bufs, uint32_t buf_size, struct gw_config **cfg, struct gw__clock *clock,
			      struct gw_diag *d, int *err)
{
	struct gw__open_opts o = { .no_threads = true, .clock = clock };
	struct gw *gw = NULL;

	snprintf(text, sizeof(text),
		 "version: 1\nmaster_core: 0\nstream_type: raw\nengine: \"null\"\nmemory_regions:\n"
		 "  - {name: all, kind: host, affinity: 0, num_bufs: %u, buf_size: %u}\n"
		 "interfaces:\n"
		 "  - name: tx_port\n    address: cable:0\n    tx:\n      queues:\n"
		 "      - {name: t0, id: 0, cpu_core: -1, batch_size: 4, memory_regions: [all]}\n"
		 "      - {name: t1, id: 1, cpu_core: -1, batch_size: 4, memory_regions: [all]}\n"
		 "  - name: rx_port\n    address: cable:0\n    rx:\n      queues:\n"
		 "      - {name: r0, id: 0, cpu_core: -1, batch_size: 4, memory_regions: [all]}\n"
		 "      - {name: r1, id: 5, cpu_core: -1, batch_size: 4, memory_regions: [all]}\n"
		 "      flows:\n"
		 "      - {name: f0, id: 200, action: {type: queue, id: 0}, match: {udp_dst: 4096}}\n"
		 "      - {name: f1, id: 201, action: {type: queue, id: 5}, match: {udp_dst: 4097}}\n",
		 num_bufs, buf_size);
	*err = gw_config_load(text, NULL, cfg, d);
	if (!*err)
		*err = gw__open(*cfg, &o, &gw, d);
	return gw;
}

static void shares(void)
{
	struct gw__clock_manual clock;
	struct rig r = { .payload = 16, .seq_bits = 16 };
	struct gw_config *cfg = NULL;
	struct gw_diag d = { "" };
	uint8_t *at[128];
	uint32_t n = 0;
	struct gw_burst b;
	struct gw_tx tx[2];
	struct gw *gw;
	int err;

	gw__clock_manual_init(&clock, 1);
	gw = open_shared(103, 200, &cfg, &clock.base, &d, &err);
	T_RC(err, 0);
	T_NEED(gw && !gw_start(gw, NULL));
	for (uint16_t q = 0; q < 2; q++) { /* a quarter of 103, rounded down */
		for (uint32_t i = 0; i < 12; i++)
			T_EQ(rig_send(gw, &r, i, (uint16_t)(4096 + q)), 1);
		gw__step(gw, 64);
		for (int k = 0; k < 3; k++) {
			T_RC(gw_rx_burst(gw, 1, q ? 5 : 0, &b), 1);
			T_EQ(b.queue, q ? 5 : 0);
			for (uint32_t i = 0; i < b.n_pkts; i++)
				at[n++] = b.seg_ptr[0][i];
		}
		T_RC(gw_rx_burst(gw, 1, 1, &b), -EINVAL); /* the id counts, not the place in the list */
	}
	for (uint16_t q = 0; q < 2; q++) {
		T_RC(gw_tx_reserve(gw, 0, q, 1000, &tx[q]), 25);
		for (uint32_t i = 0; i < 25; i++)
			at[n++] = tx[q].seg_ptr[0][i];
		T_EQ(tx[q].seg_size[0], 200);
	}
	for (uint32_t i = 0; i < n; i++) {
		T_EQ((uintptr_t)at[i] % 128, 0);
		for (uint32_t k = 0; k < i; k++)
			T_OK(at[i] >= at[k] + 256 || at[k] >= at[i] + 256);
	}
	gw_close(gw);
	gw_config_free(cfg);
}

static void too_small(void)
{
	struct gw_config *cfg = NULL;
	struct gw_diag d = { "" };
	struct gw *gw;
	int err;

	gw = open_shared(3, 200, &cfg, NULL, &d, &err);
	T_RC(err, -EINVAL);
	T_OK(!gw);
	T_HAS(d.text, "all");
	T_HAS(d.text, "4");
	gw_config_free(cfg);
}

int main(void)
{
	shares();
	too_small();
	T_EQ(gw__alloc_live(), 0);
	T_DONE();
}
