/* urom/host.h: the insides of service, worker and domain, for each other.
 * Must not be seen by plugins or programs. Next: service.c, worker.c, domain.c. */
#ifndef GW_UROM_HOST_H
#define GW_UROM_HOST_H

#include <doca/doca_urom.h>
#include <pthread.h>
#include <stdatomic.h>

#include "doca/buf.h"
#include "doca/ctx.h"
#include "urom_net/handshake.h"

/* ---- service: requests on the control connection, from any thread -------------------------------- */

/* A question to the daemon. Belongs to the asker; touched under the service's lock. */
struct gw__urom_req {
	struct gw__urom_req *next;
	uint64_t context;
	struct doca_ctx *waiter; /* kicked when done */
	bool pending, done;
	int status;              /* doca_error_t */
	uint16_t type;           /* of the answer */
	uint8_t *reply;          /* allocated; NULL if none */
	uint32_t len;
};

struct doca_urom_service {
	struct doca_ctx ctx;
	struct doca_dev *dev;
	char endpoint[256];
	char key_file[256];
	size_t max_msg;
	uint32_t max_workers;
	struct gw__key key;
	struct gw__ep ep;       /* resolved at start */
	_Atomic int n_workers;  /* attached contexts */
	/* below: under lock */
	pthread_mutex_t lock;
	struct gw__chan chan;
	bool connected;
	uint64_t n_asked;
	struct gw__urom_req *reqs;
	_Atomic int n_reqs; /* in reqs; read without the lock as a hint */
	uint32_t agreed_msg;
	/* written at start, constant while running */
	struct doca_urom_service_plugin_info plugins[GW__UROM_MAX_PLUGINS];
	size_t n_plugins;
	doca_cpu_set_t cpuset;
	struct gw_diag diag;
};

/* Send a question; SUCCESS = req is pending. Any thread. */
doca_error_t gw__urom_ask(struct doca_urom_service *s, struct gw__urom_req *req, uint16_t type, uint32_t flags,
			  const void *payload, size_t len);
/* Read what came and hand answers to their askers; true if anything came. Any thread. */
bool gw__urom_pump(struct doca_urom_service *s);
/* Pumps, then: is it answered? After true the request is off the list. Any thread. */
bool gw__urom_answered(struct doca_urom_service *s, struct gw__urom_req *req);
/* Forget it, answered or not; frees the reply. Any thread. */
void gw__urom_forget(struct doca_urom_service *s, struct gw__urom_req *req);
/* The endpoint of this service, by the rules of doca_urom_service_set_dev(). */
doca_error_t gw__urom_find(struct doca_urom_service *s, struct gw_diag *diag);

/* ---- worker, as a domain sees it ------------------------------------------------------------------ */

/* The plugins' addresses of a running worker. ask: SUCCESS. got: IN_PROGRESS, SUCCESS (blob borrowed until
 * the next ask), or how it failed. */
doca_error_t gw__urom_worker_ask_addr(struct doca_urom_worker *w);
doca_error_t gw__urom_worker_got_addr(struct doca_urom_worker *w, const uint8_t **blob, size_t *len);
/* Hand over a domain's table. give: SUCCESS (the table is borrowed until taken() is done). */
doca_error_t gw__urom_worker_give_table(struct doca_urom_worker *w, const uint8_t *table, size_t len);
doca_error_t gw__urom_worker_taken(struct doca_urom_worker *w);
void gw__urom_worker_hold(struct doca_urom_worker *w, int by);
struct doca_ctx *gw__urom_worker_ctx(struct doca_urom_worker *w);

bool gw__urom_power_of_two(uint64_t n, uint64_t max);

#endif
