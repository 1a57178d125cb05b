/* Bytes of a fuzz entry as a file, for code that opens paths. Must not be slow: memory files where they will do. */
#ifndef GW_TESTS_FUZZ_FILE_H
#define GW_TESTS_FUZZ_FILE_H

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void fuzz_write(int fd, const uint8_t *data, size_t size)
{
	if (fd < 0 || ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size)
		abort();
}

/* A path that holds these bytes until the next call. */
static inline const char *fuzz_file(const uint8_t *data, size_t size)
{
	static char path[32];
	static int fd = -1;

	if (fd < 0) {
		fd = memfd_create("fuzz", MFD_CLOEXEC);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	}
	fuzz_write(fd, data, size);
	return path;
}

static inline void fuzz_save(const char *path, const uint8_t *data, size_t size)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	fuzz_write(fd, data, size);
	close(fd);
}

#endif
