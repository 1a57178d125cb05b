/* fixture.h: a daemon of one's own for a test: started, waited for, ended; and its log.
 * UROMD and UROM_PLUGINS come from the environment that CMake sets. */
#ifndef UROM_FIXTURE_H
#define UROM_FIXTURE_H

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "t.h"

struct fixture {
	pid_t pid;
	char dir[64];      /* private; holds socket and log */
	char endpoint[96];
	char log[96];
};

static inline double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* extra: more arguments for uromd, NULL at the end. False: it did not come up (see the log). */
static inline bool fixture_start(struct fixture *f, const char *endpoint, const char *plugins,
				 const char *const *extra)
{
	const char *argv[40] = { getenv("UROMD"), "--ready-fd", "9", "-l", "50", "-p",
				 plugins ? plugins : getenv("UROM_PLUGINS"), "-e" };
	int n = 8, p[2], log;
	char line[8];

	if (!argv[0]) {
		printf("SKIP: UROMD is not set; run by ctest\n");
		exit(77);
	}
	if (!f->dir[0]) {
		snprintf(f->dir, sizeof(f->dir), "/tmp/urom-t-XXXXXX");
		if (!mkdtemp(f->dir))
			return false;
		snprintf(f->log, sizeof(f->log), "%s/log", f->dir);
	}
	/* "tcp:127.0.0.1:": a port of this process, so that suites may run beside each other */
	if (endpoint && endpoint != f->endpoint)
		snprintf(f->endpoint, sizeof(f->endpoint), endpoint[strlen(endpoint) - 1] == ':' ? "%s%d" : "%s", endpoint,
			 20000 + (int)getpid() % 12000);
	else if (!endpoint)
		snprintf(f->endpoint, sizeof(f->endpoint), "unix:%s/s", f->dir);
	argv[n++] = f->endpoint;
	for (int i = 0; extra && extra[i] && n < 38; i++)
		argv[n++] = extra[i];
	argv[n] = NULL;
	if (pipe2(p, O_CLOEXEC))
		return false;
	log = open(f->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	f->pid = fork();
	if (f->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGTERM); /* a test that crashes leaves no daemon */
		dup2(p[1], 9);
		dup2(log, 2);
		dup2(log, 1);
		execv(argv[0], (char **)(uintptr_t)argv);
		_exit(127);
	}
	close(p[1]);
	close(log);
	n = (int)read(p[0], line, sizeof(line));
	close(p[0]);
	if (n <= 0) {
		waitpid(f->pid, NULL, 0);
		f->pid = 0;
	}
	return n > 0;
}

static inline int fixture_stop(struct fixture *f, int sig)
{
	int status = -1;

	if (f->pid > 0) {
		kill(f->pid, sig);
		waitpid(f->pid, &status, 0);
	}
	f->pid = 0;
	return status;
}

static inline void fixture_clean(struct fixture *f)
{
	char cmd[128];

	fixture_stop(f, SIGTERM);
	snprintf(cmd, sizeof(cmd), "rm -rf '%s'", f->dir);
	if (f->dir[0] && system(cmd))
		fprintf(stderr, "cannot remove %s\n", f->dir);
	memset(f, 0, sizeof(*f));
}

/* How often the log has this text. */
static inline int fixture_logged(const struct fixture *f, const char *text)
{
	static char all[1 << 18];
	FILE *in = fopen(f->log, "r");
	int k = 0;
	size_t n;

	if (!in)
		return 0;
	n = fread(all, 1, sizeof(all) - 1, in);
	all[n] = '\0';
	fclose(in);
	for (char *p = all; (p = strstr(p, text)); p += strlen(text))
		k++;
	return k;
}

/* Worker processes whose parent is `parent`; zombies count. */
static inline int children_of(pid_t parent, pid_t *out, int max)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	int n = 0;

	while (d && (e = readdir(d))) {
		char path[280], stat[256];
		int fd, ppid;
		ssize_t len;
		const char *p;

		if (e->d_name[0] < '0' || e->d_name[0] > '9')
			continue;
		snprintf(path, sizeof(path), "/proc/%s/stat", e->d_name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			continue;
		len = read(fd, stat, sizeof(stat) - 1);
		close(fd);
		stat[len > 0 ? len : 0] = '\0';
		p = strrchr(stat, ')');
		if (p && sscanf(p, ") %*c %d", &ppid) == 1 && ppid == parent) {
			if (n < max)
				out[n] = atoi(e->d_name);
			n++;
		}
	}
	if (d)
		closedir(d);
	return n;
}

/* Running; a zombie is not. */
static inline bool is_alive(pid_t pid)
{
	char path[64], stat[256];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, stat, sizeof(stat) - 1);
	close(fd);
	stat[n > 0 ? n : 0] = '\0';
	return strrchr(stat, ')') && !strstr(strrchr(stat, ')'), ") Z");
}

static inline bool wait_for_children(pid_t parent, int want, int ms)
{
	for (int i = 0; i < ms; i++) {
		if (children_of(parent, NULL, 0) == want)
			return true;
		usleep(1000);
	}
	return false;
}

#endif
