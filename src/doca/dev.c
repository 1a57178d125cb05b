/* doca/dev.c: soft devices: a name and a PCI address, from the environment or made up on request.
 * Must not know who uses them. Next: include/doca/doca_dev.h. */
#include "doca/dev.h"

#include <ctype.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

#define DEFAULT_NAME "mlx5_0"
#define DEFAULT_PCI "0000:03:00.0"
#define MAX_DEVS 64u

struct doca_dev {
	struct doca_devinfo info;
	_Atomic int n_users;
};

/* "dddd:bb:dd.f", in hexadecimal */
static int pci_is_good(const char *s)
{
	static const char form[] = "hhhh:hh:hh.h";

	if (strlen(s) != sizeof(form) - 1)
		return 0;
	for (size_t i = 0; form[i]; i++)
		if (form[i] == 'h' ? !isxdigit((unsigned char)s[i]) : s[i] != form[i])
			return 0;
	return 1;
}

static void fill(struct doca_devinfo *info, const char *name, size_t name_len, const char *pci)
{
	memset(info, 0, sizeof(*info));
	if (name_len >= sizeof(info->name))
		name_len = sizeof(info->name) - 1;
	memcpy(info->name, name, name_len);
	memcpy(info->pci, pci_is_good(pci) ? pci : DEFAULT_PCI, sizeof(info->pci) - 1);
}

/* The next "name[@pci]" of the list; returns what follows it, NULL when there was none. */
static const char *next_entry(const char *s, struct doca_devinfo *info)
{
	char pci[DOCA_DEVINFO_PCI_ADDR_SIZE] = DEFAULT_PCI;
	size_t len, name_len;
	const char *at;

	s += strspn(s, ", ");
	len = strcspn(s, ", ");
	if (!len)
		return NULL;
	at = memchr(s, '@', len);
	name_len = at ? (size_t)(at - s) : len;
	if (at && len - name_len - 1 == sizeof(pci) - 1)
		memcpy(pci, at + 1, sizeof(pci) - 1);
	fill(info, s, name_len, pci);
	return s + len;
}

static const char *list_text(void)
{
	const char *s = getenv("DOCA_SOFT_DEVICES");

	return s && *s ? s : DEFAULT_NAME;
}

doca_error_t doca_devinfo_create_list(struct doca_devinfo ***dev_list, uint32_t *nb_devs)
{
	struct doca_devinfo info, **list, *all;
	const char *s;
	uint32_t n = 0;

	if (!dev_list || !nb_devs)
		return DOCA_ERROR_INVALID_VALUE;
	for (s = list_text(); n < MAX_DEVS && (s = next_entry(s, &info));)
		n++;
	/* one block: the pointers, then what they point to */
	list = gw__calloc(1, n * (sizeof(*list) + sizeof(*all)) + 1);
	if (!list)
		return DOCA_ERROR_NO_MEMORY;
	all = (struct doca_devinfo *)(void *)(list + n);
	s = list_text();
	for (uint32_t i = 0; i < n; i++) {
		s = next_entry(s, &all[i]);
		list[i] = &all[i];
	}
	*dev_list = list;
	*nb_devs = n;
	return DOCA_SUCCESS;
}

doca_error_t doca_devinfo_destroy_list(struct doca_devinfo **dev_list)
{
	if (!dev_list)
		return DOCA_ERROR_INVALID_VALUE;
	gw__free(dev_list);
	return DOCA_SUCCESS;
}

static doca_error_t copy_text(const char *from, char *to, uint32_t size)
{
	if (!to || strlen(from) >= size)
		return DOCA_ERROR_INVALID_VALUE;
	memcpy(to, from, strlen(from) + 1);
	return DOCA_SUCCESS;
}

doca_error_t doca_devinfo_get_ibdev_name(const struct doca_devinfo *devinfo, char *ibdev_name, uint32_t size)
{
	return devinfo ? copy_text(devinfo->name, ibdev_name, size) : DOCA_ERROR_INVALID_VALUE;
}

doca_error_t doca_devinfo_get_iface_name(const struct doca_devinfo *devinfo, char *iface_name, uint32_t size)
{
	return devinfo ? copy_text(devinfo->name, iface_name, size) : DOCA_ERROR_INVALID_VALUE;
}

doca_error_t doca_devinfo_get_pci_addr_str(const struct doca_devinfo *devinfo, char *pci_addr_str)
{
	return devinfo ? copy_text(devinfo->pci, pci_addr_str, DOCA_DEVINFO_PCI_ADDR_SIZE) :
			 DOCA_ERROR_INVALID_VALUE;
}

doca_error_t doca_devinfo_is_equal_pci_addr(const struct doca_devinfo *devinfo, const char *pci_addr_str,
					    uint8_t *is_equal)
{
	if (!devinfo || !pci_addr_str || !is_equal)
		return DOCA_ERROR_INVALID_VALUE;
	/* the domain may be left out: "03:00.0" */
	*is_equal = !strcasecmp(devinfo->pci, pci_addr_str) ||
		    (strlen(pci_addr_str) == 7 && !strcasecmp(devinfo->pci + 5, pci_addr_str));
	return DOCA_SUCCESS;
}

doca_error_t doca_dev_open(struct doca_devinfo *devinfo, struct doca_dev **out)
{
	struct doca_dev *dev;

	if (!devinfo || !out)
		return DOCA_ERROR_INVALID_VALUE;
	dev = gw__calloc(1, sizeof(*dev));
	if (!dev)
		return DOCA_ERROR_NO_MEMORY;
	dev->info = *devinfo;
	*out = dev;
	return DOCA_SUCCESS;
}

doca_error_t doca_dev_open_by_name(const char *name, struct doca_dev **out)
{
	struct doca_devinfo info, first;
	const char *s = list_text(), *pci = getenv("DOCA_SOFT_PCI");

	if (!name || !*name || strlen(name) >= sizeof(info.name) || !out)
		return DOCA_ERROR_INVALID_VALUE;
	fill(&first, name, strlen(name), DEFAULT_PCI);
	for (int i = 0; (s = next_entry(s, &info)); i++) {
		if (!strcmp(info.name, name))
			return doca_dev_open(&info, out);
		if (i == 0)
			first = info;
	}
	fill(&info, name, strlen(name), pci ? pci : first.pci);
	return doca_dev_open(&info, out);
}

doca_error_t doca_dev_close(struct doca_dev *dev)
{
	if (!dev)
		return DOCA_ERROR_INVALID_VALUE;
	if (atomic_load_explicit(&dev->n_users, memory_order_acquire))
		return DOCA_ERROR_IN_USE;
	gw__free(dev);
	return DOCA_SUCCESS;
}

struct doca_devinfo *doca_dev_as_devinfo(const struct doca_dev *dev)
{
	/* the vendor's signature drops const; nobody writes through it */
	return dev ? (struct doca_devinfo *)(uintptr_t)&dev->info : NULL;
}

void gw__doca_dev_get(struct doca_dev *dev)
{
	atomic_fetch_add_explicit(&dev->n_users, 1, memory_order_relaxed);
}

void gw__doca_dev_put(struct doca_dev *dev)
{
	/* release: pairs with the acquire in doca_dev_close() */
	atomic_fetch_sub_explicit(&dev->n_users, 1, memory_order_release);
}
