/* gpuwire/version.h: which library this is. */
#ifndef GPUWIRE_VERSION_H
#define GPUWIRE_VERSION_H

#include <gpuwire/common.h>

#ifdef __cplusplus
extern "C" {
#endif

/* "0.1.0"; static. */
GW_API const char *gw_version(void);

#ifdef __cplusplus
}
#endif
#endif
