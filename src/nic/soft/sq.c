/* nic/soft/sq.c: send requests into frames, frames onto the link in bursts, completions in order.
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
	sq->list->pend[sq->pend_at + sq->n_pend++] = (struct soft_pend){
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

	head = soft_head(&sq->list->frame[i], buf, &n);
	gw__parse(head, n, sq->list->frame[i].len, &p);
	r = gw__flow_table_find(&nic->tx_flows, head, n, &p);
	if (r < 0)
		return 0;
	rule = &nic->tx_flows.rule[r];
	e->frame = sq->list->frame[i];
	soft_edit_begin(&e->edit, &e->frame);
	for (uint32_t a = 0; a < rule->n_actions && !err; a++)
		err = rule->action[a].type == GW_ACTION_ENCAP ? soft_edit_encap(&e->edit, &rule->action[a]) :
								soft_edit_push_vlan(&e->edit, &rule->action[a]);
	if (!err)
		err = soft_edit_end(&e->edit, &sq->list->frame[i]);
	return err ? MLX5_SYND_LOCAL_LENGTH : 0;
}

/* The next frame of the request in sq->wqe. */
static void expand_one(struct soft_nic *nic, struct soft_sq *sq)
{
	struct gw__frame *f = &sq->list->frame[sq->pend_at + sq->n_pend];
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
	sq->list->frame[sq->pend_at + sq->n_pend].n_segs = 0; /* no frame, unless one is expanded here */
	if (opcode == MLX5_OP_NOP || (opcode == MLX5_OP_WAIT && opmod == MLX5_OPMOD_WAIT_TIME && ds == 3)) {
		uint64_t t = gw__be64(sq->wqe + 32); /* seconds << 32 | nanoseconds */

		sq->wqe_seg = sq->wqe_n_segs;
		add_pend(sq, true);
		sq->list->pend[sq->pend_at + sq->n_pend - 1].at_ns =
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

/* Requests without a frame at the front that may complete now; a wait that may not sets *due. */
static uint32_t leading_others(const struct soft_sq *sq, uint64_t now, uint64_t *due)
{
	uint32_t n = 0;

	for (; n < sq->n_pend && !has_frame(&sq->list->pend[sq->pend_at + n]); n++) {
		if (sq->list->pend[sq->pend_at + n].at_ns > now) {
			*due = sq->list->pend[sq->pend_at + n].at_ns;
			break;
		}
	}
	return n;
}

/* Frames from the list's place `at` on that may leave now: up to the next wait, and as far as pacing lets them. */
static uint32_t leading_frames(const struct soft_sq *sq, uint32_t at, uint64_t now, uint64_t *due)
{
	uint64_t t = sq->next_ns + PACING_SLACK_NS < now ? now - PACING_SLACK_NS : sq->next_ns;
	uint32_t n = 0;

	for (; at + n < sq->pend_at + sq->n_pend && has_frame(&sq->list->pend[at + n]); n++) {
		if (!sq->pacing_bps)
			continue;
		if (t > now) {
			*due = n ? *due : t;
			break;
		}
		t += (uint64_t)sq->list->frame[at + n].len * 8000000000u / sq->pacing_bps;
	}
	return n;
}

/* Frames left: the next one may start when these are through. A late start is made up for, up to the slack. */
static void pace(struct soft_sq *sq, uint32_t first, uint32_t n, uint64_t now)
{
	if (sq->next_ns + PACING_SLACK_NS < now)
		sq->next_ns = now - PACING_SLACK_NS;
	for (uint32_t i = 0; i < n; i++)
		sq->next_ns += (uint64_t)sq->list->frame[first + i].len * 8000000000u / sq->pacing_bps;
}

/* The first n of the list go on their way. All of it: the list changes hands; else these are copied out. */
static void launch(struct soft_nic *nic, struct soft_flight *fl, struct soft_sq *sq, uint32_t n)
{
	uint32_t i = (uint32_t)(fl - nic->flight);

	fl->sq = sq;
	fl->n = n;
	fl->at = sq->pend_at;
	if (n == sq->n_pend) {
		struct soft_list *empty = fl->list;

		fl->list = sq->list;
		sq->list = empty;
	} else {
		memcpy(&fl->list->frame[fl->at], &sq->list->frame[fl->at], n * sizeof(*fl->list->frame));
		memcpy(&fl->list->pend[fl->at], &sq->list->pend[fl->at], n * sizeof(*fl->list->pend));
	}
	sq->pend_at += n;
	sq->n_pend -= n;
	sq->cq->promised += n;
	sq->n_flights++;
	nic->tx_used |= 1u << i;
	nic->tx_order[nic->tx_tail++ % GW_LINK_FLIGHTS] = (uint8_t)i;
	if (fl->burst && sq->edited) /* now: the headers in front lie in one place for all lists */
		nic->link->ops->copy(nic->link, fl->burst);
	atomic_store_explicit(&fl->copied, !fl->burst || sq->edited, memory_order_relaxed);
}

/* Offer what is at the front of the list to the link. NULL if it does not take any, or time does not allow it. */
static struct soft_flight *offer(struct soft_nic *nic, struct soft_sq *sq, uint64_t *due)
{
	struct soft_flight *fl = &nic->flight[__builtin_ctz(~nic->tx_used)];
	const struct gw__link_ops *link = nic->link->ops;
	uint64_t now = sq->timed ? gw__now_ns(nic->clock) : 0;
	uint32_t n = leading_others(sq, now, due), n_frames = 0;
	const struct gw__frame *f = &sq->list->frame[sq->pend_at + n];
	int k = 0;

	if (*due == UINT64_MAX)
		n_frames = leading_frames(sq, sq->pend_at + n, now, due);
	fl->burst = NULL;
	if (n_frames)
		k = link->take ? link->take(nic->link, f, (int)n_frames, &fl->burst) :
				 link->send(nic->link, f, (int)n_frames);
	fl->lost = k < 0; /* the first one, for good */
	if (k < 0) {
		soft_add(&nic->tx_dropped, 1);
		k = 1;
	} else if ((uint32_t)k < n_frames) {
		soft_add(&nic->tx_paused, 1);
		nic->tx_held = true;
	}
	fl->n_frames = (uint32_t)k;
	if (!n && !k)
		return NULL;
	if (sq->pacing_bps && !fl->lost)
		pace(sq, sq->pend_at + n, (uint32_t)k, now);
	launch(nic, fl, sq, n + (uint32_t)k);
	return fl;
}

/* Say of a flight what there is to say, and give its place back. */
static void complete(struct soft_nic *nic, struct soft_flight *fl)
{
	struct soft_sq *sq = fl->sq;
	uint64_t bytes = 0, packets = 0;

	sq->cq->promised -= fl->n;
	for (uint32_t i = fl->at; i < fl->at + fl->n; i++) {
		const struct soft_pend *p = &fl->list->pend[i];

		if (!fl->lost && has_frame(p)) {
			bytes += fl->list->frame[i].len;
			packets++;
		}
		if (p->last && p->signal)
			soft_cq_tx(sq->cq, sq->number, p->wqe_idx, p->opcode);
	}
	sq->n_flights--;
	soft_add(&nic->tx_bytes, bytes);
	soft_add(&nic->tx_packets, packets);
}

void soft_tx_retire(struct soft_nic *nic)
{
	while (nic->tx_head != nic->tx_tail) {
		uint32_t i = nic->tx_order[nic->tx_head % GW_LINK_FLIGHTS];
		struct soft_flight *fl = &nic->flight[i];

		/* acquire: the bytes before their completion; pairs with soft_tx_copy() */
		if (!atomic_load_explicit(&fl->copied, memory_order_acquire))
			break;
		if (fl->burst)
			nic->link->ops->finish(nic->link, fl->burst);
		complete(nic, fl);
		nic->tx_used &= ~(1u << i);
		nic->tx_head++;
	}
	soft_cq_flush(nic, &nic->tx_dirty);
}

void soft_tx_copy(struct soft_nic *nic, struct soft_flight *fl)
{
	nic->link->ops->copy(nic->link, fl->burst);
	atomic_store_explicit(&fl->copied, true, memory_order_release);
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

/* The next burst of one queue. What went wrong is reported once everything before it is complete. */
static struct soft_flight *next_of(struct soft_nic *nic, struct soft_sq *sq, uint64_t *first_due)
{
	struct soft_flight *fl = NULL;
	uint64_t due = UINT64_MAX;

	if (sq->state == GW__NIC_RTS && !sq->syndrome) {
		uint32_t room = soft_cq_room(sq->cq, SOFT_BURST);
		/* what is listed already will want its completions too, and so will a request half out */
		uint32_t owed = sq->n_pend + (sq->wqe_seg < sq->wqe_n_segs);

		look_at_doorbells(sq);
		refill(nic, sq, room > owed ? room - owed : 0);
	}
	if (sq->state == GW__NIC_RTS && sq->n_pend)
		fl = offer(nic, sq, &due);
	else if (sq->state == GW__NIC_RTS && sq->syndrome && !sq->n_flights)
		report_error(nic, sq);
	if (sq->state == GW__NIC_ERR && !sq->n_flights)
		flush(nic, sq);
	if (due < *first_due)
		*first_due = due;
	return fl;
}

struct soft_flight *soft_tx_take(struct soft_nic *nic)
{
	struct soft_flight *fl = NULL;
	uint64_t due = UINT64_MAX;

	nic->tx_held = false;
	if (atomic_load_explicit(&nic->tx_gate, memory_order_relaxed)) {
		atomic_store_explicit(&nic->tx_kick, 1, memory_order_relaxed); /* for soft_unlock_tx() */
		return NULL;
	}
	if (nic->tx_tail - nic->tx_head == GW_LINK_FLIGHTS)
		return NULL;
	for (uint32_t i = 0; i < nic->n_sq && !fl; i++) {
		struct soft_sq *sq = nic->sq[nic->tx_next++ % nic->n_sq];

		fl = sq ? next_of(nic, sq, &due) : NULL;
	}
	if (!fl)
		atomic_store_explicit(&nic->tx_due_ns, due, memory_order_relaxed);
	soft_cq_flush(nic, &nic->tx_dirty);
	return fl;
}
