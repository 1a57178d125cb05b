/* link/shm.h: what shm.c (moving frames) and shm_meet.c (finding the peer) share.
 * Must not know queues. Next: shm.c. */
#ifndef GW_LINK_SHM_H
#define GW_LINK_SHM_H

#include <pthread.h>
#include <stdatomic.h>

#include "link/link.h"

#define SHM_RING (2u << 20) /* bytes a direction, power of two */
#define SHM_HEAD 16u        /* record head: u32 length, the rest zero */
#define SHM_MAX_EVENTS 64u
#define SHM_MAGIC 0x6d687377u
#define SHM_VERSION 1u

enum shm_state { SHM_LISTENING, SHM_CONNECTING, SHM_UP, SHM_DEAD };

struct shm_dir {
	_Alignas(64) _Atomic uint64_t tail; /* producer: bytes written, free-running */
	_Alignas(64) _Atomic uint64_t head; /* consumer: bytes taken */
};

/* The first page of the file; dir[side] is written by that side, 0 = who listened. */
struct shm_page {
	struct shm_dir dir[2];
	_Alignas(64) _Atomic uint32_t armed[2];
	_Atomic uint32_t closed[2];
	_Alignas(64) _Atomic uint32_t n_events[2]; /* events this side has offered over the socket */
};

struct shm {
	struct gw__link link; /* first */
	_Atomic int state;
	int side;
	char *name;
	int sock;    /* to the peer */
	int listener;
	char *path;  /* to unlink, or NULL */
	struct shm_page *page;
	uint8_t *tx_ring, *rx_ring;
	uint64_t tx_tail, tx_head_seen; /* sender's, under the port's tx lock */
	uint64_t rx_head;               /* receiver's, under the port's step lock */
	uint32_t n_idle;
	pthread_mutex_t lock; /* meeting, and the lists below */
	int own_fd[SHM_MAX_EVENTS], peer_fd[SHM_MAX_EVENTS];
	uint32_t n_own_fds, n_offered, n_peer_fds;
};

extern const struct gw__link_ops gw__shm_ops;

/* Try to meet the peer without blocking; true once it is there. */
bool gw__shm_meet(struct shm *s);
/* Under the lock: pass our new events, take the peer's. */
void gw__shm_offer_events(struct shm *s);
void gw__shm_take_events(struct shm *s);
/* Free everything. */
void gw__shm_part(struct shm *s);

#endif
