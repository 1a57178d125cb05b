/* Rows of floats from a file in, components out as text: the C half of pca.py.
 * usage: pca_dump FILE DIM MAX_ROWS; prints n_rows, total; per component variance, explained, dim loadings; then the
 * coordinates of every row. */
#include <stdio.h>
#include <stdlib.h>

#include "data/pca.h"

static void print_result(const struct gw__pca_result *r, uint32_t dim)
{
	printf("%u %.17g\n", r->n_rows, r->total_variance);
	for (int k = 0; k < 2; k++) {
		printf("%.17g %.17g", r->variance[k], r->explained[k]);
		for (uint32_t d = 0; d < dim; d++)
			printf(" %.17g", r->component[k][d]);
		putchar('\n');
	}
}

int main(int argc, char **argv)
{
	uint32_t dim, max_rows;
	struct gw__pca *p;
	struct gw__pca_result r;
	struct gw_diag diag;
	double pc[2];
	float *row;
	FILE *f;

	if (argc != 4)
		return 2;
	dim = (uint32_t)atoi(argv[2]);
	max_rows = (uint32_t)atoi(argv[3]);
	f = fopen(argv[1], "rb");
	row = malloc(dim * sizeof(*row));
	if (!f || !row || gw__pca_create(dim, max_rows, &p, &diag))
		return 1;
	while (fread(row, sizeof(*row), dim, f) == dim)
		gw__pca_add(p, row, 1);
	if (gw__pca_compute(p, &r))
		return 1;
	print_result(&r, dim);
	rewind(f);
	while (fread(row, sizeof(*row), dim, f) == dim) {
		gw__pca_project(p, row, 1, pc);
		printf("%.17g %.17g\n", pc[0], pc[1]);
	}
	gw__pca_destroy(p);
	free(row);
	fclose(f);
	return 0;
}
