/* doca_ctx.h: the life that every doca object with a data path shares: idle, starting, running, stopping.
 * Must not know what the object does. Next: doca_pe.h. */
#ifndef DOCA_CTX_H_
#define DOCA_CTX_H_

#include "doca_error.h"
#include "doca_types.h"

DOCA_BEGIN_DECLS

enum doca_ctx_states {
	DOCA_CTX_STATE_IDLE = 0,
	DOCA_CTX_STATE_STARTING = 1,
	DOCA_CTX_STATE_RUNNING = 2,
	DOCA_CTX_STATE_STOPPING = 3,
};

struct doca_ctx;

/* Called inside start, stop or doca_pe_progress() after each change. It must not destroy the object. */
typedef void (*doca_ctx_state_changed_callback_t)(const union doca_data user_data, struct doca_ctx *ctx,
						  enum doca_ctx_states prev_state,
						  enum doca_ctx_states next_state);

/* IDLE -> RUNNING at once (SUCCESS), or IDLE -> STARTING (IN_PROGRESS): then progress its engine until
 * the state is RUNNING, or IDLE again when it failed. BAD_STATE: not idle; INVALID_VALUE: NULL; others by
 * object. Threads: the object's one owner. Blocks: by object, at most seconds. */
DOCA_STABLE doca_error_t doca_ctx_start(struct doca_ctx *ctx);
/* To IDLE at once (SUCCESS), or STOPPING (IN_PROGRESS): progress until IDLE. Tasks still in flight complete
 * with DOCA_ERROR_SHUTDOWN, each once. BAD_STATE: idle already. Threads: the object's owner. */
DOCA_STABLE doca_error_t doca_ctx_stop(struct doca_ctx *ctx);
/* Tasks submitted and not yet completed. INVALID_VALUE: NULL. */
DOCA_STABLE doca_error_t doca_ctx_get_num_inflight_tasks(const struct doca_ctx *ctx, size_t *num_inflight_tasks);
DOCA_STABLE doca_error_t doca_ctx_get_state(const struct doca_ctx *ctx, enum doca_ctx_states *state);
/* The cookie that the object's callbacks get. Any state. */
DOCA_STABLE doca_error_t doca_ctx_set_user_data(struct doca_ctx *ctx, union doca_data user_data);
DOCA_STABLE doca_error_t doca_ctx_get_user_data(const struct doca_ctx *ctx, union doca_data *user_data);
/* NULL removes the callback. Any state. */
DOCA_STABLE doca_error_t doca_ctx_set_state_changed_cb(struct doca_ctx *ctx,
						       doca_ctx_state_changed_callback_t cb);

DOCA_END_DECLS

#endif
