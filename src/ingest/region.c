/* ingest/region.c: the memory regions, and their cutting into paired slots, a share for each user.
 * Must not know what lies in a slot. Next: rxq.c, txq.c and plan.c take shares. */
#include <errno.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "base/diag.h"
#include "ingest/gw.h"

static void count_users(struct gw *gw)
{
	for (uint32_t p = 0; p < gw->cfg->n_ports; p++) {
		const struct gw_cfg_port *port = &gw->cfg->port[p];

		for (uint32_t i = 0; i < port->n_rxq; i++)
			for (uint32_t s = 0; s < port->rxq[i].n_regions; s++)
				gw->region[port->rxq[i].region[s]].n_users++;
		for (uint32_t i = 0; i < port->n_txq; i++)
			for (uint32_t s = 0; s < port->txq[i].n_regions; s++)
				gw->region[port->txq[i].region[s]].n_users++;
		for (uint32_t i = 0; i < port->n_reorder && port->n_rxq; i++)
			gw->region[port->reorder[i].region].n_users++;
	}
}

static int region_open(struct gw *gw, uint32_t i, struct gw_diag *diag)
{
	const struct gw_cfg_region *c = &gw->cfg->region[i];
	struct gw__region *r = &gw->region[i];
	uint64_t stride = (c->buf_size + 127) / 128 * 128;
	int err;

	if (!r->n_users)
		return 0; /* the configuration warned about it */
	if (!c->owned)
		return gw__fail(diag, -ENOTSUP,
				"memory region '%s': owned: false needs memory bound by the application, "
				"which this build does not take; set owned: true", c->name);
	if (!c->buf_size || stride > UINT32_MAX || c->num_bufs / r->n_users == 0 ||
	    c->num_bufs > UINT32_MAX || c->num_bufs > SIZE_MAX / stride)
		return gw__fail(diag, -EINVAL,
				"memory region '%s': %llu buffers of %llu bytes for %u users; use at least %u "
				"buffers of at least 1 byte", c->name, (unsigned long long)c->num_bufs,
				(unsigned long long)c->buf_size, r->n_users, r->n_users);
	r->stride = (uint32_t)stride;
	r->share = (uint32_t)(c->num_bufs / r->n_users);
	r->bytes = (size_t)(c->num_bufs * stride);
	err = gw->gpu->mem_alloc(c->kind, r->bytes, c->affinity, &r->ptr, diag);
	if (err)
		return err;
	r->host = gw->gpu->host_alias(r->ptr, r->bytes);
	/* Pages now, not one by one while packets come; registered memory is resident anyway. An older kernel
	 * refuses (5.14 knows it), and then they do come one by one. */
	if (r->host)
		(void)madvise(r->host, r->bytes, MADV_POPULATE_WRITE);
	return 0;
}

int gw__regions_open(struct gw *gw, struct gw_diag *diag)
{
	int err = 0;

	gw->region = gw__calloc(gw->cfg->n_regions, sizeof(*gw->region));
	if (!gw->region)
		return gw__fail(diag, -ENOMEM, "no memory for %u regions", gw->cfg->n_regions);
	count_users(gw);
	for (uint32_t i = 0; i < gw->cfg->n_regions && !err; i++)
		err = region_open(gw, i, diag);
	return err;
}

void gw__regions_close(struct gw *gw)
{
	for (uint32_t i = 0; gw->region && i < gw->cfg->n_regions; i++)
		if (gw->region[i].ptr)
			gw->gpu->mem_free(gw->region[i].ptr);
	gw__free(gw->region);
	gw->region = NULL;
}

int gw__slots_take(struct gw *gw, const uint32_t *region, uint32_t n, struct gw__slots *out,
		   const char *who, struct gw_diag *diag)
{
	if (!n || n > GW_MAX_SEGS)
		return gw__fail(diag, -EINVAL, "%s: %u memory regions; use 1 to %u", who, n, GW_MAX_SEGS);
	out->n_segs = n;
	out->n_slots = UINT32_MAX;
	for (uint32_t s = 0; s < n; s++) {
		struct gw__region *r = &gw->region[region[s]];
		const struct gw_cfg_region *c = &gw->cfg->region[region[s]];
		size_t at = (size_t)r->n_shared++ * r->share * r->stride;

		out->seg[s].base = (uint8_t *)r->ptr + at;
		out->seg[s].host = r->host ? r->host + at : NULL;
		out->seg[s].stride = r->stride;
		out->seg[s].size = (uint32_t)c->buf_size;
		out->seg[s].kind = c->kind;
		if (r->share < out->n_slots)
			out->n_slots = r->share;
	}
	return 0;
}
