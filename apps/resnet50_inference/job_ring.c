/* resnet50_inference/job_ring.c: the hand-over between the two workers.
 * Must not know bursts or networks. Next: rx_producer.c, inference_consumer.c. */
#include "job_ring.h"

#include <errno.h>
#include <string.h>

int job_ring_init(struct job_ring *r)
{
	int err;

	memset(r, 0, sizeof(*r));
	r->work.fd = -1;
	r->room.fd = -1;
	err = gw__event_init(&r->work);
	if (err)
		return err;
	err = gw__event_init(&r->room);
	if (err)
		gw__event_fini(&r->work);
	return err;
}

void job_ring_fini(struct job_ring *r)
{
	gw__event_fini(&r->work);
	gw__event_fini(&r->room);
}

static uint32_t next_of(uint32_t i)
{
	return (i + 1) & (JOB_RING_CAP - 1);
}

static bool is_full(struct job_ring *r)
{
	uint32_t head = atomic_load_explicit(&r->head, memory_order_relaxed);

	/* pairs with the release in job_ring_pop(): the slot was copied out before we write it again */
	return next_of(head) == atomic_load_explicit(&r->tail, memory_order_acquire);
}

static bool is_empty(struct job_ring *r)
{
	uint32_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);

	/* pairs with the release in job_ring_push(): the slot's bytes are there */
	return tail == atomic_load_explicit(&r->head, memory_order_acquire);
}

bool job_ring_push(struct job_ring *r, const struct job *job)
{
	uint32_t head = atomic_load_explicit(&r->head, memory_order_relaxed);

	if (is_full(r))
		return false;
	r->slot[head] = *job;
	atomic_store_explicit(&r->head, next_of(head), memory_order_release);
	gw__event_signal(&r->work);
	return true;
}

void job_ring_close(struct job_ring *r)
{
	atomic_store_explicit(&r->done, true, memory_order_release);
	gw__event_kick(&r->work);
}

bool job_ring_pop(struct job_ring *r, struct job *job)
{
	uint32_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);

	if (is_empty(r))
		return false;
	*job = r->slot[tail];
	atomic_store_explicit(&r->tail, next_of(tail), memory_order_release);
	gw__event_signal(&r->room);
	return true;
}

void job_ring_wait_room(struct job_ring *r, uint64_t timeout_ns)
{
	gw__event_arm(&r->room);
	if (!is_full(r))
		gw__event_disarm(&r->room);
	else
		(void)gw__event_block(&r->room, timeout_ns);
}

void job_ring_wait_work(struct job_ring *r, uint64_t timeout_ns)
{
	gw__event_arm(&r->work);
	if (!is_empty(r) || atomic_load_explicit(&r->done, memory_order_acquire))
		gw__event_disarm(&r->work);
	else
		(void)gw__event_block(&r->work, timeout_ns);
}

bool job_ring_finished(struct job_ring *r)
{
	/* done first: what was pushed before it is then visible */
	return atomic_load_explicit(&r->done, memory_order_acquire) && is_empty(r);
}

uint32_t job_ring_depth(struct job_ring *r)
{
	uint32_t head = atomic_load_explicit(&r->head, memory_order_acquire);
	uint32_t tail = atomic_load_explicit(&r->tail, memory_order_acquire);

	return (head - tail) & (JOB_RING_CAP - 1);
}
