/* urom_net/chan.c: frames over a socket, a ring or UCX. Must not know what they mean. Next: handshake.c. */
#include "urom_net/chan.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "urom_net/ucx.h"

#define RX_START (16u << 10)
#define TX_LIMIT (1u << 20)
#define SMALL_FRAME 512u /* sent from one buffer: one copy is cheaper than a second piece */
#define LOOK_EVERY 256u /* ring polls between looks at the socket */

int gw__chan_init(struct gw__chan *c, int fd, uint32_t max_msg)
{
	memset(c, 0, sizeof(*c));
	c->fd = fd;
	c->max_msg = max_msg < GW__UROM_HDR ? GW__UROM_HDR : max_msg;
	c->rx_cap = RX_START;
	c->tx_limit = TX_LIMIT;
	c->rx = gw__malloc(c->rx_cap);
	if (!c->rx) {
		close(fd);
		c->fd = -1;
		return -ENOMEM;
	}
	return 0;
}

void gw__chan_fini(struct gw__chan *c)
{
	int fd;

	while ((fd = gw__chan_take_fd(c)) >= 0)
		close(fd);
	if (c->ucx)
		gw__ucx_close(c->ucx);
	c->ucx = NULL;
	gw__shm_fini(&c->shm);
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
	gw__free(c->rx);
	gw__free(c->tx);
	gw__free(c->frame);
	c->rx = c->tx = c->frame = NULL;
	c->rx_have = c->rx_at = c->tx_len = c->tx_at = c->frame_cap = 0;
}

/* A failed send does not hide what the peer had said before it died: receiving goes on to the end. */
static int dead_tx(struct gw__chan *c, int err)
{
	if (!c->tx_err)
		c->tx_err = err;
	return c->tx_err;
}

static int dead(struct gw__chan *c, int err)
{
	if (!c->err)
		c->err = err;
	return c->err;
}

static int grow(uint8_t **buf, size_t *cap, size_t need)
{
	size_t n = *cap ? *cap : 4096;
	uint8_t *p;

	while (n < need)
		n *= 2;
	if (n == *cap)
		return 0;
	p = gw__realloc(*buf, n);
	if (!p)
		return -ENOMEM;
	*buf = p;
	*cap = n;
	return 0;
}

/* ---- sending ---------------------------------------------------------------------------------- */

static int queue(struct gw__chan *c, const void *data, size_t n)
{
	int err;

	if (c->tx_at == c->tx_len) {
		c->tx_at = c->tx_len = 0;
	} else if (c->tx_at > c->tx_cap / 2) {
		memmove(c->tx, c->tx + c->tx_at, c->tx_len - c->tx_at);
		c->tx_len -= c->tx_at;
		c->tx_at = 0;
	}
	err = grow(&c->tx, &c->tx_cap, c->tx_len + n);
	if (err)
		return err;
	if (n)
		memcpy(c->tx + c->tx_len, data, n);
	c->tx_len += n;
	return 0;
}

/* One whole frame into the queue, or nothing of it. */
static int queue_frame(struct gw__chan *c, const uint8_t *hdr, const struct gw__frame *f, size_t skip)
{
	size_t at, total = GW__UROM_HDR + f->len;
	uint8_t none = 0;
	int err;

	err = queue(c, &none, 0);
	if (!err)
		err = grow(&c->tx, &c->tx_cap, c->tx_len + total - skip);
	if (err)
		return err;
	at = c->tx_len;
	if (skip < GW__UROM_HDR) {
		memcpy(c->tx + at, hdr + skip, GW__UROM_HDR - skip);
		at += GW__UROM_HDR - skip;
		skip = GW__UROM_HDR;
	}
	if (total > skip)
		memcpy(c->tx + at, f->payload + (skip - GW__UROM_HDR), total - skip);
	c->tx_len = at + total - skip;
	return 0;
}

static int send_sock(struct gw__chan *c, const uint8_t *hdr, const struct gw__frame *f)
{
	struct iovec iov[2] = { { .iov_base = (void *)(uintptr_t)hdr, .iov_len = GW__UROM_HDR },
				{ .iov_base = (void *)(uintptr_t)f->payload, .iov_len = f->len } };
	struct msghdr m = { .msg_iov = iov, .msg_iovlen = f->len ? 2 : 1 };
	uint8_t small[GW__UROM_HDR + SMALL_FRAME];
	ssize_t n;

	if (f->len && f->len <= SMALL_FRAME) {
		memcpy(small, hdr, GW__UROM_HDR);
		memcpy(small + GW__UROM_HDR, f->payload, f->len);
	}
	do {
		if (f->len > SMALL_FRAME)
			n = sendmsg(c->fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
		else
			n = send(c->fd, f->len ? small : hdr, GW__UROM_HDR + f->len, MSG_NOSIGNAL | MSG_DONTWAIT);
	} while (n < 0 && errno == EINTR);
	if (n < 0 && errno != EAGAIN)
		return dead_tx(c, errno == EPIPE ? -ECONNRESET : -errno);
	if (n < 0)
		n = 0;
	if ((size_t)n == GW__UROM_HDR + f->len)
		return 0;
	/* a frame cut in the middle cannot be given back: no memory here ends the channel */
	return queue_frame(c, hdr, f, (size_t)n) ? (n ? dead_tx(c, -ENOMEM) : -ENOMEM) : 0;
}

/* Frames begin on cache lines: a small one crosses as few of them as it can. */
static uint64_t padded(uint32_t len)
{
	return (GW__UROM_HDR + (uint64_t)len + 63) & ~(uint64_t)63;
}

/* 0; 1: no room now; negative: dead. */
static int put_ring(struct gw__chan *c, const uint8_t *hdr, const void *payload, uint32_t len)
{
	int64_t room = gw__shm_writable(&c->shm);

	if (room < 0)
		return dead_tx(c, (int)room);
	if ((uint64_t)room < padded(len))
		return 1;
	gw__shm_poke(&c->shm, 0, hdr, GW__UROM_HDR);
	gw__shm_poke(&c->shm, GW__UROM_HDR, payload, len);
	gw__shm_publish(&c->shm, padded(len));
	return 0;
}

static bool is_data(uint16_t type)
{
	return type == GW__F_CMD || type == GW__F_NOTIF;
}

bool gw__chan_has_room(const struct gw__chan *c, uint32_t len)
{
	return gw__chan_queued(c) + GW__UROM_HDR + len <= c->tx_limit;
}

int gw__chan_send(struct gw__chan *c, const struct gw__frame *f)
{
	uint8_t hdr[GW__UROM_HDR];
	int err;

	if (c->err || c->tx_err)
		return c->err ? c->err : c->tx_err;
	if (f->len > (is_data(f->type) ? c->max_msg - GW__UROM_HDR : GW__UROM_CTRL_MAX))
		return -EMSGSIZE;
	if (gw__chan_queued(c)) {
		err = gw__chan_flush(c);
		if (err < 0)
			return err;
	}
	gw__frame_encode(hdr, f);
	if (gw__chan_queued(c)) {
		if (!gw__chan_has_room(c, f->len))
			return -EAGAIN;
		err = queue_frame(c, hdr, f, 0);
	} else if (c->mode == GW__CHAN_SHM) {
		err = put_ring(c, hdr, f->payload, f->len);
		if (err > 0)
			err = queue_frame(c, hdr, f, 0);
	} else if (c->mode == GW__CHAN_UCX) {
		err = gw__ucx_send(c->ucx, hdr, f->payload, f->len);
		if (err == -ECONNRESET)
			dead_tx(c, err);
	} else {
		err = send_sock(c, hdr, f);
	}
	if (!err)
		c->n_tx++;
	return err;
}

int gw__chan_send_fds(struct gw__chan *c, const struct gw__frame *f, const int *fds, int n)
{
	uint8_t hdr[GW__UROM_HDR];
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int) * GW__CHAN_FDS)];
	} ctl;
	struct iovec iov[2] = { { .iov_base = hdr, .iov_len = GW__UROM_HDR },
				{ .iov_base = (void *)(uintptr_t)f->payload, .iov_len = f->len } };
	struct msghdr m = { .msg_iov = iov, .msg_iovlen = f->len ? 2 : 1, .msg_control = &ctl,
			    .msg_controllen = CMSG_SPACE(sizeof(int) * (size_t)n) };
	struct cmsghdr *h;
	ssize_t sent;

	if (c->err || c->tx_err)
		return c->err ? c->err : c->tx_err;
	if (n < 1 || n > GW__CHAN_FDS || f->len > GW__UROM_CTRL_MAX)
		return -EINVAL;
	if (c->mode == GW__CHAN_SOCK && gw__chan_queued(c) && gw__chan_flush(c))
		return c->tx_err ? c->tx_err : -EAGAIN;
	memset(&ctl, 0, sizeof(ctl));
	h = CMSG_FIRSTHDR(&m);
	h->cmsg_level = SOL_SOCKET;
	h->cmsg_type = SCM_RIGHTS;
	h->cmsg_len = CMSG_LEN(sizeof(int) * (size_t)n);
	memcpy(CMSG_DATA(h), fds, sizeof(int) * (size_t)n);
	gw__frame_encode(hdr, f);
	do
		sent = sendmsg(c->fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (sent < 0 && errno == EINTR);
	if (sent < 0)
		return errno == EAGAIN ? -EAGAIN : dead_tx(c, errno == EPIPE ? -ECONNRESET : -errno);
	/* small frames on a UNIX socket go whole or not at all; a cut one would corrupt the stream */
	if ((size_t)sent != GW__UROM_HDR + f->len)
		return dead_tx(c, -EIO);
	c->n_tx++;
	return 0;
}

static int flush_frames(struct gw__chan *c)
{
	while (gw__chan_queued(c)) {
		const uint8_t *hdr = c->tx + c->tx_at;
		uint32_t len = gw__get_le32(hdr + 8);
		int err = put_ring(c, hdr, hdr + GW__UROM_HDR, len);

		if (err)
			return err;
		c->tx_at += GW__UROM_HDR + len;
	}
	return 0;
}

int gw__chan_flush(struct gw__chan *c)
{
	if (c->err || c->tx_err)
		return c->err ? c->err : c->tx_err;
	if (c->mode == GW__CHAN_SHM)
		return flush_frames(c);
	while (gw__chan_queued(c)) {
		ssize_t n = send(c->fd, c->tx + c->tx_at, gw__chan_queued(c), MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? 1 : dead_tx(c, errno == EPIPE ? -ECONNRESET : -errno);
		c->tx_at += (size_t)n;
	}
	return 0;
}

/* ---- receiving -------------------------------------------------------------------------------- */

static void keep_fds(struct gw__chan *c, struct msghdr *m)
{
	for (struct cmsghdr *h = CMSG_FIRSTHDR(m); h; h = CMSG_NXTHDR(m, h)) {
		size_t n = (h->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		int fd;

		if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < n; i++) {
			memcpy(&fd, CMSG_DATA(h) + i * sizeof(int), sizeof(int));
			if (c->take_fds && c->n_fds < GW__CHAN_FDS)
				c->fds[c->n_fds++] = fd;
			else
				close(fd);
		}
	}
}

int gw__chan_take_fd(struct gw__chan *c)
{
	int fd;

	if (!c->n_fds)
		return -1;
	fd = c->fds[0];
	c->n_fds--;
	memmove(c->fds, c->fds + 1, sizeof(int) * (size_t)c->n_fds);
	return fd;
}

/* Read what the socket has. 1: bytes came, 0: none now, negative: end or error. */
static int fill(struct gw__chan *c)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int) * 16)];
	} ctl;
	struct iovec iov = { .iov_base = c->rx + c->rx_have, .iov_len = c->rx_cap - c->rx_have };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &ctl,
			    .msg_controllen = sizeof(ctl) };
	ssize_t n;

	/* without room for descriptors the kernel drops those that come */
	do {
		if (c->take_fds)
			n = recvmsg(c->fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
		else
			n = recv(c->fd, iov.iov_base, iov.iov_len, MSG_DONTWAIT);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EAGAIN ? 0 : -errno;
	if (c->take_fds)
		keep_fds(c, &m);
	if (n == 0)
		return -ECONNRESET;
	c->rx_have += (size_t)n;
	return 1;
}

/* A whole frame in the socket's buffer? 1, 0, or negative for bad bytes; makes room for its rest. */
static int parse(struct gw__chan *c, struct gw__frame *f)
{
	size_t have = c->rx_have - c->rx_at, need = GW__UROM_HDR;
	int err;

	if (have >= GW__UROM_HDR) {
		err = gw__frame_decode(c->rx + c->rx_at, c->max_msg, f);
		if (err)
			return err;
		need += f->len;
	}
	if (have >= need) {
		f->payload = c->rx + c->rx_at + GW__UROM_HDR;
		c->rx_at += need;
		return 1;
	}
	if (!have)
		c->rx_at = c->rx_have = 0;
	if (c->rx_at && (c->rx_cap - c->rx_at < need || c->rx_have == c->rx_cap)) {
		memmove(c->rx, c->rx + c->rx_at, have);
		c->rx_at = 0;
		c->rx_have = have;
	}
	return c->rx_cap - c->rx_at < need ? grow(&c->rx, &c->rx_cap, need) : 0;
}

static int recv_sock(struct gw__chan *c, struct gw__frame *f, uint64_t now_ns)
{
	int got = parse(c, f);

	while (got == 0 && !c->eof) {
		int n = fill(c);

		if (n == 0)
			break;
		if (n == -ECONNRESET)
			c->eof = true;
		else if (n < 0)
			return n;
		got = parse(c, f);
	}
	if (got == 0 && c->eof)
		return -ECONNRESET;
	if (got == 0 && c->rx_have > c->rx_at) {
		if (!c->partial_since_ns)
			c->partial_since_ns = now_ns ? now_ns : 1;
	} else {
		c->partial_since_ns = 0;
	}
	return got;
}

static int recv_ring(struct gw__chan *c, struct gw__frame *f)
{
	uint8_t hdr[GW__UROM_HDR];
	int64_t have = gw__shm_readable(&c->shm);
	int err;

	if (have <= 0)
		return (int)have;
	if (have < GW__UROM_HDR)
		return -EPROTO;
	/* copied once, then checked: the other side may rewrite the ring at any time */
	gw__shm_peek(&c->shm, 0, hdr, sizeof(hdr));
	err = gw__frame_decode(hdr, c->max_msg, f);
	if (err)
		return err;
	if ((uint64_t)have < padded(f->len))
		return -EPROTO; /* frames are published whole */
	err = f->len > c->frame_cap ? grow(&c->frame, &c->frame_cap, f->len) : 0;
	if (err)
		return err;
	gw__shm_peek(&c->shm, GW__UROM_HDR, c->frame, f->len);
	gw__shm_consume(&c->shm, padded(f->len));
	f->payload = f->len ? c->frame : (const uint8_t *)"";
	return 1;
}

int gw__chan_recv(struct gw__chan *c, struct gw__frame *f, uint64_t now_ns)
{
	int n = 0;

	if (c->err)
		return c->err;
	if (gw__chan_queued(c))
		gw__chan_flush(c); /* its error, if any, is kept for the next send */
	if (c->mode == GW__CHAN_SHM)
		n = recv_ring(c, f);
	else if (c->mode == GW__CHAN_UCX)
		n = gw__ucx_recv(c->ucx, c->max_msg, f);
	if (n == 0 && (c->mode == GW__CHAN_SOCK || ++c->n_idle >= LOOK_EVERY)) {
		c->n_idle = 0;
		n = recv_sock(c, f, now_ns);
	}
	if (n > 0)
		c->n_rx++;
	return n < 0 ? dead(c, n) : n;
}

int gw__chan_recv_side(struct gw__chan *c, struct gw__frame *f)
{
	return c->err ? c->err : recv_sock(c, f, 0);
}

/* ---- upgrades and sleeping -------------------------------------------------------------------- */

int gw__chan_use_shm(struct gw__chan *c, int memfd, uint32_t size, const int bells[2], bool maker)
{
	int err = gw__shm_open(&c->shm, memfd, size, bells, maker);

	if (!err)
		c->mode = GW__CHAN_SHM;
	return err;
}

void gw__chan_use_ucx(struct gw__chan *c, struct gw__ucx_chan *u)
{
	c->ucx = u;
	c->mode = GW__CHAN_UCX;
}

bool gw__chan_arm(struct gw__chan *c)
{
	c->n_idle = LOOK_EVERY; /* the socket may be what wakes us: look there first */
	if (c->err || c->rx_have > c->rx_at + GW__UROM_HDR)
		return true;
	if (c->mode == GW__CHAN_SHM) {
		gw__shm_clear(&c->shm);
		return gw__shm_arm(&c->shm, gw__chan_queued(c) != 0);
	}
	if (c->mode == GW__CHAN_UCX)
		return gw__ucx_arm(c->ucx);
	return false;
}

int gw__chan_event_fd(const struct gw__chan *c)
{
	if (c->mode == GW__CHAN_SHM)
		return c->shm.my_bell;
	if (c->mode == GW__CHAN_UCX)
		return gw__ucx_event_fd(c->ucx);
	return -1;
}
