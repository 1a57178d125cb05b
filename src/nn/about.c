/* nn/about.c: who can compute networks in this process, in words.
 * Must not know a network. Next: backend.h, include/gpuwire/nn.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "nn/backend.h"

static int onednn(struct gw_about *out)
{
#ifdef GW_WITH_ONEDNN
	gw__onednn_about(out->text, sizeof(out->text));
	return 1;
#else
	snprintf(out->text, sizeof(out->text), "this build has no oneDNN; rebuild with libdnnl-dev and WITH_ONEDNN=ON");
	return 0;
#endif
}

/* Without a GPU the library is not even opened: it would be of no use. */
static int cudnn(struct gw_about *out)
{
#ifdef GW_WITH_CUDNN
	if (!strcmp(gw_gpu_backend(), "cuda"))
		return !gw__cudnn_about(out->text, sizeof(out->text));
	snprintf(out->text, sizeof(out->text), "built in; opened once a GPU answers");
#else
	snprintf(out->text, sizeof(out->text), "this build has no cuDNN; rebuild where cudnn.h is");
#endif
	return 0;
}

int gw_nn_about(uint32_t i, struct gw_about *out)
{
	if (i > 1)
		return -ENOENT;
	memset(out, 0, sizeof(*out));
	out->topic = GW_ABOUT_NN;
	out->name = i ? "cudnn" : "onednn";
	out->usable = i ? cudnn(out) : onednn(out);
	return 0;
}
