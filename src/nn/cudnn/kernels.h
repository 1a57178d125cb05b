/* nn/cudnn/kernels.h: launch what stands between the convolutions. */
#ifndef GW_NN_CUDNN_KERNELS_H
#define GW_NN_CUDNN_KERNELS_H

#include "gpu/gpu.h"
#include "nn/cudnn/kernel_args.h"

/* Load all of them. */
int gw__nn_kernels_prepare(const struct gw__gpu_ops *gpu, struct gw_diag *diag);
/* fold 1: c at most c_out, c_out 4 or 8. fold 2: c at most 4, c_out 16, h and w even. */
int gw__nn_input(const struct gw__gpu_ops *gpu, struct gw_stream *stream, const struct gw__input_args *a);
/* -ENOTSUP unless c is a multiple of 8. */
int gw__nn_pool(const struct gw__gpu_ops *gpu, struct gw_stream *stream, const struct gw__pool_args *a);
/* -ENOTSUP unless c is a multiple of 256. */
int gw__nn_mean(const struct gw__gpu_ops *gpu, struct gw_stream *stream, const struct gw__mean_args *a);
int gw__nn_point(const struct gw__gpu_ops *gpu, struct gw_stream *stream, const struct gw__point_args *a);
int gw__nn_peak(const struct gw__gpu_ops *gpu, struct gw_stream *stream, const struct gw__peak_args *a);

#endif
