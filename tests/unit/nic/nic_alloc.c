/* tests/unit/nic/nic_alloc.c: every allocation of the engine fails in turn; nothing leaks, nothing crashes.
 * Must not know queue formats. Next: base/alloc.h. */
#include "rig.h"

#include "base/alloc.h"

static int build(struct rig *r, struct rig_q *rx, struct rig_q *tx)
{
	const struct gw_config *cfg = (const struct gw_config *)(const void *)&r->cfg;
	struct gw__queue_params p = { .port = 1, .slots = rx->slots };
	struct gw__queue_params q = { .port = 0, .slots = tx->slots };
	struct gw_flow_rule f = { .id = 1, .n_actions = 1 };
	struct gw_diag d = { "" };
	int err = gw__engine_nic.open(cfg, gw__clock_monotonic(), &r->e, &d);

	f.action[0].type = GW_ACTION_QUEUE;
	f.action[0].n_queues = 1;
	if (err) {
		T_OK(d.text[0]);
		return err;
	}
	err = r->e->ops->rxq_open(r->e, &p, &rx->event, &rx->rx, &d);
	if (!err)
		err = r->e->ops->txq_open(r->e, &q, &tx->event, &tx->tx, &d);
	for (int i = 0; i < 20 && !err; i++, f.id++)
		err = r->e->ops->flow_add(r->e, 1, &f, &d);
	if (err)
		T_OK(d.text[0]);
	r->e->ops->close(r->e);
	return err;
}

int main(void)
{
	static const uint32_t size[2] = { 64, 1024 };
	struct rig r;
	struct rig_q rx, tx;
	long n, live;
	int err;

	rig_slots(&rx.slots, 64, 2, size);
	rig_slots(&tx.slots, 64, 2, size);
	T_NEED(!gw__event_init(&rx.event) && !gw__event_init(&tx.event));
	live = gw__alloc_live();
	for (n = 1; n < 1000; n++) {
		rig_cfg(&r, "cable:3", "cable:3");
		gw__alloc_fail_at(n);
		err = build(&r, &rx, &tx);
		if (gw__alloc_count() < n) /* it was not reached any more */
			break;
		T_RC(err, -ENOMEM);
		T_EQ(gw__alloc_live(), live);
	}
	gw__alloc_fail_at(0);
	T_RC(err, 0);
	T_OK(n > 20);
	T_EQ(gw__alloc_live(), live);
	rig_q_free(&rx);
	rig_q_free(&tx);
	T_DONE();
}
