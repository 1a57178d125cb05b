/* apps/gpuwire/doctor_net.c: Ethernet interfaces: MTU, driver, node, and offloads that glue frames together.
 * Must not know the PCI bus. Next: doctor_pci.c. */
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "doctor.h"

#define ARPHRD_ETHERNET 1

/* 1 on, 0 off, -1 the kernel does not say. */
static int offload(int fd, const char *name, uint32_t cmd, uint32_t mask)
{
	struct ethtool_value v = { .cmd = cmd };
	struct ifreq r;

	memset(&r, 0, sizeof(r));
	snprintf(r.ifr_name, sizeof(r.ifr_name), "%.15s", name);
	r.ifr_data = (char *)&v;
	if (ioctl(fd, SIOCETHTOOL, &r))
		return -1;
	return (v.data & mask) != 0;
}

/* Sysfs does not tell: the machine itself is asked, so never below a --root. */
static void offloads(struct doctor *d, const char *name)
{
	int fd = *d->root ? -1 : socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int gro, lro;

	if (fd < 0)
		return;
	gro = offload(fd, name, ETHTOOL_GGRO, 1);
	lro = offload(fd, name, ETHTOOL_GFLAGS, ETH_FLAG_LRO);
	close(fd);
	if (gro == 1 || lro == 1) {
		doctor_find(d, FIND_NOTE, "offloads",
			    "%s: %s%s%s on: a packet socket sees frames glued together, longer than a slot",
			    name, gro == 1 ? "GRO" : "", gro == 1 && lro == 1 ? " and " : "",
			    lro == 1 ? "LRO" : "");
		doctor_fix(d, "sudo ethtool -K %s gro off lro off", name);
	} else if (!gro && lro < 1) {
		doctor_find(d, FIND_OK, "offloads", "%s: frames stay as they came", name);
	}
}

static void interface(struct doctor *d, const char *path)
{
	const char *name = strrchr(path, '/') + 1;
	long long mtu = sys_number(d, 0, "%s/mtu", path);
	long long node = sys_number(d, -1, "%s/device/numa_node", path);
	long long mbps = sys_number(d, -1, "%s/speed", path);
	char driver[64], state[32], where[64] = "", rate[48] = "";

	if (sys_number(d, 0, "%s/type", path) != ARPHRD_ETHERNET)
		return;
	sys_link(d, driver, sizeof(driver), "%s/device/driver", path);
	sys_text(d, state, sizeof(state), "%s/operstate", path);
	if (node >= 0)
		snprintf(where, sizeof(where), ", node %lld", node);
	if (mbps > 0)
		snprintf(rate, sizeof(rate), ", %lld Mb/s", mbps);
	doctor_find(d, mtu >= 9000 || !*driver ? FIND_OK : FIND_NOTE, "interface",
		    "%s: MTU %lld, %s, driver %s%s%s%s", name, mtu, *state ? state : "unknown",
		    *driver ? driver : "none", rate, where,
		    mtu < 9000 && *driver ? "; frames above the MTU do not pass" : "");
	if (mtu < 9000 && *driver)
		doctor_fix(d, "sudo ip link set dev %s mtu 9000", name);
	if (*driver)
		offloads(d, name);
}

void doctor_net(struct doctor *d)
{
	sys_glob(d, "/sys/class/net/*", interface);
}
