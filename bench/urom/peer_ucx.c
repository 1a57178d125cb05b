/* bench/urom/peer_ucx.c: UCX active messages between two processes over posix shared memory, by worker address:
 * the fastest that UCX has here. Must not know UROM. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <ucp/api/ucp.h>
#include <unistd.h>

#include "peers.h"

struct end {
	ucp_context_h context;
	ucp_worker_h worker;
	ucp_ep_h ep;
	volatile int got;
};

static ucs_status_t on_message(void *arg, const void *header, size_t header_len, void *data, size_t len,
			       const ucp_am_recv_param_t *param)
{
	(void)header;
	(void)header_len;
	(void)data;
	(void)len;
	(void)param;
	((struct end *)arg)->got++;
	return UCS_OK;
}

/* Context, worker, endpoint; addresses are swapped over fd. */
static bool open_end(struct end *e, int fd)
{
	ucp_params_t p = { .field_mask = UCP_PARAM_FIELD_FEATURES, .features = UCP_FEATURE_AM };
	ucp_worker_params_t wp = { .field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
				   .thread_mode = UCS_THREAD_MODE_SINGLE };
	ucp_am_handler_param_t h = { .field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
						   UCP_AM_HANDLER_PARAM_FIELD_ARG, .cb = on_message, .arg = e };
	ucp_ep_params_t ep = { .field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS };
	ucp_address_t *mine;
	char theirs[4096];
	size_t len;

	if (ucp_init(&p, NULL, &e->context) != UCS_OK || ucp_worker_create(e->context, &wp, &e->worker) != UCS_OK ||
	    ucp_worker_set_am_recv_handler(e->worker, &h) != UCS_OK ||
	    ucp_worker_get_address(e->worker, &mine, &len) != UCS_OK || len > sizeof(theirs))
		return false;
	if (send(fd, &len, sizeof(len), 0) != sizeof(len) || send(fd, mine, len, 0) != (ssize_t)len ||
	    recv(fd, &len, sizeof(len), MSG_WAITALL) != sizeof(len) || len > sizeof(theirs) ||
	    recv(fd, theirs, len, MSG_WAITALL) != (ssize_t)len)
		return false;
	ucp_worker_release_address(e->worker, mine);
	ep.address = (const ucp_address_t *)theirs;
	return ucp_ep_create(e->worker, &ep, &e->ep) == UCS_OK;
}

static bool post(struct end *e, const void *buf, size_t bytes)
{
	ucp_request_param_t p = { .op_attr_mask = 0 };
	ucs_status_ptr_t r = ucp_am_send_nbx(e->ep, 0, NULL, 0, buf, bytes, &p);

	if (UCS_PTR_IS_ERR(r))
		return false;
	if (r) {
		while (ucp_request_check_status(r) == UCS_INPROGRESS)
			ucp_worker_progress(e->worker);
		ucp_request_free(r);
	}
	return true;
}

static void echo(int fd, size_t bytes, const char *buf)
{
	struct end e = { .got = 0 };

	pin(CPU_FAR);
	if (!open_end(&e, fd))
		_exit(1);
	for (int seen = 0;;) {
		ucp_worker_progress(e.worker);
		for (; seen < e.got; seen++)
			if (!post(&e, buf, bytes))
				_exit(1);
	}
}

/* Runs in a child: UCX leaves threads and signal handlers behind that other measurements should not meet. */
static double measure(int fd, int n, size_t bytes, const char *buf)
{
	double *v = malloc(sizeof(*v) * (size_t)n), end = clock_s(CLOCK_MONOTONIC) + 20;
	struct end e = { .got = 0 };

	if (!v || !open_end(&e, fd))
		return -1;
	for (int i = -100; i < n; i++) {
		int want = e.got + 1;
		double t = clock_s(CLOCK_MONOTONIC);

		if (!post(&e, buf, bytes))
			return -1;
		while (e.got < want) {
			if (!ucp_worker_progress(e.worker) && clock_s(CLOCK_MONOTONIC) > end)
				return -1;
		}
		if (i >= 0)
			v[i] = (clock_s(CLOCK_MONOTONIC) - t) * 1e6;
	}
	return median(v, n);
}

double peer_ucx_posix(int n, size_t bytes)
{
	static char buf[65536];
	double r = -1;
	pid_t far, near;
	int s[2], p[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, s) || pipe(p))
		return -1;
	setenv("UCX_TLS", "posix,self", 1);
	far = fork();
	if (far == 0) {
		close(s[0]);
		echo(s[1], bytes, buf);
	}
	near = fork();
	if (near == 0) {
		close(s[1]);
		r = measure(s[0], n, bytes, buf);
		_exit(write(p[1], &r, sizeof(r)) != sizeof(r));
	}
	close(s[0]);
	close(s[1]);
	close(p[1]);
	if (read(p[0], &r, sizeof(r)) != sizeof(r))
		r = -1;
	close(p[0]);
	kill(far, SIGKILL);
	waitpid(far, NULL, 0);
	waitpid(near, NULL, 0);
	unsetenv("UCX_TLS");
	return r;
}
