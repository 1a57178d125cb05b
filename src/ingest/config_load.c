/* ingest/config_load.c: from a path or a text to a checked gw_config; nothing half-made is handed out.
 * It must not know single keys. Next: config_check.c, config_fill.c, in the order of load() below. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/diag.h"
#include "base/log.h"
#include "ingest/config_load.h"

/* Read a whole file, at most the tree's bound + 1 byte, so that a bigger one is refused by size. */
static int read_file(const char *path, char **out, size_t *len, struct gw_diag *diag)
{
	size_t size = GW__YAML_MAX_BYTES + 1;
	FILE *f = fopen(path, "re");
	char *buf;
	int err = 0;

	if (!f)
		return gw__fail(diag, -errno, "%s: %s", path, strerror(errno));
	buf = gw__malloc(size);
	if (!buf) {
		err = gw__fail(diag, -ENOMEM, "%s: no memory", path);
	} else {
		*len = fread(buf, 1, size, f);
		if (ferror(f))
			err = gw__fail(diag, -(errno ? errno : EIO), "%s: %s", path,
				       strerror(errno ? errno : EIO));
	}
	fclose(f);
	if (err)
		gw__free(buf);
	else
		*out = buf;
	return err;
}

static int parse(struct gw__loader *l, const char *path_or_text)
{
	char *text = NULL;
	size_t len = 0;
	int r;

	if (strchr(path_or_text, '\n'))
		return gw__ytree_parse(&l->c->tree, "(text)", path_or_text, strlen(path_or_text),
				       l->diag);
	r = read_file(path_or_text, &text, &len, l->diag);
	if (r)
		return r;
	r = gw__ytree_parse(&l->c->tree, path_or_text, text, len, l->diag);
	gw__free(text);
	return r;
}

/* `daqiri: cfg:`, or the document itself. */
static int find_root(struct gw__loader *l)
{
	struct gw__ynode *d = gw__y_get(l->c->tree.root, "daqiri"), *cfg = gw__y_get(d, "cfg");

	l->c->cfg_node = l->c->tree.root;
	if (!d)
		return 0;
	if (!cfg || cfg->kind != GW__Y_MAP)
		return gw__cfg_bad(l, d, -EINVAL,
				   "cfg: missing; write daqiri: cfg: and the library's keys below "
				   "it");
	l->c->cfg_node = cfg;
	return 0;
}

static int load(struct gw__loader *l, const char *path_or_text)
{
	static int (*const steps[])(struct gw__loader *) = {
		find_root,
		gw__cfg_override,
		gw__cfg_check,
		gw__cfg_engine,
		gw__cfg_fill,
		gw__cfg_check_placeholders,
		gw__cfg_declare_tensor,
		gw__cfg_geometry,
		gw__cfg_settle_regions,
		gw__cfg_engine_check,
	};
	int r = parse(l, path_or_text);

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]) && !r; i++) {
		if (i == 2) {
			const struct gw__ynode *s = gw__cfg_node(l->c->cfg_node, "strict");

			l->strict = l->opts->strict || (s && gw__cfg_bool(l->c->cfg_node, "stric"
											  "t"));
		}
		r = steps[i](l);
	}
	return r;
}

int gw_config_load(const char *path_or_text, const struct gw_config_opts *opts,
		   struct gw_config **out, struct gw_diag *diag)
{
	static const struct gw_config_opts none = { .sz = sizeof(none) };
	struct gw_config_opts own = none;
	struct gw__loader l = { .diag = diag, .opts = &own };
	int r;

	if (!path_or_text || !*path_or_text)
		return gw__fail(diag, -EINVAL, "no configuration: give a file name or YAML text");
	if (opts && opts->sz < offsetof(struct gw_config_opts, address))
		return gw__fail(diag, -EINVAL,
				"opts.sz is %zu; set it to sizeof(struct gw_config_opts)",
				opts->sz);
	if (opts) {
		/* an older caller's struct is shorter: what it does not have stays at its default */
		memcpy(&own, opts, opts->sz < sizeof(own) ? opts->sz : sizeof(own));
		own.sz = sizeof(own);
	}
	if (own.tx_only && own.rx_only)
		return gw__fail(diag, -EINVAL,
				"tx_only and rx_only together leave nothing; choose one or "
				"neither");
	l.c = gw__calloc(1, sizeof(*l.c));
	if (!l.c)
		return gw__fail(diag, -ENOMEM, "no memory for a configuration");
	r = load(&l, path_or_text);
	if (r) {
		gw_config_free(l.c);
		return r;
	}
	*out = l.c;
	return 0;
}

void gw_config_free(struct gw_config *cfg)
{
	if (!cfg)
		return;
	gw__free(cfg->cfg.region);
	gw__free(cfg->cfg.port);
	gw__ytree_fini(&cfg->tree);
	gw__free(cfg);
}
