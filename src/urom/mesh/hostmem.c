/* urom_mesh/hostmem.c: large accesses to client memory in pieces, a few in flight.
 * Must not know what the bytes are. Next: src/urom/worker/mem.c. */
#include "urom_mesh/hostmem.h"

#include <string.h>

#include "base/alloc.h"
#include <doca/doca_urom.h>

#define PIECE (32u << 10)
#define WINDOW 8

struct gw__hostmem_op {
	struct gw__hostmem_op *next;
	bool listed, write;
	struct gw__hostmem *h;
	uint64_t dest, seg, offset;
	struct gw__hostmem_buf *buf;
	size_t asked, ended; /* bytes */
	int flying;
	doca_error_t status;
	gw__hostmem_done_t done;
	void *arg;
};

/* What one piece's answer needs to know. */
struct piece {
	struct gw__hostmem_op *op;
	size_t at, len;
};

void gw__hostmem_init(struct gw__hostmem *h, struct urom_worker_ctx *ctx)
{
	h->ctx = ctx;
	h->ops = NULL;
}

static void unlist(struct gw__hostmem_op *op)
{
	struct gw__hostmem_op **at = &op->h->ops;

	while (op->listed && *at != op)
		at = &(*at)->next;
	if (op->listed)
		*at = op->next;
	op->listed = false;
}

static void pump(struct gw__hostmem_op *op);

static void piece_done(void *arg, doca_error_t status, const void *data, size_t len, uint64_t value)
{
	struct piece *p = arg;
	struct gw__hostmem_op *op = p->op;

	(void)value;
	if (status == DOCA_SUCCESS && !op->write)
		memcpy(op->buf->bytes + p->at, data, len);
	if (op->status == DOCA_SUCCESS)
		op->status = status;
	op->ended += p->len;
	op->flying--;
	gw__free(p);
	pump(op);
}

/* Ask for more pieces; ends the operation when nothing is left. */
static void pump(struct gw__hostmem_op *op)
{
	const struct urom_worker_mem_iface *mem = op->h->ctx->mem_iface;

	while (op->status == DOCA_SUCCESS && op->asked < op->buf->len && op->flying < WINDOW) {
		size_t at = op->asked, left = op->buf->len - at;
		struct piece *p = gw__malloc(sizeof(*p));
		doca_error_t r = DOCA_ERROR_NO_MEMORY;

		if (p) {
			*p = (struct piece){ .op = op, .at = at, .len = left < PIECE ? left : PIECE };
			r = op->write ? mem->put(op->h->ctx, op->dest, op->seg, op->offset + at, op->buf->bytes + at,
						 p->len, piece_done, p) :
					mem->get(op->h->ctx, op->dest, op->seg, op->offset + at, p->len, piece_done, p);
		}
		if (r == DOCA_SUCCESS) {
			op->asked += left < PIECE ? left : PIECE;
			op->flying++;
			continue;
		}
		gw__free(p);
		if (r != DOCA_ERROR_AGAIN) {
			op->status = r;
		} else if (!op->flying && !op->listed) {
			op->next = op->h->ops;
			op->h->ops = op;
			op->listed = true;
		}
		break;
	}
	if (op->flying || (op->status == DOCA_SUCCESS && op->ended < op->buf->len))
		return;
	unlist(op);
	op->done(op->arg, op->status);
	gw__free(op);
}

bool gw__hostmem_progress(struct gw__hostmem *h)
{
	struct gw__hostmem_op *op = h->ops;
	size_t before;

	if (!op)
		return false;
	unlist(op);
	before = op->asked;
	op->flying++; /* it must not end, and be freed, under our hands */
	pump(op);
	op->flying--;
	if (op->asked == before && !op->flying && op->status == DOCA_SUCCESS) {
		op->next = h->ops;
		h->ops = op;
		op->listed = true;
		return false;
	}
	if (!op->flying)
		pump(op);
	return true;
}

static doca_error_t start(struct gw__hostmem *h, bool write, uint64_t dest, uint64_t seg, uint64_t offset,
			  struct gw__hostmem_buf *buf, gw__hostmem_done_t done, void *arg)
{
	struct gw__hostmem_op *op = gw__calloc(1, sizeof(*op));

	if (!op)
		return DOCA_ERROR_NO_MEMORY;
	*op = (struct gw__hostmem_op){ .h = h, .write = write, .dest = dest, .seg = seg, .offset = offset, .buf = buf,
				       .done = done, .arg = arg };
	pump(op);
	return DOCA_SUCCESS;
}

/* In place, or a buffer of ours of that size. */
static doca_error_t get_buf(struct gw__hostmem *h, uint64_t dest, uint64_t seg, uint64_t offset, size_t len,
			    uint32_t rights, struct gw__hostmem_buf *buf)
{
	const struct urom_worker_mem_iface *mem = h->ctx->mem_iface;
	uint32_t have;
	void *addr;
	size_t size;
	doca_error_t r = mem->info(h->ctx, dest, seg, &addr, &size, &have);

	memset(buf, 0, sizeof(*buf));
	if (r != DOCA_SUCCESS)
		return r;
	if ((have & rights) != rights)
		return DOCA_ERROR_NOT_PERMITTED;
	if (offset > size || len > size - offset)
		return DOCA_ERROR_INVALID_VALUE;
	buf->len = len;
	if (addr) {
		buf->bytes = mem->hold(h->ctx, dest, seg, offset, len, rights, &buf->hold);
		return buf->bytes ? DOCA_SUCCESS : DOCA_ERROR_UNEXPECTED;
	}
	buf->bounce = true;
	buf->bytes = gw__malloc(len);
	return buf->bytes ? DOCA_SUCCESS : DOCA_ERROR_NO_MEMORY;
}

doca_error_t gw__hostmem_read(struct gw__hostmem *h, uint64_t dest, uint64_t seg, uint64_t offset, size_t len,
			      struct gw__hostmem_buf *buf, gw__hostmem_done_t done, void *arg)
{
	doca_error_t r = get_buf(h, dest, seg, offset, len, DOCA_UROM_MEM_READ, buf);

	if (r == DOCA_SUCCESS && buf->bounce) {
		r = start(h, false, dest, seg, offset, buf, done, arg);
		if (r != DOCA_SUCCESS)
			gw__hostmem_free(h, buf);
	} else if (r == DOCA_SUCCESS) {
		done(arg, DOCA_SUCCESS);
	}
	return r;
}

doca_error_t gw__hostmem_reserve(struct gw__hostmem *h, uint64_t dest, uint64_t seg, uint64_t offset, size_t len,
				 struct gw__hostmem_buf *buf)
{
	return get_buf(h, dest, seg, offset, len, DOCA_UROM_MEM_WRITE, buf);
}

doca_error_t gw__hostmem_flush(struct gw__hostmem *h, uint64_t dest, uint64_t seg, uint64_t offset,
			       struct gw__hostmem_buf *buf, gw__hostmem_done_t done, void *arg)
{
	if (buf->bounce)
		return start(h, true, dest, seg, offset, buf, done, arg);
	done(arg, DOCA_SUCCESS); /* it was written in place */
	return DOCA_SUCCESS;
}

void gw__hostmem_free(struct gw__hostmem *h, struct gw__hostmem_buf *buf)
{
	if (buf->hold)
		h->ctx->mem_iface->release(h->ctx, buf->hold);
	if (buf->bounce)
		gw__free(buf->bytes);
	memset(buf, 0, sizeof(*buf));
}
