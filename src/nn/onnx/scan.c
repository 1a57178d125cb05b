/* nn/onnx/scan.c: look at a protobuf message's skeleton without allocating anything.
 * Must not know ONNX beyond its generated tables. Next: load.c. */
#include "nn/onnx/leaf.h"

#include <errno.h>

#define MAX_DEPTH 24
#define MAX_MESSAGES 400000u

struct cursor {
	const uint8_t *p, *end;
	uint32_t *n_messages;
};

static int varint(struct cursor *c, uint64_t *out)
{
	uint64_t v = 0;

	for (uint32_t shift = 0; shift < 70 && c->p < c->end; shift += 7) {
		uint8_t b = *c->p++;

		if (shift < 64)
			v |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80)) {
			*out = v;
			return 0;
		}
	}
	return -EPROTO;
}

static int skip(struct cursor *c, size_t n)
{
	if ((size_t)(c->end - c->p) < n)
		return -EPROTO;
	c->p += n;
	return 0;
}

static int walk(struct cursor *c, const ProtobufCMessageDescriptor *desc, int depth);

static int field(struct cursor *c, const ProtobufCMessageDescriptor *desc, int depth)
{
	const ProtobufCFieldDescriptor *f;
	struct cursor sub = *c;
	uint64_t tag, v;

	if (varint(c, &tag) < 0 || tag >> 32 || !(tag >> 3))
		return -EPROTO;
	switch (tag & 7) {
	case 0:
		return varint(c, &v);
	case 1:
		return skip(c, 8);
	case 5:
		return skip(c, 4);
	case 2:
		break;
	default: /* groups: long dead, and none in ONNX */
		return -EPROTO;
	}
	if (varint(c, &v) < 0 || v > (size_t)(c->end - c->p))
		return -EPROTO;
	sub.p = c->p;
	c->p += v;
	sub.end = c->p;
	f = protobuf_c_message_descriptor_get_field(desc, (unsigned)(tag >> 3));
	/* A field that occurs again without being repeated is merged by the unpacker: same depth, same count. */
	if (f && f->type == PROTOBUF_C_TYPE_MESSAGE)
		return walk(&sub, f->descriptor, depth + 1);
	if (f && f->type == PROTOBUF_C_TYPE_STRING && ++*c->n_messages > MAX_MESSAGES)
		return -EMSGSIZE;
	return 0;
}

static int walk(struct cursor *c, const ProtobufCMessageDescriptor *desc, int depth)
{
	int err = 0;

	if (depth > MAX_DEPTH || ++*c->n_messages > MAX_MESSAGES)
		return -EMSGSIZE;
	while (c->p < c->end && !err)
		err = field(c, desc, depth);
	return err;
}

int gw__onnx_scan(const uint8_t *bytes, size_t n_bytes)
{
	uint32_t n_messages = 0;
	struct cursor c = {bytes, bytes + n_bytes, &n_messages};

	return walk(&c, &onnx__model_proto__descriptor, 0);
}
