/* ingest/config_engine.c: which engine opens the ports and by which addresses, or the command line that would
 * work here. It must not open anything. Next: engine.h for the table of engines. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/diag.h"
#include "ingest/config_load.h"
#include "ingest/config_value.h"
#include "ingest/engine.h"

static const struct gw__engine_row *engine_row(const char *name)
{
	for (const struct gw__engine_row *r = gw__engines; r->name; r++)
		if (!strcmp(r->name, name))
			return r;
	return NULL;
}

/* Compiled in here? */
static bool present(const char *name)
{
	const struct gw__engine_row *r = engine_row(name);

	return r && r->ops;
}

static void present_list(char *buf, size_t n)
{
	size_t at = 0;

	buf[0] = '\0';
	for (const struct gw__engine_row *r = gw__engines; r->name && at < n; r++)
		if (r->ops)
			at += (size_t)snprintf(buf + at, n - at, "%s%s", at ? ", " : "", r->name);
}

/* " --set a.b=VALUE" for what is still open, as far as the buffer goes. */
static size_t add_open(const struct gw__loader *l, const struct gw__ynode *n, char *buf,
		       size_t size, size_t at)
{
	char path[200];

	if (n->kind == GW__Y_SCALAR && n->row && gw__is_placeholder(n->text) &&
	    !gw__cfg_left_out(l, n) && !(n->key && !strcmp(n->key, "address"))) {
		gw__y_path(n, path, sizeof(path));
		if (at + strlen(path) + 16 < size)
			at += (size_t)snprintf(buf + at, size - at, " --set %s=VALUE", path);
	}
	for (const struct gw__ynode *c = n->first; c; c = c->next)
		at = add_open(l, c, buf, size, at);
	return at;
}

/* The options that make this file run on the software NIC. */
static void way_out(const struct gw__loader *l, char *buf, size_t size)
{
	const struct gw__ynode *list = gw__y_get(l->c->cfg_node, "interfaces");
	const char *link = "cable:0";
	size_t at = (size_t)snprintf(buf, size, "--engine nic");

	/* a single port that sends and receives is its own peer */
	if (list && list->n == 1 && gw__cfg_node(list->first, "rx") &&
	    gw__cfg_node(list->first, "tx"))
		link = "loopback";
	for (const struct gw__ynode *i = list ? list->first : NULL; i && at + 90 < size;
	     i = i->next)
		at += (size_t)snprintf(buf + at, size - at, " --address %.60s=%s",
				       gw__cfg_str(i, "name"), link);
	add_open(l, l->c->tree.root, buf, size, at);
}

static int not_here(struct gw__loader *l, const struct gw__ynode *at, const char *asked)
{
	char list[100], line[320];

	present_list(list, sizeof(list));
	if (l->c->cfg.stream == GW_STREAM_SOCKET)
		return gw__cfg_bad(l, at, -ENOTSUP,
				   "%s is not compiled in (there is: %s); use --engine null to "
				   "check the rest "
				   "of the file, or stream_type raw with --engine nic",
				   asked, list);
	way_out(l, line, sizeof(line));
	return gw__cfg_bad(l, at, -ENOTSUP, "%s is not compiled in (there is: %s); use %s", asked,
			   list, line);
}

/* --engine NAME: taken at its word, and every card's address must be replaced. */
static int by_option(struct gw__loader *l, const char *name)
{
	struct gw_cfg *cfg = &l->c->cfg;
	char list[100];

	if (!strcmp(name, "socket"))
		name = "sock";
	if (!strcmp(name, "rdma"))
		return gw__fail(l->diag, -EINVAL,
				"--engine: value rdma is an older spelling; use ibverbs or nic");
	if (!present(name)) {
		present_list(list, sizeof(list));
		return gw__fail(l->diag, -ENOTSUP,
				"--engine: value %.30s is not compiled in; use one of %s", name,
				list);
	}
	snprintf(cfg->engine, sizeof(cfg->engine), "%s", name);
	return 0;
}

int gw__cfg_engine(struct gw__loader *l)
{
	const struct gw__ynode *top = l->c->cfg_node, *at = gw__cfg_node(top, "engine");
	struct gw_cfg *cfg = &l->c->cfg;
	const char *name = gw__cfg_str(top, "engine");

	cfg->stream = gw__cfg_enum(top, "stream_type") ? GW_STREAM_SOCKET : GW_STREAM_RAW;
	cfg->loopback = (enum gw_cfg_loopback)gw__cfg_enum(top, "loopback");
	if (cfg->loopback != GW_LOOPBACK_NONE && cfg->stream == GW_STREAM_SOCKET)
		return gw__cfg_bad(l, gw__y_get(top, "loopback"), -EINVAL,
				   "value %s is for stream_type raw only; remove it, sockets loop "
				   "over 127.0.0.1",
				   gw__cfg_str(top, "loopback"));
	if (!at)
		at = gw__y_get(top, "stream_type");
	if (l->opts->engine)
		return by_option(l, l->opts->engine);
	if (cfg->loopback == GW_LOOPBACK_SW) {
		l->cable = true;
		return by_option(l, "nic");
	}
	if (!*name || !strcmp(name, "default"))
		name = cfg->stream == GW_STREAM_SOCKET ? "sock" : "ibverbs";
	else if (!strcmp(name, "socket"))
		name = "sock";
	if (!strcmp(name, "sock") && cfg->stream == GW_STREAM_RAW)
		return gw__cfg_bad(l, at, -EINVAL,
				   "value %s carries no raw frames; use stream_type socket, or "
				   "engine: nic",
				   at->text);
	if (!present(name))
		return not_here(l, at, name);
	snprintf(cfg->engine, sizeof(cfg->engine), "%s", name);
	return 0;
}

/* ---- addresses ------------------------------------------------------------------------------ */

static const char *override_of(const struct gw__loader *l, const char *name)
{
	size_t n = strlen(name);

	for (const char *const *a = l->opts->address; a && *a; a++)
		if (!strncmp(*a, name, n) && (*a)[n] == '=')
			return *a + n + 1;
	return NULL;
}

static bool is_link(const char *s)
{
	static const char *const kinds[] = { "cable:",  "shm:",  "udp:",      "dgram:",
					     "packet:", "pcap:", "pcap-out:", "impair:" };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strncmp(s, kinds[i], strlen(kinds[i])) && s[strlen(kinds[i])])
			return true;
	return false;
}

static int check_address(struct gw__loader *l, const struct gw__ynode *at,
			 const struct gw_cfg_port *p)
{
	const char *a = p->address;
	uint8_t mac[6];
	char line[300];

	if (!strcmp(l->c->cfg.engine, "null") || l->c->cfg.stream == GW_STREAM_SOCKET)
		return 0;
	if (!gw__parse_mac(a, mac))
		return gw__cfg_bad(l, at, -EINVAL,
				   "value %s is a MAC; use a PCI address (0000:01:00.0) or a link "
				   "(--address %s=cable:0)",
				   a, p->name);
	if (!strcmp(l->c->cfg.engine, "nic")) {
		/* "loopback": a cable whose other end is the same port, where the file asks for one */
		if (is_link(a) ||
		    (!strcmp(a, "loopback") && l->c->cfg.loopback != GW_LOOPBACK_NONE))
			return 0;
		way_out(l, line, sizeof(line));
		return gw__cfg_bad(l, at, -EINVAL,
				   "value %.40s is no link of engine nic; use %s (cable:N, "
				   "shm:NAME, "
				   "pcap:FILE)",
				   a, line);
	}
	if (!strcmp(l->c->cfg.engine, "xdp"))
		return 0;
	if (gw__is_placeholder(a))
		return gw__cfg_bad(l, at, -EINVAL,
				   "%s is a placeholder; write the card's PCI address "
				   "(0000:01:00.0)",
				   a);
	if (!gw__is_bdf(a))
		return gw__cfg_bad(l, at, -EINVAL,
				   "value %.40s is no PCI address; use the form 0000:01:00.0", a);
	return 0;
}

int gw__cfg_address(struct gw__loader *l, const struct gw__ynode *iface, struct gw_cfg_port *port)
{
	const struct gw__ynode *at = gw__y_get(iface, "address");
	const char *o = override_of(l, port->name), *a = o ? o : at->text;
	bool single = !(iface->index & 1) && !iface->next;
	char cable[32];

	/* loopback: sw: one cable for each pair of ports; a single port is its own peer */
	if (!o && l->cable && !is_link(a)) {
		snprintf(cable, sizeof(cable), "cable:%u", (unsigned)iface->index / 2);
		a = single ? "loopback" : cable;
	}
	if (!gw__cfg_copy(port->address, sizeof(port->address), a))
		return gw__cfg_bad(l, at, -EINVAL, "%zu bytes is above %zu; use a shorter address",
				   strlen(a), sizeof(port->address) - 1);
	return check_address(l, at, port);
}

/* --address PORT=... must name a port that exists. */
static int check_overrides(struct gw__loader *l)
{
	const struct gw__ynode *list = gw__y_get(l->c->cfg_node, "interfaces");

	for (const char *const *a = l->opts->address; a && *a; a++) {
		const char *eq = strchr(*a, '=');
		bool found = false;

		if (!eq || !eq[1])
			return gw__fail(l->diag, -EINVAL,
					"--address: value %.60s has no address; use PORT=cable:0",
					*a);
		for (const struct gw__ynode *i = list->first; i; i = i->next) {
			const char *name = gw__cfg_str(i, "name");

			found |= strlen(name) == (size_t)(eq - *a) &&
				 !strncmp(name, *a, strlen(name));
		}
		if (!found)
			return gw__fail(l->diag, -EINVAL,
					"--address: %.*s: %s has no interface of that name; use %s",
					(int)(eq - *a), *a, l->c->tree.file,
					gw__cfg_str(list->first, "name"));
	}
	return 0;
}

/* The engine has the last word: what it cannot do is refused now, not at start. */
int gw__cfg_engine_check(struct gw__loader *l)
{
	const struct gw__engine_row *r = engine_row(l->c->cfg.engine);
	int err = check_overrides(l);

	if (!err && r && r->ops && r->ops->check)
		err = r->ops->check(l->c, l->diag);
	return err;
}
