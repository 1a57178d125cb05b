/* urom_worker/stats.h: a page of counters that a worker writes and its daemon reads.
 * Must not know either. Next: worker.c, src/urom/daemon/status.c. */
#ifndef GW_UROM_WORKER_STATS_H
#define GW_UROM_WORKER_STATS_H

#include <stdatomic.h>
#include <stdint.h>

/* relaxed everywhere: numbers to show, nothing is published through them */
struct gw__urom_stats {
	_Atomic uint64_t n_cmds, n_notifs, n_errors, n_drops;
	_Atomic uint64_t n_clients, n_inflight;
	_Atomic uint64_t in_plugin_since_ns; /* 0, or when the call now running began */
};

/* One writer: a load and a store, no locked instruction on the way of every command. */
static inline void gw__stat_add(_Atomic uint64_t *v)
{
	atomic_store_explicit(v, atomic_load_explicit(v, memory_order_relaxed) + 1, memory_order_relaxed);
}

/* What the daemon sets up before it executes a worker. */
#define GW__WORKER_FD_CTL 3
#define GW__WORKER_FD_STATS 4
#define GW__WORKER_FD_PLUGIN 5 /* first of them */

#endif
