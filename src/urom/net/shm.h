/* urom_net/shm.h: two byte rings in one sealed memfd, one each way, with a doorbell each.
 * Must not trust the other side: every index that it wrote is checked against our own. Next: chan.c. */
#ifndef GW_UROM_NET_SHM_H
#define GW_UROM_NET_SHM_H

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Producer's line: tail and "the consumer sleeps". Consumer's line: head and "the producer waits for
 * room". A flag sits beside the index that its other side has just stored, so testing it is cheap. */
struct gw__shm_dir {
	_Alignas(64) _Atomic uint64_t tail;
	_Atomic uint32_t reader_sleeps;
	_Alignas(64) _Atomic uint64_t head;
	_Atomic uint32_t writer_waits;
};

struct gw__shm {
	void *map;
	size_t map_len;
	uint64_t size;   /* bytes each way, a power of two */
	struct gw__shm_dir *in, *out;
	uint8_t *in_data, *out_data;
	uint64_t in_head;   /* our own indices: never read back from the map */
	uint64_t out_tail;
	uint64_t out_head_seen;
	int my_bell;     /* we sleep on it */
	int peer_bell;   /* we ring it */
};

/* A new pair of rings: *memfd sealed, *bells[0] wakes the maker, [1] the other side. 0 or negative errno.
 * The maker maps by gw__shm_open(.., maker = true). */
int gw__shm_make(uint32_t size, int *memfd, int bells[2]);
/* Map. Takes the two bells (closed by fini); memfd stays the caller's. -EPROTO: not sealed or wrong size. */
int gw__shm_open(struct gw__shm *s, int memfd, uint32_t size, const int bells[2], bool maker);
void gw__shm_fini(struct gw__shm *s);

/* Bytes we may read now; -EPROTO: the other side's index is a lie. */
static inline int64_t gw__shm_readable(struct gw__shm *s)
{
	/* pairs with the release in publish() */
	uint64_t n = atomic_load_explicit(&s->in->tail, memory_order_acquire) - s->in_head;

	return n > s->size ? -EPROTO : (int64_t)n;
}
void gw__shm_peek(struct gw__shm *s, uint64_t at, void *to, size_t n);
/* Give n bytes back; rings if the writer waits. */
void gw__shm_consume(struct gw__shm *s, uint64_t n);
/* Room to write now; -EPROTO as above. */
int64_t gw__shm_writable(struct gw__shm *s);
void gw__shm_poke(struct gw__shm *s, uint64_t at, const void *from, size_t n);
/* Publish n bytes; rings if the reader sleeps. */
void gw__shm_publish(struct gw__shm *s, uint64_t n);
/* About to sleep on my_bell. True: do not, there is something to read (or room, if wanted). */
bool gw__shm_arm(struct gw__shm *s, bool want_room);
void gw__shm_clear(struct gw__shm *s);

#endif
