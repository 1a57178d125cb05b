/* resnet50_inference/latency.c: nearest-rank quantiles over the kept calls.
 * Must not know what was timed. Next: summary.c prints them. */
#include "latency.h"

#include <math.h>
#include <stdlib.h>

void latency_add(struct latency *l, uint64_t ns)
{
	uint64_t us = (ns + 500) / 1000;

	l->us[l->n % LATENCY_KEEP] = us > UINT32_MAX ? UINT32_MAX : (uint32_t)us;
	l->n++;
	l->sum_ns += ns;
}

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static double rank_ms(const struct latency *l, uint64_t kept, double q)
{
	uint64_t i = (uint64_t)ceil(q * (double)kept);

	return (double)l->us[i ? i - 1 : 0] / 1e3;
}

struct latency_summary latency_summarise(struct latency *l)
{
	uint64_t kept = l->n < LATENCY_KEEP ? l->n : LATENCY_KEEP;
	struct latency_summary s = { .n = l->n };

	if (!kept)
		return s;
	qsort(l->us, kept, sizeof(l->us[0]), by_value);
	s.mean_ms = (double)l->sum_ns / (double)l->n / 1e6;
	s.p50_ms = rank_ms(l, kept, 0.50);
	s.p99_ms = rank_ms(l, kept, 0.99);
	s.p999_ms = rank_ms(l, kept, 0.999);
	return s;
}
