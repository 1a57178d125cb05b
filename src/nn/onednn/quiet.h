/* nn/onednn/quiet.h: keep OpenMP's threads from spinning while they wait for each other.
 * Must not know networks. Next: quiet.c says how. */
#ifndef GW_NN_ONEDNN_QUIET_H
#define GW_NN_ONEDNN_QUIET_H

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>

struct gw__quiet {
	pthread_t thread;
	sem_t ready, stop;
	unsigned n; /* threads of the extra team */
	bool running;
};

/* n_threads of n_cores will compute. Best effort: nothing to report. fini of a zeroed one is fine. */
void gw__quiet_init(struct gw__quiet *q, uint32_t n_threads, uint32_t n_cores);
void gw__quiet_fini(struct gw__quiet *q);

#endif
