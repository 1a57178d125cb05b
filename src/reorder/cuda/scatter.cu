/* reorder/cuda/scatter.cu: the CPU scatter's twin: one launch puts a window's packets in order and converts
 * them in registers. Compiled by nvcc for the card and, through scatter_lane.c, by gcc for the emulator.
 *
 * out[place][e] = convert(src[slot * stride + e]) for every move (slot, place, len); a warp takes a packet, a
 * lane takes units of 8 elements, several loads in flight before the first store. Places without a move are
 * filled. Same bytes as scatter.c + convert_scalar.c. Must not know numbers or windows. */
#include "reorder/cuda/scatter_args.h"

#include "gpu/simt.h"

#ifndef __CUDACC__
#include <string.h>
#endif

#define UNITS_IN_FLIGHT 5u
#define PAIRS_IN_FLIGHT 3u

/* ---- one element, exactly as convert_scalar.c defines it ------------------------------------------ */

GW_DEVICE uint32_t float_bits(float f)
{
#ifdef __CUDACC__
	return __float_as_uint(f);
#else
	uint32_t b;

	memcpy(&b, &f, sizeof(b));
	return b;
#endif
}

/* by integer arithmetic: the definition */
GW_DEVICE uint32_t to_fp16_bits(int32_t x)
{
	uint32_t b = float_bits((float)x), sign = b >> 16 & 0x8000u, m = b & 0x7fffffffu;
	uint32_t h = (m + 0xfffu + (m >> 13 & 1u)) >> 13;

	h = m ? h - (112u << 10) : 0;
	return sign | (h > 0x7c00u ? 0x7c00u : h);
}

/* by the card's own instruction, where the result goes into a word. ptxas 13.0 for sm_90 stores the integer's
 * low byte in place of the result's when single bytes of it are stored: those take to_fp16_bits(). Two steps,
 * because a direct conversion from an integer ends at 65504 where this gives infinity. */
GW_DEVICE uint32_t to_fp16(int32_t x)
{
#ifdef __CUDACC__
	uint16_t h;

	asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"((float)x));
	return h;
#else
	return to_fp16_bits(x);
#endif
}

/* rounded to odd at bit 8 first, so that the two roundings are one */
GW_DEVICE uint32_t to_bf16(int32_t x)
{
	int32_t odd = (int32_t)(((uint32_t)x & ~0xffu) | ((uint32_t)((x & 0xff) != 0) << 8));
	uint32_t b = float_bits((float)(x >> 24 == x >> 31 ? x : odd));

	return (b + 0x7fffu + (b >> 16 & 1u)) >> 16;
}

GW_DEVICE uint32_t to_int8(int32_t x)
{
	return (uint32_t)(x < -128 ? -128 : x > 127 ? 127 : x) & 0xffu;
}

GW_DEVICE uint64_t double_bits(int32_t x)
{
#ifdef __CUDACC__
	return (uint64_t)__double_as_longlong((double)x);
#else
	double d = (double)x;
	uint64_t b;

	memcpy(&b, &d, sizeof(b));
	return b;
#endif
}

GW_DEVICE int32_t nibble(uint32_t n)
{
	return (int32_t)((n & 15u) ^ 8u) - 8;
}

GW_DEVICE uint32_t swap16(uint32_t w) /* both halves */
{
	return (w >> 8 & 0x00ff00ffu) | (w << 8 & 0xff00ff00u);
}

GW_DEVICE uint32_t swap32(uint32_t w)
{
	w = swap16(w);
	return w >> 16 | w << 16;
}

/* ---- aligned units: 8 elements (a copy: 16 bytes) ------------------------------------------------- */

struct unit {
	uint32_t w[8];
};

GW_DEVICE void load_words(uint32_t *w, const uint8_t *p, const uint32_t n)
{
#ifdef __CUDACC__
	if (n == 1) {
		w[0] = *(const uint32_t *)p;
	} else if (n == 2) {
		const uint2 v = *(const uint2 *)p;

		w[0] = v.x;
		w[1] = v.y;
	} else {
#pragma unroll
		for (uint32_t i = 0; i < n; i += 4) {
			const uint4 v = *(const uint4 *)(p + 4 * i);

			w[i] = v.x;
			w[i + 1] = v.y;
			w[i + 2] = v.z;
			w[i + 3] = v.w;
		}
	}
#else
	memcpy(w, p, 4 * n);
#endif
}

GW_DEVICE void store_words(uint8_t *p, const uint32_t *w, const uint32_t n)
{
#ifdef __CUDACC__
	if (n == 2) {
		*(uint2 *)p = make_uint2(w[0], w[1]);
	} else {
#pragma unroll
		for (uint32_t i = 0; i < n; i += 4)
			*(uint4 *)(p + 4 * i) = make_uint4(w[i], w[i + 1], w[i + 2], w[i + 3]);
	}
#else
	memcpy(p, w, 4 * n);
#endif
}

/* input bytes of one unit / output bytes of one unit */
GW_DEVICE uint32_t unit_in(const uint32_t in)
{
	return in == GW_K_INT4 ? 4 : in == GW_K_INT8 ? 8 : in == GW_K_INT32 || in == GW_K_INT32S ? 32 : 16;
}

GW_DEVICE uint32_t unit_out(const uint32_t out)
{
	return out == GW_K_OUT8 ? 8 : out == GW_K_OUT32 || out == GW_K_FP32 ? 32 : out == GW_K_FP64 ? 64 : 16;
}

/* element k of a loaded unit */
GW_DEVICE int32_t element(const struct unit *u, const uint32_t in, const uint32_t k)
{
	uint32_t w;

	switch (in) {
	case GW_K_INT4: /* high nibble first */
		return nibble(u->w[0] >> (k / 2 * 8 + (k & 1 ? 0 : 4)));
	case GW_K_INT8:
		return (int8_t)(u->w[k / 4] >> k % 4 * 8);
	case GW_K_INT16:
		return (int16_t)(u->w[k / 2] >> k % 2 * 16);
	case GW_K_INT16S:
		w = swap16(u->w[k / 2]);
		return (int16_t)(w >> k % 2 * 16);
	case GW_K_INT32S:
		return (int32_t)swap32(u->w[k]);
	default:
		return (int32_t)u->w[k];
	}
}

GW_DEVICE void convert_unit(uint8_t *to, const struct unit *u, const uint32_t in, const uint32_t out)
{
	uint32_t w[16];
	uint32_t k;

	if (in == GW_K_COPY) {
		store_words(to, u->w, 4);
		return;
	}
#ifdef __CUDACC__
#pragma unroll
#endif
	for (k = 0; k < 8; k++) {
		int32_t x = element(u, in, k);
		uint64_t d;

		switch (out) {
		case GW_K_OUT8:
			w[k / 4] = k % 4 ? w[k / 4] | to_int8(x) << k % 4 * 8 : to_int8(x);
			break;
		case GW_K_FP16:
			w[k / 2] = k % 2 ? w[k / 2] | to_fp16(x) << 16 : to_fp16(x);
			break;
		case GW_K_BF16:
			w[k / 2] = k % 2 ? w[k / 2] | to_bf16(x) << 16 : to_bf16(x);
			break;
		case GW_K_FP32:
			w[k] = float_bits((float)x);
			break;
		case GW_K_FP64:
			d = double_bits(x);
			w[2 * k] = (uint32_t)d;
			w[2 * k + 1] = (uint32_t)(d >> 32);
			break;
		default:
			w[k] = (uint32_t)x;
			break;
		}
	}
	store_words(to, w, unit_out(out) / 4);
}

GW_DEVICE void packet_by_units(uint8_t *to, const uint8_t *from, uint32_t n_units, const uint32_t in,
			       const uint32_t out)
{
	const uint32_t n_in = unit_in(in), n_out = in == GW_K_COPY ? 16 : unit_out(out);
	struct unit u[UNITS_IN_FLIGHT];
	uint32_t base, k;

	for (base = gw_lane_idx(); base < n_units; base += 32 * UNITS_IN_FLIGHT) {
#ifdef __CUDACC__
#pragma unroll
#endif
		for (k = 0; k < UNITS_IN_FLIGHT; k++)
			if (base + 32 * k < n_units)
				load_words(u[k].w, from + (size_t)(base + 32 * k) * n_in, n_in / 4);
#ifdef __CUDACC__
#pragma unroll
#endif
		for (k = 0; k < UNITS_IN_FLIGHT; k++)
			if (base + 32 * k < n_units)
				convert_unit(to + (size_t)(base + 32 * k) * n_out, &u[k], in, out);
	}
}

/* int8 by 16-byte loads, two units each: fewer, larger reads matter when the payload lies in host memory. A last
 * unit alone (a payload of 8 more) goes as above. */
GW_DEVICE void packet_by_pairs(uint8_t *to, const uint8_t *from, uint32_t n_units, const uint32_t out)
{
	const uint32_t n_pairs = n_units / 2, n_out = 2 * unit_out(out);
	struct unit u[PAIRS_IN_FLIGHT], second;
	uint32_t base, k;

	for (base = gw_lane_idx(); base < n_pairs; base += 32 * PAIRS_IN_FLIGHT) {
#ifdef __CUDACC__
#pragma unroll
#endif
		for (k = 0; k < PAIRS_IN_FLIGHT; k++)
			if (base + 32 * k < n_pairs)
				load_words(u[k].w, from + (size_t)(base + 32 * k) * 16, 4);
#ifdef __CUDACC__
#pragma unroll
#endif
		for (k = 0; k < PAIRS_IN_FLIGHT; k++)
			if (base + 32 * k < n_pairs) {
				uint8_t *at = to + (size_t)(base + 32 * k) * n_out;

				second.w[0] = u[k].w[2];
				second.w[1] = u[k].w[3];
				convert_unit(at, &u[k], GW_K_INT8, out);
				convert_unit(at + unit_out(out), &second, GW_K_INT8, out);
			}
	}
	if (n_units & 1 && gw_lane_idx() == 31) {
		load_words(second.w, from + (size_t)n_pairs * 16, 2);
		convert_unit(to + (size_t)n_pairs * n_out, &second, GW_K_INT8, out);
	}
}

/* ---- any alignment, any length: element by element ------------------------------------------------ */

GW_DEVICE void store_element(uint8_t *to, int32_t x, const uint32_t out)
{
	uint64_t v;
	uint32_t n, k;

	switch (out) {
	case GW_K_OUT8:
		v = to_int8(x);
		n = 1;
		break;
	case GW_K_FP16:
		v = to_fp16_bits(x);
		n = 2;
		break;
	case GW_K_BF16:
		v = to_bf16(x);
		n = 2;
		break;
	case GW_K_FP32:
		v = float_bits((float)x);
		n = 4;
		break;
	case GW_K_FP64:
		v = double_bits(x);
		n = 8;
		break;
	default:
		v = (uint32_t)x;
		n = 4;
		break;
	}
	for (k = 0; k < n; k++)
		to[k] = (uint8_t)(v >> 8 * k);
}

GW_DEVICE int32_t load_element(const uint8_t *p, uint32_t e, const uint32_t in)
{
	switch (in) {
	case GW_K_INT4:
		return nibble((uint32_t)p[e / 2] >> (e & 1 ? 0 : 4));
	case GW_K_INT8:
		return (int8_t)p[e];
	case GW_K_INT16:
		return (int16_t)(p[2 * e] | p[2 * e + 1] << 8);
	case GW_K_INT16S:
		return (int16_t)(p[2 * e + 1] | p[2 * e] << 8);
	case GW_K_INT32S:
		return (int32_t)((uint32_t)p[4 * e] << 24 | (uint32_t)p[4 * e + 1] << 16 |
				 (uint32_t)p[4 * e + 2] << 8 | p[4 * e + 3]);
	default:
		return (int32_t)((uint32_t)p[4 * e + 3] << 24 | (uint32_t)p[4 * e + 2] << 16 |
				 (uint32_t)p[4 * e + 1] << 8 | p[4 * e]);
	}
}

GW_DEVICE void packet_by_elements(uint8_t *to, const uint8_t *from, uint32_t len, const uint32_t in,
				  const uint32_t out)
{
	const uint32_t n_el = in == GW_K_COPY ? len : len * 8 / unit_in(in);
	const uint32_t n_out = unit_out(out) / 8;
	uint32_t e;

	for (e = gw_lane_idx(); e < n_el; e += 32) {
		if (in == GW_K_COPY)
			to[e] = from[e];
		else
			store_element(to + (size_t)e * n_out, load_element(from, e, in), out);
	}
}

/* [from, to) bytes of a place that no payload reaches */
GW_DEVICE void fill_bytes(const struct gw__scatter_args *a, uint8_t *place, uint32_t from)
{
	uint32_t i;

	if (a->keep)
		return;
	for (i = from + gw_lane_idx(); i < a->out_len; i += 32)
		place[i] = (uint8_t)a->fill;
}

/* ---- the grid --------------------------------------------------------------------------------------- */

GW_DEVICE void one_packet(const struct gw__scatter_args *a, const uint32_t *m, const uint32_t in,
			  const uint32_t out)
{
	uint8_t *to = a->out + (size_t)m[1] * a->out_len;
	const uint8_t *from = a->src + m[0] * a->src_stride;
	uint32_t whole, done;

	if (in == GW_K_INT8 && a->pairs && m[2] >= a->payload_len) {
		packet_by_pairs(to, from, a->n_units, out);
		return;
	}
	if (a->n_units && m[2] >= a->payload_len) {
		packet_by_units(to, from, a->n_units, in, out);
		return;
	}
	whole = m[2] < a->payload_len ? m[2] : a->payload_len;
	if (in == GW_K_INT16 || in == GW_K_INT16S)
		whole &= ~1u;
	if (in == GW_K_INT32 || in == GW_K_INT32S)
		whole &= ~3u;
	packet_by_elements(to, from, whole, in, out);
	done = in == GW_K_COPY ? whole : (uint32_t)((uint64_t)whole * unit_out(out) / unit_in(in));
	fill_bytes(a, to, done);
}

GW_DEVICE void holes(const struct gw__scatter_args *a)
{
	const uint32_t n_warps = gw_grid_dim() * GW_SCATTER_WARPS;
	uint32_t i;

	for (i = gw_block_idx() * GW_SCATTER_WARPS + gw_thread_idx() / 32; i < a->n_places; i += n_warps)
		if (!(a->valid[i / 64] >> i % 64 & 1))
			fill_bytes(a, a->out + (size_t)i * a->out_len, 0);
}

/* A block takes GW_SCATTER_WARPS moves: read together (they may lie in host memory), then one a warp. */
GW_DEVICE void scatter_block(const struct gw__scatter_args *a, uint32_t *moves, const uint32_t in)
{
	const uint32_t warp = gw_thread_idx() / 32, first = gw_block_idx() * GW_SCATTER_WARPS;
	const uint32_t n = first >= a->n_moves ? 0 : a->n_moves - first;

	if (gw_thread_idx() < 3 * GW_SCATTER_WARPS && gw_thread_idx() < 3 * n)
		moves[gw_thread_idx()] = a->move[3 * (size_t)first + gw_thread_idx()];
	gw_syncthreads();
	if (warp < n) {
		const uint32_t *m = moves + 3 * warp;

		/* the same for every lane: each loop is compiled for its own pair */
		switch (in == GW_K_COPY ? (uint32_t)GW_K_BYTES : a->out_type) {
		case GW_K_OUT8:
			one_packet(a, m, in, GW_K_OUT8);
			break;
		case GW_K_OUT32:
			one_packet(a, m, in, GW_K_OUT32);
			break;
		case GW_K_FP16:
			one_packet(a, m, in, GW_K_FP16);
			break;
		case GW_K_BF16:
			one_packet(a, m, in, GW_K_BF16);
			break;
		case GW_K_FP32:
			one_packet(a, m, in, GW_K_FP32);
			break;
		case GW_K_FP64:
			one_packet(a, m, in, GW_K_FP64);
			break;
		default:
			one_packet(a, m, in, GW_K_BYTES);
			break;
		}
	}
	if (a->n_moves < a->n_places && !a->keep)
		holes(a);
}

#define SCATTER(name, in)                                                                          \
	GW_KERNEL(name, struct gw__scatter_args)                                                   \
	{                                                                                          \
		GW_SHARED(uint32_t, moves, 3 * GW_SCATTER_WARPS);                                  \
		scatter_block(a, moves, in);                                                       \
	}

SCATTER(gw_scatter_copy, GW_K_COPY)
SCATTER(gw_scatter_int4, GW_K_INT4)
SCATTER(gw_scatter_int8, GW_K_INT8)
SCATTER(gw_scatter_int16, GW_K_INT16)
SCATTER(gw_scatter_int16s, GW_K_INT16S)
SCATTER(gw_scatter_int32, GW_K_INT32)
SCATTER(gw_scatter_int32s, GW_K_INT32S)
