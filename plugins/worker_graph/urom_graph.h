/* urom_graph.h: host half of the worker_graph plugin. Plain C, linked into the program.
 * Must not know channels. Next: urom_graph.c, examples/urom_multi_workers_bootstrap. */
#ifndef UROM_GRAPH_H_
#define UROM_GRAPH_H_

#include <doca_urom.h>

/* result: the task's status; data: what came back (0 on failure). Runs in doca_pe_progress(). */
typedef void (*urom_graph_loopback_finished)(doca_error_t result, union doca_data cookie, uint64_t data);

/* From the service's plugin list. UNSUPPORTED_VERSION: the other half is not version 1. */
doca_error_t urom_graph_init(uint64_t plugin_id, uint64_t version);
/* Ask the worker to send `data` back. SUCCESS: cb runs exactly once; AGAIN: too many in flight, progress and
 * try again; others as doca_task_submit(). */
doca_error_t urom_graph_task_loopback(struct doca_urom_worker *worker_ctx, union doca_data cookie, uint64_t data,
				      urom_graph_loopback_finished cb);

#endif
