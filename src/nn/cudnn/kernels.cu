/* nn/cudnn/kernels.cu: what runs between the convolutions: the input's layout change with its normalisation,
 * pooling, elementwise leftovers, the peak of a value. Compiled by nvcc for the card and, through
 * kernels_lane.c, by gcc for the emulator. Sums are FLOAT, in a fixed order. Must not know networks. */
#include "nn/cudnn/kernel_args.h"

#include "gpu/simt.h"

#ifdef __CUDACC__
#include <cuda_fp16.h>
#else
#include <math.h>
#include <string.h>
#endif

/* ---- one element ---------------------------------------------------------------------------------- */

GW_DEVICE float half_to_float(uint16_t h)
{
#ifdef __CUDACC__
	return __half2float(__ushort_as_half(h));
#else
	uint32_t sign = (uint32_t)(h & 0x8000u) << 16, e = h >> 10 & 31u, m = h & 0x3ffu, bits;
	float f;

	if (e == 31)
		bits = sign | 0x7f800000u | m << 13;
	else if (e)
		bits = sign | (e + 112) << 23 | m << 13;
	else
		return (sign ? -1.0f : 1.0f) * (float)m * 0x1p-24f;
	memcpy(&f, &bits, sizeof(f));
	return f;
#endif
}

GW_DEVICE uint16_t float_to_half(float f)
{
#ifdef __CUDACC__
	return __half_as_ushort(__float2half_rn(f));
#else
	uint32_t b, sign, a, h;
	float scaled;

	memcpy(&b, &f, sizeof(b));
	sign = b >> 16 & 0x8000u;
	a = b & 0x7fffffffu;
	if (a > 0x7f800000u)
		return (uint16_t)(sign | 0x7e00u);
	if (a < 0x38800000u) { /* subnormal: let an addition round it */
		memcpy(&scaled, &a, sizeof(scaled));
		scaled += 0.5f;
		memcpy(&h, &scaled, sizeof(h));
		return (uint16_t)(sign | (h - 0x3f000000u));
	}
	h = (a + 0xfffu + (a >> 13 & 1u) - (112u << 23)) >> 13;
	return (uint16_t)(sign | (h > 0x7c00u ? 0x7c00u : h));
#endif
}

GW_DEVICE int8_t float_to_char(float f)
{
	f = f < -127.0f ? -127.0f : f > 127.0f ? 127.0f : f;
	return (int8_t)rintf(f);
}

GW_DEVICE float load_at(const void *p, uint64_t i, uint32_t type, float scale)
{
	if (type == GW_K_HALF)
		return half_to_float(((const uint16_t *)p)[i]);
	if (type == GW_K_FLOAT)
		return ((const float *)p)[i];
	return (float)((const int8_t *)p)[i] * scale;
}

GW_DEVICE void store_at(void *p, uint64_t i, uint32_t type, float scale, float v)
{
	if (type == GW_K_HALF)
		((uint16_t *)p)[i] = float_to_half(v);
	else if (type == GW_K_FLOAT)
		((float *)p)[i] = v;
	else
		((int8_t *)p)[i] = float_to_char(v / scale);
}

GW_DEVICE uint64_t first_item(void)
{
	return (uint64_t)gw_block_idx() * gw_block_dim() + gw_thread_idx();
}

GW_DEVICE uint64_t n_lanes(void)
{
	return (uint64_t)gw_grid_dim() * gw_block_dim();
}

/* ---- kernels -------------------------------------------------------------------------------------- */

GW_DEVICE void store_halves(uint16_t *y, const uint32_t *w, uint32_t n) /* n: 4, 8 or 16 */
{
#ifdef __CUDACC__
	if (n == 4) {
		*(uint2 *)y = make_uint2(w[0], w[1]);
		return;
	}
	*(uint4 *)y = make_uint4(w[0], w[1], w[2], w[3]);
	if (n == 16)
		*(uint4 *)(y + 8) = make_uint4(w[4], w[5], w[6], w[7]);
#else
	memcpy(y, w, 2 * n);
#endif
}

/* a lane takes a pixel: its channels lie a plane apart, neighbours side by side */
GW_DEVICE void input_pixel(const struct gw__input_args *a, uint32_t i)
{
	const uint32_t plane = a->h * a->w, sample = i / plane;
	const uint16_t *x = a->x + (uint64_t)sample * plane * a->c + (i - sample * plane);
	uint32_t w[8] = { 0, 0, 0, 0, 0, 0, 0, 0 }, c;

#ifdef __CUDACC__
#pragma unroll
#endif
	for (c = 0; c < 8; c++)
		if (c < a->c) {
			float v = half_to_float(x[(uint64_t)c * plane]) * a->scale[c] + a->shift[c];

			w[c / 2] |= (uint32_t)float_to_half(v) << c % 2 * 16;
		}
	store_halves(a->y + (uint64_t)i * a->c_out, w, a->c_out);
}

/* a lane takes a block of 2 x 2 pixels of at most 4 channels */
GW_DEVICE void input_block(const struct gw__input_args *a, uint32_t i)
{
	const uint32_t bx = i % a->bw, by = i / a->bw % a->bh, sample = i / a->bw / a->bh;
	const int32_t x0 = 2 * ((int32_t)bx - (int32_t)a->lo[1]), y0 = 2 * ((int32_t)by - (int32_t)a->lo[0]);
	uint32_t w[8] = { 0, 0, 0, 0, 0, 0, 0, 0 }, c, dy, dx;

	for (c = 0; c < a->c; c++)
		for (dy = 0; dy < 2; dy++) {
			const int32_t y = y0 + (int32_t)dy;
			const uint16_t *row = a->x + ((uint64_t)(sample * a->c + c) * a->h + (uint32_t)y) * a->w;

			if (y < 0 || y >= (int32_t)a->h || x0 < 0 || x0 >= (int32_t)a->w)
				continue; /* w and h are even: a block lies inside or outside */
			for (dx = 0; dx < 2; dx++) {
				const uint32_t k = (dy * 2 + dx) * a->c + c;
				float v = half_to_float(row[x0 + (int32_t)dx]) * a->scale[c] + a->shift[c];

				w[k / 2] |= (uint32_t)float_to_half(v) << k % 2 * 16;
			}
		}
	store_halves(a->y + (uint64_t)i * 16, w, 16);
}

GW_KERNEL(gw_nn_input, struct gw__input_args)
{
	const uint64_t n = (uint64_t)a->n * a->bh * a->bw;
	uint64_t i;

	for (i = first_item(); i < n; i += n_lanes()) {
		if (a->fold == 2)
			input_block(a, (uint32_t)i);
		else
			input_pixel(a, (uint32_t)i);
	}
}

GW_DEVICE void load8(float *v, const void *p, uint64_t i, uint32_t type, float scale)
{
	uint32_t k;

#ifdef __CUDACC__
	if (type == GW_K_HALF) { /* 8 halves at once: the caller's channels are a multiple of 8 */
		const uint4 q = *(const uint4 *)((const uint16_t *)p + i);
		const uint32_t w[4] = { q.x, q.y, q.z, q.w };

#pragma unroll
		for (k = 0; k < 8; k++)
			v[k] = half_to_float((uint16_t)(w[k / 2] >> k % 2 * 16));
		return;
	}
#endif
	for (k = 0; k < 8; k++)
		v[k] = load_at(p, i + k, type, scale);
}

GW_DEVICE void store8(void *p, uint64_t i, uint32_t type, float scale, const float *v)
{
	uint32_t k;

#ifdef __CUDACC__
	if (type == GW_K_HALF) {
		uint32_t w[4];

#pragma unroll
		for (k = 0; k < 8; k += 2)
			w[k / 2] = float_to_half(v[k]) | (uint32_t)float_to_half(v[k + 1]) << 16;
		*(uint4 *)((uint16_t *)p + i) = make_uint4(w[0], w[1], w[2], w[3]);
		return;
	}
#endif
	for (k = 0; k < 8; k++)
		store_at(p, i + k, type, scale, v[k]);
}

#ifdef __CUDACC__
/* The largest of a 3 x 3 window of FLOAT16, nine loads in flight. Rows and columns outside are clamped to the
 * picture's edge: that pixel is in the window already, and a maximum does not mind meeting it twice. */
GW_DEVICE void max3(const struct gw__pool_args *a, uint32_t n, int32_t p, int32_t q, uint32_t c, float *out)
{
	uint4 v[9];
	__half2 m[4];
	int32_t i;
	uint32_t k;

#pragma unroll
	for (i = 0; i < 9; i++) {
		int32_t y = p * a->stride[0] - a->pad[0] + i / 3, x = q * a->stride[1] - a->pad[1] + i % 3;

		y = min(max(y, 0), (int32_t)a->h - 1);
		x = min(max(x, 0), (int32_t)a->w - 1);
		v[i] = *(const uint4 *)((const uint16_t *)a->x +
					((uint64_t)(n * a->h + (uint32_t)y) * a->w + (uint32_t)x) * a->c + c);
	}
#pragma unroll
	for (k = 0; k < 4; k++)
		m[k] = *((const __half2 *)&v[0] + k);
#pragma unroll
	for (i = 1; i < 9; i++)
#pragma unroll
		for (k = 0; k < 4; k++)
			m[k] = __hmax2(m[k], *((const __half2 *)&v[i] + k));
#pragma unroll
	for (k = 0; k < 4; k++) {
		out[2 * k] = __low2float(m[k]);
		out[2 * k + 1] = __high2float(m[k]);
	}
}
#endif

/* a lane takes 8 channels of one output pixel */
GW_DEVICE void pool_item(const struct gw__pool_args *a, uint32_t item)
{
	const uint32_t groups = a->c / 8, pixel = item / groups, c = (item - pixel * groups) * 8;
	const uint32_t row = pixel / a->q, n = row / a->p;
	const int32_t q = (int32_t)(pixel - row * a->q), p = (int32_t)(row - n * a->p);
	float acc[8], v[8];
	int32_t i, j, count = 0;
	uint32_t k;

#ifdef __CUDACC__
	if (!a->mean && a->kernel[0] == 3 && a->kernel[1] == 3 && a->dilation[0] == 1 && a->dilation[1] == 1 &&
	    a->x_type == GW_K_HALF) {
		max3(a, n, p, q, c, acc);
		store8(a->y, (uint64_t)pixel * a->c + c, a->y_type, a->y_scale, acc);
		return;
	}
#endif
	for (k = 0; k < 8; k++)
		acc[k] = a->mean ? 0.0f : -INFINITY;
	for (i = 0; i < a->kernel[0]; i++) {
		const int32_t y = p * a->stride[0] - a->pad[0] + i * a->dilation[0];

		if (y < 0 || y >= (int32_t)a->h)
			continue;
		for (j = 0; j < a->kernel[1]; j++) {
			const int32_t x = q * a->stride[1] - a->pad[1] + j * a->dilation[1];

			if (x < 0 || x >= (int32_t)a->w)
				continue;
			load8(v, a->x, ((uint64_t)(n * a->h + (uint32_t)y) * a->w + (uint32_t)x) * a->c + c, a->x_type,
			      a->x_scale);
			for (k = 0; k < 8; k++)
				acc[k] = a->mean ? acc[k] + v[k] : v[k] > acc[k] ? v[k] : acc[k];
			count++;
		}
	}
	if (a->mean) {
		const float d = (float)(a->padded ? a->kernel[0] * a->kernel[1] : count);

		for (k = 0; k < 8; k++)
			acc[k] = acc[k] / d;
	}
	store8(a->y, (uint64_t)pixel * a->c + c, a->y_type, a->y_scale, acc);
}

GW_KERNEL(gw_nn_pool, struct gw__pool_args)
{
	const uint64_t n = (uint64_t)a->n * a->p * a->q * (a->c / 8);
	uint64_t i;

	for (i = first_item(); i < n; i += n_lanes())
		pool_item(a, (uint32_t)i);
}

/* A block takes 256 channels of a sample: its 8 warps take the pixels in turn, then each lane adds up one
 * channel's eight sums, always in the same order. */
GW_KERNEL(gw_nn_mean, struct gw__mean_args)
{
	GW_SHARED(float, part, 8 * 256);
	const uint32_t groups = a->c / 256, n = gw_block_idx() / groups, c0 = gw_block_idx() % groups * 256;
	const uint32_t warp = gw_thread_idx() / 32, lane = gw_lane_idx(), t = gw_thread_idx();
	float acc[8] = { 0, 0, 0, 0, 0, 0, 0, 0 }, v[8], sum = 0;
	uint32_t i, k;

	for (i = warp; i < a->plane; i += 8) {
		load8(v, a->x, ((uint64_t)n * a->plane + i) * a->c + c0 + lane * 8, a->x_type, a->x_scale);
		for (k = 0; k < 8; k++)
			acc[k] += v[k];
	}
	for (k = 0; k < 8; k++)
		part[warp * 256 + lane * 8 + k] = acc[k];
	gw_syncthreads();
	for (k = 0; k < 8; k++)
		sum += part[k * 256 + t];
	store_at(a->y, (uint64_t)n * a->c + c0 + t, a->y_type, a->y_scale, sum / (float)a->plane);
}

GW_KERNEL(gw_nn_point, struct gw__point_args)
{
	uint64_t i;

	for (i = first_item(); i < a->n_elems; i += n_lanes()) {
		const uint32_t c = (uint32_t)(i % a->c);
		float v = load_at(a->x, i, a->x_type, a->x_scale);
		uint64_t to = i;

		if (a->op == GW_K_ADD)
			v += load_at(a->x2, i, a->x2_type, a->x2_scale);
		else if (a->op == GW_K_MUL)
			v *= load_at(a->x2, i, a->x2_type, a->x2_scale);
		else if (a->op == GW_K_AFFINE)
			v = v * a->scale[c] + a->shift[c];
		else if (a->op == GW_K_FLATTEN) {
			const uint64_t pixel = i / a->c, sample = pixel / a->plane;

			to = (sample * a->c + c) * a->plane + pixel % a->plane;
		}
		store_at(a->y, to, a->y_type, a->y_scale, a->relu && v < 0.0f ? 0.0f : v);
	}
}

GW_KERNEL(gw_nn_peak, struct gw__peak_args)
{
	float peak = 0.0f;
	uint32_t bits;
	uint64_t i;

	for (i = first_item(); i < a->n_elems; i += n_lanes()) {
		float v = load_at(a->x, i, a->x_type, a->x_scale);

		v = v < 0.0f ? -v : v;
		peak = v > peak ? v : peak;
	}
#ifdef __CUDACC__
	bits = __float_as_uint(peak);
#else
	memcpy(&bits, &peak, sizeof(bits));
#endif
	gw_atomic_max_u32_gpu(a->peak, bits); /* floats that are not negative order as their bits do */
}
