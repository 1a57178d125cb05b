/* link/cable.c: two ports of one process, no buffering: send() calls the peer's deliver(), and step() runs the
 * peer's send side, so whichever thread comes first does the one copy.
 * Must not know queues or slots. Next: nic/soft/port.c, which plugs in.
 *
 * An end may go while its peer is inside it: users[e] counts who is inside end e's sink, and close waits
 * for it. open[e] is set by plug's first use and cleared by close; both are sequentially consistent, so
 * either the caller sees the end closed or close sees the caller. */
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/diag.h"
#include "link/link.h"

struct cable;

struct end {
	struct gw__link link; /* first */
	struct cable *cable;
	struct end *peer;
	_Alignas(64) _Atomic int users;
	_Atomic bool open;
};
static_assert(offsetof(struct end, link) == 0, "an end is a link");

struct cable {
	struct end end[2];
	_Atomic bool gone; /* one end has closed after both were there */
	int n_ends;
	int n_live;
	long number;
	struct cable *next;
};

static pthread_mutex_t registry_lock = PTHREAD_MUTEX_INITIALIZER;
static struct cable *registry;

/* Enter a sink; false if that end is not there. */
static bool enter(struct end *e)
{
	atomic_fetch_add_explicit(&e->users, 1, memory_order_seq_cst);
	if (atomic_load_explicit(&e->open, memory_order_seq_cst))
		return true;
	atomic_fetch_sub_explicit(&e->users, 1, memory_order_release);
	return false;
}

static void leave(struct end *e)
{
	atomic_fetch_sub_explicit(&e->users, 1, memory_order_release);
}

/* How many of the frames may go to the peer's sink, which is entered then; else what send() returns. */
static int enter_with(struct gw__link *link, const struct gw__frame *frames, int n)
{
	struct end *e = (struct end *)link;
	int k = 0;

	while (k < n && frames[k].len <= link->mtu)
		k++;
	if (!k)
		return -EMSGSIZE;
	if (!enter(e->peer))
		return atomic_load_explicit(&e->cable->gone, memory_order_acquire) ? -EPIPE : 0;
	return k;
}

static int cable_send(struct gw__link *link, const struct gw__frame *frames, int n)
{
	struct end *peer = ((struct end *)link)->peer;
	int k = enter_with(link, frames, n);

	if (k <= 0)
		return k;
	k = peer->link.sink.deliver(peer->link.sink.ctx, frames, k);
	leave(peer);
	return k;
}

/* The peer stays entered until finish. A sink without parts gets the frames whole. */
static int cable_take(struct gw__link *link, const struct gw__frame *frames, int n, void **burst)
{
	struct end *peer = ((struct end *)link)->peer;
	const struct gw__link_sink *sink = &peer->link.sink;
	int k;

	if (!sink->take)
		return cable_send(link, frames, n);
	k = enter_with(link, frames, n);
	if (k <= 0)
		return k;
	k = sink->take(sink->ctx, frames, k, burst);
	if (!*burst)
		leave(peer);
	return k;
}

static void cable_copy(struct gw__link *link, void *burst)
{
	const struct gw__link_sink *sink = &((struct end *)link)->peer->link.sink;

	sink->copy(sink->ctx, burst);
}

static void cable_finish(struct gw__link *link, void *burst)
{
	struct end *peer = ((struct end *)link)->peer;

	peer->link.sink.finish(peer->link.sink.ctx, burst);
	leave(peer);
}

static int cable_step(struct gw__link *link, int budget)
{
	struct end *e = (struct end *)link;
	struct end *peer = e->peer;
	int k;

	if (!enter(peer))
		return 0;
	k = peer->link.sink.pull(peer->link.sink.ctx, budget);
	leave(peer);
	return k;
}

static void cable_resume(struct gw__link *link)
{
	struct end *peer = ((struct end *)link)->peer;

	if (!enter(peer))
		return;
	peer->link.sink.wake_tx(peer->link.sink.ctx);
	leave(peer);
}

/* The peer's paced frames: whoever receives may move them too. */
static uint64_t cable_due(struct gw__link *link)
{
	struct end *peer = ((struct end *)link)->peer;
	uint64_t t;

	if (!enter(peer))
		return UINT64_MAX;
	t = peer->link.sink.due_ns(peer->link.sink.ctx);
	leave(peer);
	return t;
}

static void cable_free(struct cable *c)
{
	struct cable **p = &registry;

	while (*p && *p != c)
		p = &(*p)->next;
	if (*p)
		*p = c->next;
	gw__free(c);
}

static void cable_close(struct gw__link *link)
{
	struct end *e = (struct end *)link;
	struct cable *c = e->cable;

	if (e->peer != e && atomic_load_explicit(&e->peer->open, memory_order_acquire))
		atomic_store_explicit(&c->gone, true, memory_order_release);
	atomic_store_explicit(&e->open, false, memory_order_seq_cst);
	while (atomic_load_explicit(&e->users, memory_order_acquire))
		sched_yield();
	pthread_mutex_lock(&registry_lock);
	if (!--c->n_live)
		cable_free(c);
	pthread_mutex_unlock(&registry_lock);
}

static void cable_plug(struct gw__link *link)
{
	atomic_store_explicit(&((struct end *)link)->open, true, memory_order_seq_cst);
}

static const struct gw__link_ops cable_ops = {
	.send = cable_send,
	.take = cable_take,
	.copy = cable_copy,
	.finish = cable_finish,
	.step = cable_step,
	.arm = gw__link_no_arm, /* the port steps once more before it blocks: all there is to look at */
	.resume = cable_resume,
	.due_ns = cable_due,
	.watch = gw__link_no_watch,
	.plugged = cable_plug,
	.close = cable_close,
};

static struct end *end_init(struct cable *c, int i, int peer, struct gw__clock *clock)
{
	struct end *e = &c->end[i];

	e->link.ops = &cable_ops;
	e->link.clock = clock;
	e->link.mtu = GW_LINK_MTU;
	e->link.can_pause = true;
	e->cable = c;
	e->peer = &c->end[peer];
	c->n_ends++;
	c->n_live++;
	return e;
}

static struct cable *cable_new(long number)
{
	struct cable *c = gw__aligned_alloc(64, sizeof(*c));

	if (!c)
		return NULL;
	c->number = number;
	c->next = registry;
	registry = c;
	return c;
}

int gw__cable_open(const char *rest, struct gw__clock *clock, struct gw__link **out, struct gw_diag *diag)
{
	char *stop;
	long number = strtol(rest, &stop, 10);
	struct cable *c;
	int err = 0;

	if (stop == rest || *stop || number < 0)
		return gw__fail(diag, -EINVAL, "address \"cable:%s\": write cable:N with a number, e.g. cable:0",
				rest);
	pthread_mutex_lock(&registry_lock);
	for (c = registry; c && (c->number != number || (c->n_ends == 2 && c->n_live < 2)); c = c->next)
		;
	if (!c)
		c = cable_new(number);
	if (!c)
		err = gw__fail(diag, -ENOMEM, "no memory for cable:%ld", number);
	else if (c->n_ends == 2)
		err = gw__fail(diag, -EBUSY, "cable:%ld has both ends plugged in already; use another number",
			       number);
	else
		*out = &end_init(c, c->n_ends, 1 - c->n_ends, clock)->link;
	pthread_mutex_unlock(&registry_lock);
	return err;
}

int gw__loopback_open(const char *rest, struct gw__clock *clock, struct gw__link **out, struct gw_diag *diag)
{
	struct cable *c;

	if (*rest)
		return gw__fail(diag, -EINVAL, "address \"loopback:%s\": write loopback alone", rest);
	pthread_mutex_lock(&registry_lock);
	c = cable_new(-1);
	if (c)
		*out = &end_init(c, 0, 0, clock)->link;
	pthread_mutex_unlock(&registry_lock);
	return c ? 0 : gw__fail(diag, -ENOMEM, "no memory for the loopback");
}
