/* resnet50_inference/latency.h: time of each inference call, and its quantiles. Fixed storage: a long run
 * keeps the last LATENCY_KEEP calls. Must not know what was timed. Next: inference_consumer.c. */
#ifndef RESNET50_LATENCY_H
#define RESNET50_LATENCY_H

#include <stdint.h>

#define LATENCY_KEEP 65536u

struct latency {
	uint32_t us[LATENCY_KEEP];
	uint64_t n;      /* calls timed */
	uint64_t sum_ns;
};

struct latency_summary {
	uint64_t n;
	double mean_ms, p50_ms, p99_ms, p999_ms;
};

void latency_add(struct latency *l, uint64_t ns);
/* Sorts the kept calls in place: call once, at the end. */
struct latency_summary latency_summarise(struct latency *l);

#endif
