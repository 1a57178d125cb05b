/* gpuwire/port.h: receive and transmit on the queues of a port. */
#ifndef GPUWIRE_PORT_H
#define GPUWIRE_PORT_H

#include <gpuwire/burst.h>
#include <gpuwire/common.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

struct gw;

/* Port number of an interface by its name. Returns >= 0, or -ENOENT. Any thread. Ownership: nothing changes hands.
 * Blocks: no. */
GW_API GW_MUST_CHECK int gw_port_id(struct gw *gw, const char *interface_name);
/* Returns the number of queues of a port, or -EINVAL. Any thread. Ownership: nothing changes hands. Blocks: no. */
GW_API int gw_port_n_rxq(struct gw *gw, uint16_t port);
GW_API int gw_port_n_txq(struct gw *gw, uint16_t port);
/* The port's own address, network order. Returns 0, -EINVAL, -ENOTSUP (the engine has none). Any thread. Ownership:
 * mac is the caller's. Blocks: no. */
GW_API GW_MUST_CHECK int gw_port_mac(struct gw *gw, uint16_t port, uint8_t mac[6]);

/* 802.3x-like pause: with `on`, a port without a free slot holds its peer back instead of dropping.
 * Only links that can hold (cable, shm, pcap). Returns 0, -ENOTSUP, -EINVAL. Call before traffic. Any thread.
 * Ownership: nothing changes hands. Blocks: no. */
GW_API GW_MUST_CHECK int gw_port_set_pause(struct gw *gw, uint16_t port, bool on);
/* Shut or open the port's gate: with `drop`, arriving frames are counted in rx_steer_drop.
 * Returns 0, -ENOTSUP, -EINVAL. Any thread. Ownership: nothing changes hands. Blocks: no. */
GW_API GW_MUST_CHECK int gw_port_drop_all(struct gw *gw, uint16_t port, bool drop);

/* ---- receive -------------------------------------------------------------------------------- */

/* Take the next burst of a queue: borrowed until gw_burst_release().
 *   burst  caller's storage, written only when 1 is returned
 * Returns 1 a burst; 0 nothing now; -ENOBUFS nothing now and the pool is empty: release something;
 * -EINVAL; -ENODEV, -EIO the port is gone; -ESHUTDOWN after gw_stop(), once
 * everything was taken. Thread: one caller per
 * queue. Blocks: no. */
GW_API GW_MUST_CHECK int gw_rx_burst(struct gw *gw, uint16_t port, uint16_t queue, struct gw_burst *burst);
/* The same from whichever queue has something, each in turn: of one port, or of all with port -1. One caller
 * for all of these queues; it finds out which by burst->port and burst->queue. Returns as gw_rx_burst(); -ENOBUFS
 * or -ESHUTDOWN only when that is true of every queue. Thread: that one caller. Ownership: as gw_rx_burst().
 * Blocks: no. */
GW_API GW_MUST_CHECK int gw_rx_any(struct gw *gw, int port, struct gw_burst *burst);
/* Throw away what a queue has handed over up to now. Returns bursts released, or -EINVAL. Thread: as gw_rx_burst().
 * Ownership: what is thrown away is the library's at once. Blocks: no. */
GW_API int gw_rx_discard(struct gw *gw, uint16_t port, uint16_t queue);
/* Wait until gw_rx_burst() has something, or timeout_ns passed (UINT64_MAX = no limit). Returns 1 yes; 0
 * timeout; -ENOBUFS timeout while the pool is empty; else as above, at once. Thread: as gw_rx_burst(). Ownership:
 * nothing changes hands. Blocks: yes. */
GW_API GW_MUST_CHECK int gw_rx_wait(struct gw *gw, uint16_t port, uint16_t queue, uint64_t timeout_ns);

/* ---- transmit ------------------------------------------------------------------------------- */

/* n reserved packets: arrays of the library, valid until the matching submit. */
struct gw_tx {
	uint32_t n_pkts;
	uint32_t n_segs;
	uint16_t port, queue;
	void *const *seg_ptr[GW_MAX_SEGS]; /* fill these (in the region's kind of memory) */
	uint32_t seg_size[GW_MAX_SEGS];    /* bytes each segment can hold */
	uint32_t *seg_len[GW_MAX_SEGS];    /* set: bytes to send of each segment */
	uint64_t *tx_time_ns;              /* set: when to send, 0 = now; NULL unless accurate_send */
	void *priv;
};

/* Reserve up to n packets' slots. Returns how many (0 = none free now), -EINVAL, -EBUSY (the reservation
 * before is neither submitted whole nor cancelled), -ENODEV. Thread: one caller per queue. Ownership: the slots are
 * lent until submit or cancel. Blocks: no. */
GW_API GW_MUST_CHECK int gw_tx_reserve(struct gw *gw, uint16_t port, uint16_t queue, uint32_t n,
				       struct gw_tx *tx);
/* Hand the first n of the reserved packets to the NIC, in order. Returns how many were taken; a short count
 * means the rest is still yours: *tx then describes exactly that rest, submit again or gw_tx_cancel().
 * -EINVAL a length beyond its segment or a frame under 14 bytes (nothing is taken). Thread: as reserve. Ownership:
 * what was taken is the library's. Blocks: no; moves packets on the caller's core. */
GW_API GW_MUST_CHECK int gw_tx_submit(struct gw *gw, struct gw_tx *tx, uint32_t n);
/* Lend a queue memory of yours to send from without copying (see gw_tx_use()): at most 8 pieces a queue.
 *   ptr, bytes  host memory; it stays yours, and must stay mapped until gw_close()
 * Returns 0; -EINVAL; -ENOSPC after 8; -ENOMEM; -ENOTSUP if the engine sends from its own slots only, or the queue
 * writes source addresses (tx_eth_src). Thread: as reserve. Ownership: lent until gw_close(). Blocks: no.
 * Source: our own; the vendor's API has no such call. */
GW_API GW_MUST_CHECK int gw_tx_lend(struct gw *gw, uint16_t port, uint16_t queue, const void *ptr, size_t bytes);
/* Reserved packet i: segment seg is the `bytes` at ptr, in lent memory, instead of the slot's own. Sets its length
 * too. The bytes must not change until the packet has left (its slot can be reserved again, or gw_tx_drain()).
 * Returns 0; -EINVAL (no such packet or segment, or not inside one lent piece). Thread: as reserve. Ownership:
 * nothing changes hands. Blocks: no. Source: our own. */
GW_API GW_MUST_CHECK int gw_tx_use(struct gw_tx *tx, uint32_t i, uint32_t seg, const void *ptr, uint32_t bytes);
/* Give the rest of a reservation back unsent. Returns nothing. Thread: as reserve. Ownership: its slots are the
 * library's again. Blocks: no. */
GW_API void gw_tx_cancel(struct gw *gw, struct gw_tx *tx);
/* Wait until gw_tx_reserve() may succeed, or timeout_ns passed. Returns 1 yes, 0 timeout, -EINVAL, -ENODEV,
 * -ESHUTDOWN (closing). Thread: as reserve. Ownership: nothing changes hands. Blocks: yes. */
GW_API GW_MUST_CHECK int gw_tx_wait(struct gw *gw, uint16_t port, uint16_t queue, uint64_t timeout_ns);
/* Wait until everything submitted has left. Returns 0, -ETIMEDOUT, -EINVAL, -ENODEV, -ESHUTDOWN (closing).
 * Thread: as reserve. Ownership: nothing changes hands. Blocks: yes. */
GW_API GW_MUST_CHECK int gw_tx_drain(struct gw *gw, uint16_t port, uint16_t queue, uint64_t timeout_ns);

#ifdef __cplusplus
}
#endif
#endif
