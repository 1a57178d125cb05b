/* doca_types.h: the small types that several objects share.
 * Must not know any object. Next: doca_ctx.h. */
#ifndef DOCA_TYPES_H_
#define DOCA_TYPES_H_

#include <stddef.h>
#include <stdint.h>

#include "doca_compat.h"

DOCA_BEGIN_DECLS

/* A cookie: whatever the caller wants to find again in a callback. */
union doca_data {
	void *ptr;
	uint64_t u64;
};

/* What doca_pe_get_notification_handle() hands out: a file descriptor for poll or epoll. */
typedef int doca_event_handle_t;
typedef doca_event_handle_t doca_notification_handle_t;
#define doca_event_invalid_handle (-1)

DOCA_END_DECLS

#endif
