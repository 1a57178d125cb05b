/* resnet50_inference/release_gate.h: one thread at a time gives bursts back.
 * A queue takes bursts back from one thread at a time; here two do it: the producer (what it refuses) and the
 * consumer (what it used). One uncontended lock per burst of thousands of packets. Next: rx_producer.c. */
#ifndef RESNET50_RELEASE_GATE_H
#define RESNET50_RELEASE_GATE_H

#include <gpuwire/burst.h>
#include <pthread.h>

#include "base/wait.h"

struct release_gate {
	pthread_mutex_t lock;
	struct gw__event freed; /* signalled after each release */
};

static inline int release_gate_init(struct release_gate *g)
{
	int err = gw__event_init(&g->freed);

	if (err)
		return err;
	err = -pthread_mutex_init(&g->lock, NULL);
	if (err)
		gw__event_fini(&g->freed);
	return err;
}

static inline void release_gate_fini(struct release_gate *g)
{
	pthread_mutex_destroy(&g->lock);
	gw__event_fini(&g->freed);
}

/* Producer: block until a burst went back, or timeout_ns passed. */
static inline void release_gate_wait(struct release_gate *g, uint64_t timeout_ns)
{
	gw__event_arm(&g->freed);
	(void)gw__event_block(&g->freed, timeout_ns);
}

static inline void release_gate_release(struct release_gate *g, struct gw_burst *burst)
{
	pthread_mutex_lock(&g->lock);
	gw_burst_release(burst);
	pthread_mutex_unlock(&g->lock);
	gw__event_signal(&g->freed);
}

#endif
