/* resnet50_inference/job_ring.h: bursts from the receive thread to the inference thread: 8 slots, 7 usable.
 * One producer, one consumer, no locks, no allocation; it must not know what a job means.
 * Next: rx_producer.c fills it, inference_consumer.c empties it. */
#ifndef RESNET50_JOB_RING_H
#define RESNET50_JOB_RING_H

#include <gpuwire/gpuwire.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/wait.h"

#define JOB_RING_CAP 8u                      /* slots; one stays empty, so it holds 7 */
#define JOB_RING_DEPTH (JOB_RING_CAP - 1u)
#define JOB_MAX_IMAGES 1024u                 /* images of one window */
/* Output buffers that can be out at once: 7 queued, 1 running, 1 held until its results are back. */
#define JOB_MIN_OUTPUT_BUFS (JOB_RING_DEPTH + 2u)

/* One reordered burst on its way to inference. Whoever holds the job owes gw_burst_release(&job.burst). */
struct job {
	struct gw_burst burst;
	const uint8_t *input;         /* FLOAT16 (n_images, chan, height, width) */
	uint32_t n_images;            /* places in the window */
	uint32_t n_valid;             /* of those, images without a hole */
	const uint64_t *group_valid;  /* bit per image, lives as long as the burst; NULL = all are valid */
	uint64_t serial;              /* n-th window taken, from 0: where an image is if nothing knows better */
};

struct job_ring {
	struct job slot[JOB_RING_CAP];
	_Alignas(64) _Atomic uint32_t head; /* next to write; producer's */
	_Alignas(64) _Atomic uint32_t tail; /* next to read; consumer's */
	atomic_bool done;                   /* nothing will be pushed any more */
	struct gw__event work;              /* signalled by push and close */
	struct gw__event room;              /* signalled by pop */
};

/* 0 or negative errno. Thread: before the two workers start. */
int job_ring_init(struct job_ring *r);
void job_ring_fini(struct job_ring *r);

/* Producer. False = full; the job is still the caller's. */
bool job_ring_push(struct job_ring *r, const struct job *job);
/* Producer: nothing follows. Wakes the consumer. */
void job_ring_close(struct job_ring *r);
/* Producer: block until there may be room, or timeout_ns passed. */
void job_ring_wait_room(struct job_ring *r, uint64_t timeout_ns);

/* Consumer. False = empty. */
bool job_ring_pop(struct job_ring *r, struct job *job);
/* Consumer: block until there may be work, or the ring was closed, or timeout_ns passed. */
void job_ring_wait_work(struct job_ring *r, uint64_t timeout_ns);
/* Consumer: closed and empty. */
bool job_ring_finished(struct job_ring *r);

/* Any thread; a snapshot. */
uint32_t job_ring_depth(struct job_ring *r);

#endif
