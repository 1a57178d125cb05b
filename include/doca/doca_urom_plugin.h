/* doca_urom_plugin.h: what a plugin exports and what its worker offers it.
 * Must not know hosts or channels. Next: doca_urom_pack.h (bounded cursors), docs/urom.md, plugins/.
 *
 * A plugin is one shared object, [a-z0-9_]+.so, with two entry points. Everything runs in the worker's one
 * thread. Lists hold descriptors made with malloc(): the worker makes commands and the plugin frees each one
 * that it takes off the list; the plugin makes notifications and the worker frees them. */
#ifndef DOCA_UROM_PLUGIN_H_
#define DOCA_UROM_PLUGIN_H_

#include <stdint.h>
#include <stdlib.h>

#include "doca_error.h"
#include "doca_types.h"

DOCA_BEGIN_DECLS

/* ---- lists: the shape and names of UCX's, unless its own header came first ------------------------- */

#ifndef UCS_LIST_H_
#define UCS_LIST_H_
typedef struct ucs_list_link {
	struct ucs_list_link *prev;
	struct ucs_list_link *next;
} ucs_list_link_t;

static inline void ucs_list_head_init(ucs_list_link_t *head)
{
	head->prev = head->next = head;
}
static inline int ucs_list_is_empty(const ucs_list_link_t *head)
{
	return head->next == head;
}
static inline void ucs_list_add_tail(ucs_list_link_t *head, ucs_list_link_t *item)
{
	item->prev = head->prev;
	item->next = head;
	head->prev->next = item;
	head->prev = item;
}
static inline void ucs_list_del(ucs_list_link_t *item)
{
	item->prev->next = item->next;
	item->next->prev = item->prev;
}
#endif

/* ---- messages --------------------------------------------------------------------------------------- */

/* From a host. plugin_cmd: [len], as the host half packed it: untrusted bytes. */
struct urom_worker_cmd {
	uint64_t type;         /* plugin id: one bit */
	uint64_t urom_context; /* the framework's; echo it */
	uint64_t len;
	uint8_t plugin_cmd[];
};

struct urom_worker_cmd_desc {
	ucs_list_link_t entry;
	uint64_t dest_id; /* which client; echo it */
	struct urom_worker_cmd worker_cmd;
};

/* To a host. Exactly one for each command. status: DOCA_SUCCESS or how it failed. */
struct urom_worker_notify {
	uint64_t type;
	uint64_t urom_context;
	uint64_t len; /* of plugin_notif */
	int32_t status;
	uint32_t reserved;
	uint8_t plugin_notif[];
};

struct urom_worker_notif_desc {
	ucs_list_link_t entry;
	uint64_t dest_id;
	struct urom_worker_notify worker_notif;
};

/* ---- what the worker offers --------------------------------------------------------------------------- */

struct urom_worker_ctx;

/* A domain's table, by the ids that hosts gave. NOT_FOUND: no such id, address or segment. Results are the
 * worker's, valid until the table is replaced. */
struct urom_worker_domain_iface {
	doca_error_t (*addr_lookup)(struct urom_worker_ctx *ctx, uint64_t domain_id, void **addr);
	doca_error_t (*seg_lookup)(struct urom_worker_ctx *ctx, uint64_t domain_id, uint64_t va, int *seg);
	doca_error_t (*memh_lookup)(struct urom_worker_ctx *ctx, uint64_t domain_id, int seg, size_t *len,
				    void **memh);
	doca_error_t (*mkey_lookup)(struct urom_worker_ctx *ctx, uint64_t domain_id, int seg, size_t *len,
				    void **mkey);
	/* bytes of what addr_lookup() found */
	doca_error_t (*addr_len)(struct urom_worker_ctx *ctx, uint64_t domain_id, size_t *len);
	/* All ids: the first cap of them into ids; returns how many there are (0: no domain). */
	size_t (*members)(struct urom_worker_ctx *ctx, uint64_t *ids, size_t cap);
};

/* How an access to host memory ended. data: GET, [len]; value: FETCH_ADD, the old one. */
typedef void (*urom_mem_done_t)(void *arg, doca_error_t status, const void *data, size_t len, uint64_t value);

/* Memory that client dest_id shared, by segment number and offset: every access is checked against the
 * segment's size and rights. done may be called before the call returns, else from a later turn of the
 * worker; never if the call failed. */
struct urom_worker_mem_iface {
	/* NOT_FOUND. *addr: where it is mapped here, NULL if it is reached by messages. */
	doca_error_t (*info)(struct urom_worker_ctx *ctx, uint64_t dest_id, uint64_t seg, void **addr, size_t *len,
			     uint32_t *rights);
	/* Bytes [offset, offset + len) in place, checked as an access with these rights; NULL: not mapped, or not
	 * allowed (info tells). *hold keeps the mapping after its client left, until release(). */
	void *(*hold)(struct urom_worker_ctx *ctx, uint64_t dest_id, uint64_t seg, uint64_t offset, size_t len,
		      uint32_t rights, void **hold);
	void (*release)(struct urom_worker_ctx *ctx, void *hold);
	/* len up to 32768; data is copied. */
	doca_error_t (*put)(struct urom_worker_ctx *ctx, uint64_t dest_id, uint64_t seg, uint64_t offset,
			    const void *data, size_t len, urom_mem_done_t done, void *arg);
	doca_error_t (*get)(struct urom_worker_ctx *ctx, uint64_t dest_id, uint64_t seg, uint64_t offset, size_t len,
			    urom_mem_done_t done, void *arg);
	doca_error_t (*fetch_add)(struct urom_worker_ctx *ctx, uint64_t dest_id, uint64_t seg, uint64_t offset,
				  uint64_t value, urom_mem_done_t done, void *arg);
};

/* Sleeping: the worker sleeps when nothing moves. A plugin that waits for its own descriptors registers them;
 * one that registers none and has commands open is looked at every millisecond. */
struct urom_worker_wait_iface {
	doca_error_t (*add_fd)(struct urom_worker_ctx *ctx, int fd);
	void (*del_fd)(struct urom_worker_ctx *ctx, int fd);
};

struct urom_plugin_iface;

struct urom_worker_ctx {
	const struct urom_plugin_iface *iface;
	const struct urom_worker_domain_iface *domain_iface;
	void *plugin_ctx; /* the plugin's */
	const struct urom_worker_mem_iface *mem_iface;
	const struct urom_worker_wait_iface *wait_iface;
	uint64_t worker_id;
	uint64_t plugin_id;      /* ours: one bit */
	uint64_t plugin_version;
};

static inline doca_error_t doca_urom_worker_domain_addr_lookup(struct urom_worker_ctx *ctx, uint64_t id, void **addr)
{
	return ctx->domain_iface->addr_lookup(ctx, id, addr);
}
static inline doca_error_t doca_urom_worker_domain_seg_lookup(struct urom_worker_ctx *ctx, uint64_t id, uint64_t va,
							      int *seg)
{
	return ctx->domain_iface->seg_lookup(ctx, id, va, seg);
}
static inline doca_error_t doca_urom_worker_domain_memh_lookup(struct urom_worker_ctx *ctx, uint64_t id, int seg,
							       size_t *len, void **memh)
{
	return ctx->domain_iface->memh_lookup(ctx, id, seg, len, memh);
}
static inline doca_error_t doca_urom_worker_domain_mkey_lookup(struct urom_worker_ctx *ctx, uint64_t id, int seg,
							       size_t *len, void **mkey)
{
	return ctx->domain_iface->mkey_lookup(ctx, id, seg, len, mkey);
}

/* ---- what the plugin exports -------------------------------------------------------------------------- */

#define DOCA_UROM_PLUGIN_API_VERSION ((size_t)0x00010000)

struct urom_plugin_iface {
	size_t api_version; /* DOCA_UROM_PLUGIN_API_VERSION; others are refused */
	/* Once, before any command. A failure refuses the whole worker. */
	doca_error_t (*open)(struct urom_worker_ctx *ctx);
	/* Once; must accept plugin_ctx == NULL. */
	void (*close)(struct urom_worker_ctx *ctx);
	/* The plugin's address for other workers. *addr_len too small: INVALID_VALUE and the size needed. */
	doca_error_t (*addr)(struct urom_worker_ctx *ctx, void *addr, size_t *addr_len);
	/* Take commands off the list. An error means: the command at hand is refused; its client is told so,
	 * and no notification for it may follow. */
	doca_error_t (*worker_cmd)(struct urom_worker_ctx *ctx, ucs_list_link_t *cmd_list);
	/* Append what is done; EMPTY if nothing moved. */
	doca_error_t (*progress)(struct urom_worker_ctx *ctx, ucs_list_link_t *notif_list);
	/* Bytes of one notification for the wire: in *len the room in buf, out what was written. */
	doca_error_t (*notif_pack)(struct urom_worker_notify *notif, size_t *len, void *buf);
	/* Optional: this client is gone; its open commands need no notification. */
	void (*client_gone)(struct urom_worker_ctx *ctx, uint64_t dest_id);
	/* Optional: the worker is about to sleep until a registered descriptor wakes it. AGAIN: it must not. */
	doca_error_t (*arm)(struct urom_worker_ctx *ctx);
};

DOCA_EXPERIMENTAL doca_error_t urom_plugin_get_version(uint64_t *version);
DOCA_EXPERIMENTAL doca_error_t urom_plugin_get_iface(struct urom_plugin_iface *iface);

DOCA_END_DECLS

#endif
