/* resnet50_inference/results.h: everything a finished run knows, gathered once for the text and the JSON.
 * Plain data; must not know how it was measured. Next: summary.c, report_json.c. */
#ifndef RESNET50_RESULTS_H
#define RESNET50_RESULTS_H

#include "accuracy.h"
#include "feature_sink.h"
#include "inference_consumer.h"
#include "options.h"
#include "pcap_tx.h"
#include "rx_producer.h"
#include "settings.h"

struct results {
	const struct options *opts;
	const struct settings *set;
	const struct pcap_tx *tx;       /* NULL: this process did not send */
	const struct rx_producer *rx;   /* NULL: this process did not receive */
	const struct consumer *infer;
	const struct feature_sink *sink;
	struct latency_summary latency;
	struct accuracy accuracy;
	struct gw_nn_info nn;           /* backend NULL: no network ran */
	double seconds;                 /* of the process, start-up included */
	double active_seconds;          /* first packet to last result */
	double ingest_seconds;          /* first packet to the last burst before the ring held us back */
	double inference_seconds;       /* a call in the network */
	double pipeline_seconds;        /* first call to last result */
	double alone_img_s[2];          /* inference with nothing else running, before and after; 0 = not measured */
	int exit_code;
};

static inline double per_second(double n, double seconds)
{
	return seconds > 0 ? n / seconds : 0;
}

#endif
