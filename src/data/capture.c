/* data/capture.c: classic pcap through one buffer, or kept whole. Must not trust a length. Next: capture.h.
 * Format: 24 bytes {magic, version, zone, accuracy, longest record, link type}, then records of 16 bytes
 * {seconds, fraction, bytes here, bytes on the wire} and the bytes. */
#include "data/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/diag.h"

#define FILE_HEADER 24u
#define RECORD_HEADER 16u
#define FRAME_MAX 65535u
#define BUFFER (1u << 20) /* above any record */

struct gw__capture {
	int fd;
	bool swapped, nanoseconds;
	bool whole; /* the buffer holds the file */
	uint8_t *buffer;
	size_t have, used; /* bytes in the buffer, and of those given out */
	uint64_t n_frames, n_bytes, n_given;
	uint32_t max_frame;
	char *path;
	struct gw_diag *diag; /* of the open in progress, else NULL */
};

static uint32_t get32(const struct gw__capture *c, const uint8_t *p)
{
	uint32_t v = (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;

	return c->swapped ? __builtin_bswap32(v) : v;
}

/* At least n unused bytes in the buffer: 1; the file ends exactly here: 0; -EPROTO, -EIO. */
static int fill(struct gw__capture *c, uint32_t n)
{
	if (!c->whole) {
		memmove(c->buffer, c->buffer + c->used, c->have - c->used);
		c->have -= c->used;
		c->used = 0;
	}
	while (c->have - c->used < n) {
		ssize_t got = c->whole ? 0 : read(c->fd, c->buffer + c->have, BUFFER - c->have);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return gw__fail(c->diag, -errno, "%s: %s", c->path, strerror(errno));
		if (!got && c->have == c->used)
			return 0;
		if (!got)
			return gw__fail(c->diag, -EPROTO, "%s: frame %llu is cut off by the end of the file", c->path,
					(unsigned long long)c->n_given);
		c->have += (size_t)got;
	}
	return 1;
}

static int need(struct gw__capture *c, uint32_t n)
{
	return c->have - c->used >= n ? 1 : fill(c, n);
}

int gw__capture_next(struct gw__capture *c, const uint8_t **frame, uint32_t *len, uint64_t *stamp_ns)
{
	const uint8_t *head;
	uint32_t n, n_wire;
	int rc = need(c, RECORD_HEADER);

	if (rc <= 0)
		return rc;
	head = c->buffer + c->used;
	n = get32(c, head + 8);
	n_wire = get32(c, head + 12);
	if (!n || n > FRAME_MAX || n != n_wire)
		return gw__fail(c->diag, -EPROTO, "%s: frame %llu has %u bytes here and %u on the wire; whole frames of "
				"1 to %u are needed", c->path, (unsigned long long)c->n_given, n, n_wire, FRAME_MAX);
	if (stamp_ns)
		*stamp_ns = get32(c, head) * UINT64_C(1000000000) +
			    (uint64_t)get32(c, head + 4) * (c->nanoseconds ? 1 : 1000);
	rc = need(c, RECORD_HEADER + n);
	if (rc <= 0) /* the head is there, so this is no clean end; fill() has said so */
		return rc ? rc : -EPROTO;
	*frame = c->buffer + c->used + RECORD_HEADER;
	*len = n;
	c->used += RECORD_HEADER + n;
	c->n_given++;
	return 1;
}

int gw__capture_rewind(struct gw__capture *c)
{
	if (!c->whole && lseek(c->fd, FILE_HEADER, SEEK_SET) < 0)
		return -errno;
	c->have = c->whole ? c->have : 0;
	c->used = c->whole ? FILE_HEADER : 0;
	c->n_given = 0;
	return 0;
}

int gw__capture_keep(struct gw__capture *c)
{
	size_t n = FILE_HEADER + c->n_frames * RECORD_HEADER + c->n_bytes, have = 0;
	uint8_t *all;

	if (c->whole)
		return gw__capture_rewind(c);
	all = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (all == MAP_FAILED)
		return -ENOMEM;
	madvise(all, n, MADV_HUGEPAGE); /* a wish only */
	while (have < n) {
		ssize_t got = pread(c->fd, all + have, n - have, (off_t)have);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) { /* it shrank: that will be found out frame by frame */
			int err = got ? -errno : -EPROTO;

			munmap(all, n);
			return err;
		}
		have += (size_t)got;
	}
	gw__free(c->buffer);
	c->buffer = all;
	c->have = n;
	c->whole = true;
	return gw__capture_rewind(c);
}

const void *gw__capture_memory(const struct gw__capture *c, size_t *bytes)
{
	*bytes = c->whole ? c->have : 0;
	return c->whole ? c->buffer : NULL;
}

static int read_header(struct gw__capture *c)
{
	uint8_t head[FILE_HEADER];
	ssize_t got = pread(c->fd, head, sizeof(head), 0);
	uint32_t magic;

	if (got < 0)
		return gw__fail(c->diag, -errno, "%s: %s", c->path, strerror(errno));
	if (got < (ssize_t)sizeof(head))
		return gw__fail(c->diag, -EPROTO, "%s: %zd bytes are no capture", c->path, got);
	magic = get32(c, head);
	if (magic == 0x0a0d0d0a)
		return gw__fail(c->diag, -EPROTO, "%s: is pcapng; convert it: editcap -F pcap %s OUT.pcap", c->path,
				c->path);
	c->swapped = magic == 0xd4c3b2a1 || magic == 0x4d3cb2a1;
	magic = get32(c, head);
	c->nanoseconds = magic == 0xa1b23c4d;
	if (magic != 0xa1b2c3d4 && !c->nanoseconds)
		return gw__fail(c->diag, -EPROTO, "%s: begins %08x: not a pcap file", c->path, magic);
	if ((get32(c, head + 20) & 0x0fffffff) != 1) /* the top bits tell of check sequences */
		return gw__fail(c->diag, -EPROTO, "%s: link type %u; only Ethernet, 1, can be sent", c->path,
				get32(c, head + 20) & 0x0fffffff);
	return 0;
}

static int read_through(struct gw__capture *c)
{
	const uint8_t *frame;
	uint32_t len;
	int rc = gw__capture_rewind(c);

	if (rc)
		return rc;
	while ((rc = gw__capture_next(c, &frame, &len, NULL)) > 0) {
		c->n_frames++;
		c->n_bytes += len;
		c->max_frame = len > c->max_frame ? len : c->max_frame;
	}
	if (!rc && !c->n_frames)
		return gw__fail(c->diag, -EPROTO, "%s: there is no frame in it", c->path);
	return rc ? rc : gw__capture_rewind(c);
}

int gw__capture_open(const char *path, struct gw__capture **out, struct gw_diag *diag)
{
	struct gw__capture *c = gw__calloc(1, sizeof(*c));
	int err = -ENOMEM;

	if (!c)
		return gw__fail(diag, err, "%s: no memory to read it", path);
	c->fd = -1;
	c->diag = diag;
	c->path = gw__strdup(path);
	c->buffer = gw__malloc(BUFFER);
	if (!c->path || !c->buffer) {
		gw__fail(diag, err, "%s: no memory to read it", path);
		goto err_close;
	}
	c->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (c->fd < 0) {
		err = -errno;
		gw__fail(diag, err, "%s: %s", path, strerror(-err));
		goto err_close;
	}
	err = read_header(c);
	if (!err)
		err = read_through(c);
	if (err)
		goto err_close;
	c->diag = NULL;
	*out = c;
	return 0;

err_close:
	gw__capture_close(c);
	return err;
}

void gw__capture_close(struct gw__capture *c)
{
	if (!c)
		return;
	if (c->fd >= 0)
		close(c->fd);
	if (c->whole)
		munmap(c->buffer, c->have);
	else
		gw__free(c->buffer);
	gw__free(c->path);
	gw__free(c);
}

uint64_t gw__capture_n_frames(const struct gw__capture *c)
{
	return c->n_frames;
}

uint64_t gw__capture_n_bytes(const struct gw__capture *c)
{
	return c->n_bytes;
}

uint32_t gw__capture_max_frame(const struct gw__capture *c)
{
	return c->max_frame;
}
