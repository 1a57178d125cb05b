/* ingest/file.c: bursts into pcap and raw files, at once or on one writer thread a gw starts when first asked.
 * Must not know queues or plans: it reads a burst as any consumer does. Next: include/gpuwire/file.h. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <time.h>

#include "base/alloc.h"
#include "base/diag.h"
#include "ingest/gw.h"

#define MAGIC_US 0xa1b2c3d4u
#define MAGIC_NS 0xa1b23c4du
#define SNAP 262144u
#define LINK_ETHERNET 1u
#define IO_BUF (1u << 18)

struct pcap_head {
	uint32_t magic;
	uint16_t major, minor;
	uint32_t zone, sigfigs, snap, link;
};
_Static_assert(sizeof(struct pcap_head) == 24, "classic pcap");

struct pcap_rec {
	uint32_t sec, frac, len, wire_len;
};

struct gw_write {
	struct gw *gw;
	struct gw_burst burst; /* a copy of the view; the memory is the caller's hold */
	struct gw_write_opts o;
	char *path, *prefix;
	struct gw_write_status st;
	struct gw__event event;
	_Atomic bool done; /* release by the writer, acquire by who polls: st is final */
	struct gw_write *next;
};

/* ---- bytes ----------------------------------------------------------------------------------- */

/* The packet's bytes from `skip` on, to f. Memory that the CPU cannot reach goes through `bounce`. */
static int put_packet(const struct gw_write *w, uint32_t i, uint64_t skip, FILE *f, uint64_t *n_bytes)
{
	const struct gw__gpu_ops *gpu = w->gw->gpu;

	for (uint32_t s = 0; s < w->burst.n_segs; s++) {
		uint32_t len = w->burst.seg_len[s][i];
		const uint8_t *p = w->burst.seg_ptr[s][i], *host;
		uint8_t bounce[4096];

		if (skip >= len) {
			skip -= len;
			continue;
		}
		p += skip;
		len -= (uint32_t)skip;
		skip = 0;
		host = gpu->host_alias(p, len);
		for (uint32_t at = 0, n; at < len; at += n) {
			int err = 0;

			n = host ? len - at : len - at < sizeof(bounce) ? len - at : (uint32_t)sizeof(bounce);
			if (!host)
				err = gw_mem_copy(bounce, p + at, n);
			if (err)
				return err;
			if (fwrite(host ? host + at : bounce, 1, n, f) != n)
				return errno ? -errno : -EIO;
			*n_bytes += n;
		}
	}
	return 0;
}

static void count(struct gw_write_status *st, int err, uint64_t n_bytes)
{
	st->n_done += !err;
	st->n_failed += err != 0;
	st->n_bytes += err ? 0 : n_bytes;
	st->err = st->err ? st->err : err;
}

/* ---- pcap ------------------------------------------------------------------------------------ */

static uint32_t magic_of(enum gw_file_kind kind)
{
	return kind == GW_FILE_PCAP_NS ? MAGIC_NS : MAGIC_US;
}

/* A new file gets its head; an old one must be of this kind. */
static int pcap_open(const struct gw_write *w, FILE **out, struct gw_diag *diag)
{
	struct pcap_head h = { .magic = magic_of(w->o.kind), .major = 2, .minor = 4, .snap = SNAP,
			       .link = LINK_ETHERNET }, old;
	FILE *f = fopen(w->path, "a+b");
	long size;
	int err = 0;

	if (!f)
		return gw__fail(diag, -errno, "%s: %s", w->path, strerror(errno));
	(void)setvbuf(f, NULL, _IOFBF, IO_BUF);
	size = fseek(f, 0, SEEK_END) ? -1 : ftell(f);
	if (size < 0)
		err = gw__fail(diag, -ESPIPE, "%s: not a file that can be appended to", w->path);
	else if (!size && fwrite(&h, sizeof(h), 1, f) != 1)
		err = gw__fail(diag, -EIO, "%s: cannot write", w->path);
	else if (size) {
		rewind(f);
		if (fread(&old, sizeof(old), 1, f) != 1 || old.magic != h.magic || old.link != h.link)
			err = gw__fail(diag, -EPROTO, "%s: is there already and is no Ethernet pcap with %s; name "
				       "another file", w->path, h.magic == MAGIC_NS ? "nanoseconds" : "microseconds");
		(void)fseek(f, 0, SEEK_END); /* between reading and writing */
	}
	if (err)
		fclose(f);
	else
		*out = f;
	return err;
}

/* What to add to the gw's clock to get the time of day. */
static uint64_t wall_offset(struct gw *gw)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec - gw__now_ns(gw->clock);
}

static void write_pcap(struct gw_write *w, FILE *f)
{
	uint64_t offset = wall_offset(w->gw), now = gw__now_ns(w->gw->clock);

	for (uint32_t i = 0; i < w->burst.n_pkts; i++) {
		uint64_t t = (w->burst.ts_ns ? w->burst.ts_ns[i] : now) + offset, n_bytes = 0;
		struct pcap_rec r = { .sec = (uint32_t)(t / 1000000000u), .frac = (uint32_t)(t % 1000000000u),
				      .wire_len = w->burst.len[i] };
		int err = w->st.err; /* after an error the file ends where it is */

		for (uint32_t s = 0; s < w->burst.n_segs; s++)
			r.len += w->burst.seg_len[s][i];
		if (w->o.kind == GW_FILE_PCAP_US)
			r.frac /= 1000;
		if (!err && fwrite(&r, sizeof(r), 1, f) != 1)
			err = errno ? -errno : -EIO;
		if (!err)
			err = put_packet(w, i, 0, f, &n_bytes);
		count(&w->st, err, n_bytes);
	}
}

static void close_file(struct gw_write *w, FILE *f)
{
	if (fclose(f) && !w->st.err) { /* what was buffered did not get there */
		w->st.err = errno ? -errno : -EIO;
		w->st.n_failed += w->st.n_done;
		w->st.n_done = 0;
		w->st.n_bytes = 0;
	}
}

/* ---- raw ------------------------------------------------------------------------------------- */

static void write_raw(struct gw_write *w)
{
	char name[PATH_MAX];

	for (uint32_t i = 0; i < w->burst.n_pkts; i++) {
		uint64_t n_bytes = 0;
		int err = 0;
		FILE *f;

		if (snprintf(name, sizeof(name), "%s/%s_%llu", w->path, w->prefix,
			     (unsigned long long)(w->o.first_index + i)) >= (int)sizeof(name)) {
			count(&w->st, -ENAMETOOLONG, 0);
			continue;
		}
		f = fopen(name, "wb");
		if (!f) {
			count(&w->st, -errno, 0);
			continue;
		}
		err = put_packet(w, i, w->o.offset, f, &n_bytes);
		if (fclose(f) && !err)
			err = errno ? -errno : -EIO;
		count(&w->st, err, n_bytes);
	}
}

/* ---- one write ------------------------------------------------------------------------------- */

static int carry_out(struct gw_write *w, struct gw_diag *diag)
{
	FILE *f = NULL;
	int err;

	if (w->burst.event) {
		err = gw_event_sync(w->burst.event);
		if (err) {
			w->st = (struct gw_write_status){ .n_failed = w->burst.n_pkts, .err = err };
			return gw__fail(diag, err, "the tensor was not made: its event says %s", strerror(-err));
		}
	}
	if (w->o.kind == GW_FILE_RAW) {
		write_raw(w);
	} else {
		err = pcap_open(w, &f, diag);
		if (err) {
			w->st = (struct gw_write_status){ .n_failed = w->burst.n_pkts, .err = err };
			return err;
		}
		write_pcap(w, f);
		close_file(w, f);
	}
	return w->st.err ? gw__fail(diag, w->st.err, "%s: %u of %u packets not written: %s", w->path, w->st.n_failed,
				    w->burst.n_pkts, strerror(-w->st.err)) : 0;
}

static void free_write(struct gw_write *w)
{
	gw__free(w->path);
	gw__free(w->prefix);
	gw__event_fini(&w->event);
	gw__free(w);
}

static int make_write(struct gw *gw, const struct gw_burst *burst, const struct gw_write_opts *o,
		      struct gw_write **out)
{
	struct gw_write *w = gw__calloc(1, sizeof(*w));
	int err = 0;

	if (!w)
		return -ENOMEM;
	w->event.fd = -1;
	w->gw = gw;
	w->burst = *burst;
	w->o = *o;
	w->path = gw__strdup(o->path);
	w->prefix = gw__strdup(o->prefix ? o->prefix : "packet");
	if (!w->path || !w->prefix)
		err = -ENOMEM;
	if (!err)
		err = gw__event_init(&w->event);
	if (err) {
		free_write(w);
		return err;
	}
	*out = w;
	return 0;
}

/* ---- the writer thread ----------------------------------------------------------------------- */

static void *write_loop(void *arg)
{
	struct gw *gw = arg;

	for (;;) {
		struct gw_write *w;
		bool stop;

		gw__event_arm(&gw->writer.event);
		pthread_mutex_lock(&gw->writer.lock);
		w = gw->writer.first;
		if (w)
			gw->writer.first = w->next;
		if (!gw->writer.first)
			gw->writer.last = NULL;
		stop = gw->writer.stop;
		pthread_mutex_unlock(&gw->writer.lock);
		if (w) {
			(void)carry_out(w, NULL);
			pthread_mutex_lock(&gw->writer.lock);
			atomic_store_explicit(&w->done, true, memory_order_release);
			gw__event_kick(&w->event); /* the last touch: destroy passes through the lock */
			pthread_mutex_unlock(&gw->writer.lock);
			continue;
		}
		if (stop)
			return NULL;
		(void)gw__event_block(&gw->writer.event, UINT64_MAX);
	}
}

static int queue_write(struct gw_write *w, struct gw_diag *diag)
{
	struct gw *gw = w->gw;
	int err = 0;

	pthread_mutex_lock(&gw->writer.lock);
	if (!gw->writer.running) {
		err = gw__event_init(&gw->writer.event);
		if (!err && pthread_create(&gw->writer.thread, NULL, write_loop, gw)) {
			gw__event_fini(&gw->writer.event);
			err = -EAGAIN;
		}
		gw->writer.running = !err;
	}
	if (!err) {
		if (gw->writer.last)
			gw->writer.last->next = w;
		else
			gw->writer.first = w;
		gw->writer.last = w;
	}
	pthread_mutex_unlock(&gw->writer.lock);
	if (err)
		return gw__fail(diag, err, "no thread for the writer; raise ulimit -u, or write synchronously");
	gw__event_signal(&gw->writer.event);
	return 0;
}

void gw__writer_stop(struct gw *gw)
{
	if (!gw->writer.running)
		return;
	pthread_mutex_lock(&gw->writer.lock);
	gw->writer.stop = true;
	pthread_mutex_unlock(&gw->writer.lock);
	gw__event_kick(&gw->writer.event);
	pthread_join(gw->writer.thread, NULL);
	gw__event_fini(&gw->writer.event);
	gw->writer.running = false;
}

/* ---- public ---------------------------------------------------------------------------------- */

int gw_write_burst(struct gw *gw, const struct gw_burst *burst, const struct gw_write_opts *opts,
		   struct gw_write **out, struct gw_write_status *status, struct gw_diag *diag)
{
	struct gw_write *w;
	int err;

	if (!gw || !burst || !burst->priv || !opts || opts->sz != sizeof(*opts) || !opts->path ||
	    (unsigned)opts->kind > GW_FILE_RAW)
		return gw__fail(diag, -EINVAL, "gw_write_burst: a held burst, a kind, a path and sz are needed");
	if (opts->kind != GW_FILE_RAW && (burst->flags & GW_BURST_REORDERED))
		return gw__fail(diag, -ENOTSUP, "gw_write_burst: a tensor is no packet; use GW_FILE_RAW");
	err = make_write(gw, burst, opts, &w);
	if (err)
		return gw__fail(diag, err, "gw_write_burst: no memory or descriptor");
	if (out) {
		err = queue_write(w, diag);
		if (err)
			free_write(w);
		else
			*out = w;
		return err;
	}
	err = carry_out(w, diag);
	if (status)
		*status = w->st;
	free_write(w);
	return err;
}

int gw_write_poll(struct gw_write *write, struct gw_write_status *status)
{
	if (!write)
		return -EINVAL;
	if (!atomic_load_explicit(&write->done, memory_order_acquire))
		return 0;
	if (status)
		*status = write->st;
	return 1;
}

int gw_write_wait(struct gw_write *write, uint64_t timeout_ns, struct gw_write_status *status)
{
	uint64_t end, now;
	int r;

	if (!write)
		return -EINVAL;
	now = gw__now_ns(gw__clock_monotonic());
	end = timeout_ns > UINT64_MAX - now ? UINT64_MAX : now + timeout_ns;
	while (!(r = gw_write_poll(write, status))) {
		now = gw__now_ns(gw__clock_monotonic());
		if (now >= end)
			break;
		(void)gw__event_block(&write->event, end == UINT64_MAX ? UINT64_MAX : end - now);
	}
	return r;
}

void gw_write_destroy(struct gw_write *write)
{
	if (!write)
		return;
	(void)gw_write_wait(write, UINT64_MAX, NULL);
	/* the writer still kicks after `done`: let it leave before the descriptor goes */
	pthread_mutex_lock(&write->gw->writer.lock);
	pthread_mutex_unlock(&write->gw->writer.lock);
	free_write(write);
}
