/* mpi_oob.h: the domain's allgather over MPI, when a launcher started us. Next: mpi_oob.c, no_mpi.c. */
#ifndef UROM_MPI_OOB_H_
#define UROM_MPI_OOB_H_

#include <doca_urom.h>

/* SUCCESS: initialised, *coll filled. NOT_FOUND: no launcher started us. NOT_SUPPORTED: built without MPI. */
doca_error_t mpi_oob_open(struct doca_urom_domain_oob_coll *coll);
doca_error_t mpi_oob_barrier(void);
void mpi_oob_close(void);

#endif
