/* urom_rdmo/client.c: the initiator: append, flush, meet; scatter, flush, meet.
 * Must not know the target's process. Next: server.c. */
#include <sched.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include <doca_log.h>

#include "app.h"

DOCA_LOG_REGISTER(UROM::RDMO::CLIENT);

struct flushed {
	bool done;
	doca_error_t result;
	uint64_t id;
};

static void on_flushed(doca_error_t result, union doca_data cookie, uint64_t flush_id)
{
	struct flushed *f = cookie.ptr;

	f->done = true;
	f->result = result;
	f->id = flush_id;
}

static doca_error_t flush(struct urom_rdmo_client *c)
{
	struct flushed f = { .done = false };
	double end = urom_seconds() + 30;
	doca_error_t r = urom_rdmo_flush(c, FLUSH_ID, (union doca_data){ .ptr = &f }, on_flushed);

	while (r == DOCA_SUCCESS && !f.done && urom_seconds() < end)
		if (!urom_rdmo_client_progress(c))
			sched_yield();
	if (r == DOCA_SUCCESS)
		r = !f.done ? DOCA_ERROR_TIME_OUT : f.result;
	return r == DOCA_SUCCESS && f.id != FLUSH_ID ? DOCA_ERROR_UNEXPECTED : r;
}

static doca_error_t barrier(int fd)
{
	uint64_t len;
	char byte = 1;

	return exchange_send(fd, &byte, 1) || exchange_recv(fd, &byte, 1, &len) ? DOCA_ERROR_CONNECTION_RESET :
										 DOCA_SUCCESS;
}

static doca_error_t operations(struct urom_rdmo_client *c, const struct app_params *p, int fd)
{
	uint8_t data[APPEND_BYTES], bits[PIECE_BYTES];
	struct urom_rdmo_piece pieces[N_PIECES];
	doca_error_t r;

	memset(data, APPEND_FILL, sizeof(data));
	memset(bits, SCATTER_FILL, sizeof(bits));
	r = urom_rdmo_append(c, QUEUE_VA, p->rkey, p->rkey, data, sizeof(data), 0);
	if (r == DOCA_SUCCESS)
		r = flush(c);
	if (r == DOCA_SUCCESS)
		DOCA_LOG_INFO("Append of %u bytes is flushed", APPEND_BYTES);
	if (r == DOCA_SUCCESS)
		r = barrier(fd);
	for (uint32_t i = 0; i < N_PIECES; i++)
		pieces[i] = (struct urom_rdmo_piece){ .addr = QUEUE_VA + SCATTER_AT + 64 * i, .rkey = p->rkey,
						      .data = bits, .len = PIECE_BYTES };
	if (r == DOCA_SUCCESS)
		r = urom_rdmo_scatter(c, pieces, N_PIECES, UROM_RDMO_FENCE);
	if (r == DOCA_SUCCESS)
		r = flush(c);
	if (r == DOCA_SUCCESS)
		DOCA_LOG_INFO("Scatter of %u times %u bytes is flushed", N_PIECES, PIECE_BYTES);
	if (r == DOCA_SUCCESS)
		r = barrier(fd);
	return r;
}

int app_client(const struct app_options *o)
{
	struct urom_rdmo_client *c = NULL;
	struct app_params p;
	uint64_t len;
	doca_error_t r = DOCA_ERROR_NOT_CONNECTED;
	int fd = exchange_call(o->server, o->port);

	if (fd < 0) {
		DOCA_LOG_ERR("No server at %s port %s", o->server, o->port);
		return 1;
	}
	if (!exchange_recv(fd, &p, sizeof(p), &len) && len == sizeof(p) && p.addr_len <= sizeof(p.addr))
		r = urom_rdmo_client_create(p.addr, p.addr_len, CLIENT_ID, &c);
	if (r == DOCA_SUCCESS)
		r = operations(c, &p, fd);
	urom_rdmo_client_destroy(c);
	close(fd);
	if (r != DOCA_SUCCESS)
		DOCA_LOG_ERR("Client failed: %s", doca_error_get_descr(r));
	else
		DOCA_LOG_INFO("Client finished successfully");
	return r == DOCA_SUCCESS ? 0 : 1;
}
