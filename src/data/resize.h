/* data/resize.h: a small picture becomes the 224 x 224 tensor of signed bytes, by integer arithmetic.
 * Must not know where pictures come from. Next: imageset.h. */
#ifndef GW_DATA_RESIZE_H
#define GW_DATA_RESIZE_H

#include <stdint.h>

#define GW__IMAGE_SIDE 224u
#define GW__IMAGE_BYTES (3u * GW__IMAGE_SIDE * GW__IMAGE_SIDE)
#define GW__PICTURE_SIDE_MAX 1024u

/* Bilinear, pixel centres at half, edges repeated, rounded half up: the value of an output pixel is an exact
 * fraction of integers. picture is (n_chan, height, width), n_chan 1 (repeated three times) or 3, sides
 * 1..GW__PICTURE_SIDE_MAX; tensor[GW__IMAGE_BYTES] receives pixel - 128. */
void gw__resize_to_tensor(const uint8_t *picture, uint32_t n_chan, uint32_t height, uint32_t width, int8_t *tensor);

#endif
