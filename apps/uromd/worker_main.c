/* urom-worker: one worker process, started by uromd with its descriptors in place. Not for hands.
 * Must not know the daemon. Next: src/urom/worker/worker.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "urom_worker/worker.h"

static void sink(void *ctx, enum gw_log_level level, const char *line)
{
	(void)ctx;
	(void)level;
	fprintf(stderr, "[urom-worker %d] %s\n", (int)getpid(), line);
}

int main(int argc, char **argv)
{
	struct gw__worker_opts o = { .max_msg = GW__UROM_MSG_DEFAULT };
	int i, level = GW_LOG_WARN;

	if (argc == 2 && !strcmp(argv[1], "--probe"))
		return gw__worker_probe();
	for (i = 1; i < argc && argv[i][0] == '-'; i++) {
		if (!strncmp(argv[i], "--id=", 5))
			o.id = strtoull(argv[i] + 5, NULL, 10);
		else if (!strncmp(argv[i], "--max-msg=", 10))
			o.max_msg = (uint32_t)strtoul(argv[i] + 10, NULL, 10);
		else if (!strncmp(argv[i], "--features=", 11))
			o.features = strtoull(argv[i] + 11, NULL, 10);
		else if (!strncmp(argv[i], "--log=", 6))
			level = atoi(argv[i] + 6);
	}
	if (argc < 2 || o.max_msg < 64) {
		fprintf(stderr, "urom-worker is started by uromd\n");
		return 2;
	}
	gw_log_set(sink, NULL, (enum gw_log_level)level);
	o.plugins = (const char *const *)(argv + i);
	o.n_plugins = argc - i;
	return gw__worker_run(&o);
}
