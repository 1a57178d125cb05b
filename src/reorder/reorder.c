/* reorder/reorder.c: the plan driven over output buffers, a stream and its events.
 * On the CPU a window's packets are moved in pieces, as they arrive, while their bytes are in cache: behind a
 * copy into the slots that is 1.1 to 1.2 times the rate of one launch a window (bench_reorder prints both). A
 * card gets one launch. The window's event is recorded when it closes.
 * Must not know engines or queues. Next: plan.c (numbers), scatter.c (bytes). */
#include "reorder/reorder.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bitmap.h"
#include "base/diag.h"
#include "base/ring.h"
#include "reorder/cuda/scatter_cuda.h"
#include "reorder/plan.h"
#include "reorder/scatter.h"

#define REJECT_MAX 4096u

enum buf_state { FREE, OPEN, CLOSED };

/* One output buffer and the window that lives in it. */
struct out_buf {
	struct gw__plan_window win; /* first: a window is its buffer */
	uint64_t *group_valid;
	struct gw_event *event;
	uint8_t *host; /* where the CPU writes */
	enum buf_state state;
	bool consumer_done;   /* given back, or never handed over */
	bool refused;         /* its launch was refused: the window is dropped */
	bool retired;         /* its last piece ran and its slots were reported */
	uint32_t n_launched;  /* moves in pieces so far */
	uint64_t last_piece;  /* index of the closing piece, once CLOSED */
	struct gw__window out; /* what pop() shows */
};
_Static_assert(offsetof(struct out_buf, win) == 0, "a window is its buffer");

/* Moves [from, to) of a buffer's window, to be carried out in stream order. */
struct piece {
	struct gw__reorder *r;
	struct out_buf *b;
	uint32_t from, to;
	bool last;
};

struct gw__reorder {
	struct gw__plan plan;
	struct gw__scatter scatter;
	const struct gw__kernel *kernel; /* a window is one launch; NULL = pieces on the CPU */
	struct gw__reorder_config c;
	char *name;
	struct gw_stream *own_stream;
	bool pushed;
	/* buffers */
	struct out_buf *buf;
	uint64_t *bits;         /* every valid and group_valid map */
	struct gw__move *moves; /* every window's */
	uint32_t n_groups, next_buf;
	struct gw__ring done; /* the consumer's thread pushes, we pop */
	uint32_t *ready;      /* handed over, not popped: FIFO of n_out */
	uint32_t ready_head, n_ready;
	/* pieces: a ring; [head, tail) not retired */
	struct piece *piece;
	uint32_t piece_mask, head_off; /* head_off: moves of the head piece already reported */
	uint64_t head, tail;
	_Atomic uint64_t n_ran; /* stored by whoever runs the stream, release; pairs with known_ran() */
	uint32_t *reject;
	uint32_t n_reject;
	/* counters: ours, and what other threads may read */
	struct gw_reorder_stats st;
	_Atomic uint64_t shown[sizeof(struct gw_reorder_stats) / sizeof(uint64_t)];
};

/* ---- pieces ---------------------------------------------------------------------------------- */

static int run_piece(void *arg)
{
	struct piece *p = arg;
	struct gw__reorder *r = p->r;

	gw__scatter_moves(&r->scatter, p->b->host, p->b->win.move + p->from, p->to - p->from);
	if (p->last && p->b->win.n_placed < r->c.packets_per_batch)
		gw__scatter_holes(&r->scatter, p->b->host, p->b->win.valid, r->c.packets_per_batch);
	/* one at a time, in order: a counter is enough. release: the tensor's bytes, and p may be reused */
	atomic_fetch_add_explicit(&r->n_ran, 1, memory_order_release);
	return 0;
}

/* Queue what the window has collected. A piece that cannot be queued now stays for the next one; the last
 * one runs whatever happens. */
static void launch(struct gw__reorder *r, struct out_buf *b, bool last)
{
	const struct gw__gpu_ops *gpu = r->c.gpu;
	struct piece *p = &r->piece[r->tail & r->piece_mask];
	int err;

	/* the rest of the ring is kept for the closing pieces */
	if (!last && (r->kernel || r->tail - r->head > r->piece_mask - r->c.n_out))
		return;
	*p = (struct piece){ .r = r, .b = b, .from = b->n_launched, .to = b->win.n_placed, .last = last };
	if (r->kernel) /* over when the window's event fires */
		err = gw__scatter_cuda(gpu, r->c.stream, r->kernel, &r->scatter, b->out.tensor, b->win.move,
				       b->win.n_placed, b->win.valid, r->c.packets_per_batch);
	else
		err = gpu->host_call(r->c.stream, run_piece, p);
	if (err == -ENOTSUP && !r->kernel) { /* on_cpu beside a real GPU: its stream has no part in it */
		run_piece(p);
	} else if (err && !last) {
		return;
	} else if (err && r->kernel) { /* refused: nothing was written, so nothing may be handed over */
		b->refused = true;
	} else if (err) { /* no memory: on this thread, after all that is queued */
		err = gpu->stream_sync(r->c.stream);
		run_piece(p);
	}
	r->tail++;
	b->n_launched = b->win.n_placed;
}

static void launch_open(struct gw__reorder *r)
{
	for (uint32_t k = 0; r->plan.n_open && k < r->plan.max_open; k++) {
		struct gw__plan_window *w = r->plan.open[(r->plan.base + k) % GW__PLAN_MAX_OPEN];
		struct out_buf *b = (struct out_buf *)w;

		if (b && w->n_placed > b->n_launched)
			launch(r, b, false);
	}
}

/* Pieces known to be over. A stream that failed skips its work but still fires events, with the error. */
static uint64_t known_ran(const struct gw__reorder *r)
{
	uint64_t n = atomic_load_explicit(&r->n_ran, memory_order_acquire);

	for (uint64_t i = r->head > n ? r->head : n; i < r->tail; i++) {
		const struct piece *p = &r->piece[i & r->piece_mask];

		if (!p->last)
			continue;
		if (!r->c.gpu->event_query(p->b->event))
			break;
		n = i + 1;
	}
	return n;
}

static void free_if_over(struct out_buf *b)
{
	if (b->state == CLOSED && b->consumer_done && b->retired)
		b->state = FREE;
}

uint32_t gw__reorder_freed(struct gw__reorder *r, uint32_t *slots, uint32_t n)
{
	uint32_t k = 0;
	uint64_t ran;

	while (k < n && r->n_reject)
		slots[k++] = r->reject[--r->n_reject];
	if (r->head == r->tail)
		return k;
	ran = known_ran(r);
	while (r->head < ran) {
		struct piece *p = &r->piece[r->head & r->piece_mask];
		const struct gw__move *m = p->b->win.move + p->from + r->head_off;
		uint32_t left = p->to - p->from - r->head_off, take = left < n - k ? left : n - k;

		for (uint32_t i = 0; i < take; i++)
			slots[k + i] = m[i].slot;
		k += take;
		r->head_off += take;
		if (take < left)
			break;
		if (p->last) {
			p->b->retired = true;
			free_if_over(p->b);
		}
		r->head_off = 0;
		r->head++;
	}
	return k;
}

/* ---- windows --------------------------------------------------------------------------------- */

static void take_back(struct gw__reorder *r)
{
	uint32_t i;

	while (gw__ring_pop(&r->done, &i)) {
		struct out_buf *b = &r->buf[i];

		if (b->state != CLOSED)
			continue; /* given back twice */
		b->consumer_done = true;
		free_if_over(b);
	}
}

static bool all_free(const struct gw__reorder *r, uint32_t first)
{
	for (uint32_t i = first; i < first + r->c.run; i++)
		if (r->buf[i].state != FREE)
			return false;
	return true;
}

/* The next of its run, or the first run that is free: low ones again and again while the consumer keeps up, so
 * that the memory written next is still in cache (measured: a fifth of the packet rate with 64 buffers of 1 MB). */
static struct out_buf *take_buffer(struct gw__reorder *r)
{
	struct out_buf *b;

	take_back(r);
	if (r->next_buf % r->c.run == 0) {
		uint32_t at = 0;

		while (at + r->c.run <= r->c.n_out && !all_free(r, at))
			at += r->c.run;
		if (at + r->c.run > r->c.n_out)
			return NULL;
		r->next_buf = at;
	}
	b = &r->buf[r->next_buf++]; /* only this function takes buffers: the rest of a run stays free */
	b->state = OPEN;
	b->consumer_done = b->retired = b->refused = false;
	b->n_launched = 0;
	return b;
}

static void describe(struct gw__reorder *r, struct out_buf *b)
{
	const uint32_t per = r->c.packets_per_batch, group = r->c.packets_per_group;
	struct gw_reorder_info *info = &b->out.info;
	uint32_t n_valid = 0;

	memset(b->group_valid, 0, gw__bitmap_words(r->n_groups) * sizeof(*b->group_valid));
	for (uint32_t g = 0; g < r->n_groups; g++) {
		uint32_t n = per - g * group < group ? per - g * group : group;

		if (b->win.n_placed == per || gw__bitmap_count(b->win.valid, g * group, n) == n) {
			gw__bit_set(b->group_valid, g);
			n_valid++;
		}
	}
	b->out.flags = GW_BURST_REORDERED;
	if (b->win.why != GW__CLOSE_FULL)
		b->out.flags |= GW_BURST_REORDER_TIMEOUT | GW_BURST_INCOMPLETE; /* else it were full */
	info->batch_id = gw__plan_id(&r->plan, &b->win);
	info->source_packet_count = b->win.n_placed;
	info->n_missing = per - b->win.n_placed;
	info->burst_flags = b->out.flags;
	info->n_groups_valid = n_valid;
	info->first_ts_ns = b->win.first_ts_ns;
}

/* Close one window. Returns 1 if it was handed over, 0 if dropped. */
static uint32_t hand_over(struct gw__reorder *r, struct gw__plan_window *w)
{
	struct out_buf *b = (struct out_buf *)w;
	bool full = w->why == GW__CLOSE_FULL;
	int err;

	b->state = CLOSED;
	launch(r, b, true);
	err = r->c.gpu->event_record(b->event, r->c.stream);
	if (err) /* the event stays as it was, fired: make that true */
		err = r->c.gpu->stream_sync(r->c.stream);
	if (b->refused || (!full && r->c.drop_missing)) {
		r->st.dropped_windows++;
		r->st.dropped_packets += w->n_placed;
		b->consumer_done = true;
		return 0;
	}
	describe(r, b);
	r->st.windows++;
	r->st.windows_incomplete += !full;
	r->st.missing_packets += b->out.info.n_missing;
	r->ready[(r->ready_head + r->n_ready++) % r->c.n_out] = (uint32_t)(b - r->buf);
	return 1;
}

static uint32_t hand_over_closed(struct gw__reorder *r)
{
	struct gw__plan_window *w;
	uint32_t n = 0;

	while ((w = gw__plan_closed(&r->plan)))
		n += hand_over(r, w);
	return n;
}

static void show(struct gw__reorder *r)
{
	const struct gw__plan_counts *c = &r->plan.counts;
	const uint64_t *from = (const uint64_t *)&r->st;

	r->st.placed_packets = c->placed - r->st.dropped_packets;
	r->st.duplicate_packets = c->duplicate;
	r->st.late_packets = c->late;
	r->st.stale_packets = c->stale;
	r->st.bad_packets = c->bad;
	r->st.open_packets = gw__plan_n_open_packets(&r->plan);
	/* relaxed: each counter by itself; sums are asked for at quiescence */
	for (size_t i = 0; i < sizeof(r->st) / sizeof(uint64_t); i++)
		atomic_store_explicit(&r->shown[i], from[i], memory_order_relaxed);
}

uint32_t gw__reorder_push(struct gw__reorder *r, const struct gw__reorder_in *in, uint32_t first, uint32_t n)
{
	const struct gw__plan_in pin = {
		.slot = in->slot, .seq = in->seq, .batch = in->batch, .payload_len = in->payload_len,
		.ts_ns = in->ts_ns, .now_ns = in->now_ns, .lost_before = in->lost_before,
	};
	uint32_t i = first;

	r->pushed = true;
	for (;;) {
		uint32_t room = REJECT_MAX - r->n_reject;
		uint32_t end = n - i < room ? n : i + room;
		struct out_buf *b;

		hand_over_closed(r);
		if (i >= end)
			break;
		if (gw__plan_place(&r->plan, &pin, &i, end, r->reject, &r->n_reject) != GW__PLAN_NEED)
			continue;
		b = take_buffer(r);
		if (!b) {
			r->st.no_free_buffers++;
			break;
		}
		gw__plan_open(&r->plan, &b->win);
	}
	launch_open(r);
	show(r);
	return i - first;
}

static uint32_t close_marked(struct gw__reorder *r)
{
	uint32_t n = hand_over_closed(r);

	launch_open(r);
	show(r);
	return n;
}

uint32_t gw__reorder_tick(struct gw__reorder *r, uint64_t now_ns)
{
	gw__plan_expire(&r->plan, now_ns);
	return close_marked(r);
}

uint32_t gw__reorder_flush(struct gw__reorder *r)
{
	gw__plan_flush(&r->plan);
	return close_marked(r);
}

uint64_t gw__reorder_deadline(const struct gw__reorder *r)
{
	return gw__plan_deadline(&r->plan);
}

bool gw__reorder_pop(struct gw__reorder *r, struct gw__window *out)
{
	if (!r->n_ready)
		return false;
	*out = r->buf[r->ready[r->ready_head]].out;
	r->ready_head = r->ready_head + 1 == r->c.n_out ? 0 : r->ready_head + 1;
	r->n_ready--;
	return true;
}

void gw__reorder_done(struct gw__reorder *r, uint32_t buf)
{
	if (buf < r->c.n_out)
		(void)gw__ring_push(&r->done, &buf); /* room for every buffer twice */
}

void gw__reorder_stats(const struct gw__reorder *r, struct gw_reorder_stats *out)
{
	uint64_t *to = (uint64_t *)out;

	for (size_t i = 0; i < sizeof(*out) / sizeof(uint64_t); i++)
		to[i] = atomic_load_explicit(&r->shown[i], memory_order_relaxed);
}

/* ---- making and ending ----------------------------------------------------------------------- */

static int check(const struct gw__reorder_config *c, const struct gw__plan *plan, size_t len,
		 struct gw_diag *diag)
{
	if (c->n_out < plan->max_open || c->n_out > 1u << 16)
		return gw__fail(diag, -EINVAL,
				"reorder '%s': %u output buffers; use at least %u, one for each open window",
				c->name, c->n_out, plan->max_open);
	if (c->out_size < len || (c->n_out > 1 && c->out_stride < len))
		return gw__fail(diag, -EINVAL,
				"reorder '%s': an output buffer of %zu bytes (stride %zu) is too small: %u "
				"packets of %u bytes need %zu after conversion", c->name, c->out_size,
				c->out_stride, c->packets_per_batch, c->payload_len, len);
	if (c->run > 1 && c->n_out / 2 < c->run)
		return gw__fail(diag, -EINVAL,
				"reorder '%s': %u output buffers hold no two runs of %u windows; use at least %u",
				c->name, c->n_out, c->run, 2 * c->run);
	if (c->packets_per_group > c->packets_per_batch)
		return gw__fail(diag, -EINVAL, "reorder '%s': a group of %u packets is larger than a window of %u",
				c->name, c->packets_per_group, c->packets_per_batch);
	return 0;
}

static int init_rules(struct gw__reorder *r, struct gw_diag *diag)
{
	const struct gw__reorder_config *c = &r->c;
	const uint8_t *src;
	int err;

	err = gw__plan_init(&r->plan, c->packets_per_batch, c->seq_bits, c->max_open, c->timeout_ns);
	if (err)
		return gw__fail(diag, err,
				"reorder '%s': packets_per_batch %u must divide 2^%u, the range of a sequence "
				"number of 1 to 32 bits, and 1 to %u windows can be open (%u asked)", c->name,
				c->packets_per_batch, c->seq_bits, GW__PLAN_MAX_OPEN, c->max_open);
	if (c->batch_bits && (uint64_t)c->packets_per_batch << c->batch_bits != (uint64_t)1 << c->seq_bits)
		return gw__fail(diag, -EINVAL,
				"reorder '%s': a batch number of %u bits beside a sequence number of %u means "
				"2^(%u - %u) packets a window, not %u", c->name, c->batch_bits, c->seq_bits,
				c->seq_bits, c->batch_bits, c->packets_per_batch);
	err = gw__scatter_init(&r->scatter, gw__simd_best(), c->in_type, c->out_type, c->swap, c->payload_len,
			       c->fill);
	if (err)
		return gw__fail(diag, err,
				"reorder '%s': a payload of %u bytes cannot be converted that way: input int4, "
				"int8, int16, int32, output fp16, bf16, fp32, fp64, int32, int8, whole elements",
				c->name, c->payload_len);
	err = check(c, &r->plan, (size_t)r->scatter.out_len * c->packets_per_batch, diag);
	if (err)
		return err;
	r->scatter.src_stride = c->src_stride;
	if (!c->gpu->cpu_twins && !c->on_cpu) {
		r->scatter.src = c->src_base;
		return gw__scatter_cuda_prepare(c->gpu, &r->scatter, c->swap, &r->kernel, diag);
	}
	src = c->src_host ? c->src_host : c->gpu->host_alias(c->src_base, c->src_stride);
	if (!src || !c->gpu->host_alias(c->out_base, c->out_size))
		return gw__fail(diag, -ENOTSUP,
				"reorder '%s': source or output is GPU memory that the CPU cannot reach on '%s'; "
				"use memory of kind host_pinned", c->name, c->gpu->name);
	r->scatter.src = src;
	return 0;
}

/* What a launch reads: beside the output on a card, ordinary memory on the CPU. Zeroed. */
static void *table_alloc(struct gw__reorder *r, size_t n, size_t size)
{
	void *p = NULL;

	if (!r->kernel)
		return gw__calloc(n, size);
	return r->c.gpu->mem_alloc(GW_MEM_HOST_PINNED, n * size, 0, &p, NULL) ? NULL : p;
}

static void table_free(struct gw__reorder *r, void *p)
{
	if (r->kernel && p)
		r->c.gpu->mem_free(p);
	else
		gw__free(p);
}

static int init_memory(struct gw__reorder *r)
{
	const uint32_t per = r->c.packets_per_batch, n = r->c.n_out;
	uint32_t cap = 64;
	int err;

	while (cap < 4 * n)
		cap *= 2;
	r->piece_mask = cap - 1;
	r->piece = gw__calloc(cap, sizeof(*r->piece));
	r->buf = gw__calloc(n, sizeof(*r->buf));
	r->bits = table_alloc(r, (gw__bitmap_words(per) + gw__bitmap_words(r->n_groups)) * n, sizeof(*r->bits));
	r->moves = table_alloc(r, (size_t)per * n, sizeof(*r->moves));
	r->ready = gw__calloc(n, sizeof(*r->ready));
	r->reject = gw__calloc(REJECT_MAX, sizeof(*r->reject));
	err = gw__ring_init(&r->done, 2 * n, sizeof(uint32_t));
	if (!r->piece || !r->buf || !r->bits || !r->moves || !r->ready || !r->reject || err)
		return -ENOMEM;
	return 0;
}

static int init_buffers(struct gw__reorder *r, struct gw_diag *diag)
{
	const struct gw__reorder_config *c = &r->c;
	const size_t words = gw__bitmap_words(c->packets_per_batch);
	uint64_t *bits = r->bits;

	for (uint32_t i = 0; i < c->n_out; i++) {
		struct out_buf *b = &r->buf[i];
		int err = c->gpu->event_create(&b->event);

		if (err)
			return gw__fail(diag, err, "reorder '%s': no event for buffer %u", r->name, i);
		b->host = c->gpu->host_alias(c->out_base + i * c->out_stride, c->out_size);
		if (!b->host && !r->kernel)
			return gw__fail(diag, -EINVAL,
					"reorder '%s': output buffer %u of %u does not lie in the memory of the "
					"first", r->name, i, c->n_out);
		b->win.valid = bits;
		b->group_valid = bits + words;
		bits += words + gw__bitmap_words(r->n_groups);
		b->win.move = r->moves + (size_t)i * c->packets_per_batch;
		b->out = (struct gw__window){
			.buf = i,
			.tensor = c->out_base + i * c->out_stride,
			.len = (size_t)r->scatter.out_len * c->packets_per_batch,
			.event = b->event,
			.info = {
				.packets_per_batch = c->packets_per_batch,
				.payload_len = r->scatter.out_len,
				.aggregate_len = (uint64_t)r->scatter.out_len * c->packets_per_batch,
				.packets_per_group = c->packets_per_group,
				.n_groups = r->n_groups,
				.valid = b->win.valid,
				.group_valid = b->group_valid,
			},
		};
	}
	return 0;
}

int gw__reorder_create(const struct gw__reorder_config *c, struct gw__reorder **out, struct gw_diag *diag)
{
	struct gw__reorder *r = gw__aligned_alloc(64, sizeof(*r));
	const char *name = c->name ? c->name : "";
	int err;

	if (!r)
		return gw__fail(diag, -ENOMEM, "reorder '%s': no memory", name);
	r->c = *c;
	r->name = gw__strdup(name);
	if (!r->name) {
		err = gw__fail(diag, -ENOMEM, "reorder '%s': no memory", name);
		goto err_destroy;
	}
	r->c.name = r->name;
	if (!r->c.max_open)
		r->c.max_open = 2;
	if (!r->c.run)
		r->c.run = 1;
	err = init_rules(r, diag);
	if (err)
		goto err_destroy;
	if (!r->c.packets_per_group)
		r->c.packets_per_group = c->packets_per_batch;
	r->n_groups = (c->packets_per_batch + r->c.packets_per_group - 1) / r->c.packets_per_group;
	err = init_memory(r);
	if (err) {
		gw__fail(diag, err, "reorder '%s': no memory for %u windows of %u packets", r->name, c->n_out,
			 c->packets_per_batch);
		goto err_destroy;
	}
	err = init_buffers(r, diag);
	if (!err && !r->c.stream) {
		err = c->gpu->stream_create(&r->own_stream, diag);
		r->c.stream = r->own_stream;
		if (err)
			gw__fail(diag, err, "reorder '%s': no stream of its own", r->name);
	}
	if (err)
		goto err_destroy;
	show(r);
	*out = r;
	return 0;

err_destroy:
	gw__reorder_destroy(r);
	return err;
}

void gw__reorder_destroy(struct gw__reorder *r)
{
	if (!r)
		return;
	/* queued pieces point into r: nothing may run them later. Their error is the events'. */
	if (r->pushed && r->c.gpu->stream_sync(r->c.stream) < 0)
		r->pushed = false;
	for (uint32_t i = 0; r->buf && i < r->c.n_out; i++)
		if (r->buf[i].event)
			r->c.gpu->event_destroy(r->buf[i].event);
	if (r->own_stream)
		r->c.gpu->stream_destroy(r->own_stream);
	gw__ring_fini(&r->done);
	gw__free(r->reject);
	gw__free(r->ready);
	table_free(r, r->moves);
	table_free(r, r->bits);
	gw__free(r->buf);
	gw__free(r->piece);
	gw__free(r->name);
	gw__free(r);
}

int gw__reorder_bind(struct gw__reorder *r, struct gw_stream *stream)
{
	if (r->pushed)
		return -EBUSY;
	if (!stream)
		return -EINVAL;
	if (r->own_stream)
		r->c.gpu->stream_destroy(r->own_stream);
	r->own_stream = NULL;
	r->c.stream = stream;
	return 0;
}
