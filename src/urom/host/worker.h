/* urom/worker.h: the worker context, for worker.c (life), task.c (commands) and mem.c (segments).
 * Must not be seen by anyone else. Next: worker.c. */
#ifndef GW_UROM_WORKER_H
#define GW_UROM_WORKER_H

#include "urom/host.h"

#define GW__UROM_MAX_SEGS 64u
#define GW__UROM_USER_BYTES DOCA_UROM_WORKER_TASK_USER_DATA_SIZE

struct doca_urom_mem {
	void *addr;
	size_t size;
	int fd;
};

struct doca_urom_worker_cmd_task {
	struct doca_task base;
	struct doca_urom_worker_cmd_task *next_free;
	struct doca_urom_worker *worker;
	uint64_t plugin;
	doca_urom_worker_cmd_task_completion_cb_t cb;
	struct doca_buf payload, response;
	bool has_response;
	uint64_t deadline_ns; /* 0 = none */
	_Alignas(16) uint8_t user[GW__UROM_USER_BYTES];
	size_t cap;
	uint8_t bytes[]; /* [cap] */
};

/* A place in the flight table. The context on the wire is generation << 32 | index, so a late or forged
 * answer never meets another task. */
struct gw__urom_slot {
	struct doca_urom_worker_cmd_task *task;
	uint32_t generation;
	uint32_t next_free;
};

enum gw__urom_phase {
	GW__W_NONE,
	GW__W_SPAWN, /* asked the daemon */
	GW__W_DIAL,  /* data channel being made */
	GW__W_RUN,
	GW__W_BYE,   /* said BYE, waiting for the end of the stream */
};

struct doca_urom_worker {
	struct doca_ctx ctx;
	struct doca_urom_service *service;
	uint64_t want_id, id;
	uint32_t gid;
	bool persistent, ran;
	uint64_t plugins;
	doca_cpu_set_t cpuset;
	bool cpuset_set;
	uint32_t max_inflight;
	uint32_t timeout_ms;
	char **env;
	size_t n_env;
	int n_holders; /* domains */

	enum gw__urom_phase phase;
	uint64_t deadline_ns; /* of the phase */
	struct gw__urom_req req;
	int service_fd; /* a duplicate, watched while starting */
	struct gw__dial dial;
	struct gw__chan chan;
	bool has_chan;
	bool sends_fds; /* a UNIX channel */
	uint32_t agreed_msg;
	uint64_t dest;
	struct gw_diag diag;

	/* commands */
	struct gw__urom_slot *slots; /* [max_inflight] while not idle */
	uint32_t free_slot;          /* UINT32_MAX = full */
	struct doca_urom_worker_cmd_task *spare; /* released, kept for the next allocate */
	uint32_t n_spare;
	long n_tasks; /* allocated by the user */
	uint64_t n_stray; /* answers nobody waits for */
	uint32_t n_looks;

	/* the plugins' addresses, and the domain table on its way */
	uint8_t *addr;
	size_t addr_len, addr_cap;
	doca_error_t addr_state;
	const uint8_t *table;
	size_t table_len, table_at;
	doca_error_t table_state;

	struct {
		struct doca_urom_mem *mem;
		uint32_t rights;
	} segs[GW__UROM_MAX_SEGS];
	uint32_t n_segs;
};

/* task.c */
doca_error_t gw__urom_worker_submit(struct doca_ctx *ctx, struct doca_task *task);
doca_error_t gw__urom_tasks_open(struct doca_urom_worker *w);
/* Completes every task in flight with this status, then frees the table. */
void gw__urom_tasks_close(struct doca_urom_worker *w, doca_error_t status);
void gw__urom_tasks_notif(struct doca_urom_worker *w, const struct gw__frame *f);
void gw__urom_tasks_free_spares(struct doca_urom_worker *w);
/* Completes what ran out of time; true if any. */
bool gw__urom_tasks_expire(struct doca_urom_worker *w, uint64_t now_ns);

/* mem.c: the worker's access to a segment that it could not map. */
void gw__urom_mem_op(struct doca_urom_worker *w, const struct gw__frame *f);

#endif
