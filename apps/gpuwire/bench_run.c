/* apps/gpuwire/bench_run.c: one thread per bench_tx and bench_rx entry; frames are written into every transmit
 * slot before the start, so that only lengths (and running numbers) are written while it counts.
 * Must not know which benchmark this is, nor print. Next: bench_frame.c, bench_raw.c. */
#include "bench_run.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "bench_frame.h"

#define SETTLE_NS 2000000000ull

struct run;

struct side {
	struct run *run;
	struct bench_side *sum;
	struct bench_frame frame;
	uint32_t batch, queue;
	int core;
	uint32_t turn;
	uint64_t number;
	uint8_t *stage, *all; /* a burst's bytes; one frame a turn of the port ranges */
	uint32_t n_all, stage_stride;
	bool device; /* the CPU must not touch these slots */
	_Atomic uint64_t packets;
	_Atomic uint64_t cpu_ns;  /* of this thread, told now and then */
	_Atomic uint64_t busy_ns; /* of it, a sender's: filling and submitting, waits left out */
	pthread_t thread;
	bool started;
	int err;
};

struct run {
	struct gw *gw;
	const struct gw_config *cfg;
	const struct bench_opts *opts;
	struct bench_result *out;
	struct side tx[BENCH_QUEUES], rx[BENCH_QUEUES];
	_Atomic bool stop_tx, stop_rx;
	struct gw_diag diag;
};

static uint64_t clock_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void pause_ns(uint64_t ns)
{
	struct timespec t = { .tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u) };

	nanosleep(&t, NULL);
}

int bench_core(int n)
{
	cpu_set_t set;
	int have, k;

	if (sched_getaffinity(0, sizeof(set), &set) || !(have = CPU_COUNT(&set)))
		return -1;
	k = n % have;
	for (int c = 0; c < CPU_SETSIZE; c++)
		if (CPU_ISSET(c, &set) && !k--)
			return c;
	return -1;
}

static void pin(int core)
{
	cpu_set_t set;

	if (core < 0)
		return;
	CPU_ZERO(&set);
	CPU_SET(core, &set);
	(void)pthread_setaffinity_np(pthread_self(), sizeof(set), &set); /* the caller was told which cores are here */
}

/* ---- transmit --------------------------------------------------------------------------------- */

/* Bytes [at, at + n) of a frame lie in which segment? Copies them there, each segment's part. */
static int put_frame(const struct side *s, const struct gw_tx *tx, uint32_t i, const uint8_t *frame)
{
	uint32_t at = 0, len = s->frame.header + s->frame.payload;

	for (uint32_t g = 0; g < tx->n_segs && at < len; g++) {
		uint32_t n = len - at < tx->seg_size[g] ? len - at : tx->seg_size[g];
		int err;

		err = gw_mem_copy(tx->seg_ptr[g][i], frame + at, n);
		if (err)
			return err;
		at += n;
	}
	return at == len ? 0 : -EMSGSIZE;
}

/* Every slot gets its frame once. */
static int fill_slots(struct side *s)
{
	uint32_t len = s->frame.header + s->frame.payload;
	struct gw_tx tx;
	int n, err = 0;

	n = gw_tx_reserve(s->run->gw, s->sum->port, (uint16_t)s->queue, UINT32_MAX, &tx);
	for (int i = 0; i < n && !err; i++)
		err = put_frame(s, &tx, (uint32_t)i, s->all + (size_t)(s->turn++ % s->n_all) * len);
	if (n > 0)
		gw_tx_cancel(s->run->gw, &tx);
	return n < 0 ? n : err;
}

/* Which segment holds the running number, and where in it. */
static uint8_t *number_place(const struct side *s, const struct gw_tx *tx, uint32_t i)
{
	uint32_t at = s->run->opts->number.at_byte, g = 0;

	while (g + 1 < tx->n_segs && at >= tx->seg_size[g])
		at -= tx->seg_size[g++];
	return (uint8_t *)tx->seg_ptr[g][i] + at;
}

/* The staged burst has the slots' own spacing. */
static void lay_stage(struct side *s, uint32_t stride)
{
	uint32_t len = s->frame.header + s->frame.payload;

	if (stride == s->stage_stride && stride)
		return;
	for (uint32_t i = 0; i < (stride ? s->batch : 1); i++)
		memcpy(s->stage + (size_t)i * stride, s->all, len);
	s->stage_stride = stride;
}

/* Device memory: whole frames by way of host memory, one copy for each run of neighbouring slots. */
static int number_device(struct side *s, const struct gw_tx *tx)
{
	uint32_t len = s->frame.header + s->frame.payload;
	uint32_t n = tx->n_pkts;

	for (uint32_t a = 0, b; a < n; a = b) {
		intptr_t step = a + 1 < n ? (uint8_t *)tx->seg_ptr[0][a + 1] - (uint8_t *)tx->seg_ptr[0][a] : 0;
		uint32_t stride = step < 0 ? (uint32_t)-step : (uint32_t)step;
		int err;

		if (stride < len || stride > len + 256)
			step = 0;
		lay_stage(s, step ? stride : 0);
		for (b = a + 1; step && b < n; b++)
			if ((uint8_t *)tx->seg_ptr[0][b] - (uint8_t *)tx->seg_ptr[0][b - 1] != step)
				break;
		for (uint32_t i = a; i < b; i++) {
			size_t place = step < 0 ? (size_t)(b - 1 - i) * stride : (size_t)(i - a) * stride;

			if (s->frame.sport_hi != s->frame.sport_lo || s->frame.dport_hi != s->frame.dport_lo)
				memcpy(s->stage + place, s->all + (size_t)(s->turn++ % s->n_all) * len, len);
			bench_number_write(&s->run->opts->number, s->number++, s->stage + place);
		}
		err = gw_mem_copy(tx->seg_ptr[0][step < 0 ? b - 1 : a], s->stage,
				  (size_t)(b - a - 1) * stride + len);
		if (err)
			return err;
	}
	return 0;
}

static int fill_burst(struct side *s, const struct gw_tx *tx)
{
	const struct bench_number *no = &s->run->opts->number;
	uint32_t left = s->frame.header + s->frame.payload;

	for (uint32_t g = 0; g < tx->n_segs; g++) {
		uint32_t n = left < tx->seg_size[g] ? left : tx->seg_size[g];

		for (uint32_t i = 0; i < tx->n_pkts; i++)
			tx->seg_len[g][i] = n;
		left -= n;
	}
	if (!no->n_bits)
		return 0;
	if (s->device && tx->n_segs == 1)
		return number_device(s, tx);
	for (uint32_t i = 0; i < tx->n_pkts; i++) {
		struct bench_number here = { .n_bits = no->n_bits };
		uint8_t *p = number_place(s, tx, i), field[8];
		int err;

		if (!s->device) {
			bench_number_write(&here, s->number++, p);
			continue;
		}
		bench_number_write(&here, s->number++, field);
		err = gw_mem_copy(p, field, (no->n_bits + 7) / 8);
		if (err)
			return err;
	}
	return 0;
}

static void keep_pace(const struct side *s, uint64_t t0, uint64_t bytes)
{
	double due = s->run->opts->target_gbps > 0 ? (double)bytes * 8 / s->run->opts->target_gbps : 0;

	while (clock_ns(CLOCK_MONOTONIC) - t0 < (uint64_t)due && !atomic_load(&s->run->stop_tx))
		pause_ns(50000);
}

static void add_busy(struct side *s, uint64_t t0)
{
	uint64_t now = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	atomic_store_explicit(&s->cpu_ns, now, memory_order_relaxed);
	atomic_fetch_add_explicit(&s->busy_ns, now - t0, memory_order_relaxed);
}

static int send_all(struct side *s, struct gw_tx *tx)
{
	while (tx->n_pkts && !atomic_load_explicit(&s->run->stop_tx, memory_order_relaxed)) {
		uint64_t t0 = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		int k = gw_tx_submit(s->run->gw, tx, tx->n_pkts);

		if (k < 0)
			return k;
		if (k)
			add_busy(s, t0);
		s->sum->packets += (uint32_t)k;
		atomic_store_explicit(&s->packets, s->sum->packets, memory_order_relaxed);
		if (!k && !gw_tx_wait(s->run->gw, s->sum->port, (uint16_t)s->queue, 1000000))
			sched_yield();
	}
	if (tx->n_pkts)
		gw_tx_cancel(s->run->gw, tx);
	return 0;
}

static void *tx_loop(void *arg)
{
	struct side *s = arg;
	struct run *r = s->run;
	uint64_t t0 = clock_ns(CLOCK_MONOTONIC);
	struct gw_tx tx;

	pin(s->core);
	while (!s->err && !atomic_load_explicit(&r->stop_tx, memory_order_relaxed)) {
		uint64_t c0 = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		int n = gw_tx_reserve(r->gw, s->sum->port, (uint16_t)s->queue, s->batch, &tx);

		if (n < 0) {
			s->err = n;
			break;
		}
		if (!n) {
			(void)!gw_tx_wait(r->gw, s->sum->port, (uint16_t)s->queue, 1000000);
			continue;
		}
		s->err = fill_burst(s, &tx);
		if (s->err) {
			gw_tx_cancel(r->gw, &tx);
			break;
		}
		add_busy(s, c0);
		s->err = send_all(s, &tx);
		s->sum->bursts++;
		if (r->opts->target_gbps > 0)
			keep_pace(s, t0, s->sum->packets * (s->frame.header + s->frame.payload));
	}
	s->sum->bytes = s->sum->packets * (s->frame.header + s->frame.payload);
	s->sum->seconds = (double)(clock_ns(CLOCK_MONOTONIC) - t0) * 1e-9;
	s->sum->cpu_s = (double)clock_ns(CLOCK_THREAD_CPUTIME_ID) * 1e-9;
	return NULL;
}

/* ---- receive ---------------------------------------------------------------------------------- */

/* Compare some slots of a tensor with what was sent. Only the first receiver checks. */
static void verify(struct side *s, const struct gw_burst *b, const struct gw_reorder_info *info)
{
	const struct bench_opts *o = s->run->opts;
	struct bench_result *out = s->run->out;
	uint32_t stride = (uint32_t)(info->aggregate_len / (info->packets_per_batch ? info->packets_per_batch : 1));
	uint32_t slots = info->packets_per_batch, n;
	uint8_t *copy;

	if (s != &s->run->rx[0] || out->verified_batches >= o->verify_batches || !stride)
		return;
	copy = malloc(stride);
	if (!copy)
		return;
	n = stride * 8 / bench_element_bits(o->elements.output);
	n = n < o->chunk_elements ? n : o->chunk_elements;
	for (uint32_t i = 0; i < o->verify_chunks && i < slots; i++) {
		uint32_t slot = (uint32_t)((uint64_t)i * slots / (o->verify_chunks < slots ? o->verify_chunks : slots));

		if (!(info->valid[slot / 64] >> slot % 64 & 1))
			continue;
		out->chunks++;
		if (gw_mem_copy(copy, (const uint8_t *)b->seg_ptr[0][0] + (size_t)slot * stride, stride) ||
		    bench_elements_check(&o->elements, &o->number, o->frame - stride * 8 /
					 bench_element_bits(o->elements.output) *
					 bench_element_bits(o->elements.input) / 8, copy, 0, n))
			out->failures++;
	}
	out->verified_batches++;
	free(copy);
}

static void take_tensor(struct side *s, const struct gw_burst *b)
{
	struct bench_result *out = s->run->out;
	struct gw_reorder_info info;

	if ((b->event && gw_event_sync(b->event)) || gw_burst_reorder_info(b, &info)) {
		__atomic_fetch_add(&out->info_failures, 1, __ATOMIC_RELAXED);
		return;
	}
	__atomic_fetch_add(&out->aggregated_batches, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&out->timeout_batches, !!(b->flags & GW_BURST_REORDER_TIMEOUT), __ATOMIC_RELAXED);
	__atomic_fetch_add(&out->aggregated_packets, info.source_packet_count, __ATOMIC_RELAXED);
	__atomic_fetch_add(&out->missing, info.n_missing, __ATOMIC_RELAXED);
	s->sum->packets += info.source_packet_count;
	s->sum->bytes += info.aggregate_len;
	verify(s, b, &info);
}

static void take(struct side *s, struct gw_burst *b)
{
	if (b->flags & GW_BURST_REORDERED) {
		take_tensor(s, b);
	} else {
		s->sum->packets += b->n_pkts;
		for (uint32_t i = 0; i < b->n_pkts; i++)
			s->sum->bytes += b->len[i];
		__atomic_fetch_add(&s->run->out->passthrough_packets, b->n_pkts, __ATOMIC_RELAXED);
	}
	s->sum->bursts++;
	atomic_store_explicit(&s->packets, s->sum->packets, memory_order_relaxed);
	gw_burst_release(b);
}

static int rx_once(struct side *s, struct gw_burst *b)
{
	struct gw *gw = s->run->gw;

	return s->sum->queue < 0 ? gw_rx_any(gw, s->sum->port, b) :
				   gw_rx_burst(gw, s->sum->port, (uint16_t)s->queue, b);
}

static void *rx_loop(void *arg)
{
	struct side *s = arg;
	struct run *r = s->run;
	uint64_t t0 = clock_ns(CLOCK_MONOTONIC), last = t0;
	struct gw_burst b;

	pin(s->core);
	for (uint32_t idle = 0;;) {
		int n = rx_once(s, &b);

		if (n == 1) {
			take(s, &b);
			idle = 0;
			last = clock_ns(CLOCK_MONOTONIC);
			continue;
		}
		if (n < 0 && n != -ENOBUFS) {
			s->err = n == -ESHUTDOWN ? 0 : n;
			break;
		}
		if (!(++idle & 63))
			atomic_store_explicit(&s->cpu_ns, clock_ns(CLOCK_THREAD_CPUTIME_ID), memory_order_relaxed);
		if (atomic_load_explicit(&r->stop_rx, memory_order_acquire)) /* what comes after is taken once more */
			break;
		if (s->sum->queue >= 0)
			(void)!gw_rx_wait(r->gw, s->sum->port, (uint16_t)s->queue, 2000000);
		else if (idle > 64)
			pause_ns(50000);
	}
	s->sum->seconds = (double)(last - t0) * 1e-9;
	s->sum->cpu_s = (double)clock_ns(CLOCK_THREAD_CPUTIME_ID) * 1e-9;
	return NULL;
}

/* ---- set-up ----------------------------------------------------------------------------------- */

static int say(struct gw_diag *diag, int err, const char *what, const char *detail)
{
	if (diag)
		snprintf(diag->text, sizeof(diag->text), "%s%s", what, detail);
	return err;
}

/* "bench_tx.0", or "bench_tx" where the block is a map; 0 where there is no entry n. */
static int entry(const struct gw_config *cfg, const char *block, int n, char *path, size_t room)
{
	char where[160], key[64];
	int64_t v;

	snprintf(path, room, "%s.%d", block, n);
	snprintf(key, sizeof(key), "%s.%d.cpu_core", block, n);
	gw_config_where(cfg, path, where, sizeof(where));
	if (strrchr(where, ':') && gw_config_i64(cfg, key, &v, NULL) >= 0)
		return 1;
	if (n)
		return 0;
	snprintf(path, room, "%s", block);
	gw_config_where(cfg, path, where, sizeof(where));
	return strrchr(where, ':') != NULL;
}

static int bind_side(struct run *r, struct side *s, struct bench_side *sum, const char *path, int nth)
{
	char key[96];
	const char *name = NULL;
	int64_t v = 0;
	uint64_t u = 1024;
	int port;

	s->run = r;
	s->sum = sum;
	snprintf(key, sizeof(key), "%s.interface_name", path);
	if (gw_config_str(r->cfg, key, &name, &r->diag) < 0 || !name)
		return say(&r->diag, -EINVAL, path, ": no interface_name");
	port = gw_port_id(r->gw, name);
	if (port < 0) {
		snprintf(r->diag.text, sizeof(r->diag.text), "%s: there is no interface '%.60s'", key, name);
		return -ENOENT;
	}
	snprintf(sum->interface, sizeof(sum->interface), "%s", name);
	sum->port = (uint16_t)port;
	snprintf(key, sizeof(key), "%s.queue_id", path);
	if (gw_config_i64(r->cfg, key, &v, &r->diag) < 0)
		return -EINVAL;
	sum->queue = (int)v;
	s->queue = v < 0 ? 0 : (uint32_t)v;
	snprintf(key, sizeof(key), "%s.batch_size", path);
	if (gw_config_u64(r->cfg, key, &u, &r->diag) < 0)
		return -EINVAL;
	s->batch = (uint32_t)u;
	snprintf(key, sizeof(key), "%s.cpu_core", path);
	if (gw_config_i64(r->cfg, key, &v, &r->diag) < 0)
		return -EINVAL;
	s->core = (int)v;
	if (v >= 0) {
		cpu_set_t set;

		if (sched_getaffinity(0, sizeof(set), &set) || v >= CPU_SETSIZE || !CPU_ISSET((int)v, &set))
			s->core = bench_core(nth);
	}
	return 0;
}

/* Is the memory of this interface's transmit queue such that the CPU must not touch it? */
static bool tx_in_device(const struct gw_config *cfg, const char *interface, uint32_t queue)
{
	const char *s = NULL;
	char key[160];

	for (int i = 0; i < (int)BENCH_QUEUES; i++) {
		uint64_t id = 0;

		snprintf(key, sizeof(key), "interfaces.%s.tx.queues.%d.id", interface, i);
		if (gw_config_u64(cfg, key, &id, NULL) < 0 || id != queue)
			continue;
		snprintf(key, sizeof(key), "interfaces.%s.tx.queues.%d.memory_regions.0", interface, i);
		if (gw_config_str(cfg, key, &s, NULL) < 0 || !s)
			break;
		snprintf(key, sizeof(key), "memory_regions.%s.kind", s);
		if (gw_config_str(cfg, key, &s, NULL) < 0 || !s)
			break;
		return !strcmp(s, "device");
	}
	return true; /* not known: copies work for every kind */
}

static int make_frames(struct side *s)
{
	uint32_t len = s->frame.header + s->frame.payload;
	uint32_t a = (uint32_t)(s->frame.sport_hi - s->frame.sport_lo + 1);
	uint32_t b = (uint32_t)(s->frame.dport_hi - s->frame.dport_lo + 1);

	s->n_all = a > b ? a : b;
	s->n_all = s->n_all > 1024 ? 1024 : s->n_all;
	s->all = malloc((size_t)s->n_all * len);
	s->stage = s->device && s->run->opts->number.n_bits ? malloc((size_t)s->batch * (len + 256)) : NULL;
	if (!s->all || (!s->stage && s->device && s->run->opts->number.n_bits))
		return -ENOMEM;
	for (uint32_t i = 0; i < s->n_all; i++)
		bench_frame_write(&s->frame, i, s->all + (size_t)i * len);
	return fill_slots(s);
}

static int bind_all(struct run *r)
{
	struct bench_result *out = r->out;
	char path[48];
	int err = 0;

	for (int n = 0; !err && n < BENCH_QUEUES && entry(r->cfg, "bench_tx", n, path, sizeof(path)); n++) {
		struct side *s = &r->tx[n];

		err = bind_side(r, s, &out->tx[n], path, 2 * n);
		if (!err && gw_port_n_txq(r->gw, s->sum->port) <= 0) /* --mode rx: the other end is elsewhere */
			break;
		out->n_tx++;
		s->number = r->opts->number.start;
		s->frame.elements = r->opts->elements;
		err = err ? err : bench_frame_read(r->cfg, path, &s->frame, &r->diag);
		if (err)
			break;
		s->device = tx_in_device(r->cfg, s->sum->interface, s->queue);
		err = make_frames(s);
		if (err)
			say(&r->diag, err, path, err == -EMSGSIZE ? ": the frame is longer than its buffers" :
								    ": the buffers cannot be filled");
	}
	for (int n = 0; !err && n < BENCH_QUEUES && entry(r->cfg, "bench_rx", n, path, sizeof(path)); n++) {
		err = bind_side(r, &r->rx[n], &out->rx[n], path, 2 * n + 1);
		if (!err && gw_port_n_rxq(r->gw, out->rx[n].port) <= 0)
			break;
		out->n_rx++;
		if (out->rx[n].queue < 0 && gw_port_n_rxq(r->gw, out->rx[n].port) == 1)
			out->rx[n].queue = 0;
	}
	if (!err && !out->n_tx && !out->n_rx)
		return say(&r->diag, -EINVAL, "the file has neither a bench_tx nor a bench_rx block", "");
	return err;
}

/* ---- the run ---------------------------------------------------------------------------------- */

static uint64_t taken(struct run *r)
{
	struct gw_queue_stats q;
	uint64_t n = 0;

	for (uint16_t p = 0; p < GW_MAX_PORTS; p++)
		for (uint16_t i = 0; i < BENCH_QUEUES && !gw_rxq_stats(r->gw, p, i, &q); i++)
			n += q.rx_packets;
	return n;
}

static uint64_t sent(struct run *r, uint64_t *cpu_ns, uint64_t *busy_ns)
{
	uint64_t n = 0;

	*cpu_ns = *busy_ns = 0;
	for (int i = 0; i < r->out->n_tx; i++) {
		n += atomic_load_explicit(&r->tx[i].packets, memory_order_relaxed);
		*cpu_ns += atomic_load_explicit(&r->tx[i].cpu_ns, memory_order_relaxed);
		*busy_ns += atomic_load_explicit(&r->tx[i].busy_ns, memory_order_relaxed);
	}
	return n;
}

struct mark {
	uint64_t ns, rx, tx, cpu_ns, tx_cpu_ns, tx_busy_ns;
};

static void take_mark(struct run *r, struct mark *m)
{
	m->rx = taken(r);
	m->tx = sent(r, &m->tx_cpu_ns, &m->tx_busy_ns);
	m->ns = clock_ns(CLOCK_MONOTONIC);
	m->cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

/* Packets a CPU-second of the receiving side; *alone: of the busier of the two sides. */
static double per_cpu(const struct mark *a, const struct mark *b, double *alone)
{
	double tx = (double)(b->tx_cpu_ns - a->tx_cpu_ns), rx = (double)(b->cpu_ns - a->cpu_ns) - tx;
	double n = (double)(b->rx - a->rx) * 1e9;

	if (rx <= 0)
		return 0;
	*alone = n / (tx > rx ? tx : rx);
	return n / rx;
}

static int start_threads(struct run *r)
{
	struct bench_result *out = r->out;

	for (int i = 0; i < out->n_rx; i++) {
		if (pthread_create(&r->rx[i].thread, NULL, rx_loop, &r->rx[i]))
			return say(&r->diag, -EAGAIN, "no thread", "");
		r->rx[i].started = true;
	}
	for (int i = 0; i < out->n_tx; i++) {
		if (pthread_create(&r->tx[i].thread, NULL, tx_loop, &r->tx[i]))
			return say(&r->diag, -EAGAIN, "no thread", "");
		r->tx[i].started = true;
	}
	return 0;
}

/* Senders first, then what is still on its way (bounded), then receivers. */
static int join_all(struct run *r)
{
	uint64_t t0, last = 0;
	int err = 0;

	atomic_store(&r->stop_tx, true);
	for (int i = 0; i < BENCH_QUEUES; i++)
		if (r->tx[i].started) {
			pthread_join(r->tx[i].thread, NULL);
			err = err ? err : r->tx[i].err;
			(void)!gw_tx_drain(r->gw, r->tx[i].sum->port, (uint16_t)r->tx[i].queue, SETTLE_NS);
		}
	for (t0 = clock_ns(CLOCK_MONOTONIC); clock_ns(CLOCK_MONOTONIC) - t0 < SETTLE_NS;) {
		uint64_t now = taken(r);

		if (now == last)
			break;
		last = now;
		pause_ns(30000000);
	}
	(void)gw_flush(r->gw);
	gw_stop(r->gw);
	atomic_store(&r->stop_rx, true);
	for (int i = 0; i < BENCH_QUEUES; i++)
		if (r->rx[i].started) {
			pthread_join(r->rx[i].thread, NULL);
			err = err ? err : r->rx[i].err;
		}
	return err;
}

static void collect(struct run *r)
{
	struct bench_result *out = r->out;
	struct gw_queue_stats q;

	while (out->n_ports < (int)GW_MAX_PORTS &&
	       !gw_port_stats(r->gw, (uint16_t)out->n_ports, &out->port[out->n_ports]))
		out->n_ports++;
	for (uint16_t p = 0; p < out->n_ports; p++)
		for (uint16_t i = 0; i < BENCH_QUEUES && !gw_rxq_stats(r->gw, p, i, &q); i++) {
			out->queue_packets[p][i] = q.rx_packets;
			out->queue_no_free += q.no_free_bursts;
		}
	out->sums_close = !gw_stats_check(r->gw, &out->sums);
}

static int run_started(struct run *r)
{
	uint64_t all = (uint64_t)(r->opts->seconds * 1e9);
	struct mark a, b;
	int err, end;

	for (int p = 0; p < BENCH_QUEUES && (r->opts->pause || r->opts->gate_shut); p++) {
		struct side *s = &r->rx[p];

		if (p >= r->out->n_rx)
			break;
		if (r->opts->pause && gw_port_set_pause(r->gw, s->sum->port, true))
			return say(&r->diag, -ENOTSUP, s->sum->interface, ": this link cannot hold its sender back");
		if (r->opts->gate_shut && gw_port_drop_all(r->gw, s->sum->port, true))
			return say(&r->diag, -ENOTSUP, s->sum->interface, ": the gate cannot be shut");
	}
	err = start_threads(r);
	if (!err) {
		pause_ns(all / 5);
		take_mark(r, &a);
		pause_ns(all - all / 5);
		take_mark(r, &b);
		r->out->rx_pps = (double)(b.rx - a.rx) * 1e9 / (double)(b.ns - a.ns);
		r->out->tx_pps = (double)(b.tx - a.tx) * 1e9 / (double)(b.ns - a.ns);
		r->out->rx_pps_cpu = per_cpu(&a, &b, &r->out->pps_alone);
		if (b.tx_busy_ns > a.tx_busy_ns)
			r->out->tx_pps_cpu = (double)(b.tx - a.tx) * 1e9 / (double)(b.tx_busy_ns - a.tx_busy_ns);
	}
	end = join_all(r);
	if (!err && end)
		return say(&r->diag, end, "traffic stopped: ", strerror(-end));
	return err;
}

int bench_run(const struct gw_config *cfg, const struct bench_opts *opts, struct bench_result *out,
	      struct gw_diag *diag)
{
	struct run *r = calloc(1, sizeof(*r));
	int err;

	memset(out, 0, sizeof(*out));
	if (!r)
		return say(diag, -ENOMEM, "no memory", "");
	r->cfg = cfg;
	r->opts = opts;
	r->out = out;
	err = gw_open(cfg, &r->gw, &r->diag);
	if (!err)
		err = bind_all(r);
	if (!err)
		err = gw_start(r->gw, &r->diag);
	if (!err)
		err = run_started(r);
	if (!err)
		collect(r);
	gw_close(r->gw);
	for (int i = 0; i < BENCH_QUEUES; i++) {
		free(r->tx[i].all);
		free(r->tx[i].stage);
	}
	if (err && diag)
		*diag = r->diag;
	free(r);
	return err;
}
