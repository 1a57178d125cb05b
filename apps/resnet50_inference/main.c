/* resnet50_inference/main.c: the order of things. Open and bind the reorder stream; inference thread; receive
 * thread only once the network is ready; sending thread last. Then back: sender, receiver, inference, summary,
 * statistics, close, and the stream at the very end. Must not know what a packet is. Next: threads.c. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "app.h"
#include "base/alloc.h"
#include "base/diag.h"
#include "progress.h"
#include "summary.h"

#define SLICE_NS ((uint64_t)100000000)
#define LOOK_NS ((uint64_t)1000000000)
#define KEEP_MAX ((uint64_t)1 << 30) /* bytes of a capture that goes round in memory */

static struct app app;
static volatile sig_atomic_t interrupted;

static void on_signal(int sig)
{
	interrupted = 1;
	gw__event_kick(&app.wake); /* one write() */
}

static void log_line(void *ctx, enum gw_log_level level, const char *line)
{
	fprintf(stderr, "%s\n", line);
}

static void say(const struct gw_diag *diag)
{
	fprintf(stderr, "resnet50_inference: %s\n", diag->text);
}

static bool sends(const struct app *a)
{
	return a->opts.mode != MODE_RX;
}

static bool receives(const struct app *a)
{
	return a->opts.mode != MODE_TX;
}

static bool benching(const struct app *a)
{
	return a->opts.seconds > 0;
}

/* ---- opening -------------------------------------------------------------------------------- */

static int port_of(struct app *a, const char *name, uint16_t *out, struct gw_diag *diag)
{
	int port = gw_port_id(a->gw, name);

	if (port < 0)
		return gw__fail(diag, port, "%s: no interface of this name in the configuration", name);
	*out = (uint16_t)port;
	return 0;
}

/* Made and bound right after opening, before any thread: reordering on a stream that nobody can observe is
 * no reordering. */
static int bind_stream(struct app *a, struct gw_diag *diag)
{
	int err = gw_stream_create(&a->reorder_stream, diag);

	if (err)
		return err;
	err = gw_reorder_set_stream(a->gw, a->set.rx_port, a->set.reorder_name, a->reorder_stream);
	if (err)
		return gw__fail(diag, err, "set_reorder_cuda_stream(%s, %s): %s", a->set.rx_port, a->set.reorder_name,
				strerror(-err));
	fprintf(stderr, "set_reorder_cuda_stream OK (%s, %s)\n", a->set.rx_port, a->set.reorder_name);
	return 0;
}

static int open_receiver(struct app *a, struct gw_diag *diag)
{
	int err = port_of(a, a->set.rx_port, &a->rx.port, diag);

	if (!err)
		err = bind_stream(a, diag);
	if (err)
		return err;
	a->rx.queue = a->set.rx_queue;
	/* every image counts: the sender waits for us; in bench mode what does not fit is dropped and counted */
	if (!benching(a) && gw_port_set_pause(a->gw, a->rx.port, true))
		fprintf(stderr, "%s: this link cannot hold a sender back; what does not fit is dropped\n",
			a->set.rx_port);
	return 0;
}

static int open_sender(struct app *a, struct gw_diag *diag)
{
	a->tx.queue = a->set.tx_queue;
	return port_of(a, a->set.tx_port, &a->tx.port, diag);
}

static enum gw_log_level log_level(const struct gw_config *cfg)
{
	static const char *const name[] = { "trace", "debug", "info", "warn", "error", "critical", "off" };
	const char *text;

	if (gw_config_str(cfg, "log_level", &text, NULL) >= 0)
		for (int i = GW_LOG_TRACE; i <= GW_LOG_OFF; i++)
			if (!strcmp(text, name[i]))
				return (enum gw_log_level)i;
	return GW_LOG_WARN;
}

static int open_all(struct app *a, struct gw_diag *diag)
{
	struct gw_config_opts o = {
		.sz = sizeof(o),
		.engine = a->opts.engine,
		.address = a->opts.address,
		.set = a->opts.set,
		.strict = a->opts.strict,
		.tx_only = a->opts.mode == MODE_TX,
		.rx_only = a->opts.mode == MODE_RX,
	};
	int err = settings_from_environment(&a->opts, a->eth_dst_set, diag);

	if (!err)
		err = gw_config_load(a->opts.config, &o, &a->cfg, diag);
	if (!err)
		err = settings_read(a->cfg, &a->opts, &a->set, diag);
	if (!err)
		err = dataset_open(a->set.dataset_path, a->set.labels_path, sends(a), &a->data, diag);
	if (!err)
		err = dataset_check(&a->data, &a->set.geo, a->set.labels_path, diag);
	if (!err) {
		gw_log_set(log_line, NULL, log_level(a->cfg));
		err = gw_open(a->cfg, &a->gw, diag);
	}
	if (!err && receives(a))
		err = open_receiver(a, diag);
	if (!err && sends(a))
		err = open_sender(a, diag);
	return err;
}

/* ---- workers -------------------------------------------------------------------------------- */

static int make_receiver(struct app *a, struct gw_diag *diag)
{
	int err = job_ring_init(&a->ring);

	a->ring_made = !err;
	if (!err) {
		err = release_gate_init(&a->gate);
		a->gate_made = !err;
	}
	a->rx.gw = a->gw;
	a->rx.geo = a->set.geo;
	a->rx.ring = &a->ring;
	a->rx.gate = &a->gate;
	a->rx.clock = a->clock;
	a->rx.expected_images = a->opts.expected_images;
	a->rx.backpressure = !benching(a);
	a->infer.geo = a->set.geo;
	a->infer.ring = &a->ring;
	a->infer.gate = &a->gate;
	a->infer.clock = a->clock;
	a->sink.pca_every = a->set.pca_every;
	a->sink.labels = a->data.has_labels ? &a->data.labels : NULL;
	a->sink.quiet_stdout = a->opts.json && !strcmp(a->opts.json, "-");
	return err ? gw__fail(diag, err, "receive worker: %s", strerror(-err)) : 0;
}

/* A capture that goes round is kept in memory, and sent from there unless each frame is to be changed. */
static void keep_capture(struct app *a)
{
	const void *ptr;
	size_t bytes;

	if (gw__capture_n_bytes(a->data.capture) > KEEP_MAX)
		return;
	if (gw__capture_keep(a->data.capture)) {
		fprintf(stderr, "no memory to keep the capture: it is read again each time round\n");
		return;
	}
	ptr = gw__capture_memory(a->data.capture, &bytes);
	a->tx.lent = !a->set.has_eth_dst && !gw_tx_lend(a->gw, a->tx.port, a->tx.queue, ptr, bytes);
}

static int make_sender(struct app *a, struct gw_diag *diag)
{
	int err;

	a->tx.gw = a->gw;
	a->tx.clock = a->clock;
	a->tx.source = dataset_frames(&a->data);
	a->tx.batch = a->set.tx_batch;
	a->tx.window = a->set.geo.packets_per_batch;
	a->tx.loop = a->opts.loop || (benching(a) && !a->opts.replay_once);
	if (a->tx.loop)
		keep_capture(a);
	a->tx.has_eth_dst = a->set.has_eth_dst;
	memcpy(a->tx.eth_dst, a->set.eth_dst, sizeof(a->tx.eth_dst));
	a->tx.device_memory = a->set.tx_device_memory;
	err = pcap_tx_init(&a->tx);
	a->tx_made = !err;
	return err ? gw__fail(diag, err, "sending worker: %s", strerror(-err)) : 0;
}

static int start_thread(pthread_t *t, bool *started, void *(*body)(void *), struct app *a, struct gw_diag *diag)
{
	int err = -pthread_create(t, NULL, body, a);

	*started = !err;
	return err ? gw__fail(diag, err, "cannot start a thread: %s", strerror(-err)) : 0;
}

/* The receive thread's patience must not be eaten by a network that is still being built. */
static int start_inference(struct app *a, struct gw_diag *diag)
{
	int err = start_thread(&a->infer_thread, &a->infer_started, inference_thread, a, diag);

	while (!err && !atomic_load_explicit(&a->infer_ready, memory_order_acquire) && !interrupted)
		(void)gw__event_block(&a->wake, LOOK_NS);
	if (!err && atomic_load_explicit(&a->infer_ready, memory_order_acquire) && a->infer_error) {
		*diag = a->diag;
		err = a->infer_error;
	}
	return err;
}

static int start_receiver(struct app *a, struct gw_diag *diag)
{
	int err = rx_producer_init(&a->rx);

	a->rx_made = !err;
	if (err)
		return gw__fail(diag, err, "receive worker: %s", strerror(-err));
	return start_thread(&a->rx_thread, &a->rx_started, rx_thread, a, diag);
}

static int start_sender(struct app *a, struct gw_diag *diag)
{
	double images = a->opts.pace_images_per_s;

	if (a->opts.pace_ratio > 0) {
		images = a->opts.pace_ratio * a->alone_img_s[0];
		fprintf(stderr, "inference alone: %.2f img/s; sending %.2f img/s\n", a->alone_img_s[0], images);
	}
	a->tx.frames_per_s = images * a->set.geo.packets_per_image;
	return start_thread(&a->tx_thread, &a->tx_started, tx_thread, a, diag);
}

/* ---- the run -------------------------------------------------------------------------------- */

static uint64_t first_packet_ns(struct app *a)
{
	if (receives(a))
		return atomic_load_explicit(&a->rx.first_ns, memory_order_acquire);
	return a->begin_ns;
}

/* How long main may sleep: until the time is up, or until somebody kicks. */
static uint64_t nap(struct app *a, const struct progress *p, uint64_t now)
{
	uint64_t first = first_packet_ns(a), end = first + (uint64_t)(a->opts.seconds * 1e9);

	if (p->on || (benching(a) && !first))
		return SLICE_NS;
	if (benching(a) && end > now)
		return end - now;
	return 60 * LOOK_NS;
}

static bool time_is_up(struct app *a, uint64_t now)
{
	uint64_t first = benching(a) ? first_packet_ns(a) : 0;

	return first && (double)(now - first) / 1e9 >= a->opts.seconds;
}

static bool over(struct app *a, uint64_t now)
{
	if (interrupted || time_is_up(a, now))
		return true;
	if (!receives(a))
		return atomic_load_explicit(&a->tx_ended, memory_order_acquire);
	if (atomic_load_explicit(&a->rx_ended, memory_order_acquire))
		return true;
	/* a sender that broke will never send what the receiver waits for */
	return sends(a) && atomic_load_explicit(&a->tx_ended, memory_order_acquire) && a->tx.error;
}

static void supervise(struct app *a)
{
	struct progress bar;
	uint64_t now = gw__now_ns(a->clock);

	a->begin_ns = now;
	progress_init(&bar, a->opts.expected_images, now);
	while (!over(a, now)) {
		(void)gw__event_block(&a->wake, nap(a, &bar, now));
		now = gw__now_ns(a->clock);
		if (receives(a))
			progress_draw(&bar, atomic_load_explicit(&a->rx.images_seen, memory_order_relaxed),
				      atomic_load_explicit(&a->infer.images_done, memory_order_relaxed), now);
	}
	progress_clear(&bar);
}

/* Sender first, so that nothing new comes; the receiver takes what is there; then inference runs dry. */
static void join_all(struct app *a)
{
	if (a->tx_started) {
		pcap_tx_stop(&a->tx);
		pthread_join(a->tx_thread, NULL);
	}
	if (a->rx_started && gw_port_drop_all(a->gw, a->rx.port, true))
		fprintf(stderr, "%s: its gate does not shut; late packets may still come\n", a->set.rx_port);
	if (interrupted)
		atomic_store_explicit(&a->infer.discard, true, memory_order_relaxed);
	atomic_store_explicit(&a->rx.finish, true, memory_order_release);
	if (a->rx_started)
		pthread_join(a->rx_thread, NULL);
	else if (a->ring_made)
		job_ring_close(&a->ring);
	if (a->infer_started)
		pthread_join(a->infer_thread, NULL);
}

/* Windows that nobody will infer any more: given back, so that the sums close. */
static void take_leftovers(struct app *a)
{
	struct gw_burst burst;
	uint64_t n = 0;

	gw_stop(a->gw);
	while (receives(a) && gw_rx_burst(a->gw, a->rx.port, a->rx.queue, &burst) == 1) {
		gw_burst_release(&burst);
		n++;
	}
	if (n)
		fprintf(stderr, "%" PRIu64 " bursts were left when the run ended\n", n);
}

static void print_counters(struct gw *gw)
{
	int n = gw_counters(gw, NULL, 0);
	struct gw_counter *c = n > 0 ? gw__calloc((size_t)n, sizeof(*c)) : NULL;

	n = c ? gw_counters(gw, c, n) : 0;
	fputs("\ncounters (zeros left out):\n", stderr);
	for (int i = 0; i < n; i++)
		if (c[i].value)
			fprintf(stderr, "  %-32s %-22s %" PRIu64 "\n", c[i].scope, c[i].name, c[i].value);
	gw__free(c);
}

/* ---- the end -------------------------------------------------------------------------------- */

/* Frames that the wire could not hand to anybody: the other end is gone, or never came. */
static bool reached_a_peer(const struct app *a)
{
	struct gw_port_stats s;

	if (gw_port_stats(a->gw, a->tx.port, &s) || (!s.tx_dropped && a->tx.error != -ETIMEDOUT))
		return true;
	fprintf(stderr, "resnet50_inference: nobody took %" PRIu64 " frames%s: is the receiver running?\n", s.tx_dropped,
		a->tx.error == -ETIMEDOUT ? " and those still queued" : "");
	return false;
}

static int exit_code(const struct app *a, bool sums_close)
{
	bool sent = !sends(a) || (reached_a_peer(a) && !a->tx.error && !a->tx.send_failures && !a->tx.fill_failures);
	bool inferred = !receives(a) || (!a->infer.n.infer_failures && !a->infer.n.failed_images);
	bool enough = a->infer.n.images >= a->opts.expected_images;

	if (!sent || !inferred || !sums_close)
		return EXIT_FAILED;
	if (!enough)
		return EXIT_TOO_FEW;
	if (receives(a) && a->rx.end == RX_END_GONE && !a->opts.expected_images)
		return EXIT_FAILED;
	return EXIT_OK;
}

static void gather(struct app *a, struct results *r)
{
	uint64_t first = atomic_load_explicit(&a->rx.first_ns, memory_order_relaxed);
	const struct consumer *c = &a->infer;

	*r = (struct results){
		.opts = &a->opts,
		.set = &a->set,
		.tx = sends(a) ? &a->tx : NULL,
		.rx = receives(a) ? &a->rx : NULL,
		.infer = c,
		.sink = a->sink_on ? &a->sink : NULL,
		.nn = a->nn_info,
		.seconds = (double)(gw__now_ns(a->clock) - a->start_ns) / 1e9,
		.inference_seconds = (double)c->busy_ns / 1e9,
		.alone_img_s = { a->alone_img_s[0], a->alone_img_s[1] },
	};
	r->latency = latency_summarise(&a->infer.latency);
	if (first && c->last_result_ns > first)
		r->active_seconds = (double)(c->last_result_ns - first) / 1e9;
	if (first && a->rx.free_until_ns > first)
		r->ingest_seconds = (double)(a->rx.free_until_ns - first) / 1e9;
	if (c->n.batches)
		r->pipeline_seconds = (double)(c->last_result_ns - c->first_call_ns) / 1e9;
	if (r->sink)
		accuracy_measure(r->sink, &a->data, &a->set.geo, &r->accuracy);
}

static int finish(struct app *a)
{
	struct results r;
	struct gw_diag diag = { "" };
	bool sums_close;

	gather(a, &r);
	summary_print(&r);
	take_leftovers(a);
	sums_close = !gw_stats_check(a->gw, &diag);
	print_counters(a->gw);
	if (!sums_close)
		say(&diag);
	r.exit_code = exit_code(a, sums_close);
	if (r.exit_code == EXIT_TOO_FEW)
		fprintf(stderr, "resnet50_inference: %" PRIu64 " of %" PRIu64 " expected images\n", a->infer.n.images,
			a->opts.expected_images);
	if (a->opts.features && a->sink_on &&
	    feature_sink_dump(&a->sink, a->opts.expected_images, a->opts.features, &diag)) {
		say(&diag);
		r.exit_code = EXIT_FAILED;
	}
	if (a->opts.json && report_json(&r, a->gw, a->opts.json, &diag)) {
		say(&diag);
		r.exit_code = EXIT_FAILED;
	}
	return r.exit_code;
}

static void close_all(struct app *a)
{
	feature_sink_fini(&a->sink);
	gw_nn_close(a->nn);
	gw_close(a->gw);
	gw_stream_destroy(a->reorder_stream);
	if (a->rx_made)
		rx_producer_fini(&a->rx);
	if (a->tx_made)
		pcap_tx_fini(&a->tx);
	if (a->gate_made)
		release_gate_fini(&a->gate);
	if (a->ring_made)
		job_ring_fini(&a->ring);
	dataset_close(&a->data);
	gw_config_free(a->cfg);
}

static int run(struct app *a)
{
	struct gw_diag diag = { "" };
	int err = open_all(a, &diag), code = EXIT_REFUSED;

	if (!err && receives(a))
		err = make_receiver(a, &diag);
	if (!err && sends(a))
		err = make_sender(a, &diag);
	if (!err && receives(a))
		err = start_inference(a, &diag);
	if (!err && !interrupted) {
		code = EXIT_FAILED;
		err = gw_start(a->gw, &diag);
		if (!err && receives(a))
			err = start_receiver(a, &diag);
		if (!err && sends(a))
			err = start_sender(a, &diag);
		if (!err)
			supervise(a);
	}
	join_all(a);
	if (err)
		say(&diag);
	else
		code = finish(a);
	close_all(a);
	return code;
}

int main(int argc, char **argv)
{
	struct sigaction act = { .sa_handler = on_signal, .sa_flags = SA_RESETHAND };
	int code;

	options_parse(argc, argv, &app.opts);
	app.clock = gw__clock_monotonic();
	app.start_ns = gw__now_ns(app.clock);
	gw_log_set(log_line, NULL, GW_LOG_WARN);
	if (gw__event_init(&app.wake)) {
		fprintf(stderr, "resnet50_inference: no event descriptor: %s\n", strerror(errno));
		return EXIT_FAILED;
	}
	/* the first one ends the run in order, a second one at once */
	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	code = run(&app);
	gw__event_fini(&app.wake);
	return code;
}
