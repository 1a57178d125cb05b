/* Frames: geometry checks with their fixes, header bytes, sequence field, payload shares. */
#include "data/frames.h"
#include "data/resize.h"
#include "t.h"

static int8_t tensor[GW__IMAGE_BYTES];
static uint8_t frame[16384];

static uint32_t ip_sum(const uint8_t *ip)
{
	uint32_t s = 0;

	for (int i = 0; i < 20; i += 2)
		s += (uint32_t)ip[i] << 8 | ip[i + 1];
	while (s >> 16)
		s = (s & 0xffff) + (s >> 16);
	return s;
}

static void default_geometry(void)
{
	struct gw__frame_opts o;
	static const uint8_t head[14] = { 2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0 };

	gw__frame_opts_default(&o);
	T_RC(gw__frame_opts_check(&o, NULL), 0);
	T_EQ(gw__frame_bytes(&o), 1240);
	T_EQ(gw__frames_per_batch(&o), 4096);
	for (uint32_t n = 0; n < 4096 + 3; n += 211) {
		memset(frame, 0xee, sizeof(frame));
		gw__frame_build(&o, n, tensor, frame);
		T_MEM(frame, head, 14);
		T_EQ((frame[16] << 4 | frame[17] >> 4), n % 4096); /* bits 128..139 */
		T_EQ(frame[17] & 15, 1226 & 15);                    /* the rest of the total length stays */
		T_EQ(ip_sum(frame + 14), 0xffff);
		T_EQ(frame[23], 17);
		T_EQ(frame[36] << 8 | frame[37], 4096);
		T_EQ(frame[38] << 8 | frame[39], 1206);
		T_MEM(frame + 64, tensor + (n % 128) * 1176, 1176);
		T_EQ(frame[1240], 0xee);
		for (int i = 42; i < 64; i++)
			T_EQ(frame[i], 0);
	}
	gw__frame_build(&o, 4096, tensor, frame); /* a new batch begins at 0 again */
	T_EQ(frame[16] << 8 | (frame[17] & 0xf0), 0);
}

static void other_geometry(void)
{
	struct gw__frame_opts o;

	gw__frame_opts_default(&o);
	o.header_size = 50;
	o.payload_byte_offset = 96;
	o.packets_per_image = 64;
	o.out_payload_len = 2352;
	o.images_per_batch = 8;
	o.seq_bit_offset = 50 * 8 + 3;
	o.seq_bit_width = 17;
	T_RC(gw__frame_opts_check(&o, NULL), 0);
	gw__frame_build(&o, 8 * 64 + 300, tensor, frame);
	T_EQ((frame[50] & 0x1f) << 12 | frame[51] << 4 | frame[52] >> 4, 300);
	T_EQ(frame[16] << 8 | frame[17], 96 + 2352 - 14);
	T_MEM(frame + 96, tensor + 300 % 64 * 2352, 2352);
	o.seq_bit_offset = 24 * 8; /* on the checksum itself: the field wins */
	o.seq_bit_width = 16;
	gw__frame_build(&o, 300, tensor, frame);
	T_EQ(frame[24] << 8 | frame[25], 300);
}

static void bits(void)
{
	uint8_t b[8] = { 0 };

	gw__put_bits(b, 3, 32, 0xdeadbeef);
	T_EQ(b[0], 0xde >> 3);
	T_EQ(b[4], (uint8_t)(0xef << 5));
	memset(b, 0xff, sizeof(b));
	gw__put_bits(b, 7, 2, 0);
	T_EQ(b[0], 0xfe);
	T_EQ(b[1], 0x7f);
}

static void refused(void (*spoil)(struct gw__frame_opts *), const char *part)
{
	struct gw__frame_opts o;
	struct gw_diag diag = { "" };

	gw__frame_opts_default(&o);
	spoil(&o);
	T_RC(gw__frame_opts_check(&o, &diag), -EINVAL);
	T_HAS(diag.text, part);
}

#define SPOIL(name, change)                                                                        \
	static void name(struct gw__frame_opts *o)                                                 \
	{                                                                                          \
		change;                                                                            \
	}
SPOIL(small_header, o->header_size = 41)
SPOIL(early_payload, o->payload_byte_offset = 63)
SPOIL(odd_packets, o->packets_per_image = 96)
SPOIL(many_packets, o->packets_per_image = 2048)
SPOIL(odd_images, o->images_per_batch = 24)
SPOIL(long_payload, o->out_payload_len = 1180)
SPOIL(no_sequence, o->seq_bit_width = 0)
SPOIL(wide_sequence, o->seq_bit_width = 33)
SPOIL(narrow_sequence, o->seq_bit_width = 11)
SPOIL(late_sequence, o->seq_bit_offset = 501)
SPOIL(huge_offset, o->seq_bit_offset = UINT32_MAX)
SPOIL(jumbo, (o->packets_per_image = 16, o->out_payload_len = 9408))

int main(void)
{
	for (uint32_t i = 0; i < GW__IMAGE_BYTES; i++)
		tensor[i] = (int8_t)(i * 7 + i / 1176);
	default_geometry();
	other_geometry();
	bits();
	refused(small_header, "42");
	refused(early_payload, "64");
	refused(odd_packets, "power of two");
	refused(many_packets, "use 128");
	refused(odd_images, "power of two");
	refused(long_payload, "use 1176");
	refused(no_sequence, "1 to 32");
	refused(wide_sequence, "1 to 32");
	refused(narrow_sequence, "at least 12");
	refused(late_sequence, "inside the payload");
	refused(huge_offset, "inside the payload");
	refused(jumbo, "9100");
	T_DONE();
}
