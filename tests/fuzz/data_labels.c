/* Any bytes as a label sidecar: read or refused, never out of bounds, nothing left behind; what was read and is written
 * again reads the same. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "data/labels.h"
#include "fuzz_file.h"

static void round_trip(const struct gw__labels *l)
{
	char *text = NULL, *path = gw__labels_path("x.pcap");
	struct gw__labels again;
	struct gw_diag diag;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);

	if (!f || !path || strcmp(path, "x.labels"))
		abort();
	gw__free(path);
	for (uint32_t i = 0; i < l->n_images; i++)
		fprintf(f, "%u\n", l->cls[i]);
	gw__labels_write_names(f, l->dataset, (const char *const *)l->class_names, l->n_classes);
	if (fclose(f) || gw__labels_read(fuzz_file((const uint8_t *)text, n), &again, &diag))
		abort();
	if (again.n_images != l->n_images || memcmp(again.cls, l->cls, l->n_images * sizeof(l->cls[0])))
		abort();
	gw__labels_fini(&again);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gw__labels l;
	struct gw_diag diag;

	if (!gw__labels_read(fuzz_file(data, size), &l, &diag)) {
		for (uint32_t i = 0; i < l.n_images; i++)
			if (l.cls[i] >= l.n_classes || !l.class_names[l.cls[i]][0])
				abort();
		round_trip(&l);
		gw__labels_fini(&l);
	}
	if (gw__alloc_live())
		abort();
	return 0;
}
