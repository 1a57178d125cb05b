/* ingest/config_doc.c: the key table in words: `config explain`, JSON Schema, the man page, the docs page.
 * It must not know a single key: a new row in config_table.c appears everywhere by itself.
 * Next: config_table.h; tests/unit/config/config_doc.c compares the files in the tree with these texts. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/diag.h"
#include "ingest/config_load.h"
#include "ingest/config_value.h"
#include "ingest/counters.h"

struct out {
	gw_config_text_fn fn;
	void *ctx;
};

static void say(const struct out *o, const char *fmt, ...) GW_PRINTF(2, 3);
static void say(const struct out *o, const char *fmt, ...)
{
	char buf[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(buf, sizeof(buf), fmt, ap);
	va_end(ap);
	o->fn(o->ctx, buf);
}

static const char *since_text(const struct gw__key *k)
{
	static const char *const text[] = { "the DAQIRI reference",
					    "the DAQIRI reference, later files", "gpuwire" };

	return text[k->since];
}

/* "integer 0 to 65535", "one of raw, socket", ... */
static void type_text(const struct gw__key *k, char *buf, size_t n)
{
	static const char *const names[] = {
		[GW__KEY_MAP] = "map",
		[GW__KEY_LIST] = "list of maps",
		[GW__KEY_MAPLIST] = "map, or list of maps",
		[GW__KEY_BOOL] = "true or false",
		[GW__KEY_STR] = "text",
		[GW__KEY_STRS] = "list of names",
		[GW__KEY_MAC] = "MAC address",
		[GW__KEY_IPV4] = "IPv4 address",
		[GW__KEY_IPV6] = "IPv6 address",
		[GW__KEY_PORTS] = "port 0 to 65535, or range a-b",
		[GW__KEY_REFUSED] = "refused",
	};
	size_t at;

	if (k->type == GW__KEY_INT || k->type == GW__KEY_INTS) {
		snprintf(buf, n, "%s %" PRId64 " to %" PRIu64,
			 k->type == GW__KEY_INT ? "integer" : "list of integers", k->lo, k->hi);
		return;
	}
	if (k->type != GW__KEY_ENUM && k->type != GW__KEY_ENUMS) {
		snprintf(buf, n, "%s", names[k->type]);
		return;
	}
	at = (size_t)snprintf(buf, n, "%s", k->type == GW__KEY_ENUM ? "one of " : "list of ");
	for (const char *w = k->words; at < n; w++) {
		const char *end = strchrnul(w, '|');

		at += (size_t)snprintf(buf + at, n - at, "%s%.*s", w == k->words ? "" : ", ",
				       end == w ? 2 : (int)(end - w), end == w ? "\"\"" : w);
		if (!*end)
			break;
		w = end;
	}
}

/* A row's path as a reader writes it: "$action.type" is "action.type". */
static const char *shown(const struct gw__key *k)
{
	return k->path + (*k->path == '$');
}

/* ---- explain -------------------------------------------------------------------------------- */

static void explain_row(const struct out *o, const struct gw__key *k)
{
	char type[256];
	const struct gw__key *p, *c = NULL;
	size_t n;

	type_text(k, type, sizeof(type));
	say(o, "%s\n  what     %s\n  type     %s\n", shown(k), k->meaning, type);
	if (k->unit)
		say(o, "  unit     %s\n", k->unit);
	say(o, "  default  %s\n",
	    k->def        ? (*k->def ? k->def : "\"\"")
	    : k->required ? "none: required"
			  : "none");
	say(o, "  since    %s\n", since_text(k));
	n = strcspn(k->path, ".");
	for (size_t i = 0; *k->path == '$' && (p = gw__key_nth(i)) != NULL; i++)
		if (p->group && strlen(p->group) == n && !strncmp(p->group, k->path, n))
			say(o, "  below    %s\n", shown(p));
	while ((c = gw__key_next(k, c)) != NULL)
		say(o, "  has      %-24s %s\n", gw__key_name(c), c->meaning);
}

static void explain_counter(const struct out *o, const struct gw__counter_row *c)
{
	say(o, "%s\n  what     %s\n  type     counter of a %s\n", c->name, c->help, c->scope);
}

/* Does the row's path end in key, at a part's border? */
static bool ends_in(const char *path, const char *key)
{
	size_t n = strlen(path), m = strlen(key);

	return m && m <= n && !strcmp(path + n - m, key) &&
	       (m == n || path[n - m - 1] == '.' || path[n - m - 1] == '$');
}

static int explain(const struct out *o, const char *key, struct gw_diag *diag)
{
	const struct gw__key *k = key ? gw__cfg_row(key) : NULL, *near = NULL;
	const struct gw__counter_row *c;
	const char *last = key ? strrchr(key, '.') : NULL;
	char above[200];
	int found = 0, best = 4;

	last = last ? last + 1 : key;
	if (k) {
		explain_row(o, k);
		return 0;
	}
	for (size_t i = 0; (k = gw__key_nth(i)) != NULL; i++) {
		int d = key ? gw__edit_distance(last, gw__key_name(k), best) : best;

		if (!key)
			say(o, "%-56s %s\n", shown(k), k->meaning);
		else if (ends_in(k->path, key))
			explain_row(o, k);
		found += key && ends_in(k->path, key);
		if (d < best) {
			best = d;
			near = k;
		}
	}
	for (size_t i = 0; (c = gw__counter_nth(i)) != NULL; i++) {
		if (!key)
			say(o, "%-56s %s (counter of a %s)\n", c->name, c->help, c->scope);
		else if (!strcmp(c->name, key))
			explain_counter(o, c);
		found += key && !strcmp(c->name, key);
	}
	if (!key || found)
		return 0;
	if (last != key && (size_t)(last - key) <= sizeof(above)) {
		snprintf(above, sizeof(above), "%.*s", (int)(last - key) - 1, key);
		k = gw__cfg_row(above);
		near = k ? gw__key_nearest(k, last) : near;
	}
	return gw__fail(diag, -ENOENT, "%s: no such key or counter%s%s%s", key,
			near ? "; did you mean " : "", near ? gw__key_name(near) : "",
			near ? "?" : "");
}

/* ---- JSON Schema ---------------------------------------------------------------------------- */

static void json_text(const struct out *o, const char *s)
{
	char buf[512];
	size_t n = 0;

	buf[n++] = '"';
	for (; *s && n + 3 < sizeof(buf); s++) {
		if (*s == '"' || *s == '\\')
			buf[n++] = '\\';
		buf[n++] = *s;
	}
	buf[n++] = '"';
	buf[n] = '\0';
	o->fn(o->ctx, buf);
}

static void json_words(const struct out *o, const char *w)
{
	say(o, "{\"enum\": [");
	for (;; w++) {
		const char *end = strchrnul(w, '|');

		say(o, "\"%.*s\"", (int)(end - w), w);
		if (end - w == 3 && !strncmp(w, "off", 3))
			say(o, ", false"); /* what a loader of YAML 1.1 makes of it */
		say(o, "%s", *end ? ", " : "]}");
		if (!*end)
			return;
		w = end;
	}
}

static void json_int(const struct out *o, const struct gw__key *k)
{
	say(o,
	    "{\"anyOf\": [{\"type\": \"integer\", \"minimum\": %" PRId64 ", \"maximum\": %" PRIu64
	    "}, {\"type\": \"string\", \"pattern\": \"^(-?[0-9]+|0[xX][0-9a-fA-F]+|<.+>)$\"}]}",
	    k->lo, k->hi);
}

/* "properties": {...}, "required": [...] of the children of parent (NULL: the library's top level) */
static void json_members(const struct out *o, const struct gw__key *parent, bool library,
			 int depth);

static void json_object(const struct out *o, const struct gw__key *k, int depth)
{
	if (k->group) {
		say(o, "{\"$ref\": \"#/$defs/%s\"}", k->group + 1);
		return;
	}
	say(o, "{\"type\": [\"object\", \"null\"], ");
	json_members(o, k, true, depth + 1);
	say(o, "}");
}

static void json_value(const struct out *o, const struct gw__key *k, int depth)
{
	switch (k->type) {
	case GW__KEY_MAP:
		json_object(o, k, depth);
		return;
	case GW__KEY_LIST:
		say(o, "{\"type\": [\"array\", \"null\"], \"items\": ");
		json_object(o, k, depth);
		say(o, "}");
		return;
	case GW__KEY_MAPLIST:
		say(o, "{\"anyOf\": [");
		json_object(o, k, depth);
		say(o, ", {\"type\": \"array\", \"items\": ");
		json_object(o, k, depth);
		say(o, "}]}");
		return;
	case GW__KEY_INT:
		json_int(o, k);
		return;
	case GW__KEY_INTS:
		say(o, "{\"type\": \"array\", \"items\": ");
		json_int(o, k);
		say(o, "}");
		return;
	case GW__KEY_BOOL:
		say(o, "{\"anyOf\": [{\"type\": \"boolean\"}, {\"enum\": [\"yes\", \"no\", "
		       "\"true\", \"false\"]}]}");
		return;
	case GW__KEY_ENUM:
		json_words(o, k->words);
		return;
	case GW__KEY_ENUMS:
		say(o, "{\"type\": \"array\", \"items\": ");
		json_words(o, k->words);
		say(o, "}");
		return;
	case GW__KEY_STRS:
		say(o, "{\"type\": \"array\", \"items\": {\"type\": \"string\"}}");
		return;
	case GW__KEY_REFUSED:
		say(o, "{\"not\": {}}");
		return;
	default:
		/* a loader of YAML 1.1 may have made a number of an unquoted address */
		say(o, "{\"type\": [\"string\", \"number\", \"boolean\"]}");
	}
}

static void json_members(const struct out *o, const struct gw__key *parent, bool library, int depth)
{
	const struct gw__key *k = NULL;
	const char *sep = "";

	say(o, "\"properties\": {");
	while ((k = gw__key_next(parent, k)) != NULL) {
		if (!parent && gw__key_in_library(k) != library)
			continue;
		say(o, "%s\n%*s\"%s\": {\"description\": ", sep, depth * 2, "", gw__key_name(k));
		json_text(o, k->meaning);
		if (k->def) {
			say(o, ", \"default\": ");
			json_text(o, k->def);
		}
		say(o, ", \"allOf\": [");
		json_value(o, k, depth);
		say(o, "]}");
		sep = ",";
	}
	say(o, "}");
	sep = ", \"required\": [";
	while ((k = gw__key_next(parent, k)) != NULL)
		if (k->required && (parent || library)) {
			say(o, "%s\"%s\"", sep, gw__key_name(k));
			sep = ", ";
		}
	say(o, "%s", *sep == ',' && sep[2] == '\0' ? "]" : "");
}

static void schema(const struct out *o)
{
	const struct gw__key *k, *seen[16];
	int n = 0;

	say(o, "{\"$schema\": \"https://json-schema.org/draft/2020-12/schema\",\n\"title\": "
	       "\"gpuwire configuration\",\n"
	       "\"type\": \"object\",\n\"anyOf\": [{\"required\": [\"daqiri\"]}, {\"$ref\": "
	       "\"#/$defs/cfg\"}],\n"
	       "\"allOf\": [{\"properties\": {\"daqiri\": {\"$ref\": \"#/$defs/daqiri\"}}}],\n");
	json_members(o, NULL, false, 1);
	say(o, ",\n\"$defs\": {\n\"daqiri\": {\"type\": \"object\", \"required\": [\"cfg\"], "
	       "\"properties\": "
	       "{\"cfg\": {\"$ref\": \"#/$defs/cfg\"}}},\n\"cfg\": {\"type\": \"object\", ");
	json_members(o, NULL, true, 1);
	say(o, "}");
	for (size_t i = 0; (k = gw__key_nth(i)) != NULL; i++) {
		bool again = !k->group;

		for (int s = 0; s < n && !again; s++)
			again = !strcmp(seen[s]->group, k->group);
		if (again || n == 16)
			continue;
		seen[n++] = k;
		say(o, ",\n\"%s\": {\"type\": [\"object\", \"null\"], ", k->group + 1);
		json_members(o, k, true, 1);
		say(o, "}");
	}
	/* each counter's meaning, for tools that read --json */
	say(o, "},\n\"x-counters\": {");
	for (size_t i = 0; gw__counter_nth(i); i++) {
		const struct gw__counter_row *c = gw__counter_nth(i);

		say(o, "%s\n  \"%s.%s\": ", i ? "," : "", c->scope, c->name);
		json_text(o, c->help);
	}
	say(o, "}}\n");
}

/* ---- man page and docs page ------------------------------------------------------------------ */

/* scdoc takes _ and * for emphasis */
static void scd_text(const struct out *o, const char *s)
{
	char buf[600];
	size_t n = 0;

	for (; *s && n + 3 < sizeof(buf); s++) {
		/* a dash at the start of a line would open a list */
		if (strchr("_*\\#<>", *s) || (!n && *s == '-'))
			buf[n++] = '\\';
		buf[n++] = *s;
	}
	buf[n] = '\0';
	o->fn(o->ctx, buf);
}

static void man_row(const struct out *o, const struct gw__key *k)
{
	char type[256];

	type_text(k, type, sizeof(type));
	say(o, "*");
	scd_text(o, shown(k));
	say(o, "*\n\t");
	scd_text(o, k->meaning);
	say(o, ". ");
	scd_text(o, type);
	if (k->unit) {
		say(o, ", in ");
		scd_text(o, k->unit);
	}
	if (k->def) {
		say(o, "; default ");
		scd_text(o, *k->def ? k->def : "\"\"");
	}
	say(o, "%s. Since %s.\n\n", k->required ? "; required" : "", since_text(k));
}

static void man(const struct out *o)
{
	const struct gw__counter_row *c;
	const struct gw__key *k;

	say(o, "gpuwire-config(5)\n\n# NAME\n\ngpuwire-config - the configuration file of "
	       "gpuwire\n\n# DESCRIPTION\n\n"
	       "A configuration is one YAML document. The library's keys stand below *daqiri: "
	       "cfg:*, or, where there is no "
	       "*daqiri* key, in the document itself; the programs' blocks stand beside it. Values "
	       "stay text until they are "
	       "read, so a PCI or MAC address needs no quotes. Integers are decimal without "
	       "leading zeros, or hexadecimal "
	       "with 0x. *\\<name\\>* is a placeholder: a value that matters must not stay one.\n\n"
	       "*gpuwire config check* reads a file as every program does; *gpuwire config "
	       "explain* KEY prints one entry "
	       "of this page. [] marks a list.\n\n# KEYS\n\n");
	for (size_t i = 0; (k = gw__key_nth(i)) != NULL; i++)
		if (gw__key_in_library(k) && *k->path != '$')
			man_row(o, k);
	say(o, "# KEYS OF MATCHES, ACTIONS AND NUMBERS\n\n");
	for (size_t i = 0; (k = gw__key_nth(i)) != NULL; i++)
		if (*k->path == '$')
			man_row(o, k);
	say(o, "# BLOCKS OF THE PROGRAMS\n\n");
	for (size_t i = 0; (k = gw__key_nth(i)) != NULL; i++)
		if (!gw__key_in_library(k))
			man_row(o, k);
	say(o, "# COUNTERS\n\n");
	for (size_t i = 0; (c = gw__counter_nth(i)) != NULL; i++) {
		say(o, "*");
		scd_text(o, c->name);
		say(o, "* (%s)\n\t", c->scope);
		scd_text(o, c->help);
		say(o, ".\n\n");
	}
	say(o, "# SEE ALSO\n\n*gpuwire-config*(1)\n");
}

static void md_row(const struct out *o, const struct gw__key *k)
{
	char type[256];

	type_text(k, type, sizeof(type));
	say(o, "| `%s` | %s%s%s | %s | %s | %s |\n", shown(k), type, k->unit ? ", " : "",
	    k->unit ? k->unit : "",
	    k->def        ? (*k->def ? k->def : "\"\"")
	    : k->required ? "required"
			  : "",
	    k->meaning, since_text(k));
}

static void markdown(const struct out *o)
{
	static const char *const title[] = { "The library's keys", "Matches, actions and numbers",
					     "The programs' blocks" };
	const struct gw__counter_row *c;
	const struct gw__key *k;

	say(o, "# Configuration, key by key\n\nWritten by `gpuwire config schema --markdown > "
	       "docs/config.md` from the table that the parser "
	       "itself reads. `[]` marks a list. The library's keys stand below `daqiri: cfg:` or "
	       "in the document itself.\n");
	for (int part = 0; part < 3; part++) {
		say(o,
		    "\n## %s\n\n| key | type | default | meaning | since "
		    "|\n|---|---|---|---|---|\n",
		    title[part]);
		for (size_t i = 0; (k = gw__key_nth(i)) != NULL; i++)
			if ((gw__key_in_library(k) ? *k->path == '$' : 2) == part)
				md_row(o, k);
	}
	say(o, "\n## Counters\n\n| counter | of a | meaning |\n|---|---|---|\n");
	for (size_t i = 0; (c = gw__counter_nth(i)) != NULL; i++)
		say(o, "| `%s` | %s | %s |\n", c->name, c->scope, c->help);
}

int gw_config_describe(enum gw_config_doc what, const char *key, gw_config_text_fn fn, void *ctx,
		       struct gw_diag *diag)
{
	const struct out o = { fn, ctx };

	if (!fn)
		return gw__fail(diag, -EINVAL, "gw_config_describe: no function to write to");
	switch (what) {
	case GW_CONFIG_EXPLAIN:
		return explain(&o, key, diag);
	case GW_CONFIG_SCHEMA:
		schema(&o);
		return 0;
	case GW_CONFIG_MAN:
		man(&o);
		return 0;
	case GW_CONFIG_MARKDOWN:
		markdown(&o);
		return 0;
	default:
		return gw__fail(diag, -EINVAL, "gw_config_describe: %d is no kind of description",
				(int)what);
	}
}
