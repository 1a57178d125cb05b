/* urom_rdmo: remote direct memory operations by a worker: --mode server owns the memory, --mode client
 * appends to it and scatters into it. Options only. Next: server.c, client.c. */
#include <argp.h>
#include <stdio.h>
#include <string.h>

#include <doca_log.h>

#include "app.h"

struct command_line {
	struct app_options o;
	const char *mode;
};

static const struct argp_option arg_options[] = {
	{ "mode", 'm', "MODE", 0, "server or client (mandatory)", 0 },
	{ "device", 'd', "NAME", 0, "server: device whose daemon is used (default mlx5_0)", 0 },
	{ "server-name", 's', "HOST", 0, "client: where the server is (default 127.0.0.1)", 0 },
	{ "port", 'p', "PORT", 0, "of the exchange between both (default 18515)", 0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct command_line *c = state->input;

	switch (key) {
	case 'm':
		c->mode = arg;
		return 0;
	case 'd':
		c->o.device = arg;
		return 0;
	case 's':
		c->o.server = arg;
		return 0;
	case 'p':
		c->o.port = arg;
		return 0;
	case ARGP_KEY_END:
		if (!c->mode || (strcmp(c->mode, "server") && strcmp(c->mode, "client")))
			argp_error(state, "--mode server or --mode client is mandatory");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int main(int argc, char **argv)
{
	static const struct argp argp = { .options = arg_options, .parser = parse,
					  .doc = "Append to and scatter into the memory of another process." };
	struct command_line c = { .o = { .device = "mlx5_0", .server = "127.0.0.1", .port = "18515" } };

	argp_parse(&argp, argc, argv, 0, NULL, &c);
	doca_log_backend_create_standard();
	return strcmp(c.mode, "server") ? app_client(&c.o) : app_server(&c.o);
}
