/* ingest/counters.h: one row a counter: name, meaning, whose it is, where it stands in its struct.
 * The rows know no queue. Next: counters.c. */
#ifndef GW_INGEST_COUNTERS_H
#define GW_INGEST_COUNTERS_H

#include <stddef.h>

struct gw__counter_row {
	const char *name, *help;
	const char *scope; /* "port", "receive queue", "transmit queue", "reorder plan" */
	size_t at; /* offset of the uint64_t in gw_port_stats, gw_queue_stats or gw_reorder_stats */
};

/* each ends with name NULL */
extern const struct gw__counter_row gw__port_rows[], gw__rxq_rows[], gw__txq_rows[],
	gw__plan_rows[];

/* All of them, in order; NULL past the end. */
const struct gw__counter_row *gw__counter_nth(size_t i);

#endif
