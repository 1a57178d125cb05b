/* Tagged messages between workers: order, masks, sizes, handles, early arrivals; refusals; a peer that dies. */
#include "group.h"
#include "urom_sandbox.h"

static struct {
	int n_send, n_recv, n_map;
	doca_error_t result;
	uint64_t tag, count, context, memh;
	uint8_t bytes[4096];
} seen;

static void sent(doca_error_t r, union doca_data cookie, uint64_t context)
{
	seen.n_send++;
	seen.result = r;
	seen.context = context;
}

static void received(doca_error_t r, union doca_data cookie, uint64_t context,
		     const struct urom_sandbox_recv_result *got)
{
	seen.n_recv++;
	seen.result = r;
	seen.context = context;
	seen.tag = got->sender_tag;
	seen.count = got->count;
	if (got->buffer && got->count <= sizeof(seen.bytes))
		memcpy(seen.bytes, got->buffer, got->count);
}

static void mapped(doca_error_t r, union doca_data cookie, uint64_t context, uint64_t memh)
{
	seen.n_map++;
	seen.result = r;
	seen.memh = memh;
}

static void until(struct group *g, int *counter, int want)
{
	double end = now_s() + 15;

	while (*counter < want && now_s() < end)
		doca_pe_progress(g->s.pe);
	T_EQ(*counter, want);
}

static const union doca_data none = { .ptr = NULL };

static void send_one(struct group *g, int from, int to, uint64_t tag, const void *data, uint64_t n)
{
	int before = seen.n_send;

	T_EQ(urom_sandbox_tag_task_send(g->w[from], none, 9, g->ids[to], data, n, tag, UROM_SANDBOX_INLINE, 0, sent),
	     DOCA_SUCCESS);
	until(g, &seen.n_send, before + 1);
	T_EQ(seen.result, DOCA_SUCCESS);
	T_EQ(seen.context, 9);
}

static void recv_one(struct group *g, int at, uint64_t tag, uint64_t mask, uint64_t cap)
{
	int before = seen.n_recv;

	T_EQ(urom_sandbox_tag_task_recv(g->w[at], none, 8, cap, tag, mask, UROM_SANDBOX_INLINE, 0, received),
	     DOCA_SUCCESS);
	until(g, &seen.n_recv, before + 1);
}

static void messages(struct group *g)
{
	char text[3000];

	memset(text, 'x', sizeof(text));
	/* before anyone asked; then taken by tag, not in order */
	send_one(g, 0, 1, 0x11, "eleven", 7);
	send_one(g, 0, 1, 0x22, "twentytwo", 10);
	recv_one(g, 1, 0x22, UINT64_MAX, 100);
	T_STR((char *)seen.bytes, "twentytwo");
	recv_one(g, 1, 0, 0, 100); /* anything */
	T_STR((char *)seen.bytes, "eleven");
	T_EQ(seen.tag, 0x11);
	/* mask */
	send_one(g, 2, 1, 0xabcd1234, "m", 2);
	recv_one(g, 1, 0x1234, 0xffff, 100);
	T_EQ(seen.tag, 0xabcd1234);
	/* to oneself, and empty */
	send_one(g, 1, 1, 5, "self", 5);
	recv_one(g, 1, 5, UINT64_MAX, 100);
	T_STR((char *)seen.bytes, "self");
	send_one(g, 0, 1, 6, NULL, 0);
	recv_one(g, 1, 6, UINT64_MAX, 100);
	T_EQ(seen.count, 0);
	/* larger than the room: told, and the next one is unharmed */
	send_one(g, 0, 1, 7, text, sizeof(text));
	recv_one(g, 1, 7, UINT64_MAX, 100);
	T_EQ(seen.result, DOCA_ERROR_TOO_BIG);
	send_one(g, 0, 1, 7, text, sizeof(text));
	recv_one(g, 1, 7, UINT64_MAX, sizeof(text));
	T_EQ(seen.result, DOCA_SUCCESS);
	T_EQ(seen.count, sizeof(text));
	T_MEM(seen.bytes, text, sizeof(text));
}

static void large(struct group *g)
{
	struct doca_urom_mem *m[2];
	uint64_t seg, memh[2];
	size_t n = (5u << 20) + 3;

	for (int i = 0; i < 2; i++) {
		T_EQ(doca_urom_mem_create(n + 100, &m[i]), DOCA_SUCCESS);
		T_EQ(doca_urom_worker_share_mem(g->w[i], m[i], DOCA_UROM_MEM_READ | DOCA_UROM_MEM_WRITE, &seg),
		     DOCA_SUCCESS);
		T_EQ(urom_sandbox_task_mem_map(g->w[i], none, 0, seg, mapped), DOCA_SUCCESS);
		until(g, &seen.n_map, seen.n_map + 1);
		T_EQ(seen.result, DOCA_SUCCESS);
		memh[i] = seen.memh;
	}
	for (size_t i = 0; i < n; i++)
		((uint8_t *)doca_urom_mem_get_addr(m[0]))[i] = (uint8_t)(i * 31 >> 3);
	for (int early = 0; early < 2; early++) {
		seen.n_send = seen.n_recv = 0;
		memset(doca_urom_mem_get_addr(m[1]), 0, n + 100);
		if (!early)
			T_EQ(urom_sandbox_tag_task_recv(g->w[1], none, 0, n, 77, UINT64_MAX, memh[1], 100, received),
			     DOCA_SUCCESS);
		T_EQ(urom_sandbox_tag_task_send(g->w[0], none, 0, g->ids[1], NULL, n, 77, memh[0], 0, sent), DOCA_SUCCESS);
		for (int i = 0; i < 300; i++)
			doca_pe_progress(g->s.pe);
		if (early)
			T_EQ(urom_sandbox_tag_task_recv(g->w[1], none, 0, n, 77, UINT64_MAX, memh[1], 100, received),
			     DOCA_SUCCESS);
		until(g, &seen.n_recv, 1);
		until(g, &seen.n_send, 1);
		T_EQ(seen.count, n);
		T_OK(!memcmp((uint8_t *)doca_urom_mem_get_addr(m[1]) + 100, doca_urom_mem_get_addr(m[0]), n));
	}
	/* a handle of one client is nothing to another; ranges are checked */
	seen.n_send = 0;
	T_EQ(urom_sandbox_tag_task_send(g->w[0], none, 0, g->ids[1], NULL, 200, 1, memh[0], n, sent), DOCA_SUCCESS);
	until(g, &seen.n_send, 1);
	T_EQ(seen.result, DOCA_ERROR_INVALID_VALUE);
	T_EQ(urom_sandbox_tag_task_send(g->w[0], none, 0, g->ids[1], NULL, 10, 1, memh[0] + 256, 0, sent), DOCA_SUCCESS);
	until(g, &seen.n_send, 2);
	T_EQ(seen.result, DOCA_ERROR_NOT_FOUND);
	T_EQ(urom_sandbox_tag_task_send(g->w[0], none, 0, 4242, "x", 1, 1, 0, 0, sent), DOCA_SUCCESS);
	until(g, &seen.n_send, 3);
	T_EQ(seen.result, DOCA_ERROR_NOT_FOUND);
	T_EQ(urom_sandbox_task_mem_map(g->w[0], none, 0, 63, mapped), DOCA_SUCCESS);
	until(g, &seen.n_map, seen.n_map + 1);
	T_EQ(seen.result, DOCA_ERROR_NOT_FOUND);
	doca_urom_mem_destroy(m[0]);
	doca_urom_mem_destroy(m[1]);
}

static void death(struct group *g)
{
	pid_t kids[8], last = 0;
	int n = children_of(g->f.pid, kids, 8);

	seen.n_recv = 0;
	T_EQ(urom_sandbox_tag_task_recv(g->w[0], none, 0, 100, 1, UINT64_MAX, 0, 0, received), DOCA_SUCCESS);
	for (int i = 0; i < 3000; i++)
		doca_pe_progress(g->s.pe);
	for (int i = 0; i < n; i++)
		last = kids[i] > last ? kids[i] : last;
	T_EQ(seen.n_recv, 0);
	kill(last, SIGKILL);
	until(g, &seen.n_recv, 1);
	T_EQ(seen.result, DOCA_ERROR_CONNECTION_RESET);
}

static void run(const char *endpoint)
{
	struct group g = { .n = 0 };

	memset(&seen, 0, sizeof(seen));
	T_NEED(fixture_start(&g.f, endpoint, NULL, NULL));
	T_NEED(group_open(&g, 3, "worker_sandbox", 4096));
	T_EQ(urom_sandbox_init(g.plugin, g.version), DOCA_SUCCESS);
	messages(&g);
	large(&g);
	death(&g);
	group_close(&g);
	fixture_clean(&g.f);
}

int main(void)
{
	run(NULL);
	run("tcp:127.0.0.1:");
	if (!getenv("UROM_TEST_NO_UCX"))
		run("ucx:127.0.0.1:");
	T_DONE();
}
