/* resnet50_inference/threads.c: what each of the three threads does besides its loop: pin, build, report.
 * Must not know the order in which they are started. Next: main.c. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app.h"
#include "base/diag.h"

#define CALIBRATION_IMAGES 64u /* what int8 scales are taken from */

#define ALONE_CALLS 5 /* timed, at least this many and this long */
#define ALONE_NS 2000000000u

static void pin(const char *who, int core)
{
	if (core >= 0 && gw__pin_to_core(core))
		fprintf(stderr, "%s: this machine lends no core %d: not pinned\n", who, core);
}

static int check_network(struct app *a)
{
	const struct gw_nn_info *i = &a->nn_info;
	const struct geometry *g = &a->set.geo;

	if (i->chan != g->chan || i->height != g->height || i->width != g->width)
		return gw__fail(&a->diag, -EINVAL, "%s: takes images of %u x %u x %u; the configuration's are %u x %u x "
				"%u", a->set.onnx_path, i->chan, i->height, i->width, g->chan, g->height, g->width);
	if (i->n_features != a->set.feature_dim)
		return gw__fail(&a->diag, -EINVAL, "%s: gives %u features; inference.feature_dim says %u: write %u",
				a->set.onnx_path, i->n_features, a->set.feature_dim, i->n_features);
	return 0;
}

static int open_network(struct app *a)
{
	struct gw_nn_opts o = {
		.sz = sizeof(o),
		.max_batch = a->set.geo.images_per_batch,
		.n_threads = a->set.threads,
		.precision = a->set.precision,
	};
	const struct gw_nn_info *i = &a->nn_info;
	void *calibration = NULL;
	int err = 0;

	o.plan_cache = *a->set.plan_folder ? a->set.plan_folder : NULL;
	if (a->set.precision == GW_NN_INT8) {
		o.calib_n = CALIBRATION_IMAGES;
		err = dataset_tensor(&a->data, &a->set.geo, o.calib_n, a->set.tensor_kind, &calibration);
		if (err)
			return gw__fail(&a->diag, err, "inference.precision: int8 is calibrated from the first %u images "
					"of the capture, which are not at hand; give --dataset, or write auto",
					CALIBRATION_IMAGES);
		o.calibration = calibration;
	}
	err = gw_nn_open(a->set.onnx_path, &o, &a->nn, &a->diag);
	gw_mem_free(calibration);

	if (err == -ENOENT)
		return gw__fail(&a->diag, err, "%s: no such model; make it with: gpuwire model --model %s --output %s",
				a->set.onnx_path, a->opts.model ? a->opts.model : "resnet50", a->set.onnx_path);
	if (err)
		return err;
	gw_nn_info(a->nn, &a->nn_info);
	err = check_network(a);
	if (err)
		return err;
	fprintf(stderr, "TrtRunner ready: %s on %s, input binding '%s' %s (n, %u, %u, %u), output '%s' features %s "
		"(n, %u), %.2f s\n", a->set.onnx_path, i->backend, i->input_name, i->input_type, i->chan, i->height,
		i->width, i->output_name, i->output_type, i->n_features, i->open_seconds);
	return 0;
}

/* As the pipeline is counted: images over all the time they took, stalls of the machine included. */
double inference_alone(struct app *a)
{
	uint32_t n = a->set.geo.images_per_batch, rows_n, calls = 0;
	uint64_t start, ns = 0;
	const float *rows;
	void *input;
	int err;

	if (gw_mem_alloc(a->set.tensor_kind, n * a->set.geo.image_out_bytes, 0, &input, NULL))
		return 0;
	err = gw_nn_infer(a->nn, input, n, NULL, &rows, &rows_n); /* warm-up */
	start = gw__now_ns(a->clock);
	for (; !err && (calls < ALONE_CALLS || ns < ALONE_NS); calls++) {
		err = gw_nn_infer(a->nn, input, n, NULL, &rows, &rows_n);
		ns = gw__now_ns(a->clock) - start;
	}
	if (gw_nn_drain(a->nn, &rows, &rows_n))
		err = -EIO;
	gw_mem_free(input);
	return err ? 0 : per_second((double)n * calls, (double)ns / 1e9);
}

static int prepare_consumer(struct app *a)
{
	int err;

	if (a->opts.null_consumer)
		return 0;
	err = open_network(a);
	if (err)
		return err;
	a->infer.nn = a->nn;
	/* a CPU network computes inside the call; and its helpers inherit a pinned caller's one core */
	a->infer.in_call = strncmp(a->nn_info.backend, "cu", 2) != 0;
	if (!a->infer.in_call)
		pin("inference_consumer_worker", a->set.infer_core);
	if (a->set.stats) {
		a->sink.dim = a->nn_info.n_features;
		err = feature_sink_init(&a->sink, &a->diag);
		if (err)
			return err;
		a->infer.sink = feature_sink_consume;
		a->infer.sink_ctx = &a->sink;
		a->sink_on = true;
	}
	if (a->opts.pace_ratio > 0)
		a->alone_img_s[0] = inference_alone(a);
	return 0;
}

void *inference_thread(void *app)
{
	struct app *a = app;

	a->infer_error = prepare_consumer(a);
	atomic_store_explicit(&a->infer_ready, true, memory_order_release);
	gw__event_kick(&a->wake);
	if (!a->infer_error) {
		consumer_run(&a->infer);
		if (a->opts.pace_ratio > 0)
			a->alone_img_s[1] = inference_alone(a);
	}
	return NULL;
}

void *rx_thread(void *app)
{
	struct app *a = app;

	pin("rx_producer_worker", a->set.rx_core);
	rx_producer_run(&a->rx);
	atomic_store_explicit(&a->rx_ended, true, memory_order_release);
	gw__event_kick(&a->wake);
	return NULL;
}

void *tx_thread(void *app)
{
	struct app *a = app;

	pin("pcap_tx_worker", a->set.tx_core);
	pcap_tx_run(&a->tx);
	atomic_store_explicit(&a->tx_ended, true, memory_order_release);
	gw__event_kick(&a->wake);
	return NULL;
}
