/* Image sets: CIFAR-10 and IDX files made here, Debian's Fashion-MNIST where it is installed, patterns; order;
 * every kind of broken file. */
#include <stdbool.h>

#include "base/alloc.h"
#include "data/imageset.h"
#include "data_files.h"

static int8_t tensor[GW__IMAGE_BYTES], other[GW__IMAGE_BYTES];

static struct gw__imageset *open_set(struct gw__imageset_opts opts)
{
	struct gw__imageset *set = NULL;
	struct gw_diag diag = { "" };

	if (gw__imageset_open(&opts, &set, &diag))
		T__FAIL("%s", diag.text);
	T_NEED(set);
	return set;
}

static void refused(struct gw__imageset_opts opts, int err, const char *part)
{
	struct gw__imageset *set = NULL;
	struct gw_diag diag = { "" };

	T_RC(gw__imageset_open(&opts, &set, &diag), err);
	T_HAS(diag.text, part);
	T_OK(!set);
	T_EQ(gw__alloc_live(), 0);
}

static void cifar(void)
{
	struct gw__imageset_opts o = { .source = GW__IMAGES_CIFAR10, .data_root = df_root };
	struct gw__imageset *set;
	struct gw_diag diag;
	uint8_t want[3072];
	uint32_t label;

	refused(o, -ENOENT, "data_batch_1.bin");
	mkdir(df_path("cifar-10-batches-py"), 0700);
	refused(o, -ENOENT, "cifar-10-binary.tar.gz");
	mkdir(df_path("cifar-10-batches-bin"), 0700);
	df_cifar("cifar-10-batches-bin/data_batch_1.bin", 0, 40);
	df_cifar("cifar-10-batches-bin/data_batch_2.bin", 40, 25);
	df_cifar("cifar-10-batches-bin/test_batch.bin", 100, 3);
	set = open_set(o);
	T_EQ(gw__imageset_count(set), 65);
	T_STR(gw__imageset_name(set), "cifar10");
	T_EQ(gw__imageset_n_classes(set), 10);
	T_STR(gw__imageset_class_name(set, 6), "frog");
	for (uint32_t k = 0; k < 65; k += 13) { /* 39 and 52: either side of the files' border */
		T_RC(gw__imageset_get(set, k, tensor, &label, NULL), 0);
		T_EQ(label, k % 10);
		for (uint32_t i = 0; i < 3072; i++)
			want[i] = df_pixel(k, i);
		gw__resize_to_tensor(want, 3, 32, 32, other);
		T_MEM(tensor, other, GW__IMAGE_BYTES);
	}
	T_RC(gw__imageset_get(set, 65, tensor, &label, &diag), -EINVAL);
	T_NEED(truncate(df_path("cifar-10-batches-bin/data_batch_2.bin"), 3073) == 0);
	T_RC(gw__imageset_get(set, 64, tensor, &label, &diag), -EIO); /* it has shrunk since */
	gw__imageset_close(set);
	o.split = GW__SPLIT_TEST;
	o.data_root = df_path("cifar-10-batches-bin"); /* the folder itself will do as well */
	set = open_set(o);
	T_EQ(gw__imageset_count(set), 3);
	gw__imageset_close(set);
	df_save("cifar-10-batches-bin/test_batch.bin", "\x0b", 1);
	refused(o, -EPROTO, "3073-byte");
	T_NEED(truncate(df_path("cifar-10-batches-bin/test_batch.bin"), 3073) == 0);
	set = open_set(o);
	T_RC(gw__imageset_get(set, 0, tensor, &label, &diag), -EPROTO); /* class 11 of ten */
	T_HAS(diag.text, "class 11");
	gw__imageset_close(set);
	o.data_root = NULL;
	refused(o, -EINVAL, "--data-root");
}

static uint8_t body[1 << 16];

/* Images of h x w and labels into df_root; claims may differ from what is there. */
static void put_idx(uint32_t n_images, uint32_t n_labels, uint32_t h, uint32_t w, size_t n_bytes, bool zip)
{
	size_t n = df_idx_head(body, 3, (uint32_t[]){ n_images, h, w });

	for (size_t i = n; i < n + n_bytes; i++)
		body[i] = (uint8_t)(i * 3);
	unlink(df_path("t10k-images-idx3-ubyte.gz"));
	unlink(df_path("t10k-images-idx3-ubyte"));
	if (zip)
		df_gzip("t10k-images-idx3-ubyte.gz", body, n + n_bytes);
	else
		df_save("t10k-images-idx3-ubyte", body, n + n_bytes);
	n = df_idx_head(body, 1, &n_labels);
	for (uint32_t i = 0; i < n_labels; i++)
		body[n + i] = (uint8_t)(i % 10);
	df_gzip("t10k-labels-idx1-ubyte.gz", body, n + n_labels);
}

static void idx(void)
{
	struct gw__imageset_opts o = { .source = GW__IMAGES_FASHION_MNIST, .data_root = df_root };
	struct gw__imageset *set;
	uint32_t label;

	refused(o, -ENOENT, "dataset-fashion-mnist");
	for (int zip = 0; zip < 2; zip++) {
		put_idx(12, 12, 5, 7, 12 * 35, zip);
		set = open_set(o);
		T_EQ(gw__imageset_count(set), 12);
		T_RC(gw__imageset_get(set, 11, tensor, &label, NULL), 0);
		T_EQ(label, 1);
		for (int i = 0; i < 35; i++)
			body[i] = (uint8_t)((16 + 11 * 35 + i) * 3);
		gw__resize_to_tensor(body, 1, 5, 7, other);
		T_MEM(tensor, other, GW__IMAGE_BYTES);
		gw__imageset_close(set);
	}
	o.split = GW__SPLIT_TRAIN;
	refused(o, -ENOENT, "train-images");
}

static void broken_idx(void)
{
	struct gw__imageset_opts o = { .source = GW__IMAGES_FASHION_MNIST, .data_root = df_root };
	struct stat st;

	put_idx(12, 11, 5, 7, 12 * 35, true);
	refused(o, -EPROTO, "11 labels for 12 images");
	put_idx(12, 12, 5, 7, 12 * 35 - 1, true);
	refused(o, -EPROTO, "ends after 419 of 420");
	put_idx(12, 12, 5, 7, 12 * 35 + 1, true);
	refused(o, -EPROTO, "does not end after the 420");
	put_idx(12, 12, 0, 7, 10, true);
	refused(o, -EPROTO, "dimension 1 is 0");
	put_idx(12, 12, 5, 1025, 10, true);
	refused(o, -EPROTO, "dimension 2 is 1025");
	put_idx(UINT32_MAX, 12, 1024, 1024, 10, true);
	refused(o, -EPROTO, "dimension 0");
	put_idx(1000, 12, 1000, 1000, 100, true); /* claims 1 GB, has 100 bytes: must not take the memory */
	refused(o, -EPROTO, "ends after 100");
	put_idx(12, 12, 5, 7, 12 * 35, true);
	df_save("t10k-images-idx3-ubyte.gz", "\0\0\x0d\3________________", 20);
	refused(o, -EPROTO, "not an IDX file");
	df_save("t10k-images-idx3-ubyte.gz", "\0\0", 2);
	refused(o, -EPROTO, "ends after 2 of 16");
	put_idx(500, 500, 5, 7, 500 * 35, true);
	T_NEED(stat(df_path("t10k-images-idx3-ubyte.gz"), &st) == 0);
	T_NEED(truncate(df_path("t10k-images-idx3-ubyte.gz"), st.st_size / 2) == 0);
	refused(o, -EPROTO, "t10k-images");
	df_save("t10k-images-idx3-ubyte.gz", "\x1f\x8b\x08\0\0\0\0\0\0\3garbage garbage garbage", 33);
	refused(o, -EPROTO, "broken gzip data");
}

static void fashion(void)
{
	struct gw__imageset_opts o = { .source = GW__IMAGES_FASHION_MNIST };
	struct gw__imageset *set, *shuffled;
	uint32_t label, same = 0, n_class[10] = { 0 };

	if (access("/usr/share/datasets/fashion-mnist/t10k-images-idx3-ubyte.gz", R_OK)) {
		printf("dataset-fashion-mnist is not installed: its check did not run\n");
		return;
	}
	set = open_set(o);
	T_EQ(gw__imageset_count(set), 10000);
	T_RC(gw__imageset_get(set, 0, tensor, &label, NULL), 0);
	T_STR(gw__imageset_class_name(set, label), "Ankle boot");
	T_EQ(tensor[0], -128); /* black corner */
	T_MEM(tensor, tensor + GW__IMAGE_BYTES / 3, GW__IMAGE_BYTES / 3);
	o.shuffle = true;
	o.seed = 5;
	shuffled = open_set(o);
	for (uint32_t i = 0; i < 400; i++) {
		uint32_t a, b;

		T_NEED(!gw__imageset_get(set, i, tensor, &a, NULL) && !gw__imageset_get(shuffled, i, other, &b, NULL));
		same += !memcmp(tensor, other, GW__IMAGE_BYTES);
		n_class[b]++;
	}
	T_OK(same < 5);
	for (int c = 0; c < 10; c++)
		T_OK(n_class[c] > 15 && n_class[c] < 70);
	gw__imageset_close(set);
	gw__imageset_close(shuffled);
}

static void patterns(void)
{
	struct gw__imageset *a = open_set((struct gw__imageset_opts){ .source = GW__IMAGES_PATTERN, .seed = 1 });
	struct gw__imageset *b = open_set((struct gw__imageset_opts){ .source = GW__IMAGES_PATTERN, .seed = 2 });
	uint32_t la, lb, n_class[10] = { 0 };

	for (uint32_t i = 0; i < 200; i++) {
		T_NEED(!gw__imageset_get(a, i, tensor, &la, NULL));
		n_class[la]++;
	}
	for (int c = 0; c < 10; c++)
		T_OK(n_class[c] > 3);
	T_NEED(!gw__imageset_get(a, 0, tensor, &la, NULL) && !gw__imageset_get(b, 0, other, &lb, NULL));
	T_OK(memcmp(tensor, other, GW__IMAGE_BYTES) != 0);
	T_NEED(!gw__imageset_get(a, 0, other, &la, NULL));
	T_MEM(tensor, other, GW__IMAGE_BYTES);
	gw__imageset_close(a);
	gw__imageset_close(b);
}

static void allocations(void)
{
	struct gw__imageset_opts o = { .source = GW__IMAGES_FASHION_MNIST, .data_root = df_root, .shuffle = true };
	struct gw__imageset *set = NULL;
	enum gw__imageset_source source;
	struct gw_diag diag;

	put_idx(12, 12, 5, 7, 12 * 35, true);
	for (long k = 1;; k++) {
		int rc;

		gw__alloc_fail_at(k);
		rc = gw__imageset_open(&o, &set, &diag);
		gw__alloc_fail_at(0);
		if (!rc)
			break;
		T_NEED(k < 50);
		T_RC(rc, -ENOMEM);
		T_EQ(gw__alloc_live(), 0);
	}
	gw__imageset_close(set);
	gw__imageset_close(NULL);
	T_RC(gw__imageset_open(&(struct gw__imageset_opts){ .source = (enum gw__imageset_source)9 }, &set, &diag),
	     -EINVAL);
	T_RC(gw__imageset_source_of("cifar10", &source), 0);
	T_EQ(source, GW__IMAGES_CIFAR10);
	T_RC(gw__imageset_source_of("mnist", &source), -EINVAL);
}

int main(void)
{
	df_begin();
	cifar();
	idx();
	broken_idx();
	fashion();
	patterns();
	allocations();
	df_end();
	T_EQ(gw__alloc_live(), 0);
	T_DONE();
}
