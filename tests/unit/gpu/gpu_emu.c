/* The emulator: memory kinds and their aliases, order of streams, events, failure carrying, strict mode. */
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "gpu/gpu.h"
#include "t.h"

static int trail[16], n_trail;

static int step(void *arg)
{
	trail[n_trail++] = *(int *)arg;
	return 0;
}

static int failing(void *arg)
{
	(void)arg;
	return -EIO;
}

static void kinds(void)
{
	struct gw_diag d;
	unsigned char back[64];

	for (int k = 0; k < GW_MEM_N_KINDS; k++) {
		void *p = NULL;

		T_RC(gw_mem_alloc((enum gw_mem_kind)k, 5000, 0, &p, &d), 0);
		T_NEED(p);
		T_OK(gw__gpu()->host_alias(p, 5000) != NULL);
		T_RC(gw_mem_copy((char *)p + 100, "in order", 9), 0);
		T_RC(gw_mem_copy(back, (char *)p + 100, 9), 0);
		T_STR((char *)back, "in order");
		T_RC(gw_mem_copy(back, p, 64), 0); /* zeroed */
		T_EQ(back[0] | back[63], 0);
		gw_mem_free(p);
	}
	T_RC(gw_mem_alloc(GW_MEM_HOST, 0, 0, (void *[]){ NULL }, &d), -EINVAL);
	T_HAS(d.text, "0 bytes");
	T_RC(gw_mem_alloc(GW_MEM_DEVICE, (size_t)1 << 45, 0, (void *[]){ NULL }, &d), -ENOMEM); /* 32 TiB */
	T_HAS(d.text, "this machine has");
	T_RC(gw_mem_alloc((enum gw_mem_kind)9, 1, 0, (void *[]){ NULL }, &d), -EINVAL);
	T_STR(gw_mem_kind_name(GW_MEM_DEVICE), "device");
	T_STR(gw_gpu_backend(), "emu");
	gw_mem_free(NULL);
}

static void order(void)
{
	const struct gw__gpu_ops *g = gw__gpu();
	struct gw_stream *a, *b;
	struct gw_event *e;
	int one = 1, two = 2, three = 3;

	n_trail = 0;
	gw__emu_set_manual(true);
	T_RC(gw_stream_create(&a, NULL), 0);
	gw__emu_set_manual(false);
	T_RC(gw_stream_create(&b, NULL), 0);
	T_RC(g->event_create(&e), 0);
	T_EQ(gw_event_query(e), 1); /* never recorded */
	T_RC(g->host_call(a, step, &one), 0);
	T_RC(g->event_record(e, a), 0);
	T_EQ(gw_event_query(e), 0);
	T_RC(g->stream_wait(b, e), 0);
	T_RC(g->host_call(b, step, &two), 0); /* held behind the event */
	T_EQ(n_trail, 0);
	T_EQ(gw__emu_stream_step(a, 1), 1);
	T_EQ(n_trail, 1);
	T_EQ(gw_event_query(e), 0);
	T_EQ(gw__emu_stream_step(a, 1), 1); /* the record: b goes on by itself */
	T_EQ(gw_event_query(e), 1);
	T_RC(g->host_call(b, step, &three), 0);
	T_RC(gw_stream_sync(b), 0);
	T_EQ(n_trail, 3);
	T_EQ(trail[0] * 100 + trail[1] * 10 + trail[2], 123);
	T_RC(gw_event_sync(e), 0);
	gw_stream_destroy(a);
	gw_stream_destroy(b);
	g->event_destroy(e);
}

static void failure(void)
{
	const struct gw__gpu_ops *g = gw__gpu();
	struct gw_stream *s;
	struct gw_event *e;
	int one = 1;

	n_trail = 0;
	T_RC(gw_stream_create(&s, NULL), 0);
	T_RC(g->event_create(&e), 0);
	T_RC(g->host_call(s, failing, NULL), 0);
	T_RC(g->host_call(s, step, &one), 0); /* skipped: the stream carries the error */
	T_RC(g->event_record(e, s), 0);
	T_EQ(n_trail, 0);
	T_EQ(gw_event_query(e), -EIO);
	T_RC(gw_event_sync(e), -EIO);
	T_RC(gw_stream_sync(s), -EIO);
	gw_stream_destroy(s);
	g->event_destroy(e);
}

struct lap {
	struct gw_stream *s;
	struct gw_event *go, *done;
};

static void *other(void *arg)
{
	struct lap *l = arg;
	int one = 1;

	gw__gpu()->stream_wait(l->s, l->go);
	gw__gpu()->host_call(l->s, step, &one);
	gw__gpu()->event_record(l->done, l->s);
	return gw_event_sync(l->done) ? l : NULL;
}

/* One thread's stream stands at an event another thread records: nobody is left standing. */
static void threads(void)
{
	const struct gw__gpu_ops *g = gw__gpu();

	for (int i = 0; i < 2000; i++) {
		struct lap l;
		struct gw_stream *m;
		pthread_t t;
		void *bad;

		n_trail = 0;
		gw__emu_set_manual(true);
		T_RC(gw_stream_create(&m, NULL), 0);
		gw__emu_set_manual(false);
		T_RC(gw_stream_create(&l.s, NULL), 0);
		T_RC(g->event_create(&l.go), 0);
		T_RC(g->event_create(&l.done), 0);
		T_RC(g->event_record(l.go, m), 0);
		pthread_create(&t, NULL, other, &l);
		if (i & 1)
			sched_yield();
		gw__emu_stream_step(m, 1);
		pthread_join(t, &bad);
		T_OK(!bad && n_trail == 1);
		gw_stream_destroy(m);
		gw_stream_destroy(l.s);
		g->event_destroy(l.go);
		g->event_destroy(l.done);
	}
}

#ifndef GW_TSAN
static int poke(void *arg)
{
	*(volatile char *)arg = 7;
	return 0;
}
#endif

/* Strict mode: the device view kills whoever touches it from outside, and serves work on a stream. */
static void strict(void)
{
#ifndef GW_TSAN
	struct gw_stream *s;
	void *p;
	int st;
	char got = 0;
	pid_t pid;

	T_RC(gw_mem_alloc(GW_MEM_DEVICE, 4096, 0, &p, NULL), 0);
	T_RC(gw__emu_set_strict(true), 0);
	pid = fork();
	if (!pid) {
		signal(SIGSEGV, SIG_DFL);
		fclose(stderr);
		*(volatile char *)p = 1;
		_exit(0);
	}
	waitpid(pid, &st, 0);
	T_OK(!WIFEXITED(st) || WEXITSTATUS(st) != 0);
	T_RC(gw_stream_create(&s, NULL), 0);
	T_RC(gw__gpu()->host_call(s, poke, p), 0);
	T_RC(gw_stream_sync(s), 0);
	T_RC(gw_mem_copy(&got, p, 1), 0);
	T_EQ(got, 7);
	gw_stream_destroy(s);
	T_RC(gw__emu_set_strict(false), 0);
	gw_mem_free(p);
#endif
}

static void allocations(void)
{
	struct gw_stream *s;
	struct gw_event *e;
	void *p;
	int n = 0;

	for (int k = 0; k < GW_MEM_N_KINDS; k++) {
		gw__alloc_fail_at(1);
		T_RC(gw_mem_alloc((enum gw_mem_kind)k, 4096, 0, &p, NULL), -ENOMEM);
	}
	gw__alloc_fail_at(1);
	T_RC(gw_stream_create(&s, NULL), -ENOMEM);
	gw__alloc_fail_at(1);
	T_RC(gw__gpu()->event_create(&e), -ENOMEM);
	gw__alloc_fail_at(0);
	T_RC(gw_stream_create(&s, NULL), 0);
	gw__alloc_fail_at(1);
	T_RC(gw__gpu()->host_call(s, step, &n), -ENOMEM);
	gw__alloc_fail_at(0);
	gw_stream_destroy(s);
}

int main(void)
{
	kinds();
	order();
	failure();
	threads();
	strict();
	allocations();
	T_EQ(gw__alloc_live(), 0);
	T_DONE();
}
