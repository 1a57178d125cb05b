/* ingest/flows.c: rules added and removed while packets flow, each request with its completion.
 * Engines here install a rule at once, so a completion waits to be collected as soon as the request returns.
 * Must not know how a rule is matched (wire/flow_table.h). Next: engine.h (flow_add). */
#include <errno.h>

#include "base/diag.h"
#include "ingest/gw.h"

#define FIRST_FREE_ID 0x800000u /* completions carry 24 bits */

static bool configured(const struct gw_cfg_port *c, uint32_t id)
{
	for (uint32_t i = 0; i < c->n_rx_flow; i++)
		if (c->rx_flow[i].id == id)
			return true;
	return false;
}

/* With the lock held. */
static int complete(struct gw *gw, int status, uint32_t n, uint32_t *ticket)
{
	struct gw_flow_done *d = &gw->flow.done[(gw->flow.head + gw->flow.n) % GW__FLOW_DONE];

	*d = (struct gw_flow_done){ .ticket = ++gw->flow.ticket, .status = status, .n_rules = n };
	gw->flow.n++;
	*ticket = d->ticket;
	return 0;
}

static int add_all(struct gw *gw, uint16_t port, struct gw_flow_rule *rules, uint32_t n, struct gw_diag *diag)
{
	for (uint32_t i = 0; i < n; i++) {
		bool pick = !rules[i].id;
		int err;

		do {
			if (pick)
				rules[i].id = FIRST_FREE_ID + gw->flow.next_id++ % FIRST_FREE_ID;
			err = gw->ops.flow_add(gw->engine, port, &rules[i], diag);
		} while (pick && err == -EEXIST);
		if (!err)
			continue;
		while (i-- > 0)
			(void)gw->ops.flow_del(gw->engine, port, rules[i].id);
		return err;
	}
	return 0;
}

int gw_flow_add(struct gw *gw, uint16_t port, struct gw_flow_rule *rules, uint32_t n, uint32_t *ticket,
		struct gw_diag *diag)
{
	int err;

	if (!gw || port >= gw->n_ports || !rules || !n || !ticket || !gw->port[port].cfg->n_rxq)
		return gw__fail(diag, -EINVAL, "gw_flow_add: a port with receive queues, rules and a ticket are needed");
	for (uint32_t i = 0; i < n; i++)
		if (!rules[i].n_actions || rules[i].n_actions > GW_MAX_ACTIONS)
			return gw__fail(diag, -EINVAL, "gw_flow_add: rule %u has %u actions; use 1 to %u", i,
					rules[i].n_actions, GW_MAX_ACTIONS);
	pthread_mutex_lock(&gw->flow.lock);
	if (gw->flow.n == GW__FLOW_DONE)
		err = gw__fail(diag, -ENOBUFS, "gw_flow_add: %u completions wait; call gw_flow_poll()", GW__FLOW_DONE);
	else
		err = add_all(gw, port, rules, n, diag);
	if (!err)
		err = complete(gw, 0, n, ticket);
	pthread_mutex_unlock(&gw->flow.lock);
	return err;
}

int gw_flow_del(struct gw *gw, uint16_t port, uint32_t id, uint32_t *ticket)
{
	int err;

	if (!gw || port >= gw->n_ports || !id || !ticket)
		return -EINVAL;
	if (configured(gw->port[port].cfg, id))
		return -EPERM;
	pthread_mutex_lock(&gw->flow.lock);
	err = gw->flow.n == GW__FLOW_DONE ? -ENOBUFS : gw->ops.flow_del(gw->engine, port, id);
	if (!err)
		err = complete(gw, 0, 1, ticket);
	pthread_mutex_unlock(&gw->flow.lock);
	return err;
}

int gw_flow_poll(struct gw *gw, struct gw_flow_done *out)
{
	int got;

	if (!gw || !out)
		return -EINVAL;
	pthread_mutex_lock(&gw->flow.lock);
	got = gw->flow.n > 0;
	if (got) {
		*out = gw->flow.done[gw->flow.head];
		gw->flow.head = (gw->flow.head + 1) % GW__FLOW_DONE;
		gw->flow.n--;
	}
	pthread_mutex_unlock(&gw->flow.lock);
	return got;
}
