/* worker_rdmo/rdmo_wire.h: the plugin's messages, for all three parties.
 * Target host to its worker (u32 type first, in answers too):
 *   CLIENT_INIT  u64 client id                          -> blob: address for initiators
 *   RQ_CREATE    u64 client id                          -> u64 rq id
 *   RQ_DESTROY   u64 rq id                              -> nothing
 *   MR_REG       u64 va, u64 segment, u64 offset, u64 len -> u64 rkey
 *   MR_DEREG     u64 rkey                               -> nothing
 * Initiator to worker, over the mesh: u64 client id, u64 op id, u32 op, u32 flags, then
 *   FLUSH        u64 flush id
 *   APPEND       u64 pointer address, u64 pointer rkey, u64 data rkey, the data to the end
 *   SCATTER      u64 count, count times: u64 address, u64 rkey, u32 length, data
 * Worker to initiator: u64 op id, u32 op, u32 status (doca_error_t), u64 flush id. A flush is always
 * answered; another operation only when it failed.
 * Must not know any of them. Next: urom_rdmo.c (target), initiator.c, worker_rdmo.c, ops.c (worker). */
#ifndef RDMO_WIRE_H
#define RDMO_WIRE_H

#include <doca_urom_pack.h>

#define RDMO_VERSION 1u

enum {
	RDMO_CLIENT_INIT,
	RDMO_RQ_CREATE,
	RDMO_RQ_DESTROY,
	RDMO_MR_REG,
	RDMO_MR_DEREG,
};

enum {
	RDMO_OP_FLUSH,
	RDMO_OP_APPEND,
	RDMO_OP_SCATTER,
};

#define RDMO_FENCE 1u /* flags: wait for all earlier operations of this client */

#define RDMO_TAG_OP 0x52444d4f00000001u
#define RDMO_TAG_ANSWER 0x52444d4f00000002u

#endif
