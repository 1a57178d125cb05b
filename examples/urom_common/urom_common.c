/* urom_common.c: device, service, plugin, worker: the frame of every UROM program. */
#include "urom_common.h"

#include <sched.h>
#include <string.h>
#include <time.h>

#include <doca_log.h>

DOCA_LOG_REGISTER(UROM::COMMON);

double urom_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void urom_session_close(struct urom_session *s)
{
	enum doca_ctx_states state = DOCA_CTX_STATE_IDLE;

	if (s->service) {
		doca_ctx_get_state(doca_urom_service_as_ctx(s->service), &state);
		if (state != DOCA_CTX_STATE_IDLE)
			doca_ctx_stop(doca_urom_service_as_ctx(s->service));
		doca_urom_service_destroy(s->service);
	}
	if (s->dev)
		doca_dev_close(s->dev);
	if (s->pe)
		doca_pe_destroy(s->pe);
	memset(s, 0, sizeof(*s));
}

doca_error_t urom_session_open(struct urom_session *s, const char *device, uint32_t max_workers, size_t max_msg)
{
	doca_error_t r;

	memset(s, 0, sizeof(*s));
	r = doca_dev_open_by_name(device, &s->dev);
	if (r == DOCA_SUCCESS)
		r = doca_pe_create(&s->pe);
	if (r == DOCA_SUCCESS)
		r = doca_urom_service_create(&s->service);
	if (r == DOCA_SUCCESS)
		r = doca_pe_connect_ctx(s->pe, doca_urom_service_as_ctx(s->service));
	if (r == DOCA_SUCCESS)
		r = doca_urom_service_set_max_workers(s->service, max_workers);
	if (r == DOCA_SUCCESS)
		r = doca_urom_service_set_max_comm_msg_size(s->service, max_msg);
	if (r == DOCA_SUCCESS)
		r = doca_urom_service_set_dev(s->service, s->dev);
	if (r == DOCA_SUCCESS)
		r = doca_ctx_start(doca_urom_service_as_ctx(s->service));
	if (r != DOCA_SUCCESS) {
		DOCA_LOG_ERR("Failed to start the service: %s: %s", doca_error_get_descr(r),
			     s->service ? doca_urom_service_get_error_text(s->service) : "");
		urom_session_close(s);
	}
	return r;
}

doca_error_t urom_find_plugin(struct urom_session *s, const char *name, uint64_t *id, uint64_t *version)
{
	const struct doca_urom_service_plugin_info *list;
	char have[512] = "";
	size_t n = 0, at = 0;
	doca_error_t r = doca_urom_service_get_plugins_list(s->service, &list, &n);

	for (size_t i = 0; r == DOCA_SUCCESS && i < n; i++) {
		if (!strcmp(list[i].plugin_name, name)) {
			*id = list[i].id;
			*version = list[i].version;
			return DOCA_SUCCESS;
		}
		if (at + strlen(list[i].plugin_name) + 2 < sizeof(have))
			at += (size_t)snprintf(have + at, sizeof(have) - at, " %s", list[i].plugin_name);
	}
	DOCA_LOG_ERR("Plugin %s not found; the daemon has:%s", name, n ? have : " none");
	return DOCA_ERROR_NOT_FOUND;
}

doca_error_t urom_wait_state(struct doca_pe *pe, struct doca_ctx *ctx, enum doca_ctx_states want, int timeout_ms)
{
	double end = urom_seconds() + timeout_ms / 1000.0;
	enum doca_ctx_states state;

	for (;;) {
		doca_ctx_get_state(ctx, &state);
		if (state == want)
			return DOCA_SUCCESS;
		if (state == DOCA_CTX_STATE_IDLE)
			return DOCA_ERROR_BAD_STATE;
		if (urom_seconds() > end)
			return DOCA_ERROR_TIME_OUT;
		if (!doca_pe_progress(pe))
			sched_yield();
	}
}

void urom_worker_close(struct doca_pe *pe, struct doca_urom_worker *worker)
{
	struct doca_ctx *ctx = doca_urom_worker_as_ctx(worker);
	enum doca_ctx_states state;

	if (!worker)
		return;
	doca_ctx_get_state(ctx, &state);
	if (state != DOCA_CTX_STATE_IDLE) {
		doca_ctx_stop(ctx);
		urom_wait_state(pe, ctx, DOCA_CTX_STATE_IDLE, 10000);
	}
	doca_urom_worker_destroy(worker);
}

doca_error_t urom_worker_open(struct doca_urom_service *service, struct doca_pe *pe,
			      const struct urom_worker_spec *spec, struct doca_urom_worker **worker)
{
	struct doca_urom_worker *w;
	doca_error_t r = doca_urom_worker_create(&w);

	if (r != DOCA_SUCCESS)
		return r;
	r = doca_pe_connect_ctx(pe, doca_urom_worker_as_ctx(w));
	DOCA_ERROR_PROPAGATE(r, doca_urom_worker_set_service(w, service));
	DOCA_ERROR_PROPAGATE(r, doca_urom_worker_set_id(w, spec->id));
	DOCA_ERROR_PROPAGATE(r, doca_urom_worker_set_gid(w, spec->gid));
	DOCA_ERROR_PROPAGATE(r, doca_urom_worker_set_plugins(w, spec->plugins));
	DOCA_ERROR_PROPAGATE(r, doca_urom_worker_set_env(w, spec->env, spec->n_env));
	if (spec->max_inflight)
		DOCA_ERROR_PROPAGATE(r, doca_urom_worker_set_max_inflight_tasks(w, spec->max_inflight));
	if (r == DOCA_SUCCESS) {
		r = doca_ctx_start(doca_urom_worker_as_ctx(w));
		if (r == DOCA_ERROR_IN_PROGRESS)
			r = urom_wait_state(pe, doca_urom_worker_as_ctx(w), DOCA_CTX_STATE_RUNNING, 10000);
	}
	if (r != DOCA_SUCCESS) {
		DOCA_LOG_ERR("Failed to start worker %llu: %s: %s", (unsigned long long)spec->id,
			     doca_error_get_descr(r), doca_urom_worker_get_error_text(w));
		urom_worker_close(pe, w);
		return r;
	}
	*worker = w;
	return DOCA_SUCCESS;
}

void urom_domain_close(struct doca_urom_domain *domain)
{
	enum doca_ctx_states state;

	if (!domain)
		return;
	doca_ctx_get_state(doca_urom_domain_as_ctx(domain), &state);
	if (state != DOCA_CTX_STATE_IDLE)
		doca_ctx_stop(doca_urom_domain_as_ctx(domain));
	doca_urom_domain_destroy(domain);
}

doca_error_t urom_domain_open(struct doca_pe *pe, struct doca_urom_worker *worker,
			      struct doca_urom_domain_oob_coll *oob, struct doca_urom_domain **domain)
{
	uint64_t id = oob->oob_index;
	struct doca_urom_domain *d;
	doca_error_t r = doca_urom_domain_create(&d);

	if (r != DOCA_SUCCESS)
		return r;
	r = doca_pe_connect_ctx(pe, doca_urom_domain_as_ctx(d));
	if (r == DOCA_SUCCESS)
		r = doca_urom_domain_set_oob(d, oob);
	if (r == DOCA_SUCCESS)
		r = doca_urom_domain_set_workers(d, &id, &worker, 1);
	if (r == DOCA_SUCCESS)
		r = doca_ctx_start(doca_urom_domain_as_ctx(d));
	if (r == DOCA_ERROR_IN_PROGRESS)
		r = urom_wait_state(pe, doca_urom_domain_as_ctx(d), DOCA_CTX_STATE_RUNNING, 35000);
	if (r != DOCA_SUCCESS) {
		DOCA_LOG_ERR("Failed to start the domain: %s: %s", doca_error_get_descr(r),
			     doca_urom_domain_get_error_text(d));
		urom_domain_close(d);
		return r;
	}
	*domain = d;
	return DOCA_SUCCESS;
}
