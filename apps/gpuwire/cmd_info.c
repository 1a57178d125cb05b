/* apps/gpuwire/cmd_info.c: `gpuwire info`: what this build is made of, and what of it works here.
 * Must not know the machine (that is doctor's). Next: include/gpuwire/version.h. */
#include <argp.h>
#include <gpuwire/gpuwire.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "build_table.h"
#include "commands.h"
#include "json.h"

static const char *const topics[] = {
	[GW_ABOUT_ENGINE] = "engine",	[GW_ABOUT_GPU] = "gpu", [GW_ABOUT_SIMD] = "simd",
	[GW_ABOUT_LIBRARY] = "library", [GW_ABOUT_NN] = "nn",
};

static const struct {
	const char *name, *built, *why;
} build[] = {
#define ROW(name, built, why) { name, built, why },
	GW_BUILD_TABLE(ROW)
#undef ROW
};

static const struct argp_option options[] = {
	{ "json", 'j', NULL, 0, "one JSON object", 0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	if (key == 'j') {
		*(bool *)state->input = true;
		return 0;
	}
	if (key == ARGP_KEY_ARG)
		argp_usage(state);
	return ARGP_ERR_UNKNOWN;
}

/* The rows of the library, then those of its networks. */
static bool row(uint32_t i, struct gw_about *a)
{
	static uint32_t n_first;

	if (!gw_about(i, a)) {
		n_first = i + 1;
		return true;
	}
	return !gw_nn_about(i - n_first, a);
}

static void as_text(void)
{
	struct gw_about a;

	printf("gpuwire %s, library %s\n", GW_VERSION, gw_version());
	printf("build     %s, sanitizer %s, compiler %s\n", GW_BUILD_TYPE,
	       *GW_BUILD_SANITIZER ? GW_BUILD_SANITIZER : "none", __VERSION__);
	for (size_t i = 0; i < sizeof(build) / sizeof(build[0]); i++)
		printf("option    %-10s %-4s %s\n", build[i].name, build[i].built, build[i].why);
	for (uint32_t i = 0; row(i, &a); i++)
		printf("%-9s %-10s %-4s %s\n", topics[a.topic], a.name, a.usable ? "yes" : "no", a.text);
}

static void member(const char *name, const char *value, const char *end)
{
	json_string(stdout, name);
	fputs(": ", stdout);
	json_string(stdout, value);
	fputs(end, stdout);
}

static void as_json(void)
{
	struct gw_about a;

	fputs("{\n  ", stdout);
	member("version", GW_VERSION, ",\n  ");
	member("library", gw_version(), ",\n  ");
	member("build_type", GW_BUILD_TYPE, ",\n  ");
	member("sanitizer", GW_BUILD_SANITIZER, ",\n  ");
	member("compiler", __VERSION__, ",\n  \"options\": [");
	for (size_t i = 0; i < sizeof(build) / sizeof(build[0]); i++) {
		printf("%s\n    { ", i ? "," : "");
		member("name", build[i].name, ", ");
		printf("\"built\": %s, ", strcmp(build[i].built, "yes") ? "false" : "true");
		member("why", build[i].why, " }");
	}
	fputs("\n  ],\n  \"parts\": [", stdout);
	for (uint32_t i = 0; row(i, &a); i++) {
		printf("%s\n    { ", i ? "," : "");
		member("topic", topics[a.topic], ", ");
		member("name", a.name, ", ");
		printf("\"usable\": %s, ", a.usable ? "true" : "false");
		member("text", a.text, " }");
	}
	fputs("\n  ]\n}\n", stdout);
}

int gw_cmd_info(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.doc = "Print the version, the build's options, engines, GPU backend, instruction set and "
		       "libraries, "
		       "each with yes or no and the reason.\vExit status: 0, or 64 wrong usage.",
	};
	bool json = false;

	if (argp_parse(&argp, argc, argv, 0, NULL, &json))
		return 64;
	if (json)
		as_json();
	else
		as_text();
	return 0;
}
