/* urom_net/ucx/none.c: the same calls where UCX was not found at build time: one clear refusal.
 * Must not know UCX. Next: ucx.c. */
#include <errno.h>

#include "base/diag.h"
#include "urom_net/ucx.h"

int gw__ucx_open(struct gw__ucx_chan **out, struct gw_diag *diag)
{
	(void)out;
	return gw__fail(diag, -ENOTSUP, "ucx: this build has no UCX (libucx-dev was absent); use tcp: or unix:");
}

void gw__ucx_close(struct gw__ucx_chan *u)
{
	(void)u;
}

const void *gw__ucx_address(const struct gw__ucx_chan *u, size_t *len)
{
	(void)u;
	*len = 0;
	return NULL;
}

const uint8_t *gw__ucx_token(const struct gw__ucx_chan *u)
{
	(void)u;
	return NULL;
}

int gw__ucx_connect(struct gw__ucx_chan *u, const void *addr, size_t len, const uint8_t token[GW__UCX_TOKEN])
{
	(void)u;
	return -ENOTSUP;
}

int gw__ucx_send(struct gw__ucx_chan *u, const uint8_t hdr[GW__UROM_HDR], const void *payload, uint32_t len)
{
	(void)u;
	return -ENOTSUP;
}

int gw__ucx_recv(struct gw__ucx_chan *u, uint32_t max_msg, struct gw__frame *f)
{
	(void)u;
	return -ENOTSUP;
}

bool gw__ucx_arm(struct gw__ucx_chan *u)
{
	(void)u;
	return true;
}

int gw__ucx_event_fd(const struct gw__ucx_chan *u)
{
	(void)u;
	return -1;
}
