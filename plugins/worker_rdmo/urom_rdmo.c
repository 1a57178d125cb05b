/* urom_rdmo.c: the target's half: five commands to its worker. Must not know channels. Next: initiator.c. */
#include "urom_rdmo.h"

#include <string.h>

#include "rdmo_wire.h"

static uint64_t plugin;

struct mine {
	urom_rdmo_finished cb;
	union doca_data cookie;
	uint64_t type;
};

doca_error_t urom_rdmo_init(uint64_t plugin_id, uint64_t version)
{
	if (version != RDMO_VERSION)
		return DOCA_ERROR_UNSUPPORTED_VERSION;
	plugin = plugin_id;
	return DOCA_SUCCESS;
}

static void finished(struct doca_urom_worker_cmd_task *task, union doca_data task_user_data,
		     union doca_data ctx_user_data)
{
	struct doca_buf *response = doca_urom_worker_cmd_task_get_response(task);
	doca_error_t r = doca_task_get_status(doca_urom_worker_cmd_task_as_task(task));
	const void *addr = NULL;
	struct urom_unpacker u;
	uint64_t value = 0;
	size_t len = 0, addr_len = 0;
	void *at = NULL;
	struct mine m;

	(void)task_user_data;
	(void)ctx_user_data;
	memcpy(&m, doca_urom_worker_cmd_task_get_user_data(task), sizeof(m));
	if (r == DOCA_SUCCESS) {
		doca_buf_get_data(response, &at);
		doca_buf_get_data_len(response, &len);
		u = urom_unpacker(at, len);
		if (urom_get_u32(&u) != m.type)
			r = DOCA_ERROR_UNEXPECTED;
		else if (m.type == RDMO_CLIENT_INIT)
			addr = urom_get_blob(&u, len, &addr_len);
		else if (m.type == RDMO_RQ_CREATE || m.type == RDMO_MR_REG)
			value = urom_get_u64(&u);
		if (!urom_unpacked(&u))
			r = DOCA_ERROR_UNEXPECTED;
	}
	m.cb(r, m.cookie, value, addr, addr_len);
	doca_urom_worker_cmd_task_release(task);
}

static doca_error_t command(struct doca_urom_worker *w, union doca_data cookie, uint32_t type, const uint64_t *args,
			    int n, urom_rdmo_finished cb)
{
	const struct mine m = { cb, cookie, type };
	struct doca_urom_worker_cmd_task *task;
	struct urom_packer p;
	void *at = NULL;
	size_t cap = 0;
	doca_error_t r = doca_urom_worker_cmd_task_allocate_init(w, plugin, &task);

	if (r != DOCA_SUCCESS)
		return r;
	doca_buf_get_data(doca_urom_worker_cmd_task_get_payload(task), &at);
	doca_buf_get_data_len(doca_urom_worker_cmd_task_get_payload(task), &cap);
	p = urom_packer(at, cap);
	urom_put_u32(&p, type);
	for (int i = 0; i < n; i++)
		urom_put_u64(&p, args[i]);
	memcpy(doca_urom_worker_cmd_task_get_user_data(task), &m, sizeof(m));
	doca_urom_worker_cmd_task_set_cb(task, finished);
	r = p.bad ? DOCA_ERROR_TOO_BIG :
		    doca_buf_set_data(doca_urom_worker_cmd_task_get_payload(task), at, p.len);
	if (r == DOCA_SUCCESS)
		r = doca_task_submit(doca_urom_worker_cmd_task_as_task(task));
	if (r != DOCA_SUCCESS)
		doca_urom_worker_cmd_task_release(task);
	return r;
}

doca_error_t urom_rdmo_task_client_init(struct doca_urom_worker *w, union doca_data cookie, uint64_t id,
					urom_rdmo_finished cb)
{
	return command(w, cookie, RDMO_CLIENT_INIT, &id, 1, cb);
}

doca_error_t urom_rdmo_task_rq_create(struct doca_urom_worker *w, union doca_data cookie, uint64_t client,
				      urom_rdmo_finished cb)
{
	return command(w, cookie, RDMO_RQ_CREATE, &client, 1, cb);
}

doca_error_t urom_rdmo_task_rq_destroy(struct doca_urom_worker *w, union doca_data cookie, uint64_t rq,
				       urom_rdmo_finished cb)
{
	return command(w, cookie, RDMO_RQ_DESTROY, &rq, 1, cb);
}

doca_error_t urom_rdmo_task_mr_reg(struct doca_urom_worker *w, union doca_data cookie, uint64_t va, uint64_t seg,
				   uint64_t offset, uint64_t len, urom_rdmo_finished cb)
{
	const uint64_t args[] = { va, seg, offset, len };

	return command(w, cookie, RDMO_MR_REG, args, 4, cb);
}

doca_error_t urom_rdmo_task_mr_dereg(struct doca_urom_worker *w, union doca_data cookie, uint64_t rkey,
				     urom_rdmo_finished cb)
{
	return command(w, cookie, RDMO_MR_DEREG, &rkey, 1, cb);
}
