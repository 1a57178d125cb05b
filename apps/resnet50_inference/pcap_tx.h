/* resnet50_inference/pcap_tx.h: sends the frames of a capture, as fast as the queue takes them or paced.
 * A step that never blocks, and a loop around it that waits. Must not know what is in a frame, save the
 * first six bytes, which it may replace. Next: pcap_tx.c, dataset.h (where frames come from). */
#ifndef RESNET50_PCAP_TX_H
#define RESNET50_PCAP_TX_H

#include <gpuwire/gpuwire.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/clock.h"
#include "base/wait.h"

/* Frames in order. next: 1 and a frame valid until the following call, 0 at the end, negative errno.
 * rewind: 0 or negative errno; the first frame comes next. */
struct frame_source {
	int (*next)(void *ctx, const uint8_t **frame, uint32_t *len);
	int (*rewind)(void *ctx);
	void *ctx;
	uint64_t n_frames; /* of one pass */
};

enum tx_step {
	TX_STEP_IDLE,  /* no slot free, or the ring is full */
	TX_STEP_EARLY, /* paced: the next frame is not due */
	TX_STEP_WORK,
	TX_STEP_END,
};

struct pcap_tx {
	/* set by the owner before the first step */
	struct gw *gw;
	uint16_t port, queue;
	struct gw__clock *clock;
	struct frame_source source;
	uint32_t batch;         /* frames reserved at once */
	bool loop;              /* start over until told to stop */
	bool has_eth_dst;
	uint8_t eth_dst[6];
	uint32_t window;        /* frames of one window, for the longest one; 0 = not measured */
	bool lent;              /* frames lie in memory lent to the queue: nothing is copied */
	bool device_memory;     /* slots are not the CPU's to write: copy through the library */
	double frames_per_s;    /* 0 = not paced */
	atomic_bool stop;       /* set by another thread */

	/* results, stable after the thread was joined; sent any time */
	_Atomic uint64_t sent;
	uint64_t wanted;        /* frames read from the source so far, or of one pass if that is more */
	uint64_t bytes;
	uint64_t send_failures; /* frames the queue refused for good */
	uint64_t fill_failures; /* frames that do not fit a slot */
	uint64_t no_burst_polls; /* times no slot was free */
	uint64_t first_ns, last_ns;
	uint64_t gap_ns, gap_frame;     /* longest time between two groups of frames leaving, and before which frame */
	uint64_t gap_held_ns;           /* of it, waiting because the queue or the peer took nothing */
	uint64_t span_ns, span_window;  /* longest time from a window's first frame to its last, and which window */
	int error;              /* what ended it early, 0 = nothing */

	/* own state */
	struct gw_tx tx;        /* reserved; [0, filled) are ready to go */
	bool reserved;
	uint32_t filled;
	uint64_t read;          /* frames taken from the source */
	uint64_t held_ns;       /* waited since frames last left */
	uint64_t window_ns;     /* when the window being sent began to leave */
	bool at_end;            /* the source has no more and nobody wants it again */
	struct gw__event nap;   /* never signalled, kicked by pcap_tx_stop() */
};

int pcap_tx_init(struct pcap_tx *t);
void pcap_tx_fini(struct pcap_tx *t);
/* Any thread: end soon. */
void pcap_tx_stop(struct pcap_tx *t);
enum tx_step pcap_tx_step(struct pcap_tx *t);
/* Step to the end, waiting in between, then wait until everything has left. */
void pcap_tx_run(struct pcap_tx *t);
/* The sender's line. */
void pcap_tx_print(const struct pcap_tx *t);
/* Its longest silences: what a receiver's deadline has to bear. */
void pcap_tx_print_gaps(const struct pcap_tx *t);

/* "aa:bb:cc:dd:ee:ff". 0 or -EINVAL. */
int eth_addr_parse(const char *text, uint8_t mac[6]);

#endif
