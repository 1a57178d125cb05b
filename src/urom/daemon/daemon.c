/* urom_daemon/daemon.c: start, listen, loop, stop. One thread.
 * Must not know frames. Next: conn.c. */
#include "urom_daemon/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/diag.h"
#include "base/log.h"

uint64_t gw__d_now(void)
{
	return gw__now_ns(gw__clock_monotonic());
}

void gw__d_refusal(struct gw__daemon *d, const char *fmt, ...)
{
	uint64_t hash = 1469598103934665603u; /* FNV-1a */
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	for (const char *p = text; *p; p++)
		hash = (hash ^ (unsigned char)*p) * 1099511628211u;
	for (uint32_t i = 0; i < 256; i++)
		if (d->refused[i] == hash)
			return;
	d->refused[d->n_refused++ % 256] = hash;
	gw__warn("%s", text);
}

int gw__d_watch(struct gw__daemon *d, int fd, enum gw__d_kind kind, uint32_t index)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.u64 = (uint64_t)kind << 32 | index };

	return epoll_ctl(d->epfd, EPOLL_CTL_ADD, fd, &ev) ? -errno : 0;
}

void gw__d_want_out(struct gw__daemon *d, int fd, enum gw__d_kind kind, uint32_t index, bool *is, bool want)
{
	struct epoll_event ev = { .events = EPOLLIN | (want ? EPOLLOUT : 0), .data.u64 = (uint64_t)kind << 32 | index };

	if (*is == want)
		return;
	*is = want;
	epoll_ctl(d->epfd, EPOLL_CTL_MOD, fd, &ev);
}

void gw__uromd_defaults(struct gw__uromd_opts *o)
{
	memset(o, 0, sizeof(*o));
	o->max_msg = GW__UROM_MSG_DEFAULT;
	o->max_workers = GW__UROM_MAX_WORKERS;
	o->workers_per_uid = 64;
	o->spawn_ms = 2000;
	o->watchdog_ms = 10000;
	o->worker_uid = (uid_t)-1;
	o->ready_fd = -1;
	o->log_level = GW_LOG_WARN;
#if !defined(GW_ASAN) && !defined(GW_TSAN) /* their shadow memory counts */
	o->worker_mem = (uint64_t)8 << 30;
#endif
}

/* ---- listeners ------------------------------------------------------------------------------------- */

/* The directory of the socket, private unless others are let in, and a lock: a daemon that was killed leaves
 * its socket behind but not its lock, so the next one may remove it. */
static int claim_path(struct gw__daemon *d, const char *path, bool open_to_others, struct gw_diag *diag)
{
	char dir[128];
	const char *slash = strrchr(path, '/');
	struct stat st;

	snprintf(dir, sizeof(dir), "%.*s", (int)(slash - path), path);
	if (slash != path && mkdir(dir, open_to_others ? 0755 : 0700) && errno != EEXIST)
		return gw__fail(diag, -errno, "%s: %s", dir, strerror(errno));
	if (slash != path && (stat(dir, &st) || (st.st_uid != geteuid() && st.st_uid != 0)))
		return gw__fail(diag, -EACCES, "%s: owned by another user", dir);
	snprintf(d->lock_path, sizeof(d->lock_path), "%s.lock", path);
	d->lock_fd = open(d->lock_path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (d->lock_fd < 0)
		return gw__fail(diag, -errno, "%s: %s", d->lock_path, strerror(errno));
	if (flock(d->lock_fd, LOCK_EX | LOCK_NB))
		return gw__fail(diag, -EADDRINUSE, "%s: another daemon serves it", path);
	if (!lstat(path, &st) && S_ISSOCK(st.st_mode))
		unlink(path);
	snprintf(d->sock_path, sizeof(d->sock_path), "%s", path);
	if (slash != path && !open_to_others)
		snprintf(d->mesh_dir, sizeof(d->mesh_dir), "%s", dir);
	gw__d_sweep(d, 0); /* of workers that died with a daemon before us */
	return 0;
}

static int add_listener(struct gw__daemon *d, const char *text, struct gw_diag *diag)
{
	struct gw__ep *ep = &d->listeners[d->n_listeners].ep;
	bool others = d->o->n_uids > 0;
	struct sockaddr_storage at;
	socklen_t len = sizeof(at);
	int err = gw__ep_parse(text, ep, diag), fd;

	if (err)
		return err;
	if (ep->kind == GW__EP_UNIX) {
		if (d->sock_path[0])
			return gw__fail(diag, -EINVAL, "%s: one unix: endpoint is enough", text);
		err = claim_path(d, ((struct sockaddr_un *)&ep->addr)->sun_path, others, diag);
		if (err)
			return err;
	} else if (ep->any && !gw__ep_net_device(AF_INET, &at, &len, NULL)) {
		((struct sockaddr_in *)&at)->sin_port = ((struct sockaddr_in *)&ep->addr)->sin_port;
		memcpy(&ep->addr, &at, sizeof(at));
	}
	if (!gw__ep_is_loopback(ep) && !d->key.len)
		return gw__fail(diag, -EACCES,
				"%s: beyond this machine only with a key: --key-file FILE (head -c 32 /dev/urandom)", text);
	if (ep->kind != GW__EP_UNIX && !d->key.len)
		gw__warn("%s: without --key-file every user of this machine may call", text);
	fd = gw__ep_listen(ep, others ? 0666 : 0600, diag);
	if (fd < 0)
		return fd;
	if (ep->kind != GW__EP_UNIX && !getsockname(fd, (struct sockaddr *)&at, &len)) {
		char name[96];

		gw__ep_name(&at, name, sizeof(name));
		snprintf(d->mesh_bind, sizeof(d->mesh_bind), "%.*s", (int)(strrchr(name, ':') - name), name);
		d->has_ucx |= ep->kind == GW__EP_UCX;
	}
	d->listeners[d->n_listeners].fd = fd;
	d->listeners[d->n_listeners].keyed = ep->kind != GW__EP_UNIX && d->key.len;
	return gw__d_watch(d, fd, GW__D_K_LISTEN, (uint32_t)d->n_listeners++);
}

static int find_worker_binary(struct gw__daemon *d, struct gw_diag *diag)
{
	char self[400];
	ssize_t n;

	if (d->o->worker_path) {
		snprintf(d->worker_path, sizeof(d->worker_path), "%s", d->o->worker_path);
	} else {
		n = readlink("/proc/self/exe", self, sizeof(self) - 1);
		self[n > 0 ? n : 0] = '\0';
		snprintf(d->worker_path, sizeof(d->worker_path), "%.*s/urom-worker",
			 (int)(strrchr(self, '/') ? strrchr(self, '/') - self : 0), self);
	}
	if (access(d->worker_path, X_OK))
		return gw__fail(diag, -errno, "%s: %s; name it with --worker", d->worker_path, strerror(errno));
	return 0;
}

static int set_up(struct gw__daemon *d, struct gw_diag *diag)
{
	char text[256];
	sigset_t set;
	int err = find_worker_binary(d, diag);

	if (err)
		return err;
	if (d->o->key_file) {
		err = gw__key_load(d->o->key_file, &d->key, diag);
		if (err)
			return err;
	}
	if (d->o->cpus_set)
		d->cpus = d->o->cpus;
	else if (sched_getaffinity(0, sizeof(d->cpus), &d->cpus))
		CPU_SET(0, &d->cpus);
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	d->epfd = epoll_create1(EPOLL_CLOEXEC);
	d->sigfd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	if (d->epfd < 0 || d->sigfd < 0 || gw__d_watch(d, d->sigfd, GW__D_K_SIGNAL, 0))
		return gw__fail(diag, -errno, "no descriptors left");
	for (int i = 0; i < d->o->n_listen && !err; i++)
		err = add_listener(d, d->o->listen[i], diag);
	if (!d->o->n_listen) {
		gw__ep_default(text, sizeof(text));
		err = add_listener(d, text, diag);
	}
	return err;
}

/* ---- loop ------------------------------------------------------------------------------------------- */

static void on_signal(struct gw__daemon *d)
{
	struct signalfd_siginfo si;

	while (read(d->sigfd, &si, sizeof(si)) == sizeof(si))
		if (si.ssi_signo == SIGHUP)
			gw__d_scan(d);
		else
			d->stop = true;
}

static void dispatch(struct gw__daemon *d, uint64_t tag)
{
	uint32_t index = (uint32_t)tag;

	switch ((enum gw__d_kind)(tag >> 32)) {
	case GW__D_K_LISTEN:
		gw__d_accept(d, (int)index);
		break;
	case GW__D_K_CONN:
		if (d->conns[index].state != GW__D_FREE)
			gw__d_conn_event(d, index);
		break;
	case GW__D_K_WORKER:
		gw__d_worker_event(d, index);
		break;
	case GW__D_K_PIDFD:
		gw__d_worker_exit(d, index);
		break;
	case GW__D_K_PROBE:
		gw__d_probe_event(d, index);
		break;
	case GW__D_K_SIGNAL:
		on_signal(d);
		break;
	}
}

static bool any_deadline(const struct gw__daemon *d)
{
	for (uint32_t i = 0; i < GW__D_CONNS; i++)
		if (d->conns[i].state == GW__D_GREET || d->conns[i].state == GW__D_JOIN || d->conns[i].state == GW__D_LINGER ||
		    (d->conns[i].state == GW__D_RUN &&
		     (d->conns[i].chan.partial_since_ns || gw__chan_queued(&d->conns[i].chan))))
			return true;
	return false;
}

static int sleep_ms(struct gw__daemon *d)
{
	uint64_t now = gw__d_now(), next = gw__d_pool_tick(d, now), at = gw__d_probe_tick(d, now);

	if (at < next)
		next = at;
	if (any_deadline(d) && now + 100000000u < next)
		next = now + 100000000u;
	if (next == UINT64_MAX)
		return -1;
	return next <= now ? 0 : (int)((next - now) / 1000000) + 1;
}

static void tear_down(struct gw__daemon *d)
{
	gw__d_pool_stop(d);
	gw__d_plugins_close(d);
	for (uint32_t i = 0; i < GW__D_CONNS; i++)
		if (d->conns[i].state != GW__D_FREE)
			gw__d_conn_drop(d, &d->conns[i]);
	for (int i = 0; i < d->n_listeners; i++)
		close(d->listeners[i].fd);
	if (d->sock_path[0]) {
		unlink(d->sock_path);
		unlink(d->lock_path);
	}
	if (d->lock_fd >= 0)
		close(d->lock_fd);
	if (d->epfd >= 0)
		close(d->epfd);
	if (d->sigfd >= 0)
		close(d->sigfd);
}

/* systemd's readiness datagram, where it asks for one. */
static void notify_systemd(void)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	int fd;

	if (!path || !*path || strlen(path) >= sizeof(un.sun_path))
		return;
	memcpy(un.sun_path, path, strlen(path));
	if (un.sun_path[0] == '@')
		un.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	(void)!sendto(fd, "READY=1", 7, MSG_NOSIGNAL, (struct sockaddr *)&un,
		      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path)));
	close(fd);
}

int gw__uromd_run(const struct gw__uromd_opts *o, struct gw_diag *diag)
{
	struct gw__daemon *d = gw__calloc(1, sizeof(*d));
	struct epoll_event evs[64];
	int err, n;

	if (!d)
		return gw__fail(diag, -ENOMEM, "out of memory");
	d->o = o;
	d->epfd = d->sigfd = d->lock_fd = -1;
	d->started_ns = gw__d_now();
	for (uint32_t i = 0; i < GW__UROM_MAX_WORKERS; i++)
		d->workers[i].ctl.fd = d->workers[i].pidfd = -1;
	err = set_up(d, diag);
	if (!err) {
		gw__d_scan(d);
		if (o->ready_fd >= 0)
			(void)!write(o->ready_fd, "ready\n", 6);
		notify_systemd();
		gw__info("listening on %s%s", d->listeners[0].ep.text, d->n_listeners > 1 ? " and more" : "");
	}
	while (!err && !d->stop) {
		n = epoll_wait(d->epfd, evs, 64, sleep_ms(d));
		for (int i = 0; i < n; i++)
			dispatch(d, evs[i].data.u64);
		gw__d_conn_tick(d, gw__d_now());
	}
	tear_down(d);
	gw__free(d);
	return err;
}
