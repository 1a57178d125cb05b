/* What an administrator sees: status, plugins, workers with their counters, ping, stop. */
#include "group.h"
#include "urom_graph.h"

static char out[65536];

static int uromctl(const char *args)
{
	char cmd[512];
	size_t n;
	FILE *p;

	snprintf(cmd, sizeof(cmd), "%s %s 2>&1", getenv("UROMCTL"), args);
	p = popen(cmd, "r");
	T_NEED(p);
	n = fread(out, 1, sizeof(out) - 1, p);
	out[n] = '\0';
	return WEXITSTATUS(pclose(p));
}

static int n_back;

static void back(doca_error_t result, union doca_data cookie, uint64_t data)
{
	n_back++;
}

int main(void)
{
	struct fixture f = { 0 };
	struct urom_session s;
	struct urom_worker_spec spec = { .id = 12, .gid = 3 };
	struct doca_urom_worker *w;
	uint64_t version;
	double end;

	T_NEED(getenv("UROMCTL"));
	setenv("DOCA_UROM_ENDPOINT", "unix:/nowhere/at/all", 1);
	T_EQ(uromctl("status"), 1);
	T_HAS(out, "/nowhere/at/all");
	T_NEED(fixture_start(&f, NULL, NULL, NULL));
	setenv("DOCA_UROM_ENDPOINT", f.endpoint, 1);
	T_NEED(urom_session_open(&s, "mlx5_0", 2, 4096) == DOCA_SUCCESS);
	T_NEED(urom_find_plugin(&s, "worker_graph", &spec.plugins, &version) == DOCA_SUCCESS);
	urom_graph_init(spec.plugins, version);
	T_NEED(urom_worker_open(s.service, s.pe, &spec, &w) == DOCA_SUCCESS);
	for (int i = 0; i < 5; i++)
		T_EQ(urom_graph_task_loopback(w, (union doca_data){ .ptr = NULL }, 1, back), DOCA_SUCCESS);
	for (end = now_s() + 5; n_back < 5 && now_s() < end;)
		doca_pe_progress(s.pe);
	usleep(20000);
	T_EQ(uromctl("status"), 0);
	T_HAS(out, "daemon wire 1.0");
	T_HAS(out, "clients 2 workers 1 plugins 4"); /* the host, and uromctl itself */
	T_EQ(uromctl("plugins"), 0);
	T_HAS(out, "plugin worker_coll id");
	T_HAS(out, "version 1 state good");
	T_EQ(uromctl("workers"), 0);
	T_HAS(out, "worker 12 pid");
	T_HAS(out, "gid 3");
	T_HAS(out, "clients 1 inflight 0 cmds 5 notifs 5 errors 0 drops 0");
	T_EQ(uromctl("ping -c 2"), 0);
	T_HAS(out, "ping 2: ");
	T_EQ(uromctl("stop 99"), 1);
	T_HAS(out, "no such worker");
	T_EQ(uromctl("dance"), 1);
	T_EQ(uromctl("stop 12"), 0);
	T_EQ(urom_wait_state(s.pe, doca_urom_worker_as_ctx(w), DOCA_CTX_STATE_IDLE, 3000), DOCA_SUCCESS);
	T_OK(wait_for_children(f.pid, 0, 3000));
	urom_worker_close(s.pe, w);
	/* one that outlives its clients, and even its host */
	T_EQ(doca_urom_worker_create(&w), DOCA_SUCCESS);
	doca_pe_connect_ctx(s.pe, doca_urom_worker_as_ctx(w));
	doca_urom_worker_set_service(w, s.service);
	doca_urom_worker_set_id(w, 5);
	T_EQ(doca_urom_worker_set_persistent(w, 1), DOCA_SUCCESS);
	T_EQ(doca_ctx_start(doca_urom_worker_as_ctx(w)), DOCA_ERROR_IN_PROGRESS);
	T_EQ(urom_wait_state(s.pe, doca_urom_worker_as_ctx(w), DOCA_CTX_STATE_RUNNING, 5000), DOCA_SUCCESS);
	urom_worker_close(s.pe, w);
	urom_session_close(&s);
	usleep(200000);
	T_EQ(children_of(f.pid, NULL, 0), 1);
	T_EQ(uromctl("stop 5"), 0);
	T_OK(wait_for_children(f.pid, 0, 3000));
	fixture_clean(&f);
	T_DONE();
}
