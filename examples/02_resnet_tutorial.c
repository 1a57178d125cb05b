/* examples/02_resnet_tutorial.c: the ResNet tutorial's listings, step by step, in gpuwire's calls.
 *   02_resnet_tutorial CONFIG.yaml MODEL.onnx [IMAGES]
 * A receiver only: feed it with `resnet50_inference --mode tx`. The whole program, with every counter and every
 * refusal, is apps/resnet50_inference; docs/from-daqiri.md lists each call beside the vendor's. */
#include <errno.h>
#include <gpuwire/gpuwire.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define RX_PORT "rx_port"
#define REORDER_NAME "rx_reorder_resnet_int8_fp16"
#define PACKETS_PER_IMAGE 128u
#define IMAGES_PER_BATCH 32u

/* ---- step 4: the ring between the two threads ------------------------------------------------ */

#define CAP 8u /* holds 7: one slot stays empty */

struct inference_job {
	struct gw_burst burst;         /* give back after the network has read it */
	const void *input;             /* fp16 (images, 3, 224, 224): seg_ptr[0][0] */
	uint32_t batch_size;           /* images in this batch */
	struct gw_event *input_ready;  /* burst.event: the reorder launch is done */
};

static struct inference_job slots[CAP];
static _Atomic uint32_t head, tail;

static bool try_push(const struct inference_job *job)
{
	uint32_t h = atomic_load_explicit(&head, memory_order_relaxed);
	uint32_t next = (h + 1) & (CAP - 1);

	if (next == atomic_load_explicit(&tail, memory_order_acquire))
		return false;
	slots[h] = *job;
	atomic_store_explicit(&head, next, memory_order_release);
	return true;
}

static bool try_pop(struct inference_job *job)
{
	uint32_t t = atomic_load_explicit(&tail, memory_order_relaxed);

	if (t == atomic_load_explicit(&head, memory_order_acquire))
		return false;
	*job = slots[t];
	atomic_store_explicit(&tail, (t + 1) & (CAP - 1), memory_order_release);
	return true;
}

/* ---- what the two threads share besides it --------------------------------------------------- */

static struct gw *gw;
static const char *model;
static uint16_t port;
static uint64_t expected_images;
static atomic_bool rx_ready, producer_done, failed;
static pthread_mutex_t release_lock = PTHREAD_MUTEX_INITIALIZER; /* one thread at a time gives back */
static uint64_t n_features_images;

static void give_back(struct gw_burst *burst)
{
	pthread_mutex_lock(&release_lock);
	gw_burst_release(burst);
	pthread_mutex_unlock(&release_lock);
}

static void nap_ms(long ms)
{
	nanosleep(&(struct timespec){ .tv_nsec = ms * 1000000 }, NULL);
}

/* ---- step 3: a burst becomes an inference batch ---------------------------------------------- */

static uint64_t bursts_not_reordered, packets_not_reordered, bursts_dropped;

/* Whole images at the start of a burst that was handed over before it was full. */
static uint32_t whole_images(const struct gw_burst *burst)
{
	struct gw_reorder_info info;
	int err = -EAGAIN;
	uint32_t n = 0;

	/* its event may still be in flight: the data is coming, not bad */
	for (int i = 0; i < 100 && (err = gw_burst_reorder_info(burst, &info)) == -EAGAIN; i++)
		nap_ms(1);
	if (err)
		return 0;
	/* the tutorial divides a count; here every image has its own bit, so a hole costs that image alone
	 * (this listing stops at the first hole; the application carries on behind it) */
	while (n < info.n_groups && info.group_valid[n / 64] >> (n % 64) & 1)
		n++;
	return n;
}

static bool make_job(struct gw_burst *burst, struct inference_job *job)
{
	if (!(burst->flags & GW_BURST_REORDERED)) {
		bursts_not_reordered++;
		packets_not_reordered += burst->n_pkts;
		give_back(burst);
		return false;
	}
	*job = (struct inference_job){ .burst = *burst, .batch_size = IMAGES_PER_BATCH };
	job->input = burst->seg_ptr[0][0];
	job->input_ready = burst->event;
	if (burst->flags & GW_BURST_REORDER_TIMEOUT)
		job->batch_size = whole_images(burst);
	if (job->batch_size && job->input)
		return true;
	bursts_dropped++;
	give_back(burst);
	return false;
}

static void *rx_producer_worker(void *arg)
{
	uint64_t images = 0;
	struct inference_job job;
	struct gw_burst burst;
	int quiet = 0, rc;

	while (images < expected_images && quiet < 50 && !atomic_load(&failed)) {
		rc = gw_rx_burst(gw, port, 0, &burst);
		if (rc < 0 && rc != -ENOBUFS)
			break;
		if (rc <= 0) {
			/* waiting blocks: no polling thread burns a core; 50 x 100 ms after data is the give-up */
			rc = gw_rx_wait(gw, port, 0, 100000000);
			quiet = rc == 0 && images ? quiet + 1 : 0;
			continue;
		}
		quiet = 0;
		if (!make_job(&burst, &job))
			continue;
		while (!try_push(&job)) /* example mode: every image counts */
			nap_ms(1);
		images += job.batch_size;
	}
	fprintf(stderr, "rx_producer_worker: pushed %" PRIu64 " images (dropped=%" PRIu64 " non_reordered_bursts=%"
		PRIu64 " non_reordered_packets=%" PRIu64 ")\n", images, bursts_dropped, bursts_not_reordered,
		packets_not_reordered);
	atomic_store(&producer_done, true);
	return NULL;
}

/* ---- step 5: infer, then give back the burst before ------------------------------------------ */

static void consume(const float *features, uint32_t n)
{
	if (features && n && !n_features_images)
		fprintf(stderr, "feature[image 0] = [%.4f, %.4f, %.4f, ...]\n", (double)features[0],
			(double)features[1], (double)features[2]);
	n_features_images += n;
}

static void infer_all(struct gw_nn *nn)
{
	struct inference_job job;
	struct gw_burst prev_burst;
	bool have_prev = false, done;
	const float *prev = NULL;
	uint32_t n_prev = 0;

	for (;;) {
		done = atomic_load(&producer_done);
		if (!try_pop(&job)) {
			if (done)
				break;
			nap_ms(1);
			continue;
		}
		if (gw_nn_infer(nn, job.input, job.batch_size, job.input_ready, &prev, &n_prev)) {
			give_back(&job.burst); /* the current one on failure */
			continue;
		}
		consume(prev, n_prev);
		if (have_prev)
			give_back(&prev_burst); /* the previous one only after success */
		prev_burst = job.burst;
		have_prev = true;
	}
	/* step 6: the last batch's features are still to come */
	if (!gw_nn_drain(nn, &prev, &n_prev))
		consume(prev, n_prev);
	if (have_prev)
		give_back(&prev_burst);
}

static void *inference_consumer_worker(void *arg)
{
	struct gw_nn_opts opts = { .sz = sizeof(opts), .max_batch = IMAGES_PER_BATCH };
	struct gw_diag diag = { "" };
	struct gw_nn *nn = NULL;

	if (gw_nn_open(model, &opts, &nn, &diag)) {
		fprintf(stderr, "%s\n", diag.text);
		atomic_store(&failed, true);
	}
	atomic_store(&rx_ready, true); /* only now may the producer's patience begin */
	if (nn)
		infer_all(nn);
	gw_nn_close(nn);
	return NULL;
}

/* ---- steps 1, 2 and 6: the order of start and end -------------------------------------------- */

static int run(struct gw_diag *diag)
{
	pthread_t consumer, producer;
	int err = gw_start(gw, diag);

	if (err)
		return err;
	if (pthread_create(&consumer, NULL, inference_consumer_worker, NULL))
		return -EAGAIN;
	while (!atomic_load(&rx_ready))
		nap_ms(10);
	if (pthread_create(&producer, NULL, rx_producer_worker, NULL))
		atomic_store(&producer_done, true);
	else
		pthread_join(producer, NULL);
	pthread_join(consumer, NULL);
	return atomic_load(&failed) ? -EIO : 0;
}

static int open_and_bind(const char *yaml, struct gw_config **cfg, struct gw_stream **stream,
			 struct gw_diag *diag)
{
	struct gw_config_opts opts = { .sz = sizeof(opts), .rx_only = true };
	int err = gw_config_load(yaml, &opts, cfg, diag), id;

	if (!err)
		err = gw_open(*cfg, &gw, diag);
	if (!err)
		err = gw_stream_create(stream, diag);
	/* step 2: once, right after opening; a failure is fatal */
	if (!err)
		err = gw_reorder_set_stream(gw, RX_PORT, REORDER_NAME, *stream);
	if (err)
		return err;
	id = gw_port_id(gw, RX_PORT);
	port = (uint16_t)id;
	return id < 0 ? id : 0;
}

int main(int argc, char **argv)
{
	struct gw_diag diag = { "" };
	struct gw_config *cfg = NULL;
	struct gw_stream *reorder_stream = NULL;
	int err;

	if (argc < 3) {
		fprintf(stderr, "usage: %s CONFIG.yaml MODEL.onnx [IMAGES]\n", argv[0]);
		return 64;
	}
	model = argv[2];
	expected_images = argc > 3 ? strtoull(argv[3], NULL, 10) : 256;
	err = open_and_bind(argv[1], &cfg, &reorder_stream, &diag);
	if (!err)
		err = run(&diag);
	if (err)
		fprintf(stderr, "%s: error %d %s\n", argv[0], err, diag.text);
	else
		printf("images=%" PRIu64 "\n", n_features_images);
	gw_close(gw);
	gw_stream_destroy(reorder_stream); /* last: the library holds it until it is closed */
	gw_config_free(cfg);
	return err || n_features_images < expected_images ? 1 : 0;
}
