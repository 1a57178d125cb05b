/* apps/gpuwire/bench_run.h: run a loaded configuration's bench_tx and bench_rx blocks for a while and count.
 * Must not know which benchmark asks, nor print. Next: bench_run.c, bench_raw.c (who asks). */
#ifndef GW_APP_BENCH_RUN_H
#define GW_APP_BENCH_RUN_H

#include <gpuwire/gpuwire.h>
#include <stdbool.h>

#define BENCH_QUEUES 32

/* Where the running number lies in a frame: a big-endian field that begins on a byte. n_bits 0 = no number. */
struct bench_number {
	uint32_t at_byte, n_bits, start;
};

/* What a payload holds, so that the far end can be checked. */
struct bench_elements {
	char input[8], output[8];
	bool network; /* byte order of the input */
};

struct bench_opts {
	double seconds;
	double target_gbps; /* 0 = as fast as possible */
	bool pause;         /* hold the sender back instead of dropping */
	bool gate_shut;     /* the sender alone: what it can offer */
	bool quiet_cores;   /* cores that are not here were told of already */
	struct bench_number number;
	struct bench_elements elements;
	uint32_t verify_batches, verify_chunks, chunk_elements;
	uint32_t frame; /* bytes; for the check */
};

struct bench_side {
	char interface[64];
	uint16_t port;
	int queue; /* -1 = all */
	uint64_t packets, bytes, bursts;
	double seconds, cpu_s;
};

struct bench_result {
	int n_tx, n_rx;
	struct bench_side tx[BENCH_QUEUES], rx[BENCH_QUEUES];
	struct gw_port_stats port[GW_MAX_PORTS]; /* by port number */
	int n_ports;
	uint64_t queue_packets[GW_MAX_PORTS][BENCH_QUEUES], queue_no_free;
	double rx_pps, tx_pps;     /* after the warm-up */
	double rx_pps_cpu;         /* per second of CPU time that the receiving side used */
	double tx_pps_cpu;         /* per second of the senders', waits left out */
	double pps_alone;          /* the same of whichever side used more: what two idle cores would carry */
	uint64_t aggregated_batches, timeout_batches, aggregated_packets, passthrough_packets, missing;
	uint64_t info_failures;
	uint64_t verified_batches, chunks, failures;
	bool sums_close;
	struct gw_diag sums;
};

/* 0, or a negative errno with a sentence. Blocks for about opts->seconds. */
int bench_run(const struct gw_config *cfg, const struct bench_opts *opts, struct bench_result *out,
	      struct gw_diag *diag);
/* This machine's n-th core that this process may use, counted round; -1 if that cannot be said. */
int bench_core(int n);

#endif
