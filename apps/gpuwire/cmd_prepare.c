/* apps/gpuwire/cmd_prepare.c: `gpuwire prepare`: options of the capture writer. Nothing clever here.
 * Must not know images or frames. Next: src/data/prepare.h. */
#include <argp.h>
#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "data/prepare.h"
#include "number.h"
#include "wire/build.h"

#define MAX_FAULTS 1024

enum {
	OPT_IMAGES = 256, OPT_BATCH, OPT_ROOT, OPT_SPLIT, OPT_SEED, OPT_PAYLOAD, OPT_HEADER, OPT_OFFSET, OPT_SEQ_OFFSET,
	OPT_SEQ_WIDTH, OPT_PACKETS, OPT_PORT, OPT_ETH_SRC, OPT_ETH_DST, OPT_IP_SRC, OPT_IP_DST, OPT_OMIT, OPT_FLIP,
};

struct prepare_args {
	struct gw__prepare_opts opts;
	uint64_t omit[MAX_FAULTS];
	struct gw__flip flip[MAX_FAULTS];
};

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "What:", 1 },
	{ "out", 'o', "FILE.pcap", 0, "The capture to write (required); labels go to FILE.labels", 1 },
	{ "source", 's', "NAME", 0, "fashion-mnist (default), cifar10 or pattern", 1 },
	{ "data-root", OPT_ROOT, "DIR", 0, "Folder of the images' files", 1 },
	{ "split", OPT_SPLIT, "NAME", 0, "train or test (default: test of fashion-mnist, train of cifar10)", 1 },
	{ "num-images", OPT_IMAGES, "N", 0, "Images, rounded up to whole batches (default 256)", 1 },
	{ "seed", OPT_SEED, "N", 0, "Shuffle the set by this seed; the seed of the patterns", 1 },
	{ NULL, 0, NULL, 0, "Geometry:", 2 },
	{ "images-per-batch", OPT_BATCH, "N", 0, "A power of two (default 32)", 2 },
	{ "packets-per-image", OPT_PACKETS, "N", 0, "A power of two (default 128)", 2 },
	{ "out-payload-len", OPT_PAYLOAD, "BYTES", 0, "Image bytes in a packet (default 1176)", 2 },
	{ "header-size", OPT_HEADER, "BYTES", 0, "Header region (default 64)", 2 },
	{ "payload-byte-offset", OPT_OFFSET, "BYTES", 0, "Where the payload begins (default: header-size)", 2 },
	{ "seq-bit-offset", OPT_SEQ_OFFSET, "BITS", 0, "First bit of the sequence number (default 128)", 2 },
	{ "seq-bit-width", OPT_SEQ_WIDTH, "BITS", 0, "Its width (default 12)", 2 },
	{ NULL, 0, NULL, 0, "Addresses:", 3 },
	{ "udp-port", OPT_PORT, "PORT", 0, "Source and destination (default 4096)", 3 },
	{ "eth-src", OPT_ETH_SRC, "MAC", 0, "Default 02:00:00:00:00:01", 3 },
	{ "eth-dst", OPT_ETH_DST, "MAC", 0, "Default 02:00:00:00:00:02", 3 },
	{ "ip-src", OPT_IP_SRC, "IP", 0, "Default 1.2.3.4", 3 },
	{ "ip-dst", OPT_IP_DST, "IP", 0, "Default 5.6.7.8", 3 },
	{ NULL, 0, NULL, 0, "Faults, each option any number of times:", 4 },
	{ "omit", OPT_OMIT, "N", 0, "Leave frame N out (from 0)", 4 },
	{ "flip", OPT_FLIP, "N:BYTE", 0, "Turn over the highest bit of byte BYTE of frame N", 4 },
	{ 0 },
};

static void parse_mac(struct argp_state *state, const char *option, const char *arg, uint8_t mac[6])
{
	if (gw__mac_from_text(arg, mac))
		argp_error(state, "%s %s: six hexadecimal bytes with colons are needed", option, arg);
}

static void parse_ip(struct argp_state *state, const char *option, const char *arg, uint8_t ip[4])
{
	if (gw__ipv4_from_text(arg, ip))
		argp_error(state, "%s %s: an address like 10.0.0.1 is needed", option, arg);
}

static void parse_split(struct argp_state *state, const char *arg, enum gw__imageset_split *split)
{
	if (!strcmp(arg, "train"))
		*split = GW__SPLIT_TRAIN;
	else if (!strcmp(arg, "test"))
		*split = GW__SPLIT_TEST;
	else
		argp_error(state, "--split %s: train or test is needed", arg);
}

static void parse_fault(struct argp_state *state, int key, char *arg)
{
	struct prepare_args *a = state->input;
	char *colon;

	if ((key == OPT_OMIT ? a->opts.n_omit : a->opts.n_flip) == MAX_FAULTS)
		argp_error(state, "more than %d faults of one kind", MAX_FAULTS);
	if (key == OPT_OMIT) {
		a->omit[a->opts.n_omit++] = number_arg(state, "--omit", arg, 0, UINT64_MAX);
		return;
	}
	colon = strchr(arg, ':');
	if (!colon) {
		argp_error(state, "--flip %s: FRAME:BYTE is needed", arg);
		return;
	}
	*colon = 0;
	a->flip[a->opts.n_flip].frame = number_arg(state, "--flip", arg, 0, UINT64_MAX);
	a->flip[a->opts.n_flip].byte = (uint32_t)number_arg(state, "--flip", colon + 1, 0, UINT32_MAX);
	a->opts.n_flip++;
}

static uint32_t u32(struct argp_state *state, const char *option, const char *arg)
{
	return (uint32_t)number_arg(state, option, arg, 0, UINT32_MAX);
}

/* Where and how packets are laid out. */
static error_t parse_frames(int key, char *arg, struct argp_state *state)
{
	struct gw__frame_opts *f = &((struct prepare_args *)state->input)->opts.frames;

	switch (key) {
	case OPT_BATCH:
		f->images_per_batch = u32(state, "--images-per-batch", arg);
		return 0;
	case OPT_PAYLOAD:
		f->out_payload_len = u32(state, "--out-payload-len", arg);
		return 0;
	case OPT_HEADER:
		f->header_size = u32(state, "--header-size", arg);
		return 0;
	case OPT_OFFSET:
		f->payload_byte_offset = u32(state, "--payload-byte-offset", arg);
		return 0;
	case OPT_SEQ_OFFSET:
		f->seq_bit_offset = u32(state, "--seq-bit-offset", arg);
		return 0;
	case OPT_SEQ_WIDTH:
		f->seq_bit_width = u32(state, "--seq-bit-width", arg);
		return 0;
	case OPT_PACKETS:
		f->packets_per_image = u32(state, "--packets-per-image", arg);
		return 0;
	case OPT_PORT:
		f->udp_port = (uint16_t)number_arg(state, "--udp-port", arg, 1, 65535);
		return 0;
	case OPT_ETH_SRC:
		parse_mac(state, "--eth-src", arg, f->eth_src);
		return 0;
	case OPT_ETH_DST:
		parse_mac(state, "--eth-dst", arg, f->eth_dst);
		return 0;
	case OPT_IP_SRC:
		parse_ip(state, "--ip-src", arg, f->ip_src);
		return 0;
	case OPT_IP_DST:
		parse_ip(state, "--ip-dst", arg, f->ip_dst);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct prepare_args *a = state->input;

	switch (key) {
	case 'o':
		a->opts.out = arg;
		return 0;
	case 's':
		if (gw__imageset_source_of(arg, &a->opts.images.source))
			argp_error(state, "--source %s: fashion-mnist, cifar10 or pattern is needed", arg);
		return 0;
	case OPT_ROOT:
		a->opts.images.data_root = arg;
		return 0;
	case OPT_SPLIT:
		parse_split(state, arg, &a->opts.images.split);
		return 0;
	case OPT_IMAGES:
		a->opts.n_images = u32(state, "--num-images", arg);
		return 0;
	case OPT_SEED:
		a->opts.images.seed = number_arg(state, "--seed", arg, 0, UINT64_MAX);
		a->opts.images.shuffle = true;
		return 0;
	case OPT_OMIT:
	case OPT_FLIP:
		parse_fault(state, key, arg);
		return 0;
	case ARGP_KEY_END:
		if (!a->opts.out)
			argp_error(state, "--out FILE.pcap is needed");
		if (a->opts.images.source == GW__IMAGES_PATTERN)
			a->opts.images.shuffle = false; /* drawn in order; the seed is in the drawing */
		return 0;
	default:
		return parse_frames(key, arg, state);
	}
}

int gw_cmd_prepare(int argc, char **argv)
{
	static const struct argp argp = {
		options, parse, NULL,
		"Turn images into a capture of packets that carry them as signed bytes, (3, 224, 224), pixel - 128.",
		NULL, NULL, NULL,
	};
	static struct prepare_args a = { .opts = { .n_images = 256, .images = { .seed = 1 } } };
	struct gw__prepare_result r;
	struct gw_diag diag;

	a.opts.omit = a.omit;
	a.opts.flip = a.flip;
	gw__frame_opts_default(&a.opts.frames);
	if (argp_parse(&argp, argc, argv, 0, NULL, &a))
		return 64;
	if (gw__prepare(&a.opts, &r, &diag)) {
		fprintf(stderr, "%s: %s\n", argv[0], diag.text);
		return 1;
	}
	printf("%s: %llu frames, %u labels (%u to fill the last batch), frame %u bytes, packets_per_batch %u, "
	       "buf_size needed %u, %llu bytes\n",
	       a.opts.out, (unsigned long long)r.n_frames, r.n_labels, r.n_padding, r.frame_bytes, r.packets_per_batch,
	       r.buf_size, (unsigned long long)r.n_bytes);
	return 0;
}
