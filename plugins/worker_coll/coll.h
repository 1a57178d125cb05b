/* worker_coll/coll.h: the plugin's insides: worker_coll.c (commands), algo.c (rounds), reduce.c (arithmetic).
 * Must not know channels. Next: algo.c. */
#ifndef COLL_H
#define COLL_H

#include <doca_urom.h>
#include <doca_urom_plugin.h>
#include <stdbool.h>

#include "coll_wire.h"
#include "urom_mesh/hostmem.h"
#include "urom_mesh/mesh.h"

enum coll_step {
	COLL_LOAD,  /* source being fetched */
	COLL_RUN,
	COLL_STORE, /* target being written */
	COLL_END,
};

struct coll_job {
	ucs_list_link_t link;
	struct coll *c;
	uint64_t dest, context;
	bool gone; /* its client left */
	uint32_t kind, type, op, team, rank, size;
	uint64_t sequence, count;
	uint64_t src_seg, src_offset, dst_seg, dst_offset;
	size_t elem, src_len, dst_len;
	struct gw__hostmem_buf src, dst;
	uint64_t peers[COLL_MAX_RANKS];   /* mesh handles by rank; 0 = not looked up */
	uint64_t mesh_ids[COLL_MAX_RANKS];
	uint64_t members[COLL_MAX_RANKS];
	enum coll_step step;
	doca_error_t status;
	bool loading;
	/* algo.c */
	uint32_t round, n_rounds;
	bool posted;
	int n_open; /* sends and receives of this round not ended */
	uint8_t *scratch;
};

struct coll {
	struct urom_worker_ctx *ctx;
	struct gw__mesh *mesh;
	struct gw__hostmem hostmem;
	ucs_list_link_t jobs;
	bool more; /* a job can move at once */
};

/* algo.c: buffers are there. One call moves a job as far as it goes; true if it moved. */
int coll_prepare(struct coll_job *j);
bool coll_run(struct coll_job *j);
/* A job that cannot go on: its receives are taken back; its sends end by themselves. */
void coll_fail(struct coll_job *j, doca_error_t why);
/* reduce.c: acc[i] = acc[i] op in[i]. */
void coll_reduce(uint32_t type, uint32_t op, void *acc, const void *in, size_t count);

#endif
