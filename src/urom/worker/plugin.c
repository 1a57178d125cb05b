/* urom_worker/plugin.c: load plugins, hand them commands one at a time, carry their notifications home.
 * Must not know channels' insides. Next: worker.c.
 *
 * One command a call: when worker_cmd() refuses, it is clear which one is refused, and its client hears it.
 * Time spent inside a plugin is shown in the stats page: the daemon kills a worker that never returns. */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/clock.h"
#include "base/diag.h"
#include "base/log.h"
#include "urom_net/tlv.h"
#include "urom_worker/worker.h"

#define MAX_ADDR 16384u

struct gw__w_plugin *gw__w_plugin_of(struct urom_worker_ctx *ctx)
{
	return (struct gw__w_plugin *)(void *)((char *)ctx - offsetof(struct gw__w_plugin, ctx));
}

static void enter(struct gw__worker *w)
{
	/* the loop's clock, not a new reading: the watchdog counts seconds */
	atomic_store_explicit(&w->stats->in_plugin_since_ns, w->now_ns, memory_order_relaxed);
}

static void leave(struct gw__worker *w)
{
	atomic_store_explicit(&w->stats->in_plugin_since_ns, 0, memory_order_relaxed);
}

/* ---- loading ------------------------------------------------------------------------------------- */

/* By descriptor: what was checked is what is loaded. */
static void *load_fd(int fd, struct gw_diag *diag)
{
	char path[64];
	void *lib;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!lib)
		gw__fail(diag, 0, "%s", dlerror());
	return lib;
}

static int get_entries(void *lib, uint64_t *version, struct urom_plugin_iface *iface, struct gw_diag *diag)
{
	doca_error_t (*get_version)(uint64_t *);
	doca_error_t (*get_iface)(struct urom_plugin_iface *);

	*(void **)&get_version = dlsym(lib, "urom_plugin_get_version");
	*(void **)&get_iface = dlsym(lib, "urom_plugin_get_iface");
	if (!get_version || !get_iface)
		return gw__fail(diag, -ENOENT, "it does not export urom_plugin_get_version and _get_iface");
	memset(iface, 0, sizeof(*iface));
	if (get_version(version) != DOCA_SUCCESS || get_iface(iface) != DOCA_SUCCESS)
		return gw__fail(diag, -EIO, "its entry points failed");
	if (iface->api_version != DOCA_UROM_PLUGIN_API_VERSION)
		return gw__fail(diag, -EPROTONOSUPPORT, "built for plugin API %#zx, this worker has %#zx",
				iface->api_version, DOCA_UROM_PLUGIN_API_VERSION);
	if (!iface->open || !iface->close || !iface->addr || !iface->worker_cmd || !iface->progress ||
	    !iface->notif_pack)
		return gw__fail(diag, -EINVAL, "one of its six functions is missing");
	return 0;
}

int gw__worker_probe(void)
{
	struct urom_plugin_iface iface;
	struct gw_diag diag = { .text = "" };
	uint64_t version = 0;
	void *lib = load_fd(GW__WORKER_FD_PLUGIN, &diag);

	if (!lib || get_entries(lib, &version, &iface, &diag)) {
		dprintf(1, "no %s\n", diag.text);
		return 1;
	}
	dprintf(1, "ok %llu\n", (unsigned long long)version);
	return 0;
}

static doca_error_t add_fd(struct urom_worker_ctx *ctx, int fd);
static void del_fd(struct urom_worker_ctx *ctx, int fd);

static const struct urom_worker_wait_iface wait_iface = { .add_fd = add_fd, .del_fd = del_fd };

int gw__w_plugin_load(struct gw__worker *w, uint32_t index, int fd, const char *name, struct gw_diag *diag)
{
	struct gw__w_plugin *p = &w->plugins[index];
	struct gw_diag why = { .text = "" };
	doca_error_t r;
	int err;

	p->lib = load_fd(fd, &why);
	err = p->lib ? get_entries(p->lib, &p->ctx.plugin_version, &p->iface, &why) : -ENOEXEC;
	if (err)
		return gw__fail(diag, err, "plugin %s: %s", name, why.text);
	p->worker = w;
	p->index = index;
	p->ctx.iface = &p->iface;
	p->ctx.domain_iface = &gw__w_domain_iface;
	p->ctx.mem_iface = &gw__w_mem_iface;
	p->ctx.wait_iface = &wait_iface;
	p->ctx.worker_id = w->id;
	p->ctx.plugin_id = (uint64_t)1 << index;
	w->now_ns = gw__now_ns(gw__clock_monotonic());
	enter(w);
	r = p->iface.open(&p->ctx);
	leave(w);
	if (r != DOCA_SUCCESS) {
		p->iface.close(&p->ctx);
		return gw__fail(diag, -EIO, "plugin %s: open() failed: status %d", name, (int)r);
	}
	p->used = true;
	w->used[w->n_used++] = index;
	return 0;
}

void gw__w_plugins_close(struct gw__worker *w)
{
	for (uint32_t i = 0; i < w->n_used; i++) {
		struct gw__w_plugin *p = &w->plugins[w->used[i]];

		enter(w);
		p->iface.close(&p->ctx);
		leave(w);
	}
	w->n_used = 0;
}

/* ---- commands and notifications ---------------------------------------------------------------- */

/* An answer from the framework itself. */
static void refuse(struct gw__worker *w, struct gw__w_client *c, uint64_t context, uint32_t plugin, doca_error_t r)
{
	struct gw__frame f = { .type = GW__F_NOTIF, .context = context, .plugin = plugin, .status = (int32_t)r };

	gw__stat_add(&w->stats->n_errors);
	gw__w_send(w, c, &f);
}

void gw__w_command(struct gw__worker *w, struct gw__w_client *c, const struct gw__frame *f)
{
	struct gw__w_plugin *p = f->plugin < GW__UROM_MAX_PLUGINS ? &w->plugins[f->plugin] : NULL;
	struct urom_worker_cmd_desc *d;
	ucs_list_link_t list;
	doca_error_t r;

	gw__stat_add(&w->stats->n_cmds);
	if (!p || !p->used) {
		refuse(w, c, f->context, f->plugin, DOCA_ERROR_NOT_FOUND);
		return;
	}
	/* plain malloc: the plugin frees it */
	d = malloc(sizeof(*d) + f->len);
	if (!d) {
		refuse(w, c, f->context, f->plugin, DOCA_ERROR_NO_MEMORY);
		return;
	}
	d->dest_id = c->dest;
	d->worker_cmd.type = p->ctx.plugin_id;
	d->worker_cmd.urom_context = f->context;
	d->worker_cmd.len = f->len;
	if (f->len)
		memcpy(d->worker_cmd.plugin_cmd, f->payload, f->len);
	ucs_list_head_init(&list);
	ucs_list_add_tail(&list, &d->entry);
	p->n_open++;
	c->n_inflight++;
	enter(w);
	r = p->iface.worker_cmd(&p->ctx, &list);
	leave(w);
	if (!ucs_list_is_empty(&list)) {
		ucs_list_del(&d->entry);
		free(d);
		if (r == DOCA_SUCCESS) /* neither taken nor refused */
			r = DOCA_ERROR_UNEXPECTED;
	}
	if (r != DOCA_SUCCESS) {
		p->n_open--;
		c->n_inflight--;
		refuse(w, c, f->context, f->plugin, r);
	}
}

static void send_notif(struct gw__worker *w, struct gw__w_plugin *p, struct urom_worker_notif_desc *d)
{
	struct gw__w_client *c = gw__w_client(w, d->dest_id);
	struct urom_worker_notify *n = &d->worker_notif;
	size_t len = w->max_msg - GW__UROM_HDR;
	struct gw__frame f = { .type = GW__F_NOTIF, .context = n->urom_context, .plugin = p->index,
			       .status = n->status, .payload = w->scratch };
	doca_error_t r;

	if (p->n_open)
		p->n_open--;
	if (!c) { /* its client left: nobody waits */
		gw__stat_add(&w->stats->n_drops);
		return;
	}
	if (c->n_inflight)
		c->n_inflight--;
	if (len > c->chan.max_msg - GW__UROM_HDR)
		len = c->chan.max_msg - GW__UROM_HDR;
	r = p->iface.notif_pack(n, &len, w->scratch);
	if (r != DOCA_SUCCESS || len > c->chan.max_msg - GW__UROM_HDR) {
		refuse(w, c, n->urom_context, p->index, r == DOCA_SUCCESS ? DOCA_ERROR_TOO_BIG : r);
		return;
	}
	f.len = (uint32_t)len;
	gw__w_send(w, c, &f);
}

bool gw__w_plugins_progress(struct gw__worker *w)
{
	bool any = false;

	for (uint32_t i = 0; i < w->n_used; i++) {
		struct gw__w_plugin *p = &w->plugins[w->used[i]];
		ucs_list_link_t list;

		ucs_list_head_init(&list);
		enter(w);
		if (p->iface.progress(&p->ctx, &list) == DOCA_SUCCESS)
			any = true;
		while (!ucs_list_is_empty(&list)) {
			struct urom_worker_notif_desc *d =
				(void *)((char *)list.next - offsetof(struct urom_worker_notif_desc, entry));

			ucs_list_del(&d->entry);
			send_notif(w, p, d);
			free(d);
		}
		leave(w);
	}
	return any;
}

void gw__w_plugins_client_gone(struct gw__worker *w, uint64_t dest)
{
	for (uint32_t i = 0; i < w->n_used; i++) {
		struct gw__w_plugin *p = &w->plugins[w->used[i]];

		if (p->iface.client_gone) {
			enter(w);
			p->iface.client_gone(&p->ctx, dest);
			leave(w);
		}
	}
}

bool gw__w_plugins_arm(struct gw__worker *w)
{
	bool any = false;

	for (uint32_t i = 0; i < w->n_used; i++) {
		struct gw__w_plugin *p = &w->plugins[w->used[i]];

		if (p->iface.arm && p->iface.arm(&p->ctx) != DOCA_SUCCESS)
			any = true;
	}
	return any;
}

bool gw__w_plugins_poll(const struct gw__worker *w)
{
	for (uint32_t i = 0; i < w->n_used; i++)
		if (w->plugins[w->used[i]].n_open && !w->plugins[w->used[i]].n_fds)
			return true;
	return false;
}

/* ---- addresses ----------------------------------------------------------------------------------- */

static int put_addr(struct gw__w_plugin *p, struct gw__tlv_w *out)
{
	uint8_t nested[MAX_ADDR + 64], addr[MAX_ADDR];
	struct gw__tlv_w n = gw__tlv_writer(nested, sizeof(nested));
	size_t len = 0;
	doca_error_t r = p->iface.addr(&p->ctx, addr, &len);

	if (r == DOCA_ERROR_INVALID_VALUE && len <= sizeof(addr))
		r = p->iface.addr(&p->ctx, addr, &len);
	if (r != DOCA_SUCCESS || len > sizeof(addr))
		return -EMSGSIZE;
	gw__tlv_put_u32(&n, GW__T_INDEX, p->index);
	gw__tlv_put(&n, GW__T_ADDR, addr, len);
	gw__tlv_put(out, GW__T_PLUGIN, nested, n.len);
	return out->full ? -EMSGSIZE : 0;
}

void gw__w_addr(struct gw__worker *w, struct gw__w_client *c)
{
	static uint8_t buf[GW__UROM_MAX_BLOB];
	struct gw__tlv_w t = gw__tlv_writer(buf, sizeof(buf));
	struct gw__frame f = { .type = GW__F_ADDR, .payload = buf };
	int err = 0;

	enter(w);
	for (uint32_t i = 0; i < w->n_used && !err; i++)
		err = put_addr(&w->plugins[w->used[i]], &t);
	leave(w);
	f.len = err ? 0 : (uint32_t)t.len;
	f.status = err ? (int32_t)DOCA_ERROR_TOO_BIG : 0;
	gw__w_send(w, c, &f);
}

/* ---- sleeping ------------------------------------------------------------------------------------- */


static doca_error_t add_fd(struct urom_worker_ctx *ctx, int fd)
{
	struct gw__w_plugin *p = gw__w_plugin_of(ctx);
	struct epoll_event ev = { .events = EPOLLIN, .data.u64 = UINT64_MAX };

	if (epoll_ctl(p->worker->epfd, EPOLL_CTL_ADD, fd, &ev))
		return errno == EEXIST ? DOCA_ERROR_ALREADY_EXIST : DOCA_ERROR_OPERATING_SYSTEM;
	p->n_fds++;
	return DOCA_SUCCESS;
}

static void del_fd(struct urom_worker_ctx *ctx, int fd)
{
	struct gw__w_plugin *p = gw__w_plugin_of(ctx);

	if (!epoll_ctl(p->worker->epfd, EPOLL_CTL_DEL, fd, NULL))
		p->n_fds--;
}
