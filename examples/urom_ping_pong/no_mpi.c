/* no_mpi.c: the same calls where MPI was not found at build time. Next: mpi_oob.c. */
#include "mpi_oob.h"

doca_error_t mpi_oob_open(struct doca_urom_domain_oob_coll *coll)
{
	(void)coll;
	return DOCA_ERROR_NOT_SUPPORTED;
}

doca_error_t mpi_oob_barrier(void)
{
	return DOCA_ERROR_NOT_SUPPORTED;
}

void mpi_oob_close(void)
{
}
