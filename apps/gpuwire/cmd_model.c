/* apps/gpuwire/cmd_model.c: `gpuwire model`: options of the ONNX writer. Nothing clever here.
 * Must not know how a network is laid out. Next: src/data/resnet.h. */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "data/resnet.h"
#include "number.h"

enum { OPT_FP16 = 256 };

struct model_args {
	struct gw__resnet_opts opts;
	const char *output;
};

static const struct argp_option options[] = {
	{ "model", 'm', "NAME", 0, "resnet18, resnet34, resnet50 (default), resnet101 or resnet152", 0 },
	{ "output", 'o', "FILE", 0, "The ONNX file to write (required)", 0 },
	{ "seed", 's', "N", 0, "Seed of the weights (default 1)", 0 },
	{ "fp16", OPT_FP16, NULL, 0, "FLOAT16 throughout, with a Cast to FLOAT at the end", 0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct model_args *a = state->input;

	switch (key) {
	case 'm':
		a->opts.depth = gw__resnet_depth_of(arg);
		if (!a->opts.depth)
			argp_error(state, "--model %s: there is none; use resnet18, 34, 50, 101 or 152", arg);
		return 0;
	case 'o':
		a->output = arg;
		return 0;
	case 's':
		a->opts.seed = number_arg(state, "--seed", arg, 0, UINT64_MAX);
		return 0;
	case OPT_FP16:
		a->opts.fp16 = true;
		return 0;
	case ARGP_KEY_END:
		if (!a->output)
			argp_error(state, "--output FILE is needed");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int gw_cmd_model(int argc, char **argv)
{
	static const struct argp argp = {
		options, parse, NULL,
		"Write a ResNet feature extractor as an ONNX file. The weights are random but stated: the same "
		"seed gives the same bytes on every machine.",
		NULL, NULL, NULL,
	};
	struct model_args a = { .opts = { .depth = 50, .seed = 1 } };
	struct gw__resnet_info info;
	struct gw_diag diag;

	if (argp_parse(&argp, argc, argv, 0, NULL, &a))
		return 64;
	if (gw__onnx_write_resnet(a.output, &a.opts, &info, &diag)) {
		fprintf(stderr, "%s: %s\n", argv[0], diag.text);
		return 1;
	}
	printf("%s: resnet%u, %s, seed %llu, %llu parameters, %u features, %llu bytes\n", a.output,
	       a.opts.depth, a.opts.fp16 ? "FLOAT16" : "FLOAT", (unsigned long long)a.opts.seed,
	       (unsigned long long)info.n_params, info.n_features, (unsigned long long)info.n_bytes);
	return 0;
}
