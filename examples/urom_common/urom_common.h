/* urom_common.h: what every UROM program does first and last: device, service, plugin, worker.
 * Must not know any plugin. Next: the programs beside this folder. */
#ifndef UROM_COMMON_H_
#define UROM_COMMON_H_

#include <doca_urom.h>

struct urom_session {
	struct doca_pe *pe;
	struct doca_dev *dev;
	struct doca_urom_service *service;
};

/* Open the device by name, connect to its daemon. On failure everything is undone and the reason logged. */
doca_error_t urom_session_open(struct urom_session *s, const char *device, uint32_t max_workers, size_t max_msg);
void urom_session_close(struct urom_session *s);
/* The plugin of this name; NOT_FOUND is logged with what there is. */
doca_error_t urom_find_plugin(struct urom_session *s, const char *name, uint64_t *id, uint64_t *version);

struct urom_worker_spec {
	uint64_t id;
	uint32_t gid;
	uint64_t plugins;
	uint32_t max_inflight;
	char *const *env;
	size_t n_env;
};

/* Create, start and progress until running, at most 10 s. */
doca_error_t urom_worker_open(struct doca_urom_service *service, struct doca_pe *pe,
			      const struct urom_worker_spec *spec, struct doca_urom_worker **worker);
void urom_worker_close(struct doca_pe *pe, struct doca_urom_worker *worker);
/* Progress until the context is in this state, at most timeout_ms; it also ends when the context falls idle. */
doca_error_t urom_wait_state(struct doca_pe *pe, struct doca_ctx *ctx, enum doca_ctx_states want, int timeout_ms);
/* A domain of one own worker a rank (domain id = rank), started and running, at most 30 s. */
doca_error_t urom_domain_open(struct doca_pe *pe, struct doca_urom_worker *worker,
			      struct doca_urom_domain_oob_coll *oob, struct doca_urom_domain **domain);
void urom_domain_close(struct doca_urom_domain *domain);
/* Seconds of the monotonic clock. */
double urom_seconds(void);

#endif
