/* Kill -9 of host, worker, daemon or peer at every phase: every submitted task completes exactly once, no
 * orphan, no hang, no stale socket, and the next daemon works. Prints the matrix. */
#include "group.h"
#include "urom_graph.h"
#include "urom_sandbox.h"

enum victim { HOST, WORKER, DAEMON, PEER, N_VICTIMS };
enum phase { CONNECT, SPAWN, RUNNING, IN_FLIGHT, DOMAIN, TEARDOWN, N_PHASES };

static const char *const victims[] = { "host", "worker", "daemon", "peer" };
static const char *const phases[] = { "connect", "spawn", "running", "in-flight", "domain", "teardown" };
static char verdict[N_VICTIMS][N_PHASES][48];

static struct fixture fix;

/* What a victim host does: reaches its phase, says so, stays there until killed. */
static void say(int fd, char c)
{
	if (write(fd, &c, 1) != 1)
		_exit(1);
}

static int n_done, n_submitted;
static doca_error_t last_result;

static void sent(doca_error_t r, union doca_data cookie, uint64_t context)
{
	n_done++;
	last_result = r;
}

static void received(doca_error_t r, union doca_data cookie, uint64_t context,
		     const struct urom_sandbox_recv_result *got)
{
	n_done++;
	last_result = r;
}

static const union doca_data none = { .ptr = NULL };

/* n receives that nothing will satisfy: open until something dies. */
static void submit_receives(struct doca_urom_worker *w, int n)
{
	for (int i = 0; i < n; i++)
		if (urom_sandbox_tag_task_recv(w, none, 0, 64, 0xdead + (uint64_t)i, UINT64_MAX, 0, 0, received) ==
		    DOCA_SUCCESS)
			n_submitted++;
}

static doca_error_t never_gather(void *sbuf, void *rbuf, size_t msglen, void *info, void **req)
{
	*req = info;
	return DOCA_SUCCESS;
}
static doca_error_t never_done(void *req)
{
	return DOCA_ERROR_IN_PROGRESS;
}
static doca_error_t never_free(void *req)
{
	return DOCA_SUCCESS;
}

static bool open_session(struct urom_session *s, uint64_t *plugin)
{
	uint64_t version;

	setenv("DOCA_UROM_ENDPOINT", fix.endpoint, 1);
	return urom_session_open(s, "mlx5_0", 8, 4096) == DOCA_SUCCESS &&
	       urom_find_plugin(s, "worker_sandbox", plugin, &version) == DOCA_SUCCESS &&
	       urom_sandbox_init(*plugin, version) == DOCA_SUCCESS;
}

static bool open_worker(struct urom_session *s, uint64_t plugin, uint64_t id, struct doca_urom_worker **w)
{
	struct urom_worker_spec spec = { .id = id, .plugins = plugin, .max_inflight = 32 };

	return urom_worker_open(s->service, s->pe, &spec, w) == DOCA_SUCCESS;
}

/* A started domain whose allgather never ends. */
static struct doca_urom_domain *stuck_domain(struct urom_session *s, struct doca_urom_worker *w)
{
	static int mark;
	struct doca_urom_domain_oob_coll oob = { .allgather = never_gather, .req_test = never_done,
						 .req_free = never_free, .coll_info = &mark, .n_oob_indexes = 2 };
	struct doca_urom_domain *d;
	uint64_t id = 0;

	if (doca_urom_domain_create(&d) != DOCA_SUCCESS)
		return NULL;
	doca_pe_connect_ctx(s->pe, doca_urom_domain_as_ctx(d));
	doca_urom_domain_set_oob(d, &oob);
	doca_urom_domain_set_workers(d, &id, &w, 1);
	doca_urom_domain_set_timeout(d, 1500);
	if (doca_ctx_start(doca_urom_domain_as_ctx(d)) != DOCA_ERROR_IN_PROGRESS)
		return NULL;
	for (int i = 0; i < 2000; i++)
		doca_pe_progress(s->pe);
	return d;
}

static void progress_for(struct urom_session *s, double seconds)
{
	double end = now_s() + seconds;

	while (now_s() < end)
		if (!doca_pe_progress(s->pe))
			usleep(100);
}

static enum doca_ctx_states state_of(struct doca_ctx *c)
{
	enum doca_ctx_states st = DOCA_CTX_STATE_IDLE;

	doca_ctx_get_state(c, &st);
	return st;
}

/* Until the context is idle again, at most 8 s. */
static bool falls_idle(struct urom_session *s, struct doca_ctx *c)
{
	double end = now_s() + 8;

	while (state_of(c) != DOCA_CTX_STATE_IDLE && now_s() < end)
		if (!doca_pe_progress(s->pe))
			usleep(100);
	return state_of(c) == DOCA_CTX_STATE_IDLE;
}

/* ---- the host is the victim --------------------------------------------------------------------------- */

static void be_host(enum phase at, int fd)
{
	struct urom_session s;
	struct doca_urom_worker *w;
	uint64_t plugin;

	if (!open_session(&s, &plugin))
		_exit(1);
	if (at == CONNECT) {
		say(fd, 'r');
		pause();
	}
	if (at == SPAWN) {
		doca_urom_worker_create(&w);
		doca_pe_connect_ctx(s.pe, doca_urom_worker_as_ctx(w));
		doca_urom_worker_set_service(w, s.service);
		doca_urom_worker_set_id(w, 70);
		doca_urom_worker_set_plugins(w, plugin);
		doca_ctx_start(doca_urom_worker_as_ctx(w));
		say(fd, 'r');
		pause();
	}
	if (!open_worker(&s, plugin, 70, &w))
		_exit(1);
	if (at == IN_FLIGHT) {
		submit_receives(w, 16);
		progress_for(&s, 0.05);
	}
	if (at == DOMAIN && !stuck_domain(&s, w))
		_exit(1);
	if (at == TEARDOWN)
		doca_ctx_stop(doca_urom_worker_as_ctx(w));
	say(fd, 'r');
	pause();
	_exit(0);
}

static bool kill_host(enum phase at)
{
	int p[2];
	char c;
	pid_t child;
	bool ok;

	T_NEED(pipe(p) == 0);
	child = fork();
	if (child == 0)
		be_host(at, p[1]);
	close(p[1]);
	ok = read(p[0], &c, 1) == 1;
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	close(p[0]);
	/* its worker goes too: at once, or when its ticket has run out */
	return ok && wait_for_children(fix.pid, 0, 8000);
}

/* ---- a worker or the daemon is the victim ------------------------------------------------------------- */

static void strike(enum victim v)
{
	pid_t kids[16];
	int n = children_of(fix.pid, kids, 16);

	if (v == DAEMON) {
		fixture_stop(&fix, SIGKILL);
		return;
	}
	for (int i = 0; i < n && i < 16; i++)
		kill(kids[i], SIGKILL);
}

static bool daemon_back(const pid_t *old_kids, int n)
{
	struct urom_session s;
	uint64_t plugin;
	bool ok;

	for (int i = 0; i < n; i++) /* no orphan */
		for (int k = 0; k < 3000 && is_alive(old_kids[i]); k++)
			usleep(1000);
	for (int i = 0; i < n; i++)
		if (is_alive(old_kids[i]))
			return false;
	if (!fixture_start(&fix, fix.endpoint, NULL, NULL))
		return false;
	ok = open_session(&s, &plugin);
	if (ok)
		urom_session_close(&s);
	return ok;
}

static bool strike_case(enum victim v, enum phase at)
{
	struct urom_session s;
	struct doca_urom_worker *w = NULL;
	struct doca_urom_domain *d = NULL;
	uint64_t plugin;
	pid_t kids[16];
	int n;
	bool ok = open_session(&s, &plugin);

	n_done = n_submitted = 0;
	if (!ok)
		return false;
	if (at == SPAWN) {
		doca_urom_worker_create(&w);
		doca_pe_connect_ctx(s.pe, doca_urom_worker_as_ctx(w));
		doca_urom_worker_set_service(w, s.service);
		doca_urom_worker_set_plugins(w, plugin);
		ok = doca_ctx_start(doca_urom_worker_as_ctx(w)) == DOCA_ERROR_IN_PROGRESS;
		for (int i = 0; i < 1000 && !children_of(fix.pid, NULL, 0); i++)
			usleep(100);
	} else if (at != CONNECT) {
		ok = open_worker(&s, plugin, 71, &w);
	}
	if (ok && at == IN_FLIGHT) {
		submit_receives(w, 16);
		progress_for(&s, 0.05);
		ok = n_submitted == 16 && n_done == 0;
	}
	if (ok && at == DOMAIN)
		ok = (d = stuck_domain(&s, w)) != NULL;
	if (ok && at == TEARDOWN)
		ok = doca_ctx_stop(doca_urom_worker_as_ctx(w)) == DOCA_ERROR_IN_PROGRESS;
	n = children_of(fix.pid, kids, 16);
	strike(v);
	if (w)
		ok = falls_idle(&s, doca_urom_worker_as_ctx(w)) && ok;
	else if (v == DAEMON)
		ok = falls_idle(&s, doca_urom_service_as_ctx(s.service)) && ok;
	if (d)
		ok = falls_idle(&s, doca_urom_domain_as_ctx(d)) && ok;
	ok = ok && n_done == n_submitted;
	urom_domain_close(d);
	if (w)
		ok = doca_urom_worker_destroy(w) == DOCA_SUCCESS && ok;
	urom_session_close(&s);
	if (v == DAEMON)
		ok = daemon_back(kids, n < 16 ? n : 16) && ok;
	return ok && wait_for_children(fix.pid, 0, 8000);
}

/* ---- a peer's worker is the victim ---------------------------------------------------------------------- */

static bool kill_peer(enum phase at)
{
	struct group g = { .f = fix };
	pid_t kids[8];
	int n;
	double end;
	bool ok;

	n_done = n_submitted = 0;
	if (!group_open(&g, 2, "worker_sandbox", 4096) || urom_sandbox_init(g.plugin, g.version) != DOCA_SUCCESS)
		return false;
	n = children_of(fix.pid, kids, 8);
	ok = n == 2;
	if (at == IN_FLIGHT || at == TEARDOWN) {
		submit_receives(g.w[0], 8);
		progress_for(&g.s, 0.2); /* the workers meet */
	}
	if (at == TEARDOWN)
		doca_ctx_stop(doca_urom_worker_as_ctx(g.w[1]));
	kill(kids[0] > kids[1] ? kids[0] : kids[1], SIGKILL); /* the second to be spawned */
	if (at == RUNNING) { /* to a dead peer */
		falls_idle(&g.s, doca_urom_worker_as_ctx(g.w[1]));
		if (urom_sandbox_tag_task_send(g.w[0], none, 0, g.ids[1], "x", 1, 1, 0, 0, sent) == DOCA_SUCCESS)
			n_submitted++;
	}
	end = now_s() + 8;
	while (n_done < n_submitted && now_s() < end)
		if (!doca_pe_progress(g.s.pe))
			usleep(100);
	ok = ok && n_done == n_submitted && n_submitted > 0 && last_result == DOCA_ERROR_CONNECTION_RESET;
	group_close(&g);
	return ok && wait_for_children(fix.pid, 0, 8000);
}

static int sockets_left(void)
{
	DIR *d = opendir(fix.dir);
	struct dirent *e;
	int n = 0;

	while (d && (e = readdir(d)))
		n += !strncmp(e->d_name, "mesh.", 5);
	if (d)
		closedir(d);
	return n;
}

int main(void)
{
	char path[256];

	T_NEED(fixture_start(&fix, NULL, NULL, NULL));
	for (int v = 0; v < N_VICTIMS; v++)
		for (int at = 0; at < N_PHASES; at++) {
			double t = now_s();
			bool ok;

			if (v == WORKER && at == CONNECT) {
				snprintf(verdict[v][at], 48, "(none yet)");
				continue;
			}
			if (v == PEER && at != RUNNING && at != IN_FLIGHT && at != TEARDOWN) {
				snprintf(verdict[v][at], 48, "(as worker)");
				continue;
			}
			ok = v == HOST ? kill_host(at) : v == PEER ? kill_peer(at) : strike_case(v, at);
			snprintf(verdict[v][at], 48, "%s %.2f s", ok ? "ok" : "FAILED", now_s() - t);
			t__checks++;
			if (!ok)
				T__FAIL("kill -9 of %s at %s", victims[v], phases[at]);
			T_EQ(sockets_left(), 0);
		}
	printf("%-8s", "kill -9");
	for (int at = 0; at < N_PHASES; at++)
		printf(" %-14s", phases[at]);
	for (int v = 0; v < N_VICTIMS; v++) {
		printf("\n%-8s", victims[v]);
		for (int at = 0; at < N_PHASES; at++)
			printf(" %-14s", verdict[v][at]);
	}
	printf("\n");
	T_EQ(fixture_stop(&fix, SIGTERM), 0);
	/* after an orderly end: neither socket nor lock */
	T_OK(access(fix.endpoint + 5, F_OK) != 0);
	snprintf(path, sizeof(path), "%s.lock", fix.endpoint + 5);
	T_OK(access(path, F_OK) != 0);
	fixture_clean(&fix);
	T_DONE();
}
