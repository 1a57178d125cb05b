/* nn/cache.c: one file a key: a header that repeats the key, a length, a checksum, the bytes. A file that is wrong
 * in any way counts as absent. Must not know what it keeps. Next: nn.c. */
#include "nn/cache.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct header {
	char magic[8];
	struct gw__cache_key key, sum;
	uint64_t n_bytes;
};

static const char magic[8] = "gwplan1";

static uint64_t fold(uint64_t a, uint64_t b)
{
	unsigned __int128 m = (unsigned __int128)a * b;

	return (uint64_t)m ^ (uint64_t)(m >> 64);
}

void gw__cache_mix(struct gw__cache_key *key, const void *bytes, size_t n)
{
	const unsigned char *p = bytes;
	uint64_t a = key->h[0] ^ n, b = key->h[1] + 0x9e3779b97f4a7c15u;

	while (n) {
		uint64_t w[2] = {0, 0};
		size_t m = n < sizeof(w) ? n : sizeof(w);

		memcpy(w, p, m);
		a = fold(a ^ w[0], 0x9fb21c651e98df25u) + w[1];
		b = fold(b ^ w[1], 0xd6e8feb86659fd93u) + a;
		p += m;
		n -= m;
	}
	key->h[0] = fold(a, 0xa0761d6478bd642fu);
	key->h[1] = fold(b ^ a, 0xe7037ed1a0b428dbu);
}

static int path_of(char *path, const char *folder, const struct gw__cache_key *key, const char *suffix)
{
	int n = snprintf(path, PATH_MAX, "%s/gpuwire-%016" PRIx64 "%016" PRIx64 ".plan%s", folder, key->h[0],
			 key->h[1], suffix);

	return n < 0 || n >= PATH_MAX ? -ENAMETOOLONG : 0;
}

static struct header header_for(const struct gw__cache_key *key, const void *bytes, size_t n)
{
	struct header h;

	memset(&h, 0, sizeof(h));
	memcpy(h.magic, magic, sizeof(magic));
	h.key = *key;
	h.n_bytes = n;
	gw__cache_mix(&h.sum, bytes, n);
	return h;
}

int gw__cache_load(const char *folder, const struct gw__cache_key *key, void *bytes, size_t n)
{
	struct header have, want;
	char path[PATH_MAX];
	int err = path_of(path, folder, key, "");
	FILE *f = err ? NULL : fopen(path, "re");

	if (!f)
		return err ? err : -ENOENT;
	err = fread(&have, sizeof(have), 1, f) == 1 && fread(bytes, 1, n, f) == n && fgetc(f) == EOF ? 0 : -EPROTO;
	fclose(f);
	if (err)
		return err;
	want = header_for(key, bytes, n);
	return memcmp(&have, &want, sizeof(have)) == 0 ? 0 : -EPROTO;
}

int gw__cache_store(const char *folder, const struct gw__cache_key *key, const void *bytes, size_t n)
{
	struct header h = header_for(key, bytes, n);
	char path[PATH_MAX], part[PATH_MAX], suffix[32];
	FILE *f;
	int err;

	snprintf(suffix, sizeof(suffix), ".%d", (int)getpid());
	err = path_of(path, folder, key, "");
	if (!err)
		err = path_of(part, folder, key, suffix);
	if (err)
		return err;
	f = fopen(part, "we");
	if (!f)
		return -errno;
	err = fwrite(&h, sizeof(h), 1, f) == 1 && fwrite(bytes, 1, n, f) == n ? 0 : -EIO;
	if (fclose(f) != 0 && !err)
		err = -errno;
	if (!err && rename(part, path) < 0)
		err = -errno;
	if (err)
		unlink(part);
	return err;
}
