/* ingest/engines/about.c: what this library is made of, row by row.
 * Must not start anything. Next: table.c for the engines, include/gpuwire/version.h. */
#include <errno.h>
#include <gpuwire/version.h>
#include <stdio.h>

#include "gpu/gpu.h"
#include "ingest/engine.h"
#include "reorder/convert.h"
#ifdef GW_ENGINE_NIC
#include "link/link.h"
#endif

static int row(struct gw_about *out, enum gw_about_topic topic, const char *name, int usable, const char *text)
{
	*out = (struct gw_about){ .topic = topic, .name = name, .usable = usable };
	snprintf(out->text, sizeof(out->text), "%s", text);
	return 0;
}

static int gpu_row(struct gw_about *out, uint32_t i)
{
	const struct gw__gpu_ops *gpu = gw__gpu();

	if (!i)
		return row(out, GW_ABOUT_GPU, gpu->name, 1, gpu->describe());
	if (*gw__gpu_why_emu())
		return row(out, GW_ABOUT_GPU, "cuda", 0, gw__gpu_why_emu());
	return row(out, GW_ABOUT_GPU, "emu", 0, "a GPU answers; GPUWIRE_GPU=emu forces the CPU");
}

int gw_about(uint32_t i, struct gw_about *out)
{
	uint32_t n = 0;

	while (gw__engines[n].name) {
		const struct gw__engine_row *e = &gw__engines[n];

		if (i == n++)
			return row(out, GW_ABOUT_ENGINE, e->name, e->ops != NULL, e->ops ? "built in" : e->reason);
	}
	i -= n;
	switch (i) {
	case 0:
	case 1:
		return gpu_row(out, i);
	case 2:
		return row(out, GW_ABOUT_SIMD, gw__simd_name(gw__simd_best()), 1, "reorder and conversion");
	case 3:
		return row(out, GW_ABOUT_LIBRARY, "libyaml", 1, gw__yaml_version());
#ifdef GW_ENGINE_NIC
	case 4:
		return row(out, GW_ABOUT_LIBRARY, "libpcap", 1, gw__link_pcap_version());
#endif
	default:
		return -ENOENT;
	}
}
