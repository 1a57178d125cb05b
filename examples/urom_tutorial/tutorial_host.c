/* tutorial_host.c: the other half: send a word to the worker, print what comes back. */
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "urom_common.h"

static int finished;

static void answer(struct doca_urom_worker_cmd_task *task, union doca_data task_data, union doca_data ctx_data)
{
	struct doca_buf *response = doca_urom_worker_cmd_task_get_response(task);
	doca_error_t r = doca_task_get_status(doca_urom_worker_cmd_task_as_task(task));
	void *at = NULL;
	size_t len = 0;

	(void)task_data;
	(void)ctx_data;
	if (response) {
		doca_buf_get_data(response, &at); /* valid during this call */
		doca_buf_get_data_len(response, &len);
	}
	printf("%s: %.*s\n", doca_error_get_name(r), (int)len, at ? (char *)at : "");
	finished = r == DOCA_SUCCESS ? 1 : -1;
	doca_urom_worker_cmd_task_release(task);
}

static doca_error_t ask(struct doca_urom_worker *w, uint64_t plugin, const char *word)
{
	struct doca_urom_worker_cmd_task *task;
	struct doca_buf *payload;
	void *at;
	doca_error_t r = doca_urom_worker_cmd_task_allocate_init(w, plugin, &task);

	if (r != DOCA_SUCCESS)
		return r;
	payload = doca_urom_worker_cmd_task_get_payload(task);
	doca_buf_get_data(payload, &at); /* write the command in place ... */
	memcpy(at, word, strlen(word));
	doca_buf_set_data(payload, at, strlen(word)); /* ... and say how much of it there is */
	doca_urom_worker_cmd_task_set_cb(task, answer);
	r = doca_task_submit(doca_urom_worker_cmd_task_as_task(task));
	if (r != DOCA_SUCCESS)
		doca_urom_worker_cmd_task_release(task);
	return r;
}

int main(int argc, char **argv)
{
	struct urom_worker_spec spec = { .id = DOCA_UROM_WORKER_ID_ANY };
	const char *word = argc > 1 ? argv[1] : "hello";
	struct doca_urom_worker *w = NULL;
	struct urom_session s;
	uint64_t version;

	if (strlen(word) > 1024 || urom_session_open(&s, "mlx5_0", 1, 4096) != DOCA_SUCCESS)
		return 1;
	if (urom_find_plugin(&s, "tutorial_upper", &spec.plugins, &version) == DOCA_SUCCESS &&
	    urom_worker_open(s.service, s.pe, &spec, &w) == DOCA_SUCCESS && ask(w, spec.plugins, word) == DOCA_SUCCESS)
		while (!finished) /* a worker that dies completes its tasks too */
			if (!doca_pe_progress(s.pe))
				sched_yield();
	if (w)
		urom_worker_close(s.pe, w);
	urom_session_close(&s);
	return finished == 1 ? 0 : 1;
}
