/* data/imageset_cifar.c: CIFAR-10's binary version: records of one class byte and 3,072 pixels (R, G, B planes of
 * 32 x 32). Must not hold the 150 MB set in memory: records are read where they lie. Next: imageset_priv.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/diag.h"
#include "data/imageset_priv.h"

#define N_PIXELS 3072u
#define RECORD (1u + N_PIXELS)
#define N_PATH 4096

/* One batch file. 0, -ENOENT without a sentence, or another error with one. */
static int add_file(struct gw__imageset *set, const char *folder, const char *name, struct gw_diag *diag)
{
	char path[N_PATH];
	uint32_t k = 0;
	struct stat st;

	while (set->fds[k] >= 0)
		k++;
	if (snprintf(path, sizeof(path), "%s/%s", folder, name) >= N_PATH)
		return gw__fail(diag, -ENAMETOOLONG, "data root of %zu bytes is too long", strlen(folder));
	set->fds[k] = open(path, O_RDONLY | O_CLOEXEC);
	if (set->fds[k] < 0)
		return errno == ENOENT ? -ENOENT : gw__fail(diag, -errno, "%s: %s", path, strerror(errno));
	if (fstat(set->fds[k], &st))
		return gw__fail(diag, -errno, "%s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode) || st.st_size <= 0 || st.st_size % RECORD || st.st_size / RECORD > 10000000)
		return gw__fail(diag, -EPROTO, "%s: %lld bytes are no whole number of %u-byte CIFAR-10 records", path,
				(long long)st.st_size, RECORD);
	set->first[k] = set->n_images;
	set->n_images += (uint32_t)(st.st_size / RECORD);
	for (uint32_t j = k + 1; j <= GW__CIFAR_FILES; j++)
		set->first[j] = set->n_images;
	return 0;
}

/* A set may lack later training files, never the first. */
static int add_split(struct gw__imageset *set, const char *folder, bool test, struct gw_diag *diag)
{
	char name[32];
	int err;

	if (test)
		return add_file(set, folder, "test_batch.bin", diag);
	for (uint32_t k = 1; k <= GW__CIFAR_FILES; k++) {
		snprintf(name, sizeof(name), "data_batch_%u.bin", k);
		err = add_file(set, folder, name, diag);
		if (err == -ENOENT && k > 1)
			return 0;
		if (err)
			return err;
	}
	return 0;
}

static int open_cifar(struct gw__imageset *set, const struct gw__imageset_opts *opts, struct gw_diag *diag)
{
	static const char *const folders[] = { "", "/cifar-10-batches-bin", "/cifar10/cifar-10-batches-bin" };
	bool test = opts->split == GW__SPLIT_TEST;
	char folder[N_PATH];
	int err = -ENOENT;

	if (!opts->data_root)
		return gw__fail(diag, -EINVAL, "cifar10: --data-root must name the folder of the binary files "
				"(cifar-10-binary.tar.gz, unpacked)");
	for (size_t k = 0; err == -ENOENT && k < sizeof(folders) / sizeof(*folders); k++) {
		if (snprintf(folder, sizeof(folder), "%s%s", opts->data_root, folders[k]) >= N_PATH)
			return gw__fail(diag, -ENAMETOOLONG, "data root of %zu bytes is too long",
					strlen(opts->data_root));
		err = add_split(set, folder, test, diag);
	}
	if (err == -ENOENT) {
		snprintf(folder, sizeof(folder), "%s/cifar-10-batches-py", opts->data_root);
		return gw__fail(diag, -ENOENT, "%s: no %s there or in cifar-10-batches-bin%s", opts->data_root,
				test ? "test_batch.bin" : "data_batch_1.bin",
				access(folder, F_OK) ? "" : "; cifar-10-batches-py is the pickled version: "
							    "take cifar-10-binary.tar.gz");
	}
	if (err)
		return err;
	set->n_chan = 3;
	set->height = 32;
	set->width = 32;
	return 0;
}

static int read_cifar(struct gw__imageset *set, uint32_t i, uint8_t *picture, uint32_t *label, struct gw_diag *diag)
{
	uint8_t record[RECORD];
	uint32_t k = 0;
	ssize_t n;

	while (i >= set->first[k + 1])
		k++;
	n = pread(set->fds[k], record, RECORD, (off_t)(i - set->first[k]) * RECORD);
	if (n < 0)
		return gw__fail(diag, -errno, "cifar10: image %u cannot be read: %s", i, strerror(errno));
	if (n != RECORD)
		return gw__fail(diag, -EIO, "cifar10: image %u: the file has become shorter", i);
	*label = record[0];
	memcpy(picture, record + 1, N_PIXELS);
	return 0;
}

const struct gw__image_source gw__image_source_cifar = {
	.name = "cifar10",
	.class_names = { "airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck" },
	.open = open_cifar,
	.read = read_cifar,
};
