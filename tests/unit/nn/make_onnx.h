/* tests/unit/nn/make_onnx.h: small ONNX files for the tests of src/nn, written through protobuf-c.
 * Everything lies in static arrays: one model at a time. Next: nn_net.c, nn_refuse.c. */
#ifndef GW_TESTS_MAKE_ONNX_H
#define GW_TESTS_MAKE_ONNX_H

#include "onnx/onnx.pb-c.h"

#include "t.h"

#include <unistd.h>

#define MK_MAX 64

static struct {
	Onnx__ModelProto model;
	Onnx__GraphProto graph;
	Onnx__OperatorSetIdProto opset, *opset_list[1];
	Onnx__NodeProto node[MK_MAX], *node_list[MK_MAX];
	char *ins[MK_MAX][16], *outs[MK_MAX][2];
	Onnx__AttributeProto attr[MK_MAX][6], *attr_list[MK_MAX][6];
	int64_t ints[MK_MAX][6][16];
	Onnx__TensorProto tensor[MK_MAX], *tensor_list[MK_MAX];
	int64_t dims[MK_MAX][16];
	Onnx__ValueInfoProto value[2], *value_list[2];
	Onnx__TypeProto type[2];
	Onnx__TypeProto__Tensor ttype[2];
	Onnx__TensorShapeProto shape[2];
	Onnx__TensorShapeProto__Dimension dim[2][4], *dim_list[2][4];
	char names[MK_MAX * 8][32];
	int n_names;
} mk;
static unsigned char mk_bytes[1 << 22];
static size_t mk_n_bytes;

static inline char *mk_name(const char *s)
{
	char *p = mk.names[mk.n_names++];

	snprintf(p, 32, "%s", s);
	return p;
}

/* An input or output: elem type, dims after the dynamic batch. */
static inline void mk_border(int i, const char *name, int elem, int n_dims, const int64_t *dims)
{
	onnx__value_info_proto__init(&mk.value[i]);
	onnx__type_proto__init(&mk.type[i]);
	onnx__type_proto__tensor__init(&mk.ttype[i]);
	onnx__tensor_shape_proto__init(&mk.shape[i]);
	mk.value[i].name = mk_name(name);
	mk.value[i].type = &mk.type[i];
	mk.type[i].value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
	mk.type[i].tensor_type = &mk.ttype[i];
	mk.ttype[i].has_elem_type = 1;
	mk.ttype[i].elem_type = elem;
	mk.ttype[i].shape = &mk.shape[i];
	mk.shape[i].n_dim = (size_t)n_dims + 1;
	mk.shape[i].dim = mk.dim_list[i];
	for (int k = 0; k <= n_dims; k++) {
		Onnx__TensorShapeProto__Dimension *d = mk.dim_list[i][k] = &mk.dim[i][k];

		onnx__tensor_shape_proto__dimension__init(d);
		d->value_case = k ? ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE
				  : ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
		if (k)
			d->dim_value = dims[k - 1];
		else
			d->dim_param = mk_name("n");
	}
	mk.value_list[i] = &mk.value[i];
}

/* A new model: input "x" (n, c, h, w), output named `out` with n_features. */
static inline void mk_begin(int64_t c, int64_t h, int64_t w, const char *out, int64_t n_features)
{
	memset(&mk, 0, sizeof(mk));
	onnx__model_proto__init(&mk.model);
	onnx__graph_proto__init(&mk.graph);
	onnx__operator_set_id_proto__init(&mk.opset);
	mk.model.has_ir_version = 1;
	mk.model.ir_version = 7;
	mk.model.graph = &mk.graph;
	mk.model.n_opset_import = 1;
	mk.model.opset_import = mk.opset_list;
	mk.opset_list[0] = &mk.opset;
	mk.opset.has_version = 1;
	mk.opset.version = 13;
	mk.graph.node = mk.node_list;
	mk.graph.initializer = mk.tensor_list;
	mk.graph.n_input = 1;
	mk.graph.input = &mk.value_list[0];
	mk.graph.n_output = 1;
	mk.graph.output = &mk.value_list[1];
	mk_border(0, "x", ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT16, 3, (int64_t[]){c, h, w});
	mk_border(1, out, ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT, 1, &n_features);
}

/* A constant; bytes is borrowed until mk_write. */
static inline Onnx__TensorProto *mk_const(const char *name, int elem, int n_dims, const int64_t *dims,
					  const void *bytes, size_t n_bytes)
{
	size_t i = mk.graph.n_initializer++;
	Onnx__TensorProto *t = mk.tensor_list[i] = &mk.tensor[i];

	onnx__tensor_proto__init(t);
	t->name = mk_name(name);
	t->has_data_type = 1;
	t->data_type = elem;
	t->n_dims = (size_t)n_dims;
	t->dims = mk.dims[i];
	if (n_dims)
		memcpy(mk.dims[i], dims, (size_t)n_dims * sizeof(int64_t));
	t->has_raw_data = 1;
	t->raw_data.data = (uint8_t *)(uintptr_t)bytes;
	t->raw_data.len = n_bytes;
	return t;
}

static inline Onnx__TensorProto *mk_floats(const char *name, int n_dims, const int64_t *dims, const float *v)
{
	size_t n = 1;

	for (int i = 0; i < n_dims; i++)
		n *= (size_t)dims[i];
	return mk_const(name, ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT, n_dims, dims, v, n * 4);
}

/* That constant leaves the list, to live in an attribute instead. */
static inline Onnx__TensorProto *mk_take_const(const char *name)
{
	for (size_t i = 0; i < mk.graph.n_initializer; i++) {
		Onnx__TensorProto *t = mk.tensor_list[i];

		if (strcmp(t->name, name) != 0)
			continue;
		mk.graph.n_initializer--;
		memmove(mk.tensor_list + i, mk.tensor_list + i + 1,
			(mk.graph.n_initializer - i) * sizeof(mk.tensor_list[0]));
		return t;
	}
	T_NEED(!"no such constant");
	return NULL;
}

/* A node; ins are names separated by blanks, "-" = left out. */
static inline Onnx__NodeProto *mk_node(const char *op, const char *ins, const char *out)
{
	size_t i = mk.graph.n_node++;
	Onnx__NodeProto *n = mk.node_list[i] = &mk.node[i];
	char text[256], *save = NULL, *p;

	onnx__node_proto__init(n);
	n->op_type = mk_name(op);
	snprintf(text, sizeof(text), "%.20s_%d", op, (int)i);
	n->name = mk_name(text);
	n->input = mk.ins[i];
	n->output = mk.outs[i];
	n->attribute = mk.attr_list[i];
	snprintf(text, sizeof(text), "%s", ins);
	for (p = strtok_r(text, " ", &save); p; p = strtok_r(NULL, " ", &save))
		n->input[n->n_input++] = mk_name(strcmp(p, "-") ? p : "");
	n->output[n->n_output++] = mk_name(out);
	return n;
}

static inline Onnx__AttributeProto *mk_attr(Onnx__NodeProto *n, const char *name)
{
	size_t i = (size_t)(n - mk.node), k = n->n_attribute++;
	Onnx__AttributeProto *a = mk.attr_list[i][k] = &mk.attr[i][k];

	onnx__attribute_proto__init(a);
	a->name = mk_name(name);
	a->ints = mk.ints[i][k];
	return a;
}

static inline void mk_int(Onnx__NodeProto *n, const char *name, int64_t v)
{
	Onnx__AttributeProto *a = mk_attr(n, name);

	a->has_type = 1;
	a->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT;
	a->has_i = 1;
	a->i = v;
}

static inline void mk_float(Onnx__NodeProto *n, const char *name, float v)
{
	Onnx__AttributeProto *a = mk_attr(n, name);

	a->has_type = 1;
	a->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT;
	a->has_f = 1;
	a->f = v;
}

static inline void mk_ints(Onnx__NodeProto *n, const char *name, int count, const int64_t *v)
{
	Onnx__AttributeProto *a = mk_attr(n, name);

	a->has_type = 1;
	a->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS;
	a->n_ints = (size_t)count;
	memcpy(a->ints, v, (size_t)count * sizeof(int64_t));
}

static inline void mk_window(Onnx__NodeProto *n, int64_t k, int64_t s, int64_t p)
{
	mk_ints(n, "kernel_shape", 2, (int64_t[]){k, k});
	mk_ints(n, "strides", 2, (int64_t[]){s, s});
	mk_ints(n, "pads", 4, (int64_t[]){p, p, p, p});
}

static inline void mk_pack(void)
{
	mk_n_bytes = onnx__model_proto__get_packed_size(&mk.model);
	T_NEED(mk_n_bytes <= sizeof(mk_bytes));
	onnx__model_proto__pack(&mk.model, mk_bytes);
}

/* Bytes to a file of this process; static text. */
static inline const char *mk_save(const void *bytes, size_t n)
{
	static char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/tmp/gw_nn_%d.onnx", (int)getpid());
	f = fopen(path, "wb");
	T_NEED(f && fwrite(bytes, 1, n, f) == n && fclose(f) == 0);
	return path;
}

static inline const char *mk_write(void)
{
	mk_pack();
	return mk_save(mk_bytes, mk_n_bytes);
}

#endif
