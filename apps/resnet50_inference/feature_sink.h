/* resnet50_inference/feature_sink.h: what becomes of finished features: two samples, PC1/PC2 lines, class
 * means, and the rows themselves for the accuracy at the end. Fed by the inference thread alone.
 * Must not know packets or bursts. Next: feature_sink.c, accuracy.h, summary.h. */
#ifndef RESNET50_FEATURE_SINK_H
#define RESNET50_FEATURE_SINK_H

#include <gpuwire/common.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "data/classmeans.h"
#include "data/labels.h"
#include "data/pca.h"

#define SINK_MAX_ROWS 16384u /* feature vectors kept; later ones still count in the class means */
#define SINK_PCA_ROWS 512u   /* the newest so many span the principal components */

struct feature_sink {
	/* set by the owner */
	uint32_t dim;
	uint32_t pca_every;   /* batches; 0 = never */
	const struct gw__labels *labels; /* NULL = no labels: no classes, no accuracy */
	bool quiet_stdout;    /* standard output belongs to a JSON document */

	/* read by the summary once the inference thread was joined */
	uint64_t n_images, n_batches;
	float *rows;          /* (n_rows, dim) */
	uint64_t *index;      /* [n_rows]: image of the stream */
	uint32_t n_rows;
	struct gw__classmeans *means; /* NULL without labels */
	struct gw__pca *pca;          /* NULL when nobody wants it */
	double explained[GW__PCA_COMPONENTS]; /* share of the variance on PC1 and PC2, last time */
	bool out_of_memory;   /* some rows were not kept */

	/* own state */
	uint32_t cap_rows;
	uint32_t n_samples;
};

/* 0, -ENOMEM. */
int feature_sink_init(struct feature_sink *s, struct gw_diag *diag);
void feature_sink_fini(struct feature_sink *s);
/* features_fn: n rows of dim floats, images index, index + 1, ... */
void feature_sink_consume(void *sink, const float *rows, uint32_t n, uint64_t index);
/* Class of an image of the stream; -1 without labels. A looped capture starts over. */
int feature_sink_class(const struct feature_sink *s, uint64_t index);
/* Every kept row at its image's place, float32 as this machine writes it; NaN where none arrived.
 * 0 or negative errno. */
int feature_sink_dump(const struct feature_sink *s, uint64_t n_images, const char *path, struct gw_diag *diag);

#endif
