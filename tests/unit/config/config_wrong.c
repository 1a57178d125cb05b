/* Every kind of wrong configuration: refused before start, with file:line, key, value, bound and what to write
 * instead. Each case changes one place of a good file; the line expected is counted, not written down. */
#include <gpuwire/gpuwire.h>
#include <stdbool.h>

#include "base/alloc.h"
#include "ingest/config.h"
#include "t.h"

static const char good[] = "daqiri:\n"
			   "  cfg:\n"
			   "    version: 1\n"
			   "    master_core: 0\n"
			   "    stream_type: raw\n"
			   "    loopback: sw\n"
			   "    memory_regions:\n"
			   "    - name: Data_RX\n"
			   "      kind: host_pinned\n"
			   "      affinity: 0\n"
			   "      num_bufs: 32768   # slots\n"
			   "      buf_size: 1240    # slot\n"
			   "    - name: Tensors\n"
			   "      kind: device\n"
			   "      affinity: 0\n"
			   "      num_bufs: 16      # windows\n"
			   "      buf_size: 9633792 # window\n"
			   "    - name: Data_TX\n"
			   "      kind: huge\n"
			   "      affinity: 0\n"
			   "      num_bufs: 16384   # tx slots\n"
			   "      buf_size: 1240    # tx slot\n"
			   "    interfaces:\n"
			   "    - name: tx_port\n"
			   "      address: loopback # tx\n"
			   "      tx:\n"
			   "        queues:\n"
			   "        - name: txq\n"
			   "          id: 0           # txq\n"
			   "          cpu_core: -1    # txq\n"
			   "          batch_size: 4096\n"
			   "          memory_regions: [Data_TX]\n"
			   "    - name: rx_port\n"
			   "      address: loopback # rx\n"
			   "      rx:\n"
			   "        queues:\n"
			   "        - name: rxq\n"
			   "          id: 0           # rxq\n"
			   "          cpu_core: -1    # rxq\n"
			   "          batch_size: 8192\n"
			   "          timeout_us: 0\n"
			   "          memory_regions: [Data_RX]\n"
			   "        flows:\n"
			   "        - name: images\n"
			   "          id: 201\n"
			   "          action: {type: queue, id: 0}\n"
			   "          match: {udp_dst: 4096}\n"
			   "bench_tx: {interface_name: tx_port, batch_size: 4096, payload_size: "
			   "1176}\n"
			   "bench_rx: {interface_name: rx_port}\n"
			   "reorder:\n"
			   "  memory_region: Tensors\n"
			   "  out_payload_len: 1176\n"
			   "  output_slot_stride: 2352\n"
			   "  packets_per_image: 128\n"
			   "  images_per_batch: 32\n"
			   "  payload_byte_offset: 64\n"
			   "  seq_bit_offset: 128\n"
			   "  seq_bit_width: 13\n";

/* The good file's receive queue and flow, and the same with a second queue. */
#define ONE_QUEUE "          memory_regions: [Data_RX]\n        flows:\n        - name: images\n          id: 201\n" \
		  "          action: {type: queue, id: 0}\n"
#define TWO_QUEUES(second) "          memory_regions: [Data_RX]\n        - {name: q1, id: 1, " second "}\n"
#define FLOWS(ids) "        flows:\n        - name: images\n          id: 201\n          action: {type: queue, " ids "}\n"
#define PLAN(name, flow) "        - {name: " name ", reorder_type: gpu, memory_region: Tensors, payload_byte_offset: 64, " \
			 "flow_ids: [" flow "], method: {seq_packets_per_batch: {sequence_number: {bit_offset: 128, " \
			 "bit_width: 32}, packets_per_batch: 4096}}}\n"

struct wrong {
	const char *what, *find, *replace;
	const char
		*at; /* the line that the error must name holds this text; NULL = the replacement */
	const char *has[6]; /* key, value, bound, fix */
	int err;            /* 0 = -EINVAL */
	bool strict, two_queues;
};

static const struct wrong cases[] = {
	/* a declared tensor */
	{ "slack", "buf_size: 1240    # slot", "buf_size: 1280", NULL,
	  .has = { "memory_regions.0.buf_size", "1280", "1240", "slack", "use 1240" } },
	{ "too small for the packet", "buf_size: 1240    # slot", "buf_size: 1200", NULL,
	  .has = { "buf_size", "1200", "below", "use 1240" } },
	{ "batch no multiple", "batch_size: 8192", "batch_size: 6000", NULL,
	  .has = { "rx.queues.0.batch_size", "6000", "packets_per_batch 4096",
		   "use 4096 or 8192" } },
	{ "field past the payload's start", "seq_bit_offset: 128", "seq_bit_offset: 504", NULL,
	  .has = { "reorder.seq_bit_offset", "517", "512", "at most 499" } },
	{ "field outside the packet", "seq_bit_offset: 128", "seq_bit_offset: 9910", NULL,
	  .has = { "reorder.seq_bit_offset", "9923", "9920 bits", "at most 9907" } },
	{ "batch larger than slots", "num_bufs: 32768   # slots", "num_bufs: 4096",
	  "batch_size: 8192",
	  .has = { "batch_size", "8192", "4096 slots", "at most 4096", "num_bufs 16384" } },
	{ "slots below the floor", "batch_size: 8192", "batch_size: 4096", "num_bufs: 6000",
	  .has = { "memory_regions.0.num_bufs", "6000", "deadlock floor 8192", "use 12288" } },
	{ "2^bits against packets_per_batch", "seq_bit_width: 13", "seq_bit_width: 11",
	  "reorder:", .has = { "packets_per_batch 4096", "2^11", "use 2048" } },
	{ "output too small", "buf_size: 9633792 # window", "buf_size: 9633791", NULL,
	  .has = { "memory_regions.1.buf_size", "9633791", "4096 x 2352", "use 9633792" } },
	{ "too few tensors", "num_bufs: 16      # windows", "num_bufs: 8", NULL,
	  .has = { "memory_regions.1.num_bufs", "8", "below 9", "use 9 or more" } },
	{ "numbers too narrow to merge", ONE_QUEUE,
	  TWO_QUEUES("cpu_core: -1, batch_size: 8192, memory_regions: [Data_RX]") FLOWS("ids: [0, 1]"), "reorder:",
	  .has = { "13 bits", "2 queues", "32768 buffers", "bit_width 17", "fewer buffers" } },
	{ "queues too small to merge", "num_bufs: 32768   # slots", "num_bufs: 16000", "reorder:",
	  .has = { "16000 buffers", "2 queues", "4096 packets", "num_bufs 16384" }, .two_queues = true },
	{ "gaps in a run of windows", "seq_bit_width: 13\n",
	  "seq_bit_width: 13\n  consecutive_windows: 2\n  missing_action: drop\n", "missing_action: drop",
	  .has = { "reorder.missing_action", "drop", "consecutive_windows 2", "passthrough" } },
	{ "merged from different memory", ONE_QUEUE,
	  TWO_QUEUES("cpu_core: -1, batch_size: 4096, memory_regions: [Data_TX]") FLOWS("ids: [0, 1]"), "reorder:",
	  .has = { "queues 0 and 1", "different memory_regions", "use the same" } },
	{ "merged, one region for two segments", ONE_QUEUE,
	  "          memory_regions: [Data_RX, Data_RX]\n        - {name: q1, id: 1, cpu_core: -1, batch_size: 8192, "
	  "memory_regions: [Data_RX, Data_RX]}\n" FLOWS("ids: [0, 1]"), "reorder:",
	  .has = { "queue 0", "region Data_RX for two segments", "region for each" } },
	{ "merged and polled directly", ONE_QUEUE, TWO_QUEUES("poll_mode: direct, memory_regions: [Data_RX]") FLOWS("ids: [0, 1]"),
	  "reorder:", .has = { "queue 1", "polled directly", "indirect" } },
	{ "flows of one plan to different queues", ONE_QUEUE,
	  TWO_QUEUES("cpu_core: -1, batch_size: 8192, memory_regions: [Data_RX]")
	  FLOWS("id: 1") "          match: {udp_dst: 9}\n        - name: more\n          id: 202\n"
	  "          action: {type: queue, id: 0}\n", "reorder:",
	  .has = { "flow 202", "queue 0, the others to 1", "same queues" } },
	{ "a flow to no queue", ONE_QUEUE, "          memory_regions: [Data_RX]\n        flows:\n        - name: images\n"
	  "          id: 201\n          action: {type: drop}\n", "reorder:", .has = { "flow 201", "no queue" } },
	{ "a queue merged by one plan and used by another", ONE_QUEUE,
	  TWO_QUEUES("cpu_core: -1, batch_size: 8192, memory_regions: [Data_RX]")
	  "        reorder_configs:\n" PLAN("p", "201") PLAN("q", "202")
	  FLOWS("ids: [0, 1]") "          match: {udp_dst: 9}\n        - name: more\n          id: 202\n"
	  "          action: {type: queue, id: 1}\n", "name: q,",
	  .has = { "queue 1 feeds plan p too", "queues of its own" } },
	{ "no two runs", "seq_bit_width: 13\n", "seq_bit_width: 13\n  consecutive_windows: 9\n", "num_bufs: 16",
	  .has = { "memory_regions.1.num_bufs", "16", "consecutive_windows 9", "use at least 18" } },
	{ "a gap between windows", "images_per_batch: 32", "images_per_batch: 16\n  consecutive_windows: 2",
	  "buf_size: 9633792", .has = { "memory_regions.1.buf_size", "9633792", "gap", "use 4816896" } },
	{ "windows that cannot touch", "packets_per_image: 128\n  images_per_batch: 32",
	  "packets_per_image: 1\n  images_per_batch: 4\n  consecutive_windows: 2", "buf_size: 9633792",
	  .has = { "memory_regions.1.buf_size", "9408 bytes", "multiples of 128", "use consecutive_windows 1" } },
	{ "packets_per_image no power of two", "packets_per_image: 128", "packets_per_image: 100",
	  NULL, .has = { "reorder.packets_per_image", "100", "power of two", "use 64 or 128" } },
	{ "images_per_batch no power of two", "images_per_batch: 32", "images_per_batch: 33", NULL,
	  .has = { "reorder.images_per_batch", "33", "power of two", "use 32 or 64" } },
	{ "packets_per_batch not the product", "images_per_batch: 32",
	  "images_per_batch: 32\n  packets_per_batch: 4000", "packets_per_batch: 4000",
	  .has = { "reorder.packets_per_batch", "4000", "128", "use 4096" } },
	{ "stride not the converted payload", "output_slot_stride: 2352",
	  "output_slot_stride: 2400", NULL,
	  .has = { "reorder.output_slot_stride", "2400", "1176", "use 2352" } },
	{ "image not what the network reads", "  seq_bit_width: 13\n",
	  "  seq_bit_width: 13\ninference: {height: 112, width: 112}\n", "packets_per_image",
	  .has = { "reorder.packets_per_image", "301056", "3 x 112 x 112",
		   "use out_payload_len 294" } },
	{ "image_out_bytes not the product", "images_per_batch: 32", "image_out_bytes: 300000",
	  NULL, .has = { "reorder.image_out_bytes", "300000", "128 x 2352", "use 301056" } },
	{ "both reorder and reorder_configs", "        flows:\n",
	  "        reorder_configs:\n        - {name: p, reorder_type: gpu, memory_region: "
	  "Tensors, payload_byte_offset: 64, "
	  "flow_ids: [201], method: {seq_packets_per_batch: {sequence_number: {bit_offset: 128, "
	  "bit_width: 13}, "
	  "packets_per_batch: 4096}}}\n        flows:\n",
	  "reorder:\n", .has = { "reorder", "line 44", "remove reorder_configs" } },
	{ "payload beyond the packet", "payload_byte_offset: 64", "payload_byte_offset: 1240", NULL,
	  .has = { "reorder.payload_byte_offset", "1240", "1240 bytes", "at most 1239" } },
	{ "ppb above batch_size", "batch_size: 8192", "batch_size: 2048", "reorder:",
	  .has = { "packets_per_batch 4096", "batch_size 2048", "use batch_size 4096" } },
	{ "another GPU", "kind: host_pinned\n      affinity: 0", "kind: device\n      affinity: 1",
	  "affinity: 0\n      num_bufs: 16 ",
	  .has = { "memory_regions.1.affinity", "value 0", "Data_RX", "use 1" } },
	/* names */
	{ "undefined region", "[Data_RX]", "[Data_RY]", NULL,
	  .has = { "rx.queues.0.memory_regions.0", "Data_RY", "not defined", "use Data_RX" } },
	{ "undefined tensor region", "memory_region: Tensors", "memory_region: Tensor", NULL,
	  .has = { "reorder.memory_region", "Tensor ", "not defined", "use " } },
	{ "missing queue", "{type: queue, id: 0}", "{type: queue, id: 3}", NULL,
	  .has = { "flows.0.action.id", "queue 3", "does not exist", "use 0" } },
	{ "missing flow", "  memory_region: Tensors", "  memory_region: Tensors\n  flow_ids: [7]",
	  "flow_ids", .has = { "reorder.flow_ids.0", "flow 7", "does not exist", "use 201" } },
	{ "duplicate region", "- name: Tensors\n      kind: device",
	  "- name: Data_RX\n      kind: device", NULL,
	  .has = { "memory_regions.1.name", "Data_RX", "duplicate of line 8", "another name" } },
	{ "duplicate interface", "- name: rx_port", "- name: tx_port # twin", "# twin",
	  .has = { "interfaces.1.name", "tx_port", "duplicate of line 24", "another name" } },
	{ "duplicate flow id", "          match: {udp_dst: 4096}\n",
	  "          match: {udp_dst: 4096}\n        - {name: b, id: 201, action: {type: queue, "
	  "id: 0}}\n",
	  "name: b", .has = { "flows.1.id", "201", "duplicate", "another id" } },
	{ "duplicate queue id", "        flows:\n",
	  "        - {name: b, id: 0, cpu_core: 1, batch_size: 8192, memory_regions: [Data_RX]}\n  "
	  "      flows:\n",
	  "name: b", .has = { "queues.1.id", "value 0", "duplicate of line 37", "another id" } },
	{ "a key twice", "master_core: 0", "version: 2", NULL,
	  .has = { "version", "twice", "line 3", "remove one" }, -EPROTO },
	{ "misspelt key, strict", "timeout_us: 0", "timout_us: 0", NULL,
	  .has = { "rx.queues.0.timout_us", "unknown key", "did you mean timeout_us?" }, 0, true },
	{ "misspelt required key", "batch_size: 8192", "batchsize: 8192", NULL,
	  .has = { "rx.queues.0.batchsize", "unknown key", "did you mean batch_size?" } },
	{ "missing required key", "      affinity: 0\n      num_bufs: 16384",
	  "      num_bufs: 16384", "- name: Data_TX",
	  .has = { "memory_regions.2", "affinity: missing", "NUMA node" } },
	{ "older key", "loopback: sw", "manager: dpdk", NULL,
	  .has = { "manager", "older", "write engine:" } },
	{ "no interfaces", "    interfaces:\n", "    interfacess:\n", NULL,
	  .has = { "interfacess", "unknown key", "did you mean interfaces?" } },
	/* values */
	{ "placeholder left in", "cpu_core: -1    # rxq", "cpu_core: <CPU_CORE>", NULL,
	  .has = { "rx.queues.0.cpu_core", "<CPU_CORE>", "placeholder",
		   "--set interfaces.1.rx.queues.0.cpu_core=VALUE" } },
	{ "above the bound", "id: 201", "id: 65536", NULL,
	  .has = { "flows.0.id", "65536", "above 65535", "use at most 65535" } },
	{ "below the bound", "num_bufs: 16      # windows", "num_bufs: 0", NULL,
	  .has = { "memory_regions.1.num_bufs", "value 0", "below 1", "use at least 1" } },
	{ "negative", "num_bufs: 16      # windows", "num_bufs: -16", NULL,
	  .has = { "memory_regions.1.num_bufs", "-16", "below 1", "use at least 1" } },
	{ "2^64", "num_bufs: 16      # windows", "num_bufs: 18446744073709551616", NULL,
	  .has = { "num_bufs", "18446744073709551616", "above 4294967295",
		   "use at most 4294967295" } },
	{ "leading zero", "num_bufs: 16      # windows", "num_bufs: 08", NULL,
	  .has = { "num_bufs", "value 08", "leading zeros", "use 8", "1 to 4294967295" } },
	{ "float", "num_bufs: 16      # windows", "num_bufs: 1e3", NULL,
	  .has = { "num_bufs", "1e3", "not an integer", "use 1000" } },
	{ "trailing junk", "num_bufs: 16      # windows", "num_bufs: 16k", NULL,
	  .has = { "num_bufs", "16k", "not an integer", "use 16" } },
	{ "text for a number", "num_bufs: 16      # windows", "num_bufs: many", NULL,
	  .has = { "num_bufs", "many", "not an integer", "use 1 to 4294967295" } },
	{ "bad word", "kind: huge", "kind: hugs", NULL,
	  .has = { "memory_regions.2.kind", "\"hugs\"", "unknown",
		   "use huge or one of huge, device, host_pinned, host" } },
	{ "indentation", "timeout_us: 0\n", "timeout_us: 0\n       x: 0\n", "x: 0",
	  .has = { "not YAML" }, -EPROTO },
	{ "neither true nor false", "      rx:\n", "      rx:\n        flow_isolation: maybe\n",
	  "flow_isolation", .has = { "rx.flow_isolation", "maybe", "use true or false" } },
	{ "reversed range", "{udp_dst: 4096}", "{udp_dst: 1010-1000}", NULL,
	  .has = { "match.udp_dst", "1010-1000", "reversed", "use 1000-1010" } },
	{ "port above 65535", "{udp_dst: 4096}", "{udp_dst: 70000}", NULL,
	  .has = { "match.udp_dst", "70000", "above 65535", "use 0 to 65535" } },
	{ "range past the end", "{udp_dst: 4096}", "{udp_dst: 1000-70000}", NULL,
	  .has = { "match.udp_dst", "1000-70000", "above 65535" } },
	{ "no address", "{udp_dst: 4096}", "{ipv4_src: 10.0.0.256}", NULL,
	  .has = { "match.ipv4_src", "10.0.0.256", "not an IPv4 address", "10.0.0.1" } },
	{ "no MAC", "bench_tx: {", "bench_tx: {eth_dst_addr: 02:00:00:00:00, ", NULL,
	  .has = { "bench_tx.eth_dst_addr", "02:00:00:00:00", "not a MAC", "02:00:00:00:00:01" } },
	{ "unknown conversion", "  memory_region: Tensors",
	  "  memory_region: Tensors\n  input_type: uint8", "uint8",
	  .has = { "reorder.input_type", "uint8", "unknown",
		   "use int8 or one of int4, int8, int16, int32" } },
	{ "half a conversion", "        flows:\n",
	  "        reorder_configs:\n        - {name: p, reorder_type: gpu, memory_region: "
	  "Tensors, payload_byte_offset: 64, "
	  "data_types: {input_type: int8}, flow_ids: [201], method: {seq_packets_per_batch: "
	  "{sequence_number: "
	  "{bit_offset: 128, bit_width: 13}, packets_per_batch: 4096}}}\n        flows:\n",
	  "data_types", .has = { "reorder_configs.0.data_types", "output_type: missing" } },
	{ "no such type", "  memory_region: Tensors",
	  "  memory_region: Tensors\n  output_type: fp17", "fp17",
	  .has = { "reorder.output_type", "fp17", "unknown", "use fp16" } },
	/* shapes */
	{ "a map for a list", "[Data_RX]", "{Data_RX: 1}", NULL,
	  .has = { "rx.queues.0.memory_regions", "a map", "write a list" } },
	{ "one value for a list", "[Data_RX]", "Data_RX # bare", "# bare",
	  .has = { "rx.queues.0.memory_regions", "one value", "write a list: [Data_RX]" } },
	{ "a list for a value", "timeout_us: 0", "timeout_us: [0]", NULL,
	  .has = { "rx.queues.0.timeout_us", "a list", "write one value" } },
	{ "a value for a map", "{udp_dst: 4096}", "4096 # bare", "# bare",
	  .has = { "flows.0.match", "one value", "write a map" } },
	{ "five segments", "[Data_RX]", "[Data_RX, Data_RX, Data_RX, Data_RX, Data_RX]", NULL,
	  .has = { "memory_regions", "5 regions", "above 4", "use at most 4" } },
	/* rules */
	{ "queue and queues", "{type: queue, id: 0}", "{type: queue, id: 0, ids: [0]}", NULL,
	  .has = { "action.id", "together with ids", "use one" } },
	{ "flow without an end", "action: {type: queue, id: 0}", "actions: [{type: vlan_pop}]",
	  NULL,
	  .has = { "flows.0.actions", "does not end in a queue", "add {type: queue, id: 0}" } },
	{ "push on receive", "action: {type: queue, id: 0}",
	  "actions: [{type: vlan_push, vlan_id: 1}, {type: queue, id: 0}]", NULL,
	  .has = { "actions.0.type", "vlan_push", "tx flows", "use queue" } },
	{ "flex item that is not there", "{udp_dst: 4096}", "{flex_item_id: 3, val: 1, mask: 1}",
	  NULL, .has = { "match.flex_item_id", "value 3", "no flex item", "define it" } },
	{ "flex offset", "        flows:\n",
	  "        flex_items:\n        - {name: f, id: 1, udp_dst_port: 5, offset: 6}\n        "
	  "flows:\n",
	  "offset: 6", .has = { "flex_items.0.offset", "value 6", "multiple of 4", "use 4 or 8" } },
	{ "direct polling with a core", "timeout_us: 0", "poll_mode: direct",
	  "cpu_core: -1    # rxq", .has = { "rx.queues.0.cpu_core", "direct", "remove it" } },
	{ "sockets in a raw file", "address: loopback # rx",
	  "socket_config: {mode: server}\n      address: loopback", "socket_config",
	  .has = { "interfaces.1.socket_config", "stream_type socket", "remove it" } },
	{ "more than 64 TiB", "num_bufs: 16384   # tx slots\n      buf_size: 1240",
	  "num_bufs: 4294967295\n      buf_size: 1099511627776", "num_bufs: 4294967295",
	  .has = { "memory_regions.2.num_bufs", "64 TiB", "use at most 64" } },
	/* not here */
	{ "engine not compiled in", "loopback: sw", "engine: dpdk", NULL,
	  .has = { "engine: dpdk", "not compiled in", "nic, null",
		   "use --engine nic --address tx_port=cable:0 --address rx_port=cable:0" },
	  -ENOTSUP },
	{ "default engine without a card", "    loopback: sw\n", "", "stream_type",
	  .has = { "not compiled in", "--engine nic --address tx_port=cable:0" }, -ENOTSUP },
	{ "sockets for raw frames", "loopback: sw", "engine: socket", NULL,
	  .has = { "engine", "value socket", "no raw frames", "use stream_type socket" } },
	{ "five interfaces", "    - name: tx_port\n",
	  "    - {name: a, address: x}\n    - {name: b, address: x}\n    - {name: c, address: x}\n"
	  "    - name: tx_port\n", "    interfaces:", .has = { "interfaces", "5", "above 4", "use 1 to 4" } },
	{ "no link for the software NIC", "    loopback: sw\n", "    engine: nic\n",
	  "address: loopback # tx",
	  .has = { "interfaces.0.address", "value loopback", "no link of engine nic",
		   "--address tx_port=cable:0" } },
	{ "hardware reorder", "        flows:\n",
	  "        reorder_configs:\n        - {name: p, reorder_type: gpu, memory_region: "
	  "Tensors, payload_byte_offset: 64, "
	  "reorder_engine: hw, flow_ids: [201], method: {seq_packets_per_batch: {sequence_number: "
	  "{bit_offset: 128, "
	  "bit_width: 13}, packets_per_batch: 4096}}}\n        flows:\n",
	  "reorder_engine", .has = { "reorder_engine", "hw", "use sw" }, -ENOTSUP },
	/* YAML itself */
	{ "tab", "    master_core: 0\n", "\tmaster_core: 0\n", NULL,
	  .has = { "indented with a tab", "use spaces" }, -EPROTO },
	{ "unclosed", "[Data_RX]", "[Data_RX", "flows:", .has = { "not YAML" }, -EPROTO },
	{ "two documents", "bench_rx: {interface_name: rx_port}\n", "...\n---\na: 1\n", "---",
	  .has = { "second document" }, -EPROTO },
	{ "alias without an anchor", "[Data_RX]", "*nowhere", NULL,
	  .has = { "*nowhere", "no anchor" }, -EPROTO },
	{ "merge key", "    version: 1\n", "    version: 1\n    <<: {debug: true}\n", "<<",
	  .has = { "merge keys", "write the keys out" }, -EPROTO },
	{ "alias to itself", "[Data_RX]", "&a [*a]", NULL, .has = { "*a", "contains itself" },
	  -EPROTO },
};

static int line_of(const char *text, const char *part)
{
	const char *p = strstr(text, part);
	int line = 1;

	T_NEED(p);
	for (const char *q = text; q < p; q++)
		line += *q == '\n';
	return line;
}

static void replace(char *dst, size_t size, const char *src, const char *find, const char *with)
{
	const char *p = strstr(src, find);

	T_NEED(p);
	T_NEED((size_t)snprintf(dst, size, "%.*s%s%s", (int)(p - src), src, with,
				p + strlen(find)) < size);
}

static void one(const struct wrong *w)
{
	struct gw_config_opts o = { .sz = sizeof(o), .strict = w->strict };
	struct gw_config *c = NULL;
	struct gw_diag d = { "" };
	char text[8192], base[8192], where[40];
	int r, want = w->err ? w->err : -EINVAL;

	snprintf(base, sizeof(base), "%s", good);
	if (w->at && !strcmp(w->at, "num_bufs: 6000")) /* this case changes a second place */
		replace(base, sizeof(base), good, "num_bufs: 32768   # slots", "num_bufs: 6000");
	if (w->two_queues) {
		char one[8192];

		snprintf(one, sizeof(one), "%s", base);
		replace(base, sizeof(base), one, ONE_QUEUE,
			TWO_QUEUES("cpu_core: -1, batch_size: 8192, memory_regions: [Data_RX]") FLOWS("ids: [0, 1]"));
	}
	replace(text, sizeof(text), base, w->find, w->replace);
	r = gw_config_load(text, &o, &c, &d);
	if (r != want)
		T__FAIL("%s: %d, want %d: %s", w->what, r, want, d.text);
	t__checks++;
	if (!r) {
		gw_config_free(c);
		return;
	}
	T_OK(!c);
	snprintf(where, sizeof(where), "(text):%d: ", line_of(text, w->at ? w->at : w->replace));
	if (strncmp(d.text, where, strlen(where)))
		T__FAIL("%s: want %s, is: %s", w->what, where, d.text);
	for (int i = 0; i < 6 && w->has[i]; i++)
		if (!strstr(d.text, w->has[i]))
			T__FAIL("%s: no \"%s\" in: %s", w->what, w->has[i], d.text);
}

/* Files that only code can write. */
static int load_text(const char *text, struct gw_diag *d)
{
	struct gw_config *c = NULL;
	int r = gw_config_load(text, NULL, &c, d);

	gw_config_free(c);
	return r;
}

static void bombs(void)
{
	struct gw_diag d = { "" };
	static char text[1100000];
	size_t at;

	/* brackets, first few, then very many */
	for (int n = 40; n < 400000; n *= 100) {
		at = (size_t)sprintf(text, "version:\n ");
		memset(text + at, '[', (size_t)n);
		text[at + (size_t)n] = '\n';
		text[at + (size_t)n + 1] = '\0';
		T_RC(load_text(text, &d), -EPROTO);
		T_HAS(d.text, n == 40 ? "(text):2: nesting is above 32 levels; use at most 32"
				      : "(text):2: ");
	}
	at = 0;
	for (int i = 0; i < 60; i++)
		at += (size_t)sprintf(text + at, "%*sa:\n", i, "");
	T_RC(load_text(text, &d), -EPROTO);
	T_HAS(d.text, "nesting is above 32");
	/* nine aliases of nine aliases of ... */
	at = (size_t)sprintf(text, "a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
	for (int i = 1; i < 9; i++)
		at += (size_t)sprintf(text + at,
				      "a%d: &a%d [*a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d, "
				      "*a%d]\n",
				      i, i, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1,
				      i - 1);
	T_RC(load_text(text, &d), -EPROTO);
	T_HAS(d.text, "alias bomb");
	T_HAS(d.text, "65536");
	/* a file beyond the size bound */
	memset(text, '#', sizeof(text) - 1);
	text[5] = '\n';
	text[sizeof(text) - 1] = '\0';
	T_RC(load_text(text, &d), -EPROTO);
	T_HAS(d.text, "above 1048576");
	/* a map with more keys than anyone writes */
	at = 0;
	for (int i = 0; i < 3000; i++)
		at += (size_t)sprintf(text + at, "k%d: 1\n", i);
	T_RC(load_text(text, &d), -EPROTO);
	T_HAS(d.text, "(text):1025: more than 1024 keys");
	T_RC(load_text("a: \"x\\0y\"\n", &d), -EPROTO);
	T_HAS(d.text, "(text):1: a text with a NUL");
	T_RC(load_text("- a\n- b\n", &d), -EPROTO);
	T_RC(load_text("\n", &d), -EPROTO);
	T_RC(load_text("", &d), -EINVAL);
}

/* NUL bytes can only come from a file. */
static void from_files(void)
{
	char path[] = "/tmp/gpuwire-config-XXXXXX";
	int fd = mkstemp(path);
	struct gw_diag d = { "" };
	FILE *f;

	T_NEED(fd >= 0);
	f = fdopen(fd, "w");
	T_NEED(f && fwrite("version: 1\nmaster_core: \0\n", 1, 26, f) == 26);
	fclose(f);
	T_RC(load_text(path, &d), -EPROTO);
	T_HAS(d.text, path);
	T_HAS(d.text, ":2: control characters are not allowed (byte 0x00)");
	remove(path);
	T_RC(load_text(path, &d), -ENOENT);
	T_HAS(d.text, path);
	T_RC(load_text("/", &d), -EISDIR);
}

static void options(void)
{
	static const struct {
		const char *engine, *address, *set, *has;
		int err;
		bool tx, rx;
	} bad[] = {
		{ "dpdk", NULL, NULL,
		  "--engine: value dpdk is not compiled in; use one of nic, null", -ENOTSUP, 0, 0 },
		{ "rdma", NULL, NULL, "use ibverbs or nic", -EINVAL, 0, 0 },
		{ NULL, "rx_prt=cable:0", NULL, "--address: rx_prt", -EINVAL, 0, 0 },
		{ NULL, "rx_port", NULL, "use PORT=cable:0", -EINVAL, 0, 0 },
		{ "nic", "rx_port=0000:01:00.0", NULL, "0000:01:00.0 is no link", -EINVAL, 0, 0 },
		{ "nic", "rx_port=02:00:00:00:00:01", NULL, "is a MAC; use", -EINVAL, 0, 0 },
		{ NULL, NULL, "interfaces.rx_port.rx.queues.0.batch_sise=1",
		  "did you mean batch_size?", -EINVAL, 0, 0 },
		{ NULL, NULL, "interfaces.5.name=x", "no entry 5", -EINVAL, 0, 0 },
		{ NULL, NULL, "version", "write KEY=VALUE", -EINVAL, 0, 0 },
		{ NULL, NULL, "=1", "write KEY=VALUE", -EINVAL, 0, 0 },
		{ NULL, NULL, "<NOT_THERE>=1", "no such placeholder", -EINVAL, 0, 0 },
		{ NULL, NULL, "version=08", "--set: version: value 08", -EINVAL, 0, 0 },
		{ NULL, NULL, "interfaces.rx_port.rx.queues.rxq.memory_regions=[Data_RX", "--set",
		  -EINVAL, 0, 0 },
		{ NULL, NULL, NULL, "leave nothing", -EINVAL, true, true },
	};
	static const char *const fine[] = {
		"interfaces.rx_port.rx.queues.rxq.timeout_us=7",
		"interfaces[1].rx.queues[0].timeout_us=7",
		"daqiri.cfg.interfaces.1.rx.queues.0.timeout_us=7",
		"inference.cpu_core=3",
		"dataset.pcap_path=a=b.pcap",
		"interfaces.rx_port.rx.queues.rxq.memory_regions=[Data_RX]",
		"bench_rx.0.cpu_core=4",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const char *a[] = { bad[i].address, NULL }, *s[] = { bad[i].set, NULL };
		struct gw_config_opts o = { .sz = sizeof(o),
					    .engine = bad[i].engine,
					    .address = a,
					    .set = s,
					    .tx_only = bad[i].tx,
					    .rx_only = bad[i].rx };
		struct gw_config *c = NULL;
		struct gw_diag d = { "" };

		T_RC(gw_config_load(good, &o, &c, &d), bad[i].err);
		T_HAS(d.text, bad[i].has);
		gw_config_free(c);
	}
	{
		struct gw_config_opts o = { .sz = 0, .strict = true };
		struct gw_config *c = NULL;
		struct gw_diag d = { "" };

		T_RC(gw_config_load(good, &o, &c, &d), -EINVAL);
		T_HAS(d.text, "opts.sz");
	}
	for (size_t i = 0; i < sizeof(fine) / sizeof(fine[0]); i++) {
		const char *s[] = { fine[i], NULL }, *path = NULL;
		struct gw_config_opts o = { .sz = sizeof(o), .set = s };
		struct gw_config *c = NULL;
		struct gw_diag d = { "" };

		T_RC(gw_config_load(good, &o, &c, &d), 0);
		T_STR(d.text, "");
		if (c && i < 3)
			T_EQ(gw__config(c)->port[1].rxq[0].timeout_us, 7);
		if (c && i == 4) {
			T_RC(gw_config_str(c, "dataset.pcap_path", &path, NULL), 1);
			T_STR(path, "a=b.pcap");
		}
		gw_config_free(c);
	}
}

/* The n-th own allocation fails: -ENOMEM, nothing leaks, nothing is handed out. */
static void allocations(void)
{
	struct gw_diag d = { "" };
	long n;

	for (n = 1; n < 100; n++) {
		struct gw_config *c = NULL;
		int r;

		gw__alloc_fail_at(n);
		r = gw_config_load(good, NULL, &c, &d);
		gw__alloc_fail_at(0);
		if (!r) {
			gw_config_free(c);
			break;
		}
		T_RC(r, -ENOMEM);
		T_OK(!c);
		T_EQ(gw__alloc_live(), 0);
	}
	T_OK(n > 3 && n < 100);
}

int main(void)
{
	struct gw_config *c = NULL;
	struct gw_diag d = { "" };

	T_RC(gw_config_load(good, NULL, &c, &d), 0);
	T_STR(d.text, "");
	gw_config_free(c);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		one(&cases[i]);
	bombs();
	from_files();
	options();
	allocations();
	T_EQ(gw__alloc_live(), 0);
	T_DONE();
}
