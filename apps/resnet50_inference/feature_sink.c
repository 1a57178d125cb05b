/* resnet50_inference/feature_sink.c: see feature_sink.h. Lines: pc1=/pc2= on standard output, samples on
 * standard error. Must not know packets or bursts. Next: summary.c prints what is collected here. */
#include "feature_sink.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/diag.h"

#define N_SAMPLES 2u
#define SAMPLE_DIMS 3u

int feature_sink_init(struct feature_sink *s, struct gw_diag *diag)
{
	int err = 0;

	if (s->labels && s->labels->n_images)
		err = gw__classmeans_create(s->labels->n_classes, s->dim, &s->means, diag);
	if (!err && s->pca_every)
		err = gw__pca_create(s->dim, SINK_PCA_ROWS, &s->pca, diag);
	if (err)
		feature_sink_fini(s);
	return err;
}

void feature_sink_fini(struct feature_sink *s)
{
	gw__free(s->rows);
	gw__free(s->index);
	gw__classmeans_destroy(s->means);
	gw__pca_destroy(s->pca);
	s->rows = NULL;
	s->index = NULL;
	s->means = NULL;
	s->pca = NULL;
	s->n_rows = 0;
	s->cap_rows = 0;
}

int feature_sink_class(const struct feature_sink *s, uint64_t index)
{
	if (!s->labels || !s->labels->n_images)
		return -1;
	return (int)s->labels->cls[index % s->labels->n_images];
}

static const char *class_name(const struct feature_sink *s, int cls)
{
	return cls < 0 ? "no label" : s->labels->class_names[cls];
}

static void print_sample(const struct feature_sink *s, const float *row, uint64_t index)
{
	int cls = feature_sink_class(s, index);

	fprintf(stderr, "  feature[image %" PRIu64 ", class %d (%s)] = [", index, cls, class_name(s, cls));
	for (uint32_t d = 0; d < SAMPLE_DIMS && d < s->dim; d++)
		fprintf(stderr, "%.4f, ", (double)row[d]);
	fprintf(stderr, "...] (dim=%u)\n", s->dim);
}

static bool grow(struct feature_sink *s, uint32_t want)
{
	uint32_t cap = s->cap_rows ? s->cap_rows : 256;
	float *rows;
	uint64_t *index;

	while (cap < want)
		cap *= 2;
	if (cap == s->cap_rows)
		return true;
	rows = gw__realloc(s->rows, (size_t)cap * s->dim * sizeof(*rows));
	if (rows)
		s->rows = rows;
	index = gw__realloc(s->index, cap * sizeof(*index));
	if (index)
		s->index = index;
	if (!rows || !index)
		return false;
	s->cap_rows = cap;
	return true;
}

static void keep(struct feature_sink *s, const float *rows, uint32_t n, uint64_t index)
{
	if (n > SINK_MAX_ROWS - s->n_rows)
		n = SINK_MAX_ROWS - s->n_rows;
	if (!n)
		return;
	if (!grow(s, s->n_rows + n)) {
		s->out_of_memory = true;
		return;
	}
	memcpy(s->rows + (size_t)s->n_rows * s->dim, rows, (size_t)n * s->dim * sizeof(*rows));
	for (uint32_t i = 0; i < n; i++)
		s->index[s->n_rows + i] = index + i;
	s->n_rows += n;
}

/* One line an image of the batch that is just done, in the newest rows' two principal components. */
static void print_pca(struct feature_sink *s, const float *rows, uint32_t n, uint64_t index)
{
	struct gw__pca_result r;

	if (gw__pca_compute(s->pca, &r))
		return;
	memcpy(s->explained, r.explained, sizeof(s->explained));
	if (s->quiet_stdout)
		return;
	for (uint32_t i = 0; i < n; i++) {
		int cls = feature_sink_class(s, index + i);
		double pc[GW__PCA_COMPONENTS];

		gw__pca_project(s->pca, rows + (size_t)i * s->dim, 1, pc);
		printf("pc1=%.5f pc2=%.5f image=%" PRIu64 " class=%d (%s)\n", pc[0], pc[1], index + i, cls,
		       class_name(s, cls));
	}
	fflush(stdout);
}

static void add_to_means(struct feature_sink *s, const float *rows, uint32_t n, uint64_t index)
{
	for (uint32_t i = 0; s->means && i < n; i++) {
		uint32_t cls = (uint32_t)feature_sink_class(s, index + i);

		(void)gw__classmeans_add(s->means, rows + (size_t)i * s->dim, &cls, 1);
	}
}

void feature_sink_consume(void *sink, const float *rows, uint32_t n, uint64_t index)
{
	struct feature_sink *s = sink;

	for (uint32_t i = 0; i < n && s->n_samples < N_SAMPLES; i++, s->n_samples++)
		print_sample(s, rows + (size_t)i * s->dim, index + i);
	keep(s, rows, n, index);
	add_to_means(s, rows, n, index);
	s->n_images += n;
	s->n_batches++;
	if (!s->pca)
		return;
	gw__pca_add(s->pca, rows, n);
	if (s->n_batches % s->pca_every == 0)
		print_pca(s, rows, n, index);
}

static int write_row(const struct feature_sink *s, const float *row, FILE *f)
{
	return fwrite(row, sizeof(*row), s->dim, f) == s->dim ? 0 : -EIO;
}

int feature_sink_dump(const struct feature_sink *s, uint64_t n_images, const char *path, struct gw_diag *diag)
{
	FILE *f = fopen(path, "wb");
	float *hole;
	int err = 0;

	if (!f)
		return gw__fail(diag, -errno, "%s: %s", path, strerror(errno));
	hole = gw__malloc(s->dim * sizeof(*hole));
	for (uint32_t d = 0; hole && d < s->dim; d++)
		hole[d] = NAN;
	for (uint32_t i = 0; i < s->n_rows; i++)
		if (s->index[i] >= n_images && s->index[i] < SINK_MAX_ROWS)
			n_images = s->index[i] + 1;
	if (n_images > SINK_MAX_ROWS)
		n_images = SINK_MAX_ROWS;
	for (uint64_t image = 0, i = 0; hole && !err && image < n_images; image++) {
		/* windows come in order, so the rows do too */
		while (i < s->n_rows && s->index[i] < image)
			i++;
		err = write_row(s, i < s->n_rows && s->index[i] == image ? s->rows + i * s->dim : hole, f);
	}
	gw__free(hole);
	if (!hole)
		err = -ENOMEM;
	if (fclose(f) && !err)
		err = -EIO;
	return err ? gw__fail(diag, err, "%s: %s", path, strerror(-err)) : 0;
}
