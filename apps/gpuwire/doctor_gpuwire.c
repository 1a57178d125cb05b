/* apps/gpuwire/doctor_gpuwire.c: what gpuwire itself would choose here, and why: engine, GPU backend, where
 * packets of kind device lie, instruction set, networks. Must not know the machine's files, cuDNN's excepted.
 * Next: include/gpuwire/version.h. */
#include <gpuwire/gpuwire.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "doctor.h"

/* A file without `engine:` names a card's engine; where that is not built in, the software NIC is the way. */
static void engines(struct doctor *d)
{
	struct gw_about a;
	char have[128] = "";
	bool card = false, nic = false;

	for (uint32_t i = 0; !gw_about(i, &a) && a.topic == GW_ABOUT_ENGINE; i++) {
		size_t at = strlen(have);

		if (!a.usable)
			continue;
		snprintf(have + at, sizeof(have) - at, "%s%s", at ? ", " : "", a.name);
		card |= !strcmp(a.name, "ibverbs");
		nic |= !strcmp(a.name, "nic");
	}
	if (!nic && !card) {
		doctor_find(d, FIND_BAD, "engine", "built in: %s; none of them carries packets", have);
		doctor_fix(d, "cmake --preset release && cmake --build build/release");
	} else if (card) {
		doctor_find(d, FIND_OK, "engine",
			    "built in: %s; a raw stream without `engine:` takes ibverbs", have);
	} else {
		doctor_find(d, FIND_OK, "engine",
			    "built in: %s; `loopback: sw` takes nic; a raw stream without `engine:` asks for "
			    "ibverbs, "
			    "which is not built in: choose nic",
			    have);
		doctor_fix(d, "gpuwire config check --engine nic --address PORT=cable:0 FILE.yaml");
	}
	for (uint32_t i = 0; !gw_about(i, &a) && a.topic == GW_ABOUT_ENGINE; i++)
		if (!a.usable)
			doctor_find(d, FIND_NOTE, "engine", "%s is not built in: %s", a.name, a.text);
}

static void backend(struct doctor *d)
{
	const char *forced = getenv("GPUWIRE_GPU");
	struct gw_about a, other = { .text = "" };
	bool cuda = !strcmp(gw_gpu_backend(), "cuda");

	for (uint32_t i = 0; !gw_about(i, &a); i++) {
		if (a.topic != GW_ABOUT_GPU)
			continue;
		if (!a.usable)
			other = a;
		else if (cuda)
			doctor_find(d, FIND_OK, "gpu", "backend cuda: %s", a.text);
	}
	if (cuda)
		return;
	if (forced && !strcmp(forced, "cuda")) {
		doctor_find(d, FIND_BAD, "gpu", "GPUWIRE_GPU=cuda, but %s; programs go on with emu",
			    other.text);
		doctor_fix(d, "unset GPUWIRE_GPU");
	} else if (forced && !strcmp(forced, "emu")) {
		doctor_find(d, FIND_NOTE, "gpu", "backend emu (the CPU stands in): GPUWIRE_GPU=emu");
		doctor_fix(d, "unset GPUWIRE_GPU");
	} else {
		doctor_find(d, FIND_NOTE, "gpu", "backend emu (the CPU stands in): %s", other.text);
	}
	if (forced && strcmp(forced, "cuda") && strcmp(forced, "emu")) {
		doctor_find(d, FIND_WARN, "gpu", "GPUWIRE_GPU=%.40s is not known and is not heeded", forced);
		doctor_fix(d, "unset GPUWIRE_GPU");
	}
}

static void device_regions(struct doctor *d)
{
	if (!strcmp(gw_gpu_backend(), "cuda"))
		doctor_find(d, FIND_NOTE, "device-memory",
			    "a region of kind device that packets lie in is held in pinned host memory: "
			    "engine nic is this "
			    "CPU, which cannot write GPU memory; the reorder kernel reads it in place. "
			    "Tensors lie on the GPU");
	else
		doctor_find(d, FIND_NOTE, "device-memory",
			    "kind device is the emulator's memory: engine nic writes it in place, kernels "
			    "run on the CPU");
}

static void instructions(struct doctor *d)
{
	struct gw_about a;

	for (uint32_t i = 0; !gw_about(i, &a); i++)
		if (a.topic == GW_ABOUT_SIMD)
			doctor_find(d, strcmp(a.name, "scalar") ? FIND_OK : FIND_NOTE, "simd", "%s, for %s",
				    a.name, a.text);
	for (uint32_t i = 0; !gw_nn_about(i, &a); i++) {
		if (strcmp(a.name, "onednn"))
			continue;
		doctor_find(d, a.usable ? FIND_OK : FIND_NOTE, "cpu-networks", "%s", a.text);
		if (!a.usable)
			doctor_fix(d, "sudo apt-get install libdnnl-dev && cmake --preset release "
				      "-DWITH_ONEDNN=ON");
	}
}

/* ---- where cuDNN lies ------------------------------------------------------------------------------ */

static const char *const cudnn_places[] = {
	"/usr/lib/x86_64-linux-gnu/libcudnn.so.9",
	"/usr/lib/aarch64-linux-gnu/libcudnn.so.9",
	"/usr/lib64/libcudnn.so.9",
	"/usr/lib/libcudnn.so.9",
	"/usr/local/lib/libcudnn.so.9",
	"/usr/local/cuda*/lib64/libcudnn.so.9",
	"/usr/local/cuda*/targets/*/lib/libcudnn.so.9",
	"/usr/lib/python3*/site-packages/nvidia/*/lib/libcudnn.so.9",
	"/usr/local/lib/python3*/dist-packages/nvidia/*/lib/libcudnn.so.9",
	"/usr/local/lib/python3*/site-packages/nvidia/*/lib/libcudnn.so.9",
	"/opt/*/.venv/lib/python3*/site-packages/nvidia/*/lib/libcudnn.so.9",
	"/opt/*/lib/python3*/site-packages/nvidia/*/lib/libcudnn.so.9",
};

static void found(struct doctor *d, const char *path)
{
	if (!d->n || strcmp(d->finding[d->n - 1].topic, "cudnn")) /* the first one is the one taken */
		doctor_find(d, FIND_OK, "cudnn", "%s", path);
}

static void cudnn(struct doctor *d)
{
	const char *dir = getenv("GPUWIRE_CUDNN_DIR");
	size_t before = d->n;

	if (dir && *dir && sys_exists(d, "%s/libcudnn.so.9", dir)) {
		doctor_find(d, FIND_OK, "cudnn", "%s/libcudnn.so.9 (GPUWIRE_CUDNN_DIR)", dir);
		return;
	}
	if (dir && *dir) {
		doctor_find(d, FIND_BAD, "cudnn", "GPUWIRE_CUDNN_DIR=%.200s holds no libcudnn.so.9", dir);
		doctor_fix(d, "unset GPUWIRE_CUDNN_DIR");
		return;
	}
	for (size_t i = 0; i < sizeof(cudnn_places) / sizeof(cudnn_places[0]) && d->n == before; i++)
		sys_glob(d, cudnn_places[i], found);
	if (d->n != before)
		return;
	doctor_find(d, strcmp(gw_gpu_backend(), "cuda") ? FIND_NOTE : FIND_WARN, "cudnn",
		    "libcudnn.so.9 is in none of the usual folders: no networks on a GPU");
	doctor_fix(
		d,
		"python3 -m pip install nvidia-cudnn-cu13 && export GPUWIRE_CUDNN_DIR=\"$(python3 -c 'import "
		"nvidia.cudnn as c; print(list(c.__path__)[0])')/lib\"");
}

void doctor_gpuwire(struct doctor *d)
{
	engines(d);
	backend(d);
	device_regions(d);
	instructions(d);
	cudnn(d);
}
