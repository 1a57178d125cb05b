/* urom_ctl/ctl.h: questions to a daemon, one at a time, for the command line.
 * Must not know workers' channels. Next: ctl.c, apps/uromctl. */
#ifndef GW_UROM_CTL_H
#define GW_UROM_CTL_H

#include <gpuwire/common.h>

#include "urom_net/handshake.h"

struct gw__ctl {
	struct gw__dial dial;
	struct gw__key key;
	uint64_t n_asked;
	uint32_t timeout_ms;
};

/* endpoint NULL: DOCA_UROM_ENDPOINT, else the default socket. key_file NULL: UROM_KEY_FILE, else none. Blocks,
 * at most timeout_ms. 0 or negative with diag. */
int gw__ctl_open(struct gw__ctl *c, const char *endpoint, const char *key_file, uint32_t timeout_ms,
		 struct gw_diag *diag);
void gw__ctl_close(struct gw__ctl *c);
/* The daemon's page of text ("word value ..." lines) into out. */
int gw__ctl_status(struct gw__ctl *c, char *out, size_t cap, struct gw_diag *diag);
/* One round trip; its time. */
int gw__ctl_ping(struct gw__ctl *c, uint64_t *rtt_ns, struct gw_diag *diag);
int gw__ctl_stop_worker(struct gw__ctl *c, uint64_t id, struct gw_diag *diag);

#endif
