/* ingest/config_tree.h: a YAML file as a bounded tree of text with line numbers.
 * Nothing here knows a key or a type: scalars stay text, so an unquoted 0000:01:00.0 is not a number.
 * Next: config_value.h (text to numbers), config_table.h (which keys there are). */
#ifndef GW_INGEST_CONFIG_TREE_H
#define GW_INGEST_CONFIG_TREE_H

#include <gpuwire/common.h>
#include <stdbool.h>

#define GW__YAML_MAX_BYTES (1u << 20) /* of one file */
#define GW__YAML_MAX_NODES 65536u /* after aliases are written out: the bound on an alias bomb */
#define GW__YAML_MAX_DEPTH 32     /* the deepest vendor key stands at depth 12 */

enum gw__ykind { GW__Y_SCALAR, GW__Y_MAP, GW__Y_SEQ };

struct gw__key;

struct gw__ynode {
	enum gw__ykind kind;
	bool quoted; /* '' or "": an empty quoted text is a value, an empty plain one is nothing */
	bool from_set;    /* written by an override, not by the file */
	int line;         /* of the value; from 1 */
	int index;        /* position in a sequence */
	uint32_t n;       /* children */
	const char *key;  /* in a map; NULL in a sequence */
	const char *text; /* scalar */
	struct gw__ynode *parent, *first, *last, *next;
	const struct gw__key
		*row; /* what the key table says of it; NULL until checked, or unknown */
};

struct gw__ychunk;

struct gw__ytree {
	struct gw__ynode *root;
	struct gw__ychunk *chunks;
	uint32_t n_nodes;
	char file[256]; /* as errors name it */
};

/* Parse len bytes of text. Returns 0, -EPROTO (not YAML, or beyond a bound), -ENOMEM. On failure the tree is
 * empty. gw__ytree_fini() frees it. */
int gw__ytree_parse(struct gw__ytree *t, const char *file, const char *text, size_t len,
		    struct gw_diag *diag);
void gw__ytree_fini(struct gw__ytree *t);

/* nothing written after the colon, or ~, or null */
bool gw__y_null(const struct gw__ynode *n);
struct gw__ynode *gw__y_get(const struct gw__ynode *map, const char *key);
struct gw__ynode *gw__y_at(const struct gw__ynode *seq, uint32_t i);
/* "a.b.0.c" from the root, for messages; the same form that overrides take. */
void gw__y_path(const struct gw__ynode *n, char *buf, size_t size);
/* Add a child to a map (key) or a sequence (key NULL). NULL: no memory or too many nodes. */
struct gw__ynode *gw__y_add(struct gw__ytree *t, struct gw__ynode *parent, enum gw__ykind kind,
			    const char *key, const char *text, int line);
/* Replace a node's content by a text. */
int gw__y_set_text(struct gw__ytree *t, struct gw__ynode *n, const char *text);
/* The same by YAML in flow style: "[0, 1]". -EINVAL, -ENOMEM. */
int gw__y_set_yaml(struct gw__ytree *t, struct gw__ynode *n, const char *text,
		   struct gw_diag *diag);
/* A copy of a text that lives as long as the tree. */
const char *gw__y_strdup(struct gw__ytree *t, const char *s, size_t n);

#endif
