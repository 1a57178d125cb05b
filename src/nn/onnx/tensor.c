/* nn/onnx/tensor.c: one stored constant to one of ours; every length is checked against the shape.
 * Must not know which node wants it. Next: load.c. */
#include "base/diag.h"
#include "nn/half.h"
#include "nn/onnx/leaf.h"

#include <errno.h>
#include <string.h>

#define MAX_ELEMS ((size_t)1 << 29) /* 2 GiB of FLOAT: no single constant of a real network comes near */

static int shape(const Onnx__TensorProto *t, const char *name, struct gw__tensor *out, struct gw_diag *diag)
{
	if (t->n_dims > GW__NN_MAX_DIMS)
		return gw__fail(diag, -EMSGSIZE, "constant %s: %zu dimensions; at most %u are read", GW__CLEAN(name),
				t->n_dims, GW__NN_MAX_DIMS);
	out->n_dims = (uint32_t)t->n_dims;
	for (uint32_t i = 0; i < out->n_dims; i++)
		out->dims[i] = t->dims[i];
	if (gw__nn_product(out->dims, out->n_dims, MAX_ELEMS, &out->n_elems) < 0)
		return gw__fail(diag, -EPROTO, "constant %s: a dimension is negative, or the product is above %zu",
				GW__CLEAN(name), MAX_ELEMS);
	return 0;
}

/* Values that the file really holds, before any memory is taken for those it claims. */
static int check_length(const Onnx__TensorProto *t, const char *name, int type, size_t n_elems, struct gw_diag *diag)
{
	bool f32 = type == ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT, f16 = type == ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT16;
	size_t have, want = n_elems;

	if (t->has_raw_data) {
		have = t->raw_data.len;
		want *= f32 ? 4 : f16 ? 2 : 8;
	} else {
		have = f32 ? t->n_float_data : f16 ? t->n_int32_data : t->n_int64_data;
	}
	if (have != want)
		return gw__fail(diag, -EPROTO, "constant %s: holds %zu %s, its shape needs %zu", GW__CLEAN(name), have,
				t->has_raw_data ? "bytes" : "values", want);
	return 0;
}

/* Raw data are little-endian, as the format says. */
static void fill(const Onnx__TensorProto *t, struct gw__tensor *out)
{
	const void *raw = t->has_raw_data ? t->raw_data.data : NULL;
	size_t n = out->n_elems;

	if (!n)
		return;
	if (out->i)
		memcpy(out->i, raw ? raw : t->int64_data, n * 8);
	else if (t->data_type == ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT)
		memcpy(out->f, raw ? raw : t->float_data, n * 4);
	else if (raw)
		gw__half_widen(raw, out->f, n);
	else
		for (size_t i = 0; i < n; i++) /* one FLOAT16 in each int32 */
			out->f[i] = gw__half_to_float((uint16_t)t->int32_data[i]);
}

int gw__onnx_tensor(const Onnx__TensorProto *t, const char *name, struct gw__pool *pool,
		    struct gw__tensor **out, struct gw_diag *diag)
{
	int type = t->has_data_type ? t->data_type : 0;
	struct gw__tensor *mine;
	int err;

	if ((t->has_data_location && t->data_location != ONNX__TENSOR_PROTO__DATA_LOCATION__DEFAULT) ||
	    t->n_external_data)
		return gw__fail(diag, -ENOTSUP,
				"constant %s: its data lie in another file, which is refused; save the model in one file",
				GW__CLEAN(name));
	if (t->segment)
		return gw__fail(diag, -ENOTSUP, "constant %s: segmented data are not read", GW__CLEAN(name));
	if (type != ONNX__TENSOR_PROTO__DATA_TYPE__INT64 && type != ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT &&
	    type != ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT16)
		return gw__fail(diag, -ENOTSUP,
				"constant %s: element type %d; FLOAT (1), FLOAT16 (10) and INT64 (7) are read",
				GW__CLEAN(name), type);
	mine = gw__pool_alloc(pool, 1, sizeof(*mine));
	if (!mine)
		return gw__fail(diag, -ENOMEM, "constant %s: out of memory", GW__CLEAN(name));
	mine->name = name;
	err = shape(t, name, mine, diag);
	if (!err)
		err = check_length(t, name, type, mine->n_elems, diag);
	if (err)
		return err;
	mine->elem = type == ONNX__TENSOR_PROTO__DATA_TYPE__INT64 ? GW__ELEM_I64 : GW__ELEM_F32;
	if (mine->elem == GW__ELEM_I64)
		mine->i = gw__pool_alloc(pool, mine->n_elems, 8);
	else
		mine->f = gw__pool_alloc(pool, mine->n_elems, 4);
	if (!mine->i && !mine->f)
		return gw__fail(diag, -ENOMEM, "constant %s: no memory for %zu values", GW__CLEAN(name),
				mine->n_elems);
	fill(t, mine);
	*out = mine;
	return 0;
}
