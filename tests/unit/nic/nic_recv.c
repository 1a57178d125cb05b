/* tests/unit/nic/nic_recv.c: receive entries and completions by hand: titles, mini entries, bad entries.
 * Must not know engines. Next: nic_send.c. */
#include "queues.h"

static struct pair p;

static uint32_t mini_len(uint32_t title, uint32_t i)
{
	uint32_t slot = (title + mlx5_mini_slot(i)) & (N - 1), be;

	memcpy(&be, p.rcqe + slot * 64 + i % 8 * 8 + 4, 4);
	return __builtin_bswap32(be);
}

static void title(uint32_t n, uint16_t first, uint32_t flow, const uint32_t *len)
{
	const struct mlx5_cqe *c = rcqe(&p);

	T_NEED(c);
	T_EQ(c->op_own >> 4, MLX5_CQE_RESP_SEND);
	T_EQ(c->op_own >> 2 & 3, n > 1 ? MLX5_CQE_FORMAT_COMPRESSED : 0);
	T_EQ(__builtin_bswap32(c->byte_cnt), n > 1 ? n : len[0]);
	T_EQ(__builtin_bswap16(c->wqe_counter), first);
	T_EQ(__builtin_bswap32(c->sop_drop_qpn) & 0xffffff, flow);
	for (uint32_t i = 0; n > 1 && i < n; i++)
		T_EQ(mini_len(p.rci, i), len[i]);
	eat(&p, n);
}

static void compression(void)
{
	static const uint32_t len[11] = { 60, 61, 62, 63, 64, 65, 66, 67, 68, 69, 70 };
	static const uint32_t one[1] = { 200 };
	struct gw_flow_rule r = { .id = 5, .n_actions = 1 };

	pair_open(&p, true);
	/* a second flow in front of the catch-all: a change of flow closes a run */
	gw__nic_soft.flow(p.rx, &(struct gw_flow_rule){ .id = 9 }, NULL, false, NULL);
	r.match.fields = GW_MATCH_UDP_DST;
	r.match.udp_dst_lo = r.match.udp_dst_hi = 5;
	r.action[0].type = GW_ACTION_QUEUE;
	r.action[0].n_queues = 1;
	T_RC(gw__nic_soft.flow(p.rx, &r, &p.rq, true, NULL), 0);
	r.id = 9;
	r.match.fields = 0;
	T_RC(gw__nic_soft.flow(p.rx, &r, &p.rq, true, NULL), 0);
	post_recv(&p, N);
	for (int lap = 0; lap < 40; lap++) {
		uint16_t at = (uint16_t)(lap * 12);

		for (uint32_t i = 0; i < 11; i++)
			send_one(&p, len[i], 1, false);
		send_one(&p, 200, 5, true);
		T_RC(go(&p), 12);
		T_OK(scqe(&p));
		title(11, at, 9, len);
		title(1, (uint16_t)(at + 11), 5, one);
		T_OK(!rcqe(&p));
		post_recv(&p, 12);
	}
	pair_close(&p);
}

/* One burst whose middle frame has a false checksum: three runs. */
static void flags_close(void)
{
	static const uint32_t len[2] = { 100, 100 };

	pair_open(&p, true);
	post_recv(&p, N);
	send_one(&p, 100, 1, false);
	send_one(&p, 100, 1, false);
	send_one(&p, 100, 1, false);
	p.smem[2][24] ^= 0xff; /* IPv4 header checksum */
	send_one(&p, 100, 1, false);
	send_one(&p, 100, 1, true);
	T_RC(go(&p), 5);
	T_EQ(rcqe(&p)->hds_ip_ext, MLX5_L3_OK | MLX5_L4_OK);
	title(2, 0, 9, len);
	T_EQ(rcqe(&p)->hds_ip_ext, MLX5_L4_OK);
	title(1, 2, 9, len);
	title(2, 3, 9, len);
	pair_close(&p);
}

/* Frames that find no entry are counted in front of the next one that does. */
static void lost_before(void)
{
	pair_open(&p, true);
	post_recv(&p, 2);
	for (int i = 0; i < 5; i++)
		send_one(&p, 100, 1, i == 4);
	T_RC(go(&p), 5);
	T_EQ(gw__nic_soft.obj_query(p.rq, GW__NIC_MISSED), 3);
	eat(&p, 2);
	post_recv(&p, 2);
	send_one(&p, 100, 1, false);
	send_one(&p, 100, 1, true);
	T_RC(go(&p), 2);
	T_EQ(__builtin_bswap32(rcqe(&p)->app), 3);
	eat(&p, 2);
	pair_close(&p);
}

static void bad_entry(int what)
{
	struct gw_port_stats s;
	uint8_t *at = p.rring + 2 * 32;
	int n = 0;

	pair_open(&p, true);
	post_recv(&p, 5);
	if (what == 0)
		put_data(at, 64, p.rkey + 0x100, p.rmem);
	if (what == 1)
		put_data(at + 16, BUF, p.rkey, (uint8_t *)p.rmem + sizeof(p.rmem) - BUF + 1);
	if (what == 2)
		put_data(at, 64 | MLX5_INLINE, p.rkey, p.rmem);
	if (what == 3)
		put_data(at, 64, MLX5_INVALID_LKEY, p.rmem);
	for (int i = 0; i < 4; i++)
		send_one(&p, 100, 1, true);
	T_RC(go(&p), 4);
	T_EQ(__builtin_bswap32(rcqe(&p)->byte_cnt), 2);
	eat(&p, 2);
	for (; rcqe(&p); n++, eat(&p, 1)) {
		const struct mlx5_err_cqe *e = (const void *)rcqe(&p);

		T_EQ(e->op_own >> 4, MLX5_CQE_RESP_ERR);
		T_EQ(e->syndrome, n ? MLX5_SYND_WR_FLUSH : MLX5_SYND_LOCAL_PROT);
		T_EQ(__builtin_bswap16(e->wqe_counter), 2 + n);
	}
	T_EQ(n, 3);
	T_EQ(gw__nic_soft.obj_query(p.rq, GW__NIC_STATE), GW__NIC_ERR);
	T_RC(gw__nic_soft.query(p.rx, &s), 0);
	T_EQ(s.rx_packets, 2);
	T_EQ(s.rx_missed, 2);
	T_EQ(s.rx_wire_packets, 4);
	T_RC(gw__nic_soft.obj_modify(p.rq, GW__NIC_STATE, GW__NIC_RST), 0);
	T_RC(gw__nic_soft.obj_modify(p.rq, GW__NIC_STATE, GW__NIC_RTS), 0);
	post_recv(&p, 1);
	send_one(&p, 100, 1, true);
	T_RC(go(&p), 1);
	T_EQ(__builtin_bswap16(rcqe(&p)->wqe_counter), 5);
	pair_close(&p);
}

static void wild_records(void)
{
	struct gw_port_stats s;

	pair_open(&p, true);
	post_recv(&p, 1);
	p.rec[6] = __builtin_bswap32(N + 1); /* more than the ring holds: nothing is posted */
	send_one(&p, 100, 1, true);
	T_RC(go(&p), 1);
	T_EQ(gw__nic_soft.obj_query(p.rq, GW__NIC_MISSED), 1);
	T_OK(gw__nic_soft.obj_query(p.rq, GW__NIC_STALE) > 0);
	p.rec[6] = __builtin_bswap32(N);
	post_recv(&p, N - 1);
	p.rec[4] = 0xabcdef; /* a consumer index from nowhere: nothing is overwritten */
	for (uint32_t i = 0; i < N; i++)
		send_one(&p, 100, 1, i == N - 1);
	T_RC(go(&p), N);
	T_RC(gw__nic_soft.query(p.rx, &s), 0);
	T_EQ(s.rx_packets, N);
	p.rec[4] = 0x123456;
	post_recv(&p, N);
	send_one(&p, 100, 1, true);
	T_RC(go(&p), 1);
	T_RC(gw__nic_soft.query(p.rx, &s), 0);
	T_EQ(s.rx_packets, N);
	T_EQ(s.rx_missed, 2);
	pair_close(&p);
}

int main(void)
{
	compression();
	flags_close();
	lost_before();
	for (int i = 0; i < 4; i++)
		bad_entry(i);
	wild_records();
	T_DONE();
}
