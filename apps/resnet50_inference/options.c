/* resnet50_inference/options.c: argp over struct options, and the rules between options.
 * Must not open anything. Next: main.c. */
#include "options.h"

#include <argp.h>
#include <gpuwire/version.h>
#include <stdlib.h>
#include <string.h>

enum {
	OPT_MODE = 256, OPT_SECONDS, OPT_DATASET, OPT_REPLAY_ONCE, OPT_LOOP, OPT_IMAGES_PER_BATCH, OPT_EXPECTED,
	OPT_MODEL, OPT_JSON, OPT_FEATURES, OPT_CONSUMER, OPT_PACE, OPT_THREADS, OPT_STRICT, OPT_ENGINE, OPT_ADDRESS,
	OPT_SET,
};

static const struct argp_option rows[] = {
	{ "mode", OPT_MODE, "tx|rx", 0, "send only, or receive and infer only; without it both, in one process", 1 },
	{ "dataset", OPT_DATASET, "FILE", 0, "the capture to send; its labels lie beside it", 1 },
	{ "replay-once", OPT_REPLAY_ONCE, NULL, 0,
	  "example mode (the default): send the capture once; every image counts, so a full ring holds the sender "
	  "back", 1 },
	{ "loop", OPT_LOOP, NULL, 0, "start the capture over until told to stop (the default with --seconds)", 1 },
	{ "seconds", OPT_SECONDS, "N", 0,
	  "bench mode: run N seconds from the first packet; a full ring drops bursts, feature statistics are off", 1 },
	{ "expected-images", OPT_EXPECTED, "N", 0, "end as soon as N images arrived; exit with 3 if they do not", 1 },
	{ "pace", OPT_PACE, "R", 0,
	  "send R images a second, or (1.2x) that many times the inference rate measured at start", 1 },
	{ "model", OPT_MODEL, "NAME", 0, "resnet18, 34, 50, 101 or 152: NAME_features.onnx beside the configured "
	  "model", 2 },
	{ "images-per-batch", OPT_IMAGES_PER_BATCH, "N", 0,
	  "images of one inference call: a power-of-two divisor of the window", 2 },
	{ "threads", OPT_THREADS, "N", 0, "threads of the CPU network", 2 },
	{ "consumer", OPT_CONSUMER, "null", 0, "take images and give them back without inference", 2 },
	{ "json", OPT_JSON, "FILE", 0, "write the results as one JSON document; - is standard output, which then "
	  "carries nothing else", 3 },
	{ "features", OPT_FEATURES, "FILE", 0,
	  "write the feature vectors, float32, image after image; an image that did not arrive is NaN", 3 },
	{ "engine", OPT_ENGINE, "NAME", 0, "replaces `engine:` of the configuration", 4 },
	{ "address", OPT_ADDRESS, "PORT=ADDR", 0, "replaces an interface's address, e.g. rx_port=shm:demo", 4 },
	{ "set", OPT_SET, "KEY=VALUE", 0, "replaces any value of the configuration", 4 },
	{ "strict", OPT_STRICT, NULL, 0, "unknown configuration keys are errors", 4 },
	{ 0 },
};

static const char doc[] = "Images from packets to features: send a capture, receive it in order, run ResNet on it.\v"
	"Environment: ETH_DST_ADDR replaces the destination address of every frame sent.\n\n"
	"Exit status: 0 done; 1 something failed while running; 2 the configuration, data set or model was refused "
	"and nothing was started; 3 fewer images than --expected-images; 64 wrong usage.";

const char *argp_program_bug_address = NULL;

static void version(FILE *out, struct argp_state *state)
{
	fprintf(out, "resnet50_inference %s\n", gw_version());
}
void (*argp_program_version_hook)(FILE *, struct argp_state *) = version;

static double number(struct argp_state *state, const char *what, const char *text, const char *suffix)
{
	char *end;
	double v = strtod(text, &end);

	if (end == text || strcmp(end, suffix) || !(v > 0) || v > 1e12)
		argp_error(state, "--%s %s: a number above 0 is needed", what, text);
	return v;
}

static uint64_t count(struct argp_state *state, const char *what, const char *text, uint64_t max)
{
	char *end;
	unsigned long long v = strtoull(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || !v || v > max)
		argp_error(state, "--%s %s: a whole number from 1 to %llu is needed", what, text,
			   (unsigned long long)max);
	return v;
}

static enum mode mode_of(struct argp_state *state, const char *text)
{
	if (strcmp(text, "tx") && strcmp(text, "rx"))
		argp_error(state, "--mode %s: tx or rx is needed", text);
	return strcmp(text, "tx") ? MODE_RX : MODE_TX;
}

static void model(struct argp_state *state, struct options *o, const char *text)
{
	static const char *const known[] = { "resnet18", "resnet34", "resnet50", "resnet101", "resnet152" };

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strcmp(text, known[i]))
			o->model = known[i];
	if (!o->model)
		argp_error(state, "--model %s: one of resnet18, resnet34, resnet50, resnet101, resnet152 is needed",
			   text);
}

static void pace(struct argp_state *state, struct options *o, const char *text)
{
	size_t n = strlen(text);

	if (n && text[n - 1] == 'x')
		o->pace_ratio = number(state, "pace", text, "x");
	else
		o->pace_images_per_s = number(state, "pace", text, "");
}

static void append(struct argp_state *state, const char **list, const char *what, char *text)
{
	int i = 0;

	if (!strchr(text, '='))
		argp_error(state, "--%s %s: an = is needed", what, text);
	while (list[i])
		i++;
	if (i == OPTIONS_MAX_LIST)
		argp_error(state, "--%s: at most %d times", what, OPTIONS_MAX_LIST);
	list[i] = text;
}

static void check(struct argp_state *state, const struct options *o)
{
	if (!o->config)
		argp_error(state, "a configuration file is needed");
	if (o->replay_once && o->loop)
		argp_error(state, "--replay-once and --loop exclude each other");
	if (o->replay_once && o->seconds > 0)
		argp_error(state, "--replay-once is example mode, --seconds bench mode: choose one");
	if (o->pace_ratio > 0 && (o->mode != MODE_BOTH || o->null_consumer))
		argp_error(state, "--pace Nx needs inference in this process; give images a second instead");
	if (o->mode == MODE_TX && o->expected_images)
		argp_error(state, "--expected-images is the receiver's; this is --mode tx");
	if (o->features && (o->seconds > 0 || o->null_consumer))
		argp_error(state, "--features needs example mode with inference");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case OPT_MODE: o->mode = mode_of(state, arg); break;
	case OPT_SECONDS: o->seconds = number(state, "seconds", arg, ""); break;
	case OPT_DATASET: o->dataset = arg; break;
	case OPT_REPLAY_ONCE: o->replay_once = true; break;
	case OPT_LOOP: o->loop = true; break;
	case OPT_IMAGES_PER_BATCH:
		o->images_per_batch = (uint32_t)count(state, "images-per-batch", arg, 1u << 20);
		break;
	case OPT_EXPECTED: o->expected_images = count(state, "expected-images", arg, INT64_MAX); break;
	case OPT_MODEL: model(state, o, arg); break;
	case OPT_JSON: o->json = arg; break;
	case OPT_FEATURES: o->features = arg; break;
	case OPT_CONSUMER:
		if (strcmp(arg, "null"))
			argp_error(state, "--consumer %s: only null is known", arg);
		o->null_consumer = true;
		break;
	case OPT_PACE: pace(state, o, arg); break;
	case OPT_THREADS: o->threads = (uint32_t)count(state, "threads", arg, 1024); break;
	case OPT_STRICT: o->strict = true; break;
	case OPT_ENGINE: o->engine = arg; break;
	case OPT_ADDRESS: append(state, o->address, "address", arg); break;
	case OPT_SET: append(state, o->set, "set", arg); break;
	case ARGP_KEY_ARG:
		if (o->config)
			argp_error(state, "%s: only one configuration file", arg);
		o->config = arg;
		break;
	case ARGP_KEY_END: check(state, o); break;
	default: return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

void options_parse(int argc, char **argv, struct options *out)
{
	static const struct argp argp = { .options = rows, .parser = parse, .args_doc = "CONFIG.yaml", .doc = doc };

	memset(out, 0, sizeof(*out));
	argp_err_exit_status = EXIT_USAGE;
	argp_parse(&argp, argc, argv, 0, NULL, out);
}
