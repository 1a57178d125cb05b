/* data/frames.h: one image as a run of Ethernet frames: a header region, then an equal share of the tensor, with a
 * sequence number stamped into the header as a big-endian bit field. Must not know files. Next: prepare.c.
 * Source: ResNet tutorial, "Geometry". The field's default place, bit 128, lies on IPv4's total length: the
 * frames have a false length there by design. */
#ifndef GW_DATA_FRAMES_H
#define GW_DATA_FRAMES_H

#include <stdint.h>

#include <gpuwire/common.h>

struct gw__frame_opts {
	uint32_t header_size;         /* bytes of the header region, 42 and up; default 64 */
	uint32_t payload_byte_offset; /* where the payload begins, header_size and up; 0 = header_size */
	uint32_t out_payload_len;     /* payload bytes of a packet; default 1176 */
	uint32_t packets_per_image;   /* a power of two; default 128 */
	uint32_t images_per_batch;    /* a power of two; default 32. The sequence restarts with each batch */
	uint32_t seq_bit_offset;      /* from the frame's first bit; default 128 */
	uint32_t seq_bit_width;       /* 1..32; default 12 */
	uint16_t udp_port;            /* source and destination; default 4096 */
	uint8_t eth_src[6], eth_dst[6];
	uint8_t ip_src[4], ip_dst[4]; /* as written, network order */
};

/* The tutorial's geometry. */
void gw__frame_opts_default(struct gw__frame_opts *o);
/* 0 (and payload_byte_offset filled in), or -EINVAL with the value that would fit. */
GW_MUST_CHECK int gw__frame_opts_check(struct gw__frame_opts *o, struct gw_diag *diag);

static inline uint32_t gw__frame_bytes(const struct gw__frame_opts *o)
{
	return o->payload_byte_offset + o->out_payload_len;
}

static inline uint32_t gw__frames_per_batch(const struct gw__frame_opts *o)
{
	return o->packets_per_image * o->images_per_batch;
}

/* Write frame number n of the capture: packet n % packets_per_image of the image whose bytes are tensor[] go into
 * frame[gw__frame_bytes(o)]. o has been checked. */
void gw__frame_build(const struct gw__frame_opts *o, uint64_t n, const int8_t *tensor, uint8_t *frame);

/* Write value into the bits [offset, offset + width) of bytes, most significant bit first. width 1..32. */
void gw__put_bits(uint8_t *bytes, uint32_t offset, uint32_t width, uint32_t value);

#endif
