/* gpu/emu/simt.h: how the SIMT emulator runs a kernel, and the modes that find faults. */
#ifndef GW_GPU_EMU_SIMT_H
#define GW_GPU_EMU_SIMT_H

#include "gpu/gpu.h"

enum gw__simt_mode {
	GW_SIMT_FIBERS,  /* one thread, lanes switch at barriers, collectives and spin hints */
	GW_SIMT_THREADS, /* one pthread a lane: for the thread sanitizer; small grids only */
};

struct gw__simt_opts {
	enum gw__simt_mode mode;
	uint64_t seed;         /* 0 = lanes in order; else in random order at each switch: finds races */
	bool resident;         /* the next launches' blocks wait for each other: all must be resident at once */
	uint32_t max_lanes;    /* lanes alive at once; 0 = 8,192 (threads: 256) */
	void (*progress)(void *ctx); /* run at every spin hint (the NIC); thread-safe for GW_SIMT_THREADS */
	void *progress_ctx;
	void (*print)(void *ctx, const char *text); /* gw_printf; NULL = the log at info */
	void *print_ctx;
};

/* For launches of this thread from now on; NULL = defaults. */
void gw__simt_set(const struct gw__simt_opts *opts);

/* Run one grid to its end on the calling thread. 0; -EINVAL a grid that cannot be (too many threads a block,
 * or resident and too large); -EDEADLK every lane waits for something that cannot come; -EFAULT a trap:
 * *diag names block and thread. */
int gw__simt_run(const struct gw__kernel *kernel, struct gw__grid grid, const void *arg, struct gw_diag *diag);

#endif
