/* tests/unit/link/sink.h: a port for link tests: takes frames, checks their bytes, can refuse.
 * Must not know kinds of links. Next: link/link.h. */
#ifndef GW_TESTS_LINK_SINK_H
#define GW_TESTS_LINK_SINK_H

#include "link/link.h"

#include "t.h"

struct sink {
	uint32_t n, room;       /* frames taken; how many more may be */
	uint32_t expect_seq;    /* checked when in_order */
	bool in_order;
	uint64_t last_ts;
	uint32_t bad;
	uint32_t seq[4096];     /* of the first frames */
	uint32_t pulls, wakes;
	uint8_t copy[GW_LINK_MTU];
};

/* A frame of len bytes: sequence number, then bytes made from it. */
static inline void sink_make(uint8_t *f, uint32_t len, uint32_t seq)
{
	for (uint32_t i = 0; i < len; i++)
		f[i] = (uint8_t)(seq * 7 + i);
	memcpy(f, &seq, 4);
}

static inline int sink_deliver(void *ctx, const struct gw__frame *f, int n)
{
	struct sink *s = ctx;
	int k;

	for (k = 0; k < n && s->room; k++, s->room--) {
		uint32_t seq, at = 0;

		for (uint32_t i = 0; i < f[k].n_segs; at += f[k].seg[i].len, i++)
			memcpy(s->copy + at, f[k].seg[i].ptr, f[k].seg[i].len);
		memcpy(&seq, s->copy, 4);
		if (at != f[k].len || (s->in_order && seq != s->expect_seq))
			s->bad++;
		for (uint32_t i = 4; i < at; i++)
			if (s->copy[i] != (uint8_t)(seq * 7 + i)) {
				s->bad++;
				break;
			}
		if (s->n < 4096)
			s->seq[s->n] = seq;
		s->expect_seq = seq + 1;
		s->last_ts = f[k].ts_ns;
		s->n++;
	}
	return k;
}

static inline int sink_pull(void *ctx, int budget)
{
	((struct sink *)ctx)->pulls++;
	return 0;
}

static inline void sink_wake(void *ctx)
{
	((struct sink *)ctx)->wakes++;
}

static inline uint64_t sink_due(void *ctx)
{
	return UINT64_MAX;
}

static inline void sink_plug(struct gw__link *link, struct sink *s)
{
	struct gw__link_sink k = { .deliver = sink_deliver, .pull = sink_pull, .wake_tx = sink_wake, .due_ns = sink_due, .ctx = s };

	memset(s, 0, sizeof(*s));
	s->room = UINT32_MAX;
	s->in_order = true;
	gw__link_plug(link, &k);
}

/* Send one frame in one piece or in two; what the link said. */
static inline int sink_send(struct gw__link *link, uint32_t len, uint32_t seq)
{
	static uint8_t buf[GW_LINK_MTU + 64];
	struct gw__frame f = { .n_segs = 1, .len = len };

	sink_make(buf, len, seq);
	f.seg[0].ptr = buf;
	f.seg[0].len = len;
	if (seq & 1 && len > 8) {
		f.n_segs = 2;
		f.seg[0].len = 5;
		f.seg[1].ptr = buf + 5;
		f.seg[1].len = len - 5;
	}
	return link->ops->send(link, &f, 1);
}

#endif
