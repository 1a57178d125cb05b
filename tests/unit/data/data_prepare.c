/* Captures from images: every byte of a small one, padding, faults, sidecar, refusals, allocation failures. */
#include "base/alloc.h"
#include "data/capture.h"
#include "data/labels.h"
#include "data/prepare.h"
#include "data_files.h"

static int8_t tensor[GW__IMAGE_BYTES];
static uint8_t want[16384];

static struct gw__prepare_opts base_opts(const char *out)
{
	struct gw__prepare_opts o = { .n_images = 5, .out = out };

	o.images = (struct gw__imageset_opts){ .source = GW__IMAGES_CIFAR10, .data_root = df_root };
	gw__frame_opts_default(&o.frames);
	o.frames.images_per_batch = 4;
	return o;
}

/* The capture against frames built one by one; omitted ones are absent, flipped ones differ in one bit. */
static void compare(struct gw__prepare_opts *o, uint32_t n_images, uint32_t set_size)
{
	struct gw__imageset *set;
	struct gw__capture *c;
	const uint8_t *frame;
	uint32_t len, label, n_bad = 0;
	uint64_t stamp, n = 0;

	T_NEED(!gw__imageset_open(&o->images, &set, NULL));
	T_NEED(!gw__capture_open(o->out, &c, NULL));
	for (uint32_t i = 0; i < n_images; i++) {
		T_NEED(!gw__imageset_get(set, i % set_size, tensor, &label, NULL));
		for (uint32_t p = 0; p < 128; p++, n++) {
			if (o->n_omit && (n == o->omit[0] || n == o->omit[o->n_omit - 1]))
				continue;
			gw__frame_build(&o->frames, n, tensor, want);
			for (size_t k = 0; k < o->n_flip; k++)
				if (o->flip[k].frame == n)
					want[o->flip[k].byte] ^= 0x80;
			T_NEED(gw__capture_next(c, &frame, &len, &stamp) == 1);
			n_bad += len != 1240 || memcmp(frame, want, 1240) || stamp != i * 1000000000ull + p * 1000;
		}
	}
	T_EQ(n_bad, 0);
	T_RC(gw__capture_next(c, &frame, &len, NULL), 0);
	gw__capture_close(c);
	gw__imageset_close(set);
}

static void clean(void)
{
	struct gw__prepare_opts o = base_opts(df_path("clean.pcap"));
	struct gw__prepare_result r;
	struct gw__labels l;
	struct stat st;

	T_RC(gw__prepare(&o, &r, NULL), 0);
	T_EQ(r.n_frames, 8 * 128);
	T_EQ(r.n_labels, 8);
	T_EQ(r.n_padding, 3);
	T_EQ(r.frame_bytes, 1240);
	T_EQ(r.buf_size, 1240);
	T_EQ(r.packets_per_batch, 512);
	T_NEED(stat(o.out, &st) == 0);
	T_EQ(st.st_size, 24 + 8 * 128 * (16 + 1240));
	T_EQ(r.n_bytes, st.st_size);
	compare(&o, 8, 6); /* images 6 and 7 are the set's first two again */
	T_NEED(!gw__labels_read(df_path("clean.labels"), &l, NULL));
	T_EQ(l.n_images, 8);
	T_EQ(l.cls[5], 5);
	T_EQ(l.cls[6], 0);
	T_STR(l.dataset, "cifar10");
	T_STR(l.class_names[9], "truck");
	gw__labels_fini(&l);
	T_OK(access(df_path("clean.pcap.part"), F_OK) && access(df_path("clean.labels.part"), F_OK));
}

static void faulty(void)
{
	const uint64_t omit[2] = { 0, 700 };
	const struct gw__flip flip[2] = { { 3, 64 }, { 1023, 1239 } };
	struct gw__prepare_opts o = base_opts(df_path("faulty.pcap"));
	struct gw__prepare_result r;

	o.omit = omit;
	o.n_omit = 2;
	o.flip = flip;
	o.n_flip = 2;
	T_RC(gw__prepare(&o, &r, NULL), 0);
	T_EQ(r.n_frames, 8 * 128 - 2);
	T_EQ(r.n_labels, 8);
	compare(&o, 8, 6);
}

static void refused(struct gw__prepare_opts o, int err, const char *part)
{
	struct gw_diag diag = { "" };

	T_RC(gw__prepare(&o, NULL, &diag), err);
	T_HAS(diag.text, part);
	T_OK(access(df_path("bad.pcap"), F_OK) && access(df_path("bad.pcap.part"), F_OK));
	T_OK(access(df_path("bad.labels"), F_OK) && access(df_path("bad.labels.part"), F_OK));
	T_EQ(gw__alloc_live(), 0);
}

static void refusals(void)
{
	struct gw__prepare_opts ok = base_opts(df_path("bad.pcap")), o = ok;
	const uint64_t omit = 1024;
	const struct gw__flip flip = { 0, 1240 };

	o.n_images = 0;
	refused(o, -EINVAL, "num-images 0");
	o.n_images = 7;
	refused(o, -EINVAL, "cifar10 has 6");
	o = ok;
	o.frames.out_payload_len = 1000;
	refused(o, -EINVAL, "use 1176");
	o = ok;
	o.omit = &omit;
	o.n_omit = 1;
	refused(o, -EINVAL, "omit 1024: the frames are 0 to 1023");
	o = ok;
	o.flip = &flip;
	o.n_flip = 1;
	refused(o, -EINVAL, "flip 0:1240");
	o = ok;
	o.out = "/nowhere/x.pcap";
	refused(o, -ENOENT, "/nowhere/x.pcap");
	o = ok;
	o.images.data_root = "/nowhere";
	refused(o, -ENOENT, "/nowhere");
	if (!access("/dev/full", W_OK)) {
		T_NEED(symlink("/dev/full", df_path("bad.labels.part")) == 0); /* the sidecar meets a full disk */
		refused(ok, -ENOSPC, "No space left");
	}
	for (long k = 1;; k++) {
		struct gw_diag diag;
		int rc;

		gw__alloc_fail_at(k);
		rc = gw__prepare(&ok, NULL, &diag);
		gw__alloc_fail_at(0);
		T_EQ(gw__alloc_live(), 0);
		if (!rc)
			break;
		T_NEED(k < 50);
		T_RC(rc, -ENOMEM);
		T_OK(access(df_path("bad.pcap.part"), F_OK) && access(df_path("bad.pcap"), F_OK));
	}
}

int main(void)
{
	df_begin();
	df_cifar("data_batch_1.bin", 0, 6);
	clean();
	faulty();
	refusals();
	df_end();
	T_DONE();
}
