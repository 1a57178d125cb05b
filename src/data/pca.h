/* data/pca.h: the first two principal components of the newest rows of a stream of features.
 * Exact over the rows kept (all of them until max_rows is reached, then a sliding window), computed from the
 * rows' scalar products, which grow row by row: cheap when there are far fewer rows than dimensions.
 * Must not know images or classes. Next: pca.c. */
#ifndef GW_DATA_PCA_H
#define GW_DATA_PCA_H

#include <stdint.h>

#include <gpuwire/common.h>

#define GW__PCA_COMPONENTS 2u

struct gw__pca;

struct gw__pca_result {
	uint32_t n_rows;                             /* the components are of this many rows */
	double total_variance;                       /* of all dimensions, with n_rows - 1 below the line */
	double variance[GW__PCA_COMPONENTS];         /* along each component */
	double explained[GW__PCA_COMPONENTS];        /* share of the total, 0..1 */
	const double *component[GW__PCA_COMPONENTS]; /* [dim], length 1, the largest loading (by amount) positive;
	                                                all zero where the rows have no further variance */
	const double *mean;                          /* [dim] */
};

/* dim 1..65536 values a row; max_rows 2..4096. Memory: max_rows * (4 dim + 8 max_rows) bytes and a little.
 * Returns 0; -EINVAL; -ENOMEM. *out only on success; the caller owns it. */
GW_MUST_CHECK int gw__pca_create(uint32_t dim, uint32_t max_rows, struct gw__pca **out, struct gw_diag *diag);
/* NULL is fine. */
void gw__pca_destroy(struct gw__pca *pca);

/* Take rows (n, dim); the oldest make room. One caller at a time. Blocks: n * n_rows * dim multiplications. */
void gw__pca_add(struct gw__pca *pca, const float *rows, uint32_t n);

/* Components of the rows kept now. *result borrows from pca, until the next compute or destroy.
 * Returns 0; -EAGAIN fewer than two rows; -EDOM a row holds an infinity or not-a-number. */
GW_MUST_CHECK int gw__pca_compute(struct gw__pca *pca, struct gw__pca_result *result);

/* Coordinates of rows (n, dim) in the last computed components: pc (n, GW__PCA_COMPONENTS). */
void gw__pca_project(const struct gw__pca *pca, const float *rows, uint32_t n, double *pc);

#endif
