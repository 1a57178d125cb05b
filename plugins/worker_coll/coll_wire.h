/* worker_coll/coll_wire.h: the plugin's messages, for both halves.
 *   command  u32 kind, u32 type, u32 op, u32 team, u64 sequence, u64 count,
 *            u64 source segment, u64 source offset, u64 target segment, u64 target offset,
 *            u32 rank, u32 size, size times u64 domain id
 *   answer   nothing (the status says all)
 * count: elements of a rank's contribution (allreduce: of the whole vector; alltoall: for each peer).
 * Must not know either half. Next: urom_coll.c (host), worker_coll.c (worker). */
#ifndef COLL_WIRE_H
#define COLL_WIRE_H

#include <doca_urom_pack.h>

#include "urom_coll.h"

#define COLL_VERSION 1u
#define COLL_MAX_RANKS 256u
#define COLL_MAX_BYTES ((uint64_t)64 << 20)

#endif
