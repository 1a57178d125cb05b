/* One seed, one run over a real impaired link on a virtual clock: loss, duplicates, swaps, corruption and delay as
 * `--impair` makes them. Every image without a hole is bit-identical to the clean run, every image with one is
 * reported, the sums close. usage: sim_link [first seed] [seeds] */
#include "rig_step.h"
#include "rng.h"

#define PPB 64u
#define GROUP 8u /* packets of one image */

static struct {
	uint64_t frames, lost, extra, holes, images, whole, late;
} met;

struct sim {
	struct hand h;
	uint32_t n_windows, images, whole, wrong, strange;
	uint64_t valid;
	bool corrupt;
};

static void look(struct sim *s, const struct gw_burst *b)
{
	struct gw_reorder_info info;
	const uint8_t *t = b->seg_ptr[0][0];

	T_EQ(gw_burst_reorder_info(b, &info), 0);
	s->valid += info.source_packet_count;
	for (uint32_t g = 0; g < PPB / GROUP; g++) {
		bool whole = true, same = true;

		for (uint32_t i = g * GROUP; i < (g + 1) * GROUP; i++) {
			whole &= rig_bit(info.valid, i);
			for (uint32_t j = 0; j < s->h.r.payload; j++)
				same &= t[i * s->h.r.payload + j] == rig_byte(info.batch_id * PPB + i, j);
		}
		s->images++;
		s->whole += whole;
		/* a flipped bit in the payload is not ours to find: there is no checksum in these frames */
		s->wrong += whole && !same && !s->corrupt;
	}
	s->strange += info.n_missing != PPB - info.source_packet_count;
	s->strange += (info.n_missing != 0) != ((b->flags & GW_BURST_INCOMPLETE) != 0);
	s->h.windows++;
}

static void take(struct sim *s)
{
	struct gw_burst b;

	while (gw_rx_burst(s->h.gw, 1, 0, &b) == 1) {
		if (b.flags & GW_BURST_REORDERED)
			look(s, &b);
		gw_burst_release(&b);
	}
}

static bool run(uint64_t seed)
{
	static struct sim s;
	static char address[160];
	struct rng rng = { .s = seed * 6700417 };
	uint32_t loss = rng_below(&rng, 100), dup = rng_below(&rng, 100), swap = rng_below(&rng, 200);
	uint32_t delay = rng_hit(&rng, 5000) ? 1 + rng_below(&rng, 300) : 0;
	struct gw_port_stats rx, tx;
	struct gw_reorder_stats st;
	struct gw_diag d = { "" };
	int bad = t__failed;

	memset(&s, 0, sizeof(s));
	s.corrupt = rng_hit(&rng, 1000);
	snprintf(address, sizeof(address), "impair:loss=%u.%02u%%,dup=%u.%02u%%,swap=%u.%02u%%,corrupt=%s,delay=%uus,seed=%u:cable:7",
		 loss / 100, loss % 100, dup / 100, dup % 100, swap / 100, swap % 100, s.corrupt ? "0.5%" : "0", delay,
		 (uint32_t)seed);
	s.n_windows = 4 + rng_below(&rng, 12);
	s.h.r = (struct rig){ .ppb = PPB, .payload = 8 + rng_below(&rng, 40), .rx_bufs = 512, .out_bufs = 4,
			      .rx_hdr = rng_hit(&rng, 3000) ? RIG_HDR : 0, .rx_address = address,
			      .timestamps = rng_hit(&rng, 5000) };
	hand_open(&s.h, "nic");
	for (uint32_t turns = 0; turns < 100000 && s.h.next < s.n_windows * PPB; turns++) {
		uint64_t upto = s.h.next + 1 + rng_below(&rng, 20);

		hand_send(&s.h, upto < s.n_windows * PPB ? upto : s.n_windows * PPB);
		gw__step(s.h.gw, 64);
		take(&s);
		hand_advance(&s.h, 1000 + rng_below(&rng, 20000));
	}
	T_EQ(s.h.next, s.n_windows * PPB);
	for (int i = 0; i < 100; i++) { /* what is still under way */
		hand_advance(&s.h, 100000);
		gw__step(s.h.gw, 256);
		take(&s);
	}
	(void)gw_flush(s.h.gw);
	take(&s);
	T_EQ(gw_stats_check(s.h.gw, &d), 0);
	T_STR(d.text, "");
	T_EQ(gw_port_stats(s.h.gw, 1, &rx), 0);
	T_EQ(gw_port_stats(s.h.gw, 0, &tx), 0);
	T_EQ(gw_reorder_stats(s.h.gw, "plan", &st), 0);
	T_EQ(tx.tx_packets, s.n_windows * PPB);
	T_EQ(rx.rx_missed, 0);
	T_EQ(s.wrong, 0);
	T_EQ(s.strange, 0);
	T_EQ(st.windows, s.h.windows);
	T_EQ(st.placed_packets, s.valid);
	if (!s.corrupt) {
		/* each number is placed, or the wire lost it, or every copy came too late */
		T_EQ(st.placed_packets + st.duplicate_packets + st.late_packets + st.stale_packets, rx.rx_wire_packets);
		T_OK(st.placed_packets + st.late_packets + (loss ? s.n_windows * PPB : 0) >= s.n_windows * PPB);
		T_OK(dup || rx.rx_wire_packets <= tx.tx_packets);
	}
	met.frames += tx.tx_packets;
	met.lost += tx.tx_packets > st.placed_packets ? tx.tx_packets - st.placed_packets : 0;
	met.extra += st.duplicate_packets;
	met.late += st.late_packets;
	met.holes += st.missing_packets;
	met.images += s.images;
	met.whole += s.whole;
	hand_close(&s.h);
	return t__failed == bad;
}

int main(int argc, char **argv)
{
	uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 0) : 1, n = argc > 2 ? strtoull(argv[2], NULL, 0) : 600;
	uint32_t failed = 0;

	if (!hand_has("nic"))
		T_SKIP("engine nic is not in this build");
	for (uint64_t seed = first; seed < first + n && failed < 5; seed++)
		if (!run(seed)) {
			fprintf(stderr, "seed %" PRIu64 " failed: run sim_link %" PRIu64 " 1\n", seed, seed);
			failed++;
		}
	T_EQ(gw__alloc_live(), 0);
	printf("%" PRIu64 " seeds from %" PRIu64 ": frames=%" PRIu64 " not placed=%" PRIu64 " duplicate=%" PRIu64 " late=%" PRIu64
	       " holes=%" PRIu64 " images=%" PRIu64 " whole=%" PRIu64 "\n", n, first, met.frames, met.lost, met.extra, met.late,
	       met.holes, met.images, met.whole);
	if (n >= 600)
		T_OK(met.lost && met.extra && met.holes && met.whole < met.images);
	T_DONE();
}
