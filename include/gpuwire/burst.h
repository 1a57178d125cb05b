/* gpuwire/burst.h: one batch of packets, as plain arrays side by side, or one reordered tensor.
 *
 * A packet is a slot index; segment s of slot i lies at a fixed address of region s, so an address is
 * arithmetic, never a chain. The arrays belong to the library from gw_rx_burst() to gw_burst_release(). */
#ifndef GPUWIRE_BURST_H
#define GPUWIRE_BURST_H

#include <gpuwire/common.h>
#include <gpuwire/mem.h>

#ifdef __cplusplus
extern "C" {
#endif

/* burst.flags; the bit numbers are the ones of the DAQIRI reference */
#define GW_BURST_REORDERED (1u << 28)       /* packet 0 is one whole tensor */
#define GW_BURST_REORDER_TIMEOUT (1u << 29) /* handed over before it was full: ask gw_burst_reorder_info() */
#define GW_BURST_INCOMPLETE (1u << 27)      /* at least one slot is a hole */

/* pkt_flags[] */
#define GW_PKT_L3_BAD (1u << 0)     /* IPv4 header checksum or length is false */
#define GW_PKT_L4_BAD (1u << 1)     /* UDP checksum or length is false */
#define GW_PKT_L3_UNKNOWN (1u << 2) /* not checked (verify: off, or not IP) */
#define GW_PKT_L4_UNKNOWN (1u << 3)
#define GW_PKT_TRUNCATED (1u << 4)  /* the frame was longer than its slot: the rest is lost */

struct gw_burst {
	uint32_t n_pkts;
	uint32_t n_segs;
	uint32_t flags; /* GW_BURST_* */
	uint16_t port;
	uint16_t queue;
	/* Arrays of n_pkts entries each. A reordered burst has one entry: the tensor. */
	void *const *seg_ptr[GW_MAX_SEGS];      /* seg_ptr[s][i]: address of segment s of packet i, in the
						 * region's own kind of memory */
	const uint32_t *seg_len[GW_MAX_SEGS];   /* bytes */
	const uint32_t *len;                    /* whole frame, bytes as on the wire (without FCS) */
	const uint32_t *flow;                   /* id of the flow that steered it; 0 = none */
	const uint32_t *pkt_flags;              /* GW_PKT_* */
	const uint64_t *ts_ns;                  /* receive timestamps, NULL when off */
	const uint32_t *seq;                    /* sequence numbers, NULL without a reorder plan */
	struct gw_event *event;                 /* reordered: the tensor may be read after it; else NULL */
	void *priv;                             /* the library's */
};

/* What a reordered burst is made of. */
struct gw_reorder_info {
	uint64_t batch_id;            /* unwrapped window number */
	uint32_t source_packet_count; /* packets placed */
	uint32_t packets_per_batch;
	uint32_t n_missing;           /* packets_per_batch - source_packet_count */
	uint32_t payload_len;         /* bytes of one output slot */
	uint64_t aggregate_len;       /* bytes of the tensor */
	uint32_t burst_flags;
	uint32_t packets_per_group;   /* group = image; packets_per_batch without groups */
	uint32_t n_groups;
	uint32_t n_groups_valid;      /* groups without a hole */
	const uint64_t *valid;        /* bit i: slot i is filled; packets_per_batch bits */
	const uint64_t *group_valid;  /* bit g: group g has no hole; n_groups bits */
	uint64_t first_ts_ns;         /* arrival of the first packet of this window */
};

/* Describe a reordered burst. Pointers in *info live until the burst is released.
 * Ownership: *info is the caller's.
 * Returns 0; -EAGAIN while the burst's event has not fired; -EINVAL if it is not a reordered burst; the
 * event's error. Thread: the burst's owner. Blocks: no. */
GW_API GW_MUST_CHECK int gw_burst_reorder_info(const struct gw_burst *burst, struct gw_reorder_info *info);

/* Give a whole burst back. The event must have fired if the consumer's own work reads it later than that:
 * release after your last read. The storage of *burst is yours again and zeroed.
 * Returns nothing; a zeroed burst is fine. Thread: any one thread at a time per queue (single producer back to the
 * queue). Ownership: the slots go back to the library. Blocks: no. */
GW_API void gw_burst_release(struct gw_burst *burst);

/* Give packet i back early; gw_burst_release() skips it later. Returns 0, -EINVAL (index, reordered burst),
 * -EALREADY. Thread: as gw_burst_release(). Ownership: packet i goes back to the library, the rest stays lent.
 * Blocks: no. */
GW_API GW_MUST_CHECK int gw_burst_release_pkt(struct gw_burst *burst, uint32_t i);

#ifdef __cplusplus
}
#endif
#endif
