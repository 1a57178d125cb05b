/* link/impair.h: what an impaired link did, for tests and the simulation.
 * Must not know queues. Next: impair.c. */
#ifndef GW_LINK_IMPAIR_H
#define GW_LINK_IMPAIR_H

#include "link/link.h"

struct gw__impair_counts {
	uint64_t frames; /* came in */
	uint64_t lost, duplicated, swapped, corrupted, oversize;
	uint64_t seed;
};

/* Arrivals (rx) or departures. 0, or -EINVAL: the link is not impaired. Any thread, when quiet. */
int gw__impair_counts(const struct gw__link *link, bool rx, struct gw__impair_counts *out);

#endif
