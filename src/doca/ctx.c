/* doca/ctx.c: the shared life of objects. Must not know what they do. Next: pe.c. */
#include "doca/ctx.h"

#include <string.h>

void gw__doca_ctx_init(struct doca_ctx *ctx, const struct gw__doca_ctx_ops *ops)
{
	memset(ctx, 0, sizeof(*ctx));
	ctx->ops = ops;
}

doca_error_t gw__doca_ctx_fini(struct doca_ctx *ctx)
{
	if (ctx->state != DOCA_CTX_STATE_IDLE)
		return DOCA_ERROR_NOT_PERMITTED;
	if (ctx->pe)
		gw__doca_pe_disconnect(ctx->pe, ctx);
	return DOCA_SUCCESS;
}

doca_error_t gw__doca_ctx_need_idle(const struct doca_ctx *ctx)
{
	return ctx->state == DOCA_CTX_STATE_IDLE ? DOCA_SUCCESS : DOCA_ERROR_BAD_STATE;
}

void gw__doca_ctx_set_state(struct doca_ctx *ctx, enum doca_ctx_states state)
{
	enum doca_ctx_states prev = ctx->state;

	if (prev == state)
		return;
	ctx->state = state;
	if (ctx->state_cb)
		ctx->state_cb(ctx->user_data, ctx, prev, state);
}

doca_error_t doca_ctx_start(struct doca_ctx *ctx)
{
	doca_error_t r;

	if (!ctx)
		return DOCA_ERROR_INVALID_VALUE;
	if (ctx->state != DOCA_CTX_STATE_IDLE || !ctx->pe)
		return DOCA_ERROR_BAD_STATE;
	r = ctx->ops->start(ctx);
	if (r == DOCA_SUCCESS)
		gw__doca_ctx_set_state(ctx, DOCA_CTX_STATE_RUNNING);
	else if (r == DOCA_ERROR_IN_PROGRESS)
		gw__doca_ctx_set_state(ctx, DOCA_CTX_STATE_STARTING);
	return r;
}

doca_error_t doca_ctx_stop(struct doca_ctx *ctx)
{
	doca_error_t r;

	if (!ctx)
		return DOCA_ERROR_INVALID_VALUE;
	if (ctx->state == DOCA_CTX_STATE_IDLE)
		return DOCA_ERROR_BAD_STATE;
	if (ctx->state == DOCA_CTX_STATE_STOPPING)
		return DOCA_ERROR_IN_PROGRESS;
	r = ctx->ops->stop(ctx);
	if (r == DOCA_SUCCESS)
		gw__doca_ctx_set_state(ctx, DOCA_CTX_STATE_IDLE);
	else if (r == DOCA_ERROR_IN_PROGRESS)
		gw__doca_ctx_set_state(ctx, DOCA_CTX_STATE_STOPPING);
	return r;
}

doca_error_t doca_ctx_get_num_inflight_tasks(const struct doca_ctx *ctx, size_t *num_inflight_tasks)
{
	if (!ctx || !num_inflight_tasks)
		return DOCA_ERROR_INVALID_VALUE;
	*num_inflight_tasks = ctx->n_inflight;
	return DOCA_SUCCESS;
}

doca_error_t doca_ctx_get_state(const struct doca_ctx *ctx, enum doca_ctx_states *state)
{
	if (!ctx || !state)
		return DOCA_ERROR_INVALID_VALUE;
	*state = ctx->state;
	return DOCA_SUCCESS;
}

doca_error_t doca_ctx_set_user_data(struct doca_ctx *ctx, union doca_data user_data)
{
	if (!ctx)
		return DOCA_ERROR_INVALID_VALUE;
	ctx->user_data = user_data;
	return DOCA_SUCCESS;
}

doca_error_t doca_ctx_get_user_data(const struct doca_ctx *ctx, union doca_data *user_data)
{
	if (!ctx || !user_data)
		return DOCA_ERROR_INVALID_VALUE;
	*user_data = ctx->user_data;
	return DOCA_SUCCESS;
}

doca_error_t doca_ctx_set_state_changed_cb(struct doca_ctx *ctx, doca_ctx_state_changed_callback_t cb)
{
	if (!ctx)
		return DOCA_ERROR_INVALID_VALUE;
	ctx->state_cb = cb;
	return DOCA_SUCCESS;
}

doca_error_t doca_task_submit(struct doca_task *task)
{
	struct doca_ctx *ctx;
	doca_error_t r;

	if (!task || !task->ctx)
		return DOCA_ERROR_INVALID_VALUE;
	ctx = task->ctx;
	if (ctx->state != DOCA_CTX_STATE_RUNNING || task->in_flight)
		return DOCA_ERROR_BAD_STATE;
	if (!ctx->ops->submit)
		return DOCA_ERROR_NOT_SUPPORTED;
	/* before submit(): a completion may already run inside it on another object's progress */
	task->in_flight = true;
	task->status = DOCA_ERROR_IN_PROGRESS;
	ctx->n_inflight++;
	r = ctx->ops->submit(ctx, task);
	if (r != DOCA_SUCCESS) {
		task->in_flight = false;
		task->status = r;
		ctx->n_inflight--;
	}
	return r;
}

void gw__doca_task_complete(struct doca_task *task, doca_error_t status)
{
	task->status = status;
	task->in_flight = false;
	task->ctx->n_inflight--;
	task->complete(task); /* may release the task: not touched again */
}

doca_error_t doca_task_get_status(const struct doca_task *task)
{
	return task ? task->status : DOCA_ERROR_INVALID_VALUE;
}

void doca_task_set_user_data(struct doca_task *task, union doca_data user_data)
{
	if (task)
		task->user_data = user_data;
}

union doca_data doca_task_get_user_data(const struct doca_task *task)
{
	return task ? task->user_data : (union doca_data){ .ptr = NULL };
}

struct doca_ctx *doca_task_get_ctx(const struct doca_task *task)
{
	return task ? task->ctx : NULL;
}

void doca_task_free(struct doca_task *task)
{
	if (task && !task->in_flight)
		task->release(task);
}
