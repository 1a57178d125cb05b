/* doca/buf.h: a buffer that lives inside a task or another object.
 * Must not know what the bytes mean. Next: buf.c. */
#ifndef GW_DOCA_BUF_H
#define GW_DOCA_BUF_H

#include <doca/doca_buf.h>

struct doca_buf {
	unsigned char *head;
	size_t len;
	unsigned char *data;
	size_t data_len;
	uint16_t refs;
};

/* The memory stays the caller's and must outlive the buffer. The window is [0, data_len). */
DOCA_EXPERIMENTAL void gw__doca_buf_init(struct doca_buf *buf, void *head, size_t len, size_t data_len);

#endif
