/* apps/gpuwire/doctor_memory.c: huge pages node by node, locked memory, balancing between nodes.
 * Must not know regions. Next: doctor_net.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "doctor.h"

static uint32_t n_nodes;
static long long huge_total;

static void one_size(struct doctor *d, const char *node, const char *name, const char *size,
		     const char *pages)
{
	long long nr = sys_number(d, -1, "%s/hugepages/%s/nr_hugepages", node, size);
	long long idle = sys_number(d, 0, "%s/hugepages/%s/free_hugepages", node, size);

	if (nr < 0)
		return;
	huge_total += nr;
	if (!nr && strcmp(size, "hugepages-2048kB"))
		return; /* the larger size is an extra */
	if (nr && idle) {
		doctor_find(d, FIND_OK, "hugepages", "%s: %lld of %lld %s pages free", name, idle, nr, pages);
		return;
	}
	if (nr)
		doctor_find(d, FIND_WARN, "hugepages",
			    "%s: all %lld %s pages are taken; kind huge falls back to ordinary ones", name,
			    nr, pages);
	else
		doctor_find(d, FIND_NOTE, "hugepages",
			    "%s: no %s pages reserved; regions of kind huge fall back to ordinary ones", name,
			    pages);
	doctor_fix(d, "echo %lld | sudo tee %s/hugepages/%s/nr_hugepages", nr ? 2 * nr : 512, node, size);
}

static void node(struct doctor *d, const char *path)
{
	const char *name = strrchr(path, '/') + 1;

	n_nodes++;
	one_size(d, path, name, "hugepages-2048kB", "2 MiB");
	one_size(d, path, name, "hugepages-1048576kB", "1 GiB");
}

static void hugepages(struct doctor *d)
{
	char thp[128];

	n_nodes = 0;
	huge_total = 0;
	sys_glob(d, "/sys/devices/system/node/node[0-9]*", node);
	if (!n_nodes)
		one_size(d, "/sys/kernel/mm", "this machine", "hugepages-2048kB", "2 MiB");
	sys_text(d, thp, sizeof(thp), "/sys/kernel/mm/transparent_hugepage/enabled");
	if (!huge_total && strstr(thp, "[never]")) {
		doctor_find(d, FIND_NOTE, "hugepages",
			    "transparent huge pages are off, so the fallback has small pages only");
		doctor_fix(d, "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled");
	}
}

/* Who needs it: engines with a card behind them, and only without CAP_IPC_LOCK. */
static void memlock(struct doctor *d)
{
	char limit[128], caps[64];
	unsigned long long soft;
	char *end;

	sys_line(d, limit, sizeof(limit), "/proc/self/limits", "Max locked memory");
	sys_line(d, caps, sizeof(caps), "/proc/self/status", "CapEff:");
	if (!*limit)
		return;
	if (!strncmp(limit, "unlimited", 9)) {
		doctor_find(d, FIND_OK, "memlock", "unlimited");
		return;
	}
	soft = strtoull(limit, &end, 10);
	if (strtoull(caps, NULL, 16) >> 14 & 1) {
		doctor_find(d, FIND_OK, "memlock", "%llu KiB, which CAP_IPC_LOCK lifts", soft / 1024);
		return;
	}
	if (soft >= 1ull << 30) {
		doctor_find(d, FIND_OK, "memlock", "%llu MiB", soft >> 20);
		return;
	}
	doctor_find(d, sys_exists(d, "/sys/class/infiniband") ? FIND_WARN : FIND_NOTE, "memlock",
		    "%llu KiB: a card cannot be shown regions beyond that; engine nic locks nothing",
		    soft / 1024);
	doctor_fix(d, "echo '* - memlock unlimited' | sudo tee /etc/security/limits.d/gpuwire.conf  # then "
		      "log in again");
}

static void balancing(struct doctor *d)
{
	if (n_nodes < 2)
		return;
	if (sys_number(d, 0, "/proc/sys/kernel/numa_balancing") > 0) {
		doctor_find(d, FIND_WARN, "numa",
			    "%u nodes, and the kernel moves pages between them behind a poller's back",
			    n_nodes);
		doctor_fix(d, "sudo sysctl kernel.numa_balancing=0");
	} else {
		doctor_find(d, FIND_OK, "numa", "%u nodes, pages stay where they are", n_nodes);
	}
}

void doctor_memory(struct doctor *d)
{
	hugepages(d);
	memlock(d);
	balancing(d);
}
