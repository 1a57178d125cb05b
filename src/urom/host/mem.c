/* urom/mem.c: memory offered to a worker: mapped there on one machine, served by messages otherwise.
 * Must not know plugins. Next: worker.c; src/urom/worker/mem.c is the other end. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "doca/error.h"
#include "urom/worker.h"
#include "urom_net/mem_op.h"
#include "urom_net/tlv.h"

doca_error_t doca_urom_mem_create(size_t size, struct doca_urom_mem **mem)
{
	struct doca_urom_mem *m;
	doca_error_t r = DOCA_ERROR_NO_MEMORY;

	if (!size || size > (size_t)1 << 40 || !mem)
		return DOCA_ERROR_INVALID_VALUE;
	m = gw__calloc(1, sizeof(*m));
	if (!m)
		return r;
	m->size = size;
	m->fd = memfd_create("urom-mem", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (m->fd < 0) {
		r = gw__doca_from_errno(-errno);
		goto err_free;
	}
	if (ftruncate(m->fd, (off_t)size) || fcntl(m->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		goto err_close;
	m->addr = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, m->fd, 0);
	if (m->addr == MAP_FAILED)
		goto err_close;
	*mem = m;
	return DOCA_SUCCESS;

err_close:
	close(m->fd);
err_free:
	gw__free(m);
	return r;
}

doca_error_t doca_urom_mem_destroy(struct doca_urom_mem *m)
{
	if (!m)
		return DOCA_ERROR_INVALID_VALUE;
	munmap(m->addr, m->size);
	close(m->fd);
	gw__free(m);
	return DOCA_SUCCESS;
}

void *doca_urom_mem_get_addr(const struct doca_urom_mem *m)
{
	return m ? m->addr : NULL;
}

doca_error_t doca_urom_worker_share_mem(struct doca_urom_worker *w, struct doca_urom_mem *m, uint32_t rights,
					uint64_t *seg)
{
	uint8_t buf[64];
	struct gw__tlv_w t = gw__tlv_writer(buf, sizeof(buf));
	struct gw__frame f = { .type = GW__F_MEM, .payload = buf };
	int err = 0;

	if (!w || !m || !seg || !rights || (rights & ~(DOCA_UROM_MEM_READ | DOCA_UROM_MEM_WRITE)))
		return DOCA_ERROR_INVALID_VALUE;
	if (w->phase != GW__W_RUN)
		return DOCA_ERROR_BAD_STATE;
	if (w->n_segs == GW__UROM_MAX_SEGS)
		return DOCA_ERROR_FULL;
	gw__tlv_put_u64(&t, GW__T_SEG, w->n_segs);
	gw__tlv_put_u64(&t, GW__T_LENGTH, m->size);
	gw__tlv_put_u32(&t, GW__T_RIGHTS, rights);
	/* MODE 1: the descriptor went ahead on the socket, so it is there when this frame is read */
	if (w->sends_fds) {
		int fd = m->fd;
		struct gw__frame side = { .type = GW__F_MEM };

		gw__tlv_put_u32(&t, GW__T_MODE, 1);
		err = gw__chan_send_fds(&w->chan, &side, &fd, 1);
	}
	f.len = (uint32_t)t.len;
	if (!err)
		err = gw__chan_send(&w->chan, &f);
	if (err)
		return gw__doca_from_errno(err);
	w->segs[w->n_segs].mem = m;
	w->segs[w->n_segs].rights = rights;
	*seg = w->n_segs++;
	return DOCA_SUCCESS;
}

/* The worker is another process: its numbers are checked, every one. */
static int run_op(struct doca_urom_worker *w, const struct gw__mem_op *op, uint8_t *out, uint32_t *out_len,
		  uint64_t *value)
{
	uint32_t need = op->op == GW__MEM_GET ? DOCA_UROM_MEM_READ : DOCA_UROM_MEM_WRITE;
	uint32_t len = op->op == GW__MEM_FADD ? 8 : op->len;
	struct doca_urom_mem *m;
	uint8_t *at;

	if (op->seg >= w->n_segs || !(w->segs[op->seg].rights & need))
		return -EPERM;
	m = w->segs[op->seg].mem;
	if (op->offset > m->size || len > m->size - op->offset)
		return -ERANGE;
	at = (uint8_t *)m->addr + op->offset;
	switch (op->op) {
	case GW__MEM_PUT:
		gw__mem_store(at, op->data, len);
		return 0;
	case GW__MEM_GET:
		memcpy(out, at, len);
		*out_len = len;
		return 0;
	case GW__MEM_FADD:
		if (op->offset & 7)
			return -EINVAL;
		*value = atomic_fetch_add_explicit((_Atomic uint64_t *)(void *)at, op->value, memory_order_seq_cst);
		return 0;
	default:
		return -EINVAL;
	}
}

void gw__urom_mem_op(struct doca_urom_worker *w, const struct gw__frame *f)
{
	uint8_t *buf = gw__malloc(GW__MEM_CHUNK + 64), *data = buf ? buf + 64 : NULL;
	struct gw__frame ack = { .type = GW__F_MEM_ACK, .context = f->context };
	struct gw__mem_op op;
	uint32_t len = 0;
	uint64_t value = 0;
	int err = buf ? gw__mem_op_read(f, &op) : -ENOMEM;

	if (!err)
		err = run_op(w, &op, data, &len, &value);
	ack.status = (int32_t)gw__doca_from_errno(err);
	if (!err && op.op == GW__MEM_FADD) {
		gw__put_le64(data, value);
		len = 8;
	}
	ack.payload = data;
	ack.len = err ? 0 : len;
	/* full queue: the operation is done and its answer cannot be kept; the worker must not hang */
	if (gw__chan_send(&w->chan, &ack))
		w->chan.err = -ENOBUFS;
	gw__free(buf);
}
