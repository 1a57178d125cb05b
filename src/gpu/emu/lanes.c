/* gpu/emu/lanes.c: switching lanes. Fibers: one thread, ucontext, sanitizers told of every switch, the order
 * fixed or drawn from a seed. Threads: one pthread a lane, real barriers, for the thread sanitizer.
 * Must not know what lanes meet for. Next: simt.c. */
#include "gpu/emu/lanes.h"

#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>

#include "base/alloc.h"

#define STACK_BYTES ((size_t)64 << 10)

#ifdef GW_ASAN
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef GW_TSAN
#include <sanitizer/tsan_interface.h>
/* the run time's own, declared in no header */
void AnnotateIgnoreSyncBegin(const char *file, int line);
void AnnotateIgnoreSyncEnd(const char *file, int line);
void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);
void AnnotateIgnoreWritesBegin(const char *file, int line);
void AnnotateIgnoreWritesEnd(const char *file, int line);
#endif

static bool threads(const struct gw__simt_run *r)
{
	return r->opts.mode == GW_SIMT_THREADS;
}

void gw__lanes_lock(struct gw__simt_run *r)
{
	if (threads(r))
		pthread_mutex_lock(&r->lock);
}

void gw__lanes_unlock(struct gw__simt_run *r)
{
	if (threads(r))
		pthread_mutex_unlock(&r->lock);
}

void gw__lanes_quiet(bool on)
{
#ifdef GW_TSAN
	if (on) {
		AnnotateIgnoreSyncBegin(__FILE__, __LINE__);
		AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
		AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
	} else {
		AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
		AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
		AnnotateIgnoreSyncEnd(__FILE__, __LINE__);
	}
#else
	(void)on;
#endif
}

/* ---- fibers ------------------------------------------------------------------------------------ */

static void to_lane(struct gw__simt_run *r, struct gw__simt_lane *lane)
{
	gw__simt_enter(lane);
#ifdef GW_TSAN
	__tsan_switch_to_fiber(lane->tsan_fiber, 0);
#endif
#ifdef GW_ASAN
	__sanitizer_start_switch_fiber(&r->scheduler_fake_stack, lane->stack, STACK_BYTES);
#endif
	swapcontext(&r->scheduler, &lane->context);
#ifdef GW_ASAN
	__sanitizer_finish_switch_fiber(r->scheduler_fake_stack, NULL, NULL);
#endif
}

static void to_scheduler(struct gw__simt_lane *lane, bool for_good)
{
	struct gw__simt_run *r = lane->block->run;

#ifdef GW_TSAN
	__tsan_switch_to_fiber(r->scheduler_tsan, 0);
#endif
#ifdef GW_ASAN
	__sanitizer_start_switch_fiber(for_good ? NULL : &lane->fake_stack, r->scheduler_stack,
				       r->scheduler_stack_size);
#endif
	(void)for_good;
	swapcontext(&lane->context, &r->scheduler);
#ifdef GW_ASAN
	__sanitizer_finish_switch_fiber(lane->fake_stack, &r->scheduler_stack, &r->scheduler_stack_size);
#endif
}

static void lane_program(struct gw__simt_lane *lane)
{
	struct gw__simt_run *r = lane->block->run;

	if (!setjmp(lane->end))
		r->kernel->lane(r->arg);
	gw__simt_lane_ended(lane);
}

/* makecontext() passes ints: a pointer goes in two halves */
static void fiber_main(unsigned hi, unsigned lo)
{
	struct gw__simt_lane *lane = (void *)((uintptr_t)hi << 16 << 16 | lo);

#ifdef GW_ASAN
	__sanitizer_finish_switch_fiber(NULL, &lane->block->run->scheduler_stack,
					&lane->block->run->scheduler_stack_size);
#endif
	lane_program(lane);
	lane->state = GW_LANE_ENDED;
	to_scheduler(lane, true);
}

static uint64_t draw(struct gw__simt_run *r)
{
	/* xorshift64*: the order of lanes needs no better one */
	r->random ^= r->random >> 12;
	r->random ^= r->random << 25;
	r->random ^= r->random >> 27;
	return r->random * 2685821657736338717u;
}

static void shuffle(struct gw__simt_run *r, struct gw__simt_lane **order, size_t n)
{
	for (size_t i = n; i > 1; i--) {
		size_t k = draw(r) % i;
		struct gw__simt_lane *t = order[i - 1];

		order[i - 1] = order[k];
		order[k] = t;
	}
}

static int hang(struct gw__simt_run *r, const struct gw__simt_lane *lane)
{
	snprintf(r->why, sizeof(r->why),
		 "every lane waits and nothing can come: block %u thread %u waits %s", lane->block->idx, lane->idx,
		 lane->state == GW_LANE_WAITS ? "at a barrier that others never reach" : "in a spin");
	return -EDEADLK;
}

/* Rounds over all lanes until all have ended. */
static int schedule(struct gw__simt_run *r, struct gw__simt_lane **order, size_t n)
{
	uint32_t idle = 0;

	r->random = r->opts.seed;
	while (n) {
		uint64_t events = r->n_events;
		size_t kept = 0, ran = 0;

		if (r->opts.seed)
			shuffle(r, order, n);
		for (size_t i = 0; i < n; i++) {
			struct gw__simt_lane *lane = order[i];

			if (lane->state == GW_LANE_READY || lane->seen_events != r->n_events || r->trapped) {
				lane->state = GW_LANE_READY;
				to_lane(r, lane);
				ran++;
			}
			if (lane->state != GW_LANE_ENDED)
				order[kept++] = lane;
		}
		n = kept;
		idle = r->n_events == events ? idle + 1 : 0;
		if (n && (!ran || idle > r->idle_rounds) && !r->trapped) {
			r->err = hang(r, order[0]);
			r->trapped = true; /* once more, so that every lane leaves by its own way */
		}
	}
	return r->err;
}

static int fibers_make(struct gw__simt_lane *lane)
{
	uintptr_t p = (uintptr_t)lane;

	lane->stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			   -1, 0);
	if (lane->stack == MAP_FAILED) {
		lane->stack = NULL;
		return -ENOMEM;
	}
	getcontext(&lane->context);
	lane->context.uc_stack.ss_sp = lane->stack;
	lane->context.uc_stack.ss_size = STACK_BYTES;
	lane->context.uc_link = NULL;
	makecontext(&lane->context, (void (*)(void))fiber_main, 2, (unsigned)(p >> 16 >> 16), (unsigned)p);
#ifdef GW_TSAN
	lane->tsan_fiber = __tsan_create_fiber(0);
#endif
	return 0;
}

static void fibers_free(struct gw__simt_lane *lane)
{
#ifdef GW_TSAN
	if (lane->tsan_fiber)
		__tsan_destroy_fiber(lane->tsan_fiber);
#endif
	if (lane->stack)
		munmap(lane->stack, STACK_BYTES);
}

static int run_fibers(struct gw__simt_run *r, struct gw__simt_lane **order, size_t n)
{
	int err = 0;
	size_t made;

#ifdef GW_TSAN
	r->scheduler_tsan = __tsan_get_current_fiber();
#endif
	for (made = 0; made < n && !err; made++)
		err = fibers_make(order[made]);
	if (!err) {
		struct gw__simt_lane **work = gw__calloc(n, sizeof(struct gw__simt_lane *));

		err = work ? 0 : -ENOMEM;
		for (size_t i = 0; i < n && work; i++)
			work[i] = order[i];
		if (work)
			err = schedule(r, work, n);
		gw__free(work);
	}
	for (size_t i = 0; i < made; i++)
		fibers_free(order[i]);
	return err;
}

/* ---- threads ----------------------------------------------------------------------------------- */

static void *thread_main(void *arg)
{
	struct gw__simt_lane *lane = arg;

	gw__simt_enter(lane);
	lane_program(lane);
	return NULL;
}

static int run_threads(struct gw__simt_run *r, struct gw__simt_lane **order, size_t n)
{
	size_t made = 0;
	int err = 0;

	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->changed, NULL);
	while (made < n && !err) {
		err = -pthread_create(&order[made]->thread, NULL, thread_main, order[made]);
		made += !err;
	}
	if (err) { /* the lanes that run wait for ones that never will */
		pthread_mutex_lock(&r->lock);
		r->trapped = true;
		pthread_cond_broadcast(&r->changed);
		pthread_mutex_unlock(&r->lock);
	}
	for (size_t i = 0; i < made; i++)
		pthread_join(order[i]->thread, NULL);
	pthread_cond_destroy(&r->changed);
	pthread_mutex_destroy(&r->lock);
	return err ? err : r->err;
}

/* ---- both -------------------------------------------------------------------------------------- */

void gw__lanes_yield(struct gw__simt_lane *lane, bool spin)
{
	struct gw__simt_run *r = lane->block->run;

	(void)spin;
	if (threads(r))
		sched_yield();
	else
		to_scheduler(lane, false);
	gw__lanes_check(lane);
}

void gw__lanes_wait(struct gw__simt_lane *lane)
{
	struct gw__simt_run *r = lane->block->run;
	struct timespec until;

	if (!threads(r)) {
		lane->state = GW_LANE_WAITS;
		lane->seen_events = r->n_events;
		to_scheduler(lane, false);
		return;
	}
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 10; /* nobody came for ten seconds: a barrier that others never reach */
	if (pthread_cond_timedwait(&r->changed, &r->lock, &until) == ETIMEDOUT && !r->trapped) {
		lane->state = GW_LANE_WAITS;
		r->err = hang(r, lane);
		r->trapped = true;
		pthread_cond_broadcast(&r->changed);
	}
}

void gw__lanes_wake(struct gw__simt_run *r)
{
	/* fibers that wait look again once n_events has moved: see schedule() */
	if (threads(r))
		pthread_cond_broadcast(&r->changed);
}

void gw__lanes_check(struct gw__simt_lane *lane)
{
	struct gw__simt_run *r = lane->block->run;
	bool trapped;

	gw__lanes_lock(r);
	trapped = r->trapped;
	gw__lanes_unlock(r);
	if (trapped)
		longjmp(lane->end, 1);
}

void gw__lanes_trap(struct gw__simt_lane *lane, const char *why)
{
	struct gw__simt_run *r = lane->block->run;

	gw__lanes_lock(r);
	if (!r->trapped) {
		snprintf(r->why, sizeof(r->why), "block %u thread %u: %s", lane->block->idx, lane->idx, why);
		r->err = -EFAULT;
		r->trapped = true;
	}
	if (threads(r))
		pthread_cond_broadcast(&r->changed);
	gw__lanes_unlock(r);
	longjmp(lane->end, 1);
}

int gw__lanes_run(struct gw__simt_run *r, struct gw__simt_block *blocks, uint32_t n)
{
	size_t n_lanes = (size_t)n * r->grid.n_threads;
	struct gw__simt_lane **order = gw__calloc(n_lanes, sizeof(struct gw__simt_lane *));
	int err;

	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < n_lanes; i++)
		order[i] = &blocks[i / r->grid.n_threads].lane[i % r->grid.n_threads];
	err = threads(r) ? run_threads(r, order, n_lanes) : run_fibers(r, order, n_lanes);
	gw__free(order);
	return err;
}
