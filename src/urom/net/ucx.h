/* urom_net/ucx.h: frames as UCX active messages, behind the handshake of a socket channel.
 * Must not know frames beyond their header's size. Next: ucx/ucx.c, or ucx/none.c when built without.
 *
 * The socket finds the peer, proves who it is and sees it die; UCX moves the frames. UCX chooses transports
 * and devices by its own variables (UCX_TLS, UCX_NET_DEVICES). libucp is opened on first use. */
#ifndef GW_UROM_NET_UCX_H
#define GW_UROM_NET_UCX_H

#include <gpuwire/common.h>
#include <stdbool.h>

#include "urom_net/frame.h"

#define GW__UCX_TOKEN 16u
#define GW__UCX_ADDR_MAX 4096u

struct gw__ucx_chan;

/* -ENOTSUP: built without, or libucp is not installed. */
int gw__ucx_open(struct gw__ucx_chan **out, struct gw_diag *diag);
void gw__ucx_close(struct gw__ucx_chan *u);
/* What the peer needs: our worker address (borrowed) and the token that its messages must carry. */
const void *gw__ucx_address(const struct gw__ucx_chan *u, size_t *len);
const uint8_t *gw__ucx_token(const struct gw__ucx_chan *u);
int gw__ucx_connect(struct gw__ucx_chan *u, const void *addr, size_t len, const uint8_t token[GW__UCX_TOKEN]);
/* payload is copied. 0, -EAGAIN (much in flight), -ENOMEM, -ECONNRESET. */
int gw__ucx_send(struct gw__ucx_chan *u, const uint8_t hdr[GW__UROM_HDR], const void *payload, uint32_t len);
/* As gw__chan_recv(). */
int gw__ucx_recv(struct gw__ucx_chan *u, uint32_t max_msg, struct gw__frame *f);
bool gw__ucx_arm(struct gw__ucx_chan *u);
int gw__ucx_event_fd(const struct gw__ucx_chan *u);

#endif
