/* uromd: the UROM daemon. Options only; the daemon itself is src/urom/daemon.
 * Must not know frames. Next: man uromd(8). */
#include <argp.h>
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "urom_daemon/daemon.h"

const char *argp_program_version = "uromd (gpuwire) wire 1.0";

enum {
	O_SDK = 256, O_UID, O_KEY, O_WORKER, O_ENV, O_MANIFEST, O_CPUS, O_SPAWN, O_WATCHDOG, O_GRACE, O_MEM, O_WUSER,
	O_MAXW, O_PERUID, O_READY,
};

static const struct argp_option options[] = {
	{ "listen", 'e', "ENDPOINT", 0, "unix:/PATH, tcp:ADDR:PORT or ucx:ADDR:PORT; may be repeated", 0 },
	{ "plugin-path", 'p', "DIRS", 0, "directories of plugins, ';' between (default: UROM_PLUGIN_PATH)", 0 },
	{ "max-msg-size", 'm', "BYTES", 0, "limit of one message, header included (default 4096)", 0 },
	{ "log-level", 'l', "LEVEL", 0, "10 none, 20 critical, 30 error, 40 warning, 50 info, 60 debug, 70 trace", 0 },
	{ "sdk-log-level", O_SDK, "LEVEL", 0, "the same for workers", 0 },
	{ "key-file", O_KEY, "FILE", 0, "shared key (mode 0600) that tcp: and ucx: callers must prove", 0 },
	{ "allow-uid", O_UID, "UID", 0, "let this user connect as well; may be repeated", 0 },
	{ "allow-env", O_ENV, "NAMES", 0, "further variables that hosts may set, 'A,B_*' (UCX_*, UCC_*, UROM_* are)", 0 },
	{ "manifest", O_MANIFEST, "FILE", 0, "sha256sum lines: only these plugins are loaded", 0 },
	{ "worker", O_WORKER, "FILE", 0, "the worker program (default: urom-worker beside this one)", 0 },
	{ "worker-user", O_WUSER, "NAME", 0, "workers change to this user", 0 },
	{ "worker-memory", O_MEM, "MIB", 0, "limit of a worker's data (default 8192, 0 none)", 0 },
	{ "cpus", O_CPUS, "LIST", 0, "CPUs for workers, '0-3,8' (default: ours)", 0 },
	{ "max-workers", O_MAXW, "N", 0, "of all users (default 256)", 0 },
	{ "workers-per-user", O_PERUID, "N", 0, "of one user (default 64)", 0 },
	{ "spawn-timeout", O_SPAWN, "MS", 0, "a worker must be ready in (default 2000)", 0 },
	{ "watchdog", O_WATCHDOG, "MS", 0, "a plugin call that takes longer ends its worker (default 10000, 0 off)", 0 },
	{ "grace", O_GRACE, "MS", 0, "a worker without clients stays this long (default 0)", 0 },
	{ "ready-fd", O_READY, "FD", 0, "write a line here once listening", 0 },
	{ 0 },
};

static int parse_cpus(const char *s, cpu_set_t *set)
{
	CPU_ZERO(set);
	while (*s) {
		char *end;
		unsigned long a = strtoul(s, &end, 10), b = a;

		if (end == s)
			return -EINVAL;
		if (*end == '-')
			b = strtoul(end + 1, &end, 10);
		if (b < a || b >= CPU_SETSIZE || (*end && *end != ','))
			return -EINVAL;
		for (; a <= b; a++)
			CPU_SET(a, set);
		s = end + (*end == ',');
	}
	return CPU_COUNT(set) ? 0 : -EINVAL;
}

static int level_of(const char *s, struct argp_state *st)
{
	static const int map[] = { GW_LOG_OFF, GW_LOG_CRITICAL, GW_LOG_ERROR, GW_LOG_WARN,
				   GW_LOG_INFO, GW_LOG_DEBUG, GW_LOG_TRACE };
	int v = atoi(s);

	if (v < 10 || v > 70 || v % 10)
		argp_error(st, "log level %s: one of 10, 20 ... 70", s);
	return map[v / 10 - 1];
}

static uint32_t number(const char *s, uint32_t lo, uint32_t hi, struct argp_state *st)
{
	char *end;
	unsigned long v = strtoul(s, &end, 10);

	if (end == s || *end || v < lo || v > hi)
		argp_error(st, "%s: want a number in %u..%u", s, lo, hi);
	return (uint32_t)v;
}

static enum gw_log_level level = GW_LOG_WARN;

static error_t parse_more(int key, char *arg, struct argp_state *st)
{
	struct gw__uromd_opts *o = st->input;
	struct passwd *pw;

	switch (key) {
	case O_WUSER:
		pw = getpwnam(arg);
		if (!pw)
			argp_error(st, "no user %s", arg);
		o->worker_uid = pw->pw_uid;
		return 0;
	case O_MEM:
		o->worker_mem = (uint64_t)number(arg, 0, 1u << 24, st) << 20;
		return 0;
	case O_CPUS:
		if (parse_cpus(arg, &o->cpus))
			argp_error(st, "%s: want a list like 0-3,8", arg);
		o->cpus_set = true;
		return 0;
	case O_MAXW:
		o->max_workers = number(arg, 1, GW__UROM_MAX_WORKERS, st);
		return 0;
	case O_PERUID:
		o->workers_per_uid = number(arg, 1, GW__UROM_MAX_WORKERS, st);
		return 0;
	case O_SPAWN:
		o->spawn_ms = number(arg, 1, 600000, st);
		return 0;
	case O_WATCHDOG:
		o->watchdog_ms = number(arg, 0, 3600000, st);
		return 0;
	case O_GRACE:
		o->grace_ms = number(arg, 0, 86400000, st);
		return 0;
	case O_READY:
		o->ready_fd = (int)number(arg, 0, 1023, st);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse(int key, char *arg, struct argp_state *st)
{
	struct gw__uromd_opts *o = st->input;

	switch (key) {
	case 'e':
		if (o->n_listen == GW__D_LISTEN)
			argp_error(st, "at most %d endpoints", GW__D_LISTEN);
		o->listen[o->n_listen++] = arg;
		return 0;
	case 'p':
		o->plugin_path = arg;
		return 0;
	case 'm':
		o->max_msg = number(arg, 64, GW__UROM_MSG_MAX, st);
		return 0;
	case 'l':
		level = (enum gw_log_level)level_of(arg, st);
		return 0;
	case O_SDK:
		o->log_level = level_of(arg, st);
		return 0;
	case O_KEY:
		o->key_file = arg;
		return 0;
	case O_UID:
		if (o->n_uids == 32)
			argp_error(st, "at most 32 users");
		o->uids[o->n_uids++] = (uid_t)number(arg, 0, UINT32_MAX - 1, st);
		return 0;
	case O_ENV:
		o->env_allow = arg;
		return 0;
	case O_MANIFEST:
		o->manifest = arg;
		return 0;
	case O_WORKER:
		o->worker_path = arg;
		return 0;
	case ARGP_KEY_ARG:
		argp_error(st, "unexpected word %s", arg);
		return EINVAL;
	default:
		return parse_more(key, arg, st);
	}
}

static void sink(void *ctx, enum gw_log_level lv, const char *line)
{
	static const char *const names[] = { "TRC", "DBG", "INF", "WRN", "ERR", "CRT" };
	char stamp[16];
	time_t t = time(NULL);
	struct tm tm;

	(void)ctx;
	localtime_r(&t, &tm);
	strftime(stamp, sizeof(stamp), "%H:%M:%S", &tm);
	fprintf(stderr, "[%s][uromd][%s] %s\n", stamp, names[lv], line);
}

int main(int argc, char **argv)
{
	static const struct argp argp = { .options = options, .parser = parse,
					  .doc = "Run pieces of programs in worker processes, for hosts that ask." };
	struct gw__uromd_opts opts;
	struct gw_diag diag = { .text = "" };

	gw__uromd_defaults(&opts);
	argp_parse(&argp, argc, argv, 0, NULL, &opts);
	gw_log_set(sink, NULL, level);
	if (gw__uromd_run(&opts, &diag)) {
		fprintf(stderr, "uromd: %s\n", diag.text);
		return 1;
	}
	return 0;
}
