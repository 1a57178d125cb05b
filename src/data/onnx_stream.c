/* data/onnx_stream.c: framing of ONNX messages (tag, length, bytes) around what protobuf-c packs.
 * Must not know which network it writes. Next: onnx_stream.h; field numbers are those of onnx.proto. */
#include "data/onnx_stream.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/diag.h"

enum { MODEL_GRAPH = 7, GRAPH_NODE = 1, GRAPH_INITIALIZER = 5, TENSOR_RAW_DATA = 9 };

int gw__onnx_stream_open(struct gw__onnx_stream *s, const char *path, struct gw_diag *diag)
{
	memset(s, 0, sizeof(*s));
	s->file = fopen(path, "wbe");
	if (!s->file) {
		int err = -errno;

		return gw__fail(diag, err, "%s: cannot be written: %s", path, strerror(-err));
	}
	return 0;
}

int gw__onnx_stream_close(struct gw__onnx_stream *s, const char *path, struct gw_diag *diag)
{
	int err = s->err;

	if (s->file && fclose(s->file) && !err)
		err = -errno;
	gw__free(s->scratch);
	s->scratch = NULL;
	s->file = NULL;
	if (err)
		gw__fail(diag, err, "%s: writing failed: %s", path, strerror(-err));
	return err;
}

static void put(struct gw__onnx_stream *s, const void *bytes, size_t n)
{
	if (s->err)
		return;
	s->n_bytes += n;
	if (!s->measuring && fwrite(bytes, 1, n, s->file) != n)
		s->err = errno ? -errno : -EIO;
}

/* Base 128, least significant group first. */
static size_t varint(uint64_t v, uint8_t out[10])
{
	size_t n = 0;

	while (v > 0x7f) {
		out[n++] = (uint8_t)(v | 0x80);
		v >>= 7;
	}
	out[n++] = (uint8_t)v;
	return n;
}

static void put_frame(struct gw__onnx_stream *s, uint32_t field, uint64_t length)
{
	uint8_t head[20];
	size_t n = varint(field << 3 | 2, head);

	n += varint(length, head + n);
	put(s, head, n);
}

/* Packs into the scratch buffer; 0 bytes after an error. */
static size_t pack(struct gw__onnx_stream *s, const ProtobufCMessage *m)
{
	size_t n = protobuf_c_message_get_packed_size(m);

	if (s->err)
		return 0;
	if (n > s->scratch_cap) {
		uint8_t *bigger = gw__realloc(s->scratch, n + 1024);

		if (!bigger) {
			s->err = -ENOMEM;
			return 0;
		}
		s->scratch = bigger;
		s->scratch_cap = n + 1024;
	}
	return protobuf_c_message_pack(m, s->scratch);
}

void gw__onnx_restart(struct gw__onnx_stream *s, bool measuring)
{
	s->n_graph = s->n_bytes;
	s->n_bytes = 0;
	s->n_params = 0;
	s->measuring = measuring;
}

void gw__onnx_put_model(struct gw__onnx_stream *s, const Onnx__ModelProto *model)
{
	size_t n = pack(s, &model->base);

	put(s, s->scratch, n);
	put_frame(s, MODEL_GRAPH, s->n_graph);
}

void gw__onnx_put_graph_part(struct gw__onnx_stream *s, const Onnx__GraphProto *part)
{
	size_t n = pack(s, &part->base);

	put(s, s->scratch, n);
}

void gw__onnx_put_node(struct gw__onnx_stream *s, const Onnx__NodeProto *node)
{
	size_t n = pack(s, &node->base);

	put_frame(s, GRAPH_NODE, n);
	put(s, s->scratch, n);
}

bool gw__onnx_begin_tensor(struct gw__onnx_stream *s, const char *name, int32_t type, const int64_t *dims,
			   size_t n_dims)
{
	Onnx__TensorProto t = ONNX__TENSOR_PROTO__INIT;
	uint64_t n_raw = type == ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT16 ? 2 : 4, n_elems = 1;
	uint8_t tmp[10];
	size_t n_head, n_len;

	for (size_t i = 0; i < n_dims; i++)
		n_elems *= (uint64_t)dims[i];
	n_raw *= n_elems;
	t.name = (char *)(uintptr_t)name; /* read only; protobuf-c has no const fields */
	t.has_data_type = 1;
	t.data_type = type;
	t.n_dims = n_dims;
	t.dims = (int64_t *)(uintptr_t)dims;
	n_head = pack(s, &t.base);
	n_len = varint(n_raw, tmp);
	put_frame(s, GRAPH_INITIALIZER, n_head + 1 + n_len + n_raw);
	put(s, s->scratch, n_head);
	put_frame(s, TENSOR_RAW_DATA, n_raw);
	s->n_params += n_elems;
	if (s->measuring)
		s->n_bytes += n_raw;
	return !s->measuring && !s->err;
}

void gw__onnx_put_raw(struct gw__onnx_stream *s, const void *bytes, size_t n)
{
	put(s, bytes, n);
}
