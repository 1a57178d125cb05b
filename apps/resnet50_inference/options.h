/* resnet50_inference/options.h: the command line as a plain struct.
 * Must not know the configuration file. Next: options.c, settings.h (what the two say together). */
#ifndef RESNET50_OPTIONS_H
#define RESNET50_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

/* Exit codes; documented in resnet50_inference(1). 64 is argp's, for wrong usage. */
enum {
	EXIT_OK = 0,
	EXIT_FAILED = 1,      /* something broke while running */
	EXIT_REFUSED = 2,     /* configuration, data set or model: nothing was started */
	EXIT_TOO_FEW = 3,     /* ended in order, with fewer images than --expected-images */
	EXIT_USAGE = 64,
};

enum mode { MODE_BOTH, MODE_TX, MODE_RX };

#define OPTIONS_MAX_LIST 32

struct options {
	const char *config;
	enum mode mode;
	double seconds;            /* bench mode; 0 = example mode */
	const char *dataset;       /* NULL = the configuration's */
	bool replay_once, loop;
	uint32_t images_per_batch; /* 0 = a whole window */
	uint64_t expected_images;  /* 0 = not said */
	const char *model;         /* "resnet50", NULL = the configuration's */
	const char *json;          /* file, "-" = stdout; NULL = none */
	const char *features;      /* file for raw feature vectors; NULL = none */
	bool null_consumer;
	double pace_images_per_s;  /* 0 = not paced */
	double pace_ratio;         /* of the inference rate measured at start; 0 = not so */
	uint32_t threads;          /* of the CPU network; 0 = the configuration's */
	bool strict;
	const char *engine;        /* NULL = the configuration's */
	const char *address[OPTIONS_MAX_LIST + 1]; /* NULL-terminated */
	const char *set[OPTIONS_MAX_LIST + 2];     /* NULL-terminated; room for one more */
};

/* Exits with 64 and a sentence on wrong usage, 0 after --help and --version. */
void options_parse(int argc, char **argv, struct options *out);

#endif
