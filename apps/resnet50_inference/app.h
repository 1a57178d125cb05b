/* resnet50_inference/app.h: everything one run owns, in one place, and the three threads' bodies.
 * Must not contain logic. Next: main.c (the order of things), threads.c. */
#ifndef RESNET50_APP_H
#define RESNET50_APP_H

#include <pthread.h>

#include "results.h"

struct app {
	struct options opts;
	struct settings set;
	char eth_dst_set[64];
	struct gw_config *cfg;
	struct gw *gw;
	struct gw_stream *reorder_stream; /* destroyed last: the library holds it until it is closed */
	struct dataset data;
	struct gw__clock *clock;
	uint64_t start_ns, begin_ns; /* of the process; of the run, when every thread is there */

	struct job_ring ring;
	struct release_gate gate;
	struct rx_producer rx;
	struct consumer infer;
	struct feature_sink sink;
	struct pcap_tx tx;
	struct gw_nn *nn; /* the inference thread's until it was joined; nn_info's words live in it */
	struct gw_nn_info nn_info;
	bool sink_on;
	double alone_img_s[2];

	pthread_t rx_thread, infer_thread, tx_thread;
	bool rx_started, infer_started, tx_started;
	atomic_bool rx_ended, tx_ended;
	atomic_bool infer_ready; /* the network is built, or could not be */
	int infer_error;         /* why it could not; with a sentence below */
	struct gw_diag diag;     /* of the inference thread, until infer_ready */
	struct gw__event wake;   /* kicked by the threads and by signals */
	bool ring_made, gate_made, rx_made, tx_made;
};

/* Thread bodies: void *(*)(void *app). Each kicks app->wake when it has something to say. */
void *inference_thread(void *app);
void *rx_thread(void *app);
void *tx_thread(void *app);

/* Images a second of the network alone on an input in the tensors' kind of memory. 0 = could not. */
double inference_alone(struct app *a);

#endif
