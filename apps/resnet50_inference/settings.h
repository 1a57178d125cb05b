/* resnet50_inference/settings.h: what the configuration's program blocks and the command line say together,
 * checked before anything starts. Must not open ports or models. Next: settings.c. */
#ifndef RESNET50_SETTINGS_H
#define RESNET50_SETTINGS_H

#include <gpuwire/gpuwire.h>
#include <stdbool.h>

#include "geometry.h"
#include "options.h"

struct settings {
	struct geometry geo;
	/* receive */
	const char *rx_port, *reorder_name;
	uint16_t rx_queue;
	int rx_core; /* -1 = not pinned */
	enum gw_mem_kind tensor_kind;
	/* transmit */
	const char *tx_port;
	uint16_t tx_queue;
	int tx_core;
	uint32_t tx_batch;
	bool tx_device_memory;
	bool has_eth_dst;
	uint8_t eth_dst[6];
	/* inference */
	char onnx_path[1024];
	char plan_folder[1024]; /* of inference.engine_path: where choices are kept; "" = nowhere */
	uint32_t feature_dim;
	int infer_core;
	uint32_t threads;
	enum gw_nn_precision precision;
	uint32_t pca_every; /* batches; 0 = never */
	/* data set, statistics */
	char dataset_path[1024], labels_path[1024];
	bool stats;
	uint32_t top_k;
};

/* The environment's word on the destination address as one more replacement, so that a file may leave a
 * placeholder there. Before the file is read. 0 or -EINVAL with a sentence. text: storage for it. */
int settings_from_environment(struct options *o, char text[64], struct gw_diag *diag);

/* 0, or negative errno with a sentence that names file, key and fix. Strings live as long as cfg. */
int settings_read(const struct gw_config *cfg, const struct options *o, struct settings *out,
		  struct gw_diag *diag);

#endif
