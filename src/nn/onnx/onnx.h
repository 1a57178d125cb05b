/* nn/onnx/onnx.h: the border where an ONNX file becomes a graph. The bytes are hostile.
 * Must not know what an operator computes. Next: load.c; then nn/lower.c. */
#ifndef GW_NN_ONNX_ONNX_H
#define GW_NN_ONNX_ONNX_H

#include "nn/graph.h"

/* Fill *g from a whole file in memory; nothing in *g points into bytes afterwards.
 * 0; -EPROTO not ONNX, or inconsistent; -ENOTSUP well-formed but outside what we run; -EMSGSIZE; -ENOMEM.
 * After failure *g needs no fini. */
int gw__onnx_parse(const void *bytes, size_t n_bytes, struct gw__graph *g, struct gw_diag *diag);

#endif
