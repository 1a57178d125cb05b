/* ingest/ingest.h: what tests and the simulation need beyond the public API: an injected clock and a gw
 * without threads, stepped by hand. */
#ifndef GW_INGEST_INGEST_H
#define GW_INGEST_INGEST_H

#include <gpuwire/gpuwire.h>

#include "base/clock.h"
#include "gpu/gpu.h"

struct gw__open_opts {
	struct gw__clock *clock; /* NULL = monotonic */
	bool no_threads;         /* nothing runs but gw__step() */
	const struct gw__gpu_ops *gpu; /* NULL = the backend in use */
	const struct gw_region_mem *mem; /* for regions that are not ours */
	uint32_t n_mem;
};
int gw__open(const struct gw_config *cfg, const struct gw__open_opts *opts, struct gw **out,
	     struct gw_diag *diag);
/* Run every queue's owner once. Returns packets and windows moved; 0 = idle. */
int gw__step(struct gw *gw, int budget);
/* One receive queue's owner only (a poller that gets the CPU while others do not). */
int gw__step_rxq(struct gw *gw, uint16_t port, uint16_t queue, int budget);

#endif
