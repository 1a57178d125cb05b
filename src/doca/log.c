/* doca/log.c: program lines and library lines, each with a stream and a limit.
 * Must not allocate or know objects. Next: include/doca/doca_log.h. */
#include "doca/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The two backends exist always; "create" only opens the tap. */
struct doca_log_backend {
	_Atomic(FILE *) stream;
	_Atomic uint32_t limit; /* 0 = not decided yet */
};

static struct doca_log_backend program = { .limit = DOCA_LOG_LEVEL_INFO };
static struct doca_log_backend sdk;

/* DOCA_GPUNETIO_LOG=0..7 (syslog numbers) -> our limit. 0..1 print nothing that the library has. */
static uint32_t limit_from_env(void)
{
	static const uint32_t map[8] = {
		DOCA_LOG_LEVEL_DISABLE, DOCA_LOG_LEVEL_DISABLE, DOCA_LOG_LEVEL_CRIT, DOCA_LOG_LEVEL_ERROR,
		DOCA_LOG_LEVEL_WARNING, DOCA_LOG_LEVEL_WARNING, DOCA_LOG_LEVEL_INFO, DOCA_LOG_LEVEL_TRACE,
	};
	const char *s = getenv("DOCA_GPUNETIO_LOG");

	if (!s || s[0] < '0' || s[0] > '7' || s[1])
		return DOCA_LOG_LEVEL_DISABLE;
	return map[s[0] - '0'];
}

static const char *level_name(uint32_t level)
{
	static const char *const names[] = { "CRT", "ERR", "WRN", "INF", "DBG", "TRC" };

	return level >= DOCA_LOG_LEVEL_CRIT && level <= DOCA_LOG_LEVEL_TRACE ? names[level / 10 - 2] : "???";
}

static void put_line(FILE *f, uint32_t level, const char *where, int line, const char *fmt, va_list ap)
	__attribute__((format(printf, 5, 0)));

static void put_line(FILE *f, uint32_t level, const char *where, int line, const char *fmt, va_list ap)
{
	char text[1024], stamp[32];
	struct timespec now;
	struct tm tm;

	clock_gettime(CLOCK_REALTIME, &now);
	localtime_r(&now.tv_sec, &tm);
	strftime(stamp, sizeof(stamp), "%H:%M:%S", &tm);
	vsnprintf(text, sizeof(text), fmt, ap);
	if (line)
		fprintf(f, "[%s:%06ld][DOCA][%s][%s:%d] %s\n", stamp, now.tv_nsec / 1000, level_name(level),
			where, line, text);
	else
		fprintf(f, "[%s:%06ld][DOCA][%s][%s] %s\n", stamp, now.tv_nsec / 1000, level_name(level), where,
			text);
	fflush(f);
}

static uint32_t sdk_limit(void)
{
	uint32_t limit = atomic_load_explicit(&sdk.limit, memory_order_relaxed);

	if (!limit) {
		limit = limit_from_env();
		atomic_store_explicit(&sdk.limit, limit, memory_order_relaxed);
	}
	return limit;
}

void gw__doca_log(uint32_t level, const char *func, const char *fmt, ...)
{
	FILE *f = atomic_load_explicit(&sdk.stream, memory_order_acquire);
	va_list ap;

	if (level > sdk_limit())
		return;
	va_start(ap, fmt);
	put_line(f ? f : stderr, level, func, 0, fmt, ap);
	va_end(ap);
}

void doca_log_line(uint32_t level, const char *source, const char *file, int line, const char *fmt, ...)
{
	FILE *f = atomic_load_explicit(&program.stream, memory_order_acquire);
	va_list ap;

	if (!f || level > atomic_load_explicit(&program.limit, memory_order_relaxed))
		return;
	va_start(ap, fmt);
	put_line(f, level, source, line, fmt, ap);
	va_end(ap);
}

static doca_error_t open_tap(struct doca_log_backend *b, FILE *f, struct doca_log_backend **out)
{
	if (!f || !out)
		return DOCA_ERROR_INVALID_VALUE;
	atomic_store_explicit(&b->stream, f, memory_order_release);
	*out = b;
	return DOCA_SUCCESS;
}

doca_error_t doca_log_backend_create_standard(void)
{
	FILE *none = NULL;

	return atomic_compare_exchange_strong(&program.stream, &none, stderr) ? DOCA_SUCCESS :
										DOCA_ERROR_ALREADY_EXIST;
}

doca_error_t doca_log_backend_create_with_file(FILE *f, struct doca_log_backend **backend)
{
	return open_tap(&program, f, backend);
}

doca_error_t doca_log_backend_create_with_file_sdk(FILE *f, struct doca_log_backend **backend)
{
	return open_tap(&sdk, f, backend);
}

static doca_error_t set_limit(struct doca_log_backend *b, uint32_t level)
{
	if (!b || level < DOCA_LOG_LEVEL_DISABLE || level > DOCA_LOG_LEVEL_TRACE)
		return DOCA_ERROR_INVALID_VALUE;
	atomic_store_explicit(&b->limit, level, memory_order_relaxed);
	return DOCA_SUCCESS;
}

doca_error_t doca_log_backend_set_sdk_level(struct doca_log_backend *backend, uint32_t level)
{
	return set_limit(backend, level);
}

doca_error_t doca_log_level_set_global_lower_limit(uint32_t level)
{
	return set_limit(&program, level);
}

doca_error_t doca_log_level_set_global_sdk_limit(uint32_t level)
{
	return set_limit(&sdk, level);
}
