/* ingest/field.h: one big-endian bit field of a frame, up to 32 bits wide, at any bit.
 * Counted from the first bit of the Ethernet header, most significant bit first. Must not know plans.
 * Next: plan.c (where the field lies), rxq.c (reads it). Source: DAQIRI configuration reference. */
#ifndef GW_INGEST_FIELD_H
#define GW_INGEST_FIELD_H

#include <stdint.h>

struct gw__field {
	uint32_t seg;      /* segment of the slot that holds it whole */
	uint32_t byte_off; /* first byte, within that segment */
	uint32_t n_bytes;  /* 1..5 */
	uint32_t n_bits;   /* 1..32; 0 = there is no such field */
	uint32_t shift;    /* bits below it in its last byte */
	uint32_t end;      /* bytes a frame must have to hold it */
};

static inline uint32_t gw__field_read(const struct gw__field *f, const uint8_t *seg_host)
{
	const uint8_t *p = seg_host + f->byte_off;
	uint64_t v = 0;

	for (uint32_t i = 0; i < f->n_bytes; i++)
		v = v << 8 | p[i];
	return (uint32_t)(v >> f->shift & (((uint64_t)1 << f->n_bits) - 1));
}

#endif
