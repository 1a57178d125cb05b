/* nic/nic.h: the one NIC model: queues are memory in mlx5 format, a provider drains them.
 * Twelve control ops; data queues are plain memory. Providers: soft/ (ours, always there).
 * Must not know YAML, bursts or windows. Next: mlx5_format.h, soft/soft.c. */
#ifndef GW_NIC_NIC_H
#define GW_NIC_NIC_H

#include <gpuwire/common.h>
#include <gpuwire/flow.h>
#include <gpuwire/stats.h>
#include <stdbool.h>

#include "base/clock.h"
#include "base/wait.h"

struct gw__nic;
struct gw__nic_obj;

enum gw__nic_obj_type { GW__NIC_PD, GW__NIC_MR, GW__NIC_UMEM, GW__NIC_UAR, GW__NIC_CQ, GW__NIC_QP, GW__NIC_SRQ,
			GW__NIC_AH, GW__NIC_SQ, GW__NIC_RQ };

/* What obj_create takes: a tagged union, one member per type. Memory stays the caller's and must outlive the
 * object; every address in it is checked against registered memory before it is touched. */
struct gw__nic_attr {
	enum gw__nic_obj_type type;
	union {
		struct { /* completion queue: n 64-byte entries, power of two, prefilled with op_own 0xF1 */
			void *buf;
			uint32_t log_n;
			uint32_t *dbrec;         /* be32: consumer index, arm */
			struct gw__event *event; /* signalled when entries are written, coalesced; or NULL */
			bool compressed;         /* 8-byte mini entries for runs of equal title */
		} cq;
		struct { /* Ethernet receive queue: n entries of n_segs data segments of 16 bytes */
			void *buf;
			uint32_t log_n, log_stride; /* stride in bytes, power of two */
			uint32_t *dbrec;            /* be32[2]; [0] counts receive entries posted */
			struct gw__nic_obj *cq;
			bool timestamps;
		} rq;
		struct { /* Ethernet send queue: n 64-byte basic blocks */
			void *buf;
			uint32_t log_n;
			uint32_t *dbrec; /* be32[2]; [1] counts send blocks posted */
			uint64_t *db;    /* doorbell word: a hint, see design of doorbells */
			struct gw__nic_obj *cq;
			uint64_t pacing_bps;
		} sq;
	};
};

struct gw__nic_ops {
	const char *name;
	int (*open)(const char *address, struct gw__clock *clock, struct gw__nic **out, struct gw_diag *diag);
	void (*close)(struct gw__nic *nic);
	int (*query)(struct gw__nic *nic, struct gw_port_stats *out);
	int (*obj_create)(struct gw__nic *nic, const struct gw__nic_attr *attr, struct gw__nic_obj **out,
			  struct gw_diag *diag);
	int (*obj_modify)(struct gw__nic_obj *obj, int what, uint64_t value);
	uint32_t (*obj_query)(const struct gw__nic_obj *obj, int what); /* number, key ... */
	void (*obj_destroy)(struct gw__nic_obj *obj);
	/* ptr as work requests name it; host = CPU alias of the same bytes (NULL: not CPU-reachable) */
	int (*mem_reg)(struct gw__nic *nic, const void *ptr, void *host, size_t n_bytes, uint32_t *key);
	void (*mem_unreg)(struct gw__nic *nic, uint32_t key);
	/* Rules in order; queues are receive queue numbers. */
	int (*flow)(struct gw__nic *nic, const struct gw_flow_rule *rule, struct gw__nic_obj *const *rqs,
		    bool add, struct gw_diag *diag);
	/* Do up to budget frames' worth of work (send side, then link arrivals). Any thread; one at a time gets in.
	 * Returns frames moved; 0 = drained; -EAGAIN = another thread is inside. */
	int (*progress)(struct gw__nic *nic, int budget);
	/* About to block: true if there is work. */
	bool (*arm)(struct gw__nic *nic);
};

enum { GW__NIC_NUMBER, GW__NIC_KEY, GW__NIC_PAUSE, GW__NIC_DROP_ALL };

extern const struct gw__nic_ops gw__nic_soft;

#endif
