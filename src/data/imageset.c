/* data/imageset.c: one face over the three sources; order, bounds, resize.
 * Must not know a file format. Next: imageset_priv.h for the table a source fills. */
#include "data/imageset.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/diag.h"
#include "data/exact.h"
#include "data/imageset_priv.h"

static const struct gw__image_source *const sources[] = {
	[GW__IMAGES_FASHION_MNIST] = &gw__image_source_idx,
	[GW__IMAGES_CIFAR10] = &gw__image_source_cifar,
	[GW__IMAGES_PATTERN] = &gw__image_source_pattern,
};
#define N_SOURCES (sizeof(sources) / sizeof(*sources))

/* Fisher and Yates; the small bias of a modulo of 64 bits does not matter for an order. */
static int shuffle(struct gw__imageset *set)
{
	set->order = gw__malloc((size_t)set->n_images * sizeof(*set->order));
	if (!set->order)
		return -ENOMEM;
	for (uint32_t i = 0; i < set->n_images; i++)
		set->order[i] = i;
	for (uint32_t i = set->n_images - 1; i > 0; i--) {
		uint32_t j = (uint32_t)(gw__exact_hash(set->seed, i) % (i + 1)), t = set->order[i];

		set->order[i] = set->order[j];
		set->order[j] = t;
	}
	return 0;
}

static int open_source(struct gw__imageset *set, const struct gw__imageset_opts *opts, struct gw_diag *diag)
{
	int err = set->source->open(set, opts, diag);

	if (err)
		return err;
	set->picture = gw__malloc((size_t)set->n_chan * set->height * set->width);
	if (!set->picture || (opts->shuffle && shuffle(set)))
		return gw__fail(diag, -ENOMEM, "%s: no memory for %u images", set->source->name, set->n_images);
	return 0;
}

int gw__imageset_open(const struct gw__imageset_opts *opts, struct gw__imageset **out, struct gw_diag *diag)
{
	struct gw__imageset *set;
	int err;

	if ((size_t)opts->source >= N_SOURCES)
		return gw__fail(diag, -EINVAL, "image source %d: there is none", (int)opts->source);
	set = gw__calloc(1, sizeof(*set));
	if (!set)
		return gw__fail(diag, -ENOMEM, "no memory for an image set");
	set->source = sources[opts->source];
	set->seed = opts->seed;
	for (uint32_t k = 0; k < GW__CIFAR_FILES; k++)
		set->fds[k] = -1;
	err = open_source(set, opts, diag);
	if (err) {
		gw__imageset_close(set);
		return err;
	}
	*out = set;
	return 0;
}

void gw__imageset_close(struct gw__imageset *set)
{
	if (!set)
		return;
	for (uint32_t k = 0; k < GW__CIFAR_FILES; k++)
		if (set->fds[k] >= 0)
			close(set->fds[k]);
	gw__free(set->pixels);
	gw__free(set->labels);
	gw__free(set->order);
	gw__free(set->picture);
	gw__free(set);
}

uint32_t gw__imageset_count(const struct gw__imageset *set)
{
	return set->n_images;
}

const char *gw__imageset_name(const struct gw__imageset *set)
{
	return set->source->name;
}

uint32_t gw__imageset_n_classes(const struct gw__imageset *set)
{
	(void)set;
	return GW__N_CLASSES;
}

const char *gw__imageset_class_name(const struct gw__imageset *set, uint32_t cls)
{
	return set->source->class_names[cls];
}

const char *gw__cifar10_class_name(uint32_t cls)
{
	return gw__image_source_cifar.class_names[cls];
}

int gw__imageset_get(struct gw__imageset *set, uint32_t i, int8_t *tensor, uint32_t *label, struct gw_diag *diag)
{
	int err;

	if (i >= set->n_images)
		return gw__fail(diag, -EINVAL, "%s: image %u of %u is asked for", set->source->name, i,
				set->n_images);
	if (set->order)
		i = set->order[i];
	err = set->source->read(set, i, set->picture, label, diag);
	if (err)
		return err;
	if (*label >= GW__N_CLASSES)
		return gw__fail(diag, -EPROTO, "%s: image %u has class %u; there are %u", set->source->name, i,
				*label, GW__N_CLASSES);
	gw__resize_to_tensor(set->picture, set->n_chan, set->height, set->width, tensor);
	return 0;
}

int gw__imageset_source_of(const char *name, enum gw__imageset_source *source)
{
	for (size_t k = 0; k < N_SOURCES; k++) {
		if (!strcmp(sources[k]->name, name)) {
			*source = (enum gw__imageset_source)k;
			return 0;
		}
	}
	return -EINVAL;
}
