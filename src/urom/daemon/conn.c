/* urom_daemon/conn.c: connections: accept, greet, answer; slow and unknown callers end here.
 * Must not know workers' insides. Next: pool.c (SPAWN, JOIN), status.c. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <doca/doca_error.h>

#include "base/alloc.h"
#include "base/log.h"
#include "urom_daemon/daemon.h"
#include "urom_net/tlv.h"

#define GREET_NS 1000000000u
#define SLOW_NS 5000000000u
#define LINGER_NS 300000000u

static uint32_t index_of(const struct gw__daemon *d, const struct gw__d_conn *c)
{
	return (uint32_t)(c - d->conns);
}

struct gw__d_conn *gw__d_conn_of(struct gw__daemon *d, uint64_t serial)
{
	for (uint32_t i = 0; i < GW__D_CONNS; i++)
		if (d->conns[i].state != GW__D_FREE && d->conns[i].serial == serial)
			return &d->conns[i];
	return NULL;
}

void gw__d_conn_drop(struct gw__daemon *d, struct gw__d_conn *c)
{
	if (c->state == GW__D_RUN)
		gw__d_drop_tickets(d, c->serial);
	gw__chan_fini(&c->chan);
	c->state = GW__D_FREE;
}

/* ---- accepting ---------------------------------------------------------------------------------- */

static bool uid_allowed(const struct gw__daemon *d, uid_t uid)
{
	if (uid == geteuid())
		return true;
	for (int i = 0; i < d->o->n_uids; i++)
		if (d->o->uids[i] == uid)
			return true;
	return false;
}

/* The kernel says who it is. */
static bool peer_uid(int fd, uid_t *uid)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len))
		return false;
	*uid = cred.uid;
	return true;
}

/* A place for a new caller. Of those that have not greeted yet only some may wait: the oldest makes room, so
 * half-open connections never keep a real one out. */
static struct gw__d_conn *place(struct gw__daemon *d, uid_t uid)
{
	struct gw__d_conn *free_one = NULL, *oldest = NULL;
	uint32_t n_greet = 0, mine = 0;

	for (uint32_t i = 0; i < GW__D_CONNS; i++) {
		struct gw__d_conn *c = &d->conns[i];

		if (c->state == GW__D_FREE) {
			if (!free_one)
				free_one = c;
			continue;
		}
		if (c->state != GW__D_RUN) {
			n_greet++;
			if (!oldest || c->since_ns < oldest->since_ns)
				oldest = c;
		} else if (uid != (uid_t)-1) {
			mine += c->uid == uid;
		}
	}
	if (mine >= GW__D_PER_UID) {
		gw__d_refusal(d, "uid %d has %u connections: no more", (int)uid, GW__D_PER_UID);
		return NULL;
	}
	if (oldest && (n_greet >= GW__D_UNAUTH || !free_one)) {
		d->n_turned_away++;
		gw__d_conn_drop(d, oldest);
		return free_one ? free_one : oldest;
	}
	return free_one;
}

static void take(struct gw__daemon *d, int listener, int fd)
{
	bool is_unix = d->listeners[listener].ep.kind == GW__EP_UNIX;
	uid_t uid = (uid_t)-1;
	struct gw__d_conn *c;
	bool allowed;

	if (is_unix && !peer_uid(fd, &uid)) {
		close(fd);
		return;
	}
	allowed = !is_unix || uid_allowed(d, uid);
	c = place(d, uid);
	if (!c) {
		close(fd);
		return;
	}
	memset(c, 0, sizeof(*c));
	if (!is_unix)
		gw__ep_tune(fd);
	if (gw__chan_init(&c->chan, fd, GW__UROM_MSG_MAX))
		return;
	c->state = GW__D_GREET;
	c->serial = ++d->serials;
	c->uid = uid;
	c->ucx = d->listeners[listener].ep.kind == GW__EP_UCX;
	c->greet.key = d->listeners[listener].keyed ? &d->key : NULL;
	c->greet.max_msg = d->o->max_msg;
	c->since_ns = gw__d_now();
	c->deadline_ns = c->since_ns + GREET_NS;
	if (!allowed) {
		gw__d_refusal(d, "uid %d is not allowed here", (int)uid);
		d->n_turned_away++;
		gw__send_error(&c->chan, DOCA_ERROR_NOT_PERMITTED, 0, "user id %d is not allowed by this daemon", (int)uid);
		shutdown(fd, SHUT_WR);
		c->state = GW__D_LINGER;
		c->deadline_ns = c->since_ns + LINGER_NS;
	}
	d->n_accepted++;
	if (gw__d_watch(d, fd, GW__D_K_CONN, index_of(d, c))) {
		gw__d_conn_drop(d, c);
		return;
	}
	gw__d_conn_event(d, index_of(d, c)); /* most have greeted already */
}

void gw__d_accept(struct gw__daemon *d, int listener)
{
	for (int i = 0; i < 64; i++) {
		int fd = accept4(d->listeners[listener].fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd < 0 && errno == EINTR)
			continue;
		if (fd < 0)
			return; /* EMFILE: the next tick frees some */
		take(d, listener, fd);
	}
}

/* ---- answers ------------------------------------------------------------------------------------- */

static void send_plugins(struct gw__daemon *d, struct gw__d_conn *c)
{
	uint8_t buf[GW__UROM_MAX_PLUGINS * 128 + 256], nested[128], bits[128] = { 0 };
	struct gw__tlv_w w = gw__tlv_writer(buf, sizeof(buf));

	c->asks_plugins = false;
	for (uint32_t i = 0; i < GW__UROM_MAX_PLUGINS; i++) {
		struct gw__tlv_w n = gw__tlv_writer(nested, sizeof(nested));

		if (d->plugins[i].state != GW__D_P_GOOD)
			continue;
		gw__tlv_put_u32(&n, GW__T_INDEX, i);
		gw__tlv_put_u64(&n, GW__T_VERSION, d->plugins[i].version);
		gw__tlv_put_text(&n, GW__T_NAME, d->plugins[i].name);
		gw__tlv_put(&w, GW__T_PLUGIN, nested, n.len);
	}
	for (int i = 0; i < 1024 && i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &d->cpus))
			bits[i / 8] |= (uint8_t)(1u << (i % 8));
	gw__tlv_put(&w, GW__T_CPUSET, bits, sizeof(bits));
	(void)gw__send_tlv(&c->chan, GW__F_PLUGINS, c->plugins_context, buf, w.len);
}

void gw__d_answer_plugins(struct gw__daemon *d)
{
	for (uint32_t i = 0; i < GW__D_CONNS; i++)
		if (d->conns[i].state == GW__D_RUN && d->conns[i].asks_plugins)
			send_plugins(d, &d->conns[i]);
}

static void on_plugins(struct gw__daemon *d, struct gw__d_conn *c, const struct gw__frame *f)
{
	gw__d_scan(d);
	c->asks_plugins = true;
	c->plugins_context = f->context;
	if (!gw__d_probing(d))
		gw__d_answer_plugins(d);
}

static void on_gid(struct gw__daemon *d, struct gw__d_conn *c, const struct gw__frame *f)
{
	uint8_t buf[GW__UROM_MAX_WORKERS * 16];
	struct gw__tlv_w w = gw__tlv_writer(buf, sizeof(buf));
	uint64_t ids[GW__UROM_MAX_WORKERS];
	uint32_t gid, n = 0;

	if (gw__tlv_find_u32(f->payload, f->len, GW__T_GID, &gid)) {
		gw__send_error(&c->chan, DOCA_ERROR_INVALID_VALUE, f->context, "GID_QUERY names no group");
		return;
	}
	for (uint32_t i = 0; i < GW__UROM_MAX_WORKERS; i++) {
		const struct gw__d_worker *k = &d->workers[i];
		uint32_t at = n;

		if (k->state != GW__D_W_RUNNING || k->gid != gid || k->uid != c->uid)
			continue;
		for (n++; at && ids[at - 1] > k->id; at--)
			ids[at] = ids[at - 1];
		ids[at] = k->id;
	}
	for (uint32_t i = 0; i < n; i++)
		gw__tlv_put_u64(&w, GW__T_WORKER, ids[i]);
	(void)gw__send_tlv(&c->chan, GW__F_GID_QUERY, f->context, buf, w.len);
}

static void on_status(struct gw__daemon *d, struct gw__d_conn *c, const struct gw__frame *f)
{
	char *text = gw__malloc(GW__UROM_CTRL_MAX);

	if (text)
		(void)gw__send_tlv(&c->chan, GW__F_STATUS, f->context, text,
				   gw__d_status(d, text, GW__UROM_CTRL_MAX));
	gw__free(text);
}

static void on_stop(struct gw__daemon *d, struct gw__d_conn *c, const struct gw__frame *f)
{
	uint64_t id;
	int err = gw__tlv_find_u64(f->payload, f->len, GW__T_WORKER, &id);

	if (!err)
		err = gw__d_stop_worker(d, id, c->uid);
	if (err)
		gw__send_error(&c->chan, err == -EPERM ? DOCA_ERROR_NOT_PERMITTED : DOCA_ERROR_NOT_FOUND, f->context,
			       "no such worker, or another user's");
	else
		(void)gw__send_tlv(&c->chan, GW__F_STOP, f->context, NULL, 0);
}

static void on_request(struct gw__daemon *d, struct gw__d_conn *c, const struct gw__frame *f)
{
	switch (f->type) {
	case GW__F_PLUGINS:
		on_plugins(d, c, f);
		break;
	case GW__F_SPAWN:
		gw__d_spawn(d, c, f);
		break;
	case GW__F_GID_QUERY:
		on_gid(d, c, f);
		break;
	case GW__F_STATUS:
		on_status(d, c, f);
		break;
	case GW__F_STOP:
		on_stop(d, c, f);
		break;
	case GW__F_PING:
		(void)gw__send_tlv(&c->chan, GW__F_PING, f->context, f->payload, f->len);
		break;
	case GW__F_BYE:
		c->closing = true;
		break;
	default:
		if (f->flags & GW__FL_OPTIONAL)
			break;
		gw__d_refusal(d, "uid %d: unexpected %s frame (type %u)", (int)c->uid, gw__frame_name(f->type), f->type);
		gw__send_error(&c->chan, DOCA_ERROR_UNEXPECTED, 0, "unexpected %s frame (type %u)",
			       gw__frame_name(f->type), f->type);
		c->closing = true;
	}
}

/* ---- events ---------------------------------------------------------------------------------------- */

static void on_frame(struct gw__daemon *d, struct gw__d_conn *c, const struct gw__frame *f)
{
	struct gw_diag diag;
	int n;

	if (c->state == GW__D_RUN) {
		on_request(d, c, f);
		return;
	}
	if (c->state == GW__D_JOIN) {
		if (f->type == GW__F_JOIN)
			gw__d_join(d, c, f);
		else
			c->closing = true;
		return;
	}
	n = gw__greet_frame(&c->greet, &c->chan, f, &diag);
	if (n < 0) {
		gw__d_refusal(d, "uid %d: refused: %s", (int)c->uid, diag.text);
		d->n_turned_away++;
		c->closing = true;
	} else if (n > 0 && c->greet.hello.role == GW__ROLE_JOIN) {
		c->state = GW__D_JOIN;
	} else if (n > 0) {
		/* the control channel has its own, larger limit for answers */
		c->state = GW__D_RUN;
	}
}

void gw__d_conn_event(struct gw__daemon *d, uint32_t index)
{
	struct gw__d_conn *c = &d->conns[index];
	uint64_t serial = c->serial, now = gw__d_now();
	struct gw__frame f = { 0 };
	struct gw_diag diag;
	char sink[4096];
	ssize_t got;
	int n = 0;

	if (c->state == GW__D_LINGER) {
		got = recv(c->chan.fd, sink, sizeof(sink), MSG_DONTWAIT);
		if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
			gw__d_conn_drop(d, c);
		return;
	}
	for (int i = 0; i < 32 && c->state != GW__D_FREE && c->serial == serial && !c->closing; i++) {
		n = gw__chan_recv(&c->chan, &f, now);
		if (n <= 0)
			break;
		on_frame(d, c, &f);
		n = 0;
	}
	if (c->state == GW__D_FREE || c->serial != serial)
		return;
	if (n < 0 && n != -ECONNRESET) {
		gw__greet_bad_bytes(&c->chan, &f, n, &diag);
		gw__d_refusal(d, "uid %d: refused: %s", (int)c->uid, diag.text);
		d->n_turned_away++;
	}
	if (n < 0 || c->chan.tx_err || (c->closing && !gw__chan_queued(&c->chan))) {
		gw__d_conn_drop(d, c);
		return;
	}
	gw__d_want_out(d, c->chan.fd, GW__D_K_CONN, index, &c->wants_out, gw__chan_queued(&c->chan) != 0);
}

void gw__d_conn_tick(struct gw__daemon *d, uint64_t now_ns)
{
	for (uint32_t i = 0; i < GW__D_CONNS; i++) {
		struct gw__d_conn *c = &d->conns[i];
		bool greeting = c->state == GW__D_GREET || c->state == GW__D_JOIN;

		if (c->state == GW__D_FREE)
			continue;
		if (c->state == GW__D_LINGER) {
			if (now_ns > c->deadline_ns)
				gw__d_conn_drop(d, c);
		} else if (greeting && now_ns > c->deadline_ns) {
			gw__send_error(&c->chan, DOCA_ERROR_TIME_OUT, 0, "the greeting took longer than 1 s");
			d->n_turned_away++;
			gw__d_conn_drop(d, c);
		} else if (c->chan.partial_since_ns && now_ns > c->chan.partial_since_ns &&
			   now_ns - c->chan.partial_since_ns > SLOW_NS) {
			gw__send_error(&c->chan, DOCA_ERROR_TIME_OUT, 0, "a frame took longer than 5 s to arrive");
			d->n_turned_away++;
			gw__d_conn_drop(d, c);
		} else if (c->closing || gw__chan_queued(&c->chan)) {
			gw__d_conn_event(d, i);
		}
	}
}
