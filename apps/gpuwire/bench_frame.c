/* apps/gpuwire/bench_frame.c: build UDP frames from a bench_tx block; fill payloads with typed elements that the
 * far end can recompute. Must not know queues or threads. Next: bench_run.c. */
#include "bench_frame.h"

#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UDP4_HEADER 42u

static int text(const struct gw_config *cfg, const char *block, const char *key, const char **out,
		struct gw_diag *diag)
{
	char path[128];
	int r;

	snprintf(path, sizeof(path), "%s.%s", block, key);
	r = gw_config_str(cfg, path, out, diag);
	return r < 0 ? r : 0;
}

static int whole(const struct gw_config *cfg, const char *block, const char *key, uint32_t *out,
		 struct gw_diag *diag)
{
	char path[128];
	uint64_t v = 0;
	int r;

	snprintf(path, sizeof(path), "%s.%s", block, key);
	r = gw_config_u64(cfg, path, &v, diag);
	*out = (uint32_t)v;
	return r < 0 ? r : 0;
}

static int ports(const struct gw_config *cfg, const char *block, const char *key, uint16_t *lo, uint16_t *hi,
		 struct gw_diag *diag)
{
	const char *s = NULL;
	char *end;
	int r = text(cfg, block, key, &s, diag);

	if (r || !s)
		return r;
	*lo = *hi = (uint16_t)strtoul(s, &end, 0);
	if (*end == '-')
		*hi = (uint16_t)strtoul(end + 1, NULL, 0);
	return 0;
}

static int mac(const struct gw_config *cfg, const char *block, const char *key, uint8_t *out, struct gw_diag *diag)
{
	const char *s = NULL;
	int r = text(cfg, block, key, &s, diag);

	if (!r && s && sscanf(s, "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx", &out[0], &out[1], &out[2], &out[3], &out[4],
			      &out[5]) != 6)
		memset(out, 0, 6);
	return r;
}

static int ip(const struct gw_config *cfg, const char *block, const char *key, uint8_t *out, struct gw_diag *diag)
{
	const char *s = NULL;
	int r = text(cfg, block, key, &s, diag);

	if (!r && s && inet_pton(AF_INET, s, out) != 1)
		memset(out, 0, 4);
	return r;
}

int bench_frame_read(const struct gw_config *cfg, const char *block, struct bench_frame *f, struct gw_diag *diag)
{
	int r = whole(cfg, block, "header_size", &f->header, diag);

	r = r ? r : whole(cfg, block, "payload_size", &f->payload, diag);
	r = r ? r : mac(cfg, block, "eth_dst_addr", f->dst, diag);
	r = r ? r : mac(cfg, block, "eth_src_addr", f->src, diag);
	r = r ? r : ip(cfg, block, "ip_src_addr", f->ip_src, diag);
	r = r ? r : ip(cfg, block, "ip_dst_addr", f->ip_dst, diag);
	r = r ? r : ports(cfg, block, "udp_src_port", &f->sport_lo, &f->sport_hi, diag);
	r = r ? r : ports(cfg, block, "udp_dst_port", &f->dport_lo, &f->dport_hi, diag);
	if (!r && (f->header < UDP4_HEADER || f->header + f->payload > 65535)) {
		char where[160];

		gw_config_where(cfg, block, where, sizeof(where));
		if (diag)
			snprintf(diag->text, sizeof(diag->text),
				 "%s: header_size: %u with payload_size: %u: a header has at least %u bytes, a frame "
				 "at most 65535", where, f->header, f->payload, UDP4_HEADER);
		return -EINVAL;
	}
	return r;
}

static void put16(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static uint32_t ip_sum(const uint8_t *p)
{
	uint32_t s = 0;

	for (int i = 0; i < 20; i += 2)
		s += (uint32_t)p[i] << 8 | p[i + 1];
	while (s >> 16)
		s = (s & 0xffff) + (s >> 16);
	return ~s & 0xffff;
}

/* ---- elements --------------------------------------------------------------------------------- */

uint32_t bench_element_bits(const char *type)
{
	static const struct {
		const char *name;
		uint32_t bits;
	} t[] = { { "int4", 4 },  { "int8", 8 },  { "int16", 16 }, { "int32", 32 },
		  { "fp16", 16 }, { "bf16", 16 }, { "fp32", 32 },  { "fp64", 64 } };

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		if (!strcmp(type, t[i].name))
			return t[i].bits;
	return 8;
}

/* Element k as sent: small enough that every output type holds it without overflow. */
static int32_t element(const struct bench_elements *e, uint32_t k)
{
	uint32_t bits = bench_element_bits(e->input);

	if (bits == 4)
		return (int32_t)(k * 7 + 3) % 16 - 8;
	return bits == 8 ? (int32_t)(k * 7 + 3) % 256 - 128 : (int32_t)(k * 577 + 11) % 40001 - 20000;
}

static void fill_elements(const struct bench_elements *e, uint8_t *p, uint32_t n_bytes)
{
	uint32_t bits = bench_element_bits(e->input), size = bits / 8;

	if (bits == 4) {
		for (uint32_t i = 0; i < n_bytes; i++) /* high nibble first */
			p[i] = (uint8_t)((element(e, 2 * i) & 15) << 4 | (element(e, 2 * i + 1) & 15));
		return;
	}
	for (uint32_t k = 0; (k + 1) * size <= n_bytes; k++)
		for (uint32_t b = 0; b < size; b++)
			p[k * size + b] = (uint8_t)((uint32_t)element(e, k) >> 8 * (e->network ? size - 1 - b : b));
}

static double half(uint16_t h, int exp_bits, int man_bits)
{
	int e = h >> man_bits & ((1 << exp_bits) - 1), m = h & ((1 << man_bits) - 1);
	int bias = (1 << (exp_bits - 1)) - 1;
	double v = e ? ldexp(1 + m / (double)(1 << man_bits), e - bias) : ldexp(m, 1 - bias - man_bits);

	return h >> 15 ? -v : v;
}

static double output_of(const char *type, const uint8_t *p, uint32_t k, double *ulp)
{
	uint16_t u16;
	int32_t i32;
	float f32;
	double f64;

	*ulp = 0;
	switch (bench_element_bits(type)) {
	case 8:
		return (int8_t)p[k];
	case 16:
		memcpy(&u16, p + 2ul * k, 2);
		*ulp = type[0] == 'b' ? 1.0 / 256 : 1.0 / 2048;
		return type[0] == 'b' ? half(u16, 8, 7) : half(u16, 5, 10);
	case 32:
		memcpy(&i32, p + 4ul * k, 4);
		memcpy(&f32, p + 4ul * k, 4);
		return type[0] == 'i' ? i32 : (double)f32;
	default:
		memcpy(&f64, p + 8ul * k, 8);
		return f64;
	}
}

uint64_t bench_elements_check(const struct bench_elements *e, const struct bench_number *number, uint32_t header,
			      const uint8_t *out, uint32_t from, uint32_t n)
{
	uint32_t bits = bench_element_bits(e->input);
	uint64_t bad = 0;

	for (uint32_t k = from; k < from + n; k++) {
		uint32_t byte = header + k * bits / 8, end = header + (k * bits + bits - 1) / 8 + 1;
		double v = element(e, k), ulp, got;

		if (number->n_bits && end > number->at_byte && byte < number->at_byte + (number->n_bits + 7) / 8)
			continue;
		got = output_of(e->output, out, k, &ulp);
		bad += !(fabs(got - v) <= fabs(v) * ulp);
	}
	return bad;
}

/* ---- whole frames ----------------------------------------------------------------------------- */

void bench_frame_write(const struct bench_frame *f, uint32_t turn, uint8_t *out)
{
	uint32_t len = f->header + f->payload;

	memset(out, 0, f->header);
	memcpy(out, f->dst, 6);
	memcpy(out + 6, f->src, 6);
	put16(out + 12, 0x0800);
	out[14] = 0x45;
	put16(out + 16, len - 14);
	put16(out + 20, 0x4000);
	out[22] = 64;
	out[23] = 17;
	memcpy(out + 26, f->ip_src, 4);
	memcpy(out + 30, f->ip_dst, 4);
	put16(out + 24, ip_sum(out + 14));
	put16(out + 34, f->sport_lo + turn % (uint32_t)(f->sport_hi - f->sport_lo + 1));
	put16(out + 36, f->dport_lo + turn % (uint32_t)(f->dport_hi - f->dport_lo + 1));
	put16(out + 38, len - 34);
	fill_elements(&f->elements, out + f->header, f->payload);
}

void bench_number_write(const struct bench_number *n, uint64_t value, uint8_t *frame)
{
	uint8_t *p = frame + n->at_byte;
	uint32_t full = n->n_bits / 8, rest = n->n_bits % 8;
	uint32_t v = (uint32_t)(n->n_bits < 32 ? value & ((1ul << n->n_bits) - 1) : value);

	for (uint32_t i = 0; i < full; i++)
		p[i] = (uint8_t)(v >> (n->n_bits - 8 - 8 * i));
	if (rest)
		p[full] = (uint8_t)((p[full] & (0xff >> rest)) | (v & ((1u << rest) - 1)) << (8 - rest));
}
