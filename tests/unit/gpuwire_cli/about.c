/* tests/unit/gpuwire_cli/about.c: the rows of gw_about() and gw_nn_about() are whole and agree with other calls.
 * Must not know the machine. Next: include/gpuwire/version.h. */
#include <errno.h>
#include <gpuwire/gpuwire.h>
#include <stdbool.h>
#include <string.h>

#include "t.h"

static void rows(int (*about)(uint32_t i, struct gw_about *out), enum gw_about_topic first, enum gw_about_topic last,
		 uint32_t *count)
{
	struct gw_about a, before = { .topic = first };
	uint32_t i;

	for (i = 0; !about(i, &a); i++) {
		T_OK(a.topic >= before.topic && a.topic <= last);
		T_OK(a.name && *a.name && *a.text && (a.usable == 0 || a.usable == 1));
		T_OK(strlen(a.text) < sizeof(a.text));
		count[a.topic]++;
		before = a;
	}
	T_OK(i > 0);
	memset(&a, 0x5a, sizeof(a));
	before = a;
	T_OK(about(i, &a) == -ENOENT && about(UINT32_MAX, &a) == -ENOENT);
	T_OK(!memcmp(&a, &before, sizeof(a)));
}

int main(void)
{
	uint32_t count[GW_ABOUT_NN + 1] = { 0 };
	struct gw_about a;
	bool null = false, backend = false;

	rows(gw_about, GW_ABOUT_ENGINE, GW_ABOUT_LIBRARY, count);
	rows(gw_nn_about, GW_ABOUT_NN, GW_ABOUT_NN, count);
	T_OK(count[GW_ABOUT_ENGINE] >= 3 && count[GW_ABOUT_GPU] == 2 && count[GW_ABOUT_SIMD] == 1);
	T_OK(count[GW_ABOUT_LIBRARY] >= 1 && count[GW_ABOUT_NN] == 2);
	for (uint32_t i = 0; !gw_about(i, &a); i++) {
		null |= !strcmp(a.name, "null") && a.usable;
		if (a.topic == GW_ABOUT_GPU && a.usable)
			backend = !strcmp(a.name, gw_gpu_backend());
	}
	T_OK(null && backend);
	T_DONE();
}
