/* ingest/poller.c: the threads: a loop around the steps of the queues of one core, and the tender that
 * reclaims transmit queues whose sender is away. No logic lives here: everything is in a step.
 * Must not know packets. Next: rxq.c (the step), base/wait.h (the ladder). */
#include <errno.h>

#include "base/alloc.h"
#include "base/diag.h"
#include "base/log.h"
#include "ingest/gw.h"

#define TEND_MIN_NS 1000000u
#define TEND_MAX_NS 8000000u
#define TEND_FLOOR_NS 20000u
#define UNTOLD_NS 500000000u

static bool indirect(const struct gw__rx_queue *q)
{
	return q->cfg->poll == GW_POLL_INDIRECT;
}

void gw__poller_choose(struct gw *gw, struct gw__rx_queue *q)
{
	q->event = &q->own_event;
	if (!indirect(q) || q->cfg->cpu_core < 0)
		return;
	for (uint32_t p = 0; p < gw->n_ports; p++)
		for (uint32_t i = 0; i < gw->port[p].cfg->n_rxq; i++) {
			struct gw__rx_queue *o = &gw->port[p].rxq[i];

			if (o == q)
				return;
			if (indirect(o) && o->cfg->cpu_core == q->cfg->cpu_core) {
				q->event = o->event;
				return;
			}
		}
}

static struct gw__poller *poller_of(struct gw *gw, struct gw__rx_queue *q)
{
	for (uint32_t i = 0; i < gw->n_pollers; i++)
		if (gw->poller[i].event == q->event)
			return &gw->poller[i];
	gw->poller[gw->n_pollers] = (struct gw__poller){ .gw = gw, .core = q->cfg->cpu_core, .event = q->event };
	return &gw->poller[gw->n_pollers++];
}

int gw__pollers_open(struct gw *gw)
{
	uint32_t n = 0;

	for (uint32_t p = 0; p < gw->n_ports; p++)
		n += gw->port[p].cfg->n_rxq;
	gw->poller = gw__calloc(n, sizeof(*gw->poller));
	if (!gw->poller)
		return -ENOMEM;
	for (uint32_t p = 0; p < gw->n_ports; p++)
		for (uint32_t i = 0; i < gw->port[p].cfg->n_rxq; i++) {
			struct gw__rx_queue *q = &gw->port[p].rxq[i];
			struct gw__poller *po;

			if (!indirect(q))
				continue;
			po = poller_of(gw, q);
			if (!po->q)
				po->q = gw__calloc(n, sizeof(struct gw__rx_queue *));
			if (!po->q)
				return -ENOMEM;
			po->q[po->n_q++] = q;
		}
	return 0;
}

void gw__pollers_close(struct gw *gw)
{
	for (uint32_t i = 0; i < gw->n_pollers; i++)
		gw__free(gw->poller[i].q);
	gw__free(gw->poller);
	gw->poller = NULL;
	gw->n_pollers = 0;
}

static int serve_all(struct gw__poller *p)
{
	int moved = 0;

	for (uint32_t i = 0; i < p->n_q; i++)
		moved += gw__rxq_serve(p->q[i], GW__BUDGET);
	return moved;
}

/* Armed already: is there a reason not to block? The extra turn sees what came before arming. */
static bool has_work(struct gw__poller *p)
{
	if (serve_all(p) > 0 || atomic_load_explicit(&p->gw->stopping, memory_order_acquire))
		return true;
	for (uint32_t i = 0; i < p->n_q; i++) {
		struct gw__rx_queue *q = p->q[i];

		if (gw__rxq_arm(q) || atomic_load_explicit(&q->flush_want, memory_order_acquire) !=
					      atomic_load_explicit(&q->flush_done, memory_order_relaxed))
			return true;
	}
	return false;
}

static void rest(struct gw__poller *p, struct gw__ladder *ladder)
{
	uint64_t ns = UINT64_MAX;
	int woke;

	gw__event_arm(p->event);
	if (has_work(p)) {
		gw__event_disarm(p->event);
		gw__ladder_reset(ladder);
		return;
	}
	for (uint32_t i = 0; i < p->n_q; i++) {
		uint64_t one = gw__rxq_sleep_ns(p->q[i]);

		ns = one < ns ? one : ns;
	}
	if (ns > UNTOLD_NS && gw__stats_untold(p->gw))
		ns = UNTOLD_NS;
	woke = gw__event_block(p->event, ns);
	if (woke > 0)
		gw__ladder_reset(ladder);
}

static void *poll_loop(void *arg)
{
	struct gw__poller *p = arg;
	struct gw__ladder ladder;

	if (p->core >= 0 && gw__pin_to_core(p->core))
		gw__warn("rx queue '%s': this machine has no core %d for this process; its poller runs unpinned",
			 p->q[0]->cfg->name, p->core);
	gw__ladder_init(&ladder);
	while (!atomic_load_explicit(&p->gw->stopping, memory_order_acquire)) {
		if (serve_all(p) > 0)
			gw__ladder_reset(&ladder);
		else if (p->gw->cfg->wait == GW_WAIT_BLOCK && gw__ladder_step(&ladder))
			rest(p, &ladder);
	}
	return NULL;
}

/* One round over the transmit queues; true while any has requests out. *ns: how long to rest at most. */
static bool tend(struct gw *gw, uint64_t *ns)
{
	bool busy = false;

	for (uint32_t p = 0; p < gw->n_ports; p++)
		for (uint32_t i = 0; i < gw->port[p].cfg->n_txq; i++) {
			struct gw__tx_queue *q = &gw->port[p].txq[i];
			uint64_t ops = atomic_load_explicit(&q->ops, memory_order_relaxed);

			if (!atomic_load_explicit(&q->busy, memory_order_relaxed))
				continue;
			if (ops == q->ops_seen && !pthread_mutex_trylock(&q->lock)) {
				uint64_t due;

				(void)gw__txq_progress(q);
				pthread_mutex_unlock(&q->lock);
				due = gw__txq_due_ns(q); /* paced packets leave on time */
				*ns = due < *ns ? due : *ns;
			}
			q->ops_seen = ops;
			busy |= atomic_load_explicit(&q->busy, memory_order_relaxed) != 0;
		}
	return busy;
}

static void *tend_loop(void *arg)
{
	struct gw *gw = arg;
	uint64_t ns = TEND_MIN_NS;

	while (!atomic_load_explicit(&gw->stopping, memory_order_acquire)) {
		uint64_t rest_ns = ns;
		bool busy;

		gw__event_arm(&gw->tend_event);
		busy = tend(gw, &rest_ns);
		if (atomic_load_explicit(&gw->stopping, memory_order_acquire))
			break;
		if (busy)
			gw__event_disarm(&gw->tend_event); /* only a stop cuts the rest short */
		(void)gw__event_block(&gw->tend_event, busy ? rest_ns + TEND_FLOOR_NS : UINT64_MAX);
		ns = !busy ? TEND_MIN_NS : ns < TEND_MAX_NS ? ns * 2 : TEND_MAX_NS;
	}
	return NULL;
}

int gw__pollers_start(struct gw *gw, struct gw_diag *diag)
{
	uint32_t n_tx = 0;

	for (uint32_t p = 0; p < gw->n_ports; p++)
		n_tx += gw->port[p].cfg->n_txq;
	for (uint32_t i = 0; i < gw->n_pollers; i++) {
		struct gw__poller *p = &gw->poller[i];

		if (pthread_create(&p->thread, NULL, poll_loop, p))
			return gw__fail(diag, -EAGAIN, "no thread for the poller of rx queue '%s'; raise ulimit -u",
					p->q[0]->cfg->name);
		p->running = true;
		gw__threads_add(1);
	}
	if (n_tx) {
		if (pthread_create(&gw->tender, NULL, tend_loop, gw))
			return gw__fail(diag, -EAGAIN, "no thread for the transmit queues; raise ulimit -u");
		gw->tender_running = true;
	}
	return 0;
}

void gw__pollers_stop(struct gw *gw)
{
	atomic_store_explicit(&gw->stopping, true, memory_order_release);
	for (uint32_t i = 0; i < gw->n_pollers; i++) {
		struct gw__poller *p = &gw->poller[i];

		if (!p->running)
			continue;
		gw__event_kick(p->event);
		pthread_join(p->thread, NULL);
		p->running = false;
		gw__threads_add(-1);
	}
	if (gw->tender_running) {
		gw__event_kick(&gw->tend_event);
		pthread_join(gw->tender, NULL);
		gw->tender_running = false;
	}
}
