/* tests/unit/resnet50/fake_gw.c: the stand-in's answers. Waiting moves the clock instead of blocking.
 * Must not contain any rule of the application. Next: fake_gw.h. */
#include "fake_gw.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct fake fake;

static void *tensor_ptr[FAKE_MAX];
static uint32_t tx_lens[2][64];
static void *tx_ptr[2][64];

void fake_reset(void)
{
	free(fake.tensor);
	memset(&fake, 0, sizeof(fake));
	gw__clock_manual_init(&fake.clock, 1000000000);
	fake.images_per_window = 32;
	fake.packets_per_image = 128;
	fake.tensor = calloc(FAKE_MAX, 64);
	fake.tx_slots = 64;
	fake.n_segs = 1;
	fake.seg_size[0] = 2048;
}

void fake_script_full(int n, uint64_t every_ns)
{
	for (int i = 0; i < n; i++) {
		fake.script[fake.n_script] =
			(struct fake_burst){ .flags = GW_BURST_REORDERED, .batch_id = (uint64_t)fake.n_script };
		fake.at_ns[fake.n_script] = 1000000000 + (uint64_t)(i + 1) * every_ns;
		fake.n_script++;
	}
}

static uint64_t now(void)
{
	return gw__now_ns(&fake.clock.base);
}

static bool due(void)
{
	if (fake.next >= fake.n_script)
		return false;
	if (fake.next >= fake.n_script - fake.flush_gives)
		return fake.flushed;
	return fake.at_ns[fake.next] <= now();
}

int gw_rx_burst(struct gw *gw, uint16_t port, uint16_t queue, struct gw_burst *burst)
{
	static uint64_t stamps[FAKE_MAX];
	int i = fake.next;

	if (!due())
		return fake.idle_rc;
	memset(burst, 0, sizeof(*burst));
	burst->n_pkts = fake.script[i].flags & GW_BURST_REORDERED ? 1 : fake.script[i].n_pkts;
	burst->n_segs = 1;
	burst->flags = fake.script[i].flags;
	burst->ts_ns = stamps;
	tensor_ptr[i] = fake.script[i].null_input ? NULL : fake.tensor + i * 64;
	burst->seg_ptr[0] = &tensor_ptr[i];
	burst->priv = &fake.script[i];
	fake.out[i] = 1;
	fake.next++;
	if (++fake.n_out > fake.most_out)
		fake.most_out = fake.n_out;
	fake.rx_packets += fake.images_per_window * fake.packets_per_image;
	return 1;
}

int gw_rx_wait(struct gw *gw, uint16_t port, uint16_t queue, uint64_t timeout_ns)
{
	if (due())
		return 1;
	if (fake.idle_rc < 0)
		return fake.idle_rc;
	gw__clock_manual_advance(&fake.clock, timeout_ns);
	return due();
}

int gw_rxq_stats(struct gw *gw, uint16_t port, uint16_t queue, struct gw_queue_stats *out)
{
	uint64_t t = now() < fake.trickle_end_ns ? now() : fake.trickle_end_ns;

	memset(out, 0, sizeof(*out));
	out->rx_packets = fake.rx_packets;
	if (fake.packet_every_ns)
		out->rx_packets += (t - 1000000000) / fake.packet_every_ns;
	return 0;
}

int gw_flush(struct gw *gw)
{
	fake.n_flush++;
	if (!fake.flush_ns)
		fake.flush_ns = now();
	if (fake.flushed)
		return 0;
	fake.flushed = true;
	return fake.flush_gives;
}

int gw_burst_reorder_info(const struct gw_burst *burst, struct gw_reorder_info *info)
{
	struct fake_burst *b = burst->priv;
	uint32_t ppb = fake.images_per_window * fake.packets_per_image;

	if (b->info_again < 0)
		return -EIO;
	if (b->info_again > 0) {
		b->info_again--;
		return -EAGAIN;
	}
	memset(info, 0, sizeof(*info));
	info->batch_id = b->batch_id;
	info->packets_per_batch = ppb;
	info->packets_per_group = fake.packets_per_image;
	info->n_groups = fake.images_per_window;
	info->source_packet_count = b->packets ? b->packets : ppb;
	info->n_missing = ppb - info->source_packet_count;
	info->n_groups_valid = b->packets ? b->n_groups_valid : fake.images_per_window;
	info->group_valid = b->group_valid;
	return 0;
}

void gw_burst_release(struct gw_burst *burst)
{
	struct fake_burst *b = burst->priv;
	long i = b ? b - fake.script : 0;

	if (!b || !fake.out[i]) {
		fake.double_release = true;
		return;
	}
	if (fake.pending_input && (const uint8_t *)fake.pending_input >= fake.tensor + i * 64 &&
	    (const uint8_t *)fake.pending_input < fake.tensor + (i + 1) * 64)
		fake.reads_released = true;
	fake.out[i] = 0;
	fake.n_out--;
	fake.n_released++;
	memset(burst, 0, sizeof(*burst));
}

int gw_event_sync(const struct gw_event *event)
{
	return 0;
}

/* The batch before is done when this returns: exactly what the header promises, no more. */
static void finish(const float **rows, uint32_t *n)
{
	*rows = fake.pending_n ? fake.rows[fake.parity ^ 1] : NULL;
	*n = fake.pending_n;
	fake.pending_n = 0;
	fake.pending_input = NULL;
}

int gw_nn_infer(struct gw_nn *nn, const void *input, uint32_t n, struct gw_event *ready, const float **prev,
		uint32_t *prev_n)
{
	int call = fake.n_infer++;

	gw__clock_manual_advance(&fake.clock, fake.infer_ns);
	if (fake.infer_fail_at == call + 1)
		return -EIO;
	fake.infer_n[call] = n;
	fake.infer_offset[call] = (const uint8_t *)input - fake.tensor;
	finish(prev, prev_n);
	for (uint32_t i = 0; i < n; i++)
		fake.rows[fake.parity][i] = (float)(fake.infer_offset[call] + (long)i);
	fake.parity ^= 1;
	fake.pending_n = n;
	fake.pending_input = input;
	return 0;
}

int gw_nn_drain(struct gw_nn *nn, const float **last, uint32_t *last_n)
{
	gw__clock_manual_advance(&fake.clock, fake.infer_ns);
	finish(last, last_n);
	return 0;
}

/* ---- transmit ------------------------------------------------------------------------------- */

int gw_tx_reserve(struct gw *gw, uint16_t port, uint16_t queue, uint32_t n, struct gw_tx *tx)
{
	if (!fake.tx_slots)
		return 0;
	n = n < fake.tx_slots ? n : fake.tx_slots;
	memset(tx, 0, sizeof(*tx));
	tx->n_pkts = n;
	tx->n_segs = fake.n_segs;
	for (uint32_t s = 0; s < fake.n_segs; s++) {
		for (uint32_t i = 0; i < n; i++)
			tx_ptr[s][i] = fake.slot[s][i];
		tx->seg_ptr[s] = tx_ptr[s];
		tx->seg_size[s] = fake.seg_size[s];
		tx->seg_len[s] = tx_lens[s];
	}
	fake.n_reserved += (int)n;
	return (int)n;
}

int gw_tx_lend(struct gw *gw, uint16_t port, uint16_t queue, const void *ptr, size_t bytes)
{
	return 0;
}

/* The test's source has one buffer for all frames, so its bytes are taken at once. */
int gw_tx_use(struct gw_tx *tx, uint32_t i, uint32_t seg, const void *ptr, uint32_t bytes)
{
	memcpy(tx->seg_ptr[seg][i], ptr, bytes);
	tx->seg_len[seg][i] = bytes;
	fake.n_used++;
	return 0;
}

int gw_tx_submit(struct gw *gw, struct gw_tx *tx, uint32_t n)
{
	if (fake.submit_rc < 0)
		return fake.submit_rc;
	if (fake.tx_short && n > fake.tx_short)
		n = fake.tx_short;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = 0;

		for (uint32_t s = 0; s < tx->n_segs; s++) {
			memcpy(fake.sent[fake.n_sent] + at, tx->seg_ptr[s][i], tx->seg_len[s][i]);
			at += tx->seg_len[s][i];
		}
		fake.sent_len[fake.n_sent++] = at;
	}
	for (uint32_t s = 0; s < tx->n_segs; s++) {
		tx->seg_ptr[s] += n;
		tx->seg_len[s] += n;
	}
	tx->n_pkts -= n;
	fake.n_reserved -= (int)n;
	return (int)n;
}

void gw_tx_cancel(struct gw *gw, struct gw_tx *tx)
{
	fake.n_reserved -= (int)tx->n_pkts;
	tx->n_pkts = 0;
}

int gw_tx_wait(struct gw *gw, uint16_t port, uint16_t queue, uint64_t timeout_ns)
{
	gw__clock_manual_advance(&fake.clock, timeout_ns);
	return 0;
}

int gw_tx_drain(struct gw *gw, uint16_t port, uint16_t queue, uint64_t timeout_ns)
{
	return 0;
}

int gw_txq_stats(struct gw *gw, uint16_t port, uint16_t queue, struct gw_queue_stats *out)
{
	memset(out, 0, sizeof(*out));
	return 0;
}

int gw_mem_alloc(enum gw_mem_kind kind, size_t bytes, int affinity, void **out, struct gw_diag *diag)
{
	*out = calloc(1, bytes);
	return *out ? 0 : -ENOMEM;
}

void gw_mem_free(void *ptr)
{
	free(ptr);
}

int gw_mem_copy(void *dst, const void *src, size_t bytes)
{
	memcpy(dst, src, bytes);
	return 0;
}
