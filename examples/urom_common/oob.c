/* oob.c: an allgather over stream sockets: a star with rank 0 in the middle, non-blocking.
 * Must not know workers. Next: oob.h.
 *
 * One at a time: every rank sends its block to rank 0, which sends the whole back to each. */
#include "oob.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "urom_common.h"

struct peer {
	int fd;
	size_t in, out; /* bytes of the current allgather */
};

struct urom_oob {
	uint32_t rank, size;
	struct peer *peers; /* rank 0: one for each rank; others: [0] is rank 0 */
	/* the allgather under way */
	bool busy;
	const unsigned char *sbuf;
	unsigned char *rbuf;
	size_t msglen;
};

static doca_error_t new_oob(uint32_t rank, uint32_t size, struct urom_oob **out)
{
	struct urom_oob *o = calloc(1, sizeof(*o));

	if (!o || !size || rank >= size) {
		free(o);
		return o ? DOCA_ERROR_INVALID_VALUE : DOCA_ERROR_NO_MEMORY;
	}
	o->rank = rank;
	o->size = size;
	o->peers = calloc(size, sizeof(*o->peers));
	if (!o->peers) {
		free(o);
		return DOCA_ERROR_NO_MEMORY;
	}
	for (uint32_t i = 0; i < size; i++)
		o->peers[i].fd = -1;
	*out = o;
	return DOCA_SUCCESS;
}

void urom_oob_close(struct urom_oob *o)
{
	if (!o)
		return;
	for (uint32_t i = 0; i < o->size; i++)
		if (o->peers[i].fd >= 0)
			close(o->peers[i].fd);
	free(o->peers);
	free(o);
}

doca_error_t urom_oob_pair(uint32_t rank, int fd, struct urom_oob **out)
{
	doca_error_t r = new_oob(rank, 2, out);

	if (r != DOCA_SUCCESS) {
		close(fd);
		return r;
	}
	fcntl(fd, F_SETFL, O_NONBLOCK);
	(*out)->peers[rank == 0 ? 1 : 0].fd = fd;
	return DOCA_SUCCESS;
}

static int meet(const struct addrinfo *a, uint32_t rank, struct urom_oob *o, double end)
{
	int one = 1, l = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	uint32_t who;

	(void)rank;
	if (l < 0)
		return -errno;
	setsockopt(l, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(l, a->ai_addr, a->ai_addrlen) || listen(l, 64)) {
		close(l);
		return -errno;
	}
	for (uint32_t n = 1; n < o->size;) {
		struct pollfd p = { .fd = l, .events = POLLIN };
		struct timeval t = { .tv_sec = 5 };
		int fd;

		if (urom_seconds() > end)
			break;
		if (poll(&p, 1, 100) != 1)
			continue;
		fd = accept4(l, NULL, NULL, SOCK_CLOEXEC);
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t));
		if (fd < 0 || recv(fd, &who, sizeof(who), MSG_WAITALL) != sizeof(who) || !who || who >= o->size ||
		    o->peers[who].fd >= 0) {
			if (fd >= 0)
				close(fd);
			continue;
		}
		fcntl(fd, F_SETFL, O_NONBLOCK);
		o->peers[who].fd = fd;
		n++;
	}
	close(l);
	for (uint32_t i = 1; i < o->size; i++)
		if (o->peers[i].fd < 0)
			return -ETIMEDOUT;
	return 0;
}

static int call(const struct addrinfo *a, uint32_t rank, struct urom_oob *o, double end)
{
	while (urom_seconds() < end) {
		int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

		if (fd < 0)
			return -errno;
		if (!connect(fd, a->ai_addr, a->ai_addrlen) && send(fd, &rank, sizeof(rank), MSG_NOSIGNAL) == sizeof(rank)) {
			fcntl(fd, F_SETFL, O_NONBLOCK);
			o->peers[0].fd = fd;
			return 0;
		}
		close(fd);
		usleep(50000);
	}
	return -ETIMEDOUT;
}

doca_error_t urom_oob_tcp(uint32_t rank, uint32_t size, const char *host, const char *port, int timeout_ms,
			  struct urom_oob **out)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = rank ? 0 : AI_PASSIVE }, *a;
	double end = urom_seconds() + timeout_ms / 1000.0;
	doca_error_t r = new_oob(rank, size, out);
	int err;

	if (r != DOCA_SUCCESS)
		return r;
	if (getaddrinfo(host, port, &hints, &a)) {
		urom_oob_close(*out);
		return DOCA_ERROR_NOT_FOUND;
	}
	err = rank ? call(a, rank, *out, end) : meet(a, rank, *out, end);
	freeaddrinfo(a);
	if (err) {
		urom_oob_close(*out);
		return err == -ETIMEDOUT ? DOCA_ERROR_TIME_OUT : DOCA_ERROR_IO_FAILED;
	}
	return DOCA_SUCCESS;
}

/* ---- allgather -------------------------------------------------------------------------------------- */

static doca_error_t allgather(void *sbuf, void *rbuf, size_t msglen, void *coll_info, void **req)
{
	struct urom_oob *o = coll_info;

	if (o->busy)
		return DOCA_ERROR_IN_USE;
	o->busy = true;
	o->sbuf = sbuf;
	o->rbuf = rbuf;
	o->msglen = msglen;
	memcpy(o->rbuf + o->rank * msglen, sbuf, msglen);
	for (uint32_t i = 0; i < o->size; i++)
		o->peers[i].in = o->peers[i].out = 0;
	*req = o;
	return DOCA_SUCCESS;
}

/* Move towards n bytes; 1 done, 0 not yet, negative: the rank is gone. */
static int move(struct peer *p, size_t *done, unsigned char *to, const unsigned char *from, size_t n)
{
	ssize_t k;

	if (*done == n)
		return 1;
	k = to ? recv(p->fd, to + *done, n - *done, MSG_DONTWAIT) :
		 send(p->fd, from + *done, n - *done, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (k < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	if (k == 0 && to)
		return -ECONNRESET;
	*done += (size_t)k;
	return *done == n;
}

static doca_error_t req_test(void *req)
{
	struct urom_oob *o = req;
	size_t all = o->msglen * o->size;
	int n, missing = 0;

	if (o->rank) {
		n = move(&o->peers[0], &o->peers[0].out, NULL, o->sbuf, o->msglen);
		if (n > 0)
			n = move(&o->peers[0], &o->peers[0].in, o->rbuf, NULL, all);
		return n < 0 ? DOCA_ERROR_CONNECTION_RESET : n ? DOCA_SUCCESS : DOCA_ERROR_IN_PROGRESS;
	}
	for (uint32_t i = 1; i < o->size; i++) {
		n = move(&o->peers[i], &o->peers[i].in, o->rbuf + i * o->msglen, NULL, o->msglen);
		if (n < 0)
			return DOCA_ERROR_CONNECTION_RESET;
		missing += !n;
	}
	for (uint32_t i = 1; i < o->size && !missing; i++) {
		n = move(&o->peers[i], &o->peers[i].out, NULL, o->rbuf, all);
		if (n < 0)
			return DOCA_ERROR_CONNECTION_RESET;
		missing += !n;
	}
	return missing ? DOCA_ERROR_IN_PROGRESS : DOCA_SUCCESS;
}

static doca_error_t req_free(void *req)
{
	((struct urom_oob *)req)->busy = false;
	return DOCA_SUCCESS;
}

struct doca_urom_domain_oob_coll urom_oob_coll(struct urom_oob *o)
{
	return (struct doca_urom_domain_oob_coll){ .allgather = allgather, .req_test = req_test, .req_free = req_free,
						   .coll_info = o, .n_oob_indexes = o->size, .oob_index = o->rank };
}

doca_error_t urom_oob_barrier(struct urom_oob *o)
{
	unsigned char *all = calloc(o->size, 1), mine = 1;
	double end = urom_seconds() + 30;
	void *req;
	doca_error_t r = all ? allgather(&mine, all, 1, o, &req) : DOCA_ERROR_NO_MEMORY;

	if (r == DOCA_SUCCESS) {
		while ((r = req_test(req)) == DOCA_ERROR_IN_PROGRESS && urom_seconds() < end)
			usleep(200);
		req_free(req);
		if (r == DOCA_ERROR_IN_PROGRESS)
			r = DOCA_ERROR_TIME_OUT;
	}
	free(all);
	return r;
}
