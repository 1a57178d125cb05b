/* reorder/scatter.h: carry out a plan's moves on the CPU: convert each payload into its place, fill holes.
 * Must not know numbers, windows' lives or streams. Next: scatter.c. */
#ifndef GW_REORDER_SCATTER_H
#define GW_REORDER_SCATTER_H

#include "reorder/convert.h"
#include "reorder/plan.h"

struct gw__scatter {
	gw__convert_fn convert;
	enum gw__elem in, out;
	const uint8_t *src; /* payload of slot 0 */
	size_t src_stride;
	uint32_t payload_len; /* bytes of a full payload; longer ones are cut */
	uint32_t out_len;     /* bytes of a full payload, converted */
	enum gw__fill fill;
	bool src_in_host; /* launched: the payload lies in pinned host memory */
};

/* 0; -EINVAL: the pair is not known, or payload_len is no whole number of elements. */
int gw__scatter_init(struct gw__scatter *s, enum gw__simd simd, enum gw__elem in, enum gw__elem out, bool swap,
		     uint32_t payload_len, enum gw__fill fill);

/* A payload shorter than a full one is converted as far as it has whole elements; the rest of its place is
 * filled as a hole is. */
void gw__scatter_moves(const struct gw__scatter *s, uint8_t *out, const struct gw__move *m, uint32_t n);

/* Fill every place of [0, n_places) whose bit in valid is 0: zero; keep = untouched; poison = bytes 0xff for
 * a floating-point output (a NaN in every format) and 0x7f for an integer one or a plain copy. */
void gw__scatter_holes(const struct gw__scatter *s, uint8_t *out, const uint64_t *valid, uint32_t n_places);

#endif
