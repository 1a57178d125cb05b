/* gw_open() and gw_start() when the n-th allocation fails, for every n: a refusal with a sentence, nothing left. */
#include "rig_step.h"

static void every_allocation(struct rig *r, const char *engine)
{
	struct gw__open_opts o = { .no_threads = true };
	struct gw_config *cfg;
	long live, n;

	r->engine = engine;
	r->address = "cable:3";
	cfg = rig_config(r);
	live = gw__alloc_live();
	for (n = 1; n < 20000; n++) {
		struct gw_diag d = { "" };
		struct gw *gw = NULL;
		int err;

		gw__alloc_fail_at(n);
		err = gw__open(cfg, &o, &gw, &d);
		if (!err) {
			bool reached = gw__alloc_count() >= n;

			gw_close(gw);
			gw__alloc_fail_at(0);
			T_EQ(gw__alloc_live(), live);
			if (!reached)
				break; /* it never got to the n-th: all have failed once */
			continue;      /* an allocation it can do without */
		}
		gw__alloc_fail_at(0);
		T_OK(gw == NULL);
		T_OK(err == -ENOMEM);
		T_OK(d.text[0] != '\0');
		if (gw__alloc_live() != live) {
			T_EQ(gw__alloc_live(), live);
			fprintf(stderr, "%s: allocation %ld leaks: %s\n", engine, n, d.text);
			break;
		}
	}
	T_OK(n > 20 && n < 20000);
	gw_config_free(cfg);
}

/* The calls that make something later: a write, synchronous or not, and rules. */
static void later_calls(const char *engine)
{
	struct hand h = { .r = { .batch = 4 } };
	struct gw_flow_rule rule = { .match = { .fields = GW_MATCH_UDP_DST, .udp_dst_lo = 7, .udp_dst_hi = 7 },
				     .action = { { .type = GW_ACTION_QUEUE, .n_queues = 1 } }, .n_actions = 1 };
	struct gw_write_opts o = { .sz = sizeof(o), .kind = GW_FILE_RAW, .path = "/nonexistent" };
	struct gw_burst b;
	uint32_t ticket, refused = 0;
	long live;

	hand_open(&h, engine);
	hand_send(&h, 4);
	gw__step(h.gw, 64);
	T_NEED(gw_rx_burst(h.gw, 1, 0, &b) == 1);
	live = gw__alloc_live();
	for (long n = 1; n < 6; n++)
		for (int async = 0; async < 2; async++) {
			struct gw_write *w = NULL;
			struct gw_diag d = { "" };
			int err;

			gw__alloc_fail_at(n);
			err = gw_write_burst(h.gw, &b, &o, async ? &w : NULL, NULL, &d);
			gw__alloc_fail_at(0);
			refused += err == -ENOMEM;
			T_OK(err == -ENOMEM || err == (async ? 0 : -ENOENT));
			T_OK(!err || d.text[0]);
			gw_write_destroy(w);
			T_EQ(gw__alloc_live(), live);
		}
	T_EQ(refused, 6);
	refused = 0;
	for (int i = 0; i < 40; i++) {
		struct gw_flow_done done;
		int err;

		rule.id = 0;
		rule.match.udp_dst_lo = rule.match.udp_dst_hi = (uint16_t)(100 + i);
		gw__alloc_fail_at(1);
		err = gw_flow_add(h.gw, 1, &rule, 1, &ticket, NULL);
		gw__alloc_fail_at(0);
		refused += err == -ENOMEM;
		T_OK(err == 0 || err == -ENOMEM);
		if (err)
			T_RC(gw_flow_add(h.gw, 1, &rule, 1, &ticket, NULL), 0);
		T_EQ(gw_flow_poll(h.gw, &done), 1);
	}
	T_OK(refused > 0);
	gw_burst_release(&b);
	hand_close(&h);
}

int main(void)
{
	for (const char *const *e = hand_engines; *e; e++) {
		struct rig plain = { .n_rxq = 3, .tx_hdr = 64, .rx_hdr = 64 };
		struct rig merged = { .ppb = 8, .n_rxq = 2, .rss = true };
		struct rig plan = { .ppb = 8, .out_type = "fp16", .payload = 32, .timestamps = true };

		if (!hand_has(*e))
			continue;
		every_allocation(&plain, *e);
		every_allocation(&plan, *e);
		every_allocation(&merged, *e);
		later_calls(*e);
	}
	T_EQ(gw__alloc_live(), 0);
	T_DONE();
}
