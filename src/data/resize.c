/* data/resize.c: bilinear interpolation in integers. Must not use floating point: two machines, same bytes.
 * Next: resize.h. */
#include "data/resize.h"

#include <assert.h>
#include <string.h>

#define SIDE GW__IMAGE_SIDE

/* Where one output row or column reads: value = (near * (W - part) + far * part) / W, W = 2 * SIDE. */
struct tap {
	uint32_t near, far, part;
};

/* Centre of output pixel d is at ((2 d + 1) n_in - SIDE) / (2 SIDE) of the input's pixel centres. */
static void make_taps(struct tap taps[SIDE], uint32_t n_in)
{
	for (uint32_t d = 0; d < SIDE; d++) {
		int64_t at = (int64_t)(2 * d + 1) * n_in - SIDE;
		uint32_t near;

		if (at < 0)
			at = 0;
		near = (uint32_t)(at / (2 * SIDE));
		taps[d].part = (uint32_t)(at % (2 * SIDE));
		taps[d].near = near;
		taps[d].far = near + 1 < n_in ? near + 1 : near;
	}
}

static void resize_plane(const uint8_t *plane, uint32_t width, const struct tap *rows, const struct tap *cols,
			 int8_t *out)
{
	const uint32_t w = 2 * SIDE;

	for (uint32_t y = 0; y < SIDE; y++) {
		const uint8_t *top = plane + (uint64_t)rows[y].near * width;
		const uint8_t *bottom = plane + (uint64_t)rows[y].far * width;

		for (uint32_t x = 0; x < SIDE; x++) {
			const struct tap *t = &cols[x];
			uint32_t a = top[t->near] * (w - t->part) + top[t->far] * t->part;
			uint32_t b = bottom[t->near] * (w - t->part) + bottom[t->far] * t->part;
			uint32_t v = (a * (w - rows[y].part) + b * rows[y].part + w * w / 2) / (w * w);

			*out++ = (int8_t)((int32_t)v - 128);
		}
	}
}

void gw__resize_to_tensor(const uint8_t *picture, uint32_t n_chan, uint32_t height, uint32_t width, int8_t *tensor)
{
	struct tap rows[SIDE], cols[SIDE];

	assert((n_chan == 1 || n_chan == 3) && height && width && height <= GW__PICTURE_SIDE_MAX &&
	       width <= GW__PICTURE_SIDE_MAX);
	make_taps(rows, height);
	make_taps(cols, width);
	for (uint32_t c = 0; c < n_chan; c++)
		resize_plane(picture + (uint64_t)c * height * width, width, rows, cols, tensor + c * SIDE * SIDE);
	for (uint32_t c = n_chan; c < 3; c++)
		memcpy(tensor + c * SIDE * SIDE, tensor, SIDE * SIDE);
}
