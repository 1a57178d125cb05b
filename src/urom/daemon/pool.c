/* urom_daemon/pool.c: workers: spawn, hand connections over, watch, reap.
 * Must not know frames between hosts and workers: after the hand-over the daemon is out of the path.
 * Next: conn.c. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <doca/doca_error.h>

#include "base/alloc.h"
#include "base/log.h"
#include "urom_daemon/daemon.h"
#include "urom_net/tlv.h"

#define TICKET_NS 5000000000u
#define STOP_NS 2000000000u /* told to stop; then killed */
#define ANY_ID UINT64_MAX

struct want {
	uint64_t id, mask;
	uint32_t gid, max_workers;
	cpu_set_t cpus;
	bool cpus_set;
	char *env[GW__UROM_MAX_ENV + 16];
	uint32_t n_env;
	char text[GW__UROM_MAX_ENV_BYTES + 64];
	size_t text_len;
};

static void refuse(struct gw__d_conn *c, uint64_t context, doca_error_t r, const char *text)
{
	gw__send_error(&c->chan, r, context, "%s", text);
}

/* ---- what a host asks for ---------------------------------------------------------------------- */

static bool env_allowed(const struct gw__daemon *d, const char *s, size_t n)
{
	static const char *const own[] = { "UCX_", "UCC_", "UROM_" };
	const char *p = d->o->env_allow;

	if (n > 10 && !strncmp(s, "UROM_MESH_", 10))
		return false; /* where workers listen is ours to say */
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (n > strlen(own[i]) && !strncmp(s, own[i], strlen(own[i])))
			return true;
	while (p && *p) {
		size_t k = strcspn(p, ",");

		if (k && p[k - 1] == '*' ? n >= k - 1 && !strncmp(s, p, k - 1) : n == k && !strncmp(s, p, k))
			return true;
		p += k + (p[k] == ',');
	}
	return false;
}

/* One NAME=value into the want's own text. NULL or why not. */
static const char *take_env(struct gw__daemon *d, struct gw__d_conn *c, struct want *w, const struct gw__tlv_r *r)
{
	static char why[160];
	const uint8_t *eq = memchr(r->data, '=', r->size);
	size_t n = eq ? (size_t)(eq - r->data) : 0;
	char *to = w->text + w->text_len;

	if (!n || memchr(r->data, '\0', r->size) || w->n_env == GW__UROM_MAX_ENV ||
	    w->text_len + r->size + 1 > GW__UROM_MAX_ENV_BYTES)
		return "the environment is malformed or above 64 entries or 4096 bytes";
	memcpy(to, r->data, r->size);
	to[r->size] = '\0';
	if (!env_allowed(d, to, n)) {
		snprintf(why, sizeof(why), "environment variable %.*s is not allowed here", n > 64 ? 64 : (int)n, to);
		gw__d_refusal(d, "uid %d: %s", (int)c->uid, why);
		return why;
	}
	w->env[w->n_env++] = to;
	w->text_len += r->size + 1;
	return NULL;
}

static const char *read_want(struct gw__daemon *d, struct gw__d_conn *c, const struct gw__frame *f, struct want *w)
{
	struct gw__tlv_r r = gw__tlv_reader(f->payload, f->len);
	uint8_t bits[128];
	const char *why = NULL;

	memset(w, 0, sizeof(*w));
	w->id = ANY_ID;
	w->max_workers = GW__UROM_MAX_WORKERS;
	while (!why && gw__tlv_next(&r)) {
		int err = 0;

		if (r.tag == GW__T_WORKER)
			err = gw__tlv_u64(&r, &w->id);
		else if (r.tag == GW__T_GID)
			err = gw__tlv_u32(&r, &w->gid);
		else if (r.tag == GW__T_MASK)
			err = gw__tlv_u64(&r, &w->mask);
		else if (r.tag == GW__T_VALUE)
			err = gw__tlv_u32(&r, &w->max_workers);
		else if (r.tag == GW__T_ENV)
			why = take_env(d, c, w, &r);
		else if (r.tag == GW__T_CPUSET) {
			err = gw__tlv_copy(&r, bits, sizeof(bits));
			CPU_ZERO(&w->cpus);
			for (int i = 0; !err && i < CPU_SETSIZE && i < 1024; i++)
				if (bits[i / 8] >> (i % 8) & 1)
					CPU_SET(i, &w->cpus);
			w->cpus_set = true;
		}
		if (err)
			why = "the SPAWN frame is malformed";
	}
	return why ? why : r.bad ? "the SPAWN frame is malformed" : NULL;
}

/* ---- tickets -------------------------------------------------------------------------------------- */

static struct gw__d_ticket *new_ticket(struct gw__d_worker *w, const struct gw__d_conn *c)
{
	uint64_t now = gw__d_now();

	for (uint32_t i = 0; i < GW__D_TICKETS; i++) {
		struct gw__d_ticket *t = &w->tickets[i];

		if (t->until_ns > now || gw__random(t->bytes, sizeof(t->bytes)))
			continue;
		t->until_ns = now + TICKET_NS;
		t->uid = c->uid;
		t->serial = c->serial;
		return t;
	}
	return NULL;
}

void gw__d_drop_tickets(struct gw__daemon *d, uint64_t serial)
{
	for (uint32_t i = 0; i < GW__UROM_MAX_WORKERS; i++)
		for (uint32_t k = 0; d->workers[i].state != GW__D_W_FREE && k < GW__D_TICKETS; k++)
			if (d->workers[i].tickets[k].serial == serial)
				d->workers[i].tickets[k].until_ns = 0;
}

static void send_ready(struct gw__d_worker *w, struct gw__d_conn *c, uint64_t context)
{
	struct gw__d_ticket *t = new_ticket(w, c);
	uint8_t buf[128];
	struct gw__tlv_w o = gw__tlv_writer(buf, sizeof(buf));

	if (!t) {
		refuse(c, context, DOCA_ERROR_FULL, "too many unclaimed tickets for this worker");
		return;
	}
	gw__tlv_put_u64(&o, GW__T_WORKER, w->id);
	gw__tlv_put_u32(&o, GW__T_GID, w->gid);
	gw__tlv_put(&o, GW__T_TICKET, t->bytes, sizeof(t->bytes));
	gw__send_tlv(&c->chan, GW__F_READY, context, buf, o.len);
}

static void add_waiter(struct gw__d_worker *w, struct gw__d_conn *c, uint64_t context)
{
	if (w->n_waiters == GW__UROM_MAX_CLIENTS) {
		refuse(c, context, DOCA_ERROR_FULL, "too many callers wait for this worker");
		return;
	}
	w->waiters[w->n_waiters++] = (struct gw__d_waiter){ .serial = c->serial, .context = context };
}

static void fail_waiters(struct gw__daemon *d, struct gw__d_worker *w, doca_error_t r, const char *why)
{
	for (uint32_t i = 0; i < w->n_waiters; i++) {
		struct gw__d_conn *c = gw__d_conn_of(d, w->waiters[i].serial);

		if (c)
			refuse(c, w->waiters[i].context, r, why);
	}
	w->n_waiters = 0;
}

/* ---- spawning ------------------------------------------------------------------------------------- */

static struct gw__d_worker *find_worker(struct gw__daemon *d, uint64_t id)
{
	for (uint32_t i = 0; i < GW__UROM_MAX_WORKERS; i++)
		if ((d->workers[i].state == GW__D_W_SPAWNING || d->workers[i].state == GW__D_W_RUNNING) &&
		    d->workers[i].id == id)
			return &d->workers[i];
	return NULL;
}

static struct gw__d_worker *free_worker(struct gw__daemon *d, uid_t uid, const char **why)
{
	struct gw__d_worker *free_one = NULL;
	uint32_t n = 0, mine = 0;

	for (uint32_t i = 0; i < GW__UROM_MAX_WORKERS; i++) {
		struct gw__d_worker *w = &d->workers[i];

		if (w->state == GW__D_W_FREE && !free_one)
			free_one = w;
		if (w->state == GW__D_W_SPAWNING || w->state == GW__D_W_RUNNING) {
			n++;
			mine += w->uid == uid;
		}
	}
	if (n >= d->o->max_workers || !free_one)
		*why = "this daemon runs as many workers as it may";
	else if (mine >= d->o->workers_per_uid)
		*why = "this user has as many workers as one may";
	else
		return free_one;
	return NULL;
}

/* Host's variables first, then what the administrator's own environment fixes for every worker. */
static void complete_env(struct gw__daemon *d, struct want *w, char *own, size_t cap)
{
	static const char *const pass[] = { "UCX_NET_DEVICES", "UCX_TLS", "UCX_MEM_EVENTS", "UCX_MEM_MMAP_HOOK_MODE",
					    "ASAN_OPTIONS", "UBSAN_OPTIONS",
					    "TSAN_OPTIONS", "LSAN_OPTIONS" };
	size_t at = 0;

	for (size_t i = 0; i < sizeof(pass) / sizeof(pass[0]); i++) {
		const char *v = getenv(pass[i]);
		bool given = false;
		int n;

		for (uint32_t k = 0; k < w->n_env; k++)
			given |= !strncmp(w->env[k], pass[i], strlen(pass[i])) && w->env[k][strlen(pass[i])] == '=';
		if (!v || given || w->n_env >= GW__UROM_MAX_ENV + 8)
			continue;
		n = snprintf(own + at, cap - at, "%s=%s", pass[i], v);
		if (n < 0 || (size_t)n >= cap - at)
			continue;
		w->env[w->n_env++] = own + at;
		at += (size_t)n + 1;
	}
	for (int i = 0; i < 3; i++) {
		static const char *const names[] = { "UROM_MESH_BIND", "UROM_MESH_DIR", "UROM_MESH_UCX" };
		const char *values[] = { d->mesh_bind, d->mesh_dir, d->has_ucx ? "1" : "" };
		int n = values[i][0] ? snprintf(own + at, cap - at, "%s=%s", names[i], values[i]) : -1;

		if (n < 0 || (size_t)n >= cap - at)
			continue;
		w->env[w->n_env++] = own + at;
		at += (size_t)n + 1;
	}
	w->env[w->n_env] = NULL;
}

static int make_stats(struct gw__d_worker *w)
{
	int fd = memfd_create("urom-stats", MFD_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (ftruncate(fd, sizeof(*w->stats)))
		goto err;
	w->stats = mmap(NULL, sizeof(*w->stats), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (w->stats != MAP_FAILED)
		return fd;
	w->stats = NULL;
err:
	close(fd);
	return -ENOMEM;
}

static pid_t exec_worker(struct gw__daemon *d, struct gw__d_worker *w, struct want *want, int ctl, int stats)
{
	char id[32], max_msg[16], features[16], level[16], names[GW__UROM_MAX_PLUGINS][64], own[2048];
	char *argv[10 + GW__UROM_MAX_PLUGINS + 1];
	struct gw__d_exec x = { .argv = argv, .envp = want->env, .cpus = &d->cpus, .data_limit = d->o->worker_mem,
				.uid = d->o->worker_uid, .n_fds = GW__WORKER_FD_PLUGIN };
	int n = 0;

	snprintf(id, sizeof(id), "--id=%llu", (unsigned long long)w->id);
	snprintf(max_msg, sizeof(max_msg), "--max-msg=%u", d->o->max_msg);
	snprintf(features, sizeof(features), "--features=%u", GW__FEAT_SHM | (d->has_ucx ? GW__FEAT_UCX : 0));
	snprintf(level, sizeof(level), "--log=%d", d->o->log_level);
	argv[n++] = (char *)(uintptr_t) "urom-worker";
	argv[n++] = id;
	argv[n++] = max_msg;
	argv[n++] = features;
	argv[n++] = level;
	x.fds[0] = -1;
	x.fds[1] = 1;
	x.fds[2] = 2;
	x.fds[GW__WORKER_FD_CTL] = ctl;
	x.fds[GW__WORKER_FD_STATS] = stats;
	for (uint32_t i = 0, k = 0; i < GW__UROM_MAX_PLUGINS; i++)
		if (w->mask >> i & 1) {
			snprintf(names[k], sizeof(names[k]), "%s:%u", d->plugins[i].name, i);
			argv[n++] = names[k++];
			x.fds[x.n_fds++] = d->plugins[i].fd;
		}
	argv[n] = NULL;
	if (want->cpus_set)
		x.cpus = &want->cpus;
	complete_env(d, want, own, sizeof(own));
	return gw__d_exec(d, &x, &w->pidfd);
}

static void clear_worker(struct gw__d_worker *w)
{
	if (w->ctl.fd >= 0)
		gw__chan_fini(&w->ctl);
	if (w->stats)
		munmap(w->stats, sizeof(*w->stats));
	if (w->pidfd >= 0)
		close(w->pidfd);
	memset(w, 0, sizeof(*w));
	w->ctl.fd = w->pidfd = -1;
}

static int start_worker(struct gw__daemon *d, struct gw__d_worker *w, struct want *want)
{
	uint32_t index = (uint32_t)(w - d->workers);
	int pair[2], stats, err;

	stats = make_stats(w);
	if (stats < 0)
		return stats;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)) {
		close(stats);
		return -errno;
	}
	w->pid = exec_worker(d, w, want, pair[1], stats);
	close(stats);
	close(pair[1]);
	if (w->pid < 0) {
		close(pair[0]);
		return w->pid;
	}
	err = gw__chan_init(&w->ctl, pair[0], GW__UROM_MSG_MAX);
	if (!err)
		err = gw__d_watch(d, w->ctl.fd, GW__D_K_WORKER, index);
	if (!err)
		err = gw__d_watch(d, w->pidfd, GW__D_K_PIDFD, index);
	if (err) {
		kill(w->pid, SIGKILL);
		waitpid(w->pid, NULL, 0);
	}
	return err;
}

static uint64_t pick_id(struct gw__daemon *d)
{
	uint64_t id = 0;

	while (find_worker(d, id))
		id++;
	return id;
}

static const char *check_want(struct gw__daemon *d, struct gw__d_conn *c, const struct want *want, doca_error_t *r)
{
	uint32_t n_mine = 0;

	for (uint32_t i = 0; i < GW__UROM_MAX_PLUGINS; i++)
		if ((want->mask >> i & 1) && d->plugins[i].state != GW__D_P_GOOD) {
			*r = DOCA_ERROR_NOT_FOUND;
			return "unknown plugin: an id in the mask is not in the plugin list";
		}
	if (want->cpus_set)
		for (int i = 0; i < CPU_SETSIZE; i++)
			if (CPU_ISSET(i, &want->cpus) && !CPU_ISSET(i, &d->cpus)) {
				*r = DOCA_ERROR_INVALID_VALUE;
				return "CPUs outside the set that this daemon offers";
			}
	for (uint32_t i = 0; i < GW__UROM_MAX_WORKERS; i++)
		n_mine += d->workers[i].owner == c->serial && (d->workers[i].state == GW__D_W_SPAWNING ||
							       d->workers[i].state == GW__D_W_RUNNING);
	if (n_mine >= want->max_workers) {
		*r = DOCA_ERROR_FULL;
		return "this service has as many workers as it asked for (set_max_workers)";
	}
	return NULL;
}

/* A worker with this id lives: another connection to it. */
static void join_existing(struct gw__daemon *d, struct gw__d_conn *c, struct gw__d_worker *w, const struct want *want,
			  uint64_t context)
{
	if (w->uid != c->uid) {
		gw__d_refusal(d, "uid %d asked for worker %llu of uid %d", (int)c->uid, (unsigned long long)w->id,
			      (int)w->uid);
		refuse(c, context, DOCA_ERROR_NOT_PERMITTED, "that worker belongs to another user");
	} else if (want->n_env) {
		refuse(c, context, DOCA_ERROR_ALREADY_EXIST, "that worker runs already: its environment is set");
	} else if (want->mask & ~w->mask) {
		refuse(c, context, DOCA_ERROR_NOT_FOUND, "that worker runs already, without this plugin");
	} else if (w->state == GW__D_W_SPAWNING) {
		add_waiter(w, c, context);
	} else {
		send_ready(w, c, context);
	}
}

void gw__d_spawn(struct gw__daemon *d, struct gw__d_conn *c, const struct gw__frame *f)
{
	struct want want;
	const char *why = read_want(d, c, f, &want);
	struct gw__d_worker *w;
	doca_error_t r = why && strstr(why, "not allowed") ? DOCA_ERROR_NOT_PERMITTED : DOCA_ERROR_INVALID_VALUE;
	int err;

	if (!why && want.id != ANY_ID && (w = find_worker(d, want.id))) {
		join_existing(d, c, w, &want, f->context);
		return;
	}
	if (!why)
		why = check_want(d, c, &want, &r);
	if (why) {
		refuse(c, f->context, r, why);
		return;
	}
	w = free_worker(d, c->uid, &why);
	if (!w) {
		refuse(c, f->context, DOCA_ERROR_FULL, why);
		return;
	}
	memset(w, 0, sizeof(*w));
	w->ctl.fd = w->pidfd = -1;
	w->id = want.id == ANY_ID ? pick_id(d) : want.id;
	w->gid = want.gid;
	w->mask = want.mask;
	w->uid = c->uid;
	w->owner = c->serial;
	w->persistent = f->flags & GW__FL_PERSISTENT;
	err = start_worker(d, w, &want);
	if (err) {
		clear_worker(w);
		gw__warn("no worker process: %s", strerror(-err));
		refuse(c, f->context, DOCA_ERROR_OPERATING_SYSTEM, "the daemon cannot start a process");
		return;
	}
	w->state = GW__D_W_SPAWNING;
	w->deadline_ns = gw__d_now() + d->o->spawn_ms * 1000000ull;
	d->n_spawned++;
	add_waiter(w, c, f->context);
}

/* ---- handing over --------------------------------------------------------------------------------- */

void gw__d_join(struct gw__daemon *d, struct gw__d_conn *c, const struct gw__frame *f)
{
	uint8_t ticket[GW__TICKET], buf[64];
	struct gw__tlv_w o = gw__tlv_writer(buf, sizeof(buf));
	struct gw__frame pass = { .type = GW__F_JOIN, .payload = buf };
	struct gw__d_worker *w = NULL;
	struct gw__d_ticket *t = NULL;
	uint32_t inflight = 64;
	uint64_t id, features = 0, now = gw__d_now();

	if (!gw__tlv_find_u64(f->payload, f->len, GW__T_WORKER, &id) &&
	    !gw__tlv_find_copy(f->payload, f->len, GW__T_TICKET, ticket, sizeof(ticket)))
		w = find_worker(d, id);
	(void)gw__tlv_find_u32(f->payload, f->len, GW__T_INFLIGHT, &inflight);
	(void)gw__tlv_find_u64(f->payload, f->len, GW__T_FEATURES, &features);
	for (uint32_t i = 0; w && !t && i < GW__D_TICKETS; i++)
		if (w->tickets[i].until_ns > now && w->tickets[i].uid == c->uid &&
		    gw__secret_equal(w->tickets[i].bytes, ticket, sizeof(ticket)))
			t = &w->tickets[i];
	if (!t) {
		gw__d_refusal(d, "uid %d: a JOIN without a valid ticket", (int)c->uid);
		refuse(c, 0, DOCA_ERROR_NOT_PERMITTED, "no such worker, or the ticket is used, old or another's");
		c->closing = true;
		return;
	}
	t->until_ns = 0; /* single use */
	if (!c->ucx)
		features &= ~(uint64_t)GW__FEAT_UCX;
	gw__tlv_put_u32(&o, GW__T_MAX_MSG, c->greet.max_msg);
	gw__tlv_put_u32(&o, GW__T_INFLIGHT, inflight);
	gw__tlv_put_u64(&o, GW__T_FEATURES, features);
	pass.len = (uint32_t)o.len;
	if (c->chan.rx_have != c->chan.rx_at || gw__chan_send_fds(&w->ctl, &pass, &c->chan.fd, 1)) {
		refuse(c, 0, DOCA_ERROR_AGAIN, "the worker cannot take the connection now");
		c->closing = true;
		return;
	}
	w->n_joins++;
	w->idle_since_ns = 0;
	gw__d_conn_drop(d, c); /* the worker has its own descriptor of it */
}

/* ---- watching ------------------------------------------------------------------------------------- */

static bool tickets_open(const struct gw__d_worker *w, uint64_t now_ns)
{
	for (uint32_t i = 0; i < GW__D_TICKETS; i++)
		if (w->tickets[i].until_ns > now_ns)
			return true;
	return false;
}

static void stop_worker(struct gw__d_worker *w)
{
	(void)gw__chan_send(&w->ctl, &(struct gw__frame){ .type = GW__F_STOP });
	w->state = GW__D_W_DYING;
	w->deadline_ns = gw__d_now() + STOP_NS;
}

static void kill_worker(struct gw__daemon *d, struct gw__d_worker *w, doca_error_t r, const char *why)
{
	gw__warn("worker %llu (pid %d): killed: %s", (unsigned long long)w->id, (int)w->pid, why);
	kill(w->pid, SIGKILL);
	fail_waiters(d, w, r, why);
	w->state = GW__D_W_DYING;
	w->deadline_ns = UINT64_MAX; /* the pidfd will tell */
}

void gw__d_worker_event(struct gw__daemon *d, uint32_t index)
{
	struct gw__d_worker *w = &d->workers[index];
	struct gw__frame f;
	int n = 0;

	while (w->state != GW__D_W_FREE && (n = gw__chan_recv(&w->ctl, &f, 0)) > 0) {
		if (f.type == GW__F_READY && w->state == GW__D_W_SPAWNING) {
			w->state = GW__D_W_RUNNING;
			w->idle_since_ns = gw__d_now();
			for (uint32_t i = 0; i < w->n_waiters; i++) {
				struct gw__d_conn *c = gw__d_conn_of(d, w->waiters[i].serial);

				if (c)
					send_ready(w, c, w->waiters[i].context);
			}
			w->n_waiters = 0;
		} else if (f.type == GW__F_ERROR) {
			gw__error_text(&f, w->last_words, sizeof(w->last_words));
		} else if (f.type == GW__F_IDLE && f.context == w->n_joins && w->state == GW__D_W_RUNNING) {
			w->idle_since_ns = gw__d_now();
		}
	}
	/* the end of the stream; the pidfd will tell the rest */
	if (n < 0 && w->ctl.fd >= 0)
		gw__chan_fini(&w->ctl);
}

/* Sockets of workers that were killed: "mesh.PID.*" of one, or "mesh.*" of all. */
void gw__d_sweep(struct gw__daemon *d, pid_t pid)
{
	char mine[32];
	struct dirent *e;
	DIR *dir = d->mesh_dir[0] ? opendir(d->mesh_dir) : NULL;

	snprintf(mine, sizeof(mine), pid ? "mesh.%d." : "mesh.", (int)pid);
	while (dir && (e = readdir(dir)))
		if (!strncmp(e->d_name, mine, strlen(mine)))
			unlinkat(dirfd(dir), e->d_name, 0);
	if (dir)
		closedir(dir);
}

void gw__d_worker_exit(struct gw__daemon *d, uint32_t index)
{
	struct gw__d_worker *w = &d->workers[index];
	char why[320];
	int status = 0;

	if (w->state == GW__D_W_FREE)
		return;
	gw__d_worker_event(d, index); /* its last words */
	waitpid(w->pid, &status, 0);
	gw__d_sweep(d, w->pid);
	if (w->last_words[0])
		snprintf(why, sizeof(why), "%s", w->last_words);
	else if (WIFSIGNALED(status))
		snprintf(why, sizeof(why), "the worker was killed by signal %d while starting", WTERMSIG(status));
	else
		snprintf(why, sizeof(why), "the worker ended with status %d while starting", WEXITSTATUS(status));
	fail_waiters(d, w, DOCA_ERROR_INITIALIZATION, why);
	if (w->state != GW__D_W_DYING) {
		d->n_died++;
		gw__warn("worker %llu (pid %d) died: status %#x", (unsigned long long)w->id, (int)w->pid,
			 (unsigned int)status);
	}
	clear_worker(w);
}

static uint64_t tick_worker(struct gw__daemon *d, struct gw__d_worker *w, uint64_t now_ns)
{
	uint64_t since, next = UINT64_MAX;

	if (w->state == GW__D_W_SPAWNING || w->state == GW__D_W_DYING) {
		if (now_ns < w->deadline_ns)
			return w->deadline_ns;
		kill_worker(d, w, DOCA_ERROR_TIME_OUT, w->state == GW__D_W_DYING ?
			    "it did not stop when told" : "it was not ready in time: a plugin's open() does not return");
		return UINT64_MAX;
	}
	since = atomic_load_explicit(&w->stats->in_plugin_since_ns, memory_order_relaxed);
	if (d->o->watchdog_ms && since && now_ns > since && now_ns - since > d->o->watchdog_ms * 1000000ull) {
		kill_worker(d, w, DOCA_ERROR_TIME_OUT, "a plugin did not return");
		return UINT64_MAX;
	}
	if (d->o->watchdog_ms)
		next = now_ns + 500000000u;
	if (w->idle_since_ns && !w->persistent) {
		uint64_t end = w->idle_since_ns + d->o->grace_ms * 1000000ull;

		if (tickets_open(w, now_ns))
			end = now_ns + 100000000u;
		if (now_ns >= end)
			stop_worker(w);
		return end < next ? end : next;
	}
	return next;
}

uint64_t gw__d_pool_tick(struct gw__daemon *d, uint64_t now_ns)
{
	uint64_t next = UINT64_MAX, at;

	for (uint32_t i = 0; i < GW__UROM_MAX_WORKERS; i++)
		if (d->workers[i].state != GW__D_W_FREE) {
			at = tick_worker(d, &d->workers[i], now_ns);
			if (at < next)
				next = at;
		}
	return next;
}

int gw__d_stop_worker(struct gw__daemon *d, uint64_t id, uid_t uid)
{
	struct gw__d_worker *w = find_worker(d, id);

	if (!w)
		return -ENOENT;
	if (w->uid != uid && uid != geteuid())
		return -EPERM;
	fail_waiters(d, w, DOCA_ERROR_SHUTDOWN, "the worker was stopped");
	stop_worker(w);
	return 0;
}

void gw__d_pool_stop(struct gw__daemon *d)
{
	for (uint32_t i = 0; i < GW__UROM_MAX_WORKERS; i++) {
		struct gw__d_worker *w = &d->workers[i];

		if (w->state == GW__D_W_FREE)
			continue;
		if (w->ctl.fd >= 0)
			gw__chan_fini(&w->ctl); /* the order to die */
	}
	for (uint32_t i = 0; i < GW__UROM_MAX_WORKERS; i++) {
		struct gw__d_worker *w = &d->workers[i];
		uint64_t end = gw__d_now() + STOP_NS;

		if (w->state == GW__D_W_FREE)
			continue;
		while (waitpid(w->pid, NULL, WNOHANG) == 0 && gw__d_now() < end)
			usleep(1000);
		if (gw__d_now() >= end) {
			kill(w->pid, SIGKILL);
			waitpid(w->pid, NULL, 0);
		}
		gw__d_sweep(d, w->pid);
		clear_worker(w);
	}
}
