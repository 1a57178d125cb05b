/* tests/oracle/frames_filter.c: frames for frames.py to judge: "build" prints what we write, "parse" reads hex
 * lines and prints what we find. Must not judge anything itself. Next: frames.py. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nic/soft/edit.h"
#include "wire/build.h"
#include "wire/checksum.h"

static uint8_t payload[1000];

static void hex(const char *name, const uint8_t *f, uint32_t n)
{
	printf("%s ", name);
	for (uint32_t i = 0; i < n; i++)
		printf("%02x", f[i]);
	putchar('\n');
}

static void edited(const char *name, const uint8_t *frame, uint32_t n, const struct gw_action *a, uint32_t n_actions)
{
	static struct soft_edit e;
	struct gw__frame f = { .n_segs = 2, .len = n }, g;
	uint8_t out[4096];
	uint32_t at = 0;

	f.seg[0].ptr = frame;
	f.seg[0].len = 9;
	f.seg[1].ptr = frame + 9;
	f.seg[1].len = n - 9;
	soft_edit_begin(&e, &f);
	for (uint32_t i = 0; i < n_actions; i++)
		if (a[i].type == GW_ACTION_ENCAP ? soft_edit_encap(&e, &a[i]) : soft_edit_push_vlan(&e, &a[i]))
			exit(1);
	if (soft_edit_end(&e, &g))
		exit(1);
	for (uint32_t s = 0; s < g.n_segs; at += g.seg[s].len, s++)
		memcpy(out + at, g.seg[s].ptr, g.seg[s].len);
	hex(name, out, at);
}

static void build(void)
{
	struct gw__udp_hdr h = { .eth_dst = { 2, 0, 0, 0, 0, 1 }, .eth_src = { 2, 0, 0, 0, 0, 2 },
				 .ip_src = { 10, 1, 2, 3 }, .ip_dst = { 10, 3, 2, 1 }, .ip6_src = { 0xfd, [15] = 1 },
				 .ip6_dst = { 0xfd, [15] = 2 }, .udp_src = 1111, .udp_dst = 2222, .ttl = 7, .tos = 0x2e,
				 .ip_id = 99 };
	struct gw_action a[2] = { { .type = GW_ACTION_ENCAP }, { .type = GW_ACTION_VLAN_PUSH } };
	static const char *const names[] = { "vxlan", "gre", "nvgre" };
	uint8_t f[2000];

	for (uint32_t i = 0; i < sizeof(payload); i++)
		payload[i] = (uint8_t)(i * 7);
	for (uint32_t n = 0; n <= 1000; n += 111) {
		memcpy(f + 62, payload, n);
		gw__build_udp6(f, &h, payload, n);
		hex("udp6", f, 62 + n);
		memcpy(f + 42, payload, n);
		gw__build_udp4(f, &h, payload, n);
		hex("udp4", f, 42 + n);
	}
	a[0].tunnel.ttl = 33;
	a[0].tunnel.tos = 4;
	a[0].tunnel.udp_src = 5555;
	a[0].tunnel.udp_dst = 4789;
	a[0].tunnel.vni = 0x123456;
	a[0].tunnel.flow_id = 0x9a;
	a[0].tunnel.gre_protocol = 0x0800;
	memcpy(a[0].tunnel.eth_src, "\2\0\0\0\0\3", 6);
	memcpy(a[0].tunnel.eth_dst, "\2\0\0\0\0\4", 6);
	memcpy(a[0].tunnel.ipv4_src, "\xac\x10\0\1", 4);
	memcpy(a[0].tunnel.ipv4_dst, "\xac\x10\0\2", 4);
	a[1].vlan.id = 0xabc;
	a[1].vlan.pcp = 6;
	a[1].vlan.dei = 1;
	a[1].vlan.ethertype = 0x88a8;
	edited("vlan", f, 1041, &a[1], 1);
	for (int t = 0; t < 3; t++) {
		a[0].tunnel.type = (enum gw_tunnel)t;
		edited(names[t], f, 1041, a, 1);
		edited("tagged", f, 1041, a, 2);
	}
}

static void parse(void)
{
	static char line[40000];
	static uint8_t f[20000];

	while (fgets(line, sizeof(line), stdin)) {
		uint32_t n = 0;
		unsigned int b;
		struct gw__pkt p;
		bool known, ok;

		for (const char *c = line; sscanf(c, "%2x", &b) == 1; c += 2)
			f[n++] = (uint8_t)b;
		gw__parse(f, n < GW_PARSE_MAX ? n : GW_PARSE_MAX, n, &p);
		ok = gw__udp_checksum_ok(f, &p, &known);
		printf("%u %u %u %u %u %u %u %u %u %u %u %u\n", p.ethertype, p.n_vlan, p.vlan_tci, p.l3_off, p.l4_off,
		       p.flags & GW__PKT_UDP ? p.payload_off : 0, p.src_port, p.dst_port,
		       !(p.flags & GW__PKT_L3_BAD), !(p.flags & GW__PKT_L4_BAD), known, ok);
	}
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "build"))
		build();
	else if (argc == 2 && !strcmp(argv[1], "parse"))
		parse();
	else
		return 1;
	return 0;
}
