/* Wait ladder and event: a signal is never lost, a timeout returns, the hand-turned clock stands still. */
#include <pthread.h>

#include "base/clock.h"
#include "base/diag.h"
#include "base/log.h"
#include "base/wait.h"
#include "t.h"

#define LAPS 20000

struct pair {
	struct gw__event e;
	_Atomic int work;
};

static void *waiter(void *arg)
{
	struct pair *p = arg;

	for (int i = 1; i <= LAPS; i++) {
		while (atomic_load(&p->work) < i) {
			gw__event_arm(&p->e);
			if (atomic_load(&p->work) >= i)
				gw__event_disarm(&p->e);
			else if (gw__event_block(&p->e, 5000000000u) == 0)
				return p; /* five seconds: the wake-up was lost */
		}
	}
	return NULL;
}

static char last_line[256];

static void sink(void *ctx, enum gw_log_level level, const char *line)
{
	snprintf(last_line, sizeof(last_line), "%d %s", (int)level, line);
}

static uint32_t climb(struct gw__ladder *l)
{
	uint32_t steps = 0;

	gw__ladder_reset(l);
	while (!gw__ladder_step(l))
		steps++;
	return steps;
}

/* Looks in vain make the next spin shorter, down to a floor; one that finds something makes it longer again. */
static void ladder_learns(void)
{
	struct gw__ladder l;
	uint32_t first, least = 0, spin;

	gw__ladder_init(&l);
	first = climb(&l);
	for (int i = 0; i < 20; i++)
		least = climb(&l);
	T_OK(least < first / 8 || first < 8); /* no spinning where threads exceed cores */
	spin = l.spin_limit;
	for (int i = 0; i < 20; i++) {
		gw__ladder_reset(&l);
		(void)gw__ladder_step(&l);
	}
	gw__ladder_reset(&l);
	T_OK(l.spin_limit > spin || first < 8);
	T_OK(l.spin_limit <= GW__SPIN_MAX);
}

int main(void)
{
	struct pair p;
	struct gw__clock_manual m;
	struct gw_diag d;
	pthread_t t;
	void *lost;
	uint64_t a;
	struct gw__ladder l;
	int steps = 0;

	T_RC(gw__event_init(&p.e), 0);
	atomic_init(&p.work, 0);
	T_EQ(gw__event_block(&p.e, 1000), 0);
	pthread_create(&t, NULL, waiter, &p);
	for (int i = 0; i < LAPS; i++) {
		atomic_fetch_add(&p.work, 1);
		gw__event_signal(&p.e);
	}
	pthread_join(t, &lost);
	T_OK(lost == NULL);
	gw__event_fini(&p.e);

	a = gw__now_ns(gw__clock_monotonic());
	T_OK(gw__now_ns(gw__clock_monotonic()) >= a);
	gw__clock_manual_init(&m, 7);
	gw__clock_manual_advance(&m, 3);
	T_EQ(gw__now_ns(&m.base), 10);

	gw__ladder_init(&l);
	while (!gw__ladder_step(&l) && steps < 100000)
		steps++;
	T_OK(steps > 0 && steps < 1000);
	ladder_learns();

	T_RC(gw__pin_to_core(-1), -EINVAL);
	T_RC(gw__pin_to_core(4000), -EINVAL);

	T_RC(gw__fail(&d, -EINVAL, "slots %d", 3), -EINVAL);
	T_STR(d.text, "slots 3");
	T_RC(gw__fail(NULL, -EIO, "x"), -EIO);
	gw__warn("nobody listens");
	gw_log_set(sink, NULL, GW_LOG_WARN);
	gw__info("quiet");
	T_STR(last_line, "");
	gw__warn("loud %d", 1);
	T_STR(last_line, "3 loud 1");
	gw_log_set(NULL, NULL, GW_LOG_OFF);
	T_DONE();
}
