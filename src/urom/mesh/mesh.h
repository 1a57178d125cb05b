/* urom_mesh/mesh.h: tagged messages between workers (and programs): what plugins send each other.
 * Must not know domains, plugins or what a message means. Next: mesh.c, conn.c.
 *
 * Each mesh has an address: a few bytes to hand to peers by any means (a domain's table, a socket). It holds
 * the key that callers must prove, so whoever has the address may connect, and nobody else. Connections are
 * made on first use: a UNIX socket with shared-memory rings on one machine, else TCP, with UCX active messages
 * where both sides have them. One thread at a time; nothing blocks. */
#ifndef GW_UROM_MESH_H
#define GW_UROM_MESH_H

#include <gpuwire/common.h>
#include <stdbool.h>

#define GW__MESH_ADDR_MAX 512u
#define GW__MESH_MSG_MAX ((size_t)64 << 20)

struct gw__mesh;

struct gw__mesh_opts {
	/* A peer is gone: everything towards it has completed with an error. id as in its address. Optional. */
	void (*down)(void *arg, uint64_t id);
	void *arg;
};

/* Where to listen comes from the daemon, by environment: UROM_MESH_DIR (directory of UNIX sockets),
 * UROM_MESH_BIND (TCP address), UROM_MESH_UCX=1. Without any: an abstract UNIX socket of this network
 * namespace. listen = false: a caller only, for programs. */
int gw__mesh_open(struct gw__mesh **out, bool listen, const struct gw__mesh_opts *opts, struct gw_diag *diag);
/* Everything open completes with -ESHUTDOWN. NULL is fine. */
void gw__mesh_close(struct gw__mesh *m);
/* Bytes written into buf [GW__MESH_ADDR_MAX]. */
size_t gw__mesh_address(const struct gw__mesh *m, void *buf);
uint64_t gw__mesh_id(const struct gw__mesh *m);
/* The id inside an address; -EPROTO. */
int gw__mesh_id_of(const void *addr, size_t len, uint64_t *id);
/* A peer to send to: at once, whatever its connection does. The same address gives the same peer. */
int gw__mesh_connect(struct gw__mesh *m, const void *addr, size_t len, uint64_t *peer);

/* It was connected to and is gone. */
bool gw__mesh_is_down(const struct gw__mesh *m, uint64_t peer);

/* How a send ended: 0, -ECONNRESET, -ESHUTDOWN. Runs in progress() or in send itself. Optional. */
typedef void (*gw__mesh_sent_t)(void *arg, int status);
/* buf is borrowed until done. Messages to one peer arrive in order. -ENOTCONN: no such peer; -EMSGSIZE;
 * -ENOMEM: done is not called. */
int gw__mesh_send(struct gw__mesh *m, uint64_t peer, uint64_t tag, const void *buf, size_t len,
		  gw__mesh_sent_t done, void *arg);

/* How a receive ended. status 0: len bytes are in buf (or in data, borrowed during the call, when buf was
 * NULL); -EMSGSIZE: the message had len bytes, buf was smaller, nothing is there. from: the peer to answer. */
typedef void (*gw__mesh_got_t)(void *arg, int status, uint64_t tag, const void *data, size_t len, uint64_t from);
/* The next message with (tag & mask) == (want & mask): from any peer, oldest first. */
int gw__mesh_recv(struct gw__mesh *m, uint64_t want, uint64_t mask, void *buf, size_t cap, gw__mesh_got_t done,
		  void *arg);
/* Take back every receive with this arg: its done is not called. How many. */
int gw__mesh_cancel(struct gw__mesh *m, void *arg);

/* Move. True if anything moved. */
bool gw__mesh_progress(struct gw__mesh *m);
/* About to sleep on fd(): true = do not. */
bool gw__mesh_arm(struct gw__mesh *m);
int gw__mesh_fd(const struct gw__mesh *m);
/* "shm", "socket", "ucx", or "none": how this peer is reached now. */
const char *gw__mesh_channel(const struct gw__mesh *m, uint64_t peer);

#endif
