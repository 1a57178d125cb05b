/* reorder/plan.c: the rules of plan.h, one packet at a time in a loop that stays in registers.
 * Must not know payloads, buffers, streams. Next: reorder.c. */
#include "reorder/plan.h"

#include <errno.h>
#include <string.h>

#include "base/bitmap.h"

/* Unwrapped numbers start here, so that what lies before the first packet is still a positive number.
 * A multiple of every 2^w and of every packets_per_batch. */
#define ORIGIN ((uint64_t)1 << 40)
#define AMBIGUOUS 0x80000000u
#define NO_WINDOW UINT64_MAX

int gw__plan_init(struct gw__plan *p, uint32_t packets_per_batch, uint32_t seq_bits, uint32_t max_open,
		  uint64_t timeout_ns)
{
	if (!packets_per_batch || packets_per_batch & (packets_per_batch - 1) || seq_bits < 1 ||
	    seq_bits > 32 || (uint64_t)packets_per_batch > (uint64_t)1 << seq_bits || !max_open ||
	    max_open > GW__PLAN_MAX_OPEN)
		return -EINVAL;
	memset(p, 0, sizeof(*p));
	p->per_batch = packets_per_batch;
	p->seq_bits = seq_bits;
	p->max_open = max_open;
	p->shift = (uint32_t)__builtin_ctz(packets_per_batch);
	p->unused = 32 - seq_bits;
	/* more than a deadline or a flush can make late: what every open window still lacks */
	p->run_limit = (uint64_t)packets_per_batch * (max_open + 1) + GW__PLAN_RESTART_RUN;
	p->timeout_ns = timeout_ns;
	p->next = ORIGIN;
	p->none.number = NO_WINDOW;
	p->cur = &p->none;
	return 0;
}

static uint32_t number_of(const struct gw__plan *p, const struct gw__plan_in *in, uint32_t i)
{
	return in->batch ? gw__plan_join(in->batch[i], in->seq[i], p->shift) : in->seq[i];
}

/* Join the stream at number s, in an epoch of 2^w numbers that nobody has used. */
static void join(struct gw__plan *p, uint32_t s)
{
	uint64_t low = s & (UINT32_MAX >> p->unused);

	if (p->started)
		low |= ((p->next >> p->seq_bits) + 1) << p->seq_bits;
	else
		low += ORIGIN;
	p->started = true;
	p->next = low;
	p->ahead = 0;
	p->run = 0;
	p->first_window = p->base = low >> p->shift;
}

enum found { FOUND, REJECT, REJECT_NEW, CLOSE, NEED, REJOINED };

/* A late or stale packet. Many in a row: the sender began again. */
static enum found reject_old(struct gw__plan *p, uint32_t s, uint64_t u, bool stale, uint64_t n_good)
{
	p->run = p->run_mark == n_good ? p->run + 1 : 1;
	p->run_mark = n_good;
	if (p->run >= p->run_limit) {
		if (p->n_open) {
			gw__plan_flush(p);
			p->close_why = GW__CLOSE_SUPERSEDED;
			p->run--; /* the same packet comes again once they are closed */
			return CLOSE;
		}
		join(p, s);
		p->counts.restarts++;
		return REJOINED;
	}
	if (stale) {
		p->counts.stale++;
		return REJECT;
	}
	p->counts.late++;
	/* The rest of a window that was flushed or timed out: refused, and yet the stream goes on with it. */
	if (u >= p->next) {
		p->next = u + 1;
		return REJECT_NEW;
	}
	return REJECT;
}

/* The packet is not for the window used last. u: its unwrapped number; n_good: placed + duplicate so far. */
static enum found look_up(struct gw__plan *p, uint32_t s, uint64_t u, bool ambiguous, uint64_t n_good)
{
	uint64_t number = u >> p->shift;
	struct gw__plan_window *w;

	if (!p->started) {
		join(p, s);
		return REJOINED;
	}
	if (ambiguous || number < p->first_window)
		return reject_old(p, s, u, true, n_good);
	if (number < p->base)
		return reject_old(p, s, u, false, n_good);
	if (number - p->base >= p->max_open) {
		p->close_to = number - p->max_open + 1;
		p->close_why = GW__CLOSE_SUPERSEDED;
		return CLOSE;
	}
	w = p->open[number % GW__PLAN_MAX_OPEN];
	if (!w) {
		p->need = number;
		return NEED;
	}
	p->cur = w;
	return FOUND;
}

enum gw__plan_step gw__plan_place(struct gw__plan *p, const struct gw__plan_in *in, uint32_t *i_io, uint32_t n,
				  uint32_t *reject, uint32_t *n_reject)
{
	const uint32_t first = *i_io, unused = p->unused, shift = p->shift, last = p->per_batch - 1;
	/* What the port lost before packet 0 counts once, and only when packet 0 is taken. */
	uint64_t lost = first || p->lost_used ? 0 : in->lost_before;
	uint64_t next = p->next, expect = next + p->ahead + lost, n_dup = 0;
	uint32_t i = first, n_out = 0;
	enum gw__plan_step step = GW__PLAN_END;
	struct gw__plan_window *w = p->cur;

	reject += *n_reject;
	if (p->close_to > p->base)
		return GW__PLAN_CLOSED;
	while (i < n) {
		uint32_t s = number_of(p, in, i), idx, len = in->payload_len[i];
		uint32_t delta = (s - (uint32_t)expect) << unused;
		uint64_t u = expect + (uint64_t)(int64_t)((int32_t)delta >> unused);

		if (!len) {
			p->counts.bad++;
			reject[n_out++] = in->slot[i++];
			continue;
		}
		if (u >> shift != w->number || delta == AMBIGUOUS) {
			enum found f;

			p->next = next;
			f = look_up(p, s, u, delta == AMBIGUOUS,
				    p->counts.placed + p->counts.duplicate + n_dup + (i - first) - n_out);
			w = p->cur;
			if (f == REJECT || f == REJECT_NEW) {
				if (f == REJECT_NEW)
					expect = next = p->next;
				reject[n_out++] = in->slot[i++];
				continue;
			}
			if (f == REJOINED) {
				p->lost_used = !i;
				expect = next = p->next;
				lost = 0;
				continue;
			}
			if (f == CLOSE || f == NEED) {
				p->need_ts_ns = in->ts_ns ? in->ts_ns[i] : in->now_ns;
				step = f == CLOSE ? GW__PLAN_CLOSED : GW__PLAN_NEED;
				break;
			}
		}
		idx = (uint32_t)u & last;
		if (gw__bit_test(w->valid, idx)) {
			n_dup++;
			reject[n_out++] = in->slot[i++];
			continue;
		}
		gw__bit_set(w->valid, idx);
		w->move[w->n_placed] = (struct gw__move){ in->slot[i], idx, len };
		i++;
		if (u >= next)
			expect = next = u + 1;
		if (w->n_placed++ == last) {
			p->close_to = w->number + 1;
			p->close_why = GW__CLOSE_SUPERSEDED; /* of older ones */
			step = GW__PLAN_CLOSED;
			break;
		}
	}
	p->next = next;
	p->ahead = expect - next;
	if (i > first)
		p->lost_used = false;
	else
		p->ahead -= lost;
	p->counts.placed += i - first - n_out;
	p->counts.duplicate += n_dup;
	*n_reject += n_out;
	*i_io = i;
	return step;
}

void gw__plan_open(struct gw__plan *p, struct gw__plan_window *w)
{
	memset(w->valid, 0, gw__bitmap_words(p->per_batch) * sizeof(*w->valid));
	w->number = p->need;
	w->first_ts_ns = p->need_ts_ns;
	w->n_placed = 0;
	p->open[w->number % GW__PLAN_MAX_OPEN] = w;
	p->n_open++;
	p->cur = w;
}

struct gw__plan_window *gw__plan_closed(struct gw__plan *p)
{
	while (p->base < p->close_to) {
		struct gw__plan_window **at = &p->open[p->base % GW__PLAN_MAX_OPEN], *w = *at;

		if (!p->n_open) {
			p->base = p->close_to;
			break;
		}
		p->base++;
		if (!w)
			continue;
		*at = NULL;
		p->n_open--;
		if (p->cur == w)
			p->cur = &p->none;
		w->why = w->n_placed == p->per_batch ? GW__CLOSE_FULL : p->close_why;
		return w;
	}
	return NULL;
}

/* Saturating: no deadline can lie beyond the end of time. */
static uint64_t deadline_of(const struct gw__plan *p, const struct gw__plan_window *w)
{
	return w->first_ts_ns > UINT64_MAX - p->timeout_ns ? UINT64_MAX : w->first_ts_ns + p->timeout_ns;
}

void gw__plan_expire(struct gw__plan *p, uint64_t now_ns)
{
	if (!p->timeout_ns)
		return;
	for (uint64_t number = p->base + p->max_open; p->n_open && number-- > p->base;) {
		const struct gw__plan_window *w = p->open[number % GW__PLAN_MAX_OPEN];

		if (w && deadline_of(p, w) <= now_ns) {
			p->close_to = number + 1;
			p->close_why = GW__CLOSE_DEADLINE;
			return;
		}
	}
}

void gw__plan_flush(struct gw__plan *p)
{
	for (uint64_t number = p->base + p->max_open; p->n_open && number-- > p->base;)
		if (p->open[number % GW__PLAN_MAX_OPEN]) {
			p->close_to = number + 1;
			p->close_why = GW__CLOSE_FLUSH;
			return;
		}
}

uint64_t gw__plan_deadline(const struct gw__plan *p)
{
	uint64_t at = UINT64_MAX;

	for (uint64_t k = 0; p->timeout_ns && p->n_open && k < p->max_open; k++) {
		const struct gw__plan_window *w = p->open[(p->base + k) % GW__PLAN_MAX_OPEN];

		if (w && deadline_of(p, w) < at)
			at = deadline_of(p, w);
	}
	return at;
}

uint64_t gw__plan_id(const struct gw__plan *p, const struct gw__plan_window *w)
{
	return w->number - (ORIGIN >> p->shift);
}

uint64_t gw__plan_n_open_packets(const struct gw__plan *p)
{
	uint64_t n = 0;

	for (uint64_t k = 0; p->n_open && k < p->max_open; k++)
		if (p->open[(p->base + k) % GW__PLAN_MAX_OPEN])
			n += p->open[(p->base + k) % GW__PLAN_MAX_OPEN]->n_placed;
	return n;
}
