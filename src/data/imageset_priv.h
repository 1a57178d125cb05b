/* data/imageset_priv.h: what a source gives the image set: pictures as they are stored, one at a time.
 * For imageset*.c only. Next: imageset.c. */
#ifndef GW_DATA_IMAGESET_PRIV_H
#define GW_DATA_IMAGESET_PRIV_H

#include "data/imageset.h"

#define GW__N_CLASSES 10u /* of all three sources */
#define GW__CIFAR_FILES 5u

struct gw__imageset {
	const struct gw__image_source *source;
	uint32_t n_images;
	uint32_t n_chan, height, width; /* of a stored picture */
	uint32_t *order;                /* shuffled image numbers, or NULL */
	uint8_t *picture;               /* (n_chan, height, width), scratch of gw__imageset_get() */
	uint64_t seed;
	uint8_t *pixels, *labels;       /* IDX: the whole set */
	int fds[GW__CIFAR_FILES];       /* CIFAR-10: one per batch file, -1 = none */
	uint32_t first[GW__CIFAR_FILES + 1]; /* image number at which each file begins */
};

struct gw__image_source {
	const char *name;
	const char *class_names[GW__N_CLASSES];
	/* Fill n_images and the shape; on failure leave the rest to gw__imageset_close(). */
	int (*open)(struct gw__imageset *set, const struct gw__imageset_opts *opts, struct gw_diag *diag);
	/* Image i as stored into picture, its class into *label. */
	int (*read)(struct gw__imageset *set, uint32_t i, uint8_t *picture, uint32_t *label, struct gw_diag *diag);
};

extern const struct gw__image_source gw__image_source_idx;
extern const struct gw__image_source gw__image_source_cifar;
extern const struct gw__image_source gw__image_source_pattern;

#endif
