/* data/labels.h: the sidecar of a capture: the class of each image, and the names.
 * One integer a line, image after image, up to the first line that is none; from there on lines that begin with
 * '#' are remarks ("# data set: NAME" names it), and every other line is the name of the next class, from 0.
 * Must not know images. Next: labels.c. */
#ifndef GW_DATA_LABELS_H
#define GW_DATA_LABELS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <gpuwire/common.h>

#define GW__LABEL_MAX 9999u

struct gw__labels {
	uint32_t n_images;
	uint32_t *cls;      /* [n_images] */
	uint32_t n_classes; /* above every cls */
	char **class_names; /* [n_classes]; a class without a name in the file has its number */
	char *dataset;      /* never NULL */
};

/* Read a sidecar; hostile input. A file without names whose classes are all below ten is taken for CIFAR-10, as the
 * tutorial's files are. Returns 0; -EPROTO with file and line; -ENOENT and other file errors; -ENOMEM.
 * out is the caller's storage, filled only on success; gw__labels_fini() gives back what it holds. */
GW_MUST_CHECK int gw__labels_read(const char *path, struct gw__labels *out, struct gw_diag *diag);
void gw__labels_fini(struct gw__labels *labels);

/* Where the labels of a capture lie: "x.pcap" -> "x.labels", anything else gets ".labels" appended.
 * The caller frees the result with gw__free(); NULL = no memory. */
char *gw__labels_path(const char *capture_path);

/* The lines that follow the integers, written by whoever has just written those. */
void gw__labels_write_names(FILE *f, const char *dataset, const char *const *class_names, uint32_t n_classes);

#endif
