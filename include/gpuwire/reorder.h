/* gpuwire/reorder.h: the application's whole side of reordering: bind a stream once, flush at the end. */
#ifndef GPUWIRE_REORDER_H
#define GPUWIRE_REORDER_H

#include <gpuwire/common.h>
#include <gpuwire/mem.h>

#ifdef __cplusplus
extern "C" {
#endif

struct gw;

/* Bind the stream on which a plan's launches run; call after gw_open() and before gw_start().
 *   interface_name, reorder_name  as in the configuration
 *   stream                        stays the caller's; must outlive gw_close()
 * Returns 0, -ENOENT (no such interface or plan), -EBUSY (started, or bound already). Without a binding the
 * plan uses a stream of its own. Thread: before start, one caller. Blocks: no. */
GW_API GW_MUST_CHECK int gw_reorder_set_stream(struct gw *gw, const char *interface_name,
					       const char *reorder_name, struct gw_stream *stream);

/* Hand over every open window that holds at least one packet, with REORDER_TIMEOUT and, where there is a
 * hole, INCOMPLETE. What already arrived is placed first. gw_close() calls it too; nothing else does.
 * Returns the number of windows handed over. Any thread. Ownership: the windows are bursts like any other. Blocks: until the queues' owners have done it. */
GW_API int gw_flush(struct gw *gw);

#ifdef __cplusplus
}
#endif
#endif
