/* tests/unit/resnet50/resnet50_tx.c: the sending worker: every frame once and in order, short counts, two
 * segments, a new destination address, pace, refusals. Next: apps/resnet50_inference/pcap_tx.c. */
#include "pcap_tx.h"

#include "fake_gw.h"
#include "t.h"

static struct pcap_tx t;
static uint8_t frame[1240];
static int next_i, n_frames, fail_at;

static int next(void *ctx, const uint8_t **f, uint32_t *len)
{
	if (next_i == n_frames)
		return 0;
	if (fail_at && next_i == fail_at)
		return -EPROTO;
	memset(frame, next_i, sizeof(frame));
	next_i++;
	*f = frame;
	*len = sizeof(frame);
	return 1;
}

static int rewind_to_start(void *ctx)
{
	next_i = 0;
	return 0;
}

static void start(int n)
{
	fake_reset();
	memset(&t, 0, sizeof(t));
	next_i = 0;
	fail_at = 0;
	n_frames = n;
	t.clock = &fake.clock.base;
	t.source = (struct frame_source){ next, rewind_to_start, NULL, (uint64_t)n };
	t.batch = 16;
}

static void run(void)
{
	T_NEED(pcap_tx_init(&t) == 0);
	pcap_tx_run(&t);
	T_EQ(fake.n_reserved, 0);
	pcap_tx_fini(&t);
}

static void check_all(int n)
{
	T_EQ(fake.n_sent, n);
	T_EQ(atomic_load(&t.sent), n);
	for (int i = 0; i < fake.n_sent; i++) {
		T_EQ(fake.sent_len[i], 1240);
		T_EQ(fake.sent[i][100], i % 256);
	}
}

static void in_order(void)
{
	start(100);
	run();
	check_all(100);
	T_EQ(t.wanted, 100);
	T_EQ(t.error, 0);

	start(100);
	fake.tx_short = 3;
	run();
	check_all(100);

	start(100);
	fake.n_segs = 2;
	fake.seg_size[0] = 64;
	fake.seg_size[1] = 1176;
	run();
	check_all(100);
}

static void from_lent_memory(void)
{
	start(100);
	run();
	T_EQ(fake.n_used, 0);
	start(100);
	t.lent = true;
	fake.tx_short = 3;
	run();
	check_all(100);
	T_EQ(fake.n_used, 100);
}

static void new_destination(void)
{
	start(2);
	t.has_eth_dst = true;
	T_RC(eth_addr_parse("02:00:5e:10:fe:ff", t.eth_dst), 0);
	run();
	T_EQ(fake.sent[1][0], 0x02);
	T_EQ(fake.sent[1][5], 0xff);
	T_EQ(fake.sent[1][6], 1);
	T_RC(eth_addr_parse("02:00:5e:10:fe", t.eth_dst), -EINVAL);
	T_RC(eth_addr_parse("02:00:5e:10:fe:fg", t.eth_dst), -EINVAL);
	T_RC(eth_addr_parse("<02:00:5e:10:fe:f>", t.eth_dst), -EINVAL);
	T_RC(eth_addr_parse("02:00:5e:10:fe:ff:01", t.eth_dst), -EINVAL);
}

static void too_long_for_a_slot(void)
{
	start(10);
	fake.seg_size[0] = 1000;
	run();
	T_EQ(t.fill_failures, 10);
	T_EQ(fake.n_sent, 0);
}

static void refused(void)
{
	start(40);
	fake.submit_rc = -EINVAL;
	run();
	T_EQ(t.send_failures, 40);
	T_EQ(t.error, 0);

	start(40);
	fake.submit_rc = -ENODEV;
	run();
	T_EQ(t.send_failures, 16);
	T_EQ(t.error, -ENODEV);

	start(40);
	fail_at = 20;
	run();
	T_EQ(fake.n_sent, 20);
	T_EQ(t.error, -EPROTO);
}

static void no_slot_free(void)
{
	start(4);
	fake.tx_slots = 0;
	T_NEED(pcap_tx_init(&t) == 0);
	T_EQ(pcap_tx_step(&t), TX_STEP_IDLE);
	T_EQ(t.no_burst_polls, 1);
	fake.tx_slots = 64;
	pcap_tx_run(&t);
	check_all(4);
	pcap_tx_fini(&t);
}

/* 1000 frames a second: after 250 ms of steps, 250 frames, give or take one group. */
static void paced(void)
{
	start(100);
	t.loop = true;
	t.frames_per_s = 1000;
	T_NEED(pcap_tx_init(&t) == 0);
	for (int i = 0; i < 250; i++) {
		while (pcap_tx_step(&t) == TX_STEP_WORK)
			;
		gw__clock_manual_advance(&fake.clock, 1000000);
	}
	T_OK(fake.n_sent >= 248 && fake.n_sent <= 252);
	pcap_tx_stop(&t);
	T_EQ(pcap_tx_step(&t), TX_STEP_END);
	T_EQ(t.wanted, fake.n_sent);
	T_EQ(fake.n_reserved, 0);
	pcap_tx_fini(&t);
}

/* A silence of 70 ms in the middle of the second window is named, with its frame and its window. */
static void silences(void)
{
	start(64);
	t.window = 32;
	t.batch = 8;
	T_NEED(pcap_tx_init(&t) == 0);
	for (int i = 0; i < 8; i++) {
		gw__clock_manual_advance(&fake.clock, i == 6 ? 70000000 : 1000000);
		T_EQ(pcap_tx_step(&t), TX_STEP_WORK); /* reserve, fill */
		T_EQ(pcap_tx_step(&t), TX_STEP_WORK); /* submit */
	}
	T_EQ(t.gap_ns, 70000000);
	T_EQ(t.gap_frame, 48);
	T_EQ(t.span_ns, 72000000);
	T_EQ(t.span_window, 1);
	pcap_tx_stop(&t);
	pcap_tx_fini(&t);
}

int main(void)
{
	silences();
	in_order();
	from_lent_memory();
	new_destination();
	too_long_for_a_slot();
	refused();
	no_slot_free();
	paced();
	T_DONE();
}
