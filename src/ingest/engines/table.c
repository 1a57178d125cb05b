/* ingest/engines/table.c: which engines are in this build, and what to use in place of the others.
 * Must not know how an engine works. Next: one folder an engine. */
#include "ingest/engine.h"
#include "ingest/engines/null/null.h"
#ifdef GW_ENGINE_NIC
#include "ingest/engines/nic/nic_engine.h"
#endif

const struct gw__engine_row gw__engines[] = {
#ifdef GW_ENGINE_NIC
	{ .name = "nic", .ops = &gw__engine_nic },
#else
	{ .name = "nic", .reason = "this build leaves out src/ingest/engines/nic" },
#endif
	{ .name = "null", .ops = &gw__engine_null },
	{ .name = "mlx5", .reason = "needs a ConnectX and libibverbs; use engine nic" },
	{ .name = "ibverbs", .reason = "needs a ConnectX and libibverbs; use engine nic" },
	{ .name = "xdp", .reason = "needs libxdp; use engine nic" },
	{ .name = "dpdk", .reason = "needs DPDK; use engine nic" },
	{ .name = "sock", .reason = "the socket engine is not part of this build; use engine nic" },
	{ .name = NULL },
};
