/* urom_sandbox.h: host half of the worker_sandbox plugin: tagged messages that the workers carry.
 * Must not know channels. Next: urom_sandbox.c, examples/urom_ping_pong. */
#ifndef UROM_SANDBOX_H_
#define UROM_SANDBOX_H_

#include <doca_urom.h>

#define UROM_SANDBOX_INLINE 0 /* memh_id: the data travels in the command or the answer */

/* What was received, or how it failed. buffer (inline only, else NULL): borrowed during the call. */
struct urom_sandbox_recv_result {
	const void *buffer;
	uint64_t count;
	uint64_t sender_tag;
};

typedef void (*urom_sandbox_tag_send_finished)(doca_error_t result, union doca_data cookie, uint64_t context);
typedef void (*urom_sandbox_tag_recv_finished)(doca_error_t result, union doca_data cookie, uint64_t context,
					       const struct urom_sandbox_recv_result *got);
typedef void (*urom_sandbox_mem_map_finished)(doca_error_t result, union doca_data cookie, uint64_t context,
					      uint64_t memh_id);

/* From the service's plugin list. UNSUPPORTED_VERSION: the other half is not version 1. */
doca_error_t urom_sandbox_init(uint64_t plugin_id, uint64_t version);
/* A segment (doca_urom_worker_share_mem) for use in messages. All three: SUCCESS = the callback runs exactly
 * once, in doca_pe_progress(); context is the caller's number, handed back. */
doca_error_t urom_sandbox_task_mem_map(struct doca_urom_worker *worker_ctx, union doca_data cookie, uint64_t context,
				       uint64_t seg, urom_sandbox_mem_map_finished cb);
/* To worker dest of the domain. Inline: buffer and count; with a handle: count bytes at offset of it, buffer
 * NULL. Done when the memory may be used again. */
doca_error_t urom_sandbox_tag_task_send(struct doca_urom_worker *worker_ctx, union doca_data cookie,
					uint64_t context, uint64_t dest, const void *buffer, uint64_t count,
					uint64_t tag, uint64_t memh_id, uint64_t offset,
					urom_sandbox_tag_send_finished cb);
/* The oldest message with (its tag & mask) == (tag & mask); at most count bytes, else TOO_BIG.
 * CONNECTION_RESET: a member of the domain left while this waited. One asked for later waits for those who stay. */
doca_error_t urom_sandbox_tag_task_recv(struct doca_urom_worker *worker_ctx, union doca_data cookie,
					uint64_t context, uint64_t count, uint64_t tag, uint64_t tag_mask,
					uint64_t memh_id, uint64_t offset, urom_sandbox_tag_recv_finished cb);

#endif
