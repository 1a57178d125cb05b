/* data/frames.c: geometry checks and the bytes of a frame. Must not know files. Next: frames.h. */
#include "data/frames.h"

#include <errno.h>
#include <string.h>

#include "base/diag.h"
#include "data/resize.h"
#include "wire/build.h"
#include "wire/parse.h"

#define FRAME_MAX 9100u /* the largest the library's ports carry */

void gw__frame_opts_default(struct gw__frame_opts *o)
{
	*o = (struct gw__frame_opts){
		.header_size = 64,
		.out_payload_len = 1176,
		.packets_per_image = 128,
		.images_per_batch = 32,
		.seq_bit_offset = 128,
		.seq_bit_width = 12,
		.udp_port = 4096,
		.eth_src = { 0x02, 0, 0, 0, 0, 0x01 },
		.eth_dst = { 0x02, 0, 0, 0, 0, 0x02 },
		.ip_src = { 1, 2, 3, 4 },
		.ip_dst = { 5, 6, 7, 8 },
	};
}

static int is_power_of_two(uint32_t v)
{
	return v && !(v & (v - 1));
}

static int check_batches(const struct gw__frame_opts *o, struct gw_diag *diag)
{
	if (!is_power_of_two(o->packets_per_image) || o->packets_per_image > 1u << 16)
		return gw__fail(diag, -EINVAL, "packets-per-image %u: a power of two up to 65536 is needed",
				o->packets_per_image);
	if (!is_power_of_two(o->images_per_batch) || o->images_per_batch > 1u << 12)
		return gw__fail(diag, -EINVAL, "images-per-batch %u: a power of two up to 4096 is needed",
				o->images_per_batch);
	if ((uint64_t)o->out_payload_len * o->packets_per_image != GW__IMAGE_BYTES) {
		if (GW__IMAGE_BYTES % o->packets_per_image)
			return gw__fail(diag, -EINVAL, "packets-per-image %u does not divide an image's %u bytes; "
					"use 128", o->packets_per_image, GW__IMAGE_BYTES);
		return gw__fail(diag, -EINVAL, "out-payload-len %u x %u packets are %llu bytes, an image has %u; use "
				"%u", o->out_payload_len, o->packets_per_image,
				(unsigned long long)o->out_payload_len * o->packets_per_image, GW__IMAGE_BYTES,
				GW__IMAGE_BYTES / o->packets_per_image);
	}
	return 0;
}

static int check_sequence(const struct gw__frame_opts *o, struct gw_diag *diag)
{
	uint64_t n = gw__frames_per_batch(o), end = (uint64_t)o->seq_bit_offset + o->seq_bit_width;
	uint32_t fit = 1;

	if (o->seq_bit_width < 1 || o->seq_bit_width > 32)
		return gw__fail(diag, -EINVAL, "seq-bit-width %u: 1 to 32 bits are possible", o->seq_bit_width);
	if (end > (uint64_t)o->payload_byte_offset * 8)
		return gw__fail(diag, -EINVAL, "the sequence field ends at bit %llu, inside the payload, which begins at "
				"bit %u", (unsigned long long)end, o->payload_byte_offset * 8);
	while (UINT64_C(1) << fit < n)
		fit++;
	if (UINT64_C(1) << o->seq_bit_width < n) /* both are powers of two: else it is a multiple */
		return gw__fail(diag, -EINVAL, "seq-bit-width %u counts to %llu, a batch has %llu packets; use at "
				"least %u", o->seq_bit_width, 1ull << o->seq_bit_width, (unsigned long long)n, fit);
	return 0;
}

int gw__frame_opts_check(struct gw__frame_opts *o, struct gw_diag *diag)
{
	int err;

	if (!o->payload_byte_offset)
		o->payload_byte_offset = o->header_size;
	if (o->header_size < GW_UDP4_HDR || o->header_size > 1024)
		return gw__fail(diag, -EINVAL, "header-size %u: Ethernet, IPv4 and UDP need %u, and 1024 is the limit",
				o->header_size, GW_UDP4_HDR);
	if (o->payload_byte_offset < o->header_size || o->payload_byte_offset > 2048)
		return gw__fail(diag, -EINVAL, "payload-byte-offset %u: must lie between header-size, %u, and 2048",
				o->payload_byte_offset, o->header_size);
	err = check_batches(o, diag);
	if (!err)
		err = check_sequence(o, diag);
	if (!err && gw__frame_bytes(o) > FRAME_MAX)
		err = gw__fail(diag, -EINVAL, "a frame of %u bytes is above %u; use more packets per image",
			       gw__frame_bytes(o), FRAME_MAX);
	return err;
}

void gw__put_bits(uint8_t *bytes, uint32_t offset, uint32_t width, uint32_t value)
{
	for (uint32_t i = 0; i < width; i++) {
		uint32_t at = offset + i;
		uint8_t mask = (uint8_t)(0x80 >> (at & 7));

		if (value >> (width - 1 - i) & 1)
			bytes[at >> 3] |= mask;
		else
			bytes[at >> 3] &= (uint8_t)~mask;
	}
}

void gw__frame_build(const struct gw__frame_opts *o, uint64_t n, const int8_t *tensor, uint8_t *frame)
{
	uint32_t packet = (uint32_t)(n % o->packets_per_image);
	uint32_t seq = (uint32_t)(n % gw__frames_per_batch(o));
	struct gw__udp_hdr h = { .udp_src = o->udp_port, .udp_dst = o->udp_port };

	memcpy(h.eth_dst, o->eth_dst, 6);
	memcpy(h.eth_src, o->eth_src, 6);
	memcpy(h.ip_src, o->ip_src, 4);
	memcpy(h.ip_dst, o->ip_dst, 4);
	memset(frame, 0, o->payload_byte_offset);
	gw__build_udp4(frame, &h, NULL, gw__frame_bytes(o) - GW_UDP4_HDR); /* FRAME_MAX fits 16 bits: cannot fail */
	/* Twice: the checksum covers the stamped header, and the field wins where it lies on the checksum itself. */
	gw__put_bits(frame, o->seq_bit_offset, o->seq_bit_width, seq);
	gw__ipv4_set_checksum(frame + GW_ETH_HDR, 20);
	gw__put_bits(frame, o->seq_bit_offset, o->seq_bit_width, seq);
	memcpy(frame + o->payload_byte_offset, tensor + (size_t)packet * o->out_payload_len, o->out_payload_len);
}
