/* The shared life: states, tasks that complete once, the engine in poll and event mode. */
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include "base/alloc.h"
#include "doca/ctx.h"
#include "t.h"

struct toy {
	struct doca_ctx ctx;
	struct doca_task *waiting;
	bool slow;
	bool arm_says;
	int pipefd[2];
	int n_progress;
};

static doca_error_t toy_start(struct doca_ctx *c)
{
	return gw__container_of(c, struct toy, ctx)->slow ? DOCA_ERROR_IN_PROGRESS : DOCA_SUCCESS;
}

static doca_error_t toy_stop(struct doca_ctx *c)
{
	return toy_start(c);
}

static uint8_t toy_progress(struct doca_ctx *c)
{
	struct toy *t = gw__container_of(c, struct toy, ctx);
	struct doca_task *k = t->waiting;

	t->n_progress++;
	if (c->state == DOCA_CTX_STATE_STARTING)
		gw__doca_ctx_set_state(c, DOCA_CTX_STATE_RUNNING);
	else if (c->state == DOCA_CTX_STATE_STOPPING)
		gw__doca_ctx_set_state(c, DOCA_CTX_STATE_IDLE);
	else if (k) {
		t->waiting = NULL;
		gw__doca_task_complete(k, DOCA_ERROR_IO_FAILED);
	} else
		return 0;
	return 1;
}

static bool toy_arm(struct doca_ctx *c)
{
	return gw__container_of(c, struct toy, ctx)->arm_says;
}

static doca_error_t toy_submit(struct doca_ctx *c, struct doca_task *task)
{
	struct toy *t = gw__container_of(c, struct toy, ctx);

	if (t->waiting)
		return DOCA_ERROR_AGAIN;
	t->waiting = task;
	return DOCA_SUCCESS;
}

static const struct gw__doca_ctx_ops toy_ops = {
	.name = "toy", .start = toy_start, .stop = toy_stop, .progress = toy_progress, .arm = toy_arm,
	.submit = toy_submit,
};

static int n_done, n_changes, n_released;
static struct doca_pe *pe;

static void task_done(struct doca_task *t)
{
	n_done++;
	T_EQ(doca_task_get_status(t), DOCA_ERROR_IO_FAILED);
	T_EQ(doca_task_get_user_data(t).u64, 77);
	T_EQ(doca_pe_progress(pe), 0); /* from inside a callback: nothing */
}

static void task_release(struct doca_task *t)
{
	n_released++;
}

static void changed(const union doca_data u, struct doca_ctx *c, enum doca_ctx_states a, enum doca_ctx_states b)
{
	T_EQ(u.u64, 5);
	T_OK(a != b);
	n_changes++;
}

static int readable(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, ms);
}

static void *kicker(void *arg)
{
	gw__doca_ctx_kick(arg);
	return NULL;
}

static void event_mode(struct toy *t)
{
	doca_notification_handle_t h;
	pthread_t th;

	T_EQ(doca_pe_get_notification_handle(pe, &h), DOCA_SUCCESS);
	T_NEED(pipe(t->pipefd) == 0);
	T_RC(gw__doca_ctx_watch(&t->ctx, t->pipefd[0]), 0);
	T_EQ(doca_pe_request_notification(pe), DOCA_SUCCESS);
	T_EQ(readable(h, 0), 0);
	T_EQ(write(t->pipefd[1], "x", 1), 1);
	T_EQ(readable(h, 1000), 1);
	gw__doca_ctx_unwatch(&t->ctx, t->pipefd[0]);
	doca_pe_clear_notification(pe, h);
	T_EQ(readable(h, 0), 0);

	t->arm_says = true; /* work waits: no sleep */
	doca_pe_request_notification(pe);
	T_EQ(readable(h, 0), 1);
	doca_pe_clear_notification(pe, h);
	t->arm_says = false;

	doca_pe_request_notification(pe);
	pthread_create(&th, NULL, kicker, &t->ctx);
	T_EQ(readable(h, 5000), 1);
	pthread_join(th, NULL);
	doca_pe_clear_notification(pe, h);
	close(t->pipefd[0]);
	close(t->pipefd[1]);
}

int main(void)
{
	struct toy t = { .slow = false };
	struct doca_task k = { .ctx = &t.ctx, .complete = task_done, .release = task_release };
	struct doca_task k2 = k;
	enum doca_ctx_states s;
	size_t n;
	long live;

	live = gw__alloc_live();
	gw__alloc_fail_at(1);
	T_EQ(doca_pe_create(&pe), DOCA_ERROR_NO_MEMORY);
	gw__alloc_fail_at(0);
	T_EQ(gw__alloc_live(), live);
	T_EQ(doca_pe_create(NULL), DOCA_ERROR_INVALID_VALUE);
	T_EQ(doca_pe_create(&pe), DOCA_SUCCESS);

	gw__doca_ctx_init(&t.ctx, &toy_ops);
	T_EQ(doca_ctx_start(&t.ctx), DOCA_ERROR_BAD_STATE); /* no engine */
	T_EQ(doca_pe_connect_ctx(pe, &t.ctx), DOCA_SUCCESS);
	doca_ctx_set_user_data(&t.ctx, (union doca_data){ .u64 = 5 });
	doca_ctx_set_state_changed_cb(&t.ctx, changed);
	T_EQ(doca_ctx_stop(&t.ctx), DOCA_ERROR_BAD_STATE);
	T_EQ(doca_task_submit(&k), DOCA_ERROR_BAD_STATE);

	t.slow = true;
	T_EQ(doca_ctx_start(&t.ctx), DOCA_ERROR_IN_PROGRESS);
	T_EQ(doca_pe_connect_ctx(pe, &t.ctx), DOCA_ERROR_BAD_STATE);
	T_EQ(doca_pe_destroy(pe), DOCA_ERROR_IN_USE);
	T_EQ(gw__doca_ctx_fini(&t.ctx), DOCA_ERROR_NOT_PERMITTED);
	T_EQ(doca_pe_progress(pe), 1);
	T_EQ(doca_ctx_get_state(&t.ctx, &s), DOCA_SUCCESS);
	T_EQ(s, DOCA_CTX_STATE_RUNNING);

	doca_task_set_user_data(&k, (union doca_data){ .u64 = 77 });
	T_EQ(doca_task_submit(&k), DOCA_SUCCESS);
	T_EQ(doca_task_submit(&k), DOCA_ERROR_BAD_STATE);
	T_EQ(doca_task_submit(&k2), DOCA_ERROR_AGAIN);
	T_EQ(doca_pe_get_num_inflight_tasks(pe, &n), DOCA_SUCCESS);
	T_EQ(n, 1);
	doca_task_free(&k); /* in flight: left alone */
	T_EQ(n_released, 0);
	T_EQ(doca_pe_progress(pe), 1);
	T_EQ(doca_pe_progress(pe), 0);
	T_EQ(n_done, 1);
	doca_ctx_get_num_inflight_tasks(&t.ctx, &n);
	T_EQ(n, 0);
	doca_task_free(&k);
	T_EQ(n_released, 1);

	event_mode(&t);

	T_EQ(doca_ctx_stop(&t.ctx), DOCA_ERROR_IN_PROGRESS);
	T_EQ(doca_pe_progress(pe), 1);
	T_EQ(n_changes, 4);
	T_EQ(gw__doca_ctx_fini(&t.ctx), DOCA_SUCCESS);
	T_EQ(doca_pe_destroy(pe), DOCA_SUCCESS);
	T_EQ(gw__alloc_live(), live);
	T_DONE();
}
