/* The host objects without a daemon: states, setters, failed allocations, the service file. */
#include <unistd.h>

#include "base/alloc.h"
#include "doca/dev.h"
#include "urom/host.h"
#include "t.h"

static void setters(void)
{
	struct doca_urom_service *s;
	struct doca_urom_worker *w;
	struct doca_urom_domain *d;
	struct doca_urom_worker_cmd_task *t;
	char *good[] = { (char *)(uintptr_t) "UCX_TLS=tcp" }, *bad[] = { (char *)(uintptr_t) "NO VALUE=1" };
	uint64_t id;

	T_EQ(doca_urom_service_create(&s), DOCA_SUCCESS);
	T_EQ(doca_urom_service_set_max_comm_msg_size(s, 63), DOCA_ERROR_INVALID_VALUE);
	T_EQ(doca_urom_service_set_max_comm_msg_size(s, (1u << 20) + 1), DOCA_ERROR_INVALID_VALUE);
	T_EQ(doca_urom_service_set_max_workers(s, 3), DOCA_ERROR_INVALID_VALUE);
	T_EQ(doca_urom_service_set_max_workers(s, 4), DOCA_SUCCESS);
	T_EQ(doca_ctx_start(doca_urom_service_as_ctx(s)), DOCA_ERROR_BAD_STATE);

	T_EQ(doca_urom_worker_create(&w), DOCA_SUCCESS);
	T_EQ(doca_urom_worker_cmd_task_allocate(w, &t), DOCA_ERROR_BAD_STATE); /* no service */
	T_EQ(doca_urom_worker_set_max_inflight_tasks(w, 0), DOCA_ERROR_INVALID_VALUE);
	T_EQ(doca_urom_worker_set_max_inflight_tasks(w, 8192), DOCA_ERROR_INVALID_VALUE);
	T_EQ(doca_urom_worker_set_env(w, good, 1), DOCA_SUCCESS);
	T_EQ(doca_urom_worker_set_env(w, bad, 1), DOCA_ERROR_INVALID_VALUE);
	T_EQ(doca_urom_worker_set_env(w, good, 65), DOCA_ERROR_TOO_BIG);
	T_EQ(doca_urom_worker_get_id(w, &id), DOCA_ERROR_BAD_STATE);
	T_STR(doca_urom_worker_get_channel(w), "none");
	T_EQ(doca_urom_worker_set_service(w, s), DOCA_SUCCESS);
	T_EQ(doca_urom_service_destroy(s), DOCA_ERROR_IN_USE);
	T_EQ(doca_urom_worker_cmd_task_allocate_init(w, 1, &t), DOCA_SUCCESS);
	T_EQ(doca_urom_worker_destroy(w), DOCA_ERROR_IN_USE);
	T_EQ(doca_task_submit(doca_urom_worker_cmd_task_as_task(t)), DOCA_ERROR_BAD_STATE);
	T_OK(doca_urom_worker_cmd_task_get_response(t) == NULL);
	T_EQ(doca_urom_worker_cmd_task_release(t), DOCA_SUCCESS);

	T_EQ(doca_urom_domain_create(&d), DOCA_SUCCESS);
	T_EQ(doca_urom_domain_add_buffer(d, &id, 8, NULL, 0, NULL, 0), DOCA_ERROR_BAD_STATE);
	T_EQ(doca_urom_domain_set_buffers_count(d, 1), DOCA_SUCCESS);
	T_EQ(doca_urom_domain_add_buffer(d, &id, 8, &id, 8, NULL, 0), DOCA_SUCCESS);
	T_EQ(doca_urom_domain_add_buffer(d, &id, 8, NULL, 0, NULL, 0), DOCA_ERROR_FULL);
	T_EQ(doca_urom_domain_destroy(d), DOCA_SUCCESS);
	T_EQ(doca_urom_worker_destroy(w), DOCA_SUCCESS);
	T_EQ(doca_urom_service_destroy(s), DOCA_SUCCESS);
	T_EQ(doca_urom_service_destroy(NULL), DOCA_ERROR_INVALID_VALUE);
}

/* Each n-th allocation of everything that a program makes fails once; nothing is lost. */
static doca_error_t make_all(void)
{
	static char *env[] = { (char *)(uintptr_t) "UROM_A=1", (char *)(uintptr_t) "UROM_B=2" };
	struct doca_urom_service *s = NULL;
	struct doca_urom_worker *w = NULL;
	struct doca_urom_domain *d = NULL;
	struct doca_urom_worker_cmd_task *t = NULL;
	struct doca_urom_service_get_workers_by_gid_task *g = NULL;
	struct doca_urom_mem *m = NULL;
	doca_error_t r = doca_urom_service_create(&s);

	if (r == DOCA_SUCCESS)
		r = doca_urom_worker_create(&w);
	if (r == DOCA_SUCCESS)
		r = doca_urom_domain_create(&d);
	if (r == DOCA_SUCCESS)
		r = doca_urom_mem_create(8192, &m);
	if (r == DOCA_SUCCESS)
		r = doca_urom_worker_set_service(w, s);
	if (r == DOCA_SUCCESS)
		r = doca_urom_worker_set_env(w, env, 2);
	if (r == DOCA_SUCCESS)
		r = doca_urom_domain_set_buffers_count(d, 1);
	if (r == DOCA_SUCCESS)
		r = doca_urom_domain_add_buffer(d, env, 8, env, 8, env, 8);
	if (r == DOCA_SUCCESS)
		r = doca_urom_worker_cmd_task_allocate_init(w, 1, &t);
	if (r == DOCA_SUCCESS)
		r = doca_urom_service_get_workers_by_gid_task_allocate_init(s, 1, NULL, &g);
	if (g)
		doca_urom_service_get_workers_by_gid_task_release(g);
	if (t)
		doca_urom_worker_cmd_task_release(t);
	if (m)
		doca_urom_mem_destroy(m);
	if (d)
		doca_urom_domain_destroy(d);
	if (w)
		doca_urom_worker_destroy(w);
	if (s)
		doca_urom_service_destroy(s);
	return r;
}

static void failed_allocations(void)
{
	long live = gw__alloc_live(), n;

	gw__alloc_fail_at(0);
	T_EQ(make_all(), DOCA_SUCCESS);
	n = gw__alloc_count();
	T_OK(n > 8);
	for (long k = 1; k <= n; k++) {
		gw__alloc_fail_at(k);
		T_EQ(make_all(), DOCA_ERROR_NO_MEMORY);
		T_EQ(gw__alloc_live(), live);
	}
	gw__alloc_fail_at(0);
}

static void write_file(const char *path, const char *host, const char *rest)
{
	FILE *f = fopen(path, "w");

	T_NEED(f);
	fprintf(f, "# comment\n\nelsewhere dpu d 0000:03:00.0 lo\n%s %s\n", host, rest);
	fclose(f);
}

static void service_file(void)
{
	char path[] = "/tmp/urom-sf-XXXXXX", host[256] = "";
	struct doca_urom_service *s;
	struct gw_diag d = { .text = "" };
	struct doca_dev *dev;

	close(mkstemp(path));
	gethostname(host, sizeof(host) - 1);
	setenv("DOCA_SOFT_DEVICES", "mlx5_0@0000:03:00.0", 1);
	T_EQ(doca_dev_open_by_name("mlx5_0", &dev), DOCA_SUCCESS);
	T_EQ(doca_urom_service_create(&s), DOCA_SUCCESS);
	T_EQ(doca_urom_service_set_dev(s, dev), DOCA_SUCCESS);
	T_EQ(doca_dev_close(dev), DOCA_ERROR_IN_USE);

	unsetenv("DOCA_UROM_ENDPOINT");
	unsetenv("DOCA_UROM_SERVICE_FILE");
	T_EQ(gw__urom_find(s, &d), DOCA_SUCCESS);
	T_HAS(s->ep.text, "/urom");
	setenv("DOCA_UROM_SERVICE_FILE", path, 1);
	write_file(path, host, "dpu 127.0.0.1 0000:03:00.0 lo unix:/run/x/y.sock");
	T_EQ(gw__urom_find(s, &d), DOCA_SUCCESS);
	T_STR(s->ep.text, "unix:/run/x/y.sock");
	write_file(path, host, "dpu 127.0.0.1 0000:03:00.0 lo");
	T_EQ(gw__urom_find(s, &d), DOCA_SUCCESS);
	T_STR(s->ep.text, "tcp:127.0.0.1:18516");
	write_file(path, host, "dpu 127.0.0.1 0000:99:00.0 lo");
	T_EQ(gw__urom_find(s, &d), DOCA_ERROR_NOT_FOUND);
	T_HAS(d.text, "0000:03:00.0");
	write_file(path, host, "host 127.0.0.1 0000:03:00.0 lo");
	T_EQ(gw__urom_find(s, &d), DOCA_ERROR_BAD_CONFIG);
	T_HAS(d.text, ":4:");
	setenv("DOCA_UROM_ENDPOINT", "tcp:127.0.0.1:7", 1);
	T_EQ(gw__urom_find(s, &d), DOCA_SUCCESS);
	T_STR(s->ep.text, "tcp:127.0.0.1:7");
	T_EQ(doca_urom_service_set_endpoint(s, "unix:/z"), DOCA_SUCCESS);
	T_EQ(gw__urom_find(s, &d), DOCA_SUCCESS);
	T_STR(s->ep.text, "unix:/z");
	unsetenv("DOCA_UROM_SERVICE_FILE");
	unsetenv("DOCA_UROM_ENDPOINT");
	unlink(path);
	doca_urom_service_destroy(s);
	T_EQ(doca_dev_close(dev), DOCA_SUCCESS);
}

int main(void)
{
	setters();
	failed_allocations();
	service_file();
	T_DONE();
}
