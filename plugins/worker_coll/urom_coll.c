/* urom_coll.c: host half of worker_coll: one command a collective. Must not know channels. */
#include "urom_coll.h"

#include <string.h>

#include "coll_wire.h"

static uint64_t plugin;

struct mine {
	urom_coll_finished cb;
	union doca_data cookie;
};

doca_error_t urom_coll_init(uint64_t plugin_id, uint64_t version)
{
	if (version != COLL_VERSION)
		return DOCA_ERROR_UNSUPPORTED_VERSION;
	plugin = plugin_id;
	return DOCA_SUCCESS;
}

size_t urom_coll_type_size(enum urom_coll_type type)
{
	static const size_t sizes[UROM_COLL_TYPES] = { 1, 4, 8, 4, 8 };

	return type < UROM_COLL_TYPES ? sizes[type] : 0;
}

static void finished(struct doca_urom_worker_cmd_task *task, union doca_data task_user_data,
		     union doca_data ctx_user_data)
{
	doca_error_t r = doca_task_get_status(doca_urom_worker_cmd_task_as_task(task));
	struct mine m;

	(void)task_user_data;
	(void)ctx_user_data;
	memcpy(&m, doca_urom_worker_cmd_task_get_user_data(task), sizeof(m));
	doca_urom_worker_cmd_task_release(task);
	m.cb(r, m.cookie);
}

static void pack(struct urom_packer *p, const struct urom_coll_team *team, const struct urom_coll_args *a)
{
	urom_put_u32(p, a->kind);
	urom_put_u32(p, a->type);
	urom_put_u32(p, a->op);
	urom_put_u32(p, team->id);
	urom_put_u64(p, team->sequence);
	urom_put_u64(p, a->count);
	urom_put_u64(p, a->src_seg);
	urom_put_u64(p, a->src_offset);
	urom_put_u64(p, a->dst_seg);
	urom_put_u64(p, a->dst_offset);
	urom_put_u32(p, team->rank);
	urom_put_u32(p, team->size);
	for (uint32_t i = 0; i < team->size; i++)
		urom_put_u64(p, team->members[i]);
}

doca_error_t urom_coll_start(struct doca_urom_worker *worker_ctx, struct urom_coll_team *team,
			     const struct urom_coll_args *args, union doca_data cookie, urom_coll_finished cb)
{
	const struct mine m = { cb, cookie };
	struct doca_urom_worker_cmd_task *task;
	struct urom_packer p;
	void *at = NULL;
	size_t cap = 0;
	doca_error_t r;

	if (!team || !args || !cb || !team->size || team->size > COLL_MAX_RANKS || team->rank >= team->size)
		return DOCA_ERROR_INVALID_VALUE;
	r = doca_urom_worker_cmd_task_allocate_init(worker_ctx, plugin, &task);
	if (r != DOCA_SUCCESS)
		return r;
	doca_buf_get_data(doca_urom_worker_cmd_task_get_payload(task), &at);
	doca_buf_get_data_len(doca_urom_worker_cmd_task_get_payload(task), &cap);
	p = urom_packer(at, cap);
	pack(&p, team, args);
	memcpy(doca_urom_worker_cmd_task_get_user_data(task), &m, sizeof(m));
	doca_urom_worker_cmd_task_set_cb(task, finished);
	r = p.bad ? DOCA_ERROR_TOO_BIG :
		    doca_buf_set_data(doca_urom_worker_cmd_task_get_payload(task), at, p.len);
	if (r == DOCA_SUCCESS)
		r = doca_task_submit(doca_urom_worker_cmd_task_as_task(task));
	if (r != DOCA_SUCCESS)
		doca_urom_worker_cmd_task_release(task);
	else
		team->sequence++;
	return r;
}
