/* worker_graph: the smallest plugin: one command, LOOPBACK, whose data comes back.
 * Must not know hosts. Next: graph_wire.h, docs/urom.md. */
#include <doca_urom_plugin.h>
#include <string.h>

#include "graph_wire.h"

struct graph {
	ucs_list_link_t done;
};

static doca_error_t graph_open(struct urom_worker_ctx *ctx)
{
	struct graph *g = malloc(sizeof(*g));

	if (!g)
		return DOCA_ERROR_NO_MEMORY;
	ucs_list_head_init(&g->done);
	ctx->plugin_ctx = g;
	return DOCA_SUCCESS;
}

static void graph_close(struct urom_worker_ctx *ctx)
{
	struct graph *g = ctx->plugin_ctx;

	if (!g)
		return;
	while (!ucs_list_is_empty(&g->done)) {
		ucs_list_link_t *l = g->done.next;

		ucs_list_del(l);
		free((char *)l - offsetof(struct urom_worker_notif_desc, entry));
	}
	free(g);
	ctx->plugin_ctx = NULL;
}

static doca_error_t graph_addr(struct urom_worker_ctx *ctx, void *addr, size_t *addr_len)
{
	(void)ctx;
	(void)addr;
	*addr_len = 0; /* nobody needs to reach us */
	return DOCA_SUCCESS;
}

static doca_error_t graph_cmd(struct urom_worker_ctx *ctx, ucs_list_link_t *cmd_list)
{
	struct graph *g = ctx->plugin_ctx;

	while (!ucs_list_is_empty(cmd_list)) {
		struct urom_worker_cmd_desc *c =
			(void *)((char *)cmd_list->next - offsetof(struct urom_worker_cmd_desc, entry));
		struct urom_unpacker u = urom_unpacker(c->worker_cmd.plugin_cmd, c->worker_cmd.len);
		uint32_t type = urom_get_u32(&u);
		uint64_t data = urom_get_u64(&u);
		struct urom_worker_notif_desc *a;

		if (!urom_unpacked(&u) || type != GRAPH_LOOPBACK)
			return u.bad || type == GRAPH_LOOPBACK ? DOCA_ERROR_INVALID_VALUE : DOCA_ERROR_NOT_SUPPORTED;
		a = calloc(1, sizeof(*a) + sizeof(data));
		if (!a)
			return DOCA_ERROR_NO_MEMORY;
		a->dest_id = c->dest_id;
		a->worker_notif.type = c->worker_cmd.type;
		a->worker_notif.urom_context = c->worker_cmd.urom_context;
		a->worker_notif.len = sizeof(data);
		memcpy(a->worker_notif.plugin_notif, &data, sizeof(data));
		ucs_list_add_tail(&g->done, &a->entry);
		ucs_list_del(&c->entry);
		free(c);
	}
	return DOCA_SUCCESS;
}

static doca_error_t graph_progress(struct urom_worker_ctx *ctx, ucs_list_link_t *notif_list)
{
	struct graph *g = ctx->plugin_ctx;

	if (ucs_list_is_empty(&g->done))
		return DOCA_ERROR_EMPTY;
	while (!ucs_list_is_empty(&g->done)) {
		ucs_list_link_t *l = g->done.next;

		ucs_list_del(l);
		ucs_list_add_tail(notif_list, l);
	}
	return DOCA_SUCCESS;
}

static doca_error_t graph_pack(struct urom_worker_notify *notif, size_t *len, void *buf)
{
	struct urom_packer p = urom_packer(buf, *len);
	uint64_t data;

	memcpy(&data, notif->plugin_notif, sizeof(data));
	urom_put_u64(&p, data);
	*len = p.len;
	return p.bad ? DOCA_ERROR_TOO_BIG : DOCA_SUCCESS;
}

doca_error_t urom_plugin_get_version(uint64_t *version)
{
	*version = GRAPH_VERSION;
	return DOCA_SUCCESS;
}

doca_error_t urom_plugin_get_iface(struct urom_plugin_iface *iface)
{
	*iface = (struct urom_plugin_iface){ .api_version = DOCA_UROM_PLUGIN_API_VERSION,
					     .open = graph_open,
					     .close = graph_close,
					     .addr = graph_addr,
					     .worker_cmd = graph_cmd,
					     .progress = graph_progress,
					     .notif_pack = graph_pack };
	return DOCA_SUCCESS;
}
