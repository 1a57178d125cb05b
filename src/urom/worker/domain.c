/* urom_worker/domain.c: the table of a domain: who is where, and what memory they offered.
 * Must not know how it was gathered. Next: src/urom/host/domain.c.
 *
 * The table stays as it arrived, checked once as a whole; look-ups walk it (they happen once a peer). */
#include <string.h>

#include "base/alloc.h"
#include "urom_net/tlv.h"
#include "urom_worker/worker.h"

#define MAX_TABLE (16u << 20)

/* Every rank's block parses to the end. */
static bool table_is_good(const uint8_t *table, size_t len)
{
	struct gw__tlv_r r = gw__tlv_reader(table, len), in;

	while (gw__tlv_next(&r)) {
		if (r.tag != GW__T_RANK)
			return false;
		in = gw__tlv_reader(r.data, r.size);
		while (gw__tlv_next(&in))
			;
		if (in.bad)
			return false;
	}
	return !r.bad;
}

void gw__w_table_part(struct gw__worker *w, struct gw__w_client *c, const struct gw__frame *f)
{
	struct gw__frame ack = { .type = GW__F_DOMAIN };
	uint8_t *p;

	if (f->context != c->table_len || c->table_len + f->len > MAX_TABLE) {
		ack.status = (int32_t)DOCA_ERROR_TOO_BIG;
	} else {
		p = gw__realloc(c->table, c->table_len + f->len + 1);
		if (p) {
			c->table = p;
			if (f->len)
				memcpy(p + c->table_len, f->payload, f->len);
			c->table_len += f->len;
			if (f->flags & GW__FL_MORE)
				return;
			if (table_is_good(c->table, c->table_len)) {
				gw__free(w->table);
				w->table = c->table;
				w->table_len = c->table_len;
				c->table = NULL;
			} else {
				ack.status = (int32_t)DOCA_ERROR_UNEXPECTED;
			}
		} else {
			ack.status = (int32_t)DOCA_ERROR_NO_MEMORY;
		}
	}
	gw__free(c->table);
	c->table = NULL;
	c->table_len = 0;
	gw__w_send(w, c, &ack);
}

/* The member with this id: its rank's block in *rank, its addresses in *addrs. */
static bool find_member(const struct gw__worker *w, uint64_t id, struct gw__tlv_r *rank, struct gw__tlv_r *addrs)
{
	struct gw__tlv_r r = gw__tlv_reader(w->table, w->table_len), in;
	uint64_t seen = 0;

	while (gw__tlv_next(&r)) {
		bool mine = false;

		in = gw__tlv_reader(r.data, r.size);
		while (gw__tlv_next(&in)) {
			if (in.tag == GW__T_WORKER)
				mine = !gw__tlv_u64(&in, &seen) && seen == id;
			else if (in.tag == GW__T_ADDR && mine) {
				*rank = gw__tlv_reader(r.data, r.size);
				*addrs = gw__tlv_reader(in.data, in.size);
				return true;
			}
		}
	}
	return false;
}

static doca_error_t find_addr(struct urom_worker_ctx *ctx, uint64_t id, void **addr, size_t *len)
{
	struct gw__w_plugin *p = gw__w_plugin_of(ctx);
	struct gw__tlv_r rank, addrs, a;
	uint32_t index;

	if (!find_member(p->worker, id, &rank, &addrs))
		return DOCA_ERROR_NOT_FOUND;
	while (gw__tlv_next(&addrs))
		if (addrs.tag == GW__T_PLUGIN && !gw__tlv_find_u32(addrs.data, addrs.size, GW__T_INDEX, &index) &&
		    index == p->index && !gw__tlv_find(addrs.data, addrs.size, GW__T_ADDR, &a)) {
			*addr = (void *)(uintptr_t)a.data;
			*len = a.size;
			return DOCA_SUCCESS;
		}
	return DOCA_ERROR_NOT_FOUND;
}

static doca_error_t addr_lookup(struct urom_worker_ctx *ctx, uint64_t id, void **addr)
{
	size_t len;

	return find_addr(ctx, id, addr, &len);
}

static doca_error_t addr_len(struct urom_worker_ctx *ctx, uint64_t id, size_t *len)
{
	void *addr;

	return find_addr(ctx, id, &addr, len);
}

/* The seg-th segment of a member's rank (seg >= 0), or the one that holds va (seg < 0). */
static int find_seg(struct urom_worker_ctx *ctx, uint64_t id, int seg, uint64_t va, struct gw__tlv_r *found)
{
	struct gw__tlv_r rank, addrs;
	uint64_t base, len;
	int i = 0;

	if (!find_member(gw__w_plugin_of(ctx)->worker, id, &rank, &addrs))
		return -1;
	while (gw__tlv_next(&rank)) {
		if (rank.tag != GW__T_SEG)
			continue;
		if (seg >= 0 ? i == seg :
			       !gw__tlv_find_u64(rank.data, rank.size, GW__T_VALUE, &base) &&
				       !gw__tlv_find_u64(rank.data, rank.size, GW__T_LENGTH, &len) && va >= base &&
				       va - base < len) {
			*found = gw__tlv_reader(rank.data, rank.size);
			return i;
		}
		i++;
	}
	return -1;
}

static doca_error_t seg_lookup(struct urom_worker_ctx *ctx, uint64_t id, uint64_t va, int *seg)
{
	struct gw__tlv_r found;
	int i = find_seg(ctx, id, -1, va, &found);

	if (i < 0)
		return DOCA_ERROR_NOT_FOUND;
	*seg = i;
	return DOCA_SUCCESS;
}

static doca_error_t handle_lookup(struct urom_worker_ctx *ctx, uint64_t id, int seg, uint16_t tag, size_t *len,
				  void **handle)
{
	struct gw__tlv_r found, h;

	if (seg < 0 || find_seg(ctx, id, seg, 0, &found) < 0 || gw__tlv_find(found.buf, found.len, tag, &h))
		return DOCA_ERROR_NOT_FOUND;
	*handle = (void *)(uintptr_t)h.data;
	*len = h.size;
	return DOCA_SUCCESS;
}

static doca_error_t memh_lookup(struct urom_worker_ctx *ctx, uint64_t id, int seg, size_t *len, void **memh)
{
	return handle_lookup(ctx, id, seg, GW__T_DATA, len, memh);
}

static doca_error_t mkey_lookup(struct urom_worker_ctx *ctx, uint64_t id, int seg, size_t *len, void **mkey)
{
	return handle_lookup(ctx, id, seg, GW__T_MKEY, len, mkey);
}

static size_t members(struct urom_worker_ctx *ctx, uint64_t *ids, size_t cap)
{
	struct gw__worker *w = gw__w_plugin_of(ctx)->worker;
	struct gw__tlv_r r = gw__tlv_reader(w->table, w->table_len), in;
	uint64_t id;
	size_t n = 0;

	while (gw__tlv_next(&r)) {
		in = gw__tlv_reader(r.data, r.size);
		while (gw__tlv_next(&in))
			if (in.tag == GW__T_WORKER && !gw__tlv_u64(&in, &id) && n++ < cap)
				ids[n - 1] = id;
	}
	return n;
}

const struct urom_worker_domain_iface gw__w_domain_iface = {
	.addr_lookup = addr_lookup,
	.seg_lookup = seg_lookup,
	.memh_lookup = memh_lookup,
	.mkey_lookup = mkey_lookup,
	.addr_len = addr_len,
	.members = members,
};
