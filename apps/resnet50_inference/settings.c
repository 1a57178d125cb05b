/* resnet50_inference/settings.c: reads bench_rx, bench_tx, reorder, inference, dataset and stats, and checks
 * what only this program can know: image, window and batch must fit each other and the ring.
 * Must not start anything. Next: main.c. */
#include "settings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/diag.h"
#include "data/labels.h"
#include "job_ring.h"
#include "pcap_tx.h"

/* Reads a row of values; the first refusal stays. */
struct reader {
	const struct gw_config *cfg;
	struct gw_diag *diag;
	int err;
};

static uint32_t u32(struct reader *r, const char *path)
{
	uint64_t v = 0;
	int rc = r->err ? 0 : gw_config_u64(r->cfg, path, &v, r->diag);

	if (rc < 0)
		r->err = rc;
	else if (v > UINT32_MAX)
		r->err = gw__fail(r->diag, -ERANGE, "%s: value %llu is above 4294967295", path,
				  (unsigned long long)v);
	return (uint32_t)v;
}

static int i32(struct reader *r, const char *path)
{
	int64_t v = 0;
	int rc = r->err ? 0 : gw_config_i64(r->cfg, path, &v, r->diag);

	if (rc < 0)
		r->err = rc;
	return (int)v;
}

static bool yes(struct reader *r, const char *path)
{
	bool v = false;
	int rc = r->err ? 0 : gw_config_bool(r->cfg, path, &v, r->diag);

	if (rc < 0)
		r->err = rc;
	return v;
}

static const char *str(struct reader *r, const char *path)
{
	const char *v = "";
	int rc = r->err ? 0 : gw_config_str(r->cfg, path, &v, r->diag);

	if (rc < 0)
		r->err = rc;
	return v;
}

/* The value if the file has it, else the default given here. */
static const char *str_or(const struct gw_config *cfg, const char *path, const char *otherwise)
{
	const char *v;

	return gw_config_str(cfg, path, &v, NULL) >= 0 ? v : otherwise;
}

static int refuse(struct reader *r, const char *path, const char *what, uint64_t have, uint64_t want)
{
	char at[300];

	gw_config_where(r->cfg, path, at, sizeof(at));
	r->err = gw__fail(r->diag, -EINVAL, "%s: %s: value %llu: %s; write %llu", at, path,
			  (unsigned long long)have, what, (unsigned long long)want);
	return r->err;
}

static bool power_of_two(uint32_t v)
{
	return v && !(v & (v - 1));
}

static uint32_t lower_power_of_two(uint32_t v)
{
	uint32_t p = 1u << 31;

	while (p > 1 && p > v)
		p /= 2;
	return p;
}

static int check_geometry(struct reader *r, const struct options *o, struct geometry *g)
{
	uint64_t pixels = (uint64_t)g->chan * g->height * g->width, written;
	int rc;

	if (!power_of_two(g->packets_per_image))
		return refuse(r, "reorder.packets_per_image", "not a power of two", g->packets_per_image,
			      lower_power_of_two(g->packets_per_image));
	if (!power_of_two(g->images_per_window))
		return refuse(r, "reorder.images_per_batch", "not a power of two", g->images_per_window,
			      lower_power_of_two(g->images_per_window));
	if (g->images_per_window > JOB_MAX_IMAGES)
		return refuse(r, "reorder.images_per_batch", "too large a window", g->images_per_window,
			      JOB_MAX_IMAGES);
	if ((uint64_t)g->packets_per_image * g->out_payload_len != pixels)
		return refuse(r, "reorder.out_payload_len",
	      "packets_per_image of it are not one image (channels x height x width)",
			      g->out_payload_len, pixels / g->packets_per_image);
	if (g->output_slot_stride != g->out_payload_len * 2)
		return refuse(r, "reorder.output_slot_stride", "not out_payload_len in fp16",
			      g->output_slot_stride, g->out_payload_len * 2ull);
	g->packets_per_batch = g->packets_per_image * g->images_per_window;
	rc = gw_config_u64(r->cfg, "reorder.packets_per_batch", &written, NULL);
	if (rc == 1 && written != g->packets_per_batch)
		return refuse(r, "reorder.packets_per_batch", "not packets_per_image x images_per_batch",
			      written, g->packets_per_batch);
	g->images_per_batch = o->images_per_batch ? o->images_per_batch : g->images_per_window;
	if (!power_of_two(g->images_per_batch) || g->images_per_batch > g->images_per_window)
		return gw__fail(r->diag, -EINVAL,
	"--images-per-batch %u: not a power-of-two divisor of the window's %u images; use %u",
				g->images_per_batch, g->images_per_window,
				g->images_per_batch > g->images_per_window ?
					g->images_per_window : lower_power_of_two(g->images_per_batch));
	g->image_out_bytes = (size_t)pixels * 2;
	return 0;
}

static int read_geometry(struct reader *r, const struct options *o, struct geometry *g)
{
	g->packets_per_image = u32(r, "reorder.packets_per_image");
	g->images_per_window = u32(r, "reorder.images_per_batch");
	g->payload_byte_offset = u32(r, "reorder.payload_byte_offset");
	g->out_payload_len = u32(r, "reorder.out_payload_len");
	g->output_slot_stride = u32(r, "reorder.output_slot_stride");
	g->chan = u32(r, "inference.channels");
	g->height = u32(r, "inference.height");
	g->width = u32(r, "inference.width");
	return r->err ? r->err : check_geometry(r, o, g);
}

static enum gw_mem_kind region_kind(const struct gw_config *cfg, const char *region)
{
	char path[160];
	const char *kind;

	snprintf(path, sizeof(path), "memory_regions.%s.kind", region);
	kind = str_or(cfg, path, "host");
	for (int k = 0; k < GW_MEM_N_KINDS; k++)
		if (!strcmp(kind, gw_mem_kind_name((enum gw_mem_kind)k)))
			return (enum gw_mem_kind)k;
	return GW_MEM_HOST;
}

/* 7 queued, 1 running, 1 held until its results are back: with fewer buffers the ring would starve the pool. */
static int read_tensors(struct reader *r, struct settings *s)
{
	const char *region = str_or(r->cfg, "reorder.memory_region", NULL);
	char path[160];
	uint64_t n;

	s->tensor_kind = GW_MEM_HOST_PINNED;
	if (!region)
		return 0;
	s->tensor_kind = region_kind(r->cfg, region);
	snprintf(path, sizeof(path), "memory_regions.%s.num_bufs", region);
	if (gw_config_u64(r->cfg, path, &n, NULL) >= 0 && n < JOB_MIN_OUTPUT_BUFS)
		return refuse(r, path,
	      "fewer tensors than can be out at once (7 queued, 1 running, 1 held)", n,
			      JOB_MIN_OUTPUT_BUFS);
	return 0;
}

static int read_rx(struct reader *r, struct settings *s)
{
	int queue = i32(r, "bench_rx.0.queue_id");

	s->rx_port = str(r, "bench_rx.0.interface_name");
	s->rx_core = i32(r, "bench_rx.0.cpu_core");
	s->rx_queue = queue < 0 ? 0 : (uint16_t)queue;
	s->reorder_name = str(r, "reorder.reorder_name");
	return r->err ? r->err : read_tensors(r, s);
}

int settings_from_environment(struct options *o, char text[64], struct gw_diag *diag)
{
	const char *addr = getenv("ETH_DST_ADDR");
	uint8_t mac[6];
	int i = 0;

	if (!addr || !*addr || o->mode == MODE_RX)
		return 0;
	if (eth_addr_parse(addr, mac))
		return gw__fail(diag, -EINVAL, "ETH_DST_ADDR=%.60s: not six bytes like 02:00:00:00:00:02", addr);
	snprintf(text, 64, "bench_tx.0.eth_dst_addr=%s", addr);
	while (o->set[i])
		i++;
	o->set[i] = text;
	return 0;
}

static int read_tx(struct reader *r, struct settings *s)
{
	char path[200];
	const char *region, *dst;

	s->tx_port = str(r, "bench_tx.0.interface_name");
	s->tx_queue = (uint16_t)u32(r, "bench_tx.0.queue_id");
	s->tx_core = i32(r, "bench_tx.0.cpu_core");
	s->tx_batch = u32(r, "bench_tx.0.batch_size");
	snprintf(path, sizeof(path), "interfaces.%s.tx.queues.%u.memory_regions.0", s->tx_port, s->tx_queue);
	region = str_or(r->cfg, path, NULL);
	s->tx_device_memory = region && region_kind(r->cfg, region) == GW_MEM_DEVICE;
	if (gw_config_str(r->cfg, "bench_tx.0.eth_dst_addr", &dst, NULL) == 1)
		s->has_eth_dst = !eth_addr_parse(dst, s->eth_dst);
	return r->err;
}

/* --model NAME: the file NAME_features.onnx beside the configured one. */
static void model_path(const struct options *o, const char *configured, char *out, size_t n)
{
	char *slash;
	size_t folder;

	snprintf(out, n, "%s", configured);
	if (!o->model)
		return;
	slash = strrchr(out, '/');
	folder = slash ? (size_t)(slash + 1 - out) : 0;
	snprintf(out + folder, n - folder, "%s_features.onnx", o->model);
}

/* The folder of the configured engine file: our choices stand there under a name of their own. */
static void plan_folder(const char *engine_path, char *out, size_t n)
{
	const char *slash = strrchr(engine_path, '/');

	snprintf(out, n, "%.*s", slash ? (int)(slash - engine_path) : 1, slash ? engine_path : *engine_path ? "." : "");
	if (*out && access(out, W_OK))
		*out = '\0';
}

static int read_precision(struct reader *r, struct settings *s)
{
	const char *p = str_or(r->cfg, "inference.precision", "auto");

	if (!strcmp(p, "auto"))
		s->precision = GW_NN_DEFAULT;
	else if (!strcmp(p, "fp32"))
		s->precision = GW_NN_FP32;
	else if (!strcmp(p, "bf16"))
		s->precision = GW_NN_BF16;
	else if (!strcmp(p, "fp16"))
		s->precision = GW_NN_FP16;
	else if (!strcmp(p, "int8"))
		s->precision = GW_NN_INT8;
	else
		return gw__fail(r->diag, -EINVAL, "inference.precision: %s is not known; write auto, fp32, bf16, fp16 or "
				"int8", p);
	return 0;
}

static int read_inference(struct reader *r, const struct options *o, struct settings *s)
{
	model_path(o, str(r, "inference.onnx_path"), s->onnx_path, sizeof(s->onnx_path));
	plan_folder(str_or(r->cfg, "inference.engine_path", ""), s->plan_folder, sizeof(s->plan_folder));
	s->feature_dim = u32(r, "inference.feature_dim");
	if (o->model)
		s->feature_dim = !strcmp(o->model, "resnet18") || !strcmp(o->model, "resnet34") ? 512 : 2048;
	s->infer_core = i32(r, "inference.cpu_core");
	s->threads = o->threads ? o->threads : u32(r, "inference.threads");
	s->pca_every = u32(r, "inference.pca_every_n_batches");
	return r->err ? r->err : read_precision(r, s);
}

static int read_dataset(struct reader *r, const struct options *o, struct settings *s)
{
	const char *labels = str(r, "dataset.labels_path");
	char *beside;

	snprintf(s->dataset_path, sizeof(s->dataset_path), "%s",
		 o->dataset ? o->dataset : str(r, "dataset.pcap_path"));
	s->stats = yes(r, "stats.enabled") && o->seconds <= 0;
	s->top_k = u32(r, "stats.top_k");
	if (*labels && !o->dataset && !access(labels, R_OK)) {
		snprintf(s->labels_path, sizeof(s->labels_path), "%s", labels);
		return r->err;
	}
	beside = gw__labels_path(s->dataset_path);
	if (!beside)
		return gw__fail(r->diag, -ENOMEM, "no memory");
	snprintf(s->labels_path, sizeof(s->labels_path), "%s", beside);
	gw__free(beside);
	return r->err;
}

int settings_read(const struct gw_config *cfg, const struct options *o, struct settings *out,
		  struct gw_diag *diag)
{
	struct reader r = { .cfg = cfg, .diag = diag };
	int err;

	memset(out, 0, sizeof(*out));
	err = read_geometry(&r, o, &out->geo);
	if (!err && o->mode != MODE_TX)
		err = read_rx(&r, out);
	if (!err && o->mode != MODE_RX)
		err = read_tx(&r, out);
	if (!err)
		err = read_inference(&r, o, out);
	if (!err)
		err = read_dataset(&r, o, out);
	return err;
}
