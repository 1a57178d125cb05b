/* The image application's own three files, in both modes: what the structs hold afterwards. */
#include <gpuwire/gpuwire.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "ingest/config.h"
#include "t.h"

static struct gw_config *load(const char *name, const struct gw_config_opts *o)
{
	const char *root = getenv("GW_SOURCE_DIR");
	struct gw_config *c = NULL;
	struct gw_diag d = { "" };
	char path[1024];
	int r;

	snprintf(path, sizeof(path), "%s/apps/resnet50_inference/configs/%s", root ? root : ".",
		 name);
	r = gw_config_load(path, o, &c, &d);
	if (r)
		fprintf(stderr, "%s\n", d.text);
	T_NEED(r == 0);
	return c;
}

static void check_rx(const struct gw_cfg *g, const struct gw_cfg_port *p)
{
	const struct gw_cfg_reorder *r = &p->reorder[0];
	const struct gw_cfg_region *src = &g->region[p->rxq[0].region[0]];

	T_EQ(p->n_rxq, 1);
	T_EQ(p->rxq[0].batch_size, 8192);
	T_EQ(p->rxq[0].timeout_us, 0);
	T_OK(p->flow_isolation);
	T_STR(src->name, "Data_RX_GPU");
	T_EQ(src->kind, GW_MEM_HOST_PINNED);
	T_EQ(src->buf_size, 1240);
	T_EQ(p->n_rx_flow, 1);
	T_EQ(p->rx_flow[0].id, 201);
	T_EQ(p->rx_flow[0].match.fields, GW_MATCH_UDP_DST);
	T_EQ(p->rx_flow[0].match.udp_dst_lo, 4096);
	T_EQ(p->rx_flow[0].match.udp_dst_hi, 4096);
	T_EQ(p->rx_flow[0].action[0].type, GW_ACTION_QUEUE);
	T_EQ(p->n_reorder, 1);
	T_STR(r->name, "rx_reorder_resnet_int8_fp16");
	T_OK(r->tensor_declared && r->gpu && !r->drop_missing);
	T_STR(g->region[r->region].name, "Reorder_RX_GPU");
	T_EQ(g->region[r->region].num_bufs, 16);
	T_EQ(g->region[r->region].buf_size, 9633792);
	T_EQ(r->payload_byte_offset, 64);
	T_EQ(r->packets_per_batch, 4096);
	T_EQ(r->packets_per_group, 128);
	T_EQ(r->seq_bit_offset, 128);
	T_EQ(r->seq_bit_width, 12);
	T_EQ(r->batch_bit_width, 0);
	T_EQ(r->in_type, GW_INT8);
	T_EQ(r->out_type, GW_FP16);
	T_EQ(r->packet_size, 1240);
	T_EQ(r->n_flow_ids, 1);
	T_EQ(r->flow_ids[0], 201);
}

static void loopback(void)
{
	struct gw_config *c = load("resnet50_sw_loopback.yaml", NULL);
	const struct gw_cfg *g = gw__config(c);
	const char *s = NULL;
	uint64_t u = 0;
	int64_t i = 0;
	bool b = true;

	T_STR(g->engine, "nic");
	T_EQ(g->loopback, GW_LOOPBACK_SW);
	T_EQ(g->stream, GW_STREAM_RAW);
	T_EQ(g->n_ports, 2);
	T_STR(g->port[0].address, "cable:0");
	T_STR(g->port[1].address, "cable:0");
	T_EQ(g->port[0].n_txq, 1);
	T_EQ(g->port[0].txq[0].batch_size, 4096);
	check_rx(g, &g->port[1]);
	T_RC(gw_config_str(c, "bench_rx.interface_name", &s, NULL), 1);
	T_STR(s, "rx_port");
	T_RC(gw_config_u64(c, "bench_tx.0.batch_size", &u, NULL), 1);
	T_EQ(u, 4096);
	T_RC(gw_config_str(c, "bench_tx.udp_dst_port", &s, NULL), 0);
	T_STR(s, "4096");
	T_RC(gw_config_i64(c, "inference.cpu_core", &i, NULL), 1);
	T_EQ(i, -1);
	T_RC(gw_config_bool(c, "inference.enable_cuda_graph", &b, NULL), 1);
	T_OK(!b);
	T_RC(gw_config_u64(c, "reorder.images_per_batch", &u, NULL), 1);
	T_EQ(u, 32);
	gw_config_free(c);
}

static void two_hosts(void)
{
	const char *const rx_addr[] = { "rx_port=shm:images", NULL }, *const tx_addr[] = {
		"tx_port=shm:images", NULL
	};
	const char *const set[] = { "bench_tx.eth_dst_addr=02:00:00:00:00:09", NULL };
	struct gw_config_opts o = {
		.sz = sizeof(o), .engine = "nic", .address = rx_addr, .rx_only = true
	};
	struct gw_config *c = load("resnet50_rx_xhost.yaml", &o);
	const char *s = NULL;
	int64_t i = 0;

	T_EQ(gw__config(c)->n_ports, 1);
	T_STR(gw__config(c)->port[0].address, "shm:images");
	T_EQ(gw__config(c)->port[0].rxq[0].cpu_core, 18);
	T_EQ(gw__config(c)->master_core, 8);
	check_rx(gw__config(c), &gw__config(c)->port[0]);
	T_RC(gw_config_i64(c, "bench_rx.cpu_core", &i, NULL), 1);
	T_EQ(i, 19);
	gw_config_free(c);

	o.address = tx_addr;
	o.rx_only = false;
	o.tx_only = true;
	o.set = set;
	c = load("resnet50_tx_xhost.yaml", &o);
	T_EQ(gw__config(c)->n_ports, 1);
	T_EQ(gw__config(c)->port[0].n_txq, 1);
	T_EQ(gw__config(c)->port[0].txq[0].cpu_core, 17);
	T_RC(gw_config_str(c, "bench_tx.eth_dst_addr", &s, NULL), 1);
	T_STR(s, "02:00:00:00:00:09");
	gw_config_free(c);
}

/* One file, both modes: --mode rx and --mode tx on the loopback file, as two processes over shared memory. */
static void one_direction(void)
{
	const char *const rx_addr[] = { "rx_port=shm:x", NULL }, *const tx_addr[] = { "tx_port=shm:"
										      "x",
										      NULL };
	struct gw_config_opts o = { .sz = sizeof(o), .address = rx_addr, .rx_only = true };
	struct gw_config *c = load("resnet50_sw_loopback.yaml", &o);

	T_EQ(gw__config(c)->n_ports, 1);
	T_EQ(gw__config(c)->n_regions, 2);
	T_STR(gw__config(c)->port[0].address, "shm:x");
	check_rx(gw__config(c), &gw__config(c)->port[0]);
	gw_config_free(c);
	o.rx_only = false;
	o.tx_only = true;
	o.address = tx_addr;
	c = load("resnet50_sw_loopback.yaml", &o);
	T_EQ(gw__config(c)->n_ports, 1);
	T_EQ(gw__config(c)->n_regions, 1);
	T_STR(gw__config(c)->region[gw__config(c)->port[0].txq[0].region[0]].name, "Data_TX");
	gw_config_free(c);
}

int main(void)
{
	loopback();
	two_hosts();
	one_direction();
	T_EQ(gw__alloc_live(), 0);
	T_DONE();
}
