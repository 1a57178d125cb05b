/* data/classmeans.c: running class means, and the nearest-class-mean check. Must not know where rows come from.
 * Next: classmeans.h. */
#include "data/classmeans.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/diag.h"

#define CLASSES_MAX 10000u
#define DIM_MAX 65536u

struct gw__classmeans {
	uint32_t n_classes, dim;
	uint64_t *count; /* [n_classes] */
	double *sum;     /* (n_classes, dim) */
};

int gw__classmeans_create(uint32_t n_classes, uint32_t dim, struct gw__classmeans **out, struct gw_diag *diag)
{
	struct gw__classmeans *m;

	if (!n_classes || n_classes > CLASSES_MAX || !dim || dim > DIM_MAX)
		return gw__fail(diag, -EINVAL, "class means of %u classes in %u dimensions: 1..%u and 1..%u are possible",
				n_classes, dim, CLASSES_MAX, DIM_MAX);
	m = gw__calloc(1, sizeof(*m));
	if (!m)
		return gw__fail(diag, -ENOMEM, "no memory for class means");
	m->n_classes = n_classes;
	m->dim = dim;
	m->count = gw__calloc(n_classes, sizeof(*m->count));
	m->sum = gw__calloc((size_t)n_classes * dim, sizeof(*m->sum));
	if (!m->count || !m->sum) {
		gw__classmeans_destroy(m);
		return gw__fail(diag, -ENOMEM, "no memory for the means of %u classes", n_classes);
	}
	*out = m;
	return 0;
}

void gw__classmeans_destroy(struct gw__classmeans *m)
{
	if (!m)
		return;
	gw__free(m->count);
	gw__free(m->sum);
	gw__free(m);
}

uint32_t gw__classmeans_add(struct gw__classmeans *m, const float *rows, const uint32_t *cls, uint32_t n)
{
	uint32_t n_taken = 0;

	for (uint32_t i = 0; i < n; i++) {
		const float *row = rows + (size_t)i * m->dim;
		double *sum;

		if (cls[i] >= m->n_classes)
			continue;
		sum = m->sum + (size_t)cls[i] * m->dim;
		for (uint32_t d = 0; d < m->dim; d++)
			sum[d] += (double)row[d];
		m->count[cls[i]]++;
		n_taken++;
	}
	return n_taken;
}

uint64_t gw__classmeans_count(const struct gw__classmeans *m, uint32_t cls)
{
	return m->count[cls];
}

double gw__classmeans_mean(const struct gw__classmeans *m, uint32_t cls, uint32_t d)
{
	return m->count[cls] ? m->sum[(size_t)cls * m->dim + d] / (double)m->count[cls] : 0;
}

double gw__classmeans_norm(const struct gw__classmeans *m, uint32_t cls)
{
	double square = 0;

	for (uint32_t d = 0; d < m->dim; d++) {
		double v = gw__classmeans_mean(m, cls, d);

		square += v * v;
	}
	return sqrt(square);
}

/* ---- nearest class mean ---------------------------------------------------------------------- */

struct ncm {
	const struct gw__ncm_rows *rows;
	const uint32_t *cls;
	uint32_t n_classes, n_train;
	uint32_t *count;  /* [n_classes] */
	double *mean;     /* (n_classes, dim), first sums */
	double *all;      /* [dim] mean of the first half, taken row by row */
	double *weight;   /* [dim] 1 / variance, 0 for a dimension that is ignored; first sums of squares */
	float *row;       /* [dim] */
};

/* Welford's running mean and sum of squares: no cancellation, one pass. */
static int learn(struct ncm *m, bool standardise, struct gw_diag *diag)
{
	uint32_t dim = m->rows->dim;

	for (uint32_t i = 0; i < m->n_train; i++) {
		double *sum = m->mean + (size_t)m->cls[i] * dim;

		m->rows->row(m->rows->ctx, i, m->row);
		m->count[m->cls[i]]++;
		for (uint32_t d = 0; d < dim; d++) {
			double x = (double)m->row[d], delta = x - m->all[d];

			m->all[d] += delta / (i + 1);
			m->weight[d] += delta * (x - m->all[d]);
			sum[d] += x;
		}
	}
	for (uint32_t d = 0; d < dim; d++) {
		double variance = m->weight[d] / m->n_train;

		if (!isfinite(variance))
			return gw__fail(diag, -EDOM, "dimension %u holds a value that is no number", d);
		/* a spread of rounding errors alone counts as none */
		m->weight[d] = variance <= 1e-12 * m->all[d] * m->all[d] ? 0 : 1 / variance;
		if (!standardise)
			m->weight[d] = 1;
	}
	for (uint32_t c = 0; c < m->n_classes; c++)
		for (uint32_t d = 0; m->count[c] && d < dim; d++)
			m->mean[(size_t)c * dim + d] /= m->count[c];
	return 0;
}

static int nearest(const struct ncm *m, uint32_t *cls)
{
	uint32_t dim = m->rows->dim;
	double best = INFINITY;

	for (uint32_t c = 0; c < m->n_classes; c++) {
		const double *mean = m->mean + (size_t)c * dim;
		double distance = 0;

		if (!m->count[c])
			continue;
		for (uint32_t d = 0; d < dim; d++) {
			double delta = (double)m->row[d] - mean[d];

			distance += m->weight[d] * delta * delta;
		}
		if (distance < best) {
			best = distance;
			*cls = c;
		}
	}
	return isfinite(best) ? 0 : -EDOM;
}

static int judge(struct ncm *m, struct gw__ncm_result *r, struct gw_diag *diag)
{
	for (uint32_t i = m->n_train; i < m->rows->n_rows; i++) {
		uint32_t cls = 0;

		m->rows->row(m->rows->ctx, i, m->row);
		if (nearest(m, &cls))
			return gw__fail(diag, -EDOM, "row %u holds a value that is no number", i);
		r->n_correct += cls == m->cls[i];
	}
	return 0;
}

static int evaluate(struct ncm *m, bool standardise, struct gw__ncm_result *r, struct gw_diag *diag)
{
	int err = learn(m, standardise, diag);

	if (!err)
		err = judge(m, r, diag);
	if (err)
		return err;
	for (uint32_t c = 0; c < m->n_classes; c++)
		r->n_classes += m->count[c] > 0;
	r->n_train = m->n_train;
	r->n_test = m->rows->n_rows - m->n_train;
	r->accuracy = (double)r->n_correct / r->n_test;
	r->chance = 1.0 / r->n_classes;
	return 0;
}

int gw__ncm_evaluate(const struct gw__ncm_rows *rows, const uint32_t *cls, uint32_t n_classes, bool standardise,
		     struct gw__ncm_result *result, struct gw_diag *diag)
{
	struct ncm m = { .rows = rows, .cls = cls, .n_classes = n_classes, .n_train = rows->n_rows / 2 };
	struct gw__ncm_result r = { 0 };
	uint32_t dim = rows->dim;
	int err;

	if (rows->n_rows < 2 || !dim || !n_classes || n_classes > CLASSES_MAX)
		return gw__fail(diag, -EINVAL, "%u rows of %u dimensions in %u classes: nothing to compare", rows->n_rows,
				dim, n_classes);
	for (uint32_t i = 0; i < rows->n_rows; i++)
		if (cls[i] >= n_classes)
			return gw__fail(diag, -EINVAL, "row %u has class %u of %u", i, cls[i], n_classes);
	m.count = gw__calloc(n_classes, sizeof(*m.count));
	m.mean = gw__calloc((size_t)n_classes * dim, sizeof(*m.mean));
	m.all = gw__calloc(dim, sizeof(*m.all));
	m.weight = gw__calloc(dim, sizeof(*m.weight));
	m.row = gw__calloc(dim, sizeof(*m.row));
	if (m.count && m.mean && m.all && m.weight && m.row)
		err = evaluate(&m, standardise, &r, diag);
	else
		err = gw__fail(diag, -ENOMEM, "no memory for the means of %u classes", n_classes);
	gw__free(m.count);
	gw__free(m.mean);
	gw__free(m.all);
	gw__free(m.weight);
	gw__free(m.row);
	if (!err)
		*result = r;
	return err;
}

void gw__ncm_row_f32(void *array, uint32_t i, float *out)
{
	const struct gw__ncm_array *a = array;

	memcpy(out, (const uint8_t *)a->base + i * a->stride, a->dim * sizeof(float));
}

void gw__ncm_row_i8(void *array, uint32_t i, float *out)
{
	const struct gw__ncm_array *a = array;
	const int8_t *in = (const int8_t *)((const uint8_t *)a->base + i * a->stride);

	for (uint32_t d = 0; d < a->dim; d++)
		out[d] = (float)in[d];
}
