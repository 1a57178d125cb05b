/* resnet50_inference/inference_consumer.h: takes jobs from the ring, runs the network, feeds the sink and
 * gives every burst back exactly once. Must not know queues or packets.
 * Next: inference_consumer.c, feature_sink.h. */
#ifndef RESNET50_INFERENCE_CONSUMER_H
#define RESNET50_INFERENCE_CONSUMER_H

#include <gpuwire/gpuwire.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/clock.h"
#include "geometry.h"
#include "job_ring.h"
#include "latency.h"
#include "release_gate.h"

struct consumer_counters {
	uint64_t images;          /* with features */
	uint64_t batches;         /* inference calls that gave results */
	uint64_t bursts;          /* taken from the ring */
	uint64_t released;        /* given back; equal to bursts at the end */
	uint64_t infer_failures;  /* inference calls that failed */
	uint64_t failed_images;   /* images of those calls and the rest of their bursts */
	uint64_t discarded_images; /* popped after the order to stop */
};

/* Where finished features go: n rows of dim floats, of images index, index + 1, ... of the stream. */
typedef void (*features_fn)(void *ctx, const float *rows, uint32_t n, uint64_t index);

/* A run of images handed to the network whose results are not back yet. */
struct in_flight {
	bool busy;
	bool last;            /* the burst goes back with it */
	struct gw_burst burst;
	uint64_t serial;
	uint32_t first, n;
	uint64_t start_ns;
	uint64_t end_ns;      /* 0 = not known: seen done when the next call returns */
};

struct consumer {
	/* set by the owner before the first step */
	struct gw_nn *nn; /* NULL: drain without inference */
	bool in_call;     /* the network computes inside the call (CPU), not behind it (GPU) */
	struct geometry geo;
	struct job_ring *ring;
	struct release_gate *gate;
	struct gw__clock *clock;
	features_fn sink; /* NULL: features are counted and forgotten */
	void *sink_ctx;
	atomic_bool discard; /* set by another thread: give bursts back unread from now on */

	/* results, stable after the thread was joined; the atomics any time */
	struct consumer_counters n;
	struct latency latency;
	uint64_t busy_ns; /* at least one call in the network */
	int error;        /* the last failed call's negative errno, 0 = none */
	_Atomic uint64_t images_done;
	uint64_t first_call_ns, last_result_ns;

	/* own state */
	bool have_job;
	struct job job;
	uint32_t cursor; /* next image of the job */
	uint64_t free_ns; /* when the network was seen to finish its last call */
	struct in_flight prev;
};

/* The next run of valid images at or after `from`, at most `most` long. Returns its length, 0 = no more. */
uint32_t job_next_run(const struct job *job, uint32_t from, uint32_t most, uint32_t *first);

/* One inference call, or one tail, or one pop. False = nothing to do now. Blocks only in the network. */
bool consumer_step(struct consumer *c);
/* Step until the ring is closed and empty, then take the tail and give back what is held. */
void consumer_run(struct consumer *c);

#endif
