/* reorder/reorder.h: from (slot, sequence number) to one tensor per window.
 * plan.c turns numbers into moves and touches no payload (its rules are in plan.h); scatter.c moves and
 * converts; reorder.c ties them to output buffers, a stream and its events. Must not know engines or queues.
 * Thread rule: everything but gw__reorder_done() belongs to the queue's owner. Next: plan.h. */
#ifndef GW_REORDER_REORDER_H
#define GW_REORDER_REORDER_H

#include <gpuwire/burst.h>
#include <gpuwire/common.h>
#include <gpuwire/stats.h>
#include <stdbool.h>

#include "gpu/gpu.h"

enum gw__elem { GW_ELEM_NONE, GW_INT4, GW_INT8, GW_INT16, GW_INT32, GW_FP16, GW_BF16, GW_FP32, GW_FP64 };
enum gw__fill { GW_FILL_ZERO, GW_FILL_KEEP, GW_FILL_POISON };

/* bytes of n input bytes after conversion; 0 if the pair is not known */
size_t gw__converted_bytes(enum gw__elem in, enum gw__elem out, size_t n_in);

struct gw__reorder_config {
	const char *name;          /* copied */
	uint32_t packets_per_batch;
	uint8_t seq_bits;          /* width of the number, 1..32 */
	uint8_t batch_bits;        /* seq_batch_number: width of the batch number, else 0 */
	/* method seq_batch_number: packets_per_batch = 2^(seq_bits - batch_bits) */
	enum gw__elem in_type, out_type; /* both NONE = plain copy */
	bool swap;                 /* network byte order input */
	uint32_t payload_len;      /* bytes of a full packet's payload */
	uint64_t timeout_ns;       /* 0 = no deadline */
	uint32_t packets_per_group; /* image; 0 = no groups */
	uint32_t max_open;         /* open windows, >= 2; 0 = 2 */
	enum gw__fill fill;
	bool drop_missing;         /* missing_action: drop */
	bool on_cpu;               /* reorder_type cpu: the CPU moves the bytes even beside a real GPU */
	/* source: payload of slot i at src_base + i * src_stride (device view), src_host = CPU alias or NULL */
	const uint8_t *src_base, *src_host;
	uint32_t src_stride;
	/* output buffers */
	uint8_t *out_base;
	size_t out_stride, out_size;
	uint32_t n_out;    /* >= max_open */
	uint32_t run;      /* windows that lie side by side, from a buffer whose index is a multiple of run; 0 = 1 */
	const struct gw__gpu_ops *gpu;
	struct gw_stream *stream; /* NULL = one of its own */
};

struct gw__reorder;

int gw__reorder_create(const struct gw__reorder_config *c, struct gw__reorder **out, struct gw_diag *diag);
void gw__reorder_destroy(struct gw__reorder *r);
/* Until the first push. */
int gw__reorder_bind(struct gw__reorder *r, struct gw_stream *stream);

/* Arrays side by side; payload_len[i] may be shorter than a full one (short last packet). */
struct gw__reorder_in {
	const uint32_t *slot, *seq;
	const uint32_t *batch; /* seq_batch_number: the batch field; NULL = it is the high bits of seq */
	/* longer than a full one: cut; 0: the number or the payload lies outside the frame, counted bad */
	const uint32_t *payload_len;
	const uint64_t *ts_ns; /* arrival stamps; NULL = now_ns for all */
	uint64_t now_ns;
	/* packets the port lost since the last push, in stream order, before in[0]: keeps wide gaps unaliased.
	 * Counted when packet 0 is taken: leave it as it is in a second try, ignored when first > 0. */
	uint64_t lost_before;
};

/* Place packets [first, n). Returns how many were consumed; fewer = no output buffer is free, or 4,096 refused
 * packets wait for gw__reorder_freed() (collect, and try again after a release: nothing is lost). Slots of
 * placed packets are held until gw__reorder_freed() reports them; duplicates, late, stale and bad ones are
 * reported there at once. Each call queues one piece of work per open window it touched, so push what a poll
 * brought at once: the bytes are still in cache, and their slots come back as soon as the piece ran. */
uint32_t gw__reorder_push(struct gw__reorder *r, const struct gw__reorder_in *in, uint32_t first, uint32_t n);

/* Judge deadlines at now_ns; call only right after link and ring were found drained. Returns windows handed over. */
uint32_t gw__reorder_tick(struct gw__reorder *r, uint64_t now_ns);
/* When the earliest open window's deadline falls; UINT64_MAX = none. */
uint64_t gw__reorder_deadline(const struct gw__reorder *r);
/* Close every open window that holds a packet. Returns how many were handed over. */
uint32_t gw__reorder_flush(struct gw__reorder *r);

/* Slots whose bytes are no longer needed (their piece of the window ran, or its event fired). Up to n;
 * returns how many. Call it after each push and while waiting for a buffer: a buffer is used again only
 * after its slots were collected here. */
uint32_t gw__reorder_freed(struct gw__reorder *r, uint32_t *slots, uint32_t n);

/* One handed-over window. buf is valid, and info's pointers live, until gw__reorder_done(buf). */
struct gw__window {
	uint32_t buf;
	void *tensor;
	size_t len;
	uint32_t flags; /* GW_BURST_* */
	struct gw_event *event;
	struct gw_reorder_info info;
};
bool gw__reorder_pop(struct gw__reorder *r, struct gw__window *out);
/* The consumer is finished with an output buffer. One other thread may call this (SPSC back to the owner). */
void gw__reorder_done(struct gw__reorder *r, uint32_t buf);

void gw__reorder_stats(const struct gw__reorder *r, struct gw_reorder_stats *out); /* any thread */

#endif
