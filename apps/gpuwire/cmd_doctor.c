/* apps/gpuwire/cmd_doctor.c: `gpuwire doctor`: collect findings and print them, one line each.
 * Must not know any check. Next: doctor.h, then doctor_gpuwire.c. */
#include <argp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "commands.h"
#include "doctor.h"
#include "json.h"

static const char *const words[] = { "ok", "note", "warn", "bad" };

struct args {
	const char *root;
	bool json, quiet;
};

static const struct argp_option options[] = {
	{ "root", 'r', "DIR", 0, "read /sys, /proc, /usr and /opt below DIR (default /)", 0 },
	{ "json", 'j', NULL, 0, "one JSON object", 0 },
	{ "quiet", 'q', NULL, 0, "warn and bad only", 0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;
	struct stat st;

	switch (key) {
	case 'r':
		if (stat(arg, &st) || !S_ISDIR(st.st_mode))
			argp_error(state, "--root %s: this is no folder", arg);
		a->root = arg;
		return 0;
	case 'j':
		a->json = true;
		return 0;
	case 'q':
		a->quiet = true;
		return 0;
	case ARGP_KEY_ARG:
		argp_usage(state);
		return EINVAL;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

void doctor_find(struct doctor *d, enum finding_status status, const char *topic, const char *format, ...)
{
	struct finding *f;
	va_list ap;

	if (d->n == d->room) {
		size_t room = d->room ? 2 * d->room : 64;
		struct finding *more = realloc(d->finding, room * sizeof(*more));

		if (!more) {
			fputs("gpuwire doctor: no memory\n", stderr);
			exit(1);
		}
		d->finding = more;
		d->room = room;
	}
	f = &d->finding[d->n++];
	*f = (struct finding){ .status = status, .topic = topic };
	va_start(ap, format);
	vsnprintf(f->text, sizeof(f->text), format, ap);
	va_end(ap);
}

void doctor_fix(struct doctor *d, const char *format, ...)
{
	struct finding *f = &d->finding[d->n - 1];
	va_list ap;

	va_start(ap, format);
	vsnprintf(f->fix, sizeof(f->fix), format, ap);
	va_end(ap);
}

static void as_text(const struct doctor *d, bool quiet, const size_t *count)
{
	for (size_t i = 0; i < d->n; i++) {
		const struct finding *f = &d->finding[i];

		if (quiet && f->status < FIND_WARN)
			continue;
		printf("%-4s  %-13s %s", words[f->status], f->topic, f->text);
		if (*f->fix)
			printf("  ->  %s", f->fix);
		putchar('\n');
	}
	if (!quiet)
		printf("%zu ok, %zu notes, %zu warnings, %zu bad\n", count[0], count[1], count[2], count[3]);
}

static void as_json(const struct doctor *d, bool quiet, const size_t *count)
{
	const char *comma = "";

	fputs("{\n  \"findings\": [", stdout);
	for (size_t i = 0; i < d->n; i++) {
		const struct finding *f = &d->finding[i];

		if (quiet && f->status < FIND_WARN)
			continue;
		printf("%s\n    { \"status\": \"%s\", \"topic\": \"%s\", \"text\": ", comma, words[f->status],
		       f->topic);
		json_string(stdout, f->text);
		fputs(", \"fix\": ", stdout);
		json_string(stdout, f->fix);
		fputs(" }", stdout);
		comma = ",";
	}
	printf("\n  ],\n  \"ok\": %zu, \"note\": %zu, \"warn\": %zu, \"bad\": %zu\n}\n", count[0], count[1],
	       count[2], count[3]);
}

int gw_cmd_doctor(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.doc = "Look this machine over without root and without changing anything: one line a "
		       "finding, with "
		       "the command that fixes it.\vExit status: 0 nothing is bad (there may be warnings), 1 "
		       "something is, 64 wrong usage.",
	};
	struct args a = { .root = "" };
	struct doctor d = { .root = "" };
	char root[4096];
	size_t count[4] = { 0 };

	if (argp_parse(&argp, argc, argv, 0, NULL, &a))
		return 64;
	snprintf(root, sizeof(root), "%s", a.root);
	for (size_t n = strlen(root); n && root[n - 1] == '/'; n--)
		root[n - 1] = '\0';
	d.root = root;
	doctor_gpuwire(&d);
	doctor_cpu(&d);
	doctor_memory(&d);
	doctor_net(&d);
	doctor_pci(&d);
	doctor_driver(&d);
	for (size_t i = 0; i < d.n; i++)
		count[d.finding[i].status]++;
	if (a.json)
		as_json(&d, a.quiet, count);
	else
		as_text(&d, a.quiet, count);
	free(d.finding);
	return count[FIND_BAD] ? 1 : 0;
}
