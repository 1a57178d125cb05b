/* Meshes in one process: which channel is chosen, order and sizes, wrong keys, cancelling, endings, and a peer
 * that sends pieces no library would. */
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "urom_mesh/insides.h"
#include "urom_net/tlv.h"
#include "t.h"

static struct {
	int n_got, n_sent, n_down, status;
	uint64_t tag;
	size_t len;
	uint8_t first, last;
} seen;

static void got(void *arg, int status, uint64_t tag, const void *data, size_t len, uint64_t from)
{
	seen.n_got++;
	seen.status = status;
	seen.tag = tag;
	seen.len = len;
	if (!status && len) {
		seen.first = ((const uint8_t *)data)[0];
		seen.last = ((const uint8_t *)data)[len - 1];
	}
}

static void sent(void *arg, int status)
{
	seen.n_sent++;
	seen.status = status;
}

static void down(void *arg, uint64_t id)
{
	seen.n_down++;
}

static const struct gw__mesh_opts opts = { .down = down };

static void turn(struct gw__mesh *a, struct gw__mesh *b, int *counter, int want)
{
	for (int i = 0; i < 4000 && *counter < want; i++) {
		gw__mesh_progress(a);
		gw__mesh_progress(b);
		if (i > 200)
			usleep(500);
	}
	T_EQ(*counter, want);
}

/* Two meshes and how they reach each other under this environment. */
static void reach(const char *bind, const char *ucx, bool lie_about_place, const char *want)
{
	static uint8_t big[1 << 20], into[1 << 20];
	uint8_t addr[GW__MESH_ADDR_MAX];
	struct gw__mesh *a, *b;
	uint64_t peer, again;
	size_t n;

	if (bind)
		setenv("UROM_MESH_BIND", bind, 1);
	if (ucx)
		setenv("UROM_MESH_UCX", ucx, 1);
	memset(&seen, 0, sizeof(seen));
	T_RC(gw__mesh_open(&a, true, &opts, NULL), 0);
	T_RC(gw__mesh_open(&b, true, &opts, NULL), 0);
	if (lie_about_place)
		a->place++; /* as if on another machine */
	n = gw__mesh_address(b, addr);
	T_RC(gw__mesh_connect(a, addr, n, &peer), 0);
	T_RC(gw__mesh_connect(a, addr, n, &again), 0);
	T_EQ(peer, again);
	/* early, small; then late, large, into a buffer of the right size; then empty */
	T_RC(gw__mesh_send(a, peer, 1, "hello", 6, sent, NULL), 0);
	turn(a, b, &seen.n_sent, 1);
	T_STR(gw__mesh_channel(a, peer), want);
	T_RC(gw__mesh_recv(b, 1, UINT64_MAX, NULL, 0, got, NULL), 0);
	turn(a, b, &seen.n_got, 1);
	T_EQ(seen.len, 6);
	memset(big, 7, sizeof(big));
	T_RC(gw__mesh_recv(b, 2, UINT64_MAX, into, sizeof(into), got, NULL), 0);
	T_RC(gw__mesh_send(a, peer, 2, big, sizeof(big), sent, NULL), 0);
	T_RC(gw__mesh_send(a, peer, 3, NULL, 0, sent, NULL), 0);
	turn(a, b, &seen.n_got, 2);
	T_OK(!memcmp(big, into, sizeof(big)));
	/* too small a buffer: told its size; the next message is whole */
	T_RC(gw__mesh_recv(b, 3, UINT64_MAX, into, 4, got, NULL), 0);
	turn(a, b, &seen.n_got, 3);
	T_EQ(seen.len, 0);
	T_RC(gw__mesh_recv(b, 4, UINT64_MAX, into, 10, got, NULL), 0);
	T_RC(gw__mesh_send(a, peer, 4, big, 100000, sent, NULL), 0);
	T_RC(gw__mesh_send(a, peer, 5, "ok", 3, sent, NULL), 0);
	turn(a, b, &seen.n_got, 4);
	T_RC(seen.status, -EMSGSIZE);
	T_RC(gw__mesh_recv(b, 5, UINT64_MAX, into, 10, got, NULL), 0);
	turn(a, b, &seen.n_got, 5);
	T_STR((char *)into, "ok");
	/* taken back; then the other side goes */
	T_RC(gw__mesh_recv(a, 9, UINT64_MAX, NULL, 0, got, a), 0);
	T_EQ(gw__mesh_cancel(a, a), 1);
	T_RC(gw__mesh_recv(a, 9, UINT64_MAX, NULL, 0, got, NULL), 0);
	gw__mesh_close(b);
	for (int i = 0; i < 4000 && !seen.n_down; i++) {
		gw__mesh_progress(a);
		usleep(500);
	}
	T_EQ(seen.n_down, 1);
	T_OK(gw__mesh_is_down(a, peer));
	T_RC(gw__mesh_send(a, peer, 1, "x", 1, sent, NULL), -ECONNRESET);
	gw__mesh_close(a);
	T_EQ(seen.n_got, 6);
	T_RC(seen.status, -ESHUTDOWN);
	unsetenv("UROM_MESH_BIND");
	unsetenv("UROM_MESH_UCX");
}

/* An address with another key: the listener ends it, the caller hears so. */
static void wrong_key(void)
{
	uint8_t addr[GW__MESH_ADDR_MAX];
	struct gw__mesh *a, *b;
	struct gw__tlv_r r;
	uint64_t peer;
	size_t n;

	memset(&seen, 0, sizeof(seen));
	T_RC(gw__mesh_open(&a, false, &opts, NULL), 0);
	T_RC(gw__mesh_open(&b, true, NULL, NULL), 0);
	n = gw__mesh_address(b, addr);
	T_RC(gw__tlv_find(addr, n, GW__T_TOKEN, &r), 0);
	addr[r.data - addr] ^= 1;
	T_RC(gw__mesh_connect(a, addr, n, &peer), 0);
	T_RC(gw__mesh_send(a, peer, 1, "x", 1, sent, NULL), 0);
	turn(a, b, &seen.n_sent, 1);
	T_RC(seen.status, -ECONNRESET);
	T_RC(gw__mesh_connect(a, "rubbish", 7, &peer), -EPROTO);
	T_RC(gw__mesh_send(a, 12345, 1, "x", 1, sent, NULL), -ENOTCONN);
	gw__mesh_close(a);
	gw__mesh_close(b);
}

/* Pieces that lie: each ends its connection, none is stored outside. */
static void bad_pieces(void)
{
	static const struct {
		uint64_t len, offset;
		uint32_t n;
	} lies[] = { { 10, 5, 5 }, { GW__MESH_MSG_MAX + 1, 0, 10 }, { 10, 0, 20 }, { 10, 0, 0 }, { UINT64_MAX, 0, 8 } };

	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		uint8_t addr[GW__MESH_ADDR_MAX], piece[64] = { 0 };
		struct gw__frame f = { .type = GW__F_MESH, .payload = piece, .len = GW__M_PIECE_HDR + lies[i].n };
		struct gw__mesh *a, *b;
		uint64_t peer;
		size_t n;

		memset(&seen, 0, sizeof(seen));
		T_RC(gw__mesh_open(&a, false, &opts, NULL), 0);
		T_RC(gw__mesh_open(&b, true, &opts, NULL), 0);
		n = gw__mesh_address(b, addr);
		T_RC(gw__mesh_connect(a, addr, n, &peer), 0);
		T_RC(gw__mesh_send(a, peer, 1, "x", 1, sent, NULL), 0);
		turn(a, b, &seen.n_sent, 1);
		gw__put_le64(piece, lies[i].len);
		gw__put_le64(piece + 8, lies[i].offset);
		T_RC(gw__chan_send(&a->conns[0]->chan, &f), 0);
		turn(a, b, &seen.n_down, 2); /* both ends notice */
		gw__mesh_close(a);
		gw__mesh_close(b);
	}
}

static void failed_allocations(void)
{
	long live = gw__alloc_live();
	struct gw__mesh *m;

	gw__alloc_fail_at(1);
	T_RC(gw__mesh_open(&m, true, NULL, NULL), -ENOMEM);
	gw__alloc_fail_at(0);
	T_EQ(gw__alloc_live(), live);
}

int main(void)
{
	long live = gw__alloc_live();

	reach(NULL, NULL, false, "shm");
	reach("127.0.0.1", NULL, false, "shm");
	reach("127.0.0.1", NULL, true, "socket");
	if (!getenv("UROM_TEST_NO_UCX"))
		reach("127.0.0.1", "1", false, "ucx");
	wrong_key();
	bad_pieces();
	failed_allocations();
	T_EQ(gw__alloc_live(), live);
	T_DONE();
}
