/* tests/unit/link/link_shm.c: two processes over a shared ring: order, back pressure, wake-up, death, lies. */
#include "sink.h"

#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "link/shm.h"

static struct gw__clock *clk;

static uint32_t len_of(uint32_t seq)
{
	return seq % 11 ? 8 + seq * 37 % 1500 : 9000;
}

static void name(char out[64], const char *what)
{
	snprintf(out, 64, "shm:test-%s-%d", what, getpid());
}

static struct gw__link *must_open(const char *address)
{
	struct gw_diag d = { "" };
	struct gw__link *l = NULL;
	int err = gw__link_open(address, clk, &l, &d);

	if (err)
		fprintf(stderr, "%s\n", d.text);
	T_NEED(!err);
	return l;
}

static void pair(const char *address, struct gw__link **a, struct gw__link **b, struct sink *sa, struct sink *sb)
{
	*a = must_open(address);
	*b = must_open(address);
	sink_plug(*a, sa);
	sink_plug(*b, sb);
	T_RC((*a)->ops->step(*a, 1), 0); /* accepts */
	T_RC((*b)->ops->step(*b, 1), 0); /* maps */
}

/* The child sends and closes; the parent sleeps on its event whenever nothing is there. */
static void two_processes(void)
{
	enum { N = 20000 };
	char address[64];
	struct gw__link *l;
	struct sink s;
	struct gw__event ev;
	pid_t pid;
	int status, blocks = 0;

	name(address, "two");
	l = must_open(address);
	sink_plug(l, &s);
	pid = fork();
	if (!pid) {
		struct gw__link *tx;
		uint32_t seq = 0;

		gw__link_close(NULL);
		if (gw__link_open(address, clk, &tx, NULL))
			_exit(2);
		sink_plug(tx, &s);
		while (seq < N) {
			int k = sink_send(tx, len_of(seq), seq);

			if (k < 0)
				_exit(3);
			seq += (uint32_t)k;
			if (seq % 4000 == 0)
				usleep(2000); /* let the other side fall asleep */
		}
		gw__link_close(tx);
		_exit(0);
	}
	T_NEED(!gw__event_init(&ev));
	T_RC(l->ops->watch(l, &ev), 0);
	while (s.n < N) {
		int k = l->ops->step(l, 64);

		T_NEED(k >= 0);
		if (k)
			continue;
		gw__event_arm(&ev);
		if (l->ops->arm(l) || l->ops->step(l, 64) > 0) {
			gw__event_disarm(&ev);
			continue;
		}
		if (l->ops->due_ns(l) != UINT64_MAX)
			blocks++;
		T_NEED(gw__event_block(&ev, 50000000) >= 0);
	}
	T_EQ(s.bad, 0);
	T_OK(blocks > 0);
	T_NEED(waitpid(pid, &status, 0) == pid);
	T_EQ(WEXITSTATUS(status), 0);
	l->ops->arm(l);
	T_RC(sink_send(l, 60, 0), -EPIPE);
	T_OK(l->ops->due_ns(l) == UINT64_MAX);
	gw__link_close(l);
	gw__event_fini(&ev);
}

/* A full ring holds the sender back; taking frames wakes it through its own event. */
static void back_pressure(void)
{
	char address[64];
	struct gw__link *a, *b;
	struct sink sa, sb;
	struct gw__event ev;
	uint32_t sent = 0;

	name(address, "full");
	pair(address, &a, &b, &sa, &sb);
	T_NEED(!gw__event_init(&ev));
	T_RC(a->ops->watch(a, &ev), 0);
	sb.room = 0;
	while (sink_send(a, 9000, sent) == 1)
		sent++;
	T_OK(sent > 100);
	T_OK(!a->ops->arm(a));
	T_RC(b->ops->step(b, 64), -EAGAIN);
	T_RC(gw__event_block(&ev, 0), 0);
	sb.room = UINT32_MAX;
	T_OK(b->ops->step(b, 64) == 64);
	T_RC(gw__event_block(&ev, 0), 1);
	T_RC(sink_send(a, 9000, sent), 1);
	T_RC(sink_send(a, GW_LINK_MTU + 1, 0), -EMSGSIZE);
	while (b->ops->step(b, 64) > 0)
		;
	T_EQ(sb.n, sent + 1);
	T_EQ(sb.bad, 0);
	gw__link_close(a);
	T_RC(b->ops->step(b, 64), 0);
	gw__link_close(b);
	gw__event_fini(&ev);
}

static void killed_peer(void)
{
	char address[64];
	struct gw__link *l;
	struct sink s;
	pid_t pid;

	name(address, "kill");
	l = must_open(address);
	sink_plug(l, &s);
	pid = fork();
	if (!pid) {
		struct gw__link *tx;

		if (gw__link_open(address, clk, &tx, NULL))
			_exit(2);
		sink_plug(tx, &s);
		for (uint32_t i = 0; i < 10;)
			i += (uint32_t)sink_send(tx, 100, i);
		pause();
	}
	while (s.n < 10)
		T_NEED(l->ops->step(l, 64) >= 0);
	T_RC(sink_send(l, 60, 0), 1);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	l->ops->arm(l);
	T_RC(sink_send(l, 60, 1), -EPIPE);
	T_RC(l->ops->step(l, 64), 0);
	gw__link_close(l);
}

/* Whatever the peer writes, nothing outside the ring is read and nothing hangs. */
static void hostile(int what)
{
	char address[64];
	struct gw__link *a, *b;
	struct sink sa, sb;
	struct shm *s;
	uint32_t len = what == 0 ? 0 : what == 1 ? 0xffffffff : what == 2 ? 9000 : 60;

	name(address, "lie");
	pair(address, &a, &b, &sa, &sb);
	s = (struct shm *)a;
	T_RC(sink_send(a, 60, 0), 1);
	memcpy(s->tx_ring, &len, 4);
	if (what == 3)
		atomic_store(&s->page->dir[0].tail, ~0ull);
	if (what == 4)
		atomic_store(&s->page->dir[0].tail, 81);
	if (what == 5)
		atomic_store(&s->page->n_events[0], 4000000000u);
	T_RC(b->ops->step(b, 64), what == 5);
	T_EQ(sb.n, what == 5);
	b->ops->arm(b);
	T_RC(sink_send(b, 60, 0), what == 5 ? 1 : -EPIPE);
	if (what == 5) { /* the other way: a consumer index from beyond */
		atomic_store(&s->page->dir[1].head, 1ull << 60);
		T_RC(sink_send(b, 60, 1), 1);
	}
	gw__link_close(a);
	gw__link_close(b);
}

static void refusals(void)
{
	char address[64], path[128];
	struct gw__link *a, *b, *c;
	struct sink sa, sb;
	struct gw_diag d;
	FILE *f;

	T_RC(gw__link_open("shm:", clk, &a, &d), -EINVAL);
	T_RC(gw__link_open("shm:0123456789012345678901234567890123456789012345678901234567890123456789"
			   "0123456789012345678901234567890123456789",
			   clk, &a, &d),
	     -ENAMETOOLONG);
	name(address, "third");
	pair(address, &a, &b, &sa, &sb);
	T_RC(gw__link_open(address, clk, &c, &d), 0); /* listens for a pair of its own */
	gw__link_close(c);
	gw__link_close(a);
	gw__link_close(b);
	snprintf(path, sizeof(path), "shm:/tmp/gpuwire-test-%d.sock", getpid());
	pair(path, &a, &b, &sa, &sb);
	T_OK(access(path + 4, F_OK)); /* nobody else may come: the name is gone */
	T_RC(sink_send(a, 60, 0), 1);
	gw__link_close(a);
	gw__link_close(b);
	f = fopen(path + 4, "w"); /* not a socket: refused, not removed */
	fclose(f);
	T_RC(gw__link_open(path, clk, &a, &d), -ENOTSOCK);
	T_OK(!access(path + 4, F_OK));
	unlink(path + 4);
	for (int n = 1; n <= 2; n++) {
		gw__alloc_fail_at(n);
		T_RC(gw__link_open(address, clk, &a, &d), -ENOMEM);
	}
	gw__alloc_fail_at(0);
}

int main(void)
{
	clk = gw__clock_monotonic();
	two_processes();
	back_pressure();
	killed_peer();
	for (int i = 0; i < 6; i++)
		hostile(i);
	refusals();
	T_EQ(gw__alloc_live(), 0);
	T_DONE();
}
