/* worker_sandbox: tagged send and receive between workers, on behalf of their hosts.
 * Must not know channels: urom_mesh/mesh.h moves the bytes. Next: sandbox_wire.h.
 *
 * Nothing here waits: a slow peer keeps its own messages, not the other clients. A memory handle is an index
 * with a generation, never a pointer. The death of a peer ends every open receive with CONNECTION_RESET: with
 * wildcard tags nobody can know that it was not the sender. */
#include <doca_urom.h>
#include <doca_urom_plugin.h>
#include <errno.h>
#include <string.h>

#include "sandbox_wire.h"
#include "urom_mesh/hostmem.h"
#include "urom_mesh/mesh.h"

#define MAX_HANDLES 64u
#define MAX_COUNT ((uint64_t)64 << 20)
#define MAX_MEMBERS 256u

struct handle {
	uint64_t id; /* generation << 8 | index + 1; 0 = free */
	uint64_t dest, seg;
};

struct job {
	ucs_list_link_t link;
	struct sandbox *s;
	uint64_t dest, context;
	uint32_t type;
	doca_error_t status;
	bool gone; /* its client left: nobody to tell */
	/* send */
	uint64_t peer, tag;
	struct gw__hostmem_buf mem;
	uint8_t *inline_data; /* send: what goes; receive: what came */
	size_t count;
	/* receive */
	uint64_t mask, seg, offset;
	size_t cap; /* the host's bound */
	uint64_t handle;
	bool posted;
};

struct sandbox {
	struct urom_worker_ctx *ctx;
	struct gw__mesh *mesh;
	struct gw__hostmem hostmem;
	struct handle handles[MAX_HANDLES];
	uint64_t n_handles;
	ucs_list_link_t open; /* jobs under way */
	ucs_list_link_t done; /* jobs to be told */
	bool met;             /* connected to every member */
};

/* What a notification carries until it is packed. */
struct answer {
	uint32_t type;
	uint64_t a, b;
	uint8_t *data; /* ours; freed after packing */
};

static struct job *job_of(ucs_list_link_t *l)
{
	return (struct job *)(void *)((char *)l - offsetof(struct job, link));
}

static doca_error_t from_errno(int err)
{
	switch (err) {
	case 0:
		return DOCA_SUCCESS;
	case -ENOMEM:
		return DOCA_ERROR_NO_MEMORY;
	case -EMSGSIZE:
		return DOCA_ERROR_TOO_BIG;
	case -ESHUTDOWN:
		return DOCA_ERROR_SHUTDOWN;
	default:
		return DOCA_ERROR_CONNECTION_RESET;
	}
}

static void end(struct job *j, doca_error_t status)
{
	j->status = status;
	ucs_list_del(&j->link);
	ucs_list_add_tail(&j->s->done, &j->link);
}

static void free_job(struct job *j)
{
	gw__hostmem_free(&j->s->hostmem, &j->mem);
	free(j->inline_data);
	free(j);
}

/* ---- life ----------------------------------------------------------------------------------------- */

static void peer_down(void *arg, uint64_t id)
{
	struct sandbox *s = arg;
	ucs_list_link_t *l, *next;

	(void)id;
	for (l = s->open.next; l != &s->open; l = next) {
		struct job *j = job_of(l);

		next = l->next;
		if (j->type == SANDBOX_TAG_RECV && j->posted && gw__mesh_cancel(s->mesh, j)) {
			j->posted = false;
			end(j, DOCA_ERROR_CONNECTION_RESET);
		}
	}
}

static doca_error_t sandbox_open(struct urom_worker_ctx *ctx)
{
	struct sandbox *s = calloc(1, sizeof(*s));
	struct gw__mesh_opts o = { .down = peer_down, .arg = s };

	if (!s)
		return DOCA_ERROR_NO_MEMORY;
	s->ctx = ctx;
	ucs_list_head_init(&s->open);
	ucs_list_head_init(&s->done);
	gw__hostmem_init(&s->hostmem, ctx);
	if (gw__mesh_open(&s->mesh, true, &o, NULL)) {
		free(s);
		return DOCA_ERROR_INITIALIZATION;
	}
	ctx->plugin_ctx = s;
	return ctx->wait_iface->add_fd(ctx, gw__mesh_fd(s->mesh));
}

static void sandbox_close(struct urom_worker_ctx *ctx)
{
	struct sandbox *s = ctx->plugin_ctx;

	if (!s)
		return;
	ctx->wait_iface->del_fd(ctx, gw__mesh_fd(s->mesh));
	gw__mesh_close(s->mesh); /* ends open jobs */
	while (!ucs_list_is_empty(&s->done)) {
		struct job *j = job_of(s->done.next);

		ucs_list_del(&j->link);
		free_job(j);
	}
	free(s);
	ctx->plugin_ctx = NULL;
}

static doca_error_t sandbox_addr(struct urom_worker_ctx *ctx, void *addr, size_t *addr_len)
{
	struct sandbox *s = ctx->plugin_ctx;
	uint8_t buf[GW__MESH_ADDR_MAX];
	size_t n = gw__mesh_address(s->mesh, buf), room = *addr_len;

	*addr_len = n;
	if (room < n)
		return DOCA_ERROR_INVALID_VALUE;
	memcpy(addr, buf, n);
	return DOCA_SUCCESS;
}

static int connect_to(struct sandbox *s, uint64_t domain_id, uint64_t *peer)
{
	void *addr;
	size_t len;

	if (s->ctx->domain_iface->addr_lookup(s->ctx, domain_id, &addr) != DOCA_SUCCESS ||
	    s->ctx->domain_iface->addr_len(s->ctx, domain_id, &len) != DOCA_SUCCESS)
		return -ENOENT;
	return gw__mesh_connect(s->mesh, addr, len, peer);
}

/* Before the first receive: a connection to everyone, so that everyone's death is seen. */
static void meet_everyone(struct sandbox *s)
{
	uint64_t ids[MAX_MEMBERS], peer;
	size_t n = s->ctx->domain_iface->members(s->ctx, ids, MAX_MEMBERS);

	if (s->met || !n)
		return;
	s->met = true;
	for (size_t i = 0; i < n && i < MAX_MEMBERS; i++)
		(void)connect_to(s, ids[i], &peer);
}

/* ---- commands ------------------------------------------------------------------------------------- */

static const struct handle *find_handle(const struct sandbox *s, uint64_t id, uint64_t dest)
{
	uint64_t i = (id & 255) - 1;

	return id && i < MAX_HANDLES && s->handles[i].id == id && s->handles[i].dest == dest ? &s->handles[i] : NULL;
}

static doca_error_t mem_map(struct sandbox *s, struct job *j, struct urom_unpacker *u)
{
	uint64_t seg = urom_get_u64(u);
	void *addr;
	size_t len;
	uint32_t rights;
	doca_error_t r;

	if (!urom_unpacked(u))
		return DOCA_ERROR_INVALID_VALUE;
	r = s->ctx->mem_iface->info(s->ctx, j->dest, seg, &addr, &len, &rights);
	if (r != DOCA_SUCCESS)
		return r;
	for (uint32_t i = 0; i < MAX_HANDLES; i++) {
		struct handle *h = &s->handles[i];

		if (h->id)
			continue;
		*h = (struct handle){ .id = ++s->n_handles << 8 | (i + 1), .dest = j->dest, .seg = seg };
		j->handle = h->id;
		end(j, DOCA_SUCCESS);
		return DOCA_SUCCESS;
	}
	return DOCA_ERROR_FULL;
}

static void sent(void *arg, int status)
{
	end(arg, from_errno(status));
}

static void send_now(struct job *j)
{
	const void *bytes = j->inline_data ? j->inline_data : j->mem.bytes;
	int err = gw__mesh_send(j->s->mesh, j->peer, j->tag, bytes, j->count, sent, j);

	if (err)
		end(j, from_errno(err));
}

static void fetched(void *arg, doca_error_t status)
{
	struct job *j = arg;

	if (status != DOCA_SUCCESS)
		end(j, status);
	else
		send_now(j);
}

static doca_error_t tag_send(struct sandbox *s, struct job *j, struct urom_unpacker *u)
{
	uint64_t to = urom_get_u64(u);
	const struct handle *h;
	const void *data = NULL;
	uint64_t memh, offset, count;
	size_t n = 0;

	j->tag = urom_get_u64(u);
	memh = urom_get_u64(u);
	offset = urom_get_u64(u);
	count = urom_get_u64(u);
	if (!memh)
		data = urom_get_blob(u, MAX_COUNT, &n);
	if (!urom_unpacked(u) || (!memh && n != count) || count > MAX_COUNT)
		return DOCA_ERROR_INVALID_VALUE;
	j->count = (size_t)count;
	if (connect_to(s, to, &j->peer))
		return DOCA_ERROR_NOT_FOUND;
	if (!memh) {
		j->inline_data = malloc(n + 1);
		if (!j->inline_data)
			return DOCA_ERROR_NO_MEMORY;
		if (n)
			memcpy(j->inline_data, data, n);
		send_now(j);
		return DOCA_SUCCESS;
	}
	h = find_handle(s, memh, j->dest);
	if (!h)
		return DOCA_ERROR_NOT_FOUND;
	return gw__hostmem_read(&s->hostmem, j->dest, h->seg, offset, j->count, &j->mem, fetched, j);
}

static void flushed(void *arg, doca_error_t status)
{
	end(arg, status);
}

static void got(void *arg, int status, uint64_t tag, const void *data, size_t len, uint64_t from)
{
	struct job *j = arg;
	doca_error_t r = from_errno(status);

	(void)from;
	j->posted = false;
	j->tag = tag;
	j->count = len;
	if (r == DOCA_SUCCESS && len > j->cap)
		r = DOCA_ERROR_TOO_BIG;
	if (r == DOCA_SUCCESS && j->mem.bytes) {
		j->mem.len = len;
		r = gw__hostmem_flush(&j->s->hostmem, j->dest, j->seg, j->offset, &j->mem, flushed, j);
		if (r == DOCA_SUCCESS)
			return;
	} else if (r == DOCA_SUCCESS) {
		j->inline_data = malloc(len + 1);
		if (!j->inline_data)
			r = DOCA_ERROR_NO_MEMORY;
		else if (len)
			memcpy(j->inline_data, data, len);
	}
	end(j, r);
}

static doca_error_t tag_recv(struct sandbox *s, struct job *j, struct urom_unpacker *u)
{
	const struct handle *h;
	uint64_t memh, count;
	doca_error_t r;

	j->tag = urom_get_u64(u);
	j->mask = urom_get_u64(u);
	memh = urom_get_u64(u);
	j->offset = urom_get_u64(u);
	count = urom_get_u64(u);
	if (!urom_unpacked(u) || count > MAX_COUNT)
		return DOCA_ERROR_INVALID_VALUE;
	j->cap = (size_t)count;
	if (memh) {
		h = find_handle(s, memh, j->dest);
		if (!h)
			return DOCA_ERROR_NOT_FOUND;
		j->seg = h->seg;
		r = gw__hostmem_reserve(&s->hostmem, j->dest, h->seg, j->offset, j->cap, &j->mem);
		if (r != DOCA_SUCCESS)
			return r;
	}
	j->posted = true;
	if (gw__mesh_recv(s->mesh, j->tag, j->mask, j->mem.bytes, j->cap, got, j)) {
		j->posted = false;
		return DOCA_ERROR_NO_MEMORY;
	}
	/* after posting: who is dead already is told at once, and this receive must hear it */
	meet_everyone(s);
	return DOCA_SUCCESS;
}

static doca_error_t one_command(struct sandbox *s, struct urom_worker_cmd_desc *c)
{
	struct urom_unpacker u = urom_unpacker(c->worker_cmd.plugin_cmd, c->worker_cmd.len);
	struct job *j = calloc(1, sizeof(*j));
	doca_error_t r;

	if (!j)
		return DOCA_ERROR_NO_MEMORY;
	j->s = s;
	j->dest = c->dest_id;
	j->context = c->worker_cmd.urom_context;
	j->type = urom_get_u32(&u);
	ucs_list_add_tail(&s->open, &j->link);
	switch (j->type) {
	case SANDBOX_MEM_MAP:
		r = mem_map(s, j, &u);
		break;
	case SANDBOX_TAG_SEND:
		r = tag_send(s, j, &u);
		break;
	case SANDBOX_TAG_RECV:
		r = tag_recv(s, j, &u);
		break;
	default:
		r = DOCA_ERROR_NOT_SUPPORTED;
	}
	if (r != DOCA_SUCCESS) {
		ucs_list_del(&j->link);
		free_job(j);
	}
	return r;
}

static doca_error_t sandbox_cmd(struct urom_worker_ctx *ctx, ucs_list_link_t *cmd_list)
{
	while (!ucs_list_is_empty(cmd_list)) {
		struct urom_worker_cmd_desc *c =
			(void *)((char *)cmd_list->next - offsetof(struct urom_worker_cmd_desc, entry));
		doca_error_t r = one_command(ctx->plugin_ctx, c);

		if (r != DOCA_SUCCESS)
			return r;
		ucs_list_del(&c->entry);
		free(c);
	}
	return DOCA_SUCCESS;
}

/* ---- answers -------------------------------------------------------------------------------------- */

/* False: no memory for it now. */
static bool tell(struct sandbox *s, struct job *j, ucs_list_link_t *notif_list)
{
	struct urom_worker_notif_desc *d = calloc(1, sizeof(*d) + sizeof(struct answer));
	struct answer a = { .type = j->type, .a = j->type == SANDBOX_MEM_MAP ? j->handle : j->tag, .b = j->count };

	if (!d)
		return false;
	if (j->type == SANDBOX_TAG_RECV) {
		a.data = j->inline_data;
		j->inline_data = NULL;
	}
	d->dest_id = j->dest;
	d->worker_notif.type = s->ctx->plugin_id;
	d->worker_notif.urom_context = j->context;
	d->worker_notif.status = (int32_t)j->status;
	d->worker_notif.len = sizeof(a);
	memcpy(d->worker_notif.plugin_notif, &a, sizeof(a));
	ucs_list_add_tail(notif_list, &d->entry);
	return true;
}

static doca_error_t sandbox_progress(struct urom_worker_ctx *ctx, ucs_list_link_t *notif_list)
{
	struct sandbox *s = ctx->plugin_ctx;
	bool any = gw__mesh_progress(s->mesh) | gw__hostmem_progress(&s->hostmem);

	while (!ucs_list_is_empty(&s->done)) {
		struct job *j = job_of(s->done.next);

		if (!j->gone && !tell(s, j, notif_list))
			break; /* the next turn tries again */
		any = true;
		ucs_list_del(&j->link);
		free_job(j);
	}
	return any ? DOCA_SUCCESS : DOCA_ERROR_EMPTY;
}

static doca_error_t sandbox_pack(struct urom_worker_notify *notif, size_t *len, void *buf)
{
	struct urom_packer p = urom_packer(buf, *len);
	struct answer a;

	memcpy(&a, notif->plugin_notif, sizeof(a));
	urom_put_u32(&p, a.type);
	if (a.type == SANDBOX_MEM_MAP)
		urom_put_u64(&p, a.a);
	if (a.type == SANDBOX_TAG_RECV) {
		urom_put_u64(&p, a.a);
		urom_put_u64(&p, a.b);
		if (a.data)
			urom_put_blob(&p, a.data, (size_t)a.b);
	}
	free(a.data);
	*len = p.len;
	return p.bad ? DOCA_ERROR_TOO_BIG : DOCA_SUCCESS;
}

static void sandbox_gone(struct urom_worker_ctx *ctx, uint64_t dest_id)
{
	struct sandbox *s = ctx->plugin_ctx;
	ucs_list_link_t *l, *next;

	for (l = s->open.next; l != &s->open; l = next) {
		struct job *j = job_of(l);

		next = l->next;
		if (j->dest != dest_id)
			continue;
		j->gone = true; /* a send goes on to its end: half a message would spoil the connection */
		if (j->posted && gw__mesh_cancel(s->mesh, j)) {
			j->posted = false;
			end(j, DOCA_ERROR_SHUTDOWN);
		}
	}
	for (l = s->done.next; l != &s->done; l = l->next)
		if (job_of(l)->dest == dest_id)
			job_of(l)->gone = true;
	for (uint32_t i = 0; i < MAX_HANDLES; i++)
		if (s->handles[i].dest == dest_id)
			s->handles[i].id = 0;
}

static doca_error_t sandbox_arm(struct urom_worker_ctx *ctx)
{
	struct sandbox *s = ctx->plugin_ctx;

	return gw__mesh_arm(s->mesh) || s->hostmem.ops || !ucs_list_is_empty(&s->done) ? DOCA_ERROR_AGAIN : DOCA_SUCCESS;
}

doca_error_t urom_plugin_get_version(uint64_t *version)
{
	*version = SANDBOX_VERSION;
	return DOCA_SUCCESS;
}

doca_error_t urom_plugin_get_iface(struct urom_plugin_iface *iface)
{
	*iface = (struct urom_plugin_iface){ .api_version = DOCA_UROM_PLUGIN_API_VERSION,
					     .open = sandbox_open,
					     .close = sandbox_close,
					     .addr = sandbox_addr,
					     .worker_cmd = sandbox_cmd,
					     .progress = sandbox_progress,
					     .notif_pack = sandbox_pack,
					     .client_gone = sandbox_gone,
					     .arm = sandbox_arm };
	return DOCA_SUCCESS;
}
