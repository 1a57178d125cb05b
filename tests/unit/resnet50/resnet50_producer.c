/* tests/unit/resnet50/resnet50_producer.c: the receive worker on a clock turned by hand: patience, partial
 * bursts, every drop in its own counter, no burst lost. Next: apps/resnet50_inference/rx_producer.c. */
#include "rx_producer.h"

#include "fake_gw.h"
#include "t.h"

#define S ((uint64_t)1000000000)

static struct job_ring ring;
static struct release_gate gate;
static struct rx_producer p;

static void start(uint64_t expected, bool backpressure)
{
	T_NEED(job_ring_init(&ring) == 0);
	T_NEED(release_gate_init(&gate) == 0);
	memset(&p, 0, sizeof(p));
	p.geo = (struct geometry){ .packets_per_image = 128, .images_per_window = 32, .images_per_batch = 32,
				   .packets_per_batch = 4096, .image_out_bytes = 2 };
	p.ring = &ring;
	p.gate = &gate;
	p.clock = &fake.clock.base;
	p.expected_images = expected;
	p.backpressure = backpressure;
	T_NEED(rx_producer_init(&p) == 0);
}

static void stop(void)
{
	struct job job;

	while (job_ring_pop(&ring, &job))
		gw_burst_release(&job.burst);
	T_EQ(fake.n_out, 0);
	T_OK(!fake.double_release);
	rx_producer_fini(&p);
	release_gate_fini(&gate);
	job_ring_fini(&ring);
}

/* Step to the end; `drain` takes jobs out as a consumer would. */
static void run(bool drain)
{
	enum rx_step s;
	struct job job;

	while ((s = rx_producer_step(&p)) != RX_STEP_END) {
		if (drain && job_ring_pop(&ring, &job))
			gw_burst_release(&job.burst);
		if (s == RX_STEP_IDLE)
			T_OK(gw_rx_wait(NULL, 0, 0, 100000000) >= 0 || fake.idle_rc < 0);
		else if (s == RX_STEP_BLOCKED && !drain)
			break;
	}
}

static void all_images(void)
{
	fake_reset();
	fake_script_full(7, 10000000);
	start(224, true);
	run(false);
	T_EQ(p.end, RX_END_EXPECTED);
	T_EQ(p.n.pushed_images, 224);
	T_EQ(p.n.reordered_bursts, 7);
	T_EQ(p.n.partial + p.n.dropped + p.n.partial_packets, 0);
	T_EQ(fake.n_flush, 0);
	T_EQ(job_ring_depth(&ring), 7);
	stop();
}

/* 5 s after data, 3 min before any; not a moment earlier, and the flush comes first. */
static void patience(void)
{
	fake_reset();
	fake_script_full(2, 10000000);
	start(256, true);
	run(true);
	T_EQ(p.end, RX_END_QUIET);
	T_EQ(fake.n_flush, 1);
	T_OK(fake.flush_ns - S >= 20000000 + 5 * S);
	T_OK(fake.flush_ns - S <= 20000000 + 5 * S + 300000000);
	stop();

	fake_reset();
	start(256, true);
	run(true);
	T_EQ(p.end, RX_END_NO_DATA);
	T_EQ(fake.n_flush, 1);
	T_OK(fake.flush_ns - S >= 180 * S);
	T_OK(fake.flush_ns - S <= 180 * S + 300000000);
	stop();
}

/* Packets without a finished window are traffic too: the patience restarts with each. */
static void slow_traffic(void)
{
	fake_reset();
	fake_script_full(1, 60 * S);
	fake.packet_every_ns = 4 * S;
	fake.trickle_end_ns = 61 * S;
	start(32, true);
	run(true);
	T_EQ(p.end, RX_END_EXPECTED);
	T_EQ(fake.n_flush, 0);
	stop();
}

/* The last packet of the run is lost: only the give-up's flush hands the window over; 31 images arrive. */
static void last_packet_lost(void)
{
	fake_reset();
	fake_script_full(2, 10000000);
	fake.script[1].flags |= GW_BURST_REORDER_TIMEOUT | GW_BURST_INCOMPLETE;
	fake.script[1].packets = 4095;
	fake.script[1].group_valid[0] = 0x7fffffff;
	fake.script[1].n_groups_valid = 31;
	fake.flush_gives = 1;
	start(64, true);
	run(true);
	T_EQ(p.end, RX_END_QUIET);
	T_EQ(p.n.pushed_images, 63);
	T_EQ(p.n.partial, 1);
	T_EQ(p.n.partial_packets, 4095);
	T_EQ(p.n.incomplete_images, 1);
	T_EQ(p.n.dropped, 0);
	stop();
}

static void each_drop_has_its_counter(void)
{
	fake_reset();
	fake_script_full(6, 10000000);
	fake.script[0].flags = 0; /* raw */
	fake.script[0].n_pkts = 77;
	fake.script[1].null_input = true;
	fake.script[2].flags |= GW_BURST_REORDER_TIMEOUT;
	fake.script[2].info_again = -1;
	fake.script[3].flags |= GW_BURST_REORDER_TIMEOUT;
	fake.script[3].packets = 100; /* less than an image */
	fake.script[4].flags |= GW_BURST_REORDER_TIMEOUT;
	fake.script[4].packets = 4000;
	fake.script[4].info_again = 3; /* the event lags: waited for, not dropped */
	fake.script[4].group_valid[0] = 0xfffffffe;
	fake.script[4].n_groups_valid = 31;
	start(1000, true);
	run(true);
	T_EQ(p.n.non_reordered_bursts, 1);
	T_EQ(p.n.non_reordered_packets, 77);
	T_EQ(p.n.null_input, 1);
	T_EQ(p.n.info_failures, 1);
	T_EQ(p.n.short_batch, 1);
	T_EQ(p.n.queue_full, 0);
	T_EQ(p.n.dropped, 3);
	T_EQ(p.n.partial, 3);
	T_EQ(p.n.partial_packets, 4100);
	T_EQ(p.n.pushed_images, 31 + 32);
	T_EQ(p.n.reordered_bursts, 5);
	T_EQ(p.n.delivered_bursts, 2);
	T_EQ(p.n.delivered_bursts + p.n.dropped, p.n.reordered_bursts);
	stop();
}

/* Example mode waits when the ring is full; bench mode drops the burst, counts it and goes on. */
static void full_ring(void)
{
	fake_reset();
	fake_script_full(10, 1);
	start(320, true);
	run(false);
	T_EQ(rx_producer_step(&p), RX_STEP_BLOCKED);
	T_EQ(p.n.pushed_images, 7 * 32);
	T_EQ(p.n.dropped, 0);
	run(true);
	T_EQ(p.end, RX_END_EXPECTED);
	T_EQ(p.n.pushed_images, 320);
	stop();

	fake_reset();
	fake_script_full(10, 1);
	start(320, false);
	run(false);
	T_EQ(p.n.pushed_images, 7 * 32);
	T_EQ(p.n.queue_full, 3);
	T_EQ(p.n.dropped, 3);
	T_EQ(p.n.dropped_images, 96);
	T_EQ(fake.n_out, 7);
	stop();
}

/* A consumer that needs longer than the patience is not silence on the wire. */
static void slow_consumer_is_not_silence(void)
{
	struct job job;

	fake_reset();
	fake_script_full(9, 1);
	start(288, true);
	run(false);
	gw__clock_manual_advance(&fake.clock, 20 * S);
	T_EQ(rx_producer_step(&p), RX_STEP_BLOCKED);
	for (int i = 0; i < 2; i++) {
		T_OK(job_ring_pop(&ring, &job));
		gw_burst_release(&job.burst);
	}
	run(true);
	T_EQ(p.end, RX_END_EXPECTED);
	T_EQ(p.n.pushed_images, 288);
	T_EQ(fake.n_flush, 0);
	stop();
}

static void told_to_finish(void)
{
	fake_reset();
	fake_script_full(3, 10000000);
	fake.flush_gives = 1;
	start(0, false);
	for (int i = 0; i < 5; i++)
		if (rx_producer_step(&p) == RX_STEP_IDLE)
			gw__clock_manual_advance(&fake.clock, 10000000);
	atomic_store(&p.finish, true);
	run(false);
	T_EQ(p.end, RX_END_FINISH);
	T_EQ(fake.n_flush, 1);
	T_EQ(p.n.reordered_bursts, 3);
	stop();
}

static void port_gone(void)
{
	fake_reset();
	fake_script_full(2, 10000000);
	start(256, true);
	gw__clock_manual_advance(&fake.clock, S);
	fake.idle_rc = -ENODEV;
	run(true);
	T_EQ(p.end, RX_END_GONE);
	T_EQ(p.error, -ENODEV);
	T_EQ(p.n.pushed_images, 64);
	stop();
}

static void empty_pool_is_counted_and_survived(void)
{
	fake_reset();
	fake_script_full(1, 10000000);
	start(32, true);
	fake.idle_rc = -ENOBUFS;
	T_EQ(rx_producer_step(&p), RX_STEP_IDLE);
	T_EQ(p.n.pool_empty, 1);
	fake.idle_rc = 0;
	run(true);
	T_EQ(p.end, RX_END_EXPECTED);
	stop();
}

int main(void)
{
	all_images();
	patience();
	slow_traffic();
	last_packet_lost();
	each_drop_has_its_counter();
	full_ring();
	slow_consumer_is_not_silence();
	told_to_finish();
	port_gone();
	empty_pool_is_counted_and_survived();
	T_DONE();
}
