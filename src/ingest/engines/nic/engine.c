/* ingest/engines/nic/engine.c: ports over the NIC model: addresses, queues, rules, counters.
 * Must not know queue formats. Next: rxq.c and txq.c. */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/diag.h"
#include "ingest/engines/nic/nic_engine.h"

#define NAP_NS 1000000u

static _Atomic unsigned long n_private_cables;

int ne_segs_register(struct gw__nic *nic, const struct gw__slots *slots, struct ne_seg seg[GW_MAX_SEGS],
		     struct gw_diag *diag)
{
	for (uint32_t s = 0; s < slots->n_segs; s++) {
		size_t n = (size_t)slots->seg[s].stride * slots->n_slots;
		int err = nic->ops->mem_reg(nic, slots->seg[s].base, slots->seg[s].host, n, &seg[s].key);

		if (err) {
			ne_segs_unregister(nic, s, seg);
			return gw__fail(diag, err, "segment %u: %zu bytes of %s memory cannot be registered with the "
					"software NIC", s, n, gw_mem_kind_name(slots->seg[s].kind));
		}
		seg[s].base = (uint64_t)(uintptr_t)slots->seg[s].base;
		seg[s].host = slots->seg[s].host;
		seg[s].stride = slots->seg[s].stride;
		seg[s].size = slots->seg[s].size;
		seg[s].key_be = __builtin_bswap32(seg[s].key);
		seg[s].size_be = __builtin_bswap32(seg[s].size);
	}
	return 0;
}

void ne_segs_unregister(struct gw__nic *nic, uint32_t n_segs, const struct ne_seg seg[GW_MAX_SEGS])
{
	for (uint32_t s = 0; s < n_segs; s++)
		nic->ops->mem_unreg(nic, seg[s].key);
}

/* ---- open ------------------------------------------------------------------------------------------------- */

static bool starts(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

static int check_port(const struct gw_cfg *c, const struct gw_cfg_port *p, struct gw_diag *diag)
{
	if (starts(p->address, "cable:") || starts(p->address, "shm:") || starts(p->address, "pcap:") ||
	    starts(p->address, "pcap-out:") || starts(p->address, "impair:"))
		return 0;
	if (!strcmp(p->address, "loopback") && c->loopback != GW_LOOPBACK_NONE)
		return 0;
	return gw__fail(diag, -ENOTSUP,
			"interface %s: address \"%s\" needs a card that the software NIC is not; run it as --engine nic "
			"--address %s=cable:0 (or shm:NAME, pcap:FILE), or write loopback: sw and address: loopback",
			p->name, p->address, p->name);
}

static int nic_check(const struct gw_config *cfg, struct gw_diag *diag)
{
	const struct gw_cfg *c = gw__config(cfg);

	for (uint32_t i = 0; i < c->n_ports; i++) {
		int err = check_port(c, &c->port[i], diag);

		if (err)
			return err;
	}
	return 0;
}

static void stop_threads(struct ne_port *p);

static void nic_close(struct gw__engine *base)
{
	struct nic_engine *e = (struct nic_engine *)base;

	if (!base)
		return;
	for (uint32_t i = 0; i < e->n_ports; i++)
		stop_threads(&e->port[i]);
	for (uint32_t i = 0; i < e->n_ports; i++) {
		struct ne_port *p = &e->port[i];

		for (uint32_t q = 0; q < p->n_rxq; q++)
			ne_rxq_close(p->rxq[q]);
		for (uint32_t q = 0; q < p->n_txq; q++)
			ne_txq_close(p->txq[q]);
	}
	/* ports of one cable look into each other: queues of all first, then the ports */
	for (uint32_t i = 0; i < e->n_ports; i++)
		e->port[i].nic->ops->close(e->port[i].nic);
	gw__free(e);
}

/* "?by=thread" is one thread, "?by=threads:N" are N. 0: nobody's. */
static uint32_t threads_of(const char *by)
{
	char *stop;
	unsigned long n;

	if (!strcmp(by, "?by=thread"))
		return 1;
	if (strncmp(by, "?by=threads:", 12))
		return 0;
	n = strtoul(by + 12, &stop, 10);
	return *stop || n > NE_MAX_THREADS ? 0 : (uint32_t)n;
}

/* "loopback": one port is cabled to itself, two to each other. "?by=receiver", "?by=thread" and "?by=threads:N"
 * are ours, not the link's: who carries this port's frames instead of the sender. */
static void resolve(const struct gw_cfg *c, uint32_t i, unsigned long cable, char *out, size_t n, struct ne_port *p)
{
	const char *a = c->port[i].address;
	const char *by = strstr(a, "?by=");

	p->n_threads = by ? threads_of(by) : 0;
	p->lazy_tx = p->n_threads || (by && !strcmp(by, "?by=receiver"));
	if (!strcmp(a, "loopback") && c->n_ports == 2 && !strcmp(c->port[1 - i].address, "loopback"))
		snprintf(out, n, "cable:%lu", cable);
	else
		snprintf(out, n, "%.*s", p->lazy_tx ? (int)(by - a) : (int)strlen(a), a);
}

/* A port's own thread: carries frames while there are any, then rests ever longer, a millisecond at most: a
 * sender that only posts does not wake it. */
static void *carry(void *arg)
{
	struct ne_thread *t = arg;
	struct gw__ladder ladder;

	gw__threads_add(1);
	gw__ladder_init(&ladder);
	while (!atomic_load_explicit(&t->halt, memory_order_relaxed)) { /* join orders the rest */
		int r = t->nic->ops->progress(t->nic, NE_BURST * 4, GW__NIC_TX);

		if (r > 0)
			gw__ladder_reset(&ladder);
		else if (gw__ladder_step(&ladder))
			(void)gw__event_block(&t->nap, NAP_NS);
	}
	gw__threads_add(-1);
	return NULL;
}

static int start_threads(struct ne_port *p, struct gw_diag *diag)
{
	while (p->n_running < p->n_threads) {
		struct ne_thread *t = &p->thread[p->n_running];
		int err;

		t->nic = p->nic;
		atomic_store_explicit(&t->halt, false, memory_order_relaxed);
		err = gw__event_init(&t->nap);
		if (!err) {
			err = -pthread_create(&t->id, NULL, carry, t);
			if (err)
				gw__event_fini(&t->nap);
		}
		if (err)
			return gw__fail(diag, err, "no thread for a port that says ?by=thread: %s", strerror(-err));
		p->n_running++;
	}
	return 0;
}

static void stop_threads(struct ne_port *p)
{
	while (p->n_running) {
		struct ne_thread *t = &p->thread[--p->n_running];

		atomic_store_explicit(&t->halt, true, memory_order_relaxed);
		gw__event_kick(&t->nap);
		pthread_join(t->id, NULL);
		gw__event_fini(&t->nap);
	}
}

static int set_gate(struct ne_port *p)
{
	return p->nic->ops->obj_modify(p->obj, GW__NIC_DROP_ALL, !p->running || p->drop_all);
}

static uint32_t overhead_of(const struct gw_flow_rule *rule)
{
	static const uint32_t tunnel[] = { [GW_TUNNEL_VXLAN] = 50, [GW_TUNNEL_GRE] = 38, [GW_TUNNEL_NVGRE] = 42 };
	uint32_t n = 0;

	for (uint32_t i = 0; i < rule->n_actions; i++)
		n += rule->action[i].type == GW_ACTION_ENCAP ? tunnel[rule->action[i].tunnel.type] : 4;
	return n;
}

/* tx.flows: nobody adds them at run time, so they go straight from the configuration to the NIC. */
static int add_tx_flows(struct ne_port *p, const struct gw_cfg_port *cp, struct gw_diag *diag)
{
	int err = 0;

	for (uint32_t i = 0; i < cp->n_tx_flow && !err; i++) {
		uint32_t n = overhead_of(&cp->tx_flow[i]);

		p->tx_overhead = n > p->tx_overhead ? n : p->tx_overhead;
		err = p->nic->ops->flow(p->nic, &cp->tx_flow[i], NULL, true, diag);
	}
	return err;
}

static int open_port(struct nic_engine *e, uint32_t i, unsigned long cable, struct gw__clock *clock,
		     struct gw_diag *diag)
{
	const struct gw_cfg_port *cp = &e->cfg->port[i];
	struct ne_port *p = &e->port[i];
	struct gw__nic_attr attr = { .type = GW__NIC_PORT };
	const uint8_t mac[6] = { 0x02, 'g', 'w', 0, 0, (uint8_t)i }; /* locally administered */
	char address[sizeof(cp->address) + 32];
	int err;

	resolve(e->cfg, i, cable, address, sizeof(address), p);
	err = gw__nic_soft.open(address, clock, &p->nic, diag);
	if (err)
		return err;
	e->n_ports++;
	memcpy(p->mac, mac, 6);
	err = p->nic->ops->obj_create(p->nic, &attr, &p->obj, diag);
	if (!err)
		err = p->nic->ops->obj_modify(p->obj, GW__NIC_VERIFY, cp->verify == GW_VERIFY_SW);
	if (!err)
		err = add_tx_flows(p, cp, diag);
	if (!err) /* shut until start() */
		err = set_gate(p);
	return err;
}

static int nic_open(const struct gw_config *cfg, struct gw__clock *clock, struct gw__engine **out,
		    struct gw_diag *diag)
{
	struct nic_engine *e = gw__calloc(1, sizeof(*e));
	/* numbers no configuration can name: cable:N takes what strtol() reads, from 2^40 on they are ours */
	unsigned long cable = (1ul << 40) + atomic_fetch_add_explicit(&n_private_cables, 1, memory_order_relaxed);
	int err = 0;

	if (!e)
		return gw__fail(diag, -ENOMEM, "no memory for engine nic");
	e->base.ops = &gw__engine_nic;
	e->cfg = gw__config(cfg);
	for (uint32_t i = 0; i < e->cfg->n_ports && !err; i++)
		err = open_port(e, i, cable, clock, diag);
	if (err) {
		nic_close(&e->base);
		return err;
	}
	*out = &e->base;
	return 0;
}

/* ---- queues, rules, counters ----------------------------------------------------------------------------- */

static struct ne_port *port_of(struct gw__engine *base, uint16_t port)
{
	struct nic_engine *e = (struct nic_engine *)base;

	return port < e->n_ports ? &e->port[port] : NULL;
}

static int nic_rxq_open(struct gw__engine *base, const struct gw__queue_params *p, struct gw__event *event,
			struct gw__rxq *out, struct gw_diag *diag)
{
	struct ne_port *port = port_of(base, p->port);
	int err;

	if (!port || port->n_rxq == GW_MAX_QUEUES)
		return gw__fail(diag, -EINVAL, "port %u: no such port, or it has %u receive queues already", p->port,
				GW_MAX_QUEUES);
	err = ne_rxq_open(port, p, event, out, diag);
	if (!err && event)
		err = port->nic->ops->obj_modify(port->obj, GW__NIC_LINK_EVENT, (uintptr_t)event);
	return err;
}

static bool wants_src_mac(const struct gw_cfg_port *p, uint16_t id)
{
	for (uint32_t i = 0; i < p->n_txq; i++)
		if (p->txq[i].id == id)
			return p->txq[i].tx_eth_src;
	return false;
}

static int nic_txq_open(struct gw__engine *base, const struct gw__queue_params *p, struct gw__event *event,
			struct gw__txq *out, struct gw_diag *diag)
{
	struct nic_engine *e = (struct nic_engine *)base;
	struct ne_port *port = port_of(base, p->port);
	int err;

	if (!port || port->n_txq == GW_MAX_QUEUES)
		return gw__fail(diag, -EINVAL, "port %u: no such port, or it has %u transmit queues already", p->port,
				GW_MAX_QUEUES);
	err = ne_txq_open(port, p, event, wants_src_mac(&e->cfg->port[p->port], p->id), out, diag);
	if (!err && event)
		err = port->nic->ops->obj_modify(port->obj, GW__NIC_LINK_EVENT, (uintptr_t)event);
	return err;
}

static int set_running(struct gw__engine *base, bool running)
{
	struct nic_engine *e = (struct nic_engine *)base;
	int err = 0;

	for (uint32_t i = 0; i < e->n_ports && !err; i++) {
		e->port[i].running = running;
		err = set_gate(&e->port[i]);
	}
	return err;
}

static int nic_start(struct gw__engine *base, struct gw_diag *diag)
{
	struct nic_engine *e = (struct nic_engine *)base;
	int err = set_running(base, true);

	for (uint32_t i = 0; i < e->n_ports && !err; i++)
		err = start_threads(&e->port[i], diag);
	return err;
}

/* The ports' own threads go on until close: what is posted still completes. */
static void nic_stop(struct gw__engine *base)
{
	(void)set_running(base, false);
}

static int nic_flow_add(struct gw__engine *base, uint16_t port, const struct gw_flow_rule *rule,
			struct gw_diag *diag)
{
	struct ne_port *p = port_of(base, port);
	struct gw__nic_obj *rqs[GW_MAX_QUEUES] = { NULL };

	if (!p)
		return gw__fail(diag, -EINVAL, "flow %u: no port %u", rule->id, port);
	for (uint32_t a = 0; a < rule->n_actions && a < GW_MAX_ACTIONS; a++) {
		if (rule->action[a].type != GW_ACTION_QUEUE)
			continue;
		for (uint32_t i = 0; i < rule->action[a].n_queues && i < GW_MAX_QUEUES; i++)
			rqs[i] = rule->action[a].queue[i] < GW_MAX_QUEUES ? p->rq[rule->action[a].queue[i]] : NULL;
	}
	return p->nic->ops->flow(p->nic, rule, rqs, true, diag);
}

static int nic_flow_del(struct gw__engine *base, uint16_t port, uint32_t flow_id)
{
	struct ne_port *p = port_of(base, port);
	struct gw_flow_rule rule = { .id = flow_id };

	return p ? p->nic->ops->flow(p->nic, &rule, NULL, false, NULL) : -EINVAL;
}

static int nic_port_stats(struct gw__engine *base, uint16_t port, struct gw_port_stats *out)
{
	struct ne_port *p = port_of(base, port);

	return p ? p->nic->ops->query(p->nic, out) : -EINVAL;
}

static int nic_port_set(struct gw__engine *base, uint16_t port, int what, uint64_t value)
{
	struct ne_port *p = port_of(base, port);

	if (!p)
		return -EINVAL;
	if (what == GW__PORT_PAUSE) {
		int err = p->nic->ops->obj_modify(p->obj, GW__NIC_PAUSE, value);

		for (uint32_t i = 0; !err && i < p->n_rxq; i++)
			ne_rxq_pause(p->rxq[i], value != 0);
		return err;
	}
	if (what != GW__PORT_DROP_ALL)
		return -ENOTSUP;
	p->drop_all = value != 0;
	return set_gate(p);
}

static int nic_port_mac(struct gw__engine *base, uint16_t port, uint8_t mac[6])
{
	struct ne_port *p = port_of(base, port);

	if (!p)
		return -EINVAL;
	memcpy(mac, p->mac, 6);
	return 0;
}

const struct gw__engine_ops gw__engine_nic = {
	.name = "nic",
	.check = nic_check,
	.open = nic_open,
	.close = nic_close,
	.rxq_open = nic_rxq_open,
	.txq_open = nic_txq_open,
	.start = nic_start,
	.stop = nic_stop,
	.flow_add = nic_flow_add,
	.flow_del = nic_flow_del,
	.port_stats = nic_port_stats,
	.port_set = nic_port_set,
	.port_mac = nic_port_mac,
};
