/* bench_urom_overlap: how much of a collective hides behind the host's own work. Two ranks of this process, their
 * workers on the other CPU; the host works on CPU 0.
 *   overlap = (collective alone + work alone - both together) / the shorter of the two
 * 1 = hidden whole, 0 = nothing gained. Must not know channels. Next: plugins/worker_coll. */
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "timing.h"
#include "rig.h"
#include "urom_coll.h"
#include "urom_common.h"

#define RANKS 2
#define RUNS 7

static struct urom_session s;
static struct doca_urom_worker *w[RANKS];
static struct doca_urom_mem *mem[RANKS];
static uint64_t seg[RANKS], ids[RANKS] = { 10, 11 };
static struct urom_coll_team team[RANKS];
static int n_done;
static bool failed;

static void done(doca_error_t result, union doca_data cookie)
{
	(void)cookie;
	n_done++;
	failed |= result != DOCA_SUCCESS;
}

static void start(uint64_t count)
{
	struct urom_coll_args a = { .kind = UROM_COLL_ALLREDUCE, .type = UROM_COLL_FLOAT, .op = UROM_COLL_SUM,
				    .count = count, .dst_offset = count * 4 };

	n_done = 0;
	for (int r = 0; r < RANKS; r++) {
		a.src_seg = a.dst_seg = seg[r];
		failed |= urom_coll_start(w[r], &team[r], &a, (union doca_data){ .ptr = NULL }, done) != DOCA_SUCCESS;
	}
}

static void finish(void)
{
	double end = urom_seconds() + 20;

	while (n_done < RANKS && !failed && urom_seconds() < end)
		if (!doca_pe_progress(s.pe))
			sched_yield();
	failed |= n_done < RANKS;
}

/* Plain arithmetic, no memory traffic to speak of. */
static volatile double sink;
static void work(uint64_t n)
{
	double x = 1.0;

	for (uint64_t i = 0; i < n; i++)
		x = x * 1.0000001 + 0.0000001;
	sink = x;
}

static doca_error_t alone(void *sbuf, void *rbuf, size_t msglen, void *info, void **req)
{
	memcpy(rbuf, sbuf, msglen);
	*req = info;
	return DOCA_SUCCESS;
}

static doca_error_t ok(void *req)
{
	(void)req;
	return DOCA_SUCCESS;
}

static bool set_up(size_t bytes)
{
	static int mark;
	struct doca_urom_domain_oob_coll oob = { .allgather = alone, .req_test = ok, .req_free = ok, .coll_info = &mark,
						 .n_oob_indexes = 1 };
	struct urom_worker_spec spec = { .max_inflight = 8 };
	struct doca_urom_domain *d;
	uint64_t version;

	if (urom_session_open(&s, "mlx5_0", 4, 4096) != DOCA_SUCCESS ||
	    urom_find_plugin(&s, "worker_coll", &spec.plugins, &version) != DOCA_SUCCESS ||
	    urom_coll_init(spec.plugins, version) != DOCA_SUCCESS)
		return false;
	for (int r = 0; r < RANKS; r++) {
		spec.id = ids[r];
		if (urom_worker_open(s.service, s.pe, &spec, &w[r]) != DOCA_SUCCESS ||
		    doca_urom_mem_create(2 * bytes, &mem[r]) != DOCA_SUCCESS ||
		    doca_urom_worker_share_mem(w[r], mem[r], DOCA_UROM_MEM_READ | DOCA_UROM_MEM_WRITE, &seg[r]) !=
			    DOCA_SUCCESS)
			return false;
		team[r] = (struct urom_coll_team){ .id = 1, .rank = (uint32_t)r, .size = RANKS, .members = ids };
	}
	return doca_urom_domain_create(&d) == DOCA_SUCCESS &&
	       doca_pe_connect_ctx(s.pe, doca_urom_domain_as_ctx(d)) == DOCA_SUCCESS &&
	       doca_urom_domain_set_oob(d, &oob) == DOCA_SUCCESS &&
	       doca_urom_domain_set_workers(d, ids, w, RANKS) == DOCA_SUCCESS &&
	       doca_ctx_start(doca_urom_domain_as_ctx(d)) == DOCA_ERROR_IN_PROGRESS &&
	       urom_wait_state(s.pe, doca_urom_domain_as_ctx(d), DOCA_CTX_STATE_RUNNING, 5000) == DOCA_SUCCESS;
}

static void measure(size_t bytes)
{
	double coll[RUNS], comp[RUNS], both[RUNS], c, k, b, rate;
	uint64_t n;

	rate = urom_seconds();
	work(20000000);
	rate = 2e7 / (urom_seconds() - rate);
	for (int r = 0; r < RUNS; r++) {
		c = urom_seconds();
		start(bytes / 4);
		finish();
		coll[r] = urom_seconds() - c;
	}
	n = (uint64_t)(rate * median(coll, RUNS)); /* work as long as the collective */
	for (int r = 0; r < RUNS; r++) {
		double t = urom_seconds();

		start(bytes / 4);
		finish();
		coll[r] = urom_seconds() - t;
		t = urom_seconds();
		work(n);
		comp[r] = urom_seconds() - t;
		t = urom_seconds();
		start(bytes / 4);
		work(n); /* no progress meanwhile: the workers do it all */
		finish();
		both[r] = urom_seconds() - t;
	}
	c = median(coll, RUNS);
	k = median(comp, RUNS);
	b = median(both, RUNS);
	printf("%8zu KiB   collective %8.3f ms   work %8.3f ms   both %8.3f ms   overlap %5.2f%s\n", bytes >> 10,
	       c * 1e3, k * 1e3, b * 1e3, (c + k - b) / (c < k ? c : k), failed ? "   FAILED" : "");
}

int main(void)
{
	char dir[] = "/tmp/urom-ovl-XXXXXX", ep[64];
	cpu_set_t near;

	if (!mkdtemp(dir))
		return 1;
	snprintf(ep, sizeof(ep), "unix:%s/s", dir);
	CPU_ZERO(&near);
	CPU_SET(0, &near);
	sched_setaffinity(0, sizeof(near), &near);
	if (rig_start(ep, "1") || !set_up((size_t)16 << 20)) {
		rig_stop();
		return 1;
	}
	for (size_t bytes = 64u << 10; bytes <= (size_t)16 << 20; bytes *= 4)
		measure(bytes);
	for (int r = 0; r < RANKS; r++)
		urom_worker_close(s.pe, w[r]);
	rig_stop();
	rmdir(dir);
	return failed ? 1 : 0;
}
