/* data/pca.c: principal components by way of the Gram matrix G = X X' of the centred rows: an eigenvector u of G
 * with eigenvalue s gives the component X' u / sqrt(s). The leading eigenvectors come from subspace iteration with
 * a Rayleigh-Ritz step (G. Golub, C. Van Loan, Matrix Computations, 8.2.4); the small problem inside is solved by
 * Jacobi rotations. Must not depend on time or chance: the same rows give the same bits. Next: pca.h. */
#include "data/pca.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "base/diag.h"
#include "data/exact.h"

#define BLOCK 8u         /* vectors iterated; the two wanted converge at the rate (eigenvalue 9 / eigenvalue 2) */
#define ITERATIONS 1000u /* a bound: rows whose 2nd and 9th eigenvalue are equal never converge, nor matter */
#define TOLERANCE 1e-11  /* of the residual, relative to the first eigenvalue */
#define ROWS_MAX 4096u
#define DIM_MAX 65536u

struct gw__pca {
	uint32_t dim, max_rows;
	uint32_t n_rows, next;   /* rows kept; slot of the next one */
	bool has_origin;
	float *origin;           /* [dim] the first row: rows are kept as differences to it, which are small */
	float *rows;             /* (max_rows, dim) */
	double *gram;            /* (max_rows, max_rows) products of the kept differences */
	double *centred;         /* (n_rows, n_rows) */
	double *vectors, *image; /* (BLOCK, n_rows) */
	double *mean;            /* [dim] */
	double *component;       /* (GW__PCA_COMPONENTS, dim) */
};

int gw__pca_create(uint32_t dim, uint32_t max_rows, struct gw__pca **out, struct gw_diag *diag)
{
	struct gw__pca *p;
	size_t n = max_rows;

	if (!dim || dim > DIM_MAX || max_rows < 2 || max_rows > ROWS_MAX)
		return gw__fail(diag, -EINVAL, "PCA of %u dimensions over %u rows: 1..%u and 2..%u are possible", dim,
				max_rows, DIM_MAX, ROWS_MAX);
	p = gw__calloc(1, sizeof(*p));
	if (!p)
		return gw__fail(diag, -ENOMEM, "no memory for a PCA");
	p->dim = dim;
	p->max_rows = max_rows;
	p->origin = gw__calloc(dim, sizeof(float));
	p->rows = gw__calloc(n * dim, sizeof(float));
	p->gram = gw__calloc(n * n, sizeof(double));
	p->centred = gw__calloc(n * n, sizeof(double));
	p->vectors = gw__calloc(n * BLOCK, sizeof(double));
	p->image = gw__calloc(n * BLOCK, sizeof(double));
	p->mean = gw__calloc(dim, sizeof(double));
	p->component = gw__calloc((size_t)dim * GW__PCA_COMPONENTS, sizeof(double));
	if (!p->origin || !p->rows || !p->gram || !p->centred || !p->vectors || !p->image || !p->mean ||
	    !p->component) {
		gw__pca_destroy(p);
		return gw__fail(diag, -ENOMEM, "no memory for a PCA of %u dimensions over %u rows", dim, max_rows);
	}
	*out = p;
	return 0;
}

void gw__pca_destroy(struct gw__pca *p)
{
	if (!p)
		return;
	gw__free(p->origin);
	gw__free(p->rows);
	gw__free(p->gram);
	gw__free(p->centred);
	gw__free(p->vectors);
	gw__free(p->image);
	gw__free(p->mean);
	gw__free(p->component);
	gw__free(p);
}

/* Eight partial sums: a fixed order that a compiler may still turn into vectors. */
static double dot_f32(const float *restrict a, const float *restrict b, uint32_t n)
{
	double s[8] = { 0 };
	uint32_t i = 0;

	for (; i + 8 <= n; i += 8)
		for (uint32_t k = 0; k < 8; k++)
			s[k] += (double)a[i + k] * (double)b[i + k];
	for (; i < n; i++)
		s[0] += (double)a[i] * (double)b[i];
	return ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
}

static double dot(const double *restrict a, const double *restrict b, uint32_t n)
{
	double s[4] = { 0 };
	uint32_t i = 0;

	for (; i + 4 <= n; i += 4)
		for (uint32_t k = 0; k < 4; k++)
			s[k] += a[i + k] * b[i + k];
	for (; i < n; i++)
		s[0] += a[i] * b[i];
	return (s[0] + s[1]) + (s[2] + s[3]);
}

static void add_row(struct gw__pca *p, const float *row)
{
	uint32_t slot = p->next;
	float *kept = p->rows + (size_t)slot * p->dim;

	for (uint32_t d = 0; !p->has_origin && d < p->dim; d++)
		p->origin[d] = isfinite(row[d]) ? row[d] : 0;
	p->has_origin = true;
	for (uint32_t d = 0; d < p->dim; d++)
		kept[d] = row[d] - p->origin[d];
	p->next = (slot + 1) % p->max_rows;
	if (p->n_rows < p->max_rows)
		p->n_rows++;
	for (uint32_t i = 0; i < p->n_rows; i++) {
		double g = dot_f32(kept, p->rows + (size_t)i * p->dim, p->dim);

		p->gram[(size_t)slot * p->max_rows + i] = g;
		p->gram[(size_t)i * p->max_rows + slot] = g;
	}
}

void gw__pca_add(struct gw__pca *p, const float *rows, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		add_row(p, rows + (size_t)i * p->dim);
}

/* centred = (I - 1/n) gram (I - 1/n). Returns its trace: the total sum of squares. */
static double centre(struct gw__pca *p)
{
	uint32_t n = p->n_rows;
	double *row_mean = p->image, all = 0, trace = 0;

	for (uint32_t i = 0; i < n; i++) {
		row_mean[i] = 0;
		for (uint32_t k = 0; k < n; k++)
			row_mean[i] += p->gram[(size_t)i * p->max_rows + k];
		row_mean[i] /= n;
		all += row_mean[i];
	}
	all /= n;
	for (uint32_t i = 0; i < n; i++) {
		for (uint32_t k = 0; k < n; k++)
			p->centred[(size_t)i * n + k] =
				p->gram[(size_t)i * p->max_rows + k] - row_mean[i] - row_mean[k] + all;
		trace += p->centred[(size_t)i * n + i];
	}
	return trace;
}

/* Modified Gram-Schmidt, twice for safety; a vector that vanishes becomes zero. */
static void orthonormalise(double *v, uint32_t n_vectors, uint32_t n)
{
	for (uint32_t a = 0; a < n_vectors; a++) {
		double *va = v + (size_t)a * n, before = sqrt(dot(va, va, n)), after;

		for (int pass = 0; pass < 2; pass++) {
			for (uint32_t b = 0; b < a; b++) {
				const double *vb = v + (size_t)b * n;
				double s = dot(va, vb, n);

				for (uint32_t i = 0; i < n; i++)
					va[i] -= s * vb[i];
			}
		}
		after = sqrt(dot(va, va, n));
		for (uint32_t i = 0; i < n; i++)
			va[i] = after > 1e-14 * before ? va[i] / after : 0;
	}
}

/* One Jacobi rotation that makes a[p][q] zero; r collects the rotations. */
static void rotate(double a[BLOCK][BLOCK], double r[BLOCK][BLOCK], uint32_t m, uint32_t p, uint32_t q)
{
	double theta, t, c, s;

	if (a[p][q] == 0)
		return;
	theta = (a[q][q] - a[p][p]) / (2 * a[p][q]);
	t = (theta < 0 ? -1 : 1) / (fabs(theta) + sqrt(theta * theta + 1));
	c = 1 / sqrt(t * t + 1);
	s = t * c;
	for (uint32_t k = 0; k < m; k++) {
		double x = a[k][p], y = a[k][q];

		a[k][p] = c * x - s * y;
		a[k][q] = s * x + c * y;
	}
	for (uint32_t k = 0; k < m; k++) {
		double x = a[p][k], y = a[q][k], u = r[k][p], v = r[k][q];

		a[p][k] = c * x - s * y;
		a[q][k] = s * x + c * y;
		r[k][p] = c * u - s * v;
		r[k][q] = s * u + c * v;
	}
	a[p][q] = 0;
	a[q][p] = 0;
}

/* Eigenvalues of the symmetric a into its diagonal, eigenvectors into the columns of r. */
static void jacobi(double a[BLOCK][BLOCK], double r[BLOCK][BLOCK], uint32_t m)
{
	for (uint32_t i = 0; i < m; i++)
		for (uint32_t k = 0; k < m; k++)
			r[i][k] = i == k;
	for (uint32_t sweep = 0; sweep < 30; sweep++) {
		double off = 0, on = 0;

		for (uint32_t i = 0; i < m; i++)
			for (uint32_t k = 0; k < m; k++)
				*(i == k ? &on : &off) += a[i][k] * a[i][k];
		if (off <= 1e-32 * on)
			return;
		for (uint32_t i = 0; i + 1 < m; i++)
			for (uint32_t k = i + 1; k < m; k++)
				rotate(a, r, m, i, k);
	}
}

static void multiply(const struct gw__pca *p, const double *v, double *out, uint32_t m)
{
	uint32_t n = p->n_rows;

	for (uint32_t a = 0; a < m; a++)
		for (uint32_t i = 0; i < n; i++)
			out[(size_t)a * n + i] = dot(p->centred + (size_t)i * n, v + (size_t)a * n, n);
}

/* vectors := the m Ritz vectors in falling order, image := their products with the matrix, value[m]. */
static void rayleigh_ritz(struct gw__pca *p, uint32_t m, double value[BLOCK])
{
	double a[BLOCK][BLOCK], r[BLOCK][BLOCK], v[BLOCK], w[BLOCK];
	uint32_t n = p->n_rows, order[BLOCK];

	for (uint32_t i = 0; i < m; i++) {
		for (uint32_t k = i; k < m; k++)
			a[i][k] = a[k][i] = dot(p->vectors + (size_t)i * n, p->image + (size_t)k * n, n);
		order[i] = i;
	}
	jacobi(a, r, m);
	for (uint32_t i = 1; i < m; i++) /* insertion sort, largest first */
		for (uint32_t k = i; k && a[order[k]][order[k]] > a[order[k - 1]][order[k - 1]]; k--) {
			uint32_t t = order[k];

			order[k] = order[k - 1];
			order[k - 1] = t;
		}
	for (uint32_t i = 0; i < n; i++) {
		for (uint32_t k = 0; k < m; k++) {
			v[k] = p->vectors[(size_t)k * n + i];
			w[k] = p->image[(size_t)k * n + i];
		}
		for (uint32_t k = 0; k < m; k++) {
			double x = 0, y = 0;

			for (uint32_t j = 0; j < m; j++) {
				x += r[j][order[k]] * v[j];
				y += r[j][order[k]] * w[j];
			}
			p->vectors[(size_t)k * n + i] = x;
			p->image[(size_t)k * n + i] = y;
		}
	}
	for (uint32_t k = 0; k < m; k++)
		value[k] = a[order[k]][order[k]];
}

static bool converged(const struct gw__pca *p, const double value[BLOCK], uint32_t m)
{
	uint32_t n = p->n_rows;

	for (uint32_t k = 0; k < GW__PCA_COMPONENTS && k < m; k++) {
		double square = 0;

		for (uint32_t i = 0; i < n; i++) {
			double e = p->image[(size_t)k * n + i] - value[k] * p->vectors[(size_t)k * n + i];

			square += e * e;
		}
		if (sqrt(square) > TOLERANCE * value[0])
			return false;
	}
	return true;
}

static void leading_vectors(struct gw__pca *p, double value[BLOCK])
{
	uint32_t n = p->n_rows, m = n < BLOCK ? n : BLOCK;

	for (size_t i = 0; i < (size_t)m * n; i++) /* any start will do, as long as it is always the same */
		p->vectors[i] = (double)(gw__exact_hash(1, i) >> 11) * 0x1p-53 - 0.5;
	orthonormalise(p->vectors, m, n);
	for (uint32_t step = 0; step < ITERATIONS; step++) {
		multiply(p, p->vectors, p->image, m);
		rayleigh_ritz(p, m, value);
		if (converged(p, value, m))
			return;
		memcpy(p->vectors, p->image, (size_t)m * n * sizeof(double));
		orthonormalise(p->vectors, m, n);
	}
	multiply(p, p->vectors, p->image, m); /* the bound was reached: take what there is, in order */
	rayleigh_ritz(p, m, value);
}

static void make_mean(struct gw__pca *p)
{
	memset(p->mean, 0, p->dim * sizeof(double));
	for (uint32_t i = 0; i < p->n_rows; i++)
		for (uint32_t d = 0; d < p->dim; d++)
			p->mean[d] += (double)p->rows[(size_t)i * p->dim + d];
	for (uint32_t d = 0; d < p->dim; d++)
		p->mean[d] = p->mean[d] / p->n_rows + (double)p->origin[d];
}

/* c = X' u, made of length 1, largest loading positive. u sums to zero, so the mean needs no subtraction. */
static void make_component(struct gw__pca *p, const double *u, double *c)
{
	double length, largest = 0;

	memset(c, 0, p->dim * sizeof(double));
	for (uint32_t i = 0; i < p->n_rows; i++)
		for (uint32_t d = 0; d < p->dim; d++)
			c[d] += u[i] * (double)p->rows[(size_t)i * p->dim + d];
	length = sqrt(dot(c, c, p->dim));
	for (uint32_t d = 0; d < p->dim; d++)
		if (fabs(c[d]) > fabs(largest))
			largest = c[d];
	if (largest < 0)
		length = -length;
	for (uint32_t d = 0; length != 0 && d < p->dim; d++)
		c[d] /= length;
}

int gw__pca_compute(struct gw__pca *p, struct gw__pca_result *result)
{
	uint32_t n = p->n_rows;
	double value[BLOCK] = { 0 }, trace;

	if (n < 2)
		return -EAGAIN;
	trace = centre(p);
	if (!isfinite(trace))
		return -EDOM;
	*result = (struct gw__pca_result){ .n_rows = n, .mean = p->mean };
	make_mean(p);
	memset(p->component, 0, (size_t)p->dim * GW__PCA_COMPONENTS * sizeof(double));
	if (trace > 0)
		leading_vectors(p, value);
	for (uint32_t k = 0; k < GW__PCA_COMPONENTS; k++) {
		double *c = p->component + (size_t)k * p->dim;

		result->component[k] = c;
		if (trace <= 0 || value[k] <= 1e-12 * trace) /* rounding, not variance */
			continue;
		make_component(p, p->vectors + (size_t)k * n, c);
		result->variance[k] = value[k] / (n - 1);
		result->explained[k] = value[k] / trace;
	}
	result->total_variance = trace > 0 ? trace / (n - 1) : 0;
	return 0;
}

void gw__pca_project(const struct gw__pca *p, const float *rows, uint32_t n, double *pc)
{
	for (uint32_t i = 0; i < n; i++) {
		const float *row = rows + (size_t)i * p->dim;

		for (uint32_t k = 0; k < GW__PCA_COMPONENTS; k++) {
			const double *c = p->component + (size_t)k * p->dim;
			double s = 0;

			for (uint32_t d = 0; d < p->dim; d++)
				s += ((double)row[d] - p->mean[d]) * c[d];
			pc[i * GW__PCA_COMPONENTS + k] = s;
		}
	}
}
