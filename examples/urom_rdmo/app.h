/* urom_rdmo/app.h: what server and client of this program share.
 * Must not know channels. Next: main.c, server.c, client.c. */
#ifndef UROM_RDMO_APP_H
#define UROM_RDMO_APP_H

#include <stdint.h>

#include "urom_common.h"
#include "urom_rdmo.h"

#define QUEUE_BYTES (128u << 10) /* the first word is the append pointer */
#define QUEUE_VA 0x100000000u    /* what addresses of the client begin with */
#define CLIENT_ID 1u
#define APPEND_BYTES 8u
#define APPEND_FILL 0x33
#define FLUSH_ID 0xbeefu
#define N_PIECES 16u
#define PIECE_BYTES 8u
#define SCATTER_AT 4096u /* of the queue; piece i goes to SCATTER_AT + 64 * i */
#define SCATTER_FILL 0x44

struct app_options {
	const char *device, *server;
	const char *port;
};

/* What the server tells the client. */
struct app_params {
	uint64_t rkey;
	uint32_t addr_len;
	uint8_t addr[512];
};

int app_server(const struct app_options *o);
int app_client(const struct app_options *o);

/* exchange.c: u64 length and bytes (at most 1024), both ways; all block, at most 30 s. 0 or negative errno. */
int exchange_listen(const char *port);
int exchange_accept(int listener);
int exchange_call(const char *host, const char *port);
int exchange_send(int fd, const void *data, uint64_t len);
int exchange_recv(int fd, void *data, uint64_t cap, uint64_t *len);

#endif
