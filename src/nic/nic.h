/* nic/nic.h: the one NIC model: queues are memory in mlx5 format, a provider drains them.
 * Twelve control ops; data queues are plain memory. Providers: soft/ (ours, always there).
 * Must not know YAML, bursts or windows. Next: mlx5_format.h, soft/port.c. */
#ifndef GW_NIC_NIC_H
#define GW_NIC_NIC_H

#include <gpuwire/common.h>
#include <gpuwire/flow.h>
#include <gpuwire/stats.h>
#include <stdbool.h>

#include "base/clock.h"
#include "base/wait.h"

struct gw__nic_ops;

/* What providers embed first. */
struct gw__nic {
	const struct gw__nic_ops *ops;
};

enum gw__nic_obj_type { GW__NIC_PD, GW__NIC_MR, GW__NIC_UMEM, GW__NIC_UAR, GW__NIC_CQ, GW__NIC_QP, GW__NIC_SRQ,
			GW__NIC_AH, GW__NIC_SQ, GW__NIC_RQ, GW__NIC_PORT };

struct gw__nic_obj {
	struct gw__nic *nic;
	enum gw__nic_obj_type type;
};

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
		/* GW__NIC_PORT: the port's own settings, no memory */
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
	void (*obj_destroy)(struct gw__nic_obj *obj); /* queues before their completion queue; NULL is fine */
	/* ptr as work requests name it; host = CPU alias of the same bytes (NULL: not CPU-reachable) */
	int (*mem_reg)(struct gw__nic *nic, const void *ptr, void *host, size_t n_bytes, uint32_t *key);
	void (*mem_unreg)(struct gw__nic *nic, uint32_t key);
	/* Append a rule, or with add = false remove the rules of rule->id. rqs[i] is the receive queue that the
	 * rule's queue action names as queue[i]; frames already placed stay where they are. */
	int (*flow)(struct gw__nic *nic, const struct gw_flow_rule *rule, struct gw__nic_obj *const *rqs,
		    bool add, struct gw_diag *diag);
	/* Do up to budget frames' worth of work: GW__NIC_TX the send queues, GW__NIC_RX what arrives on the link
	 * (over a cable that is the peer's send side). Any thread; one at a time gets in.
	 * Returns frames moved; 0 = drained; -EAGAIN = another thread is inside, or frames are held back
	 * because the receiver has no entry for them. */
	int (*progress)(struct gw__nic *nic, int budget, unsigned int dirs);
	/* About to block, after arming the event: looks once more. True if anything moved (do not block).
	 * *due_ns: when to look again without a signal (paced replay, scheduled send), UINT64_MAX = never. */
	bool (*arm)(struct gw__nic *nic, unsigned int dirs, uint64_t *due_ns);
};

enum { GW__NIC_TX = 1, GW__NIC_RX = 2 };

/* What obj_query reads and obj_modify sets, by object. */
enum {
	GW__NIC_NUMBER,    /* query, any queue */
	GW__NIC_STATE,     /* query, sq and rq: GW__NIC_RST ...; modify: RST or RTS (SQ, RQ restart empty), ERR */
	GW__NIC_MISSED,    /* query, rq: frames that found no entry */
	GW__NIC_STALE,     /* query, sq and rq: doorbells outside the ring, ignored */
	GW__NIC_POSTED,    /* modify, rq: entries were posted; wakes a held-back sender. Any time, cheap */
	GW__NIC_PAUSE,     /* modify, port: hold the peer back instead of dropping; -ENOTSUP */
	GW__NIC_DROP_ALL,  /* modify, port: shut the gate */
	GW__NIC_VERIFY,    /* modify, port: check UDP checksums of arriving frames */
	GW__NIC_MTU,       /* query, port: largest frame */
	GW__NIC_LINK_EVENT, /* modify, port: (uintptr_t) struct gw__event * of a consumer that will block */
};

enum { GW__NIC_RST, GW__NIC_RTS = 3, GW__NIC_ERR = 4 };

extern const struct gw__nic_ops gw__nic_soft;

#endif
