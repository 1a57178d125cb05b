/* worker_coll/algo.c: the rounds of each collective: in every round some sends and one or more receives.
 * Must not know where buffers come from. Next: worker_coll.c.
 *
 *   barrier    dissemination: round k, tell rank + 2^k, hear rank - 2^k
 *   allgather  ring: pass on the block that came last
 *   alltoall   round k: give to rank + k, take from rank - k
 *   allreduce  small: allgather, then reduce in rank order; large: ring reduce-scatter, then ring allgather
 * Every rank adds the same numbers in the same order, so all ranks hold the same bytes.
 * A tag is team, sequence, round and sender: a fast rank may be rounds ahead, nothing is mixed up. */
#include <errno.h>
#include <string.h>

#include "coll.h"

#define SMALL 4096u /* bytes of an allreduce vector that are gathered whole */

static uint64_t tag_of(const struct coll_job *j, uint32_t round, uint32_t sender)
{
	/* 12 bits of team, 20 of sequence, 20 of round, 12 of sender */
	return (uint64_t)(j->team & 0xfff) << 52 | (j->sequence & 0xfffff) << 32 | (uint64_t)(round & 0xfffff) << 12 |
	       (sender & 0xfff);
}

static bool ring_reduce(const struct coll_job *j)
{
	return j->kind == UROM_COLL_ALLREDUCE && j->count * j->elem > SMALL && j->count >= j->size;
}

/* Part r of an allreduce vector, in elements: as even as can be. */
static uint64_t part_at(const struct coll_job *j, uint32_t r)
{
	return j->count / j->size * r + (r < j->count % j->size ? r : j->count % j->size);
}

static uint64_t part_len(const struct coll_job *j, uint32_t r)
{
	return part_at(j, r + 1) - part_at(j, r);
}

int coll_prepare(struct coll_job *j)
{
	size_t scratch = 1;

	j->n_rounds = 0;
	if (j->size == 1 || (j->kind != UROM_COLL_BARRIER && !j->count)) {
		j->n_rounds = 0;
	} else if (j->kind == UROM_COLL_BARRIER) {
		for (uint32_t k = 1; k < j->size; k *= 2)
			j->n_rounds++;
	} else if (ring_reduce(j)) {
		j->n_rounds = 2 * (j->size - 1);
		scratch = (j->count / j->size + 1) * j->elem;
	} else {
		j->n_rounds = j->size - 1;
		if (j->kind == UROM_COLL_ALLREDUCE)
			scratch = j->size * j->count * j->elem;
	}
	j->scratch = malloc(scratch);
	return j->scratch ? 0 : -ENOMEM;
}

static void ended(struct coll_job *j, int status)
{
	j->n_open--;
	j->c->more = true;
	if (status && j->status == DOCA_SUCCESS)
		coll_fail(j, status == -ENOMEM ? DOCA_ERROR_NO_MEMORY : status == -EMSGSIZE ?
			  DOCA_ERROR_UNEXPECTED : DOCA_ERROR_CONNECTION_RESET);
}

static void sent(void *arg, int status)
{
	ended(arg, status);
}

static void got(void *arg, int status, uint64_t tag, const void *data, size_t len, uint64_t from)
{
	(void)tag;
	(void)data;
	(void)len;
	(void)from;
	ended(arg, status);
}

void coll_fail(struct coll_job *j, doca_error_t why)
{
	if (j->status == DOCA_SUCCESS)
		j->status = why;
	j->n_open -= gw__mesh_cancel(j->c->mesh, j);
}

static void give(struct coll_job *j, uint32_t to, uint32_t round, const void *buf, size_t len)
{
	int err;

	if (j->status != DOCA_SUCCESS)
		return;
	j->n_open++;
	err = gw__mesh_send(j->c->mesh, j->peers[to], tag_of(j, round, j->rank), buf, len, sent, j);
	if (err)
		ended(j, err);
}

static void take(struct coll_job *j, uint32_t from, uint32_t round, void *buf, size_t len)
{
	static uint8_t nothing[1];
	int err;

	if (j->status != DOCA_SUCCESS)
		return;
	j->n_open++;
	err = gw__mesh_recv(j->c->mesh, tag_of(j, round, from), UINT64_MAX, buf ? buf : nothing, len, got, j);
	if (err)
		ended(j, err);
}

/* ---- rounds: what is exchanged, and what is done with it --------------------------------------------- */

static uint32_t minus(const struct coll_job *j, uint32_t a, uint32_t b)
{
	return (a + j->size - b % j->size) % j->size;
}

static void post_barrier(struct coll_job *j)
{
	uint32_t step = 1u << j->round;

	take(j, minus(j, j->rank, step), j->round, NULL, 0);
	give(j, (j->rank + step) % j->size, j->round, NULL, 0);
}

/* Block b of `all` holds rank b's contribution; the ring passes on what came last. */
static void post_ring_gather(struct coll_job *j, uint8_t *all, size_t block, uint32_t k)
{
	uint32_t mine = minus(j, j->rank, k), next = minus(j, j->rank, k + 1);

	take(j, minus(j, j->rank, 1), j->round, all + next * block, block);
	give(j, (j->rank + 1) % j->size, j->round, all + mine * block, block);
}

static void post_alltoall(struct coll_job *j)
{
	uint32_t k = j->round + 1, to = (j->rank + k) % j->size, from = minus(j, j->rank, k);
	size_t block = j->count * j->elem;

	take(j, from, j->round, j->dst.bytes + from * block, block);
	give(j, to, j->round, j->src.bytes + to * block, block);
}

/* Rounds 0..n-2 reduce, n-1..2n-3 gather; parts are unequal by one element. */
static void post_ring_reduce(struct coll_job *j)
{
	uint32_t n = j->size, k = j->round, next = (j->rank + 1) % n, prev = minus(j, j->rank, 1), out, in;

	if (k < n - 1) {
		out = minus(j, j->rank, k);
		in = minus(j, j->rank, k + 1);
		take(j, prev, k, j->scratch, part_len(j, in) * j->elem);
	} else {
		k -= n - 1;
		out = minus(j, j->rank + 1, k);
		in = minus(j, j->rank, k);
		take(j, prev, j->round, j->dst.bytes + part_at(j, in) * j->elem, part_len(j, in) * j->elem);
	}
	give(j, next, j->round, j->dst.bytes + part_at(j, out) * j->elem, part_len(j, out) * j->elem);
}

static void post(struct coll_job *j)
{
	size_t block = j->count * j->elem;

	switch (j->kind) {
	case UROM_COLL_BARRIER:
		post_barrier(j);
		break;
	case UROM_COLL_ALLGATHER:
		post_ring_gather(j, j->dst.bytes, block, j->round);
		break;
	case UROM_COLL_ALLTOALL:
		post_alltoall(j);
		break;
	default:
		if (ring_reduce(j))
			post_ring_reduce(j);
		else
			post_ring_gather(j, j->scratch, block, j->round);
	}
}

/* Before the first round: the own contribution in its place. */
static void begin(struct coll_job *j)
{
	size_t block = j->count * j->elem;

	if (!block || j->kind == UROM_COLL_BARRIER)
		return;
	if (j->kind == UROM_COLL_ALLGATHER)
		memmove(j->dst.bytes + j->rank * block, j->src.bytes, block);
	else if (j->kind == UROM_COLL_ALLTOALL)
		memmove(j->dst.bytes + j->rank * block, j->src.bytes + j->rank * block, block);
	else if (ring_reduce(j) || j->size == 1)
		memmove(j->dst.bytes, j->src.bytes, block);
	else
		memcpy(j->scratch + j->rank * block, j->src.bytes, block);
}

static void after_round(struct coll_job *j)
{
	uint32_t in = minus(j, j->rank, j->round + 1);

	if (ring_reduce(j) && j->round < j->size - 1)
		coll_reduce(j->type, j->op, j->dst.bytes + part_at(j, in) * j->elem, j->scratch, part_len(j, in));
}

static void finish(struct coll_job *j)
{
	size_t block = j->count * j->elem;

	if (j->kind != UROM_COLL_ALLREDUCE || !block || j->size == 1 || ring_reduce(j))
		return;
	for (uint32_t r = 1; r < j->size; r++)
		coll_reduce(j->type, j->op, j->scratch, j->scratch + r * block, j->count);
	memcpy(j->dst.bytes, j->scratch, block);
}

bool coll_run(struct coll_job *j)
{
	bool any = false;

	for (;;) {
		if (j->status != DOCA_SUCCESS || (j->posted && j->n_open))
			return any;
		any = true;
		if (j->posted) {
			after_round(j);
			j->posted = false;
			j->round++;
		} else if (j->round == 0) {
			begin(j);
		}
		if (j->round == j->n_rounds) {
			finish(j);
			j->step = COLL_STORE;
			return true;
		}
		j->posted = true;
		post(j);
	}
}
