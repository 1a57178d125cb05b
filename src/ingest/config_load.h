/* ingest/config_load.h: what the config_*.c files share while one file is being read.
 * Order: tree -> overrides -> config_check (types, bounds, spelling) -> config_fill (structs, rules) ->
 * config_flow, config_reorder -> config_geometry. Nothing outside config_*.c includes this. */
#ifndef GW_INGEST_CONFIG_LOAD_H
#define GW_INGEST_CONFIG_LOAD_H

#include "ingest/config.h"
#include "ingest/config_table.h"
#include "ingest/config_tree.h"

struct gw_config {
	struct gw__ytree tree;
	struct gw__ynode *cfg_node; /* `daqiri: cfg:`, or the root */
	struct gw_cfg cfg;
};

struct gw__loader {
	struct gw_config *c;
	const struct gw_config_opts *opts; /* never NULL */
	struct gw_diag *diag;
	bool strict;
	bool cable;                        /* every address is replaced by a cable */
	uint32_t flex_id[GW_CFG_MAX_FLEX]; /* of the interface being read */
	uint16_t flex_port[GW_CFG_MAX_FLEX], flex_offset[GW_CFG_MAX_FLEX];
	uint32_t n_flex;
	int scheme; /* of the socket interfaces so far: gw__cfg_uri_scheme() */
};

/* "file:line: path: sentence" into *diag; returns err. `at` is the value's node. */
int gw__cfg_bad(struct gw__loader *l, const struct gw__ynode *at, int err, const char *fmt, ...)
	GW_PRINTF(4, 5);
/* The same line to the log, as a warning. */
void gw__cfg_warn(struct gw__loader *l, const struct gw__ynode *at, const char *fmt, ...)
	GW_PRINTF(3, 4);
/* A key that should be there is not: names the map, the key and a near miss if there is one. */
int gw__cfg_missing(struct gw__loader *l, const struct gw__ynode *map, const char *key,
		    const char *why);

/* config_check.c: every value against its row. Sets node->row. */
int gw__cfg_check(struct gw__loader *l);
/* One scalar against a row; also for getters. */
int gw__cfg_check_scalar(struct gw__loader *l, const struct gw__ynode *n,
			 const struct gw__key *row);
/* Placeholders that are still there and matter. */
int gw__cfg_check_placeholders(struct gw__loader *l);
/* Is this node in a part that --mode tx or rx leaves out? */
bool gw__cfg_left_out(const struct gw__loader *l, const struct gw__ynode *n);

/* config_get.c: checked values by key below a map, or the row's default; 0, "", false where there is none. */
const struct gw__ynode *gw__cfg_node(const struct gw__ynode *map,
				     const char *key); /* NULL if absent or null */
uint64_t gw__cfg_u64(const struct gw__ynode *map, const char *key);
int64_t gw__cfg_i64(const struct gw__ynode *map, const char *key);
bool gw__cfg_bool(const struct gw__ynode *map, const char *key);
const char *gw__cfg_str(const struct gw__ynode *map, const char *key);
/* Which of the row's words, from 0. */
int gw__cfg_enum(const struct gw__ynode *map, const char *key);
/* The next part of a dotted path into key; returns the rest. "a[0].b" is "a.0.b". */
const char *gw__cfg_part(const char *path, char *key, size_t n);
/* The row that a path speaks of, whether or not a file has the key. */
const struct gw__key *gw__cfg_row(const char *path);
struct gw__ynode *gw__cfg_find(const struct gw_config *c, const char *path); /* "a.b.0.c" */

/* config_set.c: --set and the rest of what the command line changes. */
int gw__cfg_override(struct gw__loader *l);

/* config_engine.c: which engine, which addresses. */
int gw__cfg_engine(struct gw__loader *l);
int gw__cfg_engine_check(struct gw__loader *l);
int gw__cfg_address(struct gw__loader *l, const struct gw__ynode *iface, struct gw_cfg_port *port);

/* config_fill.c, config_flow.c, config_reorder.c, config_geometry.c */
int gw__cfg_fill(struct gw__loader *l);
/* Last: regions that nothing uses are left out in --mode tx|rx, else warned of. */
int gw__cfg_settle_regions(struct gw__loader *l);
/* 1 tcp, 2 udp, 3 roce or rdma, 0 none of them */
int gw__cfg_uri_scheme(const char *uri);
int gw__cfg_fill_flows(struct gw__loader *l, const struct gw__ynode *rx, const struct gw__ynode *tx,
		       struct gw_cfg_port *port);
int gw__cfg_fill_reorder(struct gw__loader *l, const struct gw__ynode *rx,
			 struct gw_cfg_port *port);
int gw__cfg_declare_tensor(struct gw__loader *l);
int gw__cfg_geometry(struct gw__loader *l);
/* Slots of all that share the queue's regions: the smallest num_bufs. */
uint64_t gw__cfg_slots(const struct gw_cfg *cfg, const struct gw_cfg_queue *q);
/* The queue that a plan's packets come out of: the first of those that feed it. */
const struct gw_cfg_queue *gw__cfg_reorder_queue(const struct gw_cfg_port *port,
						 const struct gw_cfg_reorder *r);
/* Region index by name, or -1. */
int gw__cfg_region(const struct gw_cfg *cfg, const char *name);
/* Bounded copy of a name; false: too long. */
bool gw__cfg_copy(char *dst, size_t size, const char *src);

#endif
