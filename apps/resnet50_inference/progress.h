/* resnet50_inference/progress.h: one line that is drawn over itself, on a terminal only.
 * Must not know where the numbers come from. Next: progress.c. */
#ifndef RESNET50_PROGRESS_H
#define RESNET50_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
	bool on;        /* standard error is a terminal */
	bool drawn;
	uint64_t total; /* images; 0 = not known */
	uint64_t start_ns;
};

void progress_init(struct progress *p, uint64_t total, uint64_t now_ns);
/* At most some ten times a second; no effect in a pipe. */
void progress_draw(struct progress *p, uint64_t received, uint64_t done, uint64_t now_ns);
/* Leave the line before anything else is printed. */
void progress_clear(struct progress *p);

#endif
