/* urom_net/tlv.c: bounded cursors over control payloads. Must not allocate. Next: handshake.c. */
#include "urom_net/tlv.h"

#include <errno.h>
#include <string.h>

#include "urom_net/frame.h"

#define ENTRY 6u /* tag u16, size u32 */

void gw__tlv_put(struct gw__tlv_w *w, uint16_t tag, const void *data, size_t size)
{
	if (w->full || size > UINT32_MAX || w->cap - w->len < ENTRY || w->cap - w->len - ENTRY < size) {
		w->full = true;
		return;
	}
	gw__put_le16(w->buf + w->len, tag);
	gw__put_le32(w->buf + w->len + 2, (uint32_t)size);
	if (size)
		memcpy(w->buf + w->len + ENTRY, data, size);
	w->len += ENTRY + size;
}

void gw__tlv_put_u32(struct gw__tlv_w *w, uint16_t tag, uint32_t v)
{
	uint8_t b[4];

	gw__put_le32(b, v);
	gw__tlv_put(w, tag, b, sizeof(b));
}

void gw__tlv_put_u64(struct gw__tlv_w *w, uint16_t tag, uint64_t v)
{
	uint8_t b[8];

	gw__put_le64(b, v);
	gw__tlv_put(w, tag, b, sizeof(b));
}

void gw__tlv_put_text(struct gw__tlv_w *w, uint16_t tag, const char *s)
{
	gw__tlv_put(w, tag, s, strlen(s));
}

bool gw__tlv_next(struct gw__tlv_r *r)
{
	size_t left = r->len - r->at;

	if (r->bad || !left)
		return false;
	if (left < ENTRY || gw__get_le32(r->buf + r->at + 2) > left - ENTRY) {
		r->bad = true;
		return false;
	}
	r->tag = gw__get_le16(r->buf + r->at);
	r->size = gw__get_le32(r->buf + r->at + 2);
	r->data = r->buf + r->at + ENTRY;
	r->at += ENTRY + r->size;
	return true;
}

int gw__tlv_u32(const struct gw__tlv_r *r, uint32_t *v)
{
	if (r->size != 4)
		return -EPROTO;
	*v = gw__get_le32(r->data);
	return 0;
}

int gw__tlv_u64(const struct gw__tlv_r *r, uint64_t *v)
{
	if (r->size != 8)
		return -EPROTO;
	*v = gw__get_le64(r->data);
	return 0;
}

int gw__tlv_copy(const struct gw__tlv_r *r, void *to, size_t exact)
{
	if (r->size != exact)
		return -EPROTO;
	memcpy(to, r->data, exact);
	return 0;
}

int gw__tlv_text(const struct gw__tlv_r *r, char *to, size_t cap)
{
	if (r->size >= cap || memchr(r->data, '\0', r->size))
		return -EPROTO;
	memcpy(to, r->data, r->size);
	to[r->size] = '\0';
	return 0;
}

int gw__tlv_find(const void *buf, size_t len, uint16_t tag, struct gw__tlv_r *r)
{
	*r = gw__tlv_reader(buf, len);
	while (gw__tlv_next(r))
		if (r->tag == tag)
			return 0;
	return r->bad ? -EPROTO : -ENOENT;
}

int gw__tlv_find_u32(const void *buf, size_t len, uint16_t tag, uint32_t *v)
{
	struct gw__tlv_r r;
	int err = gw__tlv_find(buf, len, tag, &r);

	return err ? err : gw__tlv_u32(&r, v);
}

int gw__tlv_find_u64(const void *buf, size_t len, uint16_t tag, uint64_t *v)
{
	struct gw__tlv_r r;
	int err = gw__tlv_find(buf, len, tag, &r);

	return err ? err : gw__tlv_u64(&r, v);
}

int gw__tlv_find_copy(const void *buf, size_t len, uint16_t tag, void *to, size_t exact)
{
	struct gw__tlv_r r;
	int err = gw__tlv_find(buf, len, tag, &r);

	return err ? err : gw__tlv_copy(&r, to, exact);
}

int gw__tlv_find_text(const void *buf, size_t len, uint16_t tag, char *to, size_t cap)
{
	struct gw__tlv_r r;
	int err = gw__tlv_find(buf, len, tag, &r);

	return err ? err : gw__tlv_text(&r, to, cap);
}
