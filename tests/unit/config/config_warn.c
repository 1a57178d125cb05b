/* What is odd but allowed: one warning with file:line, path, value and advice, and the file loads. And what is
 * normal: no warning at all. Then the getters that programs use. */
#include <gpuwire/gpuwire.h>
#include <stdbool.h>

#include "base/alloc.h"
#include "ingest/config.h"
#include "t.h"

static char said[16384];
static int n_said;

static void sink(void *ctx, enum gw_log_level level, const char *line)
{
	T_EQ(level, GW_LOG_WARN);
	n_said++;
	if (strlen(said) + strlen(line) + 2 < sizeof(said))
		strcat(strcat(said, line), "\n");
}

#define HEAD                                                                                       \
	"version: 1\nmaster_core: 0\nstream_type: raw\nloopback: sw\n"                             \
	"memory_regions:\n"                                                                        \
	"- {name: rx, kind: host_pinned, affinity: 0, num_bufs: 16384, buf_size: 1240}\n"          \
	"- {name: out, kind: device, affinity: 0, num_bufs: 16, buf_size: 9633792}\n"
#define PORT                                                                                       \
	"interfaces:\n"                                                                            \
	"- name: rx_port\n"                                                                        \
	"  address: loopback\n"                                                                    \
	"  rx:\n"                                                                                  \
	"    queues:\n"                                                                            \
	"    - {name: q, id: 0, cpu_core: 1, batch_size: 8192, memory_regions: [rx]}\n"            \
	"    flows:\n"                                                                             \
	"    - {name: f, id: 1, action: {type: queue, id: 0}, match: {udp_dst: 4096}}\n"
#define PLAN(off, bits, width)                                                                     \
	"    reorder_configs:\n"                                                                   \
	"    - {name: p, reorder_type: gpu, memory_region: out, payload_byte_offset: " off         \
	", flow_ids: [1],\n"                                                                       \
	"       data_types: {input_type: int8, output_type: fp16}, method: "                       \
	"{seq_packets_per_batch: "                                                                 \
	"{packets_per_batch: 4096, sequence_number: {bit_offset: " bits ", bit_width: " width      \
	"}}}}\n"
#define TENSOR "reorder: {memory_region: out, seq_bit_width: 16}\n"

static const struct {
	const char *what, *text;
	const char *find, *with; /* one change */
	const char *has[3];      /* NULL first: nothing is said */
} cases[] = {
	{ .what = "a plain plan", .text = HEAD PORT PLAN("64", "128", "16") },
	{ .what = "a tensor", .text = HEAD PORT TENSOR },
	{ .what = "no 2^bits left",
	  .text = HEAD PORT PLAN("64", "128", "12"),
	  .has = { "reorder_configs.0: 2^12 = packets_per_batch", "the largest safe gap is "
								  "2047" } },
	{ .what = "slack without a tensor",
	  .text = HEAD PORT PLAN("64", "128", "16"),
	  .find = "buf_size: 1240",
	  .with = "buf_size: 1200" },
	{ .what = "field in the payload",
	  .text = HEAD PORT PLAN("64", "512", "16"),
	  .has = { "the number ends at bit 528, above bit 512", "at most 496" } },
	{ .what = "batch no multiple",
	  .text = HEAD PORT PLAN("64", "128", "16"),
	  .find = "batch_size: 8192",
	  .with = "batch_size: 5000",
	  .has = { "batch_size: value 5000 is no multiple of packets_per_batch 4096" } },
	{ .what = "batch above slots",
	  .text = HEAD PORT PLAN("64", "128", "16"),
	  .find = "num_bufs: 16384",
	  .with = "num_bufs: 8000",
	  .has = { "batch_size: value 8192 is above the queue's 8000 slots", "16384 never "
									     "starves" } },
	{ .what = "between floor and target",
	  .text = HEAD PORT TENSOR,
	  .find = "num_bufs: 16384",
	  .with = "num_bufs: 9000",
	  .has = { "num_bufs: value 9000 is above the deadlock floor 8192", "use 16384" } },
	{ .what = "a deadline on a tensor",
	  .text = HEAD PORT TENSOR,
	  .find = "batch_size: 8192",
	  .with = "batch_size: 8192, timeout_us: 20000",
	  .has = { "timeout_us: value 20000", "use 0" } },
	{ .what = "a deadline without one",
	  .text = HEAD PORT PLAN("64", "128", "16"),
	  .find = "batch_size: 8192",
	  .with = "batch_size: 8192, timeout_us: 20000" },
	{ .what = "memory a GPU cannot read",
	  .text = HEAD PORT PLAN("64", "128", "16"),
	  .find = "kind: host_pinned",
	  .with = "kind: huge",
	  .has = { "(text):6: memory_regions.0.kind: value huge", "use device or host_pinned" } },
	{ .what = "a region that nothing uses",
	  .text = HEAD PORT,
	  .has = { "(text):7: memory_regions.1: no queue and no plan uses region out" } },
	{ .what = "an unknown key",
	  .text = HEAD PORT TENSOR,
	  .find = "master_core: 0\n",
	  .with = "master_core: 0\nlog_levl: warn\n",
	  .has = { "(text):3: log_levl: unknown key", "did you mean log_level?" } },
	{ .what = "another version",
	  .text = HEAD PORT TENSOR,
	  .find = "version: 1",
	  .with = "version: 2",
	  .has = { "(text):1: version: value 2 is read as 1" } },
	{ .what = "frames that no flow waits for",
	  .text = HEAD PORT TENSOR "bench_tx: {payload_size: 1000, header_size: 64}\n",
	  .find = "{udp_dst: 4096}",
	  .with = "{ipv4_len: 1000}",
	  .has = { "header_size + payload_size - 14 = 1050 is not ipv4_len 1000", "use ipv4_len "
										  "1050" } },
	{ .what = "frames that a flow waits for",
	  .text = HEAD PORT TENSOR "bench_tx: {payload_size: 1000, header_size: 64}\n",
	  .find = "{udp_dst: 4096}",
	  .with = "{ipv4_len: 1050}" },
	{ .what = "frames that do not fit",
	  .text = HEAD PORT TENSOR "bench_tx: [{payload_size: 2000, header_size: 64}]\n",
	  .has = { "2064 is above the receive queue's buf_size 1240", "use buf_size 2064" } },
	{ .what = "a split where the header does not end",
	  .text = HEAD
	  "- {name: h, kind: huge, affinity: 0, num_bufs: 16384, buf_size: 64}\n" PORT
	  "bench_tx: {payload_size: 1176, header_size: 42}\n",
	  .find = "memory_regions: [rx]",
	  .with = "memory_regions: [h, rx]",
	  .has = { "bench_tx.header_size: header_size 42 is not the buf_size 64", "use 64" } },
	{ .what = "keys outside daqiri: cfg:",
	  .text = "engine: nic\ndaqiri:\n cfg: {version: 1, "
		  "master_core: 0, stream_type: raw, engine: 'null', memory_regions: [{name: a, "
		  "kind: host, "
		  "affinity: 0, num_bufs: 64, buf_size: 64}], interfaces: [{name: p, address: x, "
		  "rx: {queues: "
		  "[{name: q, id: 0, cpu_core: 0, batch_size: 8, memory_regions: [a]}]}}]}\n "
		  "other: 1\n",
	  .has = { "(text):1: engine: not used here", "(text):4: daqiri.other: unknown key" } },
};

static void one(size_t i)
{
	struct gw_config *c = NULL;
	struct gw_diag d = { "" };
	char text[4096];
	const char *p = cases[i].find ? strstr(cases[i].text, cases[i].find) : NULL;

	T_NEED(!cases[i].find == !p);
	if (p)
		snprintf(text, sizeof(text), "%.*s%s%s", (int)(p - cases[i].text), cases[i].text,
			 cases[i].with, p + strlen(cases[i].find));
	else
		snprintf(text, sizeof(text), "%s", cases[i].text);
	said[0] = '\0';
	n_said = 0;
	if (gw_config_load(text, NULL, &c, &d))
		T__FAIL("%s: %s", cases[i].what, d.text);
	for (int k = 0; k < 3 && cases[i].has[k]; k++)
		if (!strstr(said, cases[i].has[k]))
			T__FAIL("%s: no \"%s\" in: %s", cases[i].what, cases[i].has[k], said);
	if (!cases[i].has[0] && n_said)
		T__FAIL("%s: %s", cases[i].what, said);
	t__checks++;
	gw_config_free(c);
}

static void getters(void)
{
	static const char text[] =
		HEAD PORT "bench_rx: [{queue_id: 3, cpu_core: <CORE>}, {queue_id: 4}]\n"
			  "inference: {width: 224, onnx_path: a b}\nown: {n: -5, big: "
			  "18446744073709551616, s: \"\", m: {k: 1}, half: 1.5}\n";
	struct gw_config_opts o = { .sz = sizeof(o), .tx_only = false };
	const char *const set[] = { "CORE=7", NULL };
	struct gw_config *c = NULL;
	struct gw_diag d = { "" };
	const char *s = "kept";
	uint64_t u = 99;
	int64_t i = 99;
	bool b = true;
	char at[64];

	o.set = set;
	T_NEED(!gw_config_load(text, &o, &c, &d));
	T_RC(gw_config_u64(c, "bench_rx.1.queue_id", &u, &d), 1);
	T_EQ(u, 4);
	T_RC(gw_config_i64(c, "bench_rx.queue_id", &i, &d), 1);
	T_EQ(i, 3);
	T_RC(gw_config_i64(c, "bench_rx.0.cpu_core", &i, &d), 1);
	T_EQ(i, 7);
	T_RC(gw_config_i64(c, "bench_rx.1.cpu_core", &i, &d), 0);
	T_EQ(i, -1);
	T_RC(gw_config_u64(c, "bench_tx.0.batch_size", &u, &d), 0);
	T_EQ(u, 1024);
	T_RC(gw_config_bool(c, "stats.enabled", &b, &d), 0);
	T_OK(b);
	T_RC(gw_config_str(c, "inference.onnx_path", &s, &d), 1);
	T_STR(s, "a b");
	T_RC(gw_config_u64(c, "memory_regions.rx.num_bufs", &u, &d), 1);
	T_EQ(u, 16384);
	T_RC(gw_config_bool(c, "memory_regions.rx.owned", &b, &d), 0);
	T_OK(b);
	u = 99;
	T_RC(gw_config_u64(c, "interfaces.rx_port.rx.queues.q.timeout_us", &u, &d), 0);
	T_EQ(u, 0);
	T_RC(gw_config_u64(c, "interfaces.rx_port.rx.queues.q.timout_us", &u, &d), -ENOENT);
	T_RC(gw_config_str(c, "interfaces[0].rx.queues[0].memory_regions[0]", &s, &d), 1);
	T_STR(s, "rx");
	/* a program's own block, unknown to the table */
	T_RC(gw_config_i64(c, "own.n", &i, &d), 1);
	T_EQ(i, -5);
	T_RC(gw_config_str(c, "own.s", &s, &d), 1);
	T_STR(s, "");
	u = 99;
	T_RC(gw_config_u64(c, "own.n", &u, &d), -EINVAL);
	T_HAS(d.text, "(text):18: own.n: value -5 is not an unsigned");
	T_RC(gw_config_u64(c, "own.big", &u, &d), -ERANGE);
	T_RC(gw_config_u64(c, "own.half", &u, &d), -EINVAL);
	T_RC(gw_config_bool(c, "own.n", &b, &d), -EINVAL);
	T_RC(gw_config_u64(c, "own.m", &u, &d), -EINVAL);
	T_HAS(d.text, "not one value");
	T_RC(gw_config_u64(c, "own.none", &u, &d), -ENOENT);
	T_HAS(d.text, "no default");
	T_RC(gw_config_u64(c, "memory_regions.zz.num_bufs", &u, NULL), -ENOENT);
	T_EQ(u, 99);
	gw_config_where(c, "inference.width", at, sizeof(at));
	T_STR(at, "(text):17");
	gw_config_where(c, "nowhere.at.all", at, sizeof(at));
	T_STR(at, "(text)");
	gw_config_free(c);
	gw_config_free(NULL);
}

int main(void)
{
	gw_log_set(sink, NULL, GW_LOG_WARN);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		one(i);
	gw_log_set(NULL, NULL, GW_LOG_OFF);
	getters();
	T_EQ(gw__alloc_live(), 0);
	T_DONE();
}
