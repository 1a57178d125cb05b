/* nic/soft/rq.c: frames into receive entries: take (classify, find an entry), copy once, finish (complete).
 * Receive memory is hostile: each entry is copied once by copy_entry() and then checked.
 * Must not know send queues. Next: cq.c, wire/flow_table.h. */
#include <errno.h>
#include <string.h>

#include "nic/soft/soft.h"
#include "wire/checksum.h"

#define ENTRIES_AHEAD 16
#define HEADER 64u /* the usual split: one line, copied without a call */

/* ---- classify ------------------------------------------------------------------------------------ */

/* Is the UDP checksum right, over a gather list? A zero one needs no look at the payload. */
static bool l4_ok(const struct gw__frame *f, const uint8_t *head, uint32_t n, const struct gw__pkt *p, bool *known)
{
	bool v6 = p->flags & GW__PKT_IPV6;
	uint32_t udp_len, at = 0, left;
	uint64_t sum;

	*known = true;
	if (p->flags & GW__PKT_L4_BAD)
		return false;
	*known = !(p->flags & GW__PKT_FRAGMENT);
	if (!*known || !gw__be16(head + p->l4_off + 6))
		return !v6;
	udp_len = gw__be16(head + p->l4_off + 4);
	if (udp_len < 8 || p->l4_off + udp_len > f->len) /* changed since it was parsed */
		return false;
	sum = gw__udp_pseudo(head + p->l3_off, v6, udp_len);
	left = udp_len;
	for (uint32_t s = 0; s < f->n_segs && left; at += f->seg[s].len, s++) {
		uint32_t from = at < p->l4_off ? p->l4_off - at : 0;
		uint32_t k;

		if (from >= f->seg[s].len)
			continue;
		k = f->seg[s].len - from < left ? f->seg[s].len - from : left;
		if ((udp_len - left) & 1) { /* parts must start even: swap this one's weight */
			uint64_t part = gw__checksum_add(0, f->seg[s].ptr + from, k);
			uint16_t w = (uint16_t)~gw__checksum_fold(part);

			sum += __builtin_bswap16(w);
		} else {
			sum = gw__checksum_add(sum, f->seg[s].ptr + from, k);
		}
		left -= k;
	}
	return !gw__checksum_fold(sum);
}

static void verify(const struct gw__frame *f, const uint8_t *head, uint32_t n,
		   const struct gw__pkt *p, struct soft_verdict *v)
{
	uint8_t ok = 0, types = 0;
	bool known;

	if (p->flags & (GW__PKT_IPV4 | GW__PKT_IPV6)) {
		types |= (uint8_t)((p->flags & GW__PKT_IPV4 ? MLX5_L3_IPV4 : MLX5_L3_IPV6) << 2);
		if (p->flags & GW__PKT_L3_BAD)
			v->l3_bad = true;
		else
			ok |= MLX5_L3_OK;
	}
	if (p->flags & GW__PKT_UDP) {
		bool good = l4_ok(f, head, n, p, &known);

		if (known) {
			types |= (uint8_t)(MLX5_L4_UDP << 4);
			if (good)
				ok |= MLX5_L4_OK;
			else
				v->l4_bad = true;
		}
	}
	v->meta |= ok | (uint32_t)types << 8;
}

static struct soft_rq *spread(struct soft_nic *nic, const struct soft_target *t, const uint8_t *head, uint32_t n,
			      const struct gw__pkt *p, uint32_t *hash)
{
	uint8_t tuple[36];
	uint32_t k = 0, h;
	bool ports = (p->flags & GW__PKT_UDP) && !(p->flags & GW__PKT_FRAGMENT);

	if (p->flags & GW__PKT_IPV4) {
		memcpy(tuple, head + p->l3_off + 12, 8);
		k = 8;
	} else if (p->flags & GW__PKT_IPV6) {
		memcpy(tuple, head + p->l3_off + 8, 32);
		k = 32;
	}
	if (k && ports) {
		memcpy(tuple + k, head + p->l4_off, 4);
		k += 4;
	}
	h = k > GW_TOEPLITZ_V4 ? gw__toeplitz_slow(nic->rss.key, tuple, k) : gw__toeplitz(&nic->rss, tuple, k);
	*hash = h;
	return t->rq[(h & 127) % t->n];
}

/* Take off what the rule says. 0, -EPROTO: it is not such a frame, so the rule does not apply. */
static int apply_edits(const struct gw_flow_rule *rule, const struct gw__frame *f, struct soft_edited *to,
		       uint32_t *meta)
{
	int err = 0;

	soft_edit_begin(&to->edit, f);
	for (uint32_t i = 0; i < rule->n_actions && err >= 0; i++) {
		uint16_t tci = 0;

		if (rule->action[i].type == GW_ACTION_DECAP)
			err = soft_edit_decap(&to->edit, &rule->action[i]);
		if (rule->action[i].type == GW_ACTION_VLAN_POP)
			err = soft_edit_pop_vlan(&to->edit, &tci);
		if (err > 0)
			*meta = (uint32_t)__builtin_bswap16(tci) << 16 | MLX5_TAG_STRIPPED << 8;
	}
	return err < 0 ? err : soft_edit_end(&to->edit, &to->frame);
}

/* The first rule that matches and, where it takes something off, can. Its edited frame goes to *f. */
static int find_rule(struct soft_nic *nic, const struct gw__frame **f, struct soft_edited *to, const uint8_t *head,
		     uint32_t n, const struct gw__pkt *p, struct soft_verdict *v)
{
	int r = -1;

	do {
		r = gw__flow_table_find_from(&nic->flows, (uint32_t)(r + 1), head, n, p);
		if (r < 0 || !nic->target[r].edits)
			return r;
		v->meta = 0;
	} while (apply_edits(&nic->flows.rule[r], *f, to, &v->meta));
	*f = &to->frame;
	return r;
}

/* Decide where *f goes; *f becomes what will be delivered. */
static void classify(struct soft_nic *nic, const struct gw__frame **f, uint32_t i, struct soft_verdict *v)
{
	uint8_t buf[GW_PARSE_MAX];
	const uint8_t *head;
	struct gw__pkt p;
	uint32_t n;
	int r;

	*v = (struct soft_verdict){ .kind = SOFT_BAD_FRAME };
	if ((*f)->len < SOFT_MIN_FRAME)
		return;
	v->kind = SOFT_STEER_DROP;
	if (nic->drop_all)
		return;
	head = soft_head(*f, buf, &n);
	gw__parse(head, n, (*f)->len, &p);
	r = find_rule(nic, f, nic->rx_edited ? &nic->rx_edited[i] : NULL, head, n, &p, v);
	if (r < 0) {
		v->kind = SOFT_STEER_MISS;
		return;
	}
	if (nic->target[r].drop)
		return;
	if (nic->target[r].edits) { /* judge what is delivered, not what came */
		v->kind = SOFT_BAD_FRAME;
		if ((*f)->len < SOFT_MIN_FRAME)
			return;
		head = soft_head(*f, buf, &n);
		gw__parse(head, n, (*f)->len, &p);
	}
	v->kind = SOFT_TO_QUEUE;
	v->flow = nic->flows.rule[r].id;
	v->rq = nic->target[r].n == 1 ? nic->target[r].rq[0] : spread(nic, &nic->target[r], head, n, &p, &v->hash);
	if (nic->verify)
		verify(*f, head, n, &p, v);
}

/* ---- take an entry --------------------------------------------------------------------------------- */

/* The one look at a receive entry: word by word into private memory. */
static void copy_entry(const struct soft_rq *rq, uint16_t idx, struct mlx5_data out[GW_MAX_SEGS])
{
	const uint64_t *from = (const uint64_t *)(const void *)(rq->buf + ((size_t)(idx & (rq->n - 1))
									  << rq->log_stride));
	uint64_t *to = (uint64_t *)(void *)out;

	for (uint32_t i = 0; i < rq->max_segs * 2; i++)
		to[i] = __atomic_load_n(from + i, __ATOMIC_RELAXED);
}

static void look_at_record(struct soft_rq *rq)
{
	/* seq_cst: with rx_held, see hold_or_miss(). The record's acquire makes the entries readable. */
	uint32_t rec = __atomic_load_n(&rq->dbrec[MLX5_DBREC_RCV], __ATOMIC_SEQ_CST);
	uint16_t pi = (uint16_t)__builtin_bswap32(rec);
	bool stale;

	if (soft_posted(pi, rq->ci, rq->n, &stale))
		rq->pi = pi;
	else if (stale)
		soft_add(&rq->stale, 1);
}

/* Check what copy_entry() brought. False: the queue is broken. */
static bool check_entry(struct soft_nic *nic, struct soft_rq *rq, const struct mlx5_data *d, struct soft_place *pl)
{
	pl->n = 0;
	pl->room = 0;
	for (uint32_t s = 0; s < rq->max_segs; s++) {
		uint32_t key = __builtin_bswap32(d[s].lkey);
		uint32_t len = __builtin_bswap32(d[s].byte_count);

		if (key == MLX5_INVALID_LKEY)
			break;
		if (!len)
			continue;
		if (len & MLX5_INLINE)
			return false;
		pl->ptr[pl->n] = soft_translate(nic, key, __builtin_bswap64(d[s].addr), len);
		if (!pl->ptr[pl->n])
			return false;
		pl->len[pl->n++] = len;
		pl->room += len;
	}
	return pl->n > 0;
}

void soft_rq_flush(struct soft_rq *rq)
{
	look_at_record(rq);
	while (rq->ci != rq->pi && soft_cq_room(rq->cq, 1)) {
		soft_cq_error(rq->cq, rq->number, rq->ci, 0, MLX5_SYND_WR_FLUSH, false);
		rq->ci++;
	}
}

/* After the burst in which a bad entry was met: everything before it is complete. */
static void fail_rq(struct soft_rq *rq)
{
	soft_cq_error(rq->cq, rq->number, rq->ci, 0, MLX5_SYND_LOCAL_PROT, false);
	rq->ci++;
	rq->cq->promised--;
	soft_rq_flush(rq);
}

static inline bool has_entry(struct soft_rq *rq)
{
	if (rq->ci == rq->pi)
		look_at_record(rq);
	return rq->ci != rq->pi && soft_cq_room(rq->cq, 1);
}

/* No entry: hold the sender back (true) or count the frame as missed. After rx_held is set the record is read
 * again, and whoever posts reads rx_held after writing the record (both sequentially consistent), so that
 * one of the two sees the other. */
static bool hold_or_miss(struct soft_nic *nic, struct soft_rq *rq, struct soft_burst *b, bool *retry)
{
	*retry = false;
	if (nic->pause && rq->state == GW__NIC_RTS) {
		if (!atomic_exchange_explicit(&nic->rx_held, 1, memory_order_seq_cst) && has_entry(rq)) {
			*retry = true;
			return false;
		}
		return true;
	}
	b->missed++;
	rq->lost += rq->lost != UINT32_MAX;
	soft_add(&rq->missed, 1);
	return false;
}

/* Find room for frame i. 1 placed, 0 dropped and counted, -EAGAIN held back. */
static int take(struct soft_nic *nic, const struct gw__frame *f, struct soft_burst *b, uint32_t i)
{
	struct soft_rq *rq = b->v[i].rq;
	struct mlx5_data d[GW_MAX_SEGS];
	bool retry = true;

	b->place[i].n = 0;
	while (rq->state != GW__NIC_RTS || !has_entry(rq)) {
		if (hold_or_miss(nic, rq, b, &retry))
			return -EAGAIN;
		if (!retry)
			return 0;
	}
	copy_entry(rq, rq->ci, d);
	if (!check_entry(nic, rq, d, &b->place[i])) {
		b->place[i].n = 0;
		rq->state = GW__NIC_ERR;
		b->v[i].broke = true;
		rq->cq->promised++;
		b->missed++;
		return 0;
	}
	if (f->len > b->place[i].room) { /* the entry stays for the next frame */
		b->place[i].n = 0;
		b->errors++;
		return 0;
	}
	b->place[i].idx = rq->ci++;
	b->place[i].bytes = f->len; /* an edited frame's place is used again before this burst is complete */
	b->place[i].ts_ns = f->ts_ns;
	b->place[i].lost = rq->lost;
	rq->lost = 0;
	rq->cq->promised++;
	__builtin_prefetch(b->place[i].ptr[0], 1);
	if (b->place[i].n > 1)
		__builtin_prefetch(b->place[i].ptr[1], 1);
	/* the consumer wrote it last: its line comes from another core */
	__builtin_prefetch(rq->buf + ((size_t)((uint32_t)(rq->ci + ENTRIES_AHEAD) & (rq->n - 1)) << rq->log_stride));
	return 1;
}

/* ---- copy and complete ------------------------------------------------------------------------------ */

static void scatter(const struct gw__frame *f, const struct soft_place *pl)
{
	uint32_t d = 0, at = 0;

	if (f->n_segs == 1 && f->len <= pl->len[0]) {
		memcpy(pl->ptr[0], f->seg[0].ptr, f->len);
		return;
	}
	if (pl->len[0] == HEADER && pl->n == 2 && f->seg[0].len >= HEADER) { /* header and payload apart */
		memcpy(pl->ptr[0], f->seg[0].ptr, HEADER);
		if (f->n_segs == 1) {
			memcpy(pl->ptr[1], f->seg[0].ptr + HEADER, f->len - HEADER);
			return;
		}
		if (f->n_segs == 2 && f->seg[0].len == HEADER) {
			memcpy(pl->ptr[1], f->seg[1].ptr, f->seg[1].len);
			return;
		}
	}
	for (uint32_t s = 0; s < f->n_segs; s++) {
		const uint8_t *from = f->seg[s].ptr;
		uint32_t left = f->seg[s].len;

		while (left) {
			uint32_t k = pl->len[d] - at < left ? pl->len[d] - at : left;

			memcpy(pl->ptr[d] + at, from, k);
			from += k;
			left -= k;
			at += k;
			if (at == pl->len[d] && d + 1 < pl->n) {
				d++;
				at = 0;
			}
		}
	}
}

static inline void complete(struct soft_burst *b, uint32_t i, uint64_t now_ns)
{
	struct soft_rq *rq = b->v[i].rq;
	struct soft_rx_done done = {
		.len = b->place[i].bytes,
		.meta = b->v[i].meta,
		.flow = b->v[i].flow,
		.hash = b->v[i].hash,
		.lost = b->place[i].lost,
		.idx = b->place[i].idx,
		.ts_ns = !rq->timestamps ? 0 : b->place[i].ts_ns ? b->place[i].ts_ns : now_ns,
	};

	rq->cq->promised--;
	if (!soft_cq_more(rq->cq, rq, &done))
		soft_cq_rx(rq->cq, rq, &done);
	b->packets++;
	b->bytes += done.len;
}

static void count(struct soft_nic *nic, const struct soft_burst *b)
{
	soft_add(&nic->rx_wire, b->wire);
	soft_add(&nic->rx_packets, b->packets);
	soft_add(&nic->rx_bytes, b->bytes);
	if (b->missed)
		soft_add(&nic->rx_missed, b->missed);
	if (b->steer_miss)
		soft_add(&nic->rx_steer_miss, b->steer_miss);
	if (b->steer_drop)
		soft_add(&nic->rx_steer_drop, b->steer_drop);
	if (b->errors)
		soft_add(&nic->rx_errors, b->errors);
	if (b->l3_bad)
		soft_add(&nic->rx_l3_bad, b->l3_bad);
	if (b->l4_bad)
		soft_add(&nic->rx_l4_bad, b->l4_bad);
}

static void take_burst(struct soft_nic *nic, const struct gw__frame *f, uint32_t n, struct soft_burst *b)
{
	uint32_t taken = 0;

	memset(&b->wire, 0, sizeof(*b) - offsetof(struct soft_burst, wire));
	for (; taken < n; taken++) {
		struct soft_verdict *v = &b->v[taken];

		b->place[taken].n = 0;
		if (taken + 4 < n)
			__builtin_prefetch(f[taken + 4].seg[0].ptr);
		b->f[taken] = &f[taken];
		classify(nic, &b->f[taken], taken, v);
		if (v->kind == SOFT_TO_QUEUE && take(nic, b->f[taken], b, taken) < 0)
			break;
		b->steer_miss += v->kind == SOFT_STEER_MISS;
		b->steer_drop += v->kind == SOFT_STEER_DROP;
		b->errors += v->kind == SOFT_BAD_FRAME;
		b->l3_bad += v->l3_bad;
		b->l4_bad += v->l4_bad;
	}
	b->wire = taken;
}

static void copy_burst(const struct soft_burst *b)
{
	for (uint32_t i = 0; i < b->wire; i++)
		if (b->place[i].n)
			scatter(b->f[i], &b->place[i]);
}

static void complete_burst(struct soft_nic *nic, struct soft_burst *b, uint64_t *now_ns)
{
	for (uint32_t i = 0; i < b->wire; i++) {
		if (!b->place[i].n)
			continue;
		if (!*now_ns && b->v[i].rq->timestamps)
			*now_ns = gw__now_ns(nic->clock);
		complete(b, i, *now_ns);
	}
	for (uint32_t i = 0; i < b->wire; i++)
		if (b->v[i].broke)
			fail_rq(b->v[i].rq);
	count(nic, b);
}

int soft_deliver(void *ctx, const struct gw__frame *frames, int n)
{
	struct soft_nic *nic = ctx;
	struct soft_burst *b = nic->rx_burst; /* a link that delivers does not take: none is under way */
	uint64_t now_ns = 0;
	int done = 0;

	soft_lock(&nic->rx_lock);
	do {
		uint32_t want = n - done < SOFT_BURST ? (uint32_t)(n - done) : SOFT_BURST;

		take_burst(nic, frames + done, want, b);
		copy_burst(b);
		complete_burst(nic, b, &now_ns);
		done += (int)b->wire;
		if (b->wire < want)
			break;
	} while (done < n);
	soft_cq_flush(nic, &nic->rx_dirty);
	soft_unlock(&nic->rx_lock);
	return done;
}

int soft_take(void *ctx, const struct gw__frame *frames, int n, void **burst)
{
	struct soft_nic *nic = ctx;
	struct soft_burst *b;
	uint32_t i, taken;

	soft_lock(&nic->rx_lock);
	if (atomic_load_explicit(&nic->rx_gate, memory_order_relaxed)) { /* set and cleared around this lock */
		atomic_store_explicit(&nic->rx_held, 1, memory_order_seq_cst);
		soft_unlock(&nic->rx_lock);
		return 0;
	}
	i = (uint32_t)__builtin_ctz(~nic->rx_used); /* the peer has no more flights than this port has bursts */
	b = &nic->rx_burst[i];
	take_burst(nic, frames, n < SOFT_BURST ? (uint32_t)n : SOFT_BURST, b);
	taken = b->wire;
	if (taken) {
		if (nic->rx_edited) /* what was taken off lies in one place for all bursts */
			copy_burst(b);
		nic->rx_used |= 1u << i;
		*burst = b;
	}
	soft_unlock(&nic->rx_lock);
	return (int)taken;
}

void soft_copy(void *ctx, void *burst)
{
	if (!((struct soft_nic *)ctx)->rx_edited)
		copy_burst(burst);
}

void soft_finish(void *ctx, void *burst)
{
	struct soft_nic *nic = ctx;
	struct soft_burst *b = burst;
	uint64_t now_ns = 0;

	soft_lock(&nic->rx_lock);
	complete_burst(nic, b, &now_ns);
	soft_cq_flush(nic, &nic->rx_dirty);
	nic->rx_used &= ~(1u << (b - nic->rx_burst));
	soft_unlock(&nic->rx_lock);
}
