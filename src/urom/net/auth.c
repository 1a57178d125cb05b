/* urom_net/auth.c: keys and proofs, by nettle. Must not know frames. Next: handshake.c. */
#include "urom_net/auth.h"

#include <errno.h>
#include <fcntl.h>
#include <nettle/hmac.h>
#include <nettle/memops.h>
#include <nettle/sha2.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/diag.h"

int gw__random(void *to, size_t n)
{
	ssize_t got;

	do
		got = getrandom(to, n, 0);
	while (got < 0 && errno == EINTR);
	return got == (ssize_t)n ? 0 : -EIO;
}

bool gw__secret_equal(const void *a, const void *b, size_t n)
{
	return nettle_memeql_sec(a, b, n);
}

int gw__key_load(const char *path, struct gw__key *key, struct gw_diag *diag)
{
	int err = 0, fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;
	ssize_t n;

	if (fd < 0)
		return gw__fail(diag, -errno, "key file %s: %s", path, strerror(errno));
	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		err = gw__fail(diag, -EACCES, "key file %s: not a regular file", path);
	else if (st.st_mode & 077)
		err = gw__fail(diag, -EACCES, "key file %s: mode %03o lets others read it; chmod 600", path,
			       (unsigned int)st.st_mode & 0777);
	else if (st.st_uid != geteuid() && st.st_uid != 0)
		err = gw__fail(diag, -EACCES, "key file %s: owned by uid %u, not by us or root", path,
			       (unsigned int)st.st_uid);
	n = err ? 0 : read(fd, key->bytes, sizeof(key->bytes));
	close(fd);
	if (err)
		return err;
	if (n < (ssize_t)GW__KEY_MIN)
		return gw__fail(diag, -EINVAL, "key file %s: %zd bytes; use %u to %u (head -c 32 /dev/urandom)",
				path, n, GW__KEY_MIN, GW__KEY_MAX);
	key->len = (size_t)n;
	return 0;
}

void gw__key_prove(const struct gw__key *key, const char *who, const uint8_t a[GW__NONCE],
		   const uint8_t b[GW__NONCE], uint8_t mac[GW__MAC])
{
	struct hmac_sha256_ctx h;

	hmac_sha256_set_key(&h, key->len, key->bytes);
	hmac_sha256_update(&h, strlen(who), (const uint8_t *)who);
	hmac_sha256_update(&h, GW__NONCE, a);
	hmac_sha256_update(&h, GW__NONCE, b);
	hmac_sha256_digest(&h, GW__MAC, mac);
}

int gw__sha256_fd(int fd, uint8_t out[32])
{
	struct sha256_ctx h;
	uint8_t buf[16384];
	off_t at = 0;
	ssize_t n;

	sha256_init(&h);
	while ((n = pread(fd, buf, sizeof(buf), at)) > 0) {
		sha256_update(&h, (size_t)n, buf);
		at += n;
	}
	if (n < 0)
		return -errno;
	sha256_digest(&h, 32, out);
	return 0;
}
