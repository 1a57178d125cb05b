/* tests/unit/nn/nn_refuse.c: files that lie. Each is one change to a good model, refused with the right errno and
 * a sentence that names the node, the constant or the value; none crashes, none leaks. Next: nn_alloc.c. */
#include <gpuwire/nn.h>

#include "base/alloc.h"

#include "make_onnx.h"

#include <sys/stat.h>

#define F ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT
#define I64 ONNX__TENSOR_PROTO__DATA_TYPE__INT64

static float ones[4096], minus[64];
static int64_t shape_of[2] = {-1, 16};

/* x (3, 8, 8) -> Cast_0 -> Conv_1 (4, pad 1) -> BatchNormalization_2 -> MaxPool_3 -> Flatten_4 -> Gemm_5. */
static void good(void)
{
	mk_begin(3, 8, 8, "out", 5);
	mk_floats("w", 4, (int64_t[]){4, 3, 3, 3}, ones);
	mk_floats("v", 1, (int64_t[]){4}, ones);
	mk_floats("wg", 2, (int64_t[]){5, 64}, ones);
	mk_int(mk_node("Cast", "x", "x32"), "to", 1);
	mk_window(mk_node("Conv", "x32 w v", "c"), 3, 1, 1);
	mk_node("BatchNormalization", "c v v v v", "n");
	mk_window(mk_node("MaxPool", "n", "p"), 2, 2, 0);
	mk_node("Flatten", "p", "f");
	mk_int(mk_node("Gemm", "f wg", "out"), "transB", 1);
}

static void expect_bytes(const void *bytes, size_t n, int err, const char *words)
{
	struct gw_nn_opts o = {.sz = sizeof(o), .max_batch = 1, .n_threads = 1};
	struct gw_diag diag = {""};
	struct gw_nn *nn = (struct gw_nn *)&o;

	T_RC(gw_nn_open(mk_save(bytes, n), &o, &nn, &diag), err);
	if (err) {
		T_HAS(diag.text, words);
		T_OK((void *)nn == (void *)&o); /* untouched on failure */
	} else {
		gw_nn_close(nn);
	}
	T_EQ(gw__alloc_live(), 0);
}

static void expect(int err, const char *words)
{
	mk_pack();
	expect_bytes(mk_bytes, mk_n_bytes, err, words);
}

static void operators_and_attributes(void)
{
	good();
	expect(0, "");
	good();
	mk.node[2].op_type = mk_name("LayerNormalization");
	expect(-ENOTSUP, "BatchNormalization_2 (LayerNormalization): this operator is not run");
	good();
	mk.node[2].domain = mk_name("com.example");
	expect(-ENOTSUP, "com.example");
	good();
	mk_int(&mk.node[1], "speed", 3);
	expect(-ENOTSUP, "Conv_1 (Conv): attribute speed is not run");
	good();
	mk_int(&mk.node[3], "ceil_mode", 1);
	expect(-ENOTSUP, "MaxPool_3 (MaxPool): ceil_mode must be 0");
	good();
	mk_int(&mk.node[2], "training_mode", 1);
	expect(-ENOTSUP, "training_mode");
	good();
	mk.outs[3][1] = mk_name("indices");
	mk.node[3].n_output = 2;
	expect(-ENOTSUP, "MaxPool_3 (MaxPool): output 1");
	good();
	mk_int(&mk.node[4], "axis", 2);
	expect(-ENOTSUP, "Flatten_4");
	good();
	mk.attr[0][0].i = 7;
	expect(-ENOTSUP, "Cast_0 (Cast): to = 7");
	good();
	mk_int(&mk.node[5], "transA", 1);
	expect(-ENOTSUP, "Gemm_5");
	good();
	mk.node[1].name[0] = '\n'; /* a name may not break the line it is printed on */
	mk_int(&mk.node[1], "speed", 3);
	expect(-ENOTSUP, "node ?onv_1");
}

static void windows(void)
{
	good();
	mk.ints[1][1][0] = 0;
	expect(-EPROTO, "strides is 0");
	good();
	mk.ints[1][1][1] = INT64_MAX;
	expect(-EPROTO, "strides is 9223372036854775807");
	good();
	mk.ints[1][2][3] = -1;
	expect(-EPROTO, "pads has -1");
	good();
	mk.ints[1][2][0] = 3;
	expect(-EPROTO, "Conv_1 (Conv): window of 3");
	good();
	mk.ints[3][0][0] = 9;
	expect(-EPROTO, "MaxPool_3 (MaxPool): window of 9");
	good();
	mk.ints[1][0][0] = 5;
	expect(-EPROTO, "kernel_shape says 5, the weights say 3");
	good();
	mk.attr[1][2].n_ints = 3;
	expect(-ENOTSUP, "attribute pads must be four numbers");
	good();
	mk.attr[1][0].n_ints = 12;
	expect(-EMSGSIZE, "attribute kernel_shape has 12 numbers");
	good();
	mk_int(&mk.node[1], "group", 2);
	expect(-EPROTO, "2 groups");
	good();
	mk_int(&mk.node[1], "group", 0);
	expect(-EPROTO, "0 groups");
	good();
	mk_ints(&mk.node[1], "dilations", 2, (int64_t[]){200, 200});
	expect(-EPROTO, "window of 401");
}

static void constants(void)
{
	good();
	mk.tensor[0].raw_data.len -= 4;
	expect(-EPROTO, "constant w: holds 428");
	good();
	mk.dims[0][0] = -4;
	expect(-EPROTO, "constant w: a dimension is negative");
	good();
	mk.dims[0][0] = mk.dims[0][1] = INT64_MAX;
	expect(-EPROTO, "constant w");
	good();
	mk.dims[0][0] = (int64_t)1 << 40;
	expect(-EPROTO, "constant w");
	good();
	mk.dims[0][0] = 3;
	mk.tensor[0].raw_data.len = 3 * 27 * 4;
	expect(-EPROTO, "Conv_1 (Conv): input 2 holds 4 values, 3 are needed");
	good();
	mk.tensor[0].n_dims = 9;
	expect(-EMSGSIZE, "constant w: 9 dimensions");
	good();
	mk.tensor[0].data_type = ONNX__TENSOR_PROTO__DATA_TYPE__DOUBLE;
	expect(-ENOTSUP, "constant w: element type 11");
	good();
	mk.tensor[0].has_data_location = 1;
	mk.tensor[0].data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
	expect(-ENOTSUP, "its data lie in another file");
	good();
	mk.tensor[0].has_raw_data = 0;
	expect(-EPROTO, "constant w: holds 0");
	good();
	for (int i = 0; i < 64; i++)
		minus[i] = -1.0f;
	mk.tensor[1].raw_data.data = (uint8_t *)minus;
	expect(-EPROTO, "BatchNormalization_2 (BatchNormalization): variance");
	good();
	mk.tensor[1].name = mk.tensor[0].name;
	expect(-EPROTO, "defined a second time");
	good();
	mk_const("s", I64, 1, (int64_t[]){2}, shape_of, 16);
	mk.node[4].op_type = mk_name("Reshape");
	mk.ins[4][1] = mk_name("s");
	mk.node[4].n_input = 2;
	expect(-ENOTSUP, "Flatten_4 (Reshape): only a constant shape (0 or -1, 64 or -1)");
}

static void borders(void)
{
	good();
	mk.ttype[0].elem_type = F;
	expect(-ENOTSUP, "FLOAT16 (10) is required");
	good();
	mk.ttype[1].elem_type = 10;
	expect(-ENOTSUP, "FLOAT (1) is required");
	good();
	mk.dim[0][0].value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
	mk.dim[0][0].dim_value = 4;
	expect(-ENOTSUP, "batch is fixed at 4");
	good();
	mk.dim[0][2].dim_value = 0;
	expect(-ENOTSUP, "dimension 2 must be a number in 1..65536");
	good();
	mk.dim[0][1].dim_value = mk.dim[0][2].dim_value = mk.dim[0][3].dim_value = 65536;
	expect(-EMSGSIZE, "elements");
	good();
	mk.shape[0].n_dim = 3;
	expect(-ENOTSUP, "3 dimensions");
	good();
	mk.graph.n_output = 0;
	expect(-ENOTSUP, "0 outputs");
	good();
	mk.graph.n_input = 0;
	expect(-ENOTSUP, "no input");
	good();
	mk.value[1].name = mk_name("nobody");
	expect(-EPROTO, "output nobody: no node makes it");
	good();
	mk.ins[2][0] = mk_name("p"); /* made by a later node */
	expect(-EPROTO, "input p is not defined before it");
	good();
	mk.outs[2][0] = mk_name("c");
	expect(-EPROTO, "value c is defined a second time");
	good();
	mk.ins[1][0] = mk_name("w");
	expect(-ENOTSUP, "Conv_1 (Conv): input 0 must be computed");
	good();
	mk.ins[1][1] = mk_name("x32");
	expect(-ENOTSUP, "Conv_1 (Conv): input 1 must be a constant");
	good();
	mk.opset.version = 3;
	expect(-ENOTSUP, "opset 3");
	good();
	mk.graph.n_node = 0;
	expect(-EPROTO, "no graph");
}

/* AttributeProto.g (field 6) holds a GraphProto, whose node (1) holds an AttributeProto (5): nest them. */
static void bombs(void)
{
	static unsigned char bytes[1 << 20];
	size_t at = sizeof(bytes), n = 0;

	for (int level = 0; level < 30000; level++) {
		static const unsigned char tags[] = {6 << 3 | 2, 5 << 3 | 2, 1 << 3 | 2};

		for (size_t v = n, k = 0; k < 5; k++, v >>= 7) /* a length in five bytes */
			bytes[at - 5 + k] = (unsigned char)((v & 0x7f) | (k < 4 ? 0x80 : 0));
		at -= 5;
		bytes[--at] = tags[level % 3];
		n = sizeof(bytes) - at;
	}
	for (size_t v = n, k = 0; k < 5; k++, v >>= 7)
		bytes[at - 5 + k] = (unsigned char)((v & 0x7f) | (k < 4 ? 0x80 : 0));
	at -= 5;
	bytes[--at] = 7 << 3 | 2; /* ModelProto.graph */
	expect_bytes(bytes + at, sizeof(bytes) - at, -EMSGSIZE, "nested too deeply");

	for (n = 0; n + 2 <= sizeof(bytes); n += 2) { /* half a million empty operator sets */
		bytes[n] = 8 << 3 | 2;
		bytes[n + 1] = 0;
	}
	expect_bytes(bytes, n, -EMSGSIZE, "too many parts");
	memset(bytes, 0xff, 64);
	expect_bytes(bytes, 64, -EPROTO, "not an ONNX file");
	expect_bytes("hello", 5, -EPROTO, "not an ONNX file");
	expect_bytes("", 0, -EPROTO, "not a file with anything in it");
}

/* Every prefix, and every byte replaced: refused or run, never worse. The sanitizer presets judge this. */
static void cut_and_flipped(void)
{
	struct gw_nn_opts o = {.sz = sizeof(o), .max_batch = 1, .n_threads = 1};
	struct gw_nn *nn;
	int n_open = 0;

	good();
	mk.node[5].name = mk_name("g");
	mk_pack();
	for (size_t n = 1; n < mk_n_bytes; n += 7) {
		if (gw_nn_open(mk_save(mk_bytes, n), &o, &nn, NULL) == 0) {
			gw_nn_close(nn);
			n_open++;
		}
	}
	T_EQ(n_open, 0);
	for (size_t i = 0; i < mk_n_bytes; i += i < 200 || i + 700 > mk_n_bytes ? 3 : 97) {
		mk_bytes[i] ^= 0x55;
		if (gw_nn_open(mk_save(mk_bytes, mk_n_bytes), &o, &nn, NULL) == 0)
			gw_nn_close(nn);
		mk_bytes[i] ^= 0x55;
	}
	T_EQ(gw__alloc_live(), 0);
}

static void callers_mistakes(void)
{
	struct gw_nn_opts o = {.sz = sizeof(o) - 1};
	struct gw_diag diag = {""};
	struct gw_nn *nn;

	T_RC(gw_nn_open(NULL, NULL, &nn, &diag), -EINVAL);
	T_RC(gw_nn_open("/nonexistent/x.onnx", NULL, &nn, &diag), -ENOENT);
	T_HAS(diag.text, "/nonexistent/x.onnx");
	T_RC(gw_nn_open("/tmp", NULL, &nn, &diag), -EPROTO);
	T_RC(gw_nn_open("/tmp", &o, &nn, &diag), -EINVAL);
	o = (struct gw_nn_opts){.sz = sizeof(o), .max_batch = 1u << 20};
	T_RC(gw_nn_open("/tmp", &o, &nn, &diag), -EINVAL);
	o = (struct gw_nn_opts){.sz = sizeof(o), .precision = GW_NN_INT8};
	T_RC(gw_nn_open("/tmp", &o, &nn, &diag), -EINVAL);
	T_HAS(diag.text, "calibration");
	o = (struct gw_nn_opts){.sz = sizeof(o), .precision = (enum gw_nn_precision)9};
	T_RC(gw_nn_open("/tmp", &o, &nn, &diag), -EINVAL);
	gw_nn_close(NULL);
}

int main(void)
{
	for (size_t i = 0; i < sizeof(ones) / sizeof(ones[0]); i++)
		ones[i] = 1.0f;
	operators_and_attributes();
	windows();
	constants();
	borders();
	bombs();
	cut_and_flipped();
	callers_mistakes();
	remove(mk_save("", 0));
	T_DONE();
}
