/* resnet50_inference/summary.c: what a person reads after a run. Must not measure anything.
 * Next: report_json.c says the same to programs. */
#include "summary.h"

#include <inttypes.h>
#include <stdio.h>

static void print_latency(const struct results *r)
{
	const struct latency_summary *l = &r->latency;

	if (!l->n)
		return;
	fprintf(stderr,
		"inference latency (ms): mean=%.2f p50=%.2f p99=%.2f p99.9=%.2f (per batch of %u images, n=%" PRIu64
		")\n",
		l->mean_ms, l->p50_ms, l->p99_ms, l->p999_ms, r->set->geo.images_per_batch, l->n);
}

static void print_rates(const struct results *r)
{
	const struct consumer_counters *n = &r->infer->n;
	double taken = (double)r->rx->free_images;

	fprintf(stderr, "images=%" PRIu64 " batches=%" PRIu64 " seconds=%.2f => %.2f img/s\n", n->images, n->batches,
		r->seconds, per_second((double)n->images, r->seconds));
	if (r->opts->seconds > 0)
		fprintf(stderr, "active_seconds=%.2f => %.2f img/s\n", r->active_seconds,
			per_second((double)n->images, r->active_seconds));
	fprintf(stderr, "ingest: %.1f img/s, %.0f packets/s; inference: %.1f img/s\n",
		per_second(taken, r->ingest_seconds),
		per_second(taken * r->set->geo.packets_per_image, r->ingest_seconds),
		per_second((double)n->images, r->inference_seconds));
	if (r->alone_img_s[0] > 0 && r->alone_img_s[1] > 0) {
		double alone = (r->alone_img_s[0] + r->alone_img_s[1]) / 2;
		double pipeline = per_second((double)n->images, r->pipeline_seconds);

		fprintf(stderr,
			"inference alone: %.2f img/s before, %.2f after; pipeline: %.2f img/s = %.3f of their mean\n",
			r->alone_img_s[0], r->alone_img_s[1], pipeline, pipeline / alone);
	}
	if (n->infer_failures || n->failed_images || n->discarded_images)
		fprintf(stderr, "inference: failures=%" PRIu64 " failed_images=%" PRIu64 " discarded_images=%" PRIu64
			" last error=%d\n", n->infer_failures, n->failed_images, n->discarded_images, r->infer->error);
}

static void print_class(const struct results *r, uint32_t cls)
{
	const struct feature_sink *s = r->sink;
	uint32_t n = r->set->top_k < s->dim ? r->set->top_k : s->dim;

	fprintf(stderr, "  class %2u %10s (n=%6" PRIu64 "): mean=[", cls, s->labels->class_names[cls],
		gw__classmeans_count(s->means, cls));
	for (uint32_t d = 0; d < n; d++)
		fprintf(stderr, "%s%.4f", d ? ", " : "", gw__classmeans_mean(s->means, cls, d));
	fprintf(stderr, "%s]  |mean|=%.4f\n", n < s->dim ? ", ..." : "", gw__classmeans_norm(s->means, cls));
}

static void print_classes(const struct results *r)
{
	const struct feature_sink *s = r->sink;

	if (!s->means || !s->n_images)
		return;
	fprintf(stderr, "\nPer-class mean-feature stats (first %u dims + L2 norm of the mean vector):\n",
		r->set->top_k < s->dim ? r->set->top_k : s->dim);
	for (uint32_t cls = 0; cls < s->labels->n_classes; cls++)
		if (s->labels->n_classes <= 64 || gw__classmeans_count(s->means, cls))
			print_class(r, cls);
	fputs("(Different mean vectors, and different lengths of them, show that the network tells the classes "
	      "apart.)\n", stderr);
}

static void print_accuracy(const struct results *r)
{
	const struct accuracy *a = &r->accuracy;

	if (!r->sink->n_images)
		return;
	if (!a->known) {
		fprintf(stderr, "nearest class mean: not measured (%s)\n", a->why_not);
		return;
	}
	fprintf(stderr, "nearest class mean, held-out half (%u images learnt, %u judged): features %.3f, ",
		a->features.n_train, a->features.n_test, a->features.accuracy);
	if (a->raw_known)
		fprintf(stderr, "raw pixels %.3f, ", a->raw.accuracy);
	else
		fputs("raw pixels not known here, ", stderr);
	fprintf(stderr, "chance %.3f\n(Features of random weights are expected below raw pixels; trained weights lie "
		"above.)\n", a->features.chance);
}

void summary_print(const struct results *r)
{
	if (r->tx)
		pcap_tx_print(r->tx);
	/* a deadline that struck was either wrong or this long overdue: say which */
	if (r->tx && (!r->rx || r->rx->n.partial))
		pcap_tx_print_gaps(r->tx);
	if (!r->rx)
		return;
	rx_producer_print(r->rx);
	print_latency(r);
	fputs("\n=== ResNet inference summary ===\n", stderr);
	print_rates(r);
	if (!r->sink)
		return;
	print_classes(r);
	print_accuracy(r);
}
