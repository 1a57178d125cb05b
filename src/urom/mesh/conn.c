/* urom_mesh/conn.c: connections of a mesh: listen, dial, prove the key, upgrade, end.
 * Must not know messages. Next: mesh.c. */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/diag.h"
#include "urom_mesh/insides.h"
#include "urom_net/tlv.h"

#define SHAKE_NS 5000000000u
#define MESH_MSG 65536u

static uint64_t now(void)
{
	return gw__now_ns(gw__clock_monotonic());
}

/* ---- listening ------------------------------------------------------------------------------------ */

static int watch(struct gw__mesh *m, int fd)
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLRDHUP };

	return epoll_ctl(m->epfd, EPOLL_CTL_ADD, fd, &ev) && errno != EEXIST ? -errno : 0;
}

static int listen_unix(struct gw__mesh *m, struct gw_diag *diag)
{
	const char *dir = getenv("UROM_MESH_DIR");
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	socklen_t len = sizeof(un);
	size_t room = sizeof(un.sun_path) - 1;
	int n, err;

	if (dir && *dir)
		n = snprintf(un.sun_path, room, "%s/mesh.%d.%04x", dir, (int)getpid(), (unsigned int)(m->id & 0xffff));
	else /* nobody to clean up after us: a name that ends with us */
		n = snprintf(un.sun_path + 1, room, "urom-mesh-%016llx", (unsigned long long)m->id);
	if (n < 0 || (size_t)n >= room)
		return gw__fail(diag, -ENAMETOOLONG, "mesh: UROM_MESH_DIR is too long");
	if (!un.sun_path[0])
		len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
	m->unix_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (m->unix_fd < 0)
		return gw__fail(diag, -errno, "mesh: socket: %s", strerror(errno));
	if (bind(m->unix_fd, (struct sockaddr *)&un, len) || listen(m->unix_fd, 64)) {
		err = gw__fail(diag, -errno, "mesh: %s: %s", un.sun_path[0] ? un.sun_path : "socket", strerror(errno));
		close(m->unix_fd);
		m->unix_fd = -1;
		return err;
	}
	if (un.sun_path[0]) {
		chmod(un.sun_path, 0600);
		snprintf(m->unix_name, sizeof(m->unix_name), "%s", un.sun_path);
	} else {
		snprintf(m->unix_name, sizeof(m->unix_name), "@%.100s", un.sun_path + 1);
	}
	return watch(m, m->unix_fd);
}

static int listen_tcp(struct gw__mesh *m, const char *bind_to, struct gw_diag *diag)
{
	char text[160];
	struct sockaddr_storage at = { 0 };
	socklen_t len = sizeof(at);
	struct gw__ep ep;
	int err;

	snprintf(text, sizeof(text), "tcp:%s:0", bind_to);
	err = gw__ep_parse(text, &ep, diag);
	/* the interface that UCX_NET_DEVICES picks, if it picks one */
	if (!err && !gw__ep_is_loopback(&ep)) {
		err = gw__ep_net_device(ep.addr.ss_family, &at, &len, diag);
		if (!err) {
			ep.addr = at;
			ep.addr_len = len;
		} else if (err == -ENOENT) {
			err = 0;
		}
	}
	if (err)
		return err;
	m->tcp_fd = gw__ep_listen(&ep, 0, diag);
	if (m->tcp_fd < 0)
		return m->tcp_fd;
	len = sizeof(at);
	getsockname(m->tcp_fd, (struct sockaddr *)&at, &len);
	gw__ep_name(&at, m->tcp_name, sizeof(m->tcp_name));
	return watch(m, m->tcp_fd);
}

int gw__m_listen(struct gw__mesh *m, struct gw_diag *diag)
{
	const char *bind_to = getenv("UROM_MESH_BIND"), *ucx = getenv("UROM_MESH_UCX");
	int err = listen_unix(m, diag);

	m->has_ucx = ucx && *ucx == '1';
	if (!err && bind_to && *bind_to)
		err = listen_tcp(m, bind_to, diag);
	return err;
}

/* ---- connections ---------------------------------------------------------------------------------- */

struct gw__m_conn *gw__m_conn_new(struct gw__mesh *m)
{
	struct gw__m_conn *c;
	int i = 0;

	while (i < m->n_conns && m->conns[i])
		i++;
	if (i == GW__M_CONNS)
		return NULL;
	c = gw__calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	c->chan.fd = -1;
	c->admit = (struct gw__admit){ .memfd = -1, .bells = { -1, -1 } };
	c->last_send = &c->sends;
	c->handle = ++m->serials << 10 | (uint64_t)i;
	m->conns[i] = c;
	if (i == m->n_conns)
		m->n_conns++;
	return c;
}

void gw__m_accept(struct gw__mesh *m, int listener)
{
	for (;;) {
		int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		struct gw__m_conn *c;

		if (fd < 0)
			return;
		c = gw__m_conn_new(m);
		if (!c) {
			close(fd);
			return;
		}
		if (listener == m->tcp_fd)
			gw__ep_tune(fd);
		c->greet.key = &m->key;
		c->greet.max_msg = MESH_MSG;
		c->deadline_ns = now() + SHAKE_NS;
		c->state = GW__M_GREET;
		if (gw__chan_init(&c->chan, fd, MESH_MSG) || watch(m, fd))
			gw__m_drop(m, c, -ENOMEM);
	}
}

static int begin(struct gw__mesh *m, struct gw__m_conn *c, const struct gw__ep *ep, uint64_t features)
{
	struct gw__dial_opts o = { .role = GW__ROLE_MESH, .max_msg = MESH_MSG, .features = features, .key = &c->key,
				   .worker = m->id };
	int err = gw__dial_start(&c->dial, ep, &o, NULL);

	if (err)
		return err;
	c->state = GW__M_DIAL;
	c->deadline_ns = now() + SHAKE_NS;
	err = watch(m, c->dial.chan.fd);
	if (err)
		gw__dial_abort(&c->dial);
	return err;
}

static int begin_unix(struct gw__mesh *m, struct gw__m_conn *c, const char *name)
{
	struct gw__ep ep = { .kind = GW__EP_UNIX };
	struct sockaddr_un *un = (struct sockaddr_un *)&ep.addr;

	snprintf(ep.text, sizeof(ep.text), "mesh %s", name);
	un->sun_family = AF_UNIX;
	snprintf(un->sun_path, sizeof(un->sun_path), "%s", name);
	ep.addr_len = sizeof(*un);
	if (name[0] == '@') {
		un->sun_path[0] = '\0';
		ep.addr_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name));
	}
	c->tried_unix = true;
	return begin(m, c, &ep, GW__FEAT_SHM);
}

static int begin_tcp(struct gw__mesh *m, struct gw__m_conn *c)
{
	if (!c->has_tcp)
		return -EHOSTUNREACH;
	c->has_tcp = false; /* tried */
	return begin(m, c, &c->tcp, c->use_ucx ? GW__FEAT_UCX : 0);
}

int gw__m_dial(struct gw__mesh *m, struct gw__m_conn *c, const void *addr, size_t len)
{
	char name[108] = "", tcp[110] = "tcp:";
	uint64_t place = 0, netns = 0;
	uint32_t ucx = 0;
	int err = -EHOSTUNREACH;

	if (gw__tlv_find_copy(addr, len, GW__T_TOKEN, c->key.bytes, GW__TICKET))
		return -EPROTO;
	c->key.len = GW__TICKET;
	(void)gw__tlv_find_u64(addr, len, GW__T_PLACE, &place);
	(void)gw__tlv_find_u64(addr, len, GW__T_VALUE, &netns);
	(void)gw__tlv_find_u32(addr, len, GW__T_UCX, &ucx);
	(void)gw__tlv_find_text(addr, len, GW__T_UNIX, name, sizeof(name));
	if (!gw__tlv_find_text(addr, len, GW__T_TCP, tcp + 4, sizeof(tcp) - 4))
		c->has_tcp = !gw__ep_parse(tcp, &c->tcp, NULL);
	c->use_ucx = ucx && m->has_ucx && c->has_tcp;
	if (!c->use_ucx && name[0] && place == m->place && (name[0] != '@' || netns == m->netns))
		err = begin_unix(m, c, name);
	return err ? begin_tcp(m, c) : 0;
}

void gw__m_drop(struct gw__mesh *m, struct gw__m_conn *c, int status)
{
	if (c->state == GW__M_FREE || c->state == GW__M_DEAD)
		return;
	if (c->state == GW__M_DIAL)
		gw__dial_abort(&c->dial);
	gw__admit_fini(&c->admit);
	gw__chan_fini(&c->chan);
	c->state = GW__M_DEAD;
	gw__m_conn_lost(m, c, status);
}

static int running(struct gw__mesh *m, struct gw__m_conn *c)
{
	int efd = gw__chan_event_fd(&c->chan);

	c->state = GW__M_RUN;
	return efd >= 0 ? watch(m, efd) : 0;
}

static bool step_dial(struct gw__mesh *m, struct gw__m_conn *c)
{
	int n = gw__dial_step(&c->dial, NULL);

	if (n == 0 && now() < c->deadline_ns)
		return false;
	if (n == 1) {
		c->chan = c->dial.chan;
		if (running(m, c))
			gw__m_drop(m, c, -EIO);
		return true;
	}
	if (n == 0)
		gw__dial_abort(&c->dial);
	/* the socket's path may mean another file system: the address may still be reached by TCP */
	if (begin_tcp(m, c)) {
		c->state = GW__M_GREET; /* nothing of the dial is left to abort */
		gw__m_drop(m, c, -ECONNRESET);
	}
	return true;
}

static int step_accepted(struct gw__mesh *m, struct gw__m_conn *c)
{
	struct gw__frame f = { 0 };
	struct gw_diag diag;
	int n = gw__chan_recv(&c->chan, &f, 0);

	if (n <= 0)
		return n < 0 ? n : now() < c->deadline_ns ? 0 : -ETIMEDOUT;
	if (c->state == GW__M_ADMIT) {
		if (f.type != GW__F_JOIN_OK)
			return -EPROTO;
		n = gw__admit_ok(&c->admit, &c->chan, &f);
		return n ? n : running(m, c) ? -EIO : 1;
	}
	if (c->greet.state < 2) {
		n = gw__greet_frame(&c->greet, &c->chan, &f, &diag);
		return n < 0 ? n : 1;
	}
	if (f.type != GW__F_JOIN || gw__tlv_find_u64(f.payload, f.len, GW__T_WORKER, &c->peer_id))
		return -EPROTO;
	c->state = GW__M_ADMIT;
	n = gw__admit_offer(&c->admit, &c->chan, c->handle, GW__FEAT_SHM | (m->has_ucx ? GW__FEAT_UCX : 0),
			    gw__ring_bytes(MESH_MSG));
	return n ? n : 1;
}

bool gw__m_step(struct gw__mesh *m, struct gw__m_conn *c)
{
	int n;

	if (c->state == GW__M_DIAL)
		return step_dial(m, c);
	c->chan.take_fds = c->state == GW__M_RUN;
	n = step_accepted(m, c);
	if (n < 0)
		gw__m_drop(m, c, n);
	return n != 0;
}
