/* worker_coll: allreduce, allgather, alltoall and barrier between workers, on their hosts' shared memory.
 * This file: commands, buffers, endings. Must not know channels. Next: algo.c, coll_wire.h. */
#include "coll.h"

#include <errno.h>
#include <string.h>

static struct coll_job *job_of(ucs_list_link_t *l)
{
	return (struct coll_job *)(void *)((char *)l - offsetof(struct coll_job, link));
}

/* A rank died: every collective that still needs it fails, those still loading too; the others go on. */
static void peer_down(void *arg, uint64_t id)
{
	struct coll *c = arg;

	for (ucs_list_link_t *l = c->jobs.next; l != &c->jobs; l = l->next) {
		struct coll_job *j = job_of(l);

		for (uint32_t r = 0; r < j->size; r++)
			if (j->mesh_ids[r] == id && (j->step == COLL_LOAD || j->step == COLL_RUN)) {
				coll_fail(j, DOCA_ERROR_CONNECTION_RESET);
				c->more = true;
			}
	}
}

static doca_error_t coll_open(struct urom_worker_ctx *ctx)
{
	struct coll *c = calloc(1, sizeof(*c));
	struct gw__mesh_opts o = { .down = peer_down, .arg = c };

	if (!c)
		return DOCA_ERROR_NO_MEMORY;
	c->ctx = ctx;
	ucs_list_head_init(&c->jobs);
	gw__hostmem_init(&c->hostmem, ctx);
	if (gw__mesh_open(&c->mesh, true, &o, NULL)) {
		free(c);
		return DOCA_ERROR_INITIALIZATION;
	}
	ctx->plugin_ctx = c;
	return ctx->wait_iface->add_fd(ctx, gw__mesh_fd(c->mesh));
}

static void free_job(struct coll_job *j)
{
	ucs_list_del(&j->link);
	gw__hostmem_free(&j->c->hostmem, &j->src);
	gw__hostmem_free(&j->c->hostmem, &j->dst);
	free(j->scratch);
	free(j);
}

static void coll_close(struct urom_worker_ctx *ctx)
{
	struct coll *c = ctx->plugin_ctx;

	if (!c)
		return;
	ctx->wait_iface->del_fd(ctx, gw__mesh_fd(c->mesh));
	gw__mesh_close(c->mesh);
	while (!ucs_list_is_empty(&c->jobs))
		free_job(job_of(c->jobs.next));
	free(c);
	ctx->plugin_ctx = NULL;
}

static doca_error_t coll_addr(struct urom_worker_ctx *ctx, void *addr, size_t *addr_len)
{
	struct coll *c = ctx->plugin_ctx;
	uint8_t buf[GW__MESH_ADDR_MAX];
	size_t n = gw__mesh_address(c->mesh, buf), room = *addr_len;

	*addr_len = n;
	if (room < n)
		return DOCA_ERROR_INVALID_VALUE;
	memcpy(addr, buf, n);
	return DOCA_SUCCESS;
}

/* ---- commands ------------------------------------------------------------------------------------- */

static doca_error_t unpack(struct coll_job *j, const struct urom_worker_cmd *cmd)
{
	struct urom_unpacker u = urom_unpacker(cmd->plugin_cmd, cmd->len);
	uint64_t whole;

	j->kind = urom_get_u32(&u);
	j->type = urom_get_u32(&u);
	j->op = urom_get_u32(&u);
	j->team = urom_get_u32(&u);
	j->sequence = urom_get_u64(&u);
	j->count = urom_get_u64(&u);
	j->src_seg = urom_get_u64(&u);
	j->src_offset = urom_get_u64(&u);
	j->dst_seg = urom_get_u64(&u);
	j->dst_offset = urom_get_u64(&u);
	j->rank = urom_get_u32(&u);
	j->size = urom_get_u32(&u);
	if (u.bad || j->kind >= UROM_COLL_KINDS || j->type >= UROM_COLL_TYPES || j->op >= UROM_COLL_OPS || !j->size ||
	    j->size > COLL_MAX_RANKS || j->rank >= j->size || j->count > COLL_MAX_BYTES)
		return DOCA_ERROR_INVALID_VALUE;
	for (uint32_t i = 0; i < j->size; i++)
		j->members[i] = urom_get_u64(&u);
	if (!urom_unpacked(&u))
		return DOCA_ERROR_INVALID_VALUE;
	j->elem = (size_t[]){ 1, 4, 8, 4, 8 }[j->type];
	whole = j->count * j->elem;
	if (whole * j->size > COLL_MAX_BYTES * 4)
		return DOCA_ERROR_TOO_BIG;
	if (j->kind != UROM_COLL_BARRIER) {
		j->src_len = (size_t)(j->kind == UROM_COLL_ALLTOALL ? whole * j->size : whole);
		j->dst_len = (size_t)(j->kind == UROM_COLL_ALLREDUCE ? whole : whole * j->size);
	}
	return DOCA_SUCCESS;
}

/* A connection to every rank, before the first round: so every death is seen. */
static doca_error_t meet(struct coll_job *j)
{
	const struct urom_worker_domain_iface *domain = j->c->ctx->domain_iface;

	for (uint32_t r = 0; r < j->size; r++) {
		void *addr;
		size_t len;

		if (r == j->rank)
			continue;
		if (domain->addr_lookup(j->c->ctx, j->members[r], &addr) != DOCA_SUCCESS ||
		    domain->addr_len(j->c->ctx, j->members[r], &len) != DOCA_SUCCESS)
			return DOCA_ERROR_NOT_FOUND;
		if (gw__mesh_id_of(addr, len, &j->mesh_ids[r]) || gw__mesh_connect(j->c->mesh, addr, len, &j->peers[r]))
			return DOCA_ERROR_NOT_CONNECTED;
		if (gw__mesh_is_down(j->c->mesh, j->peers[r]))
			return DOCA_ERROR_CONNECTION_RESET; /* died before: nobody will say it again */
	}
	return DOCA_SUCCESS;
}

static void loaded(void *arg, doca_error_t status)
{
	struct coll_job *j = arg;

	j->loading = false;
	j->c->more = true;
	if (status != DOCA_SUCCESS && j->status == DOCA_SUCCESS)
		j->status = status;
	if (j->step == COLL_LOAD)
		j->step = COLL_RUN;
	else
		j->step = COLL_END;
}

static doca_error_t one_command(struct coll *c, struct urom_worker_cmd_desc *d)
{
	struct coll_job *j = calloc(1, sizeof(*j));
	doca_error_t r;

	if (!j)
		return DOCA_ERROR_NO_MEMORY;
	j->c = c;
	j->dest = d->dest_id;
	j->context = d->worker_cmd.urom_context;
	ucs_list_add_tail(&c->jobs, &j->link);
	r = unpack(j, &d->worker_cmd);
	if (r == DOCA_SUCCESS)
		r = meet(j);
	if (r == DOCA_SUCCESS && coll_prepare(j))
		r = DOCA_ERROR_NO_MEMORY;
	if (r == DOCA_SUCCESS && j->dst_len)
		r = gw__hostmem_reserve(&c->hostmem, j->dest, j->dst_seg, j->dst_offset, j->dst_len, &j->dst);
	j->step = COLL_LOAD;
	if (r == DOCA_SUCCESS && j->src_len) {
		j->loading = true;
		r = gw__hostmem_read(&c->hostmem, j->dest, j->src_seg, j->src_offset, j->src_len, &j->src, loaded, j);
	} else {
		j->step = COLL_RUN;
	}
	if (r != DOCA_SUCCESS)
		free_job(j);
	c->more = true;
	return r;
}

static doca_error_t coll_cmd(struct urom_worker_ctx *ctx, ucs_list_link_t *cmd_list)
{
	while (!ucs_list_is_empty(cmd_list)) {
		struct urom_worker_cmd_desc *d =
			(void *)((char *)cmd_list->next - offsetof(struct urom_worker_cmd_desc, entry));
		doca_error_t r = one_command(ctx->plugin_ctx, d);

		if (r != DOCA_SUCCESS)
			return r;
		ucs_list_del(&d->entry);
		free(d);
	}
	return DOCA_SUCCESS;
}

/* ---- progress --------------------------------------------------------------------------------------- */

static void store(struct coll_job *j)
{
	doca_error_t r;

	if (!j->dst_len) {
		j->step = COLL_END;
		return;
	}
	j->loading = true;
	r = gw__hostmem_flush(&j->c->hostmem, j->dest, j->dst_seg, j->dst_offset, &j->dst, loaded, j);
	if (r != DOCA_SUCCESS) {
		j->loading = false;
		j->status = r;
	}
}

static bool tell(struct coll_job *j, ucs_list_link_t *notif_list)
{
	struct urom_worker_notif_desc *n;

	if (j->gone)
		return true;
	n = calloc(1, sizeof(*n));
	if (!n)
		return false;
	n->dest_id = j->dest;
	n->worker_notif.type = j->c->ctx->plugin_id;
	n->worker_notif.urom_context = j->context;
	n->worker_notif.status = (int32_t)j->status;
	ucs_list_add_tail(notif_list, &n->entry);
	return true;
}

/* True if it moved (or went: then it is freed). */
static bool step_job(struct coll_job *j, ucs_list_link_t *notif_list)
{
	bool any = false;

	if (j->step == COLL_RUN)
		any = coll_run(j);
	if (j->step == COLL_STORE && !j->loading && j->status == DOCA_SUCCESS) {
		store(j);
		any = true;
	}
	/* a failed one waits for its own sends to end: they read its buffers */
	if ((j->status != DOCA_SUCCESS || j->step == COLL_END) && !j->loading && !j->n_open && tell(j, notif_list)) {
		free_job(j);
		return true;
	}
	return any;
}

static doca_error_t coll_progress(struct urom_worker_ctx *ctx, ucs_list_link_t *notif_list)
{
	struct coll *c = ctx->plugin_ctx;
	bool any = gw__mesh_progress(c->mesh) | gw__hostmem_progress(&c->hostmem);
	ucs_list_link_t *l, *next;

	if (c->more) {
		c->more = false;
		for (l = c->jobs.next; l != &c->jobs; l = next) {
			next = l->next;
			any |= step_job(job_of(l), notif_list);
		}
	}
	return any ? DOCA_SUCCESS : DOCA_ERROR_EMPTY;
}

static doca_error_t coll_pack(struct urom_worker_notify *notif, size_t *len, void *buf)
{
	(void)notif;
	(void)buf;
	*len = 0;
	return DOCA_SUCCESS;
}

static void coll_gone(struct urom_worker_ctx *ctx, uint64_t dest_id)
{
	struct coll *c = ctx->plugin_ctx;

	/* peers may still want what this rank gives: a job under way goes on to its end, untold */
	for (ucs_list_link_t *l = c->jobs.next; l != &c->jobs; l = l->next)
		if (job_of(l)->dest == dest_id)
			job_of(l)->gone = true;
	c->more = true;
}

static doca_error_t coll_arm(struct urom_worker_ctx *ctx)
{
	struct coll *c = ctx->plugin_ctx;

	return gw__mesh_arm(c->mesh) || c->hostmem.ops || c->more ? DOCA_ERROR_AGAIN : DOCA_SUCCESS;
}

doca_error_t urom_plugin_get_version(uint64_t *version)
{
	*version = COLL_VERSION;
	return DOCA_SUCCESS;
}

doca_error_t urom_plugin_get_iface(struct urom_plugin_iface *iface)
{
	*iface = (struct urom_plugin_iface){ .api_version = DOCA_UROM_PLUGIN_API_VERSION,
					     .open = coll_open,
					     .close = coll_close,
					     .addr = coll_addr,
					     .worker_cmd = coll_cmd,
					     .progress = coll_progress,
					     .notif_pack = coll_pack,
					     .client_gone = coll_gone,
					     .arm = coll_arm };
	return DOCA_SUCCESS;
}
