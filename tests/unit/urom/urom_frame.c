/* The header and the control payloads: what is written is read back, what is wrong is refused. */
#include "urom_net/frame.h"
#include "urom_net/mem_op.h"
#include "urom_net/tlv.h"
#include "t.h"

static void header(void)
{
	uint8_t b[GW__UROM_HDR];
	struct gw__frame in = { .type = GW__F_CMD, .len = 100, .flags = 3, .context = 0x1122334455667788u,
				.plugin = 7, .status = -5 };
	struct gw__frame out;

	gw__frame_encode(b, &in);
	T_MEM(b, "UROM\x01\x00\x0b\x00\x64\x00\x00\x00\x03\x00\x00\x00\x88\x77\x66\x55\x44\x33\x22\x11", 24);
	T_RC(gw__frame_decode(b, 4096, &out), 0);
	T_EQ(out.type, GW__F_CMD);
	T_EQ(out.len, 100);
	T_EQ(out.context, 0x1122334455667788u);
	T_EQ(out.status, -5);
	T_RC(gw__frame_decode(b, 132, &out), 0);
	T_RC(gw__frame_decode(b, 131, &out), -EMSGSIZE);
	gw__put_le16(b + 6, GW__F_SPAWN); /* control frames have their own limit */
	T_RC(gw__frame_decode(b, 64, &out), 0);
	gw__put_le32(b + 8, GW__UROM_CTRL_MAX + 1);
	T_RC(gw__frame_decode(b, GW__UROM_MSG_MAX, &out), -EMSGSIZE);
	gw__put_le32(b + 8, UINT32_MAX);
	T_RC(gw__frame_decode(b, GW__UROM_MSG_MAX, &out), -EMSGSIZE);
	b[4] = 2;
	T_RC(gw__frame_decode(b, 4096, &out), -EPROTONOSUPPORT);
	T_EQ(out.major, 2);
	b[0] ^= 1;
	T_RC(gw__frame_decode(b, 4096, &out), -EPROTO);
	for (uint16_t t = 1; t < GW__F_LAST; t++)
		T_OK(strcmp(gw__frame_name(t), "?"));
	T_STR(gw__frame_name(999), "?");
}

static void payloads(void)
{
	uint8_t buf[64], to[16];
	char text[8];
	struct gw__tlv_w w = gw__tlv_writer(buf, sizeof(buf));
	struct gw__tlv_r r;
	uint32_t v;
	uint64_t x;

	gw__tlv_put_u32(&w, GW__T_GID, 9);
	gw__tlv_put_u64(&w, GW__T_WORKER, 1ull << 40);
	gw__tlv_put_text(&w, GW__T_NAME, "hello");
	T_OK(!w.full);
	T_RC(gw__tlv_find_u32(buf, w.len, GW__T_GID, &v), 0);
	T_EQ(v, 9);
	T_RC(gw__tlv_find_u64(buf, w.len, GW__T_WORKER, &x), 0);
	T_EQ(x, 1ull << 40);
	T_RC(gw__tlv_find_text(buf, w.len, GW__T_NAME, text, sizeof(text)), 0);
	T_STR(text, "hello");
	T_RC(gw__tlv_find_text(buf, w.len, GW__T_NAME, text, 5), -EPROTO);
	T_RC(gw__tlv_find_u64(buf, w.len, GW__T_GID, &x), -EPROTO); /* wrong width */
	T_RC(gw__tlv_find_copy(buf, w.len, GW__T_NAME, to, 4), -EPROTO);
	T_RC(gw__tlv_find(buf, w.len, GW__T_TEXT, &r), -ENOENT);
	/* every cut of it either ends cleanly between entries or is bad */
	for (size_t n = 0; n < w.len; n++) {
		r = gw__tlv_reader(buf, n);
		while (gw__tlv_next(&r))
			T_OK(r.data + r.size <= buf + n);
		T_EQ(r.bad, n != 0 && n != 10 && n != 24);
	}
	gw__tlv_put(&w, GW__T_DATA, buf, 64);
	T_OK(w.full);
	gw__tlv_put_u32(&w, GW__T_GID, 1); /* nothing after full */
	T_EQ(w.len, 35);
	gw__put_le32(buf + 2, UINT32_MAX);
	T_RC(gw__tlv_find(buf, 35, GW__T_GID, &r), -EPROTO);
}

static void mem_ops(void)
{
	uint8_t b[GW__MEM_OP_HDR + 4] = { 0 };
	struct gw__mem_op op = { .op = GW__MEM_PUT, .len = 4, .seg = 3, .offset = 8 }, got;
	struct gw__frame f = { .payload = b, .len = sizeof(b) };

	gw__mem_op_write(b, &op);
	T_RC(gw__mem_op_read(&f, &got), 0);
	T_EQ(got.seg, 3);
	T_OK(got.data == b + GW__MEM_OP_HDR);
	f.len--;
	T_RC(gw__mem_op_read(&f, &got), -EPROTO);
	f.len = 5;
	T_RC(gw__mem_op_read(&f, &got), -EPROTO);
	op.len = GW__MEM_CHUNK + 1;
	gw__mem_op_write(b, &op);
	f.len = sizeof(b);
	T_RC(gw__mem_op_read(&f, &got), -EMSGSIZE);
}

int main(void)
{
	header();
	payloads();
	mem_ops();
	T_DONE();
}
