/* nic/soft/mem.c: memory keys: index << 8 | variant, so that a stale key of a reused index is refused.
 * Must not know queues' formats. Next: soft.h, soft_translate(). */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "nic/soft/soft.h"

static int grow(struct soft_nic *nic)
{
	uint32_t n = nic->n_mr ? nic->n_mr * 2 : 16;
	struct soft_mr *mr;

	if (n > 1u << 20)
		return -ENOSPC;
	mr = gw__realloc(nic->mr, n * sizeof(*mr));
	if (!mr)
		return -ENOMEM;
	memset(mr + nic->n_mr, 0, (n - nic->n_mr) * sizeof(*mr));
	nic->mr = mr;
	nic->n_mr = n;
	return 0;
}

int soft_mem_reg(struct gw__nic *base, const void *ptr, void *host, size_t n_bytes, uint32_t *key)
{
	struct soft_nic *nic = soft(base);
	uint32_t i = 1; /* index 0 stays unused: 0x100 is the format's invalid key, 0 means free */
	int err = 0;

	if (!host)
		return -ENOTSUP; /* memory the CPU cannot reach needs a copy engine */
	if (!n_bytes)
		return -EINVAL;
	soft_lock_both(nic);
	while (i < nic->n_mr && nic->mr[i].key)
		i++;
	if (i >= nic->n_mr)
		err = grow(nic);
	if (!err) {
		struct soft_mr *mr = &nic->mr[i];

		mr->variant++;
		if (i == 1 && !mr->variant)
			mr->variant = 1; /* never 0x100 */
		mr->base = (uint64_t)(uintptr_t)ptr;
		mr->len = n_bytes;
		mr->host = host;
		mr->key = i << 8 | mr->variant;
		*key = mr->key;
	}
	soft_unlock_both(nic);
	return err;
}

/* Frames already expanded hold translated addresses: their queue fails instead of reading freed memory. */
static void fail_pending(struct soft_nic *nic, const struct soft_mr *mr)
{
	for (uint32_t q = 0; q < nic->n_sq; q++) {
		struct soft_sq *sq = nic->sq[q];

		for (uint32_t i = 0; sq && i < sq->n_pend; i++) {
			const struct gw__frame *f = &sq->list->frame[sq->pend_at + i];
			bool hit = false;

			for (uint32_t s = 0; s < f->n_segs; s++)
				hit = hit || (f->seg[s].ptr >= mr->host && f->seg[s].ptr < mr->host + mr->len);
			if (!hit)
				continue;
			sq->syndrome = MLX5_SYND_LOCAL_PROT;
			sq->err_idx = sq->list->pend[sq->pend_at + i].wqe_idx;
			sq->err_opcode = MLX5_OP_SEND;
			sq->ci = sq->list->pend[sq->pend_at + i].next_ci; /* the flush walks on from behind it */
			sq->n_pend = i;
			sq->wqe_seg = sq->wqe_n_segs;
		}
	}
}

void soft_mem_unreg(struct gw__nic *base, uint32_t key)
{
	struct soft_nic *nic = soft(base);
	uint32_t i = key >> 8;

	soft_lock_both(nic);
	if (i < nic->n_mr && nic->mr[i].key == key) {
		fail_pending(nic, &nic->mr[i]);
		nic->mr[i].key = 0;
	}
	soft_unlock_both(nic);
}
