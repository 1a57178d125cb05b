/* Kernels for gpu_cuda.c. */
#include "gpu/simt.h"

struct spin_args {
	uint32_t *stop, *beat;
};
struct add_args {
	uint32_t *word;
	uint32_t by;
};

GW_KERNEL(gw_test_spin, struct spin_args)
{
	if (gw_thread_idx())
		return;
	while (!gw_load_acquire_u32_sys(a->stop)) {
		gw_store_release_u32_sys(a->beat, 1);
		gw_spin_hint();
	}
}

GW_KERNEL(gw_test_add, struct add_args)
{
	gw_atomic_add_u32_gpu(a->word, a->by);
}
