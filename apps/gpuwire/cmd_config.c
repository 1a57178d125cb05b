/* apps/gpuwire/cmd_config.c: `gpuwire config check FILE... | explain [KEY] | schema`: read a configuration as
 * every program does, and print the table of keys. Must not know any key. Next: include/gpuwire/config.h. */
#include <argp.h>
#include <errno.h>
#include <gpuwire/gpuwire.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"

#define MAX_OPTS 64

struct args {
	struct gw_config_opts opts;
	const char *address[MAX_OPTS + 1], *set[MAX_OPTS + 1];
	int n_address, n_set;
	enum gw_config_doc doc;
	bool quiet;
	char **words; /* the action and what follows it */
	int n_words;
};

static const struct argp_option options[] = {
	{ "engine", 'e', "NAME", 0, "check: replace engine:", 0 },
	{ "address", 'a', "PORT=ADDRESS", 0,
	  "check: replace a port's address, such as rx_port=cable:0", 0 },
	{ "set", 's', "KEY=VALUE", 0, "check: replace a value (or all of one <placeholder>)", 0 },
	{ "mode", 'm', "tx|rx", 0, "check: this direction alone", 0 },
	{ "strict", 'S', NULL, 0, "check: unknown keys are errors", 0 },
	{ "quiet", 'q', NULL, 0, "check: no warnings, no line for good files", 0 },
	{ "markdown", 'M', NULL, 0, "schema: the page docs/config.md instead", 0 },
	{ "man", 'N', NULL, 0, "schema: the source of gpuwire-config.5 instead", 0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;

	switch (key) {
	case 'e':
		a->opts.engine = arg;
		return 0;
	case 'a':
		if (a->n_address == MAX_OPTS)
			argp_error(state, "more than %d --address", MAX_OPTS);
		a->address[a->n_address++] = arg;
		return 0;
	case 's':
		if (a->n_set == MAX_OPTS)
			argp_error(state, "more than %d --set", MAX_OPTS);
		a->set[a->n_set++] = arg;
		return 0;
	case 'm':
		a->opts.tx_only = !strcmp(arg, "tx");
		a->opts.rx_only = !strcmp(arg, "rx");
		if (!a->opts.tx_only && !a->opts.rx_only)
			argp_error(state, "--mode %s: use tx or rx", arg);
		return 0;
	case 'S':
		a->opts.strict = true;
		return 0;
	case 'q':
		a->quiet = true;
		return 0;
	case 'M':
		a->doc = GW_CONFIG_MARKDOWN;
		return 0;
	case 'N':
		a->doc = GW_CONFIG_MAN;
		return 0;
	case ARGP_KEY_ARGS:
		a->words = state->argv + state->next;
		a->n_words = state->argc - state->next;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_usage(state);
		return EINVAL;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void to_stderr(void *ctx, enum gw_log_level level, const char *line)
{
	fprintf(stderr, "%s: %s\n", level >= GW_LOG_ERROR ? "error" : "warning", line);
}

static void to_stdout(void *ctx, const char *text)
{
	fputs(text, stdout);
}

/* A file for a card that is not here may have other faults: engine null takes any card's word for it. */
static void behind_engine(const struct args *a, const char *path)
{
	struct gw_config_opts o = a->opts;
	struct gw_config *cfg = NULL;
	struct gw_diag diag = { "" };

	if (o.engine)
		return;
	o.engine = "null";
	if (gw_config_load(path, &o, &cfg, &diag))
		fprintf(stderr, "error: %s\n", diag.text);
	gw_config_free(cfg);
}

static int check(struct args *a)
{
	int bad = 0;

	if (a->n_words < 2) {
		fprintf(stderr, "gpuwire config check: name at least one file\n");
		return 64;
	}
	a->opts.address = a->address;
	a->opts.set = a->set;
	if (!a->quiet)
		gw_log_set(to_stderr, NULL, GW_LOG_WARN);
	for (int i = 1; i < a->n_words; i++) {
		struct gw_config *cfg = NULL;
		struct gw_diag diag = { "" };

		int r = gw_config_load(a->words[i], &a->opts, &cfg, &diag);

		if (r) {
			fprintf(stderr, "error: %s\n", diag.text);
			if (r == -ENOTSUP)
				behind_engine(a, a->words[i]);
			bad++;
			continue;
		}
		if (!a->quiet)
			printf("%s: ok\n", a->words[i]);
		gw_config_free(cfg);
	}
	return bad ? 1 : 0;
}

static int describe(enum gw_config_doc what, const char *key)
{
	struct gw_diag diag = { "" };

	if (gw_config_describe(what, key, to_stdout, NULL, &diag)) {
		fprintf(stderr, "gpuwire config: %s\n", diag.text);
		return 1;
	}
	return 0;
}

int gw_cmd_config(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "check FILE...\nexplain [KEY...]\nschema",
		.doc = "Check configuration files without starting anything, explain keys and "
		       "counters, or write the "
		       "JSON Schema of the configuration.\vExit status: 0 good, 1 refused, 64 "
		       "wrong usage.",
	};
	struct args a = { .opts = { .sz = sizeof(a.opts) }, .doc = GW_CONFIG_SCHEMA };
	int r = argp_parse(&argp, argc, argv, 0, NULL, &a);

	if (r)
		return 64;
	if (!strcmp(a.words[0], "check"))
		return check(&a);
	if (!strcmp(a.words[0], "schema"))
		return describe(a.doc, NULL);
	if (!strcmp(a.words[0], "explain")) {
		if (a.n_words == 1)
			return describe(GW_CONFIG_EXPLAIN, NULL);
		for (int i = 1; i < a.n_words && !r; i++)
			r = describe(GW_CONFIG_EXPLAIN, a.words[i]);
		return r;
	}
	fprintf(stderr, "gpuwire config: there is no action '%s'; use check, explain or schema\n",
		a.words[0]);
	return 64;
}
