/* doca_dev.h: devices to open by name. Here they are soft: a name, a PCI address and nothing behind them.
 * Must not know who uses a device. Next: src/doca/dev.c.
 *
 * The list comes from DOCA_SOFT_DEVICES="mlx5_0@0000:04:00.0,eth7" (name, optionally @PCI address); default
 * one device, mlx5_0 at 0000:03:00.0. doca_dev_open_by_name() answers to any name; a name outside the list
 * gets the address in DOCA_SOFT_PCI, else that of the first listed device. */
#ifndef DOCA_DEV_H_
#define DOCA_DEV_H_

#include "doca_error.h"
#include "doca_types.h"

DOCA_BEGIN_DECLS

#define DOCA_DEVINFO_PCI_ADDR_SIZE 13
#define DOCA_DEVINFO_IBDEV_NAME_SIZE 64
#define DOCA_DEVINFO_IFACE_NAME_SIZE 256

struct doca_dev;
struct doca_devinfo;

/* A NULL-free array of *nb_devs entries, the caller's until doca_devinfo_destroy_list(). INVALID_VALUE,
 * NO_MEMORY. Threads: any. */
DOCA_STABLE doca_error_t doca_devinfo_create_list(struct doca_devinfo ***dev_list, uint32_t *nb_devs);
DOCA_STABLE doca_error_t doca_devinfo_destroy_list(struct doca_devinfo **dev_list);
/* Copy a text, NUL included. INVALID_VALUE: NULL or `size` too small. */
DOCA_STABLE doca_error_t doca_devinfo_get_ibdev_name(const struct doca_devinfo *devinfo, char *ibdev_name,
						     uint32_t size);
DOCA_STABLE doca_error_t doca_devinfo_get_iface_name(const struct doca_devinfo *devinfo, char *iface_name,
						     uint32_t size);
DOCA_STABLE doca_error_t doca_devinfo_get_pci_addr_str(const struct doca_devinfo *devinfo, char *pci_addr_str);
DOCA_STABLE doca_error_t doca_devinfo_is_equal_pci_addr(const struct doca_devinfo *devinfo,
							const char *pci_addr_str, uint8_t *is_equal);
/* The device keeps a copy of devinfo: the list may be destroyed. NO_MEMORY, INVALID_VALUE. */
DOCA_STABLE doca_error_t doca_dev_open(struct doca_devinfo *devinfo, struct doca_dev **dev);
DOCA_EXPERIMENTAL doca_error_t doca_dev_open_by_name(const char *name, struct doca_dev **dev);
/* IN_USE while an object still holds it. */
DOCA_STABLE doca_error_t doca_dev_close(struct doca_dev *dev);
/* Borrowed; lives as long as the device. */
DOCA_STABLE struct doca_devinfo *doca_dev_as_devinfo(const struct doca_dev *dev);

DOCA_END_DECLS

#endif
