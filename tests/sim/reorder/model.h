/* The rules of reorder/plan.h once more, written to be obviously right and slow: no wrap-around arithmetic, one
 * record per place, linear searches. Knows what each packet truly is. Shares no code with the plan. */
#ifndef GW_SIM_REORDER_MODEL_H
#define GW_SIM_REORDER_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#define MODEL_MAX_BATCH 4096u
#define MODEL_MAX_OPEN 8u
#define MODEL_FIFO 64u
#define EMPTY UINT32_MAX

struct packet {
	int64_t truth; /* which packet of the sender's stream it is */
	uint32_t len;
	uint64_t ts_ns;
	uint32_t id; /* its source slot in the plan */
};

struct model_window {
	bool open;
	int64_t number;
	uint32_t n, why;
	uint64_t first_ts_ns;
	uint32_t at[MODEL_MAX_BATCH]; /* packet id or EMPTY */
	int64_t truth[MODEL_MAX_BATCH];
};

struct model {
	uint32_t per_batch, seq_bits, max_open;
	uint64_t timeout_ns;
	bool started, aliased; /* aliased: a number was taken for another, as half the range allows */
	int64_t next, told, first, base, run;
	struct model_window win[MODEL_MAX_OPEN];
	/* closed ones, for the driver to compare and take */
	struct model_window closed[MODEL_FIFO];
	uint32_t n_closed;
	uint64_t placed, duplicate, late, stale, bad, restarts;
	int64_t offset; /* unwrapped number - truth, since the stream was joined */
};

void model_init(struct model *m, uint32_t per_batch, uint32_t seq_bits, uint32_t max_open, uint64_t timeout_ns);
/* The port lost n packets before the next one. */
void model_told(struct model *m, uint64_t n);
/* Does the packet need a window that is not open? Closes what it supersedes. */
bool model_needs(struct model *m, const struct packet *p);
/* True: placed; false: refused, and counted. */
bool model_take(struct model *m, const struct packet *p);
void model_expire(struct model *m, uint64_t now_ns);
void model_flush(struct model *m);

#endif
