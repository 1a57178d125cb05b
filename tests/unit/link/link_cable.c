/* tests/unit/link/link_cable.c: addresses, pairs, a lost peer, back pressure. */
#include "sink.h"

#include "base/alloc.h"

int main(void)
{
	struct gw__clock *clock = gw__clock_monotonic();
	struct gw__link *a, *b, *c;
	struct gw_diag d;
	struct sink sa, sb;

	T_RC(gw__link_open("string:0", clock, &a, &d), -EINVAL);
	T_HAS(d.text, "string:0");
	T_RC(gw__link_open("cable:", clock, &a, &d), -EINVAL);
	T_RC(gw__link_open("cable:x1", clock, &a, &d), -EINVAL);
	T_RC(gw__link_open("loopback:1", clock, &a, &d), -EINVAL);
	T_RC(gw__link_open("cable:5", clock, &a, &d), 0);
	sink_plug(a, &sa);
	T_RC(sink_send(a, 60, 0), 0); /* no peer yet: held back */
	T_RC(a->ops->step(a, 10), 0);
	T_RC(gw__link_open("cable:5", clock, &b, &d), 0);
	T_RC(gw__link_open("cable:5", clock, &c, &d), -EBUSY);
	T_RC(sink_send(a, 60, 0), 0); /* there, but not plugged in */
	sink_plug(b, &sb);
	T_RC(sink_send(a, 60, 0), 1);
	T_RC(sink_send(b, 60, 0), 1);
	T_EQ(sa.n + sb.n, 2);
	T_RC(sink_send(a, GW_LINK_MTU, 1), 1);
	T_RC(sink_send(a, GW_LINK_MTU + 1, 2), -EMSGSIZE);
	sb.room = 0;
	T_RC(sink_send(a, 60, 2), 0);
	b->ops->resume(b);
	T_EQ(sa.wakes, 1);
	b->ops->step(b, 10);
	T_EQ(sa.pulls, 1);
	sb.room = 1;
	T_RC(sink_send(a, 60, 2), 1);
	T_EQ(sb.bad + sa.bad, 0);
	gw__link_close(b);
	T_RC(sink_send(a, 60, 3), -EPIPE);
	T_RC(gw__link_open("cable:5", clock, &b, &d), 0); /* a new cable of that number */
	T_RC(sink_send(a, 60, 3), -EPIPE);
	gw__link_close(a);
	gw__link_close(b);
	T_RC(gw__link_open("loopback", clock, &a, &d), 0);
	sink_plug(a, &sa);
	T_RC(sink_send(a, 60, 0), 1);
	T_EQ(sa.n, 1);
	gw__link_close(a);
	gw__alloc_fail_at(1);
	T_RC(gw__link_open("cable:6", clock, &a, &d), -ENOMEM);
	gw__alloc_fail_at(1);
	T_RC(gw__link_open("loopback", clock, &a, &d), -ENOMEM);
	gw__alloc_fail_at(0);
	gw__link_close(NULL);
	T_EQ(gw__alloc_live(), 0);
	T_DONE();
}
