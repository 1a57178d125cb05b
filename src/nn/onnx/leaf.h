/* nn/onnx/leaf.h: shared by the files of this folder only: the one place that sees protobuf-c's types. */
#ifndef GW_NN_ONNX_LEAF_H
#define GW_NN_ONNX_LEAF_H

#include "nn/onnx/onnx.h"

#include "onnx/onnx.pb-c.h"

/* Walk the bytes against the message table before anything is unpacked: bounded nesting (the unpacker
 * recurses without a limit) and a bounded number of messages (each costs far more memory than bytes).
 * 0, -EPROTO, -EMSGSIZE. */
int gw__onnx_scan(const uint8_t *bytes, size_t n_bytes);

/* A constant of our own from a stored one; *name is for the diagnosis. */
int gw__onnx_tensor(const Onnx__TensorProto *t, const char *name, struct gw__pool *pool,
		    struct gw__tensor **out, struct gw_diag *diag);

#endif
