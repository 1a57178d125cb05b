/* reorder/plan.h: numbers become moves: which packet goes to which slot of which window, and when a window
 * is over. Touches no payload, no memory but its own and the caller's arrays, no clock.
 * Must not know streams, output buffers or types. Next: plan.c, then reorder.c which drives it.
 *
 * Rules, in one place:
 *   - A number of w bits is unwrapped around the next one expected: the candidate nearest to it, at most
 *     2^(w-1) - 1 back or ahead. Packets the port itself lost move the expectation on, so that a gap of
 *     any width made by the port never aliases. Exactly 2^(w-1) away cannot be told from its mirror: stale.
 *   - Window = unwrapped number / packets_per_batch, slot = the rest. Arrival order decides nothing.
 *   - max_open consecutive windows accept packets. They close in order: a full window closes itself and
 *     every older one; a packet beyond the last one closes the oldest (superseded).
 *   - A second packet for a filled slot is a duplicate (the first one stays); one for a closed window is
 *     late; one from before the first window seen is stale. A late one can still be the newest number.
 *   - A sender that starts again from an old number would be late for ever. (max_open + 1) * packets_per_batch
 *     + 64 late or stale packets in a row, with nothing else between them, are taken for that (closing every open
 *     window early makes at most max_open * packets_per_batch late): open windows close as superseded and the
 *     stream is joined anew, under window numbers that were never used. */
#ifndef GW_REORDER_PLAN_H
#define GW_REORDER_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GW__PLAN_MAX_OPEN 64u
#define GW__PLAN_RESTART_RUN 64u

struct gw__move {
	uint32_t slot; /* source */
	uint32_t idx;  /* place in the window */
	uint32_t len;  /* payload bytes of the source */
};

enum gw__close { GW__CLOSE_FULL, GW__CLOSE_SUPERSEDED, GW__CLOSE_DEADLINE, GW__CLOSE_FLUSH };

/* One window. The caller owns it from gw__plan_closed() to the next gw__plan_open(). */
struct gw__plan_window {
	uint64_t *valid;       /* caller's, packets_per_batch bits; cleared by gw__plan_open() */
	struct gw__move *move; /* caller's, [packets_per_batch], filled in arrival order */
	uint64_t number;       /* internal; gw__plan_id() makes it public */
	uint64_t first_ts_ns;  /* arrival of the first packet */
	uint32_t n_placed;
	enum gw__close why;
};

struct gw__plan_counts {
	uint64_t placed, duplicate, late, stale, bad, restarts;
};

struct gw__plan {
	/* fixed */
	uint32_t per_batch, seq_bits, max_open;
	uint32_t shift;     /* log2(per_batch) */
	uint32_t unused;    /* 32 - seq_bits: bits above the number */
	uint64_t run_limit; /* late packets in a row that mean a restart */
	uint64_t timeout_ns;
	/* the stream */
	bool started;
	uint64_t next;  /* unwrapped: highest number seen + 1 */
	uint64_t ahead; /* packets the port lost after that, not yet confirmed by a higher number */
	bool lost_used; /* lost_before of the packet 0 offered now has been dealt with */
	uint64_t first_window, base; /* base: the oldest window that still accepts packets */
	uint64_t close_to;           /* windows below it are to be closed */
	enum gw__close close_why;
	uint64_t run, run_mark; /* late packets in a row; placed + duplicate when it last grew */
	/* windows */
	struct gw__plan_window *open[GW__PLAN_MAX_OPEN]; /* by number modulo the size */
	struct gw__plan_window *cur;                     /* the one used last; never NULL */
	struct gw__plan_window none;                     /* stands for "no window" */
	uint32_t n_open;
	uint64_t need, need_ts_ns;
	struct gw__plan_counts counts;
};

/* The number of a packet that bears a batch number beside a running one: the batch above, `shift` bits of the other. */
static inline uint32_t gw__plan_join(uint32_t batch, uint32_t seq, uint32_t shift)
{
	return (uint32_t)((uint64_t)batch << shift) | (seq & (uint32_t)(((uint64_t)1 << shift) - 1));
}

/* What gw__plan_place() takes: arrays side by side. */
struct gw__plan_in {
	const uint32_t *slot;
	const uint32_t *seq;
	const uint32_t *batch;       /* seq_batch_number: the batch field; NULL = the high bits of seq */
	const uint32_t *payload_len; /* 0 = the number or the payload lay outside the frame: bad */
	const uint64_t *ts_ns;       /* NULL = now_ns */
	uint64_t now_ns;
	uint64_t lost_before;        /* counted once, when packet 0 is taken */
};

/* packets_per_batch must divide 2^seq_bits; max_open 1..64. 0 or -EINVAL. No memory is allocated. */
int gw__plan_init(struct gw__plan *p, uint32_t packets_per_batch, uint32_t seq_bits, uint32_t max_open,
		  uint64_t timeout_ns);

enum gw__plan_step {
	GW__PLAN_END,    /* all of [*i, n) taken */
	GW__PLAN_CLOSED, /* call gw__plan_closed() until it returns NULL, then go on */
	GW__PLAN_NEED,   /* packet *i opens a window: gw__plan_open(), or come back later */
};

/* Take packets from *i on. Slots of packets that were not placed are appended to reject (room for n - *i). */
enum gw__plan_step gw__plan_place(struct gw__plan *p, const struct gw__plan_in *in, uint32_t *i, uint32_t n,
				  uint32_t *reject, uint32_t *n_reject);
/* Answer to GW__PLAN_NEED. */
void gw__plan_open(struct gw__plan *p, struct gw__plan_window *w);
/* The next window that is over, oldest first; NULL = none. */
struct gw__plan_window *gw__plan_closed(struct gw__plan *p);

/* Mark windows for closing; collect them with gw__plan_closed(). */
void gw__plan_expire(struct gw__plan *p, uint64_t now_ns);
void gw__plan_flush(struct gw__plan *p);

/* Earliest deadline of an open window; UINT64_MAX = none. */
uint64_t gw__plan_deadline(const struct gw__plan *p);
/* The window number to report. */
uint64_t gw__plan_id(const struct gw__plan *p, const struct gw__plan_window *w);
/* Packets in open windows. */
uint64_t gw__plan_n_open_packets(const struct gw__plan *p);

#endif
