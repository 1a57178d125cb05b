/* gpuwire/gpuwire.h: open a configuration, start it, close it. Includes every other part.
 *
 *   gw_config_load -> gw_open -> gw_reorder_set_stream -> gw_start -> gw_rx_burst ... -> gw_close */
#ifndef GPUWIRE_GPUWIRE_H
#define GPUWIRE_GPUWIRE_H

#include <gpuwire/burst.h>
#include <gpuwire/common.h>
#include <gpuwire/config.h>
#include <gpuwire/file.h>
#include <gpuwire/flow.h>
#include <gpuwire/mem.h>
#include <gpuwire/nn.h>
#include <gpuwire/port.h>
#include <gpuwire/reorder.h>
#include <gpuwire/stats.h>
#include <gpuwire/version.h>

#ifdef __cplusplus
extern "C" {
#endif

struct gw;

/* Allocate regions, ports and queues as the configuration says. Nothing runs yet.
 *   cfg  borrowed; must outlive gw_close()
 * Returns 0, -ENOMEM, -ENODEV, -ENOTSUP, -EINVAL, each with a sentence. *out only on success; nothing is
 * left half-made. Thread: any one. Caller owns: gw_close(). Blocks: allocates. */
GW_API GW_MUST_CHECK int gw_open(const struct gw_config *cfg, struct gw **out, struct gw_diag *diag);
/* Memory of the application's for a region that says `owned: false`. */
struct gw_region_mem {
	const char *name; /* as in the configuration */
	void *ptr;        /* 64-aligned, of the region's kind: device memory from gw_mem_alloc(), host memory from
			   * anywhere; host_pinned is made GPU-visible in place */
	size_t n_bytes;   /* at least what gw_region_bytes() says */
};
/* gw_open() for a configuration that leaves some regions to the application.
 *   mem  [n]; the memory stays the caller's and must outlive gw_close()
 * Returns as gw_open(); -EINVAL also for a region without memory, memory without a region, or too little of it;
 * -ENOTSUP device memory that the engine cannot write. Thread: any one. Ownership: *out is the caller's, the memory
 * stays so, also after failure. Blocks: allocates. */
GW_API GW_MUST_CHECK int gw_open_with(const struct gw_config *cfg, const struct gw_region_mem *mem, uint32_t n,
				      struct gw **out, struct gw_diag *diag);
/* How many bytes a region needs: its buffers, each rounded up to 128 bytes.
 * Returns 0, -ENOENT. Any thread. Ownership: nothing changes hands. Blocks: no. */
GW_API GW_MUST_CHECK int gw_region_bytes(const struct gw_config *cfg, const char *name, size_t *n_bytes);
/* Start pollers and links. Returns 0, -EBUSY (started already), -EAGAIN (no thread), -ENODEV; after failure nothing
 * runs. Thread: one, not beside gw_stop() or gw_close(). Ownership: gw stays the caller's. Blocks: no. */
GW_API GW_MUST_CHECK int gw_start(struct gw *gw, struct gw_diag *diag);
/* First half of an orderly end: stop pollers after a last flush; bursts can still be taken and released, and
 * what had no free buffer by then comes as they are. gw_start() may follow. Returns nothing. Thread: one, not beside
 * gw_start() or gw_close(); others may still take bursts. Ownership: bursts stay lent until released. Blocks: until
 * the pollers have ended. */
GW_API void gw_stop(struct gw *gw);
/* Stop and free everything. NULL is fine. Bursts still held by the application are invalid afterwards.
 * Returns nothing. Thread: one, and no other call may be under way. Ownership: the configuration, bound streams and
 * memory brought by gw_open_with() are the caller's alone again. Blocks: until the pollers have ended. */
GW_API void gw_close(struct gw *gw);

#ifdef __cplusplus
}
#endif
#endif
