/* gpu/cuda/driver.h: the CUDA driver API, opened at run time: one row a function.
 * The only folder that includes cuda.h. Must not know memory kinds or streams of ours. Next: cuda.c. */
#ifndef GW_GPU_CUDA_DRIVER_H
#define GW_GPU_CUDA_DRIVER_H

#include <cuda.h>
#include <gpuwire/common.h>

/* required: the backend cannot be without it */
#define GW_CUDA_FUNCTIONS(X)                                                                       \
	X(cuInit, (unsigned int))                                                                  \
	X(cuGetErrorName, (CUresult, const char **))                                               \
	X(cuGetErrorString, (CUresult, const char **))                                             \
	X(cuDriverGetVersion, (int *))                                                             \
	X(cuDeviceGetCount, (int *))                                                               \
	X(cuDeviceGet, (CUdevice *, int))                                                          \
	X(cuDeviceGetName, (char *, int, CUdevice))                                                \
	X(cuDeviceGetAttribute, (int *, CUdevice_attribute, CUdevice))                             \
	X(cuDevicePrimaryCtxRetain, (CUcontext *, CUdevice))                                       \
	X(cuDevicePrimaryCtxRelease, (CUdevice))                                                   \
	X(cuCtxSetCurrent, (CUcontext))                                                            \
	X(cuMemAlloc, (CUdeviceptr *, size_t))                                                     \
	X(cuMemFree, (CUdeviceptr))                                                                \
	X(cuMemHostAlloc, (void **, size_t, unsigned int))                                         \
	X(cuMemFreeHost, (void *))                                                                 \
	X(cuMemHostRegister, (void *, size_t, unsigned int))                                       \
	X(cuMemHostUnregister, (void *))                                                           \
	X(cuMemcpyAsync, (CUdeviceptr, CUdeviceptr, size_t, CUstream))                             \
	X(cuMemsetD8Async, (CUdeviceptr, unsigned char, size_t, CUstream))                         \
	X(cuStreamCreate, (CUstream *, unsigned int))                                              \
	X(cuStreamDestroy, (CUstream))                                                             \
	X(cuStreamSynchronize, (CUstream))                                                         \
	X(cuStreamWaitEvent, (CUstream, CUevent, unsigned int))                                    \
	X(cuStreamBeginCapture, (CUstream, CUstreamCaptureMode))                                   \
	X(cuStreamEndCapture, (CUstream, CUgraph *))                                               \
	X(cuGraphInstantiateWithFlags, (CUgraphExec *, CUgraph, unsigned long long))               \
	X(cuGraphLaunch, (CUgraphExec, CUstream))                                                  \
	X(cuGraphExecDestroy, (CUgraphExec))                                                       \
	X(cuGraphDestroy, (CUgraph))                                                               \
	X(cuEventCreate, (CUevent *, unsigned int))                                                \
	X(cuEventDestroy, (CUevent))                                                               \
	X(cuEventRecord, (CUevent, CUstream))                                                      \
	X(cuEventQuery, (CUevent))                                                                 \
	X(cuEventSynchronize, (CUevent))                                                           \
	X(cuModuleLoadData, (CUmodule *, const void *))                                            \
	X(cuModuleUnload, (CUmodule))                                                              \
	X(cuModuleGetFunction, (CUfunction *, CUmodule, const char *))                             \
	X(cuFuncSetAttribute, (CUfunction, CUfunction_attribute, int))                             \
	X(cuLaunchKernel, (CUfunction, unsigned int, unsigned int, unsigned int, unsigned int,     \
			   unsigned int, unsigned int, unsigned int, CUstream, void **, void **))

struct gw__cuda_driver {
	void *lib;
#define X(name, args) CUresult (*p_##name) args;
	GW_CUDA_FUNCTIONS(X)
#undef X
#if CUDA_VERSION >= 13000
	/* one call for many copies; NULL on drivers before it */
	CUresult (*p_cuMemcpyBatchAsync)(CUdeviceptr *, CUdeviceptr *, size_t *, size_t, CUmemcpyAttributes *,
					 size_t *, size_t, CUstream);
#endif
};

/* Open libcuda.so.1 and fill the table. 0; -ENODEV with the reason when there is no driver. */
int gw__cuda_driver_open(struct gw__cuda_driver *d, struct gw_diag *diag);
void gw__cuda_driver_close(struct gw__cuda_driver *d);

#endif
