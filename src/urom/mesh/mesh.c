/* urom_mesh/mesh.c: tagged messages over the connections of a mesh.
 * Must not know handshakes. Next: conn.c.
 *
 * A message travels in pieces, one message at a time on a connection, so pieces need no numbers beyond their
 * offset. It lands in the buffer of the oldest receive that matches, else waits in a buffer of ours; when too
 * much waits, the connection is not read: its sender feels that. */
#include "urom_mesh/mesh.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/diag.h"
#include "urom_mesh/insides.h"
#include "urom_net/tlv.h"

#define EARLY_MAX ((size_t)96 << 20) /* bytes that may wait before reading stops */
#define FRAMES_A_TURN 32
#define ACCEPT_EVERY 32u

/* ---- the object ----------------------------------------------------------------------------------- */

/* This machine since its last boot, whatever namespace; and this network namespace. */
static void where_am_i(struct gw__mesh *m)
{
	char text[64] = "";
	FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
	struct stat st;

	if (f) {
		if (!fgets(text, sizeof(text), f))
			text[0] = '\0';
		fclose(f);
	}
	m->place = 1469598103934665603u;
	for (const char *p = text; *p && *p != '\n'; p++)
		m->place = (m->place ^ (unsigned char)*p) * 1099511628211u;
	if (!stat("/proc/self/ns/net", &st))
		m->netns = st.st_ino;
}

int gw__mesh_open(struct gw__mesh **out, bool listen, const struct gw__mesh_opts *opts, struct gw_diag *diag)
{
	struct gw__mesh *m = gw__calloc(1, sizeof(*m));
	int err;

	if (!m)
		return gw__fail(diag, -ENOMEM, "mesh: out of memory");
	if (opts)
		m->opts = *opts;
	m->unix_fd = m->tcp_fd = -1;
	m->last_recv = &m->recvs;
	m->last_early = &m->earlies;
	m->key.len = GW__TICKET;
	where_am_i(m);
	m->epfd = epoll_create1(EPOLL_CLOEXEC);
	err = m->epfd < 0 ? gw__fail(diag, -errno, "mesh: no descriptors left") : 0;
	if (!err)
		err = gw__random(m->key.bytes, m->key.len);
	if (!err)
		err = gw__random(&m->id, sizeof(m->id));
	if (!err && listen)
		err = gw__m_listen(m, diag);
	m->has_ucx |= !listen; /* a caller takes what is offered */
	if (err) {
		gw__mesh_close(m);
		return err;
	}
	*out = m;
	return 0;
}

void gw__mesh_close(struct gw__mesh *m)
{
	struct gw__m_recv *r;

	if (!m)
		return;
	m->opts.down = NULL;
	for (int i = 0; i < m->n_conns; i++)
		if (m->conns[i]) {
			gw__m_drop(m, m->conns[i], -ESHUTDOWN);
			gw__free(m->conns[i]);
		}
	while ((r = m->recvs)) {
		m->recvs = r->next;
		r->done(r->arg, -ESHUTDOWN, 0, NULL, 0, 0);
		gw__free(r);
	}
	while (m->earlies) {
		struct gw__m_early *e = m->earlies;

		m->earlies = e->next;
		gw__free(e);
	}
	if (m->unix_fd >= 0)
		close(m->unix_fd);
	if (m->tcp_fd >= 0)
		close(m->tcp_fd);
	if (m->unix_name[0] == '/')
		unlink(m->unix_name);
	if (m->epfd >= 0)
		close(m->epfd);
	gw__free(m);
}

size_t gw__mesh_address(const struct gw__mesh *m, void *buf)
{
	struct gw__tlv_w w = gw__tlv_writer(buf, GW__MESH_ADDR_MAX);

	gw__tlv_put_u64(&w, GW__T_WORKER, m->id);
	gw__tlv_put(&w, GW__T_TOKEN, m->key.bytes, m->key.len);
	gw__tlv_put_u64(&w, GW__T_PLACE, m->place);
	gw__tlv_put_u64(&w, GW__T_VALUE, m->netns);
	if (m->unix_name[0])
		gw__tlv_put_text(&w, GW__T_UNIX, m->unix_name);
	if (m->tcp_name[0])
		gw__tlv_put_text(&w, GW__T_TCP, m->tcp_name);
	if (m->has_ucx)
		gw__tlv_put_u32(&w, GW__T_UCX, 1);
	return w.len;
}

uint64_t gw__mesh_id(const struct gw__mesh *m)
{
	return m->id;
}

int gw__mesh_id_of(const void *addr, size_t len, uint64_t *id)
{
	return gw__tlv_find_u64(addr, len, GW__T_WORKER, id) ? -EPROTO : 0;
}

static struct gw__m_conn *conn_of(const struct gw__mesh *m, uint64_t handle)
{
	struct gw__m_conn *c = m->conns[handle & (GW__M_CONNS - 1)];

	return c && c->handle == handle ? c : NULL;
}

const char *gw__mesh_channel(const struct gw__mesh *m, uint64_t peer)
{
	static const char *const names[] = { "socket", "shm", "ucx" };
	const struct gw__m_conn *c = conn_of(m, peer);

	return c && c->state == GW__M_RUN ? names[c->chan.mode] : "none";
}

bool gw__mesh_is_down(const struct gw__mesh *m, uint64_t peer)
{
	const struct gw__m_conn *c = conn_of(m, peer);

	return !c || c->state == GW__M_DEAD;
}

int gw__mesh_connect(struct gw__mesh *m, const void *addr, size_t len, uint64_t *peer)
{
	struct gw__m_conn *c;
	uint64_t id;
	int err = gw__mesh_id_of(addr, len, &id);

	if (err)
		return err;
	for (int i = 0; i < m->n_conns; i++)
		if (m->conns[i] && m->conns[i]->caller && m->conns[i]->peer_id == id) {
			*peer = m->conns[i]->handle;
			return 0;
		}
	c = gw__m_conn_new(m);
	if (!c)
		return -ENOMEM;
	c->caller = true;
	c->peer_id = id;
	*peer = c->handle;
	err = gw__m_dial(m, c, addr, len);
	if (err) { /* dead from the start: sends will say so */
		c->state = GW__M_GREET;
		gw__m_drop(m, c, -ECONNRESET);
	}
	return 0;
}

/* ---- sending -------------------------------------------------------------------------------------- */

int gw__mesh_send(struct gw__mesh *m, uint64_t peer, uint64_t tag, const void *buf, size_t len,
		  gw__mesh_sent_t done, void *arg)
{
	struct gw__m_conn *c = conn_of(m, peer);
	struct gw__m_send *s;

	if (!c)
		return -ENOTCONN;
	if (len > GW__MESH_MSG_MAX)
		return -EMSGSIZE;
	if (c->state == GW__M_DEAD)
		return -ECONNRESET;
	s = gw__malloc(sizeof(*s));
	if (!s)
		return -ENOMEM;
	*s = (struct gw__m_send){ .tag = tag, .buf = buf, .len = len, .done = done, .arg = arg };
	*c->last_send = s;
	c->last_send = &s->next;
	return 0;
}

static void end_send(struct gw__m_conn *c, int status)
{
	struct gw__m_send *s = c->sends;

	c->sends = s->next;
	if (!c->sends)
		c->last_send = &c->sends;
	if (s->done)
		s->done(s->arg, status);
	gw__free(s);
}

/* One piece; 0, or negative when the channel has no room now (or is dead: the reader will notice). */
static int send_piece(struct gw__m_conn *c, struct gw__m_send *s)
{
	uint8_t piece[GW__M_PIECE_HDR + GW__M_PIECE];
	size_t n = s->len - s->at < GW__M_PIECE ? s->len - s->at : GW__M_PIECE;
	struct gw__frame f = { .type = GW__F_MESH, .context = s->tag, .payload = piece,
			       .len = (uint32_t)(GW__M_PIECE_HDR + n) };
	int err;

	if (gw__chan_queued(&c->chan))
		return -EAGAIN; /* what did not fit goes first; we keep the rest uncopied */
	gw__put_le64(piece, s->len);
	gw__put_le64(piece + 8, s->at);
	if (n)
		memcpy(piece + GW__M_PIECE_HDR, s->buf + s->at, n);
	f.flags = s->at + n < s->len ? GW__FL_MORE : 0;
	err = gw__chan_send(&c->chan, &f);
	if (err)
		return err;
	s->begun = true;
	s->at += n;
	return 0;
}

static bool push(struct gw__m_conn *c)
{
	bool any = false;

	if (gw__chan_queued(&c->chan) && gw__chan_flush(&c->chan))
		return false;
	for (int i = 0; i < FRAMES_A_TURN && c->sends; i++) {
		if (send_piece(c, c->sends))
			break;
		any = true;
		if (c->sends->at == c->sends->len)
			end_send(c, 0);
	}
	return any;
}

/* ---- receiving ------------------------------------------------------------------------------------ */

static bool matches(const struct gw__m_recv *r, uint64_t tag)
{
	return ((r->want ^ tag) & r->mask) == 0;
}

static struct gw__m_recv *take_recv(struct gw__mesh *m, uint64_t tag)
{
	struct gw__m_recv **at = &m->recvs, *r;

	while ((r = *at)) {
		if (matches(r, tag)) {
			*at = r->next;
			if (!*at)
				m->last_recv = at;
			return r;
		}
		at = &r->next;
	}
	return NULL;
}

static void unlink_early(struct gw__mesh *m, struct gw__m_early *e)
{
	struct gw__m_early **at = &m->earlies;

	while (*at != e)
		at = &(*at)->next;
	*at = e->next;
	if (!*at)
		m->last_early = at;
	m->early_bytes -= e->len;
}

/* A whole message for a receive: into its buffer, or as it lies. Frees both. */
static void hand_over(struct gw__m_recv *r, struct gw__m_early *e)
{
	if (!r->buf) {
		r->done(r->arg, 0, e->tag, e->data, e->len, e->from);
	} else if (e->len > r->cap) {
		r->done(r->arg, -EMSGSIZE, e->tag, NULL, e->len, e->from);
	} else {
		if (e->len)
			memcpy(r->buf, e->data, e->len);
		r->done(r->arg, 0, e->tag, r->buf, e->len, e->from);
	}
	gw__free(r);
	gw__free(e);
}

int gw__mesh_recv(struct gw__mesh *m, uint64_t want, uint64_t mask, void *buf, size_t cap, gw__mesh_got_t done,
		  void *arg)
{
	struct gw__m_recv *r = gw__malloc(sizeof(*r));

	if (!r)
		return -ENOMEM;
	*r = (struct gw__m_recv){ .want = want, .mask = mask, .buf = buf, .cap = cap, .done = done, .arg = arg };
	for (struct gw__m_early *e = m->earlies; e; e = e->next) {
		if (e->claim || !matches(r, e->tag))
			continue;
		if (e->have < e->len) {
			e->claim = r; /* the rest is on its way */
			return 0;
		}
		unlink_early(m, e);
		hand_over(r, e);
		return 0;
	}
	*m->last_recv = r;
	m->last_recv = &r->next;
	return 0;
}

int gw__mesh_cancel(struct gw__mesh *m, void *arg)
{
	struct gw__m_recv **at = &m->recvs, *r;
	int n = 0;

	while ((r = *at)) {
		if (r->arg != arg) {
			at = &r->next;
			continue;
		}
		*at = r->next;
		gw__free(r);
		n++;
	}
	m->last_recv = at;
	for (struct gw__m_early *e = m->earlies; e; e = e->next)
		if (e->claim && e->claim->arg == arg) {
			gw__free(e->claim);
			e->claim = NULL;
			n++;
		}
	for (int i = 0; i < m->n_conns; i++)
		if (m->conns[i] && m->conns[i]->into && m->conns[i]->into->arg == arg) {
			gw__free(m->conns[i]->into);
			m->conns[i]->into = NULL; /* the rest of it is thrown away */
			n++;
		}
	return n;
}

/* The first piece: whose is it? 0 or negative. */
static int begin_message(struct gw__mesh *m, struct gw__m_conn *c, uint64_t tag, uint64_t len)
{
	struct gw__m_recv *r;
	struct gw__m_early *e;

	if (len > GW__MESH_MSG_MAX)
		return -EPROTO;
	c->arriving = true;
	c->in_tag = tag;
	c->in_len = (size_t)len;
	c->in_have = 0;
	r = take_recv(m, tag);
	if (r && r->buf && len > r->cap) {
		r->done(r->arg, -EMSGSIZE, tag, NULL, c->in_len, c->handle);
		gw__free(r);
		return 0; /* thrown away */
	}
	if (r && r->buf) {
		c->into = r;
		return 0;
	}
	e = gw__malloc(sizeof(*e) + c->in_len);
	if (!e)
		return -ENOMEM;
	*e = (struct gw__m_early){ .claim = r, .tag = tag, .from = c->handle, .len = c->in_len };
	*m->last_early = e;
	m->last_early = &e->next;
	m->early_bytes += e->len;
	c->early = e;
	return 0;
}

static void end_message(struct gw__mesh *m, struct gw__m_conn *c)
{
	struct gw__m_recv *r = c->into;
	struct gw__m_early *e = c->early;

	c->arriving = false;
	c->into = NULL;
	c->early = NULL;
	if (r) {
		r->done(r->arg, 0, c->in_tag, r->buf, c->in_len, c->handle);
		gw__free(r);
	} else if (e && e->claim) {
		r = e->claim;
		unlink_early(m, e);
		hand_over(r, e);
	}
}

static int on_piece(struct gw__mesh *m, struct gw__m_conn *c, const struct gw__frame *f)
{
	uint64_t len, offset;
	size_t n;
	int err;

	if (f->type != GW__F_MESH || f->len < GW__M_PIECE_HDR)
		return -EPROTO;
	len = gw__get_le64(f->payload);
	offset = gw__get_le64(f->payload + 8);
	n = f->len - GW__M_PIECE_HDR;
	if (!c->arriving) {
		err = offset ? -EPROTO : begin_message(m, c, f->context, len);
		if (err)
			return err;
	}
	if (len != c->in_len || offset != c->in_have || f->context != c->in_tag || n > c->in_len - c->in_have ||
	    (n == 0 && c->in_len))
		return -EPROTO;
	if (n && c->into)
		memcpy(c->into->buf + c->in_have, f->payload + GW__M_PIECE_HDR, n);
	else if (n && c->early)
		memcpy(c->early->data + c->in_have, f->payload + GW__M_PIECE_HDR, n);
	c->in_have += n;
	if (c->early)
		c->early->have = c->in_have;
	if (c->in_have == c->in_len)
		end_message(m, c);
	return 0;
}

static bool pull(struct gw__mesh *m, struct gw__m_conn *c)
{
	struct gw__frame f;
	bool any = false;
	int n = 0;

	for (int i = 0; i < FRAMES_A_TURN && m->early_bytes < EARLY_MAX; i++) {
		n = gw__chan_recv(&c->chan, &f, 0);
		if (n <= 0)
			break;
		any = true;
		n = on_piece(m, c, &f);
		if (n < 0 || c->state != GW__M_RUN)
			break;
	}
	if (n < 0) {
		gw__m_drop(m, c, -ECONNRESET);
		return true;
	}
	return any;
}

void gw__m_conn_lost(struct gw__mesh *m, struct gw__m_conn *c, int status)
{
	struct gw__m_recv *r = c->into;
	struct gw__m_early *e = c->early;

	c->into = NULL;
	c->early = NULL;
	if (r) {
		r->done(r->arg, status, c->in_tag, NULL, 0, c->handle);
		gw__free(r);
	}
	if (e) {
		r = e->claim;
		unlink_early(m, e);
		gw__free(e);
		if (r) {
			r->done(r->arg, status, c->in_tag, NULL, 0, c->handle);
			gw__free(r);
		}
	}
	while (c->sends)
		end_send(c, status);
	if (m->opts.down && c->peer_id)
		m->opts.down(m->opts.arg, c->peer_id);
}

/* ---- moving and sleeping --------------------------------------------------------------------------- */

static void want_out(struct gw__mesh *m, struct gw__m_conn *c)
{
	bool want = c->chan.mode == GW__CHAN_SOCK && gw__chan_queued(&c->chan);
	struct epoll_event ev = { .events = EPOLLIN | EPOLLRDHUP | (want ? EPOLLOUT : 0) };

	if (want == c->wants_out)
		return;
	c->wants_out = want;
	epoll_ctl(m->epfd, EPOLL_CTL_MOD, c->chan.fd, &ev);
}

bool gw__mesh_progress(struct gw__mesh *m)
{
	bool any = false;

	if (m->n_turns++ % ACCEPT_EVERY == 0) {
		if (m->unix_fd >= 0)
			gw__m_accept(m, m->unix_fd);
		if (m->tcp_fd >= 0)
			gw__m_accept(m, m->tcp_fd);
	}
	for (int i = 0; i < m->n_conns; i++) {
		struct gw__m_conn *c = m->conns[i];

		if (!c)
			continue;
		if (c->state == GW__M_RUN) {
			any |= pull(m, c);
			if (c->state == GW__M_RUN) {
				any |= push(c);
				want_out(m, c);
			}
		} else if (c->state == GW__M_DEAD && !c->caller) {
			m->conns[i] = NULL; /* nobody holds it to send */
			gw__free(c);
		} else if (c->state != GW__M_DEAD) {
			any |= gw__m_step(m, c);
		}
	}
	return any;
}

bool gw__mesh_arm(struct gw__mesh *m)
{
	bool any = false;

	m->n_turns = 0; /* a caller may be what wakes us */
	for (int i = 0; i < m->n_conns; i++) {
		struct gw__m_conn *c = m->conns[i];

		if (!c)
			continue;
		if (c->state == GW__M_DIAL)
			any |= gw__dial_wants_write(&c->dial);
		else if (c->state == GW__M_RUN)
			any |= (m->early_bytes < EARLY_MAX && gw__chan_arm(&c->chan)) ||
			       (c->sends && !gw__chan_queued(&c->chan));
	}
	return any;
}

int gw__mesh_fd(const struct gw__mesh *m)
{
	return m->epfd;
}
