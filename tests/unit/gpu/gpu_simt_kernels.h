/* gpu_simt_kernels.h: the arguments that test kernels and the tests around them share: plain C on both sides.
 * Must not know the emulator. Next: gpu_simt_kernels.c, gpu_simt.c. */
#ifndef GPU_SIMT_KERNELS_H
#define GPU_SIMT_KERNELS_H

#include <stdint.h>

struct sum_args {
	const uint32_t *in;
	uint32_t *out;
};

#define KERNELS(X) X(block_sum) X(racy_sum) X(warp_words) X(chain) X(lost_barrier) X(traps) X(bad_mask) X(counts)
#define X(name) void name##_lane(const void *arg);
KERNELS(X)
#undef X

#endif
