/* apps/gpuwire/doctor_driver.c: what a card that reads and writes GPU memory by itself needs of the NVIDIA driver:
 * dma-buf or peer memory, the override for programs without root, GDRCopy. Engine nic needs none of it.
 * Must not know the bus. Source: DOCA GPUNetIO programming guide, system setup. Next: include/doca/. */
#include <stdio.h>
#include <string.h>

#include "doctor.h"

/* Everything below matters to a card beside a GPU; with one of the two missing it is only told. */
static enum finding_status grave(const struct doctor *d, enum finding_status status)
{
	return d->n_gpu && d->n_rdma ? status : FIND_NOTE;
}

static void peer_memory(struct doctor *d, bool open_driver)
{
	bool peermem =
		sys_exists(d, "/sys/module/nvidia_peermem") || sys_exists(d, "/sys/module/nv_peer_mem");

	if (open_driver && peermem) {
		doctor_find(
			d, FIND_NOTE, "peer-memory",
			"dma-buf (open driver) and nvidia-peermem are both there; dma-buf is the one to use");
		doctor_fix(d, "sudo modprobe -r nvidia-peermem");
	} else if (open_driver) {
		doctor_find(d, FIND_OK, "peer-memory", "dma-buf (open driver)");
	} else if (peermem) {
		doctor_find(d, FIND_OK, "peer-memory", "nvidia-peermem (the closed driver has no dma-buf)");
	} else {
		doctor_find(d, grave(d, FIND_BAD), "peer-memory",
			    "the closed driver has no dma-buf, and nvidia-peermem is not loaded: no card can "
			    "reach GPU memory");
		doctor_fix(d, "sudo modprobe nvidia-peermem && echo nvidia-peermem | sudo tee "
			      "/etc/modules-load.d/nvidia-peermem.conf");
	}
}

static void override(struct doctor *d)
{
	char words[256];

	sys_line(d, words, sizeof(words), "/proc/driver/nvidia/params", "RegistryDwords:");
	if (strstr(words, "PeerMappingOverride=1")) {
		doctor_find(d, FIND_OK, "peer-mapping",
			    "PeerMappingOverride=1: kernels may ring a card's doorbell without root");
		return;
	}
	doctor_find(d, grave(d, FIND_WARN), "peer-mapping",
		    "PeerMappingOverride is not set: kernels that ring a card's doorbell need root");
	doctor_fix(d, "echo 'options nvidia NVreg_RegistryDwords=\"PeerMappingOverride=1;\"' | sudo tee "
		      "/etc/modprobe.d/gpuwire-nvidia.conf && sudo update-initramfs -u && sudo reboot");
}

static void gdrcopy(struct doctor *d)
{
	if (sys_exists(d, "/sys/module/gdrdrv")) {
		doctor_find(d, FIND_OK, "gdrcopy", "gdrdrv is loaded");
		return;
	}
	doctor_find(d, FIND_NOTE, "gdrcopy",
		    "gdrdrv is not loaded: the CPU reaches GPU memory through the driver only");
	doctor_fix(d, "sudo modprobe gdrdrv");
}

void doctor_driver(struct doctor *d)
{
	char version[256];
	bool open_driver;

	sys_line(d, version, sizeof(version), "/proc/driver/nvidia/version", "NVRM version:");
	if (!*version) {
		if (!d->n_gpu) {
			doctor_find(d, FIND_NOTE, "driver",
				    "no NVIDIA GPU and no driver: nothing here needs either");
			return;
		}
		doctor_find(d, FIND_BAD, "driver", "%u NVIDIA GPU%s on the bus, and no driver", d->n_gpu,
			    d->n_gpu == 1 ? "" : "s");
		doctor_fix(d, "sudo apt-get install nvidia-open");
		return;
	}
	open_driver = strstr(version, "Open Kernel Module") != NULL;
	doctor_find(d, FIND_OK, "driver", "%.200s", version);
	peer_memory(d, open_driver);
	override(d);
	gdrcopy(d);
	doctor_find(d, FIND_NOTE, "gpu-clocks",
		    "the GPU's clocks follow its load; lock them before measuring");
	doctor_fix(d, "sudo nvidia-smi --lock-gpu-clocks=tdp");
}
