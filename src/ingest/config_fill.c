/* ingest/config_fill.c: regions, ports and queues from checked values, and the rules between them.
 * It must not know flows or plans in detail. Next: config_flow.c, config_reorder.c. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/diag.h"
#include "ingest/config_load.h"
#include "ingest/config_value.h"

bool gw__cfg_copy(char *dst, size_t size, const char *src)
{
	size_t n = strlen(src);

	if (n >= size)
		return false;
	memcpy(dst, src, n + 1);
	return true;
}

static int take_name(struct gw__loader *l, const struct gw__ynode *map, char dst[GW_CFG_NAME])
{
	const struct gw__ynode *n = gw__y_get(map, "name");
	const char *s = gw__cfg_str(map, "name");

	if (!*s || gw__cfg_copy(dst, GW_CFG_NAME, s))
		return *s ? 0
			  : gw__cfg_bad(l, n, -EINVAL,
					"value \"\" names nothing; use 1 to %u bytes",
					GW_CFG_NAME - 1);
	return gw__cfg_bad(l, n, -EINVAL, "%zu bytes is above %u; use a shorter name", strlen(s),
			   GW_CFG_NAME - 1);
}

static int no_memory(struct gw__loader *l)
{
	return gw__fail(l->diag, -ENOMEM, "%s: no memory", l->c->tree.file);
}

/* ---- memory regions ------------------------------------------------------------------------- */

int gw__cfg_region(const struct gw_cfg *cfg, const char *name)
{
	for (uint32_t i = 0; i < cfg->n_regions; i++)
		if (!strcmp(cfg->region[i].name, name))
			return (int)i;
	return -1;
}

static int fill_region(struct gw__loader *l, const struct gw__ynode *n, struct gw_cfg_region *r)
{
	static const enum gw_mem_kind kinds[] = { GW_MEM_HUGE, GW_MEM_DEVICE, GW_MEM_HOST_PINNED,
						  GW_MEM_HOST };
	const struct gw__ynode *access = gw__cfg_node(n, "access");
	char name[GW_CFG_NAME] = "";
	int err = take_name(l, n, name), old = err ? -1 : gw__cfg_region(&l->c->cfg, name);

	if (err)
		return err;
	if (old >= 0)
		return gw__cfg_bad(l, gw__y_get(n, "name"), -EINVAL,
				   "value %s is a duplicate of line %d; use another name", name,
				   l->c->cfg.region[old].line);
	memcpy(r->name, name, sizeof(name));
	r->kind = kinds[gw__cfg_enum(n, "kind")];
	r->affinity = (int)gw__cfg_i64(n, "affinity");
	r->num_bufs = gw__cfg_u64(n, "num_bufs");
	r->buf_size = gw__cfg_u64(n, "buf_size");
	r->owned = gw__cfg_bool(n, "owned");
	r->line = n->line;
	r->access = access ? 0 : 1;
	for (const struct gw__ynode *a = access ? access->first : NULL; a; a = a->next)
		r->access |= !strcmp(a->text, "local")       ? 1u
			     : !strcmp(a->text, "rdma_read") ? 2u
							     : 4u;
	if (r->buf_size && r->num_bufs > ((uint64_t)1 << 46) / r->buf_size)
		return gw__cfg_bad(l, gw__y_get(n, "num_bufs"), -EINVAL,
				   "value %" PRIu64 " x buf_size %" PRIu64 " is above 64 TiB; use "
				   "at most %" PRIu64,
				   r->num_bufs, r->buf_size, ((uint64_t)1 << 46) / r->buf_size);
	return 0;
}

static int fill_regions(struct gw__loader *l)
{
	const struct gw__ynode *list = gw__y_get(l->c->cfg_node, "memory_regions");
	struct gw_cfg *cfg = &l->c->cfg;
	int r = 0;

	if (list->n > GW_CFG_MAX_REGIONS)
		return gw__cfg_bad(l, list, -EINVAL, "%u regions is above %u; use at most %u",
				   list->n, GW_CFG_MAX_REGIONS, GW_CFG_MAX_REGIONS);
	cfg->region = gw__calloc(list->n, sizeof(*cfg->region));
	if (!cfg->region)
		return no_memory(l);
	for (const struct gw__ynode *n = list->first; n && !r; n = n->next) {
		r = fill_region(l, n, &cfg->region[cfg->n_regions]);
		cfg->n_regions += !r;
	}
	return r;
}

/* ---- queues --------------------------------------------------------------------------------- */

static const char *nearest_region(const struct gw_cfg *cfg, const char *name)
{
	const char *best = NULL;
	int limit = 6;

	for (uint32_t i = 0; i < cfg->n_regions; i++) {
		int d = gw__edit_distance(cfg->region[i].name, name, limit);

		if (d < limit) {
			limit = d;
			best = cfg->region[i].name;
		}
	}
	return best ? best : cfg->n_regions ? cfg->region[0].name : "(there is none)";
}

static int fill_queue_regions(struct gw__loader *l, const struct gw__ynode *n,
			      struct gw_cfg_queue *q)
{
	const struct gw__ynode *list = gw__cfg_node(n, "memory_regions");
	struct gw_cfg *cfg = &l->c->cfg;

	if (!list || !list->n) {
		if (cfg->stream == GW_STREAM_SOCKET)
			return 0; /* RoCE: programs bring their buffers */
		return list ? gw__cfg_bad(l, list, -EINVAL, "is empty; name 1 to %u regions",
					  GW_MAX_SEGS)
			    : gw__cfg_missing(l, n, "memory_regions",
					      "required for stream_type raw");
	}
	if (list->n > GW_MAX_SEGS)
		return gw__cfg_bad(l, list, -EINVAL,
				   "%u regions is above %u segments; use at most %u", list->n,
				   GW_MAX_SEGS, GW_MAX_SEGS);
	for (const struct gw__ynode *s = list->first; s; s = s->next) {
		int k = gw__cfg_region(cfg, s->text);

		if (k < 0)
			return gw__cfg_bad(l, s, -EINVAL,
					   "region %.40s is not defined in memory_regions; use %s",
					   s->text, nearest_region(cfg, s->text));
		if (cfg->stream == GW_STREAM_SOCKET && cfg->region[k].kind == GW_MEM_DEVICE &&
		    l->scheme != 3)
			return gw__cfg_bad(l, s, -EINVAL,
					   "region %s is of kind device, which TCP and UDP sockets "
					   "cannot "
					   "fill; use host or host_pinned",
					   s->text);
		q->region[q->n_regions++] = (uint32_t)k;
	}
	return 0;
}

/* poll_mode: direct leaves the rhythm to the caller. */
static int check_direct(struct gw__loader *l, const struct gw__ynode *n)
{
	static const char *const keys[] = { "cpu_core", "batch_size", "timeout_us" };

	for (size_t i = 0; i < 3; i++) {
		const struct gw__ynode *k = gw__cfg_node(n, keys[i]);

		if (k)
			return gw__cfg_bad(l, k, -EINVAL,
					   "value %.30s has no meaning with poll_mode direct; "
					   "remove it",
					   k->text);
	}
	return 0;
}

static int fill_queue(struct gw__loader *l, const struct gw__ynode *n, struct gw_cfg_queue *q,
		      bool tx)
{
	const struct gw__ynode *offloads = gw__cfg_node(n, "offloads");
	int r = take_name(l, n, q->name);

	if (r)
		return r;
	q->id = (int)gw__cfg_i64(n, "id");
	q->poll = gw__cfg_enum(n, "poll_mode") ? GW_POLL_DIRECT : GW_POLL_INDIRECT;
	q->line = n->line;
	if (q->poll == GW_POLL_DIRECT)
		r = check_direct(l, n);
	else if (!gw__cfg_node(n, "cpu_core"))
		r = gw__cfg_missing(l, n, "cpu_core", "required unless poll_mode is direct");
	else if (!gw__cfg_node(n, "batch_size"))
		r = gw__cfg_missing(l, n, "batch_size", "required unless poll_mode is direct");
	if (r)
		return r;
	q->cpu_core = (int)gw__cfg_i64(n, "cpu_core");
	q->batch_size = (uint32_t)gw__cfg_u64(n, "batch_size");
	q->timeout_us = tx ? 0 : gw__cfg_u64(n, "timeout_us");
	if (gw__cfg_node(n, "gpunetio"))
		gw__cfg_warn(l, gw__y_get(n, "gpunetio"),
			     "no engine here sends from the GPU; the CPU posts what it sends");
	if (tx) {
		q->pacing_mbps = gw__cfg_u64(n, "pacing_mbps");
		q->tx_eth_src = offloads && offloads->n;
	}
	return fill_queue_regions(l, n, q);
}

static int fill_queues(struct gw__loader *l, const struct gw__ynode *dir, struct gw_cfg_queue *q,
		       uint32_t *n_q, bool tx)
{
	const struct gw__ynode *list = gw__cfg_node(dir, "queues");

	if (!list || !list->n)
		return gw__cfg_bad(l, dir, -EINVAL,
				   "queues: missing; a port that %s needs at least one queue, or "
				   "remove %s",
				   tx ? "sends" : "receives", tx ? "tx" : "rx");
	if (list->n > GW_MAX_QUEUES)
		return gw__cfg_bad(l, list, -EINVAL, "%u queues is above %u; use at most %u",
				   list->n, GW_MAX_QUEUES, GW_MAX_QUEUES);
	for (const struct gw__ynode *n = list->first; n; n = n->next) {
		struct gw_cfg_queue *me = &q[*n_q];
		int r = fill_queue(l, n, me, tx);

		if (r)
			return r;
		for (uint32_t i = 0; i < *n_q; i++)
			if (q[i].id == me->id)
				return gw__cfg_bad(l, gw__y_get(n, "id"), -EINVAL,
						   "value %d is a duplicate of line %d; use "
						   "another id",
						   me->id, q[i].line);
		(*n_q)++;
	}
	return 0;
}

/* ---- sockets -------------------------------------------------------------------------------- */

/* The URI of one end, from either form. */
static int take_uri(struct gw__loader *l, const struct gw__ynode *s, const char *side, bool roce,
		    char *dst, size_t size)
{
	char addr[24], ip[24], port[24];
	const struct gw__ynode *a, *i;

	snprintf(addr, sizeof(addr), "%s_addr", side);
	snprintf(ip, sizeof(ip), "%s_ip", side);
	snprintf(port, sizeof(port), "%s_port", side);
	a = gw__cfg_node(s, addr);
	i = gw__cfg_node(s, ip);
	if (a && i)
		return gw__cfg_bad(l, i, -EINVAL, "value %.40s together with %s; use %s alone",
				   i->text, addr, addr);
	if (i && snprintf(dst, size, "%s://%s:%" PRIu64, roce ? "roce" : "udp", i->text,
			  gw__cfg_u64(s, port)) >= (int)size)
		return gw__cfg_bad(l, i, -EINVAL, "%zu bytes is above %zu; use a shorter address",
				   strlen(i->text), size - 16);
	if (a && !gw__cfg_copy(dst, size, a->text))
		return gw__cfg_bad(l, a, -EINVAL, "%zu bytes is above %zu; use a shorter address",
				   strlen(a->text), size - 1);
	if (a && !gw__is_placeholder(a->text) && !gw__cfg_uri_scheme(a->text))
		return gw__cfg_bad(l, a, -EINVAL,
				   "value %.60s has no known scheme; use tcp://, udp://, roce:// "
				   "or rdma:// "
				   "and IP:PORT",
				   a->text);
	return 0;
}

int gw__cfg_uri_scheme(const char *uri)
{
	static const char *const schemes[] = { "tcp://", "udp://", "roce://", "rdma://" };

	for (int i = 0; i < 4; i++)
		if (!strncmp(uri, schemes[i], strlen(schemes[i])))
			return i < 2 ? i + 1 : 3;
	return 0;
}

/* Port of "scheme://ip:port?query"; 0 = none, -1 = not a port. IPv6 stands in brackets. */
static int uri_port(const char *uri)
{
	const char *p = strstr(uri, "://"), *colon;
	uint16_t lo, hi;
	char buf[8];
	size_t n;

	p = p ? p + 3 : uri;
	colon = *p == '[' ? strchr(p, ']') : p;
	colon = colon ? strchr(colon, ':') : NULL;
	if (!colon)
		return 0;
	n = strcspn(colon + 1, "?/");
	if (!n || n >= sizeof(buf))
		return -1;
	snprintf(buf, sizeof(buf), "%.*s", (int)n, colon + 1);
	return gw__parse_ports(buf, &lo, &hi) || lo != hi ? -1 : lo;
}

static int check_socket(struct gw__loader *l, const struct gw__ynode *s,
			const struct gw_cfg_port *p)
{
	bool roce = gw__cfg_uri_scheme(*p->local_uri ? p->local_uri : p->remote_uri) == 3;
	const char *uri = p->server ? p->local_uri : p->remote_uri;
	const char *key = p->server ? "local_addr" : "remote_addr";

	if (roce && !p->server) {
		if (*p->remote_uri)
			return gw__cfg_bad(l, s, -EINVAL,
					   "remote_addr: a RoCE client connects later; remove it");
		uri = p->local_uri;
		key = "local_addr";
	}
	if (!*uri)
		return gw__cfg_missing(
			l, s, key, p->server ? "required for a server" : "required for a client");
	if (gw__is_placeholder(uri))
		return 0;
	if (uri_port(uri) < 0)
		return gw__cfg_bad(l, s, -EINVAL, "%s: value %.60s has a bad port; use 1 to 65535",
				   key, uri);
	if (uri_port(uri) == 0 && !(roce && !p->server))
		return gw__cfg_bad(l, s, -EINVAL,
				   "%s: value %.60s has no port; use IP:PORT with 1 to 65535", key,
				   uri);
	return 0;
}

static int fill_socket(struct gw__loader *l, const struct gw__ynode *iface, struct gw_cfg_port *p)
{
	const struct gw__ynode *s = gw__cfg_node(iface, "socket_config"),
			       *roce = gw__cfg_node(iface, "roce_config");
	bool raw = l->c->cfg.stream == GW_STREAM_RAW;
	int r, scheme;

	if (raw && (s || roce))
		return gw__cfg_bad(l, s ? s : roce, -EINVAL,
				   "is for stream_type socket only; remove it, or change "
				   "stream_type");
	if (raw)
		return 0;
	if (!s)
		return gw__cfg_missing(l, iface, "socket_config",
				       "required for stream_type socket");
	p->has_socket = true;
	p->server = gw__cfg_enum(s, "mode") == 1;
	p->max_payload_size = (uint32_t)gw__cfg_u64(s, "max_payload_size");
	p->max_burst_interval_ms = gw__cfg_u64(s, "max_burst_interval_ms");
	p->min_ipg_ns = (uint32_t)gw__cfg_u64(s, "min_ipg_ns");
	p->retry_connect_s = (int)gw__cfg_i64(s, "retry_connect_s");
	r = take_uri(l, s, "local", roce, p->local_uri, sizeof(p->local_uri));
	if (!r)
		r = take_uri(l, s, "remote", roce, p->remote_uri, sizeof(p->remote_uri));
	if (!r)
		r = check_socket(l, s, p);
	if (r)
		return r;
	scheme = gw__cfg_uri_scheme(*p->local_uri ? p->local_uri : p->remote_uri);
	if (l->scheme && scheme && scheme != l->scheme)
		return gw__cfg_bad(l, s, -EINVAL,
				   "another scheme than the interface above; use one for all "
				   "interfaces");
	l->scheme = scheme ? scheme : l->scheme;
	if (scheme && scheme != 3 && !strcmp(l->c->cfg.engine, "nic"))
		return gw__cfg_bad(l, s, -ENOTSUP,
				   "tcp:// and udp:// are not for engine nic; use engine sock, or "
				   "roce://");
	if (scheme == 3) {
		if (!roce || !gw__cfg_node(roce, "transport_mode"))
			return gw__cfg_missing(l, iface, "roce_config",
					       "transport_mode RC, UC or UD is required for "
					       "roce://");
		gw__cfg_copy(p->transport_mode, sizeof(p->transport_mode),
			     gw__cfg_str(roce, "transport_mode"));
	} else if (roce) {
		return gw__cfg_bad(l, roce, -EINVAL, "is for roce:// only; remove it");
	}
	return 0;
}

/* ---- ports ---------------------------------------------------------------------------------- */

static int fill_rx(struct gw__loader *l, const struct gw__ynode *rx, struct gw_cfg_port *p)
{
	p->flow_isolation = gw__cfg_bool(rx, "flow_isolation");
	p->hardware_timestamps = gw__cfg_bool(rx, "hardware_timestamps");
	p->dynamic_flow_capacity = (uint32_t)gw__cfg_u64(rx, "dynamic_flow_capacity");
	p->verify = gw__cfg_enum(rx, "verify") ? GW_VERIFY_OFF : GW_VERIFY_SW;
	return fill_queues(l, rx, p->rxq, &p->n_rxq, false);
}

static int fill_port(struct gw__loader *l, const struct gw__ynode *n, struct gw_cfg_port *p)
{
	const struct gw__ynode *rx = gw__cfg_node(n, "rx"), *tx = gw__cfg_node(n, "tx");
	int r = take_name(l, n, p->name);

	if (r)
		return r;
	p->line = n->line;
	for (const struct gw_cfg_port *o = l->c->cfg.port; o < p; o++)
		if (!strcmp(o->name, p->name))
			return gw__cfg_bad(l, gw__y_get(n, "name"), -EINVAL,
					   "value %s is a duplicate of line %d; use another name",
					   p->name, o->line);
	r = gw__cfg_address(l, n, p);
	if (!r)
		r = fill_socket(l, n, p);
	rx = l->opts->tx_only ? NULL : rx;
	tx = l->opts->rx_only ? NULL : tx;
	if (!r && rx)
		r = fill_rx(l, rx, p);
	if (!r && tx) {
		p->accurate_send = gw__cfg_bool(tx, "accurate_send");
		if (gw__cfg_node(tx, "gpunetio"))
			gw__cfg_warn(l, gw__y_get(tx, "gpunetio"),
				     "no engine here sends from the GPU; the CPU posts what it "
				     "sends");
		r = fill_queues(l, tx, p->txq, &p->n_txq, true);
	}
	if (!r && !rx && !tx && !l->opts->tx_only && !l->opts->rx_only)
		gw__cfg_warn(l, n, "neither rx nor tx: the port does nothing");
	if (!r)
		r = gw__cfg_fill_flows(l, rx, tx, p);
	return r || !rx ? r : gw__cfg_fill_reorder(l, rx, p);
}

/* --mode tx|rx: a port of the other direction alone is left out. */
static bool port_wanted(const struct gw__loader *l, const struct gw__ynode *n)
{
	if (l->opts->rx_only)
		return gw__cfg_node(n, "rx") != NULL;
	if (l->opts->tx_only)
		return gw__cfg_node(n, "tx") != NULL;
	return true;
}

static int fill_ports(struct gw__loader *l)
{
	const struct gw__ynode *list = gw__y_get(l->c->cfg_node, "interfaces");
	struct gw_cfg *cfg = &l->c->cfg;
	int r = 0;

	if (!list->n || list->n > GW_MAX_PORTS)
		return gw__cfg_bad(l, list, -EINVAL, "%u interfaces is %s; use 1 to %u", list->n,
				   list->n ? "above 4" : "none", GW_MAX_PORTS);
	cfg->port = gw__calloc(list->n, sizeof(*cfg->port));
	if (!cfg->port)
		return no_memory(l);
	for (const struct gw__ynode *n = list->first; n && !r; n = n->next) {
		if (!port_wanted(l, n))
			continue;
		r = fill_port(l, n, &cfg->port[cfg->n_ports]);
		cfg->n_ports += !r;
	}
	if (!r && !cfg->n_ports)
		r = gw__cfg_bad(l, list, -EINVAL,
				"no interface has %s; use the other mode, or add one",
				l->opts->rx_only ? "rx" : "tx");
	return r;
}

#define MAX_REFS (GW_MAX_PORTS * (2 * GW_MAX_QUEUES * GW_MAX_SEGS + GW_CFG_MAX_REORDER))

/* Where the structs name a region: every queue's segments, every plan's output. */
static size_t region_refs(struct gw_cfg *cfg, uint32_t *ref[MAX_REFS])
{
	size_t n = 0;

	for (uint32_t p = 0; p < cfg->n_ports; p++) {
		struct gw_cfg_port *port = &cfg->port[p];

		for (uint32_t k = 0; k < port->n_rxq; k++)
			for (uint32_t s = 0; s < port->rxq[k].n_regions; s++)
				ref[n++] = &port->rxq[k].region[s];
		for (uint32_t k = 0; k < port->n_txq; k++)
			for (uint32_t s = 0; s < port->txq[k].n_regions; s++)
				ref[n++] = &port->txq[k].region[s];
		for (uint32_t k = 0; k < port->n_reorder; k++)
			ref[n++] = &port->reorder[k].region;
	}
	return n;
}

/* Regions that nothing uses: a warning, or left out with the direction that used them. */
int gw__cfg_settle_regions(struct gw__loader *l)
{
	const struct gw__ynode *list = gw__y_get(l->c->cfg_node, "memory_regions");
	struct gw_cfg *cfg = &l->c->cfg;
	bool used[GW_CFG_MAX_REGIONS] = { false }, drop = l->opts->tx_only || l->opts->rx_only;
	uint32_t *ref[MAX_REFS], to[GW_CFG_MAX_REGIONS] = { 0 }, kept = 0;
	size_t n = region_refs(cfg, ref);

	for (size_t i = 0; i < n; i++)
		used[*ref[i]] = true;
	for (uint32_t i = 0; i < cfg->n_regions; i++) {
		if (!used[i] && drop)
			continue;
		if (!used[i])
			gw__cfg_warn(l, gw__y_at(list, i), "no queue and no plan uses region %s",
				     cfg->region[i].name);
		to[i] = kept;
		cfg->region[kept++] = cfg->region[i];
	}
	cfg->n_regions = kept;
	for (size_t i = 0; i < n; i++)
		*ref[i] = to[*ref[i]];
	return 0;
}

int gw__cfg_fill(struct gw__loader *l)
{
	const struct gw__ynode *top = l->c->cfg_node;
	struct gw_cfg *cfg = &l->c->cfg;
	int r;

	cfg->version = (int)gw__cfg_i64(top, "version");
	if (cfg->version != 1)
		gw__cfg_warn(l, gw__y_get(top, "version"),
			     "value %d is read as 1, the only version there is", cfg->version);
	cfg->master_core = (int)gw__cfg_i64(top, "master_core");
	cfg->log_level = (enum gw_log_level)gw__cfg_enum(top, "log_level");
	cfg->wait = gw__cfg_enum(top, "poll") ? GW_WAIT_BUSY : GW_WAIT_BLOCK;
	cfg->tx_meta_buffers = (uint32_t)gw__cfg_u64(top, "tx_meta_buffers");
	cfg->rx_meta_buffers = (uint32_t)gw__cfg_u64(top, "rx_meta_buffers");
	r = fill_regions(l);
	if (!r)
		r = fill_ports(l);
	return r;
}
