/* base/diag.h: fill a gw_diag and return the error in one expression. */
#ifndef GW_BASE_DIAG_H
#define GW_BASE_DIAG_H

#include <gpuwire/common.h>

/* return gw__fail(diag, -EINVAL, "queue %d: batch_size %u is above %u slots; use at most %u", ...); */
int gw__fail(struct gw_diag *diag, int err, const char *fmt, ...) GW_PRINTF(3, 4);

#endif
