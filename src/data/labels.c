/* data/labels.c: read and write the sidecar of a capture. Must not trust a line's length or number.
 * Next: labels.h for the format. */
#include "data/labels.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/diag.h"
#include "data/imageset.h"

#define N_LINE 256
#define IMAGES_MAX (1u << 24)
#define DATASET_MARK "# data set: "

struct reader {
	FILE *file;
	const char *path;
	uint32_t line_no;
	char line[N_LINE]; /* without its end, nor blanks around it */
	uint32_t cap_images, n_names, cap_names;
	struct gw__labels *out;
	struct gw_diag *diag;
};

/* 1 a line, 0 the end, negative errno. */
static int next_line(struct reader *r)
{
	char *begin = r->line;
	size_t n;

	if (!fgets(r->line, N_LINE, r->file)) {
		if (ferror(r->file))
			return gw__fail(r->diag, -EIO, "%s: reading failed: %s", r->path, strerror(errno));
		return 0;
	}
	r->line_no++;
	n = strlen(r->line);
	if (n == N_LINE - 1 && r->line[n - 1] != '\n')
		return gw__fail(r->diag, -EPROTO, "%s:%u: longer than %d bytes", r->path, r->line_no, N_LINE - 2);
	while (n && isspace((unsigned char)r->line[n - 1]))
		r->line[--n] = 0;
	while (isspace((unsigned char)*begin))
		begin++;
	memmove(r->line, begin, strlen(begin) + 1);
	return 1;
}

static bool is_integer(const char *s)
{
	s += *s == '-' || *s == '+';
	return *s && !s[strspn(s, "0123456789")];
}

/* Room for one more in an array that doubles. */
static int grow(void *array, uint32_t n, uint32_t *cap, size_t size)
{
	void **slot = array;
	void *bigger;

	if (n < *cap)
		return 0;
	bigger = gw__realloc(*slot, (*cap ? 2 * (size_t)*cap : 64) * size);
	if (!bigger)
		return -ENOMEM;
	*cap = *cap ? 2 * *cap : 64;
	*slot = bigger;
	return 0;
}

static int no_memory(struct reader *r)
{
	return gw__fail(r->diag, -ENOMEM, "%s: no memory for the labels", r->path);
}

static int add_label(struct reader *r)
{
	struct gw__labels *l = r->out;
	void *array = l->cls;
	unsigned long v;

	errno = 0;
	v = strtoul(r->line, NULL, 10);
	if (errno || r->line[0] == '-' || v > GW__LABEL_MAX)
		return gw__fail(r->diag, -EPROTO, "%s:%u: class %s; 0 to %u are possible", r->path, r->line_no, r->line,
				GW__LABEL_MAX);
	if (l->n_images == IMAGES_MAX)
		return gw__fail(r->diag, -EPROTO, "%s:%u: more than %u labels", r->path, r->line_no, IMAGES_MAX);
	if (grow(&array, l->n_images, &r->cap_images, sizeof(*l->cls)))
		return no_memory(r);
	l->cls = array;
	l->cls[l->n_images++] = (uint32_t)v;
	if (v >= l->n_classes)
		l->n_classes = (uint32_t)v + 1;
	return 0;
}

static int add_name(struct reader *r)
{
	struct gw__labels *l = r->out;
	void *array = l->class_names;

	if (r->line[0] == '#') {
		if (strncmp(r->line, DATASET_MARK, strlen(DATASET_MARK)) || l->dataset)
			return 0;
		l->dataset = gw__strdup(r->line + strlen(DATASET_MARK));
		return l->dataset ? 0 : no_memory(r);
	}
	if (!r->line[0])
		return 0;
	if (r->n_names > GW__LABEL_MAX)
		return gw__fail(r->diag, -EPROTO, "%s:%u: more than %u class names", r->path, r->line_no,
				GW__LABEL_MAX + 1);
	if (grow(&array, r->n_names, &r->cap_names, sizeof(*l->class_names)))
		return no_memory(r);
	l->class_names = array;
	l->class_names[r->n_names] = gw__strdup(r->line);
	if (!l->class_names[r->n_names])
		return no_memory(r);
	r->n_names++;
	return 0;
}

/* Names for the classes that have none: CIFAR-10's when the file names nothing, else the number. */
static int complete(struct reader *r)
{
	struct gw__labels *l = r->out;
	bool cifar = !r->n_names && !l->dataset && l->n_classes <= 10;
	void *array = l->class_names;
	char number[16];

	if (!l->n_images)
		return gw__fail(r->diag, -EPROTO, "%s: no label in it; one integer a line is expected", r->path);
	if (cifar)
		l->n_classes = 10;
	if (l->n_classes < r->n_names)
		l->n_classes = r->n_names;
	while (r->n_names < l->n_classes) {
		if (grow(&array, r->n_names, &r->cap_names, sizeof(*l->class_names)))
			return no_memory(r);
		l->class_names = array;
		snprintf(number, sizeof(number), "%u", r->n_names);
		l->class_names[r->n_names] = gw__strdup(cifar ? gw__cifar10_class_name(r->n_names) : number);
		if (!l->class_names[r->n_names])
			return no_memory(r);
		r->n_names++;
	}
	if (!l->dataset)
		l->dataset = gw__strdup(cifar ? "cifar10 (assumed)" : "unnamed");
	return l->dataset ? 0 : no_memory(r);
}

static int read_lines(struct reader *r)
{
	bool names = false;
	int rc;

	while ((rc = next_line(r)) > 0) {
		names = names || !is_integer(r->line);
		rc = names ? add_name(r) : add_label(r);
		if (rc)
			return rc;
	}
	return rc ? rc : complete(r);
}

int gw__labels_read(const char *path, struct gw__labels *out, struct gw_diag *diag)
{
	struct gw__labels labels = { 0 };
	struct reader r = { .path = path, .out = &labels, .diag = diag };
	int err;

	r.file = fopen(path, "re");
	if (!r.file) {
		err = -errno;
		return gw__fail(diag, err, "%s: %s", path, strerror(-err));
	}
	err = read_lines(&r);
	fclose(r.file);
	if (err) {
		labels.n_classes = r.n_names;
		gw__labels_fini(&labels);
		return err;
	}
	*out = labels;
	return 0;
}

void gw__labels_fini(struct gw__labels *labels)
{
	for (uint32_t i = 0; labels->class_names && i < labels->n_classes; i++)
		gw__free(labels->class_names[i]);
	gw__free(labels->class_names);
	gw__free(labels->cls);
	gw__free(labels->dataset);
	memset(labels, 0, sizeof(*labels));
}

char *gw__labels_path(const char *capture_path)
{
	size_t n = strlen(capture_path);
	char *path;

	if (n > 5 && !strcmp(capture_path + n - 5, ".pcap"))
		n -= 5;
	path = gw__malloc(n + sizeof(".labels"));
	if (!path)
		return NULL;
	memcpy(path, capture_path, n);
	memcpy(path + n, ".labels", sizeof(".labels"));
	return path;
}

void gw__labels_write_names(FILE *f, const char *dataset, const char *const *class_names, uint32_t n_classes)
{
	fprintf(f, DATASET_MARK "%s\n", dataset);
	for (uint32_t i = 0; i < n_classes; i++)
		fprintf(f, "%s\n", class_names[i]);
}
