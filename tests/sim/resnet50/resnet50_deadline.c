/* tests/sim/resnet50/resnet50_deadline.c: the application's own workers on the real library, 256 images in the
 * tutorial's geometry, one clock turned by hand. Whoever is off the CPU, 256 of 256 arrive and no window is
 * partial; only a sender that is silent in mid-window for longer than the deadline costs images. And a consumer
 * that leaks runs the pool dry, counted, until it releases.
 *   resnet50_deadline CONFIG.yaml
 * Source: ResNet tutorial, "Queue sizing" (its 255/256 cells). Next: apps/resnet50_inference/rx_producer.c. */
#include "inference_consumer.h"
#include "ingest/ingest.h"
#include "pcap_tx.h"
#include "rx_producer.h"
#include "t.h"

#define IMAGES 256u
#define PPI 128u
#define PPB 4096u
#define FRAMES (IMAGES * PPI)
#define LEN 1240u
#define MS 1000000u

static struct {
	struct gw__clock_manual clock;
	struct gw *gw;
	struct gw_stream *stream;
	struct job_ring ring;
	struct release_gate gate;
	struct rx_producer rx;
	struct consumer infer;
	struct pcap_tx tx;
	uint64_t next_frame, hold_at; /* the sender's source gives nothing from frame hold_at on */
	uint64_t first_infer_ns;      /* the first call takes so long, while everybody else goes on */
	uint32_t pending, n_infer;
	float row[1];
} s;

/* ---- frames ----------------------------------------------------------------------------------- */

static uint8_t frame[LEN];

static void build(uint64_t n)
{
	uint32_t seq = n % PPB;

	memset(frame, (int)(n * 31), LEN);
	memset(frame, 2, 12);
	frame[12] = 8;
	frame[13] = 0;
	frame[14] = 0x45;
	frame[16] = (uint8_t)(seq >> 4); /* the number lies on IPv4's total length */
	frame[17] = (uint8_t)(seq << 4);
	memset(frame + 18, 0, 24);
	frame[22] = 64;
	frame[23] = 17;
	frame[34] = frame[36] = 4096 >> 8;
	frame[35] = frame[37] = 0;
}

static int next(void *ctx, const uint8_t **f, uint32_t *len)
{
	if (s.next_frame == FRAMES)
		return 0;
	build(s.next_frame++);
	*f = frame;
	*len = LEN;
	return 1;
}

static int rewind_to_start(void *ctx)
{
	s.next_frame = 0;
	return 0;
}

/* ---- whoever has the CPU ---------------------------------------------------------------------- */

static bool sender(void)
{
	if (s.next_frame >= s.hold_at && !s.tx.reserved)
		return false;
	return pcap_tx_step(&s.tx) == TX_STEP_WORK;
}

static bool poller(void)
{
	return gw__step_rxq(s.gw, s.rx.port, 0, 8192) > 0;
}

static bool receiver(void)
{
	enum rx_step r = rx_producer_step(&s.rx);

	return r == RX_STEP_WORK;
}

static void everybody_but_inference(uint64_t ns, uint64_t slices)
{
	for (uint64_t i = 0; i < slices; i++) {
		gw__clock_manual_advance(&s.clock, ns / slices);
		while (sender() | poller() | receiver())
			;
	}
}

/* ---- the network: only its time matters ------------------------------------------------------- */

int gw_nn_infer(struct gw_nn *nn, const void *input, uint32_t n, struct gw_event *ready, const float **prev,
		uint32_t *prev_n)
{
	T_OK(!ready || gw_event_sync(ready) == 0);
	if (s.n_infer++ == 0 && s.first_infer_ns)
		everybody_but_inference(s.first_infer_ns, 300);
	else
		gw__clock_manual_advance(&s.clock, 5 * MS);
	*prev = s.pending ? s.row : NULL;
	*prev_n = s.pending;
	s.pending = n;
	return 0;
}

int gw_nn_drain(struct gw_nn *nn, const float **last, uint32_t *last_n)
{
	*last = s.pending ? s.row : NULL;
	*last_n = s.pending;
	s.pending = 0;
	return 0;
}

/* ---- one run ---------------------------------------------------------------------------------- */

static struct gw_config *config;
static char timeout_key[96];

static void load(const char *path, uint32_t timeout_us)
{
	const char *set[] = { timeout_key, NULL };
	struct gw_config_opts o = { .sz = sizeof(o), .set = set };
	struct gw_diag d = { "" };

	snprintf(timeout_key, sizeof(timeout_key), "interfaces.rx_port.rx.queues.0.timeout_us=%u", timeout_us);
	T_RC(gw_config_load(path, &o, &config, &d), 0);
	T_STR(d.text, "");
	T_NEED(config);
}

static void start(uint64_t first_infer_ns)
{
	struct gw__open_opts o = { .clock = &s.clock.base, .no_threads = true };
	struct geometry geo = { .packets_per_image = PPI, .images_per_window = 32, .images_per_batch = 32,
				.packets_per_batch = PPB, .image_out_bytes = 301056 };
	struct gw_diag d = { "" };

	memset(&s, 0, sizeof(s));
	gw__clock_manual_init(&s.clock, 1000 * MS);
	s.first_infer_ns = first_infer_ns;
	s.hold_at = UINT64_MAX;
	T_RC(gw__open(config, &o, &s.gw, &d), 0);
	T_STR(d.text, "");
	T_NEED(s.gw);
	T_RC(gw_stream_create(&s.stream, &d), 0);
	T_RC(gw_reorder_set_stream(s.gw, "rx_port", "rx_reorder_resnet_int8_fp16", s.stream), 0);
	s.rx = (struct rx_producer){ .gw = s.gw, .port = (uint16_t)gw_port_id(s.gw, "rx_port"), .geo = geo,
				     .ring = &s.ring, .gate = &s.gate, .clock = &s.clock.base,
				     .expected_images = IMAGES, .backpressure = true };
	s.infer.nn = (struct gw_nn *)&s; /* opaque to everybody here */
	s.infer.geo = geo;
	s.infer.ring = &s.ring;
	s.infer.gate = &s.gate;
	s.infer.clock = &s.clock.base;
	s.tx = (struct pcap_tx){ .gw = s.gw, .port = (uint16_t)gw_port_id(s.gw, "tx_port"),
				 .clock = &s.clock.base, .batch = 1024,
				 .source = { next, rewind_to_start, NULL, FRAMES } };
	T_RC(gw_port_set_pause(s.gw, s.rx.port, true), 0);
	T_NEED(!job_ring_init(&s.ring) && !release_gate_init(&s.gate));
	T_NEED(!rx_producer_init(&s.rx) && !pcap_tx_init(&s.tx));
	T_RC(gw_start(s.gw, &d), 0);
}

static void close_run(void)
{
	gw_close(s.gw);
	gw_stream_destroy(s.stream);
	rx_producer_fini(&s.rx);
	pcap_tx_fini(&s.tx);
	release_gate_fini(&s.gate);
	job_ring_fini(&s.ring);
}

/* Everybody on the CPU, in turn, until the receiver has its images or gives up. */
static void finish(const char *what, uint32_t timeout_us, uint64_t partial)
{
	struct gw_diag d = { "" };

	for (int turn = 0; s.rx.end == RX_END_RUNNING && turn < 100000; turn++)
		if (!(sender() | poller() | receiver() | consumer_step(&s.infer)))
			gw__clock_manual_advance(&s.clock, MS);
	while (rx_producer_step(&s.rx) != RX_STEP_END)
		consumer_step(&s.infer);
	job_ring_close(&s.ring);
	consumer_run(&s.infer);
	if (s.rx.n.partial != partial)
		fprintf(stderr, "%s, timeout %u us: pushed %llu, partial=%llu\n", what, timeout_us,
			(unsigned long long)s.rx.n.pushed_images, (unsigned long long)s.rx.n.partial);
	T_EQ(s.rx.n.partial, partial);
	T_EQ(s.rx.n.dropped, 0);
	T_EQ(s.rx.n.pushed_images + s.rx.n.incomplete_images, IMAGES);
	T_EQ(s.infer.n.images, s.rx.n.pushed_images);
	if (!partial)
		T_EQ(s.rx.n.pushed_images, IMAGES);
	while (gw__step(s.gw, 8192) > 0)
		;
	T_RC(gw_stats_check(s.gw, &d), 0);
	T_STR(d.text, "");
	close_run();
}

static void consumer_stalled(uint32_t timeout_us)
{
	start(0);
	everybody_but_inference((uint64_t)timeout_us * 1000 * 10, 200);
	finish("consumer stalled", timeout_us, 0);
}

static void first_inference_of_3s(uint32_t timeout_us)
{
	start(3000 * (uint64_t)MS);
	finish("first inference of 3 s", timeout_us, 0);
	T_EQ(s.n_infer, IMAGES / 32);
}

/* In mid-window the poller loses the CPU for ten deadlines; the sender goes on as long as there are slots. */
static void poller_stalled(uint32_t timeout_us)
{
	start(0);
	s.hold_at = PPB / 2;
	while (sender() | poller())
		;
	s.hold_at = UINT64_MAX;
	for (int i = 0; i < 100; i++) {
		gw__clock_manual_advance(&s.clock, (uint64_t)timeout_us * 100);
		while (sender())
			;
	}
	finish("poller off the CPU", timeout_us, 0);
}

/* The sender itself is silent for two deadlines in the middle of the fourth window. */
static void sender_paused(uint32_t timeout_us)
{
	start(0);
	s.hold_at = 3 * PPB + PPB / 2;
	for (int i = 0; i < 50; i++)
		while (sender() | poller() | receiver() | consumer_step(&s.infer))
			;
	everybody_but_inference((uint64_t)timeout_us * 1000 * 2, 20);
	s.hold_at = UINT64_MAX;
	finish("sender paused", timeout_us, 1);
	T_OK(s.rx.n.pushed_images >= IMAGES - 32 && s.rx.n.pushed_images < IMAGES);
}

/* A consumer that keeps what it takes: the pool runs dry, which is said and counted, what comes meanwhile is
 * missed and counted, and with the first release it all goes on. Nobody holds the sender back here. */
static void leaking_consumer(void)
{
	struct job kept[64];
	struct gw_port_stats ps;
	struct gw_reorder_stats rs;
	struct gw_diag d = { "" };
	uint32_t n_kept = 0, n_again = 0;

	start(0);
	T_RC(gw_port_set_pause(s.gw, s.rx.port, false), 0);
	s.tx.loop = true;
	s.rx.backpressure = false;
	s.rx.expected_images = 0;
	for (int i = 0; i < 400; i++) {
		gw__clock_manual_advance(&s.clock, MS);
		sender();
		poller();
		receiver();
		while (n_kept < 64 && job_ring_pop(&s.ring, &kept[n_kept]))
			n_kept++;
	}
	T_EQ(n_kept, 16); /* all of Reorder_RX_GPU */
	T_OK(s.rx.n.pool_empty > 0);
	T_RC(gw_port_stats(s.gw, s.rx.port, &ps), 0);
	T_RC(gw_reorder_stats(s.gw, "rx_reorder_resnet_int8_fp16", &rs), 0);
	T_OK(ps.rx_missed > 0);
	T_OK(rs.no_free_buffers > 0);
	for (uint32_t i = 0; i < n_kept; i++)
		release_gate_release(&s.gate, &kept[i].burst);
	for (int i = 0; i < 400; i++) {
		gw__clock_manual_advance(&s.clock, MS);
		sender();
		poller();
		receiver();
		while (job_ring_pop(&s.ring, &kept[0])) {
			release_gate_release(&s.gate, &kept[0].burst);
			n_again++;
		}
	}
	T_OK(n_again > 16);
	pcap_tx_stop(&s.tx);
	T_EQ(pcap_tx_step(&s.tx), TX_STEP_END);
	while (gw__step(s.gw, 8192) > 0)
		;
	atomic_store(&s.rx.finish, true);
	while (rx_producer_step(&s.rx) != RX_STEP_END)
		while (job_ring_pop(&s.ring, &kept[0]))
			release_gate_release(&s.gate, &kept[0].burst);
	while (gw__step(s.gw, 8192) > 0)
		;
	T_RC(gw_stats_check(s.gw, &d), 0);
	T_STR(d.text, "");
	close_run();
}

int main(int argc, char **argv)
{
	static const uint32_t timeouts[] = { 20000, 200000 };

	T_NEED(argc == 2);
	for (int i = 0; i < 2; i++) {
		load(argv[1], timeouts[i]);
		consumer_stalled(timeouts[i]);
		first_inference_of_3s(timeouts[i]);
		poller_stalled(timeouts[i]);
		sender_paused(timeouts[i]);
		gw_config_free(config);
	}
	load(argv[1], 0);
	leaking_consumer();
	gw_config_free(config);
	T_DONE();
}
