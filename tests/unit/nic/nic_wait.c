/* tests/unit/nic/nic_wait.c: both sides block instead of polling, and nobody sleeps through work.
 * Must not know queue formats. Next: base/wait.h. */
#include "rig.h"

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

enum { TOTAL = 60000 };

static struct rig r;
static struct rig_q rx, tx;
static _Atomic int slept_tx, slept_rx, timed_out;

/* Block as a queue's owner does; a wait of two seconds is a lost wake-up. */
static void sleep_on(struct gw__event *e, bool (*arm)(void *), uint64_t due, void *q, _Atomic int *count)
{
	gw__event_arm(e);
	if (arm(q)) {
		gw__event_disarm(e);
		return;
	}
	(*count)++;
	if (!gw__event_block(e, due == UINT64_MAX ? 2000000000u : 100000000u) && due == UINT64_MAX)
		timed_out++;
}

static void *sender(void *arg)
{
	uint32_t seq = 0, rnd = 1;

	while (seq < TOTAL && !timed_out) {
		uint32_t n;

		rnd = rnd * 1664525 + 1013904223;
		n = 1 + (rnd >> 20) % 100;
		n = rig_send(&tx, n < TOTAL - seq ? n : TOTAL - seq, 100, 4096, seq);
		seq += n;
		if (!n)
			sleep_on(&tx.event, tx.tx.arm, tx.tx.due_ns(tx.tx.q), tx.tx.q, &slept_tx);
		else if (!((rnd >> 8) % 128))
			usleep(rnd % 1500);
		for (int i = 0; i < 5000 && seq > TOTAL / 2 && !slept_rx; i++)
			usleep(1000); /* long enough for the receiver to fall asleep */
	}
	while (tx.tx.pending(tx.tx.q) > 0 && !timed_out)
		sleep_on(&tx.event, tx.tx.arm, tx.tx.due_ns(tx.tx.q), tx.tx.q, &slept_tx);
	return NULL;
}

static void receive_all(void)
{
	static struct rig_rx o;
	uint32_t got = 0, rnd = 7, bad = 0;

	for (int i = 0; i < 5000 && !slept_tx; i++)
		usleep(1000); /* the sender fills every entry and falls asleep */
	while (got < TOTAL && !timed_out) {
		int n = rig_recv(&rx, &o, 1 + rnd % 200);

		rnd = rnd * 1664525 + 1013904223;
		if (n <= 0) {
			sleep_on(&rx.event, rx.rx.arm, rx.rx.due_ns(rx.rx.q), rx.rx.q, &slept_rx);
			continue;
		}
		for (int i = 0; i < n; i++)
			bad += !rig_right(&rx.slots, o.slot[i], o.len[i], got + (uint32_t)i);
		got += (uint32_t)n;
		if (!((rnd >> 8) % 64)) /* late: the sender must wait, and be woken by the release */
			usleep((rnd >> 16) % 2000);
		rx.rx.release(rx.rx.q, o.slot, (uint32_t)n);
	}
	T_EQ(got, TOTAL);
	T_EQ(bad, 0);
}

static void both_block(const char *a0, const char *a1)
{
	static const uint32_t size[1] = { 2048 };
	uint16_t at = a1 ? 1 : 0;
	struct gw_port_stats s;
	pthread_t t;

	slept_tx = slept_rx = timed_out = 0;
	rig_cfg(&r, a0, a1);
	rig_open(&r, gw__clock_monotonic());
	rig_rxq(&r, &rx, at, 0, 256, 1, size, 0, false);
	rig_txq(&r, &tx, 0, 0, 128, 1, size);
	rig_flow(&r, at, 1, 4096, 0);
	T_RC(r.e->ops->start(r.e, NULL), 0);
	T_RC(r.e->ops->port_set(r.e, at, GW__PORT_PAUSE, 1), 0);
	T_NEED(!pthread_create(&t, NULL, sender, NULL));
	receive_all();
	pthread_join(t, NULL);
	T_EQ(timed_out, 0);
	T_OK(slept_tx > 0);
	T_OK(slept_rx > 0);
	T_RC(r.e->ops->port_stats(r.e, at, &s), 0);
	T_EQ(s.rx_missed, 0);
	T_RC(r.e->ops->port_stats(r.e, 0, &s), 0);
	T_OK(s.tx_paused > 0);
	rig_sums(&r, at);
}

static void finish(void)
{
	r.e->ops->stop(r.e);
	r.e->ops->close(r.e);
	rig_q_free(&rx);
	rig_q_free(&tx);
}

static void *idle_owner(void *arg)
{
	static struct rig_rx o;

	while (!*(_Atomic int *)arg) {
		uint64_t due;

		if (rig_recv(&rx, &o, 64) > 0)
			continue;
		gw__event_arm(&rx.event);
		if (rx.rx.arm(rx.rx.q)) {
			gw__event_disarm(&rx.event);
			continue;
		}
		due = rx.rx.due_ns(rx.rx.q);
		(void)gw__event_block(&rx.event, due == UINT64_MAX ? UINT64_MAX : 20000000);
	}
	return NULL;
}

static double cpu_s(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static void idle(void)
{
	_Atomic int stop = 0;
	pthread_t t;
	double before;

	T_NEED(!pthread_create(&t, NULL, idle_owner, &stop));
	usleep(50000);
	before = cpu_s();
	usleep(1000000);
	T_OK(cpu_s() - before < 0.015); /* 1.5 % of a core */
	stop = 1;
	gw__event_kick(&rx.event);
	pthread_join(t, NULL);
}

int main(void)
{
	char shm[64];

	both_block("cable:0", "cable:0");
	idle();
	finish();
	both_block("loopback", NULL);
	finish();
	snprintf(shm, sizeof(shm), "shm:nic-wait-%d", getpid());
	both_block(shm, shm);
	idle();
	finish();
	T_DONE();
}
