/* A channel over a socket and over rings: order, partial frames, full queues, descriptors, hostile rings. */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "urom_net/chan.h"
#include "t.h"

static void make_pair(struct gw__chan *a, struct gw__chan *b)
{
	int s[2];

	T_NEED(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, s) == 0);
	T_RC(gw__chan_init(a, s[0], 65536), 0);
	T_RC(gw__chan_init(b, s[1], 65536), 0);
	a->take_fds = b->take_fds = true;
}

static void rings(struct gw__chan *a, struct gw__chan *b, uint32_t size)
{
	int memfd, bells[2], other[2];

	T_RC(gw__shm_make(size, &memfd, bells), 0);
	other[0] = dup(bells[0]);
	other[1] = dup(bells[1]);
	T_RC(gw__chan_use_shm(a, memfd, size, bells, true), 0);
	T_RC(gw__chan_use_shm(b, memfd, size, other, false), 0);
	close(memfd);
}

/* n frames of growing length, more than the transport holds: all arrive, in order, whole. */
static void stream(struct gw__chan *a, struct gw__chan *b, uint32_t n)
{
	static uint8_t bytes[60000];
	struct gw__frame f = { .type = GW__F_CMD, .payload = bytes }, g;
	uint32_t sent = 0, got = 0, refused = 0;
	int r;

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 7);
	while (got < n) {
		for (int k = 0; k < 64 && sent < n; k++) {
			f.context = sent;
			f.len = sent * 37 % sizeof(bytes);
			r = gw__chan_send(a, &f);
			if (r == -EAGAIN) {
				refused++;
				break;
			}
			T_NEED(r == 0);
			sent++;
		}
		for (int k = 0; k < 7; k++) {
			r = gw__chan_recv(b, &g, 1);
			T_NEED(r >= 0);
			if (!r)
				break;
			T_NEED(g.context == got && g.len == got * 37 % sizeof(bytes));
			T_NEED(!memcmp(g.payload, bytes, g.len));
			got++;
		}
		T_NEED(gw__chan_flush(a) >= 0);
	}
	T_OK(n < 400 || refused > 0);
	T_EQ(gw__chan_recv(b, &g, 1), 0);
}

static void descriptors(struct gw__chan *a, struct gw__chan *b)
{
	struct gw__frame f = { .type = GW__F_MEM }, g;
	int p[2], fds[2], n = 0;

	T_NEED(pipe(p) == 0);
	fds[0] = p[0];
	fds[1] = p[1];
	T_RC(gw__chan_send_fds(a, &f, fds, 2), 0);
	while (!n)
		n = gw__chan_recv(b, &g, 1);
	T_EQ(n, 1);
	T_EQ(b->n_fds, 2);
	fds[0] = gw__chan_take_fd(b);
	fds[1] = gw__chan_take_fd(b);
	T_EQ(gw__chan_take_fd(b), -1);
	T_EQ(write(fds[1], "x", 1), 1);
	close(fds[0]);
	close(fds[1]);
	/* not wanted: closed on arrival */
	b->take_fds = false;
	T_RC(gw__chan_send_fds(a, &f, p, 2), 0);
	for (n = 0; !n;)
		n = gw__chan_recv(b, &g, 1);
	T_EQ(b->n_fds, 0);
	close(p[0]);
	close(p[1]);
}

static void partial_frames(void)
{
	struct gw__chan a, b;
	struct gw__frame f = { .type = GW__F_PING, .len = 3, .payload = (const uint8_t *)"abc" }, g;
	uint8_t hdr[GW__UROM_HDR + 3];
	int got = 0;

	make_pair(&a, &b);
	gw__frame_encode(hdr, &f);
	memcpy(hdr + GW__UROM_HDR, "abc", 3);
	for (size_t i = 0; i < sizeof(hdr); i++) {
		T_EQ(got, 0);
		T_EQ(write(a.fd, hdr + i, 1), 1);
		got = gw__chan_recv(&b, &g, 55);
		T_EQ(b.partial_since_ns, got ? 0 : 55);
	}
	T_EQ(got, 1);
	T_MEM(g.payload, "abc", 3);
	/* what was sent before the end is delivered before the end */
	T_RC(gw__chan_send(&a, &f), 0);
	gw__chan_fini(&a);
	T_EQ(gw__chan_recv(&b, &g, 1), 1);
	T_RC(gw__chan_recv(&b, &g, 1), -ECONNRESET);
	T_RC(gw__chan_recv(&b, &g, 1), -ECONNRESET);
	T_RC(gw__chan_send(&b, &f), -ECONNRESET);
	gw__chan_fini(&b);
}

static void bad_bytes(void)
{
	struct gw__chan a, b;
	struct gw__frame g;

	make_pair(&a, &b);
	T_EQ(write(a.fd, "GET / HTTP/1.1\r\nHost: somewhere\r\n\r\n", 35), 35);
	T_RC(gw__chan_recv(&b, &g, 1), -EPROTO);
	gw__chan_fini(&a);
	gw__chan_fini(&b);
}

/* The peer rewrites what it can reach: every lie is -EPROTO, never a wild copy. */
static void hostile_ring(void)
{
	struct gw__frame f = { .type = GW__F_CMD, .len = 8, .payload = (const uint8_t *)"12345678" }, g;
	struct gw__chan a, b;

	for (int lie = 0; lie < 4; lie++) {
		make_pair(&a, &b);
		rings(&a, &b, 8192);
		T_RC(gw__chan_send(&a, &f), 0);
		if (lie == 0)
			atomic_store(&a.shm.out->tail, 8192 + 1);
		else if (lie == 1)
			atomic_store(&a.shm.out->tail, UINT64_MAX);
		else if (lie == 2)
			gw__put_le32(a.shm.out_data + 8, 4000); /* longer than what is published */
		else
			atomic_store(&a.shm.out->tail, 8);
		T_RC(gw__chan_recv(&b, &g, 1), -EPROTO);
		gw__chan_fini(&a);
		gw__chan_fini(&b);
	}
	make_pair(&a, &b);
	rings(&a, &b, 8192);
	atomic_store(&b.shm.in->head, 1u << 30); /* the reader claims to have read what was never written */
	for (int i = 0; i < 300; i++)
		if (gw__chan_send(&a, &f))
			break;
	T_RC(gw__chan_send(&a, &f), -EPROTO);
	gw__chan_fini(&a);
	gw__chan_fini(&b);
}

static void unsealed(void)
{
	int fd = memfd_create("x", MFD_CLOEXEC | MFD_ALLOW_SEALING), bells[2] = { -1, -1 };
	struct gw__shm s;

	T_EQ(ftruncate(fd, 4096 + 2 * 8192), 0);
	T_RC(gw__shm_open(&s, fd, 8192, bells, false), -EPROTO); /* it could shrink later */
	fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
	T_RC(gw__shm_open(&s, fd, 16384, bells, false), -EPROTO);
	T_RC(gw__shm_open(&s, fd, 5000, bells, false), -EPROTO);
	close(fd);
}

static void sleeping(struct gw__chan *a, struct gw__chan *b)
{
	struct gw__frame f = { .type = GW__F_PING }, g;
	uint64_t n;

	T_OK(!gw__chan_arm(b));
	T_RC(gw__chan_send(a, &f), 0);
	T_EQ(read(gw__chan_event_fd(b), &n, 8), 8); /* the bell rang */
	T_OK(gw__chan_arm(b));
	T_EQ(gw__chan_recv(b, &g, 1), 1);
	T_OK(!gw__chan_arm(b));
}

int main(void)
{
	struct gw__chan a, b;
	struct gw__frame big = { .type = GW__F_CMD, .len = 65536 };
	long live = gw__alloc_live();
	int s[2];

	make_pair(&a, &b);
	T_RC(gw__chan_send(&a, &big), -EMSGSIZE);
	stream(&a, &b, 500);
	descriptors(&a, &b);
	gw__chan_fini(&a);
	gw__chan_fini(&b);

	make_pair(&a, &b);
	rings(&a, &b, 131072);
	stream(&a, &b, 1500);
	stream(&b, &a, 1500);
	sleeping(&a, &b);
	descriptors(&a, &b);
	gw__chan_fini(&a);
	gw__chan_fini(&b);

	partial_frames();
	bad_bytes();
	hostile_ring();
	unsealed();

	T_NEED(socketpair(AF_UNIX, SOCK_STREAM, 0, s) == 0);
	gw__alloc_fail_at(1);
	T_RC(gw__chan_init(&a, s[0], 4096), -ENOMEM);
	gw__alloc_fail_at(0);
	close(s[1]);
	T_EQ(gw__alloc_live(), live);
	T_DONE();
}
