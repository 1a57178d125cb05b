/* worker_rdmo/rdmo.h: the plugin's insides: worker_rdmo.c (target's commands), ops.c (initiators' operations).
 * Must not know channels. Next: ops.c. */
#ifndef RDMO_H
#define RDMO_H

#include <doca_urom.h>
#include <doca_urom_plugin.h>
#include <stdbool.h>

#include "rdmo_wire.h"
#include "urom_mesh/mesh.h"

#define RDMO_MAX_MR 256u
#define RDMO_MAX_RQ 256u
#define RDMO_MAX_PTR 256u
#define RDMO_MAX_QUEUE 1024u /* operations of one client that wait */

/* Registered memory: what addresses [va, va + len) mean. rkey: generation << 16 | index + 1, 0 = free. */
struct rdmo_mr {
	uint64_t rkey, dest, va, seg, offset, len;
};

/* An append pointer in target memory, kept here between flushes; shared by all clients of the target. */
struct rdmo_ptr {
	bool used, valid, loading, dirty, writing;
	uint64_t rkey, addr, value;
	struct rdmo *r;
};

struct rdmo_op {
	struct rdmo_op *next;
	uint64_t from, id; /* mesh peer to answer, its number */
	uint32_t op, flags;
	bool begun;
	size_t at;  /* bytes of the payload done */
	size_t entry_at, entry_left; /* scatter: inside one entry */
	uint64_t entry_addr, entry_rkey;
	uint64_t flush_id, ptr_addr, ptr_rkey, data_rkey, store_at;
	size_t len;
	uint8_t data[]; /* the payload */
};

/* One client's queue. */
struct rdmo_rq {
	bool used, dying;
	uint64_t id, dest, client;
	struct rdmo_op *ops, **last;
	uint32_t n_ops;
	uint32_t n_flying; /* accesses to target memory not yet ended */
	doca_error_t first_error; /* since the last flush */
	struct rdmo *r;
};

struct rdmo {
	struct urom_worker_ctx *ctx;
	struct gw__mesh *mesh;
	struct rdmo_mr mrs[RDMO_MAX_MR];
	struct rdmo_rq rqs[RDMO_MAX_RQ];
	struct rdmo_ptr ptrs[RDMO_MAX_PTR];
	uint64_t n_ids;
	ucs_list_link_t done; /* notifications */
	bool stuck;           /* the channel had no room: look again */
};

/* ops.c */
int rdmo_listen(struct rdmo *r);
bool rdmo_step(struct rdmo *r);
void rdmo_rq_clear(struct rdmo_rq *q, doca_error_t why);
void rdmo_forget_ptrs(struct rdmo *r, uint64_t rkey);

#endif
