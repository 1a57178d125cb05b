/* nn/cudnn/kernels_lane.c: the kernels of kernels.cu as lanes for the emulator. */
#include "kernels.cu"
