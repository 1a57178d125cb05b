/* data/resnet.h: write a ResNet feature extractor as an ONNX file, weights drawn from a seed.
 *
 * ResNet v1.5 (He et al. 2015, with the stride on the 3x3 convolution of a bottleneck). Input "input", FLOAT16,
 * (batch, 3, 224, 224), R,G,B, pixel - 128; output "features", FLOAT, (batch, 512 or 2048). The first nodes widen to
 * FLOAT and normalise, x * a + b with a = 1/(255 std), b = (128/255 - mean)/std, as the ResNet tutorial states.
 * The same seed gives the same bytes on every machine. Next: exact.h (numbers), onnx_stream.h (file). */
#ifndef GW_DATA_RESNET_H
#define GW_DATA_RESNET_H

#include <stdbool.h>
#include <stdint.h>

#include <gpuwire/common.h>

struct gw__resnet_opts {
	uint32_t depth; /* 18, 34, 50, 101 or 152 */
	uint64_t seed;  /* any; another seed is another network */
	bool fp16;      /* FLOAT16 throughout, Cast to FLOAT at the end, as some exporters write */
};

struct gw__resnet_info {
	uint64_t n_bytes;    /* of the file */
	uint64_t n_params;   /* weights, and batch-normalisation vectors */
	uint32_t n_features; /* of one image */
};

/* Write the network to path, by way of path.part, so that nobody ever reads half a file.
 *   info  may be NULL
 * Returns 0; -EINVAL another depth; -ENOMEM; -ENOSPC, -EACCES and other file errors, each with a sentence.
 * Any thread. On failure neither file remains changed. Blocks: writes up to 240 MB. */
GW_MUST_CHECK int gw__onnx_write_resnet(const char *path, const struct gw__resnet_opts *opts,
					struct gw__resnet_info *info, struct gw_diag *diag);

/* "resnet50" -> 50; 0 when it is none of the five. */
uint32_t gw__resnet_depth_of(const char *name);

#endif
