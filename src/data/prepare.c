/* data/prepare.c: images in, capture and labels out. Must not know a picture's or a frame's layout.
 * Next: imageset.h, frames.h, labels.h. */
#include "data/prepare.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/diag.h"
#include "data/target.h"
#include "data/labels.h"

#define CAPTURE_HEADER 24u
#define RECORD_HEADER 16u
#define IMAGES_MAX (1u << 24)

struct job {
	struct gw__prepare_opts *opts;
	struct gw_diag *diag;
	struct gw__imageset *set;
	int8_t *tensor;
	uint8_t *frame;
	char *paths[2], *part_paths[2]; /* capture, labels */
	FILE *files[2];
	uint32_t n_total; /* images, padding included */
	uint64_t n_frames;
};
enum { CAPTURE, LABELS };

static void put32(uint8_t *p, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		p[i] = (uint8_t)(v >> (8 * i));
}

static int write_failed(struct job *j, int which)
{
	int err = errno ? -errno : -EIO;

	return gw__fail(j->diag, err, "%s: writing failed: %s", j->part_paths[which], strerror(-err));
}

static int put(struct job *j, const void *bytes, size_t n)
{
	return fwrite(bytes, 1, n, j->files[CAPTURE]) == n ? 0 : write_failed(j, CAPTURE);
}

/* Magic, version 2.4, no zone, no accuracy, longest record, link type Ethernet. */
static int put_capture_header(struct job *j)
{
	uint8_t head[CAPTURE_HEADER] = { 0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0 };

	put32(head + 16, 65535);
	put32(head + 20, 1);
	return put(j, head, sizeof(head));
}

static bool is_omitted(const struct gw__prepare_opts *o, uint64_t n)
{
	for (size_t i = 0; i < o->n_omit; i++)
		if (o->omit[i] == n)
			return true;
	return false;
}

static int put_frame(struct job *j, uint64_t n)
{
	const struct gw__prepare_opts *o = j->opts;
	uint32_t n_bytes = gw__frame_bytes(&o->frames);
	uint8_t record[RECORD_HEADER];
	int err;

	if (is_omitted(o, n))
		return 0;
	gw__frame_build(&o->frames, n, j->tensor, j->frame);
	for (size_t i = 0; i < o->n_flip; i++)
		if (o->flip[i].frame == n)
			j->frame[o->flip[i].byte] ^= 0x80;
	put32(record, (uint32_t)(n / o->frames.packets_per_image));
	put32(record + 4, (uint32_t)(n % o->frames.packets_per_image));
	put32(record + 8, n_bytes);
	put32(record + 12, n_bytes);
	err = put(j, record, sizeof(record));
	if (!err)
		err = put(j, j->frame, n_bytes);
	j->n_frames += !err;
	return err;
}

static int put_image(struct job *j, uint32_t i)
{
	uint32_t n = j->opts->frames.packets_per_image, label;
	int err = gw__imageset_get(j->set, i % gw__imageset_count(j->set), j->tensor, &label, j->diag);

	if (!err && fprintf(j->files[LABELS], "%u\n", label) < 0)
		err = write_failed(j, LABELS);
	for (uint32_t p = 0; !err && p < n; p++)
		err = put_frame(j, (uint64_t)i * n + p);
	return err;
}

static int put_all(struct job *j)
{
	const char *names[16];
	uint32_t n_classes = gw__imageset_n_classes(j->set);
	int err = put_capture_header(j);

	for (uint32_t i = 0; !err && i < j->n_total; i++)
		err = put_image(j, i);
	if (err)
		return err;
	for (uint32_t c = 0; c < n_classes && c < 16; c++)
		names[c] = gw__imageset_class_name(j->set, c);
	gw__labels_write_names(j->files[LABELS], gw__imageset_name(j->set), names, n_classes);
	return 0;
}

static int check(struct job *j)
{
	struct gw__prepare_opts *o = j->opts;
	uint64_t n_frames;
	int err = gw__frame_opts_check(&o->frames, j->diag);

	if (err)
		return err;
	if (!o->n_images || o->n_images > IMAGES_MAX)
		return gw__fail(j->diag, -EINVAL, "num-images %u: 1 to %u are possible", o->n_images, IMAGES_MAX);
	j->n_total = (o->n_images + o->frames.images_per_batch - 1) / o->frames.images_per_batch *
		     o->frames.images_per_batch;
	n_frames = (uint64_t)j->n_total * o->frames.packets_per_image;
	for (size_t i = 0; i < o->n_omit; i++)
		if (o->omit[i] >= n_frames)
			return gw__fail(j->diag, -EINVAL, "omit %llu: the frames are 0 to %llu",
					(unsigned long long)o->omit[i], (unsigned long long)n_frames - 1);
	for (size_t i = 0; i < o->n_flip; i++)
		if (o->flip[i].frame >= n_frames || o->flip[i].byte >= gw__frame_bytes(&o->frames))
			return gw__fail(j->diag, -EINVAL, "flip %llu:%u: the frames are 0 to %llu, of %u bytes",
					(unsigned long long)o->flip[i].frame, o->flip[i].byte,
					(unsigned long long)n_frames - 1, gw__frame_bytes(&o->frames));
	return 0;
}

static int open_files(struct job *j)
{
	j->paths[CAPTURE] = gw__strdup(j->opts->out);
	j->paths[LABELS] = gw__labels_path(j->opts->out);
	j->tensor = gw__malloc(GW__IMAGE_BYTES);
	j->frame = gw__malloc(gw__frame_bytes(&j->opts->frames));
	if (!j->paths[CAPTURE] || !j->paths[LABELS] || !j->tensor || !j->frame)
		return gw__fail(j->diag, -ENOMEM, "no memory to prepare %s", j->opts->out);
	for (int k = 0; k < 2; k++) {
		size_t n = strlen(j->paths[k]) + sizeof(".part");
		int err = gw__target_check(j->paths[k], j->diag);

		if (err)
			return err;

		j->part_paths[k] = gw__malloc(n);
		if (!j->part_paths[k])
			return gw__fail(j->diag, -ENOMEM, "no memory to prepare %s", j->opts->out);
		snprintf(j->part_paths[k], n, "%s.part", j->paths[k]);
		j->files[k] = fopen(j->part_paths[k], "wbe");
		if (!j->files[k]) {
			err = -errno;
			return gw__fail(j->diag, err, "%s: cannot be written: %s", j->part_paths[k], strerror(-err));
		}
	}
	return 0;
}

/* Close both, then give both their names. */
static int finish(struct job *j)
{
	for (int k = 0; k < 2; k++) {
		FILE *f = j->files[k];
		bool failed = ferror(f);

		j->files[k] = NULL;
		errno = 0;
		if (fclose(f) || failed)
			return write_failed(j, k);
	}
	for (int k = 0; k < 2; k++) {
		if (rename(j->part_paths[k], j->paths[k]))
			return gw__fail(j->diag, -errno, "%s: cannot be replaced: %s", j->paths[k], strerror(errno));
		gw__free(j->part_paths[k]);
		j->part_paths[k] = NULL;
	}
	return 0;
}

static void clean_up(struct job *j)
{
	for (int k = 0; k < 2; k++) {
		if (j->files[k])
			fclose(j->files[k]);
		if (j->part_paths[k])
			remove(j->part_paths[k]);
		gw__free(j->part_paths[k]);
		gw__free(j->paths[k]);
	}
	gw__free(j->tensor);
	gw__free(j->frame);
	gw__imageset_close(j->set);
}

int gw__prepare(struct gw__prepare_opts *opts, struct gw__prepare_result *result, struct gw_diag *diag)
{
	struct job j = { .opts = opts, .diag = diag };
	int err = check(&j);

	if (!err)
		err = gw__imageset_open(&opts->images, &j.set, diag);
	if (!err && opts->n_images > gw__imageset_count(j.set))
		err = gw__fail(diag, -EINVAL, "num-images %u: %s has %u", opts->n_images, gw__imageset_name(j.set),
			       gw__imageset_count(j.set));
	if (!err)
		err = open_files(&j);
	if (!err)
		err = put_all(&j);
	if (!err)
		err = finish(&j);
	clean_up(&j);
	if (err || !result)
		return err;
	*result = (struct gw__prepare_result){
		.n_frames = j.n_frames,
		.n_labels = j.n_total,
		.n_padding = j.n_total - opts->n_images,
		.frame_bytes = gw__frame_bytes(&opts->frames),
		.packets_per_batch = gw__frames_per_batch(&opts->frames),
		.buf_size = gw__frame_bytes(&opts->frames),
		.n_bytes = CAPTURE_HEADER + j.n_frames * (RECORD_HEADER + gw__frame_bytes(&opts->frames)),
	};
	return 0;
}
