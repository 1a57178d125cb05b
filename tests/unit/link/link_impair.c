/* tests/unit/link/link_impair.c: faults come from the seed alone, are counted, and lose nothing unasked. */
#include "sink.h"

#include "base/alloc.h"
#include "link/impair.h"

static struct gw__clock_manual clk;
static struct gw__link *a, *b;
static struct sink sa, sb;

static void open_pair(const char *options, bool on_sender)
{
	char address[128];
	struct gw_diag d = { "" };
	int err;

	snprintf(address, sizeof(address), "impair:%s:cable:9", options);
	err = gw__link_open(on_sender ? address : "cable:9", &clk.base, &a, &d);
	if (!err)
		err = gw__link_open(on_sender ? "cable:9" : address, &clk.base, &b, &d);
	if (err)
		fprintf(stderr, "%s\n", d.text);
	T_NEED(!err);
	sink_plug(a, &sa);
	sink_plug(b, &sb);
	sb.in_order = false;
}

static void close_pair(void)
{
	gw__link_close(a);
	gw__link_close(b);
	T_EQ(gw__alloc_live(), 0);
}

/* Send n frames in bursts of `burst`, then let the link run empty. */
static void traffic(uint32_t n, uint32_t burst)
{
	static uint8_t buf[64][256];
	struct gw__frame f[64];

	for (uint32_t at = 0; at < n;) {
		uint32_t k = n - at < burst ? n - at : burst;

		for (uint32_t i = 0; i < k; i++) {
			sink_make(buf[i], 200, at + i);
			f[i] = (struct gw__frame){ .n_segs = 1, .len = 200 };
			f[i].seg[0].ptr = buf[i];
			f[i].seg[0].len = 200;
		}
		at += (uint32_t)a->ops->send(a, f, (int)k);
	}
	for (int i = 0; i < 10; i++) {
		a->ops->step(a, 64);
		b->ops->step(b, 64);
	}
}

static struct gw__impair_counts counts(bool rx)
{
	struct gw__impair_counts n;

	T_RC(gw__impair_counts(rx ? b : a, rx, &n), 0);
	T_RC(gw__impair_counts(rx ? a : b, rx, &n), -EINVAL);
	T_RC(gw__impair_counts(rx ? b : a, rx, &n), 0);
	return n;
}

static void seeds(bool on_sender)
{
	static uint32_t first[4096];
	const uint32_t bursts[3] = { 1, 7, 64 };

	for (int i = 0; i < 4; i++) {
		struct gw__impair_counts n;

		open_pair(i < 3 ? (on_sender ? "loss=1%,dup=2%,swap=3%,seed=7,dir=tx" : "loss=1%,dup=0.02,swap=3%,seed=7") :
				  (on_sender ? "loss=1%,dup=2%,swap=3%,seed=8,dir=tx" : "loss=1%,dup=2%,swap=3%,seed=8"),
			  on_sender);
		traffic(4000, bursts[i % 3]);
		n = counts(!on_sender);
		T_EQ(n.frames, 4000);
		T_EQ(sb.n, 4000 - n.lost + n.duplicated);
		T_OK(n.lost > 20 && n.lost < 70 && n.duplicated > 50 && n.duplicated < 120 && n.swapped > 80);
		T_EQ(sb.bad, 0);
		if (!i)
			memcpy(first, sb.seq, sizeof(first));
		else
			T_EQ(!memcmp(first, sb.seq, sizeof(first)), i < 3); /* the burst size changes nothing */
		close_pair();
	}
}

static void corruption(void)
{
	struct gw__impair_counts n;

	open_pair("corrupt=100%,seed=3", false);
	traffic(500, 64);
	n = counts(true);
	T_EQ(n.corrupted, 500);
	T_EQ(sb.n, 500);
	T_OK(sb.bad + 20 > 500); /* all but those hit in the number itself, which then does not fit its bytes either */
	close_pair();
}

/* A refusing receiver loses nothing: the sender is held back, what was taken is kept. */
static void back_pressure(void)
{
	uint32_t sent = 0;
	struct gw__impair_counts n;

	open_pair("dup=100%,seed=1", false);
	sb.room = 5;
	while (sink_send(a, 100, sent) == 1)
		sent++;
	T_OK(sent > 2);
	for (int i = 0; i < 2000; i++) {
		sb.room = 1;
		b->ops->step(b, 64);
		sent += (uint32_t)sink_send(a, 100, sent);
	}
	sb.room = UINT32_MAX;
	while (b->ops->step(b, 64) > 0)
		;
	n = counts(true);
	T_EQ(n.frames, sent);
	T_EQ(sb.n, 2 * sent);
	T_EQ(sb.bad, 0);
	close_pair();
}

static void slow_and_long(void)
{
	uint64_t t0 = gw__now_ns(&clk.base);
	struct gw__event ev;

	T_NEED(!gw__event_init(&ev));
	open_pair("delay=1ms,rate=8M,mtu=1000", false); /* 100 bytes take 100 us */
	T_RC(b->ops->watch(b, &ev), 0);
	gw__event_arm(&ev);
	for (uint32_t i = 0; i < 10; i++)
		T_RC(sink_send(a, 100, i), 1);
	T_RC(gw__event_block(&ev, 0), 1); /* whoever sleeps looks at due_ns() now */
	T_RC(sink_send(a, 1001, 10), 1);
	T_EQ(counts(true).oversize, 1);
	T_EQ(b->ops->step(b, 64), 0);
	T_EQ(b->ops->due_ns(b), t0 + 1100000);
	gw__clock_manual_advance(&clk, 1099999);
	T_EQ(b->ops->step(b, 64), 0);
	gw__clock_manual_advance(&clk, 1);
	T_EQ(b->ops->step(b, 64), 1);
	T_EQ(sb.last_ts, t0 + 1100000);
	gw__clock_manual_advance(&clk, 900000);
	T_EQ(b->ops->step(b, 64), 9);
	T_EQ(sb.bad, 0);
	T_OK(b->ops->due_ns(b) == UINT64_MAX);
	close_pair();
	gw__event_fini(&ev);
}

static void last_one_swapped(void)
{
	open_pair("swap=100%", false);
	T_RC(sink_send(a, 100, 0), 1);
	T_EQ(sb.n, 0);
	T_OK(b->ops->due_ns(b) != UINT64_MAX);
	T_EQ(b->ops->step(b, 64), 1); /* nothing to change places with */
	T_EQ(sb.n, 1);
	T_RC(sink_send(a, 100, 1), 1);
	T_RC(sink_send(a, 100, 2), 1);
	T_EQ(sb.n, 3);
	T_EQ(sb.seq[1], 2);
	T_EQ(sb.seq[2], 1);
	close_pair();
}

static void refusals(void)
{
	static const char *const bad[] = { "impair:", "impair:loss=1%", "impair:loss=2:cable:9", "impair:loss=x:cable:9",
					   "impair:lost=1%:cable:9", "impair:delay=5:cable:9", "impair:rate=0:cable:9",
					   "impair:dir=up:cable:9", "impair:loss:cable:9", "impair:loss=1%:cabel:9" };
	struct gw_diag d;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		T_RC(gw__link_open(bad[i], &clk.base, &a, &d), -EINVAL);
	for (int n = 1; n <= 5; n++) {
		gw__alloc_fail_at(n);
		T_RC(gw__link_open("impair:loss=1%:cable:9", &clk.base, &a, &d), -ENOMEM);
	}
	gw__alloc_fail_at(0);
	T_EQ(gw__alloc_live(), 0);
}

int main(void)
{
	gw__clock_manual_init(&clk, 1000000);
	seeds(false);
	seeds(true);
	corruption();
	back_pressure();
	slow_and_long();
	last_one_swapped();
	refusals();
	T_DONE();
}
