/* doca/buf.c: a window inside a block. Must not know what the bytes mean. Next: buf.h. */
#include "doca/buf.h"

void gw__doca_buf_init(struct doca_buf *buf, void *head, size_t len, size_t data_len)
{
	buf->head = head;
	buf->len = len;
	buf->data = head;
	buf->data_len = data_len;
	buf->refs = 1;
}

doca_error_t doca_buf_get_head(const struct doca_buf *buf, void **head)
{
	if (!buf || !head)
		return DOCA_ERROR_INVALID_VALUE;
	*head = buf->head;
	return DOCA_SUCCESS;
}

doca_error_t doca_buf_get_len(const struct doca_buf *buf, size_t *len)
{
	if (!buf || !len)
		return DOCA_ERROR_INVALID_VALUE;
	*len = buf->len;
	return DOCA_SUCCESS;
}

doca_error_t doca_buf_get_data(const struct doca_buf *buf, void **data)
{
	if (!buf || !data)
		return DOCA_ERROR_INVALID_VALUE;
	*data = buf->data;
	return DOCA_SUCCESS;
}

doca_error_t doca_buf_get_data_len(const struct doca_buf *buf, size_t *data_len)
{
	if (!buf || !data_len)
		return DOCA_ERROR_INVALID_VALUE;
	*data_len = buf->data_len;
	return DOCA_SUCCESS;
}

doca_error_t doca_buf_set_data(struct doca_buf *buf, void *data, size_t data_len)
{
	uintptr_t head, at = (uintptr_t)data;

	if (!buf || !data)
		return DOCA_ERROR_INVALID_VALUE;
	head = (uintptr_t)buf->head;
	if (at < head || at - head > buf->len || data_len > buf->len - (at - head))
		return DOCA_ERROR_INVALID_VALUE;
	buf->data = data;
	buf->data_len = data_len;
	return DOCA_SUCCESS;
}

doca_error_t doca_buf_reset_data_len(struct doca_buf *buf)
{
	if (!buf)
		return DOCA_ERROR_INVALID_VALUE;
	buf->data = buf->head;
	buf->data_len = 0;
	return DOCA_SUCCESS;
}

doca_error_t doca_buf_get_refcount(const struct doca_buf *buf, uint16_t *refcount)
{
	if (!buf || !refcount)
		return DOCA_ERROR_INVALID_VALUE;
	*refcount = buf->refs;
	return DOCA_SUCCESS;
}

doca_error_t doca_buf_inc_refcount(struct doca_buf *buf, uint16_t *refcount)
{
	if (!buf)
		return DOCA_ERROR_INVALID_VALUE;
	if (buf->refs == UINT16_MAX)
		return DOCA_ERROR_NOT_PERMITTED;
	if (refcount)
		*refcount = buf->refs;
	buf->refs++;
	return DOCA_SUCCESS;
}

doca_error_t doca_buf_dec_refcount(struct doca_buf *buf, uint16_t *refcount)
{
	if (!buf)
		return DOCA_ERROR_INVALID_VALUE;
	if (buf->refs <= 1)
		return DOCA_ERROR_NOT_PERMITTED;
	if (refcount)
		*refcount = buf->refs;
	buf->refs--;
	return DOCA_SUCCESS;
}
