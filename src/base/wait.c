/* base/wait.c: the wait ladder. Must not know what is waited for. */
#include "base/wait.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define SPIN_MIN 12u /* doubled five times it is GW__SPIN_MAX */
#define YIELD_LIMIT 4u

static _Atomic int n_threads;

void gw__threads_add(int n)
{
	atomic_fetch_add_explicit(&n_threads, n, memory_order_relaxed);
}

int gw__event_init(struct gw__event *e)
{
	atomic_init(&e->armed, 0);
	e->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	return e->fd < 0 ? -errno : 0;
}

void gw__event_fini(struct gw__event *e)
{
	if (e->fd >= 0)
		close(e->fd);
	e->fd = -1;
}

void gw__event_kick(struct gw__event *e)
{
	uint64_t one = 1;

	/* EAGAIN means the count is at its top: the waiter wakes anyway */
	while (write(e->fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

void gw__event_signal(struct gw__event *e)
{
	/* seq_cst read-modify-write: orders the caller's work store before the test of armed; pairs with
	 * gw__event_arm(). (A fence would be invisible to the thread sanitizer.) */
	if (atomic_fetch_and_explicit(&e->armed, 0, memory_order_seq_cst))
		gw__event_kick(e);
}

void gw__event_arm(struct gw__event *e)
{
	/* pairs with gw__event_signal() */
	atomic_exchange_explicit(&e->armed, 1, memory_order_seq_cst);
}

void gw__event_disarm(struct gw__event *e)
{
	atomic_store_explicit(&e->armed, 0, memory_order_relaxed);
}

int gw__event_block(struct gw__event *e, uint64_t timeout_ns)
{
	struct pollfd p = { .fd = e->fd, .events = POLLIN };
	struct timespec ts = { .tv_sec = (time_t)(timeout_ns / 1000000000u),
			       .tv_nsec = (long)(timeout_ns % 1000000000u) };
	int n = ppoll(&p, 1, timeout_ns == UINT64_MAX ? NULL : &ts, NULL);
	uint64_t got;

	if (n < 0)
		n = errno == EINTR ? 0 : -errno;
	if (n > 0)
		while (read(e->fd, &got, sizeof(got)) < 0 && errno == EINTR)
			;
	gw__event_disarm(e);
	return n;
}

void gw__ladder_init(struct gw__ladder *l)
{
	*l = (struct gw__ladder){ .spin_limit = GW__SPIN_MAX };
}

bool gw__ladder_step(struct gw__ladder *l)
{
	static _Atomic long n_cores;
	long cores = atomic_load_explicit(&n_cores, memory_order_relaxed);

	if (!cores) {
		cpu_set_t set;

		cores = sched_getaffinity(0, sizeof(set), &set) ? 1 : CPU_COUNT(&set);
		atomic_store_explicit(&n_cores, cores, memory_order_relaxed);
	}
	if (atomic_load_explicit(&n_threads, memory_order_relaxed) < cores &&
	    l->n_spin < l->spin_limit) {
		l->n_spin++;
#if defined(__x86_64__)
		__builtin_ia32_pause();
#elif defined(__aarch64__)
		__asm__ volatile("yield");
#endif
		return false;
	}
	if (l->n_yield < YIELD_LIMIT) {
		if (!l->n_yield && l->n_spin == l->spin_limit && l->spin_limit > SPIN_MIN)
			l->spin_limit /= 2;
		l->n_yield++;
		sched_yield();
		return false;
	}
	return true;
}

int gw__pin_to_core(int core)
{
	cpu_set_t set;

	if (core < 0 || core >= CPU_SETSIZE)
		return -EINVAL;
	CPU_ZERO(&set);
	CPU_SET(core, &set);
	return -pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
}
