/* A sender and a receiver on one wire, through the public API alone: the configuration text, frames whose
 * every byte follows from their number, and what a receiver must see. Used by unit, conform and sim tests.
 * The sender is port 0 (tx_port), the receiver port 1 (rx_port), engine and address as the test says. */
#ifndef GW_TESTS_RIG_H
#define GW_TESTS_RIG_H

#include <gpuwire/gpuwire.h>
#include <stdarg.h>
#include <stdbool.h>

#include "t.h"

#define RIG_HDR 64u    /* Ethernet, IPv4, UDP, the number, padding */
#define RIG_SEQ_AT 42u /* byte of the sequence field's first bit */
#define RIG_PORT 4096u

struct rig {
	const char *engine, *address;
	const char *rx_address;             /* NULL = address */
	uint32_t tx_bufs, tx_size;          /* defaults 256 slots of 2048 */
	uint32_t tx_hdr;                    /* > 0: transmit in two segments */
	uint32_t rx_bufs, rx_size, rx_hdr;  /* rx_hdr > 0: header-data split */
	uint32_t batch, timeout_us, meta;   /* defaults 32, 0, 256 */
	uint32_t n_rxq;                     /* default 1; queue i takes UDP port RIG_PORT + i, flow 200 + i */
	bool rss;                           /* one flow over all queues */
	bool direct, isolate, timestamps, busy, src_mac;
	bool foreign;                       /* region rx is the application's */
	int cpu_core;                       /* of every poller */
	const char *payload_kind;           /* default host */
	/* a reorder plan on queue 0; ppb 0 = none */
	uint32_t ppb, seq_bits, per_group, out_bufs;
	uint32_t payload;                   /* payload bytes of one packet */
	const char *out_type;               /* NULL = plain copy; else int8 -> out_type */
	const char *fill;                   /* zero, keep, poison */
	const char *missing;                /* passthrough, drop */
	uint32_t run;                       /* consecutive_windows; 0 = not given */
};

static inline void rig_defaults(struct rig *r)
{
	r->tx_bufs = r->tx_bufs ? r->tx_bufs : 256;
	r->tx_size = r->tx_size ? r->tx_size : 2048;
	r->rx_bufs = r->rx_bufs ? r->rx_bufs : 256;
	r->payload = r->payload ? r->payload : 64;
	r->rx_size = r->rx_size ? r->rx_size : r->ppb ? (r->rx_hdr ? 0 : RIG_HDR) + r->payload : 2048;
	r->batch = r->batch ? r->batch : r->ppb > 32 ? r->ppb : 32;
	r->meta = r->meta ? r->meta : 256;
	r->n_rxq = r->n_rxq ? r->n_rxq : 1;
	r->payload_kind = r->payload_kind ? r->payload_kind : r->out_type ? "host_pinned" : "host";
	r->seq_bits = r->seq_bits ? r->seq_bits : 16;
	r->out_bufs = r->out_bufs ? r->out_bufs : 4;
}

struct rig_text {
	char buf[8192];
	size_t n;
};

static inline GW_PRINTF(2, 3) void rig_put(struct rig_text *t, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	t->n += (size_t)vsnprintf(t->buf + t->n, sizeof(t->buf) - t->n, fmt, ap);
	va_end(ap);
	T_NEED(t->n < sizeof(t->buf));
}

static inline void rig_region(struct rig_text *t, const char *name, const char *kind, uint32_t n, uint32_t size)
{
	rig_put(t, "  - {name: %s, kind: %s, affinity: 0, num_bufs: %u, buf_size: %u}\n", name, kind, n, size);
}

static inline void rig_flows(const struct rig *r, struct rig_text *t)
{
	rig_put(t, "      flows:\n");
	if (r->rss) {
		rig_put(t, "      - {name: all, id: 200, action: {type: queue, ids: [");
		for (uint32_t i = 0; i < r->n_rxq; i++)
			rig_put(t, "%s%u", i ? ", " : "", i);
		rig_put(t, "]}, match: {}}\n");
		return;
	}
	for (uint32_t i = 0; i < r->n_rxq; i++)
		rig_put(t, "      - {name: f%u, id: %u, action: {type: queue, id: %u}, match: {udp_dst: %u}}\n", i,
			200 + i, i, RIG_PORT + i);
}

static inline void rig_plan(const struct rig *r, struct rig_text *t)
{
	rig_put(t, "      reorder_configs:\n"
		   "      - name: plan\n        reorder_type: %s\n        memory_region: out\n"
		   "        payload_byte_offset: %u\n        flow_ids: [200]\n",
		r->out_type ? "gpu" : "cpu", RIG_HDR);
	if (r->out_type)
		rig_put(t, "        data_types: {input_type: int8, output_type: %s}\n", r->out_type);
	if (r->fill)
		rig_put(t, "        fill: %s\n", r->fill);
	if (r->missing)
		rig_put(t, "        missing_action: %s\n", r->missing);
	if (r->run)
		rig_put(t, "        consecutive_windows: %u\n", r->run);
	rig_put(t, "        method:\n          seq_packets_per_batch:\n"
		   "            sequence_number: {bit_offset: %u, bit_width: %u}\n"
		   "            packets_per_batch: %u\n", RIG_SEQ_AT * 8, r->seq_bits, r->ppb);
}

static inline void rig_yaml(const struct rig *r, struct rig_text *t)
{
	uint32_t elem = !r->out_type ? 1 : !strcmp(r->out_type, "fp32") ? 4 : !strcmp(r->out_type, "fp64") ? 8 : 2;

	t->n = 0;
	rig_put(t, "version: 1\nmaster_core: 0\nstream_type: raw\nengine: \"%s\"\nrx_meta_buffers: %u\n%s"
		   "memory_regions:\n", r->engine, r->meta, r->busy ? "poll: busy\n" : "");
	if (r->tx_hdr)
		rig_region(t, "tx_hdr", "host", r->tx_bufs, r->tx_hdr);
	rig_region(t, "tx", "host", r->tx_bufs, r->tx_size);
	if (r->rx_hdr)
		rig_region(t, "rx_hdr", "host", r->rx_bufs, r->rx_hdr);
	rig_region(t, "rx", r->payload_kind, r->rx_bufs, r->rx_size);
	if (r->foreign) {
		t->n -= 2; /* the closing brace and the line's end */
		rig_put(t, ", owned: false}\n");
	}
	if (r->ppb)
		rig_region(t, "out", r->out_type ? "host_pinned" : "host", r->out_bufs, r->ppb * r->payload * elem);
	rig_put(t, "interfaces:\n  - name: tx_port\n    address: %s\n    tx:\n      queues:\n"
		   "      - {name: tq, id: 0, cpu_core: -1, batch_size: 64, memory_regions: [%stx]%s}\n"
		   "  - name: rx_port\n    address: %s\n    rx:\n      flow_isolation: %s\n%s      queues:\n",
		r->address, r->tx_hdr ? "tx_hdr, " : "", r->src_mac ? ", offloads: [tx_eth_src]" : "",
		r->rx_address ? r->rx_address : r->address, r->isolate ? "true" : "false",
		r->timestamps ? "      hardware_timestamps: true\n" : "");
	for (uint32_t i = 0; i < r->n_rxq; i++) {
		rig_put(t, "      - {name: rq%u, id: %u, memory_regions: [%srx], ", i, i, r->rx_hdr ? "rx_hdr, " : "");
		if (r->direct)
			rig_put(t, "poll_mode: direct}\n");
		else
			rig_put(t, "cpu_core: %d, batch_size: %u, timeout_us: %u}\n", r->cpu_core, r->batch,
				r->timeout_us);
	}
	rig_flows(r, t);
	if (r->ppb)
		rig_plan(r, t);
}

static inline struct gw_config *rig_config(struct rig *r)
{
	struct rig_text t;
	struct gw_config *cfg = NULL;
	struct gw_diag d = { "" };
	int err;

	rig_defaults(r);
	rig_yaml(r, &t);
	err = gw_config_load(t.buf, NULL, &cfg, &d);
	if (err) {
		fprintf(stderr, "%s\n%s\n", t.buf, d.text);
		T_NEED(!err);
	}
	return cfg;
}

/* ---- frames ---------------------------------------------------------------------------------- */

/* Payload byte j of packet `number`. */
static inline uint8_t rig_byte(uint64_t number, uint32_t j)
{
	uint64_t v = number * 0x9E3779B97F4A7C15u + j * 0xC2B2AE3D27D4EB4Fu;

	return (uint8_t)(v >> 56 ^ v >> 29);
}

static inline void rig_put16(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

/* A whole frame of hdr + payload bytes at p (one piece). `number` is unwrapped; the field gets its low bits. */
static inline void rig_frame(uint8_t *p, uint64_t number, uint32_t seq_bits, uint16_t udp_dst, uint32_t payload)
{
	static const uint8_t dst[6] = { 2, 0, 0, 0, 0, 2 }, src[6] = { 2, 0, 0, 0, 0, 1 };
	uint32_t total = RIG_HDR + payload - 14, sum = 0;
	uint64_t field = (number & (((uint64_t)1 << seq_bits) - 1)) << (40 - seq_bits);

	memset(p, 0, RIG_HDR);
	memcpy(p, dst, 6);
	memcpy(p + 6, src, 6);
	rig_put16(p + 12, 0x0800);
	p[14] = 0x45;
	rig_put16(p + 16, total);
	p[22] = 64;
	p[23] = 17;
	memcpy(p + 26, "\x0a\x00\x00\x01\x0a\x00\x00\x02", 8);
	for (uint32_t i = 14; i < 34; i += 2)
		sum += (uint32_t)p[i] << 8 | p[i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	rig_put16(p + 24, ~sum & 0xffff);
	rig_put16(p + 34, 5000);
	rig_put16(p + 36, udp_dst);
	rig_put16(p + 38, total - 20);
	for (uint32_t i = 0; i < 5; i++)
		p[RIG_SEQ_AT + i] = (uint8_t)(field >> (32 - 8 * i));
	for (uint32_t j = 0; j < payload; j++)
		p[RIG_HDR + j] = rig_byte(number, j);
}

/* Send one frame as the configuration's segments; 1, 0 no slot, negative errno. */
static inline int rig_send_raw(struct gw *gw, const uint8_t *frame, uint32_t len)
{
	struct gw_tx tx;
	int r = gw_tx_reserve(gw, 0, 0, 1, &tx);

	if (r <= 0)
		return r;
	for (uint32_t s = 0, at = 0; s < tx.n_segs; s++) {
		uint32_t n = len - at < tx.seg_size[s] ? len - at : tx.seg_size[s];

		memcpy(tx.seg_ptr[s][0], frame + at, n);
		tx.seg_len[s][0] = n;
		at += n;
	}
	r = gw_tx_submit(gw, &tx, 1);
	if (r != 1)
		gw_tx_cancel(gw, &tx);
	return r;
}

static inline int rig_send(struct gw *gw, const struct rig *r, uint64_t number, uint16_t udp_dst)
{
	uint8_t frame[RIG_HDR + 9000];

	rig_frame(frame, number, r->seq_bits, udp_dst, r->payload);
	return rig_send_raw(gw, frame, RIG_HDR + r->payload);
}

/* ---- what a receiver must see ---------------------------------------------------------------- */

/* Bytes of packet i of a raw burst that differ from packet `number`; host memory only. */
static inline uint32_t rig_diff(const struct gw_burst *b, uint32_t i, const uint8_t *frame, uint32_t len)
{
	uint32_t at = 0, bad = b->len[i] != len;

	for (uint32_t s = 0; s < b->n_segs; s++)
		for (uint32_t j = 0; j < b->seg_len[s][i]; j++, at++)
			bad += at >= len || ((const uint8_t *)b->seg_ptr[s][i])[j] != frame[at];
	return bad + (at != len);
}

/* The unwrapped number is not on the wire; the field is. */
static inline uint32_t rig_seq(const struct gw_burst *b, uint32_t i, uint32_t seq_bits)
{
	const uint8_t *p = (const uint8_t *)b->seg_ptr[0][i] + RIG_SEQ_AT;
	uint64_t v = 0;

	for (uint32_t k = 0; k < 5; k++)
		v = v << 8 | p[k];
	return (uint32_t)(v >> (40 - seq_bits));
}

static inline bool rig_bit(const uint64_t *map, uint32_t i)
{
	return map[i >> 6] >> (i & 63) & 1;
}

/* Check a plain-copy tensor against its validity bits; returns slots that are wrong. */
static inline uint32_t rig_tensor_bad(const struct rig *r, const struct gw_burst *b,
				      const struct gw_reorder_info *info)
{
	const uint8_t *t = b->seg_ptr[0][0];
	uint32_t bad = b->seg_len[0][0] != r->ppb * r->payload;

	for (uint32_t i = 0; i < r->ppb; i++) {
		uint64_t number = info->batch_id * r->ppb + i;
		bool valid = rig_bit(info->valid, i), wrong = false;

		for (uint32_t j = 0; j < r->payload; j++)
			wrong |= t[i * r->payload + j] != (valid ? rig_byte(number, j) : 0);
		bad += wrong;
	}
	return bad;
}

#endif
