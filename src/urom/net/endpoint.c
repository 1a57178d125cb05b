/* urom_net/endpoint.c: endpoint texts to sockets. Must not know frames. Next: chan.c. */
#include "urom_net/endpoint.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/diag.h"

static int parse_unix(const char *path, struct gw__ep *ep, struct gw_diag *diag)
{
	struct sockaddr_un *un = (struct sockaddr_un *)&ep->addr;

	if (path[0] != '/')
		return gw__fail(diag, -EINVAL, "endpoint %s: the path must begin with '/'", ep->text);
	if (strlen(path) >= sizeof(un->sun_path))
		return gw__fail(diag, -EINVAL, "endpoint %s: the path is longer than %zu bytes", ep->text,
				sizeof(un->sun_path) - 1);
	un->sun_family = AF_UNIX;
	memcpy(un->sun_path, path, strlen(path) + 1);
	ep->addr_len = sizeof(*un);
	return 0;
}

/* host:port, [v6]:port, :port, *:port, host */
static int parse_inet(const char *s, struct gw__ep *ep, struct gw_diag *diag)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV }, *list;
	char host[256], port[16];
	const char *colon = strrchr(s, ':'), *end;
	int err;

	snprintf(port, sizeof(port), "%d", GW__UROM_PORT);
	if (s[0] == '[') {
		end = strchr(++s, ']');
		if (!end)
			return gw__fail(diag, -EINVAL, "endpoint %s: ']' is missing", ep->text);
		colon = end[1] == ':' ? end + 1 : NULL;
	} else {
		end = colon ? colon : s + strlen(s);
	}
	if (colon && colon[1])
		snprintf(port, sizeof(port), "%s", colon + 1);
	if ((size_t)(end - s) >= sizeof(host))
		return gw__fail(diag, -EINVAL, "endpoint %s: the host name is too long", ep->text);
	memcpy(host, s, (size_t)(end - s));
	host[end - s] = '\0';
	ep->any = !host[0] || !strcmp(host, "*");
	if (strtoul(port, NULL, 10) > 65535)
		return gw__fail(diag, -EINVAL, "endpoint %s: port %s is above 65535", ep->text, port);
	err = getaddrinfo(ep->any ? "127.0.0.1" : host, port, &hints, &list);
	if (err)
		return gw__fail(diag, err == EAI_SERVICE ? -EINVAL : -EHOSTUNREACH, "endpoint %s: %s", ep->text,
				gai_strerror(err));
	memcpy(&ep->addr, list->ai_addr, list->ai_addrlen);
	ep->addr_len = list->ai_addrlen;
	freeaddrinfo(list);
	return 0;
}

int gw__ep_parse(const char *text, struct gw__ep *ep, struct gw_diag *diag)
{
	memset(ep, 0, sizeof(*ep));
	if (!text || strlen(text) >= sizeof(ep->text))
		return gw__fail(diag, -EINVAL, "endpoint: missing, or longer than %zu bytes",
				sizeof(ep->text) - 1);
	memcpy(ep->text, text, strlen(text) + 1);
	if (!strncmp(text, "unix:", 5)) {
		ep->kind = GW__EP_UNIX;
		return parse_unix(text + 5, ep, diag);
	}
	ep->kind = strncmp(text, "ucx:", 4) ? GW__EP_TCP : GW__EP_UCX;
	if (ep->kind == GW__EP_TCP && strncmp(text, "tcp:", 4))
		return gw__fail(diag, -EINVAL,
				"endpoint %s: use unix:/PATH, tcp:ADDR:PORT or ucx:ADDR:PORT", text);
	return parse_inet(text + 4, ep, diag);
}

static int find_iface(const char *name, int family, struct sockaddr_storage *addr, socklen_t *len)
{
	struct ifaddrs *all, *i;
	int err = -ENODEV;

	if (getifaddrs(&all))
		return -errno;
	for (i = all; i && err; i = i->ifa_next) {
		if (!i->ifa_addr || i->ifa_addr->sa_family != family || strcmp(i->ifa_name, name))
			continue;
		*len = family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
		memset(addr, 0, sizeof(*addr));
		memcpy(addr, i->ifa_addr, *len);
		err = 0;
	}
	freeifaddrs(all);
	return err;
}

int gw__ep_net_device(int family, struct sockaddr_storage *addr, socklen_t *len, struct gw_diag *diag)
{
	const char *s = getenv("UCX_NET_DEVICES");
	char name[IF_NAMESIZE];
	int err = -ENOENT;

	while (s && *s) {
		size_t n = strcspn(s, ",");

		/* "mlx5_0:1" and "all" are words for UCX, not interfaces */
		if (n && n < sizeof(name) && !memchr(s, ':', n) && strncmp(s, "all", n)) {
			memcpy(name, s, n);
			name[n] = '\0';
			if (!find_iface(name, family, addr, len))
				return 0;
			err = gw__fail(diag, -ENODEV,
				       "UCX_NET_DEVICES: no interface %s with an address of this family", name);
		}
		s += n + (s[n] == ',');
	}
	return err;
}

void gw__ep_tune(int fd)
{
	int one = 1, idle = 5, every = 2, count = 3, user_ms = 10000;

	/* each fails harmlessly on a UNIX socket */
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &every, sizeof(every));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &user_ms, sizeof(user_ms));
}

int gw__ep_connect(const struct gw__ep *ep, struct gw_diag *diag)
{
	int family = ep->addr.ss_family, err;
	int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	struct sockaddr_storage from;
	socklen_t len;

	if (fd < 0)
		return gw__fail(diag, -errno, "%s: socket: %s", ep->text, strerror(errno));
	if (ep->kind != GW__EP_UNIX) {
		gw__ep_tune(fd);
		err = gw__ep_net_device(family, &from, &len, diag);
		/* a loopback daemon is reachable from loopback only */
		if (!err && !gw__ep_is_loopback(ep) && bind(fd, (struct sockaddr *)&from, len))
			err = gw__fail(diag, -errno, "%s: bind to UCX_NET_DEVICES: %s", ep->text,
				       strerror(errno));
		if (err && err != -ENOENT)
			goto err_close;
	}
	/* EAGAIN: the UNIX listener's queue is full; whoever waits for the connection tries again */
	if (connect(fd, (const struct sockaddr *)&ep->addr, ep->addr_len) && errno != EINPROGRESS && errno != EAGAIN) {
		err = gw__fail(diag, errno == ENOENT ? -ECONNREFUSED : -errno, "%s: connect: %s", ep->text,
			       strerror(errno));
		goto err_close;
	}
	return fd;

err_close:
	close(fd);
	return err;
}

int gw__ep_listen(const struct gw__ep *ep, unsigned int mode, struct gw_diag *diag)
{
	struct sockaddr_storage at = ep->addr;
	socklen_t len = ep->addr_len;
	int one = 1, err, fd = socket(at.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	mode_t old;

	if (fd < 0)
		return gw__fail(diag, -errno, "%s: socket: %s", ep->text, strerror(errno));
	if (ep->kind != GW__EP_UNIX) {
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
		if (ep->any) {
			uint16_t port = ((struct sockaddr_in *)&at)->sin_port;

			err = gw__ep_net_device(AF_INET, &at, &len, diag);
			if (err && err != -ENOENT)
				goto err_close;
			((struct sockaddr_in *)&at)->sin_port = port;
		}
	}
	/* created with no rights at all, opened by chmod once it is bound */
	old = umask(0177);
	err = bind(fd, (struct sockaddr *)&at, len) ? -errno : 0;
	umask(old);
	if (!err && ep->kind == GW__EP_UNIX &&
	    chmod(((struct sockaddr_un *)&at)->sun_path, (mode_t)mode))
		err = -errno;
	if (!err && listen(fd, 1024))
		err = -errno;
	if (!err)
		return fd;
	gw__fail(diag, err, "%s: listen: %s", ep->text, strerror(-err));
err_close:
	close(fd);
	return err;
}

bool gw__ep_is_loopback(const struct gw__ep *ep)
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)&ep->addr;
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)&ep->addr;

	if (ep->addr.ss_family == AF_INET)
		return ntohl(in->sin_addr.s_addr) >> 24 == 127;
	if (ep->addr.ss_family == AF_INET6)
		return IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr);
	return true;
}

void gw__ep_name(const struct sockaddr_storage *addr, char *out, size_t cap)
{
	char host[INET6_ADDRSTRLEN] = "?";
	const struct sockaddr_in *in = (const struct sockaddr_in *)addr;
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)addr;

	if (addr->ss_family == AF_INET6) {
		inet_ntop(AF_INET6, &in6->sin6_addr, host, sizeof(host));
		snprintf(out, cap, "[%s]:%u", host, ntohs(in6->sin6_port));
	} else {
		inet_ntop(AF_INET, &in->sin_addr, host, sizeof(host));
		snprintf(out, cap, "%s:%u", host, ntohs(in->sin_port));
	}
}

void gw__ep_default(char *out, size_t cap)
{
	const char *dir = getenv("XDG_RUNTIME_DIR");

	if (geteuid() == 0)
		snprintf(out, cap, "unix:/run/urom/uromd.sock");
	else if (dir && *dir)
		snprintf(out, cap, "unix:%s/urom/uromd.sock", dir);
	else
		snprintf(out, cap, "unix:/tmp/urom-%u/uromd.sock", (unsigned int)geteuid());
}
