/* Any bytes as a configuration: refused with a sentence or loaded, never read or written out of bounds, never
 * slow. What loads must hold together: indexes inside their arrays, names ended. Next: src/ingest/config_load.c. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ingest/config.h"
#include "ingest/config_tree.h"

static void hold(int ok)
{
	if (!ok)
		abort();
}

static void check_queue(const struct gw_cfg *g, const struct gw_cfg_queue *q)
{
	hold(q->n_regions <= GW_MAX_SEGS && q->id >= 0 && q->id < (int)GW_MAX_QUEUES);
	hold(strnlen(q->name, sizeof(q->name)) < sizeof(q->name));
	for (uint32_t s = 0; s < q->n_regions; s++)
		hold(q->region[s] < g->n_regions);
}

static void check_port(const struct gw_cfg *g, const struct gw_cfg_port *p)
{
	hold(p->n_rxq <= GW_MAX_QUEUES && p->n_txq <= GW_MAX_QUEUES &&
	     p->n_rx_flow <= GW_CFG_MAX_FLOWS);
	hold(p->n_reorder <= GW_CFG_MAX_REORDER);
	for (uint32_t i = 0; i < p->n_rxq; i++)
		check_queue(g, &p->rxq[i]);
	for (uint32_t i = 0; i < p->n_txq; i++)
		check_queue(g, &p->txq[i]);
	for (uint32_t i = 0; i < p->n_rx_flow; i++) {
		const struct gw_flow_rule *f = &p->rx_flow[i];

		hold(f->n_actions > 0 && f->n_actions <= GW_MAX_ACTIONS);
		hold(f->action[f->n_actions - 1].n_queues <= GW_MAX_QUEUES);
		hold(f->match.udp_dst_lo <= f->match.udp_dst_hi &&
		     f->match.udp_src_lo <= f->match.udp_src_hi);
	}
	for (uint32_t i = 0; i < p->n_reorder; i++) {
		const struct gw_cfg_reorder *r = &p->reorder[i];

		hold(r->region < g->n_regions && r->packets_per_batch > 0);
		hold(r->seq_bit_width >= 1 && r->seq_bit_width <= 32 &&
		     r->n_flow_ids <= GW_MAX_QUEUES);
	}
}

static void check(const struct gw_config *c)
{
	static const char *const paths[] = { "version",
					     "bench_rx.0.queue_id",
					     "bench_tx.queue_id",
					     "inference.cpu_core",
					     "reorder.images_per_batch",
					     "interfaces.0.rx.queues.0.id",
					     "a.b[1].c",
					     "..",
					     "[" };
	const struct gw_cfg *g = gw__config(c);
	struct gw_diag d;
	uint64_t u;
	int64_t i;
	bool b;
	const char *s;
	char at[64];

	hold(g->n_ports >= 1 && g->n_ports <= GW_MAX_PORTS && g->n_regions <= GW_CFG_MAX_REGIONS);
	for (uint32_t p = 0; p < g->n_ports; p++)
		check_port(g, &g->port[p]);
	for (size_t k = 0; k < sizeof(paths) / sizeof(paths[0]); k++) {
		int r = gw_config_u64(c, paths[k], &u, &d);

		r |= gw_config_i64(c, paths[k], &i, &d);
		r |= gw_config_bool(c, paths[k], &b, &d);
		r |= gw_config_str(c, paths[k], &s, &d);
		(void)r;
		gw_config_where(c, paths[k], at, sizeof(at));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The options follow from the sum of all bytes, so that any change of the text tries others. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const address[] = { "rx_port=cable:0", "tx_port=cable:0", NULL };
	/* one of these, and what follows it */
	static const char *const set[] = { "reorder.flow_ids=[201]",
					   "interfaces.rx_port.rx.queues[0].batch_size=8192",
					   "<CPU_CORE>=3",
					   "bench_tx.0.eth_dst_addr=02:00:00:00:00:01",
					   "stats.x=1",
					   NULL };
	struct gw_config_opts o = { .sz = sizeof(o) };
	struct gw_config *c = NULL;
	struct gw_diag d = { "" };
	char *text = malloc(size + 2);
	struct gw__ytree tree;
	unsigned bits = 0;

	if (!text)
		return 0;
	for (size_t i = 0; i < size; i++)
		bits += data[i];
	/* with its NULs, as from a file */
	if (!gw__ytree_parse(&tree, "fuzz", (const char *)data, size, &d))
		gw__ytree_fini(&tree);
	d.text[0] = '\0';
	memcpy(text, data, size);
	text[size] = '\n'; /* a text, not a file name */
	text[size + 1] = '\0';
	o.engine = (bits & 3) == 0 ? "nic" : (bits & 3) == 1 ? NULL : "null";
	o.address = o.engine && !(bits & 3) ? address : NULL;
	o.set = bits & 4 ? set + (bits >> 3 & 7) % 5 : NULL;
	o.strict = (bits & 192) == 192;
	o.rx_only = (bits & 768) == 256;
	o.tx_only = (bits & 768) == 512;
	if (!gw_config_load(text, &o, &c, &d))
		check(c);
	else
		hold(d.text[0] && strnlen(d.text, sizeof(d.text)) < sizeof(d.text));
	gw_config_free(c);
	free(text);
	return 0;
}
