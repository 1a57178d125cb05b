/* urom_worker/worker.h: one worker process: clients, plugins, a domain table, segments.
 * Must not know the host library. Next: worker.c (loop), plugin.c, domain.c, mem.c. */
#ifndef GW_UROM_WORKER_WORKER_H
#define GW_UROM_WORKER_WORKER_H

#include <doca/doca_urom_plugin.h>
#include <stdbool.h>

#include "base/wait.h"
#include "urom_net/handshake.h"
#include "urom_worker/stats.h"

#define GW__W_SEGS 64u

/* A mapping lives as long as its segment or a plugin's hold on it. */
struct gw__w_map {
	void *addr;
	size_t len;
	uint32_t refs;
};

struct gw__w_seg {
	struct gw__w_map *map; /* NULL = by messages */
	size_t len;
	uint32_t rights;
	bool used;
};

enum gw__w_client_state {
	GW__C_FREE,
	GW__C_ADMIT, /* offers sent */
	GW__C_RUN,
	GW__C_CLOSING, /* said goodbye: flush, then free */
};

struct gw__w_client {
	enum gw__w_client_state state;
	uint64_t dest; /* generation << 8 | index + 1 */
	struct gw__chan chan;
	struct gw__admit admit;
	uint32_t max_inflight, n_inflight;
	uint32_t n_overruns;
	bool wants_out; /* EPOLLOUT is on */
	uint64_t deadline_ns;
	struct gw__w_seg segs[GW__W_SEGS];
	/* a domain table on its way in */
	uint8_t *table;
	size_t table_len;
};

struct gw__w_plugin {
	void *lib;
	struct urom_plugin_iface iface;
	struct urom_worker_ctx ctx;
	uint32_t index;
	bool used;
	int n_fds;           /* registered */
	uint64_t n_open;     /* commands taken and not answered */
	struct gw__worker *worker;
};

struct gw__w_memop;

struct gw__worker {
	uint64_t id;
	uint32_t max_msg;
	uint64_t features;
	int epfd;
	struct gw__chan ctl;
	bool ctl_out;
	struct gw__urom_stats *stats;
	struct gw__w_client clients[GW__UROM_MAX_CLIENTS];
	uint8_t active[GW__UROM_MAX_CLIENTS]; /* places in use: one cache line to look at, not one for each client */
	uint32_t n_clients;
	uint64_t now_ns; /* a moment ago */
	uint64_t n_generations, n_joins;
	struct gw__w_plugin plugins[GW__UROM_MAX_PLUGINS]; /* by index */
	uint32_t used[GW__UROM_MAX_PLUGINS], n_used;       /* the loaded ones */
	uint8_t *scratch;    /* [max_msg] for notif_pack */
	uint8_t *table;      /* the domain's */
	size_t table_len;
	struct gw__w_memop *memops;
	uint64_t n_memops;
	bool leaving, told_idle;
	int exit_code;
};

struct gw__worker_opts {
	uint64_t id;
	uint32_t max_msg;
	uint64_t features;
	const char *const *plugins; /* "name:index" beside descriptor GW__WORKER_FD_PLUGIN + i */
	int n_plugins;
};

/* The whole life; returns the exit code. The descriptors are in place (stats.h). */
int gw__worker_run(const struct gw__worker_opts *opts);
/* `urom-worker --probe`: load the plugin on GW__WORKER_FD_PLUGIN, print its version to fd 1. */
int gw__worker_probe(void);

/* plugin.c */
int gw__w_plugin_load(struct gw__worker *w, uint32_t index, int fd, const char *name, struct gw_diag *diag);
void gw__w_plugins_close(struct gw__worker *w);
void gw__w_command(struct gw__worker *w, struct gw__w_client *c, const struct gw__frame *f);
bool gw__w_plugins_progress(struct gw__worker *w);
void gw__w_plugins_client_gone(struct gw__worker *w, uint64_t dest);
/* True: a plugin has work; do not sleep. */
bool gw__w_plugins_arm(struct gw__worker *w);
bool gw__w_plugins_poll(const struct gw__worker *w); /* someone must be looked at without an event */
void gw__w_addr(struct gw__worker *w, struct gw__w_client *c);

/* domain.c */
void gw__w_table_part(struct gw__worker *w, struct gw__w_client *c, const struct gw__frame *f);
extern const struct urom_worker_domain_iface gw__w_domain_iface;

/* mem.c */
int gw__w_seg_add(struct gw__worker *w, struct gw__w_client *c, const struct gw__frame *f);
void gw__w_mem_ack(struct gw__worker *w, struct gw__w_client *c, const struct gw__frame *f);
void gw__w_mem_client_gone(struct gw__worker *w, struct gw__w_client *c);
extern const struct urom_worker_mem_iface gw__w_mem_iface;

/* worker.c, for the others */
struct gw__w_client *gw__w_client(struct gw__worker *w, uint64_t dest);
int gw__w_send(struct gw__worker *w, struct gw__w_client *c, const struct gw__frame *f);
struct gw__w_plugin *gw__w_plugin_of(struct urom_worker_ctx *ctx);

#endif
