/* data/classmeans.h: what features say about classes: the mean of each, its length, and how often the nearest mean is
 * the right one on rows that were held out. Must not know where rows come from. Next: classmeans.c. */
#ifndef GW_DATA_CLASSMEANS_H
#define GW_DATA_CLASSMEANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gpuwire/common.h>

/* ---- running means ---------------------------------------------------------------------------- */

struct gw__classmeans;

/* n_classes 1..10000, dim 1..65536. 0; -EINVAL; -ENOMEM. *out only on success; the caller owns it. */
GW_MUST_CHECK int gw__classmeans_create(uint32_t n_classes, uint32_t dim, struct gw__classmeans **out,
					struct gw_diag *diag);
/* NULL is fine. */
void gw__classmeans_destroy(struct gw__classmeans *m);
/* Take rows (n, dim) of classes cls[n]. Rows of a class out of bounds are not taken. Returns how many were.
 * One caller at a time. */
uint32_t gw__classmeans_add(struct gw__classmeans *m, const float *rows, const uint32_t *cls, uint32_t n);
uint64_t gw__classmeans_count(const struct gw__classmeans *m, uint32_t cls);
/* Mean of dimension d, 0 for an empty class; and the Euclidean length of the mean vector. */
double gw__classmeans_mean(const struct gw__classmeans *m, uint32_t cls, uint32_t d);
double gw__classmeans_norm(const struct gw__classmeans *m, uint32_t cls);

/* ---- nearest class mean on a held-out half ------------------------------------------------------- */

/* Rows by number, so that nobody has to hold them in one piece. row() fills out[dim] with row i < n_rows. */
struct gw__ncm_rows {
	uint32_t n_rows, dim;
	void (*row)(void *ctx, uint32_t i, float *out);
	void *ctx;
};

struct gw__ncm_result {
	uint32_t n_train, n_test, n_correct;
	uint32_t n_classes; /* that the first half holds */
	double accuracy;    /* n_correct / n_test */
	double chance;      /* 1 / n_classes */
};

/* Means from the first half of the rows, judged on the second.
 *   cls          [n_rows], each below n_classes
 *   standardise  measure each dimension in deviations of the first half; one that never varies there is ignored
 * Returns 0; -EINVAL fewer than 2 rows, a class out of bounds, nothing to learn; -EDOM a value that is no
 * number; -ENOMEM. Blocks: reads the rows of the first half once and those of the second once. */
GW_MUST_CHECK int gw__ncm_evaluate(const struct gw__ncm_rows *rows, const uint32_t *cls, uint32_t n_classes,
				   bool standardise, struct gw__ncm_result *result, struct gw_diag *diag);

/* row() for rows that do lie in memory, `stride` bytes apart: floats, or signed bytes (the wire's pixels). */
struct gw__ncm_array {
	const void *base;
	size_t stride;
	uint32_t dim;
};
void gw__ncm_row_f32(void *array, uint32_t i, float *out);
void gw__ncm_row_i8(void *array, uint32_t i, float *out);

#endif
