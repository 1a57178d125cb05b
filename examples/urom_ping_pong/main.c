/* urom_ping_pong: two ranks, a worker each; rank 1 sends PING through its worker, rank 0 answers PONG.
 * Must not know channels. Next: plugins/worker_sandbox/urom_sandbox.h.
 *
 * mpirun -n 2 urom_ping_pong; or by hand, one command a rank: --rank R --size 2 --oob HOST:PORT; or with
 * neither, when it forks its second rank itself. Exit 0 only if both texts arrived; 77: it cannot be run. */
#include <argp.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <doca_log.h>

#include "mpi_oob.h"
#include "oob.h"
#include "urom_common.h"
#include "urom_sandbox.h"

DOCA_LOG_REGISTER(UROM::PING_PONG);

#define TAG_PING 0x1234u
#define TAG_PONG 0x5678u
#define TAG_MASK 0xffffu
#define MAX_TEXT 100u
#define SKIP 77

struct options {
	const char *device, *message, *oob;
	int rank, size;
};

struct rank {
	uint32_t index, size;
	struct doca_urom_domain_oob_coll coll;
	struct urom_oob *oob; /* NULL under MPI */
	bool mpi;
};

struct message {
	bool done;
	doca_error_t result;
	char text[MAX_TEXT + 1];
	size_t len;
};

static void send_finished(doca_error_t result, union doca_data cookie, uint64_t context)
{
	struct message *m = cookie.ptr;

	(void)context;
	m->done = true;
	m->result = result;
}

static void recv_finished(doca_error_t result, union doca_data cookie, uint64_t context,
			  const struct urom_sandbox_recv_result *got)
{
	struct message *m = cookie.ptr;

	(void)context;
	m->done = true;
	m->result = result;
	if (result != DOCA_SUCCESS)
		return;
	m->len = got->count < MAX_TEXT ? (size_t)got->count : MAX_TEXT;
	memcpy(m->text, got->buffer, m->len);
	m->text[m->len] = '\0';
}

static doca_error_t wait_for(struct doca_pe *pe, struct message *m)
{
	double end = urom_seconds() + 30;

	while (!m->done && urom_seconds() < end)
		if (!doca_pe_progress(pe))
			sched_yield();
	return m->done ? m->result : DOCA_ERROR_TIME_OUT;
}

static doca_error_t post(struct doca_urom_worker *w, struct message *m, uint64_t tag)
{
	return urom_sandbox_tag_task_recv(w, (union doca_data){ .ptr = m }, 0, MAX_TEXT, tag, TAG_MASK,
					  UROM_SANDBOX_INLINE, 0, recv_finished);
}

static doca_error_t send_text(struct doca_pe *pe, struct doca_urom_worker *w, uint64_t to, const char *text,
			      uint64_t tag)
{
	struct message m = { .done = false };
	doca_error_t r = urom_sandbox_tag_task_send(w, (union doca_data){ .ptr = &m }, 0, to, text, strlen(text) + 1,
						    tag, UROM_SANDBOX_INLINE, 0, send_finished);

	return r == DOCA_SUCCESS ? wait_for(pe, &m) : r;
}

/* Rank 1: PING out, PONG in. Rank 0: the other way round. */
static doca_error_t exchange(struct doca_pe *pe, struct doca_urom_worker *w, const struct rank *k, const char *text)
{
	bool pinger = k->index == 1;
	const char *in = pinger ? "PONG" : "PING", *out = pinger ? "PING" : "PONG";
	uint64_t tag_in = pinger ? TAG_PONG : TAG_PING, tag_out = pinger ? TAG_PING : TAG_PONG;
	struct message m = { .done = false };
	doca_error_t r;

	DOCA_LOG_INFO("Rank %u: posting %s receive", k->index, in);
	r = post(w, &m, tag_in);
	if (r == DOCA_SUCCESS && pinger) {
		DOCA_LOG_INFO("Rank %u: posting PING send", k->index);
		r = send_text(pe, w, 0, text, tag_out);
		if (r == DOCA_SUCCESS)
			DOCA_LOG_INFO("Rank %u: PING send completed", k->index);
	}
	if (r == DOCA_SUCCESS)
		r = wait_for(pe, &m);
	if (r != DOCA_SUCCESS)
		return r;
	DOCA_LOG_INFO("Rank %u: %s receive completed, message: %s", k->index, in, m.text);
	if (strcmp(m.text, text))
		return DOCA_ERROR_UNEXPECTED;
	if (!pinger) {
		DOCA_LOG_INFO("Rank %u: posting %s send", k->index, out);
		r = send_text(pe, w, 1, text, tag_out);
		if (r == DOCA_SUCCESS)
			DOCA_LOG_INFO("Rank %u: PONG send completed", k->index);
	}
	return r;
}

static doca_error_t barrier(const struct rank *k)
{
	return k->mpi ? mpi_oob_barrier() : urom_oob_barrier(k->oob);
}

static int run_rank(const struct options *o, struct rank *k)
{
	struct urom_session s;
	struct urom_worker_spec spec = { .id = k->index, .max_inflight = 8 };
	struct doca_urom_worker *w = NULL;
	struct doca_urom_domain *d = NULL;
	uint64_t version;
	doca_error_t r;

	if (urom_session_open(&s, o->device, 32, 4096) != DOCA_SUCCESS)
		return 1;
	r = urom_find_plugin(&s, "worker_sandbox", &spec.plugins, &version);
	if (r == DOCA_ERROR_NOT_FOUND) {
		urom_session_close(&s);
		return SKIP;
	}
	if (r == DOCA_SUCCESS)
		r = urom_sandbox_init(spec.plugins, version);
	if (r == DOCA_SUCCESS)
		r = urom_worker_open(s.service, s.pe, &spec, &w);
	if (r == DOCA_SUCCESS)
		r = urom_domain_open(s.pe, w, &k->coll, &d);
	if (r == DOCA_SUCCESS && k->index < 2)
		r = exchange(s.pe, w, k, o->message);
	/* nobody leaves while the other still waits */
	if (r == DOCA_SUCCESS)
		r = barrier(k);
	urom_domain_close(d);
	urom_worker_close(s.pe, w);
	urom_session_close(&s);
	if (r == DOCA_SUCCESS)
		DOCA_LOG_INFO("Rank %u: sample finished successfully", k->index);
	else
		DOCA_LOG_ERR("Rank %u: sample failed: %s", k->index, doca_error_get_descr(r));
	return r == DOCA_SUCCESS ? 0 : 1;
}

/* Rank 1 in a child of ours. */
static int run_both(const struct options *o)
{
	struct rank k = { .size = 2 };
	int s[2], status = 0, rc = 1;
	pid_t child;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, s))
		return 1;
	child = fork();
	if (child < 0)
		return 1;
	k.index = child ? 0 : 1;
	close(s[child ? 1 : 0]);
	if (urom_oob_pair(k.index, s[child ? 0 : 1], &k.oob) == DOCA_SUCCESS) {
		k.coll = urom_oob_coll(k.oob);
		rc = run_rank(o, &k);
		urom_oob_close(k.oob);
	}
	if (!child)
		_exit(rc);
	waitpid(child, &status, 0);
	return rc ? rc : WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static int run_by_hand(const struct options *o)
{
	struct rank k = { .index = (uint32_t)o->rank, .size = (uint32_t)o->size };
	char host[256];
	const char *colon = o->oob ? strrchr(o->oob, ':') : NULL;
	doca_error_t r;
	int rc;

	if (!colon || o->size < 2 || o->rank >= o->size) {
		fprintf(stderr, "--rank R --size N --oob HOST:PORT belong together\n");
		return 2;
	}
	snprintf(host, sizeof(host), "%.*s", (int)(colon - o->oob), o->oob);
	r = urom_oob_tcp(k.index, k.size, host, colon + 1, 30000, &k.oob);
	if (r != DOCA_SUCCESS) {
		DOCA_LOG_ERR("Rank %u: the ranks did not meet at %s: %s", k.index, o->oob, doca_error_get_descr(r));
		return 1;
	}
	k.coll = urom_oob_coll(k.oob);
	rc = run_rank(o, &k);
	urom_oob_close(k.oob);
	return rc;
}

static const struct argp_option arg_options[] = {
	{ "device", 'd', "NAME", 0, "device whose daemon is used (default mlx5_0)", 0 },
	{ "message", 'm', "TEXT", 0, "what is sent, at most 99 characters (default \"hello world\")", 0 },
	{ "rank", 'r', "N", 0, "without mpirun: this rank", 0 },
	{ "size", 'n', "N", 0, "without mpirun: how many ranks", 0 },
	{ "oob", 'o', "HOST:PORT", 0, "without mpirun: where rank 0 listens for the others", 0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 'd':
		o->device = arg;
		return 0;
	case 'm':
		if (strlen(arg) >= MAX_TEXT)
			argp_error(state, "message: at most %u characters", MAX_TEXT - 1);
		o->message = arg;
		return 0;
	case 'r':
		o->rank = atoi(arg);
		return 0;
	case 'n':
		o->size = atoi(arg);
		return 0;
	case 'o':
		o->oob = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int main(int argc, char **argv)
{
	static const struct argp argp = { .options = arg_options, .parser = parse,
					  .doc = "Two ranks play ping-pong through their UROM workers." };
	struct options o = { .device = "mlx5_0", .message = "hello world", .rank = -1 };
	struct rank k = { .mpi = true };
	int rc;

	argp_parse(&argp, argc, argv, 0, NULL, &o);
	doca_log_backend_create_standard();
	if (o.rank >= 0 || o.oob)
		return run_by_hand(&o);
	if (mpi_oob_open(&k.coll) != DOCA_SUCCESS)
		return run_both(&o);
	k.index = k.coll.oob_index;
	k.size = k.coll.n_oob_indexes;
	if (k.size < 2) {
		DOCA_LOG_ERR("Two ranks are needed: mpirun -n 2");
		rc = SKIP;
	} else {
		rc = run_rank(&o, &k);
	}
	mpi_oob_close();
	return rc;
}
