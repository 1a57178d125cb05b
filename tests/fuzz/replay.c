/* Replays a corpus through a fuzz entry as an ordinary test: replay CORPUS_DIR. Every entry links this under
 * gcc and libFuzzer's own main under clang. An empty corpus is a failure: nothing would be checked. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay(const char *dir, const char *name)
{
	char path[4096];
	FILE *f;
	uint8_t *data;
	long size;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "rb");
	if (!f || fseek(f, 0, SEEK_END) || (size = ftell(f)) < 0) {
		perror(path);
		exit(1);
	}
	rewind(f);
	data = malloc((size_t)size + 1); /* exactly the file's bytes, so that asan sees the first one past */
	if (!data || fread(data, 1, (size_t)size, f) != (size_t)size) {
		perror(path);
		exit(1);
	}
	fclose(f);
	LLVMFuzzerTestOneInput(data, (size_t)size);
	free(data);
	return 1;
}

int main(int argc, char **argv)
{
	DIR *d = argc == 2 ? opendir(argv[1]) : NULL;
	struct dirent *e;
	int n = 0;

	if (!d) {
		fprintf(stderr, "usage: %s CORPUS_DIR\n", argv[0]);
		return 1;
	}
	while ((e = readdir(d)))
		if (e->d_name[0] != '.')
			n += replay(argv[1], e->d_name);
	closedir(d);
	printf("%d inputs replayed\n", n);
	return n ? 0 : 1;
}
