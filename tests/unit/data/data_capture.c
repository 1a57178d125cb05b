/* Captures read back: both byte orders and resolutions, buffer borders, rewind, every kind of broken file. */
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "data/capture.h"
#include "data/exact.h"
#include "t.h"

static char folder[] = "/tmp/gw_capture_XXXXXX";
static char path[64];
static uint8_t file[8 << 20];
static size_t n_file;

static void put32(uint32_t v, bool swapped)
{
	if (swapped)
		v = __builtin_bswap32(v);
	for (int i = 0; i < 4; i++)
		file[n_file++] = (uint8_t)(v >> (8 * i));
}

static void begin(uint32_t magic, bool swapped, uint32_t link_type)
{
	n_file = 0;
	put32(magic, swapped);
	put32(0x00040002, swapped);
	put32(0, swapped);
	put32(0, swapped);
	put32(65535, swapped);
	put32(link_type, swapped);
}

static void add(uint32_t n, uint32_t n_wire, bool swapped, uint8_t value)
{
	put32(7, swapped);
	put32(9, swapped);
	put32(n, swapped);
	put32(n_wire, swapped);
	memset(file + n_file, value, n);
	n_file += n;
}

static void save(size_t n)
{
	FILE *f = fopen(path, "wb");

	T_NEED(f && fwrite(file, 1, n, f) == n);
	fclose(f);
}

/* Frames of all sizes, more than the buffer holds, twice. */
static void round_trip(uint32_t magic, bool swapped, uint64_t stamp)
{
	struct gw__capture *c;
	const uint8_t *frame;
	uint64_t n_bytes = 0, ts;
	uint32_t len, n_bad = 0;

	begin(magic, swapped, 1);
	for (uint32_t i = 0; i < 400; i++) {
		uint32_t n = i == 200 ? 65535 : (uint32_t)(gw__exact_hash(3, i) % 9000) + 1;

		add(n, n, swapped, (uint8_t)i);
		n_bytes += n;
	}
	save(n_file);
	T_NEED(!gw__capture_open(path, &c, NULL));
	T_EQ(gw__capture_n_frames(c), 400);
	T_EQ(gw__capture_n_bytes(c), n_bytes);
	T_EQ(gw__capture_max_frame(c), 65535);
	for (int lap = 0; lap < 4; lap++) {
		if (lap == 2) /* from memory from here on, in the middle of nothing */
			T_RC(gw__capture_keep(c), 0);
		for (uint32_t i = 0; i < 400; i++) {
			T_NEED(gw__capture_next(c, &frame, &len, &ts) == 1);
			n_bad += frame[0] != (uint8_t)i || frame[len - 1] != (uint8_t)i || ts != stamp;
			n_bad += len != (i == 200 ? 65535 : (uint32_t)(gw__exact_hash(3, i) % 9000) + 1);
		}
		T_EQ(n_bad, 0);
		T_RC(gw__capture_next(c, &frame, &len, NULL), 0);
		T_RC(gw__capture_next(c, &frame, &len, NULL), 0);
		T_RC(gw__capture_rewind(c), 0);
	}
	gw__capture_close(c);
}

static void refused(int err, const char *part)
{
	struct gw__capture *c = NULL;
	struct gw_diag diag = { "" };

	T_RC(gw__capture_open(path, &c, &diag), err);
	T_HAS(diag.text, part);
	T_OK(!c);
	T_EQ(gw__alloc_live(), 0);
}

static void broken(void)
{
	unlink(path);
	refused(-ENOENT, path);
	save(0);
	refused(-EPROTO, "no capture");
	begin(0xa1b2c3d4, false, 1);
	save(n_file);
	refused(-EPROTO, "no frame");
	begin(0xa1b2c3d4, false, 113);
	save(n_file);
	refused(-EPROTO, "link type 113");
	begin(0x0a0d0d0a, false, 1);
	save(n_file);
	refused(-EPROTO, "editcap");
	begin(0x12345678, false, 1);
	save(n_file);
	refused(-EPROTO, "not a pcap");
	begin(0xa1b2c3d4, false, 1);
	add(100, 100, false, 1);
	add(60, 1514, false, 1);
	save(n_file);
	refused(-EPROTO, "frame 1 has 60 bytes here and 1514");
	begin(0xa1b2c3d4, false, 1);
	add(0, 0, false, 1);
	save(n_file);
	refused(-EPROTO, "frame 0 has 0");
	begin(0xa1b2c3d4, false, 1);
	add(100, 100, false, 1);
	for (size_t cut = n_file - 115; cut < n_file; cut += 19) {
		save(cut);
		refused(-EPROTO, "cut off");
	}
	begin(0xa1b2c3d4, false, 1);
	add(100, 0xffffffff, false, 1);
	memset(file + 32, 0xff, 4);
	save(n_file);
	refused(-EPROTO, "4294967295");
}

/* A file that shrinks while it is read is an error, at once or at the next lap. */
static void shrinks(void)
{
	struct gw__capture *c;
	const uint8_t *frame;
	uint32_t len, n = 0;
	int rc;

	begin(0xa1b2c3d4, false, 1);
	for (int i = 0; i < 1000; i++)
		add(4000, 4000, false, 3);
	save(n_file);
	T_NEED(!gw__capture_open(path, &c, NULL));
	T_NEED(truncate(path, 2000000) == 0);
	while ((rc = gw__capture_next(c, &frame, &len, NULL)) > 0)
		n++;
	T_RC(rc, -EPROTO);
	T_EQ(n, (2000000 - 24) / 4016);
	gw__capture_close(c);
}

static void allocations(void)
{
	struct gw__capture *c = NULL;
	struct gw_diag diag;

	begin(0xa1b2c3d4, false, 1);
	add(100, 100, false, 1);
	save(n_file);
	for (long k = 1; k <= 4; k++) {
		int rc;

		gw__alloc_fail_at(k);
		rc = gw__capture_open(path, &c, &diag);
		gw__alloc_fail_at(0);
		T_EQ(rc, k <= 3 ? -ENOMEM : 0);
		if (!rc)
			gw__capture_close(c);
		T_EQ(gw__alloc_live(), 0);
	}
	gw__capture_close(NULL);
}

int main(void)
{
	T_NEED(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/f.pcap", folder);
	round_trip(0xa1b2c3d4, false, 7000009000);
	round_trip(0xa1b2c3d4, true, 7000009000);
	round_trip(0xa1b23c4d, false, 7000000009);
	round_trip(0xa1b23c4d, true, 7000000009);
	broken();
	shrinks();
	allocations();
	unlink(path);
	rmdir(folder);
	T_DONE();
}
