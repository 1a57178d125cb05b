/* ingest/config_table_apps.c: the blocks that programs read from the same file, one row a key; the lookups.
 * The library checks types, bounds and spelling and hands the text on; only `reorder` means something to it.
 * Source: DAQIRI configuration reference; rows marked OURS are gpuwire's. Next: config_reorder.c. */
#include <string.h>

#include "ingest/config_table.h"
#include "ingest/config_value.h"

#define U32_MAX_ 4294967295ull
#define I64_MAX_ 9223372036854775807ull
#define CORE_MAX 4095

#define HEAD .since = GW__SINCE_HEAD
#define OURS .since = GW__SINCE_OURS
#define REQ .required = true
#define INT(l, h) .type = GW__KEY_INT, .lo = (l), .hi = (h)
#define BOOL .type = GW__KEY_BOOL
#define STR .type = GW__KEY_STR
#define ENUM(w) .type = GW__KEY_ENUM, .words = (w)
#define MAP .type = GW__KEY_MAP
#define MAPLIST .type = GW__KEY_MAPLIST
#define MAC .type = GW__KEY_MAC
#define IPV4 .type = GW__KEY_IPV4
#define PORTS .type = GW__KEY_PORTS
#define DEF(d) .def = (d)
#define UNIT(u) .unit = (u)
#define IS(m) .meaning = (m)

/* The four client and server blocks have nearly the same keys. */
#define PEER_KEYS(b)                                                                               \
	{ b, MAPLIST, HEAD, IS("one end of a message benchmark") },                                \
		{ b "[].server", BOOL, HEAD, DEF("false"), IS("this end listens") },               \
		{ b "[].send", BOOL, HEAD, DEF("false"), IS("this end sends") },                   \
		{ b "[].receive", BOOL, HEAD, DEF("false"), IS("this end receives") },             \
		{ b "[].message_size", INT(1, U32_MAX_), HEAD,                                     \
		  DEF("1000"),         UNIT("bytes"),    IS("of one message") },                   \
		{ b "[].server_address", STR, HEAD, IS("IP address of the listening end") },       \
		{ b "[].server_port", INT(0, 65535), HEAD, DEF("4096"),                            \
		  IS("port of the listening end") },                                               \
		{ b "[].client_address", STR, HEAD, IS("IP address of the connecting end") },      \
	{                                                                                          \
		b "[].cpu_core", INT(-1, CORE_MAX), HEAD, DEF("-1"), UNIT("CPU core"),             \
			IS("-1 = not pinned")                                                      \
	}

const struct gw__key gw__app_keys[] = {
	{ "bench_tx", MAPLIST, HEAD, IS("what a benchmark sends; one map, or one per queue") },
	{ "bench_tx[].interface_name", STR, HEAD, DEF("tx_port"), IS("the port") },
	{ "bench_tx[].queue_id", INT(0, 31), HEAD, DEF("0"), IS("the queue") },
	{ "bench_tx[].cpu_core", INT(-1, CORE_MAX), HEAD, DEF("-1"), UNIT("CPU core"),
	  IS("-1 = not pinned") },
	{ "bench_tx[].batch_size", INT(1, U32_MAX_), HEAD, DEF("1024"), UNIT("packets"),
	  IS("of one burst") },
	{ "bench_tx[].payload_size", INT(0, 65535), HEAD, DEF("1000"), UNIT("bytes"),
	  IS("after the header") },
	{ "bench_tx[].header_size", INT(0, 65535), HEAD, DEF("64"), UNIT("bytes"),
	  IS("Ethernet to the payload") },
	{ "bench_tx[].udp_src_port", PORTS, HEAD, DEF("4096"),
	  IS("port or range a-b, used in turn") },
	{ "bench_tx[].udp_dst_port", PORTS, HEAD, DEF("4096"),
	  IS("port or range a-b, used in turn") },
	{ "bench_tx[].ip_src_addr", IPV4, HEAD, DEF("1.2.3.4"), IS("source address") },
	{ "bench_tx[].ip_dst_addr", IPV4, HEAD, DEF("5.6.7.8"), IS("destination address") },
	{ "bench_tx[].eth_src_addr", MAC, HEAD, DEF("02:00:00:00:00:01"), IS("source MAC") },
	{ "bench_tx[].eth_dst_addr", MAC, HEAD, DEF("02:00:00:00:00:02"), IS("destination MAC") },
	{ "bench_tx[].sequence_number_offset", INT(0, 65535), HEAD, DEF("0"), UNIT("bytes"),
	  IS("where a running number is written into the payload") },
	{ "bench_tx[].sequence_number_start", INT(0, U32_MAX_), HEAD, DEF("0"),
	  IS("its first value") },
	{ "bench_tx[].gpu_direct", STR, HEAD, IS("accepted, no effect") },
	{ "bench_tx[].split_boundary", STR, HEAD, IS("accepted, no effect") },
	{ "bench_tx[].target_gbps", STR, OURS, DEF("0"), UNIT("Gbit/s"),
	  IS("pace; 0 = as fast as possible") },

	{ "bench_rx", MAPLIST, HEAD, IS("what a benchmark receives; one map, or one per queue") },
	{ "bench_rx[].interface_name", STR, HEAD, DEF("rx_port"), IS("the port") },
	{ "bench_rx[].queue_id", INT(-1, 31), HEAD, DEF("-1"), IS("the queue; -1 = all") },
	{ "bench_rx[].cpu_core", INT(-1, CORE_MAX), HEAD, DEF("-1"), UNIT("CPU core"),
	  IS("-1 = not pinned") },
	{ "bench_rx[].batch_size", INT(1, U32_MAX_), HEAD, DEF("1024"), UNIT("packets"),
	  IS("accepted, no effect") },
	{ "bench_rx[].max_packet_size", INT(0, 65535), HEAD, DEF("0"), UNIT("bytes"),
	  IS("accepted, no effect") },
	{ "bench_rx[].header_size", INT(0, 65535), HEAD, DEF("64"), UNIT("bytes"),
	  IS("Ethernet to the payload") },
	{ "bench_rx[].payload_size", INT(0, 65535), HEAD, DEF("1000"), UNIT("bytes"),
	  IS("after the header") },
	{ "bench_rx[].gpu_direct", STR, HEAD, IS("accepted, no effect") },
	{ "bench_rx[].split_boundary", STR, HEAD, IS("accepted, no effect") },

	PEER_KEYS("rdma_bench_server"),
	{ "rdma_bench_server[].rx_depth", INT(1, U32_MAX_), HEAD, DEF("128"), UNIT("messages"),
	  IS("posted at once") },
	{ "rdma_bench_server[].tx_depth", INT(1, U32_MAX_), HEAD, DEF("128"), UNIT("messages"),
	  IS("in flight") },
	PEER_KEYS("rdma_bench_client"),
	{ "rdma_bench_client[].rx_depth", INT(1, U32_MAX_), HEAD, DEF("128"), UNIT("messages"),
	  IS("posted at once") },
	{ "rdma_bench_client[].tx_depth", INT(1, U32_MAX_), HEAD, DEF("128"), UNIT("messages"),
	  IS("in flight") },
	PEER_KEYS("socket_bench_server"),
	{ "socket_bench_server[].iterations", INT(0, I64_MAX_), HEAD, DEF("0"),
	  IS("messages; 0 = until time is up") },
	PEER_KEYS("socket_bench_client"),
	{ "socket_bench_client[].iterations", INT(0, I64_MAX_), HEAD, DEF("0"),
	  IS("messages; 0 = until time is up") },

	{ "bench_reorder_quantize", MAP, HEAD, IS("what the conversion benchmark verifies") },
	{ "bench_reorder_quantize.input_type", ENUM("int4|int8|int16|int32"), HEAD, DEF("int8"),
	  IS("on the wire") },
	{ "bench_reorder_quantize.output_type", ENUM("int8|int32|fp16|bf16|fp32|fp64"), HEAD,
	  DEF("fp16"), IS("in the tensor") },
	{ "bench_reorder_quantize.endianness", ENUM("host|network"), HEAD, DEF("host"),
	  IS("byte order of the input") },
	{ "bench_reorder_quantize.verify_batches", INT(0, U32_MAX_), HEAD, DEF("1"),
	  IS("windows compared") },
	{ "bench_reorder_quantize.verify_chunks", INT(0, U32_MAX_), HEAD, DEF("1"),
	  IS("slots compared of each") },
	{ "bench_reorder_quantize.chunk_elements", INT(1, U32_MAX_), HEAD, DEF("256"),
	  IS("elements of a slot") },

	/* ---- the image pipeline ---- */
	{ "reorder", MAP, HEAD,
	  IS("declares the tensor: the plan is made from it and the geometry is checked") },
	{ "reorder.reorder_name", STR, HEAD, DEF("reorder"), IS("the plan's name") },
	{ "reorder.memory_region", STR, HEAD,
	  IS("the tensors' region; default: the one that no queue uses") },
	{ "reorder.reorder_type", ENUM("gpu|cpu"), HEAD, DEF("gpu"),
	  IS("who copies and converts") },
	{ "reorder.input_type", ENUM("int4|int8|int16|int32"), OURS, DEF("int8"),
	  IS("on the wire") },
	{ "reorder.output_type", ENUM("int8|int32|fp16|bf16|fp32|fp64"), HEAD, DEF("fp16"),
	  IS("in the tensor") },
	{ "reorder.endianness", ENUM("host|network"), OURS, DEF("host"),
	  IS("byte order of 16 and 32 bit input") },
	{ "reorder.flow_ids", .type = GW__KEY_INTS, .lo = 0, .hi = 65535, HEAD,
	  IS("the flows that feed it; default: all of the receiving port") },
	{ "reorder.out_payload_len", INT(1, 65535), HEAD, DEF("1176"), UNIT("bytes"),
	  IS("payload of one packet") },
	{ "reorder.output_slot_stride", INT(1, U32_MAX_), HEAD, DEF("2352"), UNIT("bytes"),
	  IS("one packet's payload after conversion") },
	{ "reorder.packets_per_image", INT(1, 1048576), HEAD, DEF("128"), UNIT("packets"),
	  IS("a power of two") },
	{ "reorder.images_per_batch", INT(1, 1048576), HEAD, DEF("32"), UNIT("images"),
	  IS("a power of two") },
	{ "reorder.packets_per_batch", INT(1, U32_MAX_), HEAD, UNIT("packets"),
	  IS("default: packets_per_image x images_per_batch, and nothing else") },
	{ "reorder.payload_byte_offset", INT(0, 65535), HEAD, DEF("64"), UNIT("bytes"),
	  IS("where the payload starts") },
	{ "reorder.seq_bit_offset", INT(0, 65535), HEAD, DEF("128"), UNIT("bits"),
	  IS("from the first bit of the frame") },
	{ "reorder.seq_bit_width", INT(1, 32), HEAD, DEF("12"), UNIT("bits"),
	  IS("width of the running number") },
	{ "reorder.image_out_bytes", INT(1, I64_MAX_), HEAD, UNIT("bytes"),
	  IS("one image after conversion; default: packets_per_image x output_slot_stride, and "
	     "nothing else") },
	{ "reorder.missing_action", ENUM("passthrough|drop"), OURS, DEF("passthrough"),
	  IS("hand over a window with holes, marked, or drop it, counted") },
	{ "reorder.fill", ENUM("zero|keep|poison"), OURS, DEF("zero"),
	  IS("what a hole in a tensor holds") },
	{ "reorder.consecutive_windows", INT(1, 65536), OURS, DEF("1"), UNIT("windows"),
	  IS("so many lie side by side, for one inference batch; num_bufs holds two such runs, and a run is "
	     "used again when all of it came back") },

	{ "inference", MAP, HEAD, IS("the network and the thread it runs on") },
	{ "inference.onnx_path", STR, HEAD, DEF("models/resnet50_features.onnx"), IS("the model") },
	{ "inference.engine_path", STR, HEAD, DEF(""),
	  IS("where the prepared plan is kept; empty = the cache folder") },
	{ "inference.enable_fp16", BOOL, HEAD, DEF("true"), IS("the input binding is fp16") },
	{ "inference.precision", ENUM("auto|fp32|bf16|fp16|int8"), OURS, DEF("auto"),
	  IS("what the network computes in; auto: what the device does best without losing "
	     "accuracy") },
	{ "inference.threads", INT(0, 1024), OURS, DEF("0"),
	  IS("of the CPU network; 0 = one per core") },
	{ "inference.channels", INT(1, 65535), HEAD, DEF("3"), IS("of the input image") },
	{ "inference.height", INT(1, 65535), HEAD, DEF("224"), UNIT("pixels"),
	  IS("of the input image") },
	{ "inference.width", INT(1, 65535), HEAD, DEF("224"), UNIT("pixels"),
	  IS("of the input image") },
	{ "inference.feature_dim", INT(1, 1048576), HEAD, DEF("2048"),
	  IS("length of one feature vector") },
	{ "inference.opt_min", INT(1, 65536), HEAD, DEF("1"), UNIT("images"),
	  IS("smallest batch planned for") },
	{ "inference.opt_avg", INT(1, 65536), HEAD, DEF("32"), UNIT("images"),
	  IS("usual batch planned for") },
	{ "inference.opt_max", INT(1, 65536), HEAD, DEF("32"), UNIT("images"),
	  IS("largest batch planned for") },
	{ "inference.cpu_core", INT(-1, CORE_MAX), HEAD, DEF("-1"), UNIT("CPU core"),
	  IS("-1 = not pinned") },
	{ "inference.input_name", STR, HEAD, DEF("input"), IS("the model's input") },
	{ "inference.output_name", STR, HEAD, DEF("features"), IS("the model's output") },
	{ "inference.pca_every_n_batches", INT(0, U32_MAX_), HEAD, DEF("8"), UNIT("batches"),
	  IS("how often a pc1=/pc2= line is printed; 0 = never") },
	{ "inference.enable_cuda_graph", BOOL, HEAD, DEF("false"), IS("replay a captured graph") },
	{ "inference.enable_dual_context", BOOL, HEAD, DEF("false"), IS("two batches in flight") },

	{ "dataset", MAP, HEAD, IS("what the sender replays") },
	{ "dataset.pcap_path", STR, HEAD, DEF("data/cifar10_resnet.pcap"), IS("the capture") },
	{ "dataset.labels_path", STR, HEAD, DEF(""),
	  IS("one class a line; empty = the capture's name + .labels") },
	{ "stats", MAP, HEAD, IS("what is printed of the features") },
	{ "stats.enabled", BOOL, HEAD, DEF("true"), IS("collect feature statistics") },
	{ "stats.top_k", INT(0, 65535), HEAD, DEF("8"), IS("dimensions printed of each class") },
	{ .path = NULL },
};

const struct gw__key *gw__key_nth(size_t i)
{
	static size_t n_lib; /* the same value whoever writes it first */
	size_t n = __atomic_load_n(&n_lib, __ATOMIC_RELAXED);

	if (!n) {
		while (gw__keys[n].path)
			n++;
		__atomic_store_n(&n_lib, n, __ATOMIC_RELAXED);
	}
	if (i < n)
		return &gw__keys[i];
	i -= n;
	/* the caller walks upwards from 0, so the first row without a path ends it */
	return gw__app_keys[i].path ? &gw__app_keys[i] : NULL;
}

static bool has_children(const struct gw__key *k)
{
	return k->type == GW__KEY_MAP || k->type == GW__KEY_LIST || k->type == GW__KEY_MAPLIST;
}

/* Is row's path parent's + one more part? */
static bool is_child(const struct gw__key *parent, const struct gw__key *row)
{
	const char *p = parent ? (parent->group ? parent->group : parent->path) : "";
	const char *rest = row->path;
	size_t n = strlen(p);

	if (!parent)
		return *rest != '$' && !strchr(rest, '.');
	if (strncmp(rest, p, n))
		return false;
	rest += n;
	if (!parent->group && parent->type != GW__KEY_MAP) {
		if (strncmp(rest, "[]", 2))
			return false;
		rest += 2;
	}
	return *rest == '.' && !strchr(rest + 1, '.');
}

const struct gw__key *gw__key_next(const struct gw__key *parent, const struct gw__key *prev)
{
	const struct gw__key *k;
	bool past = !prev;

	if (parent && !has_children(parent))
		return NULL;
	for (size_t i = 0; (k = gw__key_nth(i)) != NULL; i++) {
		if (past && is_child(parent, k))
			return k;
		past = past || k == prev;
	}
	return NULL;
}

const char *gw__key_name(const struct gw__key *row)
{
	const char *dot = strrchr(row->path, '.');

	return dot ? dot + 1 : row->path;
}

const struct gw__key *gw__key_child(const struct gw__key *parent, const char *key)
{
	const struct gw__key *k;

	if (parent && !has_children(parent))
		return NULL;
	for (size_t i = 0; (k = gw__key_nth(i)) != NULL; i++)
		if (is_child(parent, k) && !strcmp(gw__key_name(k), key))
			return k;
	return NULL;
}

const struct gw__key *gw__key_nearest(const struct gw__key *parent, const char *key)
{
	const struct gw__key *best = NULL, *k = NULL;
	int limit = strlen(key) < 5 ? 2 : 4, d;

	while ((k = gw__key_next(parent, k)) != NULL) {
		d = gw__edit_distance(key, gw__key_name(k), limit);
		if (d < limit) {
			limit = d;
			best = k;
		}
	}
	return best;
}

bool gw__key_in_library(const struct gw__key *row)
{
	for (const struct gw__key *k = gw__app_keys; k->path; k++)
		if (k == row)
			return false;
	return true;
}

bool gw__key_is_number(const struct gw__key *row)
{
	return row->type == GW__KEY_INT || row->type == GW__KEY_INTS;
}

bool gw__key_has_word(const char *words, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = words;; p++) {
		const char *end = strchrnul(p, '|');

		if ((size_t)(end - p) == n && !memcmp(p, word, n))
			return true;
		if (!*end)
			return false;
		p = end;
	}
}
