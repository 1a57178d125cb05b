/* link/impair.c: faults on any link, all of them from one seed: the same frames meet the same fate, however they
 * are cut into bursts. Must not know queues. Next: impair.h.
 *
 * impair:KEY=VALUE,...:ADDRESS, keys:
 *   loss, dup, swap, corrupt   chance a frame, 0.5% or 0.005 (swap: it changes places with the next one;
 *                              corrupt: one bit flips)
 *   delay                      constant, 100us (also ns, ms, s)
 *   rate                       bits a second, 10G (also k, M)
 *   mtu                        bytes; longer frames vanish
 *   seed                       default 1
 *   dir                        rx (default): what arrives here; tx: what leaves; both */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/diag.h"
#include "base/log.h"
#include "link/impair.h"

#define BATCH 64
#define POOL 256u          /* copies of frames that the other side did not take at once */
#define POOL_TIMED 1024u   /* frames under way on a slow or long link */
#define MAX_EVENTS 64u
#define HELD_NS 1000000u   /* a frame waiting for the one to swap with waits no longer */

enum { RX, TX };

struct copy {
	uint64_t due_ns;
	uint32_t len;
	uint8_t data[GW_LINK_MTU];
};

struct lane {
	uint64_t rnd;
	struct copy *pool; /* ring: [head, tail) */
	uint32_t head, tail, n_pool;
	struct copy *held; /* [0] the frame that will be swapped, len 0 = none; [1] scratch */
	uint64_t free_ns;  /* rate: when the line is free again */
	struct gw__impair_counts n;
	/* this call's frames, in order, to be given away together */
	struct gw__frame out[BATCH];
	int n_out;
};

struct impair {
	struct gw__link link; /* first */
	struct gw__link *inner;
	pthread_mutex_t lock; /* lanes: over a cable frames come from the sender's thread */
	uint32_t chance[4];   /* of 2^32 */
	uint64_t delay_ns, rate_bps;
	uint32_t mtu;
	uint64_t seed;
	bool dir[2];
	struct lane lane[2];
	struct gw__event *event[MAX_EVENTS];
	uint32_t n_events;
};

enum { LOSS, DUP, SWAP, CORRUPT };

/* splitmix64: Steele, Lea, Flood 2014 */
static uint64_t draw(struct lane *l)
{
	uint64_t z = l->rnd += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static int pass_on(struct impair *m, int dir, const struct gw__frame *f, int n)
{
	if (dir == RX)
		return m->link.sink.deliver(m->link.sink.ctx, f, n);
	return m->inner->ops->send(m->inner, f, n);
}

static void copy_frame(struct copy *c, const struct gw__frame *f)
{
	uint32_t at = 0;

	for (uint32_t s = 0; s < f->n_segs; at += f->seg[s].len, s++)
		memcpy(c->data + at, f->seg[s].ptr, f->seg[s].len);
	c->len = f->len;
	c->due_ns = 0;
}

static struct copy *new_copy(struct lane *l, const struct gw__frame *f)
{
	struct copy *c = &l->pool[l->tail++ % l->n_pool];

	copy_frame(c, f);
	return c;
}

static uint32_t room(const struct lane *l)
{
	return l->n_pool - (l->tail - l->head);
}

static bool timed(const struct impair *m)
{
	return m->delay_ns || m->rate_bps;
}

/* Give away what is due of the copies. True if none is left in the way of newer frames. */
static bool flush_pool(struct impair *m, int dir)
{
	struct lane *l = &m->lane[dir];
	uint64_t now = l->head != l->tail ? gw__now_ns(m->link.clock) : 0;

	while (l->head != l->tail) {
		struct copy *c = &l->pool[l->head % l->n_pool];
		struct gw__frame f = { .n_segs = 1, .len = c->len, .ts_ns = c->due_ns };

		if (c->due_ns > now)
			return timed(m);
		f.seg[0].ptr = c->data;
		f.seg[0].len = c->len;
		if (pass_on(m, dir, &f, 1) == 0)
			return false;
		l->head++; /* gone, for good or ill */
	}
	return true;
}

/* Give away the frames gathered in out; what is not taken is copied. */
static void flush_out(struct impair *m, int dir)
{
	struct lane *l = &m->lane[dir];
	int k = 0;

	while (k < l->n_out && l->head == l->tail) {
		int got = pass_on(m, dir, &l->out[k], l->n_out - k);

		if (!got)
			break;
		k += got < 0 ? 1 : got;
	}
	for (; k < l->n_out; k++)
		new_copy(l, &l->out[k]);
	l->n_out = 0;
}

static void emit(struct impair *m, int dir, const struct gw__frame *f)
{
	struct lane *l = &m->lane[dir];
	struct copy *c;
	uint64_t now;

	if (!timed(m)) {
		l->out[l->n_out++] = *f;
		return;
	}
	now = gw__now_ns(m->link.clock);
	c = new_copy(l, f);
	if (m->rate_bps) {
		l->free_ns = (l->free_ns > now ? l->free_ns : now) + (uint64_t)f->len * 8000000000u / m->rate_bps;
		now = l->free_ns;
	}
	c->due_ns = now + m->delay_ns;
}

static void emit_copy(struct impair *m, int dir, const struct copy *c)
{
	struct gw__frame f = { .n_segs = 1, .len = c->len };

	f.seg[0].ptr = c->data;
	f.seg[0].len = c->len;
	emit(m, dir, &f);
}

static void release_held(struct impair *m, int dir)
{
	struct lane *l = &m->lane[dir];

	if (!l->held->len)
		return;
	emit_copy(m, dir, l->held);
	flush_out(m, dir); /* before the buffer is used again */
	l->held->len = 0;
}

/* One frame's fate. Every chance is drawn for every frame, so that they do not shift each other. */
static void judge(struct impair *m, int dir, const struct gw__frame *f)
{
	struct lane *l = &m->lane[dir];
	uint32_t at[4];
	uint64_t where = draw(l);
	bool had = l->held->len != 0;
	struct copy *scratch = l->held + 1;

	for (int i = 0; i < 4; i++)
		at[i] = (uint32_t)(draw(l) >> 32);
	l->n.frames++;
	if (f->len > m->mtu) {
		l->n.oversize++;
		return;
	}
	if (at[LOSS] < m->chance[LOSS]) {
		l->n.lost++;
		return;
	}
	if (at[CORRUPT] < m->chance[CORRUPT]) {
		copy_frame(scratch, f);
		where %= (uint64_t)f->len * 8;
		scratch->data[where / 8] ^= (uint8_t)(1u << where % 8);
		l->n.corrupted++;
		emit_copy(m, dir, scratch);
		flush_out(m, dir);
	} else if (!had && at[SWAP] < m->chance[SWAP]) {
		copy_frame(l->held, f);
		l->held->due_ns = gw__now_ns(m->link.clock) + HELD_NS;
		l->n.swapped++;
		return;
	} else {
		emit(m, dir, f);
	}
	if (at[DUP] < m->chance[DUP]) {
		l->n.duplicated++;
		emit(m, dir, f);
	}
	if (had)
		release_held(m, dir);
}

/* Frames held or under way will come without a signal of the inner link. */
static void wake(struct impair *m)
{
	for (uint32_t i = 0; i < m->n_events; i++)
		gw__event_signal(m->event[i]);
}

static int run(struct impair *m, int dir, const struct gw__frame *f, int n)
{
	struct lane *l = &m->lane[dir];
	int k = 0;

	pthread_mutex_lock(&m->lock);
	/* at most three come out of one: itself, its double, the one it swaps with */
	while (k < n && flush_pool(m, dir) && room(l) > BATCH + 3) {
		do
			judge(m, dir, &f[k++]);
		while (k < n && l->n_out + 3 <= BATCH && room(l) > BATCH + 3);
		flush_out(m, dir);
	}
	if (dir == RX && (l->head != l->tail || l->held->len))
		wake(m);
	pthread_mutex_unlock(&m->lock);
	return k;
}

static int impair_deliver(void *ctx, const struct gw__frame *f, int n)
{
	struct impair *m = ctx;

	return m->dir[RX] ? run(m, RX, f, n) : pass_on(m, RX, f, n);
}

static int impair_pull(void *ctx, int budget)
{
	struct impair *m = ctx;

	return m->link.sink.pull(m->link.sink.ctx, budget);
}

static void impair_wake_tx(void *ctx)
{
	struct impair *m = ctx;

	m->link.sink.wake_tx(m->link.sink.ctx);
}

static uint64_t impair_sink_due(void *ctx)
{
	struct impair *m = ctx;

	return m->link.sink.due_ns(m->link.sink.ctx);
}

static int impair_send(struct gw__link *link, const struct gw__frame *f, int n)
{
	struct impair *m = (struct impair *)link;

	if (f[0].len > link->mtu)
		return -EMSGSIZE;
	return m->dir[TX] ? run(m, TX, f, n) : pass_on(m, TX, f, n);
}

/* What is due goes on; how many did, -EAGAIN if none because the other side takes none. */
static int turn(struct impair *m, int dir, bool drained)
{
	struct lane *l = &m->lane[dir];
	uint32_t before;
	bool held, refused;

	pthread_mutex_lock(&m->lock);
	before = l->tail - l->head;
	held = l->held->len != 0;
	refused = !flush_pool(m, dir);
	if (held && (drained || l->held->due_ns <= gw__now_ns(m->link.clock)) && room(l) > BATCH) {
		release_held(m, dir);
		before++;
	}
	before -= l->tail - l->head;
	pthread_mutex_unlock(&m->lock);
	return before ? (int)before : refused ? -EAGAIN : 0;
}

static int impair_step(struct gw__link *link, int budget)
{
	struct impair *m = (struct impair *)link;
	int first = m->dir[RX] ? turn(m, RX, false) : 0;
	int k = m->inner->ops->step(m->inner, budget), last = 0;
	int moved = (first > 0 ? first : 0) + (k > 0 ? k : 0);

	if (m->dir[RX] && !k)
		last = turn(m, RX, true); /* nothing comes any more: swap with silence */
	if (m->dir[TX])
		(void)turn(m, TX, true);
	moved += last > 0 ? last : 0;
	if (moved)
		return moved;
	/* frames under way have not arrived yet: they do not count */
	return last < 0 ? last : k;
}

static bool impair_arm(struct gw__link *link)
{
	struct impair *m = (struct impair *)link;

	return m->inner->ops->arm(m->inner);
}

static void impair_resume(struct gw__link *link)
{
	struct impair *m = (struct impair *)link;

	m->inner->ops->resume(m->inner);
}

static uint64_t impair_due(struct gw__link *link)
{
	struct impair *m = (struct impair *)link;
	uint64_t due = m->inner->ops->due_ns(m->inner);

	pthread_mutex_lock(&m->lock);
	for (int d = 0; d < 2; d++) {
		struct lane *l = &m->lane[d];
		uint64_t t = l->head != l->tail ? l->pool[l->head % l->n_pool].due_ns : UINT64_MAX;

		if (m->dir[d] && l->held->len && l->held->due_ns < t)
			t = l->held->due_ns;
		due = m->dir[d] && t < due ? t : due;
	}
	pthread_mutex_unlock(&m->lock);
	return due;
}

static int impair_watch(struct gw__link *link, struct gw__event *event)
{
	struct impair *m = (struct impair *)link;

	if (m->n_events == MAX_EVENTS)
		return -ENOSPC;
	m->event[m->n_events++] = event;
	return m->inner->ops->watch(m->inner, event);
}

static void impair_plugged(struct gw__link *link)
{
	struct impair *m = (struct impair *)link;
	struct gw__link_sink sink = { .deliver = impair_deliver, .pull = impair_pull, .wake_tx = impair_wake_tx,
				      .due_ns = impair_sink_due, .ctx = m };

	gw__link_plug(m->inner, &sink);
}

static void say(const struct impair *m, int dir)
{
	const struct gw__impair_counts *n = &m->lane[dir].n;

	gw__info("impair %s seed=%llu: %llu frames, lost %llu, duplicated %llu, swapped %llu, corrupted %llu, "
		 "oversize %llu", dir == RX ? "rx" : "tx", (unsigned long long)m->seed,
		 (unsigned long long)n->frames, (unsigned long long)n->lost, (unsigned long long)n->duplicated,
		 (unsigned long long)n->swapped, (unsigned long long)n->corrupted,
		 (unsigned long long)n->oversize);
}

static void impair_close(struct gw__link *link)
{
	struct impair *m = (struct impair *)link;

	gw__link_close(m->inner);
	for (int d = 0; d < 2; d++) {
		if (m->dir[d] && m->inner)
			say(m, d);
		gw__free(m->lane[d].pool);
		gw__free(m->lane[d].held);
	}
	pthread_mutex_destroy(&m->lock);
	gw__free(m);
}

static const struct gw__link_ops impair_ops = {
	.send = impair_send,
	.step = impair_step,
	.arm = impair_arm,
	.resume = impair_resume,
	.due_ns = impair_due,
	.watch = impair_watch,
	.plugged = impair_plugged,
	.close = impair_close,
};

int gw__impair_counts(const struct gw__link *link, bool rx, struct gw__impair_counts *out)
{
	const struct impair *m = (const struct impair *)link;

	if (link->ops != &impair_ops)
		return -EINVAL;
	*out = m->lane[rx ? RX : TX].n;
	out->seed = m->seed;
	return 0;
}

/* ---- open ------------------------------------------------------------------------------------------------ */

static bool unit_is(const char *end, const char *unit)
{
	return !strcmp(end, unit);
}

static int set_number(struct impair *m, const char *key, const char *value)
{
	static const char *const chances[] = { "loss", "dup", "swap", "corrupt" };
	char *end;
	double v = strtod(value, &end);

	if (end == value || !(v >= 0) || v > 1e18)
		return -EINVAL;
	for (int i = 0; i < 4; i++) {
		if (strcmp(key, chances[i]))
			continue;
		if (unit_is(end, "%"))
			v /= 100;
		else if (*end)
			return -EINVAL;
		if (v > 1)
			return -ERANGE;
		m->chance[i] = v >= 1 ? UINT32_MAX : (uint32_t)(v * 4294967296.0);
		return 0;
	}
	if (!strcmp(key, "delay")) {
		v *= unit_is(end, "ns") ? 1 : unit_is(end, "us") ? 1e3 : unit_is(end, "ms") ? 1e6 :
		     unit_is(end, "s") ? 1e9 : -1;
		m->delay_ns = v < 0 ? 0 : (uint64_t)v;
		return v < 0 ? -EINVAL : 0;
	}
	if (!strcmp(key, "rate")) {
		v *= !*end ? 1 : unit_is(end, "k") ? 1e3 : unit_is(end, "M") ? 1e6 : unit_is(end, "G") ? 1e9 : -1;
		m->rate_bps = v < 1 ? 0 : (uint64_t)v;
		return v < 1 ? -EINVAL : 0;
	}
	if (*end)
		return -EINVAL;
	if (!strcmp(key, "mtu"))
		m->mtu = (uint32_t)(v > GW_LINK_MTU ? GW_LINK_MTU : v);
	else if (!strcmp(key, "seed"))
		m->seed = strtoull(value, NULL, 10);
	else
		return -ENOENT;
	return 0;
}

static int parse(struct impair *m, char *text, struct gw_diag *diag)
{
	char *save = NULL;

	for (char *o = strtok_r(text, ",", &save); o; o = strtok_r(NULL, ",", &save)) {
		char *value = strchr(o, '=');
		int err = -EINVAL;

		if (value) {
			*value++ = 0;
			if (!strcmp(o, "dir")) {
				m->dir[RX] = strcmp(value, "tx") != 0;
				m->dir[TX] = strcmp(value, "rx") != 0;
				err = !strcmp(value, "rx") || !strcmp(value, "tx") || !strcmp(value, "both") ? 0 : -EINVAL;
			} else {
				err = set_number(m, o, value);
			}
		}
		if (err)
			return gw__fail(diag, -EINVAL, "impair: %s=%s is not understood; keys: loss, dup, swap, corrupt "
					"(0.5%% or 0.005), delay (100us), rate (10G), mtu, seed, dir (rx, tx, both)",
					o, value ? value : "");
	}
	return 0;
}

static int alloc_lanes(struct impair *m)
{
	for (int d = 0; d < 2; d++) {
		struct lane *l = &m->lane[d];

		if (!m->dir[d])
			continue;
		l->rnd = m->seed + (uint64_t)d * 0x100000001b3u;
		l->n_pool = timed(m) ? POOL_TIMED : POOL;
		l->pool = gw__malloc(l->n_pool * sizeof(*l->pool));
		l->held = gw__calloc(2, sizeof(*l->held)); /* the one to swap, and scratch */
		if (!l->pool || !l->held)
			return -ENOMEM;
	}
	return 0;
}

int gw__impair_open(const char *rest, struct gw__clock *clock, struct gw__link **out, struct gw_diag *diag)
{
	const char *colon = strchr(rest, ':');
	struct impair *m;
	char *text;
	int err;

	if (!colon)
		return gw__fail(diag, -EINVAL, "address \"impair:%s\": write impair:KEY=VALUE,...:ADDRESS", rest);
	m = gw__calloc(1, sizeof(*m));
	text = gw__strndup(rest, (size_t)(colon - rest));
	if (!m || !text) {
		gw__free(m);
		gw__free(text);
		return gw__fail(diag, -ENOMEM, "no memory for an impaired link");
	}
	pthread_mutex_init(&m->lock, NULL);
	m->link.ops = &impair_ops;
	m->link.clock = clock;
	m->mtu = GW_LINK_MTU;
	m->seed = 1;
	m->dir[RX] = true;
	err = parse(m, text, diag);
	gw__free(text);
	if (!err && alloc_lanes(m))
		err = gw__fail(diag, -ENOMEM, "no memory for an impaired link");
	if (!err)
		err = gw__link_open(colon + 1, clock, &m->inner, diag);
	if (err) {
		impair_close(&m->link);
		return err;
	}
	m->link.mtu = m->inner->mtu;
	m->link.can_pause = m->inner->can_pause;
	*out = &m->link;
	return 0;
}
