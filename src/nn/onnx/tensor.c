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

static int bad_length(const char *name, size_t have, size_t want, struct gw_diag *diag)
{
	return gw__fail(diag, -EPROTO, "constant %s: holds %zu values or bytes, its shape needs %zu", GW__CLEAN(name),
			have, want);
}

static int fill_f32(const Onnx__TensorProto *t, const char *name, struct gw__tensor *out, struct gw_diag *diag)
{
	if (!t->has_raw_data) {
		if (t->n_float_data != out->n_elems)
			return bad_length(name, t->n_float_data, out->n_elems, diag);
		if (out->n_elems)
			memcpy(out->f, t->float_data, out->n_elems * 4);
		return 0;
	}
	if (t->raw_data.len != out->n_elems * 4)
		return bad_length(name, t->raw_data.len, out->n_elems * 4, diag);
	if (out->n_elems)
		memcpy(out->f, t->raw_data.data, out->n_elems * 4); /* little-endian, as the format says */
	return 0;
}

static int fill_f16(const Onnx__TensorProto *t, const char *name, struct gw__tensor *out, struct gw_diag *diag)
{
	if (t->has_raw_data) {
		if (t->raw_data.len != out->n_elems * 2)
			return bad_length(name, t->raw_data.len, out->n_elems * 2, diag);
		gw__half_widen(t->raw_data.data, out->f, out->n_elems);
		return 0;
	}
	if (t->n_int32_data != out->n_elems)
		return bad_length(name, t->n_int32_data, out->n_elems, diag);
	for (size_t i = 0; i < out->n_elems; i++) {
		if (t->int32_data[i] < 0 || t->int32_data[i] > 0xffff)
			return gw__fail(diag, -EPROTO, "constant %s: a FLOAT16 is stored as %d, outside 0..65535",
					GW__CLEAN(name), t->int32_data[i]);
		out->f[i] = gw__half_to_float((uint16_t)t->int32_data[i]);
	}
	return 0;
}

static int fill_i64(const Onnx__TensorProto *t, const char *name, struct gw__tensor *out, struct gw_diag *diag)
{
	if (!t->has_raw_data) {
		if (t->n_int64_data != out->n_elems)
			return bad_length(name, t->n_int64_data, out->n_elems, diag);
		if (out->n_elems)
			memcpy(out->i, t->int64_data, out->n_elems * 8);
		return 0;
	}
	if (t->raw_data.len != out->n_elems * 8)
		return bad_length(name, t->raw_data.len, out->n_elems * 8, diag);
	if (out->n_elems)
		memcpy(out->i, t->raw_data.data, out->n_elems * 8);
	return 0;
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
	mine = gw__pool_alloc(pool, 1, sizeof(*mine));
	if (!mine)
		return gw__fail(diag, -ENOMEM, "constant %s: out of memory", GW__CLEAN(name));
	mine->name = name;
	err = shape(t, name, mine, diag);
	if (err)
		return err;
	if (type == ONNX__TENSOR_PROTO__DATA_TYPE__INT64)
		mine->i = gw__pool_alloc(pool, mine->n_elems, 8);
	else if (type == ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT || type == ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT16)
		mine->f = gw__pool_alloc(pool, mine->n_elems, 4);
	else
		return gw__fail(diag, -ENOTSUP, "constant %s: element type %d; FLOAT (1), FLOAT16 (10) and INT64 (7) are read",
				GW__CLEAN(name), type);
	if (!mine->i && !mine->f)
		return gw__fail(diag, -ENOMEM, "constant %s: no memory for %zu values", GW__CLEAN(name), mine->n_elems);
	mine->elem = mine->i ? GW__ELEM_I64 : GW__ELEM_F32;
	if (mine->i)
		err = fill_i64(t, name, mine, diag);
	else if (type == ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT)
		err = fill_f32(t, name, mine, diag);
	else
		err = fill_f16(t, name, mine, diag);
	if (!err)
		*out = mine;
	return err;
}
