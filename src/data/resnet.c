/* data/resnet.c: the five ResNets as a walk over their layers, each emitted as nodes or as tensors.
 * Must not use floating point: every weight is an integer times 2^-k. Next: resnet.h, exact.h, onnx_stream.h.
 *
 * Weights: every filter is drawn near-normal, its mean taken out, scaled to variance 2 / fan-in. Filters that
 * sum to zero do not answer to the positive mean every rectified activation has, so random features stay
 * apart. Batch normalisation: gamma 0.75..1.25, beta and mean within 1/8, variance 0.5..1.5; the last gamma of a
 * block is scaled by sqrt(4 / blocks), so that the sum over any number of blocks stays within FLOAT16. */
#include "data/resnet.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/diag.h"
#include "data/target.h"
#include "data/exact.h"
#include "data/onnx_stream.h"

#define NAME_MAX_LEN 64
#define MAX_FILTER (512 * 3 * 3) /* inputs of the largest filter of the five */

enum { TYPE_F32 = ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT, TYPE_F16 = ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT16 };
enum walk_phase { WALK_NODES, WALK_TENSORS };

struct layout {
	uint32_t depth;
	uint32_t n_blocks[4];
	bool bottleneck; /* 1x1, 3x3, 1x1 with four times the channels out; else 3x3, 3x3 */
};

static const struct layout layouts[] = {
	{ 18, { 2, 2, 2, 2 }, false },
	{ 34, { 3, 4, 6, 3 }, false },
	{ 50, { 3, 4, 6, 3 }, true },
	{ 101, { 3, 4, 23, 3 }, true },
	{ 152, { 3, 8, 36, 3 }, true },
};

struct net {
	struct gw__onnx_stream s;
	const struct layout *layout;
	const struct gw__resnet_opts *opts;
	enum walk_phase phase;
	int32_t type;           /* of activations and weights */
	uint64_t n_tensor;      /* drawn so far in this walk: each has its own random stream */
	uint32_t tail_gamma;    /* 2^16 * sqrt(4 / blocks) */
	int32_t draw[MAX_FILTER];
	uint8_t bytes[MAX_FILTER * 4];
};

struct conv {
	uint32_t n_in, n_out, kernel, stride;
	uint32_t gamma; /* of its normalisation, 2^16 = 1 */
};

/* ---- nodes ---------------------------------------------------------------------------------- */

static Onnx__AttributeProto ints_attr(const char *name, int64_t *v, size_t n)
{
	Onnx__AttributeProto a = ONNX__ATTRIBUTE_PROTO__INIT;

	a.name = (char *)(uintptr_t)name;
	a.has_type = 1;
	a.type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS;
	a.n_ints = n;
	a.ints = v;
	return a;
}

static Onnx__AttributeProto int_attr(const char *name, int64_t v)
{
	Onnx__AttributeProto a = ONNX__ATTRIBUTE_PROTO__INIT;

	a.name = (char *)(uintptr_t)name;
	a.has_type = 1;
	a.type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT;
	a.has_i = 1;
	a.i = v;
	return a;
}

/* A node is named like its one output. */
static void put_node(struct net *n, const char *op, const char *name, const char *const *inputs, size_t n_inputs,
		     Onnx__AttributeProto *attrs, size_t n_attrs)
{
	Onnx__NodeProto node = ONNX__NODE_PROTO__INIT;
	Onnx__AttributeProto *attr_ptrs[4];
	char *in[5], *out[1] = { (char *)(uintptr_t)name };

	if (n->phase != WALK_NODES)
		return;
	for (size_t i = 0; i < n_inputs; i++)
		in[i] = (char *)(uintptr_t)inputs[i];
	for (size_t i = 0; i < n_attrs; i++)
		attr_ptrs[i] = &attrs[i];
	node.name = out[0];
	node.op_type = (char *)(uintptr_t)op;
	node.n_input = n_inputs;
	node.input = in;
	node.n_output = 1;
	node.output = out;
	node.n_attribute = n_attrs;
	node.attribute = attr_ptrs;
	gw__onnx_put_node(&n->s, &node);
}

static void put_unary(struct net *n, const char *op, const char *name, const char *input)
{
	put_node(n, op, name, &input, 1, NULL, 0);
}

static void put_cast(struct net *n, const char *name, const char *input, int32_t to)
{
	Onnx__AttributeProto a = int_attr("to", to);

	put_node(n, "Cast", name, &input, 1, &a, 1);
}

/* ---- tensors -------------------------------------------------------------------------------- */

/* One element, v * 2^-frac, in the file's type, little-endian. Returns its size. */
static size_t put_element(const struct net *n, uint8_t *at, int64_t v, int frac)
{
	uint32_t bits = n->type == TYPE_F16 ? gw__exact_f16(v, frac) : gw__exact_f32(v, frac);
	size_t size = n->type == TYPE_F16 ? 2 : 4;

	for (size_t i = 0; i < size; i++)
		at[i] = (uint8_t)(bits >> (8 * i));
	return size;
}

static uint64_t next_stream(struct net *n)
{
	return gw__exact_hash(n->opts->seed, n->n_tensor++);
}

/* (out, in, kernel, kernel). A draw is the sum of four 16-bit lanes, standard deviation 65536 / sqrt(3); times
 * sqrt(6 / fan-in) * 2^-16 that is sqrt(2 / fan-in). */
static void put_filters(struct net *n, const char *name, const struct conv *c)
{
	int64_t dims[4] = { c->n_out, c->n_in, c->kernel, c->kernel };
	uint32_t fan_in = c->n_in * c->kernel * c->kernel;
	int64_t scale = gw__exact_isqrt((UINT64_C(6) << 60) / fan_in); /* 2^30 * sqrt(6 / fan-in) */
	uint64_t key = next_stream(n), i = 0;

	if (!gw__onnx_begin_tensor(&n->s, name, n->type, dims, 4))
		return;
	for (uint32_t f = 0; f < c->n_out; f++) {
		int64_t sum = 0;
		size_t at = 0;

		for (uint32_t k = 0; k < fan_in; k++) {
			uint64_t h = gw__exact_hash(key, i++);

			n->draw[k] = (int32_t)((h & 0xffff) + (h >> 16 & 0xffff) + (h >> 32 & 0xffff) +
					       (h >> 48)) - 131070;
			sum += n->draw[k];
		}
		for (uint32_t k = 0; k < fan_in; k++)
			at += put_element(n, n->bytes + at, (n->draw[k] - sum / (int64_t)fan_in) * scale, 46);
		gw__onnx_put_raw(&n->s, n->bytes, at);
	}
}

/* (n_elems): each is (base + r) * gain * 2^-frac, r drawn from 0..65535. */
static void put_vector(struct net *n, const char *prefix, const char *suffix, uint32_t n_elems, int64_t base,
		       int64_t gain, int frac)
{
	int64_t dims[1] = { n_elems };
	uint64_t key = next_stream(n);
	char name[NAME_MAX_LEN];
	size_t at = 0;

	snprintf(name, sizeof(name), "%s.%s", prefix, suffix);
	if (!gw__onnx_begin_tensor(&n->s, name, n->type, dims, 1))
		return;
	for (uint32_t i = 0; i < n_elems; i++) /* at most 2048 elements: fits n->bytes */
		at += put_element(n, n->bytes + at,
				  (base + (int64_t)(gw__exact_hash(key, i) >> 48)) * gain, frac);
	gw__onnx_put_raw(&n->s, n->bytes, at);
}

/* (1, 3, 1, 1): num[c] / den[c]. Not random: they undo the wire's pixel - 128 and normalise as ImageNet does. */
static void put_channel_constant(struct net *n, const char *name, const int64_t num[3], const int64_t den[3])
{
	const int64_t dims[4] = { 1, 3, 1, 1 };
	size_t at = 0;

	if (!gw__onnx_begin_tensor(&n->s, name, n->type, dims, 4))
		return;
	for (int c = 0; c < 3; c++)
		at += put_element(n, n->bytes + at, (num[c] << 48) / den[c], 48);
	gw__onnx_put_raw(&n->s, n->bytes, at);
}

/* ---- layers --------------------------------------------------------------------------------- */

/* convolution, then batch normalisation; the result is called like the normalisation, bn_name */
static void conv_bn(struct net *n, const char *conv_name, const char *bn_name, const char *input,
		    const struct conv *c)
{
	static const char *const suffixes[4] = { "weight", "bias", "running_mean", "running_var" };
	int64_t pad = c->kernel / 2;
	int64_t kernel[2] = { c->kernel, c->kernel }, stride[2] = { c->stride, c->stride };
	int64_t pads[4] = { pad, pad, pad, pad };
	Onnx__AttributeProto attrs[3] = { ints_attr("kernel_shape", kernel, 2), ints_attr("strides", stride, 2),
					  ints_attr("pads", pads, 4) };
	char weight[NAME_MAX_LEN], vectors[4][NAME_MAX_LEN];
	const char *conv_in[2] = { input, weight };
	const char *bn_in[5] = { conv_name, vectors[0], vectors[1], vectors[2], vectors[3] };

	snprintf(weight, sizeof(weight), "%s.weight", conv_name);
	for (int i = 0; i < 4; i++)
		snprintf(vectors[i], NAME_MAX_LEN, "%s.%s", bn_name, suffixes[i]);
	put_node(n, "Conv", conv_name, conv_in, 2, attrs, 3);
	put_node(n, "BatchNormalization", bn_name, bn_in, 5, NULL, 0);
	if (n->phase != WALK_TENSORS)
		return;
	put_filters(n, weight, c);
	put_vector(n, bn_name, suffixes[0], c->n_out, 98304, c->gamma, 33);  /* gamma * (0.75 .. 1.25) */
	put_vector(n, bn_name, suffixes[1], c->n_out, -32768, 1, 18);        /* +-1/8 */
	put_vector(n, bn_name, suffixes[2], c->n_out, -32768, 1, 18);
	put_vector(n, bn_name, suffixes[3], c->n_out, 32768, 1, 16);         /* 0.5 .. 1.5 */
}

/* One residual block; `input` is replaced by the name of its output. */
static void block(struct net *n, const char *prefix, char input[NAME_MAX_LEN], uint32_t n_in, uint32_t n_mid,
		  uint32_t stride)
{
	bool deep = n->layout->bottleneck;
	uint32_t n_out = deep ? 4 * n_mid : n_mid;
	uint32_t n_convs = deep ? 3 : 2;
	char x[NAME_MAX_LEN], skip[NAME_MAX_LEN], conv_name[NAME_MAX_LEN], bn_name[NAME_MAX_LEN];
	const char *sum_in[2] = { x, skip };

	snprintf(x, sizeof(x), "%s", input);
	snprintf(skip, sizeof(skip), "%s", input);
	for (uint32_t i = 1; i <= n_convs; i++) {
		struct conv c = { i == 1 ? n_in : n_mid, i == n_convs ? n_out : n_mid, 3, 1, 1 << 16 };

		if (deep && i != 2)
			c.kernel = 1;
		if (i == (deep ? 2u : 1u))
			c.stride = stride;
		if (i == n_convs)
			c.gamma = n->tail_gamma;
		snprintf(conv_name, sizeof(conv_name), "%s.conv%u", prefix, i);
		snprintf(bn_name, sizeof(bn_name), "%s.bn%u", prefix, i);
		conv_bn(n, conv_name, bn_name, x, &c);
		snprintf(x, sizeof(x), "%s", bn_name);
		if (i < n_convs) {
			snprintf(x, sizeof(x), "%s.relu%u", prefix, i);
			put_unary(n, "Relu", x, bn_name);
		}
	}
	if (stride != 1 || n_in != n_out) {
		struct conv c = { n_in, n_out, 1, stride, 1 << 16 };

		snprintf(conv_name, sizeof(conv_name), "%s.downsample.0", prefix);
		snprintf(skip, sizeof(skip), "%s.downsample.1", prefix);
		conv_bn(n, conv_name, skip, input, &c);
	}
	snprintf(conv_name, sizeof(conv_name), "%s.add", prefix);
	put_node(n, "Add", conv_name, sum_in, 2, NULL, 0);
	snprintf(input, NAME_MAX_LEN, "%s.relu", prefix);
	put_unary(n, "Relu", input, conv_name);
}

static void normalise(struct net *n, char x[NAME_MAX_LEN])
{
	/* ImageNet's mean 0.485 0.456 0.406 and deviation 0.229 0.224 0.225, in thousandths */
	static const int64_t mean[3] = { 485, 456, 406 }, std[3] = { 229, 224, 225 };
	int64_t a_num[3], b_num[3], den[3];
	const char *mul_in[2] = { x, "normalise.a" }, *add_in[2] = { "normalise.mul", "normalise.b" };

	for (int c = 0; c < 3; c++) {
		den[c] = 255 * std[c];
		a_num[c] = 1000;
		b_num[c] = 128 * 1000 - 255 * mean[c];
	}
	if (n->type == TYPE_F32) {
		put_cast(n, "input_f32", x, TYPE_F32);
		snprintf(x, NAME_MAX_LEN, "input_f32");
	}
	put_node(n, "Mul", "normalise.mul", mul_in, 2, NULL, 0);
	put_node(n, "Add", "normalise.add", add_in, 2, NULL, 0);
	snprintf(x, NAME_MAX_LEN, "normalise.add");
	if (n->phase == WALK_TENSORS) {
		put_channel_constant(n, "normalise.a", a_num, den);
		put_channel_constant(n, "normalise.b", b_num, den);
	}
}

static void head(struct net *n, char x[NAME_MAX_LEN])
{
	const struct conv stem = { 3, 64, 7, 2, 1 << 16 };
	int64_t kernel[2] = { 3, 3 }, stride[2] = { 2, 2 }, pads[4] = { 1, 1, 1, 1 };
	Onnx__AttributeProto attrs[3] = { ints_attr("kernel_shape", kernel, 2), ints_attr("strides", stride, 2),
					  ints_attr("pads", pads, 4) };
	const char *pool_in = "relu";

	normalise(n, x);
	conv_bn(n, "conv1", "bn1", x, &stem);
	put_unary(n, "Relu", "relu", "bn1");
	put_node(n, "MaxPool", "maxpool", &pool_in, 1, attrs, 3);
	snprintf(x, NAME_MAX_LEN, "maxpool");
}

static void tail(struct net *n, const char *x)
{
	Onnx__AttributeProto axis = int_attr("axis", 1);
	const char *flat_in = "avgpool";
	bool half = n->type == TYPE_F16;

	put_unary(n, "GlobalAveragePool", "avgpool", x);
	put_node(n, "Flatten", half ? "flatten" : "features", &flat_in, 1, &axis, 1);
	if (half)
		put_cast(n, "features", "flatten", TYPE_F32);
}

static void walk(struct net *n, enum walk_phase phase)
{
	char x[NAME_MAX_LEN] = "input", prefix[NAME_MAX_LEN / 2];
	uint32_t n_in = 64;

	n->phase = phase;
	n->n_tensor = 0;
	head(n, x);
	for (uint32_t stage = 0; stage < 4; stage++) {
		uint32_t n_mid = 64u << stage;

		for (uint32_t b = 0; b < n->layout->n_blocks[stage]; b++) {
			snprintf(prefix, sizeof(prefix), "layer%u.%u", stage + 1, b);
			block(n, prefix, x, n_in, n_mid, stage > 0 && b == 0 ? 2 : 1);
			n_in = n->layout->bottleneck ? 4 * n_mid : n_mid;
		}
	}
	tail(n, x);
}

/* ---- the file ------------------------------------------------------------------------------- */

/* Name and type of the graph's input or output: (batch, dims[0], dims[1], ...). */
static void put_border(struct net *n, bool input, int32_t type, const int64_t *dims, size_t n_dims)
{
	Onnx__GraphProto part = ONNX__GRAPH_PROTO__INIT;
	Onnx__ValueInfoProto value = ONNX__VALUE_INFO_PROTO__INIT, *values[1] = { &value };
	Onnx__TypeProto value_type = ONNX__TYPE_PROTO__INIT;
	Onnx__TypeProto__Tensor tensor = ONNX__TYPE_PROTO__TENSOR__INIT;
	Onnx__TensorShapeProto shape = ONNX__TENSOR_SHAPE_PROTO__INIT;
	Onnx__TensorShapeProto__Dimension dim[4], *dim_ptrs[4];
	char batch[] = "batch", in_name[] = "input", out_name[] = "features";

	for (size_t i = 0; i < n_dims + 1; i++) {
		onnx__tensor_shape_proto__dimension__init(&dim[i]);
		dim_ptrs[i] = &dim[i];
		if (i == 0) {
			dim[i].value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
			dim[i].dim_param = batch;
		} else {
			dim[i].value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
			dim[i].dim_value = dims[i - 1];
		}
	}
	shape.n_dim = n_dims + 1;
	shape.dim = dim_ptrs;
	tensor.has_elem_type = 1;
	tensor.elem_type = type;
	tensor.shape = &shape;
	value_type.value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
	value_type.tensor_type = &tensor;
	value.name = input ? in_name : out_name;
	value.type = &value_type;
	if (input) {
		part.n_input = 1;
		part.input = values;
	} else {
		part.n_output = 1;
		part.output = values;
	}
	gw__onnx_put_graph_part(&n->s, &part);
}

static void put_graph(struct net *n, uint32_t n_features)
{
	Onnx__GraphProto part = ONNX__GRAPH_PROTO__INIT;
	const int64_t image[3] = { 3, 224, 224 }, features[1] = { n_features };
	char name[16];

	snprintf(name, sizeof(name), "resnet%u", n->layout->depth);
	part.name = name;
	gw__onnx_put_graph_part(&n->s, &part);
	walk(n, WALK_NODES);
	put_border(n, true, TYPE_F16, image, 3);
	put_border(n, false, TYPE_F32, features, 1);
	walk(n, WALK_TENSORS);
}

static void put_model(struct net *n)
{
	Onnx__ModelProto model = ONNX__MODEL_PROTO__INIT;
	Onnx__OperatorSetIdProto opset = ONNX__OPERATOR_SET_ID_PROTO__INIT, *opsets[1] = { &opset };
	char producer[] = "gpuwire", domain[] = "", doc[96];

	snprintf(doc, sizeof(doc), "ResNet-%u feature extractor, random weights, seed %llu", n->layout->depth,
		 (unsigned long long)n->opts->seed);
	opset.domain = domain;
	opset.has_version = 1;
	opset.version = 13;
	model.has_ir_version = 1;
	model.ir_version = 7;
	model.n_opset_import = 1;
	model.opset_import = opsets;
	model.producer_name = producer;
	model.doc_string = doc;
	gw__onnx_put_model(&n->s, &model);
}

static uint32_t count_blocks(const struct layout *l)
{
	return l->n_blocks[0] + l->n_blocks[1] + l->n_blocks[2] + l->n_blocks[3];
}

static int write_file(struct net *n, const char *part_path, struct gw__resnet_info *info, struct gw_diag *diag)
{
	uint32_t n_features = n->layout->bottleneck ? 2048 : 512;
	int err = gw__onnx_stream_open(&n->s, part_path, diag);

	if (err)
		return err;
	gw__onnx_restart(&n->s, true);
	put_graph(n, n_features);
	gw__onnx_restart(&n->s, false);
	put_model(n);
	put_graph(n, n_features);
	if (info)
		*info = (struct gw__resnet_info){ n->s.n_bytes, n->s.n_params, n_features };
	err = gw__onnx_stream_close(&n->s, part_path, diag);
	if (err)
		remove(part_path);
	return err;
}

int gw__onnx_write_resnet(const char *path, const struct gw__resnet_opts *opts, struct gw__resnet_info *info,
			  struct gw_diag *diag)
{
	const struct layout *layout = NULL;
	char *part_path;
	size_t n_path = strlen(path) + sizeof(".part");
	struct net *n;
	int err = -ENOMEM;

	for (size_t i = 0; i < sizeof(layouts) / sizeof(*layouts); i++)
		if (layouts[i].depth == opts->depth)
			layout = &layouts[i];
	if (!layout)
		return gw__fail(diag, -EINVAL, "resnet%u: there is none; use 18, 34, 50, 101 or 152", opts->depth);
	err = gw__target_check(path, diag);
	if (err)
		return err;
	err = -ENOMEM;
	n = gw__calloc(1, sizeof(*n));
	part_path = gw__malloc(n_path);
	if (!n || !part_path) {
		gw__fail(diag, err, "%s: no memory for the writer", path);
		goto out;
	}
	snprintf(part_path, n_path, "%s.part", path);
	n->layout = layout;
	n->opts = opts;
	n->type = opts->fp16 ? TYPE_F16 : TYPE_F32;
	n->tail_gamma = gw__exact_isqrt((UINT64_C(4) << 32) / count_blocks(layout));
	err = write_file(n, part_path, info, diag);
	if (!err && rename(part_path, path)) {
		err = gw__fail(diag, -errno, "%s: cannot be replaced: %s", path, strerror(errno));
		remove(part_path);
	}
out:
	gw__free(part_path);
	gw__free(n);
	return err;
}

uint32_t gw__resnet_depth_of(const char *name)
{
	char known[16];

	for (size_t i = 0; i < sizeof(layouts) / sizeof(*layouts); i++) {
		snprintf(known, sizeof(known), "resnet%u", layouts[i].depth);
		if (!strcmp(known, name))
			return layouts[i].depth;
	}
	return 0;
}
