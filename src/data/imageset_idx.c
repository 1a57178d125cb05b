/* data/imageset_idx.c: Fashion-MNIST in IDX files (Y. LeCun's format for MNIST), gzipped or plain.
 * Must not trust a count in a header: what is allocated and read is bounded and compared. Next: imageset_priv.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "base/alloc.h"
#include "base/diag.h"
#include "data/imageset_priv.h"

#define DEFAULT_ROOT "/usr/share/datasets/fashion-mnist"
#define PIXELS_MAX (UINT64_C(1) << 30) /* of a whole file */
#define N_PATH 4096

struct idx {
	gzFile file;
	char path[N_PATH];
	uint32_t dims[3];
	uint64_t n_bytes; /* after the header */
};

static int open_file(struct idx *x, const char *root, const char *stem, struct gw_diag *diag)
{
	static const char *const endings[] = { ".gz", "" };

	for (size_t k = 0; k < 2; k++) {
		if (snprintf(x->path, N_PATH, "%s/%s%s", root, stem, endings[k]) >= N_PATH)
			return gw__fail(diag, -ENAMETOOLONG, "data root of %zu bytes is too long", strlen(root));
		errno = 0;
		x->file = gzopen(x->path, "rbe");
		if (x->file)
			return 0;
		if (errno != ENOENT)
			break;
	}
	if (errno && errno != ENOENT)
		return gw__fail(diag, -errno, "%s: %s", x->path, strerror(errno));
	if (!errno)
		return gw__fail(diag, -ENOMEM, "%s: no memory to read it", x->path);
	return gw__fail(diag, -ENOENT,
			"%s/%s.gz is not there; install Debian's package dataset-fashion-mnist, name its folder "
			"with --data-root, or use --source pattern", root, stem);
}

static int read_exactly(struct idx *x, void *to, uint64_t n, struct gw_diag *diag)
{
	int zerr, got = gzread(x->file, to, (unsigned)n); /* n <= PIXELS_MAX fits */
	const char *why;

	if (got >= 0 && (uint64_t)got == n)
		return 0;
	why = gzerror(x->file, &zerr);
	if (got < 0 && zerr == Z_ERRNO)
		return gw__fail(diag, -EIO, "%s: %s", x->path, strerror(errno));
	if (got < 0)
		return gw__fail(diag, -EPROTO, "%s: broken gzip data: %s", x->path, why);
	return gw__fail(diag, -EPROTO, "%s: ends after %d of %llu bytes", x->path, got, (unsigned long long)n);
}

/* Magic 0 0 8 n_dims (unsigned bytes), then n_dims big-endian sizes. */
static int read_header(struct idx *x, uint32_t n_dims, struct gw_diag *diag)
{
	uint8_t head[16];
	int err = read_exactly(x, head, 4 + 4 * n_dims, diag);

	if (err)
		return err;
	if (head[0] || head[1] || head[2] != 8 || head[3] != n_dims)
		return gw__fail(diag, -EPROTO, "%s: begins %02x%02x%02x%02x, not 000008%02x: not an IDX file of bytes "
				"in %u dimensions", x->path, head[0], head[1], head[2], head[3], n_dims, n_dims);
	x->n_bytes = 1;
	for (uint32_t d = 0; d < n_dims; d++) {
		const uint8_t *p = head + 4 + 4 * d;

		x->dims[d] = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
		if (!x->dims[d] || x->dims[d] > PIXELS_MAX / x->n_bytes || (d && x->dims[d] > GW__PICTURE_SIDE_MAX))
			return gw__fail(diag, -EPROTO, "%s: dimension %u is %u; sides may be 1..%u, the whole 1 GiB",
					x->path, d, x->dims[d], GW__PICTURE_SIDE_MAX);
		x->n_bytes *= x->dims[d];
	}
	return 0;
}

/* The body grows as bytes arrive, so that a header cannot claim memory that the file does not fill. */
static int read_body(struct idx *x, uint8_t **out, struct gw_diag *diag)
{
	uint64_t have = 0, cap = 0;
	uint8_t *body = NULL;
	char extra;
	int err = 0;

	while (!err && have < x->n_bytes) {
		uint64_t next = cap ? 2 * cap : UINT64_C(1) << 20;
		uint8_t *bigger;

		cap = next < x->n_bytes ? next : x->n_bytes;
		bigger = gw__realloc(body, cap);
		if (!bigger) {
			err = gw__fail(diag, -ENOMEM, "%s: no memory for %llu bytes", x->path,
				       (unsigned long long)cap);
			break;
		}
		body = bigger;
		err = read_exactly(x, body + have, cap - have, diag);
		have = cap;
	}
	if (!err && gzread(x->file, &extra, 1) != 0)
		err = gw__fail(diag, -EPROTO, "%s: does not end after the %llu bytes its header announces", x->path,
			       (unsigned long long)x->n_bytes);
	if (err) {
		gw__free(body);
		return err;
	}
	*out = body;
	return 0;
}

static int load(struct idx *x, const char *root, const char *stem, uint32_t n_dims, uint8_t **out,
		struct gw_diag *diag)
{
	int err = open_file(x, root, stem, diag);

	if (err)
		return err;
	err = read_header(x, n_dims, diag);
	if (!err)
		err = read_body(x, out, diag);
	gzclose(x->file);
	return err;
}

static int open_idx(struct gw__imageset *set, const struct gw__imageset_opts *opts, struct gw_diag *diag)
{
	const char *root = opts->data_root ? opts->data_root : DEFAULT_ROOT;
	bool train = opts->split == GW__SPLIT_TRAIN;
	struct idx images, labels;
	int err;

	err = load(&images, root, train ? "train-images-idx3-ubyte" : "t10k-images-idx3-ubyte", 3, &set->pixels, diag);
	if (err)
		return err;
	err = load(&labels, root, train ? "train-labels-idx1-ubyte" : "t10k-labels-idx1-ubyte", 1, &set->labels, diag);
	if (err)
		return err;
	if (images.dims[0] != labels.dims[0])
		return gw__fail(diag, -EPROTO, "%s: %u labels for %u images", labels.path, labels.dims[0],
				images.dims[0]);
	set->n_images = images.dims[0];
	set->n_chan = 1;
	set->height = images.dims[1];
	set->width = images.dims[2];
	return 0;
}

static int read_idx(struct gw__imageset *set, uint32_t i, uint8_t *picture, uint32_t *label, struct gw_diag *diag)
{
	size_t n = (size_t)set->height * set->width;

	(void)diag;
	memcpy(picture, set->pixels + i * n, n);
	*label = set->labels[i];
	return 0;
}

const struct gw__image_source gw__image_source_idx = {
	.name = "fashion-mnist",
	.class_names = { "T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag",
			 "Ankle boot" },
	.open = open_idx,
	.read = read_idx,
};
