/* urom_coll.h: host half of the worker_coll plugin: collectives that the workers run while the host computes.
 * Must not know channels. Next: urom_coll.c, bench/urom_overlap. */
#ifndef UROM_COLL_H_
#define UROM_COLL_H_

#include <doca_urom.h>

enum urom_coll_kind {
	UROM_COLL_BARRIER,
	UROM_COLL_ALLREDUCE,
	UROM_COLL_ALLGATHER, /* target: size * count elements, by rank */
	UROM_COLL_ALLTOALL,  /* source and target: size * count elements, by rank */
	UROM_COLL_KINDS,
};

enum urom_coll_type {
	UROM_COLL_INT8,
	UROM_COLL_INT32,
	UROM_COLL_INT64,
	UROM_COLL_FLOAT,
	UROM_COLL_DOUBLE,
	UROM_COLL_TYPES,
};

enum urom_coll_op {
	UROM_COLL_SUM, /* integers wrap */
	UROM_COLL_PROD,
	UROM_COLL_MIN,
	UROM_COLL_MAX,
	UROM_COLL_OPS,
};

/* The ranks of a collective: domain ids in rank order, the same on every rank. A team's calls must be made
 * in the same order everywhere. */
struct urom_coll_team {
	uint32_t id; /* the same everywhere; different teams may run at the same time */
	uint32_t rank, size;
	const uint64_t *members; /* [size], the caller's */
	uint64_t sequence;       /* counts this team's calls; begin with 0 */
};

/* Buffers: shared segments of the worker that is asked. In place: source = target. */
struct urom_coll_args {
	enum urom_coll_kind kind;
	enum urom_coll_type type;
	enum urom_coll_op op;
	uint64_t count; /* elements: see coll kinds; 0 is fine */
	uint64_t src_seg, src_offset, dst_seg, dst_offset;
};

typedef void (*urom_coll_finished)(doca_error_t result, union doca_data cookie);

/* From the service's plugin list. UNSUPPORTED_VERSION: the other half is not version 1. */
doca_error_t urom_coll_init(uint64_t plugin_id, uint64_t version);
size_t urom_coll_type_size(enum urom_coll_type type);
/* SUCCESS: cb runs exactly once: the target holds the result on this rank, the same bytes on every rank for
 * allreduce. CONNECTION_RESET: a rank died. The source must not change until then. */
doca_error_t urom_coll_start(struct doca_urom_worker *worker_ctx, struct urom_coll_team *team,
			     const struct urom_coll_args *args, union doca_data cookie, urom_coll_finished cb);

#endif
