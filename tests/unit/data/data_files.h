/* Image files made for tests: a CIFAR-10 batch, IDX pairs, in a folder of their own.
 * Must not use the code under test, but for its hash. */
#ifndef GW_TESTS_DATA_FILES_H
#define GW_TESTS_DATA_FILES_H

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "data/exact.h"
#include "t.h"

static char df_root[] = "/tmp/gw_data_XXXXXX";

/* root/name; valid to the end of the program. */
static const char *df_path(const char *name)
{
	static char all[32768];
	static size_t used;
	char *path = all + used;

	used += (size_t)snprintf(path, sizeof(all) - used, "%s/%s", df_root, name) + 1;
	T_NEED(used < sizeof(all));
	return path;
}

static void df_begin(void)
{
	T_NEED(mkdtemp(df_root));
}

static void df_save(const char *name, const void *bytes, size_t n)
{
	FILE *f = fopen(df_path(name), "wb");

	T_NEED(f && fwrite(bytes, 1, n, f) == n);
	fclose(f);
}

static uint8_t df_pixel(uint32_t image, uint32_t i)
{
	return (uint8_t)gw__exact_hash(77, (uint64_t)image * 3072 + i);
}

/* n records; the class of image k (counted from first) is k % 10. */
static inline void df_cifar(const char *name, uint32_t first, uint32_t n)
{
	static uint8_t batch[64 * 3073];

	T_NEED(n <= 64);
	for (uint32_t k = 0; k < n; k++) {
		batch[k * 3073] = (uint8_t)((first + k) % 10);
		for (uint32_t i = 0; i < 3072; i++)
			batch[k * 3073 + 1 + i] = df_pixel(first + k, i);
	}
	df_save(name, batch, (size_t)n * 3073);
}

static inline void df_gzip(const char *name, const void *bytes, size_t n)
{
	gzFile f = gzopen(df_path(name), "wb");

	T_NEED(f && gzwrite(f, bytes, (unsigned)n) == (int)n);
	gzclose(f);
}

/* An IDX header with these sizes; returns its length. */
static inline size_t df_idx_head(uint8_t *to, uint32_t n_dims, const uint32_t *dims)
{
	memcpy(to, (uint8_t[]){ 0, 0, 8, (uint8_t)n_dims }, 4);
	for (uint32_t d = 0; d < n_dims; d++)
		for (int i = 0; i < 4; i++)
			to[4 + 4 * d + (uint32_t)i] = (uint8_t)(dims[d] >> (24 - 8 * i));
	return 4 + 4 * n_dims;
}

static void df_clean(const char *folder)
{
	DIR *d = opendir(folder);
	struct dirent *e;
	char path[512];

	while (d && (e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, e->d_name);
		if (unlink(path))
			df_clean(path);
	}
	if (d)
		closedir(d);
	rmdir(folder);
}

static void df_end(void)
{
	df_clean(df_root);
}

#endif
