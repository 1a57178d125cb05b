/* nn/graph.c: storage of a graph: pooled memory, names to values.
 * Must not know operators. Next: onnx/load.c fills it, lower.c reads it. */
#include "nn/graph.h"

#include "base/alloc.h"

#include <errno.h>
#include <string.h>

struct gw__pool_block {
	struct gw__pool_block *next;
	_Alignas(64) unsigned char bytes[];
};

void *gw__pool_alloc(struct gw__pool *pool, size_t n, size_t size)
{
	struct gw__pool_block *b;
	size_t bytes;

	if (__builtin_mul_overflow(n, size, &bytes) ||
	    __builtin_add_overflow(bytes, sizeof(*b), &bytes))
		return NULL;
	b = gw__aligned_alloc(64, bytes);
	if (!b)
		return NULL;
	b->next = pool->head;
	pool->head = b;
	return b->bytes;
}

char *gw__pool_strdup(struct gw__pool *pool, const char *s)
{
	size_t n = strlen(s) + 1;
	char *p = gw__pool_alloc(pool, n, 1);

	if (p)
		memcpy(p, s, n);
	return p;
}

void gw__pool_fini(struct gw__pool *pool)
{
	while (pool->head) {
		struct gw__pool_block *b = pool->head;

		pool->head = b->next;
		gw__free(b);
	}
}

int gw__graph_init(struct gw__graph *g, uint32_t cap_values)
{
	memset(g, 0, sizeof(*g));
	g->input = -1;
	g->output = -1;
	g->n_buckets = 16;
	while (g->n_buckets < 2 * cap_values)
		g->n_buckets *= 2;
	g->cap_values = cap_values;
	g->values = gw__pool_alloc(&g->pool, cap_values, sizeof(*g->values));
	g->buckets = gw__pool_alloc(&g->pool, g->n_buckets, sizeof(*g->buckets));
	if (!g->values || !g->buckets) {
		gw__graph_fini(g);
		return -ENOMEM;
	}
	return 0;
}

void gw__graph_fini(struct gw__graph *g)
{
	gw__pool_fini(&g->pool);
	memset(g, 0, sizeof(*g));
}

int gw__graph_value(struct gw__graph *g, const char *name)
{
	uint32_t h = 2166136261u; /* FNV-1a */
	uint32_t at;

	for (const char *c = name; *c; c++)
		h = (h ^ (unsigned char)*c) * 16777619u;
	for (at = h & (g->n_buckets - 1); g->buckets[at]; at = (at + 1) & (g->n_buckets - 1))
		if (strcmp(g->values[g->buckets[at] - 1].name, name) == 0)
			return (int)g->buckets[at] - 1;
	if (g->n_values == g->cap_values)
		return -EMSGSIZE;
	g->values[g->n_values].name = gw__pool_strdup(&g->pool, name);
	if (!g->values[g->n_values].name)
		return -ENOMEM;
	g->buckets[at] = ++g->n_values;
	return (int)g->n_values - 1;
}

const char *gw__nn_clean(const char *name, char *buf)
{
	size_t i;

	for (i = 0; name && i < 63 && name[i]; i++)
		buf[i] = name[i] >= ' ' && name[i] <= '~' ? name[i] : '?';
	buf[i] = '\0';
	return buf;
}

int gw__nn_product(const int64_t *dims, uint32_t n, size_t limit, size_t *out)
{
	size_t p = 1;

	for (uint32_t i = 0; i < n; i++) {
		if (dims[i] < 0)
			return -EPROTO;
		if (__builtin_mul_overflow(p, (size_t)dims[i], &p) || p > limit)
			return -EMSGSIZE;
	}
	*out = p;
	return 0;
}
