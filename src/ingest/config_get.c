/* ingest/config_get.c: values by key, with the row's default where the file says nothing; the public getters.
 * It must not check bounds: config_check.c has done that. Next: gpuwire/config.h for the contract. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "ingest/config_load.h"
#include "ingest/config_value.h"

const struct gw__ynode *gw__cfg_node(const struct gw__ynode *map, const char *key)
{
	const struct gw__ynode *n = gw__y_get(map, key);

	return n && gw__y_null(n) ? NULL : n;
}

/* The text to read: the file's or the default's. NULL: neither. */
static const char *text_of(const struct gw__ynode *map, const char *key)
{
	const struct gw__ynode *n = gw__cfg_node(map, key);
	const struct gw__key *row;

	if (n && n->kind == GW__Y_SCALAR && !gw__is_placeholder(n->text))
		return n->text;
	row = gw__key_child(map ? map->row : NULL, key);
	return row ? row->def : NULL;
}

uint64_t gw__cfg_u64(const struct gw__ynode *map, const char *key)
{
	const char *s = text_of(map, key);
	uint64_t v = 0;

	return s && !gw__parse_u64(s, &v) ? v : 0;
}

int64_t gw__cfg_i64(const struct gw__ynode *map, const char *key)
{
	const char *s = text_of(map, key);
	int64_t v = 0;

	return s && !gw__parse_i64(s, &v) ? v : 0;
}

bool gw__cfg_bool(const struct gw__ynode *map, const char *key)
{
	const char *s = text_of(map, key);
	bool v = false;

	return s && !gw__parse_bool(s, &v) && v;
}

const char *gw__cfg_str(const struct gw__ynode *map, const char *key)
{
	const char *s = text_of(map, key);

	return s ? s : "";
}

int gw__cfg_enum(const struct gw__ynode *map, const char *key)
{
	const struct gw__key *row = gw__key_child(map ? map->row : NULL, key);
	const char *s = text_of(map, key), *w = row ? row->words : NULL;

	for (int i = 0; s && w; i++) {
		const char *end = strchrnul(w, '|');

		if ((size_t)(end - w) == strlen(s) && !memcmp(w, s, strlen(s)))
			return i;
		w = *end ? end + 1 : NULL;
	}
	return 0;
}

/* ---- by path -------------------------------------------------------------------------------- */

const char *gw__cfg_part(const char *path, char *key, size_t n)
{
	size_t len;

	path += *path == '[';
	len = strcspn(path, ".[]");
	snprintf(key, n, "%.*s", (int)(len < n ? len : n - 1), path);
	path += len;
	path += *path == ']';
	path += *path == '.';
	return path;
}

static bool is_index(const char *s)
{
	return *s && strspn(s, "0123456789") == strlen(s) && strlen(s) < 8;
}

/* One step down: a key, an index, or the name of a list's entry. */
static struct gw__ynode *step(struct gw__ynode *n, const char *key)
{
	struct gw__ynode *c;

	if (n->kind == GW__Y_MAP) {
		c = gw__y_get(n, key);
		/* a map where a list of one may stand: entry 0 is the map itself */
		return c || strcmp(key, "0") ? c : n;
	}
	if (n->kind != GW__Y_SEQ)
		return NULL;
	if (is_index(key))
		return gw__y_at(n, (uint32_t)atoi(key));
	for (c = n->first; c; c = c->next) {
		const struct gw__ynode *name = gw__y_get(c, "name");

		if (name && name->kind == GW__Y_SCALAR && !strcmp(name->text, key))
			return c;
	}
	return n->first ? gw__y_get(n->first, key) : NULL;
}

struct gw__ynode *gw__cfg_find(const struct gw_config *c, const char *path)
{
	struct gw__ynode *n;
	char key[GW_CFG_NAME + 1];

	if (!strncmp(path, "daqiri.cfg.", 11))
		path += 11;
	/* the library's own keys stand in cfg, the programs' at the root */
	(void)gw__cfg_part(path, key, sizeof(key));
	n = gw__y_get(c->cfg_node, key) ? c->cfg_node : c->tree.root;
	while (n && *path) {
		path = gw__cfg_part(path, key, sizeof(key));
		n = step(n, key);
	}
	return n;
}

const struct gw__key *gw__cfg_row(const char *path)
{
	const struct gw__key *row = NULL, *child;
	char key[GW_CFG_NAME + 1];
	bool entry = false; /* the list's entry is named already */

	if (!strncmp(path, "daqiri.cfg.", 11))
		path += 11;
	while (*path) {
		path = gw__cfg_part(path, key, sizeof(key));
		if (row && (is_index(key) || !*key))
			continue;
		child = gw__key_child(row, key);
		/* "memory_regions.Data_RX.owned": an entry by its name */
		if (!child && *path && !entry && row && row->type == GW__KEY_LIST) {
			entry = true;
			continue;
		}
		if (!child)
			return NULL;
		row = child;
		entry = false;
	}
	return row;
}

/* 1 written, 0 default, or negative; *text is what to parse. */
static int lookup(const struct gw_config *c, const char *path, const char **text,
		  struct gw_diag *diag)
{
	const struct gw__ynode *n = gw__cfg_find(c, path);
	const struct gw__key *row = gw__cfg_row(path);

	if (n && gw__y_null(n))
		n = NULL;
	if (n && n->kind != GW__Y_SCALAR)
		return gw__fail(diag, -EINVAL, "%s:%d: %s: is not one value", c->tree.file, n->line,
				path);
	if (n && gw__is_placeholder(n->text))
		return gw__fail(diag, -EINVAL, "%s:%d: %s: %.60s is a placeholder; write a value",
				c->tree.file, n->line, path, n->text);
	*text = n ? n->text : row ? row->def : NULL;
	if (!*text)
		return gw__fail(diag, -ENOENT, "%s: %s: is not there and has no default",
				c->tree.file, path);
	return n != NULL;
}

static int unfit(const struct gw_config *c, const char *path, const char *text, const char *want,
		 int err, struct gw_diag *diag)
{
	char at[300];

	gw_config_where(c, path, at, sizeof(at));
	return gw__fail(diag, err, "%s: %s: value %.60s is not %s", at, path, text, want);
}

int gw_config_u64(const struct gw_config *cfg, const char *path, uint64_t *out,
		  struct gw_diag *diag)
{
	const char *text;
	int r = lookup(cfg, path, &text, diag), e;

	if (r < 0)
		return r;
	e = gw__parse_u64(text, out);
	return e ? unfit(cfg, path, text, "an unsigned 64-bit integer", e, diag) : r;
}

int gw_config_i64(const struct gw_config *cfg, const char *path, int64_t *out, struct gw_diag *diag)
{
	const char *text;
	int r = lookup(cfg, path, &text, diag), e;

	if (r < 0)
		return r;
	e = gw__parse_i64(text, out);
	return e ? unfit(cfg, path, text, "a 64-bit integer", e, diag) : r;
}

int gw_config_bool(const struct gw_config *cfg, const char *path, bool *out, struct gw_diag *diag)
{
	const char *text;
	int r = lookup(cfg, path, &text, diag), e;

	if (r < 0)
		return r;
	e = gw__parse_bool(text, out);
	return e ? unfit(cfg, path, text, "true or false", e, diag) : r;
}

int gw_config_str(const struct gw_config *cfg, const char *path, const char **out,
		  struct gw_diag *diag)
{
	const char *text;
	int r = lookup(cfg, path, &text, diag);

	if (r >= 0)
		*out = text;
	return r;
}

void gw_config_where(const struct gw_config *cfg, const char *path, char *buf, size_t n)
{
	const struct gw__ynode *at = gw__cfg_find(cfg, path);

	if (at)
		snprintf(buf, n, "%s:%d", cfg->tree.file, at->line);
	else
		snprintf(buf, n, "%s", cfg->tree.file);
}

const struct gw_cfg *gw__config(const struct gw_config *cfg)
{
	return &cfg->cfg;
}
