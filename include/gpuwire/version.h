/* gpuwire/version.h: which library this is, what was built into it and what of that works here. */
#ifndef GPUWIRE_VERSION_H
#define GPUWIRE_VERSION_H

#include <gpuwire/common.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The library's version, "0.1.0".
 * Returns a static string, never NULL. Threads: any. Ownership: the library's. Blocks: no. */
GW_API const char *gw_version(void);

enum gw_about_topic {
	GW_ABOUT_ENGINE,  /* what brings packets (`engine:` of a configuration) */
	GW_ABOUT_GPU,     /* the backend in use, and the other one with why it is not */
	GW_ABOUT_SIMD,    /* instructions that the reorder stage converts with */
	GW_ABOUT_LIBRARY, /* a library that this one stands on */
	GW_ABOUT_NN,      /* who computes networks */
};

/* One row of what this library is made of. */
struct gw_about {
	enum gw_about_topic topic;
	const char *name; /* "nic", "cuda", "libyaml"; static */
	int usable;       /* 1 usable in this process, 0 not: then text says why */
	char text[256];   /* version, device or reason */
};

/* Row i of engines, GPU backends, SIMD level and libraries, i from 0 on. The rows for networks: gw_nn_about().
 *   out  written only on success
 * Returns 0; -ENOENT past the last row. Threads: any. Ownership: *out is the caller's, name is static. Blocks:
 * the first call may open the GPU driver. */
GW_API GW_MUST_CHECK int gw_about(uint32_t i, struct gw_about *out);

#ifdef __cplusplus
}
#endif
#endif
