/* nic/soft/cq.c: write completions: bytes 0..62, then a release store of the owner byte.
 * Runs of equal receive completions are kept back and written as one title with 8-byte mini entries.
 * Must not know frames or rules. Next: mlx5_format.h (the title's layout). */
#include <string.h>

#include "nic/soft/soft.h"

uint32_t soft_cq_reload(struct soft_cq *cq)
{
	/* acquire: pairs with the consumer's release after it marked its slots invalid */
	uint32_t ci24 = __builtin_bswap32(soft_read32(&cq->dbrec[MLX5_CQ_DBREC_CI])) & 0xffffff;
	uint32_t d = (cq->pi - ci24) & 0xffffff, used;

	if (d <= cq->n) /* else the record is nonsense: keep the old one */
		cq->ci = cq->pi - d;
	used = cq->pi + cq->run.n + cq->promised - cq->ci;
	return used < cq->n ? cq->n - used : 0;
}

static uint8_t *slot(struct soft_cq *cq, uint32_t i)
{
	return cq->buf + (size_t)(i & (cq->n - 1)) * sizeof(struct mlx5_cqe);
}

/* The owner byte last: pairs with the consumer's acquire of it. */
static void publish(struct soft_cq *cq, const void *cqe, uint8_t opcode, uint8_t format)
{
	uint8_t *to = slot(cq, cq->pi);

	memcpy(to, cqe, 63);
	__atomic_store_n(to + 63, (uint8_t)(opcode << 4 | format << 2 | mlx5_owner(cq->pi, cq->log_n)),
			 __ATOMIC_RELEASE);
}

static void mark_dirty(struct soft_nic *nic, struct soft_cq *cq, bool rx)
{
	*(rx ? &nic->rx_dirty : &nic->tx_dirty) |= (uint64_t)1 << cq->idx;
}

static void fill_rx(struct mlx5_cqe *c, uint32_t rqn, const struct soft_rx_done *d)
{
	memset(c, 0, sizeof(*c));
	c->rx_hash = __builtin_bswap32(d->hash);
	c->flags_rqpn = __builtin_bswap32(rqn);
	memcpy(&c->hds_ip_ext, &d->meta, 4);
	c->app = __builtin_bswap32(d->lost);
	c->byte_cnt = __builtin_bswap32(d->len);
	c->timestamp = __builtin_bswap64(d->ts_ns);
	c->sop_drop_qpn = __builtin_bswap32(d->flow & 0xffffff);
	c->wqe_counter = __builtin_bswap16(d->idx);
}

void soft_cq_close_run(struct soft_cq *cq)
{
	uint32_t n = cq->run.n;
	struct soft_rx_done d = { .meta = cq->run.meta, .flow = cq->run.flow, .lost = cq->run.lost,
				  .idx = cq->run.first, .hash = __builtin_bswap32(cq->run.mini[0].rx_hash) };
	struct mlx5_cqe c;

	if (!n)
		return;
	d.len = n == 1 ? __builtin_bswap32(cq->run.mini[0].byte_cnt) : n;
	fill_rx(&c, cq->run.rqn, &d);
	for (uint32_t i = 0; n > 1 && i < n; i += MLX5_MINI_PER_SLOT) {
		uint32_t k = n - i < MLX5_MINI_PER_SLOT ? n - i : MLX5_MINI_PER_SLOT;

		memcpy(slot(cq, cq->pi + mlx5_mini_slot(i)), &cq->run.mini[i], k * sizeof(struct mlx5_mini_cqe));
	}
	publish(cq, &c, MLX5_CQE_RESP_SEND, n > 1 ? MLX5_CQE_FORMAT_COMPRESSED : 0);
	cq->pi += n;
	cq->run.n = 0;
}

void soft_cq_rx(struct soft_cq *cq, const struct soft_rq *rq, const struct soft_rx_done *d)
{
	struct mlx5_cqe c;
	uint32_t n = cq->run.n;

	if (!cq->compressed || rq->timestamps) {
		soft_cq_close_run(cq); /* another queue's run, if two share this one */
		fill_rx(&c, rq->number, d);
		publish(cq, &c, MLX5_CQE_RESP_SEND, 0);
		cq->pi++;
		mark_dirty(soft(cq->obj.nic), cq, true);
		return;
	}
	if (n && (n == SOFT_BURST || d->lost || cq->run.rqn != rq->number || cq->run.meta != d->meta ||
		  cq->run.flow != d->flow || (uint16_t)(cq->run.first + n) != d->idx)) {
		soft_cq_close_run(cq);
		n = 0;
	}
	if (!(n % MLX5_MINI_PER_SLOT)) /* written when the run closes; the consumer has the line */
		__builtin_prefetch(slot(cq, cq->pi + mlx5_mini_slot(n)), 1);
	if (!n) {
		__builtin_prefetch(slot(cq, cq->pi), 1);
		cq->run.rqn = rq->number;
		cq->run.meta = d->meta;
		cq->run.flow = d->flow;
		cq->run.lost = d->lost;
		cq->run.first = d->idx;
		mark_dirty(soft(cq->obj.nic), cq, true);
	}
	cq->run.mini[n].rx_hash = __builtin_bswap32(d->hash);
	cq->run.mini[n].byte_cnt = __builtin_bswap32(d->len);
	cq->run.n = n + 1;
}

void soft_cq_tx(struct soft_cq *cq, uint32_t number, uint16_t idx, uint8_t opcode)
{
	struct mlx5_cqe c;

	memset(&c, 0, sizeof(c));
	c.sop_drop_qpn = __builtin_bswap32((uint32_t)opcode << 24 | number);
	c.wqe_counter = __builtin_bswap16(idx);
	publish(cq, &c, MLX5_CQE_REQ, 0);
	cq->pi++;
	mark_dirty(soft(cq->obj.nic), cq, false);
}

void soft_cq_error(struct soft_cq *cq, uint32_t number, uint16_t idx, uint8_t wqe_opcode, uint8_t syndrome,
		   bool requester)
{
	struct mlx5_err_cqe c;

	soft_cq_close_run(cq);
	memset(&c, 0, sizeof(c));
	c.syndrome = syndrome;
	c.s_wqe_opcode_qpn = __builtin_bswap32((uint32_t)wqe_opcode << 24 | number);
	c.wqe_counter = __builtin_bswap16(idx);
	publish(cq, &c, requester ? MLX5_CQE_REQ_ERR : MLX5_CQE_RESP_ERR, 0);
	cq->pi++;
	mark_dirty(soft(cq->obj.nic), cq, !requester);
}

void soft_cq_flush(struct soft_nic *nic, uint64_t *dirty)
{
	while (*dirty) {
		struct soft_cq *cq = nic->cq[__builtin_ctzll(*dirty)];

		*dirty &= *dirty - 1;
		soft_cq_close_run(cq);
		if (cq->event)
			gw__event_signal(cq->event);
	}
}
