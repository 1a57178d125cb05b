/* Any bytes as a label sidecar: read or refused, never out of bounds, nothing left behind. */
#include <stdint.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "data/labels.h"
#include "fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gw__labels l;
	struct gw_diag diag;

	if (!gw__labels_read(fuzz_file(data, size), &l, &diag)) {
		for (uint32_t i = 0; i < l.n_images; i++)
			if (l.cls[i] >= l.n_classes || !l.class_names[l.cls[i]][0])
				abort();
		gw__labels_fini(&l);
	}
	if (gw__alloc_live())
		abort();
	return 0;
}
