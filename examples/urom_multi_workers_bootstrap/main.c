/* urom_multi_workers_bootstrap: four threads, four workers in two groups, one loopback each; then the
 * service is asked which workers are in each group.
 * Must not know channels. Next: plugins/worker_graph/urom_graph.h.
 *
 * Exit 0 only if four loopbacks were checked and both groups are right; 77 if this daemon cannot do it. */
#include <argp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <doca_log.h>

#include "urom_common.h"
#include "urom_graph.h"

DOCA_LOG_REGISTER(UROM::MULTI_WORKERS_BOOTSTRAP);

#define N_WORKERS 4
#define SKIP 77

struct thread_args {
	pthread_t thread;
	struct doca_urom_service *service;
	uint64_t id, plugin;
	atomic_int *running, *release;
	doca_error_t result;
	bool checked;
};

struct options {
	const char *device;
	bool stay;
};

static volatile sig_atomic_t signalled;

static void on_signal(int sig)
{
	(void)sig;
	signalled = 1;
}

struct echo {
	bool done;
	doca_error_t result;
	uint64_t data;
};

static void loopback_finished(doca_error_t result, union doca_data cookie, uint64_t data)
{
	struct echo *e = cookie.ptr;

	e->done = true;
	e->result = result;
	e->data = data;
}

static doca_error_t one_loopback(struct doca_pe *pe, struct doca_urom_worker *w, struct thread_args *a)
{
	struct echo e = { .done = false };
	double end = urom_seconds() + 10;
	doca_error_t r = urom_graph_task_loopback(w, (union doca_data){ .ptr = &e }, a->id, loopback_finished);

	while (r == DOCA_SUCCESS && !e.done) {
		if (!doca_pe_progress(pe))
			sched_yield();
		if (urom_seconds() > end)
			return DOCA_ERROR_TIME_OUT; /* not reached: a dead worker completes its tasks */
	}
	if (r == DOCA_SUCCESS)
		r = e.result;
	if (r == DOCA_SUCCESS && e.data != a->id)
		r = DOCA_ERROR_UNEXPECTED;
	if (r == DOCA_SUCCESS) {
		a->checked = true;
		DOCA_LOG_INFO("Worker %llu: loopback of %llu came back", (unsigned long long)a->id,
			      (unsigned long long)e.data);
	}
	return r;
}

static void *worker_thread(void *arg)
{
	static char *const env[] = { (char *)(uintptr_t) "UCX_LOG_LEVEL=warn" };
	struct thread_args *a = arg;
	struct urom_worker_spec spec = { .id = a->id, .gid = (uint32_t)(a->id % 2), .plugins = a->plugin,
					 .max_inflight = 2, .env = env, .n_env = 1 };
	struct doca_urom_worker *w = NULL;
	struct doca_pe *pe;
	uint64_t id = 0;

	a->result = doca_pe_create(&pe);
	if (a->result == DOCA_SUCCESS)
		a->result = urom_worker_open(a->service, pe, &spec, &w);
	if (a->result == DOCA_SUCCESS) {
		doca_urom_worker_get_id(w, &id);
		DOCA_LOG_INFO("Worker %llu is running, gid %u, channel %s", (unsigned long long)id, spec.gid,
			      doca_urom_worker_get_channel(w));
		a->result = one_loopback(pe, w, a);
	}
	atomic_fetch_add(a->running, 1);
	/* stay, so that the groups are there to be asked for */
	while (!atomic_load(a->release) && a->result == DOCA_SUCCESS)
		if (!doca_pe_progress(pe))
			usleep(1000);
	if (w)
		urom_worker_close(pe, w);
	if (pe)
		doca_pe_destroy(pe);
	return NULL;
}

struct group {
	bool done, right;
	uint32_t gid;
};

static void group_answer(struct doca_urom_service_get_workers_by_gid_task *task, union doca_data task_user_data,
			 union doca_data ctx_user_data)
{
	struct group *g = task_user_data.ptr;
	const uint64_t *ids = doca_urom_service_get_workers_by_gid_task_get_worker_ids(task);
	size_t n = doca_urom_service_get_workers_by_gid_task_get_workers_count(task), at = 0;
	char text[128] = "";

	(void)ctx_user_data;
	g->done = true;
	g->right = doca_task_get_status(doca_urom_service_get_workers_by_gid_task_as_task(task)) == DOCA_SUCCESS &&
		   n == N_WORKERS / 2;
	for (size_t i = 0; i < n; i++) {
		if (at < sizeof(text) - 24)
			at += (size_t)snprintf(text + at, sizeof(text) - at, " %llu", (unsigned long long)ids[i]);
		g->right = g->right && ids[i] == g->gid + 2 * i;
	}
	DOCA_LOG_INFO("gid %u: %zu workers, ids:%s", g->gid, n, text);
	doca_urom_service_get_workers_by_gid_task_release(task);
}

static doca_error_t ask_group(struct urom_session *s, uint32_t gid)
{
	struct doca_urom_service_get_workers_by_gid_task *task;
	struct group g = { .gid = gid };
	double end = urom_seconds() + 10;
	doca_error_t r = doca_urom_service_get_workers_by_gid_task_allocate_init(s->service, gid, group_answer, &task);

	if (r != DOCA_SUCCESS)
		return r;
	doca_task_set_user_data(doca_urom_service_get_workers_by_gid_task_as_task(task), (union doca_data){ .ptr = &g });
	r = doca_task_submit(doca_urom_service_get_workers_by_gid_task_as_task(task));
	if (r != DOCA_SUCCESS) {
		doca_urom_service_get_workers_by_gid_task_release(task);
		return r;
	}
	while (!g.done && urom_seconds() < end)
		if (!doca_pe_progress(s->pe))
			sched_yield();
	return !g.done ? DOCA_ERROR_TIME_OUT : g.right ? DOCA_SUCCESS : DOCA_ERROR_UNEXPECTED;
}

static doca_error_t run(struct urom_session *s, const struct options *o, uint64_t plugin, int *n_checked)
{
	struct thread_args args[N_WORKERS];
	atomic_int running = 0, release = 0;
	doca_error_t r = DOCA_SUCCESS;
	int n_started = 0;

	for (; n_started < N_WORKERS; n_started++) {
		args[n_started] = (struct thread_args){ .service = s->service, .id = (uint64_t)n_started,
							.plugin = plugin, .running = &running, .release = &release };
		if (pthread_create(&args[n_started].thread, NULL, worker_thread, &args[n_started])) {
			r = DOCA_ERROR_OPERATING_SYSTEM;
			break;
		}
	}
	/* spawning travels on the service: keep it moving */
	while (atomic_load(&running) < n_started)
		if (!doca_pe_progress(s->pe))
			usleep(200);
	for (int i = 0; i < n_started; i++)
		DOCA_ERROR_PROPAGATE(r, args[i].result);
	for (uint32_t gid = 2; gid-- > 0 && r == DOCA_SUCCESS;)
		r = ask_group(s, gid);
	while (r == DOCA_SUCCESS && o->stay && !signalled)
		usleep(10000);
	atomic_store(&release, 1);
	for (int i = 0; i < n_started; i++) {
		pthread_join(args[i].thread, NULL);
		*n_checked += args[i].checked;
	}
	return r;
}

static const struct argp_option arg_options[] = {
	{ "device", 'd', "NAME", 0, "device whose daemon is used (default mlx5_0)", 0 },
	{ "stay", 's', NULL, 0, "keep the workers until SIGINT or SIGTERM", 0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	if (key == 'd')
		o->device = arg;
	else if (key == 's')
		o->stay = true;
	else
		return ARGP_ERR_UNKNOWN;
	return 0;
}

int main(int argc, char **argv)
{
	static const struct argp argp = { .options = arg_options, .parser = parse,
					  .doc = "Start four UROM workers in two groups and check each." };
	struct options o = { .device = "mlx5_0" };
	struct urom_session s;
	uint64_t plugin, version;
	int n_checked = 0;
	doca_error_t r;

	argp_parse(&argp, argc, argv, 0, NULL, &o);
	doca_log_backend_create_standard();
	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
	r = urom_session_open(&s, o.device, N_WORKERS, 4096);
	if (r != DOCA_SUCCESS)
		return 1;
	r = urom_find_plugin(&s, "worker_graph", &plugin, &version);
	if (r == DOCA_ERROR_NOT_FOUND) {
		urom_session_close(&s);
		return SKIP;
	}
	if (r == DOCA_SUCCESS)
		r = urom_graph_init(plugin, version);
	if (r == DOCA_SUCCESS)
		r = run(&s, &o, plugin, &n_checked);
	urom_session_close(&s);
	if (r != DOCA_SUCCESS || n_checked != N_WORKERS) {
		DOCA_LOG_ERR("Sample failed: %s; %d of %d loopbacks checked", doca_error_get_descr(r), n_checked,
			     N_WORKERS);
		return 1;
	}
	DOCA_LOG_INFO("Sample finished successfully: %d loopbacks checked", n_checked);
	return 0;
}
