/* The rig on a clock turned by hand: no thread runs, each part gets the CPU when the test says so. */
#ifndef GW_TESTS_RIG_STEP_H
#define GW_TESTS_RIG_STEP_H

#include "base/alloc.h"
#include "base/clock.h"
#include "ingest/engine.h"
#include "ingest/ingest.h"
#include "rig.h"

struct hand {
	struct rig r;
	struct gw_config *cfg;
	struct gw *gw;
	struct gw__clock_manual clock;
	uint64_t next;      /* number of the next packet to send */
	uint32_t windows, full, partial, bad, raw_pkts;
	uint64_t valid;     /* slots reported valid */
};

static inline bool hand_has(const char *engine)
{
	for (const struct gw__engine_row *e = gw__engines; e->name; e++)
		if (!strcmp(e->name, engine))
			return e->ops != NULL;
	return false;
}

/* Engines every stepped test runs on. */
static const char *const hand_engines[] = { "null", "nic", NULL };

static inline void hand_open(struct hand *h, const char *engine)
{
	struct gw__open_opts o = { .clock = &h->clock.base, .no_threads = true };
	struct gw_diag d = { "" };

	h->r.engine = engine;
	h->r.address = "cable:7";
	h->cfg = rig_config(&h->r);
	gw__clock_manual_init(&h->clock, 1000000000u);
	if (gw__open(h->cfg, &o, &h->gw, &d)) {
		fprintf(stderr, "%s: %s\n", engine, d.text);
		T_NEED(h->gw);
	}
	T_NEED(!gw_start(h->gw, &d));
}

static inline void hand_close(struct hand *h)
{
	gw_close(h->gw);
	gw_config_free(h->cfg);
	h->gw = NULL;
}

/* Look at one burst as a consumer would, then release it. */
static inline void hand_judge(struct hand *h, struct gw_burst *b)
{
	struct gw_reorder_info info;

	if (!(b->flags & GW_BURST_REORDERED)) {
		h->raw_pkts += b->n_pkts;
		gw_burst_release(b);
		return;
	}
	T_NEED(!gw_burst_reorder_info(b, &info));
	h->windows++;
	h->full += !info.n_missing;
	h->partial += (b->flags & GW_BURST_REORDER_TIMEOUT) != 0;
	h->valid += info.source_packet_count;
	T_EQ((b->flags & GW_BURST_INCOMPLETE) != 0, info.n_missing != 0);
	if (!h->r.out_type && !(h->r.fill && strcmp(h->r.fill, "zero")))
		h->bad += rig_tensor_bad(&h->r, b, &info);
	gw_burst_release(b);
}

static inline int hand_take(struct hand *h)
{
	struct gw_burst b;
	int n = 0, r;

	while ((r = gw_rx_burst(h->gw, 1, 0, &b)) == 1) {
		hand_judge(h, &b);
		n++;
	}
	return r < 0 ? r : n;
}

static inline void hand_advance(struct hand *h, uint64_t ns)
{
	gw__clock_manual_advance(&h->clock, ns);
}

/* Send packets [next, upto); false when held back. */
static inline bool hand_send(struct hand *h, uint64_t upto)
{
	while (h->next < upto) {
		if (rig_send(h->gw, &h->r, h->next, RIG_PORT) != 1)
			return false;
		h->next++;
	}
	return true;
}

/* Everybody works until nothing moves. */
static inline void hand_settle(struct hand *h)
{
	for (int idle = 0; idle < 3;) {
		int n = gw__step(h->gw, 256);

		n += hand_take(h) > 0;
		idle = n > 0 ? 0 : idle + 1;
	}
}

#endif
