/* link/link.c: from an address to a link; defaults for ops that a kind does not need.
 * Must not know what kinds do. Next: cable.c. */
#include "link/link.h"

#include <errno.h>
#include <string.h>

#include "base/diag.h"

static const struct {
	const char *word;
	int (*open)(const char *rest, struct gw__clock *clock, struct gw__link **out, struct gw_diag *diag);
} kinds[] = {
	{ "cable", gw__cable_open },
	{ "loopback", gw__loopback_open },
	{ "shm", gw__shm_open },
	{ "pcap", gw__pcap_open },
	{ "pcap-out", gw__pcap_out_open },
	{ "impair", gw__impair_open },
};

int gw__link_open(const char *address, struct gw__clock *clock, struct gw__link **out, struct gw_diag *diag)
{
	const char *colon = strchr(address, ':');
	size_t n = colon ? (size_t)(colon - address) : strlen(address);

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strlen(kinds[i].word) == n && !strncmp(kinds[i].word, address, n))
			return kinds[i].open(colon ? colon + 1 : "", clock, out, diag);
	return gw__fail(diag, -EINVAL,
			"address \"%s\" names no link; use cable:N, loopback, shm:NAME, pcap:FILE or pcap-out:FILE",
			address);
}

void gw__link_plug(struct gw__link *link, const struct gw__link_sink *sink)
{
	link->sink = *sink;
	link->ops->plugged(link);
}

void gw__link_close(struct gw__link *link)
{
	if (link)
		link->ops->close(link);
}

bool gw__link_no_arm(struct gw__link *link)
{
	return false;
}

void gw__link_no_resume(struct gw__link *link)
{
}

uint64_t gw__link_no_due(struct gw__link *link)
{
	return UINT64_MAX;
}

int gw__link_no_watch(struct gw__link *link, struct gw__event *event)
{
	return 0;
}

void gw__link_no_plugged(struct gw__link *link)
{
}
