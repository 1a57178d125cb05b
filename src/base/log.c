/* base/log.c: the log sink. The library itself never prints. */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

static struct {
	gw_log_fn fn;
	void *ctx;
	enum gw_log_level level;
} sink = { .level = GW_LOG_OFF };

void gw_log_set(gw_log_fn fn, void *ctx, enum gw_log_level level)
{
	sink.fn = fn;
	sink.ctx = ctx;
	sink.level = fn ? level : GW_LOG_OFF;
}

int gw__log_on(enum gw_log_level level)
{
	return level >= sink.level && sink.fn;
}

void gw__log(enum gw_log_level level, const char *fmt, ...)
{
	char line[1024];
	va_list ap;

	if (!gw__log_on(level))
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	sink.fn(sink.ctx, level, line);
}
