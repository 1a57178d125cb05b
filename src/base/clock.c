/* base/clock.c: the real clock and the one tests turn by hand. */
#include "base/clock.h"

#include <assert.h>
#include <stddef.h>
#include <time.h>

static uint64_t monotonic_now(struct gw__clock *clock)
{
	struct timespec ts;

	(void)clock;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

struct gw__clock *gw__clock_monotonic(void)
{
	static struct gw__clock clock = { .now_ns = monotonic_now };

	return &clock;
}

static_assert(offsetof(struct gw__clock_manual, base) == 0, "base first");

static uint64_t manual_now(struct gw__clock *clock)
{
	struct gw__clock_manual *m = (struct gw__clock_manual *)clock;

	/* acquire: pairs with the release in gw__clock_manual_advance */
	return atomic_load_explicit(&m->t_ns, memory_order_acquire);
}

void gw__clock_manual_init(struct gw__clock_manual *clock, uint64_t t_ns)
{
	clock->base.now_ns = manual_now;
	atomic_init(&clock->t_ns, t_ns);
}

void gw__clock_manual_advance(struct gw__clock_manual *clock, uint64_t dt_ns)
{
	atomic_fetch_add_explicit(&clock->t_ns, dt_ns, memory_order_release);
}
