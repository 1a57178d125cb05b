/* raw.h: a caller that speaks frames by hand, to say what a library never would. */
#ifndef UROM_RAW_H
#define UROM_RAW_H

#include <sys/socket.h>

#include "base/clock.h"
#include "urom_net/handshake.h"
#include "urom_net/tlv.h"

/* A bare connection; -1. */
static inline int raw_connect(const char *endpoint)
{
	struct gw__ep ep;
	int fd;

	if (gw__ep_parse(endpoint, &ep, NULL))
		return -1;
	fd = gw__ep_connect(&ep, NULL);
	if (fd >= 0)
		fcntl(fd, F_SETFL, 0);
	return fd;
}

/* Everything until the end of the stream or ms passed: bytes read; -1: still open after ms. */
static inline int raw_drain(int fd, uint8_t *buf, size_t cap, int ms)
{
	double end = now_s() + ms / 1000.0;
	size_t at = 0;

	while (now_s() < end) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		ssize_t n;

		if (poll(&p, 1, 20) != 1)
			continue;
		n = recv(fd, buf + at, cap - at, MSG_DONTWAIT);
		if (n <= 0)
			return (int)at;
		at += (size_t)n;
	}
	return -1;
}

/* The sentence of the last ERROR frame in bytes. */
static inline const char *raw_error(const uint8_t *buf, int n, int *status)
{
	static char text[512];
	struct gw__frame f;
	int at = 0;

	text[0] = '\0';
	*status = 0;
	while (at + (int)GW__UROM_HDR <= n && gw__frame_decode(buf + at, GW__UROM_MSG_MAX, &f) == 0 &&
	       at + (int)GW__UROM_HDR + (int)f.len <= n) {
		f.payload = buf + at + GW__UROM_HDR;
		if (f.type == GW__F_ERROR) {
			gw__error_text(&f, text, sizeof(text));
			*status = f.status;
		}
		at += (int)(GW__UROM_HDR + f.len);
	}
	return text;
}

/* A greeted connection in this role; NULL with why. */
static inline bool raw_greet(struct gw__dial *d, const char *endpoint, enum gw__role role, const struct gw__key *key,
			     struct gw_diag *why)
{
	struct gw__dial_opts o = { .role = role, .max_msg = 4096, .key = key };
	struct gw__ep ep;

	return !gw__ep_parse(endpoint, &ep, why) && !gw__dial_start(d, &ep, &o, why) &&
	       !gw__dial_wait(d, gw__now_ns(gw__clock_monotonic()) + 3000000000u, why);
}

/* The next frame, at most ms. 1, 0 or negative as gw__chan_recv(). */
static inline int raw_next(struct gw__chan *c, struct gw__frame *f, int ms)
{
	double end = now_s() + ms / 1000.0;
	int n;

	while ((n = gw__chan_recv(c, f, 1)) == 0 && now_s() < end)
		usleep(500);
	return n;
}

#endif
