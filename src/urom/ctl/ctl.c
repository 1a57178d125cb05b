/* urom_ctl/ctl.c: ask, wait, answer. Must not print. Next: src/urom/daemon/status.c. */
#include "urom_ctl/ctl.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/diag.h"
#include "urom_net/tlv.h"

int gw__ctl_open(struct gw__ctl *c, const char *endpoint, const char *key_file, uint32_t timeout_ms,
		 struct gw_diag *diag)
{
	struct gw__dial_opts o = { .role = GW__ROLE_CTL, .max_msg = GW__UROM_MSG_DEFAULT, .key = &c->key };
	char text[256];
	struct gw__ep ep;
	int err;

	memset(c, 0, sizeof(*c));
	c->timeout_ms = timeout_ms;
	if (!endpoint)
		endpoint = getenv("DOCA_UROM_ENDPOINT");
	if (!endpoint || !*endpoint) {
		gw__ep_default(text, sizeof(text));
		endpoint = text;
	}
	if (!key_file)
		key_file = getenv("UROM_KEY_FILE");
	err = gw__ep_parse(endpoint, &ep, diag);
	if (!err && key_file && *key_file && ep.kind != GW__EP_UNIX)
		err = gw__key_load(key_file, &c->key, diag);
	if (!err)
		err = gw__dial_start(&c->dial, &ep, &o, diag);
	if (!err)
		err = gw__dial_wait(&c->dial, gw__now_ns(gw__clock_monotonic()) + timeout_ms * 1000000ull, diag);
	return err;
}

void gw__ctl_close(struct gw__ctl *c)
{
	gw__chan_fini(&c->dial.chan);
}

/* One question; *f is the answer, its payload valid until the next. */
static int ask(struct gw__ctl *c, uint16_t type, const void *payload, size_t len, struct gw__frame *f,
	       struct gw_diag *diag)
{
	uint64_t end = gw__now_ns(gw__clock_monotonic()) + c->timeout_ms * 1000000ull, context = ++c->n_asked;
	char text[400];
	int n = gw__send_tlv(&c->dial.chan, type, context, payload, len);

	if (n)
		return gw__fail(diag, n, "the daemon ended the connection");
	for (;;) {
		struct pollfd p = { .fd = c->dial.chan.fd, .events = POLLIN };

		n = gw__chan_recv(&c->dial.chan, f, 0);
		if (n < 0)
			return gw__fail(diag, n, "the daemon ended the connection");
		if (n && f->type == GW__F_ERROR) {
			gw__error_text(f, text, sizeof(text));
			return gw__fail(diag, -EREMOTEIO, "%s", text);
		}
		if (n && f->context == context)
			return 0;
		if (gw__now_ns(gw__clock_monotonic()) > end)
			return gw__fail(diag, -ETIMEDOUT, "no answer within %u ms", c->timeout_ms);
		if (!n)
			poll(&p, 1, 50);
	}
}

int gw__ctl_status(struct gw__ctl *c, char *out, size_t cap, struct gw_diag *diag)
{
	struct gw__frame f;
	int err = ask(c, GW__F_STATUS, NULL, 0, &f, diag);
	size_t n;

	if (err)
		return err;
	n = f.len < cap - 1 ? f.len : cap - 1;
	memcpy(out, f.payload, n);
	out[n] = '\0';
	return 0;
}

int gw__ctl_ping(struct gw__ctl *c, uint64_t *rtt_ns, struct gw_diag *diag)
{
	struct gw__frame f;
	uint64_t t = gw__now_ns(gw__clock_monotonic());
	int err = ask(c, GW__F_PING, "ping", 4, &f, diag);

	if (err)
		return err;
	if (f.type != GW__F_PING || f.len != 4 || memcmp(f.payload, "ping", 4))
		return gw__fail(diag, -EPROTO, "the answer to PING is not an echo");
	*rtt_ns = gw__now_ns(gw__clock_monotonic()) - t;
	return 0;
}

int gw__ctl_stop_worker(struct gw__ctl *c, uint64_t id, struct gw_diag *diag)
{
	uint8_t buf[16];
	struct gw__tlv_w w = gw__tlv_writer(buf, sizeof(buf));
	struct gw__frame f;

	gw__tlv_put_u64(&w, GW__T_WORKER, id);
	return ask(c, GW__F_STOP, buf, w.len, &f, diag);
}
