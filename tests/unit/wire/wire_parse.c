/* tests/unit/wire/wire_parse.c: headers found, lies told apart, rules matched, hash and checksums by known values.
 * Must not know ports. Next: tests/oracle/frames.py. */
#include "wire/build.h"
#include "wire/bytes.h"
#include "wire/checksum.h"
#include "wire/flow_table.h"
#include "wire/toeplitz.h"

#include "base/alloc.h"

#include "t.h"

static const struct gw__udp_hdr hdr = { .eth_dst = { 2, 0, 0, 0, 0, 1 }, .eth_src = { 2, 0, 0, 0, 0, 2 },
					.ip_src = { 10, 0, 0, 1 }, .ip_dst = { 10, 0, 0, 2 },
					.ip6_src = { 0xfe, 0x80, [15] = 1 }, .ip6_dst = { 0xfe, 0x80, [15] = 2 },
					.udp_src = 1000, .udp_dst = 4096 };

static void built_frames_parse(void)
{
	uint8_t f[2000];
	struct gw__pkt p;
	bool known;

	for (uint32_t n = 0; n < 1400; n += 13) {
		memset(f, (int)n, sizeof(f));
		T_EQ(gw__build_udp4(f, &hdr, f + 42, n), 42);
		gw__parse(f, 42, 42 + n, &p);
		T_EQ(p.flags, GW__PKT_ETHER | GW__PKT_IPV4 | GW__PKT_UDP);
		T_EQ(p.dst_port, 4096);
		T_EQ(p.payload_off, 42);
		T_OK(gw__udp_checksum_ok(f, &p, &known) && known);
		f[41 + n] ^= 1;
		T_OK(!gw__udp_checksum_ok(f, &p, &known) && known);
		memset(f, (int)n, sizeof(f));
		T_EQ(gw__build_udp6(f, &hdr, f + 62, n), 62);
		gw__parse(f, 62, 62 + n, &p);
		T_EQ(p.flags, GW__PKT_ETHER | GW__PKT_IPV6 | GW__PKT_UDP);
		T_OK(gw__udp_checksum_ok(f, &p, &known) && known);
		memset(f + 60, 0, 2);
		T_OK(!gw__udp_checksum_ok(f, &p, &known) && known); /* none: not legal over IPv6 */
	}
	gw__build_udp4(f, &hdr, NULL, 100);
	gw__parse(f, 42, 142, &p);
	T_OK(gw__udp_checksum_ok(f, &p, &known) && known); /* none: legal over IPv4 */
	T_RC(gw__build_udp4(f, &hdr, NULL, 65508), -EMSGSIZE);
	T_RC(gw__build_udp6(f, &hdr, f, 65528), -EMSGSIZE);
}

static void lies(void)
{
	uint8_t f[200] = { 0 };
	struct gw__pkt p;

	gw__build_udp4(f, &hdr, NULL, 100);
	gw__parse(f, 42, 142, &p);
	T_EQ(p.flags & (GW__PKT_L3_BAD | GW__PKT_L4_BAD), 0);
	gw__put16(f + 16, 5000); /* a sequence number where the length should be */
	gw__parse(f, 42, 142, &p);
	T_EQ(p.flags & (GW__PKT_L3_BAD | GW__PKT_L4_BAD), GW__PKT_L3_BAD);
	T_EQ(p.dst_port, 4096);
	T_EQ(p.ipv4_len, 5000);
	gw__put16(f + 16, 128);
	f[24] ^= 1;
	gw__parse(f, 42, 142, &p);
	T_OK(p.flags & GW__PKT_L3_BAD);
	f[24] ^= 1;
	gw__put16(f + 38, 109);
	gw__parse(f, 42, 142, &p);
	T_EQ(p.flags & (GW__PKT_L3_BAD | GW__PKT_L4_BAD), GW__PKT_L4_BAD);
	/* padding to the Ethernet minimum is no lie */
	gw__build_udp4(f, &hdr, NULL, 4);
	gw__parse(f, 60, 60, &p);
	T_EQ(p.flags & (GW__PKT_L3_BAD | GW__PKT_L4_BAD), 0);
	/* a fragment that is not the first has no ports */
	gw__build_udp4(f, &hdr, NULL, 100);
	gw__put16(f + 20, 100);
	gw__ipv4_set_checksum(f + 14, 20);
	gw__parse(f, 42, 142, &p);
	T_EQ(p.flags, GW__PKT_ETHER | GW__PKT_IPV4 | GW__PKT_FRAGMENT);
	for (uint32_t n = 0; n < 42; n++) { /* cut anywhere */
		gw__parse(f, n, n, &p);
		T_OK(p.l3_off <= n && p.l4_off <= n && p.payload_off <= n);
	}
}

#define TRY(want, field, set)                                                                      \
	do {                                                                                       \
		m = (struct gw_match){ .fields = field };                                          \
		(void)(set);                                                                       \
		T_EQ(gw__match(&m, f, 142, &p), want);                                             \
	} while (0)
#define YES(field, set) TRY(true, field, set)
#define NO(field, set) TRY(false, field, set)

static void matches(void)
{
	uint8_t f[200] = { 0 };
	struct gw__pkt p;
	struct gw_match m = { 0 };

	gw__build_udp4(f, &hdr, NULL, 100);
	gw__put32(f + 46, 0xdeadbeef);
	gw__parse(f, 142, 142, &p);
	T_OK(gw__match(&m, f, 142, &p)); /* catch-all */
	YES(GW_MATCH_ETH_DST, memcpy(m.eth_dst, hdr.eth_dst, 6));
	NO(GW_MATCH_ETH_DST, memcpy(m.eth_dst, hdr.eth_src, 6));
	YES(GW_MATCH_ETH_SRC, memcpy(m.eth_src, hdr.eth_src, 6));
	YES(GW_MATCH_ETHERTYPE, m.ethertype = 0x0800);
	NO(GW_MATCH_ETHERTYPE, m.ethertype = 0x86dd);
	NO(GW_MATCH_VLAN, m.vlan_id = 0); /* no tag at all */
	YES(GW_MATCH_IPV4_SRC, memcpy(m.ipv4_src, hdr.ip_src, 4));
	NO(GW_MATCH_IPV4_DST, memcpy(m.ipv4_dst, hdr.ip_src, 4));
	YES(GW_MATCH_IPV4_LEN, m.ipv4_len = 128);
	NO(GW_MATCH_IPV4_LEN, m.ipv4_len = 129);
	NO(GW_MATCH_IPV6_SRC, memcpy(m.ipv6_src, hdr.ip6_src, 16));
	YES(GW_MATCH_UDP_SRC, (m.udp_src_lo = 1000, m.udp_src_hi = 1000));
	YES(GW_MATCH_UDP_DST, (m.udp_dst_lo = 4090, m.udp_dst_hi = 4096));
	NO(GW_MATCH_UDP_DST, (m.udp_dst_lo = 4097, m.udp_dst_hi = 5000));
	YES(GW_MATCH_UDP_DST | GW_MATCH_IPV4_SRC,
	    (m.udp_dst_lo = 0, m.udp_dst_hi = 65535, memcpy(m.ipv4_src, hdr.ip_src, 4)));
	NO(GW_MATCH_UDP_DST | GW_MATCH_IPV4_SRC, (m.udp_dst_lo = 0, m.udp_dst_hi = 65535));
	YES(GW_MATCH_FLEX, (m.flex_udp_dst = 4096, m.flex_offset = 4, m.flex_val = 0xdead0000, m.flex_mask = ~0xffffu));
	NO(GW_MATCH_FLEX, (m.flex_udp_dst = 4096, m.flex_offset = 4, m.flex_val = 0xdead0000, m.flex_mask = ~0u));
	NO(GW_MATCH_FLEX, (m.flex_udp_dst = 4095, m.flex_mask = 0));
	NO(GW_MATCH_ECPRI | GW_MATCH_ECPRI_TYPE, m.ecpri_msg_type = 0);
	gw__build_udp6(f, &hdr, f + 62, 20);
	gw__parse(f, 82, 82, &p);
	YES(GW_MATCH_IPV6_SRC, memcpy(m.ipv6_src, hdr.ip6_src, 16));
	YES(GW_MATCH_IPV6_DST | GW_MATCH_UDP_DST,
	    (memcpy(m.ipv6_dst, hdr.ip6_dst, 16), m.udp_dst_lo = m.udp_dst_hi = 4096));
	gw__put16(f + 12, 0xaefe); /* eCPRI, message 2, RTC id 7 */
	memcpy(f + 14, "\x10\x02\0\x08\0\x07", 6);
	gw__parse(f, 60, 60, &p);
	YES(GW_MATCH_ECPRI | GW_MATCH_ECPRI_TYPE, m.ecpri_msg_type = 2);
	NO(GW_MATCH_ECPRI | GW_MATCH_ECPRI_TYPE, m.ecpri_msg_type = 3);
	YES(GW_MATCH_ECPRI, m.ecpri_msg_type = 9); /* any message: the type does not count */
	YES(GW_MATCH_ECPRI | GW_MATCH_ECPRI_TYPE | GW_MATCH_ECPRI_ID, (m.ecpri_msg_type = 2, m.ecpri_id = 7));
	NO(GW_MATCH_ECPRI | GW_MATCH_ECPRI_TYPE | GW_MATCH_ECPRI_ID, (m.ecpri_msg_type = 2, m.ecpri_id = 8));
	memcpy(f + 12, "\x88\xa8\x20\x05\x81\x00\x00\x00\x08\x06", 10); /* QinQ: 5, then a priority tag */
	gw__parse(f, 60, 60, &p);
	T_EQ(p.n_vlan, 2);
	YES(GW_MATCH_VLAN | GW_MATCH_ETHERTYPE, (m.vlan_id = 5, m.ethertype = 0x0806));
	memcpy(f + 12, "\x81\x00\xa0\x00\x08\x06", 6);
	gw__parse(f, 60, 60, &p);
	YES(GW_MATCH_VLAN, m.vlan_id = 0);
}

static void bad_rules(void)
{
	static const struct gw_match bad[] = {
		{ .fields = GW_MATCH_UDP_DST, .udp_dst_lo = 2, .udp_dst_hi = 1 },
		{ .fields = GW_MATCH_UDP_SRC, .udp_src_lo = 2, .udp_src_hi = 1 },
		{ .fields = GW_MATCH_FLEX | GW_MATCH_UDP_DST },
		{ .fields = GW_MATCH_ECPRI | GW_MATCH_ETHERTYPE },
		{ .fields = GW_MATCH_FLEX, .flex_offset = 3 },
		{ .fields = GW_MATCH_FLEX, .flex_offset = 64 },
		{ .fields = GW_MATCH_ECPRI_ID },
		{ .fields = GW_MATCH_VLAN, .vlan_id = 4096 },
		{ .fields = 1u << 31 },
	};
	struct gw__flow_table t = { 0 };
	struct gw_flow_rule r = { 0 };
	struct gw_diag d;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		r.match = bad[i];
		T_RC(gw__flow_table_add(&t, &r, &d), -EINVAL);
	}
	r.match = (struct gw_match){ 0 };
	for (uint32_t i = 0; i < 100; i++) {
		r.id = i / 2 * 2; /* id 0 may repeat, others not */
		T_RC(gw__flow_table_add(&t, &r, &d), i % 2 && i > 1 ? -EEXIST : 0);
	}
	T_EQ(t.n, 51);
	T_RC(gw__flow_table_del(&t, 0), 0);
	T_EQ(t.n, 49);
	T_EQ(t.rule[0].id, 2);
	T_RC(gw__flow_table_del(&t, 3), -ENOENT);
	gw__flow_table_fini(&t);
	gw__alloc_fail_at(1);
	T_RC(gw__flow_table_add(&t, &r, &d), -ENOMEM);
	gw__alloc_fail_at(0);
	gw__flow_table_fini(&t);
	T_EQ(gw__alloc_live(), 0);
}

/* The published verification suite: address pairs, ports, and the hashes with and without ports. */
static void toeplitz(void)
{
	static const struct {
		const char *src, *dst;
		uint16_t sport, dport;
		uint32_t ip, all;
	} v[] = {
		{ "66.9.149.187", "161.142.100.80", 2794, 1766, 0x323e8fc2, 0x51ccc178 },
		{ "199.92.111.2", "65.69.140.83", 14230, 4739, 0xd718262a, 0xc626b0ea },
		{ "24.19.198.95", "12.22.207.184", 12898, 38024, 0xd2d0a5de, 0x5c2b394a },
		{ "38.27.205.30", "209.142.163.6", 48228, 2217, 0x82989176, 0xafc7327f },
		{ "153.39.163.191", "202.188.127.2", 44251, 1303, 0x5d1809c5, 0x10e828a2 },
	};
	static struct gw__toeplitz t;

	gw__toeplitz_init(&t, gw__toeplitz_default_key);
	for (size_t i = 0; i < 5; i++) {
		uint8_t in[12];

		T_RC(gw__ipv4_from_text(v[i].src, in), 0);
		T_RC(gw__ipv4_from_text(v[i].dst, in + 4), 0);
		gw__put16(in + 8, v[i].sport);
		gw__put16(in + 10, v[i].dport);
		T_EQ(gw__toeplitz(&t, in, 8), v[i].ip);
		T_EQ(gw__toeplitz(&t, in, 12), v[i].all);
		T_EQ(gw__toeplitz_slow(gw__toeplitz_default_key, in, 12), v[i].all);
	}
}

static void text(void)
{
	uint8_t b[6];

	T_RC(gw__mac_from_text("02:00:5E:00:00:ff", b), 0);
	T_EQ(b[2], 0x5e);
	T_RC(gw__mac_from_text("02:00:5e:00:00", b), -EINVAL);
	T_RC(gw__mac_from_text("02:00:5e:00:00:01x", b), -EINVAL);
	T_RC(gw__ipv4_from_text("10.0.0.256", b), -EINVAL);
}

int main(void)
{
	built_frames_parse();
	lies();
	matches();
	bad_rules();
	toeplitz();
	text();
	T_DONE();
}
