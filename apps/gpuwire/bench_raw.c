/* apps/gpuwire/bench_raw.c: `gpuwire bench raw_*`: one run of the file for the closing lines, then short rounds
 * in turn with a peer made from the same file, and a floor of bare copies.
 * Must not touch packets. Next: bench_run.c (the run), bench_print.c (the lines), bench_table.c (no file). */
#include <argp.h>
#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.h"
#include "bench_frame.h"

struct args {
	enum bench_kind kind;
	struct bench_file file;
	double seconds, gbps;
	const char *json, *frames;
	int rounds;
	bool pause, table, queues, verbose;
};

static const struct argp_option options[] = {
	{ "engine", 'e', "NAME", 0, "replace engine:", 0 },
	{ "address", 'a', "PORT=ADDRESS", 0, "replace a port's address, such as rx_port=cable:0", 0 },
	{ "set", 's', "KEY=VALUE", 0, "replace a value (or all of one <placeholder>)", 0 },
	{ "mode", 'm', "tx|rx", 0, "this direction alone (the other end is another process)", 0 },
	{ "seconds", 't', "S", 0, "length of the run (default 10)", 0 },
	{ "target-gbps", 'g', "G", 0, "pace each sender; 0 = as fast as possible", 0 },
	{ "pause", 'p', NULL, 0, "hold the sender back instead of dropping", 0 },
	{ "rounds", 'r', "N", 0, "rounds of the ratio (default 5; 0 = none)", 0 },
	{ "json", 'j', "FILE", 0, "write everything there too", 0 },
	{ "verbose", 'v', NULL, 0, "the library's information lines too", 0 },
	{ "table", 'T', NULL, 0, "raw_hds: no file; header and payload apart against one segment, by frame size", 1 },
	{ "queues", 'Q', NULL, 0, "raw_hds: no file; 1, 2 and 4 queues with own and with shared regions", 1 },
	{ "frames", 'f', "B,B,...", 0, "--table: frame sizes", 1 },
	{ 0 },
};

static double real_arg(struct argp_state *state, const char *name, const char *text, double min, double max)
{
	char *end;
	double v = strtod(text, &end);

	if (end == text || *end || !(v >= min && v <= max))
		argp_error(state, "%s %s: a number from %g to %g is needed", name, text, min, max);
	return v;
}

static error_t parse_file(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;

	switch (key) {
	case 'e':
		a->file.o.engine = arg;
		return 0;
	case 'a':
		if (a->file.n_address == BENCH_MAX_SETS)
			argp_error(state, "more than %d --address", BENCH_MAX_SETS);
		a->file.address[a->file.n_address++] = arg;
		return 0;
	case 's':
		if (a->file.n_set == BENCH_MAX_SETS / 2)
			argp_error(state, "more than %d --set", BENCH_MAX_SETS / 2);
		a->file.set[a->file.n_set++] = arg;
		return 0;
	case 'm':
		a->file.o.tx_only = !strcmp(arg, "tx");
		a->file.o.rx_only = !strcmp(arg, "rx");
		if (!a->file.o.tx_only && !a->file.o.rx_only)
			argp_error(state, "--mode %s: use tx or rx", arg);
		return 0;
	case ARGP_KEY_ARG:
		if (a->file.path)
			argp_error(state, "one file, please: %s", arg);
		a->file.path = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;

	switch (key) {
	case 't':
		a->seconds = real_arg(state, "--seconds", arg, 0.05, 86400);
		return 0;
	case 'g':
		a->gbps = real_arg(state, "--target-gbps", arg, 0, 1e6);
		return 0;
	case 'p':
		a->pause = true;
		return 0;
	case 'r':
		a->rounds = (int)real_arg(state, "--rounds", arg, 0, BENCH_MAX_ROUNDS);
		return 0;
	case 'j':
		a->json = arg;
		return 0;
	case 'v':
		a->verbose = true;
		return 0;
	case 'T':
		a->table = true;
		return 0;
	case 'Q':
		a->queues = true;
		return 0;
	case 'f':
		a->frames = arg;
		return 0;
	case ARGP_KEY_END:
		if (!a->file.path && !a->table && !a->queues)
			argp_error(state, "a configuration file is needed");
		if ((a->table || a->queues) && a->kind != BENCH_HDS)
			argp_error(state, "--table and --queues belong to raw_hds");
		return 0;
	default:
		return parse_file(key, arg, state);
	}
}

/* ---- files ------------------------------------------------------------------------------------ */

void bench_file_set(struct bench_file *f, const char *format, ...)
{
	va_list ap;

	if (f->n_room == BENCH_MAX_SETS || f->n_set == BENCH_MAX_SETS)
		return;
	va_start(ap, format);
	vsnprintf(f->room[f->n_room], sizeof(f->room[0]), format, ap);
	va_end(ap);
	f->set[f->n_set++] = f->room[f->n_room++];
}

/* After a copy of the struct, point into its own room. */
static void own_room(struct bench_file *f, const struct bench_file *from)
{
	for (int i = 0; i < f->n_set; i++)
		for (int k = 0; k < f->n_room; k++)
			if (f->set[i] == from->room[k])
				f->set[i] = f->room[k];
}

static int load(struct bench_file *f, struct gw_config **cfg, struct gw_diag *diag)
{
	f->set[f->n_set] = NULL;
	f->address[f->n_address] = NULL;
	f->o.set = f->set;
	f->o.address = f->address;
	return gw_config_load(f->path, &f->o, cfg, diag);
}

int bench_file_run(struct bench_file *f, const struct bench_opts *opts, struct bench_result *out,
		   struct gw_diag *diag)
{
	struct gw_config *cfg = NULL;
	int err = load(f, &cfg, diag);

	if (!err)
		err = bench_run(cfg, opts, out, diag);
	gw_config_free(cfg);
	return err;
}

static bool core_is_here(int64_t core)
{
	cpu_set_t set;

	return core < 0 || (core < CPU_SETSIZE && !sched_getaffinity(0, sizeof(set), &set) && CPU_ISSET((int)core, &set));
}

/* A file written for a larger machine: pollers whose core is not here share those that are. */
static void place_pollers(struct bench_file *f, const struct gw_config *cfg)
{
	for (int i = 0; i < (int)GW_MAX_PORTS; i++)
		for (int q = 0; q < 2 * BENCH_QUEUES; q++) {
			const char *way = q & 1 ? "rx" : "tx", *name = NULL;
			char key[96];
			int64_t core;

			snprintf(key, sizeof(key), "interfaces.%d.%s.queues.%d.name", i, way, q / 2);
			if (gw_config_str(cfg, key, &name, NULL) < 0)
				continue;
			snprintf(key, sizeof(key), "interfaces.%d.%s.queues.%d.cpu_core", i, way, q / 2);
			if (gw_config_i64(cfg, key, &core, NULL) < 0 || core_is_here(core))
				continue;
			printf("queue %s: core %lld is not here, core %d does its work\n", name, (long long)core,
			       bench_core(q & 1));
			bench_file_set(f, "%s=%d", key, bench_core(q & 1));
		}
}

/* ---- peers ------------------------------------------------------------------------------------ */

/* The same file with every receive queue's segments joined into the last one's region. */
static void join_segments(struct bench_file *f, const struct gw_config *cfg, uint32_t frame)
{
	for (int i = 0; i < (int)GW_MAX_PORTS; i++)
		for (int q = 0; q < BENCH_QUEUES; q++) {
			const char *region = NULL, *last = NULL;
			char key[96];

			for (int s = 0; s < (int)GW_MAX_SEGS; s++) {
				snprintf(key, sizeof(key), "interfaces.%d.rx.queues.%d.memory_regions.%d", i, q, s);
				if (gw_config_str(cfg, key, &region, NULL) < 0)
					break;
				last = region;
			}
			if (!last)
				continue;
			bench_file_set(f, "interfaces.%d.rx.queues.%d.memory_regions=[%s]", i, q, last);
			bench_file_set(f, "memory_regions.%s.buf_size=%u", last, frame);
		}
}

static void leave_plans_out(struct bench_file *f, const struct gw_config *cfg)
{
	for (int i = 0; i < (int)GW_MAX_PORTS; i++) {
		const char *name = NULL;
		char key[96];

		snprintf(key, sizeof(key), "interfaces.%d.rx.reorder_configs.0.name", i);
		if (gw_config_str(cfg, key, &name, NULL) >= 0)
			bench_file_set(f, "interfaces.%d.rx.reorder_configs=[]", i);
	}
}

int bench_compare(struct bench_file *ours, struct bench_file *peer, const struct bench_opts *opts, int rounds,
		  struct bench_ratio *out, struct gw_diag *diag)
{
	double a[BENCH_MAX_ROUNDS], b[BENCH_MAX_ROUNDS], rc[BENCH_MAX_ROUNDS], rw[BENCH_MAX_ROUNDS];
	double ra[BENCH_MAX_ROUNDS];
	struct bench_result *r = calloc(2, sizeof(*r));
	int err = r ? 0 : -ENOMEM;

	memset(out, 0, sizeof(*out));
	for (int i = 0; i < rounds && !err; i++) {
		struct bench_file *first = i & 1 ? peer : ours, *second = i & 1 ? ours : peer;

		err = bench_file_run(first, opts, &r[i & 1], diag);
		err = err ? err : bench_file_run(second, opts, &r[!(i & 1)], diag);
		a[i] = r[0].rx_pps_cpu;
		b[i] = r[1].rx_pps_cpu;
		rc[i] = b[i] > 0 ? a[i] / b[i] : 0;
		rw[i] = r[1].rx_pps > 0 ? r[0].rx_pps / r[1].rx_pps : 0;
		ra[i] = r[1].pps_alone > 0 ? r[0].pps_alone / r[1].pps_alone : 0;
		for (int p = 0; p < r[0].n_ports; p++) {
			out->packets += r[0].port[p].rx_packets;
			out->missed += r[0].port[p].rx_missed;
		}
		out->rounds = i + 1;
	}
	free(r);
	if (err || !rounds)
		return err;
	out->ours = bench_median(a, rounds);
	out->peer = bench_median(b, rounds);
	out->cpu = bench_median(rc, rounds);
	out->wall = bench_median(rw, rounds);
	out->alone = bench_median(ra, rounds);
	return 0;
}

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

double bench_median(double *v, int n)
{
	qsort(v, (size_t)n, sizeof(*v), by_value);
	return n & 1 ? v[n / 2] : (v[n / 2] + v[n / 2 - 1]) / 2;
}

static double cpu_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double bench_floor(uint32_t frame, size_t slot_bytes)
{
	size_t stride = (frame + 127u) & ~(size_t)127, n = slot_bytes / stride, n_src = 1024;
	uint8_t *dst = malloc(n * stride), *src = malloc(n_src * stride);
	uint64_t done = 0;
	double t0, t;

	if (!dst || !src || !n) {
		free(dst);
		free(src);
		return 0;
	}
	memset(dst, 1, n * stride);
	memset(src, 2, n_src * stride);
	t0 = cpu_s();
	do {
		for (int i = 0; i < 256; i++, done++)
			memcpy(dst + done % n * stride, src + done % n_src * stride, frame);
		__asm__ volatile("" : : "r"(dst) : "memory");
		t = cpu_s() - t0;
	} while (t < 0.25);
	free(dst);
	free(src);
	return (double)done / t;
}

/* ---- one benchmark ---------------------------------------------------------------------------- */

static uint32_t u32_of(const struct gw_config *cfg, const char *key, uint32_t otherwise)
{
	uint64_t v = otherwise;

	return gw_config_u64(cfg, key, &v, NULL) < 0 ? otherwise : (uint32_t)v;
}

static void copy_str(const struct gw_config *cfg, const char *key, char *out, size_t n)
{
	const char *s = NULL;

	if (gw_config_str(cfg, key, &s, NULL) >= 0 && s)
		snprintf(out, n, "%s", s);
}

/* Where the plan reads its number is where the sender writes it. */
static int find_number(const struct gw_config *cfg, struct bench_opts *o, struct gw_diag *diag)
{
	static const char *const method[] = { "seq_packets_per_batch", "seq_batch_number" };
	char key[128];
	uint64_t at, bits;

	for (int i = 0; i < (int)GW_MAX_PORTS; i++)
		for (int m = 0; m < 2; m++) {
			snprintf(key, sizeof(key), "interfaces.%d.rx.reorder_configs.0.method.%s.sequence_number.bit_offset", i,
				 method[m]);
			if (gw_config_u64(cfg, key, &at, NULL) < 0)
				continue;
			snprintf(key, sizeof(key), "interfaces.%d.rx.reorder_configs.0.method.%s.sequence_number.bit_width", i,
				 method[m]);
			if (gw_config_u64(cfg, key, &bits, NULL) < 0)
				continue;
			if (at % 8) {
				snprintf(diag->text, sizeof(diag->text), "%s: the sender writes numbers that begin on a byte; "
					 "bit_offset %llu does not", key, (unsigned long long)at);
				return -ENOTSUP;
			}
			o->number.at_byte = (uint32_t)(at / 8);
			o->number.n_bits = (uint32_t)bits;
			o->number.start = u32_of(cfg, "bench_tx.sequence_number_start", 0);
			return 0;
		}
	snprintf(diag->text, sizeof(diag->text), "the file has no reorder_configs: nothing to reorder");
	return -EINVAL;
}

static int read_opts(const struct args *a, const struct gw_config *cfg, struct bench_opts *o, struct gw_diag *diag)
{
	const char *e = "bench_reorder_quantize";
	char key[96];

	*o = (struct bench_opts){ .seconds = a->seconds, .target_gbps = a->gbps, .pause = a->pause,
				  .elements = { "int8", "int8", false } };
	o->frame = u32_of(cfg, "bench_tx.header_size", u32_of(cfg, "bench_tx.0.header_size", 64)) +
		   u32_of(cfg, "bench_tx.payload_size", u32_of(cfg, "bench_tx.0.payload_size", 1000));
	if (a->kind == BENCH_REORDER_QUANTIZE) {
		copy_str(cfg, "bench_reorder_quantize.input_type", o->elements.input, sizeof(o->elements.input));
		copy_str(cfg, "bench_reorder_quantize.output_type", o->elements.output, sizeof(o->elements.output));
		snprintf(key, sizeof(key), "%s.endianness", e);
		char order[16] = "host";

		copy_str(cfg, key, order, sizeof(order));
		o->elements.network = !strcmp(order, "network");
		o->verify_batches = u32_of(cfg, "bench_reorder_quantize.verify_batches", 1);
		o->verify_chunks = u32_of(cfg, "bench_reorder_quantize.verify_chunks", 1);
		o->chunk_elements = u32_of(cfg, "bench_reorder_quantize.chunk_elements", 256);
	}
	return a->kind == BENCH_REORDER_SEQ || a->kind == BENCH_REORDER_QUANTIZE ? find_number(cfg, o, diag) : 0;
}

static size_t slot_bytes(const struct gw_config *cfg, const char *name, uint32_t frame)
{
	const char *region = NULL;
	char key[160];
	size_t n = 0, sum = 0;

	for (int s = 0; s < (int)GW_MAX_SEGS; s++) {
		snprintf(key, sizeof(key), "interfaces.%s.rx.queues.0.memory_regions.%d", name, s);
		if (gw_config_str(cfg, key, &region, NULL) < 0 || gw_region_bytes(cfg, region, &n))
			break;
		sum += n;
	}
	return sum ? sum : 4096ul * frame;
}

static const char *const peer_name[] = { "bare copies (floor)", "one segment", "no reordering", "no reordering" };

static int ratio(struct args *a, const struct gw_config *cfg, struct bench_opts o, struct bench_ratio *out,
		 struct gw_diag *diag)
{
	struct bench_file *ours = malloc(sizeof(*ours)), *peer = malloc(sizeof(*peer));
	int err = ours && peer ? 0 : -ENOMEM;

	if (!err) {
		*ours = *peer = a->file;
		own_room(ours, &a->file);
		own_room(peer, &a->file);
		if (a->kind == BENCH_HDS)
			join_segments(peer, cfg, o.frame);
		else if (a->kind != BENCH_GPUDIRECT)
			leave_plans_out(peer, cfg);
		o.seconds = a->seconds < 0.4 ? a->seconds : 0.4;
		o.pause = true;
		o.target_gbps = 0;
		o.verify_batches = 0;
		err = bench_compare(ours, peer, &o, a->rounds, out, diag);
	}
	free(ours);
	free(peer);
	return err;
}

static void print_rates(const struct args *a, const struct bench_result *r, const struct bench_ratio *x, double floor)
{
	printf("rate: received %.3f Mpps, sent %.3f Mpps; receiving side %.3f Mpps a CPU-second\n", r->rx_pps / 1e6,
	       r->tx_pps / 1e6, r->rx_pps_cpu / 1e6);
	if (x->rounds && a->kind != BENCH_GPUDIRECT)
		printf("ratio: %.3f of the same file with %s by the clock, %.3f by the busier side's CPU time, %.3f by the "
		       "receiving side's (%.3f of %.3f Mpps); sender held back, median of %d rounds in turn; %llu of %llu "
		       "missed\n", x->wall, peer_name[a->kind], x->alone, x->cpu, x->ours / 1e6, x->peer / 1e6, x->rounds,
		       (unsigned long long)x->missed, (unsigned long long)(x->packets + x->missed));
	else if (x->rounds && floor > 0)
		printf("ratio: %.3f of %s (receiver's CPU-seconds, sender held back, median of %d rounds)\n",
		       x->ours / floor, peer_name[a->kind], x->rounds);
	if (floor > 0)
		printf("floor: bare copies of such frames into as much memory, one thread: %.3f M a CPU-second\n",
		       floor / 1e6);
	bench_print_environment(stdout);
}

static int write_json(const struct args *a, const char *name, const struct bench_result *r,
		      const struct bench_ratio *x, double floor)
{
	FILE *f = a->json ? fopen(a->json, "w") : NULL;

	if (!a->json)
		return 0;
	if (!f) {
		fprintf(stderr, "%s: %s: %s\n", name, a->json, strerror(errno));
		return 1;
	}
	fprintf(f, "{\"bench\": \"%s\",\n  ", name);
	bench_json_result(f, r);
	fprintf(f, "\"ratio\": %.4f, \"ratio_wall\": %.4f, \"ratio_alone\": %.4f, \"ours_pps_cpu\": %.1f, \"peer_pps_cpu\": %.1f, \"peer\": "
		"\"%s\", \"rounds\": %d, \"floor_pps\": %.1f,\n  ", a->kind == BENCH_GPUDIRECT && floor > 0 ?
		x->ours / floor : x->cpu, x->wall, x->alone, x->ours, a->kind == BENCH_GPUDIRECT ? floor : x->peer,
		peer_name[a->kind], x->rounds, floor);
	bench_json_environment(f);
	fputs("}\n", f);
	return fclose(f) ? 1 : 0;
}

static void to_stderr(void *ctx, enum gw_log_level level, const char *line)
{
	fprintf(stderr, "%s: %s\n", level >= GW_LOG_ERROR ? "error" : level >= GW_LOG_WARN ? "warning" : "info", line);
}

static int one_file(struct args *a, const char *title)
{
	struct bench_result *r = calloc(1, sizeof(*r));
	struct gw_config *cfg = NULL;
	struct bench_ratio x = { 0 };
	struct gw_diag diag = { "" };
	struct bench_opts o;
	double floor = 0;
	int err = r ? load(&a->file, &cfg, &diag) : -ENOMEM, bad = 0;

	if (!err) {
		place_pollers(&a->file, cfg);
		err = read_opts(a, cfg, &o, &diag);
	}
	if (!err)
		err = bench_file_run(&a->file, &o, r, &diag);
	if (!err) {
		bench_print_closing(r, a->kind);
		bad = !r->sums_close || r->failures;
		if (a->rounds && r->n_tx && r->n_rx) {
			gw_log_set(NULL, NULL, GW_LOG_OFF);
			err = ratio(a, cfg, o, &x, &diag);
			floor = bench_floor(o.frame, slot_bytes(cfg, r->rx[0].interface, o.frame));
		}
	}
	if (!err) {
		print_rates(a, r, &x, floor);
		bad |= write_json(a, title, r, &x, floor);
	} else {
		fprintf(stderr, "error: %s\n", diag.text[0] ? diag.text : strerror(-err));
	}
	gw_config_free(cfg);
	free(r);
	return err || bad ? 1 : 0;
}

int bench_raw(enum bench_kind kind, int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "FILE\n--table\n--queues",
		.doc = "Run the bench_tx and bench_rx blocks of a configuration, print what was sent and received, the ratio "
		       "to a peer measured in turn in the same process, the floor, and where it ran.\vExit status: 0 done, "
		       "1 refused, failed, a sum that does not close or a wrong value; 64 wrong usage.",
	};
	struct args *a = calloc(1, sizeof(*a));
	int r = 1;

	if (!a)
		return 1;
	a->kind = kind;
	a->seconds = 10;
	a->rounds = 5;
	a->file.o.sz = sizeof(a->file.o);
	if (argp_parse(&argp, argc, argv, 0, NULL, a)) {
		free(a);
		return 64;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	gw_log_set(to_stderr, NULL, a->verbose ? GW_LOG_INFO : GW_LOG_WARN);
	if (a->table)
		r = bench_table(a->seconds, a->rounds, a->frames, a->json);
	else if (a->queues)
		r = bench_queues(a->seconds, a->rounds, a->json);
	else
		r = one_file(a, argv[0]);
	free(a);
	return r;
}
