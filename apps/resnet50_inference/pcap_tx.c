/* resnet50_inference/pcap_tx.c: reserve, fill, submit; a short count means the rest is still ours.
 * Must not know images. Next: dataset.c opens the capture. */
#include "pcap_tx.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define WAIT_SLICE_NS ((uint64_t)100000000)
#define PACE_SLICE_NS ((uint64_t)1000000) /* paced frames leave in groups of at least this much time */
#define DRAIN_PATIENCE_NS (60 * (uint64_t)1000000000)

int pcap_tx_init(struct pcap_tx *t)
{
	t->wanted = t->source.n_frames;
	return gw__event_init(&t->nap);
}

void pcap_tx_fini(struct pcap_tx *t)
{
	gw__event_fini(&t->nap);
}

void pcap_tx_stop(struct pcap_tx *t)
{
	atomic_store_explicit(&t->stop, true, memory_order_release);
	gw__event_kick(&t->nap);
}

int eth_addr_parse(const char *text, uint8_t mac[6])
{
	unsigned b[6];
	int used = 0;

	if (strlen(text) != 17 ||
	    sscanf(text, "%2x:%2x:%2x:%2x:%2x:%2x%n", &b[0], &b[1], &b[2], &b[3], &b[4], &b[5], &used) != 6 ||
	    used != 17)
		return -EINVAL;
	for (int i = 0; i < 6; i++)
		mac[i] = (uint8_t)b[i];
	return 0;
}

static int put(const struct pcap_tx *t, void *dst, const uint8_t *src, uint32_t n)
{
	if (t->device_memory)
		return gw_mem_copy(dst, src, n);
	memcpy(dst, src, n);
	return 0;
}

/* One frame into slot i, over as many segments as it needs. */
static int fill(struct pcap_tx *t, uint32_t i, const uint8_t *frame, uint32_t len)
{
	uint32_t done = 0;
	int err;

	if (t->lent)
		return gw_tx_use(&t->tx, i, 0, frame, len);
	for (uint32_t s = 0; s < t->tx.n_segs; s++) {
		uint32_t n = len - done < t->tx.seg_size[s] ? len - done : t->tx.seg_size[s];

		err = n ? put(t, t->tx.seg_ptr[s][i], frame + done, n) : 0;
		if (err)
			return err;
		t->tx.seg_len[s][i] = n;
		done += n;
	}
	if (done < len)
		return -EMSGSIZE;
	if (t->tx.tx_time_ns)
		t->tx.tx_time_ns[i] = 0;
	if (t->has_eth_dst && len >= sizeof(t->eth_dst))
		return put(t, t->tx.seg_ptr[0][i], t->eth_dst, sizeof(t->eth_dst));
	return 0;
}

/* The next frame of the stream, starting over where that is wanted. 1, 0 at the end, negative errno. */
static int next_frame(struct pcap_tx *t, const uint8_t **frame, uint32_t *len)
{
	int rc = t->source.next(t->source.ctx, frame, len);

	if (rc == 0 && t->loop && t->read) {
		rc = t->source.rewind(t->source.ctx);
		if (!rc)
			rc = t->source.next(t->source.ctx, frame, len);
	}
	if (rc == 1) {
		t->read++;
		if (t->read > t->wanted)
			t->wanted = t->read;
	}
	return rc;
}

static void fill_reserved(struct pcap_tx *t)
{
	while (t->filled < t->tx.n_pkts && !t->at_end) {
		const uint8_t *frame;
		uint32_t len;
		int rc = next_frame(t, &frame, &len);

		if (rc <= 0) {
			t->at_end = true;
			t->error = rc;
			return;
		}
		t->bytes += len;
		if (fill(t, t->filled, frame, len))
			t->fill_failures++;
		else
			t->filled++;
	}
}

/* Frames that may leave now. */
static uint32_t allowed(struct pcap_tx *t, uint64_t now)
{
	double due, group = t->frames_per_s * (double)PACE_SLICE_NS / 1e9;

	if (t->frames_per_s <= 0)
		return t->batch;
	due = (double)(now - t->first_ns) / 1e9 * t->frames_per_s - (double)t->read + 1;
	if (due < 1 || (due < group && t->read))
		return 0;
	return due < t->batch ? (uint32_t)due : t->batch;
}

static enum tx_step reserve(struct pcap_tx *t, uint64_t now)
{
	uint32_t n = allowed(t, now);
	int rc;

	if (!n)
		return TX_STEP_EARLY;
	rc = gw_tx_reserve(t->gw, t->port, t->queue, n, &t->tx);
	if (rc < 0) {
		t->error = rc;
		return TX_STEP_END;
	}
	if (!rc) {
		t->no_burst_polls++;
		return TX_STEP_IDLE;
	}
	t->reserved = true;
	t->filled = 0;
	fill_reserved(t);
	return TX_STEP_WORK;
}

/* Give the slots back that nothing was put into, or that the queue will never take. */
static void close_reservation(struct pcap_tx *t)
{
	gw_tx_cancel(t->gw, &t->tx);
	t->reserved = false;
	t->filled = 0;
}

/* n frames have left between the times before and after. */
static void note_sent(struct pcap_tx *t, uint64_t n, uint64_t before, uint64_t after)
{
	uint64_t first = atomic_fetch_add_explicit(&t->sent, n, memory_order_relaxed);

	if (first && after - t->last_ns > t->gap_ns) {
		t->gap_ns = after - t->last_ns;
		t->gap_frame = first;
		t->gap_held_ns = t->held_ns;
	}
	t->held_ns = 0;
	t->last_ns = after;
	if (!t->window)
		return;
	if (first % t->window == 0)
		t->window_ns = before;
	if (first / t->window == (first + n) / t->window)
		return;
	if (after - t->window_ns > t->span_ns) {
		t->span_ns = after - t->window_ns;
		t->span_window = first / t->window;
	}
	t->window_ns = before; /* the next one's first frames left with these */
}

static enum tx_step submit(struct pcap_tx *t)
{
	uint64_t before = gw__now_ns(t->clock);
	int rc = t->filled ? gw_tx_submit(t->gw, &t->tx, t->filled) : 0;

	if (rc < 0) {
		t->send_failures += t->filled;
		close_reservation(t);
		if (rc == -EINVAL || rc == -EMSGSIZE)
			return TX_STEP_WORK;
		t->error = rc;
		return TX_STEP_END;
	}
	t->filled -= (uint32_t)rc;
	if (rc)
		note_sent(t, (uint64_t)rc, before, gw__now_ns(t->clock));
	if (!t->filled)
		close_reservation(t);
	return rc ? TX_STEP_WORK : TX_STEP_IDLE;
}

enum tx_step pcap_tx_step(struct pcap_tx *t)
{
	uint64_t now = gw__now_ns(t->clock);

	if (!t->first_ns)
		t->first_ns = now;
	if (atomic_load_explicit(&t->stop, memory_order_acquire)) {
		t->read -= t->filled; /* read, but never sent */
		if (t->reserved)
			close_reservation(t);
		if (t->loop)
			t->wanted = t->read;
		return TX_STEP_END;
	}
	if (t->reserved)
		return submit(t);
	if (t->at_end)
		return TX_STEP_END;
	return reserve(t, now);
}

static void wait_until_due(struct pcap_tx *t)
{
	double due_s = ((double)t->read + t->frames_per_s * (double)PACE_SLICE_NS / 1e9) / t->frames_per_s;
	uint64_t due = t->first_ns + (uint64_t)(due_s * 1e9), now = gw__now_ns(t->clock);

	if (due > now)
		(void)gw__event_block(&t->nap, due - now < WAIT_SLICE_NS ? due - now : WAIT_SLICE_NS);
}

static void wait_for_room(struct pcap_tx *t)
{
	uint64_t since = gw__now_ns(t->clock);

	if (gw_tx_wait(t->gw, t->port, t->queue, WAIT_SLICE_NS) < 0)
		(void)gw__event_block(&t->nap, PACE_SLICE_NS);
	t->held_ns += gw__now_ns(t->clock) - since;
}

/* Everything submitted has to leave; a held-back sender may take its time as long as frames move. */
static void drain(struct pcap_tx *t)
{
	struct gw_queue_stats s = { 0 };
	uint64_t seen = UINT64_MAX, since = gw__now_ns(t->clock);
	int rc;

	while ((rc = gw_tx_drain(t->gw, t->port, t->queue, WAIT_SLICE_NS)) == -ETIMEDOUT) {
		if (gw_txq_stats(t->gw, t->port, t->queue, &s) == 0 && s.tx_completions != seen) {
			seen = s.tx_completions;
			since = gw__now_ns(t->clock);
		}
		if (atomic_load_explicit(&t->stop, memory_order_acquire) ||
		    gw__now_ns(t->clock) - since > DRAIN_PATIENCE_NS)
			break;
	}
	/* out of patience: nobody takes the frames. Told to stop: they may stay */
	if (rc && !t->error && !(rc == -ETIMEDOUT && atomic_load_explicit(&t->stop, memory_order_acquire)))
		t->error = rc;
}

void pcap_tx_run(struct pcap_tx *t)
{
	enum tx_step s;

	while ((s = pcap_tx_step(t)) != TX_STEP_END) {
		if (s == TX_STEP_EARLY)
			wait_until_due(t);
		else if (s == TX_STEP_IDLE)
			wait_for_room(t);
	}
	drain(t);
}

void pcap_tx_print(const struct pcap_tx *t)
{
	uint64_t sent = atomic_load_explicit(&t->sent, memory_order_relaxed);

	fprintf(stderr,
		"pcap_tx_worker: sent %" PRIu64 "/%" PRIu64 " frames in %.6g s (send_failures=%" PRIu64
		" fill_failures=%" PRIu64 " no_burst_polls=%" PRIu64 ")\n",
		sent, t->wanted, (double)(t->last_ns - t->first_ns) / 1e9, t->send_failures, t->fill_failures,
		t->no_burst_polls);
}

void pcap_tx_print_gaps(const struct pcap_tx *t)
{
	fprintf(stderr, "pcap_tx_worker: longest silence %.2f ms (before frame %" PRIu64 ", held back %.2f ms of it)",
		(double)t->gap_ns / 1e6, t->gap_frame, (double)t->gap_held_ns / 1e6);
	if (t->window)
		fprintf(stderr, ", slowest window %.2f ms from first frame to last (window %" PRIu64 ")",
			(double)t->span_ns / 1e6, t->span_window);
	fputc('\n', stderr);
}
