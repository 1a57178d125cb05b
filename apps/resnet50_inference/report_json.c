/* resnet50_inference/report_json.c: the results as one flat JSON document.
 * Must not measure anything. Next: summary.c says the same to people. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/diag.h"
#include "summary.h"

static void text(FILE *f, const char *s)
{
	fputc('"', f);
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (c == '"' || c == '\\')
			fprintf(f, "\\%c", c);
		else if (c < 0x20)
			fprintf(f, "\\u%04x", c);
		else
			fputc(c, f);
	}
	fputc('"', f);
}

static void real(FILE *f, const char *key, double v, const char *end)
{
	if (isfinite(v))
		fprintf(f, "\"%s\": %.9g%s", key, v, end);
	else
		fprintf(f, "\"%s\": null%s", key, end);
}

static void whole(FILE *f, const char *key, uint64_t v, const char *end)
{
	fprintf(f, "\"%s\": %" PRIu64 "%s", key, v, end);
}

static void put_tx(FILE *f, const struct pcap_tx *t)
{
	fputs("  \"tx\": {", f);
	whole(f, "sent", atomic_load_explicit(&t->sent, memory_order_relaxed), ", ");
	whole(f, "frames", t->wanted, ", ");
	whole(f, "bytes", t->bytes, ", ");
	real(f, "seconds", (double)(t->last_ns - t->first_ns) / 1e9, ", ");
	whole(f, "send_failures", t->send_failures, ", ");
	whole(f, "fill_failures", t->fill_failures, ", ");
	whole(f, "no_burst_polls", t->no_burst_polls, ", ");
	real(f, "longest_silence_ms", (double)t->gap_ns / 1e6, ", ");
	real(f, "slowest_window_ms", (double)t->span_ns / 1e6, "},\n");
}

static void put_rx(FILE *f, const struct rx_counters *n)
{
	fputs("  \"rx\": {", f);
	whole(f, "pushed_images", n->pushed_images, ", ");
	whole(f, "delivered_bursts", n->delivered_bursts, ", ");
	whole(f, "reordered_bursts", n->reordered_bursts, ", ");
	whole(f, "partial", n->partial, ", ");
	whole(f, "partial_packets", n->partial_packets, ", ");
	whole(f, "incomplete_images", n->incomplete_images, ",\n    ");
	whole(f, "dropped", n->dropped, ", ");
	whole(f, "queue_full", n->queue_full, ", ");
	whole(f, "short_batch", n->short_batch, ", ");
	whole(f, "info_failures", n->info_failures, ", ");
	whole(f, "null_input", n->null_input, ", ");
	whole(f, "dropped_images", n->dropped_images, ",\n    ");
	whole(f, "non_reordered_bursts", n->non_reordered_bursts, ", ");
	whole(f, "non_reordered_packets", n->non_reordered_packets, ", ");
	whole(f, "pool_empty", n->pool_empty, "},\n");
}

static void put_inference(FILE *f, const struct results *r)
{
	const struct consumer_counters *n = &r->infer->n;

	fputs("  \"inference\": {", f);
	whole(f, "images", n->images, ", ");
	whole(f, "batches", n->batches, ", ");
	whole(f, "images_per_batch", r->set->geo.images_per_batch, ", ");
	whole(f, "failures", n->infer_failures, ", ");
	whole(f, "failed_images", n->failed_images, ", ");
	whole(f, "discarded_images", n->discarded_images, ",\n    \"latency_ms\": {");
	real(f, "mean", r->latency.mean_ms, ", ");
	real(f, "p50", r->latency.p50_ms, ", ");
	real(f, "p99", r->latency.p99_ms, ", ");
	real(f, "p99.9", r->latency.p999_ms, ", ");
	whole(f, "n", r->latency.n, "}");
	if (r->nn.backend) {
		fputs(",\n    \"model\": ", f);
		text(f, r->set->onnx_path);
		fputs(", \"backend\": ", f);
		text(f, r->nn.backend);
		fputs(", ", f);
		whole(f, "dim", r->nn.n_features, ", ");
		real(f, "open_seconds", r->nn.open_seconds, "");
	}
	fputs("},\n", f);
}

static void put_rates(FILE *f, const struct results *r)
{
	const struct consumer_counters *n = &r->infer->n;
	double taken = (double)r->rx->free_images;

	fputs("  \"rates\": {", f);
	real(f, "img_per_s", per_second((double)n->images, r->seconds), ", ");
	real(f, "active_seconds", r->active_seconds, ", ");
	real(f, "active_img_per_s", per_second((double)n->images, r->active_seconds), ",\n    ");
	real(f, "ingest_img_per_s", per_second(taken, r->ingest_seconds), ", ");
	real(f, "ingest_packets_per_s",
	     per_second(taken * r->set->geo.packets_per_image, r->ingest_seconds), ", ");
	real(f, "inference_img_per_s", per_second((double)n->images, r->inference_seconds), ",\n    ");
	real(f, "pipeline_img_per_s", per_second((double)n->images, r->pipeline_seconds), ", ");
	real(f, "alone_before_img_per_s", r->alone_img_s[0], ", ");
	real(f, "alone_after_img_per_s", r->alone_img_s[1], "},\n");
}

static void put_classes(FILE *f, const struct results *r)
{
	const struct feature_sink *s = r->sink;
	const struct accuracy *a = &r->accuracy;

	fputs("  \"pca\": {", f);
	real(f, "explained_pc1", s->explained[0], ", ");
	real(f, "explained_pc2", s->explained[1], "},\n");
	if (!s->means)
		return;
	fputs("  \"classes\": [", f);
	for (uint32_t cls = 0; cls < s->labels->n_classes; cls++) {
		fputs(cls ? ",\n    {\"name\": " : "\n    {\"name\": ", f);
		text(f, s->labels->class_names[cls]);
		fputs(", ", f);
		whole(f, "n", gw__classmeans_count(s->means, cls), ", ");
		real(f, "norm", gw__classmeans_norm(s->means, cls), "}");
	}
	fputs("],\n", f);
	if (!a->known)
		return;
	fputs("  \"nearest_class_mean\": {", f);
	whole(f, "learnt", a->features.n_train, ", ");
	whole(f, "judged", a->features.n_test, ", ");
	real(f, "features", a->features.accuracy, ", ");
	real(f, "raw_pixels", a->raw_known ? a->raw.accuracy : NAN, ", ");
	real(f, "chance", a->features.chance, "},\n");
}

static int put_counters(FILE *f, struct gw *gw)
{
	int n = gw ? gw_counters(gw, NULL, 0) : 0;
	struct gw_counter *c = n > 0 ? gw__calloc((size_t)n, sizeof(*c)) : NULL;

	if (n > 0 && !c)
		return -ENOMEM;
	n = n > 0 ? gw_counters(gw, c, n) : 0;
	fputs("  \"counters\": {", f);
	for (int i = 0; i < n; i++)
		fprintf(f, "%s\n    \"%s.%s\": %" PRIu64, i ? "," : "", c[i].scope, c[i].name, c[i].value);
	fputs("},\n", f);
	gw__free(c);
	return 0;
}

static int write_document(FILE *f, const struct results *r, struct gw *gw)
{
	int err;

	fputs("{\n  \"version\": ", f);
	text(f, gw_version());
	fputs(",\n", f);
	if (r->tx)
		put_tx(f, r->tx);
	if (r->rx) {
		put_rx(f, &r->rx->n);
		put_inference(f, r);
		put_rates(f, r);
		if (r->sink)
			put_classes(f, r);
	}
	err = put_counters(f, gw);
	fputs("  ", f);
	real(f, "seconds", r->seconds, ", ");
	fprintf(f, "\"exit_code\": %d\n}\n", r->exit_code);
	return err;
}

int report_json(const struct results *r, struct gw *gw, const char *path, struct gw_diag *diag)
{
	FILE *f = strcmp(path, "-") ? fopen(path, "w") : stdout;
	int err;

	if (!f)
		return gw__fail(diag, -errno, "%s: %s", path, strerror(errno));
	err = write_document(f, r, gw);
	if (fflush(f) || ferror(f))
		err = -EIO;
	if (f != stdout && fclose(f))
		err = -EIO;
	return err ? gw__fail(diag, err, "%s: %s", path, strerror(-err)) : 0;
}
