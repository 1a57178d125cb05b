/* resnet50_inference/dataset.h: the capture and its labels; frames for the sender, raw pixels for the comparison.
 * Must not know queues or features. Next: dataset.c, data/capture.h, data/labels.h. */
#ifndef RESNET50_DATASET_H
#define RESNET50_DATASET_H

#include <gpuwire/mem.h>
#include <stdbool.h>

#include "data/capture.h"
#include "data/labels.h"
#include "geometry.h"
#include "pcap_tx.h"

#define RAW_GRID 32u /* raw pixels are compared as the mean colour of a 32 x 32 grid's cells */

struct dataset {
	struct gw__capture *capture; /* NULL: a receiver without the capture at hand */
	struct gw__labels labels;
	bool has_labels;
};

/* need_capture: the sender's side, where a missing capture is an error. A missing label file never is; a bad
 * one is. 0 or negative errno. */
int dataset_open(const char *pcap_path, const char *labels_path, bool need_capture, struct dataset *out,
		 struct gw_diag *diag);
/* A label for every image of the capture? 0, or -EPROTO with both numbers. */
int dataset_check(const struct dataset *d, const struct geometry *g, const char *labels_path, struct gw_diag *diag);
void dataset_close(struct dataset *d);
/* A source for pcap_tx; lives as long as the data set. */
struct frame_source dataset_frames(struct dataset *d);

/* Pixels of images 0 .. n_images - 1 of the capture as float (n_images, 3 * RAW_GRID * RAW_GRID), read anew from
 * its frames. *out only on success, gw__free() it. -ENODATA: no capture here, or frames left out of it. */
int dataset_raw_pixels(struct dataset *d, const struct geometry *g, uint32_t n_images, float **out);

/* The first n_images as the network sees them, FLOAT16 (n_images, chan, height, width), in memory of that kind:
 * what int8 scales are calibrated from. *out only on success, gw_mem_free() it. -ENODATA as above. */
int dataset_tensor(struct dataset *d, const struct geometry *g, uint32_t n_images, enum gw_mem_kind kind, void **out);

#endif
