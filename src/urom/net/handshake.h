/* urom_net/handshake.h: how a channel begins. Caller: dial. Listener: greet, then (for data channels) admit.
 * Must not know daemons, workers or plugins. Next: chan.h.
 *
 *   caller                              listener
 *   HELLO versions, limits, nonce  ->
 *                                  <-  HELLO_ACK version, smaller limits, nonce, keyed?
 *   AUTH HMAC(key, host|n1|n2)     ->                                        (when keyed)
 *                                  <-  AUTH HMAC(key, daemon|n2|n1)
 *   JOIN worker, ticket            ->                                        (data channels)
 *                                  <-  JOIN_ACK dest, offers (ring descriptors, UCX address)
 *   JOIN_OK mode                   ->
 * A refusal is an ERROR frame with a status and a sentence, then the end. */
#ifndef GW_UROM_NET_HANDSHAKE_H
#define GW_UROM_NET_HANDSHAKE_H

#include <gpuwire/common.h>

#include "urom_net/auth.h"
#include "urom_net/chan.h"
#include "urom_net/endpoint.h"
#include "urom_net/ucx.h"

enum gw__role {
	GW__ROLE_HOST = 1,
	GW__ROLE_CTL,
	GW__ROLE_JOIN, /* data channel of a worker, through the daemon */
	GW__ROLE_MESH, /* worker to worker */
};

#define GW__FEAT_SHM 1u
#define GW__FEAT_UCX 2u
#define GW__TICKET 16u
#define GW__VERSION(major, minor) ((uint32_t)(major) << 8 | (minor))

struct gw__hello {
	uint32_t ver_min, ver_max;
	uint32_t max_msg;
	uint64_t features;
	uint32_t mark; /* byte order and word size of the sender's build */
	uint32_t role;
	uint8_t nonce[GW__NONCE];
	char sdk[64];
};

/* One ERROR frame: status is a doca_error_t. Failure to send is ignored: the channel ends anyway. */
void gw__send_error(struct gw__chan *c, int status, uint64_t context, const char *fmt, ...) GW_PRINTF(4, 5);
/* The sentence of a received ERROR frame. */
void gw__error_text(const struct gw__frame *f, char *out, size_t cap);
int gw__send_tlv(struct gw__chan *c, uint16_t type, uint64_t context, const void *payload, size_t len);

/* ---- caller ------------------------------------------------------------------------------------ */

struct gw__dial_opts {
	enum gw__role role;
	uint32_t max_msg;
	uint64_t features;         /* upgrades we would take */
	const struct gw__key *key; /* NULL = none */
	uint64_t worker;           /* JOIN, MESH */
	uint8_t ticket[GW__TICKET];
	uint32_t max_inflight;
};

struct gw__dial {
	struct gw__chan chan;
	struct gw__dial_opts opts;
	struct gw__ep ep;
	char where[256];
	int state;
	int status; /* of an ERROR frame: a doca_error_t; 0 = none came */
	uint8_t nonce[GW__NONCE], peer_nonce[GW__NONCE];
	uint32_t max_msg; /* agreed */
	uint64_t dest;    /* our number at the worker */
	char peer_sdk[64];
};

/* 0, or negative with nothing to clean. opts.key must outlive the dial. */
int gw__dial_start(struct gw__dial *d, const struct gw__ep *ep, const struct gw__dial_opts *opts,
		   struct gw_diag *diag);
/* 1: done, d->chan is the caller's; 0: not yet (sleep on d->chan.fd, write side while connecting);
 * negative: failed and closed; diag says why, d->status if the peer said it. */
int gw__dial_step(struct gw__dial *d, struct gw_diag *diag);
bool gw__dial_wants_write(const struct gw__dial *d);
void gw__dial_abort(struct gw__dial *d);
/* Steps until done or deadline_ns (monotonic clock) passed. 0 or negative. Blocks. */
int gw__dial_wait(struct gw__dial *d, uint64_t deadline_ns, struct gw_diag *diag);

/* ---- listener ---------------------------------------------------------------------------------- */

struct gw__greet {
	int state;
	const struct gw__key *key; /* NULL or empty: no AUTH */
	uint32_t max_msg;          /* ours in, agreed out */
	struct gw__hello hello;    /* the caller's */
	uint8_t nonce[GW__NONCE];
};

/* One received frame. 1: done; 0: more to come; negative: refused, the ERROR frame is sent, diag says why. */
int gw__greet_frame(struct gw__greet *g, struct gw__chan *c, const struct gw__frame *f, struct gw_diag *diag);
/* What recv() returned negative during the greeting: tell the caller if it makes sense. */
void gw__greet_bad_bytes(struct gw__chan *c, const struct gw__frame *f, int err, struct gw_diag *diag);

struct gw__admit {
	int memfd, bells[2];
	uint32_t ring;
	struct gw__ucx_chan *ucx;
	uint32_t max_msg;
};

/* Offer what is in features: rings of ring bytes (UNIX sockets), UCX. Sends JOIN_ACK. */
int gw__admit_offer(struct gw__admit *a, struct gw__chan *c, uint64_t dest, uint64_t features, uint32_t ring);
/* The caller's JOIN_OK: switches the channel. 0 or negative. The offer is used up. */
int gw__admit_ok(struct gw__admit *a, struct gw__chan *c, const struct gw__frame *f);
void gw__admit_fini(struct gw__admit *a);
/* A power of two with room for four messages of this size. */
uint32_t gw__ring_bytes(uint32_t max_msg);

#endif
