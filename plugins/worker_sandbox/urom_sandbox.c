/* urom_sandbox.c: host half of worker_sandbox: pack, submit, unpack. Must not know channels. */
#include "urom_sandbox.h"

#include <string.h>

#include "sandbox_wire.h"

static uint64_t plugin;

/* 32 bytes: what a task remembers. The type is in the answer too, but a failed task has none. */
struct mine {
	union {
		urom_sandbox_tag_send_finished send;
		urom_sandbox_tag_recv_finished recv;
		urom_sandbox_mem_map_finished map;
	} cb;
	union doca_data cookie;
	uint64_t context;
	uint64_t type;
};

doca_error_t urom_sandbox_init(uint64_t plugin_id, uint64_t version)
{
	if (version != SANDBOX_VERSION)
		return DOCA_ERROR_UNSUPPORTED_VERSION;
	plugin = plugin_id;
	return DOCA_SUCCESS;
}

static void call_back(const struct mine *m, doca_error_t r, const void *at, size_t len)
{
	struct urom_unpacker u = urom_unpacker(at, len);
	struct urom_sandbox_recv_result got = { NULL, 0, 0 };
	uint64_t memh = 0;
	size_t n;

	if (r == DOCA_SUCCESS && urom_get_u32(&u) != m->type)
		r = DOCA_ERROR_UNEXPECTED;
	if (r == DOCA_SUCCESS && m->type == SANDBOX_MEM_MAP)
		memh = urom_get_u64(&u);
	if (r == DOCA_SUCCESS && m->type == SANDBOX_TAG_RECV) {
		got.sender_tag = urom_get_u64(&u);
		got.count = urom_get_u64(&u);
		if (u.at < u.len) {
			got.buffer = urom_get_blob(&u, len, &n);
			u.bad |= n != got.count;
		}
	}
	if (r == DOCA_SUCCESS && !urom_unpacked(&u))
		r = DOCA_ERROR_UNEXPECTED;
	if (m->type == SANDBOX_TAG_SEND)
		m->cb.send(r, m->cookie, m->context);
	else if (m->type == SANDBOX_MEM_MAP)
		m->cb.map(r, m->cookie, m->context, r == DOCA_SUCCESS ? memh : 0);
	else
		m->cb.recv(r, m->cookie, m->context, &got);
}

static void finished(struct doca_urom_worker_cmd_task *task, union doca_data task_user_data,
		     union doca_data ctx_user_data)
{
	struct doca_buf *response = doca_urom_worker_cmd_task_get_response(task);
	doca_error_t r = doca_task_get_status(doca_urom_worker_cmd_task_as_task(task));
	struct mine m;
	void *at = NULL;
	size_t len = 0;

	(void)task_user_data;
	(void)ctx_user_data;
	memcpy(&m, doca_urom_worker_cmd_task_get_user_data(task), sizeof(m));
	if (response) {
		doca_buf_get_data(response, &at);
		doca_buf_get_data_len(response, &len);
	}
	call_back(&m, r, at, len);
	doca_urom_worker_cmd_task_release(task);
}

static doca_error_t begin(struct doca_urom_worker *w, struct doca_urom_worker_cmd_task **task, struct urom_packer *p,
			  uint32_t type)
{
	void *at = NULL;
	size_t cap = 0;
	doca_error_t r = doca_urom_worker_cmd_task_allocate_init(w, plugin, task);

	if (r != DOCA_SUCCESS)
		return r;
	doca_buf_get_data(doca_urom_worker_cmd_task_get_payload(*task), &at);
	doca_buf_get_data_len(doca_urom_worker_cmd_task_get_payload(*task), &cap);
	*p = urom_packer(at, cap);
	urom_put_u32(p, type);
	return DOCA_SUCCESS;
}

static doca_error_t submit(struct doca_urom_worker_cmd_task *task, struct urom_packer *p, const struct mine *m)
{
	doca_error_t r = p->bad ? DOCA_ERROR_TOO_BIG :
				  doca_buf_set_data(doca_urom_worker_cmd_task_get_payload(task), p->buf, p->len);

	memcpy(doca_urom_worker_cmd_task_get_user_data(task), m, sizeof(*m));
	doca_urom_worker_cmd_task_set_cb(task, finished);
	if (r == DOCA_SUCCESS)
		r = doca_task_submit(doca_urom_worker_cmd_task_as_task(task));
	if (r != DOCA_SUCCESS)
		doca_urom_worker_cmd_task_release(task);
	return r;
}

doca_error_t urom_sandbox_task_mem_map(struct doca_urom_worker *worker_ctx, union doca_data cookie, uint64_t context,
				       uint64_t seg, urom_sandbox_mem_map_finished cb)
{
	const struct mine m = { .cb.map = cb, .cookie = cookie, .context = context, .type = SANDBOX_MEM_MAP };
	struct doca_urom_worker_cmd_task *task;
	struct urom_packer p;
	doca_error_t r = begin(worker_ctx, &task, &p, SANDBOX_MEM_MAP);

	if (r != DOCA_SUCCESS)
		return r;
	urom_put_u64(&p, seg);
	return submit(task, &p, &m);
}

doca_error_t urom_sandbox_tag_task_send(struct doca_urom_worker *worker_ctx, union doca_data cookie,
					uint64_t context, uint64_t dest, const void *buffer, uint64_t count,
					uint64_t tag, uint64_t memh_id, uint64_t offset,
					urom_sandbox_tag_send_finished cb)
{
	const struct mine m = { .cb.send = cb, .cookie = cookie, .context = context, .type = SANDBOX_TAG_SEND };
	struct doca_urom_worker_cmd_task *task;
	struct urom_packer p;
	doca_error_t r = begin(worker_ctx, &task, &p, SANDBOX_TAG_SEND);

	if (r != DOCA_SUCCESS)
		return r;
	urom_put_u64(&p, dest);
	urom_put_u64(&p, tag);
	urom_put_u64(&p, memh_id);
	urom_put_u64(&p, offset);
	urom_put_u64(&p, count);
	if (!memh_id)
		urom_put_blob(&p, buffer, (size_t)count);
	return submit(task, &p, &m);
}

doca_error_t urom_sandbox_tag_task_recv(struct doca_urom_worker *worker_ctx, union doca_data cookie,
					uint64_t context, uint64_t count, uint64_t tag, uint64_t tag_mask,
					uint64_t memh_id, uint64_t offset, urom_sandbox_tag_recv_finished cb)
{
	const struct mine m = { .cb.recv = cb, .cookie = cookie, .context = context, .type = SANDBOX_TAG_RECV };
	struct doca_urom_worker_cmd_task *task;
	struct urom_packer p;
	doca_error_t r = begin(worker_ctx, &task, &p, SANDBOX_TAG_RECV);

	if (r != DOCA_SUCCESS)
		return r;
	urom_put_u64(&p, tag);
	urom_put_u64(&p, tag_mask);
	urom_put_u64(&p, memh_id);
	urom_put_u64(&p, offset);
	urom_put_u64(&p, count);
	return submit(task, &p, &m);
}
