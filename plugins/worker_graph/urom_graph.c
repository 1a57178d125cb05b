/* urom_graph.c: host half of worker_graph: pack, submit, unpack. Must not know channels. */
#include "urom_graph.h"

#include <string.h>

#include "graph_wire.h"

static uint64_t plugin;

struct mine {
	urom_graph_loopback_finished cb;
	union doca_data cookie;
};

doca_error_t urom_graph_init(uint64_t plugin_id, uint64_t version)
{
	if (version != GRAPH_VERSION)
		return DOCA_ERROR_UNSUPPORTED_VERSION;
	plugin = plugin_id;
	return DOCA_SUCCESS;
}

static void finished(struct doca_urom_worker_cmd_task *task, union doca_data task_user_data,
		     union doca_data ctx_user_data)
{
	struct doca_buf *response = doca_urom_worker_cmd_task_get_response(task);
	doca_error_t r = doca_task_get_status(doca_urom_worker_cmd_task_as_task(task));
	struct urom_unpacker u;
	uint64_t data = 0;
	struct mine m;
	void *at = NULL;
	size_t len = 0;

	(void)task_user_data;
	(void)ctx_user_data;
	memcpy(&m, doca_urom_worker_cmd_task_get_user_data(task), sizeof(m));
	if (r == DOCA_SUCCESS) {
		doca_buf_get_data(response, &at);
		doca_buf_get_data_len(response, &len);
		u = urom_unpacker(at, len);
		data = urom_get_u64(&u);
		if (!urom_unpacked(&u)) {
			r = DOCA_ERROR_UNEXPECTED;
			data = 0;
		}
	}
	doca_urom_worker_cmd_task_release(task);
	m.cb(r, m.cookie, data);
}

doca_error_t urom_graph_task_loopback(struct doca_urom_worker *worker_ctx, union doca_data cookie, uint64_t data,
				      urom_graph_loopback_finished cb)
{
	struct doca_urom_worker_cmd_task *task;
	const struct mine m = { cb, cookie };
	struct doca_buf *payload;
	struct urom_packer p;
	void *at = NULL;
	size_t cap = 0;
	doca_error_t r = doca_urom_worker_cmd_task_allocate_init(worker_ctx, plugin, &task);

	if (r != DOCA_SUCCESS)
		return r;
	payload = doca_urom_worker_cmd_task_get_payload(task);
	doca_buf_get_data(payload, &at);
	doca_buf_get_data_len(payload, &cap);
	p = urom_packer(at, cap);
	urom_put_u32(&p, GRAPH_LOOPBACK);
	urom_put_u64(&p, data);
	memcpy(doca_urom_worker_cmd_task_get_user_data(task), &m, sizeof(m));
	doca_urom_worker_cmd_task_set_cb(task, finished);
	r = p.bad ? DOCA_ERROR_TOO_BIG : doca_buf_set_data(payload, at, p.len);
	if (r == DOCA_SUCCESS)
		r = doca_task_submit(doca_urom_worker_cmd_task_as_task(task));
	if (r != DOCA_SUCCESS)
		doca_urom_worker_cmd_task_release(task);
	return r;
}
