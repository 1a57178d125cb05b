/* bench/urom/peer_no_ucx.c: where UCX was not found at build time. */
#include "peers.h"

double peer_ucx_posix(int n, size_t bytes)
{
	(void)n;
	(void)bytes;
	return -1;
}
