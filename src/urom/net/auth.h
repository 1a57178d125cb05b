/* urom_net/auth.h: random bytes, the shared key and its proof (HMAC-SHA256 over both nonces).
 * Must not know frames. Next: handshake.c. */
#ifndef GW_UROM_NET_AUTH_H
#define GW_UROM_NET_AUTH_H

#include <gpuwire/common.h>
#include <stdbool.h>

#define GW__NONCE 16u
#define GW__MAC 32u
#define GW__KEY_MIN 16u
#define GW__KEY_MAX 512u

struct gw__key {
	size_t len; /* 0 = no key */
	uint8_t bytes[GW__KEY_MAX];
};

int gw__random(void *to, size_t n);
/* Takes the same time wherever they differ. */
bool gw__secret_equal(const void *a, const void *b, size_t n);
/* A regular file of 16..512 bytes that only its owner (us or root) can read. */
int gw__key_load(const char *path, struct gw__key *key, struct gw_diag *diag);
/* who: "host" or "daemon": a proof cannot be reflected. */
void gw__key_prove(const struct gw__key *key, const char *who, const uint8_t a[GW__NONCE],
		   const uint8_t b[GW__NONCE], uint8_t mac[GW__MAC]);
/* SHA-256 of a whole open file, from its start; 0 or negative errno. */
int gw__sha256_fd(int fd, uint8_t out[32]);

#endif
