/* data/onnx_stream.h: an ONNX file written as a stream: small messages packed by protobuf-c, tensors piece by
 * piece, so that a model of any size needs a few kilobytes. Must not know which network it writes.
 * A protobuf message is preceded by its length, so the caller walks twice: first measuring, then writing.
 * Next: resnet.c is the one caller. */
#ifndef GW_DATA_ONNX_STREAM_H
#define GW_DATA_ONNX_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <gpuwire/common.h>

#include "onnx/onnx.pb-c.h"

struct gw__onnx_stream {
	FILE *file;
	bool measuring;     /* count bytes, write none */
	uint64_t n_bytes;   /* counted or written since the last gw__onnx_restart() */
	uint64_t n_graph;   /* length of the graph, known after measuring */
	uint64_t n_params;  /* tensor elements since the last restart */
	int err;            /* first failure; later calls do nothing */
	uint8_t *scratch;   /* a packed message */
	size_t scratch_cap;
};

/* Opens path for writing. 0, -EACCES and the like, each with a sentence. */
int gw__onnx_stream_open(struct gw__onnx_stream *s, const char *path, struct gw_diag *diag);
/* Flushes and closes; 0 or the first failure. Also closes a stream that has failed. */
int gw__onnx_stream_close(struct gw__onnx_stream *s, const char *path, struct gw_diag *diag);

/* Begin a walk: measuring comes first, and its byte count is the graph's length in the second. */
void gw__onnx_restart(struct gw__onnx_stream *s, bool measuring);
/* Everything of the model but its graph, then the graph's tag and length. Writing walk only. */
void gw__onnx_put_model(struct gw__onnx_stream *s, const Onnx__ModelProto *model);
/* Parts of the graph, in any order. */
void gw__onnx_put_graph_part(struct gw__onnx_stream *s, const Onnx__GraphProto *part);
void gw__onnx_put_node(struct gw__onnx_stream *s, const Onnx__NodeProto *node);
/* A tensor's head; exactly n_elems elements follow through gw__onnx_put_raw() when writing.
 * Returns true when the caller has to write them, false when measuring (they are counted) or after an error. */
bool gw__onnx_begin_tensor(struct gw__onnx_stream *s, const char *name, int32_t type, const int64_t *dims,
			   size_t n_dims);
void gw__onnx_put_raw(struct gw__onnx_stream *s, const void *bytes, size_t n);

#endif
