/* ingest/version.c: which library this is; the number comes from the file VERSION through the build.
 * Must not know anything else. Next: include/gpuwire/version.h. */
#include <gpuwire/version.h>

const char *gw_version(void)
{
	return GW_VERSION;
}
