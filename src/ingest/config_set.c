/* ingest/config_set.c: --set KEY=VALUE, written into the tree before anything is checked, so that an override
 * meets the same rules as the file. It must not know what a key means. Next: config_check.c. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/diag.h"
#include "ingest/config_load.h"
#include "ingest/config_value.h"

static int no_memory(struct gw__loader *l)
{
	return gw__fail(l->diag, -ENOMEM, "%s: no memory", l->c->tree.file);
}

static int put(struct gw__loader *l, struct gw__ynode *n, const char *value)
{
	if (*value == '[' || *value == '{')
		return gw__y_set_yaml(&l->c->tree, n, value, l->diag);
	return gw__y_set_text(&l->c->tree, n, value) ? no_memory(l) : 0;
}

/* Replace every scalar that is this placeholder. Returns how many, or negative. */
static int fill_placeholder(struct gw__loader *l, struct gw__ynode *n, const char *name, size_t len,
			    const char *value)
{
	int found = 0, r;

	if (n->kind == GW__Y_SCALAR && gw__is_placeholder(n->text) && strlen(n->text) == len + 2 &&
	    !strncmp(n->text + 1, name, len)) {
		r = put(l, n, value);
		return r ? r : 1;
	}
	for (struct gw__ynode *c = n->first; c; c = c->next) {
		r = fill_placeholder(l, c, name, len, value);
		if (r < 0)
			return r;
		found += r;
	}
	return found;
}

static int no_such(struct gw__loader *l, const char *path, const struct gw__key *parent,
		   const char *key)
{
	const struct gw__key *near = gw__key_nearest(parent, key);

	return gw__fail(l->diag, -EINVAL, "--set: %s: no such key (%s)%s%s%s", path, key,
			near ? "; did you mean " : "", near ? gw__key_name(near) : "",
			near ? "?" : "");
}

static struct gw__ynode *child_of(struct gw__ynode *n, const char *key)
{
	struct gw__ynode *c = n->kind == GW__Y_MAP ? gw__y_get(n, key) : NULL;

	if (n->kind == GW__Y_SEQ) {
		for (c = n->first; c; c = c->next) {
			const struct gw__ynode *name = gw__y_get(c, "name");
			char idx[16];

			snprintf(idx, sizeof(idx), "%d", c->index);
			if (!strcmp(idx, key) ||
			    (name && name->kind == GW__Y_SCALAR && !strcmp(name->text, key)))
				break;
		}
	}
	return c;
}

/* Set by path; a missing key of a map is added if the table knows it. */
static int set_path(struct gw__loader *l, const char *path, const char *value)
{
	const char *p = strncmp(path, "daqiri.cfg.", 11) ? path : path + 11;
	struct gw__ynode *n = NULL, *c;
	const struct gw__key *row = NULL;
	char key[GW_CFG_NAME + 1];

	while (*p) {
		p = gw__cfg_part(p, key, sizeof(key));
		if (!n) {
			row = gw__key_child(NULL, key);
			if (!row)
				return no_such(l, path, NULL, key);
			/* a block of a program stands at the root, wherever the library's keys are */
			n = gw__y_get(l->c->cfg_node, key) || gw__key_in_library(row)
				    ? l->c->cfg_node
				    : l->c->tree.root;
		} else if (n->kind != GW__Y_SEQ) {
			/* "bench_rx.0.x" where bench_rx is one map */
			if (row->type == GW__KEY_MAPLIST && !strcmp(key, "0"))
				continue;
			if (!gw__key_child(row, key))
				return no_such(l, path, row, key);
			row = gw__key_child(row, key);
		}
		c = child_of(n, key);
		if (!c && n->kind == GW__Y_MAP)
			c = gw__y_add(&l->c->tree, n, *p ? GW__Y_MAP : GW__Y_SCALAR, key, NULL,
				      n->line);
		else if (!c)
			return gw__fail(l->diag, -EINVAL,
					"--set: %s: there is no entry %s in this list of %u", path,
					key, n->n);
		if (!c)
			return no_memory(l);
		if (*p && gw__y_null(c))
			c->kind = GW__Y_MAP;
		n = c;
	}
	if (!n)
		return gw__fail(l->diag, -EINVAL, "--set: %s: write PATH.TO.KEY=VALUE", path);
	return put(l, n, value);
}

static int set_one(struct gw__loader *l, const char *text)
{
	const char *eq = strchr(text, '=');
	char path[256];
	size_t len;
	int r;

	if (!eq || eq == text || (size_t)(eq - text) >= sizeof(path))
		return gw__fail(l->diag, -EINVAL, "--set: %.100s: write KEY=VALUE", text);
	len = (size_t)(eq - text);
	memcpy(path, text, len);
	path[len] = '\0';
	r = gw__is_placeholder(path)
		    ? fill_placeholder(l, l->c->tree.root, path + 1, len - 2, eq + 1)
		    : fill_placeholder(l, l->c->tree.root, path, len, eq + 1);
	if (r < 0)
		return r;
	if (r > 0)
		return 0;
	if (gw__is_placeholder(path))
		return gw__fail(l->diag, -EINVAL, "--set: %s: %s has no such placeholder", path,
				l->c->tree.file);
	return set_path(l, path, eq + 1);
}

int gw__cfg_override(struct gw__loader *l)
{
	int r = 0;

	for (const char *const *s = l->opts->set; s && *s && !r; s++)
		r = set_one(l, *s);
	return r;
}
