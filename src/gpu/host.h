/* gpu/host.h: ordinary and huge pages, for every backend. */
#ifndef GW_GPU_HOST_H
#define GW_GPU_HOST_H

#include "gpu/gpu.h"

/* kind: host, huge (or host_pinned where pinning means nothing). Zeroed. */
int gw__host_alloc(enum gw_mem_kind kind, size_t n_bytes, void **out, struct gw_diag *diag);
bool gw__host_free(void *ptr); /* false: not ours */

#endif
