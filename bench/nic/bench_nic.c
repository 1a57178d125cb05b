/* The software NIC between two pinned threads, against bare copies of the same frames in the same run:
 *   loopback   engine nic over a cable, NIC in the sender's thread ÷ a bare two-thread copy (index rings, memcpy)
 *   copy       both ends in one thread ÷ memcpy of the same chunks
 *   hds        header and payload apart ÷ one segment, NIC in the receiver's thread; "offered" = gate shut
 *   overload   a receiver with work to do, sender not held back ÷ the same receiver, sender held back
 * Median of the runs, taken in turn. bench_nic [--runs N] [--ms N] [--cores A,B] [--only ROW-BYTES] [--json FILE]. Next: peers in this file. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "timing.h"
#include "base/ring.h"
#include "ingest/engines/nic/nic_engine.h"
#include "wire/build.h"

#define BURST 64u
#define MAX_RUNS 101
#define N_TX 1024u
#define N_RX 4096u

/* The engine reads its configuration through this; here the handle is the struct itself. */
const struct gw_cfg *gw__config(const struct gw_config *cfg)
{
	return (const struct gw_cfg *)(const void *)cfg;
}

struct bed {
	struct gw_cfg cfg;
	struct gw_cfg_port port[2];
	struct gw__engine *e;
	struct gw__slots rx_slots, tx_slots;
	struct gw__rxq rx;
	struct gw__txq tx;
	uint32_t len, n_tx_segs, n_rx_segs;
	uint32_t work; /* times the receiver reads each frame */
	/* bare peer: filled and free receive slots */
	struct gw__ring full, empty;
	_Atomic int stop;
	_Atomic uint64_t sent, got, sum;
};

static int n_runs = 5, run_ms = 300, core[2] = { 0, 1 };

static void die(const char *what)
{
	fprintf(stderr, "bench_nic: %s\n", what);
	exit(1);
}

static void make_slots(struct gw__slots *s, uint32_t n, uint32_t n_segs, uint32_t len)
{
	const uint32_t size[2] = { n_segs == 2 ? 64 : len, len > 64 ? len - 64 : 64 };

	s->n_slots = n;
	s->n_segs = n_segs;
	for (uint32_t i = 0; i < n_segs; i++) {
		s->seg[i].size = size[i];
		s->seg[i].stride = (size[i] + 127) & ~127u;
		s->seg[i].base = aligned_alloc(4096, ((size_t)s->seg[i].stride * n + 4095) & ~4095ul);
		if (!s->seg[i].base)
			die("no memory");
		memset(s->seg[i].base, 1, (size_t)s->seg[i].stride * n);
		s->seg[i].host = s->seg[i].base;
	}
}

static void fill_frames(struct bed *b)
{
	struct gw__udp_hdr h = { .eth_dst = { 2, 1 }, .eth_src = { 2, 2 }, .ip_src = { 10, 0, 0, 1 },
				 .ip_dst = { 10, 0, 0, 2 }, .udp_src = 4096, .udp_dst = 4096 };

	for (uint32_t i = 0; i < N_TX; i++)
		gw__build_udp4(b->tx_slots.seg[0].base + (size_t)i * b->tx_slots.seg[0].stride, &h, NULL,
			       b->len - GW_UDP4_HDR);
}

static void bed_open(struct bed *b, const char *tx_address, uint32_t len, uint32_t n_rx_segs, uint32_t n_tx_segs)
{
	struct gw__queue_params p = { .port = 1 };
	struct gw_flow_rule all = { .id = 1, .n_actions = 1 };
	struct gw_diag d = { "" };
	int err;

	memset(b, 0, sizeof(*b));
	b->len = len;
	b->n_rx_segs = n_rx_segs;
	b->n_tx_segs = n_tx_segs;
	b->cfg.port = b->port;
	b->cfg.n_ports = 2;
	snprintf(b->port[0].address, sizeof(b->port[0].address), "%s", tx_address);
	snprintf(b->port[1].address, sizeof(b->port[1].address), "cable:0");
	make_slots(&b->rx_slots, N_RX, n_rx_segs, len);
	make_slots(&b->tx_slots, N_TX, n_tx_segs, len);
	fill_frames(b);
	err = gw__engine_nic.open((const struct gw_config *)(const void *)&b->cfg, gw__clock_monotonic(), &b->e, &d);
	p.slots = b->rx_slots;
	if (!err)
		err = b->e->ops->rxq_open(b->e, &p, NULL, &b->rx, &d);
	p.port = 0;
	p.slots = b->tx_slots;
	if (!err)
		err = b->e->ops->txq_open(b->e, &p, NULL, &b->tx, &d);
	all.action[0].type = GW_ACTION_QUEUE;
	all.action[0].n_queues = 1;
	if (!err)
		err = b->e->ops->flow_add(b->e, 1, &all, &d);
	if (!err)
		err = b->e->ops->start(b->e, &d);
	if (err)
		die(d.text);
}

static void bed_close(struct bed *b)
{
	if (b->e)
		b->e->ops->close(b->e);
	for (uint32_t i = 0; i < 2; i++) {
		free(b->rx_slots.seg[i].base);
		free(b->tx_slots.seg[i].base);
	}
}

/* ---- the two threads ------------------------------------------------------------------------------------- */

static uint32_t send_burst(struct bed *b, const struct gw__tx_in *in, uint32_t *slot)
{
	int n = b->tx.reserve(b->tx.q, slot, BURST), k = 0;

	for (int done = 0; done < n && !atomic_load_explicit(&b->stop, memory_order_relaxed); done += k) {
		k = b->tx.submit(b->tx.q, in, (uint32_t)done, (uint32_t)(n - done));
		if (k < 0)
			die("submit refused");
	}
	return n > 0 ? (uint32_t)n : 0;
}

struct lens {
	uint32_t slot[BURST], l0[BURST], l1[BURST];
	const uint32_t *seg_len[GW_MAX_SEGS];
	struct gw__tx_in in;
};

static void lens_init(const struct bed *b, struct lens *l)
{
	for (uint32_t i = 0; i < BURST; i++) {
		l->l0[i] = b->n_tx_segs == 2 ? 64 : b->len;
		l->l1[i] = b->len - l->l0[i];
	}
	l->seg_len[0] = l->l0;
	l->seg_len[1] = l->l1;
	l->in = (struct gw__tx_in){ .slot = l->slot, .seg_len = l->seg_len };
}

static void *sender(void *arg)
{
	struct bed *b = arg;
	struct lens l;
	uint64_t n = 0;

	(void)gw__pin_to_core(core[0]);
	lens_init(b, &l);
	while (!atomic_load_explicit(&b->stop, memory_order_relaxed)) {
		n += send_burst(b, &l.in, l.slot);
		atomic_store_explicit(&b->sent, n, memory_order_relaxed);
	}
	return NULL;
}

static uint64_t read_frames(const struct bed *b, const uint32_t *slot, uint32_t n)
{
	uint32_t s = b->n_rx_segs - 1;
	uint64_t sum = 0;

	for (uint32_t w = 0; w < b->work; w++)
		for (uint32_t i = 0; i < n; i++) {
			const uint8_t *p = b->rx_slots.seg[s].base + (size_t)slot[i] * b->rx_slots.seg[s].stride;

			for (uint32_t k = 0; k < b->rx_slots.seg[s].size; k++)
				sum = sum * 31 + p[k]; /* a chain: cannot be sped up */
		}
	return sum;
}

static void *receiver(void *arg)
{
	struct bed *b = arg;
	uint32_t slot[256], len[256], flow[256], flags[256];
	struct gw__rx_out out = { .slot = slot, .len = len, .flow = flow, .pkt_flags = flags };
	uint64_t got = 0, sum = 0;

	(void)gw__pin_to_core(core[1]);
	while (!atomic_load_explicit(&b->stop, memory_order_relaxed)) {
		int n = b->rx.rx(b->rx.q, &out, 256);

		if (n <= 0)
			continue;
		sum += read_frames(b, slot, (uint32_t)n);
		b->rx.release(b->rx.q, slot, (uint32_t)n);
		got += (uint32_t)n;
		atomic_store_explicit(&b->got, got, memory_order_relaxed);
	}
	atomic_store(&b->sum, sum);
	return NULL;
}

/* The bare peer: an index ring each way, one memcpy a frame, nothing else. */
static void *bare_sender(void *arg)
{
	struct bed *b = arg;
	uint32_t slot[BURST], at = 0;

	(void)gw__pin_to_core(core[0]);
	while (!atomic_load_explicit(&b->stop, memory_order_relaxed)) {
		uint32_t n = gw__ring_pop_n(&b->empty, slot, BURST);

		for (uint32_t i = 0; i < n; i++, at = (at + 1) % N_TX)
			memcpy(b->rx_slots.seg[0].base + (size_t)slot[i] * b->rx_slots.seg[0].stride,
			       b->tx_slots.seg[0].base + (size_t)at * b->tx_slots.seg[0].stride, b->len);
		gw__ring_push_n(&b->full, slot, n);
	}
	return NULL;
}

static void *bare_receiver(void *arg)
{
	struct bed *b = arg;
	uint32_t slot[256];
	uint64_t got = 0;

	(void)gw__pin_to_core(core[1]);
	while (!atomic_load_explicit(&b->stop, memory_order_relaxed)) {
		uint32_t n = gw__ring_pop_n(&b->full, slot, 256);

		gw__ring_push_n(&b->empty, slot, n);
		got += n;
		atomic_store_explicit(&b->got, got, memory_order_relaxed);
	}
	return NULL;
}

/* Frames a second that the counter moved by while both threads ran. */
static double rate(struct bed *b, void *(*tx)(void *), void *(*rx)(void *), _Atomic uint64_t *counter)
{
	pthread_t t[2];
	uint64_t before;
	double t0, r;

	if (pthread_create(&t[0], NULL, tx, b) || pthread_create(&t[1], NULL, rx, b))
		die("no threads");
	pause_ms(run_ms / 4);
	before = atomic_load(counter);
	t0 = clock_s(CLOCK_MONOTONIC);
	pause_ms(run_ms);
	r = (double)(atomic_load(counter) - before) / (clock_s(CLOCK_MONOTONIC) - t0);
	atomic_store(&b->stop, 1);
	pthread_join(t[0], NULL);
	pthread_join(t[1], NULL);
	return r;
}

static void set(struct bed *b, int what, uint64_t value)
{
	if (b->e->ops->port_set(b->e, 1, what, value))
		die("port setting refused");
}

/* ---- rows -------------------------------------------------------------------------------------------------- */

static double nic_rate(const char *tx, uint32_t len, uint32_t rx_segs, uint32_t tx_segs, bool hold)
{
	struct bed b;
	double r;

	bed_open(&b, tx, len, rx_segs, tx_segs);
	set(&b, GW__PORT_PAUSE, hold);
	r = rate(&b, sender, receiver, &b.got);
	bed_close(&b);
	return r;
}

static double bare_rate(uint32_t len)
{
	struct bed b;
	double r;

	bed_open(&b, "cable:0", len, 1, 1);
	if (gw__ring_init(&b.full, N_RX, 4) || gw__ring_init(&b.empty, N_RX, 4))
		die("no memory");
	for (uint32_t i = 0; i < N_RX; i++)
		gw__ring_push(&b.empty, &i);
	r = rate(&b, bare_sender, bare_receiver, &b.got);
	gw__ring_fini(&b.full);
	gw__ring_fini(&b.empty);
	bed_close(&b);
	return r;
}

/* What the sender can post when nothing is copied: the gate is shut. */
static double offered_rate(uint32_t len, uint32_t tx_segs)
{
	struct bed b;
	double r;

	bed_open(&b, "cable:0?by=receiver", len, 1, tx_segs);
	set(&b, GW__PORT_DROP_ALL, 1);
	r = rate(&b, sender, receiver, &b.sent);
	bed_close(&b);
	return r;
}

static double overload_rate(uint32_t len, bool hold, double *loss, double *offer)
{
	struct gw_port_stats s;
	struct bed b;
	double r;

	bed_open(&b, "cable:0", len, 1, 1);
	b.work = 1;
	set(&b, GW__PORT_PAUSE, hold);
	r = rate(&b, sender, receiver, &b.got);
	if (b.e->ops->port_stats(b.e, 1, &s) ||
	    s.rx_wire_packets != s.rx_packets + s.rx_missed + s.rx_steer_miss + s.rx_steer_drop + s.rx_errors)
		die("the port's sums do not close");
	*loss = s.rx_wire_packets ? (double)s.rx_missed / (double)s.rx_wire_packets : 0;
	*offer = s.rx_packets ? (double)s.rx_wire_packets / (double)s.rx_packets : 0;
	bed_close(&b);
	return r;
}

/* Bytes a CPU-second, both ends in this thread. */
static double copy_rate(uint32_t len)
{
	uint32_t slot[BURST * 2], rl[BURST * 2], flow[BURST * 2], flags[BURST * 2];
	struct gw__rx_out out = { .slot = slot, .len = rl, .flow = flow, .pkt_flags = flags };
	struct bed b;
	struct lens l;
	uint64_t n = 0;
	double t0;

	bed_open(&b, "cable:0", len, 1, 1);
	lens_init(&b, &l);
	t0 = clock_s(CLOCK_THREAD_CPUTIME_ID);
	while (clock_s(CLOCK_THREAD_CPUTIME_ID) - t0 < run_ms * 1e-3)
		for (int i = 0; i < 64; i++) {
			int k;

			send_burst(&b, &l.in, l.slot);
			k = b.rx.rx(b.rx.q, &out, BURST * 2);
			if (k > 0) {
				b.rx.release(b.rx.q, slot, (uint32_t)k);
				n += (uint32_t)k;
			}
		}
	t0 = clock_s(CLOCK_THREAD_CPUTIME_ID) - t0;
	bed_close(&b);
	return (double)n * len / t0;
}

static double memcpy_rate(uint32_t len)
{
	struct bed b;
	uint64_t n = 0;
	double t0;

	bed_open(&b, "cable:0", len, 1, 1);
	t0 = clock_s(CLOCK_THREAD_CPUTIME_ID);
	while (clock_s(CLOCK_THREAD_CPUTIME_ID) - t0 < run_ms * 1e-3)
		for (uint32_t i = 0; i < N_RX; i++, n++)
			memcpy(b.rx_slots.seg[0].base + (size_t)i * b.rx_slots.seg[0].stride,
			       b.tx_slots.seg[0].base + (size_t)(i % N_TX) * b.tx_slots.seg[0].stride, len);
	t0 = clock_s(CLOCK_THREAD_CPUTIME_ID) - t0;
	bed_close(&b);
	return (double)n * len / t0;
}

/* ---- table --------------------------------------------------------------------------------------------------- */

static FILE *json;
static int n_rows;

static void row(const char *what, uint32_t len, double a, double b, double ratio, const char *unit, double extra)
{
	printf("%-10s %6u B  %8.2f / %8.2f %s  ratio %.3f", what, len, a, b, unit, ratio);
	if (extra >= 0)
		printf("  (%.2f)", extra);
	putchar('\n');
	fflush(stdout);
	if (json)
		fprintf(json, "%s{\"what\":\"%s\",\"bytes\":%u,\"ours\":%.4f,\"peer\":%.4f,\"unit\":\"%s\",\"ratio\":%.4f,"
			      "\"extra\":%.4f}", n_rows ? ",\n" : "[", what, len, a, b, unit, ratio, extra);
	n_rows++;
}

static void loopback(uint32_t len)
{
	double a[MAX_RUNS], b[MAX_RUNS], r[MAX_RUNS];

	for (int i = 0; i < n_runs; i++) {
		a[i] = nic_rate("cable:0", len, 1, 1, true);
		b[i] = bare_rate(len);
		r[i] = a[i] / b[i];
	}
	row("loopback", len, median(a, n_runs) / 1e6, median(b, n_runs) / 1e6, median(r, n_runs), "Mpps", -1);
}

static void copy(uint32_t len)
{
	double a[MAX_RUNS], b[MAX_RUNS], r[MAX_RUNS];

	for (int i = 0; i < n_runs; i++) {
		a[i] = copy_rate(len);
		b[i] = memcpy_rate(len);
		r[i] = a[i] / b[i];
	}
	row("copy", len, median(a, n_runs) / 1e9, median(b, n_runs) / 1e9, median(r, n_runs), "GB/s", -1);
}

static void hds(uint32_t len)
{
	double a[MAX_RUNS], b[MAX_RUNS], o[MAX_RUNS], r[MAX_RUNS];

	for (int i = 0; i < n_runs; i++) {
		a[i] = nic_rate("cable:0?by=receiver", len, 2, 1, true);
		b[i] = nic_rate("cable:0?by=receiver", len, 1, 1, true);
		o[i] = offered_rate(len, 1) / b[i];
		r[i] = a[i] / b[i];
	}
	row("hds", len, median(a, n_runs) / 1e6, median(b, n_runs) / 1e6, median(r, n_runs), "Mpps",
	    median(o, n_runs));
}

static void overload(uint32_t len)
{
	double a[MAX_RUNS], b[MAX_RUNS], r[MAX_RUNS], loss, offer = 0, none, one;

	for (int i = 0; i < n_runs; i++) {
		a[i] = overload_rate(len, false, &loss, &offer);
		b[i] = overload_rate(len, true, &none, &one);
		r[i] = a[i] / b[i];
	}
	row("overload", len, median(a, n_runs) / 1e6, median(b, n_runs) / 1e6, median(r, n_runs), "Mpps", offer);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(uint32_t len);
		uint32_t len;
	} rows[] = { { "loopback", loopback, 64 }, { "loopback", loopback, 1064 }, { "copy", copy, 1064 },
		     { "hds", hds, 128 },	   { "hds", hds, 256 },		   { "hds", hds, 512 },
		     { "hds", hds, 1064 },	   { "hds", hds, 2064 },	   { "hds", hds, 4064 },
		     { "hds", hds, 8064 },	   { "hds", hds, 9000 },	   { "overload", overload, 64 },
		     { "overload", overload, 1064 } };
	const char *only = NULL;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--runs") && i + 1 < argc)
			n_runs = atoi(argv[++i]);
		else if (!strcmp(argv[i], "--ms") && i + 1 < argc)
			run_ms = atoi(argv[++i]);
		else if (!strcmp(argv[i], "--cores") && i + 1 < argc && sscanf(argv[i + 1], "%d,%d", &core[0], &core[1]) == 2)
			i++;
		else if (!strcmp(argv[i], "--json") && i + 1 < argc)
			json = fopen(argv[++i], "w");
		else if (!strcmp(argv[i], "--only") && i + 1 < argc)
			only = argv[++i];
		else
			die("usage: bench_nic [--runs N] [--ms N] [--cores A,B] [--only ROW-BYTES] [--json FILE]");
	}
	if (n_runs < 1 || n_runs > MAX_RUNS || run_ms < 10)
		die("--runs 1..101, --ms at least 10");
	puts("ours / peer, median of the runs; in brackets: hds offered ÷ single, overload offered ÷ taken");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char name[32];

		snprintf(name, sizeof(name), "%s-%u", rows[i].name, rows[i].len);
		if (!only || !strcmp(only, name))
			rows[i].run(rows[i].len);
	}
	if (json) {
		fputs("]\n", json);
		fclose(json);
	}
	return 0;
}
