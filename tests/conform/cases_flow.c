/* Rules while packets flow, and bursts into files. */
#include <sys/stat.h>
#include <unistd.h>

#include "bed.h"

static struct gw_flow_rule to_queue(uint32_t id, uint16_t udp_dst, uint16_t queue)
{
	return (struct gw_flow_rule){
		.id = id,
		.match = { .fields = GW_MATCH_UDP_DST, .udp_dst_lo = udp_dst, .udp_dst_hi = udp_dst },
		.action = { { .type = GW_ACTION_QUEUE, .n_queues = 1, .queue = { queue } } },
		.n_actions = 1,
	};
}

static uint32_t flow_of_next(struct bed *b, uint16_t queue)
{
	struct gw_burst burst;
	uint32_t flow;

	T_NEED(bed_take(b, queue, SOON, &burst) == 1);
	flow = burst.flow[0];
	gw_burst_release(&burst);
	return flow;
}

static void add_and_remove(const char *engine)
{
	struct bed b = { .r = { .batch = 1, .n_rxq = 2 } };
	struct gw_flow_rule rules[2] = { to_queue(900, 7000, 1), to_queue(0, 7001, 1) };
	struct gw_flow_done done;
	uint32_t t1 = 0, t2 = 0;

	bed_open(&b, engine);
	T_EQ(gw_flow_poll(b.gw, &done), 0);
	T_EQ(bed_send(&b, 0, 1, 7000), 1);
	T_EQ(flow_of_next(&b, 0), 0);
	T_RC(gw_flow_add(b.gw, 1, rules, 2, &t1, NULL), 0);
	T_EQ(gw_flow_poll(b.gw, &done), 1);
	T_OK(done.ticket == t1 && done.status == 0 && done.n_rules == 2);
	T_OK(rules[1].id != 0 && rules[1].id != 900);
	T_EQ(bed_send(&b, 1, 1, 7000), 1);
	T_EQ(flow_of_next(&b, 1), 900);
	T_EQ(bed_send(&b, 2, 1, 7001), 1);
	T_EQ(flow_of_next(&b, 1), rules[1].id);
	T_EQ(bed_send(&b, 3, 1, RIG_PORT), 1);
	T_EQ(flow_of_next(&b, 0), 200);
	T_RC(gw_flow_del(b.gw, 1, 900, &t2), 0);
	T_EQ(gw_flow_poll(b.gw, &done), 1);
	T_OK(done.ticket == t2 && t2 != t1);
	T_EQ(bed_send(&b, 4, 1, 7000), 1);
	T_EQ(flow_of_next(&b, 0), 0);
	bed_close(&b);
}

static void refused_rules(const char *engine)
{
	struct bed b = { .r = { .batch = 1 } };
	struct gw_flow_rule good = to_queue(0, 7000, 0), taken = to_queue(200, 7001, 0), nowhere = to_queue(5, 7002, 9);
	struct gw_flow_rule mixed[2] = { to_queue(6, 7003, 0), to_queue(6, 7004, 0) };
	struct gw_diag d = { "" };
	uint32_t t;

	bed_open(&b, engine);
	T_RC(gw_flow_add(b.gw, 1, &taken, 1, &t, &d), -EEXIST);
	T_HAS(d.text, "200");
	T_RC(gw_flow_add(b.gw, 1, &nowhere, 1, &t, &d), -EINVAL);
	T_RC(gw_flow_add(b.gw, 1, mixed, 2, &t, &d), -EEXIST);
	T_RC(gw_flow_del(b.gw, 1, 6, &t), -ENOENT); /* all or none */
	T_RC(gw_flow_del(b.gw, 1, 200, &t), -EPERM);
	T_RC(gw_flow_del(b.gw, 1, 0, &t), -EINVAL);
	T_RC(gw_flow_add(b.gw, 0, &good, 1, &t, &d), -EINVAL);
	T_RC(gw_flow_add(b.gw, 1, &good, 0, &t, &d), -EINVAL);
	for (int i = 0; i < 64; i++) {
		good = to_queue(0, (uint16_t)(8000 + i), 0);
		T_RC(gw_flow_add(b.gw, 1, &good, 1, &t, &d), 0);
	}
	good = to_queue(0, 9000, 0);
	T_RC(gw_flow_add(b.gw, 1, &good, 1, &t, &d), -ENOBUFS);
	bed_close(&b);
}

/* ---- files ----------------------------------------------------------------------------------- */

static char dir[64];

static void fresh_dir(void)
{
	strcpy(dir, "/tmp/gw_conform_XXXXXX");
	T_NEED(mkdtemp(dir));
}

static size_t slurp(const char *name, uint8_t *buf, size_t size)
{
	char path[160];
	FILE *f;
	size_t n;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "rb");
	if (!f)
		return 0;
	n = fread(buf, 1, size, f);
	fclose(f);
	unlink(path);
	return n;
}

static uint32_t le32(const uint8_t *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* n records of packets from, from + 1, ... after the file's head; time in wall-clock seconds. */
static void check_pcap(const struct rig *r, const uint8_t *file, size_t size, uint32_t magic, uint32_t n)
{
	uint32_t len = RIG_HDR + r->payload, wrong = 0;
	uint8_t frame[RIG_HDR + 9000];

	T_EQ(size, 24 + n * (16 + len));
	T_EQ(le32(file), magic);
	T_EQ(le32(file + 4), 0x00040002);
	T_EQ(le32(file + 20), 1);
	for (uint32_t i = 0; i < n && size == 24 + n * (16 + len); i++) {
		const uint8_t *rec = file + 24 + i * (16 + len);

		rig_frame(frame, i, r->seq_bits, RIG_PORT, r->payload);
		wrong += memcmp(rec + 16, frame, len) != 0;
		wrong += le32(rec + 8) != len || le32(rec + 12) != len;
		wrong += le32(rec + 4) >= (magic == 0xa1b23c4d ? 1000000000u : 1000000u);
		wrong += le32(rec) + 60 < (uint32_t)time(NULL) || le32(rec) > (uint32_t)time(NULL) + 60;
	}
	T_EQ(wrong, 0);
}

static void pcap_files(const char *engine)
{
	static uint8_t file[65536];
	struct bed b = { .r = { .batch = 8, .timestamps = true, .rx_hdr = 64 } };
	char us[160], ns[160];
	struct gw_write_opts o = { .sz = sizeof(o), .kind = GW_FILE_PCAP_US, .path = us };
	struct gw_write_status st;
	struct gw_write *w = NULL;
	struct gw_burst burst;
	struct gw_diag d = { "" };

	fresh_dir();
	snprintf(us, sizeof(us), "%s/us", dir);
	snprintf(ns, sizeof(ns), "%s/ns", dir);
	bed_open(&b, engine);
	for (uint32_t at = 0; at < 16; at += 8) {
		T_EQ(bed_send(&b, at, 8, RIG_PORT), 8);
		T_NEED(bed_take(&b, 0, SOON, &burst) == 1);
		T_RC(gw_write_burst(b.gw, &burst, &o, NULL, &st, &d), 0);
		T_EQ(st.n_done, 8);
		T_EQ(st.n_bytes, 8 * (RIG_HDR + 64));
		if (!at) {
			struct gw_write_opts other = { .sz = sizeof(o), .kind = GW_FILE_PCAP_NS, .path = us };

			T_RC(gw_write_burst(b.gw, &burst, &other, NULL, &st, &d), -EPROTO);
			T_EQ(st.n_failed, 8);
			other.path = ns;
			T_RC(gw_write_burst(b.gw, &burst, &other, &w, NULL, &d), 0);
			T_EQ(gw_write_wait(w, SOON, &st), 1);
			T_EQ(gw_write_poll(w, &st), 1);
			T_EQ(st.n_done, 8);
			gw_write_destroy(w);
		}
		gw_burst_release(&burst);
	}
	check_pcap(&b.r, file, slurp("us", file, sizeof(file)), 0xa1b2c3d4, 16);
	check_pcap(&b.r, file, slurp("ns", file, sizeof(file)), 0xa1b23c4d, 8);
	T_RC(rmdir(dir), 0);
	bed_close(&b);
}

static void raw_files(const char *engine)
{
	static uint8_t file[65536], frame[RIG_HDR + 64];
	struct bed b = { .r = { .batch = 4, .rx_hdr = 50 } };
	struct gw_write_opts o = { .sz = sizeof(o), .kind = GW_FILE_RAW, .path = dir, .prefix = "p", .first_index = 7,
				   .offset = 60 };
	struct gw_write_status st;
	struct gw_burst burst;
	struct gw_diag d = { "" };
	char name[32];

	fresh_dir();
	bed_open(&b, engine);
	T_EQ(bed_send(&b, 0, 4, RIG_PORT), 4);
	T_NEED(bed_take(&b, 0, SOON, &burst) == 1);
	T_RC(gw_write_burst(b.gw, &burst, &o, NULL, &st, &d), 0);
	T_EQ(st.n_done, 4);
	T_EQ(st.n_bytes, 4 * (RIG_HDR + 64 - 60));
	for (uint32_t i = 0; i < 4; i++) {
		snprintf(name, sizeof(name), "p_%u", 7 + i);
		rig_frame(frame, i, 16, RIG_PORT, 64);
		T_EQ(slurp(name, file, sizeof(file)), RIG_HDR + 64 - 60);
		T_MEM(file, frame + 60, RIG_HDR + 64 - 60);
	}
	o.path = "/nonexistent";
	T_RC(gw_write_burst(b.gw, &burst, &o, NULL, &st, &d), -ENOENT);
	T_EQ(st.n_failed, 4);
	T_HAS(d.text, "/nonexistent");
	o.sz = 1;
	T_RC(gw_write_burst(b.gw, &burst, &o, NULL, &st, &d), -EINVAL);
	gw_burst_release(&burst);
	o.sz = sizeof(o);
	T_RC(gw_write_burst(b.gw, &burst, &o, NULL, &st, &d), -EINVAL);
	T_RC(rmdir(dir), 0);
	bed_close(&b);
}

/* A tensor goes to one file; a full disk is an error that names itself. */
static void tensor_file(const char *engine)
{
	static uint8_t file[65536];
	struct bed b = { .r = { .ppb = 8 } };
	struct gw_write_opts o = { .sz = sizeof(o), .kind = GW_FILE_RAW, .path = dir };
	struct gw_write_status st;
	struct gw_burst burst;
	struct gw_diag d = { "" };

	fresh_dir();
	bed_open(&b, engine);
	T_EQ(bed_send(&b, 0, 8, RIG_PORT), 8);
	T_NEED(bed_take(&b, 0, SOON, &burst) == 1);
	T_RC(gw_write_burst(b.gw, &burst, &o, NULL, &st, &d), 0);
	T_EQ(st.n_bytes, 8 * 64);
	T_EQ(slurp("packet_0", file, sizeof(file)), 8 * 64);
	T_EQ(file[3 * 64 + 5], rig_byte(3, 5));
	o.kind = GW_FILE_PCAP_US;
	T_RC(gw_write_burst(b.gw, &burst, &o, NULL, &st, &d), -ENOTSUP);
	gw_burst_release(&burst);
	T_RC(rmdir(dir), 0);
	bed_close(&b);
}

static void full_disk(const char *engine)
{
	struct bed b = { .r = { .batch = 8 } };
	struct gw_write_opts o = { .sz = sizeof(o), .kind = GW_FILE_RAW, .path = dir };
	struct gw_write_status st;
	struct gw_burst burst;
	char link[160];

	if (access("/dev/full", W_OK))
		return;
	fresh_dir();
	snprintf(link, sizeof(link), "%s/packet_0", dir);
	T_NEED(!symlink("/dev/full", link));
	bed_open(&b, engine);
	T_EQ(bed_send(&b, 0, 8, RIG_PORT), 8);
	T_NEED(bed_take(&b, 0, SOON, &burst) == 1);
	T_RC(gw_write_burst(b.gw, &burst, &o, NULL, &st, NULL), -ENOSPC);
	T_EQ(st.n_failed, 1);
	T_EQ(st.n_done, 7);
	T_EQ(st.err, -ENOSPC);
	gw_burst_release(&burst);
	for (uint32_t i = 0; i < 8; i++) {
		snprintf(link, sizeof(link), "%s/packet_%u", dir, i);
		unlink(link);
	}
	T_RC(rmdir(dir), 0);
	bed_close(&b);
}

static const struct conform_case cases[] = {
	{ "rules added and removed", add_and_remove },
	{ "rules refused", refused_rules },
	{ "pcap files", pcap_files },
	{ "raw files", raw_files },
	{ "a tensor's file", tensor_file },
	{ "a full disk", full_disk },
	{ NULL, NULL },
};

const struct conform_list flow_list = { cases, &t__checks, &t__failed };
