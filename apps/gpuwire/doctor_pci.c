/* apps/gpuwire/doctor_pci.c: GPUs and RDMA cards on the bus, the way between them, and what slows or turns traffic
 * on it: read request size, link width, BAR1, access control, the IOMMU.
 * Must not know drivers. Source: PCI Express base specification (capability layouts). Next: doctor_driver.c. */
#include <stdio.h>
#include <string.h>

#include "doctor.h"

#define MAX_DEVICES 32u
#define PCI	    "/sys/bus/pci/devices/"

struct device {
	char bdf[32], real[512];
	int node;
};

static struct device gpus[MAX_DEVICES], cards[MAX_DEVICES];
static uint32_t n_turned, n_unread, n_groups, n_translated;
static char turned[96];

/* ---- configuration space ------------------------------------------------------------------------ */

static uint32_t get16(const uint8_t *b)
{
	return b[0] | (uint32_t)b[1] << 8;
}

/* Offset of a capability, 0 if it is not in the n bytes that could be read; the walk ends by itself. */
static uint32_t capability(const uint8_t *cfg, uint32_t n, uint8_t id)
{
	uint32_t at = n >= 64 ? cfg[0x34] & 0xfcu : 0;

	for (uint32_t hops = 0; at >= 0x40 && at + 16 <= n && hops < 48; hops++, at = cfg[at + 1] & 0xfcu)
		if (cfg[at] == id)
			return at;
	return 0;
}

static uint32_t extended(const uint8_t *cfg, uint32_t n, uint32_t id)
{
	uint32_t at = 0x100;

	for (uint32_t hops = 0; at >= 0x100 && at + 8 <= n && hops < 480; hops++) {
		if (get16(cfg + at) == id)
			return at;
		at = get16(cfg + at + 2) >> 4 & 0xffc;
	}
	return 0;
}

/* ---- one card, one GPU ---------------------------------------------------------------------------- */

static void read_requests(struct doctor *d, const char *bdf)
{
	uint8_t cfg[4096];
	int n = sys_bytes(d, cfg, sizeof(cfg), PCI "%s/config", bdf);
	uint32_t at = n > 0 ? capability(cfg, (uint32_t)n, 0x10) : 0, bytes;

	if (!at) {
		doctor_find(d, FIND_NOTE, "mrrs", "%s: the read request size is shown to root only", bdf);
		doctor_fix(d, "sudo gpuwire doctor");
		return;
	}
	bytes = 128u << (get16(cfg + at + 8) >> 12 & 7);
	if (bytes >= 4096) {
		doctor_find(d, FIND_OK, "mrrs", "%s: reads of up to %u bytes", bdf, bytes);
		return;
	}
	doctor_find(d, FIND_WARN, "mrrs", "%s: reads of up to %u bytes; 4096 is the best", bdf, bytes);
	doctor_fix(d, "sudo setpci -s %s CAP_EXP+8.w=5000:7000", bdf);
}

static void link_width(struct doctor *d, const char *bdf)
{
	long long now = sys_number(d, 0, PCI "%s/current_link_width", bdf);
	long long most = sys_number(d, 0, PCI "%s/max_link_width", bdf);

	if (now <= 0 || now >= most)
		return;
	doctor_find(d, FIND_WARN, "pcie-link",
		    "%s: %lld lanes of %lld: the slot or the seat is not the best one", bdf, now, most);
	doctor_fix(d, "sudo lspci -s %s -vv | grep -e LnkCap: -e LnkSta:", bdf);
}

/* Line 1 of `resource`: first and last address of BAR 1. */
static void bar1(struct doctor *d, const char *bdf)
{
	unsigned long long lo, hi, mib;
	char text[1024];
	const char *line;

	sys_text(d, text, sizeof(text), PCI "%s/resource", bdf);
	line = strchr(text, '\n');
	if (!line || sscanf(line + 1, "%llx %llx", &lo, &hi) != 2 || hi <= lo)
		return;
	mib = (hi - lo + 1) >> 20;
	if (mib > 256) {
		doctor_find(d, FIND_OK, "bar1", "%s: %llu MiB", bdf, mib);
		return;
	}
	doctor_find(d, FIND_WARN, "bar1",
		    "%s: %llu MiB: a card cannot be shown more GPU memory than that; switch Resizable BAR "
		    "and Above 4G "
		    "Decoding on in the firmware",
		    bdf, mib);
	doctor_fix(d, "sudo systemctl reboot --firmware-setup");
}

static void note_device(struct doctor *d, const char *bdf, struct device *list, uint32_t *n)
{
	struct device *v = &list[*n];

	if (*n == MAX_DEVICES)
		return;
	(*n)++;
	snprintf(v->bdf, sizeof(v->bdf), "%.31s", bdf);
	sys_real(d, v->real, sizeof(v->real), PCI "%s", bdf);
	v->node = (int)sys_number(d, -1, PCI "%s/numa_node", bdf);
}

static void gpu(struct doctor *d, const char *path)
{
	const char *bdf = strrchr(path, '/') + 1;
	char driver[64];

	if (sys_number(d, 0, "%s/vendor", path) != 0x10de || sys_number(d, 0, "%s/class", path) >> 16 != 3)
		return;
	note_device(d, bdf, gpus, &d->n_gpu);
	sys_link(d, driver, sizeof(driver), "%s/driver", path);
	doctor_find(d, FIND_OK, "gpu-device", "%s: device %#llx, node %lld, driver %s", bdf,
		    (unsigned long long)sys_number(d, 0, "%s/device", path),
		    sys_number(d, -1, "%s/numa_node", path), *driver ? driver : "none");
	bar1(d, bdf);
}

static void card(struct doctor *d, const char *path)
{
	const char *name = strrchr(path, '/') + 1;
	char bdf[64], driver[64], firmware[64];

	sys_link(d, bdf, sizeof(bdf), "%s/device", path);
	sys_link(d, driver, sizeof(driver), "%s/device/driver", path);
	sys_text(d, firmware, sizeof(firmware), "%s/fw_ver", path);
	if (!sys_exists(d, PCI "%s", bdf) || !*bdf) {
		doctor_find(d, FIND_NOTE, "rdma-device", "%s: not on the PCI bus (a software device)", name);
		return;
	}
	note_device(d, bdf, cards, &d->n_rdma);
	doctor_find(d, FIND_OK, "rdma-device", "%s: %s, driver %s, firmware %s", name, bdf,
		    *driver ? driver : "none", *firmware ? firmware : "unknown");
	read_requests(d, bdf);
	link_width(d, bdf);
}

/* ---- the way between them ------------------------------------------------------------------------- */

/* How many parts two paths begin with in common: 2 = "/sys/devices", 3 = the same root complex as well. */
static uint32_t common_parts(const char *a, const char *b)
{
	uint32_t n = 0;

	for (size_t i = 0;; i++) {
		bool end_a = !a[i] || a[i] == '/', end_b = !b[i] || b[i] == '/';

		if (end_a && end_b && i)
			n++;
		if (a[i] != b[i] || !a[i])
			return n;
	}
}

static void way(struct doctor *d, const struct device *g, const struct device *c)
{
	uint32_t common = common_parts(g->real, c->real);

	if (common >= 4)
		doctor_find(d, FIND_OK, "topology", "GPU %s and card %s are below one PCIe bridge", g->bdf,
			    c->bdf);
	else if (common == 3)
		doctor_find(d, FIND_WARN, "topology", "GPU %s and card %s meet at the host bridge only (PHB)",
			    g->bdf, c->bdf);
	else
		doctor_find(d, FIND_WARN, "topology", "GPU %s and card %s meet %s: traffic crosses the CPU",
			    g->bdf, c->bdf,
			    g->node == c->node ? "inside node (NODE)" : "between nodes (SYS)");
	if (common < 4)
		doctor_fix(d, "nvidia-smi topo -m  # choose a pair that says PIX or PXB");
}

/* Bridges that send traffic between two cards up to the CPU first. */
static void bridge(struct doctor *d, const char *path)
{
	const char *bdf = strrchr(path, '/') + 1;
	uint8_t cfg[4096];
	uint32_t at;
	int n;

	if (sys_number(d, 0, "%s/class", path) >> 8 != 0x0604)
		return;
	n = sys_bytes(d, cfg, sizeof(cfg), "%s/config", path);
	if (n <= 256) {
		n_unread++;
		return;
	}
	at = extended(cfg, (uint32_t)n, 0x000d);
	if (!at ||
	    !(get16(cfg + at + 6) & 0x1d)) /* source validation, request and completion redirect, upstream */
		return;
	if (!n_turned++)
		snprintf(turned, sizeof(turned), "%.40s", bdf);
}

static void access_control(struct doctor *d)
{
	n_turned = n_unread = 0;
	sys_glob(d, PCI "*", bridge);
	if (n_turned) {
		doctor_find(d, FIND_WARN, "acs",
			    "access control is on at %u bridge%s (%s): traffic between cards goes by the CPU",
			    n_turned, n_turned == 1 ? "" : "s", turned);
		doctor_fix(d, "for b in $(lspci -D | awk '/PCI bridge/{print $1}'); do sudo setpci -s $b "
			      "ECAP_ACS+6.w=0000; done");
	} else if (n_unread) {
		doctor_find(d, FIND_NOTE, "acs", "access control of %u bridge%s is shown to root only",
			    n_unread, n_unread == 1 ? "" : "s");
		doctor_fix(d, "sudo gpuwire doctor");
	} else {
		doctor_find(d, FIND_OK, "acs", "no bridge turns traffic between cards");
	}
}

static void group(struct doctor *d, const char *path)
{
	char type[32];

	n_groups++;
	if (sys_text(d, type, sizeof(type), "%s/type", path) > 0 && strcmp(type, "identity"))
		n_translated++;
}

static void iommu(struct doctor *d)
{
	n_groups = n_translated = 0;
	sys_glob(d, "/sys/kernel/iommu_groups/[0-9]*", group);
	if (!n_translated) {
		doctor_find(d, FIND_OK, "iommu", "%s", n_groups ? "on, passing through" : "off");
		return;
	}
	doctor_find(d, d->n_gpu && d->n_rdma ? FIND_WARN : FIND_NOTE, "iommu",
		    "addresses of %u of %u groups are translated: slower between cards, or refused",
		    n_translated, n_groups);
	doctor_fix(d, "echo 'GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX iommu=pt\"' | sudo tee "
		      "/etc/default/grub.d/gpuwire-iommu.cfg && sudo update-grub && sudo reboot");
}

void doctor_pci(struct doctor *d)
{
	d->n_gpu = d->n_rdma = 0;
	sys_glob(d, PCI "*", gpu);
	sys_glob(d, "/sys/class/infiniband/*", card);
	if (!d->n_rdma)
		doctor_find(d, FIND_NOTE, "rdma-device", "no RDMA card: engine nic plays one in memory");
	for (uint32_t g = 0; g < d->n_gpu; g++)
		for (uint32_t c = 0; c < d->n_rdma; c++)
			way(d, &gpus[g], &cards[c]);
	if (d->n_gpu && d->n_rdma)
		access_control(d);
	iommu(d);
}
