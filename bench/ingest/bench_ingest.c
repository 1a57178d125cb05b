/* Packets to tensors with a consumer that does nothing, against two bare threads that copy and convert the same
 * frames: 64 + 1176 bytes, int8 to fp16, 4096 packets a window. In turn, medians of the rounds.
 * "by CPU time" = packets a second of the busier thread's CPU time; ours with its waits, the peer's without.
 * bench_ingest [--rounds N] [--ms N] [--cores A,B] [--json FILE]. Next: docs/benchmarks.md. */
#include <gpuwire/gpuwire.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "timing.h"
#include "base/ring.h"
#include "base/wait.h"
#include "reorder/convert.h"

#define HEADER 64u
#define PAYLOAD 1176u
#define FRAME (HEADER + PAYLOAD)
#define STRIDE 1280u
#define WINDOW 4096u
#define SLOTS 8192u
#define N_TX 1024u
#define BURST 256u
#define MAX_ROUNDS 101
#define NUMBER_AT 16u /* on the IPv4 length, as in the ResNet tutorial */

/* %d: the poller's core */
static const char config[] =
	"version: 1\nmaster_core: -1\nstream_type: raw\nengine: nic\n"
	"memory_regions:\n"
	"- {name: TX, kind: huge, affinity: 0, num_bufs: 1024, buf_size: 1240}\n"
	"- {name: RX, kind: host_pinned, affinity: 0, num_bufs: 8192, buf_size: 1240}\n"
	"- {name: OUT, kind: device, affinity: 0, num_bufs: 4, buf_size: 9633792}\n"
	"interfaces:\n"
	"- name: tx_port\n  address: \"cable:0\"\n  tx:\n    queues:\n"
	"    - {name: t0, id: 0, poll_mode: direct, memory_regions: [TX]}\n"
	"- name: rx_port\n  address: \"cable:0\"\n  rx:\n    queues:\n"
	"    - {name: q0, id: 0, cpu_core: %d, batch_size: 4096, timeout_us: 0, memory_regions: [RX]}\n"
	"    flows:\n    - {name: f0, id: 1, action: {type: queue, id: 0}, match: {udp_dst: 4096}}\n"
	"    reorder_configs:\n    - name: plan\n      reorder_type: gpu\n      memory_region: OUT\n"
	"      payload_byte_offset: 64\n      flow_ids: [1]\n"
	"      data_types: {input_type: int8, output_type: fp16, endianness: host}\n"
	"      method:\n        seq_packets_per_batch:\n"
	"          sequence_number: {bit_offset: 128, bit_width: 16}\n          packets_per_batch: 4096\n";

struct bed {
	struct gw *gw;
	uint8_t *tx, *rx, *out; /* the bare peer's */
	struct gw__ring full, empty;
	gw__convert_fn convert;
	_Atomic bool stop, stop_rx;
	_Atomic uint64_t got;
	uint64_t missing;
	double cpu[2];
};

static int core[2] = { 0, 1 }, run_ms = 300;

static void die(const char *what)
{
	fprintf(stderr, "bench_ingest: %s\n", what);
	exit(1);
}

static void make_frame(uint8_t *p)
{
	static const uint8_t ip[] = { 0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2 };

	memset(p, 0, HEADER);
	p[0] = p[6] = 2;
	p[12] = 8;
	memcpy(p + 14, ip, sizeof(ip));
	p[34] = p[36] = 0x10; /* UDP port 4096 */
	p[38] = (FRAME - 34) >> 8;
	p[39] = (FRAME - 34) & 0xff;
	for (uint32_t i = 0; i < PAYLOAD; i++)
		p[HEADER + i] = (uint8_t)(i * 7 + 3);
}

static void put_number(uint8_t *frame, uint32_t n)
{
	frame[NUMBER_AT] = (uint8_t)(n >> 8);
	frame[NUMBER_AT + 1] = (uint8_t)n;
}

/* ---- ours ------------------------------------------------------------------------------------- */

static void *send_loop(void *arg)
{
	struct bed *b = arg;
	uint32_t number = 0;
	struct gw_tx tx;

	(void)gw__pin_to_core(core[0]);
	while (!atomic_load_explicit(&b->stop, memory_order_relaxed)) {
		int n = gw_tx_reserve(b->gw, 0, 0, BURST, &tx);

		if (n < 0)
			die("reserve refused");
		if (!n && gw_tx_wait(b->gw, 0, 0, 1000000) < 0)
			die("transmit queue gone");
		for (int i = 0; i < n; i++) {
			put_number(tx.seg_ptr[0][i], number++);
			tx.seg_len[0][i] = FRAME;
		}
		while (n && tx.n_pkts && !atomic_load_explicit(&b->stop, memory_order_relaxed))
			if (!gw_tx_submit(b->gw, &tx, tx.n_pkts))
				(void)!gw_tx_wait(b->gw, 0, 0, 1000000);
		if (n)
			gw_tx_cancel(b->gw, &tx);
	}
	b->cpu[0] = clock_s(CLOCK_THREAD_CPUTIME_ID);
	return NULL;
}

static void *receive_loop(void *arg)
{
	struct bed *b = arg;
	struct gw_reorder_info info;
	struct gw_burst burst;

	(void)gw__pin_to_core(core[1]);
	while (!atomic_load_explicit(&b->stop_rx, memory_order_acquire)) {
		int n = gw_rx_burst(b->gw, 1, 0, &burst);

		if (n != 1) {
			(void)!gw_rx_wait(b->gw, 1, 0, 1000000);
			continue;
		}
		if ((burst.event && gw_event_sync(burst.event)) || gw_burst_reorder_info(&burst, &info))
			die("a window failed");
		b->missing += info.n_missing;
		atomic_fetch_add_explicit(&b->got, info.source_packet_count, memory_order_relaxed);
		gw_burst_release(&burst);
	}
	return NULL;
}

static void open_ours(struct bed *b, struct gw_config **cfg)
{
	char text[sizeof(config) + 16];
	struct gw_diag d = { "" };
	struct gw_tx tx;
	int n;

	snprintf(text, sizeof(text), config, core[1]);
	if (gw_config_load(text, NULL, cfg, &d) || gw_open(*cfg, &b->gw, &d))
		die(d.text);
	n = gw_tx_reserve(b->gw, 0, 0, UINT32_MAX, &tx);
	for (int i = 0; i < n; i++)
		make_frame(tx.seg_ptr[0][i]);
	if (n > 0)
		gw_tx_cancel(b->gw, &tx);
	if (gw_start(b->gw, &d))
		die(d.text);
	if (gw_port_set_pause(b->gw, 1, true))
		die("no pause");
}

/* ---- the peer --------------------------------------------------------------------------------- */

static void idle(unsigned *n)
{
	if (++*n > 200)
		sched_yield();
}

static void *bare_send(void *arg)
{
	struct bed *b = arg;
	uint32_t slot[BURST], at = 0, number = 0;
	unsigned quiet = 0;

	(void)gw__pin_to_core(core[0]);
	while (!atomic_load_explicit(&b->stop, memory_order_relaxed)) {
		uint32_t n = gw__ring_pop_n(&b->empty, slot, BURST);
		double t0;

		if (!n) {
			idle(&quiet);
			continue;
		}
		quiet = 0;
		t0 = clock_s(CLOCK_THREAD_CPUTIME_ID);
		for (uint32_t i = 0; i < n; i++, at = (at + 1) % N_TX) {
			put_number(b->tx + (size_t)at * STRIDE, number++);
			memcpy(b->rx + (size_t)slot[i] * STRIDE, b->tx + (size_t)at * STRIDE, FRAME);
		}
		gw__ring_push_n(&b->full, slot, n);
		b->cpu[0] += clock_s(CLOCK_THREAD_CPUTIME_ID) - t0;
	}
	return NULL;
}

static void *bare_convert(void *arg)
{
	struct bed *b = arg;
	uint32_t slot[BURST];
	unsigned quiet = 0;

	(void)gw__pin_to_core(core[1]);
	while (!atomic_load_explicit(&b->stop_rx, memory_order_relaxed)) {
		uint32_t n = gw__ring_pop_n(&b->full, slot, BURST);
		double t0;

		if (!n) {
			idle(&quiet);
			continue;
		}
		quiet = 0;
		t0 = clock_s(CLOCK_THREAD_CPUTIME_ID);
		for (uint32_t i = 0; i < n; i++) {
			const uint8_t *p = b->rx + (size_t)slot[i] * STRIDE;
			uint32_t number = (uint32_t)p[NUMBER_AT] << 8 | p[NUMBER_AT + 1];

			b->convert(b->out + (size_t)(number % (2 * WINDOW)) * PAYLOAD * 2, p + HEADER, PAYLOAD);
		}
		gw__ring_push_n(&b->empty, slot, n);
		b->cpu[1] += clock_s(CLOCK_THREAD_CPUTIME_ID) - t0;
		atomic_fetch_add_explicit(&b->got, n, memory_order_relaxed);
	}
	return NULL;
}

static uint8_t *pages(size_t n)
{
	uint8_t *p = aligned_alloc(4096, (n + 4095) / 4096 * 4096);

	if (!p)
		die("no memory");
	memset(p, 0, n);
	return p;
}

static void open_bare(struct bed *b)
{
	b->tx = pages((size_t)N_TX * STRIDE);
	b->rx = pages((size_t)SLOTS * STRIDE);
	b->out = pages(2ul * WINDOW * PAYLOAD * 2);
	for (uint32_t i = 0; i < N_TX; i++)
		make_frame(b->tx + (size_t)i * STRIDE);
	b->convert = gw__convert_find(gw__simd_best(), GW_INT8, GW_FP16, false);
	if (!b->convert || gw__ring_init(&b->full, SLOTS, 4) || gw__ring_init(&b->empty, SLOTS, 4))
		die("no memory");
	for (uint32_t i = 0; i < SLOTS; i++)
		gw__ring_push(&b->empty, &i);
}

/* ---- rounds ----------------------------------------------------------------------------------- */

static void measure(bool bare, double *wall, double *cpu, uint64_t *missing)
{
	struct bed *b = aligned_alloc(64, (sizeof(*b) + 63) / 64 * 64);
	struct gw_config *cfg = NULL;
	pthread_t t[2];
	uint64_t before;
	double t0, c0;

	if (!b)
		die("no memory");
	memset(b, 0, sizeof(*b));
	if (bare)
		open_bare(b);
	else
		open_ours(b, &cfg);
	c0 = clock_s(CLOCK_PROCESS_CPUTIME_ID);
	if (pthread_create(&t[1], NULL, bare ? bare_convert : receive_loop, b) ||
	    pthread_create(&t[0], NULL, bare ? bare_send : send_loop, b))
		die("no threads");
	pause_ms(run_ms / 4);
	before = atomic_load(&b->got);
	t0 = clock_s(CLOCK_MONOTONIC);
	pause_ms(run_ms);
	*wall = (double)(atomic_load(&b->got) - before) / (clock_s(CLOCK_MONOTONIC) - t0) / 1e6;
	atomic_store(&b->stop, true);
	pthread_join(t[0], NULL);
	atomic_store(&b->stop_rx, true);
	pthread_join(t[1], NULL);
	if (!bare) /* the poller and the stream's thread too */
		b->cpu[1] = clock_s(CLOCK_PROCESS_CPUTIME_ID) - c0 - b->cpu[0];
	*cpu = (double)atomic_load(&b->got) / (b->cpu[0] > b->cpu[1] ? b->cpu[0] : b->cpu[1]) / 1e6;
	*missing += b->missing;
	gw_close(b->gw);
	gw_config_free(cfg);
	if (bare) {
		gw__ring_fini(&b->full);
		gw__ring_fini(&b->empty);
	}
	free(b->tx);
	free(b->rx);
	free(b->out);
	free(b);
}

int main(int argc, char **argv)
{
	static double w[2][MAX_ROUNDS], c[2][MAX_ROUNDS], rw[MAX_ROUNDS], rc[MAX_ROUNDS];
	uint64_t missing = 0, none = 0;
	int rounds = 5;
	FILE *json = NULL;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--rounds") && i + 1 < argc)
			rounds = atoi(argv[++i]);
		else if (!strcmp(argv[i], "--ms") && i + 1 < argc)
			run_ms = atoi(argv[++i]);
		else if (!strcmp(argv[i], "--cores") && i + 1 < argc && sscanf(argv[i + 1], "%d,%d", &core[0], &core[1]) == 2)
			i++;
		else if (!strcmp(argv[i], "--json") && i + 1 < argc && (json = fopen(argv[i + 1], "w")))
			i++;
		else
			die("usage: bench_ingest [--rounds N] [--ms N] [--cores A,B] [--json FILE]");
	}
	if (rounds < 1 || rounds > MAX_ROUNDS || run_ms < 20)
		die("--rounds 1..101, --ms at least 20");
	for (int i = 0; i < rounds; i++) {
		bool first = i & 1;

		measure(first, &w[first][i], &c[first][i], first ? &none : &missing);
		measure(!first, &w[!first][i], &c[!first][i], first ? &missing : &none);
		rw[i] = w[1][i] > 0 ? w[0][i] / w[1][i] : 0;
		rc[i] = c[1][i] > 0 ? c[0][i] / c[1][i] : 0;
	}
	for (int k = 0; k < 2; k++) {
		median(w[k], rounds);
		median(c[k], rounds);
	}
	printf("ingest alone  %.3f Mpps by the clock, %.3f by CPU time; missing %llu\n", w[0][rounds / 2], c[0][rounds / 2],
	       (unsigned long long)missing);
	printf("two bare threads  %.3f Mpps by the clock, %.3f by CPU time\n", w[1][rounds / 2], c[1][rounds / 2]);
	printf("ingest alone / two bare threads: %.3f by the clock, %.3f by CPU time (bar 0.5, and 1 Mpps)\n",
	       median(rw, rounds), median(rc, rounds));
	if (json) {
		fprintf(json, "{\"mpps\": %.4f, \"mpps_cpu\": %.4f, \"peer_mpps\": %.4f, \"peer_mpps_cpu\": %.4f, \"ratio\": %.4f, "
			"\"ratio_cpu\": %.4f, \"missing\": %llu}\n", w[0][rounds / 2], c[0][rounds / 2], w[1][rounds / 2],
			c[1][rounds / 2], rw[rounds / 2], rc[rounds / 2], (unsigned long long)missing);
		fclose(json);
	}
	return 0;
}
