/* worker_rdmo: append and scatter into a target's memory, run here instead of in the target's process.
 * This file: the target's own commands. Must not know channels. Next: ops.c, rdmo_wire.h. */
#include "rdmo.h"

#include <string.h>

struct answer {
	uint32_t type;
	uint64_t value;
	uint32_t blob_len;
	uint8_t blob[GW__MESH_ADDR_MAX];
};

static doca_error_t rdmo_open(struct urom_worker_ctx *ctx)
{
	struct rdmo *r = calloc(1, sizeof(*r));

	if (!r)
		return DOCA_ERROR_NO_MEMORY;
	r->ctx = ctx;
	ucs_list_head_init(&r->done);
	if (gw__mesh_open(&r->mesh, true, NULL, NULL)) {
		free(r);
		return DOCA_ERROR_INITIALIZATION;
	}
	ctx->plugin_ctx = r;
	if (rdmo_listen(r))
		return DOCA_ERROR_NO_MEMORY;
	return ctx->wait_iface->add_fd(ctx, gw__mesh_fd(r->mesh));
}

static void rdmo_close(struct urom_worker_ctx *ctx)
{
	struct rdmo *r = ctx->plugin_ctx;

	if (!r)
		return;
	ctx->wait_iface->del_fd(ctx, gw__mesh_fd(r->mesh));
	for (uint32_t i = 0; i < RDMO_MAX_RQ; i++)
		rdmo_rq_clear(&r->rqs[i], DOCA_ERROR_SHUTDOWN);
	gw__mesh_close(r->mesh);
	while (!ucs_list_is_empty(&r->done)) {
		ucs_list_link_t *l = r->done.next;

		ucs_list_del(l);
		free((char *)l - offsetof(struct urom_worker_notif_desc, entry));
	}
	free(r);
	ctx->plugin_ctx = NULL;
}

static doca_error_t rdmo_addr(struct urom_worker_ctx *ctx, void *addr, size_t *addr_len)
{
	struct rdmo *r = ctx->plugin_ctx;
	uint8_t buf[GW__MESH_ADDR_MAX];
	size_t n = gw__mesh_address(r->mesh, buf), room = *addr_len;

	*addr_len = n;
	if (room < n)
		return DOCA_ERROR_INVALID_VALUE;
	memcpy(addr, buf, n);
	return DOCA_SUCCESS;
}

/* ---- commands ------------------------------------------------------------------------------------- */

static doca_error_t rq_create(struct rdmo *r, uint64_t dest, uint64_t client, uint64_t *id)
{
	struct rdmo_rq *free_one = NULL;

	for (uint32_t i = 0; i < RDMO_MAX_RQ; i++) {
		struct rdmo_rq *q = &r->rqs[i];

		if (q->used && q->client == client)
			return DOCA_ERROR_ALREADY_EXIST;
		if (!q->used && !q->n_flying && !free_one)
			free_one = q;
	}
	if (!free_one)
		return DOCA_ERROR_FULL;
	*free_one = (struct rdmo_rq){ .used = true, .dest = dest, .client = client, .r = r,
				      .id = ++r->n_ids << 16 | (uint64_t)(free_one - r->rqs + 1) };
	free_one->last = &free_one->ops;
	*id = free_one->id;
	return DOCA_SUCCESS;
}

static doca_error_t rq_destroy(struct rdmo *r, uint64_t dest, uint64_t id)
{
	uint64_t i = (id & 0xffff) - 1;

	if (i >= RDMO_MAX_RQ || !r->rqs[i].used || r->rqs[i].id != id || r->rqs[i].dest != dest)
		return DOCA_ERROR_NOT_FOUND;
	rdmo_rq_clear(&r->rqs[i], DOCA_ERROR_SHUTDOWN);
	return DOCA_SUCCESS;
}

static doca_error_t mr_reg(struct rdmo *r, uint64_t dest, struct urom_unpacker *u, uint64_t *rkey)
{
	struct rdmo_mr m = { .dest = dest };
	void *addr;
	size_t size;
	uint32_t rights;
	doca_error_t e;

	m.va = urom_get_u64(u);
	m.seg = urom_get_u64(u);
	m.offset = urom_get_u64(u);
	m.len = urom_get_u64(u);
	if (!urom_unpacked(u) || !m.len || m.va + m.len < m.va)
		return DOCA_ERROR_INVALID_VALUE;
	e = r->ctx->mem_iface->info(r->ctx, dest, m.seg, &addr, &size, &rights);
	if (e != DOCA_SUCCESS)
		return e;
	if (m.offset > size || m.len > size - m.offset)
		return DOCA_ERROR_INVALID_VALUE;
	for (uint32_t i = 0; i < RDMO_MAX_MR; i++)
		if (!r->mrs[i].rkey) {
			m.rkey = ++r->n_ids << 16 | (i + 1);
			r->mrs[i] = m;
			*rkey = m.rkey;
			return DOCA_SUCCESS;
		}
	return DOCA_ERROR_FULL;
}

static doca_error_t mr_dereg(struct rdmo *r, uint64_t dest, uint64_t rkey)
{
	uint64_t i = (rkey & 0xffff) - 1;

	if (i >= RDMO_MAX_MR || !rkey || r->mrs[i].rkey != rkey || r->mrs[i].dest != dest)
		return DOCA_ERROR_NOT_FOUND;
	rdmo_forget_ptrs(r, rkey);
	r->mrs[i].rkey = 0;
	return DOCA_SUCCESS;
}

static doca_error_t one_command(struct rdmo *r, struct urom_worker_cmd_desc *c)
{
	struct urom_unpacker u = urom_unpacker(c->worker_cmd.plugin_cmd, c->worker_cmd.len);
	struct urom_worker_notif_desc *d;
	struct answer a = { .type = urom_get_u32(&u) };
	uint64_t arg = 0;
	doca_error_t e = DOCA_SUCCESS;

	if (a.type != RDMO_MR_REG) {
		arg = urom_get_u64(&u);
		if (!urom_unpacked(&u))
			return DOCA_ERROR_INVALID_VALUE;
	}
	d = calloc(1, sizeof(*d) + sizeof(a));
	if (!d)
		return DOCA_ERROR_NO_MEMORY;
	if (a.type == RDMO_CLIENT_INIT)
		a.blob_len = (uint32_t)gw__mesh_address(r->mesh, a.blob);
	else if (a.type == RDMO_RQ_CREATE)
		e = rq_create(r, c->dest_id, arg, &a.value);
	else if (a.type == RDMO_RQ_DESTROY)
		e = rq_destroy(r, c->dest_id, arg);
	else if (a.type == RDMO_MR_REG)
		e = mr_reg(r, c->dest_id, &u, &a.value);
	else if (a.type == RDMO_MR_DEREG)
		e = mr_dereg(r, c->dest_id, arg);
	else
		e = DOCA_ERROR_NOT_SUPPORTED;
	if (e != DOCA_SUCCESS) {
		free(d);
		return e;
	}
	d->dest_id = c->dest_id;
	d->worker_notif.type = c->worker_cmd.type;
	d->worker_notif.urom_context = c->worker_cmd.urom_context;
	d->worker_notif.len = sizeof(a);
	memcpy(d->worker_notif.plugin_notif, &a, sizeof(a));
	ucs_list_add_tail(&r->done, &d->entry);
	return DOCA_SUCCESS;
}

static doca_error_t rdmo_cmd(struct urom_worker_ctx *ctx, ucs_list_link_t *cmd_list)
{
	while (!ucs_list_is_empty(cmd_list)) {
		struct urom_worker_cmd_desc *c =
			(void *)((char *)cmd_list->next - offsetof(struct urom_worker_cmd_desc, entry));
		doca_error_t e = one_command(ctx->plugin_ctx, c);

		if (e != DOCA_SUCCESS)
			return e;
		ucs_list_del(&c->entry);
		free(c);
	}
	return DOCA_SUCCESS;
}

static doca_error_t rdmo_progress(struct urom_worker_ctx *ctx, ucs_list_link_t *notif_list)
{
	struct rdmo *r = ctx->plugin_ctx;
	bool any = gw__mesh_progress(r->mesh) | rdmo_step(r);

	while (!ucs_list_is_empty(&r->done)) {
		ucs_list_link_t *l = r->done.next;

		any = true;
		ucs_list_del(l);
		ucs_list_add_tail(notif_list, l);
	}
	return any ? DOCA_SUCCESS : DOCA_ERROR_EMPTY;
}

static doca_error_t rdmo_pack(struct urom_worker_notify *notif, size_t *len, void *buf)
{
	struct urom_packer p = urom_packer(buf, *len);
	struct answer a;

	memcpy(&a, notif->plugin_notif, sizeof(a));
	urom_put_u32(&p, a.type);
	if (a.type == RDMO_CLIENT_INIT)
		urom_put_blob(&p, a.blob, a.blob_len);
	else if (a.type == RDMO_RQ_CREATE || a.type == RDMO_MR_REG)
		urom_put_u64(&p, a.value);
	*len = p.len;
	return p.bad ? DOCA_ERROR_TOO_BIG : DOCA_SUCCESS;
}

static void rdmo_gone(struct urom_worker_ctx *ctx, uint64_t dest_id)
{
	struct rdmo *r = ctx->plugin_ctx;

	/* the target left: its initiators are told, its memory is forgotten */
	for (uint32_t i = 0; i < RDMO_MAX_RQ; i++)
		if (r->rqs[i].used && r->rqs[i].dest == dest_id)
			rdmo_rq_clear(&r->rqs[i], DOCA_ERROR_CONNECTION_RESET);
	for (uint32_t i = 0; i < RDMO_MAX_MR; i++)
		if (r->mrs[i].rkey && r->mrs[i].dest == dest_id) {
			rdmo_forget_ptrs(r, r->mrs[i].rkey);
			r->mrs[i].rkey = 0;
		}
}

static doca_error_t rdmo_arm(struct urom_worker_ctx *ctx)
{
	struct rdmo *r = ctx->plugin_ctx;

	return gw__mesh_arm(r->mesh) || r->stuck || !ucs_list_is_empty(&r->done) ? DOCA_ERROR_AGAIN : DOCA_SUCCESS;
}

doca_error_t urom_plugin_get_version(uint64_t *version)
{
	*version = RDMO_VERSION;
	return DOCA_SUCCESS;
}

doca_error_t urom_plugin_get_iface(struct urom_plugin_iface *iface)
{
	*iface = (struct urom_plugin_iface){ .api_version = DOCA_UROM_PLUGIN_API_VERSION,
					     .open = rdmo_open,
					     .close = rdmo_close,
					     .addr = rdmo_addr,
					     .worker_cmd = rdmo_cmd,
					     .progress = rdmo_progress,
					     .notif_pack = rdmo_pack,
					     .client_gone = rdmo_gone,
					     .arm = rdmo_arm };
	return DOCA_SUCCESS;
}
