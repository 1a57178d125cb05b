/* nic/soft/sq.c: send requests into frames, frames onto the link, completions in order.
 * Send memory is hostile: each request is copied once by copy_request(), then checked; nothing is read twice.
 * Must not know receive queues. Next: cq.c, link/link.h. */
#include <errno.h>
#include <string.h>

#include "nic/soft/soft.h"

#define PACING_SLACK_NS 50000u /* a sender that comes late may catch up this much */

/* The one look at a request: its first segment says how long it is, then the rest, word by word. */
static uint32_t copy_request(struct soft_sq *sq)
{
	uint32_t mask = sq->n * 4 - 1, at = (sq->ci & (sq->n - 1)) * 4u, ds;
	uint64_t *to = (uint64_t *)(void *)sq->wqe;
	const uint64_t *ring = (const uint64_t *)(const void *)sq->buf;

	to[0] = __atomic_load_n(ring + at * 2, __ATOMIC_RELAXED);
	to[1] = __atomic_load_n(ring + at * 2 + 1, __ATOMIC_RELAXED);
	ds = gw__be32(sq->wqe + 4) & 0xff;
	for (uint32_t i = 1; i < ds && i <= MLX5_MAX_DS; i++) {
		uint32_t s = (at + i) & mask;

		to[i * 2] = __atomic_load_n(ring + s * 2, __ATOMIC_RELAXED);
		to[i * 2 + 1] = __atomic_load_n(ring + s * 2 + 1, __ATOMIC_RELAXED);
	}
	return ds;
}

/* Doorbell record and doorbell word are two hints for one index: whichever is valid and further counts. */
static void look_at_doorbells(struct soft_sq *sq)
{
	uint16_t pi = (uint16_t)__builtin_bswap32(soft_read32(&sq->dbrec[MLX5_DBREC_SND]));
	bool stale;
	uint32_t have = (uint16_t)(sq->pi - sq->ci), d = soft_posted(pi, sq->ci, sq->n, &stale);

	if (stale)
		soft_add(&sq->stale, 1);
	if (d > have) {
		sq->pi = pi;
		have = d;
	}
	if (!sq->db)
		return;
	uint64_t word = __atomic_load_n(sq->db, __ATOMIC_ACQUIRE);

	if (__builtin_bswap32((uint32_t)(word >> 32)) >> 8 != sq->number)
		return; /* never rung, or another queue's */
	pi = (uint16_t)(__builtin_bswap32((uint32_t)word) >> 8);
	d = soft_posted(pi, sq->ci, sq->n, &stale);
	if (stale)
		soft_add(&sq->stale, 1);
	if (d > have)
		sq->pi = pi;
}

static void fail_sq(struct soft_sq *sq, uint8_t opcode, uint8_t syndrome)
{
	sq->syndrome = syndrome;
	sq->err_idx = sq->wqe_idx;
	sq->err_opcode = opcode;
	sq->wqe_seg = sq->wqe_n_segs;
}

static void add_pend(struct soft_sq *sq, bool last)
{
	sq->pend[sq->pend_at + sq->n_pend++] = (struct soft_pend){
		.wqe_idx = sq->wqe_idx,
		.next_ci = sq->ci,
		.last = last,
		.signal = sq->wqe_signal,
		.opcode = sq->wqe_opcode,
	};
}

/* One data segment of the private copy onto a frame. Returns 0 or a syndrome. */
static uint8_t add_segment(struct soft_nic *nic, struct soft_sq *sq, uint32_t seg, struct gw__frame *f)
{
	const uint8_t *d = sq->wqe + seg * MLX5_SEG;
	uint32_t len = gw__be32(d);

	if (len & MLX5_INLINE)
		return MLX5_SYND_LOCAL_QP_OP;
	if (!len)
		return 0;
	f->seg[f->n_segs].ptr = soft_translate(nic, gw__be32(d + 4), gw__be64(d + 8), len);
	if (!f->seg[f->n_segs].ptr)
		return MLX5_SYND_LOCAL_PROT;
	f->seg[f->n_segs++].len = len;
	f->len += len;
	return 0;
}

/* Put in front of frame i what the first matching rule says. Returns 0 or a syndrome. */
static uint8_t edit_frame(struct soft_nic *nic, struct soft_sq *sq, uint32_t i)
{
	struct soft_edited *e = &sq->edited[i];
	uint8_t buf[GW_PARSE_MAX];
	const uint8_t *head;
	const struct gw_flow_rule *rule;
	struct gw__pkt p;
	uint32_t n;
	int r, err = 0;

	head = soft_head(&sq->frame[i], buf, &n);
	gw__parse(head, n, sq->frame[i].len, &p);
	r = gw__flow_table_find(&nic->tx_flows, head, n, &p);
	if (r < 0)
		return 0;
	rule = &nic->tx_flows.rule[r];
	e->frame = sq->frame[i];
	soft_edit_begin(&e->edit, &e->frame);
	for (uint32_t a = 0; a < rule->n_actions && !err; a++)
		err = rule->action[a].type == GW_ACTION_ENCAP ? soft_edit_encap(&e->edit, &rule->action[a]) :
								soft_edit_push_vlan(&e->edit, &rule->action[a]);
	if (!err)
		err = soft_edit_end(&e->edit, &sq->frame[i]);
	return err ? MLX5_SYND_LOCAL_LENGTH : 0;
}

/* The next frame of the request in sq->wqe. */
static void expand_one(struct soft_nic *nic, struct soft_sq *sq)
{
	struct gw__frame *f = &sq->frame[sq->pend_at + sq->n_pend];
	uint8_t bad = 0;

	f->n_segs = 0;
	f->len = 0;
	f->ts_ns = 0;
	do
		bad = add_segment(nic, sq, sq->wqe_seg++, f);
	while (!bad && sq->wqe_opcode == MLX5_OP_SEND && sq->wqe_seg < sq->wqe_n_segs);
	if (!bad && f->len < SOFT_MIN_FRAME)
		bad = MLX5_SYND_LOCAL_LENGTH;
	if (!bad && nic->tx_flows.n)
		bad = edit_frame(nic, sq, sq->pend_at + sq->n_pend);
	if (!bad && f->len > nic->link->mtu)
		bad = MLX5_SYND_LOCAL_LENGTH;
	if (bad)
		fail_sq(sq, sq->wqe_opcode, bad);
	else
		add_pend(sq, sq->wqe_seg == sq->wqe_n_segs);
}

/* Take in the next request. */
static void fetch(struct soft_sq *sq)
{
	uint32_t ds = copy_request(sq), n_bb = (ds + 3) / 4;
	uint32_t word = gw__be32(sq->wqe);
	uint8_t opcode = (uint8_t)word, opmod = (uint8_t)(word >> 24);
	uint8_t ce = sq->wqe[11] >> MLX5_CE_SHIFT & 3;

	sq->wqe_idx = sq->ci;
	sq->wqe_opcode = opcode;
	sq->wqe_signal = ce >= MLX5_CE_ALWAYS;
	sq->wqe_seg = 2;
	sq->wqe_n_segs = ds;
	if (!ds || ds > MLX5_MAX_DS || n_bb > (uint16_t)(sq->pi - sq->ci) ||
	    gw__be32(sq->wqe + 4) >> 8 != sq->number || (uint16_t)(word >> 8) != sq->ci) {
		sq->ci++;
		fail_sq(sq, opcode, MLX5_SYND_LOCAL_QP_OP);
		return;
	}
	sq->ci = (uint16_t)(sq->ci + n_bb);
	if (opcode == MLX5_OP_NOP || (opcode == MLX5_OP_WAIT && opmod == MLX5_OPMOD_WAIT_TIME && ds == 3)) {
		uint64_t t = gw__be64(sq->wqe + 32); /* seconds << 32 | nanoseconds */

		sq->wqe_seg = sq->wqe_n_segs;
		add_pend(sq, true);
		sq->pend[sq->pend_at + sq->n_pend - 1].at_ns =
			opcode == MLX5_OP_NOP ? 0 : (t >> 32) * 1000000000u + (t & 0xffffffff);
		sq->timed = sq->timed || opcode == MLX5_OP_WAIT;
	} else if ((opcode != MLX5_OP_SEND && opcode != MLX5_OP_EMPW) || opmod || ds < 3 ||
		   (opcode == MLX5_OP_SEND && ds > 2 + GW_MAX_SEGS) || gw__be16(sq->wqe + 28)) {
		fail_sq(sq, opcode, MLX5_SYND_LOCAL_QP_OP);
	}
}

/* Fill the private list of frames. max_wqes bounds completions, so that they always find room. */
static void refill(struct soft_nic *nic, struct soft_sq *sq, uint32_t max_wqes)
{
	if (!sq->n_pend)
		sq->pend_at = 0;
	while (!sq->syndrome && sq->pend_at + sq->n_pend < SOFT_BURST) {
		if (sq->wqe_seg < sq->wqe_n_segs) {
			expand_one(nic, sq);
			continue;
		}
		if (sq->ci == sq->pi || !max_wqes--)
			break;
		fetch(sq);
	}
}

static bool has_frame(const struct soft_pend *p)
{
	return p->opcode == MLX5_OP_SEND || p->opcode == MLX5_OP_EMPW;
}

static void complete(struct soft_nic *nic, struct soft_sq *sq, uint32_t n, bool sent)
{
	uint64_t bytes = 0, packets = 0;

	for (uint32_t i = 0; i < n; i++) {
		const struct soft_pend *p = &sq->pend[sq->pend_at + i];

		if (sent && has_frame(p)) {
			bytes += sq->frame[sq->pend_at + i].len;
			packets++;
		}
		if (p->last && p->signal)
			soft_cq_tx(sq->cq, sq->number, p->wqe_idx, p->opcode);
	}
	sq->pend_at += n;
	sq->n_pend -= n;
	soft_add(&nic->tx_bytes, bytes);
	soft_add(&nic->tx_packets, packets);
}

/* Requests without a frame at the front that may complete now; a wait that may not sets *due. */
static uint32_t leading_others(const struct soft_sq *sq, uint64_t now, uint64_t *due)
{
	uint32_t n = 0;

	for (; n < sq->n_pend && !has_frame(&sq->pend[sq->pend_at + n]); n++) {
		if (sq->pend[sq->pend_at + n].at_ns > now) {
			*due = sq->pend[sq->pend_at + n].at_ns;
			break;
		}
	}
	return n;
}

/* Frames at the front that may leave now: up to the next wait, and as far as pacing lets them. */
static uint32_t leading_frames(const struct soft_sq *sq, uint64_t now, uint64_t *due)
{
	uint64_t t = sq->next_ns + PACING_SLACK_NS < now ? now - PACING_SLACK_NS : sq->next_ns;
	uint32_t n = 0;

	while (n < sq->n_pend && has_frame(&sq->pend[sq->pend_at + n])) {
		if (sq->pacing_bps) {
			if (t > now) {
				*due = n ? *due : t;
				break;
			}
			t += (uint64_t)sq->frame[sq->pend_at + n].len * 8000000000u / sq->pacing_bps;
		}
		n++;
	}
	return n;
}

/* Frames left: the next one may start when these are through. A late start is made up for, up to the slack. */
static void pace(struct soft_sq *sq, uint32_t first, uint32_t n, uint64_t now)
{
	if (sq->next_ns + PACING_SLACK_NS < now)
		sq->next_ns = now - PACING_SLACK_NS;
	for (uint32_t i = 0; i < n; i++)
		sq->next_ns += (uint64_t)sq->frame[first + i].len * 8000000000u / sq->pacing_bps;
}

/* Offer the list to the link. True if it wants no more now; *due if time does not allow more. */
static bool offer(struct soft_nic *nic, struct soft_sq *sq, int *moved, uint64_t *due)
{
	uint64_t now = sq->timed ? gw__now_ns(nic->clock) : 0;

	*due = UINT64_MAX;
	while (sq->n_pend) {
		uint32_t n = leading_others(sq, now, due), first;
		int k;

		if (n)
			complete(nic, sq, n, true);
		if (*due != UINT64_MAX)
			return false;
		n = leading_frames(sq, now, due);
		if (*due != UINT64_MAX)
			return false;
		if (!n)
			continue;
		first = sq->pend_at;
		k = nic->link->ops->send(nic->link, &sq->frame[first], (int)n);
		if (k < 0) { /* the first one is lost for good */
			soft_add(&nic->tx_dropped, 1);
			complete(nic, sq, 1, false);
			*moved += 1;
			continue;
		}
		complete(nic, sq, (uint32_t)k, true);
		if (sq->pacing_bps)
			pace(sq, first, (uint32_t)k, now);
		*moved += k;
		if ((uint32_t)k < n) {
			soft_add(&nic->tx_paused, 1);
			return true;
		}
	}
	return false;
}

/* State ERR: one flush completion for each request posted. */
static void flush(struct soft_nic *nic, struct soft_sq *sq)
{
	look_at_doorbells(sq);
	while (sq->ci != sq->pi && soft_cq_room(sq->cq, 1)) {
		uint32_t ds = copy_request(sq), n_bb = (ds + 3) / 4;
		uint16_t idx = sq->ci;

		if (!n_bb || ds > MLX5_MAX_DS || n_bb > (uint16_t)(sq->pi - sq->ci))
			n_bb = 1;
		sq->ci = (uint16_t)(sq->ci + n_bb);
		soft_cq_error(sq->cq, sq->number, idx, sq->wqe[3], MLX5_SYND_WR_FLUSH, true);
		soft_add(&nic->tx_errors, 1);
	}
}

static void report_error(struct soft_nic *nic, struct soft_sq *sq)
{
	if (!soft_cq_room(sq->cq, 1))
		return;
	soft_cq_error(sq->cq, sq->number, sq->err_idx, sq->err_opcode, sq->syndrome, true);
	soft_add(&nic->tx_errors, 1);
	sq->state = GW__NIC_ERR;
	sq->syndrome = 0;
}

static int run_sq(struct soft_nic *nic, struct soft_sq *sq, int budget, uint64_t *first_due)
{
	uint64_t due = UINT64_MAX;
	int moved = 0;

	while (sq->state == GW__NIC_RTS && moved < budget) {
		uint32_t room = soft_cq_room(sq->cq, SOFT_BURST);

		if (!sq->syndrome) {
			look_at_doorbells(sq);
			/* what is listed already will want its completions too, and so will a request half out */
			uint32_t owed = sq->n_pend + (sq->wqe_seg < sq->wqe_n_segs);

			refill(nic, sq, room > owed ? room - owed : 0);
		}
		if (!sq->n_pend && !sq->syndrome)
			break;
		if (offer(nic, sq, &moved, &due)) {
			nic->tx_held = true;
			break;
		}
		if (due != UINT64_MAX)
			break;
		if (sq->syndrome)
			report_error(nic, sq);
		if (sq->syndrome) /* no room to say so yet */
			break;
	}
	if (sq->state == GW__NIC_ERR)
		flush(nic, sq);
	if (due < *first_due)
		*first_due = due;
	return moved;
}

int soft_tx_burst(struct soft_nic *nic, int budget)
{
	uint64_t due = UINT64_MAX;
	int moved = 0;

	nic->tx_held = false;
	for (uint32_t i = 0; i < nic->n_sq; i++)
		if (nic->sq[i])
			moved += run_sq(nic, nic->sq[i], budget - moved > SOFT_BURST ? budget - moved : SOFT_BURST, &due);
	atomic_store_explicit(&nic->tx_due_ns, due, memory_order_relaxed);
	soft_cq_flush(nic, &nic->tx_dirty);
	return moved;
}
