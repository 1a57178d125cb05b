/* doca/log.h: one library line, to the sink that doca_log.h describes.
 * Must not know who logs. Next: log.c. */
#ifndef GW_DOCA_LOG_H
#define GW_DOCA_LOG_H

#include <doca/doca_log.h>

DOCA_EXPERIMENTAL void gw__doca_log(uint32_t level, const char *func, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#define gw__doca_err(...) gw__doca_log(DOCA_LOG_LEVEL_ERROR, __func__, __VA_ARGS__)
#define gw__doca_warn(...) gw__doca_log(DOCA_LOG_LEVEL_WARNING, __func__, __VA_ARGS__)
#define gw__doca_info(...) gw__doca_log(DOCA_LOG_LEVEL_INFO, __func__, __VA_ARGS__)
#define gw__doca_debug(...) gw__doca_log(DOCA_LOG_LEVEL_DEBUG, __func__, __VA_ARGS__)

#endif
