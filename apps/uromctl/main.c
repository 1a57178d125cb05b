/* uromctl: ask a running uromd: status, plugins, workers, ping; stop a worker. Options and printing only.
 * Must not know frames. Next: man uromctl(1). */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "urom_ctl/ctl.h"

const char *argp_program_version = "uromctl (gpuwire) wire 1.0";

struct options {
	const char *endpoint, *key_file, *verb, *arg;
	uint32_t timeout_ms, count;
};

static const struct argp_option arg_options[] = {
	{ "endpoint", 'e', "ENDPOINT", 0, "unix:/PATH, tcp:ADDR:PORT or ucx:ADDR:PORT (default: DOCA_UROM_ENDPOINT)", 0 },
	{ "key-file", 'k', "FILE", 0, "shared key of a keyed daemon (default: UROM_KEY_FILE)", 0 },
	{ "timeout", 't', "MS", 0, "of each question (default 2000)", 0 },
	{ "count", 'c', "N", 0, "pings (default 4)", 0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 'e':
		o->endpoint = arg;
		return 0;
	case 'k':
		o->key_file = arg;
		return 0;
	case 't':
		o->timeout_ms = (uint32_t)strtoul(arg, NULL, 10);
		return 0;
	case 'c':
		o->count = (uint32_t)strtoul(arg, NULL, 10);
		return 0;
	case ARGP_KEY_ARG:
		if (state->arg_num == 0)
			o->verb = arg;
		else if (state->arg_num == 1)
			o->arg = arg;
		else
			argp_usage(state);
		return 0;
	case ARGP_KEY_END:
		if (!o->verb)
			argp_usage(state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* The lines that begin with this word, all if NULL. */
static int print_lines(struct gw__ctl *c, const char *word, struct gw_diag *diag)
{
	static char text[65537];
	char *save = NULL;
	int err = gw__ctl_status(c, text, sizeof(text), diag);

	if (err)
		return err;
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		if (!word || (!strncmp(line, word, strlen(word)) && line[strlen(word)] == ' '))
			puts(line);
	return 0;
}

static int ping(struct gw__ctl *c, uint32_t n, struct gw_diag *diag)
{
	for (uint32_t i = 0; i < n; i++) {
		uint64_t ns;
		int err = gw__ctl_ping(c, &ns, diag);

		if (err)
			return err;
		printf("ping %u: %.1f us\n", i + 1, (double)ns / 1000.0);
	}
	return 0;
}

static int run(struct gw__ctl *c, const struct options *o, struct gw_diag *diag)
{
	if (!strcmp(o->verb, "status"))
		return print_lines(c, NULL, diag);
	if (!strcmp(o->verb, "plugins"))
		return print_lines(c, "plugin", diag);
	if (!strcmp(o->verb, "workers"))
		return print_lines(c, "worker", diag);
	if (!strcmp(o->verb, "ping"))
		return ping(c, o->count, diag);
	if (!strcmp(o->verb, "stop") && o->arg)
		return gw__ctl_stop_worker(c, strtoull(o->arg, NULL, 10), diag);
	snprintf(diag->text, sizeof(diag->text), "%s: use status, plugins, workers, ping or stop ID", o->verb);
	return -1;
}

int main(int argc, char **argv)
{
	static const struct argp argp = { .options = arg_options, .parser = parse,
					  .args_doc = "status|plugins|workers|ping|stop ID",
					  .doc = "Ask a running uromd." };
	struct options o = { .timeout_ms = 2000, .count = 4 };
	struct gw_diag diag = { .text = "" };
	static struct gw__ctl c;
	int err;

	argp_parse(&argp, argc, argv, 0, NULL, &o);
	err = gw__ctl_open(&c, o.endpoint, o.key_file, o.timeout_ms, &diag);
	if (!err) {
		err = run(&c, &o, &diag);
		gw__ctl_close(&c);
	}
	if (err)
		fprintf(stderr, "uromctl: %s\n", diag.text);
	return err ? 1 : 0;
}
