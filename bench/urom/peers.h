/* bench/urom/peers.h: round trips of others, measured in the same run as ours: the ceilings of this machine.
 * Must not know UROM. Next: peer_socket.c, peer_ucx.c. */
#ifndef BENCH_UROM_PEERS_H
#define BENCH_UROM_PEERS_H

#include <stdbool.h>
#include <stddef.h>

#include "timing.h"

#define MESSAGE 64 /* bytes */
#define CPU_NEAR 0
#define CPU_FAR 1

/* Median round trip of n messages of `bytes` with a child process pinned to the other CPU, microseconds; negative:
 * cannot be measured here. */
double peer_unix(int n, bool blocking, size_t bytes);
double peer_tcp(int n, bool blocking, size_t bytes);
/* Active messages by worker address, transport posix shared memory, both sides polling. */
double peer_ucx_posix(int n, size_t bytes);

void pin(int cpu);               /* does nothing where there is one CPU */

#endif
