/* urom_net/chan.h: frames over a stream socket, and over what it was upgraded to.
 * Must not know what frames mean. Next: handshake.h (how a channel begins), shm.h, ucx/ucx.h.
 *
 * The socket stays open for the channel's whole life: it carries the handshake and file descriptors, and
 * its end is how a peer's death is seen. Never blocks. One thread at a time. */
#ifndef GW_UROM_NET_CHAN_H
#define GW_UROM_NET_CHAN_H

#include <stdbool.h>

#include "urom_net/frame.h"
#include "urom_net/shm.h"

enum gw__chan_mode {
	GW__CHAN_SOCK,
	GW__CHAN_SHM,
	GW__CHAN_UCX,
};

#define GW__CHAN_FDS 16 /* received and not yet taken */

struct gw__ucx_chan;

struct gw__chan {
	int fd; /* -1 = closed */
	enum gw__chan_mode mode;
	uint32_t max_msg;
	int err;    /* sticky, negative; 0 = alive */
	int tx_err; /* the same for sending only */
	bool eof; /* the peer ended its side: what was received before is still delivered */
	/* bytes from the socket; frames are parsed in place */
	uint8_t *rx;
	size_t rx_cap, rx_at, rx_have;
	uint64_t partial_since_ns; /* 0, or when the frame now half received began; set by recv() */
	/* a frame out of a ring, copied before it is looked at */
	uint8_t *frame;
	size_t frame_cap;
	/* what the socket or ring had no room for */
	uint8_t *tx;
	size_t tx_cap, tx_at, tx_len;
	size_t tx_limit;
	int fds[GW__CHAN_FDS];
	int n_fds;
	bool take_fds; /* else descriptors that arrive are closed */
	struct gw__shm shm;
	struct gw__ucx_chan *ucx;
	uint32_t n_idle; /* ring polls since the last look at the socket */
	uint64_t n_rx, n_tx; /* frames */
};

/* Takes fd even on failure (-ENOMEM). */
int gw__chan_init(struct gw__chan *c, int fd, uint32_t max_msg);
void gw__chan_fini(struct gw__chan *c);
/* Queue or send one frame; f->payload is copied or gone on return. 0; -EAGAIN: the queue is over its limit
 * (nothing taken); -EMSGSIZE; -ENOMEM; the sticky error. */
int gw__chan_send(struct gw__chan *c, const struct gw__frame *f);
/* Always over the (UNIX) socket, with descriptors, which stay the caller's. -EAGAIN: try later. */
int gw__chan_send_fds(struct gw__chan *c, const struct gw__frame *f, const int *fds, int n);
/* 1: *f is filled, its payload valid until the next call on this channel; 0: nothing now; negative: dead
 * (-ECONNRESET at the end of the stream, -EPROTO ... for bad bytes; f->major is set on
 * -EPROTONOSUPPORT). now_ns is for partial_since_ns only. */
int gw__chan_recv(struct gw__chan *c, struct gw__frame *f, uint64_t now_ns);
/* The socket only, whatever the mode: where a descriptor sent ahead waits. As gw__chan_recv(). */
int gw__chan_recv_side(struct gw__chan *c, struct gw__frame *f);
/* Push queued bytes. 0: all gone, 1: some left, negative: dead. */
int gw__chan_flush(struct gw__chan *c);
static inline size_t gw__chan_queued(const struct gw__chan *c)
{
	return c->tx_len - c->tx_at;
}
/* Room for a frame of this payload without going over the limit? */
bool gw__chan_has_room(const struct gw__chan *c, uint32_t len);
/* Would recv() answer without asking the kernel? Ring and UCX: looking costs nothing, so yes. */
static inline bool gw__chan_has_more(const struct gw__chan *c)
{
	return c->mode != GW__CHAN_SOCK || c->rx_have - c->rx_at >= GW__UROM_HDR;
}
/* The next received descriptor, the caller's now; -1 = none. */
int gw__chan_take_fd(struct gw__chan *c);
/* Upgrade: from now on frames travel by ring. Takes bells; memfd stays the caller's. */
int gw__chan_use_shm(struct gw__chan *c, int memfd, uint32_t size, const int bells[2], bool maker);
/* Takes the UCX channel. */
void gw__chan_use_ucx(struct gw__chan *c, struct gw__ucx_chan *u);
/* About to sleep: true = do not. Then sleep on fd and on event_fd() (-1 = none). */
bool gw__chan_arm(struct gw__chan *c);
int gw__chan_event_fd(const struct gw__chan *c);

#endif
