/* tests/unit/resnet50/resnet50_consumer.c: the inference worker: results one call late, every burst back
 * exactly once whatever fails, windows cut into smaller batches and around holes.
 * Next: apps/resnet50_inference/inference_consumer.c. */
#include "inference_consumer.h"

#include "fake_gw.h"
#include "t.h"

static struct job_ring ring;
static struct release_gate gate;
static struct consumer c;
static uint64_t got_index[FAKE_MAX];
static float got_row[FAKE_MAX];
static uint32_t n_got;

static void sink(void *ctx, const float *rows, uint32_t n, uint64_t index)
{
	for (uint32_t i = 0; i < n; i++) {
		got_row[n_got] = rows[i];
		got_index[n_got++] = index + i;
	}
}

static void start(uint32_t images_per_batch)
{
	T_NEED(job_ring_init(&ring) == 0);
	T_NEED(release_gate_init(&gate) == 0);
	memset(&c, 0, sizeof(c));
	n_got = 0;
	c.nn = (struct gw_nn *)&c; /* opaque to everybody here */
	c.geo = (struct geometry){ .packets_per_image = 128, .images_per_window = 32,
				   .images_per_batch = images_per_batch, .packets_per_batch = 4096,
				   .image_out_bytes = 2 };
	c.ring = &ring;
	c.gate = &gate;
	c.clock = &fake.clock.base;
	c.sink = sink;
}

static void stop(void)
{
	T_EQ(fake.n_out, 0);
	T_EQ(c.n.released, c.n.bursts);
	T_OK(!fake.double_release);
	T_OK(!fake.reads_released);
	release_gate_fini(&gate);
	job_ring_fini(&ring);
}

static void push(int i)
{
	struct job job = { .n_images = 32, .n_valid = 32, .serial = (uint64_t)i };

	T_NEED(gw_rx_burst(NULL, 0, 0, &job.burst) == 1);
	job.input = job.burst.seg_ptr[0][0];
	if (fake.script[i].packets) {
		job.group_valid = fake.script[i].group_valid;
		job.n_valid = fake.script[i].n_groups_valid;
	}
	T_NEED(job_ring_push(&ring, &job));
}

static void windows(int n)
{
	fake_script_full(n, 0);
	for (int i = 0; i < n; i++)
		push(i);
}

static void results_one_late(void)
{
	fake_reset();
	fake.infer_ns = 1000000;
	start(32);
	windows(3);
	while (c.n.batches < 1)
		T_NEED(consumer_step(&c));
	/* the second call brought the first one's features, and the first burst back */
	T_EQ(fake.n_infer, 2);
	T_EQ(n_got, 32);
	T_EQ(fake.n_released, 1);
	job_ring_close(&ring);
	consumer_run(&c);
	T_EQ(c.n.images, 96);
	T_EQ(c.n.batches, 3);
	T_EQ(c.latency.n, 3);
	T_EQ(c.busy_ns, 4 * fake.infer_ns); /* three calls and the tail, the network never idle */
	for (uint32_t i = 0; i < 96; i++) {
		T_EQ(got_index[i], i);
		T_EQ(got_row[i], (long)(i / 32) * 64 + (long)(i % 32));
	}
	stop();
}

/* A network that computes inside the call is timed by the call, not by the next one. */
static void computed_in_the_call(void)
{
	fake_reset();
	fake.infer_ns = 5000000;
	start(32);
	c.in_call = true;
	windows(2);
	job_ring_close(&ring);
	T_OK(consumer_step(&c) && consumer_step(&c)); /* pop, call */
	gw__clock_manual_advance(&fake.clock, 70000000); /* the ring was slow; inference was not */
	fake.infer_ns = 7000000;
	consumer_run(&c);
	T_EQ(c.latency.n, 2);
	T_EQ(c.busy_ns, 12000000);
	stop();
}

/* 8 images a batch on a 32-image window: four calls a burst, and it goes back only after the last. */
static void smaller_batches(void)
{
	fake_reset();
	start(8);
	windows(1);
	for (int i = 0; i < 5; i++)
		T_OK(consumer_step(&c)); /* pop, four calls */
	T_EQ(fake.n_infer, 4);
	T_EQ(fake.n_released, 0);
	for (int i = 0; i < 4; i++) {
		T_EQ(fake.infer_n[i], 8);
		T_EQ(fake.infer_offset[i], i * 16);
	}
	T_OK(consumer_step(&c)); /* the tail */
	T_EQ(fake.n_released, 1);
	T_EQ(c.n.batches, 4);
	T_EQ(n_got, 32);
	stop();
}

/* A hole in image 10: runs of 10 and 21 images, at their own places, with their own numbers. */
static void around_a_hole(void)
{
	fake_reset();
	start(32);
	fake_script_full(2, 0);
	fake.script[1].packets = 4095;
	fake.script[1].group_valid[0] = 0xffffffffu & ~(1u << 10);
	fake.script[1].n_groups_valid = 31;
	push(0);
	push(1);
	job_ring_close(&ring);
	consumer_run(&c);
	T_EQ(fake.n_infer, 3);
	T_EQ(fake.infer_n[1], 10);
	T_EQ(fake.infer_n[2], 21);
	T_EQ(fake.infer_offset[2] - 64, 22);
	T_EQ(c.n.images, 63);
	T_EQ(got_index[41], 41);
	T_EQ(got_index[42], 43);
	T_EQ(got_index[62], 63);
	stop();
}

static void window_number_places_images(void)
{
	fake_reset();
	start(32);
	fake_script_full(2, 0);
	fake.script[1].batch_id = 5; /* four windows were lost before it */
	push(0);
	push(1);
	job_ring_close(&ring);
	consumer_run(&c);
	T_EQ(got_index[32], 160);
	stop();
}

/* The n-th call fails, for each n, with one and with four calls a burst: nothing leaks, nothing is read after
 * its return, and every image is either in the sink or counted as failed. */
static void failures(uint32_t images_per_batch)
{
	int calls = 3 * 32 / (int)images_per_batch;

	for (int at = 1; at <= calls; at++) {
		fake_reset();
		start(images_per_batch);
		windows(3);
		fake.infer_fail_at = at;
		job_ring_close(&ring);
		consumer_run(&c);
		T_EQ(c.n.infer_failures, 1);
		T_EQ(c.error, -EIO);
		T_EQ(c.n.images + c.n.failed_images, 96);
		T_EQ(n_got, c.n.images);
		T_OK(c.n.failed_images >= images_per_batch && c.n.failed_images <= 32);
		stop();
	}
}

static void null_consumer(void)
{
	fake_reset();
	start(32);
	c.nn = NULL;
	windows(4);
	job_ring_close(&ring);
	consumer_run(&c);
	T_EQ(fake.n_infer, 0);
	T_EQ(c.n.images, 128);
	T_EQ(n_got, 0);
	stop();
}

static void discard(void)
{
	fake_reset();
	start(8);
	windows(3);
	for (int i = 0; i < 3; i++)
		consumer_step(&c);
	atomic_store(&c.discard, true);
	job_ring_close(&ring);
	consumer_run(&c);
	T_EQ(c.n.images + c.n.discarded_images, 96);
	T_EQ(c.n.images, 16);
	stop();
}

static void quantiles(void)
{
	static struct latency l;
	struct latency_summary s;

	for (int i = 1000; i >= 1; i--)
		latency_add(&l, (uint64_t)i * 1000);
	s = latency_summarise(&l);
	T_EQ(s.n, 1000);
	T_EQ(s.p50_ms * 1000, 500);
	T_EQ(s.p99_ms * 1000, 990);
	T_EQ(s.p999_ms * 1000, 999);
	T_OK(s.mean_ms > 0.50049 && s.mean_ms < 0.50051);
}

int main(void)
{
	results_one_late();
	computed_in_the_call();
	smaller_batches();
	around_a_hole();
	window_number_places_images();
	failures(32);
	failures(8);
	null_consumer();
	discard();
	quantiles();
	T_DONE();
}
