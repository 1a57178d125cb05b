/* bench/gpu/plain_read.cu: 16-byte loads, four in flight a lane, nothing else. */
#include "plain_read.h"

#include "gpu/simt.h"

GW_KERNEL(gw_plain_read, struct plain_read_args)
{
	const uint64_t n = a->n_bytes / 16, step = (uint64_t)gw_grid_dim() * gw_block_dim();
	uint64_t i = (uint64_t)gw_block_idx() * gw_block_dim() + gw_thread_idx();
	uint32_t sum = 0, k;

	for (; i + 3 * step < n; i += 4 * step) {
#ifdef __CUDACC__
		uint4 v[4];

#pragma unroll
		for (k = 0; k < 4; k++)
			v[k] = ((const uint4 *)a->src)[i + k * step];
#pragma unroll
		for (k = 0; k < 4; k++)
			sum += v[k].x + v[k].y + v[k].z + v[k].w;
#else
		for (k = 0; k < 4; k++) {
			const uint32_t *w = a->src + 4 * (i + k * step);

			sum += w[0] + w[1] + w[2] + w[3];
		}
#endif
	}
	for (; i < n; i += step)
		for (k = 0; k < 4; k++)
			sum += a->src[4 * i + k];
	if (sum == 0x12345678)
		gw_atomic_add_u32_gpu(a->sum, 1);
}
