/* urom_net/frame.h: the bytes on every UROM channel: a 32-byte header, then a payload.
 * Must not know sockets or who speaks. Next: tlv.h (control payloads), chan.h (how frames travel).
 *
 * Little endian, fixed width, no pointers, no library structs:
 *   0 magic u32 | 4 major u8 | 5 minor u8 | 6 type u16 | 8 payload_len u32 | 12 flags u32 | 16 context u64
 *   | 24 plugin u32 | 28 status i32 (a doca_error_t, 0 = success) */
#ifndef GW_UROM_NET_FRAME_H
#define GW_UROM_NET_FRAME_H

#include <stddef.h>
#include <stdint.h>

#define GW__UROM_MAGIC 0x4d4f5255u /* "UROM" */
#define GW__UROM_MAJOR 1u
#define GW__UROM_MINOR 0u
#define GW__UROM_HDR 32u

/* limits: beyond them EMSGSIZE or ENOBUFS, never a bigger allocation */
#define GW__UROM_MSG_DEFAULT 4096u          /* header + payload of CMD and NOTIF */
#define GW__UROM_MSG_MAX (1u << 20)
#define GW__UROM_CTRL_MAX (64u << 10)       /* any other frame, payload */
#define GW__UROM_MAX_INFLIGHT 4096u
#define GW__UROM_MAX_WORKERS 256u
#define GW__UROM_MAX_CLIENTS 64u            /* of one worker */
#define GW__UROM_MAX_PLUGINS 64u
#define GW__UROM_MAX_ENV 64u
#define GW__UROM_MAX_ENV_BYTES 4096u
#define GW__UROM_MAX_BLOB (64u << 10)       /* of one rank in a domain */
#define GW__UROM_MAX_DOMAIN 1024u           /* ranks */

enum gw__frame_type {
	GW__F_HELLO = 1,   /* who I am, versions, limits, nonce */
	GW__F_HELLO_ACK,   /* what we speak; asks for AUTH when a key is set */
	GW__F_AUTH,        /* proof of the key, first the caller, then the answer */
	GW__F_PLUGINS,     /* ask; answer: list */
	GW__F_SPAWN,       /* make or find a worker */
	GW__F_READY,       /* it runs: id and ticket */
	GW__F_JOIN,        /* ticket, on a new connection */
	GW__F_JOIN_ACK,    /* from the worker: channel offers */
	GW__F_JOIN_OK,     /* the offer taken; data may flow */
	GW__F_GID_QUERY,
	GW__F_CMD,         /* to a plugin */
	GW__F_NOTIF,       /* from a plugin */
	GW__F_ADDR,        /* ask a worker for its plugins' addresses; answer the same type */
	GW__F_DOMAIN,      /* part of a domain's table; the last part is acknowledged */
	GW__F_MEM,         /* a memory segment, with or without a file descriptor */
	GW__F_MEM_OP,      /* worker to host: put, get, fetch-add on a segment */
	GW__F_MEM_ACK,
	GW__F_PING,
	GW__F_STATUS,
	GW__F_STOP,
	GW__F_IDLE,        /* worker to daemon: my last client left */
	GW__F_BYE,
	GW__F_ERROR,       /* status + text; the sender closes after it unless flagged otherwise */
	GW__F_MESH,        /* between workers */
	GW__F_LAST,
};

/* A frame of unknown type with this flag is skipped, without it refused. */
#define GW__FL_OPTIONAL 1u
/* GW__F_DOMAIN, GW__F_ADDR: more parts follow. GW__F_MESH: more fragments. */
#define GW__FL_MORE 2u
/* GW__F_SPAWN: the worker stays when its last client leaves. */
#define GW__FL_PERSISTENT 4u

struct gw__frame {
	uint8_t major, minor;
	uint16_t type;
	uint32_t len; /* payload bytes */
	uint32_t flags;
	uint64_t context;
	uint32_t plugin;
	int32_t status;
	const uint8_t *payload; /* [len]; borrowed, see who filled it */
};

void gw__frame_encode(uint8_t out[GW__UROM_HDR], const struct gw__frame *f);
/* Header only; payload = NULL. max_msg bounds header + payload of CMD, NOTIF and MESH.
 * 0; -EPROTO wrong magic; -EPROTONOSUPPORT another major version (f is filled); -EMSGSIZE too long. */
int gw__frame_decode(const uint8_t in[GW__UROM_HDR], uint32_t max_msg, struct gw__frame *f);
const char *gw__frame_name(uint16_t type);

static inline void gw__put_le16(uint8_t *p, uint16_t v)
{
	p[0] = (uint8_t)v;
	p[1] = (uint8_t)(v >> 8);
}
static inline void gw__put_le32(uint8_t *p, uint32_t v)
{
	gw__put_le16(p, (uint16_t)v);
	gw__put_le16(p + 2, (uint16_t)(v >> 16));
}
static inline void gw__put_le64(uint8_t *p, uint64_t v)
{
	gw__put_le32(p, (uint32_t)v);
	gw__put_le32(p + 4, (uint32_t)(v >> 32));
}
static inline uint16_t gw__get_le16(const uint8_t *p)
{
	return (uint16_t)(p[0] | p[1] << 8);
}
static inline uint32_t gw__get_le32(const uint8_t *p)
{
	return gw__get_le16(p) | (uint32_t)gw__get_le16(p + 2) << 16;
}
static inline uint64_t gw__get_le64(const uint8_t *p)
{
	return gw__get_le32(p) | (uint64_t)gw__get_le32(p + 4) << 32;
}

#endif
