/* urom_rdmo.h: host halves of the worker_rdmo plugin: the target (owns memory and a worker) and the
 * initiator (sends operations to that worker; needs no worker of its own).
 * Must not know channels. Next: urom_rdmo.c, initiator.c, examples/urom_rdmo. */
#ifndef UROM_RDMO_H_
#define UROM_RDMO_H_

#include <doca_urom.h>

/* ---- target ----------------------------------------------------------------------------------------- */

/* value: rq id or rkey; addr: what initiators need (client_init), borrowed during the call. */
typedef void (*urom_rdmo_finished)(doca_error_t result, union doca_data cookie, uint64_t value, const void *addr,
				   size_t addr_len);

/* From the service's plugin list. UNSUPPORTED_VERSION: the other half is not version 1. */
doca_error_t urom_rdmo_init(uint64_t plugin_id, uint64_t version);
/* All five: SUCCESS = cb runs exactly once, in doca_pe_progress(). */
doca_error_t urom_rdmo_task_client_init(struct doca_urom_worker *worker_ctx, union doca_data cookie, uint64_t id,
					urom_rdmo_finished cb);
/* Operations of this client id are accepted from now on, until destroyed. */
doca_error_t urom_rdmo_task_rq_create(struct doca_urom_worker *worker_ctx, union doca_data cookie, uint64_t client,
				      urom_rdmo_finished cb);
doca_error_t urom_rdmo_task_rq_destroy(struct doca_urom_worker *worker_ctx, union doca_data cookie, uint64_t rq,
				       urom_rdmo_finished cb);
/* Addresses [va, va + len) of initiators mean bytes [offset, offset + len) of a shared segment. */
doca_error_t urom_rdmo_task_mr_reg(struct doca_urom_worker *worker_ctx, union doca_data cookie, uint64_t va,
				   uint64_t seg, uint64_t offset, uint64_t len, urom_rdmo_finished cb);
doca_error_t urom_rdmo_task_mr_dereg(struct doca_urom_worker *worker_ctx, union doca_data cookie, uint64_t rkey,
				     urom_rdmo_finished cb);

/* ---- initiator -------------------------------------------------------------------------------------- */

struct urom_rdmo_client;

#define UROM_RDMO_FENCE 1u

/* How a flush ended: SUCCESS, the first error of the operations since the last flush, or CONNECTION_RESET. */
typedef void (*urom_rdmo_flushed)(doca_error_t result, union doca_data cookie, uint64_t flush_id);

struct urom_rdmo_piece {
	uint64_t addr, rkey;
	const void *data;
	uint32_t len;
};

/* addr: from client_init. NO_MEMORY, INVALID_VALUE. */
doca_error_t urom_rdmo_client_create(const void *addr, size_t addr_len, uint64_t client_id,
				     struct urom_rdmo_client **client);
void urom_rdmo_client_destroy(struct urom_rdmo_client *client);
/* Move; callbacks run inside. 1 if anything moved. */
uint8_t urom_rdmo_client_progress(struct urom_rdmo_client *client);
/* Data is copied. CONNECTION_RESET: the worker is gone. */
doca_error_t urom_rdmo_append(struct urom_rdmo_client *client, uint64_t ptr_addr, uint64_t ptr_rkey,
			      uint64_t data_rkey, const void *data, size_t len, uint32_t flags);
doca_error_t urom_rdmo_scatter(struct urom_rdmo_client *client, const struct urom_rdmo_piece *pieces, size_t n,
			       uint32_t flags);
/* SUCCESS: cb runs exactly once: all earlier operations are in the target's memory, pointers too. */
doca_error_t urom_rdmo_flush(struct urom_rdmo_client *client, uint64_t flush_id, union doca_data cookie,
			     urom_rdmo_flushed cb);

#endif
