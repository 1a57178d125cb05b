/* apps/gpuwire/main.c: `gpuwire COMMAND [options]`: find the command's row and hand over.
 * Must not know any command's options. Next: commands.h, then cmd_*.c. */
#include <stdio.h>
#include <string.h>

#include "commands.h"

struct command {
	const char *name;
	const char *help;
	int (*run)(int argc, char **argv);
};

#define ROW(name, help) { #name, help, gw_cmd_##name },
static const struct command commands[] = { GW_COMMANDS(ROW) };
#define N_COMMANDS (sizeof(commands) / sizeof(*commands))

static void usage(FILE *out)
{
	fputs("Usage: gpuwire COMMAND [OPTION...]\n\n", out);
	for (size_t i = 0; i < N_COMMANDS; i++)
		fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].help);
	fputs("\n`gpuwire COMMAND --help` lists a command's options; `gpuwire --version` prints the version.\n",
	      out);
}

int main(int argc, char **argv)
{
	char title[64];

	if (argc < 2) {
		usage(stderr);
		return 64;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
		usage(stdout);
		return 0;
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		puts("gpuwire " GW_VERSION);
		return 0;
	}
	for (size_t i = 0; i < N_COMMANDS; i++) {
		if (strcmp(argv[1], commands[i].name))
			continue;
		snprintf(title, sizeof(title), "gpuwire %s", commands[i].name);
		argv[1] = title;
		return commands[i].run(argc - 1, argv + 1);
	}
	fprintf(stderr, "gpuwire: there is no command '%s'\n\n", argv[1]);
	usage(stderr);
	return 64;
}
