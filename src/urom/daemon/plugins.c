/* urom_daemon/plugins.c: which plugin files may be loaded, and what version they are.
 * Must not load one: a throw-away child does. Next: pool.c.
 *
 * A file is opened once, checked by that descriptor, and the same descriptor is what workers load. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "urom_daemon/daemon.h"

#define PROBE_NS 2000000000u

/* [a-z0-9_]+\.so with at most 47 characters before the dot */
static bool name_is_good(const char *file, char *name)
{
	size_t n = strspn(file, "abcdefghijklmnopqrstuvwxyz0123456789_");

	if (!n || n > 47 || strcmp(file + n, ".so"))
		return false;
	memcpy(name, file, n);
	name[n] = '\0';
	return true;
}

static bool owner_is_good(const struct stat *st)
{
	return (st->st_uid == 0 || st->st_uid == geteuid()) && !(st->st_mode & (S_IWGRP | S_IWOTH));
}

static bool in_manifest(struct gw__daemon *d, const char *file, int fd)
{
	uint8_t sum[32];
	char hex[65], line[512], want[65], name[256];
	bool found = false;
	FILE *f;

	if (!d->o->manifest)
		return true;
	f = fopen(d->o->manifest, "re");
	if (!f || gw__sha256_fd(fd, sum)) {
		if (f)
			fclose(f);
		return false;
	}
	for (int i = 0; i < 32; i++)
		snprintf(hex + 2 * i, 3, "%02x", sum[i]);
	while (!found && fgets(line, sizeof(line), f))
		found = sscanf(line, "%64s %*1[*]%255s", want, name) == 2 || sscanf(line, "%64s %255s", want, name) == 2 ?
				!strcmp(want, hex) && !strcmp(name, file) :
				false;
	fclose(f);
	return found;
}

static struct gw__d_plugin *find(struct gw__daemon *d, const char *name)
{
	struct gw__d_plugin *free_one = NULL;

	for (int i = 0; i < (int)GW__UROM_MAX_PLUGINS; i++) {
		struct gw__d_plugin *p = &d->plugins[i];

		if (p->state != GW__D_P_FREE && !strcmp(p->name, name))
			return p;
		if (p->state == GW__D_P_FREE && !free_one)
			free_one = p;
	}
	return free_one;
}

static void end_probe(struct gw__d_plugin *p)
{
	if (p->pid > 0) {
		kill(p->pid, SIGKILL);
		waitpid(p->pid, NULL, 0);
		close(p->pidfd);
		close(p->pipe);
	}
	p->pid = 0;
	p->pidfd = p->pipe = -1;
}

static int start_probe(struct gw__daemon *d, struct gw__d_plugin *p)
{
	char *argv[] = { (char *)(uintptr_t) "urom-worker", (char *)(uintptr_t) "--probe", NULL };
	char *envp[] = { NULL, NULL, NULL };
	struct gw__d_exec x = { .argv = argv, .envp = envp, .n_fds = GW__WORKER_FD_PLUGIN + 1,
				.data_limit = d->o->worker_mem, .uid = d->o->worker_uid };
	int pipefd[2];

	if (pipe2(pipefd, O_CLOEXEC | O_NONBLOCK))
		return -errno;
	for (int i = 0; i < x.n_fds; i++)
		x.fds[i] = -1;
	x.fds[1] = pipefd[1];
	x.fds[GW__WORKER_FD_PLUGIN] = p->fd;
	p->pid = gw__d_exec(d, &x, &p->pidfd);
	close(pipefd[1]);
	if (p->pid < 0) {
		int err = p->pid;

		p->pid = 0;
		close(pipefd[0]);
		return err;
	}
	p->pipe = pipefd[0];
	p->state = GW__D_P_PROBING;
	p->deadline_ns = gw__d_now() + PROBE_NS;
	return gw__d_watch(d, p->pidfd, GW__D_K_PROBE, (uint32_t)(p - d->plugins));
}

/* Open, check, remember; starts the probe of a new or changed file. */
static void consider(struct gw__daemon *d, const char *dir, int dirfd, const char *file)
{
	struct gw__d_plugin *p;
	struct stat st;
	char name[48];
	int fd;

	if (!name_is_good(file, name)) {
		if (strstr(file, ".so"))
			gw__d_refusal(d, "plugin %s/%s: its name is not [a-z0-9_]+.so", dir, file);
		return;
	}
	p = find(d, name);
	if (!p) {
		gw__d_refusal(d, "plugin %s/%s: there are %u already", dir, file, GW__UROM_MAX_PLUGINS);
		return;
	}
	if (p->state != GW__D_P_FREE && p->seen)
		return; /* an earlier directory has it */
	fd = openat(dirfd, file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0) {
		gw__d_refusal(d, "plugin %s/%s: %s", dir, file,
			      errno == ELOOP ? "a symbolic link is not accepted" : strerror(errno));
		return;
	}
	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		gw__d_refusal(d, "plugin %s/%s: not a regular file", dir, file);
	else if (!owner_is_good(&st))
		gw__d_refusal(d, "plugin %s/%s: uid %u mode %03o; it must be ours or root's and not writable by "
			      "group or others", dir, file, (unsigned int)st.st_uid, (unsigned int)st.st_mode & 0777);
	else if (p->state != GW__D_P_FREE && p->dev == st.st_dev && p->ino == st.st_ino &&
		 p->mtime.tv_sec == st.st_mtim.tv_sec && p->mtime.tv_nsec == st.st_mtim.tv_nsec)
		p->seen = true; /* known */
	else if (!in_manifest(d, file, fd))
		gw__d_refusal(d, "plugin %s/%s: not in the manifest %s with this SHA-256", dir, file, d->o->manifest);
	else {
		if (p->state != GW__D_P_FREE) {
			end_probe(p);
			close(p->fd);
		}
		*p = (struct gw__d_plugin){ .fd = fd, .dev = st.st_dev, .ino = st.st_ino, .mtime = st.st_mtim,
					    .seen = true, .pidfd = -1, .pipe = -1 };
		memcpy(p->name, name, sizeof(name));
		if (start_probe(d, p)) {
			p->state = GW__D_P_BAD;
			gw__d_refusal(d, "plugin %s/%s: no process to look at it", dir, file);
		}
		return;
	}
	close(fd);
}

static void scan_dir(struct gw__daemon *d, const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent **list = NULL;
	struct stat st;
	int n;

	if (fd < 0) {
		gw__d_refusal(d, "plugin directory %s: %s", dir, strerror(errno));
		return;
	}
	if (fstat(fd, &st) || !owner_is_good(&st)) {
		gw__d_refusal(d, "plugin directory %s: it must be ours or root's and not writable by group or others",
			      dir);
		close(fd);
		return;
	}
	n = scandirat(fd, ".", &list, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		if (list[i]->d_name[0] != '.')
			consider(d, dir, fd, list[i]->d_name);
		free(list[i]);
	}
	free(list);
	close(fd);
}

void gw__d_scan(struct gw__daemon *d)
{
	const char *path = d->o->plugin_path ? d->o->plugin_path : getenv("UROM_PLUGIN_PATH");

	for (uint32_t i = 0; i < GW__UROM_MAX_PLUGINS; i++)
		d->plugins[i].seen = false;
	while (path && *path) {
		char dir[512];
		size_t n = strcspn(path, ";");

		if (n && n < sizeof(dir)) {
			memcpy(dir, path, n);
			dir[n] = '\0';
			scan_dir(d, dir);
		}
		path += n + (path[n] == ';');
	}
	for (uint32_t i = 0; i < GW__UROM_MAX_PLUGINS; i++) {
		struct gw__d_plugin *p = &d->plugins[i];

		if (p->state != GW__D_P_FREE && !p->seen) { /* its file went away */
			end_probe(p);
			close(p->fd);
			p->state = GW__D_P_FREE;
		}
	}
}

bool gw__d_probing(const struct gw__daemon *d)
{
	for (uint32_t i = 0; i < GW__UROM_MAX_PLUGINS; i++)
		if (d->plugins[i].state == GW__D_P_PROBING)
			return true;
	return false;
}

static void judge(struct gw__daemon *d, struct gw__d_plugin *p, const char *why)
{
	p->state = why ? GW__D_P_BAD : GW__D_P_GOOD;
	if (why)
		gw__d_refusal(d, "plugin %s: %s", p->name, why);
	end_probe(p);
	if (!gw__d_probing(d))
		gw__d_answer_plugins(d);
}

void gw__d_probe_event(struct gw__daemon *d, uint32_t index)
{
	struct gw__d_plugin *p = &d->plugins[index];
	char line[256] = "", why[320];
	siginfo_t si = { 0 };
	ssize_t n;

	if (p->state != GW__D_P_PROBING)
		return;
	n = read(p->pipe, line, sizeof(line) - 1);
	line[n > 0 ? n : 0] = '\0';
	line[strcspn(line, "\n")] = '\0';
	if (sscanf(line, "ok %lu", &p->version) == 1) {
		judge(d, p, NULL);
		return;
	}
	waitid(P_PIDFD, (id_t)p->pidfd, &si, WEXITED | WNOWAIT | WNOHANG);
	if (!strncmp(line, "no ", 3))
		snprintf(why, sizeof(why), "%s", line + 3);
	else if (si.si_code == CLD_KILLED || si.si_code == CLD_DUMPED)
		snprintf(why, sizeof(why), "it crashed while loading (signal %d)", si.si_status);
	else
		snprintf(why, sizeof(why), "it ended its process while loading (status %d)", si.si_status);
	judge(d, p, why);
}

uint64_t gw__d_probe_tick(struct gw__daemon *d, uint64_t now_ns)
{
	uint64_t next = UINT64_MAX;

	for (uint32_t i = 0; i < GW__UROM_MAX_PLUGINS; i++) {
		struct gw__d_plugin *p = &d->plugins[i];

		if (p->state != GW__D_P_PROBING)
			continue;
		if (now_ns > p->deadline_ns)
			judge(d, p, "its constructor did not return within 2 s");
		else if (p->deadline_ns < next)
			next = p->deadline_ns;
	}
	return next;
}

void gw__d_plugins_close(struct gw__daemon *d)
{
	for (uint32_t i = 0; i < GW__UROM_MAX_PLUGINS; i++)
		if (d->plugins[i].state != GW__D_P_FREE) {
			end_probe(&d->plugins[i]);
			close(d->plugins[i].fd);
		}
}
