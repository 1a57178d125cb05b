/* gpu/cuda/cuda.h: the CUDA backend's door. */
#ifndef GW_GPU_CUDA_CUDA_H
#define GW_GPU_CUDA_CUDA_H

#include "gpu/gpu.h"

/* The table if a device answers, else NULL with the reason. Opens the driver once. */
const struct gw__gpu_ops *gw__gpu_cuda(struct gw_diag *diag);

#endif
