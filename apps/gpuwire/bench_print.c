/* apps/gpuwire/bench_print.c: closing lines as people's scripts expect them, the environment, both also as JSON.
 * Must not measure anything. Next: bench_raw.c. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "bench.h"

static void side_line(const char *what, const struct bench_side *s)
{
	char queue[16] = "all";

	if (s->queue >= 0)
		snprintf(queue, sizeof(queue), "%d", s->queue);
	printf("%s complete: interface %s, queue %s, packets %" PRIu64 ", bytes %" PRIu64 ", bursts %" PRIu64
	       ", seconds %.3f\n", what, s->interface, queue, s->packets, s->bytes, s->bursts, s->seconds);
}

static void totals(const struct bench_result *r)
{
	for (int i = 0; i < r->n_rx; i++)
		for (int q = 0; q < BENCH_QUEUES; q++)
			if (r->rx[i].queue == q)
				printf("Total packets received by application (port/queue %u/%d): %" PRIu64 "\n",
				       r->rx[i].port, q, r->rx[i].packets);
			else if (r->rx[i].queue < 0 && r->queue_packets[r->rx[i].port][q])
				printf("Total packets received by application (port/queue %u/%d): %" PRIu64 "\n",
				       r->rx[i].port, q, r->queue_packets[r->rx[i].port][q]);
	for (int i = 0; i < r->n_tx; i++)
		printf("Total packets transmitted by application (port/queue %u/%d): %" PRIu64 "\n", r->tx[i].port,
		       r->tx[i].queue, r->tx[i].packets);
}

static void ports(const struct bench_result *r)
{
	for (int p = 0; p < r->n_ports; p++) {
		const struct gw_port_stats *s = &r->port[p];

		if (s->rx_wire_packets)
			printf("port %d: rx_wire_packets %" PRIu64 ", rx_packets %" PRIu64 ", rx_missed %" PRIu64
			       " (%.4f %%), rx_steer_miss %" PRIu64 ", rx_errors %" PRIu64
			       ", allocation errors %" PRIu64 "\n", p, s->rx_wire_packets, s->rx_packets, s->rx_missed,
			       100.0 * (double)s->rx_missed / (double)s->rx_wire_packets, s->rx_steer_miss, s->rx_errors,
			       r->queue_no_free);
	}
	if (r->sums_close)
		puts("sums: every packet is counted once");
	else
		printf("sums: %s\n", r->sums.text);
}

void bench_print_closing(const struct bench_result *r, enum bench_kind kind)
{
	for (int i = 0; i < r->n_tx; i++)
		side_line("TX", &r->tx[i]);
	for (int i = 0; i < r->n_rx; i++)
		side_line("RX", &r->rx[i]);
	if (kind == BENCH_REORDER_SEQ || kind == BENCH_REORDER_QUANTIZE)
		printf("aggregated_batches %" PRIu64 ", timeout_batches %" PRIu64 ", aggregated_packets %" PRIu64
		       ", passthrough_packets %" PRIu64 ", reorder_info_missing %" PRIu64 ", reorder_info_failures %" PRIu64
		       "\n", r->aggregated_batches, r->timeout_batches, r->aggregated_packets, r->passthrough_packets,
		       r->missing, r->info_failures);
	if (kind == BENCH_REORDER_QUANTIZE)
		printf("verified_batches %" PRIu64 ", chunks %" PRIu64 ", failures %" PRIu64 "\n", r->verified_batches,
		       r->chunks, r->failures);
	totals(r);
	ports(r);
}

/* ---- environment ------------------------------------------------------------------------------ */

struct environment {
	struct utsname os;
	char cpu[128];
	double load;
	long cores;
};

static void look(struct environment *e)
{
	FILE *f = fopen("/proc/cpuinfo", "r");
	char line[256], *p;

	memset(e, 0, sizeof(*e));
	snprintf(e->cpu, sizeof(e->cpu), "unknown CPU");
	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, "model name", 10) && (p = strchr(line, ':'))) {
			p[strcspn(p, "\n")] = 0;
			snprintf(e->cpu, sizeof(e->cpu), "%s", p + 2);
			break;
		}
	if (f)
		fclose(f);
	for (p = e->cpu; *p; p++) /* goes into JSON as it is */
		if (*p == '"' || *p == '\\' || (unsigned char)*p < ' ')
			*p = ' ';
	if (uname(&e->os))
		snprintf(e->os.release, sizeof(e->os.release), "unknown");
	if (getloadavg(&e->load, 1) != 1)
		e->load = -1;
	e->cores = sysconf(_SC_NPROCESSORS_ONLN);
}

void bench_print_environment(FILE *f)
{
	struct environment e;

	look(&e);
	fprintf(f, "environment: %s, %ld cores, load %.1f, %s %s %s, gpu %s, gpuwire " GW_VERSION "\n", e.cpu, e.cores,
		e.load, e.os.sysname, e.os.release, e.os.machine, gw_gpu_backend());
}

void bench_json_environment(FILE *f)
{
	struct environment e;

	look(&e);
	fprintf(f, "\"environment\": {\"cpu\": \"%s\", \"cores\": %ld, \"load\": %.2f, \"kernel\": \"%s\", \"machine\": "
		"\"%s\", \"gpu\": \"%s\", \"version\": \"" GW_VERSION "\"}", e.cpu, e.cores, e.load, e.os.release,
		e.os.machine, gw_gpu_backend());
}

static void json_side(FILE *f, const char *name, const struct bench_side *s, int n)
{
	fprintf(f, "\"%s\": [", name);
	for (int i = 0; i < n; i++)
		fprintf(f, "%s{\"interface\": \"%s\", \"queue\": %d, \"packets\": %" PRIu64 ", \"bytes\": %" PRIu64
			", \"bursts\": %" PRIu64 ", \"seconds\": %.6f, \"cpu_seconds\": %.6f}", i ? ", " : "",
			s[i].interface, s[i].queue, s[i].packets, s[i].bytes, s[i].bursts, s[i].seconds, s[i].cpu_s);
	fputs("],\n  ", f);
}

void bench_json_result(FILE *f, const struct bench_result *r)
{
	json_side(f, "tx", r->tx, r->n_tx);
	json_side(f, "rx", r->rx, r->n_rx);
	fputs("\"ports\": [", f);
	for (int p = 0; p < r->n_ports; p++)
		fprintf(f, "%s{\"rx_wire_packets\": %" PRIu64 ", \"rx_packets\": %" PRIu64 ", \"rx_missed\": %" PRIu64
			", \"rx_errors\": %" PRIu64 ", \"tx_packets\": %" PRIu64 "}", p ? ", " : "",
			r->port[p].rx_wire_packets, r->port[p].rx_packets, r->port[p].rx_missed, r->port[p].rx_errors,
			r->port[p].tx_packets);
	fprintf(f, "],\n  \"rx_pps\": %.1f, \"tx_pps\": %.1f, \"rx_pps_cpu\": %.1f, \"allocation_errors\": %" PRIu64
		", \"sums_close\": %s,\n  ", r->rx_pps, r->tx_pps, r->rx_pps_cpu, r->queue_no_free,
		r->sums_close ? "true" : "false");
	fprintf(f, "\"aggregated_batches\": %" PRIu64 ", \"timeout_batches\": %" PRIu64 ", \"aggregated_packets\": %"
		PRIu64 ", \"passthrough_packets\": %" PRIu64 ", \"missing\": %" PRIu64 ",\n  \"verified_batches\": %"
		PRIu64 ", \"chunks\": %" PRIu64 ", \"failures\": %" PRIu64 ",\n  ", r->aggregated_batches,
		r->timeout_batches, r->aggregated_packets, r->passthrough_packets, r->missing, r->verified_batches,
		r->chunks, r->failures);
}
