/* urom_net/frame.c: header to bytes and back. Must not trust a byte of it. Next: tlv.c. */
#include "urom_net/frame.h"

#include <errno.h>
#include <string.h>

void gw__frame_encode(uint8_t out[GW__UROM_HDR], const struct gw__frame *f)
{
	gw__put_le32(out, GW__UROM_MAGIC);
	out[4] = f->major ? f->major : GW__UROM_MAJOR;
	out[5] = f->minor;
	gw__put_le16(out + 6, f->type);
	gw__put_le32(out + 8, f->len);
	gw__put_le32(out + 12, f->flags);
	gw__put_le64(out + 16, f->context);
	gw__put_le32(out + 24, f->plugin);
	gw__put_le32(out + 28, (uint32_t)f->status);
}

static int is_data(uint16_t type)
{
	return type == GW__F_CMD || type == GW__F_NOTIF;
}

int gw__frame_decode(const uint8_t in[GW__UROM_HDR], uint32_t max_msg, struct gw__frame *f)
{
	if (gw__get_le32(in) != GW__UROM_MAGIC)
		return -EPROTO;
	f->major = in[4];
	f->minor = in[5];
	f->type = gw__get_le16(in + 6);
	f->len = gw__get_le32(in + 8);
	f->flags = gw__get_le32(in + 12);
	f->context = gw__get_le64(in + 16);
	f->plugin = gw__get_le32(in + 24);
	f->status = (int32_t)gw__get_le32(in + 28);
	f->payload = NULL;
	if (f->major != GW__UROM_MAJOR)
		return -EPROTONOSUPPORT;
	/* the limit before any allocation; data frames have the negotiated one, control its own */
	if (f->len > (is_data(f->type) ? max_msg - GW__UROM_HDR : GW__UROM_CTRL_MAX))
		return -EMSGSIZE;
	return 0;
}

const char *gw__frame_name(uint16_t type)
{
	static const char *const names[GW__F_LAST] = {
		[GW__F_HELLO] = "HELLO",	 [GW__F_HELLO_ACK] = "HELLO_ACK",
		[GW__F_AUTH] = "AUTH",		 [GW__F_PLUGINS] = "PLUGINS",
		[GW__F_SPAWN] = "SPAWN",	 [GW__F_READY] = "READY",
		[GW__F_JOIN] = "JOIN",		 [GW__F_JOIN_ACK] = "JOIN_ACK",
		[GW__F_JOIN_OK] = "JOIN_OK",	 [GW__F_GID_QUERY] = "GID_QUERY",
		[GW__F_CMD] = "CMD",		 [GW__F_NOTIF] = "NOTIF",
		[GW__F_ADDR] = "ADDR",		 [GW__F_DOMAIN] = "DOMAIN",
		[GW__F_MEM] = "MEM",		 [GW__F_MEM_OP] = "MEM_OP",
		[GW__F_MEM_ACK] = "MEM_ACK",	 [GW__F_PING] = "PING",
		[GW__F_STATUS] = "STATUS",	 [GW__F_STOP] = "STOP",
		[GW__F_IDLE] = "IDLE",		 [GW__F_BYE] = "BYE",
		[GW__F_ERROR] = "ERROR",	 [GW__F_MESH] = "MESH",
	};

	return type < GW__F_LAST && names[type] ? names[type] : "?";
}
