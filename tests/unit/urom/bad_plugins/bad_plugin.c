/* One plugin, many misdeeds: which one is chosen by a BAD_... definition. Its command is any bytes; a good
 * build would answer each with nothing. */
#include <doca_urom_plugin.h>
#include <string.h>
#include <unistd.h>

#ifndef BAD_crash_ctor
#define BAD_crash_ctor 0
#endif
#ifndef BAD_hang_ctor
#define BAD_hang_ctor 0
#endif
#ifndef BAD_exit_ctor
#define BAD_exit_ctor 0
#endif
#ifndef BAD_hang_open
#define BAD_hang_open 0
#endif
#ifndef BAD_fail_open
#define BAD_fail_open 0
#endif
#ifndef BAD_hang_cmd
#define BAD_hang_cmd 0
#endif
#ifndef BAD_crash_cmd
#define BAD_crash_cmd 0
#endif
#ifndef BAD_silent
#define BAD_silent 0
#endif
#ifndef BAD_noisy
#define BAD_noisy 0
#endif
#ifndef BAD_old_api
#define BAD_old_api 0
#endif

static volatile int *volatile nowhere;

static void hang(void)
{
	for (;;)
		pause();
}

__attribute__((constructor)) static void at_load(void)
{
	if (BAD_crash_ctor)
		*nowhere = 1;
	if (BAD_hang_ctor)
		hang();
	if (BAD_exit_ctor)
		_exit(3);
}

static ucs_list_link_t done;

static doca_error_t bad_open(struct urom_worker_ctx *ctx)
{
	(void)ctx;
	ucs_list_head_init(&done);
	if (BAD_hang_open)
		hang();
	return BAD_fail_open ? DOCA_ERROR_DRIVER : DOCA_SUCCESS;
}

static void bad_close(struct urom_worker_ctx *ctx)
{
	(void)ctx;
}

static doca_error_t bad_addr(struct urom_worker_ctx *ctx, void *addr, size_t *addr_len)
{
	(void)ctx;
	(void)addr;
	*addr_len = 0;
	return DOCA_SUCCESS;
}

static doca_error_t bad_cmd(struct urom_worker_ctx *ctx, ucs_list_link_t *cmd_list)
{
	struct urom_worker_cmd_desc *c =
		(void *)((char *)cmd_list->next - offsetof(struct urom_worker_cmd_desc, entry));

	(void)ctx;
	if (BAD_hang_cmd)
		hang();
	if (BAD_crash_cmd)
		*nowhere = 1;
	for (int i = 0; i < (BAD_silent ? 0 : BAD_noisy ? 20000 : 1); i++) {
		struct urom_worker_notif_desc *n = calloc(1, sizeof(*n));

		if (!n)
			break;
		n->dest_id = c->dest_id;
		/* noisy: answers to commands that nobody gave */
		n->worker_notif.urom_context = c->worker_cmd.urom_context + (BAD_noisy ? (uint64_t)i << 32 : 0);
		ucs_list_add_tail(&done, &n->entry);
	}
	ucs_list_del(&c->entry);
	free(c);
	return DOCA_SUCCESS;
}

static doca_error_t bad_progress(struct urom_worker_ctx *ctx, ucs_list_link_t *notif_list)
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

static doca_error_t bad_pack(struct urom_worker_notify *notif, size_t *len, void *buf)
{
	(void)notif;
	(void)buf;
	*len = 0;
	return DOCA_SUCCESS;
}

doca_error_t urom_plugin_get_version(uint64_t *version)
{
	*version = 1;
	return DOCA_SUCCESS;
}

doca_error_t urom_plugin_get_iface(struct urom_plugin_iface *iface)
{
	*iface = (struct urom_plugin_iface){ .api_version = BAD_old_api ? 7 : DOCA_UROM_PLUGIN_API_VERSION,
					     .open = bad_open,
					     .close = bad_close,
					     .addr = bad_addr,
					     .worker_cmd = bad_cmd,
					     .progress = bad_progress,
					     .notif_pack = bad_pack };
	return DOCA_SUCCESS;
}
