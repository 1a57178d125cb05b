/* urom_mesh/insides.h: shared by mesh.c (messages) and conn.c (connections). Next: mesh.c. */
#ifndef GW_UROM_MESH_INSIDES_H
#define GW_UROM_MESH_INSIDES_H

#include "urom_mesh/mesh.h"
#include "urom_net/handshake.h"

#define GW__M_CONNS 512
#define GW__M_PIECE (32u << 10) /* message bytes in one frame */
#define GW__M_PIECE_HDR 16u     /* u64 whole length, u64 offset */

struct gw__m_send {
	struct gw__m_send *next;
	uint64_t tag;
	const uint8_t *buf;
	size_t len, at;
	bool begun;
	gw__mesh_sent_t done;
	void *arg;
};

struct gw__m_recv {
	struct gw__m_recv *next;
	uint64_t want, mask;
	uint8_t *buf;
	size_t cap;
	gw__mesh_got_t done;
	void *arg;
};

/* A message that came before anyone asked, whole or still coming. */
struct gw__m_early {
	struct gw__m_early *next;
	struct gw__m_recv *claim; /* it will be its, once whole */
	uint64_t tag, from;
	size_t len, have;
	uint8_t data[];
};

enum gw__m_state {
	GW__M_FREE,
	GW__M_DIAL,
	GW__M_GREET, /* accepted: HELLO, AUTH, JOIN */
	GW__M_ADMIT,
	GW__M_RUN,
	GW__M_DEAD, /* remembered, so that sends are refused */
};

struct gw__m_conn {
	enum gw__m_state state;
	uint64_t peer_id; /* the other mesh */
	uint64_t handle;  /* serial << 10 | index: what users hold */
	bool caller;      /* we connected */
	struct gw__chan chan;
	struct gw__dial dial;
	struct gw__greet greet;
	struct gw__admit admit;
	struct gw__ep tcp; /* to fall back on */
	bool has_tcp, tried_unix, use_ucx;
	struct gw__key key; /* the peer's */
	uint64_t deadline_ns;
	bool wants_out;
	struct gw__m_send *sends, **last_send;
	/* the message now arriving */
	struct gw__m_recv *into;   /* straight to its owner, or */
	struct gw__m_early *early; /* kept, or (neither) thrown away */
	bool arriving;
	uint64_t in_tag;
	size_t in_len, in_have;
};

struct gw__mesh {
	struct gw__mesh_opts opts;
	uint64_t id, place, netns;
	struct gw__key key;
	int unix_fd, tcp_fd;
	char unix_name[108], tcp_name[96];
	bool has_ucx;
	int epfd;
	struct gw__m_conn *conns[GW__M_CONNS];
	int n_conns; /* slots used so far */
	uint64_t serials;
	struct gw__m_recv *recvs, **last_recv;
	struct gw__m_early *earlies, **last_early;
	size_t early_bytes;
	uint32_t n_turns;
};

/* conn.c */
int gw__m_listen(struct gw__mesh *m, struct gw_diag *diag);
void gw__m_accept(struct gw__mesh *m, int fd);
struct gw__m_conn *gw__m_conn_new(struct gw__mesh *m);
int gw__m_dial(struct gw__mesh *m, struct gw__m_conn *c, const void *addr, size_t len);
/* Handshake, deadlines; true if it moved. */
bool gw__m_step(struct gw__mesh *m, struct gw__m_conn *c);
void gw__m_drop(struct gw__mesh *m, struct gw__m_conn *c, int status);

/* mesh.c */
void gw__m_conn_lost(struct gw__mesh *m, struct gw__m_conn *c, int status);

#endif
