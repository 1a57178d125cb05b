/* A generated corpus over the table itself: every key, in a whole file, with its default, at both bounds, just
 * outside them, with each of its words and with the wrong shape. What is outside is refused with line, path and
 * bound; what is inside is never refused for its value. */
#include <gpuwire/gpuwire.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "ingest/config.h"
#include "ingest/config_table.h"
#include "t.h"

#define RC "interfaces[].rx.reorder_configs[]"

/* "#@P": the line stands in the map of row P. "#-": left out where a `reorder:` block is tried. */
static const char raw[] =
	"version: 1 #@\n"
	"master_core: 0 #@\n"
	"stream_type: raw #@\n"
	"engine: 'null' #@\n"
	"memory_regions: #@\n"
	"- name: src #@memory_regions[]\n"
	"  kind: host_pinned #@memory_regions[]\n"
	"  affinity: 0 #@memory_regions[]\n"
	"  num_bufs: 32768 #@memory_regions[]\n"
	"  buf_size: 1240 #@memory_regions[]\n"
	"- {name: out, kind: device, affinity: 0, num_bufs: 16, buf_size: 9633792}\n"
	"- {name: sent, kind: host, affinity: 0, num_bufs: 4096, buf_size: 1240}\n"
	"interfaces: #@\n"
	"- name: p #@interfaces[]\n"
	"  address: cable:0 #@interfaces[]\n"
	"  rx: #@interfaces[]\n"
	"    flow_isolation: true #@interfaces[].rx\n"
	"    queues: #@interfaces[].rx\n"
	"    - name: q #@interfaces[].rx.queues[]\n"
	"      id: 0 #@interfaces[].rx.queues[]\n"
	"      cpu_core: 1 #@interfaces[].rx.queues[]\n"
	"      batch_size: 8192 #@interfaces[].rx.queues[]\n"
	"      memory_regions: [src] #@interfaces[].rx.queues[]\n"
	"    flex_items: #@interfaces[].rx\n"
	"    - name: f #@interfaces[].rx.flex_items[]\n"
	"      id: 1 #@interfaces[].rx.flex_items[]\n"
	"      udp_dst_port: 5 #@interfaces[].rx.flex_items[]\n"
	"      offset: 4 #@interfaces[].rx.flex_items[]\n"
	"    flows: #@interfaces[].rx\n"
	"    - name: a #@interfaces[].rx.flows[]\n"
	"      id: 1 #@interfaces[].rx.flows[]\n"
	"      action: #@interfaces[].rx.flows[]\n"
	"        type: queue #@$action\n"
	"        id: 0 #@$action\n"
	"      match: #@interfaces[].rx.flows[]\n"
	"        udp_dst: 1 #@$match\n"
	"        ethernet: #@$match\n"
	"          src: 02:00:00:00:00:01 #@$match.ethernet\n"
	"    - name: b\n"
	"      id: 2\n"
	"      action: {type: queue, id: 0}\n"
	"      match:\n"
	"        udp_src: 7\n"
	"    reorder_configs: #@interfaces[].rx#-\n"
	"    - name: r #@" RC "#-\n"
	"      reorder_type: gpu #@" RC "#-\n"
	"      memory_region: out #@" RC "#-\n"
	"      payload_byte_offset: 64 #@" RC "#-\n"
	"      flow_ids: [2] #@" RC "#-\n"
	"      data_types: #@" RC "#-\n"
	"        input_type: int8 #@" RC ".data_types#-\n"
	"        output_type: fp16 #@" RC ".data_types#-\n"
	"      method: #@" RC "#-\n"
	"        seq_packets_per_batch: #@" RC ".method#-\n"
	"          sequence_number: #@" RC ".method.seq_packets_per_batch#-\n"
	"            bit_offset: 128 #@$bits#-\n"
	"            bit_width: 13 #@$bits#-\n"
	"          packets_per_batch: 1024 #@" RC ".method.seq_packets_per_batch#-\n"
	"  tx: #@interfaces[]\n"
	"    accurate_send: no #@interfaces[].tx\n"
	"    gpunetio: #@interfaces[].tx\n"
	"      tx_kernel: persistent #@interfaces[].tx.gpunetio\n"
	"    queues: #@interfaces[].tx\n"
	"    - name: t #@interfaces[].tx.queues[]\n"
	"      id: 0 #@interfaces[].tx.queues[]\n"
	"      cpu_core: 1 #@interfaces[].tx.queues[]\n"
	"      batch_size: 64 #@interfaces[].tx.queues[]\n"
	"      memory_regions: [sent] #@interfaces[].tx.queues[]\n"
	"      gpunetio: #@interfaces[].tx.queues[]\n"
	"        tx_kernel: persistent #@interfaces[].tx.queues[].gpunetio\n"
	"    flows: #@interfaces[].tx\n"
	"    - name: w #@interfaces[].tx.flows[]\n"
	"      actions: #@interfaces[].tx.flows[]\n"
	"      - type: vlan_push\n"
	"        vlan:\n"
	"          vlan_id: 3 #@$vlan\n"
	"      - type: tunnel_encap\n"
	"        tunnel:\n"
	"          type: vxlan #@$tunnel\n"
	"          outer_eth_src: 02:00:00:00:00:01 #@$tunnel\n"
	"          outer_eth_dst: 02:00:00:00:00:02 #@$tunnel\n"
	"          outer_ipv4_src: 1.2.3.4 #@$tunnel\n"
	"          outer_ipv4_dst: 1.2.3.5 #@$tunnel\n";

static const char ecpri[] =
	"version: 1\nmaster_core: 0\nstream_type: raw\nengine: 'null'\n"
	"memory_regions: [{name: src, kind: host, affinity: 0, num_bufs: 4096, buf_size: 1064}]\n"
	"interfaces:\n"
	"- name: p\n"
	"  address: cable:0\n"
	"  rx:\n"
	"    queues: [{name: q, id: 0, cpu_core: 1, batch_size: 64, memory_regions: [src]}]\n"
	"    flows:\n"
	"    - name: a\n"
	"      id: 1\n"
	"      action: {type: queue, id: 0}\n"
	"      match:\n"
	"        ecpri:\n"
	"          msg_type: 2 #@$match.ecpri\n"
	"    reorder_configs:\n"
	"    - name: r\n"
	"      reorder_type: cpu\n"
	"      memory_region: src\n"
	"      payload_byte_offset: 1060\n"
	"      flow_ids: [1]\n"
	"      method:\n"
	"        seq_batch_number: #@" RC ".method\n"
	"          sequence_number: {bit_offset: 128, bit_width: 12} #@" RC ".method.seq_batch_"
									    "number\n"
	"          batch_number: {bit_offset: 128, bit_width: 8} #@" RC ".method.seq_batch_"
									"number\n";

static const char sockets[] = "version: 1\nmaster_core: 0\nstream_type: socket\nengine: 'null'\n"
			      "memory_regions: [{name: src, kind: host, affinity: 0, num_bufs: "
			      "4096, buf_size: 1064}]\n"
			      "interfaces:\n"
			      "- name: p\n"
			      "  address: 10.0.0.1\n"
			      "  roce_config: #@interfaces[]\n"
			      "    transport_mode: RC #@interfaces[].roce_config\n"
			      "  socket_config: #@interfaces[]\n"
			      "    mode: server #@interfaces[].socket_config\n"
			      "    local_addr: roce://10.0.0.1:4096 #@interfaces[].socket_config\n"
			      "  rx:\n"
			      "    queues: [{name: q, id: 0, cpu_core: 1, batch_size: 64}]\n";

struct doc {
	char text[8192];
	size_t n;
	int line; /* of the key tried */
	int lines;
};

static void add(struct doc *d, const char *s, size_t n)
{
	T_NEED(d->n + n < sizeof(d->text));
	memcpy(d->text + d->n, s, n);
	d->n += n;
	d->text[d->n] = '\0';
	for (size_t i = 0; i < n; i++)
		d->lines += s[i] == '\n';
}

/* Does this template line stand in the map `parent`? */
static bool stands_in(const char *line, size_t n, const char *parent)
{
	const char *m = memmem(line, n, "#@", 2), *end;

	if (!m)
		return false;
	m += 2;
	end = line + n - 1;
	if (end - m >= 2 && !memcmp(end - 2, "#-", 2))
		end -= 2;
	return (size_t)(end - m) == strlen(parent) && !memcmp(m, parent, strlen(parent));
}

/* The template with parent's KEY set to VALUE (NULL: the template as it is). False: no such map in it. */
static bool make(struct doc *d, const char *tmpl, const char *parent, const char *key,
		 const char *value, bool declared)
{
	size_t klen = strlen(key), indent = 0;
	const char *first = NULL, *own = NULL, *next;
	char line[512];

	memset(d, 0, sizeof(*d));
	for (const char *p = tmpl; *p; p = next) {
		size_t at = strspn(p, " -");

		next = strchr(p, '\n') + 1;
		if (!stands_in(p, (size_t)(next - p), parent))
			continue;
		if (!strncmp(p + at, key, klen) && p[at + klen] == ':')
			own = p;
		if (!first) {
			first = p;
			indent = at;
		}
	}
	if (!first)
		return false;
	for (const char *p = tmpl; *p; p = next) {
		next = strchr(p, '\n') + 1;
		if (declared && next - p > 3 && !memcmp(next - 3, "#-", 2))
			continue;
		if (p == own) {
			d->line = d->lines + 1;
			snprintf(line, sizeof(line), "%.*s%s: %s\n", (int)strspn(p, " -"), p, key,
				 value);
			add(d, line, strlen(line));
			/* what stood below a map or list goes with it */
			while (*next && (strspn(next, " ") > strspn(p, " -") ||
					 (strspn(next, " ") == strspn(p, " -") &&
					  next[strspn(next, " ")] == '-')))
				next = strchr(next, '\n') + 1;
			continue;
		}
		add(d, p, (size_t)(next - p));
		if (p == first && !own) {
			/* a first line may open a block: the new key comes after that */
			while (*next && strspn(next, " ") > indent) {
				const char *e = strchr(next, '\n') + 1;

				add(d, next, (size_t)(e - next));
				next = e;
			}
			d->line = d->lines + 1;
			snprintf(line, sizeof(line), "%*s%s: %s\n", (int)indent, "", key, value);
			add(d, line, strlen(line));
		}
	}
	return true;
}

static bool split(const struct gw__key *k, char *parent, size_t n)
{
	const char *dot = strrchr(k->path, '.');

	snprintf(parent, n, "%.*s", dot ? (int)(dot - k->path) : 0, k->path);
	return dot != NULL;
}

/* The whole file that tries row k with this value. */
static void build(struct doc *d, const struct gw__key *k, const char *value)
{
	static const char *const all[] = { raw, ecpri, sockets };
	char parent[128], line[512], *br;

	split(k, parent, sizeof(parent));
	if (gw__key_in_library(k)) {
		for (size_t i = 0; i < 3; i++)
			if (make(d, all[i], parent, gw__key_name(k), value, false))
				return;
		T__FAIL("no template holds %s", parent);
		exit(1);
	}
	/* a program's block is put at the end */
	T_NEED(make(d, raw, "", "version", "1", true));
	br = strstr(parent, "[]");
	if (br)
		*br = '\0';
	d->line = d->lines + 1 + (*parent != '\0');
	if (*parent)
		snprintf(line, sizeof(line), "%s:\n  %s: %s\n", parent, gw__key_name(k), value);
	else
		snprintf(line, sizeof(line), "%s: %s\n", gw__key_name(k), value);
	add(d, line, strlen(line));
}

static int load(const struct doc *d, struct gw_diag *diag)
{
	struct gw_config_opts o = { .sz = sizeof(o) };
	struct gw_config *c = NULL;
	int r;

	memset(diag, 0, sizeof(*diag));
	r = gw_config_load(d->text, &o, &c, diag);
	gw_config_free(c);
	return r;
}

static int n_good, n_refused;

static const char *const value_words[] = { " is above ",   " is below ", "not an integer",
					   "is unknown",   "neither",    "not a MAC",
					   "not an IPv",   "not a port", "write one value",
					   "write a list", "write a map" };

/* Never refused for the value itself: rules between keys may still object. */
static void inside(const struct gw__key *k, const char *value)
{
	struct gw_diag diag;
	struct doc d;
	char where[64], bound[64];

	build(&d, k, value);
	n_good++;
	t__checks++;
	if (!load(&d, &diag))
		return;
	snprintf(where, sizeof(where), "(text):%d: ", d.line);
	if (strncmp(diag.text, where, strlen(where)))
		return;
	for (size_t i = 2; i < sizeof(value_words) / sizeof(value_words[0]); i++)
		if (strstr(diag.text, value_words[i]))
			T__FAIL("%s: %s is refused: %s", k->path, value, diag.text);
	snprintf(bound, sizeof(bound), " is above %" PRIu64 ";", k->hi);
	if (k->type == GW__KEY_INT && strstr(diag.text, bound) &&
	    !strstr(diag.text, "use at most 4294967295"))
		T__FAIL("%s: %s is refused: %s", k->path, value, diag.text);
}

/* Loads, whole. */
static void fine(const struct gw__key *k, const char *value)
{
	struct gw_diag diag;
	struct doc d;
	int r;

	build(&d, k, value);
	r = load(&d, &diag);
	n_good++;
	t__checks++;
	if (r)
		T__FAIL("%s: %s: %d %s", k->path, value, r, diag.text);
}

static void outside(const struct gw__key *k, const char *value, const char *has)
{
	struct gw_diag diag;
	struct doc d;
	char where[64];
	int r;

	build(&d, k, value);
	r = load(&d, &diag);
	n_refused++;
	t__checks++;
	snprintf(where, sizeof(where), "(text):%d: ", d.line);
	if (r != -EINVAL || strncmp(diag.text, where, strlen(where)) ||
	    !strstr(diag.text, gw__key_name(k)) || !strstr(diag.text, has))
		T__FAIL("%s: %s: want %s...%s, is %d %s", k->path, value, where, has, r, diag.text);
}

static void in_list(char *buf, size_t n, const char *s, bool list)
{
	snprintf(buf, n, "%s%s%s", list ? "[" : "", s, list ? "]" : "");
}

static void try_int(const struct gw__key *k, bool list)
{
	char num[40], text[80], has[64];

	snprintf(num, sizeof(num), "%" PRId64, k->lo);
	in_list(text, sizeof(text), num, list);
	inside(k, text);
	snprintf(num, sizeof(num), "%" PRIu64, k->hi);
	in_list(text, sizeof(text), num, list);
	inside(k, text);
	snprintf(num, sizeof(num), "0x%" PRIx64, k->hi);
	in_list(text, sizeof(text), num, list);
	inside(k, text);
	snprintf(num, sizeof(num), "%" PRId64, k->lo - 1);
	in_list(text, sizeof(text), num, list);
	snprintf(has, sizeof(has), "is below %" PRId64 "; use at least %" PRId64, k->lo, k->lo);
	outside(k, text, has);
	snprintf(num, sizeof(num), "%" PRIu64, k->hi + 1);
	in_list(text, sizeof(text), num, list);
	snprintf(has, sizeof(has), "is above %" PRIu64 "; use at most %" PRIu64, k->hi, k->hi);
	outside(k, text, has);
	in_list(text, sizeof(text), "1e3", list);
	outside(k, text, "not an integer");
}

static void try_words(const struct gw__key *k, bool list)
{
	char word[40], text[80];

	for (const char *w = k->words;; w++) {
		const char *end = strchrnul(w, '|');

		snprintf(word, sizeof(word), "'%.*s'", (int)(end - w), w);
		in_list(text, sizeof(text), word, list);
		inside(k, text);
		if (!*end)
			break;
		w = end;
	}
	in_list(text, sizeof(text), "zzz", list);
	outside(k, text, "is unknown; use ");
}

static void try_row(const struct gw__key *k)
{
	/* the default engine wants a card */
	if (k->def && k->type != GW__KEY_ENUMS && strcmp(k->path, "engine"))
		fine(k, *k->def ? k->def : "''");
	switch (k->type) {
	case GW__KEY_INT:
		try_int(k, false);
		outside(k, "[1]", "write one value");
		break;
	case GW__KEY_INTS:
		try_int(k, true);
		outside(k, "1", "write a list: [1]");
		break;
	case GW__KEY_BOOL:
		inside(k, "true");
		inside(k, "False");
		inside(k, "yes");
		inside(k, "NO");
		outside(k, "maybe", "use true or false");
		break;
	case GW__KEY_ENUM:
		try_words(k, false);
		break;
	case GW__KEY_ENUMS:
		try_words(k, true);
		outside(k, "local", "write a list");
		break;
	case GW__KEY_STR:
		inside(k, "abc");
		outside(k, "{a: 1}", "write one value");
		break;
	case GW__KEY_STRS:
		inside(k, "[src]");
		outside(k, "src", "write a list: [src]");
		break;
	case GW__KEY_MAC:
		inside(k, "00:00:00:00:00:00");
		inside(k, "FE-dc-ba-98-76-54");
		outside(k, "00:00:00:00:00:0g", "not a MAC");
		break;
	case GW__KEY_IPV4:
		inside(k, "000.000.000.0");
		inside(k, "255.255.255.255");
		outside(k, "1.2.3.256", "not an IPv4 address");
		break;
	case GW__KEY_IPV6:
		inside(k, "\"::\"");
		outside(k, "1.2.3.4", "not an IPv6 address");
		break;
	case GW__KEY_PORTS:
		inside(k, "0");
		inside(k, "65535");
		inside(k, "1000-1010");
		outside(k, "65536", "above 65535");
		outside(k, "2-1", "use 1-2");
		outside(k, "1-", "not a port");
		break;
	case GW__KEY_REFUSED:
		outside(k, "x", "older");
		break;
	case GW__KEY_MAP:
		outside(k, "5", "write a map");
		break;
	case GW__KEY_LIST:
	case GW__KEY_MAPLIST:
		outside(k, "5", "write a list");
		break;
	}
}

/* Block style, flow style, JSON, both root forms: the same structs. */
static void styles(void)
{
	static const char *const same[] = {
		"daqiri:\n  cfg:\n    version: 1\n    master_core: 0\n    stream_type: \"raw\"\n   "
		" engine: 'null'\n"
		"    memory_regions:\n    - name: \"r\"\n      kind: host\n      affinity: 0\n     "
		" num_bufs: 0x1000\n"
		"      buf_size: 2048\n    interfaces:\n      - name: p\n        address: "
		"0000:01:00.0\n        rx:\n"
		"          queues:\n            - name: q\n              id: 0\n              "
		"cpu_core: \"3\"\n"
		"              batch_size: 64\n              memory_regions:\n              - r\n",
		"%YAML 1.2\n---\n# bare\nversion: 1\nmaster_core: 0 # core\nstream_type: "
		"raw\nengine: \"null\"\n"
		"memory_regions: [{name: r, kind: host, affinity: 0, num_bufs: 4096, buf_size: "
		"0x800}]\ninterfaces:\n"
		"- {name: p, address: 0000:01:00.0, rx: {queues: [{name: q, id: 0, cpu_core: 3, "
		"batch_size: 64, "
		"memory_regions: [r]}]}}\n",
		"{\"daqiri\": {\"cfg\": {\"version\": 1, \"master_core\": 0, \"stream_type\": "
		"\"raw\", \"engine\": \"null\",\n"
		"\"memory_regions\": [{\"name\": \"r\", \"kind\": \"host\", \"affinity\": 0, "
		"\"num_bufs\": 4096, \"buf_size\": 2048}],\n"
		"\"interfaces\": [{\"name\": \"p\", \"address\": \"0000:01:00.0\", \"rx\": "
		"{\"queues\": [{\"name\": \"q\", \"id\": 0,\n"
		"\"cpu_core\": 3, \"batch_size\": 64, \"memory_regions\": [\"r\"]}]}}]}}}\n",
		"version: 1\nmaster_core: 0\nstream_type: raw\nengine: 'null'\nmemory_regions:\n  "
		"- &r\n    name: &n r\n"
		"    kind: host\n    affinity: &zero 0\n    num_bufs: 4096\n    buf_size: "
		"2048\ninterfaces:\n  - name: p\n"
		"    address: 0000:01:00.0\n    rx:\n      queues:\n      - name: q\n        id: "
		"*zero\n        cpu_core: 3\n"
		"        batch_size: 64\n        memory_regions: [*n]\n",
	};
	struct gw_config *c[4] = { NULL };

	for (int i = 0; i < 4; i++) {
		struct gw_diag d = { "" };
		struct gw_cfg *g;

		T_RC(gw_config_load(same[i], NULL, &c[i], &d), 0);
		T_STR(d.text, "");
		T_NEED(c[i]);
		/* lines differ, of course */
		g = (struct gw_cfg *)(uintptr_t)gw__config(c[i]);
		g->region[0].line = g->port[0].line = g->port[0].rxq[0].line = 0;
		T_MEM(&g->region[0], &gw__config(c[0])->region[0], sizeof(g->region[0]));
		T_MEM(&g->port[0], &gw__config(c[0])->port[0], sizeof(g->port[0]));
	}
	for (int i = 0; i < 4; i++)
		gw_config_free(c[i]);
}

int main(void)
{
	const struct gw__key *k;
	struct gw_diag diag;
	struct doc d;
	int rows = 0;

	/* the templates themselves load */
	T_NEED(make(&d, raw, "", "version", "1", false));
	T_RC(load(&d, &diag), 0);
	T_STR(diag.text, "");
	T_NEED(make(&d, ecpri, "$match.ecpri", "msg_type", "2", false));
	T_RC(load(&d, &diag), 0);
	T_STR(diag.text, "");
	T_NEED(make(&d, sockets, "interfaces[].roce_config", "transport_mode", "RC", false));
	T_RC(load(&d, &diag), 0);
	T_STR(diag.text, "");
	for (size_t i = 0; (k = gw__key_nth(i)) != NULL; i++, rows++)
		try_row(k);
	styles();
	printf("%d keys, %d good files, %d refused\n", rows, n_good, n_refused);
	T_EQ(gw__alloc_live(), 0);
	T_DONE();
}
