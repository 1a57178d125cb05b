/* doca/error.h: the only border between errno and doca_error_t.
 * Must not know objects. Next: error.c. */
#ifndef GW_DOCA_ERROR_H
#define GW_DOCA_ERROR_H

#include <doca/doca_error.h>

/* 0 or a positive count: DOCA_SUCCESS; a negative errno: its counterpart, DOCA_ERROR_UNKNOWN if none. */
DOCA_EXPERIMENTAL doca_error_t gw__doca_from_errno(int err);
/* The other way: 0 or a negative errno. */
DOCA_EXPERIMENTAL int gw__doca_to_errno(doca_error_t error);

#endif
