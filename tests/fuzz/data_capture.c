/* Any bytes as a capture: what opens can be read through again and again, from the file and from memory, and keeps
 * its counts. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "data/capture.h"
#include "fuzz_file.h"

struct seen {
	uint64_t n_frames, n_bytes, sum, max; /* of one size: compared as bytes */
};

static struct seen read_through(struct gw__capture *c)
{
	struct seen s = { 0 };
	const uint8_t *frame;
	uint32_t len;
	uint64_t stamp;

	while (gw__capture_next(c, &frame, &len, &stamp) == 1) {
		s.n_frames++;
		s.n_bytes += len;
		s.max = len > s.max ? len : s.max;
		for (uint32_t i = 0; i < len; i++)
			s.sum = s.sum * 31 + frame[i];
	}
	return s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gw__capture *c;
	struct gw_diag diag;

	if (!gw__capture_open(fuzz_file(data, size), &c, &diag)) {
		struct seen a = read_through(c), b, m;
		size_t bytes;

		if (a.n_frames != gw__capture_n_frames(c) || a.n_bytes != gw__capture_n_bytes(c) ||
		    a.max != gw__capture_max_frame(c) || gw__capture_memory(c, &bytes) || gw__capture_rewind(c))
			abort();
		b = read_through(c);
		if (gw__capture_keep(c) || !gw__capture_memory(c, &bytes) || bytes < a.n_bytes)
			abort();
		m = read_through(c);
		if (gw__capture_keep(c) || memcmp(&a, &b, sizeof(a)) || memcmp(&a, &m, sizeof(a)))
			abort();
		gw__capture_close(c);
	}
	if (gw__alloc_live())
		abort();
	return 0;
}
