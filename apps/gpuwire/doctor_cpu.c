/* apps/gpuwire/doctor_cpu.c: cores, their isolation and speed, the clock, and what this process may do.
 * Must not know packets. Next: doctor_memory.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "doctor.h"

static void cores(struct doctor *d)
{
	char online[256], allowed[256];
	uint32_t n, all;

	sys_text(d, online, sizeof(online), "/sys/devices/system/cpu/online");
	sys_line(d, allowed, sizeof(allowed), "/proc/self/status", "Cpus_allowed_list:");
	all = sys_count_list(online);
	n = *allowed ? sys_count_list(allowed) : all;
	if (!n) {
		doctor_find(d, FIND_NOTE, "cores", "the kernel does not say which cores there are");
	} else if (n == 1) {
		doctor_find(
			d, FIND_WARN, "cores",
			"this process may use core %s alone: poller, sender and application take turns on it",
			*allowed ? allowed : online);
		if (all > 1)
			doctor_fix(d, "taskset -c %s PROGRAM", online);
	} else {
		doctor_find(d, FIND_OK, "cores", "%u of %u (%s)", n, all, *allowed ? allowed : online);
	}
}

static void isolation(struct doctor *d)
{
	char isolated[256], online[256];
	uint32_t n;

	sys_text(d, online, sizeof(online), "/sys/devices/system/cpu/online");
	n = sys_count_list(online);
	if (sys_text(d, isolated, sizeof(isolated), "/sys/devices/system/cpu/isolated") > 0) {
		doctor_find(d, FIND_OK, "isolation",
			    "cores %s are kept free of others' work: use them as cpu_core", isolated);
		return;
	}
	doctor_find(d, FIND_NOTE, "isolation",
		    "no core is isolated: others' work can hold a poller up for milliseconds");
	if (n >= 4)
		doctor_fix(d,
			   "echo 'GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX isolcpus=%u-%u nohz_full=%u-%u "
			   "rcu_nocbs=%u-%u\"' | sudo tee /etc/default/grub.d/gpuwire-cores.cfg && sudo "
			   "update-grub && "
			   "sudo reboot",
			   n / 2, n - 1, n / 2, n - 1, n / 2, n - 1);
}

static uint32_t n_slow, n_governed;
static char slow_governor[64];

static void governor(struct doctor *d, const char *path)
{
	char g[64];

	if (sys_text(d, g, sizeof(g), "%s", path) <= 0)
		return;
	n_governed++;
	if (strcmp(g, "performance")) {
		n_slow++;
		snprintf(slow_governor, sizeof(slow_governor), "%s", g);
	}
}

static void speed(struct doctor *d)
{
	n_slow = n_governed = 0;
	sys_glob(d, "/sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor", governor);
	if (!n_governed) {
		doctor_find(d, FIND_OK, "governor", "the cores' speed is not this system's to set");
	} else if (n_slow) {
		doctor_find(d, FIND_WARN, "governor",
			    "%u of %u cores run under '%s': they slow down while a poller waits", n_slow,
			    n_governed, slow_governor);
		doctor_fix(
			d,
			"echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor");
	} else {
		doctor_find(d, FIND_OK, "governor", "performance on %u cores", n_governed);
	}
}

static void clock_source(struct doctor *d)
{
	static const char dir[] = "/sys/devices/system/clocksource/clocksource0";
	static const char *const fast[] = { "tsc", "kvm-clock", "arch_sys_counter",
					    "hyperv_clocksource_tsc_page" };
	char now[64], all[256];

	if (sys_text(d, now, sizeof(now), "%s/current_clocksource", dir) <= 0)
		return;
	for (size_t i = 0; i < sizeof(fast) / sizeof(fast[0]); i++)
		if (!strcmp(now, fast[i])) {
			doctor_find(d, FIND_OK, "clock", "%s: read without a system call", now);
			return;
		}
	sys_text(d, all, sizeof(all), "%s/available_clocksource", dir);
	doctor_find(d, FIND_WARN, "clock", "%s: every time stamp may cost a system call", now);
	if (strstr(all, "tsc"))
		doctor_fix(d, "echo tsc | sudo tee %s/current_clocksource", dir);
}

static void rights(struct doctor *d)
{
	char caps[64];
	unsigned long long v;

	sys_line(d, caps, sizeof(caps), "/proc/self/status", "CapEff:");
	v = strtoull(caps, NULL, 16);
	if (v >> 13 & 1) {
		doctor_find(d, FIND_OK, "cap_net_raw", "this process may open packet sockets");
		return;
	}
	doctor_find(d, FIND_NOTE, "cap_net_raw",
		    "no packet sockets for this process; cable, shm and pcap need none, only kernel "
		    "interfaces do");
	doctor_fix(d, "sudo setcap cap_net_raw+ep PROGRAM");
}

void doctor_cpu(struct doctor *d)
{
	cores(d);
	isolation(d);
	speed(d);
	clock_source(d);
	rights(d);
}
