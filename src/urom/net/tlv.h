/* urom_net/tlv.h: control payloads: tag u16, length u32, bytes; repeated. Bounded both ways.
 * Must not know what the tags are for. Next: handshake.h.
 *
 * A writer that runs out of room sets `full` and writes nothing more; check once at the end. A reader
 * stops at the first entry that does not fit and sets `bad`. */
#ifndef GW_UROM_NET_TLV_H
#define GW_UROM_NET_TLV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gw__tag {
	GW__T_VER_MIN = 1, /* u32 major << 8 | minor */
	GW__T_VER_MAX,
	GW__T_MAX_MSG,   /* u32 bytes */
	GW__T_FEATURES,  /* u64 bits */
	GW__T_MARK,      /* u32: GW__MARK of the sender's build (byte order, word size) */
	GW__T_NONCE,     /* 16 bytes */
	GW__T_ROLE,      /* u32 */
	GW__T_SDK,       /* text */
	GW__T_MAC,       /* 32 bytes */
	GW__T_KEYED,     /* u32: 1 = AUTH expected */
	GW__T_TEXT,
	GW__T_PLUGIN,    /* nested: NAME, INDEX, VERSION */
	GW__T_NAME,
	GW__T_INDEX,
	GW__T_VERSION,
	GW__T_CPUSET,    /* 128 bytes */
	GW__T_WORKER,    /* u64 id */
	GW__T_GID,       /* u32 */
	GW__T_MASK,      /* u64 plugin bits */
	GW__T_ENV,       /* text NAME=value */
	GW__T_INFLIGHT,  /* u32 */
	GW__T_TICKET,    /* 16 bytes */
	GW__T_DEST,      /* u64 */
	GW__T_SHM,       /* u32 ring bytes each way; descriptors travel beside it */
	GW__T_UCX,       /* UCX worker address */
	GW__T_TOKEN,     /* 16 bytes */
	GW__T_MODE,      /* u32 */
	GW__T_ADDR,      /* bytes of one plugin */
	GW__T_OFFSET,    /* u64 */
	GW__T_LENGTH,    /* u64 */
	GW__T_RIGHTS,    /* u32 */
	GW__T_SEG,       /* u64; in a rank nested: VALUE (address), LENGTH, DATA (memh), MKEY */
	GW__T_OP,        /* u32 */
	GW__T_VALUE,     /* u64 */
	GW__T_DATA,      /* bytes */
	GW__T_PLACE,     /* u64: machine and network namespace */
	GW__T_UNIX,      /* text: socket name */
	GW__T_TCP,       /* text: address:port */
	GW__T_UID,       /* u32 */
	GW__T_MKEY,      /* bytes */
	GW__T_RANK,      /* nested: one rank of a domain: (WORKER, ADDR)..., SEG... */
};

struct gw__tlv_w {
	uint8_t *buf;
	size_t cap;
	size_t len;
	bool full;
};

struct gw__tlv_r {
	const uint8_t *buf;
	size_t len;
	size_t at;
	bool bad;
	/* the current entry */
	uint16_t tag;
	uint32_t size;
	const uint8_t *data;
};

static inline struct gw__tlv_w gw__tlv_writer(void *buf, size_t cap)
{
	return (struct gw__tlv_w){ .buf = buf, .cap = cap };
}
void gw__tlv_put(struct gw__tlv_w *w, uint16_t tag, const void *data, size_t size);
void gw__tlv_put_u32(struct gw__tlv_w *w, uint16_t tag, uint32_t v);
void gw__tlv_put_u64(struct gw__tlv_w *w, uint16_t tag, uint64_t v);
void gw__tlv_put_text(struct gw__tlv_w *w, uint16_t tag, const char *s);

static inline struct gw__tlv_r gw__tlv_reader(const void *buf, size_t len)
{
	return (struct gw__tlv_r){ .buf = buf, .len = len };
}
/* Step to the next entry; false at the end or at a bad one (r->bad). */
bool gw__tlv_next(struct gw__tlv_r *r);
/* The current entry as a number or a text that must fit; 0 or -EPROTO. */
int gw__tlv_u32(const struct gw__tlv_r *r, uint32_t *v);
int gw__tlv_u64(const struct gw__tlv_r *r, uint64_t *v);
int gw__tlv_copy(const struct gw__tlv_r *r, void *to, size_t exact);
int gw__tlv_text(const struct gw__tlv_r *r, char *to, size_t cap);

/* The first entry with this tag of a whole payload. 0; -ENOENT; -EPROTO. */
int gw__tlv_find(const void *buf, size_t len, uint16_t tag, struct gw__tlv_r *r);
int gw__tlv_find_u32(const void *buf, size_t len, uint16_t tag, uint32_t *v);
int gw__tlv_find_u64(const void *buf, size_t len, uint16_t tag, uint64_t *v);
int gw__tlv_find_copy(const void *buf, size_t len, uint16_t tag, void *to, size_t exact);
int gw__tlv_find_text(const void *buf, size_t len, uint16_t tag, char *to, size_t cap);

#endif
