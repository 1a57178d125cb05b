/* nn/graph.h: an ONNX graph in our own words: values, constants, nodes, all sizes already checked.
 * Must not know the file format it came from, nor who will run it. Next: lower.c turns it into a plan. */
#ifndef GW_NN_GRAPH_H
#define GW_NN_GRAPH_H

#include <gpuwire/common.h>
#include <stdbool.h>

#define GW__NN_MAX_DIMS 8u
#define GW__NN_MAX_IN 8u

/* Memory that lives and dies together: a list of blocks. */
struct gw__pool {
	struct gw__pool_block *head;
};

void *gw__pool_alloc(struct gw__pool *pool, size_t n, size_t size); /* zeroed; NULL: overflow or memory */
char *gw__pool_strdup(struct gw__pool *pool, const char *s);
void gw__pool_fini(struct gw__pool *pool);

enum gw__nn_elem {
	GW__ELEM_F32, /* FLOAT, and FLOAT16 widened at load */
	GW__ELEM_I64,
};

/* A constant. */
struct gw__tensor {
	const char *name;
	enum gw__nn_elem elem;
	uint32_t n_dims;
	int64_t dims[GW__NN_MAX_DIMS];
	size_t n_elems;
	float *f;
	int64_t *i;
};

enum gw__attr_kind {
	GW__ATTR_INT,
	GW__ATTR_FLOAT,
	GW__ATTR_INTS,
	GW__ATTR_STRING,
	GW__ATTR_OTHER, /* kept so that a node which has it can be refused by name */
};

struct gw__attr {
	const char *name;
	enum gw__attr_kind kind;
	int64_t i;
	float f;
	uint32_t n_ints;
	int64_t ints[GW__NN_MAX_DIMS];
	const char *s;
};

struct gw__value {
	const char *name;
	const struct gw__tensor *constant; /* NULL: computed, or the input */
	bool defined;
};

struct gw__node {
	const char *op;
	const char *name; /* never NULL: the first output's name stands in */
	uint32_t n_in;
	int in[GW__NN_MAX_IN]; /* value numbers; -1 = optional input left out */
	int out;
	uint32_t n_attrs;
	struct gw__attr *attrs;
};

struct gw__graph {
	struct gw__pool pool;
	uint32_t n_values, cap_values;
	struct gw__value *values;
	uint32_t n_buckets; /* power of two; name -> value number + 1 */
	uint32_t *buckets;
	uint32_t n_nodes;
	struct gw__node *nodes;
	int input, output;           /* value numbers */
	int64_t in_dims[3];          /* chan, height, width */
	int64_t opset;
};

/* Room for at most cap_values names. 0 or -ENOMEM. fini accepts a half-built graph. */
int gw__graph_init(struct gw__graph *g, uint32_t cap_values);
void gw__graph_fini(struct gw__graph *g);
/* The value of that name, made if new. Negative errno on failure. */
int gw__graph_value(struct gw__graph *g, const char *name);
/* A name (NULL is one too) fit for one line of text: unprintable bytes become '?', long ones are cut. buf[64]. */
const char *gw__nn_clean(const char *name, char *buf);
#define GW__CLEAN(name) gw__nn_clean((name), (char[64]){0})

/* Product of n dims, each >= 0, at most `limit`; -EMSGSIZE or -EPROTO otherwise. */
int gw__nn_product(const int64_t *dims, uint32_t n, size_t limit, size_t *out);

#endif
