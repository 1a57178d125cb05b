/* data/target.h: may a finished file take this name? Files are written beside it and renamed over it, which would
 * put a file in place of a device or a link. Must not know what is written. */
#ifndef GW_DATA_TARGET_H
#define GW_DATA_TARGET_H

#include <errno.h>
#include <sys/stat.h>

#include "base/diag.h"

/* 0 if nothing or an ordinary file stands there; -EINVAL else, with the name. */
static inline int gw__target_check(const char *path, struct gw_diag *diag)
{
	struct stat st;

	if (lstat(path, &st) || S_ISREG(st.st_mode))
		return 0;
	return gw__fail(diag, -EINVAL, "%s: is a %s, not a file that can be replaced; name an ordinary file", path,
			S_ISLNK(st.st_mode) ? "link" : S_ISDIR(st.st_mode) ? "folder" : "device or pipe");
}

#endif
