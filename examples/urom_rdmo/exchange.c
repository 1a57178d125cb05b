/* urom_rdmo/exchange.c: a few bytes between server and client over TCP. Must not know what they mean. */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "app.h"

#define LIMIT 1024u
#define WAIT_S 30

static void set_limits(int fd)
{
	struct timeval t = { .tv_sec = WAIT_S };

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof(t));
}

int exchange_listen(const char *port)
{
	struct addrinfo hints = { .ai_family = AF_INET, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE }, *a;
	int one = 1, fd;

	if (getaddrinfo(NULL, port, &hints, &a))
		return -EINVAL;
	fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (fd >= 0 && (bind(fd, a->ai_addr, a->ai_addrlen) || listen(fd, 1))) {
		close(fd);
		fd = -1;
	}
	freeaddrinfo(a);
	return fd < 0 ? -errno : fd;
}

int exchange_accept(int listener)
{
	struct pollfd p = { .fd = listener, .events = POLLIN };
	int fd;

	if (poll(&p, 1, WAIT_S * 1000) != 1)
		return -ETIMEDOUT;
	fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (fd < 0)
		return -errno;
	set_limits(fd);
	return fd;
}

int exchange_call(const char *host, const char *port)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *a;
	double end = urom_seconds() + WAIT_S;
	int fd = -1;

	if (getaddrinfo(host, port, &hints, &a))
		return -EHOSTUNREACH;
	while (urom_seconds() < end) {
		fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fd < 0 || !connect(fd, a->ai_addr, a->ai_addrlen))
			break;
		close(fd);
		fd = -ECONNREFUSED;
		usleep(50000); /* the server may still be starting */
	}
	freeaddrinfo(a);
	if (fd >= 0)
		set_limits(fd);
	return fd;
}

int exchange_send(int fd, const void *data, uint64_t len)
{
	if (len > LIMIT)
		return -EMSGSIZE;
	if (send(fd, &len, sizeof(len), MSG_NOSIGNAL | (len ? MSG_MORE : 0)) != sizeof(len) ||
	    (len && send(fd, data, len, MSG_NOSIGNAL) != (ssize_t)len))
		return -ECONNRESET;
	return 0;
}

int exchange_recv(int fd, void *data, uint64_t cap, uint64_t *len)
{
	ssize_t n = recv(fd, len, sizeof(*len), MSG_WAITALL);

	if (n != sizeof(*len))
		return n < 0 && errno == EAGAIN ? -ETIMEDOUT : -ECONNRESET;
	if (*len > LIMIT || *len > cap)
		return -EMSGSIZE;
	if (*len && recv(fd, data, *len, MSG_WAITALL) != (ssize_t)*len)
		return -ECONNRESET;
	return 0;
}
