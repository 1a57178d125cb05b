/* tutorial_upper.c: a plugin that answers each command with its bytes in capitals. */
#include <ctype.h>
#include <doca_urom_plugin.h>
#include <string.h>

static doca_error_t up_open(struct urom_worker_ctx *ctx)
{
	ucs_list_link_t *done = malloc(sizeof(*done)); /* answers that wait for progress() */

	if (!done)
		return DOCA_ERROR_NO_MEMORY;
	ucs_list_head_init(done);
	ctx->plugin_ctx = done;
	return DOCA_SUCCESS;
}

static void up_close(struct urom_worker_ctx *ctx)
{
	free(ctx->plugin_ctx);
}

static doca_error_t up_addr(struct urom_worker_ctx *ctx, void *addr, size_t *addr_len)
{
	(void)ctx, (void)addr;
	*addr_len = 0; /* other workers need not find us */
	return DOCA_SUCCESS;
}

static doca_error_t up_cmd(struct urom_worker_ctx *ctx, ucs_list_link_t *cmd_list)
{
	struct urom_worker_cmd_desc *c =
		(void *)((char *)cmd_list->next - offsetof(struct urom_worker_cmd_desc, entry));
	struct urom_worker_notif_desc *n = malloc(sizeof(*n) + c->worker_cmd.len);

	if (!n)
		return DOCA_ERROR_NO_MEMORY; /* the client is told; the command stays on the list */
	n->dest_id = c->dest_id; /* who asked */
	n->worker_notif = (struct urom_worker_notify){ .type = c->worker_cmd.type,
						       .urom_context = c->worker_cmd.urom_context, /* which task */
						       .len = c->worker_cmd.len };
	for (uint64_t i = 0; i < c->worker_cmd.len; i++)
		n->worker_notif.plugin_notif[i] = (uint8_t)toupper(c->worker_cmd.plugin_cmd[i]);
	ucs_list_add_tail(ctx->plugin_ctx, &n->entry);
	ucs_list_del(&c->entry);
	free(c);
	return DOCA_SUCCESS;
}

static doca_error_t up_progress(struct urom_worker_ctx *ctx, ucs_list_link_t *notif_list)
{
	ucs_list_link_t *done = ctx->plugin_ctx;

	if (ucs_list_is_empty(done))
		return DOCA_ERROR_EMPTY;
	while (!ucs_list_is_empty(done)) {
		ucs_list_link_t *first = done->next;

		ucs_list_del(first);
		ucs_list_add_tail(notif_list, first); /* the worker frees it */
	}
	return DOCA_SUCCESS;
}

static doca_error_t up_pack(struct urom_worker_notify *notif, size_t *len, void *buf)
{
	if (notif->len > *len)
		return DOCA_ERROR_TOO_BIG;
	memcpy(buf, notif->plugin_notif, notif->len);
	*len = notif->len;
	return DOCA_SUCCESS;
}

doca_error_t urom_plugin_get_version(uint64_t *version)
{
	*version = 1;
	return DOCA_SUCCESS;
}

doca_error_t urom_plugin_get_iface(struct urom_plugin_iface *iface)
{
	*iface = (struct urom_plugin_iface){ .api_version = DOCA_UROM_PLUGIN_API_VERSION,
					     .open = up_open, .close = up_close, .addr = up_addr,
					     .worker_cmd = up_cmd, .progress = up_progress, .notif_pack = up_pack };
	return DOCA_SUCCESS;
}
