/* Opening, starting, stopping, closing, waiting, counting. */
#include <pthread.h>
#include <sched.h>

#include "bed.h"

static void names(const char *engine)
{
	struct bed b = { .r = { .n_rxq = 2 } };
	struct gw_burst burst;
	struct gw_tx tx;

	bed_open(&b, engine);
	T_OK(strspn(gw_version(), "0123456789.") == strlen(gw_version()) && strchr(gw_version(), '.'));
	T_RC(gw_port_id(b.gw, "tx_port"), 0);
	T_RC(gw_port_id(b.gw, "rx_port"), 1);
	T_RC(gw_port_id(b.gw, "nobody"), -ENOENT);
	T_RC(gw_port_n_rxq(b.gw, 1), 2);
	T_RC(gw_port_n_txq(b.gw, 0), 1);
	T_RC(gw_port_n_rxq(b.gw, 2), -EINVAL);
	T_RC(gw_rx_burst(b.gw, 1, 2, &burst), -EINVAL);
	T_RC(gw_rx_burst(b.gw, 7, 0, &burst), -EINVAL);
	T_RC(gw_rx_burst(b.gw, 1, 0, NULL), -EINVAL);
	T_RC(gw_rx_burst(NULL, 1, 0, &burst), -EINVAL);
	T_RC(gw_tx_reserve(b.gw, 1, 0, 1, &tx), -EINVAL);
	T_RC(gw_tx_reserve(b.gw, 0, 0, 0, &tx), -EINVAL);
	T_RC(gw_rx_wait(b.gw, 0, 0, 0), -EINVAL);
	T_RC(gw_tx_wait(b.gw, 1, 0, 0), -EINVAL);
	bed_close(&b);
}

static void start_twice(const char *engine)
{
	struct bed b = { .r = { .batch = 1 } };
	struct gw_diag d = { "" };

	bed_open(&b, engine);
	T_RC(gw_start(b.gw, &d), -EBUSY);
	T_OK(d.text[0] != '\0');
	gw_stop(b.gw);
	gw_stop(b.gw);
	bed_free(&b);
	gw_close(NULL);
	gw_stop(NULL);
}

/* Open and close without a start; and without traffic. */
static void unused(const char *engine)
{
	struct bed b = { .r = { .ppb = 4 } };

	bed_open_only(&b, engine);
	bed_free(&b);
	bed_open(&b, engine);
	bed_close(&b);
}

static void start_again(const char *engine)
{
	struct bed b = { .r = { .batch = 5 } };

	bed_open(&b, engine);
	for (uint32_t i = 0; i < 3; i++) {
		T_EQ(bed_send(&b, 10 * i, 10, RIG_PORT), 10);
		T_EQ(bed_expect(&b, 0, 10 * i, 10), 10);
		gw_stop(b.gw);
		T_RC(gw_start(b.gw, NULL), 0);
	}
	T_EQ(bed_port(&b, 1).rx_packets, 30);
	bed_close(&b);
}

/* Bursts held, frames waiting on both sides, a reservation open: close all the same. */
static void close_busy(const char *engine)
{
	for (int i = 0; i < 5; i++) {
		struct bed b = { .r = { .batch = 4, .rx_bufs = 16, .tx_bufs = 64, .ppb = i & 1 ? 4 : 0 } };
		struct gw_burst held;
		struct gw_tx tx;

		bed_open(&b, engine);
		T_RC(gw_port_set_pause(b.gw, 1, true), 0);
		T_OK(bed_send(&b, 0, 40, RIG_PORT) >= 16);
		T_RC(bed_take(&b, 0, SOON, &held), 1);
		T_OK(gw_tx_reserve(b.gw, 0, 0, 4, &tx) >= 0);
		bed_free(&b);
	}
}

/* After a stop what was handed over can still be taken; then the consumer is told. */
static void stop_then_take(const char *engine)
{
	struct bed b = { .r = { .batch = 4 } };
	struct gw_burst burst;

	bed_open(&b, engine);
	T_EQ(bed_send(&b, 0, 10, RIG_PORT), 10);
	T_RC(gw_tx_drain(b.gw, 0, 0, SOON), 0);
	gw_stop(b.gw);
	T_EQ(bed_expect(&b, 0, 0, 10), 10);
	T_RC(gw_rx_burst(b.gw, 1, 0, &burst), -ESHUTDOWN);
	T_RC(gw_rx_wait(b.gw, 1, 0, SOON), -ESHUTDOWN);
	bed_free(&b);
}

/* Stopped while every buffer was with the consumer: the rest comes as it releases, and the sums close. */
static void stop_while_starved(const char *engine)
{
	struct bed b = { .r = { .ppb = 4, .batch = 32, .rx_bufs = 64, .out_bufs = 2 } };
	struct gw_burst held[2], burst;
	uint32_t n = 0;
	int r;

	bed_open(&b, engine);
	T_EQ(bed_send(&b, 0, 8, RIG_PORT), 8);
	for (int i = 0; i < 2; i++)
		T_RC(bed_take(&b, 0, SOON, &held[i]), 1);
	T_EQ(bed_send(&b, 8, 38, RIG_PORT), 38);
	T_RC(gw_tx_drain(b.gw, 0, 0, SOON), 0);
	gw_stop(b.gw);
	T_RC(gw_rx_burst(b.gw, 1, 0, &burst), -ENOBUFS);
	T_RC(gw_rx_wait(b.gw, 1, 0, SOON), -ENOBUFS); /* at once: only a release helps */
	gw_burst_release(&held[0]);
	gw_burst_release(&held[1]);
	while ((r = gw_rx_burst(b.gw, 1, 0, &burst)) == 1) {
		struct gw_reorder_info info;

		T_RC(gw_burst_reorder_info(&burst, &info), 0);
		n += info.source_packet_count;
		gw_burst_release(&burst);
	}
	T_RC(r, -ESHUTDOWN);
	T_EQ(n, 38);
	bed_close(&b);
}

static void *wait_for_stop(void *arg)
{
	struct bed *b = arg;

	return (void *)(intptr_t)gw_rx_wait(b->gw, 1, 0, UINT64_MAX);
}

static void stop_wakes(const char *engine)
{
	struct bed b = { .r = { .batch = 4 } };
	pthread_t t;
	void *r;

	bed_open(&b, engine);
	T_NEED(!pthread_create(&t, NULL, wait_for_stop, &b));
	(void)!gw_tx_wait(b.gw, 0, 0, MS);
	gw_stop(b.gw);
	pthread_join(t, &r);
	T_EQ((intptr_t)r, -ESHUTDOWN);
	bed_free(&b);
}

static void wait_wakes(const char *engine)
{
	struct bed b = { .r = { .batch = 1 } };
	uint64_t t0, t1;

	bed_open(&b, engine);
	t0 = bed_now();
	T_RC(gw_rx_wait(b.gw, 1, 0, 20 * MS), 0);
	t1 = bed_now();
	T_OK(t1 - t0 >= 20 * MS);
	T_EQ(bed_send(&b, 0, 1, RIG_PORT), 1);
	T_RC(gw_rx_wait(b.gw, 1, 0, SOON), 1);
	T_RC(gw_rx_wait(b.gw, 1, 0, 0), 1);
	T_EQ(bed_expect(&b, 0, 0, 1), 1);
	bed_close(&b);
}

struct traffic {
	struct bed *b;
	uint32_t n, sent;
	_Atomic int over;
};

static void *sender(void *arg)
{
	struct traffic *t = arg;

	t->sent = bed_send(t->b, 0, t->n, RIG_PORT);
	t->over = 1;
	return NULL;
}

/* Two threads, both sides at full speed, every byte looked at, sums closing on demand all the while. */
static void long_run(const char *engine, bool pause)
{
	struct bed b = { .r = { .batch = 64, .rx_bufs = 512, .timeout_us = 1000 } };
	struct traffic t = { .b = &b, .n = 30000 };
	struct gw_burst burst;
	uint64_t end = bed_now() + 10 * (uint64_t)SOON;
	uint32_t got = 0, last = 0, back = 0;
	pthread_t thread;

	bed_open(&b, engine);
	T_RC(gw_port_set_pause(b.gw, 1, pause), 0);
	T_NEED(!pthread_create(&thread, NULL, sender, &t));
	while (got + bed_port(&b, 1).rx_missed < t.n || !t.over) {
		struct gw_queue_stats q;

		if (bed_take(&b, 0, NEVER, &burst) != 1) {
			if (bed_now() > end)
				break;
			continue;
		}
		q = bed_rxq(&b, 0);
		got += burst.n_pkts;
		T_EQ(q.rx_packets, q.in_flight + q.delivered_packets);
		back += got > burst.n_pkts && (uint16_t)(rig_seq(&burst, 0, 16) - last) > 0x7fff;
		last = rig_seq(&burst, burst.n_pkts - 1, 16);
		gw_burst_release(&burst);
	}
	pthread_join(thread, NULL);
	T_EQ(t.sent, t.n);
	T_EQ(back, 0);
	T_EQ(got + bed_port(&b, 1).rx_missed, t.n);
	T_OK(!pause || got == t.n);
	bed_close(&b);
}

static void long_run_pause(const char *engine)
{
	long_run(engine, true);
}

static void long_run_drop(const char *engine)
{
	long_run(engine, false);
}

static void *send_for_ever(void *arg)
{
	struct traffic *t = arg;

	while (!t->over) {
		int r = rig_send(t->b->gw, &t->b->r, t->sent, RIG_PORT);

		if (r == 1)
			t->sent++;
		else if (r < 0)
			t->n++;
		else
			(void)!gw_tx_wait(t->b->gw, 0, 0, MS);
	}
	return NULL;
}

/* Stopped and started while a sender goes on and on: nothing hangs, nothing is counted twice or not at all. */
static void restart_under_load(const char *engine)
{
	struct bed b = { .r = { .batch = 16, .rx_bufs = 128, .timeout_us = 1000 } };
	struct traffic t = { .b = &b };
	struct gw_burst burst;
	uint64_t taken = 0, before = 0;
	pthread_t thread;

	bed_open(&b, engine);
	T_NEED(!pthread_create(&thread, NULL, send_for_ever, &t));
	for (int i = 0; i < 6; i++) {
		for (uint64_t end = bed_now() + SOON; taken < before + 500 && bed_now() < end;)
			if (bed_take(&b, 0, MS, &burst) == 1) {
				taken += burst.n_pkts;
				gw_burst_release(&burst);
			}
		T_OK(taken >= before + 500);
		gw_stop(b.gw);
		while (gw_rx_burst(b.gw, 1, 0, &burst) == 1) {
			taken += burst.n_pkts;
			gw_burst_release(&burst);
		}
		before = taken;
		T_RC(gw_start(b.gw, NULL), 0);
	}
	t.over = 1;
	pthread_join(thread, NULL);
	T_EQ(t.n, 0);
	bed_close(&b);
}

struct eater {
	struct bed *b;
	uint16_t queue;
	uint32_t n, wrong;
};

static void *eat(void *arg)
{
	struct eater *e = arg;
	struct gw_burst burst;

	while (e->n < 2000 && bed_take(e->b, e->queue, 5 * (uint64_t)SOON, &burst) == 1) {
		for (uint32_t i = 0; i < burst.n_pkts; i++)
			e->wrong += rig_seq(&burst, i, 16) != e->n + i;
		e->n += burst.n_pkts;
		gw_burst_release(&burst);
	}
	return NULL;
}

/* Each queue has its own consumer thread; regions are shared. */
static void several_consumers(const char *engine)
{
	struct bed b = { .r = { .batch = 20, .rx_bufs = 600, .n_rxq = 3, .cpu_core = -1 } };
	struct eater e[3];
	pthread_t t[3];

	bed_open(&b, engine);
	T_RC(gw_port_set_pause(b.gw, 1, true), 0);
	for (uint16_t q = 0; q < 3; q++) {
		e[q] = (struct eater){ .b = &b, .queue = q };
		T_NEED(!pthread_create(&t[q], NULL, eat, &e[q]));
	}
	for (uint32_t i = 0; i < 2000; i++)
		for (uint16_t q = 0; q < 3; q++)
			T_EQ(bed_send(&b, i, 1, (uint16_t)(RIG_PORT + q)), 1);
	for (uint16_t q = 0; q < 3; q++) {
		pthread_join(t[q], NULL);
		T_EQ(e[q].n, 2000);
		T_EQ(e[q].wrong, 0);
	}
	bed_close(&b);
}

/* Taken on one thread, released on another, through a line of eight. */
static void *release_line(void *arg)
{
	struct {
		struct gw_burst b[8];
		_Atomic uint32_t head, tail, over;
	} *l = arg;

	for (uint32_t i = 0;; i++) {
		while (l->tail == i && !l->over)
			sched_yield();
		if (l->tail == i)
			return NULL;
		gw_burst_release(&l->b[i % 8]);
		l->head = i + 1;
	}
}

static void release_on(const char *engine, bool direct)
{
	static struct {
		struct gw_burst b[8];
		_Atomic uint32_t head, tail, over;
	} line;
	struct bed b = { .r = { .batch = 10, .rx_bufs = 100, .meta = 8, .direct = direct } };
	uint32_t sent = 0, got = 0, i = 0;
	pthread_t t;

	line.head = line.tail = line.over = 0;
	bed_open(&b, engine);
	T_RC(gw_port_set_pause(b.gw, 1, true), 0);
	T_NEED(!pthread_create(&t, NULL, release_line, &line));
	while (got < 3000) {
		while (sent < 3000 && rig_send(b.gw, &b.r, sent, RIG_PORT) == 1)
			sent++;
		while (line.tail - line.head == 8)
			sched_yield();
		T_NEED(bed_take(&b, 0, 5 * (uint64_t)SOON, &line.b[i % 8]) == 1);
		T_EQ(rig_seq(&line.b[i % 8], 0, 16), got);
		got += line.b[i++ % 8].n_pkts;
		line.tail = i;
	}
	line.over = 1;
	pthread_join(t, NULL);
	T_EQ(bed_rxq(&b, 0).delivered_packets, 3000);
	bed_close(&b);
}

static void release_elsewhere(const char *engine)
{
	release_on(engine, false);
}

static void release_elsewhere_direct(const char *engine)
{
	release_on(engine, true);
}

/* A region in the application's own memory: packets land there and nowhere else; it is given back whole. */
static void own_memory(const char *engine)
{
	struct bed b = { .r = { .batch = 8, .foreign = true, .rx_bufs = 64, .engine = engine, .address = "cable:0" } };
	struct gw_region_mem m = { .name = "rx" };
	struct gw_diag d = { "" };
	struct gw_burst burst;
	size_t need = 0;
	uint8_t *mem;

	b.cfg = rig_config(&b.r);
	T_RC(gw_region_bytes(b.cfg, "nobody", &need), -ENOENT);
	T_RC(gw_region_bytes(b.cfg, "rx", &need), 0);
	T_EQ(need, 64 * 2048);
	mem = aligned_alloc(64, need + 64);
	T_NEED(mem);
	memset(mem, 0xee, need + 64);
	T_RC(gw_open(b.cfg, &b.gw, &d), -EINVAL);
	T_HAS(d.text, "owned: false");
	m.ptr = mem;
	m.n_bytes = need - 1;
	T_RC(gw_open_with(b.cfg, &m, 1, &b.gw, &d), -EINVAL);
	T_HAS(d.text, "131072");
	m.ptr = mem + 8;
	m.n_bytes = need;
	T_RC(gw_open_with(b.cfg, &m, 1, &b.gw, &d), -EINVAL);
	m.ptr = mem;
	m.name = "nobody";
	T_RC(gw_open_with(b.cfg, &m, 1, &b.gw, &d), -EINVAL);
	m.name = "tx";
	T_RC(gw_open_with(b.cfg, &m, 1, &b.gw, &d), -EINVAL);
	T_HAS(d.text, "owned: true");
	m.name = "rx";
	T_RC(gw_open_with(b.cfg, &m, 1, &b.gw, &d), 0);
	T_RC(gw_start(b.gw, &d), 0);
	T_EQ(bed_send(&b, 0, 8, RIG_PORT), 8);
	T_NEED(bed_take(&b, 0, SOON, &burst) == 1);
	for (uint32_t i = 0; i < 8; i++) {
		uint8_t *p = burst.seg_ptr[0][i];

		T_OK(p >= mem && p + burst.len[i] <= mem + need);
		T_EQ(rig_seq(&burst, i, 16), i);
	}
	gw_burst_release(&burst);
	bed_close(&b);
	T_EQ(mem[need], 0xee);
	free(mem);
}

static void counters(const char *engine)
{
	struct bed b = { .r = { .ppb = 8, .batch = 8 } };
	struct gw_counter c[128];
	uint64_t sum = 0;
	int n;

	bed_open(&b, engine);
	T_EQ(bed_send(&b, 0, 16, RIG_PORT), 16);
	T_RC(gw_tx_drain(b.gw, 0, 0, SOON), 0);
	(void)gw_flush(b.gw);
	n = gw_counters(b.gw, NULL, 0);
	T_OK(n > 40 && n < 128);
	T_EQ(gw_counters(b.gw, c, 128), n);
	for (int i = 0; i < n; i++) {
		T_NEED(c[i].name && c[i].help && c[i].help[0] && c[i].scope[0]);
		if (!strcmp(c[i].scope, "rx_port/plan") && !strcmp(c[i].name, "placed_packets"))
			sum += c[i].value;
		if (!strcmp(c[i].scope, "rx_port/rx0") && !strcmp(c[i].name, "rx_packets"))
			sum += c[i].value;
		if (!strcmp(c[i].scope, "tx_port/tx0") && !strcmp(c[i].name, "tx_completions"))
			sum += c[i].value;
	}
	T_EQ(sum, 48);
	bed_close(&b);
}

static const struct conform_case cases[] = {
	{ "names and bad arguments", names },
	{ "start twice, stop twice", start_twice },
	{ "opened and never used", unused },
	{ "start again after a stop", start_again },
	{ "close while busy", close_busy },
	{ "take after a stop", stop_then_take },
	{ "stop while starved", stop_while_starved },
	{ "a stop wakes who waits", stop_wakes },
	{ "a packet wakes who waits", wait_wakes },
	{ "two threads, pausing", long_run_pause },
	{ "two threads, dropping", long_run_drop },
	{ "restart under load", restart_under_load },
	{ "several consumers", several_consumers },
	{ "release on another thread", release_elsewhere },
	{ "release on another thread, direct", release_elsewhere_direct },
	{ "a region of the application's", own_memory },
	{ "counters by name", counters },
	{ NULL, NULL },
};

const struct conform_list life_list = { cases, &t__checks, &t__failed };
