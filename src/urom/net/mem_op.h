/* urom_net/mem_op.h: a worker's access to host memory that it could not map, as a frame.
 * Must not know either end. Next: src/urom/host/mem.c, src/urom/worker/mem.c. */
#ifndef GW_UROM_NET_MEM_OP_H
#define GW_UROM_NET_MEM_OP_H

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "urom_net/frame.h"

#define GW__MEM_CHUNK (32u << 10) /* bytes of one PUT or GET */
#define GW__MEM_OP_HDR 40u

enum gw__mem_kind {
	GW__MEM_PUT = 1,
	GW__MEM_GET,
	GW__MEM_FADD,
};

struct gw__mem_op {
	uint32_t op, len;
	uint64_t seg, offset, value;
	const uint8_t *data; /* PUT: [len] */
};

static inline void gw__mem_op_write(uint8_t out[GW__MEM_OP_HDR], const struct gw__mem_op *op)
{
	gw__put_le32(out, op->op);
	gw__put_le32(out + 4, op->len);
	gw__put_le64(out + 8, op->seg);
	gw__put_le64(out + 16, op->offset);
	gw__put_le64(out + 24, op->value);
	gw__put_le64(out + 32, 0);
}

/* An aligned word is stored whole and after everything before it: a poller may wait for it (release; the
 * poller's acquire is its partner). */
static inline void gw__mem_store(uint8_t *to, const void *from, size_t len)
{
	uint64_t word;

	if (len == 8 && !((uintptr_t)to & 7)) {
		memcpy(&word, from, 8);
		atomic_store_explicit((_Atomic uint64_t *)(void *)to, word, memory_order_release);
	} else if (len) {
		memcpy(to, from, len);
	}
}

static inline int gw__mem_op_read(const struct gw__frame *f, struct gw__mem_op *op)
{
	if (f->len < GW__MEM_OP_HDR)
		return -EPROTO;
	op->op = gw__get_le32(f->payload);
	op->len = gw__get_le32(f->payload + 4);
	op->seg = gw__get_le64(f->payload + 8);
	op->offset = gw__get_le64(f->payload + 16);
	op->value = gw__get_le64(f->payload + 24);
	op->data = f->payload + GW__MEM_OP_HDR;
	if (op->len > GW__MEM_CHUNK)
		return -EMSGSIZE;
	if (f->len != GW__MEM_OP_HDR + (op->op == GW__MEM_PUT ? op->len : 0))
		return -EPROTO;
	return 0;
}

#endif
