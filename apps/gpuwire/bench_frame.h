/* apps/gpuwire/bench_frame.h: the frames that bench_tx describes: header, numbered payload, what arrives of it.
 * Must not know queues. Next: bench_frame.c. */
#ifndef GW_APP_BENCH_FRAME_H
#define GW_APP_BENCH_FRAME_H

#include "bench_run.h"

struct bench_frame {
	uint32_t header, payload; /* bytes */
	uint8_t dst[6], src[6], ip_src[4], ip_dst[4];
	uint16_t sport_lo, sport_hi, dport_lo, dport_hi;
	struct bench_elements elements;
};

/* Read entry n of bench_tx ("" = the map itself). 0 or negative errno with a sentence. */
int bench_frame_read(const struct gw_config *cfg, const char *block, struct bench_frame *f, struct gw_diag *diag);
/* Write the frame that takes turn `turn` of the port ranges: header + payload bytes at out. */
void bench_frame_write(const struct bench_frame *f, uint32_t turn, uint8_t *out);
void bench_number_write(const struct bench_number *n, uint64_t value, uint8_t *frame);
/* Compare elements [from, from + n) of a slot's converted payload with what was sent. Elements under the
 * running number are passed by. Returns how many differ. */
uint64_t bench_elements_check(const struct bench_elements *e, const struct bench_number *number, uint32_t header,
			      const uint8_t *out, uint32_t from, uint32_t n);
uint32_t bench_element_bits(const char *type);

#endif
