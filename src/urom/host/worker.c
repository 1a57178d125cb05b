/* urom/worker.c: the life of a worker context: spawn, data channel, run, goodbye.
 * Must not know what commands mean. Next: task.c, mem.c, domain.c. */
#include "urom/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/diag.h"
#include "doca/error.h"
#include "doca/log.h"
#include "urom_net/tlv.h"

#define START_NS 6000000000u /* the daemon's own spawn limit is shorter: its reason comes first */
#define BYE_NS 2000000000u
#define FRAMES_A_TURN 64
#define MAX_STRAYS 4096u /* answers to nothing, before the worker is given up as broken */

static struct doca_urom_worker *of(struct doca_ctx *ctx)
{
	return gw__container_of(ctx, struct doca_urom_worker, ctx);
}

static uint64_t now(void)
{
	return gw__now_ns(gw__clock_monotonic());
}

/* ---- start -------------------------------------------------------------------------------------- */

static doca_error_t check_ready(struct doca_urom_worker *w)
{
	if (!w->service || w->service->ctx.state != DOCA_CTX_STATE_RUNNING) {
		gw__fail(&w->diag, 0, "worker: its service is not running");
		return DOCA_ERROR_BAD_STATE;
	}
	if (w->cpuset_set)
		for (int i = 0; i < DOCA_CPU_SETSIZE / 64; i++)
			if (w->cpuset.bits[i] & ~w->service->cpuset.bits[i]) {
				gw__fail(&w->diag, 0, "worker: CPUs outside the service's set");
				return DOCA_ERROR_INVALID_VALUE;
			}
	return DOCA_SUCCESS;
}

static doca_error_t ask_spawn(struct doca_urom_worker *w)
{
	uint8_t buf[GW__UROM_MAX_ENV_BYTES + 1024], set[sizeof(w->cpuset.bits)];
	struct gw__tlv_w t = gw__tlv_writer(buf, sizeof(buf));

	gw__tlv_put_u64(&t, GW__T_WORKER, w->want_id);
	gw__tlv_put_u32(&t, GW__T_GID, w->gid);
	gw__tlv_put_u64(&t, GW__T_MASK, w->plugins);
	gw__tlv_put_u32(&t, GW__T_INFLIGHT, w->max_inflight);
	gw__tlv_put_u32(&t, GW__T_VALUE, w->service->max_workers);
	if (w->cpuset_set) {
		for (size_t i = 0; i < sizeof(set) / 8; i++)
			gw__put_le64(set + 8 * i, w->cpuset.bits[i]);
		gw__tlv_put(&t, GW__T_CPUSET, set, sizeof(set));
	}
	for (size_t i = 0; i < w->n_env; i++)
		gw__tlv_put_text(&t, GW__T_ENV, w->env[i]);
	if (t.full)
		return DOCA_ERROR_TOO_BIG;
	w->req.waiter = &w->ctx;
	return gw__urom_ask(w->service, &w->req, GW__F_SPAWN, w->persistent ? GW__FL_PERSISTENT : 0, buf, t.len);
}

static doca_error_t worker_start(struct doca_ctx *ctx)
{
	struct doca_urom_worker *w = of(ctx);
	doca_error_t r = check_ready(w);

	if (r != DOCA_SUCCESS)
		return r;
	r = gw__urom_tasks_open(w);
	if (r != DOCA_SUCCESS)
		return r;
	r = ask_spawn(w);
	if (r != DOCA_SUCCESS) {
		gw__urom_tasks_close(w, r);
		return r;
	}
	/* its own descriptor: the service's engine may be another, or ours */
	pthread_mutex_lock(&w->service->lock);
	w->service_fd = w->service->connected ? fcntl(w->service->chan.fd, F_DUPFD_CLOEXEC, 0) : -1;
	pthread_mutex_unlock(&w->service->lock);
	if (w->service_fd >= 0)
		gw__doca_ctx_watch(ctx, w->service_fd);
	w->phase = GW__W_SPAWN;
	w->deadline_ns = now() + START_NS;
	w->ran = false;
	w->n_segs = 0;
	w->n_stray = 0;
	w->addr_state = w->table_state = DOCA_ERROR_EMPTY;
	return DOCA_ERROR_IN_PROGRESS;
}

static void drop_service_fd(struct doca_urom_worker *w)
{
	if (w->service_fd < 0)
		return;
	gw__doca_ctx_unwatch(&w->ctx, w->service_fd);
	close(w->service_fd);
	w->service_fd = -1;
}

/* Everything that a run holds; ends IDLE. Tasks in flight complete with status. */
static void finish(struct doca_urom_worker *w, doca_error_t status)
{
	if (w->phase == GW__W_SPAWN)
		gw__urom_forget(w->service, &w->req);
	if (w->phase == GW__W_DIAL) {
		gw__doca_ctx_unwatch(&w->ctx, w->dial.chan.fd);
		gw__dial_abort(&w->dial);
	}
	drop_service_fd(w);
	if (w->has_chan) {
		int efd = gw__chan_event_fd(&w->chan);

		gw__doca_ctx_unwatch(&w->ctx, w->chan.fd);
		if (efd >= 0)
			gw__doca_ctx_unwatch(&w->ctx, efd);
		gw__chan_fini(&w->chan);
		w->has_chan = false;
	}
	w->phase = GW__W_NONE;
	gw__free(w->addr);
	w->addr = NULL;
	w->addr_len = w->addr_cap = 0;
	w->table = NULL;
	w->addr_state = w->table_state = DOCA_ERROR_CONNECTION_RESET;
	if (w->ctx.state == DOCA_CTX_STATE_RUNNING)
		gw__doca_ctx_set_state(&w->ctx, DOCA_CTX_STATE_STOPPING);
	gw__urom_tasks_close(w, status);
	gw__doca_ctx_set_state(&w->ctx, DOCA_CTX_STATE_IDLE);
}

static void fail(struct doca_urom_worker *w, doca_error_t status)
{
	gw__doca_err("worker: %s (%s)", w->diag.text, doca_error_get_name(status));
	finish(w, status);
}

/* The daemon's answer to SPAWN. */
static void on_spawned(struct doca_urom_worker *w)
{
	struct gw__dial_opts opts = { .role = GW__ROLE_JOIN, .max_msg = w->service->agreed_msg,
				      .key = &w->service->key, .max_inflight = w->max_inflight };
	doca_error_t r = (doca_error_t)w->req.status;
	struct gw__frame f = { .payload = w->req.reply, .len = w->req.len };
	const char *plain = getenv("DOCA_UROM_CHANNEL"); /* "socket": no upgrade */
	char text[400];
	int err = 0;

	if (w->req.type == GW__F_ERROR && w->req.reply) {
		gw__error_text(&f, text, sizeof(text));
		gw__fail(&w->diag, 0, "%s", text);
	} else if (r != DOCA_SUCCESS) {
		gw__fail(&w->diag, 0, "worker: the daemon went away while spawning");
	} else if (gw__tlv_find_u64(f.payload, f.len, GW__T_WORKER, &w->id) ||
		   gw__tlv_find_u32(f.payload, f.len, GW__T_GID, &w->gid) ||
		   gw__tlv_find_copy(f.payload, f.len, GW__T_TICKET, opts.ticket, GW__TICKET)) {
		gw__fail(&w->diag, 0, "worker: the daemon's answer is malformed");
		r = DOCA_ERROR_UNEXPECTED;
	}
	gw__urom_forget(w->service, &w->req);
	drop_service_fd(w);
	w->phase = GW__W_NONE;
	if (r == DOCA_SUCCESS) {
		opts.worker = w->id;
		if (w->service->ep.kind == GW__EP_UNIX && !(plain && !strcmp(plain, "socket")))
			opts.features = GW__FEAT_SHM;
		else if (w->service->ep.kind == GW__EP_UCX)
			opts.features = GW__FEAT_UCX;
		err = gw__dial_start(&w->dial, &w->service->ep, &opts, &w->diag);
		r = gw__doca_from_errno(err);
	}
	if (r != DOCA_SUCCESS) {
		fail(w, r);
		return;
	}
	w->phase = GW__W_DIAL;
	gw__doca_ctx_watch(&w->ctx, w->dial.chan.fd);
}

static uint8_t step_dial(struct doca_urom_worker *w)
{
	int n = gw__dial_step(&w->dial, &w->diag);
	int efd;

	if (n == 0)
		return 0;
	if (n < 0) {
		w->phase = GW__W_NONE; /* the dial has closed itself */
		fail(w, n == -EREMOTEIO ? (doca_error_t)w->dial.status : gw__doca_from_errno(n));
		return 1;
	}
	w->chan = w->dial.chan;
	w->sends_fds = w->chan.take_fds;
	w->chan.take_fds = false; /* nothing more comes with descriptors */
	w->has_chan = true;
	w->agreed_msg = w->dial.max_msg;
	w->dest = w->dial.dest;
	efd = gw__chan_event_fd(&w->chan);
	if (efd >= 0)
		gw__doca_ctx_watch(&w->ctx, efd);
	w->phase = GW__W_RUN;
	w->ran = true;
	gw__doca_ctx_set_state(&w->ctx, DOCA_CTX_STATE_RUNNING);
	return 1;
}

/* ---- run ---------------------------------------------------------------------------------------- */

/* One part of the plugins' addresses; the last completes it. */
static void on_addr(struct doca_urom_worker *w, const struct gw__frame *f)
{
	uint8_t *p;

	if (w->addr_state != DOCA_ERROR_IN_PROGRESS)
		return;
	if (f->status || w->addr_len + f->len > GW__UROM_MAX_BLOB) {
		w->addr_state = f->status > 0 ? (doca_error_t)f->status : DOCA_ERROR_TOO_BIG;
		return;
	}
	p = gw__realloc(w->addr, w->addr_len + f->len);
	if (!p) {
		w->addr_state = DOCA_ERROR_NO_MEMORY;
		return;
	}
	w->addr = p;
	if (f->len)
		memcpy(w->addr + w->addr_len, f->payload, f->len);
	w->addr_len += f->len;
	if (!(f->flags & GW__FL_MORE))
		w->addr_state = DOCA_SUCCESS;
}

/* Send what the channel has room for. */
static bool push_table(struct doca_urom_worker *w)
{
	bool any = false;

	while (w->table && w->table_at < w->table_len) {
		size_t left = w->table_len - w->table_at;
		struct gw__frame f = { .type = GW__F_DOMAIN, .payload = w->table + w->table_at };

		f.len = (uint32_t)(left < GW__UROM_CTRL_MAX / 2 ? left : GW__UROM_CTRL_MAX / 2);
		f.flags = f.len < left ? GW__FL_MORE : 0;
		f.context = w->table_at;
		if (gw__chan_send(&w->chan, &f))
			break;
		w->table_at += f.len;
		any = true;
	}
	return any;
}

/* An ERROR frame on the data channel: about one task (context), or the end. */
static bool on_error(struct doca_urom_worker *w, const struct gw__frame *f)
{
	struct gw__frame notif = *f;
	char text[400];

	gw__error_text(f, text, sizeof(text));
	gw__fail(&w->diag, 0, "%s", text);
	if (!f->context) {
		fail(w, f->status > 0 ? (doca_error_t)f->status : DOCA_ERROR_UNKNOWN);
		return false;
	}
	gw__doca_warn("worker: %s", text);
	notif.len = 0;
	if (notif.status <= 0)
		notif.status = DOCA_ERROR_UNKNOWN;
	gw__urom_tasks_notif(w, &notif);
	return true;
}

/* False: the run is over. */
static bool on_frame(struct doca_urom_worker *w, const struct gw__frame *f)
{
	switch (f->type) {
	case GW__F_NOTIF:
		gw__urom_tasks_notif(w, f);
		break;
	case GW__F_ADDR:
		on_addr(w, f);
		break;
	case GW__F_DOMAIN:
		if (w->table_state == DOCA_ERROR_IN_PROGRESS && w->table_at == w->table_len)
			w->table_state = f->status ? (doca_error_t)f->status : DOCA_SUCCESS;
		break;
	case GW__F_MEM_OP:
		gw__urom_mem_op(w, f);
		break;
	case GW__F_ERROR:
		return on_error(w, f);
	case GW__F_BYE:
		gw__fail(&w->diag, 0, "worker: it ended by itself");
		finish(w, DOCA_ERROR_CONNECTION_RESET);
		return false;
	default:
		if (f->flags & GW__FL_OPTIONAL)
			break;
		gw__fail(&w->diag, 0, "worker: unexpected %s frame", gw__frame_name(f->type));
		fail(w, DOCA_ERROR_UNEXPECTED);
		return false;
	}
	if (w->n_stray > MAX_STRAYS) {
		gw__fail(&w->diag, 0, "worker: more than %u answers to no command", MAX_STRAYS);
		fail(w, DOCA_ERROR_CONNECTION_ABORTED);
		return false;
	}
	/* a callback may have stopped the context */
	return w->phase == GW__W_RUN;
}

static uint8_t step_run(struct doca_urom_worker *w)
{
	struct gw__frame f;
	uint8_t did = 0;
	int n = 0, i;

	for (i = 0; i < FRAMES_A_TURN; i++) {
		n = gw__chan_recv(&w->chan, &f, 0);
		if (n <= 0)
			break;
		did = 1;
		if (!on_frame(w, &f))
			return 1;
		if (!gw__chan_has_more(&w->chan))
			break; /* the next turn asks the kernel */
	}
	if (n < 0) {
		gw__fail(&w->diag, 0, "worker %llu: %s", (unsigned long long)w->id,
			 n == -ECONNRESET ? "its process died" : strerror(-n));
		fail(w, n == -ECONNRESET ? DOCA_ERROR_CONNECTION_RESET : gw__doca_from_errno(n));
		return 1;
	}
	if (w->table && push_table(w))
		did = 1;
	/* the clock costs more than an empty look */
	if (w->timeout_ms && (did || ++w->n_looks >= 64)) {
		w->n_looks = 0;
		did |= gw__urom_tasks_expire(w, now());
	}
	return did;
}

/* After BYE: drain to the end of the stream, not for ever. Answers on the way still count. */
static uint8_t step_bye(struct doca_urom_worker *w)
{
	struct gw__frame f;
	int n = gw__chan_recv(&w->chan, &f, 0);

	if (n > 0 && f.type == GW__F_NOTIF)
		gw__urom_tasks_notif(w, &f);
	if (n < 0 || (n > 0 && f.type == GW__F_BYE) || now() > w->deadline_ns) {
		finish(w, DOCA_ERROR_SHUTDOWN);
		return 1;
	}
	return n > 0;
}

static uint8_t worker_progress(struct doca_ctx *ctx)
{
	struct doca_urom_worker *w = of(ctx);
	uint8_t did = 0;

	switch (w->phase) {
	case GW__W_SPAWN:
		if (gw__urom_answered(w->service, &w->req)) {
			on_spawned(w);
			return 1;
		}
		break;
	case GW__W_DIAL:
		did = step_dial(w);
		break;
	case GW__W_RUN:
		return step_run(w);
	case GW__W_BYE:
		return step_bye(w);
	case GW__W_NONE:
		return 0;
	}
	if (!did && (w->phase == GW__W_SPAWN || w->phase == GW__W_DIAL) && now() > w->deadline_ns) {
		gw__fail(&w->diag, 0, "worker: not running after %u s", (unsigned int)(START_NS / 1000000000u));
		fail(w, DOCA_ERROR_TIME_OUT);
		did = 1;
	}
	return did;
}

static bool worker_arm(struct doca_ctx *ctx)
{
	struct doca_urom_worker *w = of(ctx);
	bool done;

	if (w->phase == GW__W_SPAWN) {
		pthread_mutex_lock(&w->service->lock);
		done = w->req.done || !w->service->connected;
		pthread_mutex_unlock(&w->service->lock);
		return done;
	}
	if (w->phase == GW__W_DIAL)
		return gw__dial_wants_write(&w->dial); /* short: the kernel connects */
	if (!w->has_chan)
		return false;
	return gw__chan_arm(&w->chan) || (w->chan.mode == GW__CHAN_SOCK && gw__chan_queued(&w->chan)) ||
	       (w->table && w->table_at < w->table_len);
}

static doca_error_t worker_stop(struct doca_ctx *ctx)
{
	struct doca_urom_worker *w = of(ctx);
	struct gw__frame bye = { .type = GW__F_BYE };

	if (w->phase != GW__W_RUN || gw__chan_send(&w->chan, &bye)) {
		finish(w, DOCA_ERROR_SHUTDOWN);
		return DOCA_SUCCESS;
	}
	w->phase = GW__W_BYE;
	w->deadline_ns = now() + BYE_NS;
	return DOCA_ERROR_IN_PROGRESS;
}

static const struct gw__doca_ctx_ops worker_ops = {
	.name = "urom_worker",
	.start = worker_start,
	.stop = worker_stop,
	.progress = worker_progress,
	.arm = worker_arm,
	.submit = gw__urom_worker_submit,
};

/* ---- what a domain asks -------------------------------------------------------------------------- */

doca_error_t gw__urom_worker_ask_addr(struct doca_urom_worker *w)
{
	struct gw__frame f = { .type = GW__F_ADDR };

	if (w->phase != GW__W_RUN)
		return DOCA_ERROR_BAD_STATE;
	w->addr_len = 0;
	w->addr_state = DOCA_ERROR_IN_PROGRESS;
	return gw__doca_from_errno(gw__chan_send(&w->chan, &f));
}

doca_error_t gw__urom_worker_got_addr(struct doca_urom_worker *w, const uint8_t **blob, size_t *len)
{
	*blob = w->addr;
	*len = w->addr_len;
	return w->addr_state;
}

doca_error_t gw__urom_worker_give_table(struct doca_urom_worker *w, const uint8_t *table, size_t len)
{
	if (w->phase != GW__W_RUN || w->table)
		return DOCA_ERROR_BAD_STATE;
	w->table = table;
	w->table_len = len;
	w->table_at = 0;
	w->table_state = DOCA_ERROR_IN_PROGRESS;
	push_table(w);
	return DOCA_SUCCESS;
}

doca_error_t gw__urom_worker_taken(struct doca_urom_worker *w)
{
	if (w->table_state != DOCA_ERROR_IN_PROGRESS)
		w->table = NULL;
	return w->table_state;
}

void gw__urom_worker_hold(struct doca_urom_worker *w, int by)
{
	w->n_holders += by;
	if (by < 0)
		w->table = NULL;
}

struct doca_ctx *gw__urom_worker_ctx(struct doca_urom_worker *w)
{
	return &w->ctx;
}

/* ---- the object ---------------------------------------------------------------------------------- */

doca_error_t doca_urom_worker_create(struct doca_urom_worker **worker_ctx)
{
	struct doca_urom_worker *w;

	if (!worker_ctx)
		return DOCA_ERROR_INVALID_VALUE;
	w = gw__calloc(1, sizeof(*w));
	if (!w)
		return DOCA_ERROR_NO_MEMORY;
	gw__doca_ctx_init(&w->ctx, &worker_ops);
	w->want_id = DOCA_UROM_WORKER_ID_ANY;
	w->max_inflight = 64;
	w->service_fd = -1;
	*worker_ctx = w;
	return DOCA_SUCCESS;
}

static void free_env(struct doca_urom_worker *w)
{
	for (size_t i = 0; i < w->n_env; i++)
		gw__free(w->env[i]);
	gw__free(w->env);
	w->env = NULL;
	w->n_env = 0;
}

doca_error_t doca_urom_worker_destroy(struct doca_urom_worker *w)
{
	doca_error_t r;

	if (!w)
		return DOCA_ERROR_INVALID_VALUE;
	if (w->n_tasks || w->n_holders)
		return DOCA_ERROR_IN_USE;
	r = gw__doca_ctx_fini(&w->ctx);
	if (r != DOCA_SUCCESS)
		return r;
	free_env(w);
	gw__urom_tasks_free_spares(w);
	if (w->service)
		atomic_fetch_sub(&w->service->n_workers, 1);
	gw__free(w);
	return DOCA_SUCCESS;
}

struct doca_ctx *doca_urom_worker_as_ctx(struct doca_urom_worker *w)
{
	return w ? &w->ctx : NULL;
}

#define SETTER_HEAD(w, ok)                                                                         \
	do {                                                                                       \
		if (!(w) || !(ok))                                                                 \
			return DOCA_ERROR_INVALID_VALUE;                                           \
		if ((w)->ctx.state != DOCA_CTX_STATE_IDLE)                                         \
			return DOCA_ERROR_BAD_STATE;                                               \
	} while (0)

doca_error_t doca_urom_worker_set_service(struct doca_urom_worker *w, struct doca_urom_service *s)
{
	SETTER_HEAD(w, s);
	if (w->n_tasks) /* their buffers were sized for the other service */
		return DOCA_ERROR_IN_USE;
	atomic_fetch_add(&s->n_workers, 1);
	if (w->service)
		atomic_fetch_sub(&w->service->n_workers, 1);
	w->service = s;
	gw__urom_tasks_free_spares(w);
	return DOCA_SUCCESS;
}

doca_error_t doca_urom_worker_set_id(struct doca_urom_worker *w, uint64_t worker_id)
{
	SETTER_HEAD(w, true);
	w->want_id = worker_id;
	return DOCA_SUCCESS;
}

doca_error_t doca_urom_worker_set_gid(struct doca_urom_worker *w, uint32_t gid)
{
	SETTER_HEAD(w, true);
	w->gid = gid;
	return DOCA_SUCCESS;
}

doca_error_t doca_urom_worker_set_plugins(struct doca_urom_worker *w, uint64_t plugins)
{
	SETTER_HEAD(w, true);
	w->plugins = plugins;
	return DOCA_SUCCESS;
}

doca_error_t doca_urom_worker_set_cpuset(struct doca_urom_worker *w, doca_cpu_set_t cpuset)
{
	SETTER_HEAD(w, true);
	w->cpuset = cpuset;
	w->cpuset_set = true;
	return DOCA_SUCCESS;
}

doca_error_t doca_urom_worker_set_max_inflight_tasks(struct doca_urom_worker *w, uint32_t num_tasks)
{
	SETTER_HEAD(w, gw__urom_power_of_two(num_tasks, GW__UROM_MAX_INFLIGHT));
	w->max_inflight = num_tasks;
	return DOCA_SUCCESS;
}

/* NAME=value with a name of letters, digits and '_' */
static bool env_is_good(const char *s)
{
	size_t n = strcspn(s, "=");

	return n && s[n] == '=' &&
	       strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") == n;
}

doca_error_t doca_urom_worker_set_env(struct doca_urom_worker *w, char *const env[], size_t count)
{
	size_t bytes = 0;

	SETTER_HEAD(w, env || !count);
	if (count > GW__UROM_MAX_ENV)
		return DOCA_ERROR_TOO_BIG;
	for (size_t i = 0; i < count; i++) {
		if (!env[i] || !env_is_good(env[i]))
			return DOCA_ERROR_INVALID_VALUE;
		bytes += strlen(env[i]) + 1;
	}
	if (bytes > GW__UROM_MAX_ENV_BYTES)
		return DOCA_ERROR_TOO_BIG;
	free_env(w);
	if (!count)
		return DOCA_SUCCESS;
	w->env = gw__calloc(count, sizeof(*w->env));
	if (!w->env)
		return DOCA_ERROR_NO_MEMORY;
	for (w->n_env = 0; w->n_env < count; w->n_env++) {
		w->env[w->n_env] = gw__strdup(env[w->n_env]);
		if (!w->env[w->n_env]) {
			free_env(w);
			return DOCA_ERROR_NO_MEMORY;
		}
	}
	return DOCA_SUCCESS;
}

doca_error_t doca_urom_worker_set_persistent(struct doca_urom_worker *w, uint8_t persistent)
{
	SETTER_HEAD(w, true);
	w->persistent = persistent;
	return DOCA_SUCCESS;
}

doca_error_t doca_urom_worker_set_task_timeout(struct doca_urom_worker *w, uint32_t timeout_ms)
{
	if (!w)
		return DOCA_ERROR_INVALID_VALUE;
	w->timeout_ms = timeout_ms;
	return DOCA_SUCCESS;
}

doca_error_t doca_urom_worker_get_id(const struct doca_urom_worker *w, uint64_t *worker_id)
{
	if (!w || !worker_id)
		return DOCA_ERROR_INVALID_VALUE;
	if (!w->ran)
		return DOCA_ERROR_BAD_STATE;
	*worker_id = w->id;
	return DOCA_SUCCESS;
}

doca_error_t doca_urom_worker_get_gid(const struct doca_urom_worker *w, uint32_t *gid)
{
	if (!w || !gid)
		return DOCA_ERROR_INVALID_VALUE;
	*gid = w->gid;
	return DOCA_SUCCESS;
}

const char *doca_urom_worker_get_channel(const struct doca_urom_worker *w)
{
	static const char *const names[] = { "socket", "shm", "ucx" };

	return w && w->has_chan ? names[w->chan.mode] : "none";
}

const char *doca_urom_worker_get_error_text(const struct doca_urom_worker *w)
{
	return w ? w->diag.text : "";
}
