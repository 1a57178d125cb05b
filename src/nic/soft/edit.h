/* nic/soft/edit.h: tags and tunnels put on and taken off a frame, as a new gather list.
 * Must not know rules. Next: edit.c. */
#ifndef GW_NIC_SOFT_EDIT_H
#define GW_NIC_SOFT_EDIT_H

#include "link/link.h"
#include "wire/bytes.h"
#include "wire/tunnel.h"

#define EDIT_FRONT (GW_MAX_ACTIONS * GW_TUNNEL_MAX + 2) /* room for headers in front */
#define EDIT_BUF (EDIT_FRONT + GW_PARSE_MAX + GW_MAX_ACTIONS * 64u)

/* The packet = buf[from, to), then the frame from byte skip on; len bytes in all. */
struct soft_edit {
	const struct gw__frame *frame;
	uint32_t skip, len, from, to;
	uint8_t buf[EDIT_BUF];
};

void soft_edit_begin(struct soft_edit *e, const struct gw__frame *f);
/* 0, or -EMSGSIZE, -EPROTO: the frame cannot be changed so. */
int soft_edit_push_vlan(struct soft_edit *e, const struct gw_action *a);
int soft_edit_encap(struct soft_edit *e, const struct gw_action *a);
int soft_edit_decap(struct soft_edit *e, const struct gw_action *a);
/* Outermost tag. 1 and *tci, or 0: there is none. */
int soft_edit_pop_vlan(struct soft_edit *e, uint16_t *tci);
/* The result points into e and into the frame's own memory. */
int soft_edit_end(struct soft_edit *e, struct gw__frame *out);

#endif
