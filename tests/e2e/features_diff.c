/* tests/e2e/features_diff.c: which images' feature vectors differ between two dumps of the application.
 *   features_diff A B DIM    prints one "missing N" or "differs N" a line, by image number; nothing if equal.
 * Exit 0 when both could be read and have the same length. Next: resnet50.sh. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	size_t dim = argc == 4 ? strtoul(argv[3], NULL, 10) : 0, n_a, n_b;
	FILE *a = argc == 4 ? fopen(argv[1], "rb") : NULL, *b = argc == 4 ? fopen(argv[2], "rb") : NULL;
	float *x = calloc(dim, sizeof(*x)), *y = calloc(dim, sizeof(*y));

	if (!a || !b || !x || !y || !dim) {
		fprintf(stderr, "usage: features_diff A B DIM (%s)\n", strerror(errno));
		return 2;
	}
	for (size_t image = 0;; image++) {
		n_a = fread(x, sizeof(*x), dim, a);
		n_b = fread(y, sizeof(*y), dim, b);
		if (n_a != dim || n_b != dim)
			break;
		if (isnan(y[0]))
			printf("missing %zu\n", image);
		else if (memcmp(x, y, dim * sizeof(*x)))
			printf("differs %zu\n", image);
	}
	free(x);
	free(y);
	fclose(a);
	fclose(b);
	return n_a || n_b;
}
