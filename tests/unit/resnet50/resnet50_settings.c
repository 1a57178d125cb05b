/* tests/unit/resnet50/resnet50_settings.c: what the configuration and the command line say together, and the
 * sentence of each refusal.   resnet50_settings CONFIG.yaml
 * Next: apps/resnet50_inference/settings.c. */
#include "settings.h"

#include "t.h"

static const char *config;

/* Load with one replacement and read; the sentence, if any, is in diag. */
static int read_with(const char *set, struct options *o, struct settings *s, struct gw_diag *diag)
{
	const char *sets[] = { set, NULL };
	struct gw_config_opts co = { .sz = sizeof(co), .set = sets };
	static struct gw_config *cfg; /* strings of *s live in it until the next call */
	int err;

	gw_config_free(cfg);
	cfg = NULL;
	if (!o) {
		memset(s, 0, sizeof(*s));
		return 0;
	}
	diag->text[0] = '\0';
	err = gw_config_load(config, &co, &cfg, diag);
	return err ? err : settings_read(cfg, o, s, diag);
}

static void as_written(void)
{
	struct options o = { .config = config };
	struct gw_diag d;
	struct settings s;

	T_RC(read_with(NULL, &o, &s, &d), 0);
	T_STR(d.text, "");
	T_STR(s.rx_port, "rx_port");
	T_STR(s.tx_port, "tx_port");
	T_STR(s.reorder_name, "rx_reorder_resnet_int8_fp16");
	T_EQ(s.geo.packets_per_batch, 4096);
	T_EQ(s.geo.images_per_window, 32);
	T_EQ(s.geo.images_per_batch, 32);
	T_EQ(s.geo.image_out_bytes, 301056);
	T_EQ(s.tx_batch, 4096);
	T_EQ(s.rx_queue, 0);
	T_EQ(s.feature_dim, 2048);
	T_EQ(s.pca_every, 8);
	T_EQ(s.top_k, 8);
	T_OK(s.stats);
	T_OK(!s.has_eth_dst);
	T_EQ(s.tensor_kind, GW_MEM_DEVICE);
}

static void options_win(void)
{
	struct options o = { .config = config, .dataset = "x/y.pcap", .model = "resnet18", .images_per_batch = 8,
			     .seconds = 3, .threads = 2 };
	struct gw_diag d;
	struct settings s;

	T_RC(read_with("inference.onnx_path=m/any.onnx", &o, &s, &d), 0);
	T_STR(s.dataset_path, "x/y.pcap");
	T_STR(s.labels_path, "x/y.labels");
	T_STR(s.onnx_path, "m/resnet18_features.onnx");
	T_EQ(s.feature_dim, 512);
	T_EQ(s.geo.images_per_batch, 8);
	T_EQ(s.geo.images_per_window, 32);
	T_EQ(s.threads, 2);
	T_OK(!s.stats); /* bench mode */
	T_RC(read_with("inference.onnx_path=any.onnx", &o, &s, &d), 0);
	T_STR(s.onnx_path, "resnet18_features.onnx");
	T_RC(read_with("bench_tx.eth_dst_addr=02:00:00:00:00:07", &o, &s, &d), 0);
	T_OK(s.has_eth_dst);
	T_EQ(s.eth_dst[5], 7);
}

static void refused(const char *set, uint32_t images_per_batch, const char *names, const char *fix)
{
	struct options o = { .config = config, .images_per_batch = images_per_batch };
	struct gw_diag d;
	struct settings s;

	T_OK(read_with(set, &o, &s, &d) < 0);
	T_HAS(d.text, names);
	T_HAS(d.text, fix);
}

static void environment(void)
{
	struct options o = { .config = config };
	struct gw_diag d = { "" };
	char text[64];

	setenv("ETH_DST_ADDR", "02:00:00:00:00:2a", 1);
	T_RC(settings_from_environment(&o, text, &d), 0);
	T_STR(o.set[0], "bench_tx.0.eth_dst_addr=02:00:00:00:00:2a");
	o = (struct options){ .mode = MODE_RX };
	T_RC(settings_from_environment(&o, text, &d), 0);
	T_OK(!o.set[0]);
	setenv("ETH_DST_ADDR", "02:00", 1);
	o.mode = MODE_TX;
	T_RC(settings_from_environment(&o, text, &d), -EINVAL);
	T_HAS(d.text, "ETH_DST_ADDR=02:00");
	unsetenv("ETH_DST_ADDR");
}

int main(int argc, char **argv)
{
	struct settings s;

	T_NEED(argc == 2);
	config = argv[1];
	as_written();
	options_win();
	environment();
	refused(NULL, 24, "--images-per-batch 24", "use 16");
	refused(NULL, 64, "--images-per-batch 64", "use 32");
	refused("memory_regions.Reorder_RX_GPU.num_bufs=8", 0, "num_bufs", "9");
	refused("reorder.packets_per_image=96", 0, "packets_per_image", "64");
	refused("reorder.out_payload_len=1175", 0, "out_payload_len", "2350");
	refused("inference.height=112", 0, "packets_per_image", "588");
	refused("reorder.output_slot_stride=2350", 0, "output_slot_stride", "2352");
	refused("reorder.packets_per_batch=2048", 0, "packets_per_batch", "4096");
	T_RC(read_with(NULL, NULL, &s, NULL), 0);
	T_DONE();
}
