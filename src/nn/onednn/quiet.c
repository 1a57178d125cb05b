/* nn/onednn/quiet.c: libgomp's threads spin for some 3 ms at every barrier, which takes the core from a poller
 * or another thread that has work (measured on two busy cores: half of the throughput). The policy is read from the
 * environment when libgomp is loaded, too early for a library; but libgomp itself spins only for an instant once it
 * manages more threads than there are cores. So one more team is made, that never works: its threads sleep in
 * the kernel, and from then on every wait is short. Next: run.c. */
#include "nn/onednn/quiet.h"

#include <stdlib.h>
#include <string.h>

#define MOST 8u /* with more cores than that to spare, spinning harms nobody */

/* libgomp's entry behind `#pragma omp parallel`. */
extern void GOMP_parallel(void (*fn)(void *), void *data, unsigned n_threads, unsigned flags);

static void nothing(void *data)
{
}

static void *hold_team(void *arg)
{
	struct gw__quiet *q = arg;

	GOMP_parallel(nothing, NULL, q->n, 0);
	sem_post(&q->ready);
	while (sem_wait(&q->stop) < 0)
		;
	return NULL; /* the team ends with its first thread */
}

void gw__quiet_init(struct gw__quiet *q, uint32_t n_threads, uint32_t n_cores)
{
	const char *policy = getenv("OMP_WAIT_POLICY");

	memset(q, 0, sizeof(*q));
	/* What the user asked for stands; and a single thread never waits. */
	if (policy || getenv("GOMP_SPINCOUNT") || n_threads < 2)
		return;
	q->n = n_threads > n_cores ? 0 : n_cores - n_threads + 2;
	if (!q->n || q->n > MOST)
		return;
	if (sem_init(&q->ready, 0, 0) < 0)
		return;
	if (sem_init(&q->stop, 0, 0) < 0 || pthread_create(&q->thread, NULL, hold_team, q)) {
		sem_destroy(&q->ready);
		return;
	}
	q->running = true;
	while (sem_wait(&q->ready) < 0)
		;
}

void gw__quiet_fini(struct gw__quiet *q)
{
	if (!q->running)
		return;
	sem_post(&q->stop);
	pthread_join(q->thread, NULL);
	sem_destroy(&q->stop);
	sem_destroy(&q->ready);
	q->running = false;
}
