/* bench/gpu/plain_read_lane.c: the kernel of plain_read.cu as a lane for the emulator. */
#include "plain_read.cu"
