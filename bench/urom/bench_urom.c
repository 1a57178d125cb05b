/* bench_urom: command -> notification round trips, rate and spawn time, each beside its peer in the same run.
 * Prints a table and, with --json FILE, the same as JSON. Medians of RUNS runs; host on CPU 0, worker on CPU 1.
 * Must not know channels. Next: peers.h. */
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "peers.h"
#include "rig.h"
#include "urom_common.h"

#define RUNS 7
#define LAPS 4000
#define DEPTH 64

struct side {
	struct urom_session s;
	struct doca_urom_worker *w;
	uint64_t plugin;
	int n_done;
	bool failed;
};

static struct side *now_on;

static void done(struct doca_urom_worker_cmd_task *t, union doca_data a, union doca_data b)
{
	(void)a;
	(void)b;
	if (doca_task_get_status(doca_urom_worker_cmd_task_as_task(t)) != DOCA_SUCCESS)
		now_on->failed = true;
	now_on->n_done++;
	doca_urom_worker_cmd_task_release(t);
}

static bool submit(struct side *x, size_t bytes)
{
	struct doca_urom_worker_cmd_task *t;
	void *at;

	if (doca_urom_worker_cmd_task_allocate_init(x->w, x->plugin, &t) != DOCA_SUCCESS)
		return false;
	doca_buf_get_data(doca_urom_worker_cmd_task_get_payload(t), &at);
	doca_buf_set_data(doca_urom_worker_cmd_task_get_payload(t), at, bytes);
	doca_urom_worker_cmd_task_set_cb(t, done);
	if (doca_task_submit(doca_urom_worker_cmd_task_as_task(t)) == DOCA_SUCCESS)
		return true;
	doca_urom_worker_cmd_task_release(t);
	return false;
}

static void sleep_for_event(struct doca_pe *pe)
{
	doca_notification_handle_t h;
	struct pollfd p = { .events = POLLIN };

	doca_pe_get_notification_handle(pe, &h);
	p.fd = h;
	doca_pe_request_notification(pe);
	poll(&p, 1, 1000);
	doca_pe_clear_notification(pe, h);
}

static double round_trip(struct side *x, int n, bool events, size_t bytes)
{
	double *v = malloc(sizeof(*v) * (size_t)n), r;

	now_on = x;
	for (int i = -100; i < n && !x->failed; i++) {
		double t = clock_s(CLOCK_MONOTONIC);

		x->n_done = 0;
		if (!submit(x, bytes))
			x->failed = true;
		while (!x->n_done && !x->failed)
			if (!doca_pe_progress(x->s.pe) && events)
				sleep_for_event(x->s.pe);
		if (i >= 0)
			v[i] = (clock_s(CLOCK_MONOTONIC) - t) * 1e6;
	}
	r = x->failed ? -1 : median(v, n);
	free(v);
	return r;
}

/* Commands a second with DEPTH in flight. */
static double rate(struct side *x, int n)
{
	double t = clock_s(CLOCK_MONOTONIC);
	int sent = 0;

	now_on = x;
	x->n_done = 0;
	while (x->n_done < n && !x->failed) {
		while (sent < n && sent - x->n_done < DEPTH && submit(x, MESSAGE))
			sent++;
		doca_pe_progress(x->s.pe);
	}
	return (double)n / (clock_s(CLOCK_MONOTONIC) - t);
}

static bool open_side(struct side *x, const char *endpoint)
{
	struct urom_worker_spec spec = { .id = DOCA_UROM_WORKER_ID_ANY, .max_inflight = DEPTH };
	uint64_t version;

	memset(x, 0, sizeof(*x));
	setenv("DOCA_UROM_ENDPOINT", endpoint, 1);
	if (urom_session_open(&x->s, "mlx5_0", 16, 65600) != DOCA_SUCCESS ||
	    urom_find_plugin(&x->s, "bench_echo", &x->plugin, &version) != DOCA_SUCCESS)
		return false;
	spec.plugins = x->plugin;
	return urom_worker_open(x->s.service, x->s.pe, &spec, &x->w) == DOCA_SUCCESS;
}

static void close_side(struct side *x)
{
	if (x->w)
		urom_worker_close(x->s.pe, x->w);
	urom_session_close(&x->s);
}

/* From doca_ctx_start() to RUNNING. */
static double spawn_ms(struct side *x)
{
	struct urom_worker_spec spec = { .id = DOCA_UROM_WORKER_ID_ANY, .plugins = x->plugin };
	struct doca_urom_worker *w;
	double t = clock_s(CLOCK_MONOTONIC), r;

	if (urom_worker_open(x->s.service, x->s.pe, &spec, &w) != DOCA_SUCCESS)
		return -1;
	r = (clock_s(CLOCK_MONOTONIC) - t) * 1e3;
	urom_worker_close(x->s.pe, w);
	return r;
}

enum row {
	SHM, UCX_POSIX, UNIX_POLLED, RAW_UNIX_POLLED, TCP_POLLED, RAW_TCP_POLLED, EVENT, RAW_UNIX_BLOCKING, UNIX_64K,
	RAW_UNIX_64K, RATE_SHM, RATE_UNIX, SPAWN, N_ROWS,
};

static const char *const names[N_ROWS] = {
	[SHM] = "64 B command -> notification, shm ring (us)",
	[UCX_POSIX] = "  peer: UCX posix active message round trip (us)",
	[UNIX_POLLED] = "64 B, UNIX socket, polled (us)",
	[RAW_UNIX_POLLED] = "  peer: bare UNIX ping-pong, polled (us)",
	[TCP_POLLED] = "64 B, TCP loopback, polled (us)",
	[RAW_TCP_POLLED] = "  peer: bare TCP ping-pong, polled (us)",
	[EVENT] = "64 B, UNIX socket, event mode (us)",
	[RAW_UNIX_BLOCKING] = "  peer: bare UNIX ping-pong, blocking (us)",
	[UNIX_64K] = "64 KiB, shm ring (us)",
	[RAW_UNIX_64K] = "  peer: bare UNIX ping-pong, 64 KiB, polled (us)",
	[RATE_SHM] = "commands/s at depth 64, shm ring",
	[RATE_UNIX] = "commands/s at depth 64, UNIX socket",
	[SPAWN] = "spawn to RUNNING (ms)",
};

static const struct {
	enum row ours, peer;
	const char *bar;
} ratios[] = {
	{ SHM, UCX_POSIX, "BAR 1.10, AIM 0.80" },
	{ UNIX_POLLED, RAW_UNIX_POLLED, "AIM 1.15" },
	{ TCP_POLLED, RAW_TCP_POLLED, "" },
	{ EVENT, RAW_UNIX_BLOCKING, "AIM 1.15" },
	{ UNIX_64K, RAW_UNIX_64K, "" },
};

static void report(double v[N_ROWS][RUNS], const char *json)
{
	FILE *f = json ? fopen(json, "w") : NULL;
	double m[N_ROWS];

	if (f)
		fprintf(f, "{\n");
	for (int r = 0; r < N_ROWS; r++) {
		m[r] = median(v[r], RUNS);
		printf("%-52s %10.2f   (%.2f .. %.2f)\n", names[r], m[r], v[r][0], v[r][RUNS - 1]);
		if (f)
			fprintf(f, "  \"%s\": %.3f,\n", names[r] + (names[r][0] == ' ' ? 2 : 0), m[r]);
	}
	for (size_t i = 0; i < sizeof(ratios) / sizeof(ratios[0]); i++) {
		printf("ratio %-46s %10.2f   %s\n", names[ratios[i].ours], m[ratios[i].ours] / m[ratios[i].peer],
		       ratios[i].bar);
		if (f)
			fprintf(f, "  \"ratio %s\": %.3f%s\n", names[ratios[i].ours],
				m[ratios[i].ours] / m[ratios[i].peer],
				i + 1 < sizeof(ratios) / sizeof(ratios[0]) ? "," : "\n}");
	}
	if (f)
		fclose(f);
}

int main(int argc, char **argv)
{
	static double v[N_ROWS][RUNS];
	char dir[] = "/tmp/urom-bench-XXXXXX", ep[64];
	const char *json = argc > 2 && !strcmp(argv[1], "--json") ? argv[2] : NULL;
	struct side shm, plain, tcp;
	bool ok;

	if (!mkdtemp(dir))
		return 1;
	snprintf(ep, sizeof(ep), "unix:%s/s", dir);
	pin(CPU_NEAR);
	if (rig_start(ep, "1"))
		return 1;
	ok = open_side(&shm, ep);
	setenv("DOCA_UROM_CHANNEL", "socket", 1);
	ok = ok && open_side(&plain, ep);
	unsetenv("DOCA_UROM_CHANNEL");
	for (int r = 0; ok && r < RUNS; r++) { /* ours and the peer's side by side in time */
		v[UCX_POSIX][r] = peer_ucx_posix(LAPS, MESSAGE);
		v[SHM][r] = round_trip(&shm, LAPS, false, MESSAGE);
		v[RAW_UNIX_POLLED][r] = peer_unix(LAPS, false, MESSAGE);
		v[UNIX_POLLED][r] = round_trip(&plain, LAPS, false, MESSAGE);
		v[RAW_UNIX_BLOCKING][r] = peer_unix(LAPS, true, MESSAGE);
		v[EVENT][r] = round_trip(&plain, LAPS, true, MESSAGE);
		v[RAW_UNIX_64K][r] = peer_unix(LAPS / 10, false, 65536);
		v[UNIX_64K][r] = round_trip(&shm, LAPS / 10, false, 65536);
		v[RATE_SHM][r] = rate(&shm, 40000);
		v[RATE_UNIX][r] = rate(&plain, 20000);
		v[SPAWN][r] = spawn_ms(&shm);
	}
	if (ok) {
		close_side(&shm);
		close_side(&plain);
	}
	rig_stop();
	snprintf(ep, sizeof(ep), "tcp:127.0.0.1:%d", 20000 + (int)getpid() % 20000);
	ok = ok && !rig_start(ep, "1") && open_side(&tcp, ep);
	for (int r = 0; ok && r < RUNS; r++) {
		v[RAW_TCP_POLLED][r] = peer_tcp(LAPS, false, MESSAGE);
		v[TCP_POLLED][r] = round_trip(&tcp, LAPS, false, MESSAGE);
	}
	if (ok) {
		close_side(&tcp);
		rig_stop();
		report(v, json);
	}
	rmdir(dir);
	return ok ? 0 : 1;
}
