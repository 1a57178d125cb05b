/* Any bytes as what a UROM peer sends: over a socket to a listener's greeting, as answers to a caller, out of a
 * shared ring, and straight into the parsers. Nothing may be read outside, and every channel ends or goes on
 * by name. The first byte chooses which; the second cuts the stream into two writes. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <doca/doca_urom_pack.h>

#include "urom_net/handshake.h"
#include "urom_net/mem_op.h"
#include "urom_net/tlv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(bool ok)
{
	if (!ok)
		abort();
}

static void parsers(const uint8_t *data, size_t size)
{
	struct urom_unpacker u = urom_unpacker(data, size);
	struct gw__tlv_r r = gw__tlv_reader(data, size);
	struct gw__frame f = { .payload = data, .len = (uint32_t)size };
	struct gw__mem_op op;
	char text[32];
	uint64_t v;
	size_t n;

	if (size >= GW__UROM_HDR && !gw__frame_decode(data, 4096, &f)) {
		uint8_t again[GW__UROM_HDR];

		gw__frame_encode(again, &f);
		need(f.len <= GW__UROM_CTRL_MAX && !memcmp(again, data, GW__UROM_HDR));
		(void)gw__frame_name(f.type);
	}
	f = (struct gw__frame){ .payload = data, .len = (uint32_t)size };
	while (gw__tlv_next(&r))
		need(r.data >= data && r.data + r.size <= data + size);
	for (uint16_t t = 1; t < 48; t++) {
		(void)gw__tlv_find_u64(data, size, t, &v);
		(void)gw__tlv_find_text(data, size, t, text, sizeof(text));
	}
	if (!gw__mem_op_read(&f, &op) && op.op == GW__MEM_PUT)
		need(op.data + op.len == data + size);
	gw__error_text(&f, text, sizeof(text));
	while (!u.bad && u.at < u.len) {
		const uint8_t *p = urom_get_blob(&u, 4096, &n);

		need(!p || p + n <= data + size);
		(void)urom_get_u32(&u);
	}
}

static void pair(struct gw__chan *c, int *other, const uint8_t *data, size_t size, size_t cut)
{
	int s[2];

	need(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, s));
	need(!gw__chan_init(c, s[0], 4096));
	*other = s[1];
	if (cut > size)
		cut = size;
	need(write(s[1], data, cut) == (ssize_t)cut);
	(void)!write(s[1], data + cut, size - cut);
	shutdown(s[1], SHUT_WR);
}

static void listener(const uint8_t *data, size_t size, size_t cut, bool keyed)
{
	static const struct gw__key key = { .len = 16, .bytes = "sixteen bytes ..." };
	struct gw__greet g = { .key = keyed ? &key : NULL, .max_msg = 4096 };
	struct gw__admit a = { .memfd = -1, .bells = { -1, -1 } };
	struct gw__frame f = { 0 };
	struct gw_diag diag;
	struct gw__chan c;
	int other, n;

	pair(&c, &other, data, size, cut);
	while ((n = gw__chan_recv(&c, &f, 1)) > 0) {
		if (g.state < 2)
			n = gw__greet_frame(&g, &c, &f, &diag);
		else if (f.type == GW__F_JOIN)
			n = gw__admit_offer(&a, &c, 1, GW__FEAT_SHM, 131072);
		else if (f.type == GW__F_JOIN_OK)
			n = gw__admit_ok(&a, &c, &f);
		if (n < 0)
			break;
	}
	if (n < 0)
		gw__greet_bad_bytes(&c, &f, n, &diag);
	gw__admit_fini(&a);
	gw__chan_fini(&c);
	close(other);
}

static void caller(const uint8_t *data, size_t size, size_t cut)
{
	struct gw__dial d = { .state = 1, .opts = { .role = GW__ROLE_JOIN, .max_msg = 4096, .features = GW__FEAT_SHM } };
	struct gw_diag diag;
	int other;

	pair(&d.chan, &other, data, size, cut);
	if (gw__dial_step(&d, &diag) == 1)
		gw__chan_fini(&d.chan);
	else
		gw__dial_abort(&d);
	close(other);
}

/* size bytes lie in the ring; the writer's index claims something else if the input says so. */
static void ring(const uint8_t *data, size_t size, uint64_t claim)
{
	struct gw__chan c;
	struct gw__frame f;
	static volatile unsigned int sum;
	int memfd, bells[2], other, n = 0;

	pair(&c, &other, data, 0, 0);
	need(!gw__shm_make(8192, &memfd, bells));
	need(!gw__chan_use_shm(&c, memfd, 8192, bells, true));
	close(memfd);
	memcpy(c.shm.in_data, data, size < 8192 ? size : 8192);
	atomic_store(&c.shm.in->tail, claim ? claim : size);
	for (int i = 0; i < 400 && (n = gw__chan_recv(&c, &f, 1)) >= 0; i++)
		if (n && f.len) /* all of it may be read */
			sum += f.payload[0] + f.payload[f.len - 1];
	gw__chan_fini(&c);
	close(other);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t claim = 0;

	if (size < 2 || size > 16384)
		return 0;
	switch (data[0] % 6) {
	case 0:
	case 1:
		listener(data + 2, size - 2, data[1], data[0] % 6);
		break;
	case 2:
		caller(data + 2, size - 2, data[1]);
		break;
	case 3:
		ring(data + 2, size - 2, 0);
		break;
	case 4:
		if (size < 10)
			return 0;
		memcpy(&claim, data + 2, 8);
		ring(data + 10, size - 10, claim);
		break;
	default:
		parsers(data + 2, size - 2);
	}
	return 0;
}
