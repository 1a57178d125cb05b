/* urom_net/shm.c: the shared-memory rings of a channel. Must not know frames. Next: chan.c. */
#include "urom_net/shm.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE 4096u
#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW)

static size_t map_bytes(uint32_t size)
{
	return PAGE + 2 * (size_t)size;
}

int gw__shm_make(uint32_t size, int *memfd, int bells[2])
{
	int fd = memfd_create("urom-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING), err;

	if (fd < 0)
		return -errno;
	if (ftruncate(fd, (off_t)map_bytes(size)) || fcntl(fd, F_ADD_SEALS, SEALS | F_SEAL_SEAL)) {
		err = -errno;
		goto err_fd;
	}
	bells[0] = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	bells[1] = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (bells[0] < 0 || bells[1] < 0) {
		err = -errno;
		goto err_bells;
	}
	*memfd = fd;
	return 0;

err_bells:
	if (bells[0] >= 0)
		close(bells[0]);
	if (bells[1] >= 0)
		close(bells[1]);
err_fd:
	close(fd);
	return err;
}

int gw__shm_open(struct gw__shm *s, int memfd, uint32_t size, const int bells[2], bool maker)
{
	struct gw__shm_dir *dirs;
	struct stat st;
	uint8_t *data;
	int seals = fcntl(memfd, F_GET_SEALS);

	memset(s, 0, sizeof(*s));
	/* unsealed memory could shrink under us: SIGBUS */
	if (size < PAGE || (size & (size - 1)) || seals < 0 || (seals & SEALS) != SEALS ||
	    fstat(memfd, &st) || st.st_size != (off_t)map_bytes(size))
		return -EPROTO;
	s->map_len = map_bytes(size);
	s->map = mmap(NULL, s->map_len, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
	if (s->map == MAP_FAILED) {
		s->map = NULL;
		return -errno;
	}
	dirs = s->map;
	data = (uint8_t *)s->map + PAGE;
	s->size = size;
	s->out = &dirs[maker ? 0 : 1];
	s->in = &dirs[maker ? 1 : 0];
	s->out_data = data + (maker ? 0 : size);
	s->in_data = data + (maker ? size : 0);
	s->my_bell = bells[maker ? 0 : 1];
	s->peer_bell = bells[maker ? 1 : 0];
	return 0;
}

void gw__shm_fini(struct gw__shm *s)
{
	if (!s->map)
		return;
	munmap(s->map, s->map_len);
	close(s->my_bell);
	close(s->peer_bell);
	s->map = NULL;
}

static void ring_bell(int fd)
{
	uint64_t one = 1;

	while (write(fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

/* Copy between a ring and plain memory, in at most two pieces. */
void gw__shm_peek(struct gw__shm *s, uint64_t at, void *to, size_t n)
{
	uint64_t from = (s->in_head + at) & (s->size - 1);
	size_t first = n < s->size - from ? n : (size_t)(s->size - from);

	if (!n)
		return;
	memcpy(to, s->in_data + from, first);
	memcpy((uint8_t *)to + first, s->in_data, n - first);
}

void gw__shm_poke(struct gw__shm *s, uint64_t at, const void *from, size_t n)
{
	uint64_t to = (s->out_tail + at) & (s->size - 1);
	size_t first = n < s->size - to ? n : (size_t)(s->size - to);

	if (!n)
		return;
	memcpy(s->out_data + to, from, first);
	memcpy(s->out_data, (const uint8_t *)from + first, n - first);
}

void gw__shm_consume(struct gw__shm *s, uint64_t n)
{
	s->in_head += n;
	/* pairs with the acquire in writable() */
	atomic_store_explicit(&s->in->head, s->in_head, memory_order_release);
	/* seq_cst: orders the store above before the test; pairs with arm() on the other side */
	if (atomic_fetch_and_explicit(&s->in->writer_waits, 0, memory_order_seq_cst))
		ring_bell(s->peer_bell);
}

int64_t gw__shm_writable(struct gw__shm *s)
{
	uint64_t used = s->out_tail - s->out_head_seen;

	if (used > s->size / 2) {
		/* pairs with the release in consume() */
		s->out_head_seen = atomic_load_explicit(&s->out->head, memory_order_acquire);
		used = s->out_tail - s->out_head_seen;
	}
	return used > s->size ? -EPROTO : (int64_t)(s->size - used);
}

void gw__shm_publish(struct gw__shm *s, uint64_t n)
{
	s->out_tail += n;
	/* pairs with the acquire in readable() */
	atomic_store_explicit(&s->out->tail, s->out_tail, memory_order_release);
	/* seq_cst: as in consume() */
	if (atomic_fetch_and_explicit(&s->out->reader_sleeps, 0, memory_order_seq_cst))
		ring_bell(s->peer_bell);
}

bool gw__shm_arm(struct gw__shm *s, bool want_room)
{
	/* each flag, then one more look: no wake-up is lost (see base/wait.h) */
	atomic_exchange_explicit(&s->in->reader_sleeps, 1, memory_order_seq_cst);
	if (gw__shm_readable(s) != 0)
		return true;
	if (!want_room)
		return false;
	atomic_exchange_explicit(&s->out->writer_waits, 1, memory_order_seq_cst);
	return atomic_load_explicit(&s->out->head, memory_order_acquire) != s->out_head_seen;
}

void gw__shm_clear(struct gw__shm *s)
{
	uint64_t n;

	while (read(s->my_bell, &n, sizeof(n)) < 0 && errno == EINTR)
		;
}
