/* doca/error.c: the words of doca_error_t and its one mapping to errno.
 * Must not know any object. Next: ctx.c. */
#include "doca/error.h"

#include <errno.h>
#include <stddef.h>

/* One row a code; errno 0 = this code has no errno of its own. */
static const struct row {
	const char *name;
	const char *text;
	int err;
} rows[] = {
#define ROW(n, e, t) [DOCA_ERROR_##n] = { "DOCA_ERROR_" #n, t, e }
	[DOCA_SUCCESS] = { "DOCA_SUCCESS", "Success", 0 },
	ROW(UNKNOWN, 0, "Unknown error"),
	ROW(NOT_PERMITTED, EPERM, "Operation not permitted"),
	ROW(IN_USE, EBUSY, "Resource still in use"),
	ROW(NOT_SUPPORTED, ENOTSUP, "Operation not supported here"),
	ROW(AGAIN, EAGAIN, "Resource temporarily unavailable, try again"),
	ROW(INVALID_VALUE, EINVAL, "Invalid argument"),
	ROW(NO_MEMORY, ENOMEM, "Out of memory"),
	ROW(INITIALIZATION, ENODEV, "Initialisation failed"),
	ROW(TIME_OUT, ETIMEDOUT, "Time ran out"),
	ROW(SHUTDOWN, ESHUTDOWN, "Shut down before completion"),
	ROW(CONNECTION_RESET, ECONNRESET, "Connection reset by the peer"),
	ROW(CONNECTION_ABORTED, ECONNABORTED, "Connection aborted"),
	ROW(CONNECTION_INPROGRESS, EALREADY, "Connection still being made"),
	ROW(NOT_CONNECTED, ENOTCONN, "Not connected"),
	ROW(NO_LOCK, ENOLCK, "Lock not available"),
	ROW(NOT_FOUND, ENOENT, "Not found"),
	ROW(IO_FAILED, EIO, "Input or output failed"),
	ROW(BAD_STATE, EBADFD, "Object is in the wrong state for this call"),
	ROW(UNSUPPORTED_VERSION, EPROTONOSUPPORT, "Version not supported by the other side"),
	ROW(OPERATING_SYSTEM, ENOSYS, "The operating system refused the call"),
	ROW(DRIVER, EREMOTEIO, "Driver failed"),
	ROW(UNEXPECTED, EPROTO, "Unexpected data or event"),
	ROW(ALREADY_EXIST, EEXIST, "Exists already"),
	ROW(FULL, ENOBUFS, "No room left in the resource"),
	ROW(EMPTY, ENODATA, "Nothing there"),
	ROW(IN_PROGRESS, EINPROGRESS, "Begun, not finished: make progress"),
	ROW(TOO_BIG, EMSGSIZE, "Bigger than the limit"),
	ROW(AUTHENTICATION, EACCES, "Authentication failed"),
	ROW(BAD_CONFIG, EDOM, "Configuration refused"),
	ROW(SKIPPED, ECANCELED, "Skipped"),
	ROW(DEVICE_FATAL_ERROR, EHOSTDOWN, "Device failed for good"),
#undef ROW
};

#define N_ROWS (sizeof(rows) / sizeof(rows[0]))

static const struct row *row_of(doca_error_t error)
{
	return (size_t)error < N_ROWS ? &rows[error] : &rows[DOCA_ERROR_UNKNOWN];
}

const char *doca_error_get_name(doca_error_t error)
{
	return row_of(error)->name;
}

const char *doca_error_get_descr(doca_error_t error)
{
	return row_of(error)->text;
}

doca_error_t gw__doca_from_errno(int err)
{
	if (err >= 0)
		return DOCA_SUCCESS;
	switch (-err) {
	case EPIPE:
	case ECONNREFUSED:
	case EHOSTUNREACH:
	case ENETUNREACH:
		return DOCA_ERROR_NOT_CONNECTED;
	case ERANGE:
	case E2BIG:
		return DOCA_ERROR_TOO_BIG;
	case EMFILE:
	case ENFILE:
		return DOCA_ERROR_OPERATING_SYSTEM;
	default:
		break;
	}
	for (size_t i = 1; i < N_ROWS; i++)
		if (rows[i].err == -err)
			return (doca_error_t)i;
	return DOCA_ERROR_UNKNOWN;
}

int gw__doca_to_errno(doca_error_t error)
{
	if (error == DOCA_SUCCESS)
		return 0;
	return row_of(error)->err ? -row_of(error)->err : -EIO;
}
