/* ingest/config.h: the checked configuration as plain structs: what the key table fills in.
 * Made by config_*.c from YAML; read by everything else in ingest and by engines. Must not know threads or
 * memory. Next: config_table.c (one row a key), config_load.c, config_check.c. */
#ifndef GW_INGEST_CONFIG_H
#define GW_INGEST_CONFIG_H

#include <gpuwire/config.h>
#include <gpuwire/flow.h>
#include <gpuwire/mem.h>

#include "reorder/reorder.h"

#define GW_CFG_MAX_REGIONS 64u
#define GW_CFG_MAX_FLOWS 256u
#define GW_CFG_MAX_REORDER 16u
#define GW_CFG_MAX_FLEX 16u
#define GW_CFG_NAME 64u
#define GW__STRIDE 128u /* a region's buffers begin at multiples of it */

enum gw_cfg_stream { GW_STREAM_RAW, GW_STREAM_SOCKET };
enum gw_cfg_loopback { GW_LOOPBACK_NONE, GW_LOOPBACK_SW, GW_LOOPBACK_HW };
enum gw_cfg_poll { GW_POLL_INDIRECT, GW_POLL_DIRECT };
enum gw_cfg_wait { GW_WAIT_BLOCK, GW_WAIT_BUSY };
enum gw_cfg_verify { GW_VERIFY_SW, GW_VERIFY_OFF };

struct gw_cfg_region {
	char name[GW_CFG_NAME];
	enum gw_mem_kind kind;
	int affinity;
	uint64_t num_bufs, buf_size;
	uint32_t access; /* 1 local, 2 rdma_read, 4 rdma_write */
	bool owned;
	int line;
};

struct gw_cfg_queue {
	char name[GW_CFG_NAME];
	int id;
	enum gw_cfg_poll poll;
	int cpu_core; /* -1 = not pinned */
	uint32_t batch_size;
	uint64_t timeout_us;
	uint32_t n_regions;
	uint32_t region[GW_MAX_SEGS]; /* index into regions[] */
	bool tx_eth_src;              /* offloads: tx_eth_src */
	uint64_t pacing_mbps;
	int line;
};

struct gw_cfg_reorder {
	char name[GW_CFG_NAME];
	bool gpu;        /* reorder_type */
	uint32_t region; /* output: index into regions[] */
	uint32_t payload_byte_offset;
	uint32_t flow_ids[GW_MAX_QUEUES], n_flow_ids;
	uint16_t queue[GW_MAX_QUEUES]; /* where all of them go; several = spread by hash, merged again */
	uint32_t n_queues;
	enum gw__elem in_type, out_type;
	bool network_endian;
	uint16_t seq_bit_offset, batch_bit_offset;
	uint8_t seq_bit_width, batch_bit_width; /* batch width 0 = seq_packets_per_batch */
	uint32_t packets_per_batch;
	bool drop_missing; /* missing_action: drop */
	uint32_t consecutive_windows; /* at least 1 */
	enum gw__fill fill;
	uint32_t packet_size;       /* 0 = not given */
	uint32_t packets_per_group; /* from the `reorder:` block; 0 = none */
	bool tensor_declared;       /* came from the program's `reorder:` block: geometry is checked */
	int line;
};

static inline bool gw__cfg_feeds(const struct gw_cfg_reorder *r, int queue)
{
	for (uint32_t i = 0; i < r->n_queues; i++)
		if (r->queue[i] == queue)
			return true;
	return false;
}

struct gw_cfg_port {
	char name[GW_CFG_NAME];
	char address[256]; /* as it goes to the engine, after overrides */
	bool flow_isolation, hardware_timestamps, accurate_send;
	uint32_t dynamic_flow_capacity;
	enum gw_cfg_verify verify;
	struct gw_cfg_queue rxq[GW_MAX_QUEUES], txq[GW_MAX_QUEUES];
	uint32_t n_rxq, n_txq;
	struct gw_flow_rule rx_flow[GW_CFG_MAX_FLOWS], tx_flow[GW_MAX_QUEUES];
	uint32_t n_rx_flow, n_tx_flow;
	struct gw_cfg_reorder reorder[GW_CFG_MAX_REORDER];
	uint32_t n_reorder;
	/* socket_config, kept as text until an engine reads it */
	bool has_socket;
	char local_uri[256], remote_uri[256], transport_mode[8];
	bool server;
	uint32_t max_payload_size, min_ipg_ns;
	uint64_t max_burst_interval_ms;
	int retry_connect_s;
	int line;
};

struct gw_cfg {
	int version, master_core;
	enum gw_cfg_stream stream;
	char engine[32]; /* the engine that will be opened: "nic", "null", ... ("default" resolved) */
	enum gw_cfg_loopback loopback;
	enum gw_log_level log_level;
	enum gw_cfg_wait wait; /* ours: `poll: busy` */
	uint32_t tx_meta_buffers, rx_meta_buffers;
	struct gw_cfg_region *region;
	uint32_t n_regions;
	struct gw_cfg_port *port;
	uint32_t n_ports;
};

/* The checked structs inside a gw_config. Never NULL. */
const struct gw_cfg *gw__config(const struct gw_config *cfg);

#endif
