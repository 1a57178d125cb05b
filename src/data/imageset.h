/* data/imageset.h: labelled images of three sources, each given as the tensor that goes on the wire:
 * signed int8 = pixel - 128, (3, 224, 224), planes R, G, B, 150,528 bytes, the same on every machine.
 * Must not know about packets. Next: imageset_idx.c, imageset_cifar.c, imageset_pattern.c; resize.h. */
#ifndef GW_DATA_IMAGESET_H
#define GW_DATA_IMAGESET_H

#include <stdbool.h>
#include <stdint.h>

#include <gpuwire/common.h>

#include "data/resize.h"

enum gw__imageset_source {
	GW__IMAGES_FASHION_MNIST, /* IDX files, .gz or plain; Debian's dataset-fashion-mnist */
	GW__IMAGES_CIFAR10,       /* the binary version: data_batch_1.bin ... test_batch.bin */
	GW__IMAGES_PATTERN,       /* drawn from a seed, without any file */
};

enum gw__imageset_split {
	GW__SPLIT_DEFAULT, /* Fashion-MNIST: test; CIFAR-10: train, as the ResNet tutorial does */
	GW__SPLIT_TRAIN,
	GW__SPLIT_TEST,
};

struct gw__imageset_opts {
	enum gw__imageset_source source;
	enum gw__imageset_split split;
	const char *data_root; /* folder of the files; NULL = where Debian puts Fashion-MNIST; unused for patterns */
	bool shuffle;          /* false: the files' own order */
	uint64_t seed;         /* of the shuffle, and of the patterns */
};

struct gw__imageset;

/* Open and check a set. The files are hostile input: every count is checked against the bytes there.
 * Returns 0; -ENOENT no such file, with what to install or pass; -EPROTO a file that contradicts itself; -EINVAL;
 * -ENOMEM; file errors. *out only on success; the caller owns it. Any thread. Blocks: reads files. */
GW_MUST_CHECK int gw__imageset_open(const struct gw__imageset_opts *opts, struct gw__imageset **out,
				    struct gw_diag *diag);
/* NULL is fine. */
void gw__imageset_close(struct gw__imageset *set);

uint32_t gw__imageset_count(const struct gw__imageset *set);
/* "fashion-mnist", "cifar10" or "pattern"; a literal. */
const char *gw__imageset_name(const struct gw__imageset *set);
uint32_t gw__imageset_n_classes(const struct gw__imageset *set);
/* A literal; cls < n_classes. */
const char *gw__imageset_class_name(const struct gw__imageset *set, uint32_t cls);

/* Image i < count into tensor[GW__IMAGE_BYTES], its class into *label. One caller per set.
 * Returns 0; -EINVAL i too large; -EPROTO a class out of bounds; -EIO and other file errors. */
GW_MUST_CHECK int gw__imageset_get(struct gw__imageset *set, uint32_t i, int8_t *tensor, uint32_t *label,
				   struct gw_diag *diag);

/* "fashion-mnist", "cifar10", "pattern" -> *source. 0 or -EINVAL. */
int gw__imageset_source_of(const char *name, enum gw__imageset_source *source);

/* The ten classes of CIFAR-10, for label files that name none; a literal. cls < 10. */
const char *gw__cifar10_class_name(uint32_t cls);

#endif
