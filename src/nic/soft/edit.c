/* nic/soft/edit.c: change a frame's front without touching its bytes: a private head, then the rest of the
 * gather list. Must not know rules. Next: wire/tunnel.c (the headers). */
#include "nic/soft/edit.h"

#include <errno.h>
#include <string.h>

void soft_edit_begin(struct soft_edit *e, const struct gw__frame *f)
{
	e->frame = f;
	e->skip = 0;
	e->len = f->len;
	e->from = e->to = EDIT_FRONT;
}

/* Have the packet's first n bytes in the private head. */
static int pull(struct soft_edit *e, uint32_t n)
{
	while (e->to - e->from < n) {
		uint32_t at = 0, want = n - (e->to - e->from), got = 0;

		if (e->to + want > EDIT_BUF)
			return -EMSGSIZE;
		for (uint32_t s = 0; s < e->frame->n_segs && !got; at += e->frame->seg[s].len, s++) {
			if (e->skip >= at + e->frame->seg[s].len)
				continue;
			got = at + e->frame->seg[s].len - e->skip;
			got = got < want ? got : want;
			memcpy(e->buf + e->to, e->frame->seg[s].ptr + (e->skip - at), got);
		}
		if (!got)
			return -EMSGSIZE;
		e->skip += got;
		e->to += got;
	}
	return 0;
}

static void drop_front(struct soft_edit *e, uint32_t n)
{
	uint32_t k = n < e->to - e->from ? n : e->to - e->from;

	e->from += k;
	e->skip += n - k;
	e->len -= n;
}

static int put_front(struct soft_edit *e, const uint8_t *bytes, uint32_t n)
{
	if (n > e->from)
		return -EMSGSIZE;
	e->from -= n;
	e->len += n;
	memcpy(e->buf + e->from, bytes, n);
	return 0;
}

/* The tag goes behind the two addresses: move those 12 bytes. */
int soft_edit_push_vlan(struct soft_edit *e, const struct gw_action *a)
{
	uint8_t addr[16];
	int err = pull(e, 12);

	if (err)
		return err;
	memcpy(addr, e->buf + e->from, 12);
	gw__vlan_build(addr + 12, a);
	drop_front(e, 12);
	return put_front(e, addr, 16);
}

int soft_edit_pop_vlan(struct soft_edit *e, uint16_t *tci)
{
	uint8_t head[16];
	uint16_t type;
	int err = pull(e, 16);

	*tci = 0;
	if (err)
		return e->len < 16 ? 0 : err; /* too short to hold a tag */
	memcpy(head, e->buf + e->from, 16);
	type = gw__be16(head + 12);
	if (type != GW_ETH_VLAN && type != GW_ETH_QINQ)
		return 0;
	*tci = gw__be16(head + 14);
	drop_front(e, 16);
	err = put_front(e, head, 12);
	return err ? err : 1;
}

/* Length of the Ethernet header and its tags. */
static int l2_len(struct soft_edit *e)
{
	uint32_t n = GW_ETH_HDR;
	uint16_t type;

	do {
		if (pull(e, n))
			return -EPROTO;
		type = gw__be16(e->buf + e->from + n - 2);
		n += 4;
	} while ((type == GW_ETH_VLAN || type == GW_ETH_QINQ) && n < 40);
	return (int)n - 4;
}

int soft_edit_encap(struct soft_edit *e, const struct gw_action *a)
{
	uint8_t outer[GW_TUNNEL_MAX];
	int n;

	if (!gw__tunnel_carries_ethernet(a)) {
		n = l2_len(e);
		if (n < 0)
			return n;
		drop_front(e, (uint32_t)n);
	}
	n = gw__tunnel_build(outer, a, e->len);
	return n < 0 ? n : put_front(e, outer, (uint32_t)n);
}

int soft_edit_decap(struct soft_edit *e, const struct gw_action *a)
{
	struct gw__tunnel_in in;
	struct gw__pkt p;
	uint8_t eth[GW_ETH_HDR];
	uint32_t n = e->len < GW_PARSE_MAX ? e->len : GW_PARSE_MAX;

	if (pull(e, n))
		return -EPROTO;
	gw__parse(e->buf + e->from, n, e->len, &p);
	if (!gw__tunnel_parse(a, e->buf + e->from, n, &p, &in))
		return -EPROTO;
	memcpy(eth, e->buf + e->from, 12);
	drop_front(e, in.inner_off);
	if (!in.ethertype)
		return 0;
	gw__put16(eth + 12, in.ethertype); /* an inner packet without one gets the outer addresses */
	return put_front(e, eth, GW_ETH_HDR);
}

int soft_edit_end(struct soft_edit *e, struct gw__frame *out)
{
	const struct gw__frame *f = e->frame;
	uint32_t at = 0;

	out->n_segs = 0;
	out->len = e->len;
	out->ts_ns = f->ts_ns;
	if (e->to != e->from) {
		out->seg[0].ptr = e->buf + e->from;
		out->seg[0].len = e->to - e->from;
		out->n_segs = 1;
	}
	for (uint32_t s = 0; s < f->n_segs; at += f->seg[s].len, s++) {
		uint32_t off = e->skip > at ? e->skip - at : 0;

		if (off >= f->seg[s].len)
			continue;
		if (out->n_segs == GW_FRAME_SEGS)
			return -EMSGSIZE;
		out->seg[out->n_segs].ptr = f->seg[s].ptr + off;
		out->seg[out->n_segs++].len = f->seg[s].len - off;
	}
	return 0;
}
