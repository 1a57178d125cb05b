/* doca_urom_pack.h: bounded cursors for commands and notifications: little endian, fixed width, no pointers.
 * Must not know what is packed. Next: any plugin.
 *
 * A write past the end, or a read past it, sets `bad` and does nothing (a read gives 0 or NULL); every later
 * call does nothing too, so one test at the end is enough. */
#ifndef DOCA_UROM_PACK_H_
#define DOCA_UROM_PACK_H_

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct urom_packer {
	uint8_t *buf;
	size_t cap, len;
	int bad;
};

struct urom_unpacker {
	const uint8_t *buf;
	size_t len, at;
	int bad;
};

static inline struct urom_packer urom_packer(void *buf, size_t cap)
{
	struct urom_packer p = { (uint8_t *)buf, cap, 0, 0 };

	return p;
}

static inline struct urom_unpacker urom_unpacker(const void *buf, size_t len)
{
	struct urom_unpacker u = { (const uint8_t *)buf, len, 0, 0 };

	return u;
}

static inline void urom_put_bytes(struct urom_packer *p, const void *data, size_t n)
{
	if (p->bad || n > p->cap - p->len) {
		p->bad = 1;
		return;
	}
	if (n)
		memcpy(p->buf + p->len, data, n);
	p->len += n;
}

static inline void urom_put_u64(struct urom_packer *p, uint64_t v)
{
	uint8_t b[8];

	for (int i = 0; i < 8; i++)
		b[i] = (uint8_t)(v >> (8 * i));
	urom_put_bytes(p, b, 8);
}

static inline void urom_put_u32(struct urom_packer *p, uint32_t v)
{
	uint8_t b[4];

	for (int i = 0; i < 4; i++)
		b[i] = (uint8_t)(v >> (8 * i));
	urom_put_bytes(p, b, 4);
}

/* Length (u32), then the bytes. */
static inline void urom_put_blob(struct urom_packer *p, const void *data, size_t n)
{
	if (n > UINT32_MAX) {
		p->bad = 1;
		return;
	}
	urom_put_u32(p, (uint32_t)n);
	urom_put_bytes(p, data, n);
}

/* n bytes in place, borrowed from the buffer; NULL if they are not there. */
static inline const void *urom_get_bytes(struct urom_unpacker *u, size_t n)
{
	const uint8_t *at;

	if (u->bad || n > u->len - u->at) {
		u->bad = 1;
		return NULL;
	}
	at = u->buf + u->at;
	u->at += n;
	return at;
}

static inline uint64_t urom_get_u64(struct urom_unpacker *u)
{
	const uint8_t *b = (const uint8_t *)urom_get_bytes(u, 8);
	uint64_t v = 0;

	for (int i = 0; b && i < 8; i++)
		v |= (uint64_t)b[i] << (8 * i);
	return v;
}

static inline uint32_t urom_get_u32(struct urom_unpacker *u)
{
	const uint8_t *b = (const uint8_t *)urom_get_bytes(u, 4);
	uint32_t v = 0;

	for (int i = 0; b && i < 4; i++)
		v |= (uint32_t)b[i] << (8 * i);
	return v;
}

/* A blob of at most max bytes, borrowed; *n its length. */
static inline const void *urom_get_blob(struct urom_unpacker *u, size_t max, size_t *n)
{
	uint32_t len = urom_get_u32(u);

	*n = 0;
	if (u->bad || len > max) {
		u->bad = 1;
		return NULL;
	}
	*n = len;
	return urom_get_bytes(u, len);
}

/* Everything read, nothing left over, nothing missing. */
static inline int urom_unpacked(const struct urom_unpacker *u)
{
	return !u->bad && u->at == u->len;
}

#endif
