/* resnet50_inference/dataset.c: opens what prepare wrote. Must not know queues or features.
 * Next: pcap_tx.c sends the frames, accuracy.c uses labels and pixels. */
#include "dataset.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/diag.h"

int dataset_open(const char *pcap_path, const char *labels_path, bool need_capture, struct dataset *out,
		 struct gw_diag *diag)
{
	int err = 0;

	memset(out, 0, sizeof(*out));
	if (need_capture || !access(pcap_path, R_OK))
		err = gw__capture_open(pcap_path, &out->capture, diag);
	if (err == -ENOENT)
		gw__fail(diag, err, "%s: no such capture; make it with: gpuwire prepare --num-images 256 --out %s",
			 pcap_path, pcap_path);
	if (!err && !access(labels_path, R_OK)) {
		err = gw__labels_read(labels_path, &out->labels, diag);
		out->has_labels = !err;
	}
	if (err)
		dataset_close(out);
	return err;
}

int dataset_check(const struct dataset *d, const struct geometry *g, const char *labels_path, struct gw_diag *diag)
{
	uint64_t n;

	if (!d->capture || !d->has_labels)
		return 0;
	n = (gw__capture_n_frames(d->capture) + g->packets_per_image - 1) / g->packets_per_image;
	if (n <= d->labels.n_images)
		return 0;
	return gw__fail(diag, -EPROTO, "%s: %u labels for %llu images of the capture; give each image one, or name another "
			"file in dataset.labels_path", labels_path, d->labels.n_images, (unsigned long long)n);
}

void dataset_close(struct dataset *d)
{
	gw__capture_close(d->capture);
	d->capture = NULL;
	if (d->has_labels)
		gw__labels_fini(&d->labels);
	d->has_labels = false;
}

static int next(void *ctx, const uint8_t **frame, uint32_t *len)
{
	return gw__capture_next(ctx, frame, len, NULL);
}

static int rewind_to_start(void *ctx)
{
	return gw__capture_rewind(ctx);
}

struct frame_source dataset_frames(struct dataset *d)
{
	return (struct frame_source){ next, rewind_to_start, d->capture,
				     d->capture ? gw__capture_n_frames(d->capture) : 0 };
}

/* Add one packet's pixels to the grid cells they lie in. */
static void add_pixels(const struct geometry *g, uint32_t at, const uint8_t *payload, float *grid, float *weight)
{
	for (uint32_t i = 0; i < g->out_payload_len; i++, at++) {
		uint32_t x = at % g->width, y = at / g->width % g->height, c = at / (g->width * g->height);
		uint32_t cell = (c * RAW_GRID + y * RAW_GRID / g->height) * RAW_GRID + x * RAW_GRID / g->width;

		grid[cell] += (float)(int8_t)payload[i];
		weight[cell] += 1;
	}
}

static int read_image(struct dataset *d, const struct geometry *g, float *grid, float *weight, uint32_t n_cells)
{
	memset(grid, 0, n_cells * sizeof(*grid));
	memset(weight, 0, n_cells * sizeof(*weight));
	for (uint32_t p = 0; p < g->packets_per_image; p++) {
		const uint8_t *frame;
		uint32_t len;

		if (gw__capture_next(d->capture, &frame, &len, NULL) != 1 || len < g->payload_byte_offset + g->out_payload_len)
			return -ENODATA;
		add_pixels(g, p * g->out_payload_len, frame + g->payload_byte_offset, grid, weight);
	}
	for (uint32_t i = 0; i < n_cells; i++)
		grid[i] = weight[i] > 0 ? grid[i] / weight[i] : 0;
	return 0;
}

int dataset_raw_pixels(struct dataset *d, const struct geometry *g, uint32_t n_images, float **out)
{
	uint32_t n_cells = g->chan * RAW_GRID * RAW_GRID;
	float *rows, *weight;
	int err;

	/* with frames left out, or sent twice, frame numbers no longer say where a pixel belongs */
	if (!d->capture || gw__capture_n_frames(d->capture) != (uint64_t)n_images * g->packets_per_image)
		return -ENODATA;
	rows = gw__malloc((size_t)n_images * n_cells * sizeof(*rows));
	weight = gw__malloc(n_cells * sizeof(*weight));
	err = rows && weight ? gw__capture_rewind(d->capture) : -ENOMEM;
	for (uint32_t i = 0; !err && i < n_images; i++)
		err = read_image(d, g, rows + (size_t)i * n_cells, weight, n_cells);
	gw__free(weight);
	if (err) {
		gw__free(rows);
		return err;
	}
	*out = rows;
	return 0;
}

/* -128 .. 127 is exact in FLOAT16 */
static uint16_t half_of(int v)
{
	uint32_t mag = (uint32_t)(v < 0 ? -v : v), e = 0;

	if (!mag)
		return 0;
	while (mag >> (e + 1))
		e++;
	return (uint16_t)((v < 0 ? 0x8000u : 0u) | (e + 15) << 10 | (mag << (10 - e) & 0x3ffu));
}

static int read_tensor(struct dataset *d, const struct geometry *g, uint32_t n_images, uint16_t *to)
{
	int err = gw__capture_rewind(d->capture);

	for (uint64_t p = 0; !err && p < (uint64_t)n_images * g->packets_per_image; p++) {
		const uint8_t *frame;
		uint32_t len;

		if (gw__capture_next(d->capture, &frame, &len, NULL) != 1 || len < g->payload_byte_offset + g->out_payload_len)
			return -ENODATA;
		for (uint32_t i = 0; i < g->out_payload_len; i++)
			*to++ = half_of((int8_t)frame[g->payload_byte_offset + i]);
	}
	return err ? err : gw__capture_rewind(d->capture); /* the sender begins at the first frame */
}

int dataset_tensor(struct dataset *d, const struct geometry *g, uint32_t n_images, enum gw_mem_kind kind, void **out)
{
	const size_t n_bytes = (size_t)n_images * g->image_out_bytes;
	uint16_t *host;
	void *p = NULL;
	int err;

	if (!d->capture || gw__capture_n_frames(d->capture) < (uint64_t)n_images * g->packets_per_image)
		return -ENODATA;
	host = gw__malloc(n_bytes);
	err = host ? read_tensor(d, g, n_images, host) : -ENOMEM;
	if (!err)
		err = gw_mem_alloc(kind, n_bytes, 0, &p, NULL);
	if (!err)
		err = gw_mem_copy(p, host, n_bytes);
	gw__free(host);
	if (err) {
		gw_mem_free(p);
		return err;
	}
	*out = p;
	return 0;
}
