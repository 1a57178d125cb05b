/* Any bytes as a capture: what opens can be read through twice and keeps its counts. */
#include <stdint.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "data/capture.h"
#include "fuzz_file.h"

static uint64_t read_through(struct gw__capture *c)
{
	const uint8_t *frame;
	uint32_t len;
	uint64_t stamp, n_bytes = 0, sum = 0;

	while (gw__capture_next(c, &frame, &len, &stamp) == 1) {
		n_bytes += len;
		for (uint32_t i = 0; i < len; i++)
			sum += frame[i];
	}
	return sum == UINT64_MAX ? 0 : n_bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gw__capture *c;
	struct gw_diag diag;

	if (!gw__capture_open(fuzz_file(data, size), &c, &diag)) {
		if (read_through(c) != gw__capture_n_bytes(c) || gw__capture_rewind(c) ||
		    read_through(c) != gw__capture_n_bytes(c))
			abort();
		gw__capture_close(c);
	}
	if (gw__alloc_live())
		abort();
	return 0;
}
