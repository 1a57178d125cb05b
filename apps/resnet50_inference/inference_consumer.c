/* resnet50_inference/inference_consumer.c: results come one call late; so do the bursts' returns.
 * A burst is given back after a later call (or the tail) proved that the network has finished reading it, or
 * at once when its own call failed; never twice, never not at all. Next: feature_sink.c. */
#include "inference_consumer.h"

#include <errno.h>
#include <string.h>

#include "base/bitmap.h"

#define WAIT_SLICE_NS ((uint64_t)250000000)

static bool is_valid(const struct job *job, uint32_t i)
{
	return !job->group_valid || gw__bit_test(job->group_valid, i);
}

uint32_t job_next_run(const struct job *job, uint32_t from, uint32_t most, uint32_t *first)
{
	uint32_t i = from, n = 0;

	while (i < job->n_images && !is_valid(job, i))
		i++;
	*first = i;
	while (i < job->n_images && n < most && is_valid(job, i)) {
		i++;
		n++;
	}
	return n;
}

static void give_back(struct consumer *c, struct gw_burst *burst)
{
	release_gate_release(c->gate, burst);
	c->n.released++;
}

/* Which image of the stream a window starts with: its own number says so, whatever was lost before it. */
static uint64_t base_image(const struct consumer *c, const struct in_flight *f)
{
	struct gw_reorder_info info;
	uint64_t window = f->serial;

	if (!gw_burst_reorder_info(&f->burst, &info))
		window = info.batch_id;
	return window * c->geo.images_per_window;
}

/* The call before has finished: time it, pass its features on, give its burst back if it was the last. */
static void retire(struct consumer *c, const float *rows, uint32_t n)
{
	struct in_flight *f = &c->prev;
	uint64_t end = f->end_ns ? f->end_ns : gw__now_ns(c->clock);
	uint64_t began = f->start_ns > c->free_ns ? f->start_ns : c->free_ns;

	if (!f->busy)
		return;
	latency_add(&c->latency, end - began);
	c->busy_ns += end - began;
	c->free_ns = end;
	c->last_result_ns = end;
	if (n > f->n)
		n = f->n;
	if (rows && n) {
		if (c->sink)
			c->sink(c->sink_ctx, rows, n, base_image(c, f) + f->first);
		c->n.images += n;
		c->n.batches++;
		atomic_fetch_add_explicit(&c->images_done, n, memory_order_relaxed);
	}
	c->n.failed_images += f->n - (rows ? n : 0);
	if (f->last)
		give_back(c, &f->burst);
	f->busy = false;
}

/* Images of the job from `from` on that no call will see any more. */
static uint32_t left_of(const struct job *job, uint32_t from)
{
	uint32_t n = 0;

	for (uint32_t i = from; i < job->n_images; i++)
		n += is_valid(job, i);
	return n;
}

/* Nothing more of this job goes to the network. If an earlier call still reads the burst, that call takes the
 * duty over; else the burst goes back now. */
static void abandon_job(struct consumer *c, bool burst_in_flight)
{
	if (burst_in_flight)
		c->prev.last = true;
	else
		give_back(c, &c->job.burst);
	c->have_job = false;
}

static void fail_job(struct consumer *c, int err, uint32_t from)
{
	c->error = err;
	c->n.infer_failures++;
	c->n.failed_images += left_of(&c->job, from);
	abandon_job(c, c->prev.busy && c->prev.serial == c->job.serial);
}

static void infer_run(struct consumer *c, uint32_t first, uint32_t n)
{
	struct in_flight cur = {
		.busy = true,
		.burst = c->job.burst,
		.serial = c->job.serial,
		.first = first,
		.n = n,
		.start_ns = gw__now_ns(c->clock),
	};
	const uint8_t *input = c->job.input + first * c->geo.image_out_bytes;
	const float *rows = NULL;
	uint32_t n_rows = 0, next;
	int err;

	if (!c->first_call_ns)
		c->first_call_ns = cur.start_ns;
	err = gw_nn_infer(c->nn, input, n, c->job.burst.event, &rows, &n_rows);
	if (err) {
		fail_job(c, err, first);
		return;
	}
	if (c->in_call)
		cur.end_ns = gw__now_ns(c->clock);
	retire(c, rows, n_rows);
	c->cursor = first + n;
	cur.last = !job_next_run(&c->job, c->cursor, 1, &next);
	c->prev = cur;
	if (cur.last)
		c->have_job = false;
}

/* --consumer null: what inference would have read is there; count it and give it back. */
static void drain_job(struct consumer *c)
{
	uint64_t now = gw__now_ns(c->clock);
	int err = c->job.burst.event ? gw_event_sync(c->job.burst.event) : 0;

	if (err) {
		c->error = err;
		c->n.failed_images += c->job.n_valid;
	} else {
		c->n.images += c->job.n_valid;
		c->n.batches++;
		atomic_fetch_add_explicit(&c->images_done, c->job.n_valid, memory_order_relaxed);
	}
	if (!c->first_call_ns)
		c->first_call_ns = now;
	c->last_result_ns = gw__now_ns(c->clock);
	give_back(c, &c->job.burst);
	c->have_job = false;
}

static void take_tail(struct consumer *c)
{
	const float *rows = NULL;
	uint32_t n = 0;
	int err = gw_nn_drain(c->nn, &rows, &n);

	if (err) {
		c->error = err;
		c->n.infer_failures++;
		rows = NULL;
		n = 0;
	}
	retire(c, rows, n);
}

static void step_job(struct consumer *c)
{
	uint32_t first, n;

	if (atomic_load_explicit(&c->discard, memory_order_relaxed)) {
		c->n.discarded_images += left_of(&c->job, c->cursor);
		abandon_job(c, c->prev.busy && c->prev.serial == c->job.serial);
		return;
	}
	if (!c->nn) {
		drain_job(c);
		return;
	}
	n = job_next_run(&c->job, c->cursor, c->geo.images_per_batch, &first);
	infer_run(c, first, n);
}

bool consumer_step(struct consumer *c)
{
	if (c->have_job) {
		step_job(c);
		return true;
	}
	if (job_ring_pop(c->ring, &c->job)) {
		c->have_job = true;
		c->cursor = 0;
		c->n.bursts++;
		return true;
	}
	if (c->prev.busy) {
		/* no next batch is waiting: do not sit on results and on a buffer */
		take_tail(c);
		return true;
	}
	return false;
}

void consumer_run(struct consumer *c)
{
	while (consumer_step(c) || !job_ring_finished(c->ring))
		if (!c->have_job && !c->prev.busy)
			job_ring_wait_work(c->ring, WAIT_SLICE_NS);
}
