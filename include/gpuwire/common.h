/* gpuwire/common.h: what every other public header leans on: export mark, diagnosis, log sink.
 *
 * Errors everywhere: 0 or a count on success, a negative errno on failure. Meanings that are fixed:
 * EINVAL caller's mistake, ENOTSUP not available here, ENOBUFS pool empty, EAGAIN try later, EBUSY in
 * use, EPROTO bad bytes, EMSGSIZE too big, ENODEV or EIO the port is gone, ENOMEM no memory. */
#ifndef GPUWIRE_COMMON_H
#define GPUWIRE_COMMON_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GW_API __attribute__((visibility("default")))
#define GW_MUST_CHECK __attribute__((warn_unused_result))
#define GW_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

#define GW_MAX_SEGS 4u        /* segments of one packet (header-data split: 2) */
#define GW_MAX_PORTS 4u       /* interfaces in one configuration */
#define GW_MAX_QUEUES 32u     /* receive queues, and as many transmit queues */

/* One human sentence about a refusal: the thing, the bound and the fix. Always NUL-terminated.
 * Optional everywhere it appears (pass NULL). Written only on failure. */
struct gw_diag {
	char text[512];
};

/* ---- log sink ------------------------------------------------------------------------------- */

enum gw_log_level {
	GW_LOG_TRACE,
	GW_LOG_DEBUG,
	GW_LOG_INFO,
	GW_LOG_WARN,
	GW_LOG_ERROR,
	GW_LOG_CRITICAL,
	GW_LOG_OFF,
};

typedef void (*gw_log_fn)(void *ctx, enum gw_log_level level, const char *line);

/* Where the library's log lines go; without a sink they go nowhere (the library never prints).
 *   fn     called with one line, no newline, from any of the library's threads; NULL = silence
 *   level  lines below it are not formatted at all
 * Returns nothing. Threads: call before gw_open(); the sink itself must be thread-safe. Ownership: ctx
 * stays the caller's and must outlive every gw object. Blocks: no. */
GW_API void gw_log_set(gw_log_fn fn, void *ctx, enum gw_log_level level);

#ifdef __cplusplus
}
#endif
#endif
