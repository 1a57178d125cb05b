/* reorder/cuda/scatter_lane.c: the kernels of scatter.cu as lanes for the emulator. */
#include "scatter.cu"
