/* urom_worker/worker.c: the loop of a worker process: daemon, clients, plugins, sleep.
 * Must not know what commands mean. Next: plugin.c.
 *
 * The daemon's end of the control channel closing is the order to die: there is no orphan. */
#include "urom_worker/worker.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/diag.h"
#include "base/log.h"
#include "urom_net/tlv.h"

#define ADMIT_NS 2000000000u
#define SLOW_NS 5000000000u  /* a frame begun must end within */
#define TX_HIGH (256u << 10) /* a client with this much unread gets no new commands taken */
#define FRAMES_A_TURN 16
#define CTL_EVERY 256u
#define TAG_CTL (UINT64_MAX - 1)
#define TICK_MS 500

static uint64_t now(void)
{
	return gw__now_ns(gw__clock_monotonic());
}

/* ---- clients -------------------------------------------------------------------------------------- */

struct gw__w_client *gw__w_client(struct gw__worker *w, uint64_t dest)
{
	uint32_t i = (uint32_t)(dest & 255) - 1;

	if (i >= GW__UROM_MAX_CLIENTS || w->clients[i].dest != dest || w->clients[i].state != GW__C_RUN)
		return NULL;
	return &w->clients[i];
}

static void client_comes(struct gw__worker *w, uint32_t i)
{
	w->active[w->n_clients++] = (uint8_t)i;
	w->told_idle = false;
	atomic_store_explicit(&w->stats->n_clients, w->n_clients, memory_order_relaxed);
}

static void client_goes(struct gw__worker *w, uint32_t i)
{
	uint32_t k = 0;

	while (w->active[k] != i)
		k++;
	w->active[k] = w->active[--w->n_clients];
	atomic_store_explicit(&w->stats->n_clients, w->n_clients, memory_order_relaxed);
}

static void drop_client(struct gw__worker *w, struct gw__w_client *c, const char *why)
{
	uint64_t dest = c->dest;

	gw__debug("worker %llu: client %llu leaves: %s", (unsigned long long)w->id, (unsigned long long)dest, why);
	c->state = GW__C_FREE;
	gw__w_plugins_client_gone(w, dest);
	gw__w_mem_client_gone(w, c);
	gw__admit_fini(&c->admit);
	gw__chan_fini(&c->chan);
	gw__free(c->table);
	c->table = NULL;
	c->table_len = 0;
	client_goes(w, (uint32_t)(c - w->clients));
}

int gw__w_send(struct gw__worker *w, struct gw__w_client *c, const struct gw__frame *f)
{
	int err = gw__chan_send(&c->chan, f);

	if (!err && f->type == GW__F_NOTIF)
		gw__stat_add(&w->stats->n_notifs);
	/* a notification that cannot be kept would leave a task open for ever: end the client instead */
	if (err && f->type != GW__F_MEM_OP && !c->chan.err)
		c->chan.err = err;
	return err;
}

static struct gw__w_client *free_client(struct gw__worker *w)
{
	for (uint32_t i = 0; i < GW__UROM_MAX_CLIENTS; i++)
		if (w->clients[i].state == GW__C_FREE)
			return &w->clients[i];
	return NULL;
}

/* The daemon hands over a connection whose ticket it has checked. */
static void on_join(struct gw__worker *w, const struct gw__frame *f)
{
	struct gw__w_client *c = free_client(w);
	struct epoll_event ev = { .events = EPOLLIN | EPOLLRDHUP };
	int fd = gw__chan_take_fd(&w->ctl), i;
	struct gw__chan full;
	uint32_t max_msg = w->max_msg, inflight = 64;
	uint64_t features = 0;

	if (fd < 0)
		return;
	w->n_joins++;
	(void)gw__tlv_find_u32(f->payload, f->len, GW__T_MAX_MSG, &max_msg);
	(void)gw__tlv_find_u32(f->payload, f->len, GW__T_INFLIGHT, &inflight);
	(void)gw__tlv_find_u64(f->payload, f->len, GW__T_FEATURES, &features);
	if (!c) {
		if (!gw__chan_init(&full, fd, max_msg)) {
			gw__send_error(&full, DOCA_ERROR_FULL, 0, "worker %llu has %u clients already",
				       (unsigned long long)w->id, GW__UROM_MAX_CLIENTS);
			gw__chan_fini(&full);
		}
		return;
	}
	i = (int)(c - w->clients);
	memset(c, 0, sizeof(*c));
	c->admit = (struct gw__admit){ .memfd = -1, .bells = { -1, -1 } };
	if (gw__chan_init(&c->chan, fd, max_msg < w->max_msg ? max_msg : w->max_msg))
		return;
	/* a caller that takes no rings sends no descriptors either */
	c->chan.take_fds = features & GW__FEAT_SHM;
	c->dest = ++w->n_generations << 8 | (uint64_t)(i + 1);
	c->max_inflight = inflight && inflight <= GW__UROM_MAX_INFLIGHT ? inflight : 64;
	c->state = GW__C_ADMIT;
	c->deadline_ns = now() + ADMIT_NS;
	client_comes(w, (uint32_t)i);
	ev.data.u64 = (uint64_t)i;
	if (epoll_ctl(w->epfd, EPOLL_CTL_ADD, fd, &ev) ||
	    gw__admit_offer(&c->admit, &c->chan, c->dest, features & w->features, gw__ring_bytes(c->chan.max_msg)))
		drop_client(w, c, "it left while joining");
}

static int on_join_ok(struct gw__worker *w, struct gw__w_client *c, const struct gw__frame *f)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.u64 = (uint64_t)(c - w->clients) };
	int err = f->type == GW__F_JOIN_OK ? gw__admit_ok(&c->admit, &c->chan, f) : -EPROTO;
	int efd = gw__chan_event_fd(&c->chan);

	if (err)
		return err;
	if (efd >= 0 && epoll_ctl(w->epfd, EPOLL_CTL_ADD, efd, &ev))
		return -errno;
	c->state = GW__C_RUN;
	return 0;
}

static int on_command(struct gw__worker *w, struct gw__w_client *c, const struct gw__frame *f)
{
	if (c->n_inflight < c->max_inflight) {
		gw__w_command(w, c, f);
		return 0;
	}
	/* more than was agreed: told once a command, ended when it goes on */
	gw__stat_add(&w->stats->n_drops);
	if (++c->n_overruns > c->max_inflight) {
		gw__send_error(&c->chan, DOCA_ERROR_FULL, 0, "command flood: over %u in flight again and again",
			       c->max_inflight);
		return -ENOBUFS;
	}
	gw__send_error(&c->chan, DOCA_ERROR_FULL, f->context, "more than %u commands in flight", c->max_inflight);
	return 0;
}

/* 0 or negative: the client is to be dropped. */
static int on_frame(struct gw__worker *w, struct gw__w_client *c, const struct gw__frame *f)
{
	struct gw__frame echo = *f;

	if (c->state == GW__C_ADMIT)
		return on_join_ok(w, c, f);
	switch (f->type) {
	case GW__F_CMD:
		return on_command(w, c, f);
	case GW__F_ADDR:
		gw__w_addr(w, c);
		return 0;
	case GW__F_DOMAIN:
		gw__w_table_part(w, c, f);
		return 0;
	case GW__F_MEM:
		return gw__w_seg_add(w, c, f);
	case GW__F_MEM_ACK:
		gw__w_mem_ack(w, c, f);
		return 0;
	case GW__F_PING:
		return gw__w_send(w, c, &echo);
	case GW__F_BYE:
		gw__w_send(w, c, &(struct gw__frame){ .type = GW__F_BYE });
		return -ESHUTDOWN;
	default:
		if (f->flags & GW__FL_OPTIONAL)
			return 0;
		gw__send_error(&c->chan, DOCA_ERROR_UNEXPECTED, 0, "unexpected %s frame (type %u)",
			       gw__frame_name(f->type), f->type);
		return -ECONNABORTED; /* told already */
	}
}

/* EPOLLOUT only while something waits to be written. */
static void want_out(struct gw__worker *w, int fd, uint64_t tag, bool *is, bool want)
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLRDHUP | (want ? EPOLLOUT : 0), .data.u64 = tag };

	if (*is == want)
		return;
	*is = want;
	epoll_ctl(w->epfd, EPOLL_CTL_MOD, fd, &ev);
}

static bool step_client(struct gw__worker *w, struct gw__w_client *c, uint64_t now_ns)
{
	struct gw__frame f;
	int n = 0, i = 0;

	/* one that does not read its answers gets no more work done */
	while (i < FRAMES_A_TURN && gw__chan_queued(&c->chan) < TX_HIGH) {
		n = gw__chan_recv(&c->chan, &f, now_ns);
		if (n <= 0)
			break;
		i++;
		n = on_frame(w, c, &f);
		/* answer what is here before asking the kernel for more */
		if (n < 0 || !gw__chan_has_more(&c->chan))
			break;
	}
	if (n == 0 && c->chan.err)
		n = c->chan.err;
	if (n == 0 && gw__chan_queued(&c->chan) && gw__chan_flush(&c->chan) < 0)
		n = c->chan.tx_err;
	if (n < 0) {
		if (n == -EPROTO || n == -EMSGSIZE || n == -EPROTONOSUPPORT) {
			struct gw_diag d;

			gw__stat_add(&w->stats->n_errors);
			gw__greet_bad_bytes(&c->chan, &f, n, &d);
			gw__warn("worker %llu: client refused: %s", (unsigned long long)w->id, d.text);
		}
		drop_client(w, c, strerror(-n));
		return true;
	}
	if (c->chan.mode == GW__CHAN_SOCK)
		want_out(w, c->chan.fd, (uint64_t)(c - w->clients), &c->wants_out, gw__chan_queued(&c->chan));
	return i > 0;
}

/* Deadlines: joining, and frames that never end. */
static void tick_clients(struct gw__worker *w, uint64_t now_ns)
{
	for (uint32_t i = 0; i < GW__UROM_MAX_CLIENTS; i++) {
		struct gw__w_client *c = &w->clients[i];

		if (c->state == GW__C_ADMIT && now_ns > c->deadline_ns)
			drop_client(w, c, "did not join in time");
		else if (c->state == GW__C_RUN && c->chan.partial_since_ns &&
			 now_ns - c->chan.partial_since_ns > SLOW_NS)
			drop_client(w, c, "a frame that never ended");
	}
}

/* ---- the daemon ----------------------------------------------------------------------------------- */

static bool step_ctl(struct gw__worker *w)
{
	struct gw__frame f;
	int n;

	while ((n = gw__chan_recv(&w->ctl, &f, 0)) > 0) {
		if (f.type == GW__F_JOIN)
			on_join(w, &f);
		else if (f.type == GW__F_STOP)
			w->leaving = true;
	}
	if (n < 0) {
		/* the daemon died: so do we */
		w->leaving = true;
		w->exit_code = 0;
	}
	if (!w->n_clients && !w->told_idle && !w->leaving) {
		w->told_idle = true;
		/* with the joins seen so far: one that is under way makes this word stale */
		(void)gw__chan_send(&w->ctl, &(struct gw__frame){ .type = GW__F_IDLE, .context = w->n_joins });
	}
	return n > 0;
}

/* ---- the loop ------------------------------------------------------------------------------------- */

/* True: something is ready after all. */
static bool arm_all(struct gw__worker *w)
{
	bool any = false;

	for (uint32_t k = 0; k < w->n_clients; k++)
		if (gw__chan_queued(&w->clients[w->active[k]].chan) < TX_HIGH)
			any |= gw__chan_arm(&w->clients[w->active[k]].chan);
	return any;
}

static void sleep_until_work(struct gw__worker *w)
{
	struct epoll_event evs[16];
	bool clients = arm_all(w), plugins = gw__w_plugins_arm(w); /* both, whatever the first says */

	if (clients || plugins)
		return;
	epoll_wait(w->epfd, evs, 16, gw__w_plugins_poll(w) ? 1 : TICK_MS);
}

static void loop(struct gw__worker *w)
{
	struct gw__ladder ladder;
	uint32_t turn = 0;

	gw__ladder_init(&ladder);
	while (!w->leaving) {
		uint64_t inflight = 0;
		bool any = false;

		if (turn++ % CTL_EVERY == 0) {
			w->now_ns = now();
			any |= step_ctl(w);
			tick_clients(w, w->now_ns);
		}
		for (uint32_t k = 0; k < w->n_clients;) {
			uint8_t i = w->active[k];

			any |= step_client(w, &w->clients[i], w->now_ns);
			inflight += w->clients[i].n_inflight;
			k += k < w->n_clients && w->active[k] == i; /* gone: another took its place */
		}
		any |= gw__w_plugins_progress(w);
		atomic_store_explicit(&w->stats->n_inflight, inflight, memory_order_relaxed);
		if (any) {
			gw__ladder_reset(&ladder);
		} else if (gw__ladder_step(&ladder)) {
			(void)step_ctl(w); /* the last client's leaving is told before the sleep, not after it */
			if (!w->leaving)
				sleep_until_work(w);
			gw__ladder_reset(&ladder);
			turn = 0;
		}
	}
}

static int load_plugins(struct gw__worker *w, const struct gw__worker_opts *o, struct gw_diag *diag)
{
	for (int i = 0; i < o->n_plugins; i++) {
		char name[64];
		unsigned int index;
		int err;

		if (sscanf(o->plugins[i], "%47[a-z0-9_]:%u", name, &index) != 2 || index >= GW__UROM_MAX_PLUGINS)
			return gw__fail(diag, -EINVAL, "plugin argument %s: want name:index", o->plugins[i]);
		err = gw__w_plugin_load(w, index, GW__WORKER_FD_PLUGIN + i, name, diag);
		if (err)
			return err;
		close(GW__WORKER_FD_PLUGIN + i);
	}
	return 0;
}

static int set_up(struct gw__worker *w, const struct gw__worker_opts *o, struct gw_diag *diag)
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLRDHUP, .data.u64 = TAG_CTL };
	int err = gw__chan_init(&w->ctl, GW__WORKER_FD_CTL, GW__UROM_MSG_MAX);

	if (err)
		return gw__fail(diag, err, "out of memory");
	w->ctl.take_fds = true;
	w->id = o->id;
	w->max_msg = o->max_msg;
	w->features = o->features;
	w->stats = mmap(NULL, sizeof(*w->stats), PROT_READ | PROT_WRITE, MAP_SHARED, GW__WORKER_FD_STATS, 0);
	if (w->stats == MAP_FAILED)
		return gw__fail(diag, -errno, "no stats page");
	w->scratch = gw__malloc(w->max_msg);
	w->epfd = epoll_create1(EPOLL_CLOEXEC);
	if (!w->scratch || w->epfd < 0 || epoll_ctl(w->epfd, EPOLL_CTL_ADD, w->ctl.fd, &ev))
		return gw__fail(diag, -ENOMEM, "out of memory or descriptors");
	w->told_idle = true; /* not before the first client came */
	return load_plugins(w, o, diag);
}

/* The daemon is dead (the kernel says so), or someone wants us gone: the loop sees the end of the control
 * channel and leaves in order; a plugin that does not return gets two seconds. */
static void on_term(int sig)
{
	(void)sig;
	alarm(2);
}

int gw__worker_run(const struct gw__worker_opts *o)
{
	static struct gw__worker w; /* one a process; large */
	struct gw_diag diag = { .text = "" };

	signal(SIGTERM, on_term);
	if (set_up(&w, o, &diag)) {
		gw__error("worker %llu: %s", (unsigned long long)o->id, diag.text);
		if (w.ctl.fd >= 0)
			gw__send_error(&w.ctl, DOCA_ERROR_INITIALIZATION, 0, "worker %llu: %s",
				       (unsigned long long)o->id, diag.text);
		return 1;
	}
	if (gw__chan_send(&w.ctl, &(struct gw__frame){ .type = GW__F_READY }))
		return 1;
	loop(&w);
	for (uint32_t i = 0; i < GW__UROM_MAX_CLIENTS; i++)
		if (w.clients[i].state != GW__C_FREE)
			drop_client(&w, &w.clients[i], "the worker stops");
	gw__w_plugins_close(&w);
	gw__free(w.table);
	gw__free(w.scratch);
	gw__chan_fini(&w.ctl);
	close(w.epfd);
	return w.exit_code;
}
