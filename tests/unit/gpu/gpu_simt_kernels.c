/* Kernels for gpu_simt.c, written as any kernel is; some are wrong on purpose. */
#include "gpu_simt_kernels.h"

#include "gpu/simt.h"

/* out[block] = sum of in over the block, by a tree in shared memory */
GW_KERNEL(block_sum, struct sum_args)
{
	GW_SHARED(uint32_t, part, 1024);
	uint32_t t = gw_thread_idx(), n = gw_block_dim();

	part[t] = a->in[gw_block_idx() * n + t];
	gw_syncthreads();
	for (uint32_t half = n / 2; half; half /= 2) {
		if (t < half)
			part[t] += part[t + half];
		gw_syncthreads();
	}
	if (!t)
		a->out[gw_block_idx()] = part[0];
}

/* the same without its first barrier: lanes read what others have not written yet */
GW_KERNEL(racy_sum, struct sum_args)
{
	GW_SHARED(uint32_t, part, 1024);
	uint32_t t = gw_thread_idx(), n = gw_block_dim(), sum = 0;

	part[t] = a->in[gw_block_idx() * n + t];
	if (t + 1 == n) { /* the last lane adds up: right as long as lanes happen to run in order */
		for (uint32_t i = 0; i < n; i++)
			sum += part[i];
		a->out[gw_block_idx()] = sum;
	}
}

GW_KERNEL(warp_words, struct sum_args)
{
	uint32_t t = gw_thread_idx(), v = a->in[t], lane = gw_lane_idx();
	uint32_t odd = gw_ballot(GW_FULL_MASK, v & 1);
	uint32_t next = gw_shfl(GW_FULL_MASK, v, (lane + 1) & 31);
	uint32_t max = gw_reduce_max(GW_FULL_MASK, v), half = 0;

	if (lane < 16) /* half a warp by itself */
		half = gw_reduce_add(0xffff, v);
	gw_syncwarp(GW_FULL_MASK);
	a->out[t * 4] = odd;
	a->out[t * 4 + 1] = next;
	a->out[t * 4 + 2] = max;
	a->out[t * 4 + 3] = half;
}

/* block 0 waits for the last block's flag: needs a resident grid */
GW_KERNEL(chain, struct sum_args)
{
	uint32_t b = gw_block_idx(), n = gw_grid_dim();

	if (gw_thread_idx())
		return;
	if (b + 1 < n)
		while (!gw_load_acquire_u32_gpu(&a->out[b + 1]))
			gw_spin_hint();
	gw_store_release_u32_gpu(&a->out[b], b + 1);
}

GW_KERNEL(lost_barrier, struct sum_args)
{
	GW_SHARED(uint32_t, word, 1);

	if (gw_thread_idx() == 3)
		while (!gw_load_acquire_u32_cta(word + 0) || 1)
			gw_spin_hint();
	gw_syncthreads();
}

GW_KERNEL(traps, struct sum_args)
{
	if (gw_block_idx() == 1 && gw_thread_idx() == 5) {
		gw_printf("lane %u of block %u gives up", gw_thread_idx(), gw_block_idx());
		gw_trap();
	}
	gw_syncthreads();
}

GW_KERNEL(bad_mask, struct sum_args)
{
	if (gw_lane_idx() == 7)
		gw_syncwarp(0xf);
}

GW_KERNEL(counts, struct sum_args)
{
	gw_atomic_add_u32_gpu(a->out, 1);
	gw_atomic_max_u32_gpu(a->out + 1, gw_block_idx() * gw_block_dim() + gw_thread_idx());
}
