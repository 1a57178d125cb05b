/* Remote memory operations: appends of several initiators never overlap; every bad address is refused with an
 * answer; the target's death ends a flush. */
#include <stdatomic.h>

#include "group.h"
#include "urom_rdmo.h"

#define BYTES (256u << 10)
#define VA 0x7000000000u

static struct {
	int n;
	doca_error_t result;
	uint64_t value;
	uint8_t addr[600];
	size_t addr_len;
} seen;

static void done(doca_error_t result, union doca_data cookie, uint64_t value, const void *addr, size_t len)
{
	seen.n++;
	seen.result = result;
	seen.value = value;
	if (addr) {
		memcpy(seen.addr, addr, len);
		seen.addr_len = len;
	}
}

static struct {
	int n;
	doca_error_t result;
} flushed;

static void on_flush(doca_error_t result, union doca_data cookie, uint64_t id)
{
	flushed.n++;
	flushed.result = result;
}

static const union doca_data none = { .ptr = NULL };

static void call(struct group *g, doca_error_t submitted)
{
	double end = now_s() + 10;

	T_EQ(submitted, DOCA_SUCCESS);
	seen.n = 0;
	while (!seen.n && now_s() < end)
		doca_pe_progress(g->s.pe);
	T_EQ(seen.n, 1);
}

static doca_error_t flush(struct group *g, struct urom_rdmo_client *c)
{
	double end = now_s() + 15;
	doca_error_t r;

	flushed.n = 0;
	r = urom_rdmo_flush(c, 1, none, on_flush);
	if (r != DOCA_SUCCESS)
		return r;
	while (!flushed.n && now_s() < end) {
		urom_rdmo_client_progress(c);
		doca_pe_progress(g->s.pe);
	}
	T_EQ(flushed.n, 1);
	return flushed.result;
}

static void appends(struct group *g, struct urom_rdmo_client **c, uint8_t *mem, uint64_t rkey)
{
	uint64_t *ptr = (uint64_t *)(void *)mem;
	uint32_t count[3] = { 0 };
	bool whole = true;

	*ptr = VA + 64;
	for (int i = 0; i < 900; i++) {
		uint8_t data[100];

		memset(data, 'a' + i % 3, sizeof(data));
		T_EQ(urom_rdmo_append(c[i % 3], VA, rkey, rkey, data, sizeof(data), i % 7 ? 0 : UROM_RDMO_FENCE),
		     DOCA_SUCCESS);
		urom_rdmo_client_progress(c[i % 3]);
		doca_pe_progress(g->s.pe);
	}
	for (int i = 0; i < 3; i++)
		T_EQ(flush(g, c[i]), DOCA_SUCCESS);
	T_EQ(*ptr, VA + 64 + 90000);
	for (int i = 0; i < 900; i++) {
		const uint8_t *p = mem + 64 + 100 * i;

		for (int k = 1; k < 100; k++)
			whole &= p[k] == p[0];
		whole &= p[0] >= 'a' && p[0] <= 'c';
		count[p[0] >= 'a' && p[0] <= 'c' ? p[0] - 'a' : 0]++;
	}
	T_OK(whole);
	T_EQ(count[0], 300);
	T_EQ(count[2], 300);
}

static void scatters(struct group *g, struct urom_rdmo_client *c, uint8_t *mem, uint64_t rkey)
{
	static uint8_t big[70000];
	struct urom_rdmo_piece p[40];

	memset(big, 0x77, sizeof(big));
	for (int i = 0; i < 40; i++)
		p[i] = (struct urom_rdmo_piece){ VA + 100000 + 1000 * (uint64_t)i, rkey, "12345678", 8 };
	p[39] = (struct urom_rdmo_piece){ VA + 180000, rkey, big, sizeof(big) };
	T_EQ(urom_rdmo_scatter(c, p, 40, UROM_RDMO_FENCE), DOCA_SUCCESS);
	T_EQ(flush(g, c), DOCA_SUCCESS);
	T_MEM(mem + 100000, "12345678", 8);
	T_MEM(mem + 138000, "12345678", 8);
	T_MEM(mem + 180000, big, sizeof(big));
	/* one bad piece: nothing of it is stored */
	p[0].data = "XXXXXXXX";
	p[5].addr = VA + BYTES - 7;
	T_EQ(urom_rdmo_scatter(c, p, 40, 0), DOCA_SUCCESS);
	T_EQ(flush(g, c), DOCA_ERROR_NOT_PERMITTED);
	T_MEM(mem + 100000, "12345678", 8);
	T_EQ(flush(g, c), DOCA_SUCCESS); /* told once */
}

static void lies(struct group *g, struct urom_rdmo_client *c, uint8_t *mem, uint64_t rkey)
{
	struct {
		uint64_t at, key, data_key, word;
		size_t len;
	} bad[] = {
		{ VA, rkey + 1, rkey, VA + 64, 8 },	     { VA, rkey, 0, VA + 64, 8 },
		{ VA + BYTES - 4, rkey, rkey, VA + 64, 8 },  { VA + 4, rkey, rkey, VA + 64, 8 },
		{ VA - 8, rkey, rkey, VA + 64, 8 },	     { UINT64_MAX - 3, rkey, rkey, VA + 64, 8 },
	};
	uint64_t *other = (uint64_t *)(void *)(mem + 512);

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		T_EQ(urom_rdmo_append(c, bad[i].at, bad[i].key, bad[i].data_key, "12345678", bad[i].len, 0), DOCA_SUCCESS);
		T_EQ(flush(g, c), DOCA_ERROR_NOT_PERMITTED);
	}
	/* pointers that lead out of the region */
	*other = VA + BYTES - 4;
	T_EQ(urom_rdmo_append(c, VA + 512, rkey, rkey, "12345678", 8, 0), DOCA_SUCCESS);
	T_EQ(flush(g, c), DOCA_ERROR_NOT_PERMITTED);
	other[1] = UINT64_MAX - 2;
	T_EQ(urom_rdmo_append(c, VA + 520, rkey, rkey, "12345678", 8, 0), DOCA_SUCCESS);
	T_EQ(flush(g, c), DOCA_ERROR_NOT_PERMITTED);
}

static void run(const char *endpoint)
{
	struct group g = { .n = 0 };
	struct doca_urom_mem *m;
	struct urom_rdmo_client *c[3], *stranger, *nobody;
	uint64_t seg, rkey, rq[3];
	uint8_t *mem;

	memset(&seen, 0, sizeof(seen));
	T_NEED(fixture_start(&g.f, endpoint, NULL, NULL));
	T_NEED(group_open(&g, 1, "worker_rdmo", 4096));
	T_EQ(urom_rdmo_init(g.plugin, g.version), DOCA_SUCCESS);
	T_EQ(doca_urom_mem_create(BYTES, &m), DOCA_SUCCESS);
	mem = doca_urom_mem_get_addr(m);
	T_EQ(doca_urom_worker_share_mem(g.w[0], m, 3, &seg), DOCA_SUCCESS);
	call(&g, urom_rdmo_task_mr_reg(g.w[0], none, VA, seg, 1, BYTES, done));
	T_EQ(seen.result, DOCA_ERROR_INVALID_VALUE); /* one byte too many */
	call(&g, urom_rdmo_task_mr_reg(g.w[0], none, VA, seg, 0, BYTES, done));
	T_EQ(seen.result, DOCA_SUCCESS);
	rkey = seen.value;
	for (uint64_t i = 0; i < 3; i++) {
		call(&g, urom_rdmo_task_rq_create(g.w[0], none, i, done));
		T_EQ(seen.result, DOCA_SUCCESS);
		rq[i] = seen.value;
	}
	call(&g, urom_rdmo_task_rq_create(g.w[0], none, 1, done));
	T_EQ(seen.result, DOCA_ERROR_ALREADY_EXIST);
	call(&g, urom_rdmo_task_client_init(g.w[0], none, 1, done));
	for (uint64_t i = 0; i < 3; i++)
		T_EQ(urom_rdmo_client_create(seen.addr, seen.addr_len, i, &c[i]), DOCA_SUCCESS);
	T_EQ(urom_rdmo_client_create(seen.addr, seen.addr_len, 99, &stranger), DOCA_SUCCESS);
	T_EQ(urom_rdmo_client_create("rubbish", 7, 99, &nobody), DOCA_ERROR_INVALID_VALUE);
	T_EQ(flush(&g, stranger), DOCA_ERROR_NOT_FOUND); /* an answer, not silence */
	appends(&g, c, mem, rkey);
	scatters(&g, c[0], mem, rkey);
	lies(&g, c[1], mem, rkey);
	call(&g, urom_rdmo_task_rq_destroy(g.w[0], none, rq[2], done));
	T_EQ(seen.result, DOCA_SUCCESS);
	T_EQ(flush(&g, c[2]), DOCA_ERROR_NOT_FOUND);
	call(&g, urom_rdmo_task_mr_dereg(g.w[0], none, rkey, done));
	T_EQ(urom_rdmo_append(c[0], VA, rkey, rkey, "12345678", 8, 0), DOCA_SUCCESS);
	T_EQ(flush(&g, c[0]), DOCA_ERROR_NOT_PERMITTED);
	/* the target leaves */
	group_close(&g);
	for (int i = 0; i < 20000; i++) {
		urom_rdmo_client_progress(c[0]);
		if (i % 100 == 0)
			usleep(100);
	}
	T_OK(urom_rdmo_flush(c[0], 2, none, on_flush) != DOCA_SUCCESS || flush(&g, c[0]) == DOCA_ERROR_CONNECTION_RESET);
	for (int i = 0; i < 3; i++)
		urom_rdmo_client_destroy(c[i]);
	urom_rdmo_client_destroy(stranger);
	doca_urom_mem_destroy(m);
	fixture_clean(&g.f);
}

int main(void)
{
	run(NULL);
	run("tcp:127.0.0.1:");
	T_DONE();
}
