/* ingest/config_check.c: every value of the file against its row: type, bounds, words, spelling.
 * It must not know what a key is for. Next: config_fill.c, where the checked values become structs. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/diag.h"
#include "base/log.h"
#include "ingest/config_load.h"
#include "ingest/config_value.h"

static void where(const struct gw__loader *l, const struct gw__ynode *at, char *buf, size_t n)
{
	char path[256];

	gw__y_path(at, path, sizeof(path));
	if (at->from_set)
		snprintf(buf, n, "--set: %s: ", path);
	else
		snprintf(buf, n, "%s:%d: %s%s", l->c->tree.file, at->line, path, *path ? ": " : "");
}

int gw__cfg_bad(struct gw__loader *l, const struct gw__ynode *at, int err, const char *fmt, ...)
{
	char text[sizeof(l->diag->text)], head[600];
	va_list ap;

	if (!l->diag)
		return err;
	where(l, at, head, sizeof(head));
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return gw__fail(l->diag, err, "%s%s", head, text);
}

void gw__cfg_warn(struct gw__loader *l, const struct gw__ynode *at, const char *fmt, ...)
{
	char text[512], head[600];
	va_list ap;

	if (!gw__log_on(GW_LOG_WARN))
		return;
	where(l, at, head, sizeof(head));
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	gw__warn("%s%s", head, text);
}

int gw__cfg_missing(struct gw__loader *l, const struct gw__ynode *map, const char *key,
		    const char *why)
{
	const struct gw__key *row = gw__key_child(map->row, key);

	/* a misspelt key is the usual reason */
	for (const struct gw__ynode *c = map->first; c; c = c->next)
		if (!c->row && c->key && gw__edit_distance(c->key, key, 4) < 4)
			return gw__cfg_bad(l, c, -EINVAL, "unknown key; did you mean %s?", key);
	return gw__cfg_bad(l, map, -EINVAL, "%s: missing; %s (%s)", key, why,
			   row ? row->meaning : "required");
}

static int bad_number(struct gw__loader *l, const struct gw__ynode *n, const struct gw__key *row,
		      int why)
{
	char fix[48];

	if (why == -ERANGE)
		return gw__cfg_bad(l, n, -EINVAL,
				   "value %s is above %" PRIu64 "; use at most %" PRIu64, n->text,
				   row->hi, row->hi);
	if (n->text[0] == '-')
		return gw__cfg_bad(l, n, -EINVAL,
				   "value %s is not an integer; use %" PRId64 " to %" PRIu64,
				   n->text, row->lo, row->hi);
	gw__number_fix(n->text, fix, sizeof(fix));
	return gw__cfg_bad(l, n, -EINVAL,
			   "value %.40s is not an integer (%s); use %s%s%" PRId64 " to %" PRIu64,
			   n->text,
			   n->text[0] == '0' && n->text[1] ? "leading zeros are ambiguous"
							   : "decimal or 0x hexadecimal",
			   fix, *fix ? ", range " : "", row->lo, row->hi);
}

static int check_int(struct gw__loader *l, const struct gw__ynode *n, const struct gw__key *row)
{
	uint64_t u;
	int64_t i;
	int r;

	if (n->text[0] == '-') {
		r = gw__parse_i64(n->text, &i);
		if (r == -EINVAL)
			return bad_number(l, n, row, r);
		if (r || i < row->lo)
			return gw__cfg_bad(l, n, -EINVAL,
					   "value %s is below %" PRId64 "; use at least %" PRId64,
					   n->text, row->lo, row->lo);
		return 0;
	}
	r = gw__parse_u64(n->text, &u);
	if (r)
		return bad_number(l, n, row, r);
	if (u > row->hi)
		return bad_number(l, n, row, -ERANGE);
	if (row->lo > 0 && u < (uint64_t)row->lo)
		return gw__cfg_bad(l, n, -EINVAL,
				   "value %s is below %" PRId64 "; use at least %" PRId64, n->text,
				   row->lo, row->lo);
	return 0;
}

static int check_word(struct gw__loader *l, const struct gw__ynode *n, const struct gw__key *row)
{
	char words[160], near[40] = "";
	const char *w = row->words;
	int best = 3;
	size_t at = 0;

	if (gw__key_has_word(row->words, n->text))
		return 0;
	for (;; w++) {
		const char *end = strchrnul(w, '|');
		int len = (int)(end - w), d;
		char one[40];

		snprintf(one, sizeof(one), "%.*s", len, w);
		d = gw__edit_distance(n->text, one, best);
		if (len && d < best) {
			best = d;
			memcpy(near, one, sizeof(near));
		}
		at += (size_t)snprintf(words + at, sizeof(words) - at, "%s%s", at ? ", " : "",
				       len ? one : "\"\"");
		if (!*end || at >= sizeof(words))
			break;
		w = end;
	}
	return gw__cfg_bad(l, n, -EINVAL, "value \"%.40s\" is unknown; use %s%sone of %s", n->text,
			   near, *near ? " or " : "", words);
}

static int check_ports(struct gw__loader *l, const struct gw__ynode *n)
{
	uint16_t lo, hi;
	int r = gw__parse_ports(n->text, &lo, &hi), first;

	if (!r)
		return 0;
	if (r == -EDOM) {
		first = (int)strcspn(n->text, "-");
		return gw__cfg_bad(l, n, -EINVAL,
				   "range %s is reversed: its end is below its start; use %s-%.*s",
				   n->text, n->text + first + 1, first, n->text);
	}
	if (r == -ERANGE)
		return gw__cfg_bad(l, n, -EINVAL,
				   "value %.40s is above 65535; use 0 to 65535, or a range a-b",
				   n->text);
	return gw__cfg_bad(l, n, -EINVAL,
			   "value \"%.40s\" is not a port; use 0 to 65535, or a range such as "
			   "1000-1010",
			   n->text);
}

int gw__cfg_check_scalar(struct gw__loader *l, const struct gw__ynode *n, const struct gw__key *row)
{
	uint8_t b[16];
	bool flag;

	if (gw__is_placeholder(n->text))
		return 0; /* named later, and only if the value is needed */
	switch (row->type) {
	case GW__KEY_INT:
	case GW__KEY_INTS:
		return check_int(l, n, row);
	case GW__KEY_BOOL:
		if (gw__parse_bool(n->text, &flag))
			return gw__cfg_bad(l, n, -EINVAL,
					   "value \"%.40s\" is neither; use true or false",
					   n->text);
		return 0;
	case GW__KEY_ENUM:
	case GW__KEY_ENUMS:
		return check_word(l, n, row);
	case GW__KEY_MAC:
		if (gw__parse_mac(n->text, b))
			return gw__cfg_bad(l, n, -EINVAL,
					   "value \"%.40s\" is not a MAC; use six pairs such as "
					   "02:00:00:00:00:01",
					   n->text);
		return 0;
	case GW__KEY_IPV4:
		if (gw__parse_ipv4(n->text, b))
			return gw__cfg_bad(l, n, -EINVAL,
					   "value \"%.40s\" is not an IPv4 address; use four "
					   "numbers "
					   "0 to 255 such as 10.0.0.1",
					   n->text);
		return 0;
	case GW__KEY_IPV6:
		if (gw__parse_ipv6(n->text, b))
			return gw__cfg_bad(l, n, -EINVAL,
					   "value \"%.40s\" is not an IPv6 address; use one such "
					   "as fe80::1",
					   n->text);
		return 0;
	case GW__KEY_PORTS:
		return check_ports(l, n);
	default:
		return 0;
	}
}

static int check_node(struct gw__loader *l, struct gw__ynode *n, const struct gw__key *row);

static int unknown_key(struct gw__loader *l, const struct gw__ynode *n,
		       const struct gw__key *parent)
{
	const struct gw__key *near = gw__key_nearest(parent, n->key);

	if (l->strict)
		return gw__cfg_bad(l, n, -EINVAL, "unknown key (strict)%s%s%s",
				   near ? "; did you mean " : "; remove it",
				   near ? gw__key_name(near) : "", near ? "?" : "");
	gw__cfg_warn(l, n, "unknown key, not used%s%s%s", near ? "; did you mean " : "",
		     near ? gw__key_name(near) : "", near ? "?" : "");
	return 0;
}

/* The keys of one map; parent NULL = the root's own. */
static int check_keys(struct gw__loader *l, struct gw__ynode *map, const struct gw__key *parent)
{
	const struct gw__key *row = NULL;
	int r;

	for (struct gw__ynode *c = map->first; c; c = c->next) {
		row = gw__key_child(parent, c->key);
		/* `daqiri: cfg:` keeps the library's keys; the root then holds the programs' blocks */
		if (!parent && !strcmp(c->key, "daqiri") && c != l->c->cfg_node)
			continue;
		if (!parent && row && map != l->c->cfg_node && gw__key_in_library(row)) {
			gw__cfg_warn(l, c,
				     "not used here: the library's keys stand below daqiri: cfg:");
			continue;
		}
		r = row ? check_node(l, c, row) : unknown_key(l, c, parent);
		if (r)
			return r;
	}
	row = NULL;
	while (parent && (row = gw__key_next(parent, row)) != NULL)
		if (row->required && !gw__cfg_node(map, gw__key_name(row)))
			return gw__cfg_missing(l, map, gw__key_name(row), "required");
	return 0;
}

static int wrong_shape(struct gw__loader *l, const struct gw__ynode *n, const struct gw__key *row)
{
	static const char *const is[] = { "one value", "a map", "a list" };

	switch (row->type) {
	case GW__KEY_MAP:
		return gw__cfg_bad(l, n, -EINVAL, "is %s; write a map of keys below it",
				   is[n->kind]);
	case GW__KEY_LIST:
	case GW__KEY_MAPLIST:
		return gw__cfg_bad(l, n, -EINVAL,
				   "is %s; write a list, each entry with a dash: - name: ...",
				   is[n->kind]);
	case GW__KEY_ENUMS:
	case GW__KEY_STRS:
	case GW__KEY_INTS:
		return gw__cfg_bad(l, n, -EINVAL, "is %s; write a list: [%.60s]", is[n->kind],
				   n->kind == GW__Y_SCALAR ? n->text : "...");
	default:
		return gw__cfg_bad(l, n, -EINVAL, "is %s; write one value", is[n->kind]);
	}
}

static int check_scalars(struct gw__loader *l, struct gw__ynode *n, const struct gw__key *row)
{
	int r = 0;

	for (struct gw__ynode *c = n->first; c && !r; c = c->next) {
		c->row = row;
		r = c->kind == GW__Y_SCALAR
			    ? gw__cfg_check_scalar(l, c, row)
			    : gw__cfg_bad(l, c, -EINVAL, "is not one value; write a flat list");
	}
	return r;
}

static int check_node(struct gw__loader *l, struct gw__ynode *n, const struct gw__key *row)
{
	int r = 0;

	n->row = row;
	if (row->type == GW__KEY_REFUSED)
		return gw__cfg_bad(l, n, -EINVAL, "%s", row->meaning);
	if (gw__y_null(n))
		return 0; /* nothing written: the default holds */
	switch (row->type) {
	case GW__KEY_MAP:
		return n->kind == GW__Y_MAP ? check_keys(l, n, row) : wrong_shape(l, n, row);
	case GW__KEY_MAPLIST:
		if (n->kind == GW__Y_MAP)
			return check_keys(l, n, row);
		/* fall through */
	case GW__KEY_LIST:
		if (n->kind != GW__Y_SEQ)
			return wrong_shape(l, n, row);
		for (struct gw__ynode *c = n->first; c && !r; c = c->next) {
			c->row = row;
			r = c->kind == GW__Y_MAP ? check_keys(l, c, row)
						 : gw__cfg_bad(l, c, -EINVAL,
							       "is not a map; write keys below the "
							       "dash");
		}
		return r;
	case GW__KEY_ENUMS:
	case GW__KEY_STRS:
	case GW__KEY_INTS:
		return n->kind == GW__Y_SEQ ? check_scalars(l, n, row) : wrong_shape(l, n, row);
	default:
		return n->kind == GW__Y_SCALAR ? gw__cfg_check_scalar(l, n, row)
					       : wrong_shape(l, n, row);
	}
}

/* Required top-level keys; a root has no row of its own. */
static int check_top(struct gw__loader *l)
{
	const struct gw__key *row = NULL;

	while ((row = gw__key_next(NULL, row)) != NULL)
		if (row->required && !gw__cfg_node(l->c->cfg_node, row->path))
			return gw__cfg_missing(l, l->c->cfg_node, row->path, "required");
	return 0;
}

int gw__cfg_check(struct gw__loader *l)
{
	struct gw__ynode *root = l->c->tree.root;
	int r = 0;

	if (l->c->cfg_node != root) {
		const struct gw__ynode *d = l->c->cfg_node->parent;

		r = check_keys(l, l->c->cfg_node, NULL);
		for (const struct gw__ynode *c = d->first; c && !r; c = c->next)
			if (strcmp(c->key, "cfg"))
				gw__cfg_warn(l, c,
					     "unknown key, not used; the library's keys stand "
					     "below cfg");
	}
	if (!r)
		r = check_keys(l, root, NULL);
	return r ? r : check_top(l);
}

/* ---- placeholders --------------------------------------------------------------------------- */

bool gw__cfg_left_out(const struct gw__loader *l, const struct gw__ynode *n)
{
	const char *other = l->opts->rx_only ? "tx" : l->opts->tx_only ? "rx" : NULL;
	const char *bench = l->opts->rx_only ? "bench_tx" : "bench_rx";

	for (; other && n && n->parent; n = n->parent) {
		if (!n->key)
			continue;
		if (!strcmp(n->key, other) || !strcmp(n->key, bench))
			return true;
	}
	return false;
}

static int check_placeholder(struct gw__loader *l, const struct gw__ynode *n)
{
	char path[256];
	int r = 0;

	if (n->kind == GW__Y_SCALAR && n->row && gw__is_placeholder(n->text) &&
	    !gw__cfg_left_out(l, n)) {
		gw__y_path(n, path, sizeof(path));
		if (gw__key_child(NULL, "interfaces") == (n->parent->row) && !strcmp(n->key, "addre"
											     "ss"))
			return 0; /* config_engine.c names it with its own way out */
		return gw__cfg_bad(l, n, -EINVAL,
				   "%.60s is a placeholder; write a value, or --set %s=VALUE (%s)",
				   n->text, path, n->row->meaning);
	}
	for (const struct gw__ynode *c = n->first; c && !r; c = c->next)
		r = check_placeholder(l, c);
	return r;
}

int gw__cfg_check_placeholders(struct gw__loader *l)
{
	return check_placeholder(l, l->c->tree.root);
}
