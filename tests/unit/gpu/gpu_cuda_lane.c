/* The kernels of gpu_cuda_kernels.cu as lanes. */
#include "gpu_cuda_kernels.cu"
