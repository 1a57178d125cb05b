/* tests/unit/resnet50/resnet50_sink.c: what becomes of features: lines on their streams, class means by label,
 * rows at their images' places in the dump, accuracy on a held-out half, and each n-th allocation failing.
 * Next: apps/resnet50_inference/feature_sink.c, accuracy.c. */
#include <math.h>
#include <unistd.h>

#include "accuracy.h"
#include "base/alloc.h"
#include "data/prepare.h"
#include "feature_sink.h"
#include "t.h"

#define DIM 16u
#define N 64u
#define CLASSES 4u

static struct gw__labels labels;
static char dir[] = "/tmp/resnet50_sink.XXXXXX";
static char path[256];

static const char *in_dir(const char *name)
{
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static void make_labels(void)
{
	FILE *f = fopen(in_dir("a.labels"), "w");
	struct gw_diag d = { "" };

	T_NEED(f);
	for (uint32_t i = 0; i < N; i++)
		fprintf(f, "%u\n", i % CLASSES);
	fputs("# data set: made up\nnorth\neast\nsouth\nwest\n", f);
	fclose(f);
	T_RC(gw__labels_read(path, &labels, &d), 0);
	T_EQ(labels.n_classes, CLASSES);
}

/* Class c's features: 1 in dimension c, and a little that tells images apart. */
static void row_of(uint64_t image, float *row)
{
	for (uint32_t d = 0; d < DIM; d++)
		row[d] = (float)(d == image % N % CLASSES) + (float)((image * 7 + d * 3) % 5) * 0.05f;
}

static void feed(struct feature_sink *s, uint64_t from, uint32_t n)
{
	float rows[32 * DIM];

	for (uint32_t i = 0; i < n; i++)
		row_of(from + i, rows + i * DIM);
	feature_sink_consume(s, rows, n, from);
}

/* Standard output and error go to files while fn runs. */
static void captured(void (*fn)(void))
{
	int out = dup(1), err = dup(2);

	fflush(stdout);
	T_NEED(freopen(in_dir("out"), "w", stdout));
	T_NEED(freopen(in_dir("err"), "w", stderr));
	fn();
	fflush(stdout);
	fflush(stderr);
	dup2(out, 1);
	dup2(err, 2);
	close(out);
	close(err);
}

static char text[8192];

static const char *slurp(const char *name)
{
	FILE *f = fopen(in_dir(name), "r");
	size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;

	text[n] = '\0';
	if (f)
		fclose(f);
	return text;
}

static struct feature_sink sink;

static void whole_stream(void)
{
	struct gw_diag d = { "" };

	sink = (struct feature_sink){ .dim = DIM, .pca_every = 2, .labels = &labels };
	T_RC(feature_sink_init(&sink, &d), 0);
	feed(&sink, 0, 32);
	feed(&sink, 32, 8); /* images 40 and 41 never arrive */
	feed(&sink, 42, 22);
}

static int count(const char *haystack, const char *needle)
{
	int n = 0;

	while ((haystack = strstr(haystack, needle))) {
		n++;
		haystack++;
	}
	return n;
}

static void lines(void)
{
	captured(whole_stream);
	T_EQ(count(slurp("out"), "pc1="), 8); /* the second batch's images */
	T_HAS(text, " pc2=");
	T_HAS(text, "image=32 class=0 (north)");
	slurp("err");
	T_HAS(text, "  feature[image 0, class 0 (north)] = [1.0000, 0.1500, 0.0500, ...] (dim=16)\n");
	T_HAS(text, "  feature[image 1, class 1 (east)] = [");
	T_EQ(count(text, "feature["), 2);
	T_EQ(count(text, "pc1="), 0);
	T_OK(sink.explained[0] >= sink.explained[1] && sink.explained[1] > 0);
	T_EQ(sink.n_images, 62);
	T_EQ(sink.n_batches, 3);
	T_EQ(gw__classmeans_count(sink.means, 0), 15);
	T_EQ(gw__classmeans_count(sink.means, 2), 16);
	T_OK(gw__classmeans_mean(sink.means, 3, 3) > 1 && gw__classmeans_mean(sink.means, 3, 2) < 0.3);
}

static void dump(void)
{
	float row[DIM], want[DIM];
	struct gw_diag d = { "" };
	uint32_t n = 0;
	FILE *f;

	T_RC(feature_sink_dump(&sink, N, in_dir("dump"), &d), 0);
	f = fopen(path, "rb");
	T_NEED(f);
	for (; fread(row, sizeof(row), 1, f) == 1; n++) {
		row_of(n, want);
		if (n == 40 || n == 41)
			T_OK(isnan(row[0]) && isnan(row[DIM - 1]));
		else
			T_MEM(row, want, sizeof(row));
	}
	T_EQ(n, N);
	fclose(f);
	T_RC(feature_sink_dump(&sink, N, "/nowhere/at/all", &d), -ENOENT);
	T_HAS(d.text, "/nowhere/at/all");
}

/* The first images as the network would read them: every pixel exact in FLOAT16, at its place. */
static void tensor(struct dataset *data, struct geometry *g)
{
	const uint8_t *frame;
	uint16_t *half;
	uint32_t len;
	void *p;

	g->image_out_bytes = 301056;
	T_RC(dataset_tensor(data, g, 2, GW_MEM_HOST, &p), 0);
	half = p;
	for (uint32_t k = 0; k < 256; k++) {
		T_NEED(gw__capture_next(data->capture, &frame, &len, NULL) == 1);
		for (uint32_t i = 0; i < 1176; i += 97) {
			uint16_t h = half[k * 1176 + i];
			double v = h ? ldexp(1024 + (h & 1023), (h >> 10 & 31) - 25) : 0;

			T_EQ(h >> 15 ? -v : v, (int8_t)frame[64 + i]);
		}
	}
	gw_mem_free(p);
	T_RC(gw__capture_rewind(data->capture), 0);
	T_RC(dataset_tensor(data, g, 65, GW_MEM_HOST, &p), -ENODATA);
}

/* A capture of 64 pattern images on the disk, so that pixels can be compared, too. */
static void accuracy(void)
{
	struct gw__prepare_opts o = { .images = { .source = GW__IMAGES_PATTERN, .seed = 1 }, .n_images = N };
	struct geometry g = { .packets_per_image = 128, .images_per_window = 32, .packets_per_batch = 4096,
			      .payload_byte_offset = 64, .out_payload_len = 1176, .chan = 3, .height = 224,
			      .width = 224 };
	struct gw__prepare_result r;
	struct accuracy a;
	struct dataset data;
	struct gw_diag d = { "" };

	gw__frame_opts_default(&o.frames);
	o.out = in_dir("b.pcap");
	T_RC(gw__prepare(&o, &r, &d), 0);
	T_RC(dataset_open(path, "/nowhere", true, &data, &d), 0);
	T_OK(!data.has_labels);
	tensor(&data, &g);
	accuracy_measure(&sink, &data, &g, &a);
	T_OK(a.known);
	T_EQ(a.features.n_train + a.features.n_test, 62);
	T_EQ(a.features.n_correct, a.features.n_test);
	T_OK(a.features.chance > 0.24 && a.features.chance < 0.26);
	T_OK(a.raw_known); /* pixels have nothing to do with these labels */
	T_OK(a.raw.accuracy < a.features.accuracy);
	dataset_close(&data);
	memset(&data, 0, sizeof(data)); /* no capture at hand */
	accuracy_measure(&sink, &data, &g, &a);
	T_OK(a.known && !a.raw_known);
	sink.labels = NULL;
	accuracy_measure(&sink, &data, &g, &a);
	T_OK(!a.known);
	T_HAS(a.why_not, "label");
	sink.labels = &labels;
	T_RC(dataset_open(in_dir("none.pcap"), "/nowhere", true, &data, &d), -ENOENT);
	T_HAS(d.text, "gpuwire prepare");
	T_RC(dataset_open(path, "/nowhere", false, &data, &d), 0); /* a receiver needs no capture */
	dataset_close(&data);
}

static void each_allocation_fails(void)
{
	struct feature_sink s;
	struct dataset data;
	struct gw_diag d;
	long live = gw__alloc_live();
	int err = -ENOMEM;

	for (long n = 1; err; n++) {
		s = (struct feature_sink){ .dim = DIM, .pca_every = 2, .labels = &labels };
		gw__alloc_fail_at(n);
		err = feature_sink_init(&s, &d);
		gw__alloc_fail_at(0);
		T_OK(err == 0 || err == -ENOMEM);
		feature_sink_fini(&s);
		T_EQ(gw__alloc_live(), live);
	}
	err = -ENOMEM;
	for (long n = 1; err; n++) {
		gw__alloc_fail_at(n);
		err = dataset_open(in_dir("b.pcap"), "/tmp", true, &data, &d);
		gw__alloc_fail_at(0);
		if (err == -ENOMEM)
			T_EQ(gw__alloc_live(), live);
		else
			break;
	}
	if (!err)
		dataset_close(&data);
	/* rows that cannot be kept are missed, not fatal */
	s = (struct feature_sink){ .dim = DIM };
	T_RC(feature_sink_init(&s, &d), 0);
	gw__alloc_fail_at(1);
	feed(&s, 0, 1);
	gw__alloc_fail_at(0);
	T_OK(s.out_of_memory);
	T_EQ(s.n_rows, 0);
	T_EQ(s.n_images, 1);
	feature_sink_fini(&s);
	T_EQ(gw__alloc_live(), live);
}

static void clean_up(void)
{
	static const char *const names[] = { "a.labels", "b.pcap", "b.labels", "dump", "out", "err" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		unlink(in_dir(names[i]));
	rmdir(dir);
}

int main(void)
{
	T_NEED(mkdtemp(dir));
	make_labels();
	lines();
	dump();
	accuracy();
	each_allocation_fails();
	feature_sink_fini(&sink);
	gw__labels_fini(&labels);
	T_EQ(gw__alloc_live(), 0);
	clean_up();
	T_DONE();
}
