/* base/wait.h: the one way to wait: spin a little, yield, then block on an eventfd.
 * A waiter arms, looks once more, then blocks; whoever makes work signals only if armed. No lost wake-up:
 * the arm store and the look are ordered by a full fence, as are the work store and the armed test. */
#ifndef GW_BASE_WAIT_H
#define GW_BASE_WAIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct gw__event {
	int fd;               /* eventfd, non-blocking; -1 before init */
	_Atomic uint32_t armed; /* somebody is about to block or blocks */
};

int gw__event_init(struct gw__event *e);
void gw__event_fini(struct gw__event *e);
/* After publishing work: wakes a blocked waiter; one fence and one load when nobody waits. */
void gw__event_signal(struct gw__event *e);
/* Wakes whoever blocks, armed or not (shutdown). */
void gw__event_kick(struct gw__event *e);

/* Block until signalled or timeout_ns passed (UINT64_MAX = no limit). Usage:
 *   gw__event_arm(e); if (have_work()) gw__event_disarm(e); else gw__event_block(e, t);
 * block disarms and swallows the signal. Returns 1 when signalled, 0 on timeout, negative errno. */
void gw__event_arm(struct gw__event *e);
void gw__event_disarm(struct gw__event *e);
int gw__event_block(struct gw__event *e, uint64_t timeout_ns);

/* The ladder: call on every empty look, reset on success. Returns true when it is time to block. */
struct gw__ladder {
	uint32_t n_spin;
	uint32_t n_yield;
	uint32_t spin_limit; /* looks before yielding: halved when they were in vain, doubled when not */
};
#define GW__SPIN_MAX 384u
void gw__ladder_init(struct gw__ladder *l);
bool gw__ladder_step(struct gw__ladder *l);
static inline void gw__ladder_reset(struct gw__ladder *l)
{
	if (l->n_spin && !l->n_yield && l->spin_limit < GW__SPIN_MAX)
		l->spin_limit *= 2;
	l->n_spin = 0;
	l->n_yield = 0;
}

/* The library's running threads, so that spinning stops when they exceed the cores. */
void gw__threads_add(int n);

/* Pin the calling thread; -EINVAL if this machine has no such core (the thread then stays unpinned). */
int gw__pin_to_core(int core);

#endif
