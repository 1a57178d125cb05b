/* gpu/cuda/driver.c: find the driver at run time. Nothing here links against CUDA, so a binary built with it
 * starts without it. Next: cuda.c. */
#include "gpu/cuda/driver.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "base/diag.h"

/* the header renames functions to their versioned symbols: expand first, then make a string of it */
#define STR_(x) #x
#define STR(x) STR_(x)

int gw__cuda_driver_open(struct gw__cuda_driver *d, struct gw_diag *diag)
{
	memset(d, 0, sizeof(*d));
	d->lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!d->lib)
		return gw__fail(diag, -ENODEV, "no CUDA driver here: %s", dlerror());
#define X(name, args)                                                                              \
	*(void **)&d->p_##name = dlsym(d->lib, STR(name));                                         \
	if (!d->p_##name) {                                                                        \
		gw__cuda_driver_close(d);                                                          \
		return gw__fail(diag, -ENODEV, "the CUDA driver lacks %s: too old", STR(name));    \
	}
	GW_CUDA_FUNCTIONS(X)
#undef X
#if CUDA_VERSION >= 13000
	*(void **)&d->p_cuMemcpyBatchAsync = dlsym(d->lib, STR(cuMemcpyBatchAsync));
#endif
	return 0;
}

void gw__cuda_driver_close(struct gw__cuda_driver *d)
{
	if (d->lib)
		dlclose(d->lib);
	memset(d, 0, sizeof(*d));
}
