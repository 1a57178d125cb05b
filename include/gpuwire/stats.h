/* gpuwire/stats.h: every packet the wire carried is counted in exactly one place.
 *
 * rx_wire_packets = rx_packets + rx_missed + rx_steer_miss + rx_steer_drop + rx_errors   (port)
 * rx_packets      = in_flight + delivered_packets + placed + duplicate + late + stale + bad + dropped (queue)
 * At quiescence the in-flight term is 0 and the sums close exactly. Names follow ethtool's. */
#ifndef GPUWIRE_STATS_H
#define GPUWIRE_STATS_H

#include <gpuwire/common.h>

#ifdef __cplusplus
extern "C" {
#endif

struct gw;

struct gw_port_stats {
	uint64_t rx_wire_packets; /* frames the link handed to the port */
	uint64_t rx_packets;      /* written into a queue's slot, completion made */
	uint64_t rx_bytes;
	uint64_t rx_missed;     /* no slot was posted: the consumer is late */
	uint64_t rx_steer_miss; /* no rule matched */
	uint64_t rx_steer_drop; /* a drop rule matched, or the port's gate is shut */
	uint64_t rx_errors;     /* runt, longer than the slot, or not readable */
	uint64_t rx_l3_bad, rx_l4_bad; /* flagged, delivered all the same */
	uint64_t tx_packets;
	uint64_t tx_bytes;
	uint64_t tx_errors;  /* refused requests: bad key, length, opcode */
	uint64_t tx_dropped; /* the link refused the frame for good */
	uint64_t tx_paused;  /* times the link held the sender back */
};

struct gw_queue_stats {
	uint64_t rx_packets, rx_bytes;   /* taken from the completion queue */
	uint64_t delivered_bursts, delivered_packets; /* raw, taken by the application */
	uint64_t no_free_bursts;         /* times no burst was free */
	uint64_t in_flight;              /* rx: taken, and not yet placed, delivered or dropped; tx: not completed */
	uint64_t tx_packets, tx_bytes, tx_completions;
	uint64_t silence_ns; /* longest wait for the sender at which a window was given up at its deadline */
};

struct gw_reorder_stats {
	uint64_t windows;            /* handed over */
	uint64_t windows_incomplete; /* of those, with a hole */
	uint64_t placed_packets;     /* in windows handed over or open */
	uint64_t duplicate_packets;
	uint64_t late_packets;       /* for a window already handed over */
	uint64_t stale_packets;      /* further back than the number can say */
	uint64_t bad_packets;        /* sequence field or payload outside the frame */
	uint64_t missing_packets;    /* holes in windows handed over */
	uint64_t no_free_buffers;    /* times no output buffer was free */
	uint64_t open_packets;       /* placed in windows still open */
	uint64_t dropped_windows;    /* missing_action: drop */
	uint64_t dropped_packets;    /* placed in windows dropped; not in placed_packets */
};

/* Snapshots. Return 0, -EINVAL (no such port, queue or plan). Any thread. Ownership: *out is the caller's. Blocks: no. */
GW_API GW_MUST_CHECK int gw_port_stats(struct gw *gw, uint16_t port, struct gw_port_stats *out);
GW_API GW_MUST_CHECK int gw_rxq_stats(struct gw *gw, uint16_t port, uint16_t queue, struct gw_queue_stats *out);
GW_API GW_MUST_CHECK int gw_txq_stats(struct gw *gw, uint16_t port, uint16_t queue, struct gw_queue_stats *out);
GW_API GW_MUST_CHECK int gw_reorder_stats(struct gw *gw, const char *reorder_name, struct gw_reorder_stats *out);

/* Every counter by name, for tables and --json. */
struct gw_counter {
	char scope[136]; /* "rx_port", "rx_port/rx0", "rx_port/plan_name" */
	const char *name;
	uint64_t value;
	const char *help;
};
/* Fill up to n counters; returns how many there are. Any thread. Ownership: out is the caller's, names and help are
 * static. Blocks: no. */
GW_API int gw_counters(struct gw *gw, struct gw_counter *out, int n);

/* Returns 0 if every sum closes (call when quiet); -EPROTO and the sum that does not, in words. Any thread.
 * Ownership: nothing changes hands. Blocks: no. */
GW_API GW_MUST_CHECK int gw_stats_check(struct gw *gw, struct gw_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
