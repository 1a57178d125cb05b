/* Buffer traffic alone, without a NIC: one thread takes buffers and hands bursts of 1024 over, another gives them
 * back. Slots against DPDK's pools and mbufs, all in turn in one process; medians of the rounds.
 * bench_pool [--rounds N] [--ms N] [--json FILE]. Next: slots.c, dpdk.c. */
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
#include "pool.h"

#define MAX_ROUNDS 101
#define MAX_SCHEMES 16
#define TIMED 17u /* one burst of so many, a different one each time: asking for CPU time is a system call */
_Static_assert(POOL_N_BURSTS % TIMED && TIMED % POOL_N_BURSTS == 1, "every burst is timed in its turn");

struct run {
	const struct pool_scheme *s;
	void *state;
	struct pool_burst *burst;
	struct gw__ring full, empty;
	_Atomic bool stop;
	_Atomic int ready;
	_Atomic uint64_t given;
	struct share {
		double cpu_s; /* spent in take() or give(), waits left out, in the bursts that were timed */
		uint64_t packets;
	} share[2]; /* the taker's, the giver's */
};

struct rates {
	double wall[MAX_ROUNDS], cpu[MAX_ROUNDS];
};

static int core[2] = { 0, 1 };
static double asking; /* seconds that asking for CPU time takes */

static void die(const char *what)
{
	fprintf(stderr, "bench_pool: %s\n", what);
	exit(1);
}

/* One burst's work, timed now and then. */
static void work(const struct run *r, void (*f)(void *, struct pool_burst *), struct pool_burst *b, unsigned *turn,
		 struct share *out)
{
	double t0;

	if ((*turn)++ % TIMED) {
		f(r->state, b);
		return;
	}
	t0 = clock_s(CLOCK_THREAD_CPUTIME_ID);
	f(r->state, b);
	if (b->n) {
		out->cpu_s += clock_s(CLOCK_THREAD_CPUTIME_ID) - t0 - asking;
		out->packets += b->n;
	}
}

static double cost_of_asking(void)
{
	double least = 1;

	for (int i = 0; i < 1000; i++) {
		double t0 = clock_s(CLOCK_THREAD_CPUTIME_ID), t = clock_s(CLOCK_THREAD_CPUTIME_ID) - t0;

		least = t < least ? t : least;
	}
	return least;
}

static double mpps(const struct share *s)
{
	return s->cpu_s > 0 ? (double)s->packets / s->cpu_s / 1e6 : 0;
}

/* Nothing to do: look again a few times, then let another thread have the core. */
static void idle(unsigned *n)
{
	if (++*n > 200)
		sched_yield();
}

static void *taker(void *arg)
{
	struct run *r = arg;
	unsigned n = 0, turn = 0;
	struct share sum = { 0 };
	uint32_t b;

	(void)gw__pin_to_core(core[0]);
	if (r->s->enter)
		r->s->enter(r->state);
	atomic_fetch_add(&r->ready, 1);
	while (!atomic_load_explicit(&r->stop, memory_order_relaxed)) {
		if (!gw__ring_pop(&r->empty, &b)) {
			idle(&n);
			continue;
		}
		do {
			work(r, r->s->take, &r->burst[b], &turn, &sum);
			if (!r->burst[b].n)
				idle(&n);
		} while (!r->burst[b].n && !atomic_load_explicit(&r->stop, memory_order_relaxed));
		n = 0;
		gw__ring_push(&r->full, &b);
	}
	r->share[0] = sum;
	if (r->s->leave)
		r->s->leave(r->state);
	return NULL;
}

static void *giver(void *arg)
{
	struct run *r = arg;
	uint64_t given = 0;
	unsigned n = 0, turn = 0;
	struct share sum = { 0 };
	uint32_t b;

	(void)gw__pin_to_core(core[1]);
	if (r->s->enter)
		r->s->enter(r->state);
	atomic_fetch_add(&r->ready, 1);
	while (!atomic_load_explicit(&r->stop, memory_order_relaxed)) {
		if (!gw__ring_pop(&r->full, &b)) {
			idle(&n);
			continue;
		}
		n = 0;
		work(r, r->s->give, &r->burst[b], &turn, &sum);
		given += r->burst[b].n;
		atomic_store_explicit(&r->given, given, memory_order_relaxed);
		gw__ring_push(&r->empty, &b);
	}
	r->share[1] = sum;
	if (r->s->leave)
		r->s->leave(r->state);
	return NULL;
}

static void measure(const struct pool_scheme *s, int ms, double *wall, double *cpu)
{
	struct run *r = aligned_alloc(64, (sizeof(*r) + 63) / 64 * 64);
	pthread_t t[2];
	double t0;

	if (!r)
		die("no memory");
	memset(r, 0, sizeof(*r));
	r->s = s;
	r->burst = calloc(POOL_N_BURSTS, sizeof(*r->burst));
	if (!r->burst || gw__ring_init(&r->full, POOL_N_BURSTS, 4) || gw__ring_init(&r->empty, POOL_N_BURSTS, 4))
		die("no memory");
	if (s->open(s, &r->state))
		die("a pool cannot be made");
	for (uint32_t i = 0; i < POOL_N_BURSTS; i++)
		gw__ring_push(&r->empty, &i);
	if (pthread_create(&t[0], NULL, taker, r) || pthread_create(&t[1], NULL, giver, r))
		die("no threads");
	while (atomic_load(&r->ready) < 2)
		sched_yield();
	t0 = clock_s(CLOCK_MONOTONIC);
	pause_ms(ms);
	*wall = (double)atomic_load(&r->given) / (clock_s(CLOCK_MONOTONIC) - t0) / 1e6;
	atomic_store(&r->stop, true);
	pthread_join(t[0], NULL);
	pthread_join(t[1], NULL);
	*cpu = mpps(&r->share[0]) < mpps(&r->share[1]) ? mpps(&r->share[0]) : mpps(&r->share[1]);
	s->close(r->state);
	gw__ring_fini(&r->full);
	gw__ring_fini(&r->empty);
	free(r->burst);
	free(r);
}

static double median_of(const double *v, int n)
{
	double copy[MAX_ROUNDS];

	memcpy(copy, v, (size_t)n * sizeof(*v));
	return median(copy, n);
}

static double ratio(const double *a, const double *b, int n)
{
	double r[MAX_ROUNDS];

	for (int i = 0; i < n; i++)
		r[i] = b[i] > 0 ? a[i] / b[i] : 0;
	return median_of(r, n);
}

static void report(const struct pool_scheme *const *s, const struct rates *x, int n, int rounds, FILE *json)
{
	int best = -1, shipped = -1, one = 0, two = 1;

	puts("Mpps: by the clock, and by the busier thread's CPU time without its waits (what two idle cores would do)");
	for (int i = 0; i < n; i++) {
		printf("  %-46s cache %-4s %9.2f %9.2f\n", s[i]->name, s[i]->cache, median_of(x[i].wall, rounds),
		       median_of(x[i].cpu, rounds));
		if (json)
			fprintf(json, "%s\n  {\"scheme\": \"%s\", \"cache\": \"%s\", \"mpps\": %.4f, \"mpps_cpu\": %.4f}",
				i ? "," : "{\"rows\": [", s[i]->name, s[i]->cache, median_of(x[i].wall, rounds),
				median_of(x[i].cpu, rounds));
		if (s[i]->shipped)
			shipped = i;
		if (s[i]->dpdk && (best < 0 || median_of(x[i].cpu, rounds) > median_of(x[best].cpu, rounds)))
			best = i;
	}
	printf("slots, apart / one segment: %.3f by the clock, %.3f by CPU time (bar 0.95)\n",
	       ratio(x[two].wall, x[one].wall, rounds), ratio(x[two].cpu, x[one].cpu, rounds));
	if (best >= 0) {
		printf("slots, apart / the best of DPDK's (%s, cache %s): %.2f by the clock, %.2f by CPU time (bar 3)\n",
		       s[best]->name, s[best]->cache, ratio(x[two].wall, x[best].wall, rounds),
		       ratio(x[two].cpu, x[best].cpu, rounds));
		printf("slots, apart / as shipped: %.1f by the clock, %.1f by CPU time\n",
		       ratio(x[two].wall, x[shipped].wall, rounds), ratio(x[two].cpu, x[shipped].cpu, rounds));
	} else {
		puts("built without DPDK (WITH_DPDK), or it does not start here: no peer");
	}
	if (json) {
		fprintf(json, "],\n  \"split_over_single\": %.4f, \"over_best\": %.4f, \"over_shipped\": %.4f, \"rounds\": %d}\n",
			ratio(x[two].cpu, x[one].cpu, rounds), best < 0 ? 0 : ratio(x[two].cpu, x[best].cpu, rounds),
			best < 0 ? 0 : ratio(x[two].cpu, x[shipped].cpu, rounds), rounds);
		fclose(json);
	}
}

int main(int argc, char **argv)
{
	static struct rates x[MAX_SCHEMES];
	const struct pool_scheme *s[MAX_SCHEMES];
	int rounds = 7, ms = 150, n = 0;
	FILE *json = NULL;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--rounds") && i + 1 < argc)
			rounds = atoi(argv[++i]);
		else if (!strcmp(argv[i], "--ms") && i + 1 < argc)
			ms = atoi(argv[++i]);
		else if (!strcmp(argv[i], "--cores") && i + 1 < argc && sscanf(argv[i + 1], "%d,%d", &core[0], &core[1]) == 2)
			i++;
		else if (!strcmp(argv[i], "--json") && i + 1 < argc && (json = fopen(argv[i + 1], "w")))
			i++;
		else
			die("usage: bench_pool [--rounds N] [--ms N] [--cores A,B] [--json FILE]");
	}
	if (rounds < 1 || rounds > MAX_ROUNDS || ms < 5)
		die("--rounds 1..101, --ms at least 5");
	for (int i = 0; i < n_slot_schemes; i++)
		s[n++] = &slot_schemes[i];
	if (n_dpdk_schemes && !dpdk_start())
		for (int i = 0; i < n_dpdk_schemes; i++)
			s[n++] = &dpdk_schemes[i];
	asking = cost_of_asking();
	for (int k = 0; k < rounds; k++)
		for (int i = 0; i < n; i++)
			measure(s[i], ms, &x[i].wall[k], &x[i].cpu[k]);
	report(s, x, n, rounds, json);
	return 0;
}
