/* worker_graph/graph_wire.h: the plugin's messages, for both halves.
 *   command       u32 LOOPBACK, u64 data
 *   notification  u64 data
 * Must not know either half. Next: urom_graph.c (host), worker_graph.c (worker). */
#ifndef GRAPH_WIRE_H
#define GRAPH_WIRE_H

#include <doca_urom_pack.h>

#define GRAPH_VERSION 1u
#define GRAPH_LOOPBACK 1u

#endif
