/* doca/ctx.h: what a room needs to make an object with a life, an engine and tasks.
 * Must not know the objects built on it. Next: ctx.c, pe.c.
 *
 * Embed struct doca_ctx in your object (container_of back) and struct doca_task in your tasks. One thread
 * at a time drives a context; only gw__doca_ctx_kick() may come from another. */
#ifndef GW_DOCA_CTX_H
#define GW_DOCA_CTX_H

#include <doca/doca_pe.h>
#include <stdbool.h>

#define gw__container_of(p, type, field) ((type *)(void *)((char *)(p)-offsetof(type, field)))

/* start and stop: SUCCESS = done (the state is set for you), IN_PROGRESS = progress() will call
 * gw__doca_ctx_set_state(); anything else = refused, state as before.
 * progress: 1 if something happened. arm (optional): about to sleep, true = do not, work waits.
 * submit (optional): SUCCESS = accepted; completion through gw__doca_task_complete(), later, once. */
struct gw__doca_ctx_ops {
	const char *name;
	doca_error_t (*start)(struct doca_ctx *ctx);
	doca_error_t (*stop)(struct doca_ctx *ctx);
	uint8_t (*progress)(struct doca_ctx *ctx);
	bool (*arm)(struct doca_ctx *ctx);
	doca_error_t (*submit)(struct doca_ctx *ctx, struct doca_task *task);
};

struct doca_ctx {
	const struct gw__doca_ctx_ops *ops;
	struct doca_pe *pe; /* borrowed; NULL = not connected */
	struct doca_ctx *next; /* in pe's list */
	enum doca_ctx_states state;
	union doca_data user_data;
	doca_ctx_state_changed_callback_t state_cb;
	size_t n_inflight;
};

struct doca_task {
	struct doca_ctx *ctx;
	void (*complete)(struct doca_task *task); /* runs the user's callback */
	void (*release)(struct doca_task *task);  /* doca_task_free() */
	union doca_data user_data;
	doca_error_t status;
	bool in_flight;
};

DOCA_EXPERIMENTAL void gw__doca_ctx_init(struct doca_ctx *ctx, const struct gw__doca_ctx_ops *ops);
/* Before freeing the object. NOT_PERMITTED unless idle. */
DOCA_EXPERIMENTAL doca_error_t gw__doca_ctx_fini(struct doca_ctx *ctx);
/* BAD_STATE unless idle: the first line of every setter. */
DOCA_EXPERIMENTAL doca_error_t gw__doca_ctx_need_idle(const struct doca_ctx *ctx);
DOCA_EXPERIMENTAL void gw__doca_ctx_set_state(struct doca_ctx *ctx, enum doca_ctx_states state);
/* A readable fd wakes the engine's handle. Unwatch before closing the fd. 0 or negative errno. */
DOCA_EXPERIMENTAL int gw__doca_ctx_watch(struct doca_ctx *ctx, int fd);
DOCA_EXPERIMENTAL void gw__doca_ctx_unwatch(struct doca_ctx *ctx, int fd);
/* Any thread: there is work for this context. The context must stay connected meanwhile. */
DOCA_EXPERIMENTAL void gw__doca_ctx_kick(struct doca_ctx *ctx);
DOCA_EXPERIMENTAL void gw__doca_task_complete(struct doca_task *task, doca_error_t status);

/* pe.c, for ctx.c */
void gw__doca_pe_disconnect(struct doca_pe *pe, struct doca_ctx *ctx);

#endif
