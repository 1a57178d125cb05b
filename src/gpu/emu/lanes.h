/* gpu/emu/lanes.h: what a running grid is made of, and how lanes are switched: fibers or threads.
 * Next: lanes.c. */
#ifndef GW_GPU_EMU_LANES_H
#define GW_GPU_EMU_LANES_H

#include <pthread.h>
#include <setjmp.h>
#include <ucontext.h>

#include "gpu/emu/simt.h"

#define GW_SIMT_MAX_SHARED 16u

struct gw__simt_meeting {
	uint32_t arrived;
	uint64_t lap;
};

/* One collective under way: parts of a warp may hold different ones at the same time. */
struct gw__simt_collective {
	uint32_t mask; /* 0 = unused */
	struct gw__simt_meeting in, out;
	uint32_t value[32];
};

struct gw__simt_warp {
	uint32_t alive;
	struct gw__simt_collective part[32];
};

enum gw__simt_state { GW_LANE_READY, GW_LANE_WAITS, GW_LANE_ENDED };

struct gw__simt_lane {
	uint32_t idx;
	struct gw__simt_block *block;
	enum gw__simt_state state;
	uint64_t seen_events; /* fibers: when it began to wait */
	ucontext_t context; /* fibers */
	void *stack;
	void *fake_stack; /* asan */
	void *tsan_fiber;
	pthread_t thread; /* threads */
	jmp_buf end;      /* where a trapped lane goes */
};

struct gw__simt_block {
	uint32_t idx, n_alive;
	struct gw__simt_run *run;
	struct gw__simt_meeting all;
	struct gw__simt_warp *warp;
	struct gw__simt_lane *lane;
	struct {
		const void *key;
		void *ptr;
	} shared[GW_SIMT_MAX_SHARED];
	uint32_t n_shared;
};

struct gw__simt_run {
	const struct gw__kernel *kernel;
	struct gw__grid grid;
	const void *arg;
	struct gw__simt_opts opts;
	uint64_t random;
	uint64_t n_events;    /* anything but spinning */
	uint32_t idle_rounds; /* bound on rounds without one */
	bool trapped;
	int err;
	char why[160];
	ucontext_t scheduler;
	void *scheduler_fake_stack;
	const void *scheduler_stack;
	size_t scheduler_stack_size;
	void *scheduler_tsan;
	pthread_mutex_t lock; /* threads */
	pthread_cond_t changed;
};

/* Run all lanes of n blocks to their end. */
int gw__lanes_run(struct gw__simt_run *r, struct gw__simt_block *blocks, uint32_t n);
/* Let others run; `spin`: this lane only waits for memory to change. */
void gw__lanes_yield(struct gw__simt_lane *lane, bool spin);
/* Under the lock: wait until somebody wakes the run. */
void gw__lanes_wait(struct gw__simt_lane *lane);
void gw__lanes_wake(struct gw__simt_run *r);
void gw__lanes_lock(struct gw__simt_run *r);
void gw__lanes_unlock(struct gw__simt_run *r);
/* Between true and false the thread sanitizer learns nothing: the emulator's own bookkeeping orders no lanes. */
void gw__lanes_quiet(bool on);
/* End the whole grid with a reason; does not return to the lane. */
void gw__lanes_trap(struct gw__simt_lane *lane, const char *why);
/* Leave the lane if the grid was trapped meanwhile. */
void gw__lanes_check(struct gw__simt_lane *lane);

/* called back: simt.c */
void gw__simt_enter(struct gw__simt_lane *lane);
void gw__simt_lane_ended(struct gw__simt_lane *lane);

#endif
