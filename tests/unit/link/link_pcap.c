/* tests/unit/link/link_pcap.c: written, replayed at full speed, looped, and at the pace of its stamps. */
#include "sink.h"

#include <unistd.h>

#include "base/alloc.h"

static struct gw__clock_manual clk;
static char path[64], address[128];

static int open_with(const char *options, struct gw__link **l, struct sink *s)
{
	struct gw_diag d = { "" };
	int err;

	snprintf(address, sizeof(address), "pcap:%s%s", path, options);
	err = gw__link_open(address, &clk.base, l, &d);
	if (!err)
		sink_plug(*l, s);
	return err;
}

static void write_file(void)
{
	struct gw__link *w;
	struct sink s;
	struct gw_diag d;

	snprintf(address, sizeof(address), "pcap-out:%s", path);
	T_NEED(!gw__link_open(address, &clk.base, &w, &d));
	sink_plug(w, &s);
	for (uint32_t i = 0; i < 300; i++) {
		T_RC(sink_send(w, 20 + i * 29 % 3000, i), 1);
		gw__clock_manual_advance(&clk, 1500); /* half microseconds must survive */
	}
	T_RC(sink_send(w, GW_LINK_MTU + 1, 0), -EMSGSIZE);
	T_RC(w->ops->step(w, 1), 0);
	gw__link_close(w);
}

static void full_speed(void)
{
	struct gw__link *l;
	struct sink s;
	int n = 0, k;

	T_NEED(!open_with("", &l, &s));
	s.room = 100;
	while ((k = l->ops->step(l, 7)) > 0)
		n += k;
	T_EQ(k, -EAGAIN);
	T_EQ(n, 100);
	s.room = UINT32_MAX;
	while ((k = l->ops->step(l, 1000)) > 0)
		n += k;
	T_EQ(k, 0);
	T_EQ(n, 300);
	T_EQ(s.bad, 0);
	T_RC(sink_send(l, 60, 0), -EOPNOTSUPP);
	T_OK(l->ops->due_ns(l) == UINT64_MAX);
	gw__link_close(l);
	T_NEED(!open_with("?loop=1", &l, &s));
	s.in_order = false;
	for (n = 0; n < 1000;)
		n += l->ops->step(l, 50);
	T_EQ(s.bad, 0);
	T_EQ(s.seq[301], 1);
	gw__link_close(l);
}

static void paced(void)
{
	struct gw__link *l;
	struct sink s;
	uint64_t t0 = gw__now_ns(&clk.base);

	T_NEED(!open_with("?speed=wire&loop=0", &l, &s));
	T_RC(l->ops->step(l, 1000), 1);
	T_RC(l->ops->step(l, 1000), 0);
	T_EQ(l->ops->due_ns(l), t0 + 1500);
	gw__clock_manual_advance(&clk, 1499);
	T_RC(l->ops->step(l, 1000), 0);
	gw__clock_manual_advance(&clk, 1);
	T_RC(l->ops->step(l, 1000), 1);
	T_EQ(s.last_ts, t0 + 1500);
	gw__clock_manual_advance(&clk, 298 * 1500);
	T_RC(l->ops->step(l, 1000), 298);
	T_EQ(s.last_ts, t0 + 299 * 1500);
	T_EQ(s.bad, 0);
	gw__link_close(l);
}

static void refusals(void)
{
	struct gw__link *l;
	struct gw_diag d;
	struct sink s;
	FILE *f;

	T_RC(open_with("?speed=fast", &l, &s), -EINVAL);
	T_RC(gw__link_open("pcap:/nonexistent/x", &clk.base, &l, &d), -ENOENT);
	T_RC(gw__link_open("pcap-out:/nonexistent/x", &clk.base, &l, &d), -EIO);
	T_HAS(d.text, "/nonexistent/x");
	for (int n = 1; n <= 3; n++) {
		gw__alloc_fail_at(n);
		T_RC(open_with("", &l, &s), -ENOMEM);
	}
	gw__alloc_fail_at(1);
	T_RC(gw__link_open("pcap-out:/tmp/x", &clk.base, &l, &d), -ENOMEM);
	gw__alloc_fail_at(0);
	f = fopen(path, "w");
	fputs("not a capture at all, but long enough to be looked at\n", f);
	fclose(f);
	T_RC(open_with("", &l, &s), -EPROTO);
}

int main(void)
{
	gw__clock_manual_init(&clk, 5000000000ull);
	snprintf(path, sizeof(path), "/tmp/gpuwire-link-%d.pcap", getpid());
	write_file();
	full_speed();
	paced();
	refusals();
	unlink(path);
	T_EQ(gw__alloc_live(), 0);
	T_DONE();
}
