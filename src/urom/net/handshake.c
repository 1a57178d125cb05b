/* urom_net/handshake.c: HELLO to JOIN_OK. Must not know daemons or workers. Next: src/urom/host/service.c. */
#include "urom_net/handshake.h"

#include <doca/doca_error.h>
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/diag.h"
#include "urom_net/tlv.h"

#define SDK "gpuwire"

/* byte order marker: reads 0x01 0x02 on little endian; word size in the upper half */
static uint32_t my_mark(void)
{
	const uint16_t probe = 0x0201;
	uint8_t b[2];

	memcpy(b, &probe, 2);
	return (uint32_t)sizeof(void *) << 16 | (uint32_t)b[0] << 8 | b[1];
}

int gw__send_tlv(struct gw__chan *c, uint16_t type, uint64_t context, const void *payload, size_t len)
{
	struct gw__frame f = { .type = type, .context = context, .payload = payload, .len = (uint32_t)len };

	return gw__chan_send(c, &f);
}

void gw__send_error(struct gw__chan *c, int status, uint64_t context, const char *fmt, ...)
{
	uint8_t buf[768];
	char text[512];
	struct gw__tlv_w w = gw__tlv_writer(buf, sizeof(buf));
	struct gw__frame f = { .type = GW__F_ERROR, .context = context, .status = status, .payload = buf };
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	gw__tlv_put_text(&w, GW__T_TEXT, text);
	f.len = (uint32_t)w.len;
	/* a caller that does not listen loses the sentence, nothing else */
	(void)gw__chan_send(c, &f);
}

void gw__error_text(const struct gw__frame *f, char *out, size_t cap)
{
	if (gw__tlv_find_text(f->payload, f->len, GW__T_TEXT, out, cap))
		snprintf(out, cap, "refused without a reason");
	for (char *p = out; *p; p++) /* hostile text must not steer a terminal */
		if ((unsigned char)*p < 0x20 || (unsigned char)*p == 0x7f)
			*p = '?';
}

/* ---- caller ------------------------------------------------------------------------------------ */

enum dial_state { D_CONNECT, D_HELLO, D_AUTH, D_JOIN, D_DONE, D_FAILED };

int gw__dial_start(struct gw__dial *d, const struct gw__ep *ep, const struct gw__dial_opts *opts,
		   struct gw_diag *diag)
{
	int fd, err;

	memset(d, 0, sizeof(*d));
	d->opts = *opts;
	d->ep = *ep;
	snprintf(d->where, sizeof(d->where), "%s", ep->text);
	fd = gw__ep_connect(ep, diag);
	if (fd < 0)
		return fd;
	err = gw__chan_init(&d->chan, fd, opts->max_msg);
	if (err)
		return gw__fail(diag, err, "%s: out of memory", ep->text);
	d->chan.take_fds = ep->kind == GW__EP_UNIX && (opts->features & GW__FEAT_SHM);
	err = gw__random(d->nonce, sizeof(d->nonce));
	if (err) {
		gw__chan_fini(&d->chan);
		return gw__fail(diag, err, "no random bytes");
	}
	d->state = D_CONNECT;
	return 0;
}

void gw__dial_abort(struct gw__dial *d)
{
	if (d->state != D_DONE)
		gw__chan_fini(&d->chan);
	d->state = D_FAILED;
}

bool gw__dial_wants_write(const struct gw__dial *d)
{
	return d->state == D_CONNECT || gw__chan_queued(&d->chan);
}

static int send_hello(struct gw__dial *d)
{
	uint8_t buf[256];
	struct gw__tlv_w w = gw__tlv_writer(buf, sizeof(buf));

	gw__tlv_put_u32(&w, GW__T_VER_MIN, GW__VERSION(GW__UROM_MAJOR, 0));
	gw__tlv_put_u32(&w, GW__T_VER_MAX, GW__VERSION(GW__UROM_MAJOR, GW__UROM_MINOR));
	gw__tlv_put_u32(&w, GW__T_MAX_MSG, d->opts.max_msg);
	gw__tlv_put_u64(&w, GW__T_FEATURES, d->opts.features);
	gw__tlv_put_u32(&w, GW__T_MARK, my_mark());
	gw__tlv_put_u32(&w, GW__T_ROLE, d->opts.role);
	gw__tlv_put(&w, GW__T_NONCE, d->nonce, sizeof(d->nonce));
	gw__tlv_put_text(&w, GW__T_SDK, SDK);
	return gw__send_tlv(&d->chan, GW__F_HELLO, 0, buf, w.len);
}

static int send_join(struct gw__dial *d)
{
	uint8_t buf[128];
	struct gw__tlv_w w = gw__tlv_writer(buf, sizeof(buf));

	gw__tlv_put_u64(&w, GW__T_WORKER, d->opts.worker);
	gw__tlv_put(&w, GW__T_TICKET, d->opts.ticket, GW__TICKET);
	gw__tlv_put_u32(&w, GW__T_INFLIGHT, d->opts.max_inflight);
	gw__tlv_put_u64(&w, GW__T_FEATURES, d->opts.features);
	d->state = D_JOIN;
	return gw__send_tlv(&d->chan, GW__F_JOIN, 0, buf, w.len);
}

/* The handshake of the connection is over: a data channel goes on, a control one is done. */
static int dial_met(struct gw__dial *d)
{
	if (d->opts.role == GW__ROLE_JOIN || d->opts.role == GW__ROLE_MESH)
		return send_join(d);
	d->state = D_DONE;
	return 0;
}

static int on_hello_ack(struct gw__dial *d, const struct gw__frame *f, struct gw_diag *diag)
{
	uint8_t buf[64], mac[GW__MAC];
	struct gw__tlv_w w = gw__tlv_writer(buf, sizeof(buf));
	uint32_t max_msg, ver, keyed = 0;

	if (gw__tlv_find_u32(f->payload, f->len, GW__T_VER_MAX, &ver) ||
	    gw__tlv_find_u32(f->payload, f->len, GW__T_MAX_MSG, &max_msg) ||
	    gw__tlv_find_copy(f->payload, f->len, GW__T_NONCE, d->peer_nonce, GW__NONCE))
		return gw__fail(diag, -EPROTO, "%s: the answer to HELLO is malformed", d->where);
	(void)gw__tlv_find_u32(f->payload, f->len, GW__T_KEYED, &keyed);
	(void)gw__tlv_find_text(f->payload, f->len, GW__T_SDK, d->peer_sdk, sizeof(d->peer_sdk));
	if (max_msg > d->opts.max_msg || max_msg < 64)
		return gw__fail(diag, -EPROTO, "%s: agreed message size %u is not in 64..%u", d->where, max_msg,
				d->opts.max_msg);
	d->max_msg = max_msg;
	d->chan.max_msg = max_msg;
	if (!keyed) {
		/* someone who has a key wants the other side to prove it too */
		if (d->opts.key && d->opts.key->len)
			return gw__fail(diag, -EACCES, "%s: we have a key, the daemon asks for none", d->where);
		return dial_met(d);
	}
	if (!d->opts.key || !d->opts.key->len)
		return gw__fail(diag, -EACCES, "%s: the daemon asks for a key; set UROM_KEY_FILE", d->where);
	gw__key_prove(d->opts.key, "host", d->nonce, d->peer_nonce, mac);
	gw__tlv_put(&w, GW__T_MAC, mac, sizeof(mac));
	d->state = D_AUTH;
	return gw__send_tlv(&d->chan, GW__F_AUTH, 0, buf, w.len);
}

static int on_auth(struct gw__dial *d, const struct gw__frame *f, struct gw_diag *diag)
{
	uint8_t mac[GW__MAC], got[GW__MAC];

	gw__key_prove(d->opts.key, "daemon", d->peer_nonce, d->nonce, mac);
	if (gw__tlv_find_copy(f->payload, f->len, GW__T_MAC, got, sizeof(got)) ||
	    !gw__secret_equal(mac, got, sizeof(mac)))
		return gw__fail(diag, -EACCES, "%s: the daemon does not know our key", d->where);
	return dial_met(d);
}

static int take_ring(struct gw__dial *d, uint32_t size)
{
	int memfd = gw__chan_take_fd(&d->chan), bells[2], err;

	bells[0] = gw__chan_take_fd(&d->chan);
	bells[1] = gw__chan_take_fd(&d->chan);
	if (memfd < 0 || bells[0] < 0 || bells[1] < 0)
		err = -EPROTO;
	else
		err = gw__chan_use_shm(&d->chan, memfd, size, bells, false);
	if (memfd >= 0)
		close(memfd);
	if (err) {
		if (bells[0] >= 0)
			close(bells[0]);
		if (bells[1] >= 0)
			close(bells[1]);
	}
	return err;
}

static int on_join_ack(struct gw__dial *d, const struct gw__frame *f, struct gw_diag *diag)
{
	uint8_t buf[GW__UCX_ADDR_MAX + 128], token[GW__UCX_TOKEN];
	struct gw__tlv_w w = gw__tlv_writer(buf, sizeof(buf));
	struct gw__ucx_chan *u = NULL;
	struct gw__frame ok = { .type = GW__F_JOIN_OK, .payload = buf };
	uint32_t ring = 0, mode = GW__CHAN_SOCK;
	struct gw__tlv_r r;
	const void *addr;
	size_t len;
	int err = gw__tlv_find_u64(f->payload, f->len, GW__T_DEST, &d->dest);

	if (err)
		return gw__fail(diag, -EPROTO, "%s: the worker's answer is malformed", d->where);
	if ((d->opts.features & GW__FEAT_SHM) && !gw__tlv_find_u32(f->payload, f->len, GW__T_SHM, &ring))
		mode = GW__CHAN_SHM;
	else if ((d->opts.features & GW__FEAT_UCX) &&
		 !gw__tlv_find_copy(f->payload, f->len, GW__T_TOKEN, token, sizeof(token)) &&
		 !gw__tlv_find(f->payload, f->len, GW__T_UCX, &r))
		mode = GW__CHAN_UCX;
	if (mode == GW__CHAN_UCX) {
		err = gw__ucx_open(&u, diag);
		if (err)
			return err;
		err = gw__ucx_connect(u, r.data, r.size, token);
		if (err) {
			gw__ucx_close(u);
			return gw__fail(diag, err, "%s: UCX cannot reach the worker", d->where);
		}
		addr = gw__ucx_address(u, &len);
		gw__tlv_put(&w, GW__T_UCX, addr, len);
		gw__tlv_put(&w, GW__T_TOKEN, gw__ucx_token(u), GW__UCX_TOKEN);
	}
	gw__tlv_put_u32(&w, GW__T_MODE, mode);
	ok.len = (uint32_t)w.len;
	/* the last frame on the socket before the switch */
	err = gw__chan_send(&d->chan, &ok);
	if (u)
		gw__chan_use_ucx(&d->chan, u);
	if (!err && mode == GW__CHAN_SHM)
		err = take_ring(d, ring);
	if (err)
		return gw__fail(diag, err, "%s: the channel offered by the worker does not work", d->where);
	d->state = D_DONE;
	return 0;
}

static int dial_frame(struct gw__dial *d, const struct gw__frame *f, struct gw_diag *diag)
{
	char text[400];

	if (f->type == GW__F_ERROR) {
		gw__error_text(f, text, sizeof(text));
		d->status = f->status > 0 ? f->status : DOCA_ERROR_UNKNOWN;
		return gw__fail(diag, -EREMOTEIO, "%s: %s", d->where, text);
	}
	if (d->state == D_HELLO && f->type == GW__F_HELLO_ACK)
		return on_hello_ack(d, f, diag);
	if (d->state == D_AUTH && f->type == GW__F_AUTH)
		return on_auth(d, f, diag);
	if (d->state == D_JOIN && f->type == GW__F_JOIN_ACK)
		return on_join_ack(d, f, diag);
	return gw__fail(diag, -EPROTO, "%s: unexpected %s frame", d->where, gw__frame_name(f->type));
}

static int dial_connected(struct gw__dial *d, struct gw_diag *diag)
{
	struct pollfd p = { .fd = d->chan.fd, .events = POLLOUT };
	int err = 0;
	socklen_t len = sizeof(err);

	if (d->ep.kind == GW__EP_UNIX && connect(d->chan.fd, (struct sockaddr *)&d->ep.addr, d->ep.addr_len) &&
	    errno != EISCONN) {
		if (errno == EAGAIN)
			return 0; /* still busy */
		return gw__fail(diag, -errno, "%s: connect: %s", d->where, strerror(errno));
	}
	if (poll(&p, 1, 0) == 0)
		return 0;
	if (getsockopt(d->chan.fd, SOL_SOCKET, SO_ERROR, &err, &len))
		err = errno;
	if (err)
		return gw__fail(diag, -err, "%s: connect: %s", d->where, strerror(err));
	d->state = D_HELLO;
	return send_hello(d);
}

int gw__dial_step(struct gw__dial *d, struct gw_diag *diag)
{
	struct gw__frame f = { 0 };
	int n, err = 0;

	if (d->state == D_CONNECT)
		err = dial_connected(d, diag);
	while (!err && d->state != D_CONNECT && d->state != D_DONE) {
		n = gw__chan_recv(&d->chan, &f, 0);
		if (n == 0)
			break;
		if (n == -EPROTONOSUPPORT)
			err = gw__fail(diag, n, "%s: speaks UROM wire %u.x, we speak %u.x", d->where, f.major,
				       GW__UROM_MAJOR);
		else if (n < 0)
			err = gw__fail(diag, n, "%s: %s", d->where,
				       n == -ECONNRESET ? "the daemon ended the connection" :
							  "does not speak UROM");
		else
			err = dial_frame(d, &f, diag);
	}
	if (err) {
		gw__dial_abort(d);
		return err;
	}
	return d->state == D_DONE;
}

int gw__dial_wait(struct gw__dial *d, uint64_t deadline_ns, struct gw_diag *diag)
{
	for (;;) {
		struct pollfd p = { .fd = d->chan.fd };
		int n = gw__dial_step(d, diag);
		uint64_t now = gw__now_ns(gw__clock_monotonic());

		if (n)
			return n < 0 ? n : 0;
		if (now >= deadline_ns) {
			gw__dial_abort(d);
			return gw__fail(diag, -ETIMEDOUT, "%s: no answer in time", d->where);
		}
		p.events = gw__dial_wants_write(d) ? POLLOUT : POLLIN;
		/* a busy UNIX listener makes poll() return at once */
		if (d->state == D_CONNECT && d->ep.kind == GW__EP_UNIX)
			usleep(1000);
		poll(&p, 1, (int)((deadline_ns - now) / 1000000) + 1);
	}
}

/* ---- listener ---------------------------------------------------------------------------------- */

static int read_hello(const struct gw__frame *f, struct gw__hello *h)
{
	const uint8_t *p = f->payload;

	memset(h, 0, sizeof(*h));
	if (gw__tlv_find_u32(p, f->len, GW__T_VER_MIN, &h->ver_min) ||
	    gw__tlv_find_u32(p, f->len, GW__T_VER_MAX, &h->ver_max) ||
	    gw__tlv_find_u32(p, f->len, GW__T_MAX_MSG, &h->max_msg) ||
	    gw__tlv_find_u64(p, f->len, GW__T_FEATURES, &h->features) ||
	    gw__tlv_find_u32(p, f->len, GW__T_MARK, &h->mark) ||
	    gw__tlv_find_u32(p, f->len, GW__T_ROLE, &h->role) ||
	    gw__tlv_find_copy(p, f->len, GW__T_NONCE, h->nonce, GW__NONCE) ||
	    gw__tlv_find_text(p, f->len, GW__T_SDK, h->sdk, sizeof(h->sdk)))
		return -EPROTO;
	return h->max_msg < 64 || h->max_msg > GW__UROM_MSG_MAX ? -EPROTO : 0;
}

static int on_hello(struct gw__greet *g, struct gw__chan *c, const struct gw__frame *f, struct gw_diag *diag)
{
	uint32_t mine = GW__VERSION(GW__UROM_MAJOR, GW__UROM_MINOR);
	bool keyed = g->key && g->key->len;
	uint8_t buf[256];
	struct gw__tlv_w w = gw__tlv_writer(buf, sizeof(buf));
	int err = read_hello(f, &g->hello);

	if (err) {
		gw__send_error(c, DOCA_ERROR_UNEXPECTED, 0, "malformed HELLO");
		return gw__fail(diag, err, "malformed HELLO");
	}
	if (g->hello.ver_min > mine || g->hello.ver_max < GW__VERSION(GW__UROM_MAJOR, 0)) {
		gw__send_error(c, DOCA_ERROR_UNSUPPORTED_VERSION, 0,
			       "the caller speaks UROM wire %u.%u..%u.%u, the daemon %u.0..%u.%u",
			       g->hello.ver_min >> 8, g->hello.ver_min & 255, g->hello.ver_max >> 8,
			       g->hello.ver_max & 255, GW__UROM_MAJOR, GW__UROM_MAJOR, GW__UROM_MINOR);
		return gw__fail(diag, -EPROTONOSUPPORT, "version %u.%u..%u.%u", g->hello.ver_min >> 8,
				g->hello.ver_min & 255, g->hello.ver_max >> 8, g->hello.ver_max & 255);
	}
	if (g->hello.max_msg < g->max_msg)
		g->max_msg = g->hello.max_msg;
	c->max_msg = g->max_msg;
	err = gw__random(g->nonce, sizeof(g->nonce));
	if (err)
		return gw__fail(diag, err, "no random bytes");
	gw__tlv_put_u32(&w, GW__T_VER_MAX, mine < g->hello.ver_max ? mine : g->hello.ver_max);
	gw__tlv_put_u32(&w, GW__T_MAX_MSG, g->max_msg);
	gw__tlv_put_u32(&w, GW__T_MARK, my_mark());
	gw__tlv_put_u32(&w, GW__T_KEYED, keyed);
	gw__tlv_put(&w, GW__T_NONCE, g->nonce, sizeof(g->nonce));
	gw__tlv_put_text(&w, GW__T_SDK, SDK);
	g->state = keyed ? 1 : 2;
	err = gw__send_tlv(c, GW__F_HELLO_ACK, 0, buf, w.len);
	return err ? gw__fail(diag, err, "the caller left") : g->state == 2;
}

static int check_auth(struct gw__greet *g, struct gw__chan *c, const struct gw__frame *f, struct gw_diag *diag)
{
	uint8_t mac[GW__MAC], got[GW__MAC], buf[64];
	struct gw__tlv_w w = gw__tlv_writer(buf, sizeof(buf));
	int err;

	gw__key_prove(g->key, "host", g->hello.nonce, g->nonce, mac);
	if (gw__tlv_find_copy(f->payload, f->len, GW__T_MAC, got, sizeof(got)) ||
	    !gw__secret_equal(mac, got, sizeof(mac))) {
		gw__send_error(c, DOCA_ERROR_AUTHENTICATION, 0, "wrong key");
		return gw__fail(diag, -EACCES, "wrong key");
	}
	gw__key_prove(g->key, "daemon", g->nonce, g->hello.nonce, mac);
	gw__tlv_put(&w, GW__T_MAC, mac, sizeof(mac));
	g->state = 2;
	err = gw__send_tlv(c, GW__F_AUTH, 0, buf, w.len);
	return err ? gw__fail(diag, err, "the caller left") : 1;
}

int gw__greet_frame(struct gw__greet *g, struct gw__chan *c, const struct gw__frame *f, struct gw_diag *diag)
{
	if (g->state == 0 && f->type == GW__F_HELLO)
		return on_hello(g, c, f, diag);
	if (g->state == 1 && f->type == GW__F_AUTH)
		return check_auth(g, c, f, diag);
	gw__send_error(c, DOCA_ERROR_UNEXPECTED, 0, "unexpected %s frame before the greeting is over",
		       gw__frame_name(f->type));
	return gw__fail(diag, -EPROTO, "%s frame before the greeting is over", gw__frame_name(f->type));
}

void gw__greet_bad_bytes(struct gw__chan *c, const struct gw__frame *f, int err, struct gw_diag *diag)
{
	c->err = 0; /* one last frame */
	if (err == -EPROTONOSUPPORT) {
		gw__send_error(c, DOCA_ERROR_UNSUPPORTED_VERSION, 0,
			       "the caller speaks UROM wire %u.x, the daemon %u.0..%u.%u", f->major,
			       GW__UROM_MAJOR, GW__UROM_MAJOR, GW__UROM_MINOR);
		gw__fail(diag, err, "speaks UROM wire %u.x", f->major);
	} else if (err == -EMSGSIZE) {
		gw__send_error(c, DOCA_ERROR_TOO_BIG, 0, "a %s frame of %u bytes is over the limit",
			       gw__frame_name(f->type), f->len);
		gw__fail(diag, err, "%s frame of %u bytes is over the limit", gw__frame_name(f->type), f->len);
	} else if (err == -EPROTO) {
		gw__send_error(c, DOCA_ERROR_UNEXPECTED, 0, "these bytes are not UROM frames");
		gw__fail(diag, err, "bytes that are not UROM frames");
	} else {
		gw__fail(diag, err, "%s", strerror(-err));
	}
	c->err = err;
}

/* ---- data channels ----------------------------------------------------------------------------- */

uint32_t gw__ring_bytes(uint32_t max_msg)
{
	uint32_t n = 64u << 10;

	/* control frames are up to 64 KiB and must fit as well */
	while (n < 4 * (uint64_t)max_msg || n < 2 * GW__UROM_CTRL_MAX)
		n *= 2;
	return n;
}

int gw__admit_offer(struct gw__admit *a, struct gw__chan *c, uint64_t dest, uint64_t features, uint32_t ring)
{
	uint8_t buf[GW__UCX_ADDR_MAX + 128];
	struct gw__tlv_w w = gw__tlv_writer(buf, sizeof(buf));
	struct gw__frame f = { .type = GW__F_JOIN_ACK, .payload = buf };
	struct sockaddr_storage me = { 0 };
	socklen_t me_len = sizeof(me);
	const void *addr;
	size_t len;

	*a = (struct gw__admit){ .memfd = -1, .bells = { -1, -1 }, .max_msg = c->max_msg };
	gw__tlv_put_u64(&w, GW__T_DEST, dest);
	if ((features & GW__FEAT_SHM) && !getsockname(c->fd, (struct sockaddr *)&me, &me_len) &&
	    me.ss_family == AF_UNIX && !gw__shm_make(ring, &a->memfd, a->bells)) {
		a->ring = ring;
		gw__tlv_put_u32(&w, GW__T_SHM, ring);
	} else if ((features & GW__FEAT_UCX) && !gw__ucx_open(&a->ucx, NULL)) {
		addr = gw__ucx_address(a->ucx, &len);
		gw__tlv_put(&w, GW__T_UCX, addr, len);
		gw__tlv_put(&w, GW__T_TOKEN, gw__ucx_token(a->ucx), GW__UCX_TOKEN);
	}
	f.len = (uint32_t)w.len;
	if (a->memfd >= 0) {
		const int fds[3] = { a->memfd, a->bells[0], a->bells[1] };

		return gw__chan_send_fds(c, &f, fds, 3);
	}
	return gw__chan_send(c, &f);
}

int gw__admit_ok(struct gw__admit *a, struct gw__chan *c, const struct gw__frame *f)
{
	uint8_t token[GW__UCX_TOKEN];
	struct gw__tlv_r r;
	uint32_t mode;
	int err = gw__tlv_find_u32(f->payload, f->len, GW__T_MODE, &mode);

	if (err)
		return -EPROTO;
	if (mode == GW__CHAN_SHM && a->memfd >= 0) {
		err = gw__chan_use_shm(c, a->memfd, a->ring, a->bells, true);
		if (!err)
			a->bells[0] = a->bells[1] = -1;
	} else if (mode == GW__CHAN_UCX && a->ucx) {
		if (gw__tlv_find_copy(f->payload, f->len, GW__T_TOKEN, token, sizeof(token)) ||
		    gw__tlv_find(f->payload, f->len, GW__T_UCX, &r))
			return -EPROTO;
		err = gw__ucx_connect(a->ucx, r.data, r.size, token);
		if (!err) {
			gw__chan_use_ucx(c, a->ucx);
			a->ucx = NULL;
		}
	} else if (mode != GW__CHAN_SOCK) {
		err = -EPROTO;
	}
	gw__admit_fini(a);
	return err;
}

void gw__admit_fini(struct gw__admit *a)
{
	if (a->memfd >= 0)
		close(a->memfd);
	for (int i = 0; i < 2; i++)
		if (a->bells[i] >= 0)
			close(a->bells[i]);
	if (a->ucx)
		gw__ucx_close(a->ucx);
	*a = (struct gw__admit){ .memfd = -1, .bells = { -1, -1 } };
}
