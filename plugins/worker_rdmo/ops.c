/* worker_rdmo/ops.c: the initiators' operations, in the order of each client.
 * Must not trust an initiator: every address is looked up in a registered region, every length checked.
 * Next: rdmo.h.
 *
 * An append takes its place by the pointer kept here, stores the data, moves the pointer; the pointer goes
 * home at the next flush, after the data. A pointer is read once, and its queue waits meanwhile. */
#include <errno.h>
#include <string.h>

#include "rdmo.h"

#define PIECE 32768u
#define OP_HDR 24u

enum step {
	DONE,
	WAIT,  /* something in flight must end first */
	STUCK, /* no room in the channel: try again */
};

static struct rdmo_mr *find_mr(struct rdmo *r, const struct rdmo_rq *q, uint64_t rkey)
{
	uint64_t i = (rkey & 0xffff) - 1;

	return rkey && i < RDMO_MAX_MR && r->mrs[i].rkey == rkey && r->mrs[i].dest == q->dest ? &r->mrs[i] : NULL;
}

/* [addr, addr + len) inside the region? Its place in the segment. */
static bool inside(const struct rdmo_mr *m, uint64_t addr, uint64_t len, uint64_t *offset)
{
	if (!m || addr < m->va || addr - m->va > m->len || len > m->len - (addr - m->va))
		return false;
	*offset = m->offset + (addr - m->va);
	return true;
}

/* ---- answers -------------------------------------------------------------------------------------- */

static void sent(void *arg, int status)
{
	(void)status;
	free(arg);
}

static void answer(struct rdmo *r, uint64_t from, uint64_t id, uint32_t op, doca_error_t status, uint64_t flush_id)
{
	uint8_t *buf = malloc(32);
	struct urom_packer p = urom_packer(buf, 32);

	if (!buf)
		return;
	urom_put_u64(&p, id);
	urom_put_u32(&p, op);
	urom_put_u32(&p, (uint32_t)status);
	urom_put_u64(&p, flush_id);
	if (gw__mesh_send(r->mesh, from, RDMO_TAG_ANSWER, buf, p.len, sent, buf))
		free(buf);
}

static void op_failed(struct rdmo_rq *q, const struct rdmo_op *op, doca_error_t why)
{
	if (q->first_error == DOCA_SUCCESS)
		q->first_error = why;
	if (op->op != RDMO_OP_FLUSH)
		answer(q->r, op->from, op->id, op->op, why, 0);
}

void rdmo_rq_clear(struct rdmo_rq *q, doca_error_t why)
{
	struct rdmo_op *op;

	while ((op = q->ops)) {
		q->ops = op->next;
		answer(q->r, op->from, op->id, op->op, why, op->flush_id);
		free(op);
	}
	q->last = &q->ops;
	q->n_ops = 0;
	q->used = false; /* n_flying keeps the place until the last access ended */
}

/* ---- target memory -------------------------------------------------------------------------------- */

static void flown(void *arg, doca_error_t status, const void *data, size_t len, uint64_t value)
{
	struct rdmo_rq *q = arg;

	(void)data;
	(void)len;
	(void)value;
	q->n_flying--;
	if (status != DOCA_SUCCESS && q->first_error == DOCA_SUCCESS)
		q->first_error = status;
}

static enum step put(struct rdmo_rq *q, struct rdmo_mr *m, uint64_t offset, const void *data, size_t len,
		     doca_error_t *err)
{
	doca_error_t e;

	q->n_flying++;
	e = q->r->ctx->mem_iface->put(q->r->ctx, m->dest, m->seg, offset, data, len, flown, q);
	if (e == DOCA_SUCCESS)
		return DONE;
	q->n_flying--;
	*err = e;
	return e == DOCA_ERROR_AGAIN ? STUCK : DONE;
}

/* ---- pointers ------------------------------------------------------------------------------------- */

void rdmo_forget_ptrs(struct rdmo *r, uint64_t rkey)
{
	for (uint32_t i = 0; i < RDMO_MAX_PTR; i++)
		if (r->ptrs[i].used && r->ptrs[i].rkey == rkey) {
			/* an access in flight still names the place: it is freed when that ends */
			r->ptrs[i].rkey = 0;
			if (!r->ptrs[i].loading && !r->ptrs[i].writing)
				r->ptrs[i].used = false;
		}
}

static void ptr_loaded(void *arg, doca_error_t status, const void *data, size_t len, uint64_t value)
{
	struct rdmo_ptr *p = arg;

	(void)value;
	p->loading = false;
	if (!p->rkey || status != DOCA_SUCCESS || len != 8) {
		p->used = false;
		return;
	}
	/* the word is the host's own u64: one machine, or two of the same byte order */
	memcpy(&p->value, data, 8);
	p->valid = true;
}

static struct rdmo_ptr *get_ptr(struct rdmo *r, uint64_t rkey, uint64_t addr)
{
	struct rdmo_ptr *free_one = NULL;

	for (uint32_t i = 0; i < RDMO_MAX_PTR; i++) {
		struct rdmo_ptr *p = &r->ptrs[i];

		if (p->used && p->rkey == rkey && p->addr == addr)
			return p;
		if (!p->used && !free_one)
			free_one = p;
	}
	if (free_one)
		*free_one = (struct rdmo_ptr){ .used = true, .rkey = rkey, .addr = addr, .r = r };
	return free_one;
}

struct writing {
	struct rdmo_rq *q;
	struct rdmo_ptr *p;
};

static void ptr_written(void *arg, doca_error_t status, const void *data, size_t len, uint64_t value)
{
	struct writing *w = arg;

	w->p->writing = false;
	if (!w->p->rkey)
		w->p->used = false;
	flown(w->q, status, data, len, value);
	free(w);
}

/* All dirty pointers of this target go home. */
static enum step write_back(struct rdmo_rq *q)
{
	for (uint32_t i = 0; i < RDMO_MAX_PTR; i++) {
		struct rdmo_ptr *p = &q->r->ptrs[i];
		struct rdmo_mr *m = p->used ? find_mr(q->r, q, p->rkey) : NULL;
		struct writing *w;
		uint64_t offset;

		if (!m || !p->dirty || p->writing || !inside(m, p->addr, 8, &offset))
			continue;
		w = malloc(sizeof(*w));
		if (!w)
			return STUCK;
		*w = (struct writing){ .q = q, .p = p };
		p->dirty = false;
		p->writing = true;
		q->n_flying++;
		if (q->r->ctx->mem_iface->put(q->r->ctx, m->dest, m->seg, offset, &p->value, 8, ptr_written, w) !=
		    DOCA_SUCCESS) {
			q->n_flying--;
			p->dirty = true;
			p->writing = false;
			free(w);
			return STUCK;
		}
	}
	return DONE;
}

/* ---- operations ------------------------------------------------------------------------------------ */

static enum step do_flush(struct rdmo_rq *q, struct rdmo_op *op)
{
	enum step s;

	if (!op->begun) {
		if (q->n_flying)
			return WAIT; /* data before pointers */
		s = write_back(q);
		if (s != DONE)
			return s;
		op->begun = true;
	}
	if (q->n_flying)
		return WAIT;
	answer(q->r, op->from, op->id, RDMO_OP_FLUSH, q->first_error, op->flush_id);
	q->first_error = DOCA_SUCCESS;
	return DONE;
}

static enum step do_append(struct rdmo_rq *q, struct rdmo_op *op, doca_error_t *err)
{
	struct rdmo_mr *pm = find_mr(q->r, q, op->ptr_rkey), *dm = find_mr(q->r, q, op->data_rkey);
	struct rdmo_ptr *p;
	uint64_t offset;

	*err = DOCA_ERROR_NOT_PERMITTED;
	if (!inside(pm, op->ptr_addr, 8, &offset) || (offset & 7) || !dm)
		return DONE;
	p = get_ptr(q->r, op->ptr_rkey, op->ptr_addr);
	*err = DOCA_ERROR_FULL;
	if (!p)
		return DONE;
	if (!op->begun && !p->valid) {
		if (p->loading)
			return WAIT;
		p->loading = true;
		*err = q->r->ctx->mem_iface->get(q->r->ctx, pm->dest, pm->seg, offset, 8, ptr_loaded, p);
		if (*err != DOCA_SUCCESS) {
			p->loading = p->used = false;
			return *err == DOCA_ERROR_AGAIN ? STUCK : DONE;
		}
		if (!p->valid)
			return WAIT;
	}
	if (!op->begun) {
		*err = DOCA_ERROR_NOT_PERMITTED;
		if (!inside(dm, p->value, op->len, &offset))
			return DONE; /* the pointer leads out of the region, or would */
		op->begun = true;
		op->store_at = offset;
		p->value += op->len;
		p->dirty = true;
	}
	*err = DOCA_SUCCESS;
	while (op->at < op->len) {
		size_t n = op->len - op->at < PIECE ? op->len - op->at : PIECE;

		if (put(q, dm, op->store_at + op->at, op->data + op->at, n, err) == STUCK)
			return STUCK;
		if (*err != DOCA_SUCCESS)
			return DONE;
		op->at += n;
	}
	return DONE;
}

/* The whole list is checked before the first byte is stored. */
static doca_error_t check_scatter(struct rdmo_rq *q, struct rdmo_op *op)
{
	struct urom_unpacker u = urom_unpacker(op->data, op->len);
	uint64_t count = urom_get_u64(&u), offset;

	for (uint64_t i = 0; i < count && !u.bad; i++) {
		uint64_t addr = urom_get_u64(&u), rkey = urom_get_u64(&u);
		uint32_t len = urom_get_u32(&u);

		urom_get_bytes(&u, len);
		if (!u.bad && !inside(find_mr(q->r, q, rkey), addr, len, &offset))
			return DOCA_ERROR_NOT_PERMITTED;
	}
	return urom_unpacked(&u) ? DOCA_SUCCESS : DOCA_ERROR_INVALID_VALUE;
}

static enum step do_scatter(struct rdmo_rq *q, struct rdmo_op *op, doca_error_t *err)
{
	if (!op->begun) {
		*err = check_scatter(q, op);
		if (*err != DOCA_SUCCESS)
			return DONE;
		op->begun = true;
		op->at = 8;
	}
	*err = DOCA_SUCCESS;
	while (op->at < op->len || op->entry_left) {
		struct urom_unpacker u = urom_unpacker(op->data, op->len);
		struct rdmo_mr *m;
		uint64_t offset;
		size_t n;

		if (!op->entry_left) {
			u.at = op->at;
			op->entry_addr = urom_get_u64(&u);
			op->entry_rkey = urom_get_u64(&u);
			op->entry_left = urom_get_u32(&u);
			op->entry_at = u.at;
			op->at = u.at + op->entry_left;
			if (!op->entry_left)
				continue;
		}
		n = op->entry_left < PIECE ? op->entry_left : PIECE;
		m = find_mr(q->r, q, op->entry_rkey);
		*err = DOCA_ERROR_NOT_PERMITTED; /* deregistered meanwhile */
		if (!inside(m, op->entry_addr, n, &offset))
			return DONE;
		*err = DOCA_SUCCESS;
		if (put(q, m, offset, op->data + op->entry_at, n, err) == STUCK)
			return STUCK;
		if (*err != DOCA_SUCCESS)
			return DONE;
		op->entry_addr += n;
		op->entry_at += n;
		op->entry_left -= n;
	}
	return DONE;
}

static enum step run(struct rdmo_rq *q, struct rdmo_op *op)
{
	doca_error_t err = DOCA_SUCCESS;
	enum step s;

	if ((op->flags & RDMO_FENCE) && !op->begun && q->n_flying)
		return WAIT;
	if (op->op == RDMO_OP_FLUSH)
		return do_flush(q, op);
	s = op->op == RDMO_OP_APPEND ? do_append(q, op, &err) : do_scatter(q, op, &err);
	if (s == DONE && err != DOCA_SUCCESS)
		op_failed(q, op, err);
	return s;
}

bool rdmo_step(struct rdmo *r)
{
	bool any = false;

	r->stuck = false;
	for (uint32_t i = 0; i < RDMO_MAX_RQ; i++) {
		struct rdmo_rq *q = &r->rqs[i];

		while (q->used && q->ops) {
			struct rdmo_op *op = q->ops;
			enum step s = run(q, op);

			r->stuck |= s == STUCK;
			if (s != DONE)
				break;
			any = true;
			q->ops = op->next;
			if (!q->ops)
				q->last = &q->ops;
			q->n_ops--;
			free(op);
		}
	}
	return any;
}

/* ---- arrival ---------------------------------------------------------------------------------------- */

static struct rdmo_rq *find_rq(struct rdmo *r, uint64_t client)
{
	for (uint32_t i = 0; i < RDMO_MAX_RQ; i++)
		if (r->rqs[i].used && r->rqs[i].client == client)
			return &r->rqs[i];
	return NULL;
}

static void take(struct rdmo *r, const void *data, size_t len, uint64_t from)
{
	struct urom_unpacker u = urom_unpacker(data, len);
	struct rdmo_rq *q = find_rq(r, urom_get_u64(&u));
	struct rdmo_op head = { .from = from }, *op;
	doca_error_t why = DOCA_SUCCESS;

	head.id = urom_get_u64(&u);
	head.op = urom_get_u32(&u);
	head.flags = urom_get_u32(&u);
	if (head.op == RDMO_OP_FLUSH) {
		head.flush_id = urom_get_u64(&u);
	} else if (head.op == RDMO_OP_APPEND) {
		head.ptr_addr = urom_get_u64(&u);
		head.ptr_rkey = urom_get_u64(&u);
		head.data_rkey = urom_get_u64(&u);
	}
	if (u.bad || head.op > RDMO_OP_SCATTER || (head.op == RDMO_OP_FLUSH && u.at != u.len))
		why = DOCA_ERROR_INVALID_VALUE;
	else if (!q)
		why = DOCA_ERROR_NOT_FOUND;
	else if (q->n_ops == RDMO_MAX_QUEUE)
		why = DOCA_ERROR_FULL;
	head.len = u.bad ? 0 : u.len - u.at;
	op = why == DOCA_SUCCESS ? malloc(sizeof(*op) + head.len) : NULL;
	if (!op) { /* an answer at once: the initiator must not wait for ever */
		answer(r, from, head.id, head.op, why == DOCA_SUCCESS ? DOCA_ERROR_NO_MEMORY : why, head.flush_id);
		return;
	}
	*op = head;
	memcpy(op->data, u.buf + u.at, head.len);
	*q->last = op;
	q->last = &op->next;
	q->n_ops++;
}

static void arrived(void *arg, int status, uint64_t tag, const void *data, size_t len, uint64_t from)
{
	struct rdmo *r = arg;

	(void)tag;
	if (status == -ESHUTDOWN)
		return;
	if (status == 0)
		take(r, data, len, from);
	rdmo_listen(r); /* for the next */
}

int rdmo_listen(struct rdmo *r)
{
	return gw__mesh_recv(r->mesh, RDMO_TAG_OP, UINT64_MAX, NULL, 0, arrived, r);
}
