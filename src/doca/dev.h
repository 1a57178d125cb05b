/* doca/dev.h: the inside of a soft device, for objects that hold one.
 * Must not know who holds it. Next: dev.c. */
#ifndef GW_DOCA_DEV_H
#define GW_DOCA_DEV_H

#include <doca/doca_dev.h>

struct doca_devinfo {
	char name[DOCA_DEVINFO_IBDEV_NAME_SIZE];
	char pci[DOCA_DEVINFO_PCI_ADDR_SIZE];
};

/* An object that keeps a device gets it, and puts it when it lets go. Any thread. */
DOCA_EXPERIMENTAL void gw__doca_dev_get(struct doca_dev *dev);
DOCA_EXPERIMENTAL void gw__doca_dev_put(struct doca_dev *dev);

#endif
