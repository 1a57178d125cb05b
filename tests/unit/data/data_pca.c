/* PCA: known answers, window, degenerate and bad rows, repeatability, allocation failures.
 * Agreement with numpy: tests/oracle/pca.py. */
#include <math.h>

#include "base/alloc.h"
#include "data/exact.h"
#include "data/pca.h"
#include "t.h"

static double uniform(uint64_t key, uint64_t i)
{
	return (double)(gw__exact_hash(key, i) >> 11) * 0x1p-53 - 0.5;
}

/* Rows on a plane spanned by two orthogonal directions of known spread, far from the origin. */
static void known_plane(void)
{
	enum { N = 60, D = 37 };
	static float rows[N][D];
	struct gw__pca *p;
	struct gw__pca_result r;
	double a2 = 0, b2 = 0, pc[2];

	for (int i = 0; i < N; i++) {
		double a = 10 * cos(2 * M_PI * i / N), b = 3 * sin(2 * M_PI * i / N);

		a2 += a * a;
		b2 += b * b;
		for (int d = 0; d < D; d++)
			rows[i][d] = 100.0f + (float)d;
		rows[i][5] += (float)(a * 0.6);
		rows[i][9] += (float)(-a * 0.8);
		rows[i][20] += (float)b;
	}
	T_NEED(!gw__pca_create(D, 100, &p, NULL));
	T_RC(gw__pca_compute(p, &r), -EAGAIN);
	gw__pca_add(p, &rows[0][0], 1);
	T_RC(gw__pca_compute(p, &r), -EAGAIN);
	gw__pca_add(p, &rows[1][0], N - 1);
	T_RC(gw__pca_compute(p, &r), 0);
	T_EQ(r.n_rows, N);
	T_OK(fabs(r.variance[0] - a2 / (N - 1)) < 1e-4 * a2 / N);
	T_OK(fabs(r.variance[1] - b2 / (N - 1)) < 1e-4 * b2 / N);
	T_OK(fabs(r.explained[0] + r.explained[1] - 1) < 1e-5);
	T_OK(fabs(r.component[0][5] + 0.6) < 1e-5); /* the largest loading, 0.8, is made positive */
	T_OK(fabs(r.component[0][9] - 0.8) < 1e-5);
	T_OK(fabs(r.component[1][20] - 1) < 1e-5);
	gw__pca_project(p, &rows[0][0], 1, pc);
	T_OK(fabs(pc[0] + 10) < 1e-3 && fabs(pc[1]) < 1e-3);
	gw__pca_destroy(p);
}

/* Only the newest max_rows count: the same answer as a PCA that never saw the others. */
static void window(void)
{
	enum { N = 50, D = 64, KEEP = 20 };
	static float rows[N][D];
	struct gw__pca *all, *few;
	struct gw__pca_result a, b;

	for (int i = 0; i < N; i++)
		for (int d = 0; d < D; d++)
			rows[i][d] = (float)(uniform(7, (uint64_t)(i * D + d)) * (d % 7 + 1));
	T_NEED(!gw__pca_create(D, KEEP, &all, NULL));
	T_NEED(!gw__pca_create(D, 40, &few, NULL));
	for (int i = 0; i < N; i += 10)
		gw__pca_add(all, rows[i], 10);
	gw__pca_add(few, rows[N - KEEP], KEEP);
	T_RC(gw__pca_compute(all, &a), 0);
	T_RC(gw__pca_compute(few, &b), 0);
	T_EQ(a.n_rows, KEEP);
	for (int k = 0; k < 2; k++) {
		T_OK(fabs(a.variance[k] - b.variance[k]) < 1e-5 * b.variance[k]);
		for (int d = 0; d < D; d++)
			T_OK(fabs(a.component[k][d] - b.component[k][d]) < 1e-4);
	}
	T_OK(a.variance[0] >= a.variance[1] && a.variance[1] > 0);
	gw__pca_destroy(all);
	gw__pca_destroy(few);
}

static void degenerate(void)
{
	float rows[6][3] = { { 1, 2, 3 }, { 1, 2, 3 }, { 1, 2, 3 } };
	struct gw__pca *p;
	struct gw__pca_result r;
	double pc[2] = { 7, 7 };

	T_NEED(!gw__pca_create(3, 6, &p, NULL));
	gw__pca_add(p, rows[0], 3);
	T_RC(gw__pca_compute(p, &r), 0); /* no spread at all */
	T_OK(r.total_variance == 0 && r.variance[0] == 0 && r.component[0][1] == 0);
	gw__pca_project(p, rows[0], 1, pc);
	T_OK(pc[0] == 0 && pc[1] == 0);
	rows[3][0] = 5;
	rows[3][1] = 2;
	rows[3][2] = 3;
	gw__pca_add(p, rows[3], 1);
	T_RC(gw__pca_compute(p, &r), 0); /* one direction only */
	T_OK(fabs(r.component[0][0] - 1) < 1e-12 && r.variance[1] == 0 && r.component[1][0] == 0);
	T_OK(fabs(r.explained[0] - 1) < 1e-12);
	rows[4][0] = NAN;
	gw__pca_add(p, rows[4], 1);
	T_RC(gw__pca_compute(p, &r), -EDOM);
	for (int i = 0; i < 6; i++) /* it leaves with the window */
		gw__pca_add(p, rows[i % 4], 1);
	T_RC(gw__pca_compute(p, &r), 0);
	gw__pca_destroy(p);
	T_NEED(!gw__pca_create(2, 4, &p, NULL)); /* equal spread in both directions: any basis, still orthonormal */
	gw__pca_add(p, (float[]){ 1, 0, -1, 0, 0, 1, 0, -1 }, 4);
	T_RC(gw__pca_compute(p, &r), 0);
	T_OK(fabs(r.variance[0] - 2.0 / 3) < 1e-12 && fabs(r.variance[1] - 2.0 / 3) < 1e-12);
	T_OK(fabs(r.component[0][0] * r.component[1][0] + r.component[0][1] * r.component[1][1]) < 1e-12);
	gw__pca_destroy(p);
}

static void repeatable(void)
{
	enum { N = 40, D = 100 };
	static float rows[N][D];
	struct gw__pca *p[2];
	struct gw__pca_result r[2];

	for (int i = 0; i < N * D; i++)
		rows[i / D][i % D] = (float)uniform(9, (uint64_t)i);
	for (int k = 0; k < 2; k++) {
		T_NEED(!gw__pca_create(D, 64, &p[k], NULL));
		for (int i = 0; i < N; i += k ? 8 : 20) /* however the rows come */
			gw__pca_add(p[k], rows[i], k ? 8 : 20);
		T_RC(gw__pca_compute(p[k], &r[k]), 0);
	}
	T_MEM(r[0].component[0], r[1].component[0], D * sizeof(double));
	T_MEM(r[0].component[1], r[1].component[1], D * sizeof(double));
	gw__pca_destroy(p[0]);
	gw__pca_destroy(p[1]);
}

static void refusals(void)
{
	struct gw__pca *p = NULL;
	struct gw_diag diag;

	T_RC(gw__pca_create(0, 10, &p, &diag), -EINVAL);
	T_RC(gw__pca_create(65537, 10, &p, &diag), -EINVAL);
	T_RC(gw__pca_create(10, 1, &p, &diag), -EINVAL);
	T_RC(gw__pca_create(10, 4097, &p, &diag), -EINVAL);
	T_HAS(diag.text, "4097");
	for (long k = 1;; k++) {
		int rc;

		gw__alloc_fail_at(k);
		rc = gw__pca_create(10, 10, &p, &diag);
		gw__alloc_fail_at(0);
		if (!rc)
			break;
		T_NEED(k < 50);
		T_RC(rc, -ENOMEM);
		T_OK(!p);
		T_EQ(gw__alloc_live(), 0);
	}
	gw__pca_destroy(p);
	gw__pca_destroy(NULL);
}

int main(void)
{
	known_plane();
	window();
	degenerate();
	repeatable();
	refusals();
	T_EQ(gw__alloc_live(), 0);
	T_DONE();
}
