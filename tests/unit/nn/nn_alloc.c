/* tests/unit/nn/nn_alloc.c: gw_nn_open with its n-th allocation failing, for every n: refused, nothing leaks; int8
 * too, whose opening makes a second network to calibrate with. Next: base/alloc.h. */
#include <gpuwire/nn.h>

#include "base/alloc.h"

#include "make_onnx.h"

static float numbers[4096];
static uint16_t in[3 * 8 * 8 * 2];

static const char *model(void)
{
	mk_begin(3, 8, 8, "out", 5);
	mk_floats("w", 4, (int64_t[]){4, 3, 3, 3}, numbers);
	mk_floats("v", 1, (int64_t[]){4}, numbers);
	mk_floats("w2", 4, (int64_t[]){4, 4, 1, 1}, numbers);
	mk_floats("wg", 2, (int64_t[]){5, 64}, numbers);
	mk_int(mk_node("Cast", "x", "x32"), "to", 1);
	mk_window(mk_node("Conv", "x32 w v", "c"), 3, 1, 1);
	mk_node("Relu", "c", "r");
	mk_node("Conv", "r w2", "d");
	mk_node("Add", "d r", "s");
	mk_window(mk_node("MaxPool", "s", "p"), 2, 2, 0);
	mk_node("BatchNormalization", "p v v v v", "n");
	mk_node("Flatten", "n", "f");
	mk_int(mk_node("Gemm", "f wg", "out"), "transB", 1);
	return mk_write();
}

static void each(enum gw_nn_precision precision)
{
	struct gw_nn_opts o = {.sz = sizeof(o), .max_batch = 2, .n_threads = 1, .precision = precision,
			       .calibration = in, .calib_n = 2};
	const char *path = model();
	struct gw_nn *nn = NULL;
	struct gw_diag diag;
	long n_made, n;
	int err;

	gw__alloc_fail_at(0);
	err = gw_nn_open(path, &o, &nn, &diag);
	if (err == -ENOTSUP && precision != GW_NN_FP32)
		return;
	T_NEED(err == 0);
	n_made = gw__alloc_count();
	gw_nn_close(nn);
	T_EQ(gw__alloc_live(), 0);
	T_OK(n_made > 50);
	for (n = 1; n <= n_made; n++) {
		diag.text[0] = '\0';
		gw__alloc_fail_at(n);
		err = gw_nn_open(path, &o, &nn, &diag);
		gw__alloc_fail_at(0);
		if (err == 0) /* an allocation that something else could stand in for */
			gw_nn_close(nn);
		else
			T_OK((err == -ENOMEM || err == -EPROTO) && diag.text[0]);
		T_EQ(gw__alloc_live(), 0);
	}
}

int main(void)
{
	for (int i = 0; i < 4096; i++)
		numbers[i] = (float)(i % 7 + 1) / 8.0f;
	for (size_t i = 0; i < sizeof(in) / 2; i++)
		in[i] = (uint16_t)(0x3800 + i);
	each(GW_NN_FP32);
	each(GW_NN_BF16);
	each(GW_NN_INT8);
	remove(mk_save("", 0));
	T_DONE();
}
