/* tests/unit/nn/nn_cache.c: a calibrated network opens from its folder with the same bits; a damaged file, another
 * model, other calibration inputs or a folder that is not there only mean that it is calibrated again. Also the
 * keeping of bytes alone. Next: src/nn/cache.c. */
#include <gpuwire/nn.h>

#include "base/alloc.h"
#include "nn/cache.h"

#include "make_onnx.h"

#include <dirent.h>
#include <sys/stat.h>

static float numbers[4096];
static uint16_t in[3 * 8 * 8 * 4];
static char folder[64];

static const char *model(float first)
{
	numbers[0] = first;
	mk_begin(3, 8, 8, "out", 4);
	mk_floats("w", 4, (int64_t[]){4, 3, 3, 3}, numbers);
	mk_floats("w2", 4, (int64_t[]){4, 4, 1, 1}, numbers);
	mk_int(mk_node("Cast", "x", "x32"), "to", 1);
	mk_window(mk_node("Conv", "x32 w", "c"), 3, 1, 1);
	mk_node("Relu", "c", "r");
	mk_node("Conv", "r w2", "d");
	mk_node("Add", "d r", "s");
	mk_node("GlobalAveragePool", "s", "g");
	mk_node("Flatten", "g", "out");
	return mk_write();
}

/* Opens, runs the two samples, says whether it came from the folder. -1: no int8 on this CPU. */
static int run(const char *path, const char *where, const void *calibration, float *out)
{
	struct gw_nn_opts o = {.sz = sizeof(o), .max_batch = 2, .n_threads = 1, .precision = GW_NN_INT8,
			       .calibration = calibration, .calib_n = 2, .plan_cache = where};
	struct gw_diag diag = {""};
	struct gw_nn_info info;
	struct gw_nn *nn = NULL;
	const float *f;
	uint32_t n;
	int err = gw_nn_open(path, &o, &nn, &diag);

	if (err == -ENOTSUP)
		return -1;
	if (err)
		fprintf(stderr, "%s\n", diag.text);
	T_NEED(err == 0);
	gw_nn_info(nn, &info);
	T_RC(gw_nn_infer(nn, in, 2, NULL, &f, &n), 0);
	T_RC(gw_nn_drain(nn, &f, &n), 0);
	memcpy(out, f, 2 * 4 * sizeof(float));
	gw_nn_close(nn);
	return info.from_cache;
}

/* The one file in the folder. */
static const char *only_file(void)
{
	static char path[512];
	struct dirent *e;
	DIR *d = opendir(folder);
	int n = 0;

	T_NEED(d);
	while ((e = readdir(d)))
		if (e->d_name[0] != '.') {
			snprintf(path, sizeof(path), "%s/%s", folder, e->d_name);
			n++;
		}
	closedir(d);
	T_EQ(n, 1);
	return path;
}

static void whole_networks(void)
{
	float first[8], again[8];
	const char *path = model(0.5f), *file;
	FILE *f;

	if (run(path, folder, in, first) < 0) {
		printf("int8 is not offered here\n");
		return;
	}
	file = only_file();
	T_EQ(run(path, folder, in, again), 1);
	T_MEM(again, first, sizeof(first));
	T_EQ(run(path, NULL, in, again), 0);
	T_MEM(again, first, sizeof(first));
	f = fopen(file, "r+b"); /* one byte of the payload turned */
	T_NEED(f && fseek(f, 70, SEEK_SET) == 0);
	fputc(0x5a, f);
	fclose(f);
	T_EQ(run(path, folder, in, again), 0);
	T_MEM(again, first, sizeof(first));
	T_EQ(run(path, folder, in, again), 1); /* and it was written anew */
	T_RC(truncate(file, 60), 0);
	T_EQ(run(path, folder, in, again), 0);
	T_EQ(run(path, folder, in + 3 * 8 * 8, again), 0); /* other inputs */
	T_EQ(run(model(0.75f), folder, in, again), 0);     /* another model */
	T_EQ(run(model(0.5f), "/nonexistent/folder", in, again), 0);
	T_MEM(again, first, sizeof(first));
}

static void bytes_alone(void)
{
	struct gw__cache_key a = {{0, 0}}, b = {{0, 0}};
	char data[33] = "thirty-two bytes and one more ..", back[33];

	gw__cache_mix(&a, data, 33);
	gw__cache_mix(&b, data, 32);
	T_OK(a.h[0] != b.h[0] && a.h[1] != b.h[1]);
	T_RC(gw__cache_load(folder, &a, back, 33), -ENOENT);
	T_RC(gw__cache_store(folder, &a, data, 33), 0);
	T_RC(gw__cache_load(folder, &a, back, 33), 0);
	T_MEM(back, data, 33);
	T_RC(gw__cache_load(folder, &a, back, 32), -EPROTO);
	T_OK(gw__cache_store("/nonexistent/folder", &a, data, 33) < 0);
}

int main(void)
{
	struct dirent *e;
	char path[512];
	DIR *d;

	snprintf(folder, sizeof(folder), "/tmp/gw_nn_cache_XXXXXX");
	T_NEED(mkdtemp(folder));
	for (int i = 0; i < 4096; i++)
		numbers[i] = (float)(i % 7 + 1) / 8.0f;
	for (size_t i = 0; i < sizeof(in) / 2; i++)
		in[i] = (uint16_t)(0x3800 + i);
	whole_networks();
	bytes_alone();
	remove(mk_save("", 0));
	d = opendir(folder);
	while (d && (e = readdir(d))) {
		snprintf(path, sizeof(path), "%s/%s", folder, e->d_name);
		unlink(path);
	}
	closedir(d);
	rmdir(folder);
	T_EQ(gw__alloc_live(), 0);
	T_DONE();
}
