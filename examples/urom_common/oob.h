/* oob.h: ways for the ranks of a program to exchange a few bytes without UROM: an allgather over TCP (rank 0
 * is the meeting point), over a socket pair for two ranks of one program, or over MPI (mpi_oob.h).
 * Must not know workers. Next: oob.c. */
#ifndef UROM_OOB_H_
#define UROM_OOB_H_

#include <doca_urom.h>

struct urom_oob;

/* Rank 0 listens at host:port, the others call it, at most timeout_ms. Blocks. */
doca_error_t urom_oob_tcp(uint32_t rank, uint32_t size, const char *host, const char *port, int timeout_ms,
			  struct urom_oob **out);
/* Two ranks on the two ends of a socket. Takes fd. */
doca_error_t urom_oob_pair(uint32_t rank, int fd, struct urom_oob **out);
void urom_oob_close(struct urom_oob *oob);
/* The functions that doca_urom_domain_set_oob() wants. oob must outlive the domain's start. */
struct doca_urom_domain_oob_coll urom_oob_coll(struct urom_oob *oob);
/* Everybody is here. Blocks, at most 30 s; CONNECTION_RESET when a rank died. */
doca_error_t urom_oob_barrier(struct urom_oob *oob);

#endif
