/* gpuwire/config.h: one YAML file, read with line numbers kept, checked before anything starts.
 *
 * The vendor's keys, both root forms (`daqiri: cfg:` or the document itself), block and flow style. Scalars
 * stay text until a typed getter reads them. Every refusal names file:line, key, value, bound and the
 * corrected value. Source: DAQIRI configuration reference. */
#ifndef GPUWIRE_CONFIG_H
#define GPUWIRE_CONFIG_H

#include <gpuwire/common.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

struct gw_config;

struct gw_config_opts {
	size_t sz;                     /* sizeof(struct gw_config_opts) */
	const char *engine;            /* replaces `engine:`; NULL = as written */
	const char *const *address;    /* "PORT=cable:0" (PORT = interface name), NULL-terminated, or NULL */
	const char *const *set;        /* "path.to.key=value", NULL-terminated, or NULL */
	bool strict;                   /* unknown keys are errors, not warnings */
	bool tx_only, rx_only;         /* leave the other direction's queues out (--mode tx|rx) */
};

/* Read and check a file (or, if `text` holds a newline, the text itself).
 *   path_or_text  file name, or YAML text
 *   opts          NULL = defaults
 * Returns 0; -ENOENT, -EACCES; -EPROTO not YAML; -EINVAL a value or rule; -ENOTSUP something absent here,
 * named with what to use instead; -ENOMEM. *out only on success. Any thread. Caller owns:
 * gw_config_free(). Blocks: reads the file. Warnings go to the log. */
GW_API GW_MUST_CHECK int gw_config_load(const char *path_or_text, const struct gw_config_opts *opts,
					struct gw_config **out, struct gw_diag *diag);
/* Free it; NULL is fine. Returns nothing. Threads: one, and no gw_* call may use it any more. Ownership: the
 * strings of gw_config_str() end with it. Blocks: no. */
GW_API void gw_config_free(struct gw_config *cfg);

/* Typed getters by path, for program blocks ("inference.cpu_core", "bench_rx.0.queue_id" or, for a map,
 * "bench_rx.queue_id"). Defaults come from the one key table; *out is written only on success.
 * Return 1 if written in the file, 0 if the default was used, -ENOENT if absent without a default,
 * -EINVAL/-ERANGE with *diag if the text does not fit. Ownership: strings are borrowed from cfg and live as long.
 * Any thread. Blocks: no. */
GW_API GW_MUST_CHECK int gw_config_u64(const struct gw_config *cfg, const char *path, uint64_t *out,
				       struct gw_diag *diag);
GW_API GW_MUST_CHECK int gw_config_i64(const struct gw_config *cfg, const char *path, int64_t *out,
				       struct gw_diag *diag);
GW_API GW_MUST_CHECK int gw_config_bool(const struct gw_config *cfg, const char *path, bool *out,
					struct gw_diag *diag);
GW_API GW_MUST_CHECK int gw_config_str(const struct gw_config *cfg, const char *path, const char **out,
				       struct gw_diag *diag);
/* Where a key stands: "file:line" into buf, or the file alone if the key is absent.
 *   n  bytes of buf; what does not fit is cut off, with a NUL at the end
 * Returns nothing. Any thread. Ownership: buf is the caller's. Blocks: no. */
GW_API void gw_config_where(const struct gw_config *cfg, const char *path, char *buf, size_t n);

/* The one table of keys, in words: what the parser checks is what these say. */
enum gw_config_doc {
	GW_CONFIG_EXPLAIN,  /* one key (or counter) by name, or, with key NULL, one line for each */
	GW_CONFIG_SCHEMA,   /* JSON Schema, for editors */
	GW_CONFIG_MAN,      /* gpuwire-config.5 as scdoc source */
	GW_CONFIG_MARKDOWN, /* docs/config.md */
};
typedef void (*gw_config_text_fn)(void *ctx, const char *text);

/* Write a description, piece by piece.
 *   key  EXPLAIN: "interfaces.0.rx.queues.0.timeout_us", "timeout_us", or NULL; else not read
 *   fn   called with each piece of text, on the caller's thread
 * Returns 0; -ENOENT no such key (*diag: the nearest spelling); -EINVAL. Any thread. Ownership: text is lent to fn
 * for its call only. Blocks: no. */
GW_API GW_MUST_CHECK int gw_config_describe(enum gw_config_doc what, const char *key, gw_config_text_fn fn,
					    void *ctx, struct gw_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
