/* urom_mesh/hostmem.h: whole buffers of a client's shared memory, mapped or not.
 * Must not know what they hold. Next: hostmem.c, doca_urom_plugin.h (urom_worker_mem_iface). */
#ifndef GW_UROM_HOSTMEM_H
#define GW_UROM_HOSTMEM_H

#include <doca/doca_urom_plugin.h>
#include <stdbool.h>

struct gw__hostmem_op;

/* All accesses of one plugin. */
struct gw__hostmem {
	struct urom_worker_ctx *ctx;
	struct gw__hostmem_op *ops; /* those that must be tried again */
};

/* Bytes of a client. bounce: a copy of ours. */
struct gw__hostmem_buf {
	uint8_t *bytes;
	size_t len;
	void *hold;
	bool bounce;
};

typedef void (*gw__hostmem_done_t)(void *arg, doca_error_t status);

void gw__hostmem_init(struct gw__hostmem *h, struct urom_worker_ctx *ctx);
/* Make buf hold the client's bytes: in place where mapped, else fetched. done may run at once. A status other
 * than SUCCESS: refused, done does not run. buf must stay where it is until done. */
doca_error_t gw__hostmem_read(struct gw__hostmem *h, uint64_t dest, uint64_t seg, uint64_t offset, size_t len,
			      struct gw__hostmem_buf *buf, gw__hostmem_done_t done, void *arg);
/* A buffer to fill: the client's own bytes where mapped, else ours; then flush brings it home. */
doca_error_t gw__hostmem_reserve(struct gw__hostmem *h, uint64_t dest, uint64_t seg, uint64_t offset, size_t len,
				 struct gw__hostmem_buf *buf);
doca_error_t gw__hostmem_flush(struct gw__hostmem *h, uint64_t dest, uint64_t seg, uint64_t offset,
			       struct gw__hostmem_buf *buf, gw__hostmem_done_t done, void *arg);
/* Any buffer, any time but while an operation on it is open. */
void gw__hostmem_free(struct gw__hostmem *h, struct gw__hostmem_buf *buf);
/* Try what the channel had no room for; true if anything went. */
bool gw__hostmem_progress(struct gw__hostmem *h);

#endif
