/* data/frames.c: geometry checks and the bytes of a frame. Must not know files. Next: frames.h. */
#include "data/frames.h"

#include <errno.h>
#include <string.h>

#include "base/diag.h"
#include "data/resize.h"

#define ETH_HEADER 14u
#define IP_HEADER 20u
#define UDP_HEADER 8u
#define HEADERS (ETH_HEADER + IP_HEADER + UDP_HEADER)
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
	if (o->header_size < HEADERS || o->header_size > 1024)
		return gw__fail(diag, -EINVAL, "header-size %u: Ethernet, IPv4 and UDP need %u, and 1024 is the limit",
				o->header_size, HEADERS);
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

static void put16(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static void put_checksum(uint8_t *ip)
{
	uint32_t sum = 0;

	put16(ip + 10, 0);
	for (uint32_t i = 0; i < IP_HEADER; i += 2)
		sum += (uint32_t)ip[i] << 8 | ip[i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	put16(ip + 10, ~sum & 0xffff);
}

static void put_headers(const struct gw__frame_opts *o, uint8_t *frame)
{
	uint8_t *ip = frame + ETH_HEADER, *udp = ip + IP_HEADER;
	uint32_t n_ip = gw__frame_bytes(o) - ETH_HEADER;

	memcpy(frame, o->eth_dst, 6);
	memcpy(frame + 6, o->eth_src, 6);
	put16(frame + 12, 0x0800);
	ip[0] = 0x45;
	put16(ip + 2, n_ip);
	put16(ip + 6, 0x4000); /* do not fragment, so the identification may stay 0 */
	ip[8] = 64;
	ip[9] = 17;
	memcpy(ip + 12, o->ip_src, 4);
	memcpy(ip + 16, o->ip_dst, 4);
	put16(udp, o->udp_port);
	put16(udp + 2, o->udp_port);
	put16(udp + 4, n_ip - IP_HEADER); /* checksum 0: none, as IPv4 allows */
}

void gw__frame_build(const struct gw__frame_opts *o, uint64_t n, const int8_t *tensor, uint8_t *frame)
{
	uint32_t packet = (uint32_t)(n % o->packets_per_image);
	uint32_t seq = (uint32_t)(n % gw__frames_per_batch(o));

	memset(frame, 0, o->payload_byte_offset);
	put_headers(o, frame);
	/* Twice: the checksum covers the stamped header, and the field wins where it lies on the checksum itself. */
	gw__put_bits(frame, o->seq_bit_offset, o->seq_bit_width, seq);
	put_checksum(frame + ETH_HEADER);
	gw__put_bits(frame, o->seq_bit_offset, o->seq_bit_width, seq);
	memcpy(frame + o->payload_byte_offset, tensor + (size_t)packet * o->out_payload_len, o->out_payload_len);
}
