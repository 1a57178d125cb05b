/* apps/gpuwire/bench.h: what the files of `gpuwire bench` share: loading, repeated rounds, the report.
 * Must not know the library's insides. Next: cmd_bench.c. */
#ifndef GW_APP_BENCH_H
#define GW_APP_BENCH_H

#include <stdio.h>

#include "bench_run.h"

#define BENCH_MAX_ROUNDS 101
#define BENCH_MAX_SETS 160

enum bench_kind { BENCH_GPUDIRECT, BENCH_HDS, BENCH_REORDER_SEQ, BENCH_REORDER_QUANTIZE };

/* A file (or text) and what replaces its values; room for more replacements. */
struct bench_file {
	const char *path;
	struct gw_config_opts o;
	const char *address[BENCH_MAX_SETS + 1], *set[BENCH_MAX_SETS + 1];
	int n_address, n_set;
	char room[BENCH_MAX_SETS][160]; /* replacements made here */
	int n_room;
};

void bench_file_set(struct bench_file *f, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Load, run once, free. 0 or negative errno with a sentence. */
int bench_file_run(struct bench_file *f, const struct bench_opts *opts, struct bench_result *out,
		   struct gw_diag *diag);

/* Two configurations in turn. */
struct bench_ratio {
	double ours, peer;   /* medians: packets a second of CPU time on the receiving side */
	double cpu, wall, alone; /* medians of the rounds' ratios: receiving side's CPU, clock, busier side's CPU */
	uint64_t packets, missed; /* of ours, all rounds */
	int rounds;
};
int bench_compare(struct bench_file *ours, struct bench_file *peer, const struct bench_opts *opts, int rounds,
		  struct bench_ratio *out, struct gw_diag *diag);
double bench_median(double *v, int n);
/* Bare copies of such frames, one thread, into as many bytes as the receive slots have: frames a CPU-second. */
double bench_floor(uint32_t frame, size_t slot_bytes);

void bench_print_closing(const struct bench_result *r, enum bench_kind kind);
void bench_print_environment(FILE *f);
void bench_json_environment(FILE *f); /* "environment": {...} */
void bench_json_result(FILE *f, const struct bench_result *r);

int bench_raw(enum bench_kind kind, int argc, char **argv);
int bench_table(const double seconds, int rounds, const char *frames, const char *json);
int bench_queues(const double seconds, int rounds, const char *json);

#endif
