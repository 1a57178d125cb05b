/* resnet50_inference/rx_producer.h: takes reordered bursts from the queue and pushes them to inference.
 * A step that never blocks, and a loop around it that waits; time comes from the clock given to it.
 * Must not know networks or features. Next: rx_producer.c, docs/resnet50.md (what each counter means). */
#ifndef RESNET50_RX_PRODUCER_H
#define RESNET50_RX_PRODUCER_H

#include <gpuwire/gpuwire.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/clock.h"
#include "geometry.h"
#include "job_ring.h"
#include "release_gate.h"

/* The tutorial's patience, 50,000 and 1,800,000 idle polls of 100 us, as durations. */
#define RX_QUIESCE_NS (5 * (uint64_t)1000000000)
#define RX_STARTUP_NS (180 * (uint64_t)1000000000)
#define RX_INFO_TRIES 2000u       /* a flushed burst's event may lag behind it ... */
#define RX_INFO_WAIT_NS 50000u    /* ... by at most 100 ms */

struct rx_counters {
	uint64_t pushed_images;
	uint64_t delivered_bursts;      /* pushed to inference */
	uint64_t reordered_bursts;      /* taken from the library with the REORDERED flag */
	uint64_t partial;               /* of those, handed over before they were full */
	uint64_t partial_packets;       /* packets placed in partial bursts, good images' included */
	uint64_t incomplete_images;     /* images of partial bursts that had a hole and were left out */
	uint64_t dropped;               /* reordered bursts that did not reach inference: the four below */
	uint64_t queue_full, short_batch, info_failures, null_input;
	uint64_t dropped_images;        /* whole images that went with dropped bursts */
	uint64_t non_reordered_bursts, non_reordered_packets;
	uint64_t pool_empty;            /* polls answered with: release something first */
};

/* Why the producer ended. */
enum rx_end {
	RX_END_RUNNING,
	RX_END_EXPECTED, /* every expected image has had its fate */
	RX_END_QUIET,    /* no packet for 5 s after data began */
	RX_END_NO_DATA,  /* no packet for 3 min from the start */
	RX_END_FINISH,   /* told that nothing more will come */
	RX_END_GONE,     /* the port went away; see .error */
};

enum rx_step {
	RX_STEP_IDLE,    /* nothing to take now */
	RX_STEP_WORK,    /* took something */
	RX_STEP_BLOCKED, /* the ring is full and every image counts: waits for the consumer */
	RX_STEP_END,
};

struct rx_producer {
	/* set by the owner before the first step */
	struct gw *gw;
	uint16_t port, queue;
	struct geometry geo;
	struct job_ring *ring;
	struct release_gate *gate;
	struct gw__clock *clock;
	uint64_t expected_images; /* 0 = as many as come */
	bool backpressure;        /* example mode: wait when the ring is full; else drop the burst */
	atomic_bool finish;       /* set by another thread: flush, take what is there, end */

	/* results, stable after the thread was joined; the atomics any time */
	struct rx_counters n;
	enum rx_end end;
	int error;                        /* RX_END_GONE: negative errno */
	_Atomic uint64_t images_seen;     /* for a progress bar */
	_Atomic uint64_t first_ns;        /* first packet seen; 0 = none yet */
	uint64_t last_ns;                 /* last burst taken */
	uint64_t free_images;             /* taken before the ring first held us back ... */
	uint64_t free_until_ns;           /* ... and when the last of them was */

	/* own state */
	uint64_t idle_since_ns;
	uint64_t packets_seen;
	int flush_left;                   /* windows the flush promised; < 0 = not flushed yet */
	bool holding;                     /* .held waits for room */
	bool was_held;                    /* ever */
	struct job held;
	struct gw__event nap;             /* never signalled: its time-out is the pause */
};

/* 0 or negative errno; the fields above are set already. */
int rx_producer_init(struct rx_producer *p);
void rx_producer_fini(struct rx_producer *p);
/* One look: at most one burst. Never blocks, except RX_INFO_* for a flushed burst. */
enum rx_step rx_producer_step(struct rx_producer *p);
/* Step until the end, waiting in between; closes the ring. */
void rx_producer_run(struct rx_producer *p);
/* The line every run is judged by. */
void rx_producer_print(const struct rx_producer *p);

#endif
