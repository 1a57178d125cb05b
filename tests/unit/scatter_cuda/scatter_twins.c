/* The launched scatter and the CPU's give the same bytes: random plans over every pair of types, byte order,
 * offset, length, hole pattern, duplicate source and fill. On the card where one answers, else in the emulator
 * (fewer plans). scatter_twins [n_plans [seed]]; a failing plan prints its seed. */
#include "base/alloc.h"
#include "base/bitmap.h"
#include "gpu/emu/simt.h"
#include "reorder/cuda/scatter_cuda.h"
#include "t.h"

static uint64_t state;

static uint32_t draw(uint32_t n)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return (uint32_t)((state * 2685821657736338717u) >> 32) % n;
}

struct plan {
	struct gw__scatter s;
	bool swap, aligned, device;
	uint32_t n_slots, n_places, n_moves, offset;
	size_t src_bytes, out_bytes;
	uint8_t *src, *out;          /* what the launch sees */
	struct gw__move *moves;
	uint64_t *valid;
	uint8_t *src_host, *want, *got;
};

static const enum gw__elem ins[] = { GW_ELEM_NONE, GW_INT4, GW_INT8, GW_INT16, GW_INT32 };
static const enum gw__elem outs[] = { GW_FP16, GW_BF16, GW_FP32, GW_FP64, GW_INT32, GW_INT8 };

static void shape(struct plan *p)
{
	enum gw__elem in = ins[draw(5)], out = in == GW_ELEM_NONE ? GW_ELEM_NONE : outs[draw(6)];
	uint32_t element = in == GW_INT16 ? 2 : in == GW_INT32 ? 4 : 1, len;

	p->aligned = draw(2);
	p->swap = element > 1 && draw(2);
	len = (1 + draw(p->aligned ? 40 : 300)) * element;
	if (p->aligned)
		len = (len + 31) / 32 * 32;
	T_RC(gw__scatter_init(&p->s, GW__SIMD_SCALAR, in, out, p->swap, len, (enum gw__fill)draw(3)), 0);
	p->offset = p->aligned ? 16 * draw(8) : draw(128);
	p->s.src_stride = p->aligned ? (p->offset + len + 127) / 128 * 128 : p->offset + len + draw(64);
	p->n_places = 1 + draw(80);
	p->n_slots = p->n_places + draw(8);
	p->src_bytes = p->n_slots * p->s.src_stride + 64;
	p->out_bytes = (size_t)p->n_places * p->s.out_len + 64;
	p->device = draw(2);
}

static void *get(enum gw_mem_kind kind, size_t n)
{
	void *m = NULL;
	struct gw_diag d;

	if (gw_mem_alloc(kind, n, 0, &m, &d)) {
		fprintf(stderr, "%s\n", d.text);
		exit(1);
	}
	return m;
}

static void fill(struct plan *p)
{
	enum gw_mem_kind kind = p->device ? GW_MEM_DEVICE : GW_MEM_HOST_PINNED;
	uint32_t loss = draw(3) ? draw(40) : 0, skew = p->aligned ? 0 : draw(16);

	p->src_host = malloc(p->src_bytes);
	p->want = malloc(p->out_bytes);
	p->got = malloc(p->out_bytes);
	T_NEED(p->src_host && p->want && p->got);
	for (size_t i = 0; i < p->src_bytes; i++)
		p->src_host[i] = (uint8_t)draw(256);
	for (size_t i = 0; i < p->out_bytes; i++)
		p->want[i] = (uint8_t)draw(256);
	p->src = get(kind, p->src_bytes);
	p->out = get(draw(2) ? GW_MEM_DEVICE : GW_MEM_HOST_PINNED, p->out_bytes);
	p->moves = get(GW_MEM_HOST_PINNED, p->n_places * sizeof(*p->moves));
	p->valid = get(GW_MEM_HOST_PINNED, gw__bitmap_words(p->n_places) * 8);
	T_RC(gw_mem_copy(p->src, p->src_host, p->src_bytes), 0);
	T_RC(gw_mem_copy(p->out, p->want, p->out_bytes), 0);
	p->s.src = NULL;
	p->offset += skew < p->src_bytes - p->n_slots * p->s.src_stride ? skew : 0;
	for (uint32_t i = 0; i < p->n_places; i++) { /* arrival order: any; a slot may serve two places */
		uint32_t place = i;

		if (draw(100) < loss)
			continue;
		gw__bit_set(p->valid, place);
		p->moves[p->n_moves++] = (struct gw__move){ .slot = draw(p->n_slots), .idx = place,
			.len = draw(4) ? p->s.payload_len : draw(p->s.payload_len + 9) };
	}
	for (uint32_t i = p->n_moves; i > 1; i--) {
		uint32_t k = draw(i);
		struct gw__move m = p->moves[k];

		p->moves[k] = p->moves[i - 1];
		p->moves[i - 1] = m;
	}
}

static void compare(struct plan *p, struct gw_stream *stream)
{
	const struct gw__kernel *k = NULL;
	struct gw_diag d = { "" };

	p->s.src = p->src_host + p->offset;
	gw__scatter_moves(&p->s, p->want, p->moves, p->n_moves);
	gw__scatter_holes(&p->s, p->want, p->valid, p->n_places);
	p->s.src = p->src + p->offset;
	T_RC(gw__scatter_cuda_prepare(gw__gpu(), &p->s, p->swap, &k, &d), 0);
	T_RC(gw__scatter_cuda(gw__gpu(), stream, k, &p->s, p->out, p->moves, p->n_moves, p->valid, p->n_places), 0);
	T_RC(gw_stream_sync(stream), 0);
	T_RC(gw_mem_copy(p->got, p->out, p->out_bytes), 0);
	T_MEM(p->got, p->want, p->out_bytes);
}

/* What stands at the first byte that differs, and which packet should have come there. */
static void explain(const struct plan *p)
{
	size_t at = 0;

	while (at < p->out_bytes && p->got[at] == p->want[at])
		at++;
	if (at == p->out_bytes)
		return;
	fprintf(stderr, "  place %zu (of %u bytes), byte %zu:", at / p->s.out_len, p->s.out_len, at % p->s.out_len);
	for (uint32_t i = 0; i < p->n_moves; i++)
		if (p->moves[i].idx == at / p->s.out_len)
			fprintf(stderr, " slot %u len %u", p->moves[i].slot, p->moves[i].len);
	fprintf(stderr, "; got");
	for (size_t i = at & ~(size_t)7; i < p->out_bytes && i < (at & ~(size_t)7) + 16; i++)
		fprintf(stderr, " %02x", p->got[i]);
	fprintf(stderr, ", want");
	for (size_t i = at & ~(size_t)7; i < p->out_bytes && i < (at & ~(size_t)7) + 16; i++)
		fprintf(stderr, " %02x", p->want[i]);
	fputc('\n', stderr);
}

static void one(uint64_t seed, struct gw_stream *stream)
{
	struct plan p = { .n_moves = 0 };
	int failed = t__failed;

	state = seed * 0x9e3779b97f4a7c15u + 1;
	shape(&p);
	fill(&p);
	compare(&p, stream);
	if (t__failed > failed)
		explain(&p);
	if (t__failed > failed)
		fprintf(stderr, "  plan %llu: in %d out %d swap %d len %u offset %u stride %zu places %u moves %u fill %d\n",
			(unsigned long long)seed, p.s.in, p.s.out, p.swap, p.s.payload_len, p.offset, p.s.src_stride,
			p.n_places, p.n_moves, p.s.fill);
	gw_mem_free(p.src);
	gw_mem_free(p.out);
	gw_mem_free(p.moves);
	gw_mem_free(p.valid);
	free(p.src_host);
	free(p.want);
	free(p.got);
}

int main(int argc, char **argv)
{
	bool card = !strcmp(gw_gpu_backend(), "cuda");
#ifdef GW_TSAN
	const uint64_t few = 15; /* a fiber costs the sanitizer a millisecond */
#else
	const uint64_t few = 150;
#endif
	uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 0) : card ? 6000 : few;
	uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	struct gw__simt_opts random_order = { .seed = 7 };
	struct gw_stream *stream;

	T_NEED(!gw_stream_create(&stream, NULL));
	for (uint64_t i = first; i < first + n && t__failed < 10; i++) {
		if (!card)
			gw__simt_set(i & 1 ? &random_order : NULL);
		one(i, stream);
	}
	gw_stream_destroy(stream);
	printf("%llu plans on %s\n", (unsigned long long)n, gw__gpu()->describe());
	T_DONE();
}
