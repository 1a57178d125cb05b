/* base/clock.h: time as an object, so that tests can turn it by hand.
 * Everything that has a deadline takes a struct gw__clock; nothing else calls clock_gettime(). */
#ifndef GW_BASE_CLOCK_H
#define GW_BASE_CLOCK_H

#include <stdatomic.h>
#include <stdint.h>

struct gw__clock {
	uint64_t (*now_ns)(struct gw__clock *clock);
};

/* CLOCK_MONOTONIC; shared, never freed. */
struct gw__clock *gw__clock_monotonic(void);

/* A clock that stands still until moved. */
struct gw__clock_manual {
	struct gw__clock base;
	_Atomic uint64_t t_ns;
};
void gw__clock_manual_init(struct gw__clock_manual *clock, uint64_t t_ns);
void gw__clock_manual_advance(struct gw__clock_manual *clock, uint64_t dt_ns);

static inline uint64_t gw__now_ns(struct gw__clock *clock)
{
	return clock->now_ns(clock);
}

#endif
