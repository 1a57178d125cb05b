/* group.h: several workers of one process in one domain: what the plugin tests stand on. */
#ifndef UROM_GROUP_H
#define UROM_GROUP_H

#include <doca_urom.h>

#include "fixture.h"
#include "urom_common.h"

#define GROUP_MAX 8

struct group {
	struct fixture f;
	struct urom_session s;
	struct doca_urom_worker *w[GROUP_MAX];
	struct doca_urom_domain *d;
	uint64_t ids[GROUP_MAX];
	uint64_t plugin, version;
	int n;
};

/* An allgather of one rank. */
static inline doca_error_t alone_allgather(void *sbuf, void *rbuf, size_t msglen, void *info, void **req)
{
	memcpy(rbuf, sbuf, msglen);
	*req = info;
	return DOCA_SUCCESS;
}
static inline doca_error_t alone_ok(void *req)
{
	return DOCA_SUCCESS;
}

static inline bool group_open(struct group *g, int n, const char *plugin, size_t max_msg)
{
	struct urom_worker_spec spec = { .max_inflight = 64 };
	static int mark;
	struct doca_urom_domain_oob_coll oob = { .allgather = alone_allgather, .req_test = alone_ok,
						 .req_free = alone_ok, .coll_info = &mark, .n_oob_indexes = 1 };

	g->n = n;
	setenv("DOCA_UROM_ENDPOINT", g->f.endpoint, 1);
	if (urom_session_open(&g->s, "mlx5_0", 16, max_msg) != DOCA_SUCCESS ||
	    urom_find_plugin(&g->s, plugin, &g->plugin, &g->version) != DOCA_SUCCESS)
		return false;
	for (int i = 0; i < n; i++) {
		spec.id = 100 + (uint64_t)i;
		spec.plugins = g->plugin;
		g->ids[i] = 1000 + (uint64_t)i;
		if (urom_worker_open(g->s.service, g->s.pe, &spec, &g->w[i]) != DOCA_SUCCESS)
			return false;
	}
	if (doca_urom_domain_create(&g->d) != DOCA_SUCCESS ||
	    doca_pe_connect_ctx(g->s.pe, doca_urom_domain_as_ctx(g->d)) != DOCA_SUCCESS ||
	    doca_urom_domain_set_oob(g->d, &oob) != DOCA_SUCCESS ||
	    doca_urom_domain_set_workers(g->d, g->ids, g->w, (size_t)n) != DOCA_SUCCESS ||
	    doca_ctx_start(doca_urom_domain_as_ctx(g->d)) != DOCA_ERROR_IN_PROGRESS)
		return false;
	return urom_wait_state(g->s.pe, doca_urom_domain_as_ctx(g->d), DOCA_CTX_STATE_RUNNING, 10000) == DOCA_SUCCESS;
}

static inline void group_close(struct group *g)
{
	urom_domain_close(g->d);
	for (int i = 0; i < g->n; i++)
		if (g->w[i])
			urom_worker_close(g->s.pe, g->w[i]);
	urom_session_close(&g->s);
	g->d = NULL;
	memset(g->w, 0, sizeof(g->w));
}

#endif
