/* nn/onednn/measure.c: what calibration reads out of a FLOAT run: each channel's largest magnitude and mean.
 * Not on the data path: clear rather than fast. Must not know what is done with it. Next: nn/equalise.c. */
#include "nn/onednn/exec.h"

#include <math.h>

/* Distance in elements between neighbours of each dimension; channels may lie in one inner block. */
struct steps {
	dnnl_dim_t n, block, h, w, block_size;
};

static struct steps steps_of(const dnnl_memory_desc_t *md)
{
	const dnnl_blocking_desc_t *b = &md->format_desc.blocking;
	struct steps s = {b->strides[0], b->strides[1], 0, 0, b->inner_nblks ? b->inner_blks[0] : 1};

	if (md->ndims == 4) {
		s.h = b->strides[2];
		s.w = b->strides[3];
	}
	return s;
}

void gw__measure_value(const struct inst *inst, const struct gw__shape *shape, uint32_t n, float *peak, float *mean)
{
	const struct steps s = steps_of(&inst->md);
	double area = (double)(shape->h * shape->w);
	void *bytes = NULL;

	if (inst->md.data_type != dnnl_f32 || inst->md.format_kind != dnnl_blocked ||
	    dnnl_memory_get_data_handle(inst->mem, &bytes))
		return;
	for (uint32_t i = 0; i < n; i++)
		for (int64_t c = 0; c < shape->c; c++) {
			const float *p = (const float *)bytes + i * s.n + c / s.block_size * s.block + c % s.block_size;
			double sum = 0.0;

			for (int64_t k = 0; k < shape->h * shape->w; k++) {
				float v = p[k / shape->w * s.h + k % shape->w * s.w];

				peak[c] = fmaxf(peak[c], fabsf(v));
				sum += (double)v;
			}
			mean[c] += (float)(sum / area);
		}
}
