/* The ONNX writer: bytes of every model by SHA-256, structure as read back, refusals, allocation failures. */
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "data/resnet.h"
#include "onnx/onnx.pb-c.h"
#include "t.h"

static char folder[] = "/tmp/gw_resnet_XXXXXX";
static char path[64];

/* coreutils' sha256sum: a digest from outside, and no library for it. */
static void digest(char hex[65])
{
	char command[128];
	FILE *p;

	snprintf(command, sizeof(command), "sha256sum %s", path);
	p = popen(command, "r");
	T_NEED(p && fscanf(p, "%64s", hex) == 1);
	pclose(p);
}

static void bytes(void)
{
	static const struct {
		struct gw__resnet_opts opts;
		const char *sha256;
		uint32_t n_features;
	} models[] = {
		{ { 18, 1, false }, "6bd0c7073f7bedcd048173ccc6051855c1b11727f8a317542ae96c67498b38e7", 512 },
		{ { 34, 1, false }, "89c8a0e8ae2828d71606c3175a6281be4084354e85a96f388bdf10d644cc0649", 512 },
		{ { 50, 1, false }, "806019eaeb3d008f7766ac32920d51e973b339f581a0d272de7a2857034f2559", 2048 },
		{ { 101, 1, false }, "434eabbcc25aa425a7216e09a9c1758d22d3e6bfd3763a0127db1ddcda26c94a", 2048 },
		{ { 152, 1, false }, "a2612fa7c02dae5e1e3997cc29fff6c598debe75010d1e838a1d2d6ae5f9c833", 2048 },
		{ { 50, 1, true }, "63d71519e6baca5bae8d6a2a3e0d98033b84ab520069e5c4d348c3e40e2dee73", 2048 },
	};
	struct gw__resnet_info info;
	struct gw_diag diag;
	struct stat st;
	char hex[65], other[65];

	for (size_t i = 0; i < sizeof(models) / sizeof(*models); i++) {
		T_RC(gw__onnx_write_resnet(path, &models[i].opts, &info, &diag), 0);
		digest(hex);
		T_STR(hex, models[i].sha256);
		T_NEED(stat(path, &st) == 0);
		T_EQ(info.n_bytes, st.st_size);
		T_EQ(info.n_features, models[i].n_features);
	}
	T_RC(gw__onnx_write_resnet(path, &(struct gw__resnet_opts){ 18, 2, false }, NULL, NULL), 0);
	digest(other);
	T_OK(strcmp(other, models[0].sha256) != 0); /* another seed, another network */
}

static const Onnx__TensorProto *find(const Onnx__GraphProto *g, const char *name)
{
	for (size_t i = 0; i < g->n_initializer; i++)
		if (!strcmp(g->initializer[i]->name, name))
			return g->initializer[i];
	T_NEED(!"tensor found");
	return NULL;
}

static void check_vectors(const Onnx__GraphProto *g)
{
	static const struct {
		const char *name;
		float low, high;
	} vectors[] = {
		{ "bn1.weight", 0.75f, 1.25f },         { "bn1.bias", -0.125f, 0.125f },
		{ "bn1.running_mean", -0.125f, 0.125f }, { "bn1.running_var", 0.5f, 1.5f },
		{ "layer1.0.bn2.weight", 0.53f, 0.89f }, /* the tail of a block: times sqrt(4 / 8) */
	};

	for (size_t i = 0; i < sizeof(vectors) / sizeof(*vectors); i++) {
		const Onnx__TensorProto *t = find(g, vectors[i].name);
		float v[64], low = 1e9f, high = -1e9f;

		T_NEED(t->raw_data.len == sizeof(v));
		memcpy(v, t->raw_data.data, sizeof(v));
		for (int k = 0; k < 64; k++) {
			low = v[k] < low ? v[k] : low;
			high = v[k] > high ? v[k] : high;
		}
		T_OK(low >= vectors[i].low && high <= vectors[i].high && high > low);
	}
}

static void structure(void)
{
	struct gw__resnet_info info;
	Onnx__ModelProto *m;
	const Onnx__TensorProto *w;
	uint8_t *file;
	FILE *f;
	double sum = 0, square = 0;

	T_RC(gw__onnx_write_resnet(path, &(struct gw__resnet_opts){ 18, 1, false }, &info, NULL), 0);
	file = malloc(info.n_bytes);
	f = fopen(path, "rb");
	T_NEED(file && f && fread(file, 1, info.n_bytes, f) == info.n_bytes);
	fclose(f);
	m = onnx__model_proto__unpack(NULL, info.n_bytes, file);
	T_NEED(m);
	T_EQ(m->opset_import[0]->version, 13);
	T_STR(m->graph->node[0]->op_type, "Cast");
	T_STR(m->graph->node[1]->op_type, "Mul");
	T_STR(m->graph->node[2]->op_type, "Add");
	T_STR(m->graph->node[m->graph->n_node - 1]->output[0], "features");
	T_EQ(m->graph->n_initializer, 2 + 20 * 5);
	T_EQ(m->graph->input[0]->type->tensor_type->elem_type, ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT16);
	T_EQ(m->graph->output[0]->type->tensor_type->elem_type, ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT);
	w = find(m->graph, "layer4.1.conv2.weight");
	T_EQ(w->dims[0] * w->dims[1] * w->dims[2] * w->dims[3] * 4, w->raw_data.len);
	for (size_t i = 0; i < w->raw_data.len; i += 4) {
		float v;

		memcpy(&v, w->raw_data.data + i, 4);
		sum += v;
		square += (double)v * v;
	}
	T_OK(square / (double)(w->raw_data.len / 4) / (2.0 / 4608) > 0.99);
	T_OK(square / (double)(w->raw_data.len / 4) / (2.0 / 4608) < 1.01);
	T_OK(sum * sum < square * 1e-3); /* filters sum to zero */
	check_vectors(m->graph);
	onnx__model_proto__free_unpacked(m, NULL);
	free(file);
}

static void refusals(void)
{
	struct gw__resnet_opts opts = { 19, 1, false };
	struct gw_diag diag;
	struct stat st;

	unlink(path);
	T_RC(gw__onnx_write_resnet(path, &opts, NULL, &diag), -EINVAL);
	T_HAS(diag.text, "resnet19");
	opts.depth = 18;
	T_RC(gw__onnx_write_resnet("/nowhere/at/all.onnx", &opts, NULL, &diag), -ENOENT);
	T_HAS(diag.text, "/nowhere/at/all.onnx");
	T_EQ(gw__resnet_depth_of("resnet152"), 152);
	T_EQ(gw__resnet_depth_of("resnet5"), 0);
	T_EQ(gw__resnet_depth_of("vgg"), 0);
	for (long k = 1; k < 20; k++) {
		int rc;

		gw__alloc_fail_at(k);
		rc = gw__onnx_write_resnet(path, &opts, NULL, &diag);
		gw__alloc_fail_at(0);
		T_EQ(gw__alloc_live(), 0);
		if (!rc) {
			T_OK(k > 2);
			return;
		}
		T_RC(rc, -ENOMEM);
		T_OK(stat(path, &st) != 0); /* nothing half-written under that name */
	}
	T_NEED(!"the writer allocates without end");
}

int main(void)
{
	T_NEED(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/m.onnx", folder);
	bytes();
	structure();
	refusals();
	unlink(path);
	rmdir(folder);
	T_EQ(gw__alloc_live(), 0);
	T_DONE();
}
