/* resnet50_inference/rx_producer.c: the receive loop: burst in, job out, every drop in its own counter.
 * Must not know what inference does with a job. Next: inference_consumer.c; docs/resnet50.md. */
#include "rx_producer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#define WAIT_SLICE_NS ((uint64_t)100000000) /* longest wait, so that `finish` is seen */
#define FLUSH_PATIENCE_NS ((uint64_t)1000000000)

int rx_producer_init(struct rx_producer *p)
{
	p->idle_since_ns = gw__now_ns(p->clock);
	p->flush_left = -1;
	p->end = RX_END_RUNNING;
	p->holding = false;
	return gw__event_init(&p->nap);
}

void rx_producer_fini(struct rx_producer *p)
{
	gw__event_fini(&p->nap);
}

static void drop(struct rx_producer *p, struct gw_burst *burst, uint64_t *counter, uint32_t images)
{
	(*counter)++;
	p->n.dropped++;
	p->n.dropped_images += images;
	release_gate_release(p->gate, burst);
}

/* A burst handed over early knows how many packets it holds only once its event has fired. */
static int info_of(struct rx_producer *p, const struct gw_burst *burst, struct gw_reorder_info *info)
{
	int err = -EAGAIN;

	for (uint32_t i = 0; i < RX_INFO_TRIES; i++) {
		err = gw_burst_reorder_info(burst, info);
		if (err != -EAGAIN)
			break;
		(void)gw__event_block(&p->nap, RX_INFO_WAIT_NS);
	}
	return err;
}

static void count_pushed(struct rx_producer *p, const struct job *job)
{
	p->n.pushed_images += job->n_valid;
	p->n.delivered_bursts++;
	atomic_fetch_add_explicit(&p->images_seen, job->n_images, memory_order_relaxed);
}

/* Example mode keeps the job until there is room; bench mode must not stall the receive path. */
static void hand_over(struct rx_producer *p, struct job *job)
{
	bool wait = p->backpressure || p->flush_left >= 0;

	if (!job->input)
		drop(p, &job->burst, &p->n.null_input, job->n_valid);
	else if (job_ring_push(p->ring, job)) {
		count_pushed(p, job);
	} else if (wait) {
		p->held = *job;
		p->holding = true;
		p->was_held = true;
	} else {
		drop(p, &job->burst, &p->n.queue_full, job->n_valid);
	}
}

static void take_partial(struct rx_producer *p, struct gw_burst *burst, struct job *job)
{
	struct gw_reorder_info info;
	uint32_t lost;

	p->n.partial++;
	if (info_of(p, burst, &info)) {
		drop(p, burst, &p->n.info_failures, p->geo.images_per_window);
		return;
	}
	p->n.partial_packets += info.source_packet_count;
	lost = p->geo.images_per_window - info.n_groups_valid;
	p->n.incomplete_images += lost;
	if (!info.n_groups_valid) {
		drop(p, burst, &p->n.short_batch, 0);
		return;
	}
	job->n_valid = info.n_groups_valid;
	job->group_valid = info.group_valid;
	hand_over(p, job);
}

/* When data began: the first packet of the first window, if the library can say; else now. */
static void note_first(struct rx_producer *p, const struct gw_burst *burst, uint64_t now)
{
	uint64_t first = atomic_load_explicit(&p->first_ns, memory_order_relaxed);
	struct gw_reorder_info info;

	if (!first)
		first = now;
	if (burst->flags & GW_BURST_REORDERED && !p->n.reordered_bursts && !gw_burst_reorder_info(burst, &info) &&
	    info.first_ts_ns && info.first_ts_ns < first)
		first = info.first_ts_ns;
	atomic_store_explicit(&p->first_ns, first, memory_order_release);
}

static void take(struct rx_producer *p, struct gw_burst *burst)
{
	struct job job = {
		.burst = *burst,
		.n_images = p->geo.images_per_window,
		.n_valid = p->geo.images_per_window,
		.serial = p->n.reordered_bursts,
	};

	if (!(burst->flags & GW_BURST_REORDERED)) {
		p->n.non_reordered_bursts++;
		p->n.non_reordered_packets += burst->n_pkts;
		release_gate_release(p->gate, burst);
		return;
	}
	p->n.reordered_bursts++;
	if (!p->was_held) {
		p->free_images += p->geo.images_per_window;
		p->free_until_ns = p->last_ns;
	}
	job.input = burst->seg_ptr[0] ? burst->seg_ptr[0][0] : NULL;
	if (burst->flags & (GW_BURST_REORDER_TIMEOUT | GW_BURST_INCOMPLETE))
		take_partial(p, burst, &job);
	else
		hand_over(p, &job);
}

static bool all_accounted(const struct rx_producer *p)
{
	return p->expected_images &&
	       p->n.pushed_images + p->n.incomplete_images + p->n.dropped_images >= p->expected_images;
}

static void end_with(struct rx_producer *p, enum rx_end why)
{
	if (p->end == RX_END_RUNNING)
		p->end = why;
}

/* Have packets come since the last look? Bursts alone would not tell: a window that lost a packet is not
 * handed over, yet its traffic is running. */
static bool traffic(struct rx_producer *p, uint64_t now)
{
	struct gw_queue_stats s;

	if (gw_rxq_stats(p->gw, p->port, p->queue, &s) || s.rx_packets == p->packets_seen)
		return false;
	p->packets_seen = s.rx_packets;
	p->idle_since_ns = now;
	if (!atomic_load_explicit(&p->first_ns, memory_order_relaxed))
		atomic_store_explicit(&p->first_ns, now, memory_order_release);
	return true;
}

static uint64_t patience(const struct rx_producer *p)
{
	if (p->flush_left >= 0)
		return FLUSH_PATIENCE_NS;
	return atomic_load_explicit(&p->first_ns, memory_order_relaxed) ? RX_QUIESCE_NS : RX_STARTUP_NS;
}

/* Ask for every open window, once; what it hands over is taken by the next steps. */
static void flush(struct rx_producer *p, enum rx_end why)
{
	end_with(p, why);
	p->flush_left = gw_flush(p->gw);
	if (p->flush_left < 0)
		p->flush_left = 0;
	p->idle_since_ns = gw__now_ns(p->clock);
}

static enum rx_step idle(struct rx_producer *p)
{
	uint64_t now = gw__now_ns(p->clock);

	if (p->flush_left == 0)
		return RX_STEP_END;
	if (p->flush_left < 0 && atomic_load_explicit(&p->finish, memory_order_acquire)) {
		flush(p, RX_END_FINISH);
		return RX_STEP_WORK;
	}
	if (p->flush_left < 0 && traffic(p, now))
		return RX_STEP_IDLE;
	if (now - p->idle_since_ns < patience(p))
		return RX_STEP_IDLE;
	if (p->flush_left > 0)
		return RX_STEP_END;
	flush(p, atomic_load_explicit(&p->first_ns, memory_order_relaxed) ? RX_END_QUIET :
									     RX_END_NO_DATA);
	return RX_STEP_WORK;
}

static enum rx_step step_held(struct rx_producer *p)
{
	if (!job_ring_push(p->ring, &p->held))
		return RX_STEP_BLOCKED;
	p->idle_since_ns = gw__now_ns(p->clock); /* the sender was held back meanwhile: its silence is ours */
	p->holding = false;
	count_pushed(p, &p->held);
	return RX_STEP_WORK;
}

static enum rx_step gone(struct rx_producer *p, int err)
{
	if (p->flush_left >= 0)
		return RX_STEP_END;
	p->error = err;
	flush(p, RX_END_GONE);
	return RX_STEP_WORK;
}

enum rx_step rx_producer_step(struct rx_producer *p)
{
	struct gw_burst burst;
	uint64_t now;
	int rc;

	if (p->holding)
		return step_held(p);
	if (all_accounted(p)) {
		end_with(p, RX_END_EXPECTED);
		return RX_STEP_END;
	}
	rc = gw_rx_burst(p->gw, p->port, p->queue, &burst);
	if (rc == -ENOBUFS)
		p->n.pool_empty++;
	else if (rc < 0)
		return gone(p, rc);
	if (rc <= 0)
		return idle(p);
	now = gw__now_ns(p->clock);
	p->idle_since_ns = now;
	p->last_ns = now;
	note_first(p, &burst, now);
	if (p->flush_left > 0)
		p->flush_left--;
	take(p, &burst);
	return RX_STEP_WORK;
}

static void wait_for_packets(struct rx_producer *p)
{
	uint64_t idle_ns = gw__now_ns(p->clock) - p->idle_since_ns, limit = patience(p), slice;
	int rc;

	slice = limit > idle_ns ? limit - idle_ns : 1;
	rc = gw_rx_wait(p->gw, p->port, p->queue, slice < WAIT_SLICE_NS ? slice : WAIT_SLICE_NS);
	/* an empty pool fills only when the consumer gives a burst back */
	if (rc < 0)
		release_gate_wait(p->gate, 10000000);
}

void rx_producer_run(struct rx_producer *p)
{
	enum rx_step s;

	while ((s = rx_producer_step(p)) != RX_STEP_END) {
		if (s == RX_STEP_BLOCKED)
			job_ring_wait_room(p->ring, WAIT_SLICE_NS);
		else if (s == RX_STEP_IDLE)
			wait_for_packets(p);
	}
	job_ring_close(p->ring);
}

void rx_producer_print(const struct rx_producer *p)
{
	const struct rx_counters *n = &p->n;

	fprintf(stderr,
		"rx_producer_worker: pushed %" PRIu64 " images (reordered_bursts=%" PRIu64 " partial=%" PRIu64
		" dropped=%" PRIu64 " partial_packets=%" PRIu64 " info_failures=%" PRIu64
		" non_reordered_bursts=%" PRIu64 " non_reordered_packets=%" PRIu64 ")\n",
		n->pushed_images, n->reordered_bursts, n->partial, n->dropped, n->partial_packets,
		n->info_failures, n->non_reordered_bursts, n->non_reordered_packets);
	if (n->dropped || n->incomplete_images || n->pool_empty)
		fprintf(stderr,
			"rx_producer_worker: delivered_bursts=%" PRIu64 " dropped_bursts=[queue_full=%" PRIu64
			" short_batch=%" PRIu64 " info_failure=%" PRIu64 " null_input=%" PRIu64
			"] incomplete_images=%" PRIu64 " dropped_images=%" PRIu64 " pool_empty=%" PRIu64 "\n",
			n->delivered_bursts, n->queue_full, n->short_batch, n->info_failures, n->null_input,
			n->incomplete_images, n->dropped_images, n->pool_empty);
	if (p->end == RX_END_GONE)
		fprintf(stderr, "rx_producer_worker: the port went away (error %d)\n", p->error);
	else if (p->end == RX_END_NO_DATA)
		fprintf(stderr, "rx_producer_worker: gave up: no packet within %" PRIu64 " s of the start\n",
			RX_STARTUP_NS / 1000000000u);
}
