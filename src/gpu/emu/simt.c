/* gpu/emu/simt.c: blocks and lanes as fibers on one thread (or as pthreads under the thread sanitizer).
 * A lane runs until a barrier, a warp collective, a spin hint or its end. Blocks run in waves, unless the
 * grid must be resident. When every lane waits and nothing can come, that is an error with a name, not a
 * hang. Must not know any kernel. Next: lanes.c, how lanes are switched. */
#include "gpu/emu/simt.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/diag.h"
#include "base/log.h"
#include "gpu/emu/lanes.h"
#include "gpu/simt.h"

#ifdef GW_TSAN
#define MAX_LANES_FIBERS 1024u /* the sanitizer keeps megabytes for each fiber */
#else
#define MAX_LANES_FIBERS 8192u
#endif
#define MAX_LANES_THREADS 256u
#define IDLE_ROUNDS 100000u /* rounds of spin hints without any other event before a hang is declared */

uint32_t gw__simt_fence_word;
static _Thread_local struct gw__simt_opts opts;
static _Thread_local struct gw__simt_lane *me; /* the lane that runs on this thread */

void gw__simt_set(const struct gw__simt_opts *o)
{
	if (o)
		opts = *o;
	else
		memset(&opts, 0, sizeof(opts));
}

/* ---- what a kernel sees ------------------------------------------------------------------------ */

uint32_t gw_thread_idx(void)
{
	return me->idx;
}

uint32_t gw_block_idx(void)
{
	return me->block->idx;
}

uint32_t gw_block_dim(void)
{
	return me->block->run->grid.n_threads;
}

uint32_t gw_grid_dim(void)
{
	return me->block->run->grid.n_blocks;
}

uint64_t gw_globaltimer(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts); /* the card has its own clock too: not the injected one */
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void trap(const char *why)
{
	gw__lanes_trap(me, why);
}

void gw_trap(void)
{
	trap("trap");
}

void gw_printf(const char *fmt, ...)
{
	struct gw__simt_run *r = me->block->run;
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (r->opts.print)
		r->opts.print(r->opts.print_ctx, text);
	else
		gw__info("kernel: %s", text);
}

void *gw__simt_shared(const void *key, size_t n_bytes)
{
	struct gw__simt_block *b = me->block;
	void *p = NULL;

	gw__lanes_quiet(true);
	gw__lanes_lock(b->run);
	for (uint32_t i = 0; i < b->n_shared && !p; i++)
		if (b->shared[i].key == key)
			p = b->shared[i].ptr;
	if (!p && b->n_shared < GW_SIMT_MAX_SHARED) {
		p = gw__calloc(1, n_bytes);
		if (p) {
			memset(p, 0xa5, n_bytes); /* shared memory starts undefined */
			b->shared[b->n_shared].key = key;
			b->shared[b->n_shared++].ptr = p;
		}
	}
	gw__lanes_unlock(b->run);
	gw__lanes_quiet(false);
	if (!p)
		trap("no shared memory left");
	return p;
}

/* ---- waiting ----------------------------------------------------------------------------------- */

void gw_spin_hint(void)
{
	struct gw__simt_run *r = me->block->run;

	if (r->opts.progress)
		r->opts.progress(r->opts.progress_ctx);
	gw__lanes_yield(me, true);
}

/* Arrive at a meeting of *n lanes; the last one opens it and the next meeting begins. True for that one. */
static bool meet(struct gw__simt_meeting *m, const uint32_t *n)
{
	struct gw__simt_run *r = me->block->run;
	bool last;
	uint64_t lap;

	gw__lanes_lock(r);
	lap = m->lap;
	last = ++m->arrived >= *n; /* read under the lock: a block's lanes may end meanwhile */
	if (last) {
		m->arrived = 0;
		m->lap++;
		r->n_events++;
		gw__lanes_wake(r);
	}
	while (m->lap == lap && !r->trapped)
		gw__lanes_wait(me);
	gw__lanes_unlock(r);
	gw__lanes_check(me);
	return last;
}

void gw_syncthreads(void)
{
	struct gw__simt_block *b = me->block;

	/* lanes that have ended do not hold the others up, as on the card */
	meet(&b->all, &b->n_alive);
}

static struct gw__simt_collective *find_collective(struct gw__simt_warp *w, uint32_t mask)
{
	struct gw__simt_collective *unused = NULL;

	for (uint32_t i = 0; i < 32; i++) {
		if (w->part[i].mask == mask)
			return &w->part[i];
		if (!w->part[i].mask && !unused)
			unused = &w->part[i];
	}
	unused->mask = mask; /* 32 lanes hold at most 32 collectives */
	return unused;
}

/* One warp collective: every lane named in mask leaves its value and takes a copy of all of them. */
static void collective(uint32_t mask, uint32_t v, uint32_t out[32])
{
	struct gw__simt_warp *w = &me->block->warp[me->idx / 32];
	uint32_t lane = me->idx % 32, n = (uint32_t)__builtin_popcount(mask);
	struct gw__simt_collective *c;
	bool dead;

	if (!(mask >> lane & 1))
		trap("a warp collective whose mask does not name the calling lane");
	gw__lanes_lock(me->block->run);
	dead = mask & ~w->alive;
	c = find_collective(w, mask);
	c->value[lane] = v;
	gw__lanes_unlock(me->block->run);
	if (dead)
		trap("a warp collective names a lane that has ended");
	meet(&c->in, &n);
	memcpy(out, c->value, sizeof(c->value));
	if (meet(&c->out, &n)) { /* nobody overwrites before all have read */
		gw__lanes_lock(me->block->run);
		if (!c->in.arrived)
			c->mask = 0;
		gw__lanes_unlock(me->block->run);
	}
}

void gw_syncwarp(uint32_t mask)
{
	uint32_t all[32];

	collective(mask, 0, all);
}

uint32_t gw_shfl(uint32_t mask, uint32_t v, uint32_t lane)
{
	uint32_t all[32];

	collective(mask, v, all);
	return all[lane & 31];
}

uint32_t gw_ballot(uint32_t mask, int pred)
{
	uint32_t all[32], bits = 0;

	collective(mask, pred != 0, all);
	for (uint32_t i = 0; i < 32; i++)
		if (mask >> i & 1)
			bits |= all[i] << i;
	return bits;
}

uint32_t gw_reduce_max(uint32_t mask, uint32_t v)
{
	uint32_t all[32], max = 0;

	collective(mask, v, all);
	for (uint32_t i = 0; i < 32; i++)
		if (mask >> i & 1 && all[i] > max)
			max = all[i];
	return max;
}

uint32_t gw_reduce_add(uint32_t mask, uint32_t v)
{
	uint32_t all[32], sum = 0;

	collective(mask, v, all);
	for (uint32_t i = 0; i < 32; i++)
		if (mask >> i & 1)
			sum += all[i];
	return sum;
}

/* ---- running ----------------------------------------------------------------------------------- */

void gw__simt_enter(struct gw__simt_lane *lane)
{
	me = lane;
}

/* A lane has ended: whoever waits for the whole block may now be complete. */
void gw__simt_lane_ended(struct gw__simt_lane *lane)
{
	struct gw__simt_block *b = lane->block;
	struct gw__simt_run *r = b->run;

	gw__lanes_quiet(true);
	gw__lanes_lock(r);
	b->warp[lane->idx / 32].alive &= ~(1u << lane->idx % 32);
	b->n_alive--;
	r->n_events++;
	if (b->all.arrived && b->all.arrived >= b->n_alive) {
		b->all.arrived = 0;
		b->all.lap++;
	}
	gw__lanes_wake(r);
	gw__lanes_unlock(r);
	gw__lanes_quiet(false);
}

static void block_fini(struct gw__simt_block *b)
{
	for (uint32_t i = 0; i < b->n_shared; i++)
		gw__free(b->shared[i].ptr);
	gw__free(b->warp);
	gw__free(b->lane);
}

static int block_init(struct gw__simt_run *r, struct gw__simt_block *b, uint32_t idx)
{
	uint32_t n = r->grid.n_threads;

	memset(b, 0, sizeof(*b));
	b->idx = idx;
	b->run = r;
	b->n_alive = n;
	b->warp = gw__calloc((n + 31) / 32, sizeof(*b->warp));
	b->lane = gw__calloc(n, sizeof(*b->lane));
	if (!b->warp || !b->lane) {
		block_fini(b);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < n; i++) {
		b->lane[i].idx = i;
		b->lane[i].block = b;
		b->warp[i / 32].alive |= 1u << i % 32;
	}
	return 0;
}

/* Run `n` blocks from `first` together. */
static int run_wave(struct gw__simt_run *r, uint32_t first, uint32_t n)
{
	struct gw__simt_block *blocks = gw__calloc(n, sizeof(*blocks));
	uint32_t made = 0;
	int err = blocks ? 0 : -ENOMEM;

	for (; !err && made < n; made++)
		err = block_init(r, &blocks[made], first + made);
	if (err && made)
		made--; /* the failed one has cleaned up after itself */
	if (!err)
		err = gw__lanes_run(r, blocks, n);
	for (uint32_t i = 0; i < made; i++)
		block_fini(&blocks[i]);
	gw__free(blocks);
	return err;
}

int gw__simt_run(const struct gw__kernel *kernel, struct gw__grid grid, const void *arg, struct gw_diag *diag)
{
	struct gw__simt_run r = { .kernel = kernel, .grid = grid, .arg = arg, .opts = opts,
				  .idle_rounds = IDLE_ROUNDS };
	uint32_t max = opts.max_lanes, wave;
	int err = 0;

	if (!max)
		max = opts.mode == GW_SIMT_THREADS ? MAX_LANES_THREADS : MAX_LANES_FIBERS;
	if (!kernel->lane)
		return gw__fail(diag, -ENOTSUP, "kernel %s runs on the card only", kernel->name);
	if (!grid.n_blocks || !grid.n_threads || grid.n_threads > 1024 || grid.n_threads > max)
		return gw__fail(diag, -EINVAL, "kernel %s: %u blocks of %u threads cannot be; at most %u threads",
				kernel->name, grid.n_blocks, grid.n_threads, max < 1024 ? max : 1024);
	wave = max / grid.n_threads;
	if (opts.resident && grid.n_blocks > wave)
		return gw__fail(diag, -EINVAL,
				"kernel %s: its %u blocks wait for each other, but only %u of %u threads can be "
				"resident; launch at most %u blocks",
				kernel->name, grid.n_blocks, wave, grid.n_threads, wave);
	for (uint32_t at = 0; at < grid.n_blocks && !err; at += wave)
		err = run_wave(&r, at, grid.n_blocks - at < wave ? grid.n_blocks - at : wave);
	if (err && r.why[0])
		return gw__fail(diag, err, "kernel %s: %s", kernel->name, r.why);
	return err ? gw__fail(diag, err, "kernel %s could not be run: %s", kernel->name, strerror(-err)) : 0;
}
