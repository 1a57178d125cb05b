/* ingest/config_tree.c: libyaml's events to a bounded tree. It must not know any key of the configuration.
 * Events rather than libyaml's own document, so that depth and size are refused before they are built.
 * Next: config_load.c, which reads the file and walks the tree. */
#include "ingest/config_tree.h"
#include "ingest/engine.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

#include "base/alloc.h"
#include "base/diag.h"

#define CHUNK_BYTES 32768u
#define MAX_ANCHORS 256
#define MAX_KEYS 1024u /* of one map: looking for a twin stays cheap */

struct gw__ychunk {
	struct gw__ychunk *next;
	size_t used, size;
	max_align_t data[];
};

struct builder {
	struct gw__ytree *t;
	struct gw_diag *diag;
	struct gw__ynode *stack[GW__YAML_MAX_DEPTH];
	int depth;
	const char *key; /* of the map entry whose value comes next */
	int key_line;
	struct {
		const char *name;
		struct gw__ynode *node;
	} anchor[MAX_ANCHORS];
	int n_anchors;
	int documents;
	const char *text; /* the file, to look for tabs when libyaml complains */
	size_t len;
};

static void *arena(struct gw__ytree *t, size_t n)
{
	struct gw__ychunk *c = t->chunks;
	size_t need = (n + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
	size_t size = need > CHUNK_BYTES ? need : CHUNK_BYTES;

	if (!c || c->size - c->used < need) {
		c = gw__malloc(sizeof(*c) + size);
		if (!c)
			return NULL;
		c->next = t->chunks;
		c->used = 0;
		c->size = size;
		t->chunks = c;
	}
	c->used += need;
	return (char *)c->data + c->used - need;
}

const char *gw__y_strdup(struct gw__ytree *t, const char *s, size_t n)
{
	char *p = arena(t, n + 1);

	if (p) {
		memcpy(p, s, n);
		p[n] = '\0';
	}
	return p;
}

void gw__ytree_fini(struct gw__ytree *t)
{
	while (t->chunks) {
		struct gw__ychunk *c = t->chunks;

		t->chunks = c->next;
		gw__free(c);
	}
	t->root = NULL;
	t->n_nodes = 0;
}

static struct gw__ynode *node_new(struct gw__ytree *t, enum gw__ykind kind, int line)
{
	struct gw__ynode *n;

	if (t->n_nodes >= GW__YAML_MAX_NODES)
		return NULL;
	n = arena(t, sizeof(*n));
	if (!n)
		return NULL;
	memset(n, 0, sizeof(*n));
	n->kind = kind;
	n->line = line;
	t->n_nodes++;
	return n;
}

static void node_link(struct gw__ynode *parent, struct gw__ynode *n)
{
	n->parent = parent;
	n->index = (int)parent->n++;
	if (parent->last)
		parent->last->next = n;
	else
		parent->first = n;
	parent->last = n;
}

struct gw__ynode *gw__y_add(struct gw__ytree *t, struct gw__ynode *parent, enum gw__ykind kind,
			    const char *key, const char *text, int line)
{
	struct gw__ynode *n = node_new(t, kind, line);

	if (!n)
		return NULL;
	if (key && !(n->key = gw__y_strdup(t, key, strlen(key))))
		return NULL;
	if (!(n->text = gw__y_strdup(t, text ? text : "", text ? strlen(text) : 0)))
		return NULL;
	n->quoted = text != NULL;
	node_link(parent, n);
	return n;
}

int gw__y_set_text(struct gw__ytree *t, struct gw__ynode *n, const char *text)
{
	const char *copy = gw__y_strdup(t, text, strlen(text));

	if (!copy)
		return -ENOMEM;
	n->kind = GW__Y_SCALAR;
	n->text = copy;
	n->quoted = true;
	n->from_set = true;
	n->first = n->last = NULL;
	n->n = 0;
	return 0;
}

bool gw__y_null(const struct gw__ynode *n)
{
	return n->kind == GW__Y_SCALAR && !n->quoted &&
	       (!*n->text || !strcmp(n->text, "~") || !strcmp(n->text, "null"));
}

struct gw__ynode *gw__y_get(const struct gw__ynode *map, const char *key)
{
	if (!map || map->kind != GW__Y_MAP)
		return NULL;
	for (struct gw__ynode *c = map->first; c; c = c->next)
		if (!strcmp(c->key, key))
			return c;
	return NULL;
}

struct gw__ynode *gw__y_at(const struct gw__ynode *seq, uint32_t i)
{
	struct gw__ynode *c = seq && seq->kind == GW__Y_SEQ ? seq->first : NULL;

	while (c && i--)
		c = c->next;
	return c;
}

void gw__y_path(const struct gw__ynode *n, char *buf, size_t size)
{
	const struct gw__ynode *up[GW__YAML_MAX_DEPTH + 4];
	size_t at = 0;
	int k = 0;

	for (; n && n->parent && k < GW__YAML_MAX_DEPTH + 4; n = n->parent)
		up[k++] = n;
	buf[0] = '\0';
	while (k-- && at < size) {
		int r = up[k]->key
				? snprintf(buf + at, size - at, "%s%s", at ? "." : "", up[k]->key)
				: snprintf(buf + at, size - at, "%s%d", at ? "." : "",
					   up[k]->index);

		at += r > 0 ? (size_t)r : 0;
	}
	/* the same key in both root forms */
	if (!strncmp(buf, "daqiri.cfg.", 11))
		memmove(buf, buf + 11, strlen(buf + 11) + 1);
}

/* ---- events to nodes ------------------------------------------------------------------------ */

static int refuse(struct builder *b, int line, const char *what)
{
	return gw__fail(b->diag, -EPROTO, "%s:%d: %s", b->t->file, line, what);
}

/* node_new() gave NULL: memory, or the bound? */
static int refuse_node(struct builder *b, int line)
{
	if (b->t->n_nodes >= GW__YAML_MAX_NODES)
		return gw__fail(b->diag, -EPROTO,
				"%s:%d: more than %u values once aliases are written out (an alias "
				"bomb?); "
				"use fewer aliases",
				b->t->file, line, GW__YAML_MAX_NODES);
	return gw__fail(b->diag, -ENOMEM, "%s:%d: no memory", b->t->file, line);
}

static int attach(struct builder *b, struct gw__ynode *n, const char *anchor)
{
	struct gw__ynode *parent = b->depth ? b->stack[b->depth - 1] : NULL;

	if (anchor) {
		if (b->n_anchors == MAX_ANCHORS)
			return refuse(b, n->line, "more than 256 anchors");
		b->anchor[b->n_anchors].name = gw__y_strdup(b->t, anchor, strlen(anchor));
		b->anchor[b->n_anchors].node = n;
		if (!b->anchor[b->n_anchors++].name)
			return -ENOMEM;
	}
	if (!parent) {
		b->t->root = n;
	} else {
		if (parent->kind == GW__Y_MAP) {
			n->key = b->key;
			b->key = NULL;
			/* what starts below its key is looked for at its key */
			if (n->kind != GW__Y_SCALAR)
				n->line = b->key_line;
		}
		node_link(parent, n);
	}
	return 0;
}

/* A scalar where a map waits for a key. */
static int take_key(struct builder *b, const char *text, size_t len, int line)
{
	const struct gw__ynode *map = b->stack[b->depth - 1], *old = gw__y_get(map, text);

	if (strlen(text) != len)
		return refuse(b, line, "a key with a NUL in it");
	if (map->n >= MAX_KEYS)
		return refuse(b, line, "more than 1024 keys in one map");
	if (old)
		return gw__fail(b->diag, -EPROTO,
				"%s:%d: %s: written twice, first in line %d; remove one",
				b->t->file, line, text, old->line);
	if (!strcmp(text, "<<"))
		return refuse(b, line, "<<: merge keys are not read; write the keys out");
	b->key = gw__y_strdup(b->t, text, len);
	b->key_line = line;
	return b->key ? 0 : -ENOMEM;
}

static bool wants_key(const struct builder *b)
{
	return b->depth && b->stack[b->depth - 1]->kind == GW__Y_MAP && !b->key;
}

static int on_scalar(struct builder *b, const yaml_event_t *e, int line)
{
	const char *text = (const char *)e->data.scalar.value;
	size_t len = e->data.scalar.length;
	struct gw__ynode *n;

	if (wants_key(b))
		return take_key(b, text, len, line);
	if (strlen(text) != len)
		return refuse(b, line, "a text with a NUL in it");
	n = node_new(b->t, GW__Y_SCALAR, line);
	if (!n)
		return refuse_node(b, line);
	n->text = gw__y_strdup(b->t, text, len);
	if (!n->text)
		return -ENOMEM;
	n->quoted = e->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
	/* "key:" and then nothing: the key's line is the one to show */
	if (!len && !n->quoted && b->key)
		n->line = b->key_line;
	return attach(b, n, (const char *)e->data.scalar.anchor);
}

static int on_open(struct builder *b, enum gw__ykind kind, const yaml_char_t *anchor, int line)
{
	struct gw__ynode *n;
	int r;

	if (wants_key(b))
		return refuse(b, line, "a list or map as a key; keys are plain texts");
	if (b->depth == GW__YAML_MAX_DEPTH)
		return gw__fail(b->diag, -EPROTO,
				"%s:%d: nesting is above %d levels; use at most %d", b->t->file,
				line, GW__YAML_MAX_DEPTH, GW__YAML_MAX_DEPTH);
	n = node_new(b->t, kind, line);
	if (!n)
		return refuse_node(b, line);
	n->text = "";
	r = attach(b, n, (const char *)anchor);
	if (r)
		return r;
	b->stack[b->depth++] = n;
	return 0;
}

static int copy_into(struct builder *b, struct gw__ynode *dst, const struct gw__ynode *src,
		     int depth)
{
	if (depth > GW__YAML_MAX_DEPTH)
		return refuse(b, dst->line, "aliases nest above 32 levels; write the values out");
	for (const struct gw__ynode *c = src->first; c; c = c->next) {
		struct gw__ynode *n = node_new(b->t, c->kind, c->line);
		int r;

		if (!n)
			return refuse_node(b, dst->line);
		n->key = c->key;
		n->text = c->text;
		n->quoted = c->quoted;
		node_link(dst, n);
		r = copy_into(b, n, c, depth + 1);
		if (r)
			return r;
	}
	return 0;
}

static int on_alias(struct builder *b, const char *name, int line)
{
	const struct gw__ynode *src = NULL;
	struct gw__ynode *n;
	int r;

	if (wants_key(b))
		return refuse(b, line, "an alias as a key; keys are plain texts");
	for (int i = b->n_anchors; i-- && !src;)
		if (!strcmp(b->anchor[i].name, name))
			src = b->anchor[i].node;
	if (!src)
		return gw__fail(b->diag, -EPROTO, "%s:%d: alias *%s has no anchor above it",
				b->t->file, line, name);
	for (int i = 0; i < b->depth; i++)
		if (b->stack[i] == src)
			return gw__fail(b->diag, -EPROTO, "%s:%d: alias *%s contains itself",
					b->t->file, line, name);
	n = node_new(b->t, src->kind, line);
	if (!n)
		return refuse_node(b, line);
	n->text = src->text;
	n->quoted = src->quoted;
	r = attach(b, n, NULL);
	return r ? r : copy_into(b, n, src, b->depth);
}

static int on_event(struct builder *b, const yaml_event_t *e)
{
	int line = (int)e->start_mark.line + 1;

	switch (e->type) {
	case YAML_DOCUMENT_START_EVENT:
		if (b->documents++)
			return refuse(b, line,
				      "a second document; a configuration is one document");
		return 0;
	case YAML_SCALAR_EVENT:
		return on_scalar(b, e, line);
	case YAML_ALIAS_EVENT:
		return on_alias(b, (const char *)e->data.alias.anchor, line);
	case YAML_MAPPING_START_EVENT:
		return on_open(b, GW__Y_MAP, e->data.mapping_start.anchor, line);
	case YAML_SEQUENCE_START_EVENT:
		return on_open(b, GW__Y_SEQ, e->data.sequence_start.anchor, line);
	case YAML_MAPPING_END_EVENT:
	case YAML_SEQUENCE_END_EVENT:
		b->depth--;
		return 0;
	default:
		return 0;
	}
}

/* Is the indentation of line (from 1) made with a tab? */
static bool tab_indent(const char *text, size_t len, int line)
{
	size_t i = 0;

	for (int l = 1; l < line; l++) {
		const char *nl = memchr(text + i, '\n', len - i);

		if (!nl)
			return false;
		i = (size_t)(nl - text) + 1;
	}
	while (i < len && text[i] == ' ')
		i++;
	return i < len && text[i] == '\t';
}

static int not_yaml(struct builder *b, const yaml_parser_t *p)
{
	int line = (int)p->problem_mark.line + 1;

	if (p->error == YAML_MEMORY_ERROR)
		return gw__fail(b->diag, -ENOMEM, "%s: no memory", b->t->file);
	if (p->error == YAML_READER_ERROR) {
		line = 1;
		for (size_t i = 0; i < p->problem_offset && i < b->len; i++)
			line += b->text[i] == '\n';
		return gw__fail(b->diag, -EPROTO, "%s:%d: %s (byte 0x%02x)", b->t->file, line,
				p->problem ? p->problem : "unreadable", p->problem_value & 0xff);
	}
	for (int l = line; l > 0 && l >= line - 1; l--)
		if (tab_indent(b->text, b->len, l))
			return gw__fail(b->diag, -EPROTO, "%s:%d: indented with a tab; use spaces",
					b->t->file, l);
	return gw__fail(b->diag, -EPROTO, "%s:%d: not YAML: %s%s%s", b->t->file, line,
			p->context ? p->context : "", p->context ? ", " : "",
			p->problem ? p->problem : "unreadable");
}

int gw__ytree_parse(struct gw__ytree *t, const char *file, const char *text, size_t len,
		    struct gw_diag *diag)
{
	struct builder b = { .t = t, .diag = diag, .text = text, .len = len };
	yaml_parser_t p;
	yaml_event_t e;
	int r = 0, done = 0;

	memset(t, 0, sizeof(*t));
	snprintf(t->file, sizeof(t->file), "%s", file);
	if (len > GW__YAML_MAX_BYTES)
		return gw__fail(diag, -EPROTO, "%s: %zu bytes is above %u; use a smaller file",
				t->file, len, GW__YAML_MAX_BYTES);
	if (!yaml_parser_initialize(&p))
		return gw__fail(diag, -ENOMEM, "%s: no memory", t->file);
	yaml_parser_set_input_string(&p, (const unsigned char *)text, len);
	while (!r && !done) {
		if (!yaml_parser_parse(&p, &e)) {
			r = not_yaml(&b, &p);
			break;
		}
		done = e.type == YAML_STREAM_END_EVENT;
		r = on_event(&b, &e);
		yaml_event_delete(&e);
	}
	yaml_parser_delete(&p);
	if (r == -ENOMEM)
		r = gw__fail(diag, -ENOMEM, "%s: no memory", t->file);
	if (!r && (!t->root || t->root->kind != GW__Y_MAP))
		r = gw__fail(diag, -EPROTO, "%s:1: a configuration is a map of keys; this is %s",
			     t->file, t->root ? "something else" : "empty");
	if (r)
		gw__ytree_fini(t);
	return r;
}

int gw__y_set_yaml(struct gw__ytree *t, struct gw__ynode *n, const char *text, struct gw_diag *diag)
{
	struct gw__ytree tmp;
	struct gw__ychunk *last;
	struct gw__ynode *v;
	char doc[1024];
	int r;

	if (strlen(text) + 8 > sizeof(doc) || strchr(text, '\n'))
		return gw__fail(diag, -EINVAL, "--set: %.60s: longer than one line of 1000 bytes",
				text);
	snprintf(doc, sizeof(doc), "v: %s", text);
	r = gw__ytree_parse(&tmp, "--set", doc, strlen(doc), diag);
	if (r)
		return r == -ENOMEM ? r : -EINVAL;
	for (last = tmp.chunks; last->next; last = last->next)
		;
	last->next = t->chunks; /* the nodes now live as long as the big tree */
	t->chunks = tmp.chunks;
	t->n_nodes += tmp.n_nodes;
	v = gw__y_get(tmp.root, "v");
	if (!v)
		return gw__fail(diag, -EINVAL, "--set: %.60s: not one value", text);
	n->kind = v->kind;
	n->text = v->text;
	n->quoted = v->quoted;
	n->first = v->first;
	n->last = v->last;
	n->n = v->n;
	n->from_set = true;
	for (struct gw__ynode *c = n->first; c; c = c->next) {
		c->parent = n;
		c->from_set = true;
	}
	return 0;
}

const char *gw__yaml_version(void)
{
	return yaml_get_version_string();
}
