/* data/capture.h: the frames of a capture file, in order, as often as wanted. Classic pcap of either byte order with
 * microseconds or nanoseconds, link type Ethernet: what `gpuwire prepare` writes and tcpdump -w. For pcapng the
 * refusal names the tool that converts. A frame's bytes are read into a buffer, not mapped: a file that shrinks
 * meanwhile is an error, not a crash. Must not know what is in a frame. Next: capture.c. */
#ifndef GW_DATA_CAPTURE_H
#define GW_DATA_CAPTURE_H

#include <stdint.h>

#include <gpuwire/common.h>

struct gw__capture;

/* Open and read through once: every record is checked and counted. Hostile input.
 * Returns 0; -EPROTO with the frame's number; -ENOENT and other file errors; -ENOMEM. *out only on success; the
 * caller owns it. Any thread. Blocks: reads the file. */
GW_MUST_CHECK int gw__capture_open(const char *path, struct gw__capture **out, struct gw_diag *diag);
/* NULL is fine. */
void gw__capture_close(struct gw__capture *c);

uint64_t gw__capture_n_frames(const struct gw__capture *c);
uint64_t gw__capture_n_bytes(const struct gw__capture *c); /* of all frames, record heads apart */
uint32_t gw__capture_max_frame(const struct gw__capture *c);

/* The next frame. Returns 1 with *frame[*len] borrowed until the following call, 0 at the end, -EPROTO, -EIO.
 *   stamp_ns  time in the record; may be NULL
 * One caller at a time. Blocks: on the file, now and then. */
GW_MUST_CHECK int gw__capture_next(struct gw__capture *c, const uint8_t **frame, uint32_t *len, uint64_t *stamp_ns);
/* Read the whole file into memory and begin again: frames come without a system call, for senders that go round.
 * 0; -ENOMEM, -EPROTO (it shrank), -EIO: then it goes on as before. Blocks: reads the file. */
GW_MUST_CHECK int gw__capture_keep(struct gw__capture *c);
/* Where a capture that was kept lies: every frame is inside it, for as long as the capture is open. */
const void *gw__capture_memory(const struct gw__capture *c, size_t *bytes);
/* Begin again. 0 or negative errno. */
GW_MUST_CHECK int gw__capture_rewind(struct gw__capture *c);

#endif
