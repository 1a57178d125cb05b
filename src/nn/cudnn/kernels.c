/* nn/cudnn/kernels.c: grids for the kernels between convolutions. Next: kernels.cu. */
#include "nn/cudnn/kernels.h"

#include <errno.h>

#define BLOCK 256u
#define MAX_BLOCKS 8192u /* lanes loop over the rest */

#ifdef GW_WITH_CUDA
extern const unsigned char gw__nn_fatbin[];
#define IMAGE gw__nn_fatbin
#else
#define IMAGE NULL
#endif

void gw_nn_input_lane(const void *arg);
void gw_nn_pool_lane(const void *arg);
void gw_nn_mean_lane(const void *arg);
void gw_nn_point_lane(const void *arg);
void gw_nn_peak_lane(const void *arg);

static const struct gw__kernel k_input = { "gw_nn_input", IMAGE, gw_nn_input_lane, sizeof(struct gw__input_args) };
static const struct gw__kernel k_pool = { "gw_nn_pool", IMAGE, gw_nn_pool_lane, sizeof(struct gw__pool_args) };
static const struct gw__kernel k_mean = { "gw_nn_mean", IMAGE, gw_nn_mean_lane, sizeof(struct gw__mean_args) };
static const struct gw__kernel k_point = { "gw_nn_point", IMAGE, gw_nn_point_lane, sizeof(struct gw__point_args) };
static const struct gw__kernel k_peak = { "gw_nn_peak", IMAGE, gw_nn_peak_lane, sizeof(struct gw__peak_args) };

int gw__nn_kernels_prepare(const struct gw__gpu_ops *gpu, struct gw_diag *diag)
{
	int err = gpu->kernel_prepare(&k_input, diag);

	if (!err)
		err = gpu->kernel_prepare(&k_pool, diag);
	if (!err)
		err = gpu->kernel_prepare(&k_mean, diag);
	if (!err)
		err = gpu->kernel_prepare(&k_point, diag);
	return err ? err : gpu->kernel_prepare(&k_peak, diag);
}

static struct gw__grid grid_for(uint64_t n_items)
{
	uint64_t n = (n_items + BLOCK - 1) / BLOCK;

	return (struct gw__grid){ .n_blocks = (uint32_t)(n < 1 ? 1 : n > MAX_BLOCKS ? MAX_BLOCKS : n), .n_threads = BLOCK };
}

int gw__nn_input(const struct gw__gpu_ops *gpu, struct gw_stream *stream, const struct gw__input_args *a)
{
	const uint64_t n = (uint64_t)a->n * a->bh * a->bw;

	if (a->fold == 1 && (a->c > a->c_out || (a->c_out != 4 && a->c_out != 8)))
		return -ENOTSUP;
	if (a->fold == 2 && (a->c > 4 || a->c_out != 16 || a->h % 2 || a->w % 2))
		return -ENOTSUP;
	return n > UINT32_MAX ? -EMSGSIZE : gpu->launch(stream, &k_input, grid_for(n), a);
}

int gw__nn_pool(const struct gw__gpu_ops *gpu, struct gw_stream *stream, const struct gw__pool_args *a)
{
	const uint64_t n = (uint64_t)a->n * a->p * a->q * (a->c / 8);

	if (a->c % 8)
		return -ENOTSUP;
	return n > UINT32_MAX ? -EMSGSIZE : gpu->launch(stream, &k_pool, grid_for(n), a);
}

int gw__nn_mean(const struct gw__gpu_ops *gpu, struct gw_stream *stream, const struct gw__mean_args *a)
{
	if (a->c % 256)
		return -ENOTSUP;
	return gpu->launch(stream, &k_mean, (struct gw__grid){ a->n * (a->c / 256), BLOCK, 0 }, a);
}

int gw__nn_point(const struct gw__gpu_ops *gpu, struct gw_stream *stream, const struct gw__point_args *a)
{
	return gpu->launch(stream, &k_point, grid_for(a->n_elems), a);
}

int gw__nn_peak(const struct gw__gpu_ops *gpu, struct gw_stream *stream, const struct gw__peak_args *a)
{
	return gpu->launch(stream, &k_peak, grid_for(a->n_elems), a);
}
