/* doca_buf.h: a window (data) inside a block of memory (head), passed with tasks.
 * Must not know where the memory came from. Next: src/doca/buf.c. */
#ifndef DOCA_BUF_H_
#define DOCA_BUF_H_

#include "doca_error.h"
#include "doca_types.h"

DOCA_BEGIN_DECLS

struct doca_buf;

/* head, len: the whole block. data, data_len: the window in use. All return INVALID_VALUE on NULL.
 * Threads: the buffer's owner. Blocks: no. */
DOCA_STABLE doca_error_t doca_buf_get_head(const struct doca_buf *buf, void **head);
DOCA_STABLE doca_error_t doca_buf_get_len(const struct doca_buf *buf, size_t *len);
DOCA_STABLE doca_error_t doca_buf_get_data(const struct doca_buf *buf, void **data);
DOCA_STABLE doca_error_t doca_buf_get_data_len(const struct doca_buf *buf, size_t *data_len);
/* The window must lie inside the block: INVALID_VALUE otherwise. */
DOCA_STABLE doca_error_t doca_buf_set_data(struct doca_buf *buf, void *data, size_t data_len);
/* The window becomes empty, at the head. */
DOCA_STABLE doca_error_t doca_buf_reset_data_len(struct doca_buf *buf);
DOCA_STABLE doca_error_t doca_buf_get_refcount(const struct doca_buf *buf, uint16_t *refcount);
/* Previous count in *refcount unless NULL. A task's buffers are freed with the task, so the last
 * reference stays: decreasing it is NOT_PERMITTED. */
DOCA_STABLE doca_error_t doca_buf_inc_refcount(struct doca_buf *buf, uint16_t *refcount);
DOCA_STABLE doca_error_t doca_buf_dec_refcount(struct doca_buf *buf, uint16_t *refcount);

DOCA_END_DECLS

#endif
