/* What every conformance case stands on: open, send, take, and an end at which every sum must close.
 * Public API only. Cases live in cases_*.c, one table each; conform.c runs them on the engine named. */
#ifndef GW_TESTS_CONFORM_BED_H
#define GW_TESTS_CONFORM_BED_H

#include <time.h>

#include "rig.h"

struct bed {
	struct rig r;
	struct gw_config *cfg;
	struct gw *gw;
};

struct conform_case {
	const char *name;
	void (*fn)(const char *engine);
};

/* t.h counts by file: a list brings its file's counters along. */
struct conform_list {
	const struct conform_case *cases;
	int *n_checks, *n_failed;
};

extern const struct conform_list rx_list, tx_list, life_list, reorder_list, flow_list;

#define MS 1000000u
#define SOON (2000u * MS) /* things that must happen */
#define NEVER (15u * MS)  /* long enough to see that something does not */

static inline void bed_open_only(struct bed *b, const char *engine)
{
	struct gw_diag d = { "" };

	b->r.engine = engine;
	b->r.address = b->r.address ? b->r.address : "cable:0";
	b->cfg = rig_config(&b->r);
	if (gw_open(b->cfg, &b->gw, &d))
		fprintf(stderr, "gw_open: %s\n", d.text);
	T_NEED(b->gw);
}

static inline void bed_open(struct bed *b, const char *engine)
{
	struct gw_diag d = { "" };

	bed_open_only(b, engine);
	if (gw_start(b->gw, &d))
		fprintf(stderr, "gw_start: %s\n", d.text);
}

static inline void bed_free(struct bed *b)
{
	gw_close(b->gw);
	gw_config_free(b->cfg);
	b->gw = NULL;
}

/* Packets [from, from + n) to one UDP port, waiting for slots. Returns how many left. */
static inline uint32_t bed_send(struct bed *b, uint64_t from, uint32_t n, uint16_t udp_dst)
{
	uint32_t i = 0;

	while (i < n) {
		int r = rig_send(b->gw, &b->r, from + i, udp_dst);

		if (r == 1)
			i++;
		else if (r < 0 || gw_tx_wait(b->gw, 0, 0, SOON) != 1)
			break;
	}
	return i;
}

static inline int bed_take(struct bed *b, uint16_t queue, uint64_t wait_ns, struct gw_burst *burst)
{
	int r = gw_rx_wait(b->gw, 1, queue, wait_ns);

	return r == 1 ? gw_rx_burst(b->gw, 1, queue, burst) : r;
}

/* Take and check raw packets that must be `from`, `from` + 1, ...; returns how many came. */
static inline uint32_t bed_expect(struct bed *b, uint16_t queue, uint64_t from, uint32_t n)
{
	uint8_t frame[RIG_HDR + 9000];
	struct gw_burst burst;
	uint32_t got = 0, bad = 0;

	while (got < n && bed_take(b, queue, SOON, &burst) == 1) {
		for (uint32_t i = 0; i < burst.n_pkts; i++, got++) {
			rig_frame(frame, from + got, b->r.seq_bits, (uint16_t)(RIG_PORT + queue), b->r.payload);
			bad += rig_diff(&burst, i, frame, RIG_HDR + b->r.payload) != 0;
			bad += burst.flow[i] != 200u + queue;
		}
		T_EQ(burst.port, 1);
		T_EQ(burst.queue, queue);
		gw_burst_release(&burst);
	}
	T_EQ(bad, 0);
	return got;
}

static inline void bed_nothing(struct bed *b, uint16_t queue)
{
	struct gw_burst burst;
	int r = bed_take(b, queue, NEVER, &burst);

	T_OK(r == 0 || r == -ENOBUFS);
	if (r == 1)
		gw_burst_release(&burst);
}

/* Give back whatever is left, stop, and look at every sum. */
static inline void bed_close(struct bed *b)
{
	struct gw_diag d = { "" };
	struct gw_burst burst;

	T_RC(gw_tx_drain(b->gw, 0, 0, SOON), 0);
	gw_stop(b->gw);
	for (uint16_t q = 0; q < b->r.n_rxq; q++)
		while (gw_rx_burst(b->gw, 1, q, &burst) == 1)
			gw_burst_release(&burst);
	T_RC(gw_stats_check(b->gw, &d), 0);
	T_STR(d.text, "");
	bed_free(b);
}

static inline struct gw_port_stats bed_port(struct bed *b, uint16_t port)
{
	struct gw_port_stats s;

	T_RC(gw_port_stats(b->gw, port, &s), 0);
	return s;
}

static inline struct gw_queue_stats bed_rxq(struct bed *b, uint16_t queue)
{
	struct gw_queue_stats s;

	T_RC(gw_rxq_stats(b->gw, 1, queue, &s), 0);
	return s;
}

static inline struct gw_reorder_stats bed_plan(struct bed *b)
{
	struct gw_reorder_stats s;

	T_RC(gw_reorder_stats(b->gw, "plan", &s), 0);
	return s;
}

static inline uint64_t bed_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

#endif
