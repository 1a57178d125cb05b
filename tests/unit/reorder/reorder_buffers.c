/* Output buffers and source slots: who holds what, for how long; nothing is lost when buffers run out; streams
 * that run later, on another thread, or fail; consecutive windows lie side by side. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "rig.h"

/* A consumer that keeps its buffers stops the stage, packet by packet, and starts it again. */
static void exhausted(void)
{
	struct rig g;
	struct gw__window w[3];
	uint64_t n = 0;

	rig_config(&g, 8, 12);
	g.c.n_out = 3;
	T_RC(rig_create(&g), 0);
	while (rig_push(&g, n))
		n++;
	T_EQ(n, 24);
	T_EQ(rig_push(&g, n), 0);
	T_EQ(rig_stats(&g).no_free_buffers, 2);
	for (int i = 0; i < 3; i++)
		T_OK(gw__reorder_pop(g.r, &w[i]));
	gw__reorder_done(g.r, w[1].buf);
	gw__reorder_done(g.r, w[1].buf); /* twice, and nonsense: no harm */
	gw__reorder_done(g.r, 99);
	while (rig_push(&g, n))
		n++;
	T_EQ(n, 32);
	for (uint32_t i = 0; i < 8; i++) {
		rig_check_copy(&g, &w[0], i, i); /* still the consumer's */
		rig_check_copy(&g, &w[2], i, 16 + i);
	}
	gw__reorder_done(g.r, w[0].buf);
	gw__reorder_done(g.r, w[2].buf);
	T_NEED(gw__reorder_pop(g.r, &w[1]));
	T_EQ(w[1].info.batch_id, 3);
	T_EQ(rig_push(&g, n), 1);
	T_EQ(rig_stats(&g).missing_packets, 0);
	rig_destroy(&g);
}

/* A consumer that waits for three windows and then gives them back: they lie side by side, every time, and two
 * runs take turns because the second is begun before the first is back. */
static void side_by_side(void)
{
	struct rig g;
	struct gw__window w[3];
	uint32_t n_held = 0, batches = 0;

	rig_config(&g, 8, 12);
	g.c.n_out = 7; /* the seventh belongs to no run */
	g.c.run = 3;
	T_RC(rig_create(&g), 0);
	for (uint64_t n = 0; n < 8 * 60 + 1; n++) {
		rig_push(&g, n); /* the fourth window opens with its first packet, while three are held */
		if (n_held == 3) {
			T_EQ(w[0].buf, batches++ % 2 * 3);
			for (uint32_t i = 0; i < 3; i++) {
				T_OK((const uint8_t *)w[i].tensor == (const uint8_t *)w[0].tensor + i * w[0].len);
				gw__reorder_done(g.r, w[i].buf);
			}
			n_held = 0;
		}
		n_held += gw__reorder_pop(g.r, &w[n_held]);
	}
	T_EQ(batches, 20);
	rig_destroy(&g);
}

/* A consumer that keeps up: the same low buffers again and again, whatever else there is. */
static void low_ones_first(void)
{
	struct rig g;
	struct gw__window w;
	uint32_t n = 0;

	rig_config(&g, 8, 12);
	g.c.n_out = 6;
	T_RC(rig_create(&g), 0);
	for (uint64_t i = 0; i < 8 * 60; i++) {
		rig_push(&g, i);
		if (!gw__reorder_pop(g.r, &w))
			continue;
		T_EQ(w.buf, 0);
		gw__reorder_done(g.r, w.buf);
		n++;
	}
	T_EQ(n, 60);
	rig_destroy(&g);
}

static void no_two_runs(void)
{
	struct rig g;

	rig_config(&g, 8, 12);
	g.c.n_out = 5;
	g.c.run = 3;
	T_RC(rig_create(&g), -EINVAL);
	rig_destroy(&g);
}

/* One push of many packets, with more refused than the stage keeps a list for. */
static void many_at_once(void)
{
	enum { N = 10000 };
	static uint32_t slot[N], seq[N], len[N], back[N];
	static uint8_t seen[N];
	const struct gw__reorder_in in = { .slot = slot, .seq = seq, .payload_len = len };
	uint32_t done = 0, freed = 0, k, calls = 0;
	struct rig g;

	rig_config(&g, 8, 12);
	T_RC(rig_create(&g), 0);
	for (uint32_t i = 0; i < N; i++) {
		slot[i] = i % RIG_SLOTS;
		seq[i] = i % 7; /* seven good ones, then duplicates */
		len[i] = 24;
	}
	while (done < N && calls++ < 100) {
		done += gw__reorder_push(g.r, &in, done, N);
		T_EQ(gw__reorder_push(g.r, &in, done, done), 0);
		while ((k = gw__reorder_freed(g.r, back + freed, 1000)))
			freed += k;
	}
	T_EQ(done, N);
	T_EQ(freed, N);
	T_OK(calls >= 3);
	for (uint32_t i = 0; i < N; i++)
		T_EQ(seen[back[i]]++ <= N / RIG_SLOTS, 1);
	g.n_pushed = N;
	T_EQ(rig_stats(&g).duplicate_packets, N - 7);
	rig_destroy(&g);
}

/* A stream that runs when stepped: nothing is given back, and no event fires, before its work ran. */
static void later(void)
{
	struct rig g;
	struct gw__window w;
	struct gw_stream *s;
	uint64_t n;

	gw__emu_set_manual(true);
	T_RC(gw_stream_create(&s, NULL), 0);
	gw__emu_set_manual(false);
	rig_config(&g, 8, 12);
	T_RC(rig_create(&g), 0);
	T_RC(gw__reorder_bind(g.r, NULL), -EINVAL);
	T_RC(gw__reorder_bind(g.r, s), 0);
	for (n = 0; n < 8; n++)
		T_EQ(rig_push(&g, n), 1);
	T_RC(gw__reorder_bind(g.r, s), -EBUSY);
	T_NEED(gw__reorder_pop(g.r, &w));
	T_EQ(gw_event_query(w.event), 0);
	T_EQ(g.n_free, RIG_SLOTS - 8);
	gw__reorder_done(g.r, w.buf); /* before the event: the buffer must not be used again yet */
	for (n = 8; n < 8 * 4; n++)
		T_EQ(rig_push(&g, n), 1);
	T_EQ(rig_push(&g, n), 0);
	T_EQ(g.n_free, RIG_SLOTS - 32);
	while (gw__emu_stream_step(s, 1))
		rig_collect(&g);
	T_EQ(gw_event_query(w.event), 1);
	T_EQ(g.n_free, RIG_SLOTS);
	for (uint32_t i = 0; i < 8; i++)
		rig_check_copy(&g, &w, i, i);
	T_EQ(rig_push(&g, n), 1); /* window 0's buffer */
	/* more pushes than the list of pieces holds: they wait, and go out in fewer pieces */
	for (uint64_t k = 1; k < 300; k++)
		rig_push(&g, n);
	T_RC(gw_stream_sync(s), 0);
	rig_collect(&g);
	T_EQ(g.n_free, RIG_SLOTS);
	gw__reorder_destroy(g.r);
	g.r = NULL;
	gw_stream_destroy(s);
	rig_destroy(&g);
}

static int fail(void *arg)
{
	(void)arg;
	return -EIO;
}

/* Work that fails: windows still come, their events carry the error, slots and buffers still return. */
static void failing(void)
{
	struct rig g;
	struct gw__window w;
	struct gw_stream *s;
	uint32_t n_windows = 0;

	T_RC(gw_stream_create(&s, NULL), 0);
	rig_config(&g, 8, 12);
	g.c.stream = s;
	T_RC(rig_create(&g), 0);
	rig_push(&g, 0);
	T_RC(gw__gpu()->host_call(s, fail, NULL), 0);
	for (uint64_t n = 1; n < 8 * 50; n++) {
		T_EQ(rig_push(&g, n), 1);
		if (gw__reorder_pop(g.r, &w)) {
			T_EQ(gw_event_query(w.event), -EIO);
			T_EQ(w.info.n_missing, 0);
			n_windows++;
			gw__reorder_done(g.r, w.buf);
		}
	}
	T_EQ(n_windows, 50);
	T_EQ(g.n_free, RIG_SLOTS);
	gw__reorder_destroy(g.r);
	g.r = NULL;
	gw_stream_destroy(s);
	rig_destroy(&g);
}

static int no_host_call(struct gw_stream *s, gw__host_fn fn, void *arg)
{
	(void)s, (void)fn, (void)arg;
	return -ENOTSUP;
}

/* A backend that runs nothing on the CPU: host memory is reordered on the caller's thread all the same. */
static void without_host_calls(void)
{
	struct gw__gpu_ops ops = *gw__gpu();
	struct rig g;
	struct gw__window w;

	ops.host_call = no_host_call;
	ops.cpu_twins = false;
	rig_config(&g, 8, 12);
	g.c.gpu = &ops;
	g.c.on_cpu = true;
	T_RC(rig_create(&g), 0);
	for (uint64_t n = 0; n < 8 * 20; n++) {
		T_EQ(rig_push(&g, n), 1);
		T_EQ(g.n_free, RIG_SLOTS);
		if (!gw__reorder_pop(g.r, &w))
			continue;
		T_EQ(gw_event_query(w.event), 1);
		for (uint32_t i = 0; i < 8; i++)
			rig_check_copy(&g, &w, i, n - 7 + i);
		gw__reorder_done(g.r, w.buf);
	}
	T_EQ(rig_stats(&g).windows, 20);
	rig_destroy(&g);
}

/* ---- a consumer on its own thread ------------------------------------------------------------ */

#define LINE 8u
struct hand {
	struct gw__window w[LINE];
	_Atomic uint32_t tail, head;
	_Atomic int stop;
	struct rig *g;
	uint64_t n_windows, n_bad;
};

static void *consume(void *arg)
{
	struct hand *h = arg;
	struct gw_reorder_stats s;

	for (uint32_t i = 0;;) {
		const struct gw__window *w = &h->w[i % LINE];

		if (atomic_load_explicit(&h->tail, memory_order_acquire) == i) {
			/* nothing is handed over after stop: look once more */
			if (atomic_load_explicit(&h->stop, memory_order_acquire) &&
			    atomic_load_explicit(&h->tail, memory_order_acquire) == i)
				return NULL;
			sched_yield(); /* the other side may share this core */
			continue;
		}
		h->n_bad += gw_event_sync(w->event) != 0;
		for (uint32_t k = 0; k < 16; k++) {
			const uint8_t *at = (const uint8_t *)w->tensor + (size_t)k * 24;

			if (gw__bit_test(w->info.valid, k))
				h->n_bad += at[5] != rig_byte(w->info.batch_id * 16 + k, 5);
		}
		gw__reorder_stats(h->g->r, &s);
		h->n_windows++;
		gw__reorder_done(h->g->r, w->buf);
		atomic_store_explicit(&h->head, ++i, memory_order_release);
	}
}

static void two_threads(void)
{
	static struct hand h;
	struct rig g;
	pthread_t t;
	uint32_t tail = 0;

	rig_config(&g, 16, 16);
	T_RC(rig_create(&g), 0);
	h.g = &g;
	pthread_create(&t, NULL, consume, &h);
	for (uint64_t n = 0; n < 16 * 2000; n++) {
		if (n % 977 != 5)
			while (!rig_push(&g, n))
				sched_yield(); /* the consumer has every buffer */
		while (tail - atomic_load_explicit(&h.head, memory_order_acquire) < LINE &&
		       gw__reorder_pop(g.r, &h.w[tail % LINE]))
			atomic_store_explicit(&h.tail, ++tail, memory_order_release);
	}
	for (; tail < 2000; sched_yield())
		if (tail - atomic_load_explicit(&h.head, memory_order_acquire) < LINE &&
		    gw__reorder_pop(g.r, &h.w[tail % LINE]))
			atomic_store_explicit(&h.tail, ++tail, memory_order_release);
	atomic_store_explicit(&h.stop, 1, memory_order_release);
	pthread_join(t, NULL);
	T_EQ(h.n_windows, 2000);
	T_EQ(h.n_bad, 0);
	T_EQ(rig_stats(&g).missing_packets, 33);
	rig_destroy(&g);
}

int main(void)
{
	exhausted();
	side_by_side();
	low_ones_first();
	no_two_runs();
	many_at_once();
	later();
	failing();
	without_host_calls();
	two_threads();
	T_DONE();
}
