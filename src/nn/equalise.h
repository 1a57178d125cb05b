/* nn/equalise.h: before whole-number arithmetic, bring the ranges of a value's channels together.
 * Must not know backends. Next: equalise.c; nn.c calls it after calibration. */
#ifndef GW_NN_EQUALISE_H
#define GW_NN_EQUALISE_H

#include "nn/plan.h"

/* What calibration saw of each channel of each value, all values one after another: [gw__chan_total()]. */
struct gw__chan_stats {
	float *peak; /* largest magnitude */
	float *mean; /* over samples and positions */
};

/* Where a value's channels begin; and how many numbers there are in all (value = n_values). */
size_t gw__chan_at(const struct gw__plan *plan, uint32_t value);

/* Move a factor a channel from each value into the weights that make it and, inverted, into those that read it:
 * the plan computes the same, but its values fill more of the range that one scale a value gives them; the weaker a
 * channel, the more room it keeps for inputs beyond the calibration's. Values that
 * something other than convolutions and largest-of-window reads stay as they are. *stats follows; peaks[n_values]
 * is filled. 0 or -ENOMEM (then nothing has changed). */
int gw__plan_equalise(struct gw__plan *plan, struct gw__chan_stats *stats, float *peaks);

#endif
