/* Any bytes as image files: the first byte says whether they are IDX images, IDX labels or a CIFAR-10 batch; a set that
 * opens gives its first and last image or says why not. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "data/imageset.h"
#include "fuzz_file.h"

static char folder[] = "/tmp/gw_fuzz_images_XXXXXX";
static int8_t tensor[GW__IMAGE_BYTES];
static const uint8_t two_images[16 + 2 * 4] = { 0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 2, 9 };
static const uint8_t two_labels[8 + 2] = { 0, 0, 8, 1, 0, 0, 0, 2, 3, 4 };
static char paths[4][64];

static void clean_up(void)
{
	for (int i = 0; i < 4; i++)
		unlink(paths[i]);
	rmdir(folder);
}

static void begin(void)
{
	if (!mkdtemp(folder))
		abort();
	snprintf(paths[0], sizeof(paths[0]), "%s/t10k-images-idx3-ubyte", folder);
	snprintf(paths[1], sizeof(paths[1]), "%s/t10k-labels-idx1-ubyte", folder);
	snprintf(paths[2], sizeof(paths[2]), "%s/test_batch.bin", folder);
	snprintf(paths[3], sizeof(paths[3]), "%s/data_batch_1.bin", folder);
	atexit(clean_up);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gw__imageset_opts o = { .split = GW__SPLIT_TEST, .data_root = folder, .seed = size };
	struct gw__imageset *set;
	struct gw_diag diag;
	enum gw__imageset_source source;
	uint32_t label;
	unsigned which;

	if (!size)
		return 0;
	if (!paths[0][0])
		begin();
	which = data[0] % 3;
	o.shuffle = data[0] & 4;
	if (which == 2 && data[0] & 16) /* no folder, and one without such files */
		o.data_root = data[0] & 32 ? "/proc/self" : NULL;
	o.split = which == 2 && data[0] & 8 ? GW__SPLIT_TRAIN : GW__SPLIT_TEST;
	fuzz_save(paths[0], which == 0 ? data + 1 : two_images, which == 0 ? size - 1 : sizeof(two_images));
	fuzz_save(paths[1], which == 1 ? data + 1 : two_labels, which == 1 ? size - 1 : sizeof(two_labels));
	fuzz_save(paths[2 + (o.split == GW__SPLIT_TRAIN)], data + 1, size - 1);
	o.source = which == 2 ? GW__IMAGES_CIFAR10 : GW__IMAGES_FASHION_MNIST;
	if (!gw__imageset_open(&o, &set, &diag)) {
		uint32_t n = gw__imageset_count(set);

		if (!n || (!gw__imageset_get(set, 0, tensor, &label, &diag) && label > 9) ||
		    (!gw__imageset_get(set, n - 1, tensor, &label, &diag) && label > 9))
			abort();
		if (gw__imageset_get(set, n, tensor, &label, &diag) != -EINVAL || gw__imageset_n_classes(set) != 10 ||
		    !gw__imageset_class_name(set, 9)[0] || gw__imageset_source_of(gw__imageset_name(set), &source) ||
		    source != o.source)
			abort();
		gw__imageset_close(set);
	}
	if (gw__alloc_live())
		abort();
	return 0;
}
