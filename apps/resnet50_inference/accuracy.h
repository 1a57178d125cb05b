/* resnet50_inference/accuracy.h: how often the nearest class mean is right on a held-out half of the images:
 * by features, beside raw pixels and chance. Must not print. Next: accuracy.c, data/classmeans.h. */
#ifndef RESNET50_ACCURACY_H
#define RESNET50_ACCURACY_H

#include "data/classmeans.h"
#include "dataset.h"
#include "feature_sink.h"

#define ACCURACY_MAX_RAW 4096u /* images whose raw pixels are read for the comparison */

struct accuracy {
	bool known;
	struct gw__ncm_result features;
	bool raw_known;                 /* the capture is here and holds every frame */
	struct gw__ncm_result raw;
	const char *why_not;            /* known = false: in words */
};

void accuracy_measure(const struct feature_sink *s, struct dataset *d, const struct geometry *g,
		      struct accuracy *out);

#endif
