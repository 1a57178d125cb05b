/* One file for each kind of configuration that is found in the wild: each loads unchanged with the options in
 * its second line; without them the refusal prints a command line, and that command line works. */
#include <dirent.h>
#include <gpuwire/gpuwire.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "ingest/config.h"
#include "t.h"

struct words {
	char text[1024];
	const char *address[16], *set[32];
	struct gw_config_opts o;
};

/* "--engine nic --address a=b --set c=d" */
static void take_options(struct words *w, const char *line)
{
	int na = 0, ns = 0;
	char *save, *p;

	memset(w, 0, sizeof(*w));
	snprintf(w->text, sizeof(w->text), "%s", line);
	w->o.sz = sizeof(w->o);
	w->o.address = w->address;
	w->o.set = w->set;
	for (p = strtok_r(w->text, " \n", &save); p; p = strtok_r(NULL, " \n", &save)) {
		char *arg = strtok_r(NULL, " \n", &save);

		T_NEED(arg);
		if (!strcmp(p, "--engine"))
			w->o.engine = arg;
		else if (!strcmp(p, "--address"))
			w->address[na++] = arg;
		else if (!strcmp(p, "--set"))
			w->set[ns++] = arg;
		else
			T__FAIL("option %s", p);
	}
}

static void options_of(const char *path, char *buf, int n)
{
	FILE *f = fopen(path, "r");

	T_NEED(f && fgets(buf, n, f) && fgets(buf, n, f));
	T_NEED(!strncmp(buf, "# options: ", 11));
	memmove(buf, buf + 11, strlen(buf + 11) + 1);
	fclose(f);
}

/* What the refusal says after "; use ". */
static void printed_way_out(const char *path)
{
	struct gw_config *c = NULL;
	struct gw_diag d = { "" };
	const char *use, *from;
	struct words w;
	char line[1024];
	int n = 0, r = gw_config_load(path, NULL, &c, &d);

	if (!r) {
		gw_config_free(c);
		return;
	}
	T_RC(r, -ENOTSUP);
	use = strstr(d.text, "; use --engine nic");
	T_HAS(d.text, "there is: nic, null");
	T_HAS(d.text, path);
	if (strstr(path, "socket") || strstr(path, "rdma"))
		return;
	T_NEED(use);
	/* a value only the user knows: fill in a MAC, or a core */
	for (from = use + 6; *from && n < 1000; from++) {
		if (strncmp(from, "=VALUE", 6)) {
			line[n++] = *from;
			continue;
		}
		n += sprintf(line + n, "=%s",
			     n > 8 && !strncmp(line + n - 8, "cpu_core", 8) ? "3"
									    : "02:00:00:00:00:02");
		from += 5;
	}
	line[n] = '\0';
	take_options(&w, line);
	r = gw_config_load(path, &w.o, &c, &d);
	if (r)
		T__FAIL("the printed command line \"%s\" is refused: %s", line, d.text);
	else
		gw_config_free(c);
	t__checks++;
}

static void one_file(const char *path)
{
	struct gw_config *c = NULL;
	struct gw_diag d = { "" };
	char line[512];
	struct words w;
	int r;

	options_of(path, line, sizeof(line));
	take_options(&w, line);
	r = gw_config_load(path, &w.o, &c, &d);
	t__checks++;
	if (r) {
		T__FAIL("%d: %s", r, d.text);
		return;
	}
	T_OK(gw__config(c)->n_ports > 0 && gw__config(c)->n_regions > 0);
	gw_config_free(c);
	c = NULL;
	w.o.strict = true; /* every key in these files is one we know */
	r = gw_config_load(path, &w.o, &c, &d);
	if (r)
		T__FAIL("strict: %s", d.text);
	gw_config_free(c);
	printed_way_out(path);
}

static const struct gw_cfg *open_one(const char *name, struct gw_config **c)
{
	const char *root = getenv("GW_SOURCE_DIR");
	struct gw_diag d = { "" };
	char path[1024], line[512];
	struct words w;

	snprintf(path, sizeof(path), "%s/tests/unit/config/files/%s.yaml", root ? root : ".", name);
	options_of(path, line, sizeof(line));
	take_options(&w, line);
	T_NEED(!gw_config_load(path, &w.o, c, &d));
	return gw__config(*c);
}

/* A few of them, looked at closely. */
static void contents(void)
{
	struct gw_config *c;
	const struct gw_cfg *g = open_one("raw_tx_rx_hds", &c);
	const char *s = NULL;

	T_EQ(g->port[1].rxq[0].n_regions, 2);
	T_STR(g->region[g->port[1].rxq[0].region[0]].name, "Header_RX");
	T_EQ(g->region[g->port[1].rxq[0].region[0]].kind, GW_MEM_HUGE);
	T_EQ(g->port[1].rx_flow[0].match.fields, GW_MATCH_IPV4_LEN);
	T_EQ(g->port[1].rx_flow[0].match.ipv4_len, 1050);
	gw_config_free(c);

	g = open_one("raw_tx_rx_multi_q", &c);
	T_EQ(g->port[1].rx_flow[1].match.udp_dst_lo, 4097);
	T_EQ(g->port[1].rx_flow[1].match.udp_dst_hi, 4100);
	T_RC(gw_config_str(c, "bench_tx.1.eth_dst_addr", &s, NULL), 1);
	T_STR(s, "02:00:00:00:00:02");
	gw_config_free(c);

	g = open_one("raw_rss", &c);
	T_EQ(g->port[1].rx_flow[0].action[0].n_queues, 4);
	T_EQ(g->port[1].rx_flow[0].action[0].queue[3], 3);
	gw_config_free(c);

	g = open_one("raw_sw_loopback", &c);
	T_EQ(g->n_ports, 1);
	T_STR(g->port[0].address, "loopback");
	T_EQ(g->loopback, GW_LOOPBACK_SW);
	T_OK(g->port[0].txq[0].tx_eth_src);
	gw_config_free(c);

	g = open_one("raw_rx_only", &c);
	T_EQ(g->region[0].access, 7);
	T_EQ(g->rx_meta_buffers, 512);
	T_EQ(g->port[0].rx_flow[0].match.fields, 0);
	gw_config_free(c);

	g = open_one("reorder_seq_batch", &c);
	T_EQ(g->port[1].reorder[0].packets_per_batch, 1024);
	T_EQ(g->port[1].reorder[0].batch_bit_width, 6);
	T_EQ(g->port[1].reorder[0].in_type, GW_ELEM_NONE);
	T_OK(!g->port[1].reorder[0].tensor_declared);
	gw_config_free(c);

	g = open_one("reorder_two_plans", &c);
	T_OK(g->port[1].reorder[0].drop_missing);
	T_EQ(g->port[1].reorder[1].in_type, GW_INT8);
	T_EQ(g->port[1].reorder[1].fill, GW_FILL_POISON);
	T_EQ(g->port[1].reorder[1].flow_ids[0], 2);
	gw_config_free(c);
}

/* Flows, sockets, polling, timestamps. */
static void more_contents(void)
{
	struct gw_config *c;
	const struct gw_cfg *g = open_one("flex_item", &c);
	const struct gw_action *a;

	T_EQ(g->port[1].rx_flow[0].match.fields, GW_MATCH_FLEX);
	T_EQ(g->port[1].rx_flow[0].match.flex_offset, 4);
	T_EQ(g->port[1].rx_flow[0].match.flex_val, 0x102);
	gw_config_free(c);

	g = open_one("vlan", &c);
	T_EQ(g->port[0].tx_flow[1].n_actions, 2);
	T_EQ(g->port[0].tx_flow[1].action[0].vlan.ethertype, 0x88a8);
	T_EQ(g->port[0].tx_flow[1].action[1].vlan.ethertype, 0x8100);
	T_EQ(g->port[1].rx_flow[0].action[0].type, GW_ACTION_VLAN_POP);
	gw_config_free(c);

	g = open_one("tunnel_vxlan", &c);
	a = &g->port[0].tx_flow[0].action[0];
	T_EQ(a->type, GW_ACTION_ENCAP);
	T_EQ(a->tunnel.type, GW_TUNNEL_VXLAN);
	T_EQ(a->tunnel.vni, 0x1234);
	T_EQ(a->tunnel.ttl, 32);
	T_EQ(a->tunnel.ipv4_dst[3], 2);
	gw_config_free(c);
	g = open_one("tunnel_nvgre", &c);
	a = &g->port[0].tx_flow[0].action[0];
	T_EQ(a->tunnel.type, GW_TUNNEL_NVGRE);
	T_EQ(a->tunnel.vni, 77);
	T_EQ(a->tunnel.flow_id, 3);
	gw_config_free(c);

	g = open_one("ethernet_match", &c);
	T_EQ(g->wait, GW_WAIT_BUSY);
	T_EQ(g->port[1].verify, GW_VERIFY_OFF);
	T_EQ(g->port[1].rx_flow[0].match.eth_dst[5], 2);
	T_EQ(g->port[1].rx_flow[2].action[0].type, GW_ACTION_DROP);
	T_EQ(g->port[1].rx_flow[3].match.ipv6_src[15], 1);
	T_OK(!g->port[1].flow_isolation);
	gw_config_free(c);

	g = open_one("socket_tcp", &c);
	T_EQ(g->stream, GW_STREAM_SOCKET);
	T_EQ(g->port[0].max_payload_size, 1048576);
	T_OK(g->port[0].server && !g->port[1].server);
	T_STR(g->port[1].remote_uri, "tcp://10.1.1.1:5000");
	gw_config_free(c);

	g = open_one("direct_poll", &c);
	T_EQ(g->port[1].rxq[0].poll, GW_POLL_DIRECT);
	gw_config_free(c);
	g = open_one("hardware_timestamps", &c);
	T_OK(g->port[1].hardware_timestamps && g->port[0].accurate_send);
	T_EQ(g->port[1].rxq[0].cpu_core, 9);
	gw_config_free(c);
	g = open_one("raw_tx_only", &c);
	T_EQ(g->port[0].txq[0].pacing_mbps, 10000);
	gw_config_free(c);
}

int main(void)
{
	const char *root = getenv("GW_SOURCE_DIR");
	char dir[900], path[1200];
	struct dirent *e;
	int n = 0;
	DIR *d;

	snprintf(dir, sizeof(dir), "%s/tests/unit/config/files", root ? root : ".");
	d = opendir(dir);
	T_NEED(d);
	while ((e = readdir(d)) != NULL) {
		if (!strstr(e->d_name, ".yaml"))
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		one_file(path);
		n++;
	}
	closedir(d);
	T_OK(n >= 33);
	contents();
	more_contents();
	T_EQ(gw__alloc_live(), 0);
	T_DONE();
}
