/* urom/task.c: commands in flight: one slot each, one completion each.
 * Must not know how frames travel. Next: worker.c. */
#include "urom/worker.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "doca/error.h"

#define NO_SLOT UINT32_MAX
#define MAX_SPARE 64u

doca_error_t gw__urom_tasks_open(struct doca_urom_worker *w)
{
	w->slots = gw__calloc(w->max_inflight, sizeof(*w->slots));
	if (!w->slots)
		return DOCA_ERROR_NO_MEMORY;
	for (uint32_t i = 0; i < w->max_inflight; i++) {
		w->slots[i].next_free = i + 1 < w->max_inflight ? i + 1 : NO_SLOT;
		w->slots[i].generation = 1;
	}
	w->free_slot = 0;
	return DOCA_SUCCESS;
}

static void complete(struct doca_urom_worker *w, uint32_t i, doca_error_t status)
{
	struct gw__urom_slot *s = &w->slots[i];
	struct doca_urom_worker_cmd_task *t = s->task;

	s->task = NULL;
	s->generation++;
	s->next_free = w->free_slot;
	w->free_slot = i;
	gw__doca_task_complete(&t->base, status);
}

void gw__urom_tasks_close(struct doca_urom_worker *w, doca_error_t status)
{
	struct gw__urom_slot *slots = w->slots;

	if (!slots)
		return;
	/* callbacks may submit again: refused, the context is not running */
	for (uint32_t i = 0; i < w->max_inflight; i++)
		if (slots[i].task) {
			slots[i].task->has_response = false;
			complete(w, i, status);
		}
	w->slots = NULL;
	gw__free(slots);
}

doca_error_t gw__urom_worker_submit(struct doca_ctx *ctx, struct doca_task *task)
{
	struct doca_urom_worker *w = gw__container_of(ctx, struct doca_urom_worker, ctx);
	struct doca_urom_worker_cmd_task *t = gw__container_of(task, struct doca_urom_worker_cmd_task, base);
	struct gw__frame f = { .type = GW__F_CMD, .payload = t->payload.data };
	uint32_t i = w->free_slot;
	int err;

	if (w->phase != GW__W_RUN)
		return DOCA_ERROR_BAD_STATE;
	/* exactly one plugin */
	if (!t->plugin || (t->plugin & (t->plugin - 1)))
		return DOCA_ERROR_INVALID_VALUE;
	if (t->payload.data_len > w->agreed_msg - GW__UROM_HDR)
		return DOCA_ERROR_TOO_BIG;
	if (i == NO_SLOT)
		return DOCA_ERROR_AGAIN;
	f.len = (uint32_t)t->payload.data_len;
	f.plugin = (uint32_t)__builtin_ctzll(t->plugin);
	f.context = (uint64_t)w->slots[i].generation << 32 | i;
	err = gw__chan_send(&w->chan, &f);
	if (err)
		return gw__doca_from_errno(err);
	t->deadline_ns = w->timeout_ms ? gw__now_ns(gw__clock_monotonic()) + w->timeout_ms * 1000000ull : 0;
	w->slots[i].task = t;
	w->free_slot = w->slots[i].next_free;
	return DOCA_SUCCESS;
}

void gw__urom_tasks_notif(struct doca_urom_worker *w, const struct gw__frame *f)
{
	uint32_t i = (uint32_t)f->context;
	struct doca_urom_worker_cmd_task *t;

	if (i >= w->max_inflight || !w->slots || !w->slots[i].task ||
	    w->slots[i].generation != (uint32_t)(f->context >> 32)) {
		w->n_stray++;
		return;
	}
	t = w->slots[i].task;
	t->has_response = f->len != 0;
	if (f->len)
		gw__doca_buf_init(&t->response, (void *)(uintptr_t)f->payload, f->len, f->len);
	complete(w, i, f->status < 0 ? DOCA_ERROR_UNKNOWN : (doca_error_t)f->status);
}

bool gw__urom_tasks_expire(struct doca_urom_worker *w, uint64_t now_ns)
{
	bool any = false;

	for (uint32_t i = 0; w->slots && i < w->max_inflight; i++) {
		struct doca_urom_worker_cmd_task *t = w->slots[i].task;

		if (t && t->deadline_ns && now_ns > t->deadline_ns) {
			t->has_response = false;
			complete(w, i, DOCA_ERROR_TIME_OUT);
			any = true;
		}
	}
	return any;
}

/* ---- the task object ----------------------------------------------------------------------------- */

static void on_complete(struct doca_task *task)
{
	struct doca_urom_worker_cmd_task *t = gw__container_of(task, struct doca_urom_worker_cmd_task, base);

	if (t->cb)
		t->cb(t, task->user_data, task->ctx->user_data);
}

static void on_release(struct doca_task *task)
{
	struct doca_urom_worker_cmd_task *t = gw__container_of(task, struct doca_urom_worker_cmd_task, base);
	struct doca_urom_worker *w = t->worker;

	w->n_tasks--;
	if (w->n_spare == MAX_SPARE) {
		gw__free(t);
		return;
	}
	t->next_free = w->spare;
	w->spare = t;
	w->n_spare++;
}

void gw__urom_tasks_free_spares(struct doca_urom_worker *w)
{
	struct doca_urom_worker_cmd_task *t;

	while ((t = w->spare)) {
		w->spare = t->next_free;
		gw__free(t);
	}
	w->n_spare = 0;
}

doca_error_t doca_urom_worker_cmd_task_allocate(struct doca_urom_worker *w, struct doca_urom_worker_cmd_task **task)
{
	struct doca_urom_worker_cmd_task *t;
	size_t cap;

	if (!w || !task)
		return DOCA_ERROR_INVALID_VALUE;
	if (!w->service)
		return DOCA_ERROR_BAD_STATE;
	cap = w->service->max_msg - GW__UROM_HDR;
	t = w->spare;
	if (t && t->cap == cap) {
		w->spare = t->next_free;
		w->n_spare--;
	} else {
		/* zeroed: what a program does not fill in must not tell the worker about our memory */
		t = gw__calloc(1, sizeof(*t) + cap);
		if (!t)
			return DOCA_ERROR_NO_MEMORY;
		t->cap = cap;
	}
	t->base = (struct doca_task){ .ctx = &w->ctx, .complete = on_complete, .release = on_release };
	t->worker = w;
	t->plugin = 0;
	t->cb = NULL;
	t->has_response = false;
	t->deadline_ns = 0;
	for (size_t i = 0; i < sizeof(t->user); i++)
		t->user[i] = 0;
	gw__doca_buf_init(&t->payload, t->bytes, cap, cap);
	w->n_tasks++;
	*task = t;
	return DOCA_SUCCESS;
}

doca_error_t doca_urom_worker_cmd_task_allocate_init(struct doca_urom_worker *w, uint64_t plugin,
						     struct doca_urom_worker_cmd_task **task)
{
	doca_error_t r = doca_urom_worker_cmd_task_allocate(w, task);

	if (r == DOCA_SUCCESS)
		(*task)->plugin = plugin;
	return r;
}

doca_error_t doca_urom_worker_cmd_task_release(struct doca_urom_worker_cmd_task *t)
{
	if (!t)
		return DOCA_ERROR_INVALID_VALUE;
	if (t->base.in_flight)
		return DOCA_ERROR_NOT_PERMITTED;
	on_release(&t->base);
	return DOCA_SUCCESS;
}

void doca_urom_worker_cmd_task_set_plugin(struct doca_urom_worker_cmd_task *t, uint64_t plugin)
{
	t->plugin = plugin;
}

void doca_urom_worker_cmd_task_set_cb(struct doca_urom_worker_cmd_task *t,
				      doca_urom_worker_cmd_task_completion_cb_t cb)
{
	t->cb = cb;
}

struct doca_task *doca_urom_worker_cmd_task_as_task(struct doca_urom_worker_cmd_task *t)
{
	return t ? &t->base : NULL;
}

struct doca_buf *doca_urom_worker_cmd_task_get_payload(struct doca_urom_worker_cmd_task *t)
{
	return t ? &t->payload : NULL;
}

struct doca_buf *doca_urom_worker_cmd_task_get_response(struct doca_urom_worker_cmd_task *t)
{
	return t && t->has_response ? &t->response : NULL;
}

void *doca_urom_worker_cmd_task_get_user_data(struct doca_urom_worker_cmd_task *t)
{
	return t ? t->user : NULL;
}
