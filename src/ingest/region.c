/* ingest/region.c: the memory regions, and their cutting into paired slots, a share for each user.
 * Must not know what lies in a slot. Next: rxq.c, txq.c and plan.c take shares. */
#include <errno.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "base/diag.h"
#include "base/log.h"
#include "ingest/gw.h"

static void use_in_queue(struct gw__region *r)
{
	r->n_users++;
	r->in_queue = true;
}

static void count_users(struct gw *gw)
{
	for (uint32_t p = 0; p < gw->cfg->n_ports; p++) {
		const struct gw_cfg_port *port = &gw->cfg->port[p];

		for (uint32_t i = 0; i < port->n_rxq; i++)
			for (uint32_t s = 0; s < port->rxq[i].n_regions; s++)
				use_in_queue(&gw->region[port->rxq[i].region[s]]);
		for (uint32_t i = 0; i < port->n_txq; i++)
			for (uint32_t s = 0; s < port->txq[i].n_regions; s++)
				use_in_queue(&gw->region[port->txq[i].region[s]]);
		for (uint32_t i = 0; i < port->n_reorder && port->n_rxq; i++)
			gw->region[port->reorder[i].region].n_users++;
	}
}

static uint64_t stride_of(const struct gw_cfg_region *c)
{
	return (c->buf_size + GW__STRIDE - 1) / GW__STRIDE * GW__STRIDE;
}

static const struct gw_region_mem *brought(const struct gw__open_opts *opts, const char *name)
{
	for (uint32_t i = 0; opts && i < opts->n_mem; i++)
		if (opts->mem[i].name && !strcmp(opts->mem[i].name, name))
			return &opts->mem[i];
	return NULL;
}

/* A CPU that plays the NIC cannot write a real GPU's memory. Pinned memory, which the reorder launch reads in place,
 * is the nearest that both can reach, and cheaper than staging every packet. */
static enum gw_mem_kind kind_here(const struct gw *gw, const struct gw_cfg_region *c, const struct gw__region *r)
{
	if (c->kind != GW_MEM_DEVICE || !r->in_queue || gw->gpu->cpu_twins)
		return c->kind;
	gw__warn("memory region '%s': engine %s moves packets on the CPU, which cannot write GPU memory; its slots are "
		 "host_pinned", c->name, gw->cfg->engine);
	return GW_MEM_HOST_PINNED;
}

/* The application's memory: large enough, aligned, and visible to the GPU where the kind says so. */
static int take_memory(struct gw *gw, const struct gw_cfg_region *c, struct gw__region *r,
		       const struct gw_region_mem *m, struct gw_diag *diag)
{
	int err;

	if (!m)
		return gw__fail(diag, -EINVAL,
				"memory region '%s': owned: false, and no memory came with gw_open_with(); bring %zu "
				"bytes or set owned: true", c->name, r->bytes);
	if (!m->ptr || (uintptr_t)m->ptr % 64 || m->n_bytes < r->bytes)
		return gw__fail(diag, -EINVAL,
				"memory region '%s': %zu bytes at %p; %zu bytes at a multiple of 64 are needed",
				c->name, m->n_bytes, m->ptr, r->bytes);
	if (c->kind == GW_MEM_DEVICE && r->in_queue && !gw->gpu->cpu_twins)
		return gw__fail(diag, -ENOTSUP,
				"memory region '%s': engine %s moves packets on the CPU, which cannot write GPU memory; "
				"use kind: host_pinned", c->name, gw->cfg->engine);
	if (c->kind == GW_MEM_HOST_PINNED) {
		err = gw->gpu->host_register(m->ptr, r->bytes);
		if (err)
			return gw__fail(diag, err, "memory region '%s': the GPU cannot be shown this memory", c->name);
		r->registered = true;
	}
	r->ptr = m->ptr;
	return 0;
}

static int region_open(struct gw *gw, uint32_t i, const struct gw__open_opts *opts, struct gw_diag *diag)
{
	const struct gw_cfg_region *c = &gw->cfg->region[i];
	struct gw__region *r = &gw->region[i];
	uint64_t stride = stride_of(c);
	int err;

	if (c->owned && brought(opts, c->name))
		return gw__fail(diag, -EINVAL,
				"memory region '%s': memory came with gw_open_with(), but the file says owned: true; set "
				"owned: false", c->name);
	if (!r->n_users)
		return 0; /* the configuration warned about it */
	if (!c->buf_size || stride > UINT32_MAX || c->num_bufs / r->n_users == 0 ||
	    c->num_bufs > UINT32_MAX || c->num_bufs > SIZE_MAX / stride)
		return gw__fail(diag, -EINVAL,
				"memory region '%s': %llu buffers of %llu bytes for %u users; use at least %u "
				"buffers of at least 1 byte", c->name, (unsigned long long)c->num_bufs,
				(unsigned long long)c->buf_size, r->n_users, r->n_users);
	r->stride = (uint32_t)stride;
	r->share = (uint32_t)(c->num_bufs / r->n_users);
	r->bytes = (size_t)(c->num_bufs * stride);
	r->ours = c->owned;
	r->kind = c->owned ? kind_here(gw, c, r) : c->kind;
	err = c->owned ? gw->gpu->mem_alloc(r->kind, r->bytes, c->affinity, &r->ptr, diag) :
			 take_memory(gw, c, r, brought(opts, c->name), diag);
	if (err)
		return err;
	r->host = gw->gpu->host_alias(r->ptr, r->bytes);
	/* Pages now, not one by one while packets come, else a run's memory grows for its first minute; registered
	 * memory is resident anyway. A kernel before 5.14 refuses, and then they do come one by one. */
	if (r->host && r->ours)
		(void)madvise(r->host, r->bytes, MADV_POPULATE_WRITE);
	return 0;
}

static int all_known(const struct gw *gw, const struct gw__open_opts *opts, struct gw_diag *diag)
{
	for (uint32_t i = 0; opts && i < opts->n_mem; i++) {
		const char *name = opts->mem[i].name ? opts->mem[i].name : "";
		uint32_t k = 0;

		while (k < gw->cfg->n_regions && strcmp(gw->cfg->region[k].name, name))
			k++;
		if (k == gw->cfg->n_regions)
			return gw__fail(diag, -EINVAL, "gw_open_with: the file has no memory region '%s'", name);
	}
	return 0;
}

int gw__regions_open(struct gw *gw, const struct gw__open_opts *opts, struct gw_diag *diag)
{
	int err = all_known(gw, opts, diag);

	if (err)
		return err;
	gw->region = gw__calloc(gw->cfg->n_regions, sizeof(*gw->region));
	if (!gw->region)
		return gw__fail(diag, -ENOMEM, "no memory for %u regions", gw->cfg->n_regions);
	count_users(gw);
	for (uint32_t i = 0; i < gw->cfg->n_regions && !err; i++)
		err = region_open(gw, i, opts, diag);
	return err;
}

void gw__regions_close(struct gw *gw)
{
	for (uint32_t i = 0; gw->region && i < gw->cfg->n_regions; i++) {
		struct gw__region *r = &gw->region[i];

		if (r->registered)
			gw->gpu->host_unregister(r->ptr);
		if (r->ptr && r->ours)
			gw->gpu->mem_free(r->ptr);
	}
	gw__free(gw->region);
	gw->region = NULL;
}

int gw_region_bytes(const struct gw_config *config, const char *name, size_t *n_bytes)
{
	const struct gw_cfg *cfg = config ? gw__config(config) : NULL;

	for (uint32_t i = 0; cfg && name && i < cfg->n_regions; i++)
		if (!strcmp(cfg->region[i].name, name)) {
			*n_bytes = (size_t)(cfg->region[i].num_bufs * stride_of(&cfg->region[i]));
			return 0;
		}
	return -ENOENT;
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
		out->seg[s].kind = r->kind;
		if (r->share < out->n_slots)
			out->n_slots = r->share;
	}
	return 0;
}
