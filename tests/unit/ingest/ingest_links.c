/* A sender and a receiver that are two objects, as two programs would be: over a cable, over shared memory, and
 * from a capture that the receiver's own writer made. The same tensors each time. */
#include <unistd.h>

#include "rig.h"

#define PPB 32u
#define WINDOWS 20u
#define SOON 5000000000u

static struct gw_config *load(struct rig *r, const char *address, bool tx)
{
	char tx_at[96], rx_at[96];
	const char *over[] = { tx_at, rx_at, NULL };
	struct gw_config_opts o = { .sz = sizeof(o), .address = over, .tx_only = tx, .rx_only = !tx };
	struct gw_config *cfg = NULL;
	struct gw_diag d = { "" };
	struct rig_text t;

	snprintf(tx_at, sizeof(tx_at), "tx_port=%s", address);
	snprintf(rx_at, sizeof(rx_at), "rx_port=%s", address);
	r->engine = "nic";
	r->address = "cable:0";
	rig_defaults(r);
	rig_yaml(r, &t);
	if (gw_config_load(t.buf, &o, &cfg, &d))
		fprintf(stderr, "%s\n", d.text);
	T_NEED(cfg);
	return cfg;
}

static struct gw *start(const struct gw_config *cfg)
{
	struct gw_diag d = { "" };
	struct gw *gw = NULL;

	if (gw_open(cfg, &gw, &d) || gw_start(gw, &d))
		fprintf(stderr, "%s\n", d.text);
	T_NEED(gw);
	return gw;
}

/* n windows of whole tensors from a number on; returns how many came. */
static uint32_t expect_from(struct gw *gw, const struct rig *r, uint32_t from, uint32_t n)
{
	uint32_t got = 0;
	struct gw_burst b;

	while (got < n && gw_rx_wait(gw, 0, 0, SOON) == 1 && gw_rx_burst(gw, 0, 0, &b) == 1) {
		struct gw_reorder_info info;

		T_NEED(b.flags & GW_BURST_REORDERED);
		T_RC(gw_burst_reorder_info(&b, &info), 0);
		T_EQ(info.batch_id, from + got);
		T_EQ(info.n_missing, 0);
		T_EQ(rig_tensor_bad(r, &b, &info), 0);
		gw_burst_release(&b);
		got++;
	}
	return got;
}

static void close_receiver(struct gw *gw, struct gw_config *cfg)
{
	struct gw_diag d = { "" };

	gw_stop(gw);
	T_RC(gw_stats_check(gw, &d), 0);
	T_STR(d.text, "");
	gw_close(gw);
	gw_config_free(cfg);
}

static void two_objects(const char *address)
{
	struct rig r = { .ppb = PPB, .payload = 100, .rx_bufs = 128, .tx_bufs = 64, .out_bufs = 4 };
	struct gw_config *tx_cfg = load(&r, address, true), *rx_cfg = load(&r, address, false);
	struct gw *rx = start(rx_cfg), *tx = start(tx_cfg);
	struct gw_port_stats s;
	uint32_t sent = 0, got = 0;

	T_RC(gw_port_id(tx, "tx_port"), 0);
	T_RC(gw_port_id(rx, "rx_port"), 0);
	T_RC(gw_port_set_pause(rx, 0, true), 0);
	while (got < WINDOWS) {
		uint32_t one;

		while (sent < WINDOWS * PPB && sent < (got + 3) * PPB) {
			int k = rig_send(tx, &r, sent, RIG_PORT);

			sent += k == 1;
			if (k != 1 && gw_tx_wait(tx, 0, 0, SOON) != 1)
				break;
		}
		one = expect_from(rx, &r, got, 1);
		if (!one)
			break;
		got += one;
	}
	T_EQ(got, WINDOWS);
	T_RC(gw_tx_drain(tx, 0, 0, SOON), 0);
	T_RC(gw_port_stats(rx, 0, &s), 0);
	T_EQ(s.rx_missed, 0);
	T_EQ(s.rx_packets, WINDOWS * PPB);
	gw_close(tx);
	gw_config_free(tx_cfg);
	close_receiver(rx, rx_cfg);
}

/* Write the packets with the library, then let the link play the file: what was received can be received again. */
static void capture_and_replay(void)
{
	char path[] = "/tmp/gw_links_XXXXXX", address[64];
	struct rig raw = { .batch = 64, .payload = 100, .rx_bufs = 256, .tx_bufs = 64 };
	struct rig plan = { .ppb = PPB, .payload = 100, .rx_bufs = 128, .out_bufs = 4 };
	struct gw_config *tx_cfg = load(&raw, "cable:5", true), *rx_cfg = load(&raw, "cable:5", false);
	struct gw *rx = start(rx_cfg), *tx = start(tx_cfg);
	struct gw_write_opts o = { .sz = sizeof(o), .kind = GW_FILE_PCAP_NS, .path = path };
	int fd = mkstemp(path);

	T_NEED(fd >= 0);
	close(fd);
	for (uint32_t at = 0; at < WINDOWS * PPB; at += 64) {
		struct gw_diag d = { "" };
		struct gw_burst b;

		for (uint32_t i = 0; i < 64;) {
			int k = rig_send(tx, &raw, at + i, RIG_PORT);

			i += k == 1;
			if (k != 1 && gw_tx_wait(tx, 0, 0, SOON) != 1)
				break;
		}
		T_NEED(gw_rx_wait(rx, 0, 0, SOON) == 1 && gw_rx_burst(rx, 0, 0, &b) == 1);
		T_RC(gw_write_burst(rx, &b, &o, NULL, NULL, &d), 0);
		gw_burst_release(&b);
	}
	gw_close(tx);
	gw_config_free(tx_cfg);
	close_receiver(rx, rx_cfg);

	snprintf(address, sizeof(address), "pcap:%s", path);
	rx_cfg = load(&plan, address, false);
	rx = NULL;
	T_NEED(!gw_open(rx_cfg, &rx, NULL));
	T_RC(gw_port_set_pause(rx, 0, true), 0);
	T_RC(gw_start(rx, NULL), 0);
	T_EQ(expect_from(rx, &plan, 0, WINDOWS), WINDOWS);
	close_receiver(rx, rx_cfg);
	unlink(path);
}

int main(void)
{
	char shm[64];

	two_objects("cable:4");
	snprintf(shm, sizeof(shm), "shm:gw_links_%d", (int)getpid());
	two_objects(shm);
	capture_and_replay();
	T_DONE();
}
