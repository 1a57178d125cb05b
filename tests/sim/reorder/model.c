/* The slow twin of reorder/plan.c. Next: reorder_plan.c compares the two, packet by packet. */
#include "model.h"

#include <string.h>

#include "reorder/plan.h" /* the names of the reasons, nothing else */

void model_init(struct model *m, uint32_t per_batch, uint32_t seq_bits, uint32_t max_open, uint64_t timeout_ns)
{
	memset(m, 0, sizeof(*m));
	m->per_batch = per_batch;
	m->seq_bits = seq_bits;
	m->max_open = max_open;
	m->timeout_ns = timeout_ns;
}

static struct model_window *window_of(struct model *m, int64_t number)
{
	for (uint32_t i = 0; i < MODEL_MAX_OPEN; i++)
		if (m->win[i].open && m->win[i].number == number)
			return &m->win[i];
	return NULL;
}

static void close_below(struct model *m, int64_t end, uint32_t why)
{
	for (;;) {
		struct model_window *oldest = NULL;

		for (uint32_t i = 0; i < MODEL_MAX_OPEN; i++)
			if (m->win[i].open && m->win[i].number < end &&
			    (!oldest || m->win[i].number < oldest->number))
				oldest = &m->win[i];
		if (!oldest)
			break;
		oldest->why = oldest->n == m->per_batch ? GW__CLOSE_FULL : why;
		oldest->open = false;
		m->closed[m->n_closed++ % MODEL_FIFO] = *oldest;
	}
	if (m->base < end)
		m->base = end;
}

static int64_t highest_open(const struct model *m)
{
	int64_t h = INT64_MIN;

	for (uint32_t i = 0; i < MODEL_MAX_OPEN; i++)
		if (m->win[i].open && m->win[i].number > h)
			h = m->win[i].number;
	return h;
}

void model_flush(struct model *m)
{
	int64_t h = highest_open(m);

	if (h != INT64_MIN)
		close_below(m, h + 1, GW__CLOSE_FLUSH);
}

void model_expire(struct model *m, uint64_t now_ns)
{
	int64_t h = INT64_MIN;

	for (uint32_t i = 0; i < MODEL_MAX_OPEN; i++)
		if (m->timeout_ns && m->win[i].open && m->win[i].first_ts_ns + m->timeout_ns <= now_ns &&
		    m->win[i].number > h)
			h = m->win[i].number;
	if (h != INT64_MIN)
		close_below(m, h + 1, GW__CLOSE_DEADLINE);
}

void model_told(struct model *m, uint64_t n)
{
	if (m->started)
		m->told += (int64_t)n;
}

static int64_t range(const struct model *m)
{
	return (int64_t)1 << m->seq_bits;
}

static int64_t floor_div(int64_t a, int64_t b)
{
	return a >= 0 ? a / b : -((-a + b - 1) / b);
}

static void join(struct model *m, const struct packet *p)
{
	int64_t s = p->truth & (range(m) - 1), u = s;

	if (m->started)
		u = (floor_div(m->next, range(m)) + 1) * range(m) + s;
	m->started = true;
	m->next = u;
	m->told = 0;
	m->run = 0;
	m->offset = u - p->truth;
	m->first = m->base = u / m->per_batch;
}

/* The number the receiver must take the packet for: of all that look the same, the one nearest to the
 * expected. *tie: two are equally near. */
static int64_t seen_as(const struct model *m, const struct packet *p, bool *tie)
{
	int64_t expected = m->next + m->told, true_one = p->truth + m->offset, best = true_one;
	int64_t around = true_one + floor_div(expected - true_one, range(m)) * range(m);

	for (int64_t k = -1; k <= 2; k++) {
		int64_t c = around + k * range(m), dc = c - expected, db = best - expected;

		if ((dc < 0 ? -dc : dc) < (db < 0 ? -db : db))
			best = c;
	}
	*tie = expected - best == range(m) / 2 || best - expected == range(m) / 2;
	return best;
}

bool model_needs(struct model *m, const struct packet *p)
{
	int64_t number;
	bool tie;

	if (!p->len)
		return false;
	if (!m->started)
		return true;
	number = floor_div(seen_as(m, p, &tie), m->per_batch);
	if (tie || number < m->base || number < m->first) {
		int64_t limit = (int64_t)m->per_batch * (m->max_open + 1) + 64;

		if (m->run + 1 < limit)
			return false;
		if (highest_open(m) != INT64_MIN) /* it joins anew */
			close_below(m, highest_open(m) + 1, GW__CLOSE_SUPERSEDED);
		return true;
	}
	if (number >= m->base + m->max_open)
		close_below(m, number - m->max_open + 1, GW__CLOSE_SUPERSEDED);
	return !window_of(m, number);
}

static bool too_old(struct model *m, const struct packet *p, int64_t u, bool stale)
{
	int64_t limit = (int64_t)m->per_batch * (m->max_open + 1) + 64;
	int64_t h = highest_open(m);

	if (++m->run < limit) {
		if (stale)
			m->stale++;
		else
			m->late++;
		if (!stale && u >= m->next) { /* the rest of a window flushed */
			m->next = u + 1;
			m->told = 0;
		}
		return true;
	}
	if (h != INT64_MIN)
		close_below(m, h + 1, GW__CLOSE_SUPERSEDED);
	join(m, p);
	m->restarts++;
	return false;
}

bool model_take(struct model *m, const struct packet *p)
{
	struct model_window *w;
	int64_t u, number;
	uint32_t place;
	bool tie = false;

	if (!p->len) {
		m->bad++;
		return false;
	}
	if (!m->started)
		join(m, p);
	u = seen_as(m, p, &tie);
	number = floor_div(u, m->per_batch);
	if (tie || number < m->first || number < m->base) {
		m->aliased |= u != p->truth + m->offset;
		if (too_old(m, p, u, tie || number < m->first))
			return false;
		u = p->truth + m->offset;
		number = floor_div(u, m->per_batch);
	}
	m->aliased |= u != p->truth + m->offset;
	m->run = 0;
	if (number >= m->base + m->max_open)
		close_below(m, number - m->max_open + 1, GW__CLOSE_SUPERSEDED);
	w = window_of(m, number);
	for (uint32_t i = 0; !w; i++)
		if (!m->win[i].open) {
			w = &m->win[i];
			memset(w->at, 0xff, sizeof(w->at));
			w->open = true;
			w->number = number;
			w->n = 0;
			w->first_ts_ns = p->ts_ns;
		}
	place = (uint32_t)(u - number * m->per_batch);
	if (w->at[place] != EMPTY) {
		m->duplicate++;
		return false;
	}
	w->at[place] = p->id;
	w->truth[place] = p->truth;
	m->placed++;
	if (u >= m->next) {
		m->next = u + 1;
		m->told = 0;
	}
	if (++w->n == m->per_batch)
		close_below(m, number + 1, GW__CLOSE_SUPERSEDED);
	return true;
}
