/* bench/pool/no_dpdk.c: built without DPDK: the slot schemes alone. Next: bench_pool.c. */
#include <stddef.h>

#include "pool.h"

const struct pool_scheme dpdk_schemes[] = { { .name = NULL } };
const int n_dpdk_schemes = 0;

int dpdk_start(void)
{
	return -1;
}
