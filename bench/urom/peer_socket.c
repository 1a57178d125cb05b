/* bench/urom/peer_socket.c: bare ping-pong over UNIX and TCP sockets. Must not know UROM. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "peers.h"

void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/* All of it, spinning on a non-blocking socket or sleeping on a blocking one. */
static bool get(int fd, char *buf, size_t n)
{
	for (size_t at = 0; at < n;) {
		ssize_t k = recv(fd, buf + at, n - at, 0);

		if (k < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (k <= 0)
			return false;
		at += (size_t)k;
	}
	return true;
}

static double ping_pong(int near, int far, int n, bool blocking, size_t bytes)
{
	static char buf[65536];
	double *v = malloc(sizeof(*v) * (size_t)n), r;
	pid_t child;

	if (!blocking) {
		fcntl(near, F_SETFL, O_NONBLOCK);
		fcntl(far, F_SETFL, O_NONBLOCK);
	}
	child = fork();
	if (child == 0) {
		close(near);
		pin(CPU_FAR);
		while (get(far, buf, bytes) && send(far, buf, bytes, MSG_NOSIGNAL) == (ssize_t)bytes)
			;
		_exit(0);
	}
	close(far);
	for (int i = -100; i < n; i++) {
		double t = clock_s(CLOCK_MONOTONIC);

		if (send(near, buf, bytes, MSG_NOSIGNAL) != (ssize_t)bytes || !get(near, buf, bytes))
			break;
		if (i >= 0)
			v[i] = (clock_s(CLOCK_MONOTONIC) - t) * 1e6;
	}
	close(near);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	r = median(v, n);
	free(v);
	return r;
}

double peer_unix(int n, bool blocking, size_t bytes)
{
	int s[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, s))
		return -1;
	return ping_pong(s[0], s[1], n, blocking, bytes);
}

double peer_tcp(int n, bool blocking, size_t bytes)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int l = socket(AF_INET, SOCK_STREAM, 0), a = socket(AF_INET, SOCK_STREAM, 0), b, one = 1;
	socklen_t len = sizeof(at);

	if (bind(l, (struct sockaddr *)&at, len) || listen(l, 1) || getsockname(l, (struct sockaddr *)&at, &len) ||
	    connect(a, (struct sockaddr *)&at, len))
		return -1;
	b = accept(l, NULL, NULL);
	close(l);
	setsockopt(a, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(b, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return ping_pong(a, b, n, blocking, bytes);
}
