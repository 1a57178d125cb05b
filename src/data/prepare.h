/* data/prepare.h: a capture of image packets and its label sidecar, from a set of images.
 * Must not know options' spelling. Next: prepare.c; frames.h and imageset.h for the parts. */
#ifndef GW_DATA_PREPARE_H
#define GW_DATA_PREPARE_H

#include <stddef.h>
#include <stdint.h>

#include <gpuwire/common.h>

#include "data/frames.h"
#include "data/imageset.h"

struct gw__flip {
	uint64_t frame; /* counted from 0, before any is left out */
	uint32_t byte;  /* of the frame; its highest bit is turned over: 128 more or less */
};

struct gw__prepare_opts {
	struct gw__imageset_opts images;
	struct gw__frame_opts frames;
	uint32_t n_images;         /* wanted; rounded up to whole batches with further images of the set, which
	                              begins again when it is used up */
	const char *out;           /* the capture; the labels go beside it (gw__labels_path()) */
	const uint64_t *omit;      /* [n_omit] frames to leave out */
	size_t n_omit;
	const struct gw__flip *flip; /* [n_flip] */
	size_t n_flip;
};

struct gw__prepare_result {
	uint64_t n_frames; /* in the file */
	uint32_t n_labels; /* images, padding included */
	uint32_t n_padding;
	uint32_t frame_bytes;
	uint32_t packets_per_batch;
	uint32_t buf_size; /* that a receive region needs: exactly payload offset + payload */
	uint64_t n_bytes;  /* of the capture */
};

/* Write both files, each by way of a ".part" name. The capture is classic pcap, little-endian, microseconds,
 * Ethernet; a record's stamp is (image, packet). opts->frames may be completed (gw__frame_opts_check).
 * Returns 0; -EINVAL with the value that would fit; what the image set returns; file errors; -ENOMEM.
 * Any thread. On failure neither file is changed. Blocks: writes 160 KB an image. */
GW_MUST_CHECK int gw__prepare(struct gw__prepare_opts *opts, struct gw__prepare_result *result,
			      struct gw_diag *diag);

#endif
