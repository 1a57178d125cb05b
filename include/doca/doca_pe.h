/* doca_pe.h: the progress engine: where contexts are driven and task callbacks run.
 * Must not know the objects. Next: doca_urom.h, src/doca/pe.c.
 *
 * Poll mode: call doca_pe_progress() in a loop. Event mode: doca_pe_request_notification(), wait for the
 * handle to become readable, doca_pe_clear_notification(), then doca_pe_progress() until it returns 0. */
#ifndef DOCA_PE_H_
#define DOCA_PE_H_

#include "doca_ctx.h"

DOCA_BEGIN_DECLS

struct doca_pe;
struct doca_task;

/* One engine per thread. SUCCESS; INVALID_VALUE: NULL; NO_MEMORY; OPERATING_SYSTEM: no file descriptor. */
DOCA_STABLE doca_error_t doca_pe_create(struct doca_pe **pe);
/* IN_USE: a connected context is not idle. Idle ones are disconnected. NULL: INVALID_VALUE. */
DOCA_STABLE doca_error_t doca_pe_destroy(struct doca_pe *pe);
/* While the context is IDLE (BAD_STATE otherwise); moving from another engine is allowed. */
DOCA_STABLE doca_error_t doca_pe_connect_ctx(struct doca_pe *pe, struct doca_ctx *ctx);
/* Drive every connected context a little. 1: something happened, 0: nothing. Callbacks run inside; called
 * from a callback it does nothing and returns 0. Threads: one at a time per engine. Blocks: no. */
DOCA_STABLE uint8_t doca_pe_progress(struct doca_pe *pe);
DOCA_STABLE doca_error_t doca_pe_get_num_inflight_tasks(const struct doca_pe *pe, size_t *num_inflight_tasks);

DOCA_STABLE doca_error_t doca_pe_get_notification_handle(const struct doca_pe *pe,
							 doca_notification_handle_t *handle);
/* Arm: the handle becomes readable as soon as progress would find work (at once if it would now). */
DOCA_STABLE doca_error_t doca_pe_request_notification(struct doca_pe *pe);
/* After the handle became readable. `handle` is accepted for source compatibility and ignored. */
DOCA_STABLE doca_error_t doca_pe_clear_notification(struct doca_pe *pe, doca_notification_handle_t handle);

/* Hand a task to its context. From SUCCESS until its callback it is the library's. AGAIN: the queue is
 * full; BAD_STATE: the context is not running or the task is in flight already; others by object. */
DOCA_STABLE doca_error_t doca_task_submit(struct doca_task *task);
/* In the callback: how it ended. */
DOCA_STABLE doca_error_t doca_task_get_status(const struct doca_task *task);
DOCA_STABLE void doca_task_set_user_data(struct doca_task *task, union doca_data user_data);
DOCA_STABLE union doca_data doca_task_get_user_data(const struct doca_task *task);
DOCA_STABLE struct doca_ctx *doca_task_get_ctx(const struct doca_task *task);
/* Release any task. A task in flight is left alone. */
DOCA_STABLE void doca_task_free(struct doca_task *task);

DOCA_END_DECLS

#endif
