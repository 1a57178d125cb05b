/* ingest/engines/nic/nic_engine.h: what the files of this engine share.
 * Work queues in mlx5 format, filled and read by the queue's owner; the provider drains them.
 * Next: engine.c (ports and rules), rxq.c, txq.c. */
#ifndef GW_INGEST_NIC_ENGINE_H
#define GW_INGEST_NIC_ENGINE_H

#include <pthread.h>
#include <stdatomic.h>

#include "ingest/config.h"
#include "ingest/engine.h"
#include "nic/mlx5_format.h"
#include "nic/nic.h"

#define NE_BURST 64
#define NE_MAX_DEPTH 32768u
#define NE_MIN_FRAME 14u
#define NE_MAX_THREADS 7u /* with the sender's or the receiver's, GW_LINK_FLIGHTS */

/* One of a port's own threads. */
struct ne_thread {
	pthread_t id;
	struct gw__nic *nic;
	struct gw__event nap; /* where it rests */
	_Atomic bool halt;
};

struct ne_port {
	struct gw__nic *nic;
	struct gw__nic_obj *obj;
	struct gw__nic_obj *rq[GW_MAX_QUEUES]; /* by queue id */
	struct ne_rxq *rxq[GW_MAX_QUEUES];
	struct ne_txq *txq[GW_MAX_QUEUES];
	uint32_t n_rxq, n_txq;
	uint8_t mac[6];
	bool running, drop_all; /* the gate is open when running and not told to drop */
	uint32_t tx_overhead; /* bytes that tx flows may put in front */
	bool lazy_tx; /* submit() posts only; whoever receives runs the NIC, or the port's own threads */
	uint32_t n_threads, n_running;
	struct ne_thread thread[NE_MAX_THREADS];
};

struct nic_engine {
	struct gw__engine base; /* first */
	const struct gw_cfg *cfg;
	struct ne_port port[GW_MAX_PORTS];
	uint32_t n_ports;
};

/* One segment of every slot, as a work request names it. */
struct ne_seg {
	uint64_t base; /* as registered */
	uint8_t *host;
	uint32_t stride, size;
	uint32_t key, key_be, size_be;
};

/* Register the segments. On failure nothing stays registered. */
int ne_segs_register(struct gw__nic *nic, const struct gw__slots *slots, struct ne_seg seg[GW_MAX_SEGS],
		     struct gw_diag *diag);
void ne_segs_unregister(struct gw__nic *nic, uint32_t n_segs, const struct ne_seg seg[GW_MAX_SEGS]);

/* A completion at ring index i, or NULL: its owner byte is read with acquire, the rest may be read then. */
static inline struct mlx5_cqe *ne_cqe(uint8_t *ring, uint32_t i, uint32_t log_n)
{
	uint8_t *c = ring + (size_t)(i & ((1u << log_n) - 1)) * sizeof(struct mlx5_cqe);
	uint8_t own = __atomic_load_n(c + offsetof(struct mlx5_cqe, op_own), __ATOMIC_ACQUIRE);

	if ((own & 1) != mlx5_owner(i, log_n) || own >> 4 == MLX5_CQE_INVALID)
		return NULL;
	return (struct mlx5_cqe *)(void *)c;
}

int ne_rxq_open(struct ne_port *port, const struct gw__queue_params *p, struct gw__event *event,
		struct gw__rxq *out, struct gw_diag *diag);
void ne_rxq_close(struct ne_rxq *q);
/* The port holds senders back, or no longer does. Any thread. */
void ne_rxq_pause(struct ne_rxq *q, bool on);
int ne_txq_open(struct ne_port *port, const struct gw__queue_params *p, struct gw__event *event, bool set_src_mac,
		struct gw__txq *out, struct gw_diag *diag);
void ne_txq_close(struct ne_txq *q);

extern const struct gw__engine_ops gw__engine_nic;

#endif
