/* resnet50_inference/accuracy.c: the same images, the same halves, by features and by pixels, each dimension
 * standardised on the first half. Must not print. Next: summary.c. */
#include "accuracy.h"

#include <string.h>

#include "base/alloc.h"

struct rows {
	const float *base;
	uint32_t dim;
	const uint64_t *index; /* NULL: row i is at place i */
	uint32_t n_images;
};

static void row(void *ctx, uint32_t i, float *out)
{
	const struct rows *r = ctx;
	size_t at = r->index ? r->index[i] % r->n_images : i;

	memcpy(out, r->base + at * r->dim, r->dim * sizeof(*out));
}

static uint32_t *classes_of(const struct feature_sink *s)
{
	uint32_t *cls = gw__malloc(s->n_rows * sizeof(*cls));

	for (uint32_t i = 0; cls && i < s->n_rows; i++)
		cls[i] = (uint32_t)feature_sink_class(s, s->index[i]);
	return cls;
}

static bool by_features(const struct feature_sink *s, const uint32_t *cls, struct gw__ncm_result *out)
{
	struct rows r = { .base = s->rows, .dim = s->dim };
	struct gw__ncm_rows rows = { .n_rows = s->n_rows, .dim = s->dim, .row = row, .ctx = &r };

	return !gw__ncm_evaluate(&rows, cls, s->labels->n_classes, true, out, NULL);
}

static bool by_pixels(const struct feature_sink *s, struct dataset *d, const struct geometry *g,
		      const uint32_t *cls, struct gw__ncm_result *out)
{
	uint32_t n_images = s->labels->n_images, dim = g->chan * RAW_GRID * RAW_GRID;
	struct rows r = { .dim = dim, .index = s->index, .n_images = n_images };
	struct gw__ncm_rows rows = { .n_rows = s->n_rows, .dim = dim, .row = row, .ctx = &r };
	float *pixels;
	bool ok;

	if (n_images > ACCURACY_MAX_RAW || dataset_raw_pixels(d, g, n_images, &pixels))
		return false;
	r.base = pixels;
	ok = !gw__ncm_evaluate(&rows, cls, s->labels->n_classes, true, out, NULL);
	gw__free(pixels);
	return ok;
}

void accuracy_measure(const struct feature_sink *s, struct dataset *d, const struct geometry *g,
		      struct accuracy *out)
{
	uint32_t *cls;

	memset(out, 0, sizeof(*out));
	out->why_not = "no labels beside the capture";
	if (!s->labels || !s->labels->n_images)
		return;
	out->why_not = "fewer than two images per class on average";
	if (s->n_rows < 2 * s->labels->n_classes)
		return;
	out->why_not = "no memory, or a feature that is not a number";
	cls = classes_of(s);
	if (!cls)
		return;
	out->known = by_features(s, cls, &out->features);
	out->raw_known = out->known && by_pixels(s, d, g, cls, &out->raw);
	gw__free(cls);
}
