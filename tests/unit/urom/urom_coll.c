/* Collectives over 2 to 8 workers: integers bit for bit, floats within rounding, all sizes 1 B to 16 MiB; the
 * same bytes on every rank; a rank that dies fails the others by name. */
#include <math.h>

#include "group.h"
#include "urom_coll.h"

#define MAX_BYTES ((size_t)16 << 20)

static struct doca_urom_mem *mem[GROUP_MAX]; /* source, then target */
static uint64_t seg[GROUP_MAX];
static struct urom_coll_team team[GROUP_MAX];
static struct {
	int n;
	doca_error_t result;
} seen;

static uint8_t *src(int r)
{
	return doca_urom_mem_get_addr(mem[r]);
}

static uint8_t *dst(int r)
{
	return src(r) + MAX_BYTES;
}

static void done(doca_error_t result, union doca_data cookie)
{
	(void)cookie;
	seen.n++;
	if (result != DOCA_SUCCESS)
		seen.result = result;
}

static doca_error_t all_ranks(struct group *g, struct urom_coll_args *a)
{
	double end = now_s() + 60;

	memset(&seen, 0, sizeof(seen));
	for (int r = 0; r < g->n; r++) {
		a->src_seg = a->dst_seg = seg[r];
		a->src_offset = 0;
		a->dst_offset = MAX_BYTES;
		T_EQ(urom_coll_start(g->w[r], &team[r], a, (union doca_data){ .ptr = NULL }, done), DOCA_SUCCESS);
	}
	while (seen.n < g->n && now_s() < end)
		doca_pe_progress(g->s.pe);
	T_EQ(seen.n, g->n);
	return seen.result;
}

static uint64_t mix(uint64_t x)
{
	x ^= x >> 33;
	x *= 0xff51afd7ed558ccdu;
	x ^= x >> 33;
	return x;
}

static void fill(int n, enum urom_coll_type type, uint64_t count, uint64_t seed)
{
	for (int r = 0; r < n; r++)
		for (uint64_t i = 0; i < count; i++) {
			uint64_t v = mix(seed + i * 16 + (uint64_t)r);

			if (type == UROM_COLL_INT8)
				src(r)[i] = (uint8_t)v;
			else if (type == UROM_COLL_INT32)
				memcpy(src(r) + 4 * i, &v, 4);
			else if (type == UROM_COLL_INT64)
				memcpy(src(r) + 8 * i, &v, 8);
			else if (type == UROM_COLL_FLOAT)
				((float *)(void *)src(r))[i] = (float)(int64_t)v * 0x1p-63f;
			else
				((double *)(void *)src(r))[i] = (double)(int64_t)v * 0x1p-63;
		}
}

/* The sum by another road: sums of unsigned integers, and doubles for floats. */
static bool sum_is_right(int n, enum urom_coll_type type, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		uint64_t u = 0, got = 0;
		double f = 0, mag = 0, g = 0;

		for (int r = 0; r < n; r++) {
			uint64_t v = 0;

			if (type <= UROM_COLL_INT64) {
				memcpy(&v, src(r) + i * urom_coll_type_size(type), urom_coll_type_size(type));
				u += v;
			} else {
				double x = type == UROM_COLL_FLOAT ? (double)((float *)(void *)src(r))[i] :
								     ((double *)(void *)src(r))[i];
				f += x;
				mag += fabs(x);
			}
		}
		if (type <= UROM_COLL_INT64) {
			memcpy(&got, dst(0) + i * urom_coll_type_size(type), urom_coll_type_size(type));
			if (memcmp(&got, &u, urom_coll_type_size(type)))
				return false;
		} else {
			g = type == UROM_COLL_FLOAT ? (double)((float *)(void *)dst(0))[i] : ((double *)(void *)dst(0))[i];
			if (fabs(g - f) > n * mag * (type == UROM_COLL_FLOAT ? 0x1p-23 : 0x1p-52))
				return false;
		}
	}
	return true;
}

static void one_allreduce(struct group *g, enum urom_coll_type type, uint64_t count)
{
	struct urom_coll_args a = { .kind = UROM_COLL_ALLREDUCE, .type = type, .op = UROM_COLL_SUM, .count = count };
	size_t bytes = count * urom_coll_type_size(type);

	fill(g->n, type, count, count * 7 + type);
	for (int r = 0; r < g->n; r++)
		memset(dst(r), 0x5a, bytes + 8 <= MAX_BYTES ? bytes + 8 : bytes);
	T_EQ(all_ranks(g, &a), DOCA_SUCCESS);
	for (int r = 1; r < g->n; r++)
		T_OK(!memcmp(dst(0), dst(r), bytes));
	if (!sum_is_right(g->n, type, count))
		T__FAIL("allreduce of %d ranks, type %d, count %llu is wrong", g->n, (int)type,
			(unsigned long long)count);
	if (bytes + 8 <= MAX_BYTES)
		T_OK(dst(0)[bytes] == 0x5a && dst(g->n - 1)[bytes + 7] == 0x5a); /* not a byte too many */
}

static void other_ops(struct group *g)
{
	struct urom_coll_args a = { .kind = UROM_COLL_ALLREDUCE, .type = UROM_COLL_INT32, .count = 5000 };

	for (int op = UROM_COLL_SUM; op < UROM_COLL_OPS; op++) {
		bool right = true;

		a.op = (enum urom_coll_op)op;
		fill(g->n, UROM_COLL_INT32, a.count, 99);
		T_EQ(all_ranks(g, &a), DOCA_SUCCESS);
		for (uint64_t i = 0; i < a.count; i++) {
			int32_t x = ((int32_t *)(void *)src(0))[i];

			for (int r = 1; r < g->n; r++) {
				int32_t y = ((int32_t *)(void *)src(r))[i];

				x = op == UROM_COLL_SUM	 ? (int32_t)((uint32_t)x + (uint32_t)y) :
				    op == UROM_COLL_PROD ? (int32_t)((uint32_t)x * (uint32_t)y) :
				    op == UROM_COLL_MIN	 ? (x < y ? x : y) :
							   (x > y ? x : y);
			}
			right &= x == ((int32_t *)(void *)dst(g->n - 1))[i];
		}
		T_OK(right);
	}
}

static void gather_and_exchange(struct group *g, uint64_t count)
{
	struct urom_coll_args a = { .kind = UROM_COLL_ALLGATHER, .type = UROM_COLL_INT8, .count = count };
	bool right = true;

	fill(g->n, UROM_COLL_INT8, count, 5);
	T_EQ(all_ranks(g, &a), DOCA_SUCCESS);
	for (int r = 0; r < g->n; r++)
		for (int k = 0; k < g->n; k++)
			right &= !memcmp(dst(r) + (size_t)k * count, src(k), count);
	T_OK(right);

	a.kind = UROM_COLL_ALLTOALL;
	fill(g->n, UROM_COLL_INT8, count * (uint64_t)g->n, 6);
	T_EQ(all_ranks(g, &a), DOCA_SUCCESS);
	for (int r = 0; r < g->n; r++)
		for (int k = 0; k < g->n; k++)
			right &= !memcmp(dst(r) + (size_t)k * count, src(k) + (size_t)r * count, count);
	T_OK(right);

	a.kind = UROM_COLL_BARRIER;
	T_EQ(all_ranks(g, &a), DOCA_SUCCESS);
}

/* Every rank but the last joins; progress for a while; how many ended is the caller's to judge. */
static void join_without_last(struct group *g, uint64_t count, double seconds)
{
	struct urom_coll_args a = { .kind = UROM_COLL_ALLREDUCE, .type = UROM_COLL_INT32, .count = count,
				    .dst_offset = MAX_BYTES };
	double end = now_s() + seconds;

	memset(&seen, 0, sizeof(seen));
	for (int r = 0; r < g->n - 1; r++) {
		a.src_seg = a.dst_seg = seg[r];
		T_EQ(urom_coll_start(g->w[r], &team[r], &a, (union doca_data){ .ptr = NULL }, done), DOCA_SUCCESS);
	}
	while (now_s() < end)
		doca_pe_progress(g->s.pe);
}

static void all_hear_of_it(struct group *g)
{
	double end = now_s() + 30;

	while (seen.n < g->n - 1 && now_s() < end)
		doca_pe_progress(g->s.pe);
	T_EQ(seen.n, g->n - 1);
	T_EQ(seen.result, DOCA_ERROR_CONNECTION_RESET);
}

/* The last rank never joins, and dies `seconds` after the others were asked: their commands may be on the way,
 * their sources half fetched, or their first round posted. */
static void death(struct group *g, uint64_t count, double seconds)
{
	struct urom_coll_args a = { .kind = UROM_COLL_ALLREDUCE, .type = UROM_COLL_INT32, .count = 1000 };
	pid_t kids[GROUP_MAX];
	int n = children_of(g->f.pid, kids, GROUP_MAX);

	T_NEED(n == g->n);
	T_EQ(all_ranks(g, &a), DOCA_SUCCESS);
	for (int i = 1; i < n; i++) /* pids ascend in the order of spawning, most of the time: take the largest */
		if (kids[i] > kids[0])
			kids[0] = kids[i];
	join_without_last(g, count, seconds);
	T_EQ(seen.n, 0);
	kill(kids[0], SIGKILL);
	all_hear_of_it(g);
	join_without_last(g, count, 0); /* and again: the dead stay dead, nobody waits for them */
	all_hear_of_it(g);
}

static void everything(struct group *g, uint64_t max_count8)
{
	for (uint64_t c = 1; c <= max_count8; c = c < 8 ? c + 1 : c * 5 + 1)
		one_allreduce(g, UROM_COLL_INT8, c);
	one_allreduce(g, UROM_COLL_INT8, max_count8);
	for (int t = UROM_COLL_INT32; t < UROM_COLL_TYPES; t++) {
		one_allreduce(g, (enum urom_coll_type)t, 1);
		one_allreduce(g, (enum urom_coll_type)t, 1021);
		one_allreduce(g, (enum urom_coll_type)t, 30011);
	}
	other_ops(g);
	gather_and_exchange(g, 1);
	gather_and_exchange(g, 100000);
}

/* max_count8 0: only the death, over the largest vector. */
static void run(const char *endpoint, int n, uint64_t max_count8, double dies_after)
{
	struct group g = { .n = 0 };

	T_NEED(fixture_start(&g.f, endpoint, NULL, NULL));
	T_NEED(group_open(&g, n, "worker_coll", 4096));
	T_EQ(urom_coll_init(g.plugin, g.version), DOCA_SUCCESS);
	for (int r = 0; r < n; r++) {
		T_EQ(doca_urom_mem_create(2 * MAX_BYTES, &mem[r]), DOCA_SUCCESS);
		T_EQ(doca_urom_worker_share_mem(g.w[r], mem[r], DOCA_UROM_MEM_READ | DOCA_UROM_MEM_WRITE, &seg[r]),
		     DOCA_SUCCESS);
		team[r] = (struct urom_coll_team){ .id = 1, .rank = (uint32_t)r, .size = (uint32_t)n,
						   .members = g.ids };
	}
	if (max_count8)
		everything(&g, max_count8);
	if (n > 2)
		death(&g, max_count8 ? 1000 : MAX_BYTES / 4, dies_after);
	group_close(&g);
	for (int r = 0; r < n; r++)
		doca_urom_mem_destroy(mem[r]);
	fixture_clean(&g.f);
}

int main(void)
{
	static const double moments[] = { 0, .0005, .001, .002, .004, .008, .016 };
	static const char tcp[] = "tcp:127.0.0.1:";

	for (int n = 2; n <= 8; n++)
#if defined(GW_TSAN) /* ten times slower, and nothing new between the ends */
		if (n == 2 || n == 3 || n == 8)
			run(NULL, n, 300000, .2);
#else
		run(NULL, n, n <= 3 || getenv("UROM_COLL_FULL") ? MAX_BYTES : 300000, .2); /* time, not doubt */
#endif
	run(tcp, 3, 300000, .2);
	for (size_t i = 0; i < sizeof(moments) / sizeof(moments[0]); i++) {
		run(NULL, 3, 0, moments[i]);
		run(tcp, 4, 0, moments[i]);
	}
	T_DONE();
}
