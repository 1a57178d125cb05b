/* urom_daemon/daemon.h: the daemon: listeners, connections, plugins, workers; one thread, one epoll.
 * Must not know what plugins do, nor load them. Next: daemon.c (loop), conn.c, pool.c, plugins.c. */
#ifndef GW_UROM_DAEMON_H
#define GW_UROM_DAEMON_H

#include <gpuwire/common.h>
#include <sched.h>
#include <sys/types.h>

#include "urom_net/handshake.h"
#include "urom_worker/stats.h"

#define GW__D_LISTEN 8
#define GW__D_CONNS 1024
#define GW__D_UNAUTH 16u  /* connections that have not finished their greeting */
#define GW__D_PER_UID 128u /* connections of one user */
#define GW__D_TICKETS 64u  /* unclaimed, of one worker */

struct gw__uromd_opts {
	const char *listen[GW__D_LISTEN]; /* endpoints; none = the default UNIX one */
	int n_listen;
	const char *plugin_path; /* directories, ';' between; NULL = UROM_PLUGIN_PATH */
	const char *manifest;    /* sha256sum lines, or NULL */
	const char *key_file;
	const char *worker_path; /* urom-worker; NULL = beside this program */
	const char *env_allow;   /* further names or prefixes ending in '*', ',' between */
	uid_t uids[32];          /* besides our own */
	int n_uids;
	uint32_t max_msg;        /* 64..1 MiB */
	uint32_t max_workers;
	uint32_t workers_per_uid;
	uint32_t spawn_ms, watchdog_ms, grace_ms;
	uint64_t worker_mem;     /* bytes of data a worker may have; 0 = no limit */
	uid_t worker_uid;        /* workers change to it; (uid_t)-1 = stay */
	cpu_set_t cpus;          /* for workers */
	bool cpus_set;
	int ready_fd;            /* a line is written here once we listen; -1 = none */
	int log_level;           /* for workers: enum gw_log_level */
};

void gw__uromd_defaults(struct gw__uromd_opts *o);
/* Until SIGTERM or SIGINT. 0, or negative with diag. */
int gw__uromd_run(const struct gw__uromd_opts *o, struct gw_diag *diag);

/* ---- insides --------------------------------------------------------------------------------------- */

enum gw__d_kind { /* in the high half of an epoll tag */
	GW__D_K_LISTEN = 1,
	GW__D_K_CONN,
	GW__D_K_WORKER,
	GW__D_K_PIDFD,
	GW__D_K_PROBE,
	GW__D_K_SIGNAL,
};

enum gw__d_conn_state {
	GW__D_FREE,
	GW__D_GREET,
	GW__D_JOIN, /* greeted as JOIN: waits for the ticket */
	GW__D_RUN,
	GW__D_LINGER, /* refused: reads on until the caller has read why, a moment at most */
};

struct gw__d_conn {
	enum gw__d_conn_state state;
	uint64_t serial; /* never used twice */
	struct gw__chan chan;
	struct gw__greet greet;
	uid_t uid; /* (uid_t)-1 over TCP */
	bool ucx;
	bool wants_out, closing;
	uint64_t deadline_ns, since_ns;
	bool asks_plugins;
	uint64_t plugins_context;
};

enum gw__d_worker_state {
	GW__D_W_FREE,
	GW__D_W_SPAWNING,
	GW__D_W_RUNNING,
	GW__D_W_DYING, /* told to stop, or killed; its id is free again */
};

struct gw__d_ticket {
	uint8_t bytes[GW__TICKET];
	uint64_t until_ns; /* 0 = free */
	uint64_t serial;   /* of the connection that asked: its end is the ticket's */
	uid_t uid;
};

struct gw__d_waiter {
	uint64_t serial, context;
};

struct gw__d_worker {
	enum gw__d_worker_state state;
	uint64_t id;
	uint32_t gid;
	uint64_t mask;
	uid_t uid;
	uint64_t owner; /* serial of the connection that asked for it */
	pid_t pid;
	int pidfd;
	struct gw__chan ctl;
	struct gw__urom_stats *stats;
	struct gw__d_ticket tickets[GW__D_TICKETS];
	struct gw__d_waiter waiters[GW__UROM_MAX_CLIENTS];
	uint32_t n_waiters;
	uint64_t n_joins;
	uint64_t deadline_ns;
	uint64_t idle_since_ns; /* 0 = has clients */
	bool persistent;
	char last_words[256];
};

enum gw__d_plugin_state {
	GW__D_P_FREE,
	GW__D_P_PROBING,
	GW__D_P_GOOD,
	GW__D_P_BAD,
};

struct gw__d_plugin {
	enum gw__d_plugin_state state;
	char name[48];
	int fd;
	dev_t dev;
	ino_t ino;
	struct timespec mtime;
	uint64_t version;
	pid_t pid;
	int pidfd, pipe;
	uint64_t deadline_ns;
	bool seen; /* in this scan */
};

struct gw__daemon {
	const struct gw__uromd_opts *o;
	struct gw__key key;
	char worker_path[512];
	int epfd, sigfd;
	int lock_fd;
	char lock_path[160], sock_path[128];
	struct {
		int fd;
		struct gw__ep ep;
		bool keyed;
	} listeners[GW__D_LISTEN];
	int n_listeners;
	struct gw__d_conn conns[GW__D_CONNS];
	struct gw__d_worker workers[GW__UROM_MAX_WORKERS];
	struct gw__d_plugin plugins[GW__UROM_MAX_PLUGINS];
	cpu_set_t cpus;
	uint64_t serials;
	uint64_t refused[256]; /* hashes of what was logged already */
	uint32_t n_refused;
	uint64_t n_accepted, n_turned_away, n_spawned, n_died;
	uint64_t started_ns;
	bool stop, has_ucx;
	char mesh_bind[128], mesh_dir[128]; /* where workers listen for each other */
};

/* daemon.c */
uint64_t gw__d_now(void);
/* A refusal: one warning for each distinct text, however often it happens. */
void gw__d_refusal(struct gw__daemon *d, const char *fmt, ...) GW_PRINTF(2, 3);
int gw__d_watch(struct gw__daemon *d, int fd, enum gw__d_kind kind, uint32_t index);
void gw__d_want_out(struct gw__daemon *d, int fd, enum gw__d_kind kind, uint32_t index, bool *is, bool want);

/* conn.c */
void gw__d_accept(struct gw__daemon *d, int listener);
void gw__d_conn_event(struct gw__daemon *d, uint32_t index);
void gw__d_conn_drop(struct gw__daemon *d, struct gw__d_conn *c);
void gw__d_conn_tick(struct gw__daemon *d, uint64_t now_ns);
struct gw__d_conn *gw__d_conn_of(struct gw__daemon *d, uint64_t serial);
void gw__d_answer_plugins(struct gw__daemon *d);

/* pool.c */
void gw__d_spawn(struct gw__daemon *d, struct gw__d_conn *c, const struct gw__frame *f);
void gw__d_join(struct gw__daemon *d, struct gw__d_conn *c, const struct gw__frame *f);
void gw__d_worker_event(struct gw__daemon *d, uint32_t index);
void gw__d_worker_exit(struct gw__daemon *d, uint32_t index);
/* The next moment something must be looked at; UINT64_MAX = none. */
uint64_t gw__d_pool_tick(struct gw__daemon *d, uint64_t now_ns);
void gw__d_drop_tickets(struct gw__daemon *d, uint64_t serial);
void gw__d_sweep(struct gw__daemon *d, pid_t pid);
void gw__d_pool_stop(struct gw__daemon *d);
int gw__d_stop_worker(struct gw__daemon *d, uint64_t id, uid_t uid);

/* exec.c */
struct gw__d_exec {
	char *const *argv;
	char *const *envp;
	int fds[GW__WORKER_FD_PLUGIN + GW__UROM_MAX_PLUGINS]; /* index = descriptor in the child; -1 = closed */
	int n_fds;
	const cpu_set_t *cpus; /* NULL = inherit */
	uint64_t data_limit;
	uid_t uid;
};
/* A child that runs urom-worker; *pidfd becomes readable at its end. pid or negative errno. */
pid_t gw__d_exec(struct gw__daemon *d, const struct gw__d_exec *x, int *pidfd);

/* plugins.c */
void gw__d_scan(struct gw__daemon *d);
void gw__d_probe_event(struct gw__daemon *d, uint32_t index);
uint64_t gw__d_probe_tick(struct gw__daemon *d, uint64_t now_ns);
bool gw__d_probing(const struct gw__daemon *d);
void gw__d_plugins_close(struct gw__daemon *d);

/* status.c */
size_t gw__d_status(struct gw__daemon *d, char *out, size_t cap);

#endif
