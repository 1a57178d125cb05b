/* nn/onnx/load.c: a model's bytes to a graph: one input, one output, constants, nodes in order.
 * Must not know what an operator computes; lower.c does. Next: nn/lower.c. */
#include "base/alloc.h"
#include "base/diag.h"
#include "nn/onnx/leaf.h"

#include <errno.h>
#include <string.h>

#define MIN_OPSET 9
#define MAX_OPSET 20
#define MAX_NODES 20000u
#define MAX_SIDE 65536 /* of one input dimension */

static void *pb_alloc(void *ctx, size_t n)
{
	return gw__malloc(n);
}

static void pb_free(void *ctx, void *p)
{
	gw__free(p);
}

static ProtobufCAllocator pb_allocator = {pb_alloc, pb_free, NULL};

static int no_memory(struct gw_diag *diag)
{
	return gw__fail(diag, -ENOMEM, "model: out of memory while reading the graph");
}

static int load_attr(const Onnx__AttributeProto *a, const char *node, struct gw__pool *pool, struct gw__attr *out,
		     struct gw__tensor **constant, struct gw_diag *diag)
{
	out->name = gw__pool_strdup(pool, a->name ? a->name : "");
	if (!out->name)
		return no_memory(diag);
	out->kind = GW__ATTR_OTHER;
	/* Old exporters leave the type out; what is present then tells. */
	if (a->t) {
		if (strcmp(out->name, "value") == 0)
			return gw__onnx_tensor(a->t, node, pool, constant, diag);
	} else if (a->n_ints) {
		if (a->n_ints > GW__NN_MAX_DIMS)
			return gw__fail(diag, -EMSGSIZE, "node %s: attribute %s has %zu numbers; at most %u are read",
					GW__CLEAN(node), GW__CLEAN(out->name), a->n_ints, GW__NN_MAX_DIMS);
		out->kind = GW__ATTR_INTS;
		out->n_ints = (uint32_t)a->n_ints;
		memcpy(out->ints, a->ints, a->n_ints * sizeof(a->ints[0]));
	} else if (a->has_i) {
		out->kind = GW__ATTR_INT;
		out->i = a->i;
	} else if (a->has_f) {
		out->kind = GW__ATTR_FLOAT;
		out->f = a->f;
	} else if (a->has_s && a->s.len < 256) {
		char text[256];

		memcpy(text, a->s.data ? a->s.data : (const uint8_t *)"", a->s.len);
		text[a->s.len] = '\0';
		out->kind = GW__ATTR_STRING;
		out->s = gw__pool_strdup(pool, text);
		if (!out->s)
			return no_memory(diag);
	} else if (a->has_type && a->type == ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS) {
		out->kind = GW__ATTR_INTS; /* an empty list */
	}
	return 0;
}

static int define(struct gw__graph *g, const char *name, const char *node, struct gw_diag *diag)
{
	int v = gw__graph_value(g, name);

	if (v < 0)
		return gw__fail(diag, v, "model: cannot keep the name %s", GW__CLEAN(name));
	if (g->values[v].defined)
		return gw__fail(diag, -EPROTO, "node %s: value %s is defined a second time", GW__CLEAN(node),
				GW__CLEAN(name));
	g->values[v].defined = true;
	return v;
}

static int load_inputs(const Onnx__NodeProto *p, struct gw__node *node, struct gw__graph *g, struct gw_diag *diag)
{
	if (p->n_input > GW__NN_MAX_IN)
		return gw__fail(diag, -ENOTSUP, "node %s (%s): %zu inputs; at most %u are read", GW__CLEAN(node->name),
				GW__CLEAN(node->op), p->n_input, GW__NN_MAX_IN);
	node->n_in = (uint32_t)p->n_input;
	for (uint32_t i = 0; i < node->n_in; i++) {
		int v = -1;

		if (p->input[i][0]) {
			v = gw__graph_value(g, p->input[i]);
			if (v < 0 || !g->values[v].defined)
				return gw__fail(diag, v == -ENOMEM ? v : -EPROTO,
						"node %s (%s): input %s is not defined before it", GW__CLEAN(node->name),
						GW__CLEAN(node->op), GW__CLEAN(p->input[i]));
		}
		node->in[i] = v;
	}
	return 0;
}

static int load_node(const Onnx__NodeProto *p, struct gw__graph *g, struct gw_diag *diag)
{
	struct gw__node *node = &g->nodes[g->n_nodes];
	const char *first = p->n_output ? p->output[0] : "";
	struct gw__tensor *constant = NULL;
	int err;

	memset(node, 0, sizeof(*node)); /* a Constant may have stood here before */
	node->op = gw__pool_strdup(&g->pool, p->op_type ? p->op_type : "");
	node->name = gw__pool_strdup(&g->pool, p->name && p->name[0] ? p->name : first);
	node->attrs = gw__pool_alloc(&g->pool, p->n_attribute, sizeof(*node->attrs));
	if (!node->op || !node->name || !node->attrs)
		return no_memory(diag);
	if (p->domain && p->domain[0] && strcmp(p->domain, "ai.onnx") != 0)
		return gw__fail(diag, -ENOTSUP, "node %s: operator %s is of domain %s; only ONNX's own are run",
				GW__CLEAN(node->name), GW__CLEAN(node->op), GW__CLEAN(p->domain));
	for (size_t i = 1; i < p->n_output; i++)
		if (p->output[i][0])
			return gw__fail(diag, -ENOTSUP, "node %s (%s): output %zu is asked for; only the first is made",
					GW__CLEAN(node->name), GW__CLEAN(node->op), i);
	if (!first[0])
		return gw__fail(diag, -EPROTO, "node %s (%s): has no output", GW__CLEAN(node->name),
				GW__CLEAN(node->op));
	err = load_inputs(p, node, g, diag);
	for (size_t i = 0; !err && i < p->n_attribute; i++) {
		err = load_attr(p->attribute[i], node->name, &g->pool, &node->attrs[i], &constant, diag);
		node->n_attrs++;
	}
	if (err)
		return err;
	node->out = define(g, first, node->name, diag);
	if (node->out < 0)
		return node->out;
	if (strcmp(node->op, "Constant") == 0) {
		if (!constant || node->n_attrs != 1)
			return gw__fail(diag, -ENOTSUP, "node %s (Constant): only a tensor `value` is read",
					GW__CLEAN(node->name));
		g->values[node->out].constant = constant;
		return 0; /* not a node any more */
	}
	if (constant)
		return gw__fail(diag, -ENOTSUP, "node %s (%s): a tensor attribute is not read", GW__CLEAN(node->name),
				GW__CLEAN(node->op));
	g->n_nodes++;
	return 0;
}

static const Onnx__TypeProto__Tensor *tensor_type(const Onnx__ValueInfoProto *v)
{
	return v->type && v->type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE ? v->type->tensor_type : NULL;
}

static int load_input_type(const Onnx__ValueInfoProto *v, struct gw__graph *g, struct gw_diag *diag)
{
	const Onnx__TypeProto__Tensor *t = tensor_type(v);
	const Onnx__TensorShapeProto *s = t ? t->shape : NULL;

	if (!t || t->elem_type != ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT16)
		return gw__fail(diag, -ENOTSUP,
				"input %s: element type %d; FLOAT16 (10) is required (put a Cast to FLOAT right after it)",
				GW__CLEAN(v->name), t ? t->elem_type : 0);
	if (!s || s->n_dim != 4)
		return gw__fail(diag, -ENOTSUP, "input %s: %zu dimensions; (n, chan, height, width) is required",
				GW__CLEAN(v->name), s ? s->n_dim : 0);
	if (s->dim[0]->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE)
		return gw__fail(diag, -ENOTSUP, "input %s: batch is fixed at %lld; export it with a dynamic batch",
				GW__CLEAN(v->name), (long long)s->dim[0]->dim_value);
	for (int i = 0; i < 3; i++) {
		const Onnx__TensorShapeProto__Dimension *d = s->dim[i + 1];

		if (d->value_case != ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE || d->dim_value < 1 ||
		    d->dim_value > MAX_SIDE)
			return gw__fail(diag, -ENOTSUP, "input %s: dimension %d must be a number in 1..%d",
					GW__CLEAN(v->name), i + 1, MAX_SIDE);
		g->in_dims[i] = d->dim_value;
	}
	return 0;
}

static int load_borders(const Onnx__GraphProto *p, struct gw__graph *g, struct gw_diag *diag)
{
	const Onnx__TypeProto__Tensor *t;
	int err;

	for (size_t i = 0; i < p->n_input; i++) {
		const char *name = p->input[i]->name ? p->input[i]->name : "";
		int v = gw__graph_value(g, name);

		if (v < 0)
			return no_memory(diag);
		if (g->values[v].constant)
			continue; /* old files list constants among the inputs */
		if (g->input >= 0)
			return gw__fail(diag, -ENOTSUP, "model: inputs %s and %s; one is read",
					GW__CLEAN(g->values[g->input].name), GW__CLEAN(name));
		g->input = define(g, name, name, diag);
		if (g->input < 0)
			return g->input;
		err = load_input_type(p->input[i], g, diag);
		if (err)
			return err;
	}
	if (g->input < 0 || p->n_output != 1)
		return gw__fail(diag, -ENOTSUP, "model: %s input, %zu outputs; exactly one of each is needed",
				g->input < 0 ? "no" : "one", p->n_output);
	t = tensor_type(p->output[0]);
	if (!t || t->elem_type != ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT)
		return gw__fail(diag, -ENOTSUP, "output: element type %d; FLOAT (1) is required (put a Cast at the end)",
				t ? t->elem_type : 0);
	return 0;
}

static int load_graph(const Onnx__GraphProto *p, struct gw__graph *g, struct gw_diag *diag)
{
	int err;

	if (p->n_sparse_initializer)
		return gw__fail(diag, -ENOTSUP, "model: sparse constants are not read");
	for (size_t i = 0; i < p->n_initializer; i++) {
		struct gw__tensor *t = NULL;
		int v = define(g, p->initializer[i]->name ? p->initializer[i]->name : "", "(constants)", diag);

		if (v < 0)
			return v;
		err = gw__onnx_tensor(p->initializer[i], g->values[v].name, &g->pool, &t, diag);
		if (err)
			return err;
		g->values[v].constant = t;
	}
	err = load_borders(p, g, diag);
	for (size_t i = 0; !err && i < p->n_node; i++)
		err = load_node(p->node[i], g, diag);
	if (err)
		return err;
	g->output = gw__graph_value(g, p->output[0]->name ? p->output[0]->name : "");
	if (g->output < 0)
		return no_memory(diag);
	if (!g->values[g->output].defined || g->values[g->output].constant)
		return gw__fail(diag, -EPROTO, "output %s: no node makes it", GW__CLEAN(g->values[g->output].name));
	return 0;
}

static int load_model(const Onnx__ModelProto *m, struct gw__graph *g, struct gw_diag *diag)
{
	const Onnx__GraphProto *p = m->graph;
	uint32_t cap;
	int err;

	if (!p || !p->n_node)
		return gw__fail(diag, -EPROTO, "model: no graph in it (is it an ONNX file?)");
	if (p->n_node > MAX_NODES || p->n_initializer > 4 * MAX_NODES || p->n_input > MAX_NODES)
		return gw__fail(diag, -EMSGSIZE, "model: %zu nodes, %zu constants; at most %u and %u are read", p->n_node,
				p->n_initializer, MAX_NODES, 4 * MAX_NODES);
	/* Node inputs may name at most what is defined already, plus one unknown name before the refusal. */
	cap = (uint32_t)(p->n_node + p->n_initializer + p->n_input) + 2;
	if (gw__graph_init(g, cap) < 0)
		return no_memory(diag);
	for (size_t i = 0; i < m->n_opset_import; i++)
		if (!m->opset_import[i]->domain || !m->opset_import[i]->domain[0] ||
		    strcmp(m->opset_import[i]->domain, "ai.onnx") == 0)
			g->opset = m->opset_import[i]->version;
	g->nodes = gw__pool_alloc(&g->pool, p->n_node, sizeof(*g->nodes));
	if (!g->nodes)
		err = no_memory(diag);
	else if (g->opset < MIN_OPSET || g->opset > MAX_OPSET)
		err = gw__fail(diag, -ENOTSUP, "model: opset %lld; %d..%d are read", (long long)g->opset, MIN_OPSET,
			       MAX_OPSET);
	else
		err = load_graph(p, g, diag);
	if (err)
		gw__graph_fini(g);
	return err;
}

int gw__onnx_parse(const void *bytes, size_t n_bytes, struct gw__graph *g, struct gw_diag *diag)
{
	Onnx__ModelProto *m;
	int err = gw__onnx_scan(bytes, n_bytes);

	if (err == -EMSGSIZE)
		return gw__fail(diag, err, "model: nested too deeply, or too many parts");
	if (err)
		return gw__fail(diag, err, "model: not an ONNX file (its protobuf framing is broken)");
	m = onnx__model_proto__unpack(&pb_allocator, n_bytes, bytes);
	if (!m)
		return gw__fail(diag, -EPROTO, "model: not an ONNX file, or not enough memory to read it");
	err = load_model(m, g, diag);
	onnx__model_proto__free_unpacked(m, &pb_allocator);
	return err;
}
