/* bench_echo: a plugin that sends every command's bytes back: the shortest way through a worker.
 * Must not know hosts. Next: bench_urom.c. */
#include <doca_urom_plugin.h>
#include <string.h>

static ucs_list_link_t done;

static doca_error_t echo_open(struct urom_worker_ctx *ctx)
{
	(void)ctx;
	ucs_list_head_init(&done);
	return DOCA_SUCCESS;
}

static void echo_close(struct urom_worker_ctx *ctx)
{
	(void)ctx;
}

static doca_error_t echo_addr(struct urom_worker_ctx *ctx, void *addr, size_t *addr_len)
{
	(void)ctx;
	(void)addr;
	*addr_len = 0;
	return DOCA_SUCCESS;
}

static doca_error_t echo_cmd(struct urom_worker_ctx *ctx, ucs_list_link_t *cmd_list)
{
	struct urom_worker_cmd_desc *c =
		(void *)((char *)cmd_list->next - offsetof(struct urom_worker_cmd_desc, entry));
	struct urom_worker_notif_desc *n = malloc(sizeof(*n) + c->worker_cmd.len);

	(void)ctx;
	if (!n)
		return DOCA_ERROR_NO_MEMORY;
	n->dest_id = c->dest_id;
	n->worker_notif = (struct urom_worker_notify){ .type = c->worker_cmd.type,
						       .urom_context = c->worker_cmd.urom_context,
						       .len = c->worker_cmd.len };
	memcpy(n->worker_notif.plugin_notif, c->worker_cmd.plugin_cmd, c->worker_cmd.len);
	ucs_list_add_tail(&done, &n->entry);
	ucs_list_del(&c->entry);
	free(c);
	return DOCA_SUCCESS;
}

static doca_error_t echo_progress(struct urom_worker_ctx *ctx, ucs_list_link_t *notif_list)
{
	(void)ctx;
	if (ucs_list_is_empty(&done))
		return DOCA_ERROR_EMPTY;
	while (!ucs_list_is_empty(&done)) {
		ucs_list_link_t *l = done.next;

		ucs_list_del(l);
		ucs_list_add_tail(notif_list, l);
	}
	return DOCA_SUCCESS;
}

static doca_error_t echo_pack(struct urom_worker_notify *notif, size_t *len, void *buf)
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
					     .open = echo_open,
					     .close = echo_close,
					     .addr = echo_addr,
					     .worker_cmd = echo_cmd,
					     .progress = echo_progress,
					     .notif_pack = echo_pack };
	return DOCA_SUCCESS;
}
