/* apps/gpuwire/cmd_bench.c: `gpuwire bench NAME ...`: the raw_* benchmarks run here, the others are programs of
 * their own, in this program's folder (or its source tree's bench folder, for scripts).
 * Must not measure anything. Next: bench_raw.c; bench/ for the programs. */
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "commands.h"

struct bench {
	const char *name, *program, *help;
	enum bench_kind kind;
};

static const struct bench benches[] = {
	{ "raw_gpudirect", NULL, "whole packets, one segment", BENCH_GPUDIRECT },
	{ "raw_hds", NULL, "header and payload apart", BENCH_HDS },
	{ "raw_reorder_seq", NULL, "packets into tensors by their numbers", BENCH_REORDER_SEQ },
	{ "raw_reorder_quantize", NULL, "the same with conversion, verified", BENCH_REORDER_QUANTIZE },
	{ "pool", "bench_pool", "buffer traffic alone: slots against DPDK's pools", 0 },
	{ "nic", "bench_nic", "the software NIC against bare copies", 0 },
	{ "reorder", "bench_reorder", "the reorder stage against the plain SIMD loop", 0 },
	{ "ingest", "bench_ingest", "packets to tensors against two bare threads", 0 },
	{ "nn", "nn_rate", "inference alone", 0 },
	{ "gpu_reorder", "bench_gpu_reorder", "reordering on a card against copies", 0 },
	{ "gpu_nn", "bench_gpu_nn", "inference on a card", 0 },
	{ "pipeline", "pipeline.sh", "packets to features against inference alone", 0 },
};
#define N_BENCHES (sizeof(benches) / sizeof(benches[0]))

static void usage(FILE *out)
{
	fputs("Usage: gpuwire bench NAME [OPTION...]\n\n", out);
	for (size_t i = 0; i < N_BENCHES; i++)
		fprintf(out, "  %-22s %s\n", benches[i].name, benches[i].help);
	fputs("\n`gpuwire bench NAME --help` lists a benchmark's options.\n", out);
}

/* Beside this program, or where a script lies in a build's source tree. */
static int other_program(const struct bench *b, char **argv)
{
	char self[PATH_MAX], path[PATH_MAX + 64];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n < 0)
		return 1;
	self[n] = 0;
	dirname(self);
	snprintf(path, sizeof(path), "%s/%s", self, b->program);
	argv[0] = path;
	execv(path, argv);
	fprintf(stderr, "gpuwire bench %s: %s: %s; it is built with the benchmarks (cmake --build BUILD)\n", b->name,
		path, strerror(errno));
	return 1;
}

int gw_cmd_bench(int argc, char **argv)
{
	char title[64];

	if (argc < 2) {
		usage(stderr);
		return 64;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		char name[] = "gpuwire bench raw_*", help[] = "--help";
		char *args[] = { name, help, NULL };

		usage(stdout);
		putchar('\n');
		return bench_raw(BENCH_HDS, 2, args);
	}
	for (size_t i = 0; i < N_BENCHES; i++) {
		if (strcmp(argv[1], benches[i].name))
			continue;
		if (benches[i].program)
			return other_program(&benches[i], argv + 1);
		snprintf(title, sizeof(title), "gpuwire bench %s", benches[i].name);
		argv[1] = title;
		return bench_raw(benches[i].kind, argc - 1, argv + 1);
	}
	fprintf(stderr, "gpuwire bench: there is no benchmark '%s'\n\n", argv[1]);
	usage(stderr);
	return 64;
}
