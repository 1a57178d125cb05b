/* mpi_oob.c: the only file that includes MPI: Iallgather and Test for a domain's start, and a barrier.
 * Must not know workers. Next: main.c. */
#include "mpi_oob.h"

#include <mpi.h>
#include <stdlib.h>

struct request {
	MPI_Request req;
};

static doca_error_t allgather(void *sbuf, void *rbuf, size_t msglen, void *coll_info, void **req)
{
	struct request *r = malloc(sizeof(*r));

	(void)coll_info;
	if (!r)
		return DOCA_ERROR_NO_MEMORY;
	if (MPI_Iallgather(sbuf, (int)msglen, MPI_BYTE, rbuf, (int)msglen, MPI_BYTE, MPI_COMM_WORLD, &r->req)) {
		free(r);
		return DOCA_ERROR_DRIVER;
	}
	*req = r;
	return DOCA_SUCCESS;
}

static doca_error_t req_test(void *req)
{
	struct request *r = req;
	int done = 0;

	if (MPI_Test(&r->req, &done, MPI_STATUS_IGNORE))
		return DOCA_ERROR_DRIVER;
	return done ? DOCA_SUCCESS : DOCA_ERROR_IN_PROGRESS;
}

static doca_error_t req_free(void *req)
{
	free(req);
	return DOCA_SUCCESS;
}

doca_error_t mpi_oob_open(struct doca_urom_domain_oob_coll *coll)
{
	int rank, size;

	if (!getenv("OMPI_COMM_WORLD_SIZE") && !getenv("PMI_SIZE"))
		return DOCA_ERROR_NOT_FOUND;
	if (MPI_Init(NULL, NULL) || MPI_Comm_rank(MPI_COMM_WORLD, &rank) || MPI_Comm_size(MPI_COMM_WORLD, &size))
		return DOCA_ERROR_DRIVER;
	*coll = (struct doca_urom_domain_oob_coll){ .allgather = allgather, .req_test = req_test, .req_free = req_free,
						    .n_oob_indexes = (uint32_t)size, .oob_index = (uint32_t)rank };
	return DOCA_SUCCESS;
}

doca_error_t mpi_oob_barrier(void)
{
	return MPI_Barrier(MPI_COMM_WORLD) ? DOCA_ERROR_DRIVER : DOCA_SUCCESS;
}

void mpi_oob_close(void)
{
	MPI_Finalize();
}
