/* resnet50_inference/geometry.h: how many packets an image is, how many images a window and a batch.
 * Plain numbers, checked once in settings.c; the workers divide and multiply with them and ask nobody. */
#ifndef RESNET50_GEOMETRY_H
#define RESNET50_GEOMETRY_H

#include <stddef.h>
#include <stdint.h>

struct geometry {
	uint32_t packets_per_image;   /* power of two */
	uint32_t images_per_window;   /* power of two; packets_per_batch / packets_per_image */
	uint32_t images_per_batch;    /* one inference call; a power-of-two divisor of images_per_window */
	uint32_t packets_per_batch;
	uint32_t payload_byte_offset; /* header bytes in front of the pixels */
	uint32_t out_payload_len;     /* int8 pixels in a packet */
	uint32_t output_slot_stride;  /* bytes of one packet in the tensor: FLOAT16 */
	uint32_t chan, height, width;
	size_t image_out_bytes;       /* bytes of one image in the tensor */
};

#endif
