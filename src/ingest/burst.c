/* ingest/burst.c: the metadata pool, lending a burst to the consumer and taking it back.
 * A burst goes owner -> consumer by one ring and comes back by another, in any order. Must not know
 * engines' insides. Next: rxq.c fills bursts. */
#include <errno.h>

#include "base/alloc.h"
#include "base/bitmap.h"
#include "ingest/gw.h"

#define WHOLE UINT32_MAX

static size_t align64(size_t n)
{
	return (n + 63) / 64 * 64;
}

/* One array of n entries out of a burst's block. */
static void *carve(unsigned char **at, size_t n_bytes)
{
	void *p = *at;

	*at += align64(n_bytes);
	return p;
}

static size_t block_bytes(const struct gw__rx_queue *q)
{
	size_t n = q->batch, segs = q->slots.n_segs;

	return (4 + segs) * align64(n * sizeof(uint32_t)) + segs * align64(n * sizeof(void *)) +
	       align64(n * sizeof(uint64_t)) + align64(gw__bitmap_words(q->batch) * sizeof(uint64_t));
}

int gw__bursts_open(struct gw__rx_queue *q)
{
	uint32_t want = q->gw->cfg->rx_meta_buffers, n_win = 0;
	size_t bytes = block_bytes(q);
	unsigned char *at;
	int err;

	q->n_pool = want ? want : 256;
	for (uint32_t i = 0; i < q->n_plans; i++)
		n_win += q->plan[i].n_out;
	/* every burst and window can be with the consumer, and every slot can come back by itself */
	err = gw__ring_init(&q->to_app, q->n_pool + n_win, sizeof(struct gw__burst *));
	if (err)
		return err;
	err = gw__ring_init(&q->back, q->n_pool + q->slots.n_slots, sizeof(struct gw__back));
	if (err)
		return err;
	q->pool = gw__calloc(q->n_pool, sizeof(*q->pool));
	q->free_stack = gw__calloc(q->n_pool, sizeof(*q->free_stack));
	if (!q->pool || !q->free_stack)
		return -ENOMEM;
	/* one allocation: pages that are never used are never touched */
	q->pool[0].block = gw__calloc(q->n_pool, bytes);
	if (!q->pool[0].block)
		return -ENOMEM;
	at = q->pool[0].block;
	at += -(uintptr_t)at & 7;
	for (uint32_t i = 0; i < q->n_pool; i++) {
		struct gw__burst *b = &q->pool[i];
		unsigned char *next = at + bytes;
		size_t n = q->batch;

		b->q = q;
		b->slot = carve(&at, n * sizeof(uint32_t));
		b->len = carve(&at, n * sizeof(uint32_t));
		b->flow = carve(&at, n * sizeof(uint32_t));
		b->pkt_flags = carve(&at, n * sizeof(uint32_t));
		for (uint32_t s = 0; s < q->slots.n_segs; s++) {
			b->seg_len[s] = carve(&at, n * sizeof(uint32_t));
			b->seg_ptr[s] = carve(&at, n * sizeof(void *));
		}
		b->ts_ns = carve(&at, n * sizeof(uint64_t));
		b->gone = carve(&at, gw__bitmap_words(q->batch) * sizeof(uint64_t));
		at = next;
		/* a stack: the burst used last is used next, so few are ever touched */
		q->free_stack[q->n_free++] = &q->pool[q->n_pool - 1 - i];
	}
	return 0;
}

void gw__bursts_close(struct gw__rx_queue *q)
{
	gw__ring_fini(&q->to_app);
	gw__ring_fini(&q->back);
	if (q->pool)
		gw__free(q->pool[0].block);
	gw__free(q->pool);
	gw__free(q->free_stack);
	q->pool = NULL;
	q->free_stack = NULL;
}

static void lend_window(struct gw__burst *b, struct gw_burst *out)
{
	b->tensor = b->win.tensor;
	b->tensor_len = (uint32_t)b->win.len;
	b->first_ns = b->win.info.first_ts_ns;
	out->n_pkts = 1;
	out->n_segs = 1;
	out->flags = b->win.flags | GW_BURST_REORDERED;
	out->seg_ptr[0] = &b->tensor;
	out->seg_len[0] = &b->tensor_len;
	out->len = &b->tensor_len;
	out->flow = &b->plan->cfg->flow_ids[0];
	out->pkt_flags = &b->zero;
	out->ts_ns = b->q->timestamps ? &b->first_ns : NULL;
	out->event = b->win.event;
}

/* Addresses and lengths by arithmetic, on the consumer's core: it reads them next, and the queue's owner, who is
 * the one with work to do, passes on 4 bytes a packet whatever the number of segments. */
static void lay_segments(struct gw__burst *b)
{
	const struct gw__slots *slots = &b->q->slots;

	for (uint32_t s = 0, from = 0; s < slots->n_segs; from += slots->seg[s++].size) {
		uint8_t *base = slots->seg[s].base;
		size_t stride = slots->seg[s].stride;
		uint32_t size = slots->seg[s].size;

		for (uint32_t i = 0; i < b->n; i++) {
			uint32_t left = b->len[i] > from ? b->len[i] - from : 0;

			b->seg_ptr[s][i] = base + b->slot[i] * stride;
			b->seg_len[s][i] = left < size ? left : size;
		}
	}
}

void gw__burst_lend(struct gw__burst *b, struct gw_burst *out)
{
	memset(out, 0, sizeof(*out));
	out->port = b->q->port;
	out->queue = b->q->id;
	out->priv = b;
	if (b->plan) {
		lend_window(b, out);
		return;
	}
	lay_segments(b);
	out->n_pkts = b->n;
	out->n_segs = b->q->slots.n_segs;
	for (uint32_t s = 0; s < out->n_segs; s++) {
		out->seg_ptr[s] = b->seg_ptr[s];
		out->seg_len[s] = b->seg_len[s];
	}
	out->len = b->len;
	out->flow = b->flow;
	out->pkt_flags = b->pkt_flags;
	out->ts_ns = b->q->timestamps ? b->ts_ns : NULL;
}

int gw_burst_reorder_info(const struct gw_burst *burst, struct gw_reorder_info *info)
{
	const struct gw__burst *b = burst ? burst->priv : NULL;
	int fired;

	if (!b || !b->plan || !info)
		return -EINVAL;
	fired = b->win.event ? b->q->gw->gpu->event_query(b->win.event) : 1;
	if (fired < 0)
		return fired;
	if (!fired)
		return -EAGAIN;
	*info = b->win.info;
	info->burst_flags = burst->flags;
	return 0;
}

/* The rings are as large as everything that can be in them: a full one is our own bug. */
static void give_back(struct gw__burst *b, uint32_t i)
{
	struct gw__back item = { .burst = b, .i = i };
	bool took = gw__ring_push(&b->q->back, &item);

	(void)took;
	gw__event_signal(b->q->event);
}

void gw_burst_release(struct gw_burst *burst)
{
	struct gw__burst *b = burst ? burst->priv : NULL;

	if (!b)
		return;
	memset(burst, 0, sizeof(*burst));
	if (b->plan) {
		struct gw__rx_queue *q = b->q;

		gw__reorder_done(b->plan->r, b->win.buf);
		gw__event_signal(q->event); /* b may be another window already */
		return;
	}
	give_back(b, WHOLE);
}

int gw_burst_release_pkt(struct gw_burst *burst, uint32_t i)
{
	struct gw__burst *b = burst ? burst->priv : NULL;

	if (!b || b->plan || i >= b->n)
		return -EINVAL;
	if (gw__bit_test(b->gone, i))
		return -EALREADY;
	gw__bit_set(b->gone, i);
	give_back(b, i);
	return 0;
}

/* Slots of one burst that were not released early. */
static void release_whole(struct gw__rx_queue *q, struct gw__burst *b)
{
	uint32_t n = b->n;
	const uint32_t *slots = b->slot;

	if (b->n_gone) {
		n = 0;
		for (uint32_t i = 0; i < b->n; i++)
			if (!gw__bit_test(b->gone, i))
				q->scratch[n++] = b->slot[i];
		slots = q->scratch;
		memset(b->gone, 0, gw__bitmap_words(q->batch) * sizeof(uint64_t));
	}
	if (n)
		q->eng.release(q->eng.q, slots, n);
	q->n_held -= n;
	b->n = 0;
	b->n_gone = 0;
	q->free_stack[q->n_free++] = b;
}

uint32_t gw__bursts_take_back(struct gw__rx_queue *q)
{
	struct gw__back item;
	uint32_t n = 0;

	while (gw__ring_pop(&q->back, &item)) {
		n++;
		if (item.i == WHOLE) {
			release_whole(q, item.burst);
			continue;
		}
		q->eng.release(q->eng.q, &item.burst->slot[item.i], 1);
		item.burst->n_gone++;
		q->n_held--;
	}
	return n;
}
