/* Greeting and joining, both ends in one process: versions, limits, keys, offers. */
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "urom_net/handshake.h"
#include "urom_net/tlv.h"
#include "t.h"

static struct gw__ep ep;
static int listener;

struct server {
	struct gw__chan chan;
	struct gw__greet greet;
	struct gw__admit admit;
	int greeted; /* 1, or negative */
	bool joined, offer;
	uint64_t features;
};

static void serve(struct server *s)
{
	struct gw__frame f = { 0 };
	struct gw_diag d;
	int n;

	if (s->chan.fd < 0) {
		int fd = accept(listener, NULL, NULL);

		if (fd < 0)
			return;
		T_RC(gw__chan_init(&s->chan, fd, 65536), 0);
	}
	while ((n = gw__chan_recv(&s->chan, &f, 1)) > 0 && s->greeted >= 0) {
		if (!s->greeted)
			s->greeted = gw__greet_frame(&s->greet, &s->chan, &f, &d);
		else if (f.type == GW__F_JOIN)
			T_RC(gw__admit_offer(&s->admit, &s->chan, 42, s->features, 131072), 0);
		else if (f.type == GW__F_JOIN_OK) {
			T_RC(gw__admit_ok(&s->admit, &s->chan, &f), 0);
			s->joined = true;
		}
	}
	if (n < 0 && n != -ECONNRESET) {
		gw__greet_bad_bytes(&s->chan, &f, n, &d);
		s->greeted = n;
	}
}

/* Both ends until the dial is over. */
static int meet(struct server *s, struct gw__dial *d, const struct gw__dial_opts *o, struct gw_diag *diag)
{
	int n = gw__dial_start(d, &ep, o, diag);

	s->chan.fd = -1;
	for (int i = 0; n == 0 && i < 1000; i++) {
		n = gw__dial_step(d, diag);
		serve(s);
	}
	serve(s);
	return n;
}

static void end(struct server *s, struct gw__dial *d)
{
	gw__admit_fini(&s->admit);
	if (s->chan.fd >= 0)
		gw__chan_fini(&s->chan);
	if (d)
		gw__chan_fini(&d->chan);
}

static void plain(void)
{
	struct server s = { .greet.max_msg = 8192, .admit = { .memfd = -1, .bells = { -1, -1 } } };
	struct gw__dial_opts o = { .role = GW__ROLE_HOST, .max_msg = 4096 };
	struct gw__dial d;
	struct gw_diag diag = { .text = "" };

	T_EQ(meet(&s, &d, &o, &diag), 1);
	T_EQ(d.max_msg, 4096); /* the smaller of the two */
	T_STR(d.peer_sdk, "gpuwire");
	end(&s, &d);
}

static void keys(void)
{
	static struct gw__key k1 = { .len = 16, .bytes = "0123456789abcde" }, k2 = { .len = 16, .bytes = "other" };
	struct gw__dial_opts o = { .role = GW__ROLE_HOST, .max_msg = 4096 };
	struct gw__key *hosts[] = { &k1, &k2, NULL, &k1 }, *daemons[] = { &k1, &k1, &k1, NULL };
	const char *said[] = { "", "wrong key", "asks for a key", "asks for none" };

	for (int i = 0; i < 4; i++) {
		struct server s = { .greet = { .max_msg = 4096, .key = daemons[i] },
				    .admit = { .memfd = -1, .bells = { -1, -1 } } };
		struct gw_diag diag = { .text = "" };
		struct gw__dial d;

		o.key = hosts[i];
		T_EQ(meet(&s, &d, &o, &diag) == 1, i == 0);
		T_HAS(diag.text, said[i]);
		end(&s, i == 0 ? &d : NULL);
	}
}

static void joining(uint64_t take, uint64_t give, enum gw__chan_mode want)
{
	struct server s = { .greet.max_msg = 4096, .features = give, .admit = { .memfd = -1, .bells = { -1, -1 } } };
	struct gw__dial_opts o = { .role = GW__ROLE_JOIN, .max_msg = 4096, .features = take, .worker = 3 };
	struct gw__frame f = { .type = GW__F_CMD, .len = 5, .payload = (const uint8_t *)"hello" }, g = { 0 };
	struct gw__dial d;
	struct gw_diag diag = { .text = "" };
	int n = 0;

	T_EQ(meet(&s, &d, &o, &diag), 1);
	T_OK(s.joined);
	T_EQ(d.dest, 42);
	T_EQ(d.chan.mode, want);
	T_EQ(s.chan.mode, want);
	T_RC(gw__chan_send(&d.chan, &f), 0);
	for (int i = 0; i < 1000000 && !n; i++) {
		struct gw__frame x;

		n = gw__chan_recv(&s.chan, &g, 1);
		T_OK(n || gw__chan_recv(&d.chan, &x, 1) == 0);
	}
	T_EQ(n, 1);
	T_MEM(g.payload, "hello", 5);
	end(&s, &d);
}

/* Another major in the header; ranges that do not meet in the payload. */
static void versions(void)
{
	struct server s = { .greet.max_msg = 4096, .chan.fd = -1, .admit = { .memfd = -1, .bells = { -1, -1 } } };
	struct gw_diag diag = { .text = "" };
	struct gw__frame hello = { .major = 9, .type = GW__F_HELLO }, f = { 0 };
	struct gw__chan c;
	uint8_t hdr[GW__UROM_HDR];
	char text[300];
	int fd = gw__ep_connect(&ep, &diag), n = 0;

	T_NEED(fd >= 0);
	T_RC(gw__chan_init(&c, fd, 4096), 0);
	gw__frame_encode(hdr, &hello);
	T_EQ(write(fd, hdr, sizeof(hdr)), (long)sizeof(hdr));
	for (int i = 0; i < 1000 && !n; i++) {
		serve(&s);
		n = gw__chan_recv(&c, &f, 1);
	}
	T_EQ(n, 1);
	T_EQ(f.type, GW__F_ERROR);
	gw__error_text(&f, text, sizeof(text));
	T_HAS(text, "9.x"); /* both versions are named */
	T_HAS(text, "1.0");
	gw__chan_fini(&c);
	end(&s, NULL);
}

static void nobody(void)
{
	struct gw__dial_opts o = { .role = GW__ROLE_HOST, .max_msg = 4096 };
	struct gw_diag diag = { .text = "" };
	struct gw__ep other;
	struct gw__dial d;
	int n;

	T_RC(gw__ep_parse("unix:/nowhere/at/all", &other, &diag), 0);
	T_RC(gw__dial_start(&d, &other, &o, &diag), -ECONNREFUSED);
	T_HAS(diag.text, "/nowhere/at/all");
	/* it listens and never answers: the deadline ends it */
	T_RC(gw__dial_start(&d, &ep, &o, &diag), 0);
	n = gw__dial_wait(&d, gw__now_ns(gw__clock_monotonic()) + 50000000u, &diag);
	T_RC(n, -ETIMEDOUT);
}

static void endpoints(void)
{
	static const char *const bad[] = { "", "unix:", "unix:relative", "http://x", "tcp:1.2.3.4:99999",
					   "tcp:[::1:5", "ucx:no.such.host.invalid:1" };
	struct gw_diag diag;
	struct gw__ep e;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		T_OK(gw__ep_parse(bad[i], &e, &diag) < 0);
	T_RC(gw__ep_parse("tcp:127.0.0.1", &e, NULL), 0);
	T_OK(gw__ep_is_loopback(&e));
	T_RC(gw__ep_parse("tcp:[::1]:18516", &e, NULL), 0);
	T_OK(gw__ep_is_loopback(&e));
	T_RC(gw__ep_parse("ucx:10.1.2.3:5", &e, NULL), 0);
	T_OK(!gw__ep_is_loopback(&e) && e.kind == GW__EP_UCX);
	setenv("UCX_NET_DEVICES", "nosuch0", 1);
	T_RC(gw__ep_net_device(AF_INET, &e.addr, &e.addr_len, &diag), -ENODEV);
	T_HAS(diag.text, "nosuch0");
	setenv("UCX_NET_DEVICES", "mlx5_0:1", 1);
	T_RC(gw__ep_net_device(AF_INET, &e.addr, &e.addr_len, &diag), -ENOENT);
	setenv("UCX_NET_DEVICES", "mlx5_0:1,lo", 1);
	T_RC(gw__ep_net_device(AF_INET, &e.addr, &e.addr_len, &diag), 0);
	unsetenv("UCX_NET_DEVICES");
}

static void key_files(void)
{
	char path[] = "/tmp/urom-key-XXXXXX";
	struct gw_diag diag;
	struct gw__key k;
	int fd = mkstemp(path);

	T_NEED(fd >= 0);
	T_EQ(write(fd, "short", 5), 5);
	T_RC(gw__key_load(path, &k, &diag), -EINVAL);
	T_EQ(write(fd, "0123456789abcdef", 16), 16);
	T_RC(gw__key_load(path, &k, &diag), 0);
	T_EQ(k.len, 21);
	fchmod(fd, 0640);
	T_RC(gw__key_load(path, &k, &diag), -EACCES);
	T_HAS(diag.text, "chmod 600");
	T_RC(gw__key_load("/", &k, &diag), -EACCES);
	T_RC(gw__key_load("/nowhere", &k, &diag), -ENOENT);
	close(fd);
	unlink(path);
}

int main(void)
{
	char text[64], dir[] = "/tmp/urom-hs-XXXXXX";
	struct gw_diag diag;

	T_NEED(mkdtemp(dir));
	snprintf(text, sizeof(text), "unix:%s/s", dir);
	T_RC(gw__ep_parse(text, &ep, &diag), 0);
	listener = gw__ep_listen(&ep, 0600, &diag);
	T_NEED(listener >= 0);
	plain();
	keys();
	joining(0, GW__FEAT_SHM, GW__CHAN_SOCK);
	joining(GW__FEAT_SHM, 0, GW__CHAN_SOCK);
	joining(GW__FEAT_SHM, GW__FEAT_SHM, GW__CHAN_SHM);
	versions();
	nobody();
	endpoints();
	key_files();
	close(listener);
	unlink(text + 5);
	rmdir(dir);
	T_DONE();
}
