/* The deadline of a window under stalls, on a clock turned by hand. A window is given up only when its sender
 * was silent for that long; never because the consumer, the poller or a cold start was late. */
#include "rig_step.h"

#define PPB 64u
#define WINDOWS 8u
#define US 1000u

/* Few transmit slots: a sender that was held back has little in its queue and must run to send more. With
 * arrival stamps a window looks as old as it is, without as old as the poller's first look at it. */
static bool stamps;

static void setup(struct hand *h, const char *engine, uint32_t timeout_us)
{
	*h = (struct hand){ .r = { .ppb = PPB, .payload = 32, .out_bufs = 4, .rx_bufs = 128, .tx_bufs = 12,
				   .batch = PPB, .timeout_us = timeout_us, .timestamps = stamps } };
	hand_open(h, engine);
	T_RC(gw_port_set_pause(h->gw, 1, true), 0);
}

static void finish(struct hand *h, const char *what, uint32_t partial)
{
	struct gw_diag d = { "" };

	hand_settle(h);
	T_RC(gw_flush(h->gw), 0); /* nothing may be left open */
	hand_settle(h);
	if (h->partial != partial || h->bad)
		fprintf(stderr, "%s, %s, timeout %u: partial=%u bad=%u\n", h->r.engine, what, h->r.timeout_us,
			h->partial, h->bad);
	T_EQ(h->partial, partial);
	T_EQ(h->bad, 0);
	T_RC(gw_stats_check(h->gw, &d), 0);
	T_STR(d.text, "");
	hand_close(h);
}

/* Sender and poller have the CPU in turn until neither gets any further. */
static void run_both(struct hand *h, uint64_t upto)
{
	uint64_t before;

	do {
		before = h->next;
		hand_send(h, upto);
		gw__step(h->gw, 256);
	} while (h->next != before);
}

/* Sender and poller run, the consumer does not, for `stall` in all; then all run. */
static void consumer_stalled(const char *engine, uint32_t timeout_us, uint64_t stall_us, uint64_t from)
{
	struct hand h;

	setup(&h, engine, timeout_us);
	run_both(&h, from);
	for (uint64_t t = 0; t < stall_us; t += stall_us / 50) {
		run_both(&h, WINDOWS * PPB);
		hand_advance(&h, stall_us / 50 * US);
		gw__step(h.gw, 256);
	}
	/* the poller sees an empty wire before the sender gets the CPU again */
	while (h.windows < WINDOWS && h.next <= WINDOWS * PPB) {
		uint64_t before = h.next + h.windows;

		hand_take(&h);
		gw__step(h.gw, 256);
		gw__step(h.gw, 256);
		hand_advance(&h, timeout_us / 2 * US);
		gw__step(h.gw, 256);
		run_both(&h, WINDOWS * PPB);
		hand_take(&h);
		if (h.next + h.windows == before)
			break;
	}
	T_EQ(h.full, WINDOWS);
	finish(&h, "consumer stalled", 0);
}

/* In mid-window the poller loses the CPU; the sender goes on until the slots are used up. */
static void poller_stalled(const char *engine, uint32_t timeout_us, uint64_t upto)
{
	struct hand h;

	setup(&h, engine, timeout_us);
	run_both(&h, PPB / 2);
	hand_take(&h);
	hand_advance(&h, 2u * timeout_us * US);
	hand_send(&h, upto); /* until it is held back, if it gets so far */
	hand_advance(&h, 8u * timeout_us * US);
	for (int i = 0; i < 4; i++) /* back on the CPU, the sender still asleep */
		gw__step_rxq(h.gw, 1, 0, 256);
	hand_advance(&h, timeout_us / 2 * US);
	gw__step_rxq(h.gw, 1, 0, 256);
	T_EQ(h.partial, 0);
	while (h.next < WINDOWS * PPB) {
		run_both(&h, WINDOWS * PPB);
		hand_take(&h);
	}
	hand_settle(&h);
	T_EQ(h.full, WINDOWS);
	finish(&h, "poller off the CPU", 0);
}

/* The sender itself is silent for two timeouts in mid-window: that window, and only that, goes early. */
static void sender_pauses(const char *engine, uint32_t timeout_us)
{
	struct gw_queue_stats s;
	struct hand h;

	setup(&h, engine, timeout_us);
	while (h.next < WINDOWS * PPB) {
		hand_send(&h, h.next + PPB / 2);
		gw__step(h.gw, 256);
		hand_take(&h);
		if (h.next == 3 * PPB + PPB / 2)
			for (int i = 0; i < 20; i++) {
				hand_advance(&h, timeout_us / 10 * US);
				gw__step(h.gw, 256);
				hand_take(&h);
			}
	}
	hand_settle(&h);
	T_EQ(h.windows, WINDOWS);
	T_EQ(h.full, WINDOWS - 1);
	T_RC(gw_rxq_stats(h.gw, 1, 0, &s), 0);
	T_EQ(s.silence_ns, (uint64_t)timeout_us * US); /* seen by a poller that looks each tenth of it */
	finish(&h, "sender paused", 1);
}

/* Another queue of the port is full and holds the wire: what waits behind its frames is not the sender's silence. */
static void other_queue_blocks(const char *engine, uint32_t timeout_us, uint32_t bursts)
{
	struct hand h = { .r = { .ppb = PPB, .payload = 32, .n_rxq = 2, .rx_bufs = 256, .tx_bufs = 12, .batch = PPB,
				 .timeout_us = timeout_us, .timestamps = stamps, .meta = bursts } };
	struct gw_burst b[4];
	uint32_t n = 0, other = 0;

	hand_open(&h, engine);
	T_RC(gw_port_set_pause(h.gw, 1, true), 0);
	run_both(&h, PPB / 2);
	for (int i = 0; i < 400; i++) { /* fill the other queue: two bursts, then its slots, then the wire */
		if (rig_send(h.gw, &h.r, other, RIG_PORT + 1) == 1)
			other++;
		gw__step(h.gw, 256);
		while (n < 4 && gw_rx_burst(h.gw, 1, 1, &b[n]) == 1)
			n++;
	}
	T_OK(other > 128 && n == 2);
	T_OK(!hand_send(&h, PPB));
	for (int i = 0; i < 20; i++) {
		hand_advance(&h, timeout_us / 2 * US);
		gw__step(h.gw, 256);
	}
	hand_take(&h);
	T_EQ(h.windows, 0);
	while (n)
		gw_burst_release(&b[--n]);
	gw__step(h.gw, 256);
	hand_advance(&h, timeout_us / 2 * US);
	gw__step_rxq(h.gw, 1, 0, 256);
	for (int i = 0; i < 20; i++) {
		run_both(&h, WINDOWS * PPB);
		hand_take(&h);
		while (gw_rx_burst(h.gw, 1, 1, &b[0]) == 1)
			gw_burst_release(&b[0]);
	}
	T_EQ(h.full, WINDOWS);
	finish(&h, "another queue blocks", 0);
}

/* Just under the deadline nothing is given up; just past it, it is. */
static void edge(const char *engine, uint32_t timeout_us)
{
	struct hand h;

	setup(&h, engine, timeout_us);
	hand_send(&h, PPB / 2);
	gw__step(h.gw, 256);
	hand_advance(&h, (uint64_t)timeout_us * US - 1);
	gw__step(h.gw, 256);
	hand_take(&h);
	T_EQ(h.windows, 0);
	hand_advance(&h, 1);
	gw__step(h.gw, 256);
	hand_take(&h);
	T_EQ(h.windows, 1);
	T_EQ(h.valid, PPB / 2);
	finish(&h, "edge", 1);
}

/* timeout 0: the last packet of the run is lost. Only the application's give-up hands the window over. */
static void last_lost(const char *engine)
{
	struct hand h;

	setup(&h, engine, 0);
	hand_send(&h, 2 * PPB - 1);
	hand_settle(&h);
	hand_advance(&h, 3600000000000u);
	hand_settle(&h);
	T_EQ(h.windows, 1);
	T_RC(gw_flush(h.gw), 1);
	hand_settle(&h);
	T_EQ(h.windows, 2);
	T_EQ(h.valid, 2 * PPB - 1);
	finish(&h, "last packet lost", 1);
}

/* One packet lost in the middle: one window with one hole, handed over when a later one is past it. */
static void one_lost(const char *engine)
{
	struct hand h;

	setup(&h, engine, 0);
	hand_send(&h, 3 * PPB + 5);
	h.next++;
	while (h.next < WINDOWS * PPB) {
		hand_send(&h, h.next + PPB / 4 < WINDOWS * PPB ? h.next + PPB / 4 : WINDOWS * PPB);
		hand_settle(&h);
	}
	T_EQ(h.windows, WINDOWS);
	T_EQ(h.full, WINDOWS - 1);
	T_EQ(h.valid, WINDOWS * PPB - 1);
	finish(&h, "one lost", 1);
}

int main(void)
{
	static const uint32_t timeouts[] = { 20000, 200000 };

	for (const char *const *e = hand_engines; *e; e++) {
		if (!hand_has(*e))
			continue;
		for (int i = 0; i < 4; i++) {
			uint32_t t = timeouts[i / 2];

			stamps = i % 2;

			consumer_stalled(*e, t, 10 * (uint64_t)t, 2 * PPB + PPB / 2);
			consumer_stalled(*e, t, 10 * (uint64_t)t, 3 * PPB + 1);
			consumer_stalled(*e, t, 3000000, 0); /* first inference takes 3 s */
			poller_stalled(*e, t, PPB);
			if (!stamps) /* with stamps that sender was silent, and the stamps say so */
				poller_stalled(*e, t, 2 * PPB + 7);
			poller_stalled(*e, t, WINDOWS * PPB);
			sender_pauses(*e, t);
			other_queue_blocks(*e, t, 2); /* out of bursts */
			other_queue_blocks(*e, t, 8); /* out of slots */
			edge(*e, t);
		}
		last_lost(*e);
		one_lost(*e);
	}
	T_EQ(gw__alloc_live(), 0);
	T_DONE();
}
