/* doca/pe.c: the progress engine: a list of contexts and one epoll handle.
 * Must not know the objects. Next: ctx.h.
 *
 * The handle is an epoll fd that holds every fd that contexts watch, and one eventfd for kicks. */
#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/wait.h"
#include "doca/ctx.h"
#include "doca/error.h"

struct doca_pe {
	struct doca_ctx *ctxs;
	struct doca_ctx *next; /* where progress goes on; kept right by disconnect */
	bool in_progress;
	int epfd;
	struct gw__event event;
};

doca_error_t doca_pe_create(struct doca_pe **out)
{
	struct epoll_event ev = { .events = EPOLLIN };
	struct doca_pe *pe;
	int err;

	if (!out)
		return DOCA_ERROR_INVALID_VALUE;
	pe = gw__calloc(1, sizeof(*pe));
	if (!pe)
		return DOCA_ERROR_NO_MEMORY;
	err = gw__event_init(&pe->event);
	if (err)
		goto err_free;
	pe->epfd = epoll_create1(EPOLL_CLOEXEC);
	if (pe->epfd < 0) {
		err = -errno;
		goto err_event;
	}
	if (epoll_ctl(pe->epfd, EPOLL_CTL_ADD, pe->event.fd, &ev)) {
		err = -errno;
		goto err_epoll;
	}
	*out = pe;
	return DOCA_SUCCESS;

err_epoll:
	close(pe->epfd);
err_event:
	gw__event_fini(&pe->event);
err_free:
	gw__free(pe);
	return gw__doca_from_errno(err);
}

doca_error_t doca_pe_destroy(struct doca_pe *pe)
{
	if (!pe)
		return DOCA_ERROR_INVALID_VALUE;
	for (struct doca_ctx *c = pe->ctxs; c; c = c->next)
		if (c->state != DOCA_CTX_STATE_IDLE)
			return DOCA_ERROR_IN_USE;
	while (pe->ctxs)
		gw__doca_pe_disconnect(pe, pe->ctxs);
	close(pe->epfd);
	gw__event_fini(&pe->event);
	gw__free(pe);
	return DOCA_SUCCESS;
}

void gw__doca_pe_disconnect(struct doca_pe *pe, struct doca_ctx *ctx)
{
	struct doca_ctx **at = &pe->ctxs;

	while (*at && *at != ctx)
		at = &(*at)->next;
	if (*at)
		*at = ctx->next;
	if (pe->next == ctx)
		pe->next = ctx->next;
	ctx->next = NULL;
	ctx->pe = NULL;
}

doca_error_t doca_pe_connect_ctx(struct doca_pe *pe, struct doca_ctx *ctx)
{
	struct doca_ctx **at;

	if (!pe || !ctx)
		return DOCA_ERROR_INVALID_VALUE;
	if (ctx->state != DOCA_CTX_STATE_IDLE)
		return DOCA_ERROR_BAD_STATE;
	if (ctx->pe)
		gw__doca_pe_disconnect(ctx->pe, ctx);
	for (at = &pe->ctxs; *at; at = &(*at)->next)
		;
	*at = ctx;
	ctx->pe = pe;
	return DOCA_SUCCESS;
}

static inline void relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

uint8_t doca_pe_progress(struct doca_pe *pe)
{
	uint8_t did = 0;

	if (!pe || pe->in_progress)
		return 0;
	pe->in_progress = true;
	for (struct doca_ctx *c = pe->ctxs; c; c = pe->next) {
		pe->next = c->next;
		if (c->state != DOCA_CTX_STATE_IDLE)
			did |= c->ops->progress(c);
	}
	pe->next = NULL;
	pe->in_progress = false;
	if (!did)
		relax(); /* who polls in a loop leaves the core to its twin for a moment */
	return did;
}

doca_error_t doca_pe_get_num_inflight_tasks(const struct doca_pe *pe, size_t *num_inflight_tasks)
{
	if (!pe || !num_inflight_tasks)
		return DOCA_ERROR_INVALID_VALUE;
	*num_inflight_tasks = 0;
	for (const struct doca_ctx *c = pe->ctxs; c; c = c->next)
		*num_inflight_tasks += c->n_inflight;
	return DOCA_SUCCESS;
}

doca_error_t doca_pe_get_notification_handle(const struct doca_pe *pe, doca_notification_handle_t *handle)
{
	if (!pe || !handle)
		return DOCA_ERROR_INVALID_VALUE;
	*handle = pe->epfd;
	return DOCA_SUCCESS;
}

doca_error_t doca_pe_request_notification(struct doca_pe *pe)
{
	bool waiting = false;

	if (!pe)
		return DOCA_ERROR_INVALID_VALUE;
	gw__event_arm(&pe->event);
	for (struct doca_ctx *c = pe->ctxs; c; c = c->next)
		if (c->state != DOCA_CTX_STATE_IDLE && c->ops->arm && c->ops->arm(c))
			waiting = true;
	if (waiting)
		gw__event_kick(&pe->event);
	return DOCA_SUCCESS;
}

doca_error_t doca_pe_clear_notification(struct doca_pe *pe, doca_notification_handle_t handle)
{
	uint64_t n;

	(void)handle;
	if (!pe)
		return DOCA_ERROR_INVALID_VALUE;
	gw__event_disarm(&pe->event);
	/* non-blocking: EAGAIN when an fd of a context, not a kick, woke the caller */
	while (read(pe->event.fd, &n, sizeof(n)) < 0 && errno == EINTR)
		;
	return DOCA_SUCCESS;
}

int gw__doca_ctx_watch(struct doca_ctx *ctx, int fd)
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLRDHUP };

	if (epoll_ctl(ctx->pe->epfd, EPOLL_CTL_ADD, fd, &ev) && errno != EEXIST)
		return -errno;
	return 0;
}

void gw__doca_ctx_unwatch(struct doca_ctx *ctx, int fd)
{
	epoll_ctl(ctx->pe->epfd, EPOLL_CTL_DEL, fd, NULL);
}

void gw__doca_ctx_kick(struct doca_ctx *ctx)
{
	gw__event_signal(&ctx->pe->event);
}
