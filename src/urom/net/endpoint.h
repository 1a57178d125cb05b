/* urom_net/endpoint.h: "unix:PATH", "tcp:ADDR:PORT", "ucx:ADDR:PORT": the one thing that changes when
 * the other side moves to another process, container or machine.
 * Must not know frames. Next: chan.h. */
#ifndef GW_UROM_NET_ENDPOINT_H
#define GW_UROM_NET_ENDPOINT_H

#include <gpuwire/common.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/un.h>

#define GW__UROM_PORT 18516 /* when an endpoint names none */

enum gw__ep_kind {
	GW__EP_UNIX,
	GW__EP_TCP,
	GW__EP_UCX, /* handshake and liveness on TCP, data on UCX active messages */
};

struct gw__ep {
	enum gw__ep_kind kind;
	char text[256]; /* as given */
	struct sockaddr_storage addr;
	socklen_t addr_len;
	bool any; /* no address given: "tcp::PORT" or "tcp:*:PORT" */
};

/* 0, -EINVAL, or -EHOSTUNREACH for a name that does not resolve. May block in the resolver. */
int gw__ep_parse(const char *text, struct gw__ep *ep, struct gw_diag *diag);
/* Begin to connect: a non-blocking fd (ready when writable) or negative errno. A UNIX socket whose listener is
 * busy is not connected yet: call connect() on it again, later. */
int gw__ep_connect(const struct gw__ep *ep, struct gw_diag *diag);
/* Listening non-blocking fd. A "any" endpoint binds to loopback, or to the interface that
 * UCX_NET_DEVICES names. mode: of a UNIX socket. */
int gw__ep_listen(const struct gw__ep *ep, unsigned int mode, struct gw_diag *diag);
bool gw__ep_is_loopback(const struct gw__ep *ep);
/* Options of a connected TCP socket: no delay, and a dead peer is noticed within 10 s. */
void gw__ep_tune(int fd);
/* The address of the first UCX_NET_DEVICES entry that is a network interface, with port 0.
 * 0; -ENOENT: the variable names none ("all", unset, RDMA names); -ENODEV: no such interface. */
int gw__ep_net_device(int family, struct sockaddr_storage *addr, socklen_t *len, struct gw_diag *diag);
/* "a.b.c.d:port" or "[v6]:port" of a bound or connected socket. */
void gw__ep_name(const struct sockaddr_storage *addr, char *out, size_t cap);
/* Default daemon endpoint: unix:$XDG_RUNTIME_DIR/urom/uromd.sock, for root /run/urom/uromd.sock. */
void gw__ep_default(char *out, size_t cap);

#endif
