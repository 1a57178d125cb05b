/* link/shm.c: two processes, one shared memory file, one byte ring a direction.
 * The peer is hostile: its indexes and lengths are read once and clamped, the file is sealed so that it
 * cannot shrink under us, its user must be ours. Must not know queues. Next: shm_meet.c (rendezvous).
 *
 * A record is a 16-byte head and the frame, 16-aligned; the ring is mapped twice in a row, so a record never
 * wraps. armed[side] says that a thread of that side blocks: whoever publishes frames or frees room then
 * kicks that side's events (sequentially consistent both ways, so no wake-up is lost). */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "link/shm.h"

#define BATCH 64
#define UNMET_NS 20000000u /* look for the peer this often while blocked */
#define ALIVE_NS 100000000u /* and whether it still lives */

/* The memory is there (the peer may be dead by now: what it wrote can still be read). */
static bool is_up(struct shm *s)
{
	return (atomic_load_explicit(&s->state, memory_order_acquire) >= SHM_UP || gw__shm_meet(s)) && s->page;
}

static bool is_dead(struct shm *s)
{
	return atomic_load_explicit(&s->state, memory_order_acquire) == SHM_DEAD;
}

static void die(struct shm *s, const char *why)
{
	int up = SHM_UP;

	if (atomic_compare_exchange_strong_explicit(&s->state, &up, SHM_DEAD, memory_order_acq_rel,
						    memory_order_relaxed))
		gw__warn("shm:%s: %s", s->name, why);
}

/* Orderly close is a flag; a killed process is an end of file on the socket. */
static void check_alive(struct shm *s)
{
	struct pollfd p = { .fd = s->sock, .events = POLLRDHUP };

	if (is_dead(s))
		return;
	if (atomic_load_explicit(&s->page->closed[!s->side], memory_order_acquire))
		die(s, "the peer closed");
	else if (poll(&p, 1, 0) > 0 && (p.revents & (POLLRDHUP | POLLHUP | POLLERR)))
		die(s, "the peer is gone");
}

static void kick_peer(struct shm *s)
{
	if (!atomic_load_explicit(&s->page->armed[!s->side], memory_order_seq_cst) ||
	    !atomic_exchange_explicit(&s->page->armed[!s->side], 0, memory_order_seq_cst))
		return;
	pthread_mutex_lock(&s->lock);
	gw__shm_take_events(s);
	for (uint32_t i = 0; i < s->n_peer_fds; i++) {
		uint64_t one = 1;

		if (write(s->peer_fd[i], &one, sizeof(one)) < 0)
			continue; /* full: it wakes anyway */
	}
	pthread_mutex_unlock(&s->lock);
}

static uint64_t record_size(uint32_t len)
{
	return ((uint64_t)len + SHM_HEAD + 15) & ~15ull;
}

static int shm_send(struct gw__link *link, const struct gw__frame *f, int n)
{
	struct shm *s = (struct shm *)link;
	struct shm_dir *d;
	uint64_t tail, used;
	int k;

	if (is_dead(s))
		return -EPIPE;
	if (!is_up(s))
		return 0;
	d = &s->page->dir[s->side];
	tail = s->tx_tail;
	for (k = 0; k < n && f[k].len <= link->mtu; k++) {
		uint8_t *to = s->tx_ring + (tail & (SHM_RING - 1));
		uint64_t need = record_size(f[k].len);

		used = tail - s->tx_head_seen;
		if (used + need > SHM_RING) {
			uint64_t head = atomic_load_explicit(&d->head, memory_order_seq_cst);

			if (tail - head <= SHM_RING) /* else nonsense: keep what was seen */
				s->tx_head_seen = head;
			if (tail - s->tx_head_seen + need > SHM_RING)
				break;
		}
		memcpy(to, &f[k].len, 4);
		to += SHM_HEAD;
		for (uint32_t i = 0; i < f[k].n_segs; to += f[k].seg[i].len, i++)
			memcpy(to, f[k].seg[i].ptr, f[k].seg[i].len);
		tail += need;
	}
	if (!k && f[0].len > link->mtu)
		return -EMSGSIZE;
	if (k) {
		s->tx_tail = tail;
		atomic_store_explicit(&d->tail, tail, memory_order_seq_cst);
		kick_peer(s);
	} else {
		check_alive(s);
	}
	return k;
}

/* Frames that lie in [head, tail), at most max; false if the peer wrote nonsense. */
static bool gather(struct shm *s, uint64_t head, uint64_t tail, struct gw__frame *f, int max, int *n)
{
	for (*n = 0; *n < max && head != tail; (*n)++) {
		uint8_t *at = s->rx_ring + (head & (SHM_RING - 1));
		uint32_t len = __atomic_load_n((uint32_t *)(void *)at, __ATOMIC_RELAXED);

		if (!len || len > s->link.mtu || record_size(len) > tail - head)
			return false;
		f[*n].n_segs = 1;
		f[*n].len = len;
		f[*n].ts_ns = 0;
		f[*n].seg[0].ptr = at + SHM_HEAD;
		f[*n].seg[0].len = len;
		head += record_size(len);
	}
	return true;
}

static int step_once(struct shm *s, int budget, bool *held)
{
	struct shm_dir *d = &s->page->dir[!s->side];
	struct gw__frame f[BATCH];
	uint64_t head = s->rx_head, tail = atomic_load_explicit(&d->tail, memory_order_seq_cst);
	int n, k;

	if (tail == head)
		return 0;
	if (tail - head > SHM_RING || (tail & 15) ||
	    !gather(s, head, tail, f, budget < BATCH ? budget : BATCH, &n)) {
		die(s, "the peer wrote a false index or length; nothing more is read");
		return 0;
	}
	k = s->link.sink.deliver(s->link.sink.ctx, f, n);
	*held = k < n;
	for (int i = 0; i < k; i++)
		head += record_size(f[i].len);
	if (k) {
		s->rx_head = head;
		atomic_store_explicit(&d->head, head, memory_order_seq_cst);
		kick_peer(s);
	}
	return k;
}

static int shm_step(struct gw__link *link, int budget)
{
	struct shm *s = (struct shm *)link;
	int moved = 0, k = 0;
	bool held = false;

	if (!is_up(s))
		return 0;
	do {
		k = step_once(s, budget - moved, &held);
		moved += k;
	} while (k == BATCH && !held && moved < budget);
	if (!moved && !held && !(++s->n_idle & 255))
		check_alive(s);
	return moved ? moved : held ? -EAGAIN : 0;
}

static bool shm_arm(struct gw__link *link)
{
	struct shm *s = (struct shm *)link;

	if (!is_up(s))
		return false;
	check_alive(s);
	atomic_exchange_explicit(&s->page->armed[s->side], 1, memory_order_seq_cst);
	/* the port steps once more after this, which sees whatever was published before armed was */
	return false;
}

static uint64_t shm_due(struct gw__link *link)
{
	struct shm *s = (struct shm *)link;

	if (is_dead(s))
		return UINT64_MAX;
	return gw__now_ns(link->clock) + (is_up(s) ? ALIVE_NS : UNMET_NS);
}

static int shm_watch(struct gw__link *link, struct gw__event *event)
{
	struct shm *s = (struct shm *)link;
	int err = 0;

	pthread_mutex_lock(&s->lock);
	if (s->n_own_fds == SHM_MAX_EVENTS)
		err = -ENOSPC;
	else
		s->own_fd[s->n_own_fds++] = event->fd;
	if (!err && atomic_load_explicit(&s->state, memory_order_relaxed) == SHM_UP)
		gw__shm_offer_events(s);
	pthread_mutex_unlock(&s->lock);
	return err;
}

static void shm_close(struct gw__link *link)
{
	struct shm *s = (struct shm *)link;

	if (s->page) {
		atomic_store_explicit(&s->page->closed[s->side], 1, memory_order_seq_cst);
		kick_peer(s);
	}
	gw__shm_part(s);
}

const struct gw__link_ops gw__shm_ops = {
	.send = shm_send,
	.step = shm_step,
	.arm = shm_arm,
	.resume = gw__link_no_resume,
	.due_ns = shm_due,
	.watch = shm_watch,
	.plugged = gw__link_no_plugged,
	.close = shm_close,
};
