/* urom/domain.c: a set of workers that can find each other: gather every rank's addresses through the
 * caller's allgather, hand the table to the own workers.
 * Must not know what plugins do with it. Next: src/urom/worker/domain.c. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/diag.h"
#include "doca/error.h"
#include "doca/log.h"
#include "urom/host.h"
#include "urom_net/tlv.h"

#define MAX_HANDLE 4096u
#define MAX_OWN 64u

struct buffer {
	void *addr;
	size_t len;
	uint8_t *memh, *mkey;
	size_t memh_len, mkey_len;
};

enum step {
	S_IDLE,
	S_ADDRS,   /* own workers tell their plugins' addresses */
	S_LENGTHS, /* allgather of block lengths */
	S_BLOCKS,  /* allgather of the blocks, padded to the longest */
	S_TABLE,   /* own workers take the table */
	S_RUN,
};

struct doca_urom_domain {
	struct doca_ctx ctx;
	struct buffer *buffers;
	size_t n_buffers, max_buffers;
	struct doca_urom_domain_oob_coll oob;
	bool oob_set;
	struct doca_urom_worker *workers[MAX_OWN];
	uint64_t ids[MAX_OWN];
	size_t n_workers;
	uint32_t timeout_ms;
	struct gw_diag diag;
	/* while starting */
	enum step step;
	uint64_t deadline_ns;
	void *req; /* of the caller's allgather */
	uint64_t my_len, *lens;
	uint8_t *block;   /* ours, padded */
	uint8_t *gathered; /* [n][longest] */
	size_t longest;
	uint8_t *table;
	size_t table_len;
};

static struct doca_urom_domain *of(struct doca_ctx *ctx)
{
	return gw__container_of(ctx, struct doca_urom_domain, ctx);
}

static void drop_scratch(struct doca_urom_domain *d)
{
	gw__free(d->lens);
	gw__free(d->block);
	gw__free(d->gathered);
	gw__free(d->table);
	d->lens = NULL;
	d->block = d->gathered = d->table = NULL;
	d->table_len = 0;
}

static void let_go(struct doca_urom_domain *d)
{
	for (size_t i = 0; i < d->n_workers; i++)
		gw__urom_worker_hold(d->workers[i], -1);
	drop_scratch(d);
	d->step = S_IDLE;
}

static void fail(struct doca_urom_domain *d, doca_error_t r, const char *what)
{
	gw__fail(&d->diag, 0, "domain: %s: %s", what, doca_error_get_descr(r));
	gw__doca_err("%s", d->diag.text);
	/* a request still in flight may write into our buffers: the caller's free must end it first */
	if (d->req)
		d->oob.req_free(d->req);
	d->req = NULL;
	let_go(d);
	gw__doca_ctx_set_state(&d->ctx, DOCA_CTX_STATE_IDLE);
}

static doca_error_t domain_start(struct doca_ctx *ctx)
{
	struct doca_urom_domain *d = of(ctx);
	doca_error_t r = DOCA_SUCCESS;

	if (!d->oob_set || !d->n_workers || d->n_buffers < d->max_buffers)
		return DOCA_ERROR_BAD_STATE;
	for (size_t i = 0; i < d->n_workers; i++) {
		const struct doca_ctx *w = gw__urom_worker_ctx(d->workers[i]);

		if (w->state != DOCA_CTX_STATE_RUNNING || w->pe != ctx->pe)
			return DOCA_ERROR_BAD_STATE;
	}
	for (size_t i = 0; i < d->n_workers && r == DOCA_SUCCESS; i++)
		r = gw__urom_worker_ask_addr(d->workers[i]);
	if (r != DOCA_SUCCESS)
		return r;
	for (size_t i = 0; i < d->n_workers; i++)
		gw__urom_worker_hold(d->workers[i], 1);
	d->step = S_ADDRS;
	d->deadline_ns = gw__now_ns(gw__clock_monotonic()) + d->timeout_ms * 1000000ull;
	return DOCA_ERROR_IN_PROGRESS;
}

static void put_buffer(struct gw__tlv_w *w, const struct buffer *b)
{
	uint8_t nested[2 * MAX_HANDLE + 64];
	struct gw__tlv_w n = gw__tlv_writer(nested, sizeof(nested));

	gw__tlv_put_u64(&n, GW__T_VALUE, (uintptr_t)b->addr);
	gw__tlv_put_u64(&n, GW__T_LENGTH, b->len);
	gw__tlv_put(&n, GW__T_DATA, b->memh, b->memh_len);
	gw__tlv_put(&n, GW__T_MKEY, b->mkey, b->mkey_len);
	gw__tlv_put(w, GW__T_SEG, nested, n.len);
}

/* Our rank's block; the allgather of its length begins. */
static doca_error_t begin_lengths(struct doca_urom_domain *d)
{
	struct gw__tlv_w w;

	d->block = gw__malloc(GW__UROM_MAX_BLOB);
	d->lens = gw__calloc(d->oob.n_oob_indexes, sizeof(*d->lens));
	if (!d->block || !d->lens)
		return DOCA_ERROR_NO_MEMORY;
	w = gw__tlv_writer(d->block, GW__UROM_MAX_BLOB);
	for (size_t i = 0; i < d->n_workers; i++) {
		const uint8_t *addr;
		size_t len;

		gw__urom_worker_got_addr(d->workers[i], &addr, &len);
		gw__tlv_put_u64(&w, GW__T_WORKER, d->ids[i]);
		gw__tlv_put(&w, GW__T_ADDR, addr, len);
	}
	for (size_t i = 0; i < d->n_buffers; i++)
		put_buffer(&w, &d->buffers[i]);
	if (w.full)
		return DOCA_ERROR_TOO_BIG;
	d->my_len = w.len;
	return d->oob.allgather(&d->my_len, d->lens, sizeof(d->my_len), d->oob.coll_info, &d->req);
}

static doca_error_t begin_blocks(struct doca_urom_domain *d)
{
	uint8_t *p;

	d->longest = 0;
	for (uint32_t i = 0; i < d->oob.n_oob_indexes; i++) {
		if (d->lens[i] > GW__UROM_MAX_BLOB)
			return DOCA_ERROR_TOO_BIG;
		if (d->lens[i] > d->longest)
			d->longest = d->lens[i];
	}
	if (d->lens[d->oob.oob_index] != d->my_len) /* a broken allgather, told early */
		return DOCA_ERROR_UNEXPECTED;
	p = gw__realloc(d->block, d->longest);
	if (!p)
		return DOCA_ERROR_NO_MEMORY;
	d->block = p;
	memset(d->block + d->my_len, 0, d->longest - d->my_len);
	d->gathered = gw__calloc(d->oob.n_oob_indexes, d->longest);
	if (!d->gathered)
		return DOCA_ERROR_NO_MEMORY;
	return d->oob.allgather(d->block, d->gathered, d->longest, d->oob.coll_info, &d->req);
}

static doca_error_t begin_table(struct doca_urom_domain *d)
{
	size_t cap = d->oob.n_oob_indexes * (d->longest + 8);
	struct gw__tlv_w w;
	doca_error_t r = DOCA_SUCCESS;

	d->table = gw__malloc(cap);
	if (!d->table)
		return DOCA_ERROR_NO_MEMORY;
	w = gw__tlv_writer(d->table, cap);
	for (uint32_t i = 0; i < d->oob.n_oob_indexes; i++)
		gw__tlv_put(&w, GW__T_RANK, d->gathered + i * d->longest, d->lens[i]);
	d->table_len = w.len;
	for (size_t i = 0; i < d->n_workers && r == DOCA_SUCCESS; i++)
		r = gw__urom_worker_give_table(d->workers[i], d->table, d->table_len);
	return r;
}

/* SUCCESS when all own workers are there, IN_PROGRESS, or what went wrong. */
static doca_error_t all_workers(struct doca_urom_domain *d)
{
	doca_error_t all = DOCA_SUCCESS;

	for (size_t i = 0; i < d->n_workers; i++) {
		const uint8_t *blob;
		size_t len;
		doca_error_t r = d->step == S_ADDRS ? gw__urom_worker_got_addr(d->workers[i], &blob, &len) :
						      gw__urom_worker_taken(d->workers[i]);

		if (r == DOCA_ERROR_IN_PROGRESS)
			all = r;
		else if (r != DOCA_SUCCESS)
			return r;
	}
	return all;
}

static doca_error_t test_oob(struct doca_urom_domain *d)
{
	doca_error_t r = d->oob.req_test(d->req);

	if (r != DOCA_ERROR_IN_PROGRESS) {
		d->oob.req_free(d->req);
		d->req = NULL;
	}
	return r;
}

static uint8_t domain_progress(struct doca_ctx *ctx)
{
	static const char *const names[] = { "idle", "worker addresses", "first allgather", "second allgather",
					     "table to the workers", "running" };
	struct doca_urom_domain *d = of(ctx);
	enum step at = d->step;
	doca_error_t r;

	if (at == S_IDLE || at == S_RUN)
		return 0;
	r = at == S_ADDRS || at == S_TABLE ? all_workers(d) : test_oob(d);
	for (size_t i = 0; i < d->n_workers && (r == DOCA_SUCCESS || r == DOCA_ERROR_IN_PROGRESS); i++)
		if (gw__urom_worker_ctx(d->workers[i])->state != DOCA_CTX_STATE_RUNNING)
			r = DOCA_ERROR_CONNECTION_RESET; /* one of ours died: the others will hear it from its address */
	if (r == DOCA_SUCCESS) {
		if (at == S_ADDRS)
			r = begin_lengths(d);
		else if (at == S_LENGTHS)
			r = begin_blocks(d);
		else if (at == S_BLOCKS)
			r = begin_table(d);
		d->step = at + 1;
	} else if (r == DOCA_ERROR_IN_PROGRESS) {
		if (gw__now_ns(gw__clock_monotonic()) < d->deadline_ns)
			return 0;
		r = DOCA_ERROR_TIME_OUT;
	}
	if (r != DOCA_SUCCESS && r != DOCA_ERROR_IN_PROGRESS) {
		fail(d, r, names[at]);
	} else if (d->step == S_RUN) {
		drop_scratch(d);
		gw__doca_ctx_set_state(ctx, DOCA_CTX_STATE_RUNNING);
	}
	return 1;
}

static bool domain_arm(struct doca_ctx *ctx)
{
	/* the caller's allgather has no event: do not sleep on it */
	return of(ctx)->step != S_IDLE && of(ctx)->step != S_RUN;
}

static doca_error_t domain_stop(struct doca_ctx *ctx)
{
	struct doca_urom_domain *d = of(ctx);

	if (d->req)
		d->oob.req_free(d->req);
	d->req = NULL;
	let_go(d);
	return DOCA_SUCCESS;
}

static const struct gw__doca_ctx_ops domain_ops = {
	.name = "urom_domain",
	.start = domain_start,
	.stop = domain_stop,
	.progress = domain_progress,
	.arm = domain_arm,
};

/* ---- the object ---------------------------------------------------------------------------------- */

doca_error_t doca_urom_domain_create(struct doca_urom_domain **domain_ctx)
{
	struct doca_urom_domain *d;

	if (!domain_ctx)
		return DOCA_ERROR_INVALID_VALUE;
	d = gw__calloc(1, sizeof(*d));
	if (!d)
		return DOCA_ERROR_NO_MEMORY;
	gw__doca_ctx_init(&d->ctx, &domain_ops);
	d->timeout_ms = 30000;
	*domain_ctx = d;
	return DOCA_SUCCESS;
}

static void free_buffers(struct doca_urom_domain *d)
{
	for (size_t i = 0; i < d->n_buffers; i++) {
		gw__free(d->buffers[i].memh);
		gw__free(d->buffers[i].mkey);
	}
	gw__free(d->buffers);
	d->buffers = NULL;
	d->n_buffers = d->max_buffers = 0;
}

doca_error_t doca_urom_domain_destroy(struct doca_urom_domain *d)
{
	doca_error_t r;

	if (!d)
		return DOCA_ERROR_INVALID_VALUE;
	r = gw__doca_ctx_fini(&d->ctx);
	if (r != DOCA_SUCCESS)
		return r;
	free_buffers(d);
	gw__free(d);
	return DOCA_SUCCESS;
}

struct doca_ctx *doca_urom_domain_as_ctx(struct doca_urom_domain *d)
{
	return d ? &d->ctx : NULL;
}

doca_error_t doca_urom_domain_set_buffers_count(struct doca_urom_domain *d, size_t buffers_count)
{
	if (!d || buffers_count > 64)
		return DOCA_ERROR_INVALID_VALUE;
	if (d->ctx.state != DOCA_CTX_STATE_IDLE)
		return DOCA_ERROR_BAD_STATE;
	free_buffers(d);
	d->buffers = gw__calloc(buffers_count, sizeof(*d->buffers));
	if (!d->buffers)
		return DOCA_ERROR_NO_MEMORY;
	d->max_buffers = buffers_count;
	return DOCA_SUCCESS;
}

static uint8_t *copy_of(const void *from, size_t len)
{
	uint8_t *p = gw__malloc(len);

	if (p && len)
		memcpy(p, from, len);
	return p;
}

doca_error_t doca_urom_domain_add_buffer(struct doca_urom_domain *d, void *buffer, size_t buf_len, void *memh,
					 size_t memh_len, void *mkey, size_t mkey_len)
{
	struct buffer *b;

	if (!d || !buffer || !buf_len || (!memh && memh_len) || (!mkey && mkey_len))
		return DOCA_ERROR_INVALID_VALUE;
	if (d->ctx.state != DOCA_CTX_STATE_IDLE || !d->max_buffers)
		return DOCA_ERROR_BAD_STATE;
	if (d->n_buffers == d->max_buffers)
		return DOCA_ERROR_FULL;
	if (memh_len > MAX_HANDLE || mkey_len > MAX_HANDLE)
		return DOCA_ERROR_TOO_BIG;
	b = &d->buffers[d->n_buffers];
	*b = (struct buffer){ .addr = buffer, .len = buf_len, .memh_len = memh_len, .mkey_len = mkey_len,
			      .memh = copy_of(memh, memh_len), .mkey = copy_of(mkey, mkey_len) };
	if (!b->memh || !b->mkey) {
		gw__free(b->memh);
		gw__free(b->mkey);
		return DOCA_ERROR_NO_MEMORY;
	}
	d->n_buffers++;
	return DOCA_SUCCESS;
}

doca_error_t doca_urom_domain_set_oob(struct doca_urom_domain *d, struct doca_urom_domain_oob_coll *oob)
{
	if (!d || !oob || !oob->allgather || !oob->req_test || !oob->req_free || !oob->n_oob_indexes ||
	    oob->n_oob_indexes > GW__UROM_MAX_DOMAIN || oob->oob_index >= oob->n_oob_indexes)
		return DOCA_ERROR_INVALID_VALUE;
	if (d->ctx.state != DOCA_CTX_STATE_IDLE)
		return DOCA_ERROR_BAD_STATE;
	d->oob = *oob;
	d->oob_set = true;
	return DOCA_SUCCESS;
}

doca_error_t doca_urom_domain_set_workers(struct doca_urom_domain *d, uint64_t *domain_worker_ids,
					  struct doca_urom_worker **workers, size_t workers_cnt)
{
	if (!d || !domain_worker_ids || !workers || !workers_cnt || workers_cnt > MAX_OWN)
		return DOCA_ERROR_INVALID_VALUE;
	if (d->ctx.state != DOCA_CTX_STATE_IDLE)
		return DOCA_ERROR_BAD_STATE;
	for (size_t i = 0; i < workers_cnt; i++)
		if (!workers[i])
			return DOCA_ERROR_INVALID_VALUE;
	memcpy(d->workers, workers, workers_cnt * sizeof(*workers));
	memcpy(d->ids, domain_worker_ids, workers_cnt * sizeof(*domain_worker_ids));
	d->n_workers = workers_cnt;
	return DOCA_SUCCESS;
}

doca_error_t doca_urom_domain_set_timeout(struct doca_urom_domain *d, uint32_t timeout_ms)
{
	if (!d || !timeout_ms)
		return DOCA_ERROR_INVALID_VALUE;
	if (d->ctx.state != DOCA_CTX_STATE_IDLE)
		return DOCA_ERROR_BAD_STATE;
	d->timeout_ms = timeout_ms;
	return DOCA_SUCCESS;
}

const char *doca_urom_domain_get_error_text(const struct doca_urom_domain *d)
{
	return d ? d->diag.text : "";
}
