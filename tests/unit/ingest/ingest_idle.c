/* Nothing to do costs nothing: with queues, plans and both kinds of thread open and no traffic, no thread of
 * the process wakes. Counted in context switches, not in time. */
#include <sys/resource.h>
#include <time.h>

#include "rig_step.h"

static long switches(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return u.ru_nvcsw + u.ru_nivcsw;
}

static void sleep_ms(long ms)
{
	struct timespec ts = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	nanosleep(&ts, NULL);
}

static int64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Returns wake-ups in a second, our own one included; that second may cost 1.5 % of a core, opening apart. */
static long idle(struct rig *r, const char *engine, uint32_t packets)
{
	struct gw_config *cfg;
	struct gw *gw = NULL;
	struct gw_burst b;
	int64_t spent;
	long before;

	r->engine = engine;
	r->address = "cable:0";
	cfg = rig_config(r);
	T_NEED(!gw_open(cfg, &gw, NULL) && !gw_start(gw, NULL));
	for (uint32_t i = 0; i < packets; i++)
		T_EQ(rig_send(gw, r, i, RIG_PORT), 1);
	T_RC(gw_tx_drain(gw, 0, 0, 2000000000u), 0);
	(void)gw_flush(gw);
	while (gw_rx_burst(gw, 1, 0, &b) == 1)
		gw_burst_release(&b);
	sleep_ms(100);
	spent = cpu_ns();
	before = switches();
	sleep_ms(1000);
	before = switches() - before;
	spent = cpu_ns() - spent;
	T_OK(spent < 15000000);
	gw_close(gw);
	gw_config_free(cfg);
	return before;
}

int main(void)
{
	for (const char *const *e = hand_engines; *e; e++) {
		struct rig raw = { .n_rxq = 2, .cpu_core = -1 }, timed = { .timeout_us = 20000, .batch = 8 };
		struct rig plan = { .ppb = 8, .timeout_us = 2000 };

		if (!hand_has(*e))
			continue;
		/* one wake-up a millisecond would be 1,000; a spinning thread none, but its time shows */
		T_OK(idle(&raw, *e, 0) < 20);
		T_OK(idle(&raw, *e, 40) < 20);
		T_OK(idle(&timed, *e, 13) < 20);
		T_OK(idle(&plan, *e, 21) < 20);
	}
	T_DONE();
}
