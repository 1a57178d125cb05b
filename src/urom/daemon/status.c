/* urom_daemon/status.c: one page of text about everything here, a "word value ..." line each.
 * Must not change anything. Next: src/urom/ctl. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "urom_daemon/daemon.h"

struct page {
	char *out;
	size_t cap, len;
};

static void line(struct page *p, const char *fmt, ...) GW_PRINTF(2, 3);

static void line(struct page *p, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(p->out + p->len, p->cap - p->len, fmt, ap);
	va_end(ap);
	if (n > 0 && (size_t)n < p->cap - p->len)
		p->len += (size_t)n;
	else
		p->out[p->len] = '\0'; /* a line that does not fit is left out whole */
}

static unsigned long long num(_Atomic uint64_t *v)
{
	return (unsigned long long)atomic_load_explicit(v, memory_order_relaxed);
}

static void put_worker(struct page *p, struct gw__d_worker *w)
{
	static const char *const states[] = { "free", "spawning", "running", "dying" };

	line(p,
	     "worker %llu pid %d gid %u uid %d state %s plugins %#llx clients %llu inflight %llu cmds %llu notifs %llu "
	     "errors %llu drops %llu\n",
	     (unsigned long long)w->id, (int)w->pid, w->gid, (int)w->uid, states[w->state],
	     (unsigned long long)w->mask, num(&w->stats->n_clients), num(&w->stats->n_inflight),
	     num(&w->stats->n_cmds), num(&w->stats->n_notifs), num(&w->stats->n_errors), num(&w->stats->n_drops));
}

size_t gw__d_status(struct gw__daemon *d, char *out, size_t cap)
{
	static const char *const states[] = { "free", "probing", "good", "refused" };
	struct page p = { .out = out, .cap = cap };
	uint32_t n_conns = 0, n_workers = 0, n_plugins = 0;

	for (uint32_t i = 0; i < GW__D_CONNS; i++)
		n_conns += d->conns[i].state == GW__D_RUN;
	for (uint32_t i = 0; i < GW__UROM_MAX_WORKERS; i++)
		n_workers += d->workers[i].state != GW__D_W_FREE;
	for (uint32_t i = 0; i < GW__UROM_MAX_PLUGINS; i++)
		n_plugins += d->plugins[i].state == GW__D_P_GOOD;
	line(&p, "daemon wire %u.%u up_s %llu max_msg %u\n", GW__UROM_MAJOR, GW__UROM_MINOR,
	     (unsigned long long)((gw__d_now() - d->started_ns) / 1000000000u), d->o->max_msg);
	for (int i = 0; i < d->n_listeners; i++)
		line(&p, "listen %s%s\n", d->listeners[i].ep.text, d->listeners[i].keyed ? " keyed" : "");
	line(&p, "clients %u workers %u plugins %u\n", n_conns, n_workers, n_plugins);
	line(&p, "accepted %llu turned_away %llu spawned %llu died %llu\n", (unsigned long long)d->n_accepted,
	     (unsigned long long)d->n_turned_away, (unsigned long long)d->n_spawned, (unsigned long long)d->n_died);
	for (uint32_t i = 0; i < GW__UROM_MAX_PLUGINS; i++)
		if (d->plugins[i].state != GW__D_P_FREE)
			line(&p, "plugin %s id %#llx version %llu state %s\n", d->plugins[i].name, 1ull << i,
			     (unsigned long long)d->plugins[i].version, states[d->plugins[i].state]);
	for (uint32_t i = 0; i < GW__UROM_MAX_WORKERS; i++)
		if (d->workers[i].state != GW__D_W_FREE && d->workers[i].stats)
			put_worker(&p, &d->workers[i]);
	return p.len;
}
