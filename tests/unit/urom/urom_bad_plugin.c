/* Plugins that crash, hang, lie or shout: the daemon names them, the worker that suffers is ended, every task
 * completes, and a good plugin beside them works. */
#include "group.h"
#include "urom_graph.h"

static struct {
	int n;
	doca_error_t result;
} seen;

static void done(struct doca_urom_worker_cmd_task *t, union doca_data a, union doca_data b)
{
	seen.n++;
	seen.result = doca_task_get_status(doca_urom_worker_cmd_task_as_task(t));
	(void)a;
	(void)b;
	doca_urom_worker_cmd_task_release(t);
}

static doca_error_t command(struct urom_session *s, struct doca_urom_worker *w, uint64_t plugin, int ms)
{
	struct doca_urom_worker_cmd_task *t;
	double end = now_s() + ms / 1000.0;

	memset(&seen, 0, sizeof(seen));
	T_EQ(doca_urom_worker_cmd_task_allocate_init(w, plugin, &t), DOCA_SUCCESS);
	doca_urom_worker_cmd_task_set_cb(t, done);
	T_EQ(doca_task_submit(doca_urom_worker_cmd_task_as_task(t)), DOCA_SUCCESS);
	while (!seen.n && now_s() < end)
		doca_pe_progress(s->pe);
	T_EQ(seen.n, 1);
	return seen.result;
}

static bool has(struct urom_session *s, const char *name, uint64_t *id)
{
	const struct doca_urom_service_plugin_info *list;
	size_t n = 0;

	doca_urom_service_get_plugins_list(s->service, &list, &n);
	for (size_t i = 0; i < n; i++)
		if (!strcmp(list[i].plugin_name, name)) {
			*id = list[i].id;
			return true;
		}
	return false;
}

static struct doca_urom_worker *start(struct urom_session *s, uint64_t id, uint64_t plugin)
{
	struct urom_worker_spec spec = { .id = id, .plugins = plugin };
	struct doca_urom_worker *w = NULL;

	urom_worker_open(s->service, s->pe, &spec, &w);
	return w;
}

int main(void)
{
	static const char *const extra[] = { "--watchdog", "700", "--spawn-timeout", "1500", NULL };
	char path[600];
	struct fixture f = { 0 };
	struct urom_session s;
	struct doca_urom_worker *w, *good;
	uint64_t id, graph, version;

	snprintf(path, sizeof(path), "%s;%s", getenv("UROM_PLUGINS"), getenv("UROM_BAD_PLUGINS"));
	T_NEED(fixture_start(&f, NULL, path, extra));
	setenv("DOCA_UROM_ENDPOINT", f.endpoint, 1);
	T_NEED(urom_session_open(&s, "mlx5_0", 8, 4096) == DOCA_SUCCESS);
	/* refused before anyone can ask for them, each by name */
	T_OK(!has(&s, "bad_crash_ctor", &id));
	T_OK(!has(&s, "bad_hang_ctor", &id));
	T_OK(!has(&s, "bad_exit_ctor", &id));
	T_OK(!has(&s, "bad_old_api", &id));
	T_EQ(fixture_logged(&f, "bad_crash_ctor: it crashed") +
		     fixture_logged(&f, "bad_crash_ctor: it ended") /* under a sanitizer */, 1);
	T_EQ(fixture_logged(&f, "bad_hang_ctor: its constructor did not return"), 1);
	T_EQ(fixture_logged(&f, "bad_exit_ctor: it ended its process"), 1);
	T_EQ(fixture_logged(&f, "bad_old_api: built for plugin API"), 1);

	T_NEED(urom_find_plugin(&s, "worker_graph", &graph, &version) == DOCA_SUCCESS);
	good = start(&s, 50, graph);
	T_NEED(good);
	T_OK(has(&s, "bad_hang_open", &id));
	T_OK(start(&s, 1, id) == NULL); /* not ready in time */
	T_OK(has(&s, "bad_fail_open", &id));
	T_OK(start(&s, 2, id) == NULL);

	T_OK(has(&s, "bad_hang_cmd", &id));
	w = start(&s, 3, id);
	T_NEED(w);
	T_EQ(command(&s, w, id, 8000), DOCA_ERROR_CONNECTION_RESET); /* the watchdog */
	T_EQ(fixture_logged(&f, "a plugin did not return"), 1);
	urom_worker_close(s.pe, w);

	T_OK(has(&s, "bad_crash_cmd", &id));
	w = start(&s, 4, id);
	T_NEED(w);
	T_EQ(command(&s, w, id, 8000), DOCA_ERROR_CONNECTION_RESET);
	urom_worker_close(s.pe, w);

	T_OK(has(&s, "bad_silent", &id));
	w = start(&s, 5, id);
	T_NEED(w);
	doca_urom_worker_set_task_timeout(w, 300);
	T_EQ(command(&s, w, id, 8000), DOCA_ERROR_TIME_OUT); /* never answered */
	urom_worker_close(s.pe, w);

	T_OK(has(&s, "bad_noisy", &id)); /* a flood of answers nobody waits for */
	w = start(&s, 6, id);
	T_NEED(w);
	T_EQ(command(&s, w, id, 8000), DOCA_SUCCESS);
	for (double end = now_s() + 20; !*doca_urom_worker_get_error_text(w) && now_s() < end;)
		doca_pe_progress(s.pe);
	T_HAS(doca_urom_worker_get_error_text(w), "answers to no command");
	urom_worker_close(s.pe, w);

	T_EQ(command(&s, good, graph, 5000), DOCA_ERROR_NOT_SUPPORTED); /* zeros are no command: refused, and alive */
	urom_worker_close(s.pe, good);
	urom_session_close(&s);
	T_EQ(fixture_stop(&f, SIGTERM), 0);
	fixture_clean(&f);
	T_DONE();
}
