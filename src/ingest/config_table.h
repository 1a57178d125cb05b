/* ingest/config_table.h: one row describes one key: the parser, `config explain`, the JSON schema, the man
 * page and the docs page all read the same rows, so they cannot disagree.
 * The rows know no parser. Next: config_table.c (the library's keys), config_table_apps.c (the programs'). */
#ifndef GW_INGEST_CONFIG_TABLE_H
#define GW_INGEST_CONFIG_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gw__key_type {
	GW__KEY_MAP,     /* of the rows below it */
	GW__KEY_LIST,    /* of such maps */
	GW__KEY_MAPLIST, /* one such map, or a list of them */
	GW__KEY_INT,
	GW__KEY_BOOL,
	GW__KEY_STR,
	GW__KEY_ENUM,  /* one of `words` */
	GW__KEY_ENUMS, /* a list of `words` */
	GW__KEY_STRS,  /* a list of names */
	GW__KEY_INTS,  /* a list of numbers */
	GW__KEY_MAC,
	GW__KEY_IPV4,
	GW__KEY_IPV6,
	GW__KEY_PORTS,   /* a UDP port or a-b */
	GW__KEY_REFUSED, /* an older spelling; `meaning` says what to write instead */
};

/* Where a key comes from: the DAQIRI reference's snapshot, its later files, or gpuwire itself. */
enum gw__key_since { GW__SINCE_HEAD, GW__SINCE_LATER, GW__SINCE_OURS };

struct gw__key {
	/* Full path: "interfaces[].rx.queues[].cpu_core"; [] marks a list. "$action.type" belongs to a group
	 * that several keys share through `group`. */
	const char *path;
	enum gw__key_type type;
	enum gw__key_since since;
	bool required;
	const char *unit; /* NULL = none */
	int64_t lo;
	uint64_t hi;         /* INT, INTS: inclusive bounds */
	const char *def;     /* the default as it would be written; NULL = none */
	const char *words;   /* ENUM, ENUMS: "a|b|c" */
	const char *group;   /* MAP, LIST: children are the rows below this path */
	const char *meaning; /* one sentence, no full stop */
};

extern const struct gw__key gw__keys[]; /* the library's; ends with path NULL */
extern const struct gw__key
	gw__app_keys[]; /* the programs' blocks at the root; ends with path NULL */

/* All rows, in order; NULL past the end. */
const struct gw__key *gw__key_nth(size_t i);
/* The row of `key` below `parent` (NULL = the root). NULL: no such key. */
const struct gw__key *gw__key_child(const struct gw__key *parent, const char *key);
/* The next direct child row after `prev` (NULL = the first) below `parent`. */
const struct gw__key *gw__key_next(const struct gw__key *parent, const struct gw__key *prev);
/* The last part of the row's path. */
const char *gw__key_name(const struct gw__key *row);
/* The closest spelling below parent, at most 3 edits away, or NULL. */
const struct gw__key *gw__key_nearest(const struct gw__key *parent, const char *key);
/* Does the row belong to the library's block rather than to a program's? */
bool gw__key_in_library(const struct gw__key *row);
bool gw__key_is_number(const struct gw__key *row);
/* Does "a|b|c" hold the word? */
bool gw__key_has_word(const char *words, const char *word);

#endif
