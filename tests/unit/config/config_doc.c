/* One table, four readers: every key and every counter has its entry in `config explain`, the JSON Schema, the
 * man page and docs/config.md, and the two files in the tree are what the table writes today. */
#include <gpuwire/gpuwire.h>
#include <stdlib.h>

#include "ingest/config_table.h"
#include "ingest/counters.h"
#include "t.h"

struct text {
	char *s;
	size_t n;
};

static void take(void *ctx, const char *piece)
{
	struct text *t = ctx;
	size_t n = strlen(piece);

	t->s = realloc(t->s, t->n + n + 1);
	T_NEED(t->s);
	memcpy(t->s + t->n, piece, n + 1);
	t->n += n;
}

static char *describe(enum gw_config_doc what, const char *key)
{
	struct text t = { NULL, 0 };
	struct gw_diag d = { "" };

	T_RC(gw_config_describe(what, key, take, &t, &d), 0);
	T_STR(d.text, "");
	T_NEED(t.s);
	return t.s;
}

static char *file(const char *name)
{
	const char *root = getenv("GW_SOURCE_DIR");
	char path[1024], *s;
	FILE *f;
	size_t n;

	snprintf(path, sizeof(path), "%s/%s", root ? root : ".", name);
	f = fopen(path, "r");
	T_NEED(f);
	s = calloc(1, 1u << 20);
	T_NEED(s);
	n = fread(s, 1, (1u << 20) - 1, f);
	T_OK(n > 0);
	fclose(f);
	return s;
}

/* scdoc escapes underscores */
static void escaped(const char *s, char *buf)
{
	for (; *s; s++) {
		if (*s == '_')
			*buf++ = '\\';
		*buf++ = *s;
	}
	*buf = '\0';
}

static void every_row(void)
{
	char *list = describe(GW_CONFIG_EXPLAIN, NULL), *schema = describe(GW_CONFIG_SCHEMA, NULL);
	char *man = describe(GW_CONFIG_MAN, NULL), *md = describe(GW_CONFIG_MARKDOWN, NULL), *one,
	     buf[256];
	const struct gw__counter_row *c;
	const struct gw__key *k;
	int n = 0;

	for (size_t i = 0; (k = gw__key_nth(i)) != NULL; i++, n++) {
		const char *path = k->path + (*k->path == '$');

		T_OK(k->meaning && strlen(k->meaning) > 3);
		T_OK(!k->meaning || k->meaning[strlen(k->meaning) - 1] != '.');
		T_HAS(list, path);
		snprintf(buf, sizeof(buf), "\"%s\": {\"description\": \"", gw__key_name(k));
		T_HAS(schema, buf);
		T_HAS(schema, k->meaning);
		buf[0] = '*';
		escaped(path, buf + 1);
		strcat(buf, "*");
		T_HAS(man, buf);
		snprintf(buf, sizeof(buf), "| `%s` |", path);
		T_HAS(md, buf);
		one = describe(GW_CONFIG_EXPLAIN, path);
		T_HAS(one, k->meaning);
		T_OK(!k->def || strstr(one, *k->def ? k->def : "\"\""));
		free(one);
	}
	T_OK(n > 250);
	for (size_t i = 0; (c = gw__counter_nth(i)) != NULL; i++) {
		T_HAS(list, c->name);
		T_HAS(schema, c->name);
		T_HAS(schema, c->help);
		escaped(c->help, buf);
		T_HAS(man, buf);
		T_HAS(md, c->name);
		one = describe(GW_CONFIG_EXPLAIN, c->name);
		T_HAS(one, c->help);
		free(one);
	}
	free(list);
	free(schema);
	free(man);
	free(md);
}

static void files(void)
{
	char *man = describe(GW_CONFIG_MAN, NULL), *md = describe(GW_CONFIG_MARKDOWN, NULL);
	char *in_man = file("man/gpuwire-config.5.scd"), *in_md = file("docs/config.md");

	/* write them anew: gpuwire config schema --man, gpuwire config schema --markdown */
	T_STR(in_man, man);
	T_STR(in_md, md);
	free(man);
	free(md);
	free(in_man);
	free(in_md);
}

static void near_miss(void)
{
	struct text t = { NULL, 0 };
	struct gw_diag d = { "" };

	T_RC(gw_config_describe(GW_CONFIG_EXPLAIN, "timout_us", take, &t, &d), -ENOENT);
	T_HAS(d.text, "timeout_us");
	T_RC(gw_config_describe(GW_CONFIG_EXPLAIN, "interfaces.0.rx.queues.0.memory_region", take,
				&t, &d),
	     -ENOENT);
	T_HAS(d.text, "memory_regions");
	T_RC(gw_config_describe(GW_CONFIG_SCHEMA, NULL, NULL, NULL, &d), -EINVAL);
	T_RC(gw_config_describe((enum gw_config_doc)9, NULL, take, &t, &d), -EINVAL);
	T_OK(!t.s);
}

/* No two rows for one key, parents before children, words and bounds in order. */
static void table_itself(void)
{
	const struct gw__key *a, *b;

	for (size_t i = 0; (a = gw__key_nth(i)) != NULL; i++) {
		for (size_t j = 0; j < i; j++) {
			b = gw__key_nth(j);
			if (!strcmp(a->path, b->path))
				T__FAIL("%s has two rows", a->path);
		}
		T_OK(a->type != GW__KEY_INT || (int64_t)a->hi < 0 || a->lo <= (int64_t)a->hi);
		T_OK((a->type == GW__KEY_ENUM || a->type == GW__KEY_ENUMS) == (a->words != NULL));
		T_OK(!(a->required && a->def));
		if (a->type == GW__KEY_ENUM && a->def && !gw__key_has_word(a->words, a->def))
			T__FAIL("%s: default %s is none of %s", a->path, a->def, a->words);
	}
}

int main(void)
{
	table_itself();
	every_row();
	files();
	near_miss();
	T_DONE();
}
