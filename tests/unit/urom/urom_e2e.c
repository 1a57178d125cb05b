/* Host library, daemon, worker and plugin together: commands come back, in poll and in event mode, over every
 * channel; refusals have names; nothing is left behind. */
#include <poll.h>

#include <doca_urom.h>

#include "fixture.h"
#include "urom_common.h"
#include "urom_graph.h"

static struct {
	int n;
	doca_error_t result;
	uint64_t sum;
} seen;

static void back(doca_error_t result, union doca_data cookie, uint64_t data)
{
	seen.n++;
	seen.result = result;
	seen.sum += data;
	T_EQ(cookie.u64, data + 1);
}

static void wait_event(struct doca_pe *pe)
{
	doca_notification_handle_t h;
	struct pollfd p = { .events = POLLIN };

	doca_pe_get_notification_handle(pe, &h);
	p.fd = h;
	doca_pe_request_notification(pe);
	T_OK(poll(&p, 1, 5000) == 1);
	doca_pe_clear_notification(pe, h);
}

static void loopbacks(struct doca_pe *pe, struct doca_urom_worker *w, int n, bool event_mode)
{
	uint64_t sum = 0;
	int sent = 0;
	double end = now_s() + 20;

	memset(&seen, 0, sizeof(seen));
	while (seen.n < n && now_s() < end) {
		if (sent < n) {
			doca_error_t r = urom_graph_task_loopback(w, (union doca_data){ .u64 = (uint64_t)sent * 3 + 1 },
								  (uint64_t)sent * 3, back);

			if (r == DOCA_SUCCESS) {
				sum += (uint64_t)sent * 3;
				sent++;
				if (!event_mode)
					continue;
			} else {
				T_EQ(r, DOCA_ERROR_AGAIN);
			}
		}
		if (!doca_pe_progress(pe) && event_mode)
			wait_event(pe);
	}
	T_EQ(seen.n, n);
	T_EQ(seen.result, DOCA_SUCCESS);
	T_EQ(seen.sum, sum);
}

static void raw_done(struct doca_urom_worker_cmd_task *t, union doca_data task_data, union doca_data ctx_data)
{
	seen.n++;
	seen.result = doca_task_get_status(doca_urom_worker_cmd_task_as_task(t));
	(void)task_data;
	(void)ctx_data;
	doca_urom_worker_cmd_task_release(t);
}

/* One command of our own bytes; how it ended. */
static doca_error_t raw(struct doca_pe *pe, struct doca_urom_worker *w, uint64_t plugin, const void *bytes, size_t len)
{
	struct doca_urom_worker_cmd_task *t;
	struct doca_buf *b;
	void *at;
	double end = now_s() + 10;
	doca_error_t r = doca_urom_worker_cmd_task_allocate_init(w, plugin, &t);

	memset(&seen, 0, sizeof(seen));
	if (r != DOCA_SUCCESS)
		return r;
	b = doca_urom_worker_cmd_task_get_payload(t);
	doca_buf_get_data(b, &at);
	memcpy(at, bytes, len);
	doca_buf_set_data(b, at, len);
	doca_urom_worker_cmd_task_set_cb(t, raw_done);
	r = doca_task_submit(doca_urom_worker_cmd_task_as_task(t));
	if (r != DOCA_SUCCESS) {
		doca_urom_worker_cmd_task_release(t);
		return r;
	}
	while (!seen.n && now_s() < end)
		doca_pe_progress(pe);
	T_EQ(seen.n, 1);
	return seen.result;
}

static void one_channel(const char *endpoint, const char *channel)
{
	struct fixture f = { 0 };
	struct urom_session s;
	struct urom_worker_spec spec = { .id = DOCA_UROM_WORKER_ID_ANY, .gid = 5, .max_inflight = 16 };
	struct doca_urom_worker *w, *second;
	uint64_t plugin, version, id;
	pid_t daemon;

	T_NEED(fixture_start(&f, endpoint, NULL, NULL));
	daemon = f.pid;
	setenv("DOCA_UROM_ENDPOINT", f.endpoint, 1);
	T_NEED(urom_session_open(&s, "anything", 4, 4096) == DOCA_SUCCESS);
	T_NEED(urom_find_plugin(&s, "worker_graph", &plugin, &version) == DOCA_SUCCESS);
	T_EQ(urom_graph_init(plugin, version + 1), DOCA_ERROR_UNSUPPORTED_VERSION);
	T_EQ(urom_graph_init(plugin, version), DOCA_SUCCESS);
	spec.plugins = plugin;
	T_NEED(urom_worker_open(s.service, s.pe, &spec, &w) == DOCA_SUCCESS);
	T_STR(doca_urom_worker_get_channel(w), channel);
	T_EQ(children_of(daemon, NULL, 0), 1);
	loopbacks(s.pe, w, 2000, false);
	loopbacks(s.pe, w, 300, true);
	/* refused by the plugin, by the framework, by the library */
	T_EQ(raw(s.pe, w, plugin, "\xff\xff\xff\xff\0\0\0\0\0\0\0\0", 12), DOCA_ERROR_NOT_SUPPORTED);
	T_EQ(raw(s.pe, w, plugin, "short", 5), DOCA_ERROR_INVALID_VALUE);
	T_EQ(raw(s.pe, w, 1ull << 63, "x", 1), DOCA_ERROR_NOT_FOUND);
	T_EQ(raw(s.pe, w, 3, "x", 1), DOCA_ERROR_INVALID_VALUE);
	loopbacks(s.pe, w, 10, false);
	/* a second connection to the same process, with its own numbering */
	T_EQ(doca_urom_worker_get_id(w, &id), DOCA_SUCCESS);
	spec.id = id;
	T_NEED(urom_worker_open(s.service, s.pe, &spec, &second) == DOCA_SUCCESS);
	T_EQ(children_of(daemon, NULL, 0), 1);
	loopbacks(s.pe, second, 100, false);
	loopbacks(s.pe, w, 100, false);
	urom_worker_close(s.pe, second);
	loopbacks(s.pe, w, 100, false);
	urom_worker_close(s.pe, w);
	T_OK(wait_for_children(daemon, 0, 3000)); /* the last client left */
	/* the id is free again */
	T_NEED(urom_worker_open(s.service, s.pe, &spec, &w) == DOCA_SUCCESS);
	loopbacks(s.pe, w, 10, false);
	urom_worker_close(s.pe, w);
	urom_session_close(&s);
	T_EQ(fixture_stop(&f, SIGTERM), 0);
	fixture_clean(&f);
}

static void refusals(void)
{
	static char *env_ok[] = { (char *)(uintptr_t) "UROM_X=1" }, *env_bad[] = { (char *)(uintptr_t) "LD_PRELOAD=/x" };
	struct fixture f = { 0 };
	struct urom_session s;
	struct urom_worker_spec spec = { .id = 7 };
	struct doca_urom_worker *w, *x, *w2;
	uint64_t plugin, version;

	T_NEED(fixture_start(&f, NULL, NULL, NULL));
	setenv("DOCA_UROM_ENDPOINT", f.endpoint, 1);
	T_NEED(urom_session_open(&s, "mlx5_0", 2, 4096) == DOCA_SUCCESS);
	T_NEED(urom_find_plugin(&s, "worker_graph", &plugin, &version) == DOCA_SUCCESS);
	spec.plugins = 1ull << 50;
	T_EQ(urom_worker_open(s.service, s.pe, &spec, &x), DOCA_ERROR_BAD_STATE); /* unknown plugin: back to idle */
	spec.plugins = plugin;
	spec.env = env_bad;
	spec.n_env = 1;
	T_EQ(urom_worker_open(s.service, s.pe, &spec, &x), DOCA_ERROR_BAD_STATE);
	T_EQ(urom_worker_open(s.service, s.pe, &spec, &x), DOCA_ERROR_BAD_STATE);
	T_EQ(fixture_logged(&f, "LD_PRELOAD is not allowed"), 1);
	spec.env = env_ok;
	T_NEED(urom_worker_open(s.service, s.pe, &spec, &w) == DOCA_SUCCESS);
	T_EQ(urom_worker_open(s.service, s.pe, &spec, &x), DOCA_ERROR_BAD_STATE); /* env on one that runs */
	spec.n_env = 0;
	spec.id = 8;
	T_EQ(urom_worker_open(s.service, s.pe, &spec, &x), DOCA_SUCCESS);
	spec.id = 9; /* the third of two */
	T_EQ(urom_worker_open(s.service, s.pe, &spec, &w2), DOCA_ERROR_BAD_STATE);
	urom_worker_close(s.pe, x);
	T_OK(wait_for_children(f.pid, 1, 3000));
	T_EQ(urom_worker_open(s.service, s.pe, &spec, &x), DOCA_SUCCESS);
	urom_worker_close(s.pe, x);
	urom_worker_close(s.pe, w);
	urom_session_close(&s);
	fixture_clean(&f);
}

int main(void)
{
	one_channel(NULL, "shm");
	one_channel("tcp:127.0.0.1:", "socket");
	if (!getenv("UROM_TEST_NO_UCX"))
		one_channel("ucx:127.0.0.1:", "ucx");
	refusals();
	T_DONE();
}
