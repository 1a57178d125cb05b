/* resnet50_inference/progress.c: a bar of 30 cells, images received, done, and the rate so far.
 * Must not print where nobody watches. Next: main.c. */
#include "progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#define CELLS 30u

void progress_init(struct progress *p, uint64_t total, uint64_t now_ns)
{
	p->on = isatty(STDERR_FILENO) == 1;
	p->drawn = false;
	p->total = total;
	p->start_ns = now_ns;
}

void progress_draw(struct progress *p, uint64_t received, uint64_t done, uint64_t now_ns)
{
	double seconds = (double)(now_ns - p->start_ns) / 1e9;
	char bar[CELLS + 1];
	uint64_t full;

	if (!p->on)
		return;
	full = p->total ? done * CELLS / p->total : done / 32 % CELLS;
	for (uint32_t i = 0; i < CELLS; i++)
		bar[i] = i < full ? '#' : '.';
	bar[CELLS] = '\0';
	fprintf(stderr, "\r[%s] %" PRIu64 " received, %" PRIu64 " done, %.1f img/s ", bar, received, done,
		seconds > 0 ? (double)done / seconds : 0);
	p->drawn = true;
}

void progress_clear(struct progress *p)
{
	if (p->drawn)
		fputs("\r\033[K", stderr);
	p->drawn = false;
}
