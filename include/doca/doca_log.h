/* doca_log.h: lines to stderr or a file, for programs and for the doca libraries themselves.
 * Must not know any object. Next: src/doca/log.c.
 *
 * The libraries are silent unless asked: DOCA_GPUNETIO_LOG=0..7 in the environment (0 emergencies only,
 * the default; 3 errors, 4 warnings, 6 information, 7 everything) or doca_log_backend_set_sdk_level().
 * Program lines (DOCA_LOG_*) are printed from INFO up once doca_log_backend_create_standard() was called. */
#ifndef DOCA_LOG_H_
#define DOCA_LOG_H_

#include <stdint.h>
#include <stdio.h>

#include "doca_error.h"

DOCA_BEGIN_DECLS

enum doca_log_level {
	DOCA_LOG_LEVEL_DISABLE = 10,
	DOCA_LOG_LEVEL_CRIT = 20,
	DOCA_LOG_LEVEL_ERROR = 30,
	DOCA_LOG_LEVEL_WARNING = 40,
	DOCA_LOG_LEVEL_INFO = 50,
	DOCA_LOG_LEVEL_DEBUG = 60,
	DOCA_LOG_LEVEL_TRACE = 70,
};

struct doca_log_backend;

/* Program lines go to stderr. Returns SUCCESS, or ALREADY_EXIST. Threads: before any is started. */
DOCA_STABLE doca_error_t doca_log_backend_create_standard(void);
/* Library lines (sdk) or program lines go to an open stream, which stays the caller's and must outlive
 * the last line. Returns SUCCESS; INVALID_VALUE: NULL. *backend is a name for the two level calls and
 * is never freed. Threads: before any is started. */
DOCA_STABLE doca_error_t doca_log_backend_create_with_file(FILE *f, struct doca_log_backend **backend);
DOCA_STABLE doca_error_t doca_log_backend_create_with_file_sdk(FILE *f, struct doca_log_backend **backend);
/* Lines above the level (a number of enum doca_log_level) are dropped. INVALID_VALUE: out of range. */
DOCA_STABLE doca_error_t doca_log_backend_set_sdk_level(struct doca_log_backend *backend, uint32_t level);
DOCA_STABLE doca_error_t doca_log_level_set_global_lower_limit(uint32_t level);
DOCA_STABLE doca_error_t doca_log_level_set_global_sdk_limit(uint32_t level);

/* One program line; use the macros. Threads: any. */
DOCA_STABLE void doca_log_line(uint32_t level, const char *source, const char *file, int line, const char *fmt,
			       ...) __attribute__((format(printf, 5, 6)));

#define DOCA_LOG_REGISTER(source)                                                                  \
	static const char *const doca_log_source __attribute__((unused)) = #source
#define DOCA_LOG(level, ...) doca_log_line(level, doca_log_source, __FILE__, __LINE__, __VA_ARGS__)
#define DOCA_LOG_CRIT(...) DOCA_LOG(DOCA_LOG_LEVEL_CRIT, __VA_ARGS__)
#define DOCA_LOG_ERR(...) DOCA_LOG(DOCA_LOG_LEVEL_ERROR, __VA_ARGS__)
#define DOCA_LOG_WARN(...) DOCA_LOG(DOCA_LOG_LEVEL_WARNING, __VA_ARGS__)
#define DOCA_LOG_INFO(...) DOCA_LOG(DOCA_LOG_LEVEL_INFO, __VA_ARGS__)
#define DOCA_LOG_DBG(...) DOCA_LOG(DOCA_LOG_LEVEL_DEBUG, __VA_ARGS__)
#define DOCA_LOG_TRC(...) DOCA_LOG(DOCA_LOG_LEVEL_TRACE, __VA_ARGS__)

DOCA_END_DECLS

#endif
