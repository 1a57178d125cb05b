/* nn/cudnn/lib.h: cuDNN 9's backend (graph) API, opened at run time. The only folder that sees cudnn.h.
 * Must not know networks. Next: conv.c. */
#ifndef GW_NN_CUDNN_LIB_H
#define GW_NN_CUDNN_LIB_H

#include <cudnn.h>
#include <gpuwire/common.h>

#define GW_CUDNN_FUNCTIONS(X)                                                                      \
	X(cudnnGetVersion, size_t, (void))                                                         \
	X(cudnnGetErrorString, const char *, (cudnnStatus_t))                                      \
	X(cudnnCreate, cudnnStatus_t, (cudnnHandle_t *))                                           \
	X(cudnnDestroy, cudnnStatus_t, (cudnnHandle_t))                                            \
	X(cudnnSetStream, cudnnStatus_t, (cudnnHandle_t, cudaStream_t))                            \
	X(cudnnBackendCreateDescriptor, cudnnStatus_t,                                             \
	  (cudnnBackendDescriptorType_t, cudnnBackendDescriptor_t *))                              \
	X(cudnnBackendDestroyDescriptor, cudnnStatus_t, (cudnnBackendDescriptor_t))                \
	X(cudnnBackendFinalize, cudnnStatus_t, (cudnnBackendDescriptor_t))                         \
	X(cudnnBackendSetAttribute, cudnnStatus_t,                                                 \
	  (cudnnBackendDescriptor_t, cudnnBackendAttributeName_t, cudnnBackendAttributeType_t, int64_t, const void *)) \
	X(cudnnBackendGetAttribute, cudnnStatus_t,                                                 \
	  (cudnnBackendDescriptor_t, cudnnBackendAttributeName_t, cudnnBackendAttributeType_t, int64_t, int64_t *, void *)) \
	X(cudnnBackendExecute, cudnnStatus_t,                                                      \
	  (cudnnHandle_t, cudnnBackendDescriptor_t, cudnnBackendDescriptor_t))

struct gw__cudnn {
#define X(name, ret, args) ret(*name) args;
	GW_CUDNN_FUNCTIONS(X)
#undef X
	size_t version; /* 91400 = 9.14.0 */
};

/* The library, opened once and kept: GPUWIRE_CUDNN_DIR, the loader's path, Python's nvidia/cudnn/lib. NULL with
 * the reason: not found, another major version, or a function is absent. */
const struct gw__cudnn *gw__cudnn_lib(struct gw_diag *diag);

#endif
