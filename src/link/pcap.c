/* link/pcap.c: replay a capture (pcap or pcapng, micro- or nanoseconds) as arrivals, or write what is sent.
 * Must not know queues. Next: link.h. */
#include <errno.h>
#include <pcap/pcap.h>
#include <string.h>

#include "base/alloc.h"
#include "base/diag.h"
#include "base/log.h"
#include "link/link.h"

#define BATCH 64
#define ARENA (BATCH * 4096u)

struct replay {
	struct gw__link link; /* first */
	char *path;
	pcap_t *pcap;
	bool wire_speed, loop, ended;
	bool any;          /* this pass gave at least one frame */
	uint64_t first_ts; /* of this pass */
	uint64_t start_ns; /* link clock when it was due */
	uint64_t last_due;
	uint64_t n_skipped;
	/* frames read, not yet delivered: [at, n) */
	struct gw__frame frame[BATCH];
	uint64_t due[BATCH];
	int n, at;
	const struct pcap_pkthdr *ahead; /* read, but the arena was full */
	const uint8_t *ahead_data;
	uint8_t *arena;
};

static int open_file(struct replay *r, struct gw_diag *diag)
{
	char text[PCAP_ERRBUF_SIZE] = "";

	errno = 0;
	r->pcap = pcap_open_offline_with_tstamp_precision(r->path, PCAP_TSTAMP_PRECISION_NANO, text);
	if (!r->pcap)
		return gw__fail(diag, errno == ENOENT ? -ENOENT : -EPROTO, "pcap:%s: %s", r->path, text);
	if (pcap_datalink(r->pcap) != DLT_EN10MB) {
		int dlt = pcap_datalink(r->pcap);

		pcap_close(r->pcap);
		r->pcap = NULL;
		return gw__fail(diag, -EPROTO, "pcap:%s holds link type %d; only Ethernet (1) can be replayed", r->path,
				dlt);
	}
	return 0;
}

static void end_of_pass(struct replay *r)
{
	pcap_close(r->pcap);
	r->pcap = NULL;
	r->ended = !r->loop || !r->any || open_file(r, NULL);
	r->any = false;
	if (r->n_skipped)
		gw__warn("pcap:%s: %llu records longer than %u bytes or empty were skipped", r->path,
			 (unsigned long long)r->n_skipped, r->link.mtu);
	r->n_skipped = 0;
}

/* The next record that can be a frame; false at the end of the pass. */
static bool next(struct replay *r)
{
	struct pcap_pkthdr *h;

	if (r->ahead)
		return true;
	while (!r->ended && pcap_next_ex(r->pcap, &h, &r->ahead_data) == 1) {
		if (h->caplen && h->caplen <= r->link.mtu) {
			r->ahead = h;
			return true;
		}
		r->n_skipped++;
	}
	if (!r->ended)
		end_of_pass(r);
	return false;
}

static uint64_t due_of(struct replay *r, const struct pcap_pkthdr *h)
{
	uint64_t ts = (uint64_t)h->ts.tv_sec * 1000000000u + (uint64_t)h->ts.tv_usec; /* nanoseconds here */

	if (!r->any) {
		uint64_t now = gw__now_ns(r->link.clock);

		r->any = true;
		r->first_ts = ts;
		r->start_ns = r->last_due > now ? r->last_due : now;
	}
	if (!r->wire_speed)
		return 0;
	r->last_due = r->start_ns + (ts > r->first_ts ? ts - r->first_ts : 0);
	return r->last_due;
}

static void refill(struct replay *r)
{
	uint32_t used = 0;

	r->n = r->at = 0;
	while (r->n < BATCH && next(r)) {
		const struct pcap_pkthdr *h = r->ahead;
		struct gw__frame *f = &r->frame[r->n];

		if (used + h->caplen > ARENA)
			break;
		memcpy(r->arena + used, r->ahead_data, h->caplen);
		r->due[r->n] = due_of(r, h);
		f->n_segs = 1;
		f->len = h->caplen;
		f->seg[0].ptr = r->arena + used;
		f->seg[0].len = h->caplen;
		f->ts_ns = r->due[r->n];
		used += (h->caplen + 63) & ~63u;
		r->ahead = NULL;
		r->n++;
	}
}

static int replay_step(struct gw__link *link, int budget)
{
	struct replay *r = (struct replay *)link;
	int moved = 0;

	while (moved < budget) {
		int n = 0, k, most;

		if (r->at == r->n)
			refill(r);
		most = r->n - r->at < budget - moved ? r->n - r->at : budget - moved;
		if (r->wire_speed && most) {
			uint64_t now = gw__now_ns(link->clock);

			while (n < most && r->due[r->at + n] <= now)
				n++;
		} else {
			n = most;
		}
		if (!n)
			break;
		k = link->sink.deliver(link->sink.ctx, &r->frame[r->at], n);
		r->at += k;
		moved += k;
		if (k < n)
			return moved ? moved : -EAGAIN;
	}
	return moved;
}

static uint64_t replay_due(struct gw__link *link)
{
	struct replay *r = (struct replay *)link;

	return r->wire_speed && r->at < r->n ? r->due[r->at] : UINT64_MAX;
}

static int replay_send(struct gw__link *link, const struct gw__frame *frames, int n)
{
	return -EOPNOTSUPP;
}

static void replay_close(struct gw__link *link)
{
	struct replay *r = (struct replay *)link;

	if (r->pcap)
		pcap_close(r->pcap);
	gw__free(r->arena);
	gw__free(r->path);
	gw__free(r);
}

static const struct gw__link_ops replay_ops = {
	.send = replay_send,
	.step = replay_step,
	.arm = gw__link_no_arm,
	.resume = gw__link_no_resume,
	.due_ns = replay_due,
	.watch = gw__link_no_watch,
	.plugged = gw__link_no_plugged,
	.close = replay_close,
};

/* "speed=wire&loop=1" after the question mark. */
static int parse_options(struct replay *r, char *text, struct gw_diag *diag)
{
	char *save = NULL;

	for (char *o = strtok_r(text, "&", &save); o; o = strtok_r(NULL, "&", &save)) {
		if (!strcmp(o, "speed=wire") || !strcmp(o, "speed=max"))
			r->wire_speed = o[6] == 'w';
		else if (!strcmp(o, "loop=0") || !strcmp(o, "loop=1"))
			r->loop = o[5] == '1';
		else
			return gw__fail(diag, -EINVAL, "pcap:%s: option \"%s\" is not known; use speed=wire|max and "
					"loop=0|1", r->path, o);
	}
	return 0;
}

int gw__pcap_open(const char *rest, struct gw__clock *clock, struct gw__link **out, struct gw_diag *diag)
{
	struct replay *r = gw__calloc(1, sizeof(*r));
	char *options;
	int err = 0;

	if (!r)
		return gw__fail(diag, -ENOMEM, "no memory for pcap:%s", rest);
	r->link.ops = &replay_ops;
	r->link.clock = clock;
	r->link.mtu = GW_LINK_MTU;
	r->link.can_pause = true;
	r->path = gw__strdup(rest);
	r->arena = gw__malloc(ARENA);
	if (!r->path || !r->arena)
		err = gw__fail(diag, -ENOMEM, "no memory for pcap:%s", rest);
	if (!err && (options = strchr(r->path, '?'))) {
		*options = 0;
		err = parse_options(r, options + 1, diag);
	}
	if (!err)
		err = open_file(r, diag);
	if (err) {
		replay_close(&r->link);
		return err;
	}
	*out = &r->link;
	return 0;
}

/* ---- writing -------------------------------------------------------------------------------------------- */

struct writer {
	struct gw__link link; /* first */
	pcap_t *pcap;
	pcap_dumper_t *dump;
	uint8_t frame[GW_LINK_MTU];
};

static int writer_send(struct gw__link *link, const struct gw__frame *f, int n)
{
	struct writer *w = (struct writer *)link;
	uint64_t now = gw__now_ns(link->clock);

	if (f[0].len > link->mtu)
		return -EMSGSIZE;
	for (int i = 0; i < n; i++) {
		struct pcap_pkthdr h = { .caplen = f[i].len, .len = f[i].len };
		uint32_t at = 0;

		if (f[i].len > link->mtu)
			return i;
		h.ts.tv_sec = (time_t)(now / 1000000000u);
		h.ts.tv_usec = (suseconds_t)(now % 1000000000u); /* nanoseconds: the file says so */
		for (uint32_t s = 0; s < f[i].n_segs; at += f[i].seg[s].len, s++)
			memcpy(w->frame + at, f[i].seg[s].ptr, f[i].seg[s].len);
		pcap_dump((u_char *)w->dump, &h, w->frame);
	}
	return n;
}

static int writer_step(struct gw__link *link, int budget)
{
	return 0;
}

static void writer_close(struct gw__link *link)
{
	struct writer *w = (struct writer *)link;

	if (w->dump)
		pcap_dump_close(w->dump);
	if (w->pcap)
		pcap_close(w->pcap);
	gw__free(w);
}

static const struct gw__link_ops writer_ops = {
	.send = writer_send,
	.step = writer_step,
	.arm = gw__link_no_arm,
	.resume = gw__link_no_resume,
	.due_ns = gw__link_no_due,
	.watch = gw__link_no_watch,
	.plugged = gw__link_no_plugged,
	.close = writer_close,
};

int gw__pcap_out_open(const char *rest, struct gw__clock *clock, struct gw__link **out, struct gw_diag *diag)
{
	struct writer *w = gw__calloc(1, sizeof(*w));

	if (!w)
		return gw__fail(diag, -ENOMEM, "no memory for pcap-out:%s", rest);
	w->link.ops = &writer_ops;
	w->link.clock = clock;
	w->link.mtu = GW_LINK_MTU;
	w->pcap = pcap_open_dead_with_tstamp_precision(DLT_EN10MB, 65535, PCAP_TSTAMP_PRECISION_NANO);
	if (w->pcap)
		w->dump = pcap_dump_open(w->pcap, rest);
	if (!w->dump) {
		int err = gw__fail(diag, w->pcap ? -EIO : -ENOMEM, "pcap-out:%s cannot be written: %s", rest,
				   w->pcap ? pcap_geterr(w->pcap) : "no memory");

		writer_close(&w->link);
		return err;
	}
	*out = &w->link;
	return 0;
}

const char *gw__link_pcap_version(void)
{
	return pcap_lib_version();
}
