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

int main(void)
{
	for (const char *const *e = hand_engines; *e; e++) {
		struct rig plain = { .n_rxq = 3, .tx_hdr = 64, .rx_hdr = 64 };
		struct rig plan = { .ppb = 8, .out_type = "fp16", .payload = 32, .timestamps = true };

		if (!hand_has(*e))
			continue;
		every_allocation(&plain, *e);
		every_allocation(&plan, *e);
	}
	T_EQ(gw__alloc_live(), 0);
	T_DONE();
}
