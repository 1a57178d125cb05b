/* bench/gpu/plain_read.h: the peer of a reorder from host memory: read it in place, add it up. */
#ifndef BENCH_GPU_PLAIN_READ_H
#define BENCH_GPU_PLAIN_READ_H

#include <stdint.h>

struct plain_read_args {
	const uint32_t *src; /* 16-byte aligned */
	uint64_t n_bytes;    /* a multiple of 16 */
	uint32_t *sum;       /* one word, so that nothing is optimised away */
};

#endif
