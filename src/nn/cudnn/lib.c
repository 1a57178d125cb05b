/* nn/cudnn/lib.c: find cuDNN 9 and what it wants beside it (NVRTC, cuBLASLt, libz), by full path first, so
 * that a library from Python's folders finds its neighbours. Must not know networks. Next: conv.c. */
#include "nn/cudnn/lib.h"

#include <dlfcn.h>
#include <errno.h>
#include <glob.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "base/log.h"
#include "nn/backend.h"

/* where Python wheels keep the vendor's libraries */
static const char *const python_dirs[] = {
	"/usr/lib/python3*/site-packages/nvidia/*/lib",
	"/usr/local/lib/python3*/dist-packages/nvidia/*/lib",
	"/usr/local/lib/python3*/site-packages/nvidia/*/lib",
	"/opt/*/.venv/lib/python3*/site-packages/nvidia/*/lib",
	"/opt/*/lib/python3*/site-packages/nvidia/*/lib",
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct gw__cudnn lib;
static bool opened;
static struct gw_diag why;

static void *try_dir(const char *dir, const char *name)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return dlopen(path, RTLD_NOW | RTLD_GLOBAL);
}

static void *try_python(const char *name)
{
	void *h = NULL;

	for (size_t i = 0; i < sizeof(python_dirs) / sizeof(python_dirs[0]) && !h; i++) {
		glob_t g;

		if (glob(python_dirs[i], GLOB_NOSORT, NULL, &g))
			continue;
		for (size_t k = 0; k < g.gl_pathc && !h; k++)
			h = try_dir(g.gl_pathv[k], name);
		globfree(&g);
	}
	return h;
}

static void *find(const char *name)
{
	const char *dir = getenv("GPUWIRE_CUDNN_DIR");
	void *h = dir ? try_dir(dir, name) : NULL;

	if (!h)
		h = dlopen(name, RTLD_NOW | RTLD_GLOBAL);
	return h ? h : try_python(name);
}

static void open_once(void)
{
	void *h;

	/* its run-time engines look for these by name when first used: have them in the process already */
	if (!find("libz.so.1") || !find("libnvrtc.so.13") || !find("libcublasLt.so.13"))
		gw__debug("cuDNN's helpers (libz, NVRTC, cuBLASLt) were not all found: fewer engines will be offered");
	h = find("libcudnn.so.9");
	if (!h) {
		gw__fail(&why, -ENOENT, "libcudnn.so.9 was not found; install cuDNN 9 or set GPUWIRE_CUDNN_DIR (%s)",
			 dlerror());
		return;
	}
#define X(name, ret, args)                                                                         \
	*(void **)&lib.name = dlsym(h, #name);                                                     \
	if (!lib.name) {                                                                           \
		gw__fail(&why, -ENOTSUP, "libcudnn.so.9 lacks %s", #name);                         \
		return;                                                                            \
	}
	GW_CUDNN_FUNCTIONS(X)
#undef X
	lib.version = lib.cudnnGetVersion();
	if (lib.version / 10000 != 9) {
		gw__fail(&why, -ENOTSUP, "cuDNN %zu was found; major version 9 is needed", lib.version / 10000);
		return;
	}
	opened = true;
}

const struct gw__cudnn *gw__cudnn_lib(struct gw_diag *diag)
{
	pthread_once(&once, open_once);
	if (opened)
		return &lib;
	gw__fail(diag, -ENOTSUP, "%s", why.text);
	return NULL;
}

int gw__cudnn_about(char *text, size_t n)
{
	struct gw_diag diag = { "" };
	const struct gw__cudnn *l = gw__cudnn_lib(&diag);

	if (!l) {
		snprintf(text, n, "%s", diag.text);
		return -ENOTSUP;
	}
	snprintf(text, n, "cuDNN %zu.%zu.%zu", l->version / 10000, l->version / 100 % 100, l->version % 100);
	return 0;
}
