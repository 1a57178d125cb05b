/* urom/service.c: the connection to one daemon: greeting, plugin list, questions and answers.
 * Must not know what commands mean. Next: worker.c.
 *
 * Workers of other threads ask through the same connection: chan and reqs are under the lock, which is
 * never held while a callback runs. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/diag.h"
#include "doca/dev.h"
#include "doca/error.h"
#include "doca/log.h"
#include "urom/host.h"
#include "urom_net/tlv.h"

#define START_NS 5000000000u
#define LOOK_EVERY 256u

struct doca_urom_service_get_workers_by_gid_task {
	struct doca_task base;
	struct gw__urom_req req;
	struct doca_urom_service_get_workers_by_gid_task *next; /* submitted */
	uint32_t gid;
	doca_urom_service_get_workers_by_gid_task_completion_cb_t cb;
	size_t n;
	uint64_t ids[GW__UROM_MAX_WORKERS];
};

struct service {
	struct doca_urom_service pub;
	/* the service's thread only */
	struct doca_urom_service_get_workers_by_gid_task *tasks; /* in flight */
	uint32_t n_idle; /* turns since the last question to the kernel */
};

static struct doca_urom_service *of(struct doca_ctx *ctx)
{
	return gw__container_of(ctx, struct doca_urom_service, ctx);
}

bool gw__urom_power_of_two(uint64_t n, uint64_t max)
{
	return n && !(n & (n - 1)) && n <= max;
}

/* ---- questions --------------------------------------------------------------------------------- */

static void answer(struct doca_urom_service *s, struct gw__urom_req **at, const struct gw__frame *f, int status)
{
	struct gw__urom_req *req = *at;

	*at = req->next;
	atomic_fetch_sub_explicit(&s->n_reqs, 1, memory_order_relaxed);
	req->pending = false;
	req->done = true;
	req->status = status;
	if (f) {
		req->type = f->type;
		req->len = f->len;
		req->reply = f->len ? gw__malloc(f->len) : NULL;
		if (req->reply)
			memcpy(req->reply, f->payload, f->len);
		else if (f->len)
			req->status = DOCA_ERROR_NO_MEMORY;
	}
	if (req->waiter)
		gw__doca_ctx_kick(req->waiter);
}

/* Under lock: the connection is gone; every question is answered. */
static void lost(struct doca_urom_service *s, int err)
{
	gw__chan_fini(&s->chan);
	s->connected = false;
	while (s->reqs)
		answer(s, &s->reqs, NULL, err == -ETIMEDOUT ? DOCA_ERROR_TIME_OUT : DOCA_ERROR_CONNECTION_RESET);
}

bool gw__urom_pump(struct doca_urom_service *s)
{
	struct gw__frame f;
	bool any = false;
	int n;

	pthread_mutex_lock(&s->lock);
	while (s->connected) {
		struct gw__urom_req **at = &s->reqs;

		n = gw__chan_recv(&s->chan, &f, 0);
		if (n == 0)
			break;
		any = true;
		if (n < 0) {
			lost(s, n);
			break;
		}
		while (*at && (*at)->context != f.context)
			at = &(*at)->next;
		if (*at)
			answer(s, at, &f, f.type == GW__F_ERROR && f.status <= 0 ? DOCA_ERROR_UNKNOWN : f.status);
		else if (f.type == GW__F_ERROR && f.context == 0)
			lost(s, -ECONNRESET);
	}
	pthread_mutex_unlock(&s->lock);
	return any;
}

doca_error_t gw__urom_ask(struct doca_urom_service *s, struct gw__urom_req *req, uint16_t type, uint32_t flags,
			  const void *payload, size_t len)
{
	struct gw__frame f = { .type = type, .flags = flags, .payload = payload, .len = (uint32_t)len };
	int err = -ENOTCONN;

	pthread_mutex_lock(&s->lock);
	if (s->connected) {
		req->done = false;
		req->reply = NULL;
		req->context = f.context = ++s->n_asked;
		err = gw__chan_send(&s->chan, &f);
	}
	if (!err) {
		req->pending = true;
		req->next = s->reqs;
		s->reqs = req;
		atomic_fetch_add_explicit(&s->n_reqs, 1, memory_order_relaxed);
	}
	pthread_mutex_unlock(&s->lock);
	return gw__doca_from_errno(err);
}

bool gw__urom_answered(struct doca_urom_service *s, struct gw__urom_req *req)
{
	bool done;

	gw__urom_pump(s);
	pthread_mutex_lock(&s->lock);
	done = req->done;
	pthread_mutex_unlock(&s->lock);
	return done;
}

void gw__urom_forget(struct doca_urom_service *s, struct gw__urom_req *req)
{
	pthread_mutex_lock(&s->lock);
	for (struct gw__urom_req **at = &s->reqs; *at; at = &(*at)->next)
		if (*at == req) {
			*at = req->next;
			atomic_fetch_sub_explicit(&s->n_reqs, 1, memory_order_relaxed);
			break;
		}
	req->pending = req->done = false;
	pthread_mutex_unlock(&s->lock);
	gw__free(req->reply);
	req->reply = NULL;
}

/* ---- start and stop ---------------------------------------------------------------------------- */

static int read_plugin(struct doca_urom_service *s, const struct gw__tlv_r *r)
{
	struct doca_urom_service_plugin_info *p = &s->plugins[s->n_plugins];
	uint32_t idx;

	if (s->n_plugins == GW__UROM_MAX_PLUGINS ||
	    gw__tlv_find_u32(r->data, r->size, GW__T_INDEX, &idx) || idx >= GW__UROM_MAX_PLUGINS ||
	    gw__tlv_find_u64(r->data, r->size, GW__T_VERSION, &p->version) ||
	    gw__tlv_find_text(r->data, r->size, GW__T_NAME, p->plugin_name, sizeof(p->plugin_name)))
		return -EPROTO;
	p->id = (uint64_t)1 << idx;
	s->n_plugins++;
	return 0;
}

static int read_plugins(struct doca_urom_service *s, const struct gw__urom_req *req)
{
	struct gw__tlv_r r = gw__tlv_reader(req->reply, req->len);
	uint8_t bits[sizeof(s->cpuset.bits)];
	int err = req->type == GW__F_PLUGINS ? 0 : -EPROTO;

	s->n_plugins = 0;
	DOCA_CPU_ZERO(&s->cpuset);
	while (!err && gw__tlv_next(&r)) {
		if (r.tag == GW__T_PLUGIN) {
			err = read_plugin(s, &r);
		} else if (r.tag == GW__T_CPUSET) {
			err = gw__tlv_copy(&r, bits, sizeof(bits));
			for (size_t i = 0; !err && i < sizeof(bits) / 8; i++)
				s->cpuset.bits[i] = gw__get_le64(bits + 8 * i);
		}
	}
	return err ? err : r.bad ? -EPROTO : 0;
}

static doca_error_t ask_plugins(struct doca_urom_service *s, uint64_t deadline)
{
	struct gw__urom_req req = { 0 };
	doca_error_t r = gw__urom_ask(s, &req, GW__F_PLUGINS, 0, NULL, 0);

	while (r == DOCA_SUCCESS && !gw__urom_answered(s, &req)) {
		if (gw__now_ns(gw__clock_monotonic()) > deadline)
			r = DOCA_ERROR_TIME_OUT;
		usleep(100);
	}
	if (r == DOCA_SUCCESS)
		r = (doca_error_t)req.status;
	if (r == DOCA_SUCCESS && read_plugins(s, &req))
		r = DOCA_ERROR_UNEXPECTED;
	if (r != DOCA_SUCCESS)
		gw__fail(&s->diag, 0, "%s: the daemon gave no plugin list: %s", s->ep.text, doca_error_get_name(r));
	gw__urom_forget(s, &req);
	return r;
}

static doca_error_t load_key(struct doca_urom_service *s)
{
	const char *path = s->key_file[0] ? s->key_file : getenv("UROM_KEY_FILE");

	s->key.len = 0;
	if (!path || !*path || s->ep.kind == GW__EP_UNIX)
		return DOCA_SUCCESS;
	return gw__key_load(path, &s->key, &s->diag) ? DOCA_ERROR_BAD_CONFIG : DOCA_SUCCESS;
}

static doca_error_t service_start(struct doca_ctx *ctx)
{
	struct doca_urom_service *s = of(ctx);
	uint64_t deadline = gw__now_ns(gw__clock_monotonic()) + START_NS;
	struct gw__dial_opts opts = { .role = GW__ROLE_HOST, .max_msg = (uint32_t)s->max_msg, .key = &s->key };
	struct gw__dial d;
	doca_error_t r;
	int err;

	if (!s->dev)
		return DOCA_ERROR_BAD_STATE;
	r = gw__urom_find(s, &s->diag);
	if (r == DOCA_SUCCESS)
		r = load_key(s);
	if (r != DOCA_SUCCESS)
		goto out;
	err = gw__dial_start(&d, &s->ep, &opts, &s->diag);
	if (!err)
		err = gw__dial_wait(&d, deadline, &s->diag);
	if (err) {
		r = err == -EREMOTEIO ? (doca_error_t)d.status : gw__doca_from_errno(err);
		goto out;
	}
	pthread_mutex_lock(&s->lock);
	s->chan = d.chan;
	s->agreed_msg = d.max_msg;
	s->connected = true;
	pthread_mutex_unlock(&s->lock);
	r = ask_plugins(s, deadline);
	if (r == DOCA_SUCCESS && gw__doca_ctx_watch(ctx, s->chan.fd))
		r = DOCA_ERROR_OPERATING_SYSTEM;
	if (r != DOCA_SUCCESS) {
		pthread_mutex_lock(&s->lock);
		lost(s, -ECONNRESET);
		pthread_mutex_unlock(&s->lock);
	}
out:
	if (r != DOCA_SUCCESS)
		gw__doca_err("service: %s (%s)", s->diag.text, doca_error_get_name(r));
	return r;
}

static void finish_task(struct service *v, struct doca_urom_service_get_workers_by_gid_task **at, doca_error_t r)
{
	struct doca_urom_service_get_workers_by_gid_task *t = *at;
	struct gw__tlv_r rd = gw__tlv_reader(t->req.reply, t->req.len);

	*at = t->next;
	t->n = 0;
	while (r == DOCA_SUCCESS && gw__tlv_next(&rd))
		if (rd.tag == GW__T_WORKER && t->n < GW__UROM_MAX_WORKERS && !gw__tlv_u64(&rd, &t->ids[t->n]))
			t->n++;
	if (r == DOCA_SUCCESS && rd.bad)
		r = DOCA_ERROR_UNEXPECTED;
	gw__urom_forget(&v->pub, &t->req);
	gw__doca_task_complete(&t->base, r);
}

static doca_error_t service_stop(struct doca_ctx *ctx)
{
	struct service *v = (struct service *)of(ctx);
	struct gw__frame bye = { .type = GW__F_BYE };

	pthread_mutex_lock(&v->pub.lock);
	if (v->pub.connected) {
		gw__doca_ctx_unwatch(ctx, v->pub.chan.fd);
		(void)gw__chan_send(&v->pub.chan, &bye); /* courtesy: the end of the stream says the same */
		lost(&v->pub, -ECONNRESET);
	}
	pthread_mutex_unlock(&v->pub.lock);
	while (v->tasks)
		finish_task(v, &v->tasks, DOCA_ERROR_SHUTDOWN);
	return DOCA_SUCCESS;
}

static uint8_t service_progress(struct doca_ctx *ctx)
{
	struct service *v = (struct service *)of(ctx);
	struct doca_urom_service_get_workers_by_gid_task **at = &v->tasks;
	uint8_t did = 0;
	bool alive;

	/* a polling program shares this turn with its workers: a connection where nothing is asked is looked at
	 * now and then, and after every sleep */
	if (++v->n_idle < LOOK_EVERY && !v->tasks && !atomic_load_explicit(&v->pub.n_reqs, memory_order_relaxed))
		return 0;
	v->n_idle = 0;
	did = gw__urom_pump(&v->pub);

	while (*at) {
		struct doca_urom_service_get_workers_by_gid_task *t = *at;
		bool done;

		pthread_mutex_lock(&v->pub.lock);
		done = t->req.done;
		pthread_mutex_unlock(&v->pub.lock);
		if (!done) {
			at = &t->next;
			continue;
		}
		did = 1;
		finish_task(v, at, (doca_error_t)t->req.status);
		at = &v->tasks; /* the callback may have changed the list */
	}
	pthread_mutex_lock(&v->pub.lock);
	alive = v->pub.connected;
	pthread_mutex_unlock(&v->pub.lock);
	if (!alive && ctx->state == DOCA_CTX_STATE_RUNNING) {
		gw__fail(&v->pub.diag, 0, "%s: the daemon ended the connection", v->pub.ep.text);
		gw__doca_err("service: %s", v->pub.diag.text);
		gw__doca_ctx_set_state(ctx, DOCA_CTX_STATE_STOPPING);
		gw__doca_ctx_set_state(ctx, DOCA_CTX_STATE_IDLE);
		did = 1;
	}
	return did;
}

static bool service_arm(struct doca_ctx *ctx)
{
	struct doca_urom_service *s = of(ctx);
	bool waiting;

	pthread_mutex_lock(&s->lock);
	((struct service *)s)->n_idle = LOOK_EVERY;
	waiting = !s->connected || gw__chan_arm(&s->chan) || gw__chan_queued(&s->chan);
	for (struct doca_urom_service_get_workers_by_gid_task *t = ((struct service *)s)->tasks; t; t = t->next)
		waiting |= t->req.done;
	pthread_mutex_unlock(&s->lock);
	return waiting;
}

static doca_error_t service_submit(struct doca_ctx *ctx, struct doca_task *task)
{
	struct service *v = (struct service *)of(ctx);
	struct doca_urom_service_get_workers_by_gid_task *t =
		gw__container_of(task, struct doca_urom_service_get_workers_by_gid_task, base);
	uint8_t buf[16];
	struct gw__tlv_w w = gw__tlv_writer(buf, sizeof(buf));
	doca_error_t r;

	gw__tlv_put_u32(&w, GW__T_GID, t->gid);
	t->req.waiter = ctx;
	r = gw__urom_ask(&v->pub, &t->req, GW__F_GID_QUERY, 0, buf, w.len);
	if (r != DOCA_SUCCESS)
		return r;
	t->next = v->tasks;
	v->tasks = t;
	return DOCA_SUCCESS;
}

static const struct gw__doca_ctx_ops service_ops = {
	.name = "urom_service",
	.start = service_start,
	.stop = service_stop,
	.progress = service_progress,
	.arm = service_arm,
	.submit = service_submit,
};

/* ---- the object -------------------------------------------------------------------------------- */

doca_error_t doca_urom_service_create(struct doca_urom_service **service_ctx)
{
	struct service *v;

	if (!service_ctx)
		return DOCA_ERROR_INVALID_VALUE;
	v = gw__calloc(1, sizeof(*v));
	if (!v)
		return DOCA_ERROR_NO_MEMORY;
	gw__doca_ctx_init(&v->pub.ctx, &service_ops);
	pthread_mutex_init(&v->pub.lock, NULL);
	v->pub.chan.fd = -1;
	v->pub.max_msg = GW__UROM_MSG_DEFAULT;
	v->pub.max_workers = GW__UROM_MAX_WORKERS;
	*service_ctx = &v->pub;
	return DOCA_SUCCESS;
}

doca_error_t doca_urom_service_destroy(struct doca_urom_service *s)
{
	doca_error_t r;

	if (!s)
		return DOCA_ERROR_INVALID_VALUE;
	if (atomic_load(&s->n_workers))
		return DOCA_ERROR_IN_USE;
	r = gw__doca_ctx_fini(&s->ctx);
	if (r != DOCA_SUCCESS)
		return r;
	pthread_mutex_lock(&s->lock);
	lost(s, -ECONNRESET);
	pthread_mutex_unlock(&s->lock);
	pthread_mutex_destroy(&s->lock);
	if (s->dev)
		gw__doca_dev_put(s->dev);
	gw__free(s);
	return DOCA_SUCCESS;
}

struct doca_ctx *doca_urom_service_as_ctx(struct doca_urom_service *s)
{
	return s ? &s->ctx : NULL;
}

doca_error_t doca_urom_service_set_max_comm_msg_size(struct doca_urom_service *s, size_t msg_size)
{
	if (!s || msg_size < 64 || msg_size > GW__UROM_MSG_MAX)
		return DOCA_ERROR_INVALID_VALUE;
	if (s->ctx.state != DOCA_CTX_STATE_IDLE)
		return DOCA_ERROR_BAD_STATE;
	s->max_msg = msg_size;
	return DOCA_SUCCESS;
}

doca_error_t doca_urom_service_set_max_workers(struct doca_urom_service *s, uint32_t max_workers)
{
	if (!s || !gw__urom_power_of_two(max_workers, GW__UROM_MAX_WORKERS))
		return DOCA_ERROR_INVALID_VALUE;
	if (s->ctx.state != DOCA_CTX_STATE_IDLE)
		return DOCA_ERROR_BAD_STATE;
	s->max_workers = max_workers;
	return DOCA_SUCCESS;
}

doca_error_t doca_urom_service_set_dev(struct doca_urom_service *s, struct doca_dev *dev)
{
	if (!s || !dev)
		return DOCA_ERROR_INVALID_VALUE;
	if (s->ctx.state != DOCA_CTX_STATE_IDLE)
		return DOCA_ERROR_BAD_STATE;
	gw__doca_dev_get(dev);
	if (s->dev)
		gw__doca_dev_put(s->dev);
	s->dev = dev;
	return DOCA_SUCCESS;
}

static doca_error_t set_text(struct doca_urom_service *s, char *to, size_t cap, const char *text)
{
	if (!s || !text || strlen(text) >= cap)
		return DOCA_ERROR_INVALID_VALUE;
	if (s->ctx.state != DOCA_CTX_STATE_IDLE)
		return DOCA_ERROR_BAD_STATE;
	memcpy(to, text, strlen(text) + 1);
	return DOCA_SUCCESS;
}

doca_error_t doca_urom_service_set_endpoint(struct doca_urom_service *s, const char *endpoint)
{
	return set_text(s, s ? s->endpoint : NULL, sizeof(s->endpoint), endpoint);
}

doca_error_t doca_urom_service_set_key_file(struct doca_urom_service *s, const char *path)
{
	return set_text(s, s ? s->key_file : NULL, sizeof(s->key_file), path);
}

const char *doca_urom_service_get_error_text(const struct doca_urom_service *s)
{
	return s ? s->diag.text : "";
}

doca_error_t doca_urom_service_get_plugins_list(struct doca_urom_service *s,
						const struct doca_urom_service_plugin_info **plugins, size_t *count)
{
	if (!s || !plugins || !count)
		return DOCA_ERROR_INVALID_VALUE;
	if (s->ctx.state != DOCA_CTX_STATE_RUNNING)
		return DOCA_ERROR_BAD_STATE;
	*plugins = s->plugins;
	*count = s->n_plugins;
	return s->n_plugins ? DOCA_SUCCESS : DOCA_ERROR_NOT_FOUND;
}

doca_error_t doca_urom_service_get_cpuset(struct doca_urom_service *s, doca_cpu_set_t *cpuset)
{
	if (!s || !cpuset)
		return DOCA_ERROR_INVALID_VALUE;
	if (s->ctx.state != DOCA_CTX_STATE_RUNNING)
		return DOCA_ERROR_BAD_STATE;
	*cpuset = s->cpuset;
	return DOCA_SUCCESS;
}

/* ---- the by-gid task --------------------------------------------------------------------------- */

static void gid_complete(struct doca_task *task)
{
	struct doca_urom_service_get_workers_by_gid_task *t =
		gw__container_of(task, struct doca_urom_service_get_workers_by_gid_task, base);

	if (t->cb)
		t->cb(t, task->user_data, task->ctx->user_data);
}

static void gid_release(struct doca_task *task)
{
	gw__free(gw__container_of(task, struct doca_urom_service_get_workers_by_gid_task, base));
}

doca_error_t doca_urom_service_get_workers_by_gid_task_allocate(
	struct doca_urom_service *s, struct doca_urom_service_get_workers_by_gid_task **task)
{
	struct doca_urom_service_get_workers_by_gid_task *t;

	if (!s || !task)
		return DOCA_ERROR_INVALID_VALUE;
	t = gw__calloc(1, sizeof(*t));
	if (!t)
		return DOCA_ERROR_NO_MEMORY;
	t->base.ctx = &s->ctx;
	t->base.complete = gid_complete;
	t->base.release = gid_release;
	*task = t;
	return DOCA_SUCCESS;
}

doca_error_t doca_urom_service_get_workers_by_gid_task_allocate_init(
	struct doca_urom_service *s, uint32_t gid, doca_urom_service_get_workers_by_gid_task_completion_cb_t cb,
	struct doca_urom_service_get_workers_by_gid_task **task)
{
	doca_error_t r = doca_urom_service_get_workers_by_gid_task_allocate(s, task);

	if (r == DOCA_SUCCESS) {
		(*task)->gid = gid;
		(*task)->cb = cb;
	}
	return r;
}

doca_error_t
doca_urom_service_get_workers_by_gid_task_release(struct doca_urom_service_get_workers_by_gid_task *t)
{
	if (!t)
		return DOCA_ERROR_INVALID_VALUE;
	if (t->base.in_flight)
		return DOCA_ERROR_NOT_PERMITTED;
	gw__free(t);
	return DOCA_SUCCESS;
}

void doca_urom_service_get_workers_by_gid_task_set_gid(struct doca_urom_service_get_workers_by_gid_task *t,
						       uint32_t gid)
{
	t->gid = gid;
}

void doca_urom_service_get_workers_by_gid_task_set_cb(
	struct doca_urom_service_get_workers_by_gid_task *t,
	doca_urom_service_get_workers_by_gid_task_completion_cb_t cb)
{
	t->cb = cb;
}

struct doca_task *
doca_urom_service_get_workers_by_gid_task_as_task(struct doca_urom_service_get_workers_by_gid_task *t)
{
	return t ? &t->base : NULL;
}

size_t
doca_urom_service_get_workers_by_gid_task_get_workers_count(struct doca_urom_service_get_workers_by_gid_task *t)
{
	return t->n;
}

const uint64_t *
doca_urom_service_get_workers_by_gid_task_get_worker_ids(struct doca_urom_service_get_workers_by_gid_task *t)
{
	return t->ids;
}
