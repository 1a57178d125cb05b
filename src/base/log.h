/* base/log.h: one line to the application's sink. Nothing is formatted below the level set. */
#ifndef GW_BASE_LOG_H
#define GW_BASE_LOG_H

#include <gpuwire/common.h>

void gw__log(enum gw_log_level level, const char *fmt, ...) GW_PRINTF(2, 3);
int gw__log_on(enum gw_log_level level);

#define gw__debug(...) gw__log(GW_LOG_DEBUG, __VA_ARGS__)
#define gw__info(...) gw__log(GW_LOG_INFO, __VA_ARGS__)
#define gw__warn(...) gw__log(GW_LOG_WARN, __VA_ARGS__)
#define gw__error(...) gw__log(GW_LOG_ERROR, __VA_ARGS__)

#endif
