/* gpu/emu/stream.c: in-order streams on the CPU. Work runs on the thread that queues it, at once, unless
 * the stream waits for an event that has not fired, or is manual: then it is kept and runs when the event
 * is recorded, or when the stream is stepped or synchronised. No thread of its own, so a seeded scheduler
 * can own the order. Must not know what the work does. Next: emu.c. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/diag.h"
#include "base/log.h"
#include "gpu/emu/emu.h"
#include "gpu/emu/simt.h"

#define MAX_ARG_BYTES 512u

enum op_kind { OP_CALL, OP_COPY, OP_LAUNCH, OP_RECORD, OP_WAIT };

struct op {
	enum op_kind kind;
	gw__host_fn fn;
	void *arg;
	struct gw__copy copy;
	struct gw_event *event;
	uint64_t generation;
	const struct gw__kernel *kernel;
	struct gw__grid grid;
	struct op *next;
	_Alignas(16) unsigned char kernel_arg[MAX_ARG_BYTES];
};

/* An event's recordings are numbered: it has fired when n_fired reaches the number its last record took. */
struct gw_event {
	pthread_mutex_t lock;
	pthread_cond_t fired;
	uint64_t n_recorded, n_fired;
	_Atomic int state; /* 1 fired, 0 not, or the error: what query reads without the lock */
};

struct gw_stream {
	pthread_mutex_t lock;
	pthread_cond_t idle;
	struct op *first, **last;
	struct op *spare; /* finished ops, so that the steady state allocates nothing */
	bool manual, running;
	int err; /* first failure: everything after it is skipped and carries it, as on a GPU */
	struct gw_stream *next;
};

/* All streams, so that a fired event can wake those that stand at it. */
static pthread_mutex_t streams_lock = PTHREAD_MUTEX_INITIALIZER;
static struct gw_stream *streams;
static _Atomic int n_standing; /* waits queued and not passed: lets a record skip the walk */
static _Atomic bool manual_mode;

void gw__emu_set_manual(bool manual)
{
	atomic_store_explicit(&manual_mode, manual, memory_order_relaxed);
}

/* ---- events ---------------------------------------------------------------------------------- */

int gw__emu_event_create(struct gw_event **out)
{
	struct gw_event *e = gw__calloc(1, sizeof(*e));

	if (!e)
		return -ENOMEM;
	pthread_mutex_init(&e->lock, NULL);
	pthread_cond_init(&e->fired, NULL);
	atomic_init(&e->state, 1); /* never recorded: nothing to wait for */
	*out = e;
	return 0;
}

void gw__emu_event_destroy(struct gw_event *e)
{
	if (!e)
		return;
	pthread_cond_destroy(&e->fired);
	pthread_mutex_destroy(&e->lock);
	gw__free(e);
}

int gw__emu_event_query(const struct gw_event *e)
{
	/* acquire: pairs with the release in fire(): the work before the event is visible */
	return atomic_load_explicit(&e->state, memory_order_acquire);
}

int gw__emu_event_sync(const struct gw_event *event)
{
	struct gw_event *e = (struct gw_event *)(uintptr_t)event; /* const for the caller; the lock is ours */
	int st = gw__emu_event_query(e);

	if (!st) {
		pthread_mutex_lock(&e->lock);
		while (e->n_fired < e->n_recorded)
			pthread_cond_wait(&e->fired, &e->lock);
		pthread_mutex_unlock(&e->lock);
		st = gw__emu_event_query(e);
	}
	return st < 0 ? st : 0;
}

static bool event_reached(struct gw_event *e, uint64_t generation)
{
	bool yes;

	pthread_mutex_lock(&e->lock);
	yes = e->n_fired >= generation;
	pthread_mutex_unlock(&e->lock);
	return yes;
}

static void fire(struct gw_event *e, uint64_t generation, int err)
{
	pthread_mutex_lock(&e->lock);
	e->n_fired = generation;
	if (e->n_fired == e->n_recorded) /* release: pairs with query */
		atomic_store_explicit(&e->state, err ? err : 1, memory_order_release);
	pthread_cond_broadcast(&e->fired);
	pthread_mutex_unlock(&e->lock);
}

/* ---- streams --------------------------------------------------------------------------------- */

int gw__emu_stream_create(struct gw_stream **out, struct gw_diag *diag)
{
	struct gw_stream *s = gw__calloc(1, sizeof(*s));

	(void)diag;
	if (!s)
		return -ENOMEM;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->idle, NULL);
	s->last = &s->first;
	s->manual = atomic_load_explicit(&manual_mode, memory_order_relaxed);
	pthread_mutex_lock(&streams_lock);
	s->next = streams;
	streams = s;
	pthread_mutex_unlock(&streams_lock);
	*out = s;
	return 0;
}

/* Kernels and calls see device memory at its own addresses, for which the view is opened; a copy goes through
 * the alias, which is always open: opening costs a pass over every region where a sanitizer watches. */
static int run_work(const struct op *op)
{
	struct gw_diag diag;
	int err = 0;

	if (op->kind == OP_COPY) {
		memmove(gw__gpu_emu.host_alias(op->copy.dst, op->copy.n_bytes),
			gw__gpu_emu.host_alias(op->copy.src, op->copy.n_bytes), op->copy.n_bytes);
		return 0;
	}
	gw__emu_view_open();
	if (op->kind == OP_CALL) {
		err = op->fn(op->arg);
	} else {
		err = gw__simt_run(op->kernel, op->grid, op->kernel_arg, &diag);
		if (err)
			gw__error("%s", diag.text);
	}
	gw__emu_view_shut();
	return err;
}

static bool runnable(struct gw_stream *s)
{
	struct op *op = s->first;

	return op && (op->kind != OP_WAIT || event_reached(op->event, op->generation));
}

/* Run kept work in order, at most budget items, until the queue is empty or stands at a wait. One thread
 * runs a stream at a time; what others queue meanwhile is run by it. */
static int run(struct gw_stream *s, int budget)
{
	int done = 0;

	pthread_mutex_lock(&s->lock);
	if (s->running) {
		pthread_mutex_unlock(&s->lock);
		return 0;
	}
	s->running = true;
	while (done < budget && runnable(s)) {
		struct op *op = s->first;
		int err = s->err;

		pthread_mutex_unlock(&s->lock);
		if (op->kind == OP_RECORD)
			fire(op->event, op->generation, err);
		else if (op->kind == OP_WAIT)
			atomic_fetch_sub_explicit(&n_standing, 1, memory_order_relaxed);
		else if (!err)
			err = run_work(op);
		pthread_mutex_lock(&s->lock);
		if (!s->err)
			s->err = err;
		s->first = op->next;
		if (!s->first)
			s->last = &s->first;
		op->next = s->spare;
		s->spare = op;
		done++;
	}
	s->running = false;
	if (!s->first)
		pthread_cond_broadcast(&s->idle);
	pthread_mutex_unlock(&s->lock);
	return done;
}

/* An event may have fired: streams that stood at it go on, on this thread. */
static void wake_streams(void)
{
	struct gw_stream *s;
	bool again = true;

	/* a read-modify-write, so that it is ordered after the fire; pairs with enqueue()'s increment */
	if (!atomic_fetch_add_explicit(&n_standing, 0, memory_order_seq_cst))
		return;
	while (again) {
		again = false;
		pthread_mutex_lock(&streams_lock);
		for (s = streams; s; s = s->next) {
			pthread_mutex_lock(&s->lock);
			again = !s->manual && !s->running && runnable(s);
			pthread_mutex_unlock(&s->lock);
			if (again)
				break;
		}
		pthread_mutex_unlock(&streams_lock);
		if (again)
			again = run(s, INT32_MAX) > 0;
	}
}

static int enqueue(struct gw_stream *s, const struct op *what)
{
	struct op *op;
	bool manual;

	pthread_mutex_lock(&s->lock);
	op = s->spare;
	if (op)
		s->spare = op->next;
	else
		op = gw__malloc(sizeof(*op));
	if (!op) {
		pthread_mutex_unlock(&s->lock);
		return -ENOMEM;
	}
	*op = *what;
	op->next = NULL;
	if (op->kind == OP_RECORD || op->kind == OP_WAIT) {
		struct gw_event *e = op->event;

		pthread_mutex_lock(&e->lock);
		if (op->kind == OP_RECORD) {
			e->n_recorded++;
			atomic_store_explicit(&e->state, 0, memory_order_relaxed);
		} else {
			/* either runnable() below sees the event fired, or its firer sees us standing */
			atomic_fetch_add_explicit(&n_standing, 1, memory_order_seq_cst);
		}
		op->generation = e->n_recorded;
		pthread_mutex_unlock(&e->lock);
	}
	*s->last = op;
	s->last = &op->next;
	manual = s->manual;
	pthread_mutex_unlock(&s->lock);
	if (!manual) {
		run(s, INT32_MAX);
		if (what->kind == OP_RECORD)
			wake_streams();
	}
	return 0; /* the work's own error is carried by the stream and its events */
}

int gw__emu_event_record(struct gw_event *e, struct gw_stream *s)
{
	return enqueue(s, &(struct op){ .kind = OP_RECORD, .event = e });
}

int gw__emu_stream_wait(struct gw_stream *s, struct gw_event *e)
{
	return enqueue(s, &(struct op){ .kind = OP_WAIT, .event = e });
}

int gw__emu_host_call(struct gw_stream *s, gw__host_fn fn, void *arg)
{
	return enqueue(s, &(struct op){ .kind = OP_CALL, .fn = fn, .arg = arg });
}

int gw__emu_kernel_prepare(const struct gw__kernel *kernel, struct gw_diag *diag)
{
	if (!kernel->lane)
		return gw__fail(diag, -ENOTSUP, "kernel %s runs on the card only", kernel->name);
	if (kernel->arg_bytes > MAX_ARG_BYTES)
		return gw__fail(diag, -EINVAL, "kernel %s takes %zu bytes, above %u; pass a pointer", kernel->name,
				kernel->arg_bytes, MAX_ARG_BYTES);
	return 0;
}

int gw__emu_launch(struct gw_stream *s, const struct gw__kernel *kernel, struct gw__grid grid, const void *arg)
{
	struct op op = { .kind = OP_LAUNCH, .kernel = kernel, .grid = grid };

	if (gw__emu_kernel_prepare(kernel, NULL) || !grid.n_blocks || !grid.n_threads || grid.n_threads > 1024)
		return -EINVAL;
	memcpy(op.kernel_arg, arg, kernel->arg_bytes);
	return enqueue(s, &op);
}

int gw__emu_copy_batch(struct gw_stream *s, const struct gw__copy *copies, uint32_t n)
{
	int err = 0;

	for (uint32_t i = 0; i < n && !err; i++)
		err = enqueue(s, &(struct op){ .kind = OP_COPY, .copy = copies[i] });
	return err;
}

int gw__emu_stream_step(struct gw_stream *s, int budget)
{
	int n = run(s, budget);

	if (n)
		wake_streams();
	return n;
}

int gw__emu_stream_sync(struct gw_stream *s)
{
	struct gw_event *standing;
	int err;

	for (;;) {
		gw__emu_stream_step(s, INT32_MAX);
		pthread_mutex_lock(&s->lock);
		if (!s->first && !s->running)
			break;
		standing = s->first && s->first->kind == OP_WAIT && !s->running ? s->first->event : NULL;
		if (!standing)
			pthread_cond_wait(&s->idle, &s->lock);
		pthread_mutex_unlock(&s->lock);
		if (standing) {
			err = gw__emu_event_sync(standing);
			(void)err; /* a stream carries its own work's error, not the event's */
		}
	}
	err = s->err;
	pthread_mutex_unlock(&s->lock);
	return err;
}

void gw__emu_stream_destroy(struct gw_stream *s)
{
	struct gw_stream **at;
	struct op *op;
	int err;

	if (!s)
		return;
	err = gw__emu_stream_sync(s);
	(void)err; /* whoever cares has asked before */
	pthread_mutex_lock(&streams_lock);
	for (at = &streams; *at != s; at = &(*at)->next)
		;
	*at = s->next;
	pthread_mutex_unlock(&streams_lock);
	while ((op = s->spare)) {
		s->spare = op->next;
		gw__free(op);
	}
	pthread_cond_destroy(&s->idle);
	pthread_mutex_destroy(&s->lock);
	gw__free(s);
}
