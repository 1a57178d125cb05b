/* apps/gpuwire/bench_table.c: `gpuwire bench raw_hds --table|--queues`: configurations written here, one for each
 * frame size or number of queues; header in `huge`, payload in `device` first, both in host memory second.
 * Must not touch packets. Next: bench_raw.c (bench_compare). */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

#define TEXT 8192
#define SLOTS 4096u

struct shape {
	uint32_t frame, n_queues;
	bool split, own; /* own: a pair of regions for each queue */
	const char *header_kind, *payload_kind;
};

static void add(char *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(char *text, const char *format, ...)
{
	size_t n = strlen(text);
	va_list ap;

	va_start(ap, format);
	vsnprintf(text + n, TEXT - n, format, ap);
	va_end(ap);
}

static void add_regions(char *text, const struct shape *s)
{
	add(text, "memory_regions:\n- {name: TX, kind: huge, affinity: 0, num_bufs: 1024, buf_size: %u}\n", s->frame);
	for (uint32_t i = 0; i < (s->own ? s->n_queues : 1); i++) {
		uint32_t n = s->own ? SLOTS / s->n_queues : SLOTS;

		if (s->split)
			add(text, "- {name: H%u, kind: %s, affinity: 0, num_bufs: %u, buf_size: 64}\n", i, s->header_kind, n);
		add(text, "- {name: P%u, kind: %s, affinity: 0, num_bufs: %u, buf_size: %u}\n", i, s->payload_kind, n,
		    s->split ? s->frame - 64 : s->frame);
	}
}

/* The NIC runs in the receiver's thread; the sender only posts. */
static void write_config(char *text, const struct shape *s)
{
	text[0] = 0;
	add(text, "version: 1\nstream_type: raw\nengine: nic\nmaster_core: -1\n");
	add_regions(text, s);
	add(text, "interfaces:\n- name: tx_port\n  address: \"cable:0?by=receiver\"\n  tx:\n    queues:\n"
		  "    - {name: t0, id: 0, poll_mode: direct, memory_regions: [TX]}\n"
		  "- name: rx_port\n  address: \"cable:0\"\n  rx:\n    queues:\n");
	for (uint32_t i = 0; i < s->n_queues; i++) {
		uint32_t k = s->own ? i : 0;

		add(text, "    - {name: q%u, id: %u, poll_mode: direct, memory_regions: [", i, i);
		if (s->split)
			add(text, "H%u, ", k);
		add(text, "P%u]}\n", k);
	}
	add(text, "    flows:\n");
	for (uint32_t i = 0; i < s->n_queues; i++)
		add(text, "    - {name: f%u, id: %u, action: {type: queue, id: %u}, match: {udp_dst: %u}}\n", i, i + 1, i,
		    4096 + i);
	add(text, "bench_tx: {interface_name: tx_port, cpu_core: %d, batch_size: 256, header_size: 64, payload_size: %u, "
		  "udp_dst_port: \"4096-%u\"}\nbench_rx:\n", bench_core(0), s->frame - 64, 4096 + s->n_queues - 1);
	for (uint32_t i = 0; i < s->n_queues; i++)
		add(text, "- {interface_name: rx_port, queue_id: %u, cpu_core: %d}\n", i, bench_core((int)i + 1));
}

static int run_pair(const struct shape *ours, const struct shape *peer, const struct bench_opts *o, int rounds,
		    struct bench_ratio *x, struct gw_diag *diag)
{
	struct bench_file *f = calloc(2, sizeof(*f));
	char *text = malloc(2 * TEXT);
	int err = f && text ? 0 : -ENOMEM;

	if (!err) {
		write_config(text, ours);
		write_config(text + TEXT, peer);
		for (int i = 0; i < 2; i++) {
			f[i].o.sz = sizeof(f[i].o);
			f[i].path = text + (size_t)i * TEXT;
		}
		err = bench_compare(&f[0], &f[1], o, rounds, x, diag);
	}
	free(f);
	free(text);
	return err;
}

/* What the sender can offer a second of its CPU time: the receiving port's gate is shut. */
static int offered(const struct shape *s, const struct bench_opts *like, double *pps, struct gw_diag *diag)
{
	struct bench_file *f = calloc(1, sizeof(*f));
	struct bench_result *r = calloc(1, sizeof(*r));
	struct bench_opts o = *like;
	char *text = malloc(TEXT);
	int err = f && text && r ? 0 : -ENOMEM;

	if (!err) {
		write_config(text, s);
		f->o.sz = sizeof(f->o);
		f->path = text;
		o.gate_shut = true;
		o.pause = false;
		err = bench_file_run(f, &o, r, diag);
		*pps = r->tx_pps_cpu;
	}
	free(f);
	free(r);
	free(text);
	return err;
}

static FILE *open_json(const char *path)
{
	FILE *f = path ? fopen(path, "w") : NULL;

	if (path && !f)
		fprintf(stderr, "gpuwire bench raw_hds: %s: %s\n", path, strerror(errno));
	else if (f)
		fputs("{\"rows\": [", f);
	return f;
}

static void close_json(FILE *f)
{
	if (!f)
		return;
	fputs("],\n ", f);
	bench_json_environment(f);
	fputs("}\n", f);
	fclose(f);
}

static int row(FILE *json, const struct shape *s, const struct shape *single, const struct bench_opts *o, int rounds,
	       bool *comma, struct gw_diag *diag)
{
	struct bench_ratio x;
	double offer = 0;
	int err = offered(single, o, &offer, diag);

	err = err ? err : run_pair(s, single, o, rounds, &x, diag);
	if (err)
		return err;
	printf("%6u  %u %-6s  %-6s %-7s  %8.3f  %8.3f   %5.3f  %5.3f   %8.2f  %9llu  %llu\n", s->frame, s->n_queues,
	       s->own ? "own" : "shared", s->header_kind, s->payload_kind, x.ours / 1e6, x.peer / 1e6, x.cpu, x.wall,
	       offer / x.peer, (unsigned long long)x.packets, (unsigned long long)x.missed);
	if (json)
		fprintf(json, "%s\n  {\"frame\": %u, \"queues\": %u, \"regions\": \"%s\", \"header\": \"%s\", \"payload\": "
			"\"%s\", \"hds_pps_cpu\": %.1f, \"single_pps_cpu\": %.1f, \"ratio\": %.4f, \"ratio_wall\": %.4f, "
			"\"offered_over_single\": %.4f, \"packets\": %llu, \"missed\": %llu, \"rounds\": %d}", *comma ? "," : "",
			s->frame, s->n_queues, s->own ? "own" : "shared", s->header_kind, s->payload_kind, x.ours, x.peer,
			x.cpu, x.wall, offer / x.peer, (unsigned long long)x.packets, (unsigned long long)x.missed, rounds);
	*comma = true;
	return 0;
}

static void heading(double seconds, int rounds)
{
	printf("receiver's CPU-seconds; %d rounds of %.2f s in turn; \"offered\" = the sender alone (its CPU-seconds) / one segment\n", rounds,
	       seconds);
	puts(" frame  queues   header payload   HDS Mpps  single Mpps  ratio  wall   offered    packets  missed");
}

int bench_table(const double seconds, int rounds, const char *frames, const char *json)
{
	struct bench_opts o = { .seconds = seconds, .pause = true, .elements = { "int8", "int8", false } };
	const char *p = frames ? frames : "128,256,512,1064,2064,4064,8064,9000";
	FILE *f = open_json(json);
	struct gw_diag diag = { "" };
	bool comma = false;
	int err = json && !f ? -EIO : 0;

	heading(seconds, rounds);
	while (*p && !err) {
		char *end;
		uint32_t frame = (uint32_t)strtoul(p, &end, 10);
		struct shape s = { .frame = frame, .n_queues = 1, .split = true, .header_kind = "huge",
				   .payload_kind = "device" };
		struct shape single = s;

		if (end == p || frame < 128 || frame > 9600) {
			fprintf(stderr, "gpuwire bench raw_hds: --frames: sizes from 128 to 9600, by commas\n");
			return 64;
		}
		p = *end == ',' ? end + 1 : end;
		single.split = false;
		err = row(f, &s, &single, &o, rounds, &comma, &diag);
		s.payload_kind = single.payload_kind = "huge";
		err = err ? err : row(f, &s, &single, &o, rounds, &comma, &diag);
	}
	if (err)
		fprintf(stderr, "error: %s\n", diag.text);
	bench_print_environment(stdout);
	close_json(f);
	return err ? 1 : 0;
}

int bench_queues(const double seconds, int rounds, const char *json)
{
	static const struct {
		uint32_t n;
		bool own;
	} t[] = { { 1, false }, { 2, false }, { 2, true }, { 4, false }, { 4, true } };
	struct bench_opts o = { .seconds = seconds, .pause = true, .elements = { "int8", "int8", false } };
	FILE *f = open_json(json);
	struct gw_diag diag = { "" };
	bool comma = false;
	int err = json && !f ? -EIO : 0;

	heading(seconds, rounds);
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]) && !err; i++) {
		struct shape s = { .frame = 1064, .n_queues = t[i].n, .own = t[i].own, .split = true,
				   .header_kind = "huge", .payload_kind = "device" };
		struct shape single = s;

		single.split = false;
		err = row(f, &s, &single, &o, rounds, &comma, &diag);
	}
	if (err)
		fprintf(stderr, "error: %s\n", diag.text);
	bench_print_environment(stdout);
	close_json(f);
	return err ? 1 : 0;
}
