/* Class means and the nearest-class-mean check: sums, norms, known accuracies, shifted labels, refusals. */
#include <math.h>

#include "base/alloc.h"
#include "data/classmeans.h"
#include "data/exact.h"
#include "t.h"

static void means(void)
{
	struct gw__classmeans *m;
	const float rows[4][2] = { { 1, 2 }, { 3, 4 }, { 30, 40 }, { 9, 9 } };
	const uint32_t cls[4] = { 1, 1, 2, 3 };

	T_NEED(!gw__classmeans_create(3, 2, &m, NULL));
	T_EQ(gw__classmeans_add(m, rows[0], cls, 4), 3); /* class 3 does not exist */
	T_EQ(gw__classmeans_count(m, 0), 0);
	T_EQ(gw__classmeans_count(m, 1), 2);
	T_OK(gw__classmeans_mean(m, 1, 0) == 2 && gw__classmeans_mean(m, 1, 1) == 3);
	T_OK(gw__classmeans_norm(m, 2) == 50);
	T_OK(gw__classmeans_norm(m, 0) == 0 && gw__classmeans_mean(m, 0, 1) == 0);
	gw__classmeans_destroy(m);
}

#define N 400u
#define DIM 20u
static float rows[N][DIM];
static uint32_t cls[N], shifted[N];

/* Ten classes, each a centre; noise; one dimension of great scale that says nothing, one that never varies. */
static void make_rows(double noise)
{
	for (uint32_t i = 0; i < N; i++) {
		cls[i] = (uint32_t)(gw__exact_hash(4, i) % 10);
		for (uint32_t d = 0; d < DIM; d++) {
			double r = (double)(gw__exact_hash(5, i * DIM + d) >> 11) * 0x1p-53 - 0.5;
			double centre = (double)(gw__exact_hash(6, cls[i] * DIM + d) >> 11) * 0x1p-53;

			rows[i][d] = (float)(centre + noise * r);
		}
		rows[i][3] = (float)((double)(gw__exact_hash(7, i) & 0xffff));
		rows[i][4] = 0.1f;
	}
	for (uint32_t i = 0; i < N; i++)
		shifted[i] = cls[(i + 1) % N];
}

static double accuracy(const uint32_t *labels, bool standardise)
{
	struct gw__ncm_array array = { rows, sizeof(rows[0]), DIM };
	struct gw__ncm_rows r = { N, DIM, gw__ncm_row_f32, &array };
	struct gw__ncm_result result = { 0 };

	T_RC(gw__ncm_evaluate(&r, labels, 10, standardise, &result, NULL), 0);
	T_EQ(result.n_train, N / 2);
	T_EQ(result.n_test, N / 2);
	T_EQ(result.n_classes, 10);
	T_OK(fabs(result.chance - 0.1) < 1e-12);
	T_OK(result.accuracy == (double)result.n_correct / (N / 2));
	return result.accuracy;
}

static void nearest(void)
{
	make_rows(0.2);
	T_OK(accuracy(cls, true) > 0.99);
	T_OK(accuracy(cls, false) < 0.4); /* drowned by the dimension of great scale */
	T_OK(accuracy(shifted, true) <= 0.2);
	make_rows(1.5);
	T_OK(accuracy(cls, true) > 0.3 && accuracy(cls, true) < 0.99);
}

static void signed_bytes(void)
{
	static const int8_t pixels[4][3] = { { -128, 0, 127 }, { 127, 0, -128 }, { -120, 5, 120 }, { 100, 1, -100 } };
	const uint32_t two[4] = { 0, 1, 0, 1 };
	struct gw__ncm_array array = { pixels, 3, 3 };
	struct gw__ncm_rows r = { 4, 3, gw__ncm_row_i8, &array };
	struct gw__ncm_result result;

	T_RC(gw__ncm_evaluate(&r, two, 2, false, &result, NULL), 0);
	T_EQ(result.n_correct, 2);
}

static void refusals(void)
{
	struct gw__ncm_array array = { rows, sizeof(rows[0]), DIM };
	struct gw__ncm_rows r = { N, DIM, gw__ncm_row_f32, &array };
	struct gw__ncm_result result;
	struct gw__classmeans *m = NULL;
	struct gw_diag diag;

	T_RC(gw__classmeans_create(0, 2, &m, &diag), -EINVAL);
	T_RC(gw__classmeans_create(2, 0, &m, &diag), -EINVAL);
	T_RC(gw__ncm_evaluate(&r, cls, 5, true, &result, &diag), -EINVAL);
	T_HAS(diag.text, "of 5");
	r.n_rows = 1;
	T_RC(gw__ncm_evaluate(&r, cls, 10, true, &result, &diag), -EINVAL);
	r.n_rows = N;
	rows[N - 1][2] = NAN;
	T_RC(gw__ncm_evaluate(&r, cls, 10, true, &result, &diag), -EDOM);
	T_HAS(diag.text, "row 399");
	rows[3][2] = INFINITY;
	T_RC(gw__ncm_evaluate(&r, cls, 10, true, &result, &diag), -EDOM);
	T_HAS(diag.text, "dimension 2");
	make_rows(0.2);
	for (long k = 1; k < 9; k++) {
		int rc;

		gw__alloc_fail_at(k);
		rc = gw__ncm_evaluate(&r, cls, 10, true, &result, &diag);
		T_EQ(rc, k <= 5 ? -ENOMEM : 0);
		T_EQ(gw__alloc_live(), 0);
		gw__alloc_fail_at(k);
		rc = gw__classmeans_create(2, 2, &m, &diag);
		gw__alloc_fail_at(0);
		T_EQ(rc, k <= 3 ? -ENOMEM : 0);
		if (!rc)
			gw__classmeans_destroy(m);
		T_EQ(gw__alloc_live(), 0);
	}
}

int main(void)
{
	means();
	nearest();
	signed_bytes();
	refusals();
	T_EQ(gw__alloc_live(), 0);
	T_DONE();
}
