/* nn/nn_internal.h: what benches may ask of an open network beyond the public calls. */
#ifndef GW_NN_NN_INTERNAL_H
#define GW_NN_NN_INTERNAL_H

#include <gpuwire/nn.h>

/* One row a step of a batch of n, its time alone. 0; -ENOTSUP where the backend does not offer it. */
int gw__nn_profile(struct gw_nn *nn, uint32_t n, void (*row)(void *ctx, const char *text, double us), void *ctx);

#endif
