/* urom_rdmo/server.c: the target: memory, a worker that runs the operations, and a look at the result.
 * Must not know channels. Next: client.c. */
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <doca_log.h>

#include "app.h"

DOCA_LOG_REGISTER(UROM::RDMO::SERVER);

struct call {
	bool done;
	doca_error_t result;
	uint64_t value;
	uint8_t addr[512];
	size_t addr_len;
};

static void finished(doca_error_t result, union doca_data cookie, uint64_t value, const void *addr, size_t addr_len)
{
	struct call *c = cookie.ptr;

	c->done = true;
	c->result = result;
	c->value = value;
	if (addr && addr_len <= sizeof(c->addr)) {
		memcpy(c->addr, addr, addr_len);
		c->addr_len = addr_len;
	}
}

static doca_error_t wait_call(struct doca_pe *pe, struct call *c, doca_error_t submitted)
{
	double end = urom_seconds() + 30;

	while (submitted == DOCA_SUCCESS && !c->done && urom_seconds() < end)
		if (!doca_pe_progress(pe))
			sched_yield();
	return submitted != DOCA_SUCCESS ? submitted : c->done ? c->result : DOCA_ERROR_TIME_OUT;
}

/* Queue memory registered, client known: what the client must be told. */
static doca_error_t prepare(struct urom_session *s, struct doca_urom_worker *w, struct doca_urom_mem *mem,
			    struct app_params *p)
{
	uint64_t *queue = doca_urom_mem_get_addr(mem), seg;
	struct call c = { .done = false };
	doca_error_t r;

	queue[0] = QUEUE_VA + sizeof(uint64_t); /* the next append goes behind the pointer */
	r = doca_urom_worker_share_mem(w, mem, DOCA_UROM_MEM_READ | DOCA_UROM_MEM_WRITE, &seg);
	if (r == DOCA_SUCCESS)
		r = wait_call(s->pe, &c, urom_rdmo_task_client_init(w, (union doca_data){ .ptr = &c }, CLIENT_ID, finished));
	if (r != DOCA_SUCCESS)
		return r;
	memcpy(p->addr, c.addr, c.addr_len);
	p->addr_len = (uint32_t)c.addr_len;
	c.done = false;
	r = wait_call(s->pe, &c, urom_rdmo_task_rq_create(w, (union doca_data){ .ptr = &c }, CLIENT_ID, finished));
	c.done = false;
	if (r == DOCA_SUCCESS)
		r = wait_call(s->pe, &c, urom_rdmo_task_mr_reg(w, (union doca_data){ .ptr = &c }, QUEUE_VA, seg, 0,
							       QUEUE_BYTES, finished));
	p->rkey = c.value;
	return r;
}

/* Until the client says so over TCP, its operations may need us: progress meanwhile. */
static doca_error_t barrier(struct urom_session *s, int fd)
{
	double end = urom_seconds() + 30;
	uint64_t len;
	char byte;

	while (recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0) {
		if (urom_seconds() > end)
			return DOCA_ERROR_TIME_OUT;
		if (!doca_pe_progress(s->pe))
			sched_yield();
	}
	if (exchange_recv(fd, &byte, 1, &len) || exchange_send(fd, &byte, 1))
		return DOCA_ERROR_CONNECTION_RESET;
	return DOCA_SUCCESS;
}

static bool all_are(const uint8_t *p, uint8_t value, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i] != value)
			return false;
	return true;
}

static doca_error_t check_append(const struct doca_urom_mem *mem)
{
	const uint8_t *queue = doca_urom_mem_get_addr(mem);
	uint64_t ptr = atomic_load((_Atomic uint64_t *)doca_urom_mem_get_addr(mem));

	if (ptr != QUEUE_VA + sizeof(uint64_t) + APPEND_BYTES || !all_are(queue + sizeof(uint64_t), APPEND_FILL, APPEND_BYTES))
		return DOCA_ERROR_UNEXPECTED;
	DOCA_LOG_INFO("Append operation was finished successfully");
	return DOCA_SUCCESS;
}

static doca_error_t check_scatter(const struct doca_urom_mem *mem)
{
	const uint8_t *queue = doca_urom_mem_get_addr(mem);

	for (uint32_t i = 0; i < N_PIECES; i++)
		if (!all_are(queue + SCATTER_AT + 64 * i, SCATTER_FILL, PIECE_BYTES) ||
		    !all_are(queue + SCATTER_AT + 64 * i + PIECE_BYTES, 0, 64 - PIECE_BYTES))
			return DOCA_ERROR_UNEXPECTED;
	DOCA_LOG_INFO("Scatter operation was finished successfully");
	return DOCA_SUCCESS;
}

static doca_error_t serve(struct urom_session *s, struct doca_urom_worker *w, struct doca_urom_mem *mem,
			  const struct app_options *o)
{
	struct app_params p = { .addr_len = 0 };
	doca_error_t r = prepare(s, w, mem, &p);
	int listener, fd;

	if (r != DOCA_SUCCESS)
		return r;
	listener = exchange_listen(o->port);
	if (listener < 0)
		return DOCA_ERROR_IO_FAILED;
	DOCA_LOG_INFO("Server listens on port %s, channel %s", o->port, doca_urom_worker_get_channel(w));
	fd = exchange_accept(listener);
	close(listener);
	if (fd < 0)
		return DOCA_ERROR_TIME_OUT;
	r = exchange_send(fd, &p, sizeof(p)) ? DOCA_ERROR_CONNECTION_RESET : barrier(s, fd);
	if (r == DOCA_SUCCESS)
		r = check_append(mem);
	if (r == DOCA_SUCCESS)
		r = barrier(s, fd);
	if (r == DOCA_SUCCESS)
		r = check_scatter(mem);
	close(fd);
	return r;
}

int app_server(const struct app_options *o)
{
	struct urom_session s;
	struct urom_worker_spec spec = { .id = DOCA_UROM_WORKER_ID_ANY, .max_inflight = 8 };
	struct doca_urom_worker *w = NULL;
	struct doca_urom_mem *mem = NULL;
	uint64_t version;
	doca_error_t r;

	if (urom_session_open(&s, o->device, 1, 4096) != DOCA_SUCCESS)
		return 1;
	r = urom_find_plugin(&s, "worker_rdmo", &spec.plugins, &version);
	if (r == DOCA_ERROR_NOT_FOUND) {
		urom_session_close(&s);
		return 77;
	}
	if (r == DOCA_SUCCESS)
		r = urom_rdmo_init(spec.plugins, version);
	if (r == DOCA_SUCCESS)
		r = urom_worker_open(s.service, s.pe, &spec, &w);
	if (r == DOCA_SUCCESS)
		r = doca_urom_mem_create(QUEUE_BYTES, &mem);
	if (r == DOCA_SUCCESS)
		r = serve(&s, w, mem, o);
	urom_worker_close(s.pe, w);
	if (mem)
		doca_urom_mem_destroy(mem);
	urom_session_close(&s);
	if (r != DOCA_SUCCESS)
		DOCA_LOG_ERR("Server failed: %s", doca_error_get_descr(r));
	return r == DOCA_SUCCESS ? 0 : 1;
}
