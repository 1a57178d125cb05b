/* What the log is told: the drop line each 500 ms and only while there is something to tell, the totals at the
 * end, one warning for a core that is not there. */
#include <pthread.h>
#include <time.h>

#include "rig_step.h"

static struct {
	char line[64][256];
	_Atomic int n;
} seen;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void sink(void *ctx, enum gw_log_level level, const char *line)
{
	pthread_mutex_lock(&lock);
	if (seen.n < 64) {
		snprintf(seen.line[seen.n], sizeof(seen.line[0]), "%s", line);
		seen.n++;
	}
	pthread_mutex_unlock(&lock);
}

static int lines_with(const char *part)
{
	int n = 0;

	for (int i = 0; i < seen.n; i++)
		n += strstr(seen.line[i], part) != NULL;
	return n;
}

static void drop_line(const char *engine)
{
	struct hand h = { .r = { .batch = 8, .rx_bufs = 64, .tx_bufs = 64 } };
	struct gw_burst held[8];

	hand_open(&h, engine);
	seen.n = 0;
	hand_send(&h, 64);
	gw__step(h.gw, 256);
	for (int i = 0; i < 8; i++)
		T_RC(gw_rx_burst(h.gw, 1, 0, &held[i]), 1);
	hand_send(&h, 64 + 1234);
	gw__step(h.gw, 256);
	T_EQ(lines_with("Dropped"), 0); /* 500 ms are not over */
	hand_advance(&h, 499999999u);
	gw__step(h.gw, 256);
	T_EQ(lines_with("Dropped"), 0);
	hand_advance(&h, 1);
	gw__step(h.gw, 256);
	T_EQ(lines_with("'rx_port' interface (1), Rx: Dropped 1,234 packets since last poll 500ms ago (total: 1,234)"),
	     1);
	for (int i = 0; i < 10; i++) {
		hand_advance(&h, 500000000u);
		gw__step(h.gw, 256);
	}
	T_EQ(lines_with("Dropped"), 1); /* nothing new: nothing said */
	hand_send(&h, 64 + 1234 + 10);
	gw_stop(h.gw); /* what no line has told yet is told now */
	T_EQ(lines_with("Dropped 10 packets since last poll"), 1);
	T_EQ(lines_with("(total: 1,244)"), 1);
	T_EQ(lines_with("Total packets received by application (port/queue 1/0): 64"), 1);
	T_EQ(lines_with("Total packets transmitted by application (port/queue 0/0): 1308"), 1);
	for (int i = 0; i < 8; i++)
		gw_burst_release(&held[i]);
	hand_close(&h);
}

static void absent_core(const char *engine)
{
	struct rig r = { .cpu_core = 900, .engine = engine, .address = "cable:0", .n_rxq = 2 };
	struct gw_config *cfg = rig_config(&r);
	struct gw *gw = NULL;

	seen.n = 0;
	T_RC(gw_open(cfg, &gw, NULL), 0);
	T_RC(gw_start(gw, NULL), 0);
	T_EQ(rig_send(gw, &r, 0, RIG_PORT), 1);
	T_RC(gw_flush(gw), 0);
	T_RC(gw_rx_wait(gw, 1, 0, 2000000000u), 1);
	T_EQ(lines_with("has no core 900"), 1); /* one poller, one warning; and it runs */
	gw_close(gw);
	gw_config_free(cfg);
}

/* With threads: a poller that sleeps, because every slot is with the consumer, still tells of the drops. */
static void sleeping_poller(const char *engine)
{
	struct rig r = { .batch = 8, .rx_bufs = 64, .engine = engine, .address = "cable:0" };
	struct gw_config *cfg = rig_config(&r);
	struct timespec ms = { .tv_nsec = 10000000 };
	struct gw *gw = NULL;
	struct gw_burst held[8];

	T_NEED(!gw_open(cfg, &gw, NULL) && !gw_start(gw, NULL));
	for (uint32_t i = 0; i < 64; i++)
		T_EQ(rig_send(gw, &r, i, RIG_PORT), 1);
	for (int i = 0; i < 8; i++) {
		T_RC(gw_rx_wait(gw, 1, 0, 5000000000u), 1);
		T_RC(gw_rx_burst(gw, 1, 0, &held[i]), 1);
	}
	for (int i = 0; i < 20; i++) /* let it fall asleep */
		nanosleep(&ms, NULL);
	seen.n = 0;
	for (uint32_t i = 0; i < 30; i++)
		T_EQ(rig_send(gw, &r, i, RIG_PORT), 1);
	for (int i = 0; i < 1000 && !lines_with("Dropped 30 packets"); i++)
		nanosleep(&ms, NULL);
	T_EQ(lines_with("Dropped 30 packets"), 1);
	for (int i = 0; i < 8; i++)
		gw_burst_release(&held[i]);
	gw_close(gw);
	gw_config_free(cfg);
}

int main(void)
{
	gw_log_set(sink, NULL, GW_LOG_INFO);
	for (const char *const *e = hand_engines; *e; e++) {
		if (!hand_has(*e))
			continue;
		drop_line(*e);
		absent_core(*e);
		sleeping_poller(*e);
	}
	T_DONE();
}
