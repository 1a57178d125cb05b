/* bench/urom/rig.h: a daemon for the length of a measurement. UROMD and BUILD are the build's.
 * Must not know what is measured. */
#ifndef BENCH_UROM_RIG_H
#define BENCH_UROM_RIG_H

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t rig_pid;

static inline int rig_start(const char *endpoint, const char *cpus)
{
	char line[8], fd[8];
	int p[2];

	if (pipe(p))
		return -1;
	rig_pid = fork();
	if (rig_pid == 0) {
		close(p[0]);
		snprintf(fd, sizeof(fd), "%d", p[1]);
		execl(UROMD, "uromd", "-e", endpoint, "-p", BUILD "/plugins;" BUILD "/bench_plugins", "--ready-fd", fd, "--cpus", cpus, "-m", "65600", NULL);
		_exit(127);
	}
	close(p[1]);
	if (read(p[0], line, sizeof(line)) <= 0)
		return -1;
	close(p[0]);
	setenv("DOCA_UROM_ENDPOINT", endpoint, 1);
	return 0;
}

static inline void rig_stop(void)
{
	kill(rig_pid, SIGTERM);
	waitpid(rig_pid, NULL, 0);
}

#endif
