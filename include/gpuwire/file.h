/* gpuwire/file.h: write the packets of a burst to files: pcap (microseconds or nanoseconds) or one raw file a
 * packet, at once or on a thread of the library's.
 * Source: DAQIRI configuration reference (file writers). */
#ifndef GPUWIRE_FILE_H
#define GPUWIRE_FILE_H

#include <gpuwire/burst.h>
#include <gpuwire/common.h>

#ifdef __cplusplus
extern "C" {
#endif

struct gw;
struct gw_write;

enum gw_file_kind {
	GW_FILE_PCAP_US, /* classic pcap 2.4, Ethernet, microseconds */
	GW_FILE_PCAP_NS, /* the same with nanoseconds */
	GW_FILE_RAW,     /* path/prefix_INDEX, the packet's bytes from `offset` on; a reordered burst is one packet */
};

struct gw_write_opts {
	size_t sz;              /* sizeof(struct gw_write_opts) */
	enum gw_file_kind kind;
	const char *path;       /* pcap: the file, appended to; raw: an existing folder */
	const char *prefix;     /* raw: NULL = "packet" */
	uint64_t first_index;   /* raw: index of the burst's packet 0 */
	uint64_t offset;        /* raw: bytes of each packet to leave out, across its segments */
};

struct gw_write_status {
	uint32_t n_done;   /* packets written whole */
	uint32_t n_failed; /* packets not written */
	uint64_t n_bytes;  /* bytes of packets written (file headers not counted) */
	int err;           /* first error, negative errno; 0 = none */
};

/* Write every packet of a burst. Time stamps are the burst's, moved to the wall clock; without them, now.
 *   burst  stays the caller's: with `out`, it must not be released before the write is done
 *   out    NULL = synchronous; else the write goes on on the library's thread
 * Returns 0 done or begun; -EINVAL, -ENOTSUP (pcap of a reordered burst), -ENOMEM, -EAGAIN (no thread), -EPROTO
 * (the file there is no pcap of this kind), and synchronous any error of the file system; each with a sentence.
 * *status (may be NULL) is filled in synchronously. Thread: any. Caller owns *out: gw_write_destroy(). Blocks:
 * synchronous, for as long as the disk takes; waits for a reordered burst's event. */
GW_API GW_MUST_CHECK int gw_write_burst(struct gw *gw, const struct gw_burst *burst,
					const struct gw_write_opts *opts, struct gw_write **out,
					struct gw_write_status *status, struct gw_diag *diag);
/* Is it done? Returns 1 done (*status is final), 0 not yet. Any thread. Ownership: *status is the caller's.
 * Blocks: no. */
GW_API int gw_write_poll(struct gw_write *write, struct gw_write_status *status);
/* The same, waiting up to timeout_ns (UINT64_MAX = no limit). Returns as gw_write_poll(). One thread per write.
 * Ownership: *status is the caller's. Blocks: yes. */
GW_API int gw_write_wait(struct gw_write *write, uint64_t timeout_ns, struct gw_write_status *status);
/* Free a write; before gw_close(). NULL is fine. Returns nothing. Thread: one, nobody else may be waiting for it.
 * Ownership: the burst is the caller's alone again. Blocks: until the write is done. */
GW_API void gw_write_destroy(struct gw_write *write);

#ifdef __cplusplus
}
#endif
#endif
