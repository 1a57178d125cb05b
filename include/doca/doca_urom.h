/* doca_urom.h: run pieces of a program on another processor: service (a connection to one daemon), worker
 * (a process there, with plugins), domain (workers that find each other).
 * Must not know any plugin. Next: doca_urom_plugin.h (the other side), docs/urom.md.
 *
 * All three are contexts: create, set while idle, doca_pe_connect_ctx(), doca_ctx_start(x_as_ctx(x)).
 * Where not said otherwise: INVALID_VALUE for NULL or a value out of range, BAD_STATE for a setter when not
 * idle; an object belongs to the one thread that drives its engine; nothing blocks; texts and arrays given
 * to a setter are copied. */
#ifndef DOCA_UROM_H_
#define DOCA_UROM_H_

#include "doca_buf.h"
#include "doca_dev.h"
#include "doca_pe.h"

DOCA_BEGIN_DECLS

/* ---- CPU sets ---------------------------------------------------------------------------------- */

#define DOCA_CPU_SETSIZE 1024

typedef struct doca_cpu_set {
	uint64_t bits[DOCA_CPU_SETSIZE / 64];
} doca_cpu_set_t;

#define DOCA_CPU_ZERO(set)                                                                         \
	do {                                                                                       \
		for (int doca_i_ = 0; doca_i_ < DOCA_CPU_SETSIZE / 64; doca_i_++)                   \
			(set)->bits[doca_i_] = 0;                                                  \
	} while (0)
#define DOCA_CPU_SET(cpu, set) ((set)->bits[(cpu) / 64] |= (uint64_t)1 << ((cpu) % 64))
#define DOCA_CPU_CLR(cpu, set) ((set)->bits[(cpu) / 64] &= ~((uint64_t)1 << ((cpu) % 64)))
static inline int doca_cpu_is_set(int cpu, const doca_cpu_set_t *set)
{
	return cpu >= 0 && cpu < DOCA_CPU_SETSIZE && (set->bits[cpu / 64] >> (cpu % 64) & 1);
}

/* ---- service ----------------------------------------------------------------------------------- */

struct doca_urom_service;

#define DOCA_UROM_PLUGIN_NAME_MAX_LEN 48

struct doca_urom_service_plugin_info {
	uint64_t id; /* one bit: OR them for doca_urom_worker_set_plugins() */
	uint64_t version;
	char plugin_name[DOCA_UROM_PLUGIN_NAME_MAX_LEN];
};

/* NO_MEMORY. The service is the caller's until destroyed. */
DOCA_EXPERIMENTAL doca_error_t doca_urom_service_create(struct doca_urom_service **service_ctx);
/* NOT_PERMITTED: not idle; IN_USE: workers are attached. */
DOCA_EXPERIMENTAL doca_error_t doca_urom_service_destroy(struct doca_urom_service *service_ctx);
/* Bytes of a whole message, framework header (32) included: 64..1048576, default 4096; the daemon may lower
 * it. */
DOCA_EXPERIMENTAL doca_error_t doca_urom_service_set_max_comm_msg_size(struct doca_urom_service *service_ctx,
								       size_t msg_size);
/* A power of two up to 256, default 256. */
DOCA_EXPERIMENTAL doca_error_t doca_urom_service_set_max_workers(struct doca_urom_service *service_ctx,
								 uint32_t max_workers);
/* Mandatory. The daemon is looked up by own host name and this device's PCI address in the file named by
 * DOCA_UROM_SERVICE_FILE; DOCA_UROM_ENDPOINT and set_endpoint() (strongest) override it; without any of
 * the three the local daemon's default socket is used. The device must outlive the service. */
DOCA_EXPERIMENTAL doca_error_t doca_urom_service_set_dev(struct doca_urom_service *service_ctx,
							 struct doca_dev *dev);
/* "unix:/PATH", "tcp:ADDR:PORT" or "ucx:ADDR:PORT". */
DOCA_EXPERIMENTAL doca_error_t doca_urom_service_set_endpoint(struct doca_urom_service *service_ctx,
							      const char *endpoint);
/* File of the key shared with a daemon beyond this machine; default: UROM_KEY_FILE, else none. */
DOCA_EXPERIMENTAL doca_error_t doca_urom_service_set_key_file(struct doca_urom_service *service_ctx,
							      const char *path);
DOCA_EXPERIMENTAL struct doca_ctx *doca_urom_service_as_ctx(struct doca_urom_service *service_ctx);
/* doca_ctx_start(): connects and shakes hands, at most 5 s (blocks). NOT_CONNECTED: no daemon there;
 * AUTHENTICATION: wrong key or user; UNSUPPORTED_VERSION; TIME_OUT; BAD_CONFIG: the service file or endpoint
 * does not parse; NOT_FOUND: no line for this device. This says it in words (borrowed, never NULL): */
DOCA_EXPERIMENTAL const char *doca_urom_service_get_error_text(const struct doca_urom_service *service_ctx);
/* RUNNING only. The array is the service's until it stops. NOT_FOUND: the daemon has no plugin. */
DOCA_EXPERIMENTAL doca_error_t doca_urom_service_get_plugins_list(
	struct doca_urom_service *service_ctx, const struct doca_urom_service_plugin_info **plugins, size_t *count);
/* RUNNING only. CPUs of the device that workers may use. */
DOCA_EXPERIMENTAL doca_error_t doca_urom_service_get_cpuset(struct doca_urom_service *service_ctx,
							    doca_cpu_set_t *cpuset);

struct doca_urom_service_get_workers_by_gid_task;

typedef void (*doca_urom_service_get_workers_by_gid_task_completion_cb_t)(
	struct doca_urom_service_get_workers_by_gid_task *task, union doca_data task_user_data,
	union doca_data ctx_user_data);

/* Allocate, set, submit through _as_task(); the callback runs in the service's progress. NO_MEMORY. */
DOCA_EXPERIMENTAL doca_error_t doca_urom_service_get_workers_by_gid_task_allocate(
	struct doca_urom_service *service_ctx, struct doca_urom_service_get_workers_by_gid_task **task);
DOCA_EXPERIMENTAL doca_error_t doca_urom_service_get_workers_by_gid_task_allocate_init(
	struct doca_urom_service *service_ctx, uint32_t gid,
	doca_urom_service_get_workers_by_gid_task_completion_cb_t cb,
	struct doca_urom_service_get_workers_by_gid_task **task);
/* NOT_PERMITTED while in flight. */
DOCA_EXPERIMENTAL doca_error_t
doca_urom_service_get_workers_by_gid_task_release(struct doca_urom_service_get_workers_by_gid_task *task);
DOCA_EXPERIMENTAL void
doca_urom_service_get_workers_by_gid_task_set_gid(struct doca_urom_service_get_workers_by_gid_task *task,
						  uint32_t gid);
DOCA_EXPERIMENTAL void doca_urom_service_get_workers_by_gid_task_set_cb(
	struct doca_urom_service_get_workers_by_gid_task *task,
	doca_urom_service_get_workers_by_gid_task_completion_cb_t cb);
DOCA_EXPERIMENTAL struct doca_task *
doca_urom_service_get_workers_by_gid_task_as_task(struct doca_urom_service_get_workers_by_gid_task *task);
/* In or after the callback, until release. Ids ascend. */
DOCA_EXPERIMENTAL size_t
doca_urom_service_get_workers_by_gid_task_get_workers_count(struct doca_urom_service_get_workers_by_gid_task *task);
DOCA_EXPERIMENTAL const uint64_t *
doca_urom_service_get_workers_by_gid_task_get_worker_ids(struct doca_urom_service_get_workers_by_gid_task *task);

/* ---- worker ------------------------------------------------------------------------------------ */

struct doca_urom_worker;
struct doca_urom_worker_cmd_task;

#define DOCA_UROM_WORKER_ID_ANY ((uint64_t)-1)
#define DOCA_UROM_WORKER_TASK_USER_DATA_SIZE 32

DOCA_EXPERIMENTAL doca_error_t doca_urom_worker_create(struct doca_urom_worker **worker_ctx);
/* IN_USE: tasks are allocated, or a domain holds it; NOT_PERMITTED: not idle. */
DOCA_EXPERIMENTAL doca_error_t doca_urom_worker_destroy(struct doca_urom_worker *worker_ctx);
DOCA_EXPERIMENTAL struct doca_ctx *doca_urom_worker_as_ctx(struct doca_urom_worker *worker_ctx);
/* Mandatory; the service must outlive the worker, and be running when the worker starts. It may be driven
 * by another thread. */
DOCA_EXPERIMENTAL doca_error_t doca_urom_worker_set_service(struct doca_urom_worker *worker_ctx,
							    struct doca_urom_service *service_ctx);
/* ANY (default): the daemon picks. An id that runs: a second connection to that process; else a new one. */
DOCA_EXPERIMENTAL doca_error_t doca_urom_worker_set_id(struct doca_urom_worker *worker_ctx, uint64_t worker_id);
DOCA_EXPERIMENTAL doca_error_t doca_urom_worker_set_gid(struct doca_urom_worker *worker_ctx, uint32_t gid);
/* OR of plugin ids. Default: none. */
DOCA_EXPERIMENTAL doca_error_t doca_urom_worker_set_plugins(struct doca_urom_worker *worker_ctx, uint64_t plugins);
/* A subset of the service's set; default: all of it. */
DOCA_EXPERIMENTAL doca_error_t doca_urom_worker_set_cpuset(struct doca_urom_worker *worker_ctx,
							   doca_cpu_set_t cpuset);
/* A power of two up to 4096, default 64. */
DOCA_EXPERIMENTAL doca_error_t doca_urom_worker_set_max_inflight_tasks(struct doca_urom_worker *worker_ctx,
								       uint32_t num_tasks);
/* NAME=value, no spaces in the name; up to 64 entries and 4096 bytes. The daemon admits UCX_*, UCC_* and
 * UROM_* unless its administrator lists more. Start fails if that worker runs already. */
DOCA_EXPERIMENTAL doca_error_t doca_urom_worker_set_env(struct doca_urom_worker *worker_ctx, char *const env[],
							size_t count);
/* 1: the worker stays when its last client leaves, until it is stopped (uromctl stop) or its daemon ends.
 * Counts for a worker that this start makes. */
DOCA_EXPERIMENTAL doca_error_t doca_urom_worker_set_persistent(struct doca_urom_worker *worker_ctx,
							       uint8_t persistent);
/* From submission; a task not answered by then completes with TIME_OUT. 0 (default): no limit. Any state. */
DOCA_EXPERIMENTAL doca_error_t doca_urom_worker_set_task_timeout(struct doca_urom_worker *worker_ctx,
								 uint32_t timeout_ms);
/* BAD_STATE before it ran. */
DOCA_EXPERIMENTAL doca_error_t doca_urom_worker_get_id(const struct doca_urom_worker *worker_ctx,
						       uint64_t *worker_id);
DOCA_EXPERIMENTAL doca_error_t doca_urom_worker_get_gid(const struct doca_urom_worker *worker_ctx, uint32_t *gid);
/* "socket", "shm" or "ucx": what commands travel on; "none" when not running. */
DOCA_EXPERIMENTAL const char *doca_urom_worker_get_channel(const struct doca_urom_worker *worker_ctx);
/* Why it left STARTING or RUNNING, in words (borrowed, never NULL). */
DOCA_EXPERIMENTAL const char *doca_urom_worker_get_error_text(const struct doca_urom_worker *worker_ctx);

typedef void (*doca_urom_worker_cmd_task_completion_cb_t)(struct doca_urom_worker_cmd_task *task,
							  union doca_data task_user_data,
							  union doca_data ctx_user_data);

/* Every submitted task completes exactly once, in doca_pe_progress(): with the plugin's status, with
 * CONNECTION_RESET if the worker died, SHUTDOWN if the context was stopped, TIME_OUT. Submit returns AGAIN
 * when max_inflight are flying (progress, then try again) and TOO_BIG for an oversized payload. */
DOCA_EXPERIMENTAL doca_error_t doca_urom_worker_cmd_task_allocate(struct doca_urom_worker *worker_ctx,
								  struct doca_urom_worker_cmd_task **task);
DOCA_EXPERIMENTAL doca_error_t doca_urom_worker_cmd_task_allocate_init(struct doca_urom_worker *worker_ctx,
								       uint64_t plugin,
								       struct doca_urom_worker_cmd_task **task);
/* NOT_PERMITTED while in flight. */
DOCA_EXPERIMENTAL doca_error_t doca_urom_worker_cmd_task_release(struct doca_urom_worker_cmd_task *task);
DOCA_EXPERIMENTAL void doca_urom_worker_cmd_task_set_plugin(struct doca_urom_worker_cmd_task *task, uint64_t plugin);
DOCA_EXPERIMENTAL void doca_urom_worker_cmd_task_set_cb(struct doca_urom_worker_cmd_task *task,
							doca_urom_worker_cmd_task_completion_cb_t cb);
DOCA_EXPERIMENTAL struct doca_task *doca_urom_worker_cmd_task_as_task(struct doca_urom_worker_cmd_task *task);
/* Write the command into the buffer, then doca_buf_set_data() its length. */
DOCA_EXPERIMENTAL struct doca_buf *doca_urom_worker_cmd_task_get_payload(struct doca_urom_worker_cmd_task *task);
/* In the callback only; NULL: no response. */
DOCA_EXPERIMENTAL struct doca_buf *doca_urom_worker_cmd_task_get_response(struct doca_urom_worker_cmd_task *task);
/* 32 bytes for the host half of a plugin: its own callback and cookie. */
DOCA_EXPERIMENTAL void *doca_urom_worker_cmd_task_get_user_data(struct doca_urom_worker_cmd_task *task);

/* ---- memory that a worker may reach ------------------------------------------------------------- */

struct doca_urom_mem;

#define DOCA_UROM_MEM_READ 1u
#define DOCA_UROM_MEM_WRITE 2u

/* Zeroed pages that can be shared: a memory file, sealed against shrinking. NO_MEMORY. */
DOCA_EXPERIMENTAL doca_error_t doca_urom_mem_create(size_t size, struct doca_urom_mem **mem);
/* The worker's mapping, if any, lives until it or the worker ends. */
DOCA_EXPERIMENTAL doca_error_t doca_urom_mem_destroy(struct doca_urom_mem *mem);
DOCA_EXPERIMENTAL void *doca_urom_mem_get_addr(const struct doca_urom_mem *mem);
/* Offer it to a running worker: *seg is the number that commands name it by. On a UNIX channel the worker
 * maps it; on others its accesses travel as messages that doca_pe_progress() of this worker executes.
 * FULL: 64 segments. mem must outlive the worker context's run. */
DOCA_EXPERIMENTAL doca_error_t doca_urom_worker_share_mem(struct doca_urom_worker *worker_ctx,
							  struct doca_urom_mem *mem, uint32_t rights, uint64_t *seg);

/* ---- domain ------------------------------------------------------------------------------------ */

struct doca_urom_domain;

/* A non-blocking allgather that the caller brings (MPI, sockets): rank i's block lands at i * msglen.
 * req_test: IN_PROGRESS until done. coll_info is passed through. */
struct doca_urom_domain_oob_coll {
	doca_error_t (*allgather)(void *sbuf, void *rbuf, size_t msglen, void *coll_info, void **req);
	doca_error_t (*req_test)(void *req);
	doca_error_t (*req_free)(void *req);
	void *coll_info;
	uint32_t n_oob_indexes; /* ranks */
	uint32_t oob_index;     /* ours */
};

DOCA_EXPERIMENTAL doca_error_t doca_urom_domain_create(struct doca_urom_domain **domain_ctx);
DOCA_EXPERIMENTAL doca_error_t doca_urom_domain_destroy(struct doca_urom_domain *domain_ctx);
DOCA_EXPERIMENTAL struct doca_ctx *doca_urom_domain_as_ctx(struct doca_urom_domain *domain_ctx);
DOCA_EXPERIMENTAL doca_error_t doca_urom_domain_set_buffers_count(struct doca_urom_domain *domain_ctx,
								  size_t buffers_count);
/* BAD_STATE: no count set; FULL; TOO_BIG: handles of more than 4096 bytes. */
DOCA_EXPERIMENTAL doca_error_t doca_urom_domain_add_buffer(struct doca_urom_domain *domain_ctx, void *buffer,
							   size_t buf_len, void *memh, size_t memh_len, void *mkey,
							   size_t mkey_len);
DOCA_EXPERIMENTAL doca_error_t doca_urom_domain_set_oob(struct doca_urom_domain *domain_ctx,
							struct doca_urom_domain_oob_coll *oob);
/* The ids by which plugins will look these workers up; the same engine must drive workers and domain. */
DOCA_EXPERIMENTAL doca_error_t doca_urom_domain_set_workers(struct doca_urom_domain *domain_ctx,
							    uint64_t *domain_worker_ids,
							    struct doca_urom_worker **workers, size_t workers_cnt);
/* Start is collective and asynchronous: at most this long (default 30000), then IDLE again. */
DOCA_EXPERIMENTAL doca_error_t doca_urom_domain_set_timeout(struct doca_urom_domain *domain_ctx,
							    uint32_t timeout_ms);
DOCA_EXPERIMENTAL const char *doca_urom_domain_get_error_text(const struct doca_urom_domain *domain_ctx);

DOCA_END_DECLS

#endif
