/* urom_daemon/exec.c: one child process, with nothing inherited but what is named.
 * Must not know why. Next: pool.c, plugins.c.
 *
 * Between fork and execve only calls that are safe there: the daemon has one thread, but sanitizers differ. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "urom_daemon/daemon.h"

#define HIGH 200 /* above every final descriptor */

static void limit(int what, rlim_t value)
{
	struct rlimit r = { .rlim_cur = value, .rlim_max = value };

	setrlimit((__rlimit_resource_t)what, &r);
}

static void place_fds(const struct gw__d_exec *x)
{
	int high[GW__WORKER_FD_PLUGIN + GW__UROM_MAX_PLUGINS];

	/* first out of the way, then down: a target may be another's source */
	for (int i = 0; i < x->n_fds; i++)
		high[i] = x->fds[i] < 0 ? -1 : fcntl(x->fds[i], F_DUPFD, HIGH);
	for (int i = 0; i < x->n_fds; i++) {
		if (high[i] >= 0)
			dup2(high[i], i);
		else if (i > 2)
			close(i);
	}
	close_range((unsigned int)x->n_fds, ~0u, 0);
}

static void in_child(const char *path, const struct gw__d_exec *x, pid_t parent)
{
	sigset_t none;
	int null;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_IGN);
	/* die with the daemon even before the first look at the control channel */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(126);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	null = open("/dev/null", O_RDWR);
	if (null >= 0)
		dup2(null, 0);
	place_fds(x);
	limit(RLIMIT_CORE, 0);
	limit(RLIMIT_NOFILE, 4096);
	if (x->data_limit)
		limit(RLIMIT_DATA, x->data_limit);
	if (x->cpus)
		sched_setaffinity(0, sizeof(*x->cpus), x->cpus);
	if (x->uid != (uid_t)-1 && x->uid != geteuid()) {
		if (setgroups(0, NULL) || setresgid((gid_t)x->uid, (gid_t)x->uid, (gid_t)x->uid) ||
		    setresuid(x->uid, x->uid, x->uid))
			_exit(126);
		/* a change of user clears it */
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		if (getppid() != parent)
			_exit(126);
	}
	execve(path, x->argv, x->envp);
	_exit(127);
}

pid_t gw__d_exec(struct gw__daemon *d, const struct gw__d_exec *x, int *pidfd)
{
	pid_t parent = getpid(), pid = fork();
	int fd;

	if (pid < 0)
		return -errno;
	if (pid == 0)
		in_child(d->worker_path, x, parent);
	fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (fd < 0) {
		int err = -errno;

		kill(pid, SIGKILL);
		return err;
	}
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	*pidfd = fd;
	return pid;
}
