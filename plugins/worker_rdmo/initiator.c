/* initiator.c: the side that sends operations to a target's worker. Must not know the target's process.
 * Next: rdmo_wire.h, ops.c. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "rdmo_wire.h"
#include "urom_mesh/mesh.h"
#include "urom_rdmo.h"

#define MAX_FLUSHES 64

struct flush {
	bool used;
	uint64_t op, id;
	union doca_data cookie;
	urom_rdmo_flushed cb;
};

struct urom_rdmo_client {
	struct gw__mesh *mesh;
	uint64_t peer, client, n_ops;
	bool down;
	struct flush flushes[MAX_FLUSHES];
};

static void end_flush(struct flush *f, doca_error_t r)
{
	struct flush copy = *f;

	f->used = false;
	copy.cb(r, copy.cookie, copy.id);
}

static void on_down(void *arg, uint64_t id)
{
	struct urom_rdmo_client *c = arg;

	(void)id;
	c->down = true;
	for (int i = 0; i < MAX_FLUSHES; i++)
		if (c->flushes[i].used)
			end_flush(&c->flushes[i], DOCA_ERROR_CONNECTION_RESET);
}

static void listen_for_answers(struct urom_rdmo_client *c);

static void on_answer(void *arg, int status, uint64_t tag, const void *data, size_t len, uint64_t from)
{
	struct urom_rdmo_client *c = arg;
	struct urom_unpacker u = urom_unpacker(data, status ? 0 : len);
	uint64_t op = urom_get_u64(&u);
	uint32_t kind = urom_get_u32(&u), result = urom_get_u32(&u);

	(void)tag;
	(void)from;
	if (status == -ESHUTDOWN)
		return;
	listen_for_answers(c);
	urom_get_u64(&u);
	if (status || !urom_unpacked(&u) || kind != RDMO_OP_FLUSH)
		return; /* a failed append or scatter: the next flush reports it too */
	for (int i = 0; i < MAX_FLUSHES; i++)
		if (c->flushes[i].used && c->flushes[i].op == op) {
			end_flush(&c->flushes[i], (doca_error_t)result);
			return;
		}
}

static void listen_for_answers(struct urom_rdmo_client *c)
{
	if (gw__mesh_recv(c->mesh, RDMO_TAG_ANSWER, UINT64_MAX, NULL, 0, on_answer, c))
		on_down(c, 0); /* no memory: nothing more would be heard */
}

doca_error_t urom_rdmo_client_create(const void *addr, size_t addr_len, uint64_t client_id,
				     struct urom_rdmo_client **client)
{
	struct urom_rdmo_client *c = calloc(1, sizeof(*c));
	struct gw__mesh_opts o = { .down = on_down, .arg = c };
	int err;

	if (!c)
		return DOCA_ERROR_NO_MEMORY;
	c->client = client_id;
	err = gw__mesh_open(&c->mesh, false, &o, NULL);
	if (!err)
		err = gw__mesh_connect(c->mesh, addr, addr_len, &c->peer);
	if (err) {
		gw__mesh_close(c->mesh);
		free(c);
		return err == -ENOMEM ? DOCA_ERROR_NO_MEMORY : DOCA_ERROR_INVALID_VALUE;
	}
	listen_for_answers(c);
	*client = c;
	return DOCA_SUCCESS;
}

void urom_rdmo_client_destroy(struct urom_rdmo_client *c)
{
	if (!c)
		return;
	gw__mesh_close(c->mesh);
	on_down(c, 0);
	free(c);
}

uint8_t urom_rdmo_client_progress(struct urom_rdmo_client *c)
{
	return gw__mesh_progress(c->mesh);
}

static void sent(void *arg, int status)
{
	(void)status;
	free(arg);
}

/* Room for the payload after the common head; p is ready for the rest. */
static uint8_t *begin(struct urom_rdmo_client *c, uint32_t op, uint32_t flags, size_t more, struct urom_packer *p)
{
	uint8_t *buf = more > GW__MESH_MSG_MAX - 64 ? NULL : malloc(24 + more);

	if (!buf)
		return NULL;
	*p = urom_packer(buf, 24 + more);
	urom_put_u64(p, c->client);
	urom_put_u64(p, ++c->n_ops);
	urom_put_u32(p, op);
	urom_put_u32(p, flags);
	return buf;
}

static doca_error_t ship(struct urom_rdmo_client *c, uint8_t *buf, const struct urom_packer *p)
{
	int err = p->bad ? -EINVAL : gw__mesh_send(c->mesh, c->peer, RDMO_TAG_OP, buf, p->len, sent, buf);

	if (!err)
		return DOCA_SUCCESS;
	free(buf);
	return err == -ENOMEM ? DOCA_ERROR_NO_MEMORY :
	       err == -EINVAL ? DOCA_ERROR_INVALID_VALUE :
				DOCA_ERROR_CONNECTION_RESET;
}

doca_error_t urom_rdmo_append(struct urom_rdmo_client *c, uint64_t ptr_addr, uint64_t ptr_rkey, uint64_t data_rkey,
			      const void *data, size_t len, uint32_t flags)
{
	struct urom_packer p;
	uint8_t *buf = begin(c, RDMO_OP_APPEND, flags, 24 + len, &p);

	if (!buf)
		return DOCA_ERROR_NO_MEMORY;
	urom_put_u64(&p, ptr_addr);
	urom_put_u64(&p, ptr_rkey);
	urom_put_u64(&p, data_rkey);
	urom_put_bytes(&p, data, len);
	return ship(c, buf, &p);
}

doca_error_t urom_rdmo_scatter(struct urom_rdmo_client *c, const struct urom_rdmo_piece *pieces, size_t n,
			       uint32_t flags)
{
	struct urom_packer p;
	size_t more = 8;
	uint8_t *buf;

	for (size_t i = 0; i < n; i++)
		more += 20 + (size_t)pieces[i].len;
	buf = begin(c, RDMO_OP_SCATTER, flags, more, &p);
	if (!buf)
		return DOCA_ERROR_NO_MEMORY;
	urom_put_u64(&p, n);
	for (size_t i = 0; i < n; i++) {
		urom_put_u64(&p, pieces[i].addr);
		urom_put_u64(&p, pieces[i].rkey);
		urom_put_u32(&p, pieces[i].len);
		urom_put_bytes(&p, pieces[i].data, pieces[i].len);
	}
	return ship(c, buf, &p);
}

doca_error_t urom_rdmo_flush(struct urom_rdmo_client *c, uint64_t flush_id, union doca_data cookie,
			     urom_rdmo_flushed cb)
{
	struct flush *f = NULL;
	struct urom_packer p;
	uint8_t *buf;
	doca_error_t r;

	if (c->down)
		return DOCA_ERROR_CONNECTION_RESET;
	for (int i = 0; i < MAX_FLUSHES && !f; i++)
		if (!c->flushes[i].used)
			f = &c->flushes[i];
	if (!f)
		return DOCA_ERROR_AGAIN;
	buf = begin(c, RDMO_OP_FLUSH, 0, 8, &p);
	if (!buf)
		return DOCA_ERROR_NO_MEMORY;
	urom_put_u64(&p, flush_id);
	*f = (struct flush){ .used = true, .op = c->n_ops, .id = flush_id, .cookie = cookie, .cb = cb };
	r = ship(c, buf, &p);
	if (r != DOCA_SUCCESS)
		f->used = false;
	return r;
}
